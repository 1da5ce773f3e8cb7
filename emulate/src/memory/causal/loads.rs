//! Loads: which version of a word a load may return, and which of those it does (`mod.rs`).

use super::super::order::{join, ones};
use super::{HOST, Message, Order, Seat, Seen, Strength, ThreadId, Version};
use crate::memory::Memory;
use crate::rng::Rng;

/// Who loads.
#[derive(Clone, Copy)]
struct Reader {
    id: ThreadId,
    seat: Seat,
    strength: Strength,
}

impl Reader {
    /// Whether the load and the write of a version are morally strong.
    fn is_moral(self, version: &Version) -> bool {
        if version.writer == self.id || version.writer == HOST {
            return true;
        }
        match (self.strength, version.strength) {
            (Strength::Strong(own), Strength::Strong(other)) => {
                own.includes(self.seat, version.seat) && other.includes(version.seat, self.seat)
            }
            _ => false,
        }
    }
}

/// The words of an access: one, or both of a granule.
fn words(address: u64, bytes: u64) -> &'static [u64] {
    match (bytes, address & 4) {
        (8, _) => &[0, 4],
        (_, 0) => &[0],
        _ => &[4],
    }
}

impl Memory {
    /// Loads `bytes` (1, 2, 4 or 8, aligned). A strong load is single-copy atomic.
    pub(crate) fn ordered_load(&mut self, id: ThreadId, address: u64, bytes: u64, order: Order, rng: &mut Rng) -> u64 {
        let granule = address & !7;
        let value = if self.weak {
            let value = self.load_granule(id, address, bytes, order, rng);
            self.overlay(id, granule, value)
        } else {
            join(self.word(granule).value, self.word(granule + 4).value)
        };
        (value >> ((address & 7) * 8)) & ones(bytes)
    }

    /// A granule with what is still in the thread's own buffer laid over it.
    fn overlay(&self, id: ThreadId, granule: u64, value: u64) -> u64 {
        let stores = self.causal.observer(id).map_or(&[][..], |observer| &observer.stores);
        stores
            .iter()
            .filter(|store| store.granule == granule)
            .fold(value, |value, store| (value & !store.mask) | store.value)
    }

    fn load_granule(&mut self, id: ThreadId, address: u64, bytes: u64, order: Order, rng: &mut Rng) -> u64 {
        let granule = address & !7;
        let Some(observer) = self.causal.observer(id) else { return 0 };
        let reader = Reader { id, seat: observer.seat, strength: order.strength };
        let words = words(address, bytes);
        let mut found = [0; 2];
        // Words that nobody has written have one value only.
        let mut value = join(self.word(granule).value, self.word(granule + 4).value);
        if words.iter().all(|word| self.word(granule + word).newest == 0) {
            return value;
        }
        // What the reader is not morally strong with it sees by luck.
        let lucky = reader.strength == Strength::Weak || rng.one_in(self.temper.fresh);
        if order.strength == Strength::Weak {
            for (slot, word) in found.iter_mut().zip(words) {
                let cut = self.choose(id, &[granule + word], order.strength, rng);
                *slot = self.pick(reader, granule + word, cut, lucky);
            }
        } else {
            let places = [granule + words.first().unwrap_or(&0), granule + words.last().unwrap_or(&0)];
            let cut = self.choose(id, &places, order.strength, rng);
            for (slot, word) in found.iter_mut().zip(words) {
                *slot = self.pick(reader, granule + word, cut, lucky);
            }
        }
        for (index, word) in found.into_iter().zip(words) {
            value = self.lay(value, index, *word);
        }
        self.observe(reader, granule, words, found, order);
        value
    }

    /// The value of a granule with that of a version in the place of one word.
    fn lay(&self, value: u64, index: u32, word: u64) -> u64 {
        let Some(version) = self.causal.version(index) else { return value };
        (value & !(0xFFFF_FFFF << (word * 8))) | u64::from(version.value) << (word * 8)
    }

