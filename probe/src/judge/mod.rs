//! From facts to verdicts.

mod card;
mod hostcall;
mod link;
mod peer;

use crate::card::Card;
use crate::drivers::{Answer, Answers, Driver, End, Kernel, State};
use crate::finding::{Code, Finding, Severity};
use crate::machine::Machine;
use crate::names::Vendor;
use crate::pair::Pair;

/// All that a verdict may rest on.
pub(crate) struct Facts<'a> {
    pub(crate) machine: &'a Machine,
    pub(crate) cards: &'a [Card],
    pub(crate) pairs: &'a [Pair],
    /// AMD's compute driver is loaded.
    pub(crate) compute_driver: bool,
    pub(crate) drivers: &'a Answers,
}

impl Facts<'_> {
    /// A guest: bridges above a card may be made up.
    fn guest(&self) -> bool {
        self.machine.virtual_machine == Some(true)
    }

    /// The driver that serves a card, its index there, if it works.
    fn device(&self, card: &Card) -> Option<(&Answer, usize)> {
        let address = Some(card.function.address);
        let found = |answer: &Answer| answer.devices.iter().position(|device| device.address == address);
        self.drivers.all().iter().find_map(|answer| Some((answer, found(answer)?)))
    }
}

/// Verdicts, card by card and then pair by pair.
pub(crate) fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    if facts.cards.is_empty() {
        let text = "no AMD, NVIDIA or Intel GPU is visible on the PCI bus";
        let finding = Finding::new(Code::NoGpu, Severity::Undecided, &[], text);
        return vec![if facts.guest() {
            finding.try_this("pass a card through to this virtual machine, or run this on its host")
        } else {
            finding
        }];
    }
    let mut findings: Vec<Finding> = privileges(facts).into_iter().collect();
    for card in facts.cards {
        findings.extend(card::judge(facts, card));
        findings.extend(hostcall::judge(facts, card));
        findings.extend(link::judge(facts, card));
        findings.extend(plain_kernel(facts, card));
    }
    findings.extend(facts.pairs.iter().filter_map(|pair| peer::judge(facts, pair)));
    findings.extend(facts.drivers.all().iter().filter_map(|answer| driver(facts, answer)));
    findings
}

/// The header of a configuration space is what Linux shows a user without privileges.
const HEADER: usize = 64;

/// What root would see more.
fn privileges(facts: &Facts<'_>) -> Option<Finding> {
    let cut = |card: &&Card| {
        std::iter::once(&card.function).chain(&card.path).any(|function| (1..=HEADER).contains(&function.config_bytes))
    };
    let cards: Vec<usize> = facts.cards.iter().filter(cut).map(|card| card.number).collect();
    if cards.is_empty() {
        return None;
    }
    let text = "root would add what cards and bridges do with AtomicOps, and access control (ACS) on the way";
    Some(
        Finding::new(Code::Privileges, Severity::Note, &cards, text)
            .because(format!("{HEADER} bytes of configuration space are readable by this user")),
    )
}

/// A driver that ought to find a card and does not.
fn driver(facts: &Facts<'_>, answer: &Answer) -> Option<Finding> {
    let vendor = match answer.driver {
        Driver::Hip => Vendor::Amd,
        Driver::Cuda => Vendor::Nvidia,
        Driver::LevelZero => Vendor::Intel,
    };
    let cards: Vec<usize> =
        facts.cards.iter().filter(|card| card.vendor_name == vendor).map(|card| card.number).collect();
    let what = match answer.state {
        State::Failed => "does not work",
        State::NoDevice => "finds no device",
        State::Absent | State::Answered => return None,
    };
    if cards.is_empty() {
        return None;
    }
    let text = format!("{} is installed and {what}, although there is a card for it", answer.driver.title());
    let mut finding = Finding::new(Code::Driver, Severity::Fault, &cards, text);
    finding.evidence.extend(answer.library.clone().map(|library| format!("library {library}")));
    finding.evidence.extend(answer.trouble.clone());
    Some(finding.try_this("check that the kernel driver is loaded and that this user may open its device files"))
}

/// The kernel that needs nothing: what it meets, every kernel meets.
fn plain_kernel(facts: &Facts<'_>, card: &Card) -> Option<Finding> {
    let (answer, device) = facts.device(card)?;
    let run = answer.kernels.iter().find(|run| run.device == device && run.kernel == Kernel::Plain)?;
    let (severity, what) = match run.end {
        End::Ran => (Severity::Good, "ran"),
        End::Refused => (Severity::Fault, "was refused"),
        End::Wrong => (Severity::Fault, "went wrong"),
        End::Untried => (Severity::Note, "could not be tried"),
    };
    let text = format!("a plain kernel of ours {what} on {}", card.title());
    let mut finding = Finding::new(Code::Driver, severity, &[card.number], text);
    finding.evidence.extend(run.detail.clone());
    Some(finding)
}
