//! A view: word -> the time of the oldest version that may still be read. Kept as a shared part and a small own one,
//! since the threads of a block agree on nearly everything after each barrier.

use std::rc::Rc;

use rustc_hash::FxHashMap;

type Times = FxHashMap<u64, u64>;

/// Size of the own part from which on it becomes the shared part of a copy.
const SMALL: usize = 48;

#[derive(Clone, Debug, Default)]
pub(super) struct View {
    shared: Rc<Times>,
    own: Times,
}

impl View {
    /// The time for a word; 0 when any version will do.
    pub(super) fn get(&self, word: u64) -> u64 {
        let shared = self.shared.get(&word).copied().unwrap_or(0);
        let own = self.own.get(&word).copied().unwrap_or(0);
        shared.max(own)
    }

    pub(super) fn raise(&mut self, word: u64, time: u64) {
        if self.get(word) < time {
            self.own.insert(word, time);
        }
    }

    /// Becomes the later of both for every word.
    pub(super) fn join(&mut self, other: &View) {
        if Rc::ptr_eq(&self.shared, &other.shared) {
            // What differs is small.
        } else if self.shared.len() >= other.shared.len() {
            for (word, time) in other.shared.iter() {
                self.raise(*word, *time);
            }
        } else {
            let before = std::mem::replace(&mut self.shared, other.shared.clone());
            let own = std::mem::take(&mut self.own);
            for (word, time) in before.iter().chain(&own) {
                self.raise(*word, *time);
            }
        }
        for (word, time) in &other.own {
            self.raise(*word, *time);
        }
    }

    /// Moves everything into the shared part.
    pub(super) fn compact(&mut self) {
        if self.own.is_empty() {
            return;
        }
        let own = std::mem::take(&mut self.own);
        let shared = Rc::make_mut(&mut self.shared);
        for (word, time) in own {
            let slot = shared.entry(word).or_insert(0);
            *slot = (*slot).max(time);
        }
    }

    /// A copy that is cheap to keep.
    pub(super) fn snapshot(&mut self) -> Rc<View> {
        if self.own.len() > SMALL {
            self.compact();
        }
        Rc::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_join_is_the_later_of_both_whichever_is_larger() {
        let view = |times: &[(u64, u64)], compact: bool| {
            let mut view = View::default();
            times.iter().for_each(|(word, time)| view.raise(*word, *time));
            if compact {
                view.compact();
            }
            view
        };
        for (a, b) in [(false, false), (false, true), (true, false), (true, true)] {
            let small = view(&[(4, 9), (8, 1)], a);
            let large = view(&[(4, 3), (8, 2), (12, 5), (16, 1)], b);
            for (first, second) in [(&small, &large), (&large, &small)] {
                let mut joined = first.clone();
                joined.join(second);
                assert_eq!([4, 8, 12, 16, 20].map(|word| joined.get(word)), [9, 2, 5, 1, 0]);
                joined.join(&joined.clone());
                assert_eq!(joined.snapshot().get(4), 9);
            }
        }
    }
}
