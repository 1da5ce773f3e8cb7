//! Trees that nobody sane would record: no panic, no hang, nothing from outside the tree, nothing that a terminal obeys.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by a panic")]

mod tree;

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use tree::{ACS_AT, EXPRESS_AT, Recorded, machines};
use xreduce_probe::drivers::Answers;
use xreduce_probe::{Code, Report, Severity, probe};

const CARD: &str = "sys/bus/pci/devices/0000:03:00.0";
const ROOT_PORT: &str = "sys/bus/pci/devices/0000:00:01.1";

/// A desktop without AMD's compute driver, so that the registers decide.
fn desktop() -> Recorded {
    let recorded = machines::healthy_desktop();
    fs::remove_dir_all(recorded.path("sys/class/kfd")).unwrap();
    recorded
}

fn report(recorded: &Recorded) -> Report {
    let report = probe(recorded.root(), Answers::NotAsked).unwrap();
    for output in [report.to_string(), report.json().unwrap()] {
        let strange: Vec<char> = output.chars().filter(|letter| letter.is_control() && *letter != '\n').collect();
        assert!(strange.is_empty(), "{strange:?} in {output}");
    }
    report
}

fn hostcall(report: &Report) -> Severity {
    report.findings.iter().find(|finding| finding.code == Code::Hostcall).unwrap().severity
}

fn unread(report: &Report, path: &str, cause: &str) {
    let found = report.unread.iter().any(|unread| unread.path.ends_with(path) && unread.cause.contains(cause));
    assert!(found, "{:?}", report.unread);
}

#[test]
fn a_configuration_space_that_ends_anywhere() {
    let recorded = desktop();
    let whole = fs::read(recorded.path(&format!("{ROOT_PORT}/config"))).unwrap();
    let decided = EXPRESS_AT + 0x2a;
    for length in (0..=0x160).chain([0xfff]) {
        recorded.write(&format!("{ROOT_PORT}/config"), &whole[..length]);
        let wanted = if length < decided { Severity::Undecided } else { Severity::Good };
        assert_eq!(hostcall(&report(&recorded)), wanted, "{length} bytes");
    }
}

#[test]
fn lists_that_run_in_a_circle() {
    let recorded = desktop();
    let whole = fs::read(recorded.path(&format!("{ROOT_PORT}/config"))).unwrap();
    let mut bytes = whole.clone();
    (bytes[0x40], bytes[0x41]) = (0x01, 0x40); // power management, again and again
    recorded.write(&format!("{ROOT_PORT}/config"), &bytes);
    let first = report(&recorded);
    unread(&first, "config", "circle");
    assert_eq!(hostcall(&first), Severity::Undecided);

    let mut bytes = whole;
    bytes[ACS_AT..ACS_AT + 4].copy_from_slice(&(0x000b_u32 | 1 << 16 | 0x100 << 20).to_le_bytes());
    recorded.write(&format!("{ROOT_PORT}/config"), &bytes);
    let second = report(&recorded);
    unread(&second, "config", "extended capabilities runs in a circle");
    assert_eq!(hostcall(&second), Severity::Good);
}

/// Every file of every machine, missing.
#[test]
fn any_file_may_be_missing() {
    for (name, recorded) in machines::all() {
        let mut folders = vec![recorded.root().to_path_buf()];
        let mut files: Vec<PathBuf> = Vec::new();
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let entry = entry.unwrap();
                let kind = entry.file_type().unwrap();
                if kind.is_dir() {
                    folders.push(entry.path());
                } else if kind.is_file() {
                    files.push(entry.path());
                }
            }
        }
        assert!(files.len() > 10, "{name}");
        for file in files {
            let bytes = fs::read(&file).unwrap();
            fs::remove_file(&file).unwrap();
            report(&recorded);
            fs::write(&file, bytes).unwrap();
        }
    }
}

#[test]
fn text_of_any_kind() {
    let garbage: [&[u8]; 7] =
        [b"", b"\n\n", b"\xff\xfe\x00\x01", b"\x1b[2J\x1b]0;owned\x07", b"-1", b"0x", b"99999999999999999999999999"];
    for bytes in garbage {
        for name in [
            "vendor",
            "device",
            "class",
            "power_state",
            "current_link_speed",
            "max_link_speed",
            "current_link_width",
            "max_link_width",
            "mem_info_vram_total",
            "mem_info_vis_vram_total",
        ] {
            let recorded = desktop();
            recorded.write(&format!("{CARD}/{name}"), bytes);
            report(&recorded);
        }
        for path in [
            "proc/cpuinfo",
            "sys/class/dmi/id/board_name",
            "sys/class/dmi/id/sys_vendor",
            "sys/hypervisor/type",
            "sys/class/kfd/kfd/topology/nodes/1/properties",
            "sys/class/kfd/kfd/topology/nodes/1/io_links/0/properties",
        ] {
            let recorded = machines::healthy_desktop();
            recorded.write(path, bytes);
            report(&recorded);
        }
    }
    let recorded = desktop();
    recorded.write("sys/class/dmi/id/board_name", b"\x1b[31mX670E");
    assert!(report(&recorded).machine.board.unwrap().ends_with("?[31mX670E"));
}

