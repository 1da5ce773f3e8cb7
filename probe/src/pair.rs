//! Two cards: what the tree says of a direct way between them.

use serde::Serialize;

use crate::address::Address;
use crate::card::Card;
use crate::config::PortKind;
use crate::function::Function;

/// How two cards of one vendor lie to each other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Pair {
    /// Numbers of the cards.
    pub cards: [usize; 2],
    /// Where their paths meet.
    pub meeting: Meeting,
    /// The port they meet at: a switch's upstream port or a root port.
    pub port: Option<Address>,
    /// Switch ports below the meeting point that send peer requests up to the root.
    pub redirected_at: Vec<Address>,
    /// Whether access control of all ports between them could be read.
    pub access_control_read: bool,
    /// The same IOMMU group; `None` if one has none.
    pub same_iommu_group: Option<bool>,
}

/// Where two paths meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Meeting {
    /// In a switch, which can pass requests on below the root.
    Switch,
    /// In the root complex, below one host bridge.
    HostBridge,
    /// Nowhere: different host bridges.
    Apart,
    /// The path of one is not known.
    Unknown,
}

/// All pairs of discrete cards of one vendor.
pub(crate) fn read(cards: &[Card]) -> Vec<Pair> {
    let discrete = |card: &&Card| card.integrated != Some(true);
    let mut pairs = Vec::new();
    for (at, first) in cards.iter().enumerate().filter(|(_, card)| discrete(card)) {
        let others = cards.iter().skip(at + 1).filter(discrete);
        pairs.extend(others.filter(|card| card.vendor_name == first.vendor_name).map(|second| pair(first, second)));
    }
    pairs
}

fn pair(first: &Card, second: &Card) -> Pair {
    let shared = first.path.iter().find(|port| second.path.iter().any(|other| other.address == port.address));
    let meeting = match (shared, &first.root, &second.root) {
        // Functions of one device meet in the root port above it.
        (Some(port), _, _) if port.kind == Some(PortKind::RootPort) => Meeting::HostBridge,
        // The lowest shared port of two cards behind one switch is its upstream port.
        (Some(_), _, _) => Meeting::Switch,
        (None, Some(one), Some(other)) if one == other => Meeting::HostBridge,
        (None, Some(_), Some(_)) => Meeting::Apart,
        (None, _, _) => Meeting::Unknown,
    };
    // As Linux counts them (`drivers/pci/p2pdma.c`): any bridge below the shared port. Elsewhere requests go up anyway.
    let ports: Vec<&Function> = match shared.filter(|_| meeting == Meeting::Switch) {
        Some(shared) => [first, second]
            .into_iter()
            .flat_map(|card| card.path.iter().take_while(|port| port.address != shared.address))
            .filter(|port| port.kind == Some(PortKind::DownstreamPort) || port.kind.is_none())
            .collect(),
        None => Vec::new(),
    };
    let redirects = |port: &&&Function| port.acs.is_some_and(|acs| acs.request_redirect);
    Pair {
        cards: [first.number, second.number],
        meeting,
        port: shared.map(|port| port.address),
        redirected_at: ports.iter().filter(redirects).map(|port| port.address).collect(),
        access_control_read: ports.iter().all(|port| port.acs.is_some()),
        same_iommu_group: match (first.function.iommu_group, second.function.iommu_group) {
            (Some(one), Some(other)) => Some(one == other),
            _ => None,
        },
    }
}
