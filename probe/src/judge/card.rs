//! The card itself: there, awake, served, and its memory in view.

use super::Facts;
use crate::card::{Card, Memory};
use crate::finding::{Code, Finding, Severity};
use crate::names::Vendor;

pub(super) fn judge(facts: &Facts<'_>, card: &Card) -> Vec<Finding> {
    [silent(card), not_served(facts, card), memory(facts, card)].into_iter().flatten().collect()
}

fn silent(card: &Card) -> Option<Finding> {
    if card.function.answers != Some(false) {
        return None;
    }
    let text = format!("{} does not answer: its configuration space reads as all ones", card.title());
    let mut finding = Finding::new(Code::CardSilent, Severity::Undecided, &[card.number], text);
    finding.evidence.extend(card.power_state.as_ref().map(|state| format!("power state {state}")));
    Some(finding.try_this("wake it (start a program on it) and probe again").try_this("reseat it and its power cables"))
}

fn not_served(facts: &Facts<'_>, card: &Card) -> Option<Finding> {
    let expected = card.vendor_name == Vendor::Amd && card.function.driver.as_deref() == Some("amdgpu");
    if !expected || !facts.compute_driver || card.kfd.is_some() {
        return None;
    }
    // Not every integrated GPU is supported, and nobody needs it for a collective.
    let severity = if card.integrated == Some(true) { Severity::Note } else { Severity::Fault };
    let text = format!("AMD's compute driver does not serve {}", card.title());
    Some(
        Finding::new(Code::CardNotServed, severity, &[card.number], text)
            .because("bound to amdgpu, and no node of /sys/class/kfd/kfd/topology is at its address")
            .try_this(
                "read the kernel log for kfd's reason; `PCI rejects atomics` there means that this card's firmware needs PCIe \
                 atomics for any kernel at all: another slot, or newer firmware",
            ),
    )
}

fn memory(facts: &Facts<'_>, card: &Card) -> Option<Finding> {
    let Memory { total, visible } = card.memory?;
    if card.integrated == Some(true) || visible >= total {
        return None;
    }
    let shared = facts.pairs.iter().any(|pair| pair.cards.contains(&card.number));
    let severity = if shared { Severity::Warning } else { Severity::Note };
    let (title, visible, total) = (card.title(), visible >> 20, total >> 20);
    let text = format!("other cards can reach {visible} of {total} MiB of {title}'s memory");
    Some(
        Finding::new(Code::VisibleMemory, severity, &[card.number], text)
            .because("mem_info_vis_vram_total is less than mem_info_vram_total; amdgpu offers peer access only for all of it")
            .try_this("turn on Resizable BAR and Above 4G Decoding in the firmware's settings"),
    )
}
