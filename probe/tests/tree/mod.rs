//! Recorded machines: `sys` and `proc` of machines that were never built, written from the specifications.
//!
//! Configuration spaces follow the PCI Express Base Specification 5.0: header 7.5.1, capability list 7.5.1.1.11, PCI Express
//! capability 7.5.3, extended capabilities 7.6.3, ACS 7.7.8. Folders and links follow Linux,
//! `Documentation/ABI/testing/sysfs-bus-pci`. Offsets are written out here a second time on purpose: a test that took them from
//! the code under test would prove nothing.
#![allow(dead_code, reason = "each test program uses a part")]

pub(crate) mod machines;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// Device/Port Types (7.5.3.2).
pub(crate) const ENDPOINT: u16 = 0;
pub(crate) const ROOT_PORT: u16 = 4;
pub(crate) const UPSTREAM: u16 = 5;
pub(crate) const DOWNSTREAM: u16 = 6;

/// Device Capabilities 2 (7.5.3.15).
pub(crate) const ROUTES: u32 = 1 << 6;
pub(crate) const COMPLETES_32: u32 = 1 << 7;
pub(crate) const COMPLETES_64: u32 = 1 << 8;
pub(crate) const COMPLETES_128: u32 = 1 << 9;
/// Device Control 2 (7.5.3.16).
pub(crate) const REQUESTS: u16 = 1 << 6;
pub(crate) const BLOCKS_EGRESS: u16 = 1 << 7;
/// ACS Control (7.7.8.3): source validation, request redirect, completion redirect, upstream forwarding.
pub(crate) const ACS_REDIRECT: u16 = 0b1_1101;

/// Where the PCI Express capability and ACS lie in our spaces.
pub(crate) const EXPRESS_AT: usize = 0x50;
pub(crate) const ACS_AT: usize = 0x140;

/// A rate code (7.5.3.6) and lanes.
pub(crate) type Lanes = (u32, u32);

/// A function to be written.
pub(crate) struct Dev {
    pub(crate) address: &'static str,
    pub(crate) vendor: u16,
    pub(crate) device: u16,
    pub(crate) class: u32,
    pub(crate) kind: u16,
    pub(crate) capabilities_2: u32,
    pub(crate) control_2: u16,
    pub(crate) now: Lanes,
    pub(crate) most: Lanes,
    pub(crate) acs: Option<u16>,
    pub(crate) driver: Option<&'static str>,
    pub(crate) group: Option<u32>,
    pub(crate) multifunction: bool,
    /// Bytes of configuration space that are shown.
    pub(crate) shown: usize,
}

impl Dev {
    pub(crate) fn new(address: &'static str, vendor: u16, device: u16, class: u32, kind: u16) -> Self {
        Self {
            address,
            vendor,
            device,
            class,
            kind,
            capabilities_2: 0,
            control_2: 0,
            now: (4, 16),
            most: (4, 16),
            acs: None,
            driver: None,
            group: None,
            multifunction: false,
            shown: 4096,
        }
    }

    pub(crate) fn bridge(address: &'static str, vendor: u16, device: u16, kind: u16) -> Self {
        Self { driver: Some("pcieport"), ..Self::new(address, vendor, device, 0x06_04_00, kind) }
    }

    pub(crate) fn card(address: &'static str, vendor: u16, device: u16, driver: &'static str) -> Self {
        let capabilities_2 = COMPLETES_32 | COMPLETES_64;
        Self { driver: Some(driver), capabilities_2, ..Self::new(address, vendor, device, 0x03_00_00, ENDPOINT) }
    }

    pub(crate) fn able(self, capabilities_2: u32) -> Self {
        Self { capabilities_2, ..self }
    }

    pub(crate) fn control(self, control_2: u16) -> Self {
        Self { control_2, ..self }
    }

    pub(crate) fn link(self, now: Lanes, most: Lanes) -> Self {
        Self { now, most, ..self }
    }

    pub(crate) fn acs(self, control: u16) -> Self {
        Self { acs: Some(control), ..self }
    }

    pub(crate) fn group(self, group: u32) -> Self {
        Self { group: Some(group), ..self }
    }

    pub(crate) fn config(&self) -> Vec<u8> {
        let mut bytes = vec![0; 4096];
        let mut put = |at: usize, value: u64, size: usize| {
            bytes[at..at + size].copy_from_slice(&value.to_le_bytes()[..size]);
        };
        put(0x00, self.vendor.into(), 2);
        put(0x02, self.device.into(), 2);
        put(0x06, 0x10, 2); // Status: there is a list of capabilities
        put(0x09, self.class.into(), 3);
        let bridge = self.class >> 16 == 0x06;
        put(0x0e, u64::from(bridge) | u64::from(self.multifunction) << 7, 1);
        put(0x34, 0x40, 1);
        put(0x40, 0x01 | 0x50 << 8, 2); // power management, then
        put(EXPRESS_AT, 0x10 | 0xa0 << 8, 2); // PCI Express, then
        put(0xa0, 0x05, 2); // MSI, last
        put(EXPRESS_AT + 0x02, 2 | u64::from(self.kind) << 4, 2);
        put(EXPRESS_AT + 0x0c, u64::from(self.most.0 | self.most.1 << 4), 4);
        put(EXPRESS_AT + 0x12, u64::from(self.now.0 | self.now.1 << 4), 2);
        put(EXPRESS_AT + 0x24, self.capabilities_2.into(), 4);
        put(EXPRESS_AT + 0x28, self.control_2.into(), 2);
        put(0x100, 0x0001 | 1 << 16 | 0x140 << 20, 4); // error reporting, then
        match self.acs {
            Some(control) => {
                put(ACS_AT, 0x000d | 1 << 16, 4);
                put(ACS_AT + 0x04, 0x1f, 2);
                put(ACS_AT + 0x06, control.into(), 2);
            }
            None => put(ACS_AT, 0x000b | 1 << 16, 4), // vendor-specific
        }
        bytes.truncate(self.shown);
        bytes
    }
}