    /// A time that a load reads its words at: not before the view, at most now.
    fn choose(&mut self, id: ThreadId, places: &[u64], strength: Strength, rng: &mut Rng) -> u64 {
        let fresh = self.temper.fresh;
        // Strong loads see what is there in the end.
        let fresh = if strength != Strength::Weak && fresh == 0 { 8 } else { fresh };
        let newest = places
            .iter()
            .filter_map(|place| self.causal.version(self.word(*place).newest))
            .map(|version| version.time)
            .max()
            .unwrap_or(0);
        let Some(observer) = self.causal.observer(id) else { return newest };
        let lowest = places.iter().map(|place| observer.view.get(*place)).max().unwrap_or(0);
        if lowest >= newest {
            return lowest;
        }
        let place = places.first().copied().unwrap_or(0);
        let last = observer.last.get(&place).copied().filter(|time| *time >= lowest);
        let time = match last {
            _ if rng.one_in(fresh) => newest,
            // Back in time, too: only the view keeps a thread from that.
            Some(time) if !rng.one_in(16) => time,
            None if !rng.one_in(4) => lowest,
            _ => self.any_time(rng.pick(places, place), lowest, rng),
        };
        if let Some(observer) = self.causal.observer_mut(id) {
            observer.last.insert(place, time);
        }
        time
    }

    /// The time of one of the versions of a word from `lowest` on, or `lowest`.
    fn any_time(&self, place: u64, lowest: u64, rng: &mut Rng) -> u64 {
        let newest = self.word(place).newest;
        let versions =
            || std::iter::successors(self.causal.version(newest), |version| self.causal.version(version.older));
        let count = versions().take_while(|version| version.time > lowest).count();
        let chosen = usize::try_from(rng.below(count as u64 + 1)).unwrap_or(0);
        versions().nth(chosen).map_or(lowest, |version| version.time.max(lowest))
    }

    /// The newest version of a word up to `cut` that the reader sees; 0 for a word without versions.
    fn pick(&self, reader: Reader, place: u64, cut: u64, lucky: bool) -> u32 {
        let floor = self.causal.observer(reader.id).map_or(0, |observer| observer.view.get(place));
        let mut index = self.causal.version_at(self.word(place).newest, cut.max(floor));
        while let Some(version) = self.causal.version(index) {
            if lucky || version.time <= floor || reader.is_moral(version) {
                break;
            }
            index = version.older;
        }
        index
    }

    /// What reading these versions does to the reader. Returns what they hand on.
    fn observe(&mut self, reader: Reader, granule: u64, words: &[u64], found: [u32; 2], order: Order) -> Vec<Message> {
        let mut handed = Vec::new();
        let Strength::Strong(scope) = reader.strength else { return handed };
        for (index, word) in found.into_iter().zip(words) {
            let Some(version) = self.causal.version(index) else { continue };
            if !reader.is_moral(version) {
                continue;
            }
            let time = version.time;
            let messages = version.messages.clone();
            let Some(observer) = self.causal.observer_mut(reader.id) else { continue };
            observer.view.raise(granule + word, time);
            for message in messages.iter().flat_map(|messages| messages.iter()) {
                let known = |seen: &Seen| std::rc::Rc::ptr_eq(&seen.message.view, &message.view);
                if !observer.seen.iter().any(|seen| seen.word == granule + word && known(seen)) {
                    observer.seen.push(Seen { word: granule + word, scope, message: message.clone() });
                }
                handed.push(message.clone());
            }
            if order.acquire {
                observer.take_over(scope, Some(granule + word));
            }
        }
        handed
    }

    /// The load of an update, and what the version that it read hands on: no older than the newest version that the
    /// update is morally strong with.
    pub(super) fn load_for_update(
        &mut self,
        id: ThreadId,
        address: u64,
        bytes: u64,
        order: Order,
        rng: &mut Rng,
    ) -> (u64, Vec<Message>) {
        let (granule, shift) = (address & !7, (address & 7) * 8);
        let mut value = join(self.word(granule).value, self.word(granule + 4).value);
        let mut handed = Vec::new();
        if self.weak {
            let Some(observer) = self.causal.observer(id) else { return (0, handed) };
            let reader = Reader { id, seat: observer.seat, strength: order.strength };
            let words = words(address, bytes);
            let lucky = rng.one_in(2);
            let mut found = [0; 2];
            for (slot, word) in found.iter_mut().zip(words) {
                *slot = self.pick(reader, granule + word, u64::MAX, lucky);
                value = self.lay(value, *slot, *word);
            }
            handed = self.observe(reader, granule, words, found, order);
        }
        ((value >> shift) & ones(bytes), handed)
    }
}
