//! Histories of words: every value a word has had in this run, when, by whom, and how far it had come.
//!
//! A timestamp counts the writes of the whole machine. A load that a cache may serve picks a time and gets the value
//! the word had for that reader at that time, which models any cache content at all: lines that were fetched early
//! and never evicted as well as lines fetched just now.

use super::order::{AgentId, Reach};

/// A 32-bit word: its value at the system's point of coherence, and the newest entry of its history (0: unwritten in
/// this run).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Word {
    pub(super) value: u32,
    pub(super) newest: u32,
}

/// One value of a word.
#[derive(Clone, Copy, Debug)]
pub(super) struct Version {
    /// When it came; 0 for the value before the run.
    pub(super) time: u64,
    pub(super) value: u32,
    /// The entry before this one; 0 ends the list.
    pub(super) older: u32,
    pub(super) writer: AgentId,
    pub(super) reach: Reach,
}

/// The versions of all words, newest last.
#[derive(Debug, Default)]
pub(super) struct History {
    versions: Vec<Version>,
    now: u64,
}

impl History {
    /// The time of the last write.
    pub(super) fn now(&self) -> u64 {
        self.now
    }

    /// Moves time on by one write and returns the new time. An 8-byte piece is one write of two words.
    pub(super) fn tick(&mut self) -> u64 {
        self.now += 1;
        self.now
    }

    pub(super) fn get(&self, index: u32) -> Option<&Version> {
        (index != 0).then(|| self.versions.get(index as usize - 1)).flatten()
    }

    /// Appends a version and returns its index. The run's step limit keeps the count far below 2^32.
    pub(super) fn push(&mut self, version: Version) -> u32 {
        self.versions.push(version);
        u32::try_from(self.versions.len()).unwrap_or(u32::MAX)
    }

    /// Forgets everything: between runs every word is what the system sees.
    pub(super) fn clear(&mut self) {
        self.versions.clear();
        self.now = 0;
    }
}
