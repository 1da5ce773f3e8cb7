//! Every container, whole and cut, and the cases in which public tools pass what they did not read.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "helpers of tests")]

mod support;

use support::*;
use xreduce_verify::{FaultKind, Format, Inspection, Options, Report, Verdict, check, inspect};

fn judged(bytes: &[u8]) -> (Inspection, Report) {
    let inspection = inspect(bytes, "file");
    let report = check(&inspection, &Options::default());
    (inspection, report)
}

fn kernels(inspection: &Inspection) -> usize {
    inspection.images.iter().map(|image| image.kernels.len()).sum()
}

fn codes(report: &Report) -> Vec<&'static str> {
    report.findings.iter().map(|finding| finding.code).collect()
}

#[test]
fn every_form_is_read_to_its_kernels() {
    for (name, bytes) in corpus() {
        let (inspection, report) = judged(&bytes);
        assert_eq!(inspection.faults, [], "{name}");
        assert!(kernels(&inspection) > 0, "{name}: {:?}", inspection.skipped);
        let printing = ["hostcall-declared", "cuda-printf", "spirv-printf", "zebin-printf"];
        let quiet = name.starts_with("add_");
        assert_eq!(codes(&report).iter().any(|code| printing.contains(code)), !quiet, "{name}");
    }
}

/// Every prefix: no panic, and never the verdict "clean" for less than everything.
#[test]
fn no_prefix_of_any_form_is_clean() {
    for (name, bytes) in corpus() {
        let whole = kernels(&inspect(&bytes, "file"));
        for length in 0..bytes.len() {
            let inspection = inspect(&bytes[..length], "file");
            let report = check(&inspection, &Options::strict());
            let complete = kernels(&inspection) == whole;
            assert!(report.verdict != Verdict::Clean || complete, "{name} cut to {length} bytes");
        }
    }
}

/// What `llvm-objdump --offloading` and symbol greps let through, and what they should.
#[test]
fn public_false_passes_fail_here() {
    for case in cases() {
        let (_, report) = judged(&case.bytes);
        let wanted = if case.faulty { Verdict::Findings } else { Verdict::Clean };
        assert_eq!(report.verdict, wanted, "{}", case.name);
        assert_eq!(codes(&report).contains(&"hostcall-declared"), case.faulty, "{}", case.name);
    }
}

#[test]
fn a_magic_inside_a_payload_starts_nothing() {
    // Stored blocks keep the bytes of the image, here with a CCOB magic among its metadata.
    let mut image = fixture("add_v6.hsaco");
    image.extend_from_slice(b"CCOB\x02\x00\x01\x00__CLANG_OFFLOAD_BUNDLE__");
    let inner = bundle(&[(HIP, &image)], 8);
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::none());
    std::io::Write::write_all(&mut encoder, &inner).unwrap();
    let payload = encoder.finish().unwrap();
    let mut first = ccob(2, Packing::Zlib, &inner);
    first.truncate(24);
    first[8..12].copy_from_slice(&(u32::try_from(24 + payload.len()).unwrap()).to_le_bytes());
    first.extend(payload);
    assert!(first[24..].windows(4).any(|window| window == b"CCOB"));
    let both = [first, ccob(2, Packing::Zstd, &inner)].concat();
    let (inspection, report) = judged(&both);
    assert_eq!((inspection.images.len(), report.verdict), (2, Verdict::Clean));
}

#[test]
fn hashes_sizes_and_trailing_bytes_are_checked() {
    let inner = hip(&fixture("add_v6.hsaco"));
    let good = ccob(2, Packing::Zstd, &inner);
    assert_eq!(judged(&good).1.verdict, Verdict::Clean);
    let broken = |at: usize, value: u8| {
        let mut bytes = good.clone();
        bytes[at] ^= value;
        bytes
    };
    for (name, bytes) in [
        ("hash", broken(16, 1)),
        ("unpacked size", broken(12, 1)),
        ("total size", broken(8, 1)),
        ("trailing bytes", [&good[..], b"x"].concat()),
    ] {
        let (inspection, report) = judged(&bytes);
        assert_eq!(report.verdict, Verdict::Findings, "{name}");
        assert!(codes(&report).contains(&"container-malformed"), "{name}");
        assert!(inspection.faults.iter().any(|fault| fault.kind == FaultKind::Malformed));
    }
    assert_eq!(judged(&broken(4, 4)).1.verdict, Verdict::Undetermined);
    assert_eq!(judged(&broken(6, 8)).1.verdict, Verdict::Undetermined);
}

