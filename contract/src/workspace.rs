//! Layout of a workspace, version 1, and its prepared state.

use crate::kernel::World;

/// Version of this layout, named in the manifest.
pub const LAYOUT_VERSION: u32 = 1;
/// Bytes of a packet.
pub const PACKET: u64 = 16;
/// The largest capacity of an inbox, bytes: every offset in a workspace then fits 32 bits, which is what kernels compute in.
pub const MAX_INBOX_BYTES: u32 = 1 << 26;
/// Bytes of the header page: the areas begin here.
pub const HEADER_PAGE: u64 = 4096;
/// Offset of the header words {epoch, status, abort, 0}.
pub const EPOCH: u64 = 0;
/// Offset of the status word.
pub const STATUS: u64 = 4;
/// Offset of the abort word; peers write it.
pub const ABORT: u64 = 8;
/// Offset of the count of blocks that hold the epoch.
pub const ARRIVED: u64 = 128;
/// Offset of the count of blocks that have staged.
pub const STAGED: u64 = 256;
/// Offset of the flag of sender 0; the next sender's is [`FLAG_STRIDE`] further.
pub const FLAGS: u64 = 384;
/// Distance of two senders' flags.
pub const FLAG_STRIDE: u64 = 128;

/// The areas of a workspace for `world` ranks with inboxes of `inbox_bytes` bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Workspace {
    world: World,
    inbox_bytes: u32,
}

impl Workspace {
    /// `None` unless `inbox_bytes` is a non-zero multiple of 128 up to [`MAX_INBOX_BYTES`].
    #[must_use]
    pub const fn new(world: World, inbox_bytes: u32) -> Option<Workspace> {
        if inbox_bytes == 0 || inbox_bytes > MAX_INBOX_BYTES || !inbox_bytes.is_multiple_of(128) {
            return None;
        }
        Some(Workspace { world, inbox_bytes })
    }

    /// Capacity of one inbox, bytes.
    #[must_use]
    pub const fn inbox_bytes(&self) -> u32 {
        self.inbox_bytes
    }

    fn inbox(&self) -> u64 {
        u64::from(self.inbox_bytes)
    }

    fn ranks(&self) -> u64 {
        u64::from(self.world.ranks())
    }

    /// Size of the whole workspace, bytes: `4096 + (4 W + 2) inbox_bytes`.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        HEADER_PAGE + (4 * self.ranks() + 2) * self.inbox()
    }

    /// Offset of the flag that `sender` stores here.
    #[must_use]
    pub fn flag(&self, sender: u32) -> u64 {
        FLAGS + FLAG_STRIDE * u64::from(sender)
    }

    /// Offset of the `ll` inbox of `sender` in `bank`.
    #[must_use]
    pub fn ll_inbox(&self, bank: u32, sender: u32) -> u64 {
        HEADER_PAGE + (u64::from(bank) * self.ranks() + u64::from(sender)) * self.inbox()
    }

    /// Offset of the `sentinel` inbox of `sender` in `bank`.
    #[must_use]
    pub fn sentinel_inbox(&self, bank: u32, sender: u32) -> u64 {
        self.ll_inbox(bank, sender) + 2 * self.ranks() * self.inbox()
    }

    /// Offset of the stage of `bank`.
    #[must_use]
    pub fn stage(&self, bank: u32) -> u64 {
        HEADER_PAGE + (4 * self.ranks() + u64::from(bank)) * self.inbox()
    }

    /// The state a host prepares: header page zero, everything else 0xFF.
    ///
    /// # Errors
    /// `memory` has another size than [`Self::bytes`]; nothing is written then.
    pub fn prepare(&self, memory: &mut [u8]) -> Result<(), WrongSize> {
        let expected = self.bytes();
        let found = memory.len() as u64;
        let (true, Some((header, areas))) = (expected == found, memory.split_at_mut_checked(4096)) else {
            return Err(WrongSize { expected, found });
        };
        header.fill(0);
        areas.fill(0xFF);
        Ok(())
    }
}

/// A block of memory is not as large as the workspace it should hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrongSize {
    /// Bytes the workspace has.
    pub expected: u64,
    /// Bytes that were given.
    pub found: u64,
}

impl std::fmt::Display for WrongSize {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "a workspace of {} bytes does not fit memory of {} bytes", self.expected, self.found)
    }
}

impl std::error::Error for WrongSize {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn areas_follow_each_other_without_gap() {
        let workspace = Workspace::new(World::try_from(3).unwrap(), 256).unwrap();
        assert_eq!(workspace.ll_inbox(0, 0), 4096);
        assert_eq!(workspace.ll_inbox(1, 2) + 256, workspace.sentinel_inbox(0, 0));
        assert_eq!(workspace.sentinel_inbox(1, 2) + 256, workspace.stage(0));
        assert_eq!(workspace.stage(1) + 256, workspace.bytes());
        assert_eq!(workspace.bytes(), 4096 + 14 * 256);
        let none = |inbox_bytes| Workspace::new(World::try_from(2).unwrap(), inbox_bytes).is_none();
        assert!(none(64) && none(0) && none(MAX_INBOX_BYTES + 128));
        assert!(Workspace::new(World::LARGEST, MAX_INBOX_BYTES).unwrap().bytes() < 1 << 32);
    }

    #[test]
    fn prepares_only_memory_of_the_right_size() {
        let workspace = Workspace::new(World::try_from(2).unwrap(), 128).unwrap();
        let mut memory = vec![7u8; usize::try_from(workspace.bytes()).unwrap()];
        assert!(workspace.prepare(&mut memory[1..]).is_err());
        assert!(memory.iter().all(|byte| *byte == 7));
        workspace.prepare(&mut memory).unwrap();
        assert!(memory[..4096].iter().all(|byte| *byte == 0) && memory[4096..].iter().all(|byte| *byte == 0xFF));
    }
}
