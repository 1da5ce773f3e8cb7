//! Images that must be noticed, one per format and cause, and harmless neighbours that must pass.

#![allow(clippy::panic, clippy::indexing_slicing, clippy::unwrap_used, reason = "helpers of tests")]

mod support;

use rspirv::binary::Assemble;
use rspirv::dr::Builder;
use rspirv::spirv::{
    AddressingModel, Capability, Decoration, ExecutionModel, FunctionControl, LinkageType, MemoryModel,
};
use support::*;
use xreduce_verify::{Details, Format, Image, Inspection, Options, Report, Verdict, check, inspect};

fn judged(bytes: &[u8]) -> (Inspection, Report) {
    let inspection = inspect(bytes, "file");
    let report = check(&inspection, &Options::default());
    (inspection, report)
}

/// The only image of `bytes`, and the codes of all findings.
fn read(bytes: &[u8]) -> (Image, Vec<&'static str>) {
    let (mut inspection, report) = judged(bytes);
    assert_eq!(inspection.faults, []);
    assert_eq!(inspection.images.len(), 1);
    (inspection.images.remove(0), report.findings.iter().map(|finding| finding.code).collect())
}

#[test]
fn unknown_callees_are_conservative() {
    for (name, bytes) in [
        ("external call", fixture("undefined.hsaco")),
        ("external call, linked", fixture("calls_stripped.hsaco")),
        ("indirect call", fixture("indirect.hsaco")),
        ("indirect call, in a bundle", hip(&fixture("indirect.hsaco"))),
        ("indirect call, without section headers", headless(fixture("indirect.hsaco"))),
    ] {
        let (inspection, report) = judged(&bytes);
        assert_eq!(report.verdict, Verdict::Findings, "{name}");
        let declared = report.findings.iter().find(|finding| finding.code == "hostcall-declared").unwrap();
        assert_eq!(declared.class, Some("conservative"), "{name}");
        assert_eq!(inspection.images[0].kernels[0].dynamic_stack, Some(true), "{name}");
    }
}

#[test]
fn a_harmless_device_library_symbol_passes() {
    let bytes = fixture("group.hsaco");
    let (image, found) = read(&bytes);
    assert!(image.symbols.defined.iter().any(|name| name == "__ockl_get_group_id"));
    assert_eq!(found, [""; 0]);
    assert_eq!(judged(&hip(&bytes)).1.verdict, Verdict::Clean);
    assert_eq!(check(&inspect(&bytes, "file"), &Options::strict()).findings, []);
}

/// A loader needs no section headers, so neither may the verdict.
#[test]
fn section_headers_that_are_gone_hide_nothing() {
    for name in ["add_v4.hsaco", "specific_stripped.hsaco", "calls_stripped.hsaco", "undefined.hsaco", "group.hsaco"] {
        let (whole, findings) = read(&fixture(name));
        let (cut, found) = read(&headless(fixture(name)));
        assert_eq!((cut.kernels, cut.target), (whole.kernels, whole.target), "{name}");
        assert_eq!(cut.symbols.undefined, whole.symbols.undefined, "{name}");
        assert_eq!(found, findings, "{name}");
    }
}

#[test]
fn what_only_section_headers_could_tell_is_undetermined_without_them() {
    let library = host(object::BinaryFormat::Elf, &[(".hip_fatbin", &hip(&fixture("specific.hsaco")))]);
    // A shared library, as the only kind of host file that works without.
    let mut library = headless(library);
    library[16] = 3;
    for (name, bytes) in [
        ("relocatable code object", headless(fixture("calls.o"))),
        ("cubin", headless(fixture("prints.cubin"))),
        ("zebin", headless(zebin(ZE_INFO))),
        ("host library", library.clone()),
        ("beside a clean file", zip(&[("a.hsaco", &fixture("add_v6.hsaco")), ("b.so", &library)])),
    ] {
        assert_eq!(judged(&bytes).1.verdict, Verdict::Undetermined, "{name}");
    }
}

