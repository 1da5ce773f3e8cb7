//! What one seed does to a kernel: a sequence of mixed calls on one workspace, and how it ends.
//!
//! A plan is data, drawn before anything runs, so the same seed, kernels and limits give the same plan.

use serde::Serialize;
use xreduce_contract::{Kernel, epoch};

use crate::backend::Limits;
use crate::random::Random;
use crate::values::Values;

/// A sequence of calls on workspaces that are prepared once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The seed it was drawn from.
    pub seed: u64,
    /// Capacity of an inbox, bytes.
    pub inbox_bytes: u32,
    /// The epoch that the prepared workspaces hold.
    pub start_epoch: u32,
    /// The calls, in order.
    pub calls: Vec<Call>,
    /// What comes after them.
    pub ending: Ending,
}

/// One call, on all ranks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The kernel.
    pub kernel: Kernel,
    /// Elements, equal on all ranks.
    pub count: u32,
    /// The root, equal on all ranks, for kernels that have one.
    pub root: u32,
    /// What the elements are.
    pub values: Values,
    /// Seed of the elements and of the backend's freedom.
    pub seed: u64,
    /// What is free to differ, by rank.
    pub ranks: Vec<RankCall>,
}

/// A rank's part of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RankCall {
    /// Elements between a 256-byte boundary and `in`.
    pub in_offset: u32,
    /// The same for `out`; when in place, for both.
    pub out_offset: u32,
    /// Whether `out` is `in`.
    pub in_place: bool,
    /// Blocks.
    pub blocks: u32,
    /// Threads of a block.
    pub threads: u32,
}

/// How a plan ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// With the last call.
    Quiet,
    /// With a message that is one element too long for the inboxes.
    OverCapacity,
    /// With a call to which this rank does not come in time, then comes late; then recovery and a right call.
    Absent(u32),
}

/// A kernel that can be called, with the most threads that its blocks may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Callable {
    /// The kernel.
    pub kernel: Kernel,
    /// Most threads of a block.
    pub max_threads: u32,
    /// Lanes that execute together: blocks have a multiple of it.
    pub lanes: u32,
}

/// Fewest and most calls of a plan.
const CALLS: (u32, u32) = (8, 32);
/// Most elements between a boundary and a pointer; more than a 16-byte access holds.
pub(crate) const MAX_OFFSET: u32 = 16;

impl Plan {
    /// The plan of `seed` for `focus`; about every third call is another of `kernels`, which all have
    /// the same world. Kernels that the host orders need memory that all ranks reach, so they are drawn for their own kind only.
    #[must_use]
    pub fn draw(seed: u64, focus: Callable, kernels: &[Callable], limits: &Limits) -> Self {
        // The kernel's name takes part, so that two kernels do not get the same plan.
        let mut random = Random::new(seed);
        let mut stream = random.bits();
        for byte in focus.kernel.symbol().bytes() {
            stream = Random::new(stream ^ u64::from(byte)).bits();
        }
        let mut random = Random::new(stream);
        let most = (limits.inbox_bytes / 128).max(1);
        // Small inboxes as often as large ones: in them, every message is near the capacity.
        let inbox_bytes = 128 * (1 + if random.once_in(2) { random.below(most) } else { random.below(most.min(8)) });
        let start_epoch = match random.below(4) {
            0 => 0,
            1 => 0x7FFF_FFFD - random.below(4),
            2 => epoch::LAST - 1 - random.below(6),
            _ => random.word().clamp(1, epoch::LAST),
        };
        let by_host = focus.kernel.is_ordered_by_host();
        let others: Vec<Callable> =
            kernels.iter().copied().filter(|other| by_host || !other.kernel.is_ordered_by_host()).collect();
        let calls = CALLS.0 + random.below(CALLS.1 - CALLS.0 + 1);
        let calls = (0..calls)
            .map(|_| {
                let callable = if random.once_in(3) { random.pick(&others, focus) } else { focus };
                Call::draw(callable, inbox_bytes, limits, &mut random)
            })
            .collect();
        // By turns, so that few seeds see every kind.
        let ending = match seed % 4 {
            _ if by_host => Ending::Quiet, // without a workspace there is neither capacity nor waiting
            0 => Ending::OverCapacity,
            1 | 3 => Ending::Quiet,
            _ => Ending::Absent(random.below(focus.kernel.world.ranks())),
        };
        Self { seed, inbox_bytes, start_epoch, calls, ending }
    }
}

impl Call {
    /// A call of `callable` that fits inboxes of this size.
    pub(crate) fn draw(callable: Callable, inbox_bytes: u32, limits: &Limits, random: &mut Random) -> Self {
        let capacity = callable.kernel.capacity(inbox_bytes);
        let count = match random.below(10) {
            0 => 0,
            1 => 1,
            2 => capacity,
            3 => capacity.saturating_sub(1 + random.below(3)),
            4 => random.below(capacity) | 1,
            5 | 6 => 1 + random.below(capacity.min(64)),
            _ => 1 + random.below(capacity),
        };
        Self::with_count(callable, count.min(capacity), limits, random)
    }

    /// A call with this many elements.
    pub(crate) fn with_count(callable: Callable, count: u32, limits: &Limits, random: &mut Random) -> Self {
        let ranks = callable.kernel.world.ranks();
        // Half of the calls are aligned on all ranks: the path that matters most.
        let aligned = random.once_in(2);
        let offset = |random: &mut Random| {
            let any = random.below(MAX_OFFSET);
            if aligned { any - any % (16 / callable.kernel.element.bytes()) } else { any }
        };
        let most_threads = callable.max_threads.min(limits.threads);
        let lane_groups = (most_threads / callable.lanes.max(1)).max(1);
        let ranks = (0..ranks)
            .map(|_| RankCall {
                in_offset: offset(random),
                out_offset: offset(random),
                in_place: random.once_in(3),
                blocks: 1 + random.below(limits.blocks),
                threads: callable.lanes * (1 << random.below(lane_groups.ilog2() + 1)),
            })
            .collect();
        let values = random.pick(Values::DRAWN, Values::Order);
        let root = random.below(callable.kernel.world.ranks());
        Self { kernel: callable.kernel, count, root, values, seed: random.bits(), ranks }
    }
}
