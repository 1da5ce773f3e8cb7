//! The memory that all ranks share: an anonymous file, mapped by every process at a place of its own.
//! Places in it are byte offsets, so that they mean the same in every process.
//!
//! Nothing here orders accesses: the commanding process touches the memory only while no rank runs.
#![allow(unsafe_code, reason = "memory shared between processes is raw by nature")]

use std::fs::File;
use std::io;

use memmap2::{MmapOptions, MmapRaw};

use crate::Error;

/// One mapping of the shared memory.
#[derive(Debug)]
pub(crate) struct SharedMemory {
    map: MmapRaw,
}

/// An anonymous file of this size, zero throughout.
pub(crate) fn create(bytes: usize) -> Result<File, Error> {
    let fail = |source: io::Error| Error::SharedMemory { doing: "make", bytes, source };
    let descriptor = rustix::fs::memfd_create("xreduce-ranks", rustix::fs::MemfdFlags::CLOEXEC)
        .map_err(|errno| fail(errno.into()))?;
    let file = File::from(descriptor);
    file.set_len(bytes as u64).map_err(fail)?;
    Ok(file)
}

impl SharedMemory {
    /// Maps the whole of `file`, which has `bytes` bytes.
    pub(crate) fn map(file: &File, bytes: usize) -> Result<Self, Error> {
        let map = MmapOptions::new().len(bytes).map_raw(file).map_err(|source| Error::SharedMemory {
            doing: "map",
            bytes,
            source,
        })?;
        Ok(Self { map })
    }

    /// The address of `bytes` bytes from `offset` on.
    pub(crate) fn address(&self, offset: u64, bytes: usize) -> Result<*mut u8, Error> {
        let of = self.map.len();
        let out = Error::OutOfRange { offset, bytes, of };
        let Ok(start) = usize::try_from(offset) else { return Err(out) };
        match start.checked_add(bytes) {
            // Wrapping, as the sum is known to stay inside the mapping.
            Some(end) if end <= of => Ok(self.map.as_mut_ptr().wrapping_add(start)),
            _ => Err(out),
        }
    }

    /// Copies from the memory into `bytes`.
    pub(crate) fn read(&self, offset: u64, bytes: &mut [u8]) -> Result<(), Error> {
        let from = self.address(offset, bytes.len())?;
        // SAFETY: `address` checked that the range lies in the mapping, which lives as long as `self`;
        // `bytes` is memory of this process alone, so the two do not overlap. Another process that
        // wrote now would make the bytes meaningless, and no more: any bytes are valid `u8`.
        unsafe { std::ptr::copy_nonoverlapping(from, bytes.as_mut_ptr(), bytes.len()) };
        Ok(())
    }

    /// Copies `bytes` into the memory.
    pub(crate) fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<(), Error> {
        let to = self.address(offset, bytes.len())?;
        // SAFETY: as in `read`, the other way round; the mapping is writable.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()) };
        Ok(())
    }

    /// Sets a range to one byte value.
    pub(crate) fn fill(&mut self, offset: u64, bytes: usize, value: u8) -> Result<(), Error> {
        let to = self.address(offset, bytes)?;
        // SAFETY: as in `write`.
        unsafe { std::ptr::write_bytes(to, value, bytes) };
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_mappings_show_the_same_bytes_and_refuse_what_is_outside() {
        let file = create(4096).unwrap();
        let mut one = SharedMemory::map(&file, 4096).unwrap();
        let other = SharedMemory::map(&file, 4096).unwrap();
        one.fill(0, 4096, 7).unwrap();
        one.write(4094, &[1, 2]).unwrap();
        let mut seen = [0; 3];
        other.read(4093, &mut seen).unwrap();
        assert_eq!(seen, [7, 1, 2]);
        for (offset, bytes) in [(4095, 2), (4097, 0), (u64::MAX, 1), (0, 4097)] {
            assert!(matches!(other.address(offset, bytes), Err(Error::OutOfRange { .. })));
        }
        other.address(4096, 0).unwrap();
    }
}
