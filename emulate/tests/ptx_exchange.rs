//! Two ranks exchange data by packets and by flags (`data/exchange.ptx`); with each synchronising instruction weakened or
//! dropped, one at a time, the exchange goes wrong or hangs.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "test code outside test functions")]

mod support;

use support::{Arguments, launch, read_words, region};
use xreduce_emulate::ptx::Module;
use xreduce_emulate::{Machine, RunOptions};

const TEXT: &str = include_str!("data/exchange.ptx");
const ELEMENTS: u32 = 128;

/// Runs a kernel on two ranks, two blocks each; tells what went wrong.
fn run(module: &Module, kernel: &str, seed: u64, weak_memory: bool) -> Result<(), String> {
    let mut machine = Machine::new();
    let devices = [machine.add_device(), machine.add_device()];
    let shared = [0, 1].map(|rank| region(&mut machine, &format!("memory {rank}"), devices[rank], &[0; 1026]));
    let inputs = [0, 1].map(|rank| (0..ELEMENTS).map(|k| 1000 * rank + k + 7).collect::<Vec<u32>>());
    let mut outputs = Vec::new();
    for rank in 0..2 {
        let input = region(&mut machine, "in", devices[rank], &inputs[rank]);
        let output = region(&mut machine, "out", devices[rank], &[0; ELEMENTS as usize]);
        let arguments =
            Arguments::default().pointer(shared[rank]).pointer(shared[1 - rank]).pointer(input).pointer(output);
        machine.launch(devices[rank], launch(module.kernel(kernel).unwrap(), 2, 64, arguments)).unwrap();
        outputs.push(output);
    }
    let options = RunOptions { step_limit: 400_000, weak_memory, ..RunOptions::new(seed) };
    machine.run(&options).map_err(|failure| failure.to_string())?;
    for rank in 0..2 {
        let expected: Vec<u32> = inputs[1 - rank].iter().rev().copied().collect();
        let found = read_words(&machine, outputs[rank], ELEMENTS as usize);
        if let Some(k) = found.iter().zip(&expected).position(|(a, b)| a != b) {
            return Err(format!("rank {rank}: element {k} is {}, expected {}", found[k], expected[k]));
        }
    }
    Ok(())
}

#[test]
fn both_exchanges_work() {
    let module = Module::load(TEXT.as_bytes()).unwrap();
    for kernel in ["push", "pull"] {
        for seed in 0..300 {
            run(&module, kernel, seed, true).unwrap_or_else(|what| panic!("{kernel} seed {seed}: {what}"));
        }
        for seed in 0..20 {
            run(&module, kernel, seed, false).unwrap();
        }
    }
}

#[test]
fn every_weakened_instruction_is_noticed() {
    for (kernel, from, to) in [
        ("push", "st.volatile.global.v2.b64", "st.global.v2.b64"),
        ("push", "st.volatile.global.v2.b64", "st.relaxed.gpu.global.v2.b64"),
        ("push", "ld.volatile.global.v2.b64", "ld.global.v2.b64"),
        ("push", "ld.volatile.global.v2.b64", "ld.relaxed.gpu.global.v2.b64"),
        ("push", "setp.ne.or.s32 	%p2, %r8, 1, %p1", "mov.pred %p2, %p1"),
        (
            "push",
            "st.volatile.global.v2.b64 	[%rd2], {%rd6, %rd7}",
            "st.volatile.global.v4.b32 [%rd2], {%r3, 1, %r4, 1}",
        ),
        ("push", "@%p2 bra 	$poll;", ""),
        ("pull", "st.release.sys", "st.relaxed.sys"),
        ("pull", "st.release.sys", "st.release.gpu"),
        ("pull", "st.release.sys.global", "st.global"),
        ("pull", "st.release.sys", "st.volatile"),
        ("pull", "ld.relaxed.sys", "ld.relaxed.gpu"),
        ("pull", "ld.relaxed.sys.global", "ld.global"),
        ("pull", "fence.acq_rel.sys;", ""),
        ("pull", "fence.acq_rel.sys;", "fence.acq_rel.gpu;"),
        ("pull", "fence.acq_rel.sys;", "fence.release.sys;"),
        ("pull", "atom.acq_rel.gpu", "atom.relaxed.gpu"),
        ("pull", "atom.acq_rel.gpu", "atom.acquire.gpu"),
        ("pull", "atom.acq_rel.gpu", "atom.release.gpu"),
        ("pull", "atom.acq_rel.gpu", "atom.acq_rel.cta"),
        ("pull", "bar.sync 	0; // staged", ""),
        ("pull", "bar.sync 	0; // seen", ""),
        ("pull", "@%p2 bra 	$poll;\n\tst", "st"),
    ] {
        assert!(TEXT.contains(from), "{from}");
        let module = Module::load(TEXT.replace(from, to).as_bytes()).unwrap_or_else(|error| panic!("{to}: {error}"));
        let noticed = (0..60).find_map(|seed| run(&module, kernel, seed, true).err());
        assert!(noticed.is_some(), "{kernel}: `{from}` as `{to}` is not noticed in 60 seeds");
    }
    // Stronger than it need be: still right.
    for (from, to) in [("st.release.sys", "fence.sc.sys; st.release.sys"), ("ld.relaxed.sys", "ld.acquire.sys")] {
        let module = Module::load(TEXT.replace(from, to).as_bytes()).unwrap();
        (0..100).for_each(|seed| run(&module, "pull", seed, true).unwrap());
    }
}
