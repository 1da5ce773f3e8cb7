//! The one memory of an emulated machine: regions that belong to devices, with every access checked.
//!
//! Addresses are made up. A region lives in a slot of 64 GiB of its own, so an address names its region by its high
//! bits, arithmetic that runs off one region cannot land in another, and nothing of the host can be reached. Regions
//! straddle a 4 GiB boundary, so that a kernel that forgets a carry in 64-bit address arithmetic faults.
//!
//! Values are kept per aligned 32-bit word as the *system* sees them, with the history that the weak-memory model
//! (`order.rs` for caches, `causal/` for views) chooses stale values from. Leaves out: scratch, LDS, constant address spaces, paging.

mod causal;
mod loads;
mod order;
mod stores;
mod version;

use crate::error::{Fault, FaultKind};

pub(crate) use causal::{Fence, Order, Seat, Strength, SyncScope, ThreadId};
use order::{Agent, DeviceState};
pub(crate) use order::{AgentId, AgentSpec, CacheLevels, Reach, Scope, Temper};
use version::{History, Word};

/// A device of the machine: the owner of regions and the place where kernels run. In this project one per rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Device(pub(crate) u16);

impl Device {
    /// Number of the device, counted from 0 in the order of creation.
    #[must_use]
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// What kernels may do with a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Kernels on its own device may read it and not write it.
    ReadOnly,
    /// Kernels on its own device may read and write it.
    Private,
    /// It is mapped on every device: all kernels may read and write it.
    Shared,
}

/// log2 of the bytes of address space that one region has for itself.
const SLOT_BITS: u32 = 36;

#[derive(Debug)]
struct Region {
    name: String,
    device: Device,
    access: Access,
    base: u64,
    length: u64,
    /// `base` rounded down to a word.
    first_word: u64,
    words: Vec<Word>,
}

/// All regions, their histories, and what each wave and device has not made visible or seen yet.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    /// A freed slot stays empty: a late store into freed memory faults.
    regions: Vec<Option<Region>>,
    history: History,
    touched: Vec<u64>,
    agents: Vec<Agent>,
    devices: Vec<DeviceState>,
    causal: causal::Causal,
    temper: Temper,
    weak: bool,
    drained_at_end: bool,
}

/// What an access needs of its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AccessKind {
    Load,
    Store,
    Atomic,
}

impl Memory {
    pub(crate) fn add_device(&mut self) -> Device {
        let device = Device(u16::try_from(self.devices.len()).unwrap_or(u16::MAX));
        self.devices.push(DeviceState::default());
        device
    }

    /// Makes a region of `length` bytes whose first byte is `skew` bytes after a multiple of 4096. Zero filled.
    pub(crate) fn allocate(
        &mut self,
        name: &str,
        device: Device,
        length: u64,
        skew: u64,
        access: Access,
    ) -> Result<u64, Fault> {
        let slot = self.regions.len() as u64 + 1;
        if length >= 1 << (SLOT_BITS - 2) || skew >= 4096 || slot >= 1 << (64 - SLOT_BITS) {
            return Err(Fault::new(FaultKind::TooLarge { region: name.to_owned(), length }));
        }
        let boundary = (slot << SLOT_BITS) + (1 << (SLOT_BITS - 1));
        let base = boundary - (length / 2).next_multiple_of(4096) + skew;
        let first_word = base & !3;
        let count = (base + length - first_word).div_ceil(4);
        let words = vec![Word::default(); usize::try_from(count).unwrap_or(0)];
        self.regions.push(Some(Region { name: name.to_owned(), device, access, base, length, first_word, words }));
        Ok(base)
    }

    pub(crate) fn free(&mut self, address: u64) {
        if let Some(slot) = slot_of(address).and_then(|i| self.regions.get_mut(i)) {
            *slot = None;
        }
    }

    fn region(&self, address: u64) -> Option<&Region> {
        self.regions.get(slot_of(address)?)?.as_ref()
    }

