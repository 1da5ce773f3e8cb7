//! Facts of bare device images, from the committed fixtures that `data/images/make.sh` makes.

#![allow(clippy::panic, clippy::indexing_slicing, reason = "helpers of tests")]

use std::fs;
use std::path::Path;

use xreduce_verify::{Details, Format, Image, Kernel, Options, Report, Verdict, check, inspect};

fn fixture(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/images").join(name);
    fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn image(name: &str) -> Image {
    let mut inspection = inspect(&fixture(name), name);
    assert_eq!(inspection.faults, []);
    assert_eq!(inspection.images.len(), 1, "{name}");
    inspection.images.remove(0)
}

fn judged(name: &str, options: &Options) -> Report {
    check(&inspect(&fixture(name), name), options)
}

fn codes(report: &Report) -> Vec<&'static str> {
    report.findings.iter().map(|finding| finding.code).collect()
}

fn arguments(kernel: &Kernel) -> Vec<(&str, Option<u64>, Option<u64>)> {
    let explicit = kernel.arguments.iter().filter(|argument| !argument.is_hidden());
    explicit.map(|argument| (argument.kind.as_str(), argument.offset, argument.bytes)).collect()
}

#[test]
fn amdgpu_facts_of_each_code_object_version() {
    for version in 4..=6 {
        let image = image(&format!("add_v{version}.hsaco"));
        assert_eq!((image.format, image.target.as_str()), (Format::Amdgpu, "gfx1100"));
        let Details::Amdgpu { code_object_version, e_flags, note_target, relocatable } = image.details else {
            panic!("{:?}", image.details)
        };
        assert_eq!((code_object_version, e_flags, relocatable), (version, 0x41, false));
        assert_eq!(note_target.as_deref(), Some("amdgcn-amd-amdhsa--gfx1100"));
        assert_eq!(image.kernels.len(), 1);
        let kernel = &image.kernels[0];
        assert_eq!(kernel.name, "add");
        assert_eq!(kernel.descriptor, None);
        assert_eq!(kernel.kernarg_bytes, Some(20));
        assert_eq!(kernel.scratch_bytes, Some(0));
        assert_eq!(kernel.shared_bytes, Some(256));
        assert_eq!(kernel.wavefront, Some(32));
        assert_eq!(kernel.vgpr_spills, Some(0));
        assert!(kernel.vgprs.is_some_and(|count| count > 0));
        assert_eq!(
            arguments(kernel),
            [("global_buffer", Some(0), Some(8)), ("global_buffer", Some(8), Some(8)), ("by_value", Some(16), Some(4)),]
        );
        assert!(kernel.hidden.is_empty());
        assert_eq!(image.symbols.defined, ["add", "add.kd"]);
        assert_eq!(image.symbols.undefined, [""; 0]);
    }
}

#[test]
fn a_plain_kernel_passes_even_the_strict_profile() {
    for name in ["add_v4.hsaco", "add_v5.hsaco", "add_v6.hsaco"] {
        let report = judged(name, &Options::strict());
        assert_eq!((report.verdict, codes(&report)), (Verdict::Clean, vec![]), "{name}");
    }
}

#[test]
fn an_external_call_is_conservative_and_survives_stripping() {
    for name in ["calls.hsaco", "calls_stripped.hsaco"] {
        let kernel = &image(name).kernels[0];
        assert_eq!(kernel.dynamic_stack, Some(true));
        assert_eq!(kernel.hidden.names().count(), 19);
        let report = judged(name, &Options::default());
        assert_eq!(report.verdict, Verdict::Findings);
        assert_eq!(report.findings[0].code, "hostcall-declared");
        assert_eq!(report.findings[0].class, Some("conservative"));
        assert_eq!(report.findings[0].kernel.as_deref(), Some("calls"));
        // The exported __assert_fail is in the dynamic symbol table and stays there.
        assert_eq!(report.findings[1].code, "hostcall-symbol");
    }
    let strict = codes(&judged("calls.hsaco", &Options::strict()));
    for code in ["hidden-argument", "dynamic-stack"] {
        assert!(strict.contains(&code), "{code} not in {strict:?}");
    }
}

#[test]
fn an_inlined_print_is_specific_without_any_symbol() {
    for name in ["specific.hsaco", "specific_stripped.hsaco"] {
        let report = judged(name, &Options::default());
        assert_eq!(codes(&report), ["hostcall-declared"], "{name}");
        assert_eq!(report.findings[0].class, Some("specific"));
        let strict = codes(&judged(name, &Options::strict()));
        assert_eq!(strict, ["hostcall-declared", "hidden-argument", "scratch-used"]);
    }
    assert!(image("specific.hsaco").kernels[0].scratch_bytes.is_some_and(|bytes| bytes >= 256));
}

#[test]
fn an_undefined_symbol_of_a_linked_object_is_an_error() {
    let report = judged("undefined.hsaco", &Options::default());
    let finding = report.findings.iter().find(|finding| finding.code == "undefined-symbol");
    assert_eq!(finding.map(|finding| &*finding.message), Some("undefined helper"));
    // A relocatable object waits for its linker.
    let relocatable = judged("calls.o", &Options::default());
    assert!(!codes(&relocatable).contains(&"undefined-symbol"));
    assert!(codes(&judged("calls.o", &Options::strict())).contains(&"undefined-symbol"));
}

