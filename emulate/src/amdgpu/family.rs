//! What differs between AMD families, as tables: counters, meaning of the cache bits, caches that an invalidate
//! reaches, where a kernel finds its block number. A new family is a row here and, if it renames instructions, names
//! in the tables of `table/`.
//!
//! Source: LLVM AMDGPUUsage, "Memory Model gfx90a", "gfx942", "gfx10-gfx11", "gfx12" and "Initial Kernel Execution
//! State"; the code that LLVM 22 emits for loads, stores, fences and read-modify-writes of every scope, which agrees.
//!
//! | family | load bits: scope | store bits: reach | acquire | release |
//! |---|---|---|---|---|
//! | gfx908 | none: agent (L0 of the CU is shared by the block); `glc`: system | system (L1 writes through, uncached memory passes by L2) | `buffer_wbinvl1_vol`: L0, L1, L2 | wait `vmcnt` |
//! | gfx90a | as gfx908 | as gfx908 | `buffer_invl2`: L2; `buffer_wbinvl1_vol`: L0, L1 | `buffer_wbl2`, wait `vmcnt` |
//! | gfx942 | none: agent; `sc0`: workgroup; `sc1`: device; both: system | none, `sc0`: the XCC's L2; `sc1`: device; both: system | `buffer_inv`, by the same bits | `buffer_wbl2`, by the same bits, wait `vmcnt` |
//! | gfx10 | none: agent; `glc`: workgroup; `glc dlc`: system | system | `buffer_gl0_inv`: L0; `buffer_gl1_inv`: L1, L2 | wait `vscnt` |
//! | gfx11 | none: agent; `glc`: system (`dlc` is about the last-level cache) | system | as gfx10 | wait `vscnt` |
//! | gfx12 | `scope:` CU: agent; SE: workgroup; DEV: device; SYS: system | SYS: system; else the device's L2 | `global_inv`: SE: L0; DEV: L0, L1; SYS: all | `global_wb scope:SCOPE_SYS`, wait `storecnt` |
//!
//! Assumptions, each on the adverse side unless the contract says otherwise: the exchanged memory is uncached, so on
//! gfx908 to gfx11 a store that has left the wave has left the device; in work-group-processor mode (gfx10 and
//! later) every wave has an L0 of its own; every second block of a gfx942 runs on another XCC.

use crate::memory::{CacheLevels, Reach, Scope};

/// A group of targets with one set of memory instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Generation {
    Gfx908,
    Gfx90a,
    Gfx942,
    Gfx10,
    Gfx11,
    Gfx12,
}

/// A target: the processor name that LLVM knows it by, and its family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// LLVM processor, e.g. `gfx1100`.
    pub processor: &'static str,
    pub(crate) generation: Generation,
}

/// Every target that can be executed, with its number in the ELF header (LLVM AMDGPUUsage, "AMDGPU ELF Header
/// e_flags").
const TARGETS: &[(u32, Target)] = {
    use Generation::{Gfx10, Gfx11, Gfx12, Gfx90a, Gfx908, Gfx942};
    const fn target(processor: &'static str, generation: Generation) -> Target {
        Target { processor, generation }
    }
    &[
        (0x30, target("gfx908", Gfx908)),
        (0x3F, target("gfx90a", Gfx90a)),
        (0x4C, target("gfx942", Gfx942)),
        (0x4F, target("gfx950", Gfx942)),
        (0x53, target("gfx10-3-generic", Gfx10)),
        (0x54, target("gfx11-generic", Gfx11)),
        (0x59, target("gfx12-generic", Gfx12)),
        (0x36, target("gfx1030", Gfx10)),
        (0x37, target("gfx1031", Gfx10)),
        (0x38, target("gfx1032", Gfx10)),
        (0x41, target("gfx1100", Gfx11)),
        (0x46, target("gfx1101", Gfx11)),
        (0x47, target("gfx1102", Gfx11)),
        (0x44, target("gfx1103", Gfx11)),
        (0x43, target("gfx1150", Gfx11)),
        (0x4A, target("gfx1151", Gfx11)),
        (0x48, target("gfx1200", Gfx12)),
        (0x4E, target("gfx1201", Gfx12)),
    ]
};

/// The target of an ELF header's flags.
pub(crate) fn target_of_flags(flags: u32) -> Option<Target> {
    let machine = flags & 0xFF;
    TARGETS.iter().find(|(number, _)| *number == machine).map(|(_, target)| *target)
}

/// The cache bits of a memory instruction, as modifiers of the disassembler's text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CacheBits {
    pub(crate) glc: bool,
    pub(crate) slc: bool,
    pub(crate) dlc: bool,
    pub(crate) sc0: bool,
    pub(crate) sc1: bool,
    pub(crate) nt: bool,
    /// gfx12 `scope:`; CU when there is none.
    pub(crate) scope: ScopeBits,
    /// gfx12 `th:TH_ATOMIC_RETURN`, alone or in a combination.
    pub(crate) returns: bool,
}

/// gfx12's scope field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ScopeBits {
    #[default]
    Cu,
    Se,
    Dev,
    Sys,
}

impl Generation {
    /// gfx9 is wave64 only and has one counter for vector loads and stores.
    pub(crate) fn is_gfx9(self) -> bool {
        matches!(self, Generation::Gfx908 | Generation::Gfx90a | Generation::Gfx942)
    }

    /// Whether a 16-bit result leaves the upper half of its register alone (gfx10 and later) or clears it.
    pub(crate) fn keeps_upper_half(self) -> bool {
        !self.is_gfx9()
    }

    /// Whether group memory has a counter of its own.
    pub(crate) fn counts_shared(self) -> bool {
        self == Generation::Gfx12
    }

