//! Packs a bundle of kernels into the forms that release jobs take.
//!
//! [`Bundle::read`] reads and judges what `xreduce build` wrote; [`pack`] gives the files of a release in one [`Format`], with
//! their provenance, bill of materials and checksums; [`publish`] puts them in their place. Equal bundles give equal bytes.

mod attest;
mod bundle;
mod contents;
mod error;
mod header;
mod layouts;
mod sbom;

pub use attest::{Choices, Circumstances, PROVENANCE, Provenance, SBOM, Statement};
pub use bundle::Bundle;
pub use contents::{Contents, SUMS, publish};
pub use error::Error;

/// The forms of a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Format {
    /// The bundle's own folder.
    Dir,
    /// C arrays, structures and tables.
    Header,
}

impl Format {
    /// Every form, in the order of listings.
    pub const ALL: &'static [Format] = &[Format::Dir, Format::Header];

    /// The word for it on the command line.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Format::Dir => "dir",
            Format::Header => "header",
        }
    }
}

/// The files of a release.
///
/// # Errors
/// The bundle holds nothing for the format, or something that it cannot carry.
pub fn pack(bundle: &Bundle, format: Format, circumstances: &Circumstances) -> Result<Contents, Error> {
    let mut contents = match format {
        Format::Dir => bundle.files(),
        Format::Header => header::files(bundle)?,
    };
    attest::attest(&mut contents, "xreduce-kernels", bundle, circumstances)?;
    Ok(contents)
}
