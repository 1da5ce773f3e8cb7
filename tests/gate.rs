//! The gate: a template that prints, asserts, calls what does not exist or needs scratch fails the build, on every family, with
//! the rule's code, the kernel and the template; and nothing is written.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by a panic"
)]

mod common;

use common::{build, changed_templates, errors};

/// What is put before the first call of one_shot_pull, and what is declared for it.
struct Fault {
    what: &'static str,
    target: &'static str,
    declaration: &'static str,
    call: &'static str,
    code: &'static str,
    /// Whether the format tells which kernel it is.
    names_kernel: bool,
}

const KEEP: &str = "call void @gpu.predecessor()";

const FAULTS: &[Fault] = &[
    Fault {
        what: "prints",
        target: "sm_90",
        declaration: "declare i32 @vprintf(ptr, ptr)",
        call: "call i32 @vprintf(ptr null, ptr null)",
        code: "cuda-printf",
        names_kernel: true,
    },
    Fault {
        what: "prints",
        target: "xe2",
        declaration: "@format = private unnamed_addr addrspace(2) constant [3 x i8] c\"hi\\00\", align 1\n\
                      declare spir_func i32 @printf(ptr addrspace(2), ...)",
        call: "call spir_func i32 (ptr addrspace(2), ...) @printf(ptr addrspace(2) @format, i32 %count)",
        code: "spirv-printf",
        names_kernel: true,
    },
    Fault {
        what: "prints",
        target: "gfx1100",
        declaration: "declare i64 @__ockl_printf_begin(i64)",
        call: "call i64 @__ockl_printf_begin(i64 0)",
        code: "hostcall-declared",
        names_kernel: true,
    },
    Fault {
        what: "asserts",
        target: "sm_90",
        declaration: "declare void @__assertfail(ptr, ptr, i32, ptr, i64)",
        call: "call void @__assertfail(ptr null, ptr null, i32 0, ptr null, i64 1)",
        code: "cuda-printf",
        names_kernel: true,
    },
    Fault {
        what: "asserts",
        target: "gfx1201",
        declaration: "declare void @__assert_fail(ptr, ptr, i32, ptr)",
        call: "call void @__assert_fail(ptr null, ptr null, i32 0, ptr null)",
        code: "hostcall-symbol",
        names_kernel: false,
    },
    Fault {
        what: "asserts",
        target: "xe2",
        declaration: "declare spir_func void @__assert_fail(ptr, ptr, i32, ptr)",
        call: "call spir_func void @__assert_fail(ptr null, ptr null, i32 0, ptr null)",
        code: "spirv-printf",
        names_kernel: true,
    },
    Fault {
        what: "calls an undefined function",
        target: "gfx1201",
        declaration: "declare void @elsewhere()",
        call: "call void @elsewhere()",
        code: "undefined-symbol",
        names_kernel: false,
    },
    Fault {
        what: "calls an undefined function",
        target: "gfx1100",
        declaration: "declare void @elsewhere()",
        call: "call void @elsewhere()",
        code: "hostcall-declared",
        names_kernel: true,
    },
    Fault {
        what: "calls an undefined function",
        target: "sm_90",
        declaration: "declare void @elsewhere()",
        call: "call void @elsewhere()",
        code: "undefined-symbol",
        names_kernel: false,
    },
    Fault {
        what: "calls an undefined function",
        target: "xe2",
        declaration: "declare spir_func void @elsewhere()",
        call: "call spir_func void @elsewhere()",
        code: "undefined-symbol",
        names_kernel: false,
    },
    Fault {
        what: "needs scratch",
        target: "gfx1100",
        declaration: "",
        call: "%room = alloca [512 x i32], addrspace(5)\n\
               %spot = getelementptr i32, ptr addrspace(5) %room, i32 %count\n\
               store volatile i32 %count, ptr addrspace(5) %spot",
        code: "scratch-used",
        names_kernel: true,
    },
    Fault {
        what: "needs scratch",
        target: "sm_90",
        declaration: "",
        call: "%room = alloca [512 x i32]\n\
               %spot = getelementptr i32, ptr %room, i32 %count\n\
               store volatile i32 %count, ptr %spot",
        code: "scratch-used",
        names_kernel: true,
    },
];

#[test]
fn a_faulty_template_fails_the_build_by_name() {
    for fault in FAULTS {
        let call = format!("{}\n  {KEEP}", fault.call);
        let templates = changed_templates("algorithm/one_shot_pull.ll.tera", KEEP, &call);
        let library = templates.path().join("protocol/call.ll.tera");
        let text = std::fs::read_to_string(&library).unwrap();
        std::fs::write(&library, format!("{}\n{text}", fault.declaration)).unwrap();

        let out = templates.path().join("out");
        // One kernel that prints: with several, LLVM 22 loses the format string's address space on SPIR-V.
        let arguments = [
            "--target",
            fault.target,
            "--world",
            "2",
            "--algorithm",
            "one_shot_pull",
            "--element",
            "f32",
            "--templates",
        ];
        let said = errors(build(&out, &arguments).arg(templates.path()), 1);
        let case = format!("{} on {}:\n{said}", fault.what, fault.target);
        assert!(said.contains(&format!("[{}]", fault.code)), "{case}");
        if fault.names_kernel {
            let line = said.lines().find(|line| line.contains(&format!("[{}]", fault.code))).unwrap();
            assert!(line.contains("xreduce_one_shot_pull_"), "{case}");
            assert!(line.contains("algorithm/one_shot_pull.ll.tera"), "{case}");
        }
        assert!(!out.exists(), "{case}");
    }
}