#[test]
fn a_long_text_is_cut() {
    let recorded = desktop();
    recorded.write("sys/class/dmi/id/board_name", "x".repeat(10_000_000));
    assert!(report(&recorded).machine.board.unwrap().len() < 1000);
}

#[test]
fn links_in_a_circle() {
    let recorded = desktop();
    recorded.link("sys/bus/pci/devices/0000:07:00.0", "0000:08:00.0");
    recorded.link("sys/bus/pci/devices/0000:08:00.0", "0000:07:00.0");
    recorded.link(&format!("{CARD}/physfn"), "physfn");
    unread(&report(&recorded), "0000:07:00.0/vendor", "symbolic link");
}

#[test]
fn links_out_of_the_tree() {
    let recorded = desktop();
    fs::remove_file(recorded.path(&format!("{CARD}/power_state"))).unwrap();
    recorded.link(&format!("{CARD}/power_state"), "/etc/passwd");
    let report = report(&recorded);
    assert_eq!(report.cards[0].power_state, None);
    unread(&report, "power_state", "leads out of the tree");
}

/// Opening a pipe that nobody writes to would wait for ever.
#[test]
fn a_pipe_for_a_file() {
    for name in ["config", "vendor", "power_state"] {
        let recorded = desktop();
        let path = recorded.path(&format!("{CARD}/{name}"));
        fs::remove_file(&path).unwrap();
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        unread(&report(&recorded), name, "not a file");
    }
}

#[test]
fn a_folder_for_a_file_and_a_file_for_a_folder() {
    let recorded = desktop();
    fs::remove_file(recorded.path(&format!("{CARD}/config"))).unwrap();
    fs::create_dir(recorded.path(&format!("{CARD}/config"))).unwrap();
    recorded.write("sys/class/kfd/kfd/topology/nodes", "none");
    report(&recorded);

    let recorded = Recorded::new();
    fs::remove_dir(recorded.path("sys/bus/pci/devices")).unwrap();
    recorded.write("sys/bus/pci/devices", "none");
    report(&recorded);
}

/// A tree of troubles does not become a book.
#[test]
fn troubles_are_bounded() {
    let recorded = desktop();
    for number in 0..200 {
        recorded.link(&format!("sys/bus/pci/devices/0000:f0:{:02x}.{}", number / 8, number % 8), "/etc");
    }
    assert!(report(&recorded).unread.len() <= 32);
}

/// Numbers without a pattern, the same in every run: xorshift, G. Marsaglia, "Xorshift RNGs".
fn noise(seed: u32) -> impl Iterator<Item = u32> {
    std::iter::successors(Some(seed), |last| {
        let mut next = *last;
        next ^= next << 13;
        next ^= next >> 17;
        next ^= next << 5;
        Some(next)
    })
}

/// Any bytes for every configuration space on the way.
#[test]
fn any_configuration_space() {
    let recorded = desktop();
    for seed in 1..100 {
        let length = noise(seed).nth(1).unwrap() as usize % 4200;
        let bytes: Vec<u8> = noise(seed).skip(2).take(length).map(|number| number.to_le_bytes()[1]).collect();
        for address in ["0000:00:01.1", "0000:01:00.0", "0000:02:00.0", "0000:03:00.0"] {
            recorded.write(&format!("sys/bus/pci/devices/{address}/config"), &bytes);
        }
        report(&recorded);
    }
}

/// Each byte that is read, changed in turn.
#[test]
fn a_damaged_configuration_space() {
    let recorded = desktop();
    let path = format!("{ROOT_PORT}/config");
    let whole = fs::read(recorded.path(&path)).unwrap();
    let read = (0..0x10).chain(0x34..0x80).chain(0xa0..0xa4).chain(0x100..0x104).chain(ACS_AT..ACS_AT + 8);
    for (at, number) in read.zip(noise(7)) {
        for change in [0xff, number.to_le_bytes()[2] | 1] {
            let mut bytes = whole.clone();
            bytes[at] ^= change;
            recorded.write(&path, &bytes);
            report(&recorded);
        }
    }
}