/// A machine on disk, gone when dropped.
pub(crate) struct Recorded {
    folder: TempDir,
}

impl Recorded {
    pub(crate) fn new() -> Self {
        let recorded = Self { folder: tempfile::tempdir().unwrap() };
        fs::create_dir_all(recorded.path("sys/bus/pci/devices")).unwrap();
        recorded.write("proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu sse2 avx2\n");
        recorded
    }

    pub(crate) fn root(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn path(&self, below: &str) -> PathBuf {
        self.root().join(below)
    }

    pub(crate) fn write(&self, below: &str, bytes: impl AsRef<[u8]>) {
        let path = self.path(below);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    /// A symbolic link, as sysfs makes them: relative.
    pub(crate) fn link(&self, below: &str, to: &str) {
        let path = self.path(below);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(to, path).unwrap();
    }

    pub(crate) fn board(self, vendor: &str, name: &str) -> Self {
        self.write("sys/class/dmi/id/board_vendor", format!("{vendor}\n"));
        self.write("sys/class/dmi/id/board_name", format!("{name}\n"));
        // Never to be seen in a report.
        self.write("sys/class/dmi/id/board_serial", "SECRET-SERIAL\n");
        self.write("sys/class/dmi/id/product_uuid", "SECRET-UUID\n");
        self.write("proc/sys/kernel/hostname", "SECRET-HOST\n");
        self
    }

    pub(crate) fn guest(self) -> Self {
        self.write("proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu sse2 hypervisor\n");
        self.write("sys/class/dmi/id/sys_vendor", "QEMU\n");
        self
    }

    /// Writes functions, each in the folder of the one before: the last is the lowest.
    pub(crate) fn chain(self, host: &str, above: &[&str], devices: &[Dev]) -> Self {
        let mut folder = format!("sys/devices/{host}");
        for address in above {
            folder = format!("{folder}/{address}");
        }
        for device in devices {
            folder = format!("{folder}/{}", device.address);
            self.function(&folder, device);
        }
        self
    }

    fn function(&self, folder: &str, device: &Dev) {
        let text = |name: &str, text: String| self.write(&format!("{folder}/{name}"), format!("{text}\n"));
        text("vendor", format!("{:#06x}", device.vendor));
        text("device", format!("{:#06x}", device.device));
        text("class", format!("{:#08x}", device.class));
        text("power_state", "D0".to_owned());
        let rate = |code: u32| {
            ["Unknown", "2.5 GT/s PCIe", "5.0 GT/s PCIe", "8.0 GT/s PCIe", "16.0 GT/s PCIe", "32.0 GT/s PCIe"]
                [code as usize]
        };
        text("current_link_speed", rate(device.now.0).to_owned());
        text("max_link_speed", rate(device.most.0).to_owned());
        text("current_link_width", device.now.1.to_string());
        text("max_link_width", device.most.1.to_string());
        self.write(&format!("{folder}/config"), device.config());
        let up = "../".repeat(folder.matches('/').count());
        if let Some(driver) = device.driver {
            self.link(&format!("{folder}/driver"), &format!("{up}bus/pci/drivers/{driver}"));
        }
        if let Some(group) = device.group {
            self.link(&format!("{folder}/iommu_group"), &format!("{up}kernel/iommu_groups/{group}"));
        }
        let below_sys = folder.strip_prefix("sys/").unwrap();
        self.link(&format!("sys/bus/pci/devices/{}", device.address), &format!("../../../{below_sys}"));
    }

    /// Amdgpu's sizes of device memory, in MiB.
    pub(crate) fn memory(self, address: &str, total: u64, visible: u64) -> Self {
        let folder = format!("sys/bus/pci/devices/{address}");
        self.write(&format!("{folder}/mem_info_vram_total"), format!("{}\n", total << 20));
        self.write(&format!("{folder}/mem_info_vis_vram_total"), format!("{}\n", visible << 20));
        self
    }

    /// A node of KFD's topology: number, `gfx_target_version` (0 for a processor), bus, and links as (kind, type, to, flags).
    pub(crate) fn kfd(self, node: u32, version: u32, bus: u32, links: &[(&str, u32, u32, u32)]) -> Self {
        let folder = format!("sys/class/kfd/kfd/topology/nodes/{node}");
        let properties = format!("simd_count 192\ngfx_target_version {version}\nlocation_id {}\ndomain 0\n", bus << 8);
        self.write(&format!("{folder}/properties"), properties);
        fs::create_dir_all(self.path(&format!("{folder}/io_links"))).unwrap();
        fs::create_dir_all(self.path(&format!("{folder}/p2p_links"))).unwrap();
        for (number, (kind, class, to, flags)) in links.iter().enumerate() {
            let properties = format!("type {class}\nnode_from {node}\nnode_to {to}\nflags {flags}\n");
            self.write(&format!("{folder}/{kind}/{number}/properties"), properties);
        }
        self
    }
}
