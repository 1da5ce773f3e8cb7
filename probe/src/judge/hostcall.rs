//! Will kernels that declare a hostcall buffer be launched on this AMD card?
//!
//! HIP refuses them where the driver has PCIe atomics off. The driver (Linux, `amdgpu_device.c`) takes them for granted on
//! integrated GPUs, leaves a virtual function's to its host, and otherwise asks `pci_enable_atomic_ops_to_root` (`drivers/pci/pci.c`):
//! every switch on the way must route AtomicOps, no upstream port may block them, and the root port must complete the 32-bit
//! and 64-bit ones (PCI Express Base Specification 5.0, 6.15). Best evidence first: our own kernel, the driver's word, the registers.

use super::Facts;
use crate::card::Card;
use crate::config::PortKind;
use crate::drivers::{End, Kernel};
use crate::finding::{Code, Finding, Severity};
use crate::function::Function;
use crate::names::Vendor;

/// What the registers on the way up say.
struct Way {
    /// What stops an AtomicOp.
    stops: Vec<Stop>,
    /// What could not be read.
    unread: Vec<String>,
    /// What lets it through.
    passes: Vec<String>,
}

struct Stop {
    text: String,
    /// The root port itself, rather than a bridge below it.
    root: bool,
}

pub(super) fn judge(facts: &Facts<'_>, card: &Card) -> Option<Finding> {
    if card.vendor_name != Vendor::Amd {
        return None;
    }
    let way = Way::up(card);
    if let Some(finding) = launched(facts, card, &way) {
        return Some(finding);
    }
    if let Some((allowed, node)) = card.kfd.as_ref().and_then(|node| Some((node.atomics_to_host?, node.node))) {
        let word = if allowed { "on" } else { "off" };
        let evidence = format!("KFD node {node}: the link to the processor has PCIe atomics {word}");
        return Some(if allowed { runs(card, &way) } else { refused(facts, card, &way) }.because(evidence));
    }
    if card.integrated == Some(true) {
        let text = format!("hostcall kernels can run on {}", card.title());
        let evidence = "integrated: it reaches memory inside the package, and the driver asks nothing of PCIe";
        return Some(Finding::new(Code::Hostcall, Severity::Good, &[card.number], text).because(evidence));
    }
    if card.virtual_function {
        return Some(undecided(card, "a virtual function: the driver of its host decides"));
    }
    if card.function.answers == Some(false) {
        return Some(undecided(card, "the card does not answer"));
    }
    if !way.stops.is_empty() {
        return Some(refused(facts, card, &way));
    }
    if !way.unread.is_empty() {
        let mut finding = undecided(card, "not all of the way to the processor can be read");
        finding.evidence.extend(way.unread);
        return Some(finding.try_this("run it as root, which may read all of configuration space"));
    }
    let bound = card.function.driver.as_deref() == Some("amdgpu");
    if bound && card.function.atomics.requester_enabled == Some(false) {
        let mut finding =
            undecided(card, "the way lets AtomicOps pass, and yet amdgpu has not enabled them on the card");
        finding.evidence.extend(way.passes);
        return Some(finding.try_this("read the kernel log for `PCIE atomic ops is not supported`"));
    }
    Some(runs(card, &way))
}

/// The verdict of our own kernel, if it was launched.
fn launched(facts: &Facts<'_>, card: &Card, way: &Way) -> Option<Finding> {
    let (answer, device) = facts.device(card)?;
    let run = answer.kernels.iter().find(|run| run.device == device && run.kernel == Kernel::Hostcall)?;
    let plain = answer.kernels.iter().find(|run| run.device == device && run.kernel == Kernel::Plain)?;
    let finding = match (plain.end, run.end) {
        (End::Ran, End::Ran) => runs(card, way).because("HIP launched our hostcall kernel, and it got its buffer"),
        (End::Ran, End::Refused | End::Wrong) => {
            let detail = run.detail.as_deref().unwrap_or("no reason given");
            refused(facts, card, way).because(format!("HIP ran our plain kernel and not our hostcall kernel: {detail}"))
        }
        // Where the plain kernel fails too, the other's failure says nothing of hostcalls.
        _ => return None,
    };
    Some(finding)
}

fn runs(card: &Card, way: &Way) -> Finding {
    let text = format!("hostcall kernels can run on {}", card.title());
    let mut finding = Finding::new(Code::Hostcall, Severity::Good, &[card.number], text);
    if way.stops.is_empty() && way.unread.is_empty() {
        finding.evidence.extend(way.passes.iter().cloned());
    }
    finding
}

