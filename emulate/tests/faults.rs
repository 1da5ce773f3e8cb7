//! What a kernel must not do is a fault that names the instruction; what a machine can withhold (a rank, a block) shows.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "test code outside test functions")]

mod support;

use support::{Arguments, assemble, launch, load, read_words, region};
use xreduce_emulate::{Access, Failure, FaultKind, Machine, Reason, RunOptions, Start};

/// Loads the addresses of own region, peer's region and a private region of the peer into s[4:9].
const PROLOGUE: &str =
    "s_load_b128 s[4:7], s[0:1], 0x0\ns_load_b64 s[8:9], s[0:1], 0x10\nv_mov_b32 v0, 0\nv_mov_b32 v1, 1\nWAIT\n";

fn assemble_for(processor: &str, body: &str) -> Vec<u8> {
    let wait = if processor == "gfx1201" { "s_wait_kmcnt 0x0" } else { "s_waitcnt lgkmcnt(0)" };
    assemble(processor, 24, &format!("{}{body}\ns_endpgm", PROLOGUE.replace("WAIT", wait)))
}

/// Runs a body on device 0 of two.
fn run(processor: &str, body: &str, options: &RunOptions) -> Result<Vec<u32>, Box<Failure>> {
    let object = load(&assemble_for(processor, body)).unwrap();
    let mut machine = Machine::new();
    let devices = [machine.add_device(), machine.add_device()];
    let own = region(&mut machine, "own", devices[0], &[5; 16]);
    let peer = region(&mut machine, "peer", devices[1], &[6; 16]);
    let private = machine.allocate("private", devices[1], 64, 0, Access::Private).unwrap();
    let arguments = Arguments::default().pointer(own).pointer(peer).pointer(private);
    machine.launch(devices[0], launch(&object.kernels()[0], 1, 64, arguments)).unwrap();
    machine.run(options)?;
    Ok([read_words(&machine, own, 16), read_words(&machine, peer, 16)].concat())
}

fn fault(body: &str) -> (FaultKind, String) {
    let failure = run("gfx1100", body, &RunOptions::new(1)).unwrap_err();
    match failure.reason {
        Reason::Fault(fault) => (fault.kind, failure.instruction),
        other => panic!("{body}: {other:?}"),
    }
}

#[test]
fn accesses_are_checked() {
    let (kind, instruction) = fault("global_store_b32 v0, v1, s[4:5] offset:64");
    assert_eq!(kind, FaultKind::OutOfBounds { region: "own".to_owned(), offset: 64, region_length: 64 });
    assert_eq!(instruction, "global_store_b32 v0, v1, s[4:5] offset:64");
    assert!(matches!(
        fault("global_load_b128 v[4:7], v0, s[4:5] offset:52").0,
        FaultKind::OutOfBounds { offset: 52, .. }
    ));
    assert!(matches!(fault("global_load_b32 v4, v0, s[4:5] offset:-4").0, FaultKind::OutOfBounds { offset: -4, .. }));
    assert!(matches!(fault("global_store_b32 v0, v1, s[4:5] offset:2").0, FaultKind::Misaligned { alignment: 4, .. }));
    assert!(matches!(fault("s_mov_b64 s[10:11], 0x1000\nglobal_load_b32 v4, v0, s[10:11]").0, FaultKind::Unmapped));
    assert!(matches!(fault("global_load_b32 v4, v0, s[8:9]").0, FaultKind::NotMapped { owner: 1, .. }));
    assert!(matches!(fault("global_store_b32 v0, v1, s[0:1]").0, FaultKind::ReadOnly { .. }));
    assert!(matches!(fault("global_atomic_add_u32 v0, v1, s[6:7]").0, FaultKind::PeerAtomic { owner: 1, .. }));
    // What is not active is not accessed.
    assert!(
        run("gfx1100", "s_mov_b32 exec_lo, 0\nglobal_store_b32 v0, v1, s[4:5] offset:64", &RunOptions::new(1)).is_ok()
    );
}

#[test]
fn waits_that_are_missing_are_faults() {
    for (body, register) in [
        ("global_load_b32 v4, v0, s[4:5]\nv_mov_b32 v5, v4", "v4"),
        ("global_load_b128 v[4:7], v0, s[4:5]\nv_mov_b32 v6, 0", "v6"),
        ("s_load_b64 s[10:11], s[0:1], 0x0\ns_mov_b32 s12, s11", "s11"),
        (
            "global_load_b32 v4, v0, s[4:5]\nglobal_load_b32 v5, v0, s[4:5]\ns_waitcnt vmcnt(1)\nv_mov_b32 v6, v4\nv_mov_b32 v6, v5",
            "v5",
        ),
        ("s_sendmsg_rtn_b64 s[10:11], sendmsg(MSG_RTN_GET_REALTIME)\ns_mov_b32 s12, s10", "s10"),
    ] {
        assert_eq!(fault(body).0, FaultKind::NotWaitedFor { register: register.to_owned() }, "{body}");
    }
    let drained = |seed| RunOptions { drained_at_end: true, ..RunOptions::new(seed) };
    let store = "global_store_b32 v0, v1, s[6:7]";
    let undrained = (0..20).filter(|seed| run("gfx1100", store, &drained(*seed)).is_err()).count();
    assert!(undrained > 5, "{undrained} of 20");
    for seed in 0..20 {
        run("gfx1100", &format!("{store}\ns_waitcnt_vscnt null, 0x0"), &drained(seed)).unwrap();
        let memory = run("gfx1100", store, &RunOptions::new(seed)).unwrap();
        assert_eq!(memory[16], 1, "the end of a kernel completes its stores");
    }
}

