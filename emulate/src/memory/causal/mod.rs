//! The second memory model: threads with views, for instruction sets whose public model is written in relations
//! (PTX; OpenCL's for SPIR-V), where `order.rs` is for machine code with caches and waits.
//!
//! Source: PTX ISA, "Memory Consistency Model" (sm_70 and newer; strength, scopes, morally strong, release and acquire
//! patterns, causality order, the axioms); Lustig, Sahasrabuddhe, Giroux, "A Formal Analysis of the NVIDIA PTX Memory
//! Consistency Model" (ASPLOS 2019). The operational form, views instead of relations, is that of Kang et al., "A
//! Promising Semantics for Relaxed-Memory Concurrency" (POPL 2017), without promises.
//!
//! **Versions.** Every word has a list of the values it had in this run: its coherence order. A thread's *view* says,
//! for each word, the oldest version it may still read. Nothing but the view makes a load fresh: a load may return any
//! version from there on.
//!
//! **Morally strong.** Two accesses are, if one thread made both, or if both are strong and the scope of each includes
//! the thread of the other. A read that is morally strong with the write it reads raises the view (coherence,
//! observation order); any other does not, so two weak loads may see new, then old. What a reader is not morally
//! strong with (a weak store; a strong one at too small a scope) it may see late, in parts, or never.
//!
//! **Causality.** A release puts the thread's view into the version that it writes; an acquire of that version, with
//! scopes that include each other, takes it over (`sync.rs`). Views contain what others released before: causality is
//! transitive. Barriers of a block and the boundaries of kernels hand views on as well.
//!
//! **Stores** wait in their thread's buffer and leave it in any order but for one granule, at the latest when the
//! thread releases, meets a barrier or ends. Weak ones tear, at times into bytes.
//!
//! **Left out.** Mixed-size races, which the PTX model gives no meaning: here each 32-bit word is read on its own then.
//! What the models allow and this one cannot show: a load that is performed after a later store of its thread to
//! another place (LB), a write that coherence places before one that came earlier, after its thread released (2+2W with
//! releases). Proxies (texture, asynchronous copies) and clusters of more than one block: front ends refuse them.

mod loads;
mod stores;
mod sync;
mod view;

use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::{Access, Device, Memory};
use crate::error::Fault;
use crate::rng::Rng;
use stores::Pending;
pub(crate) use sync::Fence;
use view::View;

/// Which threads a strong access or fence takes into account, as seen from its own. A cluster is one block here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SyncScope {
    /// Those of its block.
    Block,
    /// Those of its device.
    Device,
    /// All.
    System,
}

/// Whether an access is ordered with those of other threads at all, and with whose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Strength {
    Weak,
    Strong(SyncScope),
}

/// How an access takes part in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Order {
    pub(crate) strength: Strength,
    /// A strong load, or the load of an update, takes over what the version that it reads hands on.
    pub(crate) acquire: bool,
    /// A strong store, or the store of an update, hands on what the thread has written and seen.
    pub(crate) release: bool,
}

/// Number of a thread of this model in its machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ThreadId(pub(super) u32);

/// The writer of what the host wrote.
const HOST: ThreadId = ThreadId(u32::MAX);

/// Where a thread sits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seat {
    pub(crate) device: Device,
    /// Number of the block, unique in the machine.
    pub(crate) block: u32,
}

impl SyncScope {
    /// Whether the scope, from `own`, includes a thread at `other`.
    fn includes(self, own: Seat, other: Seat) -> bool {
        match self {
            SyncScope::Block => own == other,
            SyncScope::Device => own.device == other.device,
            SyncScope::System => true,
        }
    }
}

/// What a release put into a version.
#[derive(Clone, Debug)]
struct Message {
    /// Seat and scope of the release.
    seat: Seat,
    scope: SyncScope,
    view: Rc<View>,
}

type Messages = Rc<[Message]>;

/// One value of a word.
#[derive(Clone, Debug)]
struct Version {
    /// Position in coherence order; unique per write event. 0: the value before the run.
    time: u64,
    value: u32,
    /// The version before this one.
    older: u32,
    writer: ThreadId,
    seat: Seat,
    strength: Strength,
    messages: Option<Messages>,
}

/// A message that a relaxed load saw: a later fence, or an acquire of the same place, may still take it over.
#[derive(Debug)]
struct Seen {
    word: u64,
    /// Scope of the load.
    scope: SyncScope,
    message: Message,
}

/// A thread.
#[derive(Debug)]
struct Observer {
    seat: Seat,
    view: View,
    seen: Vec<Seen>,
    /// Views at the last release fences, at most one a scope.
    fences: Vec<Message>,
    /// What it released by a store to a word: later strong stores of it there carry that on.
    released: Vec<(u64, Messages)>,
    stores: Vec<Pending>,
    /// Word -> time that its last load chose.
    last: FxHashMap<u64, u64>,
    in_busy_list: bool,
}

