//! The gate: what an artifact must pass before the manifest may name it.
//!
//! The verifier's strict profile on the bytes, and the contract's list of kernels and arguments against what the bytes say
//! of themselves.

use std::path::PathBuf;

use xreduce_contract::manifest::{Format, Resources};
use xreduce_contract::{Argument, Kernel, kernel_arguments};
use xreduce_verify as verify;
use xreduce_verify::{Details, Image, Severity};

use crate::error::Rejection;

/// What the gate read from an artifact that passed.
#[derive(Clone, Debug, PartialEq)]
pub struct Passed {
    /// What the format says of itself.
    pub format: Format,
    /// Registers and memory, in the order of the kernels that were expected.
    pub resources: Vec<Resources>,
}

/// Judges one artifact that should hold exactly `kernels`.
///
/// `template` gives the template of a kernel, for the message.
///
/// # Errors
/// Everything that is wrong with it, at once.
pub fn judge(
    file: &str,
    bytes: &[u8],
    kernels: &[Kernel],
    template: impl Fn(&Kernel) -> Option<PathBuf>,
) -> Result<Passed, Vec<Rejection>> {
    let inspection = verify::inspect(bytes, file);
    let report = verify::check(&inspection, &verify::Options::strict());
    let of = |symbol: &str| kernels.iter().find(|kernel| kernel.symbol() == symbol);
    let reject = |code: &str, kernel: Option<&str>, message: String| Rejection {
        code: code.to_owned(),
        file: file.to_owned(),
        kernel: kernel.map(str::to_owned),
        template: kernel.and_then(of).and_then(&template),
        message,
    };
    let faults = report.findings.iter().filter(|finding| finding.severity >= Severity::Undetermined);
    let mut rejections: Vec<Rejection> =
        faults.map(|finding| reject(finding.code, finding.kernel.as_deref(), finding.message.to_string())).collect();

    let [image] = inspection.images.as_slice() else {
        let message = format!("expected one device image, found {}", inspection.images.len());
        rejections.push(reject("image-count", None, message));
        return Err(rejections);
    };
    for kernel in &image.kernels {
        if of(&kernel.name).is_none() {
            rejections.push(reject("kernel-unexpected", Some(&kernel.name), "no such kernel was asked for".to_owned()));
        }
    }
    let mut resources = Vec::new();
    for kernel in kernels {
        let symbol = kernel.symbol();
        let Some(found) = image.kernels.iter().find(|found| found.name == symbol) else {
            rejections.push(reject(
                "kernel-missing",
                Some(&symbol),
                "the artifact does not hold this kernel".to_owned(),
            ));
            continue;
        };
        if let Some(message) = argument_mismatch(&kernel_arguments(kernel), found) {
            rejections.push(reject("argument-mismatch", Some(&symbol), message));
        }
        resources.push(Resources {
            vector_registers: found.vgprs,
            scalar_registers: found.sgprs,
            scratch_bytes: found.scratch_bytes.and_then(|bytes| bytes.try_into().ok()),
            shared_bytes: found.shared_bytes.and_then(|bytes| bytes.try_into().ok()),
        });
    }
    match format(image) {
        Some(format) if rejections.is_empty() => Ok(Passed { format, resources }),
        Some(_) => Err(rejections),
        None => {
            rejections.push(reject("format-unexpected", None, format!("{:?} is no format of a bundle", image.format)));
            Err(rejections)
        }
    }
}

/// How the arguments that an artifact declares differ from those of the contract, if they do.
#[must_use]
pub fn argument_mismatch(expected: &[Argument], found: &verify::Kernel) -> Option<String> {
    if expected.len() != found.arguments.len() {
        return Some(format!("expected {} arguments, found {}", expected.len(), found.arguments.len()));
    }
    expected.iter().zip(&found.arguments).find_map(|(want, have)| {
        let offset = have.offset.unwrap_or(u64::from(want.offset));
        let bytes = have.bytes.unwrap_or(u64::from(want.size));
        (offset != u64::from(want.offset) || bytes != u64::from(want.size)).then(|| {
            format!(
                "argument `{}`: expected {} bytes at {}, found {bytes} bytes at {offset}",
                want.name, want.size, want.offset
            )
        })
    })
}

fn format(image: &Image) -> Option<Format> {
    match &image.details {
        Details::Amdgpu { code_object_version, e_flags, .. } => {
            Some(Format::Hsaco { elf_flags: *e_flags, code_object_version: u32::from(*code_object_version) })
        }
        Details::Ptx { version, target, .. } => {
            Some(Format::Ptx { ptx_version: version.clone(), ptx_target: target.clone() })
        }
        Details::Spirv { version, capabilities, extensions, .. } => Some(Format::Spirv {
            spirv_version: version.clone(),
            capabilities: capabilities.clone(),
            extensions: extensions.clone(),
        }),
        _ => None,
    }
}
