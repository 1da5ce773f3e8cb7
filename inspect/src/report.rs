//! The report: verify's facts of each image and kernel, and what the instructions say. Its JSON form is schema 1
//! (docs/inspect.md).

use serde::Serialize;
use xreduce_verify::{Argument, Details, Fault, Format, HiddenArguments, Image, Kernel, Skipped};

use crate::code::Kind;
use crate::tally::{CodeReport, LoopReport};

/// Everything found below one path.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// Version of this form: 1.
    pub schema: u32,
    /// The path, as given.
    pub name: String,
    /// Device images with kernels that were asked for.
    pub images: Vec<ImageReport>,
    /// Places that could not be read.
    pub faults: Vec<Fault>,
    /// Files and members without device code.
    pub skipped: Vec<Skipped>,
}

/// One device image.
#[derive(Debug, Clone, Serialize)]
pub struct ImageReport {
    /// Path through the enclosing containers, joined by ` > `.
    pub path: String,
    /// Identity that its container gives it.
    pub container_id: Option<String>,
    /// Format.
    pub format: Format,
    /// Target, from the image itself.
    pub target: String,
    /// Size, unpacked.
    pub bytes: u64,
    /// Facts of the format.
    pub details: Details,
    /// Kernels that were asked for.
    pub kernels: Vec<KernelReport>,
}

/// One kernel. A fact that the format does not state is None.
#[derive(Debug, Clone, Serialize)]
pub struct KernelReport {
    /// Name that a host passes to its runtime.
    pub name: String,
    /// Arguments that the caller gives.
    pub arguments: Vec<Argument>,
    /// Arguments that the runtime gives.
    pub hidden: HiddenArguments,
    /// Size of the argument block in bytes.
    pub kernarg_bytes: Option<u64>,
    /// Vector registers of a work-item.
    pub vgprs: Option<u32>,
    /// Scalar registers of a wave.
    pub sgprs: Option<u32>,
    /// Vector registers spilled.
    pub vgpr_spills: Option<u32>,
    /// Scalar registers spilled.
    pub sgpr_spills: Option<u32>,
    /// Private memory of a work-item in bytes.
    pub scratch_bytes: Option<u64>,
    /// Shared memory of a work-group in bytes.
    pub shared_bytes: Option<u64>,
    /// Largest work-group.
    pub max_threads: Option<u32>,
    /// Lanes of a wave, or required sub-group size.
    pub wavefront: Option<u32>,
    /// The instructions, if they could be read.
    pub code: Option<CodeReport>,
    /// Why they could not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unread: Option<String>,
}

impl Report {
    /// True if there are kernels, and everything was read.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        let mut kernels = self.images.iter().flat_map(|image| &image.kernels).peekable();
        self.faults.is_empty() && kernels.peek().is_some() && kernels.all(|kernel| kernel.code.is_some())
    }
}

impl ImageReport {
    /// The facts of `image`, with `kernels` in place of its own.
    pub(crate) fn new(image: Image, kernels: Vec<KernelReport>) -> Self {
        let Image { path, container_id, format, target, bytes, details, .. } = image;
        ImageReport { path, container_id, format, target, bytes, details, kernels }
    }
}

impl KernelReport {
    /// The loop to compare kernels by: of the innermost ones the deepest, and among these the one whose instructions load
    /// most bytes; the first of equals.
    #[must_use]
    pub fn inner_loop(&self) -> Option<&LoopReport> {
        let loops = self.code.iter().flat_map(|code| &code.loops).filter(|one| one.innermost);
        let loaded = |one: &LoopReport| {
            let loads = one.counts.kind(Kind::Load);
            loads.map(|counted| counted.count * counted.access.bytes.unwrap_or(0)).sum::<u64>()
        };
        // Of equals, `max_by_key` takes the last.
        loops.rev().max_by_key(|one| (one.depth, loaded(one)))
    }

    pub(crate) fn new(kernel: Kernel, code: Result<CodeReport, String>) -> Self {
        let (code, unread) = match code {
            Ok(code) => (Some(code), None),
            Err(why) => (None, Some(why)),
        };
        KernelReport {
            name: kernel.name,
            arguments: kernel.arguments.into_iter().filter(|argument| !argument.is_hidden()).collect(),
            hidden: kernel.hidden,
            kernarg_bytes: kernel.kernarg_bytes,
            vgprs: kernel.vgprs,
            sgprs: kernel.sgprs,
            vgpr_spills: kernel.vgpr_spills,
            sgpr_spills: kernel.sgpr_spills,
            scratch_bytes: kernel.scratch_bytes,
            shared_bytes: kernel.shared_bytes,
            max_threads: kernel.max_threads,
            wavefront: kernel.wavefront,
            code,
            unread,
        }
    }
}
