//! From a path, or the bytes of an image, to the report.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use xreduce_verify::{Detail, Format, Image, Kernel, Limits, OpenError, Scan};

use crate::amdgpu::{self, CodeObject, Line};
use crate::code::Code;
use crate::report::{ImageReport, KernelReport, Report};
use crate::tally::{CodeReport, tally};
use crate::{ptx, spirv};

/// A disassembler of AMDGPU machine code: processor, for example `gfx1100`, and the code of one kernel to its lines, in
/// order and without gaps; or what it could not read.
pub type Disassemble<'d> = dyn Fn(&str, &[u8]) -> Result<Vec<Line>, String> + Sync + 'd;

/// How to read.
#[derive(Clone, Copy)]
pub struct Reader<'r> {
    /// For AMDGPU code objects.
    pub disassemble: &'r Disassemble<'r>,
    /// Kernels to report, by target and name.
    pub wanted: &'r (dyn Fn(&str, &str) -> bool + Sync),
}

impl std::fmt::Debug for Reader<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Reader").finish_non_exhaustive()
    }
}

impl Reader<'_> {
    /// Reports every device image at or below `path`.
    ///
    /// # Errors
    /// The first file or folder that cannot be opened.
    pub fn path(&self, path: &Path) -> Result<Report, OpenError> {
        let symbols = BTreeSet::new();
        let scan = Scan { limits: Limits::default(), detail: Detail::Full, symbols: &symbols, progress: &|_| {} };
        let found = scan.path(path)?;
        let images = found.images.into_iter().map(|image| {
            let bytes = bytes_of(&image);
            self.image(image, bytes.as_deref().map_err(Clone::clone))
        });
        Ok(Report {
            schema: 1,
            name: found.name,
            images: images.filter(|image| !image.kernels.is_empty()).collect(),
            faults: found.faults,
            skipped: found.skipped,
        })
    }

    /// Reports one image; `bytes` are its own, or the reason why they are not at hand.
    #[must_use]
    pub fn image(&self, mut image: Image, bytes: Result<&[u8], String>) -> ImageReport {
        let kernels: Vec<Kernel> = std::mem::take(&mut image.kernels)
            .into_iter()
            .filter(|kernel| (self.wanted)(&image.target, &kernel.name))
            .collect();
        let codes: Vec<Result<CodeReport, String>> = match bytes {
            Ok(bytes) => self.codes(&image, &kernels, bytes),
            Err(why) => unread(&kernels, &why),
        };
        let kernels = kernels.into_iter().zip(codes).map(|(kernel, code)| KernelReport::new(kernel, code)).collect();
        ImageReport::new(image, kernels)
    }

    /// The code of each kernel.
    fn codes(&self, image: &Image, kernels: &[Kernel], bytes: &[u8]) -> Vec<Result<CodeReport, String>> {
        let wanted = |name: &str| (self.wanted)(&image.target, name);
        match image.format {
            Format::Amdgpu => match CodeObject::read(bytes) {
                Ok(object) => kernels.iter().map(|kernel| self.amdgpu(image.processor(), kernel, &object)).collect(),
                Err(error) => unread(kernels, &error),
            },
            Format::Ptx => match std::str::from_utf8(bytes) {
                Ok(text) => by_name(kernels, ptx::entries(text, &wanted)),
                Err(error) => unread(kernels, &error.to_string()),
            },
            Format::Spirv => match spirv::entries(bytes, &wanted) {
                Ok(entries) => by_name(kernels, entries),
                Err(error) => unread(kernels, &error),
            },
            Format::Cubin => unread(kernels, "no disassembler for NVIDIA machine code"),
            Format::Zebin => unread(kernels, "no disassembler for Intel machine code"),
            _ => unread(kernels, "no reader for the instructions of this format"),
        }
    }

    fn amdgpu(&self, processor: &str, kernel: &Kernel, object: &CodeObject<'_>) -> Result<CodeReport, String> {
        let bytes = object.code(kernel)?;
        let lines = (self.disassemble)(processor, bytes)?;
        Ok(tally(&amdgpu::code(&lines)))
    }
}

fn unread(kernels: &[Kernel], why: &str) -> Vec<Result<CodeReport, String>> {
    kernels.iter().map(|_| Err(why.to_owned())).collect()
}

/// The code of each kernel by its name; the first of several with one name.
fn by_name(kernels: &[Kernel], entries: Vec<(String, Code)>) -> Vec<Result<CodeReport, String>> {
    let mut codes: HashMap<String, Code> = HashMap::new();
    for (name, code) in entries {
        codes.entry(name).or_insert(code);
    }
    let code = |kernel: &Kernel| match codes.get(&kernel.name) {
        Some(code) => Ok(tally(code)),
        None => Err(format!("no body of {}", kernel.name)),
    };
    kernels.iter().map(code).collect()
}

/// The bytes of an image that is a file of its own.
fn bytes_of(image: &Image) -> Result<Vec<u8>, String> {
    let path = Path::new(&image.path);
    if !path.is_file() {
        return Err("the instructions of images within containers are not read yet".to_owned());
    }
    let bytes = std::fs::read(path).map_err(|error| format!("{}: {error}", image.path))?;
    if bytes.len() as u64 != image.bytes {
        return Err(format!("{}: changed while it was read", image.path));
    }
    Ok(bytes)
}