#[test]
fn a_code_object_without_note_or_symbols_is_undetermined() {
    let whole = fixture("specific_stripped.hsaco");
    // Program headers of other types: neither the note nor the dynamic segment is found.
    for lost in [4u32, 2] {
        let mut bytes = headless(whole.clone());
        let mut seen = 0;
        for header in bytes[64..64 + 56 * 12].chunks_exact_mut(56) {
            if header[..4] == lost.to_le_bytes() {
                header[..4].copy_from_slice(&0x6fff_fff0u32.to_le_bytes());
                seen += 1;
            }
        }
        assert_eq!(seen, 1);
        assert_eq!(judged(&bytes).1.verdict, Verdict::Undetermined, "{lost}");
    }
}

#[test]
fn cubin_facts_as_cuobjdump_states_them() {
    let (image, found) = read(&fixture("prints.cubin"));
    assert_eq!((image.format, image.target.as_str()), (Format::Cubin, "sm_90"));
    let Details::Cubin { abi, relocatable, .. } = image.details else { panic!("{:?}", image.details) };
    assert_eq!((abi, relocatable), ((65, 8), false));
    let [loud, quiet] = image.kernels.as_slice() else { panic!("{:?}", image.kernels) };
    // cuobjdump -res-usage: REG:24 STACK:64 and REG:6 STACK:0 SHARED:1280.
    assert_eq!((loud.vgprs, loud.scratch_bytes, loud.shared_bytes), (Some(24), Some(64), None));
    assert_eq!((quiet.vgprs, quiet.scratch_bytes, quiet.shared_bytes), (Some(6), Some(0), Some(1280)));
    assert_eq!((loud.kernarg_bytes, loud.max_threads), (Some(12), Some(256)));
    assert_eq!((quiet.kernarg_bytes, quiet.max_threads), (Some(28), None));
    let offsets: Vec<_> = quiet.arguments.iter().map(|argument| (argument.offset, argument.bytes)).collect();
    assert_eq!(offsets, [(0, 8), (8, 1), (16, 8), (24, 4)].map(|(at, bytes)| (Some(at), Some(bytes))));
    assert_eq!((loud.calls.as_slice(), quiet.calls.len()), (&["vprintf".to_owned()][..], 0));
    assert_eq!(found, ["cuda-printf"]);
}

#[test]
fn cubins_that_print_assert_or_allocate() {
    for call in ["vprintf", "__assertfail", "malloc", "free"] {
        let loud = CudaKernel { name: "loud", registers: 40, stack: 8, calls: &[call] };
        let quiet = CudaKernel { name: "quiet", registers: 12, stack: 0, calls: &[] };
        let bytes = cubin(&[quiet, loud]);
        let (image, found) = read(&bytes);
        assert_eq!(found, ["cuda-printf"], "{call}");
        assert_eq!((image.target.as_str(), image.kernels[1].vgprs), ("sm_90", Some(40)));
        assert_eq!((image.kernels[1].max_threads, image.kernels[1].kernarg_bytes), (Some(128), Some(8)));
        let (_, report) = judged(&fatbin(2, 90, 80, Stored::Zstd, &bytes));
        assert_eq!(report.findings[0].kernel.as_deref(), Some("loud"), "{call}");
    }
    let missing = CudaKernel { name: "k", registers: 8, stack: 0, calls: &["elsewhere"] };
    let (_, report) = judged(&cubin(&[missing]));
    assert_eq!((report.verdict, report.findings[0].code), (Verdict::Findings, "undefined-symbol"));
    assert_eq!(report.findings[0].message, "calls undefined elsewhere");
    // A stack that cannot be bounded: ptxas writes all ones.
    let recursive = CudaKernel { name: "k", registers: 8, stack: u32::MAX, calls: &[] };
    let strict = check(&inspect(&cubin(&[recursive]), "file"), &Options::strict());
    assert_eq!(strict.findings.iter().map(|finding| finding.code).collect::<Vec<_>>(), ["dynamic-stack"]);
}

#[test]
fn ptx_that_prints_asserts_or_allocates() {
    for call in ["vprintf", "__assertfail", "malloc", "free"] {
        let text = |caller: &str| {
            format!(
                ".version 8.0\n.target sm_80\n.address_size 64\n.extern .func {call} (.param .b64 a);\n\
                 .func helper () {{ .param .b64 a; call {call}, (a); ret; }}\n\
                 .visible .entry k () {{ {caller} ret; }}\n"
            )
        };
        let (image, found) = read(text("call helper, ();").as_bytes());
        assert_eq!((image.kernels[0].calls.as_slice(), found), (&[call.to_owned()][..], vec!["cuda-printf"]));
        // No kernel reaches it: the module is named.
        let (_, report) = judged(text("").as_bytes());
        assert_eq!((report.findings[0].code, report.findings[0].kernel.as_deref()), ("cuda-printf", None));
    }
    let quiet = b".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry vprintf_like () { ret; }\n";
    assert_eq!(read(quiet).1, [""; 0]);
}

