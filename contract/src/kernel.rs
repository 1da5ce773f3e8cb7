//! Which kernels there are: algorithm, wire, element and world, and the symbol each combination has.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A word that is none of a closed set; says which set, what was found and what would have been right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownWord {
    /// What the word should have named, e.g. `algorithm`.
    pub kind: &'static str,
    /// The word that was found.
    pub found: String,
    /// The words that exist.
    pub known: &'static [&'static str],
}

impl fmt::Display for UnknownWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown {} `{}`, expected one of: {}", self.kind, self.found, self.known.join(", "))
    }
}

impl std::error::Error for UnknownWord {}

/// Declares a closed set of words: the enum, its list, its names and its parser.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident, $kind:literal, { $($(#[$vdoc:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum $name { $($(#[$vdoc])* #[serde(rename = $word)] $variant,)+ }

        impl $name {
            /// Every member, in the order of listings.
            pub const ALL: &'static [$name] = &[$($name::$variant,)+];
            /// The names of [`Self::ALL`], in the same order.
            pub const WORDS: &'static [&'static str] = &[$($word,)+];

            /// The word that stands for it in symbols, files and on the command line.
            #[must_use]
            pub const fn word(self) -> &'static str {
                match self { $($name::$variant => $word,)+ }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.word())
            }
        }

        impl FromStr for $name {
            type Err = UnknownWord;
            fn from_str(text: &str) -> Result<Self, UnknownWord> {
                Self::ALL.iter().copied().find(|item| item.word() == text).ok_or_else(|| UnknownWord {
                    kind: $kind,
                    found: text.to_owned(),
                    known: Self::WORDS,
                })
            }
        }
    };
}

words! {
    /// How the ranks' contributions travel and where they are summed.
    Algorithm, "algorithm", {
        /// Every rank pushes its packets into every peer's inbox and sums what arrives at home.
        OneShotPush = "one_shot_push",
        /// Every rank stages its input at home, signals, and reads the peers' stages over the link.
        OneShotPull = "one_shot_pull",
        /// Recursive doubling: log2 W exchanges of partial sums between pairs; where W is no power of two, the extra ranks
        /// are folded in before and out after.
        Butterfly = "butterfly",
        /// One rank, the root, reads every peer's contribution, sums, and hands the result out.
        RootGather = "root_gather",
    }
}

words! {
    /// How the receiver knows that data has arrived.
    Wire, "wire", {
        /// {4 B data, tag, 4 B data, tag}: each 8-byte half carries the epoch. Needs 8-byte stores that arrive whole.
        Ll = "ll",
        /// 16 B data; a 32-bit word that still holds 0xFFFFFFFF has not arrived. Needs 4-byte stores that arrive whole.
        Sentinel = "sentinel",
        /// Data in the sender's stage, ordered before one flag word.
        Flag = "flag",
        /// Nothing on the device: the host orders the launch after every rank's input and before every use of the results.
        Host = "host",
    }
}

words! {
    /// Type of the summed elements.
    Element, "element", {
        /// IEEE 754 binary32.
        F32 = "f32",
        /// IEEE 754 binary16.
        F16 = "f16",
        /// bfloat16: the upper half of a binary32.
        Bf16 = "bf16",
    }
}

words! {
    /// The declared order in which a kernel adds the ranks' contributions.
    SumOrder, "sum order", {
        /// ((x0 + x1) + x2) + ..., the accumulator starting as x0.
        RankOrder = "rank_order",
        /// With P the largest power of two up to W: x_r + x_(r+P) for every r < W - P, then for d = 1, 2, .., P/2 the partial
        /// sums of ranks r and r + d, the lower rank's on the left, so that W = 4 gives (x0 + x1) + (x2 + x3).
        Pairwise = "pairwise",
    }
}

impl Element {
    /// Size of one element in bytes.
    #[must_use]
    pub const fn bytes(self) -> u32 {
        match self {
            Element::F32 => 4,
            Element::F16 | Element::Bf16 => 2,
        }
    }
}

impl Wire {
    /// Bytes of element data in one 16-byte packet.
    #[must_use]
    pub const fn data_bytes(self) -> u32 {
        match self {
            Wire::Ll => 8,
            Wire::Sentinel | Wire::Flag | Wire::Host => 16,
        }
    }
}

impl Algorithm {
    /// The wires this algorithm exists with.
    #[must_use]
    pub const fn wires(self) -> &'static [Wire] {
        match self {
            Algorithm::OneShotPush | Algorithm::Butterfly => &[Wire::Ll, Wire::Sentinel],
            Algorithm::OneShotPull => &[Wire::Flag],
            Algorithm::RootGather => &[Wire::Flag, Wire::Host],
        }
    }

    /// The order in which it sums.
    #[must_use]
    pub const fn sum_order(self) -> SumOrder {
        match self {
            Algorithm::OneShotPush | Algorithm::OneShotPull | Algorithm::RootGather => SumOrder::RankOrder,
            Algorithm::Butterfly => SumOrder::Pairwise,
        }
    }
}

/// Number of ranks that take part in a call: 2 to 8.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u32", into = "u32")]
pub struct World(u32);

