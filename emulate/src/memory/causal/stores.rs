//! Stores and updates: from the thread's buffer to the versions of the words (`mod.rs`).

use super::super::order::{ones, split};
use super::super::version::Word;
use super::{HOST, Message, Messages, Order, Seat, Strength, SyncScope, ThreadId, Version};
use crate::memory::{Device, Memory};
use crate::rng::Rng;

/// A store in its thread's buffer: 1, 2, 4 or 8 bytes, aligned.
#[derive(Clone, Debug)]
pub(super) struct Pending {
    pub(super) granule: u64,
    pub(super) value: u64,
    /// Which bits of the granule it writes.
    pub(super) mask: u64,
    strength: Strength,
    messages: Option<Messages>,
}

impl Memory {
    /// Stores `bytes` (1, 2, 4 or 8, aligned).
    pub(crate) fn ordered_store(
        &mut self,
        id: ThreadId,
        address: u64,
        bytes: u64,
        value: u64,
        order: Order,
        rng: &mut Rng,
    ) {
        if order.release {
            self.flush(id, rng);
        }
        let messages = self.outgoing(id, address, order);
        let (granule, shift) = (address & !7, (address & 7) * 8);
        let mask = ones(bytes) << shift;
        let store = Pending { granule, value: (value << shift) & mask, mask, strength: order.strength, messages };
        if !self.weak {
            return self.commit_store(id, &store, rng);
        }
        let Some(observer) = self.causal.observer_mut(id) else { return };
        observer.stores.push(store);
        if !observer.in_busy_list {
            observer.in_busy_list = true;
            self.causal.busy.push(id);
        }
    }

    /// Read-modify-write of 4 or 8 aligned bytes, performed now; `apply` gives the new value, if it writes one.
    /// Returns the old value. Atomic with respect to morally strong writes only.
    pub(crate) fn ordered_update(
        &mut self,
        id: ThreadId,
        address: u64,
        bytes: u64,
        order: Order,
        rng: &mut Rng,
        apply: impl FnOnce(u64) -> Option<u64>,
    ) -> u64 {
        let granule = address & !7;
        if order.release {
            self.flush(id, rng);
        } else {
            while self.commit_first_of(id, granule, rng) {}
        }
        let (old, inherited) = self.load_for_update(id, address, bytes, order, rng);
        let Some(new) = apply(old) else { return old };
        let own = self.outgoing(id, address, order);
        let messages = match (own, inherited) {
            (own, inherited) if inherited.is_empty() => own,
            (None, inherited) => Some(inherited.into()),
            (Some(own), mut inherited) => {
                inherited.extend(own.iter().cloned());
                Some(inherited.into())
            }
        };
        let shift = (address & 7) * 8;
        let mask = ones(bytes) << shift;
        let store = Pending { granule, value: (new << shift) & mask, mask, strength: order.strength, messages };
        self.commit_store(id, &store, rng);
        old
    }

    /// What a store hands on: its own release, fences before it, and an earlier release of the thread to the place.
    fn outgoing(&mut self, id: ThreadId, address: u64, order: Order) -> Option<Messages> {
        let Strength::Strong(scope) = order.strength else { return None };
        let observer = self.causal.observer_mut(id).filter(|_| self.weak)?;
        let mut messages: Vec<Message> = observer.fences.clone();
        if order.release {
            messages.retain(|fence| fence.scope > scope);
            messages.push(Message { seat: observer.seat, scope, view: observer.view.snapshot() });
        }
        if let Some((_, earlier)) = observer.released.iter().find(|(place, _)| *place == address) {
            messages.extend(earlier.iter().filter(|earlier| !order.release || earlier.scope > scope).cloned());
        }
        if messages.is_empty() {
            return None;
        }
        let messages: Messages = messages.into();
        if order.release {
            observer.released.retain(|(place, _)| *place != address);
            observer.released.push((address, messages.clone()));
        }
        Some(messages)
    }

    /// All stores of the thread leave its buffer.
    pub(super) fn flush(&mut self, id: ThreadId, rng: &mut Rng) {
        let backwards = rng.one_in(2);
        loop {
            let stores = self.causal.observer(id).map_or(&[][..], |observer| &observer.stores);
            let Some(store) = (if backwards { stores.last() } else { stores.first() }) else { return };
            let granule = store.granule;
            self.commit_first_of(id, granule, rng);
        }
    }

    /// At a memory operation of the thread: something of its buffer may leave.
    pub(crate) fn maybe_drain(&mut self, id: ThreadId, rng: &mut Rng) {
        let stores = self.causal.observer(id).map_or(0, |observer| observer.stores.len());
        if stores == 0 || !rng.one_in(self.temper.drain) {
            return;
        }
        self.drain(id, stores, rng);
    }

