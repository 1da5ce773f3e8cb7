//! What public tools let through, and a harmless neighbour: shared by a test and `tools/compare.rs`.

#![allow(dead_code, reason = "each test file uses its own part of these helpers of tests")]

use super::{Packing, ccob, fixture, hip, host, pe, zip};

/// A file with its name, and whether a kernel in it declares the host-call buffer.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) bytes: Vec<u8>,
    pub(crate) faulty: bool,
}

/// All cases.
pub(crate) fn cases() -> Vec<Case> {
    let specific = fixture("specific_stripped.hsaco");
    let plain = hip(&specific);
    let clean = hip(&fixture("add_v6.hsaco"));
    let section = |data: &[u8]| host(object::BinaryFormat::Elf, &[(".hip_fatbin", data)]);
    let two = [ccob(3, Packing::Zstd, &clean), ccob(3, Packing::Zstd, &plain)].concat();
    let between = [clean.clone(), vec![0; 4096 - clean.len() % 4096], plain.clone()].concat();
    let bundled = |name: &str| section(&hip(&fixture(name)));
    let case = |name, bytes, faulty| Case { name, bytes, faulty };
    vec![
        case("plain bundle", section(&plain), true),
        case("CCOB v1", section(&ccob(1, Packing::Zstd, &plain)), true),
        case("CCOB v2", section(&ccob(2, Packing::Zstd, &plain)), true),
        case("CCOB v3", section(&ccob(3, Packing::Zlib, &plain)), true),
        case("two CCOBs, the second faulty", section(&two), true),
        case("padding before a bundle", section(&[&vec![0; 4096][..], &plain].concat()), true),
        case("padding between bundles", section(&between), true),
        case("PE with a truncated section name", pe(&[(".hip_fatbin", &plain)]), true),
        case("a wheel", zip(&[("lib/a.so", &section(&plain))]), true),
        case("a stripped code object, bare", specific, true),
        case("a symbol table with __assert_fail", bundled("calls.hsaco"), true),
        case("printf inlined without symbols", bundled("specific.hsaco"), true),
        case("external call", bundled("calls_stripped.hsaco"), true),
        case("indirect call", bundled("indirect.hsaco"), true),
        case("__ockl_get_group_id alone", bundled("group.hsaco"), false),
    ]
}