/// A module whose kernel executes instruction `number` of `set`, or calls the import `callee`.
fn spirv(set: Option<(&str, u32)>, callee: Option<&str>) -> Vec<u8> {
    let mut module = Builder::new();
    module.set_version(1, 4);
    for capability in [Capability::Kernel, Capability::Addresses, Capability::Linkage] {
        module.capability(capability);
    }
    let imported = set.map(|(name, number)| (module.ext_inst_import(name), number));
    module.memory_model(AddressingModel::Physical64, MemoryModel::OpenCL);
    let void = module.type_void();
    let signature = module.type_function(void, []);
    let callee = callee.map(|name| {
        let id = module.begin_function(void, None, FunctionControl::NONE, signature).unwrap();
        module.end_function().unwrap();
        let linkage = rspirv::dr::Operand::LinkageType(LinkageType::Import);
        module.decorate(
            id,
            Decoration::LinkageAttributes,
            [rspirv::dr::Operand::LiteralString(name.to_owned()), linkage],
        );
        id
    });
    let kernel = module.begin_function(void, None, FunctionControl::NONE, signature).unwrap();
    module.begin_block(None).unwrap();
    if let Some((imported, number)) = imported {
        module.ext_inst(void, None, imported, number, []).unwrap();
    }
    if let Some(callee) = callee {
        module.function_call(void, None, callee, []).unwrap();
    }
    module.ret().unwrap();
    module.end_function().unwrap();
    module.entry_point(ExecutionModel::Kernel, kernel, "k", []);
    module.module().assemble().iter().flat_map(|word| word.to_le_bytes()).collect()
}

#[test]
fn spirv_that_prints_or_asserts() {
    for (set, callee, call) in [
        (Some(("OpenCL.std", 184)), None, "OpenCL.std printf"),
        (Some(("NonSemantic.DebugPrintf", 1)), None, "NonSemantic.DebugPrintf"),
        (None, Some("__devicelib_assert_fail"), "__devicelib_assert_fail"),
        (None, Some("__assert_fail"), "__assert_fail"),
    ] {
        let bytes = spirv(set, callee);
        let (image, found) = read(&bytes);
        assert_eq!(image.kernels[0].calls, [call]);
        assert!(found.contains(&"spirv-printf"), "{call}: {found:?}");
        let swapped: Vec<u8> = bytes.chunks_exact(4).flat_map(|word| word.iter().rev().copied()).collect();
        assert_eq!(read(&swapped).1, found);
    }
    for quiet in [spirv(Some(("OpenCL.std", 19)), None), spirv(None, Some("__devicelib_ConvertFToBF16INTEL"))] {
        assert_eq!(read(&quiet).1, [""; 0]);
    }
}

#[test]
fn zebin_that_prints_or_asserts() {
    let info = |execution: &str, payload: &str| {
        format!(
            "---\nversion: '1.50'\nkernels:\n  - name: k\n    execution_env:\n      simd_size: 16\n{execution}{payload}...\n"
        )
    };
    let argument =
        |kind: &str| format!("    payload_arguments:\n      - arg_type: {kind}\n        offset: 0\n        size: 8\n");
    for (execution, payload) in [
        ("      has_printf_calls: true\n", String::new()),
        ("      require_assert_buffer: true\n", String::new()),
        ("", argument("printf_buffer")),
        ("", argument("assert_buffer")),
        ("      has_stack_calls: true\n", argument("implicit_arg_buffer")),
    ] {
        let (_, found) = read(&zebin(&info(execution, &payload)));
        assert_eq!(found, ["zebin-printf"], "{execution}{payload}");
    }
    for payload in [argument("arg_bypointer"), argument("implicit_arg_buffer")] {
        assert_eq!(read(&zebin(&info("", &payload))).1, [""; 0]);
    }
}