#[test]
fn entries_that_overlap_or_point_outside_are_malformed() {
    let image = fixture("add_v6.hsaco");
    let good = bundle(&[(HIP, &image), (HIP, &image)], 8);
    let mut outside = good.clone();
    outside[40..48].copy_from_slice(&u64::MAX.to_le_bytes());
    let mut overlap = good.clone();
    let second = 32 + 24 + HIP.len();
    let first: [u8; 8] = good[32..40].try_into().unwrap();
    overlap[second..second + 8].copy_from_slice(&first);
    for bytes in [outside, overlap] {
        assert!(codes(&judged(&bytes).1).contains(&"container-malformed"));
    }
    let mut many = good;
    many[24..32].copy_from_slice(&u64::MAX.to_le_bytes());
    assert!(codes(&judged(&many).1).contains(&"container-malformed"));
}

#[test]
fn a_bomb_is_malformed_and_a_ratio_of_a_hundred_is_not() {
    // 300 MiB of zeros in an entry: about 30 KB stored.
    let mut inner = bundle(&[(HIP, &fixture("add_v6.hsaco"))], 8);
    let header = inner.len();
    inner.resize(300 << 20, 0);
    let bomb = ccob(3, Packing::Zstd, &inner);
    let (_, report) = judged(&bomb);
    assert_eq!(codes(&report), ["container-malformed"]);
    inner.truncate(header * 100);
    let (inspection, _) = judged(&ccob(3, Packing::Zstd, &inner));
    assert_eq!(kernels(&inspection), 1);
    // zip in zip in zip ...
    let mut nested = fixture("add_v6.hsaco");
    for _ in 0..20 {
        nested = zip(&[("a", &nested)]);
    }
    assert_eq!(codes(&judged(&nested).1), ["container-malformed"]);
}

#[test]
fn unknown_device_code_is_undetermined() {
    for data in [&b"BC\xc0\xde1234"[..], b"something else"] {
        let (_, report) = judged(&bundle(&[(HIP, data)], 8));
        assert_eq!((report.verdict, codes(&report)), (Verdict::Undetermined, vec!["unreadable"]));
    }
    let amd_spirv = bundle(&[("hip-spirv64-amd-amdhsa--amdgcnspirv", &fixture("prints.spv"))], 8);
    assert!(codes(&judged(&amd_spirv).1).contains(&"unreadable"));
    let mut wrapper = 0x4b50_4948u32.to_le_bytes().to_vec();
    wrapper.resize(24, 0);
    let kpack = host(object::BinaryFormat::Elf, &[(".hipFatBinSegment", &wrapper)]);
    assert_eq!(judged(&kpack).1.verdict, Verdict::Undetermined);
}

#[test]
fn relocatable_inputs_of_cuda_are_told_from_loaded_code() {
    let ptx = fatbin(1, 90, 64, Stored::Zstd, &fixture("prints.ptx"));
    let sections: [(&str, &[u8]); 2] = [(".nv_fatbin", &ptx), ("__nv_relfatbin", &ptx)];
    let (inspection, report) = judged(&host(object::BinaryFormat::Elf, &sections));
    let loaded: Vec<bool> = inspection.images.iter().map(|image| image.loaded).collect();
    assert_eq!(loaded, [true, false]);
    let severities: Vec<_> = report.findings.iter().map(|f| f.severity.word()).collect();
    assert_eq!(severities, ["warning", "note"]);
}

#[test]
fn zebin_facts() {
    let (inspection, report) = judged(&zebin(ZE_INFO));
    let image = &inspection.images[0];
    assert_eq!(image.format, Format::Zebin);
    let [loud, quiet] = image.kernels.as_slice() else { panic!("{:?}", image.kernels) };
    assert_eq!(loud.services, ["has_printf_calls", "printf_buffer", "require_assert_buffer"]);
    assert_eq!((loud.kernarg_bytes, loud.scratch_bytes), (Some(48), Some(16)));
    assert_eq!((quiet.services.len(), quiet.wavefront), (0, Some(32)));
    assert_eq!(codes(&report), ["zebin-printf"]);
}
