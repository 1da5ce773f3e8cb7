//! The machines of issue reports, rebuilt.

use super::*;

const AMD: u16 = 0x1002;
const AMD_CPU: u16 = 0x1022;
const NVIDIA: u16 = 0x10de;
const INTEL: u16 = 0x8086;
const PLX: u16 = 0x10b5;
const QEMU: u16 = 0x1b36;

/// KFD's link flags: enabled; and without atomics of 32 and 64 bits.
const ENABLED: u32 = 1;
const NO_ATOMICS: u32 = 0b1101;

fn cpu_port(address: &'static str) -> Dev {
    Dev::bridge(address, AMD_CPU, 0x14db, ROOT_PORT)
        .able(ROUTES | COMPLETES_32 | COMPLETES_64 | COMPLETES_128)
        .acs(ACS_REDIRECT)
}

/// The two ports that AMD's boards carry themselves.
fn board_switch(upstream: &'static str, downstream: &'static str) -> [Dev; 2] {
    [
        Dev::bridge(upstream, AMD, 0x1478, UPSTREAM).able(ROUTES),
        Dev::bridge(downstream, AMD, 0x1479, DOWNSTREAM).able(ROUTES).acs(0),
    ]
}

/// One card in the processor's slot, driver loaded, all as it should be.
pub(crate) fn healthy_desktop() -> Recorded {
    let [upstream, downstream] = board_switch("0000:01:00.0", "0000:02:00.0");
    let card = Dev::card("0000:03:00.0", AMD, 0x744c, "amdgpu").control(REQUESTS).group(15);
    Recorded::new()
        .board("ASRock", "X670E Taichi")
        .chain("pci0000:00", &[], &[cpu_port("0000:00:01.1"), upstream, downstream, card])
        .memory("0000:03:00.0", 24560, 24560)
        .kfd(0, 0, 0, &[("io_links", 2, 1, ENABLED)])
        .kfd(1, 110_000, 3, &[("io_links", 2, 0, ENABLED)])
}

/// A second card behind the chipset, whose switch routes no AtomicOps and has four lanes.
pub(crate) fn behind_a_chipset() -> Recorded {
    let [upstream, downstream] = board_switch("0000:01:00.0", "0000:02:00.0");
    let first = Dev::card("0000:03:00.0", AMD, 0x7550, "amdgpu").control(REQUESTS).group(15);
    let chipset = [
        cpu_port("0000:00:02.1").link((4, 4), (4, 4)),
        Dev::bridge("0000:05:00.0", AMD_CPU, 0x43f4, UPSTREAM).link((4, 4), (4, 4)),
        Dev::bridge("0000:06:09.0", AMD_CPU, 0x43f5, DOWNSTREAM).link((4, 4), (4, 4)).acs(ACS_REDIRECT),
        Dev::bridge("0000:08:00.0", AMD, 0x1478, UPSTREAM).able(ROUTES).link((4, 4), (5, 16)),
        Dev::bridge("0000:09:00.0", AMD, 0x1479, DOWNSTREAM).able(ROUTES).link((5, 16), (5, 16)).acs(0),
        Dev::card("0000:0a:00.0", AMD, 0x7550, "amdgpu").link((5, 16), (5, 16)).group(21),
    ];
    Recorded::new()
        .board("Micro-Star International Co., Ltd.", "MAG B650 TOMAHAWK WIFI (MS-7D75)")
        .chain("pci0000:00", &[], &[cpu_port("0000:00:01.1"), upstream, downstream, first])
        .chain("pci0000:00", &[], &chipset)
        .memory("0000:03:00.0", 16304, 16304)
        .memory("0000:0a:00.0", 16304, 256)
        .kfd(0, 0, 0, &[])
        .kfd(1, 120_001, 3, &[("io_links", 2, 0, ENABLED)])
        .kfd(2, 120_001, 0x0a, &[("io_links", 2, 0, NO_ATOMICS)])
}

/// A guest whose card came with its audio function, so QEMU's root port completes nothing.
pub(crate) fn guest_without_completer() -> Recorded {
    let port = Dev::bridge("0000:00:1c.0", QEMU, 0x000c, ROOT_PORT).link((1, 1), (4, 32));
    let card = Dev { multifunction: true, ..Dev::card("0000:01:00.0", AMD, 0x7550, "amdgpu").link((5, 16), (5, 16)) };
    let audio = Dev::new("0000:01:00.1", AMD, 0xab40, 0x04_03_00, ENDPOINT);
    Recorded::new().guest().chain("pci0000:00", &[], &[port, card]).chain("pci0000:00", &["0000:00:1c.0"], &[audio])
}

/// The same guest with the card alone, on a QEMU that then adds the bits.
pub(crate) fn guest_with_completer() -> Recorded {
    let port =
        Dev::bridge("0000:00:1c.0", QEMU, 0x000c, ROOT_PORT).able(COMPLETES_32 | COMPLETES_64).link((1, 1), (4, 32));
    let card = Dev::card("0000:01:00.0", AMD, 0x7550, "amdgpu").control(REQUESTS).link((5, 16), (5, 16));
    Recorded::new().guest().chain("pci0000:00", &[], &[port, card])
}

