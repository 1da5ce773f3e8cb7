//! The link out of the card against what the card could do.
//!
//! A link of a quarter of its lanes or fewer is a fault, a half a warning: an allreduce of two cards is bound by the slower link.
//! A lower speed alone is a note, since idle cards slow down to save power (PCI Express Base Specification 5.0, 6.11).

use super::Facts;
use crate::card::Card;
use crate::finding::{Code, Finding, Severity};

pub(super) fn judge(facts: &Facts<'_>, card: &Card) -> Vec<Finding> {
    // Links inside a package have no lanes to lose; a virtual function has none of its own.
    if card.integrated == Some(true) || card.virtual_function || card.function.answers == Some(false) {
        return Vec::new();
    }
    let link = card.outward().link;
    // What a hypervisor says of the port above is made up.
    let above = if facts.guest() { None } else { card.port_above().map(|port| (port.address, port.link)) };
    let place = card.outward().address;
    let mut findings = Vec::new();
    if let (Some(width), Some(most)) = (link.width, link.max_width) {
        let severity = if width >= most {
            Severity::Good
        } else if width.saturating_mul(4) <= most {
            Severity::Fault
        } else {
            Severity::Warning
        };
        let text = if width >= most {
            format!("link x{width}: all lanes of {}", card.title())
        } else {
            format!("link x{width} of x{most} on {}", card.title())
        };
        let mut finding = Finding::new(Code::LinkWidth, severity, &[card.number], text);
        if severity != Severity::Good {
            finding = narrow(finding.because(format!("negotiated at {place}")), width, above);
        }
        findings.push(finding);
    }
    if let (Some(speed), Some(most)) = (link.speed, link.max_speed)
        && speed < most
    {
        let text = format!("link at {speed} of {most} GT/s on {} now", card.title());
        let finding = Finding::new(Code::LinkSpeed, Severity::Note, &[card.number], text)
            .because(format!("negotiated at {place}"));
        findings.push(match above {
            Some((port, link)) if link.max_speed.is_some_and(|limit| limit <= speed) => {
                finding.because(format!("the port above, {port}, gives no more"))
            }
            _ => finding.try_this("probe again while the card works: an idle card slows its link down"),
        });
    }
    findings
}

fn narrow(finding: Finding, width: u32, above: Option<(crate::Address, crate::Link)>) -> Finding {
    match above {
        Some((port, link)) if link.max_width.is_some_and(|limit| limit <= width) => finding
            .because(format!("the port above, {port}, gives no more"))
            .try_this("move the card to a wider slot, or free the slot that shares its lanes"),
        Some((port, link)) => {
            let limit = link.max_width.map_or_else(|| "of unknown width".to_owned(), |limit| format!("x{limit}"));
            finding
                .because(format!("the port above, {port}, is {limit}"))
                .try_this("reseat the card, clean its contacts, take out riser and extension cables")
                .try_this("look in the firmware's settings whether the slot is split (bifurcation)")
        }
        None => finding.try_this("look at the slot and the link on the host"),
    }
}