impl World {
    /// Every world that kernels are made for.
    pub const ALL: &'static [World] = &[World(2), World(3), World(4), World(5), World(6), World(7), World(8)];
    /// The last of them.
    pub const LARGEST: World = World(8);
    const WORDS: &'static [&'static str] = &["2", "3", "4", "5", "6", "7", "8"];

    /// Number of ranks.
    #[must_use]
    pub const fn ranks(self) -> u32 {
        self.0
    }

    /// The largest power of two that is not above the number of ranks.
    #[must_use]
    pub const fn power_of_two(self) -> u32 {
        1 << self.0.ilog2()
    }
}

impl TryFrom<u32> for World {
    type Error = UnknownWord;
    fn try_from(ranks: u32) -> Result<Self, UnknownWord> {
        let known = World(ranks);
        if World::ALL.contains(&known) {
            return Ok(known);
        }
        Err(UnknownWord { kind: "world", found: ranks.to_string(), known: World::WORDS })
    }
}

impl From<World> for u32 {
    fn from(world: World) -> u32 {
        world.0
    }
}

impl FromStr for World {
    type Err = UnknownWord;
    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        let unknown = || UnknownWord { kind: "world", found: text.to_owned(), known: World::WORDS };
        text.parse::<u32>().map_err(|_| unknown())?.try_into()
    }
}

impl fmt::Display for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// One kernel: a function of a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Kernel {
    /// Its algorithm.
    pub algorithm: Algorithm,
    /// Its wire, one of [`Algorithm::wires`].
    pub wire: Wire,
    /// Its element type.
    pub element: Element,
    /// The number of ranks it sums over.
    pub world: World,
}

impl Kernel {
    /// The symbol: `xreduce_<algorithm>_<wire>_<element>_w<world>`.
    #[must_use]
    pub fn symbol(&self) -> String {
        format!("xreduce_{}_{}_{}_w{}", self.algorithm, self.wire, self.element, self.world)
    }

    /// Whether packets carry f32 partial sums instead of elements: a butterfly of more than one exchange.
    #[must_use]
    pub const fn carries_partial_sums(&self) -> bool {
        matches!(self.algorithm, Algorithm::Butterfly) && self.world.0 > 2
    }

    /// Whether the host orders it: no workspace, and no call in the sense of the contract.
    #[must_use]
    pub const fn is_ordered_by_host(&self) -> bool {
        matches!(self.wire, Wire::Host)
    }

    /// Elements that one packet carries (contract, rule 2).
    #[must_use]
    pub const fn elements_per_packet(&self) -> u32 {
        let bytes = if self.carries_partial_sums() { Element::F32.bytes() } else { self.element.bytes() };
        self.wire.data_bytes() / bytes
    }

    /// Packets of a message of `count` elements.
    #[must_use]
    pub const fn packets(&self, count: u32) -> u32 {
        count.div_ceil(self.elements_per_packet())
    }

    /// The most elements that a workspace with inboxes of `inbox_bytes` can carry in one call.
    #[must_use]
    pub fn capacity(&self, inbox_bytes: u32) -> u32 {
        u32::try_from(u64::from(inbox_bytes / 16) * u64::from(self.elements_per_packet())).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_parses_to_itself() {
        for algorithm in Algorithm::ALL {
            assert_eq!(algorithm.word().parse(), Ok(*algorithm));
        }
        assert_eq!("4".parse::<World>().map(World::ranks), Ok(4));
        let error = "one_shot".parse::<Algorithm>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "unknown algorithm `one_shot`, expected one of: one_shot_push, one_shot_pull, butterfly, root_gather"
        );
        assert!("9".parse::<World>().is_err() && "two".parse::<World>().is_err());
    }

    #[test]
    fn packets_round_up_without_overflow() {
        let kernel =
            Kernel { algorithm: Algorithm::OneShotPush, wire: Wire::Ll, element: Element::F32, world: World(3) };
        assert_eq!(kernel.symbol(), "xreduce_one_shot_push_ll_f32_w3");
        assert_eq!([0, 1, 2, 3].map(|count| kernel.packets(count)), [0, 1, 1, 2]);
        assert_eq!(kernel.packets(u32::MAX), 1 << 31);
        assert_eq!(kernel.capacity(128), 16);
        let of = |algorithm, wire, element, world| Kernel { algorithm, wire, element, world: World(world) };
        let packets = [
            of(Algorithm::OneShotPush, Wire::Ll, Element::Bf16, 8),
            of(Algorithm::RootGather, Wire::Host, Element::F16, 5),
            of(Algorithm::Butterfly, Wire::Sentinel, Element::F16, 2),
            of(Algorithm::Butterfly, Wire::Sentinel, Element::F16, 3),
            of(Algorithm::Butterfly, Wire::Ll, Element::Bf16, 8),
        ];
        assert_eq!(packets.map(|kernel| kernel.elements_per_packet()), [4, 8, 8, 4, 2]);
        assert_eq!(packets[1].symbol(), "xreduce_root_gather_host_f16_w5");
    }
}
