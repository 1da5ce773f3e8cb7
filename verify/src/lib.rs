//! Reads GPU device code as it is shipped and says what in it keeps kernels from launching.
//!
//! Bytes in, facts and findings out: [`inspect`] reads, [`check`] judges. The crate knows nothing of
//! how a kernel was made, needs no vendor tool, and never prints.
//!
//! ```
//! let ptx = b".version 7.8\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }\n";
//! let inspection = xreduce_verify::inspect(ptx, "k.ptx");
//! assert_eq!(inspection.images[0].kernels[0].name, "k");
//! let report = xreduce_verify::check(&inspection, &xreduce_verify::Options::strict());
//! assert_eq!(report.verdict, xreduce_verify::Verdict::Clean);
//! ```

mod bytes;
mod check;
mod config;
mod containers;
mod document;
mod error;
mod facts;
mod finding;
mod hidden;
mod inspect;
mod limits;
mod model;
mod msgpack;
pub mod report;
mod rules;
mod scan;
mod symbols;
mod target;

pub use check::{Options, Profile, Report, check};
pub use config::{Config, ConfigError};
pub use document::rules_document;
pub use error::ReadError;
pub use facts::Detail;
pub use finding::{Finding, Severity, Verdict};
pub use hidden::HiddenArguments;
pub use inspect::inspect;
pub use limits::Limits;
pub use model::{
    Argument, Container, ContainerKind, Details, Fault, FaultKind, Format, Image, Inspection, Kernel, Skipped, Symbols,
};
pub use rules::{RULES, Rule};
pub use scan::{OpenError, Scan, size};
