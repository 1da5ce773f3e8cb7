//! The forms of a release, by word, and what each is made by.

use std::path::PathBuf;

use crate::attest::{Circumstances, attest};
use crate::bundle::Bundle;
use crate::contents::Contents;
use crate::error::Error;
use crate::{fatbin, header, hip, kpack, rust, tarball, wheel};

/// The forms of a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Format {
    /// The bundle's own folder.
    Dir,
    /// An archive with equal bytes for equal bundles.
    TarZst,
    /// Clang offload bundles with AMD code objects.
    Hip,
    /// CUDA fat binaries.
    Fatbin,
    /// C arrays, structures and tables.
    Header,
    /// A data crate.
    Rust,
    /// A Python data wheel per vendor.
    Wheel,
    /// A ROCm kernel pack.
    Kpack,
}

impl Format {
    /// Every form, in the order of listings.
    pub const ALL: &'static [Format] = &[
        Format::Dir,
        Format::TarZst,
        Format::Hip,
        Format::Fatbin,
        Format::Header,
        Format::Rust,
        Format::Wheel,
        Format::Kpack,
    ];

    /// The word for it on the command line.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Format::Dir => "dir",
            Format::TarZst => "tar.zst",
            Format::Hip => "hip",
            Format::Fatbin => "fatbin",
            Format::Header => "header",
            Format::Rust => "rust",
            Format::Wheel => "wheel",
            Format::Kpack => "kpack",
        }
    }
}

/// What some forms leave open.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// `hip`: compressed (CCOB version 3) instead of plain.
    pub compress: bool,
    /// `fatbin`: NVIDIA's assembler, for machine code beside the PTX.
    pub ptxas: Option<PathBuf>,
    /// What the documents say of the release.
    pub circumstances: Circumstances,
}

/// The files of a release, with provenance, bill of materials and checksums.
///
/// # Errors
/// The bundle holds nothing for the format or something that it cannot carry, or `ptxas` failed.
pub fn pack(bundle: &Bundle, format: Format, options: &Options) -> Result<Contents, Error> {
    let circumstances = &options.circumstances;
    let mut contents = match format {
        Format::Dir => bundle.files(),
        Format::TarZst => tarball::files(bundle, circumstances)?,
        Format::Hip => hip::files(bundle, options.compress)?,
        Format::Fatbin => fatbin::files(bundle, options.ptxas.as_deref())?,
        Format::Header => header::files(bundle)?,
        Format::Rust => rust::files(bundle)?,
        Format::Wheel => wheel::files(bundle, circumstances)?,
        Format::Kpack => kpack::files(bundle)?,
    };
    attest(&mut contents, "xreduce-kernels", bundle, circumstances)?;
    Ok(contents)
}
