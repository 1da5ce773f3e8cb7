//! Names of GPUs, and the target that code for them is built for.
//!
//! Names: the PCI ID Repository, by crate. It names the chip first, so a short table of chips gives the targets: AMD's from
//! LLVM's "User Guide for AMDGPU Backend", Processors; NVIDIA's from "CUDA GPU Compute Capability"; Intel's
//! architectures from the device tables of its compute runtime. A chip that is not here is unknown, not guessed.

use serde::Serialize;

/// Makers of GPUs whose collectives this project knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Vendor {
    /// 0x1002.
    Amd,
    /// 0x10de.
    Nvidia,
    /// 0x8086.
    Intel,
}

/// A chip: how its name begins, its target, and whether it shares a package with the processor.
struct Chip(Vendor, &'static str, &'static str, bool);

impl Vendor {
    /// The vendor with this PCI id.
    #[must_use]
    pub fn from_id(id: u16) -> Option<Self> {
        match id {
            0x1002 => Some(Self::Amd),
            0x10de => Some(Self::Nvidia),
            0x8086 => Some(Self::Intel),
            _ => None,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Amd => "AMD",
            Self::Nvidia => "NVIDIA",
            Self::Intel => "Intel",
        }
    }
}

/// Name of a device in the PCI ID Repository.
pub(crate) fn device(vendor: u16, device: u16) -> Option<&'static str> {
    pci_ids::Device::from_vid_pid(vendor, device).map(pci_ids::Device::name)
}

/// Target of the chip with this name, and whether it is integrated. The longest beginning wins.
pub(crate) fn target(vendor: Vendor, name: &str) -> Option<(&'static str, bool)> {
    let fits = |chip: &&Chip| chip.0 == vendor && name.starts_with(chip.1);
    CHIPS.iter().filter(fits).max_by_key(|chip| chip.1.len()).map(|chip| (chip.2, chip.3))
}

#[rustfmt::skip]
const CHIPS: &[Chip] = {
    use Vendor::{Amd, Intel, Nvidia};
    &[
        Chip(Amd, "Vega 10", "gfx900", false),
        Chip(Amd, "Vega 12", "gfx904", false),
        Chip(Amd, "Vega 20", "gfx906", false),
        Chip(Amd, "Arcturus", "gfx908", false),
        Chip(Amd, "Aldebaran", "gfx90a", false),
        Chip(Amd, "Aqua Vanjaram", "gfx942", false),
        Chip(Amd, "Aqua Vanjaram [Instinct MI300A]", "gfx942", true),
        Chip(Amd, "Navi 10", "gfx1010", false),
        Chip(Amd, "Navi 12", "gfx1011", false),
        Chip(Amd, "Navi 14", "gfx1012", false),
        Chip(Amd, "Navi 21", "gfx1030", false),
        Chip(Amd, "Navi 22", "gfx1031", false),
        Chip(Amd, "Navi 23", "gfx1032", false),
        Chip(Amd, "Navi 24", "gfx1034", false),
        Chip(Amd, "Navi 31", "gfx1100", false),
        Chip(Amd, "Navi 32", "gfx1101", false),
        Chip(Amd, "Navi32", "gfx1101", false),
        Chip(Amd, "Navi 33", "gfx1102", false),
        Chip(Amd, "Navi 44", "gfx1200", false),
        Chip(Amd, "Navi 48", "gfx1201", false),
        Chip(Amd, "Renoir", "gfx90c", true),
        Chip(Amd, "Cezanne", "gfx90c", true),
        Chip(Amd, "Rembrandt", "gfx1035", true),
        Chip(Amd, "Raphael", "gfx1036", true),
        Chip(Amd, "Granite Ridge", "gfx1036", true),
        Chip(Amd, "Phoenix", "gfx1103", true),
        Chip(Amd, "HawkPoint", "gfx1103", true),
        Chip(Amd, "Strix", "gfx1150", true),
        Chip(Amd, "Strix Halo", "gfx1151", true),
        Chip(Amd, "Krackan", "gfx1152", true),
        Chip(Nvidia, "GP100", "sm_60", false),
        Chip(Nvidia, "GP10", "sm_61", false),
        Chip(Nvidia, "GV100", "sm_70", false),
        Chip(Nvidia, "TU1", "sm_75", false),
        Chip(Nvidia, "GA100", "sm_80", false),
        Chip(Nvidia, "GA10", "sm_86", false),
        Chip(Nvidia, "AD10", "sm_89", false),
        Chip(Nvidia, "GH100", "sm_90", false),
        Chip(Nvidia, "GB100", "sm_100", false),
        Chip(Nvidia, "GB102", "sm_100", false),
        Chip(Nvidia, "GB110", "sm_103", false),
        Chip(Nvidia, "GB202", "sm_120", false),
        Chip(Nvidia, "GB203", "sm_120", false),
        Chip(Nvidia, "GB205", "sm_120", false),
        Chip(Nvidia, "GB206", "sm_120", false),
        Chip(Nvidia, "GB207", "sm_120", false),
        Chip(Intel, "DG1", "xe-lp", false),
        Chip(Intel, "DG2", "xe-hpg", false),
        Chip(Intel, "ATS-M", "xe-hpg", false),
        Chip(Intel, "Ponte Vecchio", "xe-hpc", false),
        Chip(Intel, "Battlemage", "xe2", false),
        Chip(Intel, "Lunar Lake", "xe2", true),
        Chip(Intel, "Panther Lake", "xe3", true),
        Chip(Intel, "Meteor Lake", "xe-lpg", true),
        Chip(Intel, "Arrow Lake", "xe-lpg", true),
        Chip(Intel, "TigerLake", "xe-lp", true),
        Chip(Intel, "Tiger Lake", "xe-lp", true),
        Chip(Intel, "RocketLake", "xe-lp", true),
        Chip(Intel, "AlderLake", "xe-lp", true),
        Chip(Intel, "Alder Lake", "xe-lp", true),
        Chip(Intel, "Raptor Lake", "xe-lp", true),
    ]
};

#[cfg(test)]
mod tests {
    use super::{CHIPS, Vendor, device, target};

    #[test]
    fn products_have_the_target_of_their_chip() {
        for (vendor, id, wanted) in [
            (0x1002, 0x744c, ("gfx1100", false)),
            (0x1002, 0x7550, ("gfx1201", false)),
            (0x1002, 0x74a0, ("gfx942", true)),
            (0x1002, 0x74a1, ("gfx942", false)),
            (0x1002, 0x1586, ("gfx1151", true)),
            (0x10de, 0x2335, ("sm_90", false)),
            (0x10de, 0x2684, ("sm_89", false)),
            (0x8086, 0xe20b, ("xe2", false)),
        ] {
            let name = device(vendor, id).unwrap();
            assert_eq!(target(Vendor::from_id(vendor).unwrap(), name), Some(wanted), "{name}");
        }
        assert_eq!(target(Vendor::Nvidia, "GT218 [GeForce 210]"), None);
    }

    #[test]
    fn every_chip_is_one_that_the_repository_names() {
        for chip in CHIPS {
            let id = match chip.0 {
                Vendor::Amd => 0x1002,
                Vendor::Nvidia => 0x10de,
                Vendor::Intel => 0x8086,
            };
            let mut names = pci_ids::Vendors::iter().filter(|vendor| vendor.id() == id).flat_map(|it| it.devices());
            assert!(names.any(|device| device.name().starts_with(chip.1)), "{}", chip.1);
        }
    }
}
