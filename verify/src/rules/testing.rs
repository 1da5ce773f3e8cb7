//! Images and kernels for the tests of rules.

use crate::check::{Options, check};
use crate::finding::Finding;
use crate::hidden::HiddenArguments;
use crate::model::{Details, Format, Image, Inspection, Kernel, Symbols};

/// An inspection with the given images.
pub(crate) fn inspection(images: Vec<Image>) -> Inspection {
    Inspection { name: "test".to_owned(), images, ..Inspection::default() }
}

/// A loaded gfx1100 code object of version 6.
pub(crate) fn amdgpu(kernels: Vec<Kernel>) -> Image {
    Image {
        path: "test > gfx1100".to_owned(),
        container_id: None,
        group: "test".to_owned(),
        format: Format::Amdgpu,
        target: "gfx1100".to_owned(),
        bytes: 1000,
        loaded: true,
        details: Details::Amdgpu { code_object_version: 6, e_flags: 0x41, note_target: None, relocatable: false },
        kernels,
        symbols: Symbols::default(),
        printf_strings: Vec::new(),
    }
}

/// A PTX text for sm_90.
pub(crate) fn ptx(kernels: Vec<Kernel>) -> Image {
    Image {
        format: Format::Ptx,
        target: "sm_90".to_owned(),
        path: "test > sm_90".to_owned(),
        details: Details::Ptx { version: "7.8".to_owned(), target: "sm_90".to_owned(), address_bits: 64 },
        ..amdgpu(kernels)
    }
}

/// A SPIR-V module.
pub(crate) fn spirv(kernels: Vec<Kernel>) -> Image {
    Image {
        format: Format::Spirv,
        target: "spirv64".to_owned(),
        path: "test > spirv64".to_owned(),
        details: Details::Spirv {
            version: "1.2".to_owned(),
            big_endian: false,
            capabilities: Vec::new(),
            extensions: Vec::new(),
            addressing_model: "Physical64".to_owned(),
            memory_model: "OpenCL".to_owned(),
        },
        ..amdgpu(kernels)
    }
}

/// A kernel with the given hidden arguments.
pub(crate) fn kernel(hidden: &[&str]) -> Kernel {
    let mut set = HiddenArguments::default();
    for name in hidden {
        set.insert(name);
    }
    Kernel { name: "k".to_owned(), hidden: set, ..Kernel::default() }
}

/// A kernel that reaches the given outside functions.
pub(crate) fn calling(names: &[&str]) -> Kernel {
    Kernel { calls: names.iter().map(|name| (*name).to_owned()).collect(), ..kernel(&[]) }
}

/// The findings of one rule for shipped files.
pub(crate) fn shipped(inspection: &Inspection, code: &str) -> Vec<Finding> {
    only(inspection, &Options::default(), code)
}

/// The findings of one rule in the strict profile.
pub(crate) fn strict(inspection: &Inspection, code: &str) -> Vec<Finding> {
    only(inspection, &Options::strict(), code)
}

/// The findings of one rule under `options`.
pub(crate) fn only(inspection: &Inspection, options: &Options, code: &str) -> Vec<Finding> {
    let mut findings = check(inspection, options).findings;
    findings.retain(|finding| finding.code == code);
    findings
}
