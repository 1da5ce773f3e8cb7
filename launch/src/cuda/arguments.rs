//! An argument buffer: a kernel's arguments one after the other, each at a multiple of its size, as the PTX parameter space
//! and a C struct lay them out.

/// The arguments of one launch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Arguments(Vec<u8>);

impl Arguments {
    /// No arguments.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an address in device memory.
    #[must_use]
    pub fn address(self, address: u64) -> Self {
        self.with(&address.to_ne_bytes())
    }

    /// Adds a 32-bit value.
    #[must_use]
    pub fn word(self, word: u32) -> Self {
        self.with(&word.to_ne_bytes())
    }

    fn with(mut self, bytes: &[u8]) -> Self {
        self.0.resize(self.0.len().next_multiple_of(bytes.len()), 0);
        self.0.extend_from_slice(bytes);
        self
    }

    /// The buffer.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_argument_is_at_a_multiple_of_its_size() {
        let arguments = Arguments::new().address(1).word(2).address(3).word(4).word(5);
        let words: Vec<u32> =
            arguments.bytes().as_chunks::<4>().0.iter().map(|word| u32::from_ne_bytes(*word)).collect();
        assert_eq!(words, [1, 0, 2, 0, 3, 0, 4, 5]);
    }
}
