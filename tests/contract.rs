//! The kernel contract, test by test, on the machine code of both AMD targets: every kernel, worlds 2 to 4, executed by the
//! emulator under its adversary. Each test is a line of what goes wrong in the field.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by a panic"
)]

mod common;

use common::bundle;
use xreduce_check::{
    Backend, Bundle, Call, Callable, Emulator, Ending, ModuleBytes, Plan, RankCall, Session, Stop, Values, run,
};
use xreduce_contract::manifest::Format;
use xreduce_contract::{Kernel, epoch};
use xreduce_emulate::amdgpu::Decoded;

/// Small, so that every message is near the capacity; four packets' rows of a wave.
const INBOX: u32 = 2048;

/// Runs `plans` of every kernel of every AMD module.
fn every_kernel(plans: impl Fn(Callable, &[Callable]) -> Vec<Plan>) {
    let bundle = Bundle::open(bundle()).unwrap();
    let mut kernels = 0;
    for target in &bundle.manifest.targets {
        for module in target.modules.iter().filter(|module| matches!(module.format, Format::Hsaco { .. })) {
            let bytes = bundle.module(module).unwrap();
            let all: Vec<Callable> = module
                .kernels
                .iter()
                .map(|entry| Callable {
                    kernel: entry.kernel(module.world),
                    max_threads: entry.max_threads_per_block,
                    lanes: target.lanes,
                })
                .collect();
            let module =
                ModuleBytes { name: &module.file, processors: &target.processors, bytes: &bytes, world: module.world };
            let mut session = open(&module);
            for focus in &all {
                kernels += 1;
                for plan in plans(*focus, &all) {
                    let wanted = plan.calls.len() + usize::from(matches!(plan.ending, Ending::Absent(_)));
                    match run(session.as_mut(), &plan, *focus) {
                        Ok(right) => assert_eq!(right.len(), wanted),
                        Err(Stop::Fault(fault)) => {
                            panic!(
                                "{} {} from epoch {:#x}: {fault}",
                                target.name,
                                focus.kernel.symbol(),
                                plan.start_epoch
                            )
                        }
                        Err(Stop::Backend(error)) => panic!("{}: {error}", target.name),
                    }
                }
            }
        }
    }
    assert_eq!(kernels, 18, "2 targets, 3 worlds, 3 kernels");
}

fn open(module: &ModuleBytes<'_>) -> Box<dyn Session> {
    let decode = |processor: &str, code: &[u8]| {
        let decoded = |line: xreduce_llvm::Line| Decoded { offset: line.offset, length: line.length, text: line.text };
        Ok(xreduce_llvm::disassemble(processor, code)?.into_iter().map(decoded).collect())
    };
    Emulator::new(Box::new(decode)).open(module).unwrap()
}

/// A call on all ranks with the same grid, aligned, not in place.
fn call(kernel: Kernel, count: u32, seed: u64) -> Call {
    let part = RankCall { in_offset: 0, out_offset: 0, in_place: false, blocks: 2, threads: 64 };
    Call { kernel, count, root: 1, values: Values::Order, seed, ranks: vec![part; kernel.world.ranks() as usize] }
}

fn plan(start_epoch: u32, calls: Vec<Call>, ending: Ending) -> Plan {
    let seed = calls.iter().fold(u64::from(start_epoch), |all, call| all.rotate_left(7) ^ call.seed);
    Plan { seed, inbox_bytes: INBOX, start_epoch, calls, ending }
}

/// One plan of calls of these sizes.
fn of_counts(kernel: Kernel, counts: &[u32]) -> Vec<Plan> {
    let calls = (1..).zip(counts).map(|(seed, count)| call(kernel, *count, seed)).collect();
    vec![plan(0, calls, Ending::Quiet)]
}

#[test]
fn input_of_an_earlier_call_is_never_summed() {
    every_kernel(|focus, _| of_counts(focus.kernel, &[96; 12]));
}

#[test]
fn a_captured_call_is_replayed_without_a_change() {
    // The same arguments and data over and over: only the epoch in the workspace moves.
    every_kernel(|focus, _| vec![plan(0, vec![call(focus.kernel, 33, 7); 16], Ending::Quiet)]);
}

#[test]
fn slots_do_not_move_with_the_size_and_no_stale_tail_is_left() {
    every_kernel(|focus, _| {
        let most = focus.kernel.capacity(INBOX);
        of_counts(focus.kernel, &[most, 1, most - 1, 3, most, 5, 2, most, 64, 63, most, 1, 1, most])
    });
}

#[test]
fn flags_and_packets_are_used_again_by_calls_of_every_kind() {
    every_kernel(|focus, all| {
        let kinds = all.iter().cycle().take(21);
        let calls = (1..).zip(kinds).map(|(seed, other)| {
            let kernel = if seed % 4 == 0 { focus.kernel } else { other.kernel };
            call(kernel, kernel.capacity(INBOX).min(1 + 13 * u32::try_from(seed).unwrap()), seed)
        });
        vec![plan(0, calls.collect(), Ending::Quiet)]
    });
}