#[test]
fn barriers_and_loops_that_never_end() {
    // One wave of two waits.
    let lonely = "v_readfirstlane_b32 s10, v2\ns_cmp_eq_u32 s10, 0\ns_cbranch_scc1 end\ns_barrier\nend:";
    let body = format!("v_mov_b32 v2, v0\n{lonely}");
    assert!(run("gfx1100", &body, &RunOptions::new(1)).is_ok(), "a wave that has ended is not waited for");
    let two = "s_barrier_signal -1\ns_barrier_signal -1";
    assert!(
        matches!(run("gfx1201", two, &RunOptions::new(1)).unwrap_err().reason, Reason::Fault(fault) if matches!(fault.kind, FaultKind::Barrier { .. }))
    );
    let wait = "s_barrier_wait -1";
    assert!(
        matches!(run("gfx1201", wait, &RunOptions::new(1)).unwrap_err().reason, Reason::Fault(fault) if matches!(fault.kind, FaultKind::Barrier { .. }))
    );
    let limit = RunOptions { step_limit: 1000, ..RunOptions::new(1) };
    let poll = "poll:\nglobal_load_b32 v4, v0, s[6:7] glc\ns_waitcnt vmcnt(0)\nv_cmp_eq_u32 vcc_lo, 6, v4\ns_cbranch_vccnz poll";
    let failure = run("gfx1100", poll, &limit).unwrap_err();
    assert_eq!(failure.reason, Reason::StepLimit { limit: 1000 });
    let line = failure.trace.last().unwrap();
    assert!(line.address == "peer+0x0" && line.value == 6 && line.times > 10, "{line}");
}

/// A rank that waits for its word to become 1; the other one writes it.
fn pair(start: Start) -> Result<(Vec<u32>, u64), Box<Failure>> {
    let poll = load(&assemble_for("gfx1100", "poll:\ns_sleep 1\nglobal_load_b32 v4, v0, s[4:5] glc\ns_waitcnt vmcnt(0)\nv_cmp_ne_u32 vcc_lo, 1, v4\ns_cbranch_vccnz poll")).unwrap();
    let write = load(&assemble_for("gfx1100", "global_store_b32 v0, v1, s[6:7]")).unwrap();
    let mut machine = Machine::new();
    let devices = [machine.add_device(), machine.add_device()];
    let words = devices.map(|device| region(&mut machine, "word", device, &[0]));
    let arguments = |rank: usize| Arguments::default().pointer(words[rank]).pointer(words[1 - rank]);
    machine.launch(devices[0], launch(&poll.kernels()[0], 1, 32, arguments(0))).unwrap();
    machine
        .launch(devices[1], xreduce_emulate::Launch { start, ..launch(&write.kernels()[0], 1, 32, arguments(1)) })
        .unwrap();
    machine.queue_read(devices[0], words[0], 4).unwrap();
    let report = machine.run(&RunOptions { step_limit: 100_000, ..RunOptions::new(7) })?;
    Ok((support::words(&report.reads[0][0]), report.steps))
}

#[test]
fn a_rank_can_come_late_or_never() {
    let (word, steps) = pair(Start::AtOnce).unwrap();
    assert_eq!(word, [1]);
    let (word, late) = pair(Start::After(20_000)).unwrap();
    assert_eq!(word, [1]);
    assert!(late > 20_000 && late > steps, "{late} after {steps}");
    assert_eq!(pair(Start::AfterOthers).unwrap_err().reason, Reason::StepLimit { limit: 100_000 });
}

#[test]
fn blocks_that_are_not_resident_do_not_run() {
    // Every block adds 1 and waits until all have.
    let body = "s_mov_b32 s10, exec_lo\ns_mov_b32 exec_lo, 1\nglobal_atomic_add_u32 v0, v1, s[4:5] offset:4\ns_mov_b32 exec_lo, s10\n\
        poll:\nglobal_load_b32 v4, v0, s[4:5] offset:4 glc\ns_waitcnt vmcnt(0)\nv_cmp_ne_u32 vcc_lo, 3, v4\ns_cbranch_vccnz poll";
    let object = load(&assemble_for("gfx1100", body)).unwrap();
    let run = |resident| {
        let mut machine = Machine::new();
        let device = machine.add_device();
        let own = region(&mut machine, "own", device, &[0, 0]);
        let arguments = Arguments::default().pointer(own).pointer(own);
        machine
            .launch(device, xreduce_emulate::Launch { resident, ..launch(&object.kernels()[0], 3, 32, arguments) })
            .unwrap();
        machine.run(&RunOptions { step_limit: 50_000, ..RunOptions::new(3) })
    };
    assert!(run(None).is_ok());
    assert!(run(Some(2)).is_err());
}
