//! PTX text: what is not understood is refused, with its line; what a kernel must not do is a fault that names the line.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "test code outside test functions")]

mod support;

use support::{Arguments, launch, read_words, region};
use xreduce_emulate::ptx::Module;
use xreduce_emulate::{Access, Failure, FaultKind, LoadError, Machine, Reason, RunOptions};

/// A kernel of three pointers: own memory, the peer's, the peer's private memory. The body starts on line 9.
fn kernel(body: &str) -> String {
    format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry test(\n.param .u64 .ptr .global .align 1 own,\n\
         .param .u64 peer, .param .b64 private)\n.maxntid 64, 1, 1\n{{ .reg .b64 %d<5>; .reg .b32 %r<5>; .reg .b16 %h; .reg .pred %p<3>; \
         ld.param.b64 %d1, [own]; ld.param.b64 %d2, [peer]; ld.param.b64 %d3, [private];\n{body}\nret;\n}}\n"
    )
}

fn error(text: &str) -> (u32, String) {
    match Module::load(text.as_bytes()) {
        Err(LoadError::Text { line, why, .. }) => (line, why),
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn what_is_not_understood_is_refused_with_its_line() {
    for (body, words) in [
        ("tex.1d.v4.f32.s32 {%r1, %r2, %r3, %r4}, [x, {%r1}];", "expected"),
        ("ex2.approx.f32 %r1, %r2;", "`ex2` is not modelled"),
        ("add.rn.ftz.f32 %r1, %r2, %r3;", "`.ftz`"),
        ("add.f32 %r1, %r2, %r3;", "`.rn`"),
        ("add.rn.s32 %r1, %r2, %r3;", "integers have none"),
        ("add.cc.s32 %r1, %r2, %r3;", "`.cc`"),
        ("add.s32 %r1, %r2;", "3 operands"),
        ("add.s32 %r1, %r2, %d1;", "`%d1` is no register for 32 bits"),
        ("add.s32 %r1, %r2, %r5;", "no register `%r5`"),
        ("add.s32 %r1, %r2, %r01;", "no register `%r01`"),
        ("add.s32 %r1, %r2, 0x;", "`0x`"),
        ("ld.global.nc.b32 %r1, [%d1];", "`.nc`"),
        ("ld.relaxed.b32 %r1, [%d1];", "a scope"),
        ("ld.relaxed.sys.global.ca.b32 %r1, [%d1];", "`.ca`"),
        ("ld.mmio.relaxed.sys.b32 %r1, [%d1];", "`.mmio`"),
        ("ld.local.b32 %r1, [%d1];", "`.local`"),
        ("ld.global.v2.b32 %r1, [%d1];", "a vector of 2"),
        ("ld.global.v8.b64 {%d1, %d1, %d1, %d1, %d1, %d1, %d1, %d1}, [%d1];", "`.b64`"),
        ("ld.param.b32 %r1, [nothing];", "no parameter `nothing`"),
        ("st.acquire.sys.global.b32 [%d1], %r1;", "`.acquire`"),
        ("st.global.b32 %d1, %r1;", "an address"),
        ("atom.global.add.noftz.f16 %h, [%d1], %h;", "`.noftz`"),
        ("red.acquire.gpu.global.add.u32 [%d1], %r1;", "does not acquire"),
        ("fence.proxy.async;", "a scope"),
        ("bar.sync 1;", "barrier 0"),
        ("bar.sync 0, 32;", "1 operands"),
        ("bar.warp.sync -1;", "`.warp`"),
        ("shfl.sync.idx.b32 %r1, %r2, 0, 31, -1;", "`shfl`"),
        ("cvt.rz.f16.f32 %h, %r1;", "conversion"),
        ("bra nowhere;", "no label `nowhere`"),
        ("@%r1 bra here; here:", "no predicate register"),
        ("here: here:", "second label"),
        (".reg .b32 %r<3>;", "twice"),
        (".reg .b128 %q;", "`.b128`"),
        (".local .b32 x;", "expected"),
        ("call f;", "`call`"),
        ("mov.u32 %r1, %smid;", "no register `%smid`"),
        ("{ .reg .b32 inner; } mov.b32 %r1, inner;", "no register `inner`"),
        ("mov.b32 %r1, %r2 %r3;", "expected"),
        ("add.s32 %r1, %r2, %r3;;", "expected"),
        ("`", "begins nothing"),
    ] {
        let (line, why) = error(&kernel(body));
        assert!(line == 9 && why.contains(words), "{body}: line {line}: {why}");
    }
    for (text, words) in [
        (".extern .func f();", "`.extern` is not modelled outside"),
        (".global .b32 x;", "`.global`"),
        (".address_size 32", "64-bit"),
        (".visible .entry f() .reqntid 32 { ret; }", "`.reqntid`"),
        (".visible .entry f() .reqnctapercluster 2 { ret; }", "`.reqnctapercluster`"),
        (".visible .entry f() { ret;", "closing brace"),
        (".visible .entry f(.param .b32 a, .param .b32 a) { ret; }", "second parameter"),
        (".shared .b8 x[70000]; .visible .entry f() { ret; }", "count"),
    ] {
        let (_, why) = error(text);
        assert!(why.contains(words), "{text}: {why}");
    }
    assert!(matches!(Module::load(&[0xFF, 0xFE]), Err(LoadError::Object { .. })));
}

#[test]
fn every_cut_and_every_flipped_byte_of_a_text_is_an_error_or_a_module() {
    let text = kernel(
        "{ .reg .b16 a; mov.b32 {a, %h}, %r1; }\n$L: @!%p1 st.volatile.global.v2.b64 [%d1+-16], {-1, %d2};\nbra.uni $L;",
    );
    for cut in 0..text.len() {
        let _ = Module::load(&text.as_bytes()[..cut]);
    }
    for place in 0..text.len() {
        for byte in [b'0', b'{', b'}', b'.', b';', b'-', b'<', 0xC3] {
            let mut bytes = text.clone().into_bytes();
            bytes[place] = byte;
            let _ = Module::load(&bytes);
        }
    }
    assert_eq!(Module::load(text.as_bytes()).unwrap().kernel("test").unwrap().argument_bytes(), 24);
}

/// Runs a body on device 0 of two, with `threads` threads; gives own memory and the peer's.
fn run(body: &str, threads: u32) -> Result<Vec<u32>, Box<Failure>> {
    let module = Module::load(kernel(body).as_bytes()).unwrap_or_else(|error| panic!("{error}"));
    let mut machine = Machine::new();
    let devices = [machine.add_device(), machine.add_device()];
    let own = region(&mut machine, "own", devices[0], &[5; 16]);
    let peer = region(&mut machine, "peer", devices[1], &[6; 16]);
    let private = machine.allocate("private", devices[1], 64, 0, Access::Private).unwrap();
    let arguments = Arguments::default().pointer(own).pointer(peer).pointer(private);
    machine.launch(devices[0], launch(&module.kernels()[0], 1, threads, arguments)).unwrap();
    machine.run(&RunOptions { step_limit: 100_000, ..RunOptions::new(1) })?;
    Ok([read_words(&machine, own, 16), read_words(&machine, peer, 16)].concat())
}

fn fault(body: &str) -> (FaultKind, String) {
    let failure = run(body, 1).unwrap_err();
    match failure.reason {
        Reason::Fault(fault) => (fault.kind, failure.instruction),
        other => panic!("{body}: {other:?}"),
    }
}

#[test]
fn accesses_are_checked_and_faults_name_the_line() {
    let (kind, instruction) = fault("mov.b32 %r1, 1;\nst.global.b32 [%d1+64], %r1;");
    assert_eq!(kind, FaultKind::OutOfBounds { region: "own".to_owned(), offset: 64, region_length: 64 });
    assert_eq!(instruction, "st.global.b32 [%d1+64], %r1; (line 10)");
    assert!(matches!(fault("ld.global.b32 %r1, [%d1+-4];").0, FaultKind::OutOfBounds { offset: -4, .. }));
    assert!(matches!(
        fault("ld.global.v4.b32 {_, _, _, %r1}, [%d1+8];").0,
        FaultKind::Misaligned { alignment: 16, .. }
    ));
    assert!(matches!(fault("st.volatile.global.b64 [%d1+4], %d1;").0, FaultKind::Misaligned { alignment: 8, .. }));
    assert!(matches!(fault("ld.b32 %r1, [4096];").0, FaultKind::Unmapped));
    assert!(matches!(fault("ld.global.b32 %r1, [%d3];").0, FaultKind::NotMapped { owner: 1, .. }));
    assert!(matches!(fault("atom.global.add.u32 %r1, [%d2], 1;").0, FaultKind::PeerAtomic { owner: 1, .. }));
    assert!(matches!(fault("st.shared.b32 [0], 1;").0, FaultKind::Unmapped));
    assert!(matches!(fault(".shared .b32 x;\nst.shared.b32 [x+4], 1;").0, FaultKind::OutOfBounds { offset: 4, .. }));
    assert!(matches!(fault("trap;").0, FaultKind::Trap));
    // What its guard excludes is not executed.
    run("setp.eq.s32 %p1, 0, 1;\n@%p1 st.global.b32 [%d1+64], 1;", 1).unwrap();
    let endless = run("again: bra again;", 2).unwrap_err();
    assert!(matches!(endless.reason, Reason::StepLimit { .. }));
    let alone =
        run("mov.u32 %r1, %tid.x;\nsetp.eq.s32 %p1, %r1, 0;\n@%p1 bra wait;\nagain: bra again;\nwait: bar.sync 0;", 2);
    assert!(matches!(alone.unwrap_err().reason, Reason::StepLimit { .. }));
}

#[test]
fn barriers_votes_shared_memory_and_special_registers() {
    // Each thread leaves its number in shared memory, by generic address; thread t reads what thread 31 - t left.
    let body = ".shared .align 4 .b8 board[128];\n.reg .b64 %g; .reg .b32 %t, %u, %v, %w, %n;\n\
                mov.u32 %t, %tid.x; shl.b32 %u, %t, 2; mov.b64 %g, board; cvta.shared.u64 %g, %g;\n\
                cvt.u64.u32 %d4, %u; add.s64 %g, %g, %d4; st.b32 [%g], %t;\n\
                setp.gt.u32 %p1, %t, 19; barrier.cta.red.popc.aligned.u32 %v, 0, %p1;\n\
                bar.red.or.pred %p2, 0, %p1; selp.b32 %n, 100, 0, %p2; add.s32 %v, %v, %n;\n\
                setp.ne.s32 %p1, %t, 5; bar.red.and.pred %p2, 0, %p1; selp.b32 %n, 1000, 0, %p2; add.s32 %v, %v, %n;\n\
                sub.s32 %u, 124, %u; ld.shared.b32 %w, [%u]; sub.s32 %w, 31, %w; setp.ne.s32 %p1, %w, %t;\n\
                @%p1 trap; barrier.sync 0; mov.u32 %r1, %ntid.x; mov.u32 %r2, %laneid; mov.u32 %r3, %nctaid.x;\n\
                setp.ne.s32 %p1, %t, 17; @%p1 ret; st.global.v4.b32 [%d1], {%v, %r1, %r2, %r3};";
    let result = run(body, 32).unwrap();
    assert_eq!(result[..4], [112, 32, 17, 1]);
}

#[test]
fn the_clocks_run() {
    let result =
        run("mov.u64 %d2, %globaltimer; nanosleep.u32 1000; mov.u64 %d3, %globaltimer; sub.s64 %d3, %d3, %d2; st.global.b64 [%d1], %d3;", 1)
            .unwrap();
    assert!(result[0] >= 1000 && result[1] == 0, "{result:?}");
}

#[test]
fn a_machine_has_one_memory_model() {
    let object = support::load(&support::assemble("gfx1100", 24, "s_endpgm")).unwrap();
    let module = Module::load(kernel("").as_bytes()).unwrap();
    let mut machine = Machine::new();
    let device = machine.add_device();
    machine.launch(device, launch(&module.kernels()[0], 1, 1, Arguments::default())).unwrap();
    let fault = machine.launch(device, launch(&object.kernels()[0], 1, 1, Arguments::default())).unwrap_err();
    assert!(matches!(fault.kind, FaultKind::Launch { .. }), "{fault}");
}

#[test]
fn what_llvm_emits_for_each_generation_computes_the_same() {
    let run = |processor: &str| {
        let text = support::compile_ptx(processor, include_str!("ir/elements.ll"));
        let module = Module::load(&text).unwrap_or_else(|error| panic!("{processor}: {error}"));
        assert_eq!(module.target(), processor);
        let mut machine = Machine::new();
        let device = machine.add_device();
        // No NaN: what becomes of one differs.
        let contents: Vec<u32> = (0..256_u32).map(|k| k.wrapping_mul(0x9E37_79B9) & 0xBBFF_BBFF).collect();
        let input = region(&mut machine, "in", device, &contents);
        let output = region(&mut machine, "out", device, &[0; 512]);
        let words = region(&mut machine, "words", device, &[0; 256]);
        let arguments = Arguments::default().pointer(input).pointer(output).pointer(words);
        machine.launch(device, launch(&module.kernels()[0], 1, 64, arguments)).unwrap();
        machine.run(&RunOptions::new(1)).unwrap_or_else(|failure| panic!("{processor}: {failure}"));
        [read_words(&machine, output, 512), read_words(&machine, words, 256)].concat()
    };
    let first = run("sm_75");
    assert!(first.iter().filter(|word| **word != 0).count() > 300);
    for processor in ["sm_80", "sm_90", "sm_100", "sm_120"] {
        assert_eq!(run(processor), first, "{processor}");
    }
}
