//! Packs a bundle of kernels into the forms that release jobs take.
//!
//! [`Bundle::read`] reads and judges what `xreduce build` wrote; [`pack`] gives the files of a release in one [`Format`], with
//! their provenance, bill of materials and checksums; [`publish`] puts them in their place. Equal bundles give equal bytes.
//! [`merge`] makes a bundle of the shards of one build, and [`Rebuild`] builds one again to compare.

mod attest;
mod bundle;
mod contents;
mod error;
mod fatbin;
mod format;
mod header;
mod hip;
mod kpack;
mod layouts;
mod merge;
mod rebuild;
mod rust;
mod sbom;
mod tarball;
mod wheel;

pub use attest::{Choices, Circumstances, PROVENANCE, Provenance, SBOM, Statement};
pub use bundle::Bundle;
pub use contents::{Contents, SUMS, publish};
pub use error::Error;
pub use format::{Format, Options, pack};
pub use merge::merge;
pub use rebuild::Rebuild;
