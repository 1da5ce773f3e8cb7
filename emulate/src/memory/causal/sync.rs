//! Fences, acquires and barriers: how views pass between threads (`mod.rs`).

use super::{BlockState, Meeting, Message, Observer, SyncScope, ThreadId};
use crate::memory::Memory;
use crate::rng::Rng;

/// What a fence does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fence {
    Acquire,
    Release,
    AcquireRelease,
    /// The same, and one total order with the other fences of this kind that it is morally strong with.
    SequentiallyConsistent,
}

impl Observer {
    /// An acquire at `scope`: takes over what strong loads saw, of one place or (a fence) of all, as far as release and
    /// acquire include each other's thread.
    pub(super) fn take_over(&mut self, scope: SyncScope, place: Option<u64>) {
        let mut seen = std::mem::take(&mut self.seen);
        seen.retain(|seen| {
            let Message { seat, scope: released, view } = &seen.message;
            let meets = place.is_none_or(|place| place == seen.word)
                && seen.scope.includes(self.seat, *seat)
                && scope.includes(self.seat, *seat)
                && released.includes(*seat, self.seat);
            if meets {
                self.view.join(view);
            }
            !meets
        });
        self.seen = seen;
    }
}

impl Memory {
    /// A fence of a thread.
    pub(crate) fn fence(&mut self, id: ThreadId, fence: Fence, scope: SyncScope, rng: &mut Rng) {
        if !self.weak {
            return;
        }
        if fence != Fence::Acquire {
            self.flush(id, rng);
        }
        let causal = &mut self.causal;
        let Some(observer) = causal.threads.get_mut(id.0 as usize).and_then(Option::as_deref_mut) else { return };
        if fence != Fence::Release {
            observer.take_over(scope, None);
        }
        if fence == Fence::SequentiallyConsistent {
            // Two such fences are morally strong if each scope includes the other's thread: in one block always, on
            // one device from device scope on, else at system scope only.
            let block = causal.blocks.get_mut(&observer.seat.block).map(|block| &mut block.fence);
            let device = causal.devices.get_mut(observer.seat.device.index()).map(|device| &mut device.fence);
            let orders =
                [(SyncScope::Block, block), (SyncScope::Device, device), (SyncScope::System, Some(&mut causal.fence))];
            let mut orders: Vec<_> =
                orders.into_iter().filter(|(least, _)| *least <= scope).filter_map(|(_, order)| order).collect();
            for order in &orders {
                observer.view.join(order);
            }
            for order in &mut orders {
                order.join(&observer.view);
            }
        }
        if fence != Fence::Acquire {
            let message = Message { seat: observer.seat, scope, view: observer.view.snapshot() };
            observer.fences.retain(|earlier| earlier.scope > scope);
            observer.fences.push(message);
        }
    }

    /// The thread comes to its block's barrier: what it wrote and saw is for all that leave it.
    pub(crate) fn arrive(&mut self, id: ThreadId, phase: u64, rng: &mut Rng) {
        if !self.weak {
            return;
        }
        self.flush(id, rng);
        let causal = &mut self.causal;
        let Some(observer) = causal.threads.get(id.0 as usize).and_then(Option::as_deref) else { return };
        let Some(block) = causal.blocks.get_mut(&observer.seat.block) else { return };
        let meeting = block.meeting(phase);
        if meeting.phase != phase {
            *meeting = Meeting { phase, view: observer.view.clone() };
        }
        meeting.view.join(&observer.view);
    }

    /// The thread leaves the barrier that it came to in this phase.
    pub(crate) fn depart(&mut self, id: ThreadId, phase: u64) {
        let causal = &mut self.causal;
        let Some(observer) = causal.threads.get_mut(id.0 as usize).and_then(Option::as_deref_mut) else { return };
        let Some(block) = causal.blocks.get_mut(&observer.seat.block) else { return };
        let meeting = block.meeting(phase);
        if meeting.phase == phase && self.weak {
            // It contains the thread's own view, and everybody's copy is the same.
            meeting.view.compact();
            observer.view.clone_from(&meeting.view);
        }
    }
}

impl BlockState {
    fn meeting(&mut self, phase: u64) -> &mut Meeting {
        let [even, odd] = &mut self.meetings;
        if phase.is_multiple_of(2) { even } else { odd }
    }
}