    /// Block number in a trap temporary (ttmp9) and not in a user SGPR.
    pub(crate) fn block_in_ttmp(self) -> bool {
        self == Generation::Gfx12
    }

    /// Blocks are spread over so many cache complexes of a device.
    pub(crate) fn complexes(self) -> u8 {
        if self == Generation::Gfx942 { 2 } else { 1 }
    }

    /// How fresh a vector load must be.
    pub(crate) fn load_scope(self, bits: CacheBits) -> Scope {
        match self {
            Generation::Gfx908 | Generation::Gfx90a | Generation::Gfx11 if bits.glc => Scope::System,
            Generation::Gfx10 if bits.glc && bits.dlc => Scope::System,
            Generation::Gfx10 if bits.glc => Scope::Workgroup,
            Generation::Gfx908 | Generation::Gfx90a | Generation::Gfx10 | Generation::Gfx11 => Scope::Agent,
            Generation::Gfx942 => match (bits.sc0, bits.sc1) {
                (false, false) => Scope::Agent,
                (true, false) => Scope::Workgroup,
                (false, true) => Scope::Device,
                (true, true) => Scope::System,
            },
            Generation::Gfx12 => match bits.scope {
                ScopeBits::Cu => Scope::Agent,
                ScopeBits::Se => Scope::Workgroup,
                ScopeBits::Dev => Scope::Device,
                ScopeBits::Sys => Scope::System,
            },
        }
    }

    /// How far a vector store comes once it has left the wave.
    pub(crate) fn store_reach(self, bits: CacheBits) -> Reach {
        match self {
            Generation::Gfx908 | Generation::Gfx90a | Generation::Gfx10 | Generation::Gfx11 => Reach::System,
            Generation::Gfx942 => match (bits.sc0, bits.sc1) {
                (_, false) => Reach::Complex,
                (false, true) => Reach::Device,
                (true, true) => Reach::System,
            },
            Generation::Gfx12 if bits.scope == ScopeBits::Sys => Reach::System,
            Generation::Gfx12 => Reach::Device,
        }
    }

    /// How far the write of a read-modify-write comes; on gfx942 `sc0` means "returns" there and `sc1` system.
    pub(crate) fn atomic_reach(self, bits: CacheBits) -> Reach {
        match self {
            Generation::Gfx942 if bits.sc1 => Reach::System,
            Generation::Gfx942 => Reach::Device,
            _ => self.store_reach(bits),
        }
    }

    /// How fresh the value must be that a read-modify-write changes. Hardware performs all of them where the device's
    /// stores meet; the LLVM memory model promises nothing between blocks below device scope, and gfx12 is the only
    /// family whose instruction tells.
    pub(crate) fn atomic_scope(self, bits: CacheBits) -> Scope {
        match (self, bits.scope) {
            (Generation::Gfx12, ScopeBits::Cu) => Scope::Agent,
            (Generation::Gfx12, ScopeBits::Se) => Scope::Workgroup,
            _ => Scope::System,
        }
    }

    /// Whether a read-modify-write returns the old value.
    pub(crate) fn atomic_returns(self, bits: CacheBits) -> bool {
        match self {
            Generation::Gfx942 => bits.sc0,
            Generation::Gfx12 => bits.returns,
            _ => bits.glc,
        }
    }

    /// The caches that an invalidate instruction reaches, if the family has it.
    pub(crate) fn invalidates(self, mnemonic: &str, bits: CacheBits) -> Option<CacheLevels> {
        let levels = |l0, l1, l2| Some(CacheLevels { scalar: false, l0, l1, l2 });
        match (mnemonic, self) {
            ("buffer_gl0_inv", Generation::Gfx10 | Generation::Gfx11) => levels(true, false, false),
            ("buffer_gl1_inv", Generation::Gfx10 | Generation::Gfx11) => levels(false, true, true),
            ("buffer_wbinvl1_vol" | "buffer_wbinvl1", Generation::Gfx908) => levels(true, true, true),
            ("buffer_wbinvl1_vol" | "buffer_wbinvl1", Generation::Gfx90a) => levels(true, true, false),
            ("buffer_invl2", Generation::Gfx90a) => levels(false, false, true),
            ("buffer_inv", Generation::Gfx942) => levels(bits.sc0 || bits.sc1, bits.sc1, bits.sc0 && bits.sc1),
            ("global_inv", Generation::Gfx12) => {
                levels(bits.scope >= ScopeBits::Se, bits.scope >= ScopeBits::Dev, bits.scope == ScopeBits::Sys)
            }
            ("s_dcache_inv", _) => Some(CacheLevels { scalar: true, ..CacheLevels::default() }),
            _ => None,
        }
    }

    /// How far a write-back instruction takes dirty lines, if the family has it.
    pub(crate) fn writes_back(self, mnemonic: &str, bits: CacheBits) -> Option<Reach> {
        match (mnemonic, self) {
            ("buffer_wbl2", Generation::Gfx90a) => Some(Reach::System),
            ("buffer_wbl2", Generation::Gfx942) => Some(self.store_reach(bits)),
            ("global_wb", Generation::Gfx12) => {
                Some(if bits.scope == ScopeBits::Sys { Reach::System } else { Reach::Complex })
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn release_on_gfx12_reaches_the_system_only_at_system_scope() {
        let bits = |scope| CacheBits { scope, ..CacheBits::default() };
        assert_eq!(Generation::Gfx12.store_reach(bits(ScopeBits::Dev)), Reach::Device);
        assert_eq!(Generation::Gfx12.store_reach(bits(ScopeBits::Sys)), Reach::System);
        assert_eq!(Generation::Gfx12.invalidates("buffer_gl0_inv", bits(ScopeBits::Sys)), None);
    }
}