/// Two cards on one switch board, access control as given; no compute driver loaded.
pub(crate) fn two_on_a_switch(control: u16) -> Recorded {
    let ports = [
        Dev::bridge("0000:80:03.0", INTEL, 0x2f08, ROOT_PORT).able(COMPLETES_32 | COMPLETES_64).link((3, 16), (3, 16)),
        Dev::bridge("0000:81:00.0", PLX, 0x8747, UPSTREAM).able(ROUTES).link((3, 16), (3, 16)),
    ];
    let below = |address, card| {
        [
            Dev::bridge(address, PLX, 0x8747, DOWNSTREAM).able(ROUTES).link((3, 16), (3, 16)).acs(control),
            Dev { class: 0x03_80_00, driver: None, ..Dev::card(card, AMD, 0x740f, "") }.link((3, 16), (4, 16)),
        ]
    };
    let above = ["0000:80:03.0", "0000:81:00.0"];
    Recorded::new()
        .board("Supermicro", "X10DRG-Q")
        .chain("pci0000:80", &[], &ports)
        .chain("pci0000:80", &above, &below("0000:82:08.0", "0000:83:00.0"))
        .chain("pci0000:80", &above, &below("0000:82:10.0", "0000:84:00.0"))
}

/// A laptop: integrated graphics, and a card that sleeps and reads as all ones.
pub(crate) fn hybrid_graphics() -> Recorded {
    let inner = Dev::bridge("0000:00:08.1", AMD_CPU, 0x14eb, ROOT_PORT).able(COMPLETES_32 | COMPLETES_64);
    let integrated = Dev::card("0000:c4:00.0", AMD, 0x15bf, "amdgpu").group(23);
    let [upstream, downstream] = board_switch("0000:01:00.0", "0000:02:00.0");
    let card = Dev::card("0000:03:00.0", AMD, 0x7480, "amdgpu").group(12);
    let recorded = Recorded::new()
        .board("Framework", "FRANMZCP07")
        .chain("pci0000:00", &[], &[cpu_port("0000:00:01.1"), upstream, downstream, card])
        .chain("pci0000:00", &[], &[inner, integrated]);
    recorded.write("sys/bus/pci/devices/0000:03:00.0/config", vec![0xff; 4096]);
    recorded.write("sys/bus/pci/devices/0000:03:00.0/power_state", "D3cold\n");
    recorded
}

/// A server whose only display is its management controller's.
pub(crate) fn no_gpu() -> Recorded {
    let port = Dev::bridge("0000:00:1c.0", INTEL, 0xa190, ROOT_PORT);
    let bridge = Dev::bridge("0000:02:00.0", 0x1a03, 0x1150, 7);
    Recorded::new().board("ASUSTeK", "Z11PR-D16").chain(
        "pci0000:00",
        &[],
        &[port, bridge, Dev::new("0000:03:00.0", 0x1a03, 0x2000, 0x03_00_00, ENDPOINT)],
    )
}

/// The healthy desktop without compute driver, as a user without privileges sees it: 64 bytes of each space.
pub(crate) fn without_privileges() -> Recorded {
    let shown = |device: Dev| Dev { shown: 64, ..device };
    let [upstream, downstream] = board_switch("0000:01:00.0", "0000:02:00.0");
    let card = Dev::card("0000:03:00.0", AMD, 0x744c, "amdgpu").control(REQUESTS).group(15);
    let chain = [cpu_port("0000:00:01.1"), upstream, downstream, card].map(shown);
    Recorded::new().board("ASRock", "X670E Taichi").chain("pci0000:00", &[], &chain)
}

/// Two cards of a server below host bridges of their own, one link of eight lanes and slow.
pub(crate) fn two_host_bridges() -> Recorded {
    let port = |address| {
        Dev::bridge(address, INTEL, 0x352a, ROOT_PORT).able(COMPLETES_32 | COMPLETES_64).link((5, 16), (5, 16))
    };
    let card = |address| Dev { class: 0x03_02_00, ..Dev::card(address, NVIDIA, 0x2335, "nvidia") };
    Recorded::new()
        .chain("pci0000:15", &[], &[port("0000:15:01.0"), card("0000:16:00.0").link((5, 16), (5, 16))])
        .chain("pci0000:37", &[], &[port("0000:37:01.0"), card("0000:38:00.0").link((1, 8), (5, 16))])
}

/// Every machine with its name.
pub(crate) fn all() -> Vec<(&'static str, Recorded)> {
    vec![
        ("healthy_desktop", healthy_desktop()),
        ("behind_a_chipset", behind_a_chipset()),
        ("guest_without_completer", guest_without_completer()),
        ("guest_with_completer", guest_with_completer()),
        ("two_on_a_switch_redirected", two_on_a_switch(ACS_REDIRECT)),
        ("two_on_a_switch", two_on_a_switch(0)),
        ("hybrid_graphics", hybrid_graphics()),
        ("no_gpu", no_gpu()),
        ("without_privileges", without_privileges()),
        ("two_host_bridges", two_host_bridges()),
    ]
}
