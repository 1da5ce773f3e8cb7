//! Times a bundle's kernels on NVIDIA GPUs: microseconds per call for messages of every size, results checked.
//!
//! A measurement is a CUDA graph of many calls per rank, all ranks' graphs replayed at the same time; the median of
//! several replays. The same run gives the floor, a kernel that does nothing, and times other libraries' kernels where a
//! Python interpreter that has them is named ([`rivals`]).
//!
//! Where ranks share one GPU there is no link between them: such numbers compare kernels, not machines.
//! Left out: eager launches (they time the host), clocks (the device is measured as it is found), AMD and Intel.

mod date;
mod measure;
mod report;
pub mod rivals;
mod run;
mod svg;

pub use measure::Error;
pub use report::{Point, Report, Series, Skipped};
pub use run::{Options, Progress, bench, write_dispatch};
