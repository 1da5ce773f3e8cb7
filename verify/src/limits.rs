//! Bounds on what an untrusted input may cost.

/// Limits of one inspection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Largest object that is unpacked from a compressed container, bytes.
    pub object_bytes: u64,
    /// Largest ratio of unpacked to stored size; objects up to 64 MiB are exempt. A ratio of 83 is
    /// real in shipped bundles, and text compresses better still.
    pub ratio: u64,
    /// Containers within containers.
    pub depth: u8,
    /// Images, archive members or bundle entries of one container.
    pub entries: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { object_bytes: 8 << 30, ratio: 1000, depth: 12, entries: 1 << 20 }
    }
}

impl Limits {
    /// Bytes that may be unpacked and walked within one file of `stored` bytes, all its containers
    /// together: what points at the same bytes again and again would otherwise cost their square.
    #[must_use]
    pub fn work(&self, stored: u64) -> u64 {
        stored.saturating_mul(self.ratio).max(512 << 20)
    }

    /// Bytes that an object of `stored` bytes may unpack to.
    #[must_use]
    pub fn unpacked(&self, stored: u64) -> u64 {
        stored.saturating_mul(self.ratio).max(64 << 20).min(self.object_bytes)
    }
}
