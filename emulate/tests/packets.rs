//! The recommended packet exchange of every family, compiled from IR: two ranks, push, poll, reset, sum.

mod support;

use support::{Arguments, TARGETS, compile, launch, load, read_words, region};
use xreduce_emulate::{Machine, RunOptions};

const THREADS: u32 = 64;
const WORDS: usize = 4 * THREADS as usize * 4;

/// The exchange for a target: its poll, its store to a peer, and its drain.
fn exchange(processor: &str) -> String {
    let (load, store, wait, drain) = match processor {
        "gfx1100" => (
            "global_load_b128 $0, $1, off glc slc dlc",
            "global_store_b128 $0, $1, off glc slc dlc",
            "s_waitcnt vmcnt(0)",
            "s_waitcnt_vscnt null, 0x0",
        ),
        "gfx1201" => (
            "global_load_b128 $0, $1, off scope:SCOPE_SYS",
            "global_store_b128 $0, $1, off scope:SCOPE_SYS",
            "s_wait_loadcnt 0x0",
            "s_wait_storecnt 0x0",
        ),
        "gfx1030" => (
            "global_load_dwordx4 $0, $1, off glc slc dlc",
            "global_store_dwordx4 $0, $1, off glc slc dlc",
            "s_waitcnt vmcnt(0)",
            "s_waitcnt_vscnt null, 0x0",
        ),
        "gfx942" => (
            "global_load_dwordx4 $0, $1, off sc0 sc1",
            "global_store_dwordx4 $0, $1, off sc0 sc1",
            "s_waitcnt vmcnt(0)",
            "s_waitcnt vmcnt(0)",
        ),
        _ => (
            "global_load_dwordx4 $0, $1, off glc slc",
            "global_store_dwordx4 $0, $1, off glc slc",
            "s_waitcnt vmcnt(0)",
            "s_waitcnt vmcnt(0)",
        ),
    };
    include_str!("ir/packets.ll")
        .replace("LOAD", load)
        .replace("STORE", store)
        .replace("WAIT", wait)
        .replace("DRAIN", drain)
}

#[test]
fn two_ranks_exchange_packets_on_every_family() {
    for target in TARGETS {
        let object = load(&compile(target, &exchange(target))).unwrap_or_else(|error| panic!("{target}: {error}"));
        let kernel = &object.kernels()[0];
        for seed in 0..20 {
            let mut machine = Machine::new();
            let devices = [machine.add_device(), machine.add_device()];
            let inputs = [1.5f32, -0.3].map(|step| {
                let values = std::iter::successors(Some(step), |value| Some(value + step)).take(WORDS);
                values.map(f32::to_bits).collect::<Vec<u32>>()
            });
            let inbox = devices.map(|device| region(&mut machine, "inbox", device, &vec![u32::MAX; WORDS]));
            let input: Vec<u64> =
                devices.iter().zip(&inputs).map(|(device, words)| region(&mut machine, "in", *device, words)).collect();
            let output = devices.map(|device| region(&mut machine, "out", device, &vec![0; WORDS]));
            for rank in 0..2 {
                let arguments = Arguments::default()
                    .pointer(inbox[rank])
                    .pointer(inbox[1 - rank])
                    .pointer(input[rank])
                    .pointer(output[rank]);
                machine.launch(devices[rank], launch(kernel, 1, THREADS, arguments)).unwrap();
            }
            let report =
                machine.run(&RunOptions::new(seed)).unwrap_or_else(|failure| panic!("{target} seed {seed}: {failure}"));
            assert_eq!(report.launches, 2);
            let expected: Vec<u32> = inputs[0]
                .iter()
                .zip(&inputs[1])
                .map(|(a, b)| (f32::from_bits(*a) + f32::from_bits(*b)).to_bits())
                .collect();
            for rank in 0..2 {
                assert_eq!(read_words(&machine, output[rank], WORDS), expected, "{target} seed {seed} rank {rank}");
                assert_eq!(
                    read_words(&machine, inbox[rank], WORDS),
                    vec![u32::MAX; WORDS],
                    "{target}: the inbox is as it was"
                );
            }
        }
    }
}
