//! The machine around the cards: bare metal or a virtual one, and which board.
//!
//! A guest sees bridges that its hypervisor made up, so verdicts differ there. Sources: the CPU's hypervisor flag (x86 CPUID
//! leaf 1, ECX bit 31, as `/proc/cpuinfo` shows it), Xen's `/sys/hypervisor`, and the makers in the SMBIOS tables. Of those tables
//! only maker and model are read: no serial number, no UUID.

use serde::Serialize;

use crate::tree::Tree;

/// What surrounds the cards.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Machine {
    /// Whether this is a virtual machine; `None` if nothing says.
    pub virtual_machine: Option<bool>,
    /// The hypervisor, if it is known.
    pub hypervisor: Option<String>,
    /// What says so.
    pub evidence: Vec<String>,
    /// Maker and model of the board.
    pub board: Option<String>,
}

/// SMBIOS makers and products that stand for a hypervisor.
const MAKERS: &[(&str, &str)] = &[
    ("QEMU", "QEMU"),
    ("VMware", "VMware"),
    ("innotek", "VirtualBox"),
    ("Xen", "Xen"),
    ("Amazon EC2", "Amazon EC2"),
    ("Google Compute Engine", "Google Compute Engine"),
    ("OpenStack", "OpenStack"),
    ("KVM", "KVM"),
    ("Virtual Machine", "Hyper-V"), // Microsoft's product name; its hardware has others
];

impl Machine {
    pub(crate) fn read(tree: &Tree) -> Self {
        let mut evidence = Vec::new();
        let cpuinfo = tree.text("proc/cpuinfo");
        let flags = cpuinfo.as_deref().and_then(|text| text.lines().find(|line| line.starts_with("flags")));
        let flagged = flags.map(|line| line.split_whitespace().any(|flag| flag == "hypervisor"));
        if flagged == Some(true) {
            evidence.push("the processor has the hypervisor flag".to_owned());
        }
        let mut hypervisor = None;
        if let Some(kind) = tree.word("sys/hypervisor/type").filter(|kind| kind != "none") {
            evidence.push(format!("/sys/hypervisor/type is {kind}"));
            hypervisor = Some(kind);
        }
        for name in ["sys_vendor", "product_name"] {
            let Some(word) = tree.word(&format!("sys/class/dmi/id/{name}")) else { continue };
            if let Some((maker, known)) = MAKERS.iter().find(|(maker, _)| word.contains(maker)) {
                evidence.push(format!("SMBIOS {name} names {maker}"));
                hypervisor.get_or_insert_with(|| (*known).to_owned());
            }
        }
        let virtual_machine = if evidence.is_empty() { flagged } else { Some(true) };
        let board = |name: &str| tree.word(&format!("sys/class/dmi/id/board_{name}"));
        let board = [board("vendor"), board("name")].into_iter().flatten().collect::<Vec<_>>().join(" ");
        Self { virtual_machine, hypervisor, evidence, board: Some(board).filter(|board| !board.is_empty()) }
    }
}