    /// Checks an access of `length` bytes by a kernel on `device`.
    pub(crate) fn check(
        &self,
        address: u64,
        length: u64,
        alignment: u64,
        kind: AccessKind,
        device: Device,
    ) -> Result<(), Fault> {
        let fault = |kind| Err(Fault::at(kind, address, length));
        let Some(region) = self.region(address) else {
            return fault(FaultKind::Unmapped);
        };
        if address < region.base || address + length > region.base + region.length {
            let offset = i128::from(address) - i128::from(region.base);
            return fault(FaultKind::OutOfBounds { region: region.name.clone(), offset, region_length: region.length });
        }
        if region.access != Access::Shared && region.device != device {
            return fault(FaultKind::NotMapped { region: region.name.clone(), owner: region.device.index() });
        }
        if !address.is_multiple_of(alignment) {
            return fault(FaultKind::Misaligned { region: region.name.clone(), alignment });
        }
        if kind != AccessKind::Load && region.access == Access::ReadOnly {
            return fault(FaultKind::ReadOnly { region: region.name.clone() });
        }
        if kind == AccessKind::Atomic && region.device != device {
            return fault(FaultKind::PeerAtomic { region: region.name.clone(), owner: region.device.index() });
        }
        Ok(())
    }

    /// Region name and offset of an address, for reports.
    pub(crate) fn describe(&self, address: u64) -> String {
        self.region(address).map_or_else(
            || format!("{address:#x}"),
            |region| format!("{}{:+#x}", region.name, i128::from(address) - i128::from(region.base)),
        )
    }

    fn word(&self, address: u64) -> Word {
        self.region(address)
            .and_then(|region| region.words.get(word_index(region.first_word, address)))
            .copied()
            .unwrap_or_default()
    }

    fn word_mut(&mut self, address: u64) -> Option<&mut Word> {
        let region = self.regions.get_mut(slot_of(address)?)?.as_mut()?;
        let index = word_index(region.first_word, address);
        region.words.get_mut(index)
    }

    /// Host view: copies bytes out, as the system sees them.
    pub(crate) fn read(&self, address: u64, bytes: &mut [u8]) -> Result<(), Fault> {
        self.host_check(address, bytes.len())?;
        for (at, byte) in (address..).zip(bytes) {
            let value = self.word(at).value.to_le_bytes();
            *byte = value.into_iter().nth(usize::from(at.to_le_bytes()[0] & 3)).unwrap_or(0);
        }
        Ok(())
    }

    /// Host view: overwrites bytes and everything the system and the caches knew about them.
    pub(crate) fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), Fault> {
        self.host_check(address, bytes.len())?;
        let mut at = address;
        while at < address + bytes.len() as u64 {
            let word_at = at & !3;
            let mut value = self.word(word_at).value.to_le_bytes();
            for (place, byte) in (word_at..).zip(&mut value) {
                if let Some(new) =
                    place.checked_sub(address).and_then(|i| usize::try_from(i).ok()).and_then(|i| bytes.get(i))
                {
                    *byte = *new;
                }
            }
            self.host_store(word_at, u32::from_le_bytes(value));
            at = word_at + 4;
        }
        Ok(())
    }

    fn host_check(&self, address: u64, length: usize) -> Result<(), Fault> {
        let length = length as u64;
        match self.region(address) {
            Some(region) if address >= region.base && address + length <= region.base + region.length => Ok(()),
            _ => Err(Fault::at(FaultKind::Unmapped, address, length)),
        }
    }
}

fn slot_of(address: u64) -> Option<usize> {
    usize::try_from(address >> SLOT_BITS).ok()?.checked_sub(1)
}

fn word_index(first_word: u64, address: u64) -> usize {
    usize::try_from(address.wrapping_sub(first_word) / 4).unwrap_or(usize::MAX)
}