/// What a block's threads hand to each other at one phase of its barrier.
#[derive(Debug, Default)]
struct Meeting {
    phase: u64,
    view: View,
}

#[derive(Debug, Default)]
struct BlockState {
    /// By parity of the phase: all have left a phase before anyone comes to the next but one.
    meetings: [Meeting; 2],
    /// Of the `fence.sc` at block scope.
    fence: View,
}

#[derive(Debug, Default)]
struct DeviceState {
    /// What its ended kernels wrote and saw.
    view: View,
    /// Of the `fence.sc` at device scope.
    fence: View,
    threads: Vec<ThreadId>,
    /// Blocks' own memories, freed with the kernel.
    scratch: Vec<u64>,
}

/// Everything of this model that memory keeps during a run.
#[derive(Debug, Default)]
pub(super) struct Causal {
    versions: Vec<Version>,
    now: u64,
    /// None once ended.
    threads: Vec<Option<Box<Observer>>>,
    blocks: FxHashMap<u32, BlockState>,
    devices: Vec<DeviceState>,
    busy: Vec<ThreadId>,
    /// Of the `fence.sc` at system scope.
    fence: View,
}

impl Causal {
    /// Whether threads of this model ran in this run.
    fn is_used(&self) -> bool {
        !self.threads.is_empty()
    }

    fn tick(&mut self) -> u64 {
        self.now += 1;
        self.now
    }

    fn version(&self, index: u32) -> Option<&Version> {
        (index != 0).then(|| self.versions.get(index as usize - 1)).flatten()
    }

    fn observer(&self, id: ThreadId) -> Option<&Observer> {
        self.threads.get(id.0 as usize)?.as_deref()
    }

    fn observer_mut(&mut self, id: ThreadId) -> Option<&mut Observer> {
        self.threads.get_mut(id.0 as usize)?.as_deref_mut()
    }

    fn device_mut(&mut self, device: Device) -> Option<&mut DeviceState> {
        if self.devices.len() <= device.index() {
            self.devices.resize_with(device.index() + 1, DeviceState::default);
        }
        self.devices.get_mut(device.index())
    }

    /// The newest version of a word that is no newer than `time`; 0 where there is none.
    fn version_at(&self, newest: u32, time: u64) -> u32 {
        let mut index = newest;
        while let Some(version) = self.version(index) {
            if version.time <= time {
                break;
            }
            index = version.older;
        }
        index
    }
}

impl Memory {
    /// A thread that starts with its device's view.
    pub(crate) fn add_thread(&mut self, seat: Seat) -> ThreadId {
        let causal = &mut self.causal;
        let id = ThreadId(u32::try_from(causal.threads.len()).unwrap_or(u32::MAX));
        let mut view = View::default();
        if let Some(device) = causal.device_mut(seat.device) {
            device.threads.push(id);
            view.clone_from(&device.view);
        }
        causal.blocks.entry(seat.block).or_default();
        causal.threads.push(Some(Box::new(Observer {
            seat,
            view,
            seen: Vec::new(),
            fences: Vec::new(),
            released: Vec::new(),
            stores: Vec::new(),
            last: FxHashMap::default(),
            in_busy_list: false,
        })));
        id
    }

    /// Memory of a block's own, gone at the end of its kernel. Zeros as often as noise: what the last kernel left.
    pub(crate) fn add_block_memory(&mut self, device: Device, bytes: u32, rng: &mut Rng) -> Result<u64, Fault> {
        let address = self.allocate("shared memory", device, u64::from(bytes), 0, Access::Private)?;
        if rng.one_in(2) {
            for word in (address..address + u64::from(bytes)).step_by(4) {
                let noise = (rng.next() & 0xFFFF_FFFF) as u32;
                if let Some(word) = self.word_mut(word) {
                    word.value = noise;
                }
            }
        }
        if let Some(device) = self.causal.device_mut(device) {
            device.scratch.push(address);
        }
        Ok(address)
    }

    /// End of the kernel of a device: its threads are done, what they wrote and saw is its device's.
    pub(super) fn end_causal_kernel(&mut self, device: Device, rng: &mut Rng) {
        if !self.causal.is_used() {
            return;
        }
        let Some(state) = self.causal.device_mut(device) else { return };
        let (threads, scratch) = (std::mem::take(&mut state.threads), std::mem::take(&mut state.scratch));
        let mut view = std::mem::take(&mut state.view);
        for id in threads {
            self.flush(id, rng);
            let Some(observer) = self.causal.threads.get_mut(id.0 as usize).and_then(Option::take) else { continue };
            self.causal.blocks.remove(&observer.seat.block);
            view.join(&observer.view);
        }
        view.compact();
        if let Some(state) = self.causal.device_mut(device) {
            state.view = view;
        }
        for address in scratch {
            self.free(address);
        }
    }

    pub(super) fn end_causal_run(&mut self) {
        self.causal = Causal::default();
    }
}
