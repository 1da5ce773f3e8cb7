//! Stores: from the store buffer to the caches, from there to the system (`order.rs`).

use std::collections::BTreeMap;

use super::order::{AgentId, Dirty, NOBODY, Piece, Reach, Scope, WHOLE_DEVICE, ones, split};
use super::version::Version;
use super::{Access, Device, Memory};
use crate::rng::Rng;

impl Memory {
    /// Puts `bytes` (1, 2, 4 or 8, within one granule) of a store into the agent's buffer.
    pub(crate) fn store(&mut self, agent: AgentId, operation: u64, address: u64, bytes: u64, value: u64, reach: Reach) {
        let shift = (address & 7) * 8;
        let mask = ones(bytes) << shift;
        let piece = Piece { operation, granule: address & !7, value: (value << shift) & mask, mask, reach };
        if !self.weak {
            return self.commit(agent, Piece { reach: Reach::System, ..piece });
        }
        let Some(state) = self.agents.get_mut(agent.0 as usize) else { return };
        state.stores.push(piece);
        if !state.in_busy_list {
            state.in_busy_list = true;
            let device = state.spec.device.index();
            if let Some(device) = self.devices.get_mut(device) {
                device.busy.push(agent);
            }
        }
    }

    /// Read-modify-write of 4 or 8 aligned bytes, performed now; `scope` says how fresh the value that it changes must
    /// be. Returns the old value.
    pub(crate) fn atomic(
        &mut self,
        agent: AgentId,
        address: u64,
        bytes: u64,
        (scope, reach): (Scope, Reach),
        rng: &mut Rng,
        apply: impl FnOnce(u64) -> u64,
    ) -> u64 {
        self.commit_granule(agent, address & !7);
        let old = self.load(agent, address, bytes, scope, rng);
        let (granule, shift) = (address & !7, (address & 7) * 8);
        let mask = ones(bytes) << shift;
        let value = (apply(old) << shift) & mask;
        self.commit(agent, Piece { operation: 0, granule, value, mask, reach });
        old
    }

    /// The shared region that a store of the agent is still on its way to, where the run forbids that at its end.
    pub(crate) fn undrained(&self, agent: AgentId) -> Option<String> {
        let state = self.agents.get(agent.0 as usize).filter(|_| self.drained_at_end)?;
        let regions = state
            .stores
            .iter()
            .filter_map(|piece| self.region(piece.granule + u64::from(piece.mask.trailing_zeros() / 8)));
        { regions }.find(|region| region.access == Access::Shared).map(|region| region.name.clone())
    }

    /// Makes what the agent's caches hold dirty visible as far as `reach`.
    pub(crate) fn write_back(&mut self, agent: AgentId, reach: Reach) {
        let Some(spec) = self.agents.get(agent.0 as usize).map(|state| state.spec) else { return };
        let Some(device) = self.devices.get_mut(spec.device.index()) else { return };
        let mut moved = BTreeMap::new();
        let mut take = |key: u8| {
            let mut rest = device.dirty.split_off(&(key, 0));
            if let Some(next) = key.checked_add(1) {
                device.dirty.append(&mut rest.split_off(&(next, 0)));
            }
            moved.extend(rest);
        };
        if reach >= Reach::Device {
            take(spec.complex);
        }
        if reach == Reach::System {
            take(WHOLE_DEVICE);
        }
        for ((_, address), dirty) in moved {
            self.settle(address, dirty, reach);
        }
    }

    /// Completes the agent's stores up to and including an operation: they have left the buffer.
    pub(crate) fn complete_stores(&mut self, agent: AgentId, operation: u64, rng: &mut Rng) {
        let Some(state) = self.agents.get_mut(agent.0 as usize) else { return };
        if state.stores.is_empty() {
            return;
        }
        let mut leaving: Vec<Piece> = Vec::with_capacity(state.stores.len());
        state.stores.retain(|piece| {
            let stays = piece.operation > operation;
            if !stays {
                leaving.push(*piece);
            }
            stays
        });
        if rng.one_in(2) {
            leaving.reverse();
            leaving.sort_by_key(|piece| piece.operation);
        }
        for piece in leaving {
            self.commit(agent, piece);
        }
    }

    /// Something of the agent's store buffer leaves: one piece, about half, or all of it.
    pub(crate) fn drain_some(&mut self, agent: AgentId, rng: &mut Rng) {
        let Some(state) = self.agents.get(agent.0 as usize) else { return };
        let count = state.stores.len() as u64;
        match rng.below(4) {
            _ if count == 0 => {}
            0 => self.complete_stores(agent, u64::MAX, rng),
            1 => {
                let mut kept: Vec<u64> = Vec::new();
                let mut leaving = Vec::new();
                if let Some(state) = self.agents.get_mut(agent.0 as usize) {
                    state.stores.retain(|piece| {
                        let stays = kept.contains(&piece.granule) || rng.one_in(2);
                        if stays {
                            kept.push(piece.granule);
                        } else {
                            leaving.push(*piece);
                        }
                        stays
                    });
                }
                for piece in leaving {
                    self.commit(agent, piece);
                }
            }
            _ => {
                let chosen = usize::try_from(rng.below(count)).unwrap_or(0);
                if let Some(granule) = state.stores.get(chosen).map(|piece| piece.granule) {
                    self.commit_first(agent, granule);
                }
            }
        }
    }