#[test]
fn ptx_facts() {
    let image = image("prints.ptx");
    assert_eq!((image.format, image.target.as_str()), (Format::Ptx, "sm_90"));
    assert_eq!(image.details, Details::Ptx { version: "7.8".to_owned(), target: "sm_90".to_owned(), address_bits: 64 });
    assert_eq!(image.symbols.undefined, ["vprintf"]);
    let [quiet, loud] = image.kernels.as_slice() else { panic!("{:?}", image.kernels) };
    assert_eq!(
        arguments(quiet),
        [
            ("global_buffer", Some(0), Some(8)),
            ("by_value", Some(8), Some(1)),
            ("by_value", Some(16), Some(8)),
            ("by_value", Some(24), Some(4)),
        ]
    );
    assert_eq!(quiet.arguments[0].address_space.as_deref(), Some("global"));
    assert_eq!(quiet.arguments[3].name.as_deref(), Some("quiet_param_3"));
    assert_eq!(quiet.kernarg_bytes, Some(28));
    assert_eq!((quiet.scratch_bytes, quiet.shared_bytes), (Some(0), Some(256)));
    assert_eq!(quiet.calls, [""; 0]);
    assert_eq!((loud.scratch_bytes, loud.shared_bytes), (Some(64), Some(0)));
    assert_eq!(loud.max_threads, Some(256));
    assert_eq!(loud.calls, ["vprintf"]);
}

#[test]
fn a_printing_ptx_kernel_is_named() {
    let report = judged("prints.ptx", &Options::default());
    assert_eq!((report.verdict, codes(&report)), (Verdict::Clean, vec!["cuda-printf"]));
    assert_eq!(report.findings[0].kernel.as_deref(), Some("loud"));
    let strict = judged("prints.ptx", &Options::strict());
    assert_eq!(codes(&strict), ["cuda-printf", "undefined-symbol", "scratch-used"]);
    assert!(strict.findings.iter().all(|finding| finding.kernel.as_deref() == Some("loud")));
}

#[test]
fn spirv_facts_in_both_byte_orders() {
    let bytes = fixture("prints.spv");
    let mut swapped = bytes.clone();
    for word in swapped.chunks_exact_mut(4) {
        word.reverse();
    }
    for (bytes, order) in [(bytes, false), (swapped, true)] {
        let inspection = inspect(&bytes, "prints.spv");
        assert_eq!(inspection.faults, []);
        let image = &inspection.images[0];
        let Details::Spirv { version, big_endian, capabilities, addressing_model, memory_model, .. } = &image.details
        else {
            panic!("{:?}", image.details)
        };
        assert_eq!((version.as_str(), *big_endian), ("1.2", order));
        assert!(capabilities.iter().any(|name| name == "Kernel"), "{capabilities:?}");
        assert_eq!((addressing_model.as_str(), memory_model.as_str()), ("Physical64", "OpenCL"));
        assert_eq!(image.symbols.undefined, ["elsewhere"]);
        let [quiet, loud] = image.kernels.as_slice() else { panic!("{:?}", image.kernels) };
        assert_eq!(
            arguments(quiet),
            [("global_buffer", None, Some(8)), ("by_value", None, Some(16)), ("by_value", None, Some(2)),]
        );
        assert_eq!(quiet.arguments[0].name.as_deref(), Some("in"));
        assert_eq!(quiet.wavefront, Some(16));
        assert_eq!(quiet.calls, [""; 0]);
        assert_eq!(loud.calls, ["OpenCL.std printf", "elsewhere"]);
        let report = check(&inspection, &Options::default());
        assert_eq!(codes(&report), ["spirv-printf", "undefined-symbol"]);
        assert!(report.findings.iter().all(|finding| finding.kernel.as_deref() == Some("loud")));
    }
}

#[test]
fn spirv_with_an_instruction_of_next_year_is_walked() {
    let mut bytes = fixture("prints.spv");
    // Opcode 0xfffe, two words: no grammar knows it.
    bytes.extend_from_slice(&[0xfe, 0xff, 2, 0, 1, 0, 0, 0]);
    let inspection = inspect(&bytes, "new.spv");
    assert_eq!(inspection.faults, []);
    assert_eq!(inspection.images[0].kernels.len(), 2);
    assert_eq!(inspection.images[0].kernels[1].calls.len(), 2);
}

#[test]
fn code_object_version_2_is_undetermined() {
    let mut bytes = fixture("add_v4.hsaco");
    bytes[8] = 0;
    let report = check(&inspect(&bytes, "v2.hsaco"), &Options::default());
    assert_eq!((report.verdict, codes(&report)), (Verdict::Undetermined, vec!["unreadable"]));
    bytes[8] = 9;
    let report = check(&inspect(&bytes, "v11.hsaco"), &Options::default());
    assert_eq!(report.verdict, Verdict::Undetermined);
}

/// Every prefix of every fixture: never a panic, and never the verdict of the whole file for a
/// prefix that lost its kernels.
#[test]
fn truncated_images_are_never_clean() {
    for name in ["add_v4.hsaco", "add_v6.hsaco", "calls.o", "prints.spv", "prints.ptx"] {
        let whole = fixture(name);
        let expected = inspect(&whole, name).images[0].kernels.len();
        for length in 0..whole.len() {
            let inspection = inspect(&whole[..length], name);
            let report = check(&inspection, &Options::strict());
            let kernels: usize = inspection.images.iter().map(|image| image.kernels.len()).sum();
            assert!(
                report.verdict != Verdict::Clean || kernels == expected,
                "{name} cut to {length} bytes is clean with {kernels} kernels"
            );
        }
    }
}
