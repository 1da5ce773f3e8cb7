//! AMD's compute driver (KFD) about its cards: what it decided, so that nothing need be guessed.
//!
//! Its topology in sysfs is readable by all. Names and numbers: Linux, `drivers/gpu/drm/amd/amdkfd`, `kfd_topology.c` (files,
//! `kfd_set_iolink_no_atomics`) and `kfd_crat.h` (link types and flags). ROCm's runtime takes PCIe atomics from the flags
//! of the link between card and processor, and refuses kernels with a hostcall buffer by them (ROCclr, `checkAtomicSupport`).

use std::collections::BTreeMap;

use serde::Serialize;

use crate::address::Address;
use crate::tree::Tree;

/// Folder of the topology.
const NODES: &str = "sys/class/kfd/kfd/topology/nodes";
const NO_ATOMICS_32: u64 = 1 << 2;
const NO_ATOMICS_64: u64 = 1 << 3;
const NO_PEER_DMA: u64 = 1 << 4;

/// A card in the topology.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Node {
    /// Number of the node.
    pub node: u64,
    /// Target, e.g. `gfx1100`.
    pub target: Option<String>,
    /// Whether the driver lets the card use atomics on host memory.
    pub atomics_to_host: Option<bool>,
    /// Cards that the driver links this one to; `None` from a kernel that does not list such links over PCIe.
    pub peers: Option<Vec<Peer>>,
}

/// A link to another card.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Peer {
    /// The other card.
    pub address: Address,
    /// xGMI rather than PCIe.
    pub xgmi: bool,
    /// Direct memory access is allowed.
    pub direct: bool,
}

type Properties = BTreeMap<String, u64>;

/// Cards of the topology by address; `None` without the driver.
pub(crate) fn read(tree: &Tree) -> Option<BTreeMap<Address, Node>> {
    if !tree.has(NODES) {
        return None;
    }
    let numbers = tree.names(NODES).into_iter().filter_map(|name| name.parse::<u64>().ok());
    let nodes: BTreeMap<u64, Properties> =
        numbers.map(|node| (node, properties(tree, &format!("{NODES}/{node}/properties")))).collect();
    let address = |node: &u64| nodes.get(node).and_then(address);
    let mut cards = BTreeMap::new();
    for (node, values) in &nodes {
        let Some(place) = address(node) else { continue };
        let listed = tree.has(&format!("{NODES}/{node}/p2p_links"));
        let mut atomics_to_host = None;
        let mut peers = Vec::new();
        for kind in ["io_links", "p2p_links"] {
            for link in tree.names(&format!("{NODES}/{node}/{kind}")) {
                let link = properties(tree, &format!("{NODES}/{node}/{kind}/{link}/properties"));
                let (Some(to), Some(flags)) = (link.get("node_to"), link.get("flags")) else { continue };
                match address(to) {
                    Some(address) => peers.push(Peer {
                        address,
                        xgmi: link.get("type") == Some(&11),
                        direct: flags & NO_PEER_DMA == 0,
                    }),
                    None if nodes.contains_key(to) => {
                        atomics_to_host = Some(flags & (NO_ATOMICS_32 | NO_ATOMICS_64) == 0);
                    }
                    None => {}
                }
            }
        }
        let peers = (listed || !peers.is_empty()).then_some(peers);
        cards.insert(place, Node { node: *node, target: target(values), atomics_to_host, peers });
    }
    Some(cards)
}

/// Lines of a name and a number.
fn properties(tree: &Tree, path: &str) -> Properties {
    let text = tree.text(path).unwrap_or_default();
    let property = |line: &str| {
        let (name, number) = line.split_once(' ')?;
        Some((name.to_owned(), number.trim().parse().ok()?))
    };
    text.lines().filter_map(property).collect()
}

/// Where the node's card sits; `None` for a processor. `location_id` is bus, device and function.
fn address(values: &Properties) -> Option<Address> {
    values.get("gfx_target_version").filter(|version| **version != 0)?;
    let location = u16::try_from(*values.get("location_id")?).ok()?;
    let [bus, place] = location.to_be_bytes();
    let domain = u32::try_from(values.get("domain").copied().unwrap_or(0)).ok()?;
    Some(Address { domain, bus, device: place >> 3, function: place & 7 })
}

/// `gfx_target_version` is major * 10000 + minor * 100 + stepping; the last two are hexadecimal digits in a name.
fn target(values: &Properties) -> Option<String> {
    let version = values.get("gfx_target_version")?;
    Some(format!("gfx{}{:x}{:x}", version / 10000, version / 100 % 100, version % 100))
}

#[cfg(test)]
mod tests {
    #[test]
    fn versions_are_targets() {
        for (version, name) in [(90010, "gfx90a"), (90402, "gfx942"), (110003, "gfx1103"), (120001, "gfx1201")] {
            let values = [("gfx_target_version".to_owned(), version)].into();
            assert_eq!(super::target(&values).as_deref(), Some(name));
        }
    }
}