fn undecided(card: &Card, reason: &str) -> Finding {
    let text = format!("whether hostcall kernels run on {} is not decided: {reason}", card.title());
    Finding::new(Code::Hostcall, Severity::Undecided, &[card.number], text)
}

fn refused(facts: &Facts<'_>, card: &Card, way: &Way) -> Finding {
    let reason = way.stops.first().map_or("the driver has PCIe atomics off", |stop| stop.text.as_str());
    let text = format!("hostcall kernels will be refused on {}: {reason}", card.title());
    let mut finding = Finding::new(Code::Hostcall, Severity::Fault, &[card.number], text);
    finding.evidence.extend(way.stops.iter().skip(1).map(|stop| stop.text.clone()));
    let behind_bridge = way.stops.iter().any(|stop| !stop.root);
    if facts.guest() {
        finding = guest(card, finding);
    } else if behind_bridge {
        finding =
            finding.try_this("move the card to a slot that is wired to the processor (the board's manual says which)");
    } else {
        finding =
            finding.try_this("try another slot, then newer firmware of the board: ports of one processor can differ");
    }
    finding.try_this(
        "use kernels that declare no hostcall buffer: `xreduce verify LIBRARY` says which do, `xreduce build` makes some that do not",
    )
}

/// QEMU (`hw/vfio/pci.c` of 8.1) gives a root port completer bits for a single-function device at function 0 directly below it, if the
/// host's own path has them.
fn guest(card: &Card, mut finding: Finding) -> Finding {
    finding.evidence.push("a virtual machine: its hypervisor decides what the port above the card offers".to_owned());
    if !card.siblings.is_empty() || card.function.multifunction == Some(true) {
        let siblings: Vec<String> = card.siblings.iter().map(ToString::to_string).collect();
        let beside =
            if siblings.is_empty() { String::new() } else { format!(", with {} beside it", siblings.join(", ")) };
        finding.evidence.push(format!(
            "the card is one function of several{beside}: most versions of QEMU then add no completer bits"
        ));
    }
    finding.try_this(
        "pass the card through as one function on a pcie-root-port of its own: its function 0 alone, its audio function not or in \
         another slot, without multifunction=on (QEMU 8.1 or newer; the host's own path must carry AtomicOps: probe there too)",
    )
}

impl Way {
    fn up(card: &Card) -> Self {
        let mut way = Self { stops: Vec::new(), unread: Vec::new(), passes: Vec::new() };
        for port in &card.path {
            way.through(port);
        }
        if !card.path.iter().any(|port| port.kind == Some(PortKind::RootPort)) && way.unread.is_empty() {
            way.unread.push("no root port above the card is visible".to_owned());
        }
        way
    }

    fn through(&mut self, port: &Function) {
        let (address, title, atomics) = (port.address, port.title(), port.atomics);
        match port.kind {
            Some(PortKind::RootPort) => self.root_port(port),
            Some(PortKind::UpstreamPort | PortKind::DownstreamPort) => {
                if atomics.routing != Some(true) {
                    let text = format!("bridge {address} ({title}) does not route AtomicOps");
                    self.stops.push(Stop { text, root: false });
                } else if port.kind == Some(PortKind::UpstreamPort) && atomics.egress_blocked == Some(true) {
                    let text = format!("bridge {address} ({title}) blocks AtomicOps on their way out");
                    self.stops.push(Stop { text, root: false });
                } else {
                    self.passes.push(format!("bridge {address} routes AtomicOps"));
                }
            }
            None if port.atomics.routing.is_none() => {
                let bytes = port.config_bytes;
                self.unread.push(format!("{address}: {bytes} bytes of configuration space are readable, too few"));
            }
            _ => {
                let text = format!("bridge {address} ({title}) leads to conventional PCI, which has no AtomicOps");
                self.stops.push(Stop { text, root: false });
            }
        }
    }

    fn root_port(&mut self, port: &Function) {
        let (address, title) = (port.address, port.title());
        let sizes = [(32, port.atomics.completer_32), (64, port.atomics.completer_64)];
        let missing: Vec<String> =
            sizes.iter().filter(|(_, has)| *has != Some(true)).map(|(bits, _)| format!("{bits}-bit")).collect();
        if missing.is_empty() {
            self.passes.push(format!("root port {address} completes 32-bit and 64-bit AtomicOps"));
        } else {
            let text = format!("root port {address} ({title}) does not complete {} AtomicOps", missing.join(" and "));
            self.stops.push(Stop { text, root: true });
        }
    }
}