    fn drain(&mut self, id: ThreadId, stores: usize, rng: &mut Rng) {
        if rng.one_in(4) {
            return self.flush(id, rng);
        }
        let chosen = usize::try_from(rng.below(stores as u64)).unwrap_or(0);
        let granule = self.causal.observer(id).and_then(|observer| observer.stores.get(chosen)).map(|s| s.granule);
        if let Some(granule) = granule {
            self.commit_first_of(id, granule, rng);
        }
    }

    /// What happens of its own accord between two turns of the scheduler.
    pub(in crate::memory) fn causal_background(&mut self, rng: &mut Rng) {
        let busy = self.causal.busy.len();
        if busy == 0 || !rng.one_in(self.temper.background) {
            return;
        }
        let index = usize::try_from(rng.below(busy as u64)).unwrap_or(0);
        let Some(id) = self.causal.busy.get(index).copied() else { return };
        let stores = self.causal.observer(id).map_or(0, |observer| observer.stores.len());
        if stores > 0 {
            return self.drain(id, stores, rng);
        }
        self.causal.busy.swap_remove(index);
        if let Some(observer) = self.causal.observer_mut(id) {
            observer.in_busy_list = false;
        }
    }

    /// Commits the thread's oldest store to a granule; false if there is none.
    fn commit_first_of(&mut self, id: ThreadId, granule: u64, rng: &mut Rng) -> bool {
        let Some(observer) = self.causal.observer_mut(id) else { return false };
        let Some(index) = observer.stores.iter().position(|store| store.granule == granule) else { return false };
        let store = observer.stores.remove(index);
        self.commit_store(id, &store, rng);
        true
    }

    /// A store takes its place in coherence order: a strong one whole, a weak one in parts.
    fn commit_store(&mut self, id: ThreadId, store: &Pending, rng: &mut Rng) {
        let Some(seat) = self.causal.observer(id).map(|observer| observer.seat) else { return };
        let (low, high) = (split(store.value), split(store.mask));
        let mut halves = [(store.granule, low.0, high.0), (store.granule + 4, low.1, high.1)];
        let whole = store.strength != Strength::Weak || !self.weak;
        if !whole && rng.one_in(2) {
            halves.reverse();
        }
        let mut time = self.causal.tick();
        for (word, value, mask) in halves {
            if mask == 0 {
                continue;
            }
            let version = Version {
                time,
                value,
                older: 0,
                writer: id,
                seat,
                strength: store.strength,
                messages: store.messages.clone(),
            };
            if whole {
                self.append(word, mask, version);
                continue;
            }
            // A part of the bytes first, at times; then all of them.
            let part = mask & rng.pick(&[0, 0, 0xFFFF, 0xFF00_00FF], 0);
            if part != 0 && part != mask {
                self.append(word, part, version.clone());
                time = self.causal.tick();
            }
            self.append(word, mask, Version { time, ..version });
            time = self.causal.tick();
        }
    }

    /// Appends a version to a word; `version.value` holds the bits of `mask`.
    fn append(&mut self, address: u64, mask: u32, version: Version) {
        let Word { value: old, newest } = self.word(address);
        let value = (old & !mask) | (version.value & mask);
        if !self.weak {
            if let Some(word) = self.word_mut(address) {
                word.value = value;
            }
            return;
        }
        let causal = &mut self.causal;
        let older = if newest == 0 {
            self.touched.push(address);
            let seat = Seat { device: Device(0), block: 0 };
            let strength = Strength::Strong(SyncScope::System);
            let before = Version { time: 0, value: old, older: 0, writer: HOST, seat, strength, messages: None };
            causal.versions.push(before);
            u32::try_from(causal.versions.len()).unwrap_or(u32::MAX)
        } else {
            newest
        };
        let (writer, time) = (version.writer, version.time);
        causal.versions.push(Version { value, older, ..version });
        let newest = u32::try_from(causal.versions.len()).unwrap_or(u32::MAX);
        if let Some(observer) = causal.observer_mut(writer) {
            observer.view.raise(address, time);
        }
        if let Some(word) = self.word_mut(address) {
            *word = Word { value, newest };
        }
    }

    /// A word written by the host in the middle of a run.
    pub(in crate::memory) fn host_version(&mut self, address: u64, value: u32) {
        if !self.causal.is_used() {
            return;
        }
        let time = self.causal.tick();
        let seat = Seat { device: Device(0), block: 0 };
        let strength = Strength::Strong(SyncScope::System);
        self.append(address, u32::MAX, Version { time, value, older: 0, writer: HOST, seat, strength, messages: None });
    }
}
