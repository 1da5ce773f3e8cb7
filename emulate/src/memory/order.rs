//! The weak-memory model of machine code, caches and waits: who may see which write, and when. (`causal/` is the one for
//! instruction sets that are defined by relations.)
//!
//! It is an adversary, not a simulator: it does what the public memory models allow, not what caches of a certain
//! size would do. It was never compared with a GPU. Sources: LLVM AMDGPUUsage, "Memory Model" (one section per
//! family); each front end says which of its instructions mean what (`amdgpu/family.rs`).
//!
//! **Agents.** An agent is what has a program order: an AMD wave. It sits in a block, the block on a device.
//!
//! **Stores.** A store is cut into pieces that arrive whole: at most 8 bytes, never across an 8-byte boundary (the
//! *tearing* of wider stores). Pieces wait in the agent's store buffer. They leave it at random, in any order but
//! for pieces of one address, at the latest when the agent waits for them. What leaves the buffer is visible as far
//! as its [`Reach`]: to the agent's own cache complex (XCC), its device, or the system. What did not reach the
//! system stays *dirty* until a write-back of that agent's device, an eviction at random, or the end of the kernel.
//!
//! **Loads.** A load has a [`Scope`]: the nearest cache it may not be served from. Loads of `System` scope see the
//! system as it is. Any other may be served by a cache that holds the word as it was at any time since that cache
//! was last invalidated: a write by the same block may be missed by L0, one of the same device by L0 and L1, one of
//! another device by L0, L1 and L2. L0 belongs to the agent (or the block, where its waves share one), L1 to the
//! block, L2 to the device, the scalar cache to the block. An agent that read a word by one cache does not read an
//! older value by it later (coherence), until it invalidates. An agent always sees its own stores, but not by the
//! scalar cache.
//!
//! **Kernel boundaries.** A kernel starts with all caches invalidated and ends with everything written back.
//!
//! **Left out.** The memory type: regions behave like uncached (fine-grained) memory, as the contract demands of a
//! workspace, where a family's cache bits cannot say more. Mixed scopes within one word. Loads that return values
//! that nobody wrote.

use std::collections::{BTreeMap, HashMap};

use super::{Device, Memory};
use crate::rng::Rng;

/// Number of an agent in its machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct AgentId(pub(crate) u32);

/// The writer of values that were there before the run.
pub(super) const NOBODY: AgentId = AgentId(u32::MAX);

/// How fresh a load must be: which caches it passes by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Scope {
    /// May be served by the scalar cache.
    Scalar,
    /// May be served by L0.
    Agent,
    /// Sees what its block wrote; may be served by L1.
    Workgroup,
    /// Sees what its device wrote; may be served by L2.
    Device,
    /// Sees everything.
    System,
}

/// Who sees a store once it has left the store buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Reach {
    /// The blocks that share a cache complex (gfx942: an XCC's L2).
    Complex,
    /// The device.
    Device,
    /// Everybody.
    System,
}

/// A set of caches to invalidate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CacheLevels {
    pub(crate) scalar: bool,
    pub(crate) l0: bool,
    pub(crate) l1: bool,
    pub(crate) l2: bool,
}

/// Where an agent sits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AgentSpec {
    pub(crate) device: Device,
    /// Number of the block, unique in the machine.
    pub(crate) block: u32,
    /// Cache complex of the device that runs the block; 0 where a device has one.
    pub(crate) complex: u8,
    /// Whether the block's waves share one L0 (and its store path) or may have one each.
    pub(crate) shared_l0: bool,
}

/// Tendencies of a run, drawn from its seed. Each is a chance of one in so many, 0 for never: extremes find more
/// than a middle way in every run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Temper {
    /// That a load which may be served stale is fresh all the same.
    pub(crate) fresh: u64,
    /// That something of the own store buffer leaves at a memory operation.
    pub(crate) drain: u64,
    /// That something of some store buffer leaves at a turn of the scheduler. Never 0: stores arrive in the end.
    pub(crate) background: u64,
    /// That a dirty word is written back at a turn of the scheduler.
    pub(crate) evict: u64,
    /// That a load under way samples memory before it must.
    pub(crate) early_load: u64,
}

impl Default for Temper {
    fn default() -> Self {
        Temper { fresh: 1, drain: 1, background: 1, evict: 1, early_load: 1 }
    }
}

impl Temper {
    pub(crate) fn draw(rng: &mut Rng) -> Self {
        Temper {
            fresh: rng.pick(&[2, 4, 16, 0], 2),
            drain: rng.pick(&[2, 8, 0], 2),
            background: rng.pick(&[2, 8, 32], 2),
            evict: rng.pick(&[0, 0, 64, 8], 0),
            early_load: rng.pick(&[2, 8, 0], 2),
        }
    }
}

/// A part of a store that arrives whole: bytes of one 8-byte granule.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    /// The agent's number for the store instruction.
    pub(super) operation: u64,
    pub(super) granule: u64,
    pub(super) value: u64,
    /// Which bits of the granule it writes.
    pub(super) mask: u64,
    pub(super) reach: Reach,
}

#[derive(Debug)]
pub(super) struct Agent {
    pub(super) spec: AgentSpec,
    pub(super) l0: u64,
    pub(super) stores: Vec<Piece>,
    /// Granule -> the time at which the agent last read it from a cache.
    pub(super) fills: HashMap<u64, u64>,
    pub(super) in_busy_list: bool,
}

/// When the caches of a block were last invalidated.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BlockCaches {
    pub(super) l0: u64,
    pub(super) l1: u64,
    pub(super) scalar: u64,
}

/// A word that some cache holds newer than the system.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dirty {
    pub(super) value: u32,
    pub(super) mask: u32,
    pub(super) writer: AgentId,
}