#[test]
fn a_rank_may_be_a_call_ahead_and_overwrite_its_input_at_once() {
    // Small calls queue behind each other: a fast rank starts the next, with other data, while a slow one is still summing.
    every_kernel(|focus, _| of_counts(focus.kernel, &[8; 24]));
}

#[test]
fn grids_differ_between_ranks_and_between_calls() {
    every_kernel(|focus, _| {
        let grids = [(1, 32), (3, 64), (2, 512), (4, 32), (1, 256)];
        let calls = (1..=10).map(|seed| {
            let mut call = call(focus.kernel, focus.kernel.capacity(INBOX) - 3, seed);
            for (rank, part) in call.ranks.iter_mut().enumerate() {
                let (blocks, threads) = grids[(rank + usize::try_from(seed).unwrap()) % grids.len()];
                (part.blocks, part.threads) = (blocks, threads);
            }
            call
        });
        vec![plan(0, calls.collect(), Ending::Quiet)]
    });
}

#[test]
fn any_count_any_alignment_and_in_place() {
    every_kernel(|focus, _| {
        let counts = [0, 1, 2, 3, 4, 5, 7, 8, 31, 33, 127, 129];
        let calls = (1..).zip(counts).map(|(seed, count)| {
            let mut call = call(focus.kernel, count, seed);
            for (rank, part) in (0..).zip(&mut call.ranks) {
                part.in_offset = (rank + count) % 4;
                part.out_offset = (rank + count / 2) % 4;
                part.in_place = (rank + count) % 3 == 0;
            }
            call
        });
        vec![plan(0, calls.collect(), Ending::Quiet)]
    });
}

/// Calls of every kind of values, each kind twice.
fn of_values(kernel: Kernel, kinds: &[Values]) -> Vec<Plan> {
    let calls =
        (1..).zip(kinds.iter().chain(kinds)).map(|(seed, values)| Call { values: *values, ..call(kernel, 101, seed) });
    vec![plan(0, calls.collect(), Ending::Quiet)]
}

#[test]
fn zeros_infinities_nans_and_denormals_are_summed_as_ieee_says() {
    every_kernel(|focus, _| of_values(focus.kernel, &[Values::Special, Values::Bits, Values::Special]));
}

#[test]
fn negative_zero_survives() {
    every_kernel(|focus, _| of_values(focus.kernel, &[Values::NegativeZero]));
}

#[test]
fn the_sentinel_itself_is_a_value() {
    every_kernel(|focus, _| of_values(focus.kernel, &[Values::Sentinel]));
}

#[test]
fn the_order_of_summation_is_the_same_on_every_rank() {
    every_kernel(|focus, _| of_values(focus.kernel, &[Values::Order; 4]));
}

#[test]
fn epochs_wrap_at_2_to_the_31_and_2_to_the_32() {
    // 0xFFFFFFFE and 0xFFFFFFFF before the first call: a flag or packet that was never written must not pass.
    every_kernel(|focus, all| {
        let starts = [0, 0x7FFF_FFFD, 0xFFFF_FFFD, epoch::LAST - 6, epoch::LAST - 3, epoch::LAST - 2, epoch::LAST];
        let plans = starts.iter().map(|start| {
            let kinds = all.iter().cycle().take(8);
            let calls = (1..).zip(kinds).map(|(seed, other)| {
                call(if seed % 2 == 0 { other.kernel } else { focus.kernel }, 40, seed + u64::from(*start))
            });
            plan(*start, calls.collect(), Ending::Quiet)
        });
        plans.collect()
    });
}

#[test]
fn each_of_the_last_epochs_is_left_as_the_contract_says() {
    // One call a plan, so that the workspace is looked at right after it.
    every_kernel(|focus, _| {
        let starts = [0x7FFF_FFFE, 0x7FFF_FFFF, epoch::LAST - 2, epoch::LAST - 1, epoch::LAST];
        starts.iter().map(|start| plan(*start, vec![call(focus.kernel, 70, 3)], Ending::Quiet)).collect()
    });
}

#[test]
fn a_message_over_capacity_is_refused_on_every_rank_alike() {
    every_kernel(|focus, _| vec![plan(5, vec![call(focus.kernel, 9, 1)], Ending::OverCapacity)]);
}

#[test]
fn a_rank_that_never_comes_or_comes_late_is_named_and_a_prepared_workspace_works_again() {
    every_kernel(|focus, _| {
        let absent = 0..focus.kernel.world.ranks();
        absent.map(|rank| plan(rank, vec![call(focus.kernel, 17, u64::from(rank))], Ending::Absent(rank))).collect()
    });
}
