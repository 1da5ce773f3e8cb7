//! Cards, and the path of bridges from each to its root.
//!
//! The path comes from the real place of a function's folder, `devices/pci0000:00/0000:00:01.1/0000:03:00.0`: sysfs nests each
//! function in the bridge above it.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::address::Address;
use crate::function::{Function, identity};
use crate::kfd::Node;
use crate::names::{self, Vendor};
use crate::tree::Tree;

const DEVICES: &str = "sys/bus/pci/devices";

/// A GPU.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Card {
    /// Number in this report, from 1, in the order of addresses.
    pub number: usize,
    /// Vendor.
    pub vendor_name: Vendor,
    /// Target that code for it is built for.
    pub target: Option<String>,
    /// Shares a package with the processor.
    pub integrated: Option<bool>,
    /// A virtual function of a shared card (SR-IOV).
    pub virtual_function: bool,
    /// Other functions of the same device.
    pub siblings: Vec<Address>,
    /// Power state, e.g. `D0`, `D3cold`.
    pub power_state: Option<String>,
    /// Device memory, where its driver says.
    pub memory: Option<Memory>,
    /// What AMD's compute driver says of it.
    pub kfd: Option<Node>,
    /// Name of the root that the path ends in, e.g. `pci0000:00`.
    pub root: Option<String>,
    /// The card itself.
    pub function: Function,
    /// Bridges, from the card up to the root.
    pub path: Vec<Function>,
}

/// Bytes of device memory, and of the part that others reach through the card's window (BAR).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Memory {
    /// All of it.
    pub total: u64,
    /// Reachable from outside.
    pub visible: u64,
}

impl Card {
    /// How a verdict calls it.
    pub(crate) fn title(&self) -> String {
        format!("card {}", self.number)
    }

    /// The end of the link that leaves the board. Cards with a switch of their own (AMD's since Navi 10) show a full link
    /// inside; the slot's link is on that switch's upstream port, the last of its bridges.
    pub(crate) fn outward(&self) -> &Function {
        self.path.iter().take_while(|port| self.owns(port)).last().unwrap_or(&self.function)
    }

    /// The port that this link leads to.
    pub(crate) fn port_above(&self) -> Option<&Function> {
        self.path.iter().find(|port| !self.owns(port))
    }

    /// Whether a bridge is part of the card: those of AMD's boards have the vendor id of its GPUs (0x1002), those of its
    /// chipsets and processors another (0x1022).
    fn owns(&self, port: &Function) -> bool {
        self.vendor_name == Vendor::Amd && port.vendor == self.function.vendor
    }
}

/// All cards of the three vendors, by address.
pub(crate) fn read(tree: &Tree, kfd: Option<&BTreeMap<Address, Node>>) -> Vec<Card> {
    let addresses: Vec<Address> = tree.names(DEVICES).iter().filter_map(|name| Address::parse(name)).collect();
    if addresses.is_empty() {
        // Said apart from "no GPU": a copy that begins at another folder than the root looks like this.
        tree.note(DEVICES, "lists no PCI function");
    }
    let mut cards: Vec<Card> = addresses.iter().filter_map(|address| card(tree, *address, &addresses, kfd)).collect();
    cards.sort_by_key(|card| card.function.address);
    for (number, card) in (1..).zip(&mut cards) {
        card.number = number;
    }
    cards
}

fn card(tree: &Tree, address: Address, all: &[Address], kfd: Option<&BTreeMap<Address, Node>>) -> Option<Card> {
    let folder = format!("{DEVICES}/{address}");
    let (vendor, _, class) = identity(tree, &folder)?;
    let vendor_name = Vendor::from_id(vendor)?;
    // Display controllers, and processing accelerators: PCI Code and ID Assignment Specification, 1.4 and 1.19.
    if !matches!(class >> 16, 0x03 | 0x12) {
        return None;
    }
    let function = Function::read(tree, &folder, address)?;
    let kfd = kfd.and_then(|nodes| nodes.get(&address)).cloned();
    let chip = function.name.and_then(|name| names::target(vendor_name, name));
    let driver_says = kfd.as_ref().and_then(|node| node.target.clone());
    let memory = |name: &str| tree.number(&format!("{folder}/{name}"));
    let memory = match (memory("mem_info_vram_total"), memory("mem_info_vis_vram_total")) {
        (Some(total), Some(visible)) => Some(Memory { total, visible }),
        _ => None,
    };
    let (root, path) = path(tree, &folder, address);
    Some(Card {
        number: 0,
        vendor_name,
        target: driver_says.or_else(|| chip.map(|(target, _)| target.to_owned())),
        integrated: chip.map(|(_, integrated)| integrated),
        // A guest has no link to the physical function, but some virtual ones have ids of their own.
        virtual_function: tree.has(&format!("{folder}/physfn"))
            || function.name.is_some_and(|name| name.contains(" VF]") || name.contains("MxGPU")),
        siblings: all.iter().copied().filter(|other| *other != address && other.same_slot(address)).collect(),
        power_state: tree.word(&format!("{folder}/power_state")).filter(|state| state != "unknown"),
        memory,
        kfd,
        root,
        function,
        path,
    })
}

/// Name of the root, and bridges from the function up.
fn path(tree: &Tree, folder: &str, address: Address) -> (Option<String>, Vec<Function>) {
    let lineage = tree.lineage(folder);
    let root = lineage.iter().rposition(|name| name.starts_with("pci") && name.contains(':'));
    let mut bridges = Vec::new();
    for (at, name) in lineage.iter().enumerate() {
        let Some(bridge) = Address::parse(name).filter(|bridge| *bridge != address) else { continue };
        let place = lineage.get(..=at).map(|names| names.join("/")).unwrap_or_default();
        match Function::read(tree, &place, bridge) {
            Some(bridge) => bridges.push(bridge),
            None => tree.note(&place, "a bridge without vendor, device or class"),
        }
    }
    bridges.reverse();
    (root.and_then(|at| lineage.get(at).cloned()), bridges)
}