    /// A word written by the host; in the middle of a run by way of the history, as caches may hold the old one.
    pub(super) fn host_store(&mut self, address: u64, value: u32) {
        if !self.agents.is_empty() {
            let time = self.history.tick();
            self.push_version(address, Version { time, value, older: 0, writer: NOBODY, reach: Reach::System });
        }
        if let Some(word) = self.word_mut(address) {
            word.value = value;
        }
    }

    /// Commits the agent's oldest piece of a granule.
    fn commit_first(&mut self, agent: AgentId, granule: u64) -> bool {
        let Some(state) = self.agents.get_mut(agent.0 as usize) else { return false };
        let Some(index) = state.stores.iter().position(|piece| piece.granule == granule) else { return false };
        let piece = state.stores.remove(index);
        self.commit(agent, piece);
        true
    }

    fn commit_granule(&mut self, agent: AgentId, granule: u64) {
        while self.commit_first(agent, granule) {}
    }

    /// A piece leaves the buffer: both of its words at one time.
    fn commit(&mut self, agent: AgentId, piece: Piece) {
        let time = self.history.tick();
        let (value_low, value_high) = split(piece.value);
        let (mask_low, mask_high) = split(piece.mask);
        for (address, value, mask) in [(piece.granule, value_low, mask_low), (piece.granule + 4, value_high, mask_high)]
        {
            if mask != 0 {
                self.commit_word(agent, address, value, mask, piece.reach, time);
            }
        }
    }

    fn commit_word(&mut self, writer: AgentId, address: u64, value: u32, mask: u32, reach: Reach, time: u64) {
        let Some(spec) = self.agents.get(writer.0 as usize).map(|state| state.spec) else { return };
        if reach == Reach::Complex {
            // An older value on its way from the device to the system must not come after this one.
            let device = self.devices.get_mut(spec.device.index());
            if let Some(older) = device.and_then(|device| device.dirty.remove(&(WHOLE_DEVICE, address))) {
                self.settle(address, older, Reach::System);
            }
        }
        let old = if reach == Reach::System {
            self.word(address).value
        } else {
            self.fresh_view(writer).map_or(0, |view| self.seen(address, &view))
        };
        let value = (old & !mask) | value;
        self.push_version(address, Version { time, value, older: 0, writer, reach });
        let Some(device) = self.devices.get_mut(spec.device.index()) else { return };
        // What goes further than a cache takes the place of what that cache holds.
        let passed: &[u8] = match reach {
            Reach::System => &[spec.complex, WHOLE_DEVICE],
            Reach::Device => &[spec.complex],
            Reach::Complex => &[],
        };
        for key in passed {
            if let Some(dirty) = device.dirty.get_mut(&(*key, address)) {
                dirty.mask &= !mask;
                if dirty.mask == 0 {
                    device.dirty.remove(&(*key, address));
                }
            }
        }
        match reach {
            Reach::System => {
                if let Some(word) = self.word_mut(address) {
                    word.value = value;
                }
            }
            Reach::Device | Reach::Complex => {
                let key = if reach == Reach::Device { WHOLE_DEVICE } else { spec.complex };
                let dirty = device.dirty.entry((key, address)).or_insert(Dirty { value, mask: 0, writer });
                *dirty = Dirty { value, mask: dirty.mask | mask, writer };
            }
        }
    }

    /// A dirty word moves on from its cache.
    pub(super) fn settle(&mut self, address: u64, dirty: Dirty, reach: Reach) {
        let time = self.history.tick();
        self.commit_word(dirty.writer, address, dirty.value & dirty.mask, dirty.mask, reach, time);
    }

    pub(super) fn write_back_all(&mut self, device: Device) {
        let Some(state) = self.devices.get_mut(device.index()) else { return };
        for ((_, address), dirty) in std::mem::take(&mut state.dirty) {
            self.settle(address, dirty, Reach::System);
        }
    }

    fn push_version(&mut self, address: u64, version: Version) {
        let word = self.word(address);
        let older = if word.newest == 0 {
            self.touched.push(address);
            self.history.push(Version { time: 0, value: word.value, older: 0, writer: NOBODY, reach: Reach::System })
        } else {
            word.newest
        };
        let newest = self.history.push(Version { older, ..version });
        if let Some(word) = self.word_mut(address) {
            word.newest = newest;
        }
    }
}