/// Caches of a device that outlive its kernels' blocks.
#[derive(Debug, Default)]
pub(super) struct DeviceState {
    pub(super) l2: u64,
    pub(super) blocks: BTreeMap<u32, BlockCaches>,
    /// Dirty words by (cache complex, or `WHOLE_DEVICE`) and address.
    pub(super) dirty: BTreeMap<(u8, u64), Dirty>,
    pub(super) busy: Vec<AgentId>,
}

/// In the place of a cache complex: dirty for the whole device. Sorts after every complex.
pub(super) const WHOLE_DEVICE: u8 = u8::MAX;

impl Memory {
    /// Start of a run: how adverse memory is (not at all makes it sequentially consistent), and whether agents must
    /// have drained their stores to shared memory when they end.
    pub(crate) fn begin_run(&mut self, temper: Temper, weak: bool, drained_at_end: bool) {
        self.temper = temper;
        self.weak = weak;
        self.drained_at_end = drained_at_end;
    }

    pub(crate) fn is_weak(&self) -> bool {
        self.weak
    }

    /// End of a run: forgets agents and histories. Every launch has ended, so the system's view is all there is.
    pub(crate) fn end_run(&mut self) {
        for address in std::mem::take(&mut self.touched) {
            if let Some(word) = self.word_mut(address) {
                word.newest = 0;
            }
        }
        self.history.clear();
        self.agents.clear();
        self.end_causal_run();
        for device in &mut self.devices {
            *device = DeviceState::default();
        }
    }

    pub(crate) fn temper(&self) -> Temper {
        self.temper
    }

    /// An agent whose caches are as fresh as the start of its kernel.
    pub(crate) fn add_agent(&mut self, spec: AgentSpec) -> AgentId {
        let id = AgentId(u32::try_from(self.agents.len()).unwrap_or(u32::MAX));
        let now = self.history.now();
        if let Some(device) = self.devices.get_mut(spec.device.index()) {
            device.blocks.entry(spec.block).or_insert(BlockCaches { l0: now, l1: now, scalar: now });
        }
        self.agents.push(Agent { spec, l0: now, stores: Vec::new(), fills: HashMap::new(), in_busy_list: false });
        id
    }

    /// Start of a kernel on a device: its L2 holds nothing stale.
    pub(crate) fn begin_kernel(&mut self, device: Device) {
        let now = self.history.now();
        if let Some(device) = self.devices.get_mut(device.index()) {
            device.l2 = now;
            device.blocks.clear();
        }
    }

    /// End of the kernel of a device: stores leave their buffers and the caches are written back.
    pub(crate) fn end_kernel(&mut self, device: Device, rng: &mut Rng) {
        let busy =
            self.devices.get_mut(device.index()).map(|state| std::mem::take(&mut state.busy)).unwrap_or_default();
        for agent in busy {
            self.complete_stores(agent, u64::MAX, rng);
            if let Some(agent) = self.agents.get_mut(agent.0 as usize) {
                agent.in_busy_list = false;
            }
        }
        self.write_back_all(device);
        self.end_causal_kernel(device, rng);
    }

    /// Later loads of the agent pass by, or refill, these caches.
    pub(crate) fn invalidate(&mut self, agent: AgentId, levels: CacheLevels) {
        let now = self.history.now();
        let Some(state) = self.agents.get_mut(agent.0 as usize) else { return };
        if levels.l0 {
            state.l0 = now;
        }
        let Some(device) = self.devices.get_mut(state.spec.device.index()) else { return };
        if levels.l2 {
            device.l2 = now;
        }
        if let Some(block) = device.blocks.get_mut(&state.spec.block) {
            if levels.l0 {
                block.l0 = now;
            }
            if levels.l1 {
                block.l1 = now;
            }
            if levels.scalar {
                block.scalar = now;
            }
        }
    }

    /// What happens to the memory of its own accord between two turns of the scheduler.
    pub(crate) fn background(&mut self, rng: &mut Rng) {
        self.causal_background(rng);
        let which = usize::try_from(rng.below(self.devices.len() as u64)).unwrap_or(0);
        let Some(device) = self.devices.get_mut(which) else { return };
        if !device.dirty.is_empty() && rng.one_in(self.temper.evict) {
            let at = (rng.pick(&[0, WHOLE_DEVICE], 0), rng.next());
            let key = device.dirty.range(at..).next().or_else(|| device.dirty.iter().next()).map(|(key, _)| *key);
            if let Some((key, dirty)) = key.and_then(|key| device.dirty.remove(&key).map(|dirty| (key, dirty))) {
                self.settle(key.1, dirty, Reach::System);
            }
        }
        let Some(device) = self.devices.get_mut(which) else { return };
        if device.busy.is_empty() || !rng.one_in(self.temper.background) {
            return;
        }
        let index = usize::try_from(rng.below(device.busy.len() as u64)).unwrap_or(0);
        let Some(agent) = device.busy.get(index).copied() else { return };
        if self.agents.get(agent.0 as usize).is_some_and(|state| state.stores.is_empty()) {
            device.busy.swap_remove(index);
            if let Some(state) = self.agents.get_mut(agent.0 as usize) {
                state.in_busy_list = false;
            }
            return;
        }
        self.drain_some(agent, rng);
    }
}

pub(super) fn ones(bytes: u64) -> u64 {
    if bytes >= 8 { u64::MAX } else { (1 << (bytes * 8)) - 1 }
}

pub(super) fn join(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

pub(super) fn split(value: u64) -> (u32, u32) {
    ((value & 0xFFFF_FFFF) as u32, (value >> 32) as u32)
}
