//! Direct access between two cards: what drivers say, and without them what the tree lets expect.
//!
//! Access Control Services: PCI Express Base Specification 5.0, 6.12. A switch port with P2P Request Redirect on sends requests for
//! a peer up to the root complex instead of across.

use super::Facts;
use crate::card::Card;
use crate::finding::{Code, Finding, Severity};
use crate::pair::{Meeting, Pair};

pub(super) fn judge(facts: &Facts<'_>, pair: &Pair) -> Option<Finding> {
    let card = |number| facts.cards.iter().find(|card| card.number == number);
    let [first, second] = pair.cards;
    let (first, second) = (card(first)?, card(second)?);
    let finding = by_driver(facts, pair, first, second)
        .or_else(|| by_compute_driver(pair, first, second))
        .unwrap_or_else(|| by_tree(facts, pair));
    Some(with_tree(finding, pair))
}

fn finding(pair: &Pair, severity: Severity, what: &str) -> Finding {
    let [first, second] = pair.cards;
    let text = format!("peer access {what} between card {first} and card {second}");
    Finding::new(Code::PeerAccess, severity, &pair.cards, text)
}

fn by_driver(facts: &Facts<'_>, pair: &Pair, first: &Card, second: &Card) -> Option<Finding> {
    let ((answer, one), (other_answer, other)) = (facts.device(first)?, facts.device(second)?);
    if answer.driver != other_answer.driver {
        return None;
    }
    let can = |from, to| answer.peers.iter().find(|access| (access.from, access.to) == (from, to)).map(|it| it.can);
    let (forth, back) = (can(one, other)?, can(other, one)?);
    let name = answer.driver.title();
    let evidence = |from: &Card, to: &Card, can| {
        format!("{name}: {} {} {}", from.title(), if can { "reaches" } else { "does not reach" }, to.title())
    };
    let (severity, what) = match (forth, back) {
        (true, true) => (Severity::Good, "works both ways"),
        (false, false) => (Severity::Warning, "is not offered"),
        _ => (Severity::Warning, "is offered one way only"),
    };
    Some(finding(pair, severity, what).because(evidence(first, second, forth)).because(evidence(second, first, back)))
}

fn by_compute_driver(pair: &Pair, first: &Card, second: &Card) -> Option<Finding> {
    let reaches = |from: &Card, to: &Card| {
        let peers = from.kfd.as_ref()?.peers.as_ref()?;
        Some(peers.iter().find(|peer| peer.address == to.function.address && peer.direct).copied())
    };
    let (forth, back) = (reaches(first, second)?, reaches(second, first)?);
    Some(match (forth, back) {
        (Some(link), Some(_)) => {
            let kind = if link.xgmi { "xGMI" } else { "PCIe" };
            finding(pair, Severity::Good, "is offered both ways").because(format!("KFD links the cards over {kind}"))
        }
        _ => finding(pair, Severity::Warning, "is not offered")
            .because("KFD has no link between the cards")
            .try_this("turn on Resizable BAR and Above 4G Decoding in the firmware's settings")
            .try_this("a kernel built with HSA_AMD_P2P and DMABUF_MOVE_NOTIFY, which amdgpu needs for it"),
    })
}

fn by_tree(facts: &Facts<'_>, pair: &Pair) -> Finding {
    let undecided = || finding(pair, Severity::Undecided, "is not decided");
    let finding = match pair.meeting {
        Meeting::Switch if !pair.redirected_at.is_empty() => finding(pair, Severity::Warning, "is unlikely"),
        Meeting::Switch if pair.access_control_read => finding(pair, Severity::Good, "is likely"),
        Meeting::Switch => undecided().try_this("run it as root, which may read access control"),
        Meeting::HostBridge | Meeting::Apart | Meeting::Unknown => undecided().try_this(
            "install the cards' driver and probe again: only it knows whether this processor passes peers' requests on",
        ),
    };
    if facts.guest() {
        finding.because("a virtual machine: its hypervisor decides, and often says no")
    } else {
        finding
    }
}

/// What the tree adds to any verdict.
fn with_tree(mut finding: Finding, pair: &Pair) -> Finding {
    let port = pair.port.map_or_else(String::new, |port| format!(" at {port}"));
    finding.evidence.push(match pair.meeting {
        Meeting::Switch => format!("they share a switch{port}"),
        Meeting::HostBridge => format!("they meet in the root complex{port}"),
        Meeting::Apart => "they are below different host bridges".to_owned(),
        Meeting::Unknown => "the path of one is not known".to_owned(),
    });
    if !pair.redirected_at.is_empty() {
        let ports: Vec<String> = pair.redirected_at.iter().map(ToString::to_string).collect();
        finding.evidence.push(format!("ACS redirect is on at {}", ports.join(", ")));
        if finding.severity != Severity::Good {
            finding.help.insert(
                0,
                "turn access control off where no virtual machine needs it: ACS in the firmware's settings, or the kernel's \
                 pci=disable_acs_redir= for these ports"
                    .to_owned(),
            );
        }
    }
    finding
}
