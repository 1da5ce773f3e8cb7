//! Can this machine run it, and if not, why.
//!
//! [`probe`] reads sysfs and PCI configuration space below a root folder: which GPUs there are, the bridges between each and
//! the processor, and what those let through. [`drivers::ask`] asks the drivers that are installed. [`Report`] holds both with
//! verdicts in plain words, the evidence for each and what helps. `docs/probe.md` documents the report.
//!
//! A folder other than `/` may be a recorded tree from another machine, so all of it is untrusted.

mod address;
mod card;
mod config;
pub mod drivers;
mod finding;
mod function;
mod judge;
mod kfd;
mod machine;
mod names;
mod pair;
mod report;
mod text;
mod tree;

use std::io;
use std::path::{Path, PathBuf};

pub use address::Address;
pub use card::{Card, Memory};
pub use config::PortKind;
pub use finding::{Code, Finding, Severity};
pub use function::{Acs, Atomics, Function, Link};
pub use kfd::{Node, Peer};
pub use machine::Machine;
pub use names::Vendor;
pub use pair::{Meeting, Pair};
pub use report::{Report, Verdict};
pub use tree::Unread;

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The root folder.
    #[error("{}: {source}", path.display())]
    Root {
        /// The folder.
        path: PathBuf,
        /// Why it cannot be read.
        source: io::Error,
    },
}

/// Reads the tree below `root` and judges it together with what the drivers said.
///
/// # Errors
/// [`Error::Root`] if `root` is no readable folder. What is missing or broken below it is in the report.
pub fn probe(root: &Path, drivers: drivers::Answers) -> Result<Report, Error> {
    let tree = tree::Tree::open(root)?;
    let machine = Machine::read(&tree);
    let kfd = kfd::read(&tree);
    let cards = card::read(&tree, kfd.as_ref());
    let pairs = pair::read(&cards);
    let compute_driver = kfd.is_some();
    let findings = judge::judge(&judge::Facts {
        machine: &machine,
        cards: &cards,
        pairs: &pairs,
        compute_driver,
        drivers: &drivers,
    });
    Ok(Report { machine, cards, pairs, drivers, findings, unread: tree.unread() })
}

/// Target of each card below `root` by address, for a driver that does not name its target itself.
///
/// # Errors
/// As [`probe`].
pub fn targets(root: &Path) -> Result<Vec<(Address, Option<String>)>, Error> {
    let tree = tree::Tree::open(root)?;
    let kfd = kfd::read(&tree);
    let cards = card::read(&tree, kfd.as_ref());
    Ok(cards.into_iter().map(|card| (card.function.address, card.target)).collect())
}
