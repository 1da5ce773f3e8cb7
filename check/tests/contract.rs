//! The checker against a model: what keeps the contract passes under every seed, and each way to
//! break it is found and named.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "a test program"
)]

mod model;

use std::collections::HashSet;

use model::{Bug, kernels, session};
use xreduce_check::{Callable, Ending, Fault, Plan, Session, Stop, run};
use xreduce_contract::{Wire, epoch};

fn callables(world: u32) -> Vec<Callable> {
    kernels(world).into_iter().map(|kernel| Callable { kernel, max_threads: 256, lanes: 16 }).collect()
}

/// Runs seeds on every kernel of every world until one fails.
fn first_fault(bug: Option<Bug>, seeds: u64) -> Option<Fault> {
    for world in [2, 3, 4] {
        let kernels = callables(world);
        for focus in &kernels {
            for seed in 1..=seeds {
                let mut session = session(bug);
                let plan = Plan::draw(seed, *focus, &kernels, &session.limits());
                match run(&mut session, &plan, *focus) {
                    Ok(_) => {}
                    Err(Stop::Fault(fault)) => return Some(*fault),
                    Err(Stop::Backend(error)) => panic!("{error}"),
                }
            }
        }
    }
    None
}

#[test]
fn what_keeps_the_contract_passes() {
    assert_eq!(first_fault(None, 20), None);
}

#[test]
fn every_way_to_break_it_is_named() {
    let faults = [
        (Bug::ReversedOrder, "element"),
        (Bug::RankDependentOrder, "element"),
        (Bug::StartsAtZero, "expected -0e0"),
        (Bug::FlushesSubnormals, "is 0e0 (0x00000000), expected"),
        (Bug::DropsLastPacket, "element"),
        (Bug::StoresPastTheEnd, "of out is"),
        (Bug::StoresBeforeTheStart, "byte -1 of out is"),
        (Bug::ChangesInput, "byte 0 of in is"),
        (Bug::LeavesArrived, "arrived (byte 128 of the workspace) is 0x00000001, expected 0x00000000"),
        (Bug::LeavesStaged, "staged (byte 256"),
        (Bug::KeepsEpoch, "epoch (byte 0"),
        (Bug::CountsEmptyCalls, "0 elements), rank 0: epoch (byte 0"),
        (Bug::SkipsAnEpoch, "epoch (byte 0"),
        (
            Bug::LeavesStatus,
            "status (byte 4 of the workspace) is timed out waiting for rank 0 in call 1 (0x10000001), expected ok",
        ),
        (Bug::LeavesAbort, "abort (byte 8"),
        (Bug::LeavesSentinel, "a sentinel inbox (byte"),
        (Bug::LeavesLlAtTheWrap, "an ll inbox to be refilled at this epoch (byte"),
        (Bug::ForgetsFlag, "flag of rank 1 (byte 512"),
        (Bug::ForgetsFlagAtTheWrap, "flag of rank 1 (byte 512"),
        (Bug::UsesUnnamedHeaderWord, "an unused header word (byte 4092"),
        (Bug::IgnoresCapacity, "over capacity), rank 0: status (byte 4 of the workspace) is ok"),
        (Bug::IgnoresAbsence, "a rank stays away), rank"),
        (Bug::BlamesAnother, "a rank stays away), rank"),
        (Bug::NobodyTimedOut, "every rank says that a peer gave up"),
        (Bug::IgnoresAbort, "that rank comes late), rank"),
        (Bug::ForgetsFirstStatus, "all ranks after that), rank"),
        (Bug::IgnoresPreparation, "after recovery), rank"),
        (Bug::Crashes, "rank 1 died"),
    ];
    for (bug, words) in faults {
        let fault = first_fault(Some(bug), 40).unwrap_or_else(|| panic!("{bug:?} was not seen"));
        assert!(fault.to_string().contains(words), "{bug:?}: {fault}");
    }
}

#[test]
fn a_fault_says_where_and_what() {
    let fault = first_fault(Some(Bug::StartsAtZero), 40).unwrap().to_string();
    assert!(fault.starts_with("call ") && fault.contains("xreduce_one_shot_push_ll_f32_w2"), "{fault}");
    assert!(fault.contains("rank 0: element"), "{fault}");
    assert!(fault.contains("is 0e0 (0x00000000), expected -0e0 (0x80000000), the sum of -0e0"), "{fault}");
}

#[test]
fn seeds_reach_what_they_should() {
    let kernels = callables(3);
    let focus = kernels[0];
    let limits = session(None).limits();
    let plans: Vec<Plan> = (1..=100).map(|seed| Plan::draw(seed, focus, &kernels, &limits)).collect();
    let calls = || plans.iter().flat_map(|plan| plan.calls.iter().map(move |call| (plan, call)));
    assert!(plans.iter().all(|plan| plan.calls.len() >= 8));
    assert!(plans.iter().all(|plan| plan.inbox_bytes % 128 == 0 && plan.inbox_bytes <= limits.inbox_bytes));

    // Epochs: from never used, across 2^31 and across the wrap.
    let crosses = |plan: &Plan, word: u32| {
        let mut epochs = std::iter::successors(Some(plan.start_epoch), |last| Some(epoch::next(*last)));
        epochs.by_ref().take(plan.calls.len()).any(|epoch| epoch == word)
    };
    for word in [0, 0x8000_0000, epoch::LAST] {
        assert!(plans.iter().filter(|plan| crosses(plan, word)).count() >= 10, "{word:#x}");
    }

    // Counts, geometry, alignment, aliasing.
    let capacity = |plan: &Plan, call: &xreduce_check::Call| call.kernel.capacity(plan.inbox_bytes);
    let share = |wanted: &dyn Fn(&Plan, &xreduce_check::Call) -> bool| {
        calls().filter(|(plan, call)| wanted(plan, call)).count() * 100 / calls().count()
    };
    assert!(share(&|_, call| call.count == 0) >= 5);
    assert!(share(&|_, call| call.count == 1) >= 5);
    assert!(share(&|_, call| call.count % 4 != 0) >= 30);
    assert!(share(&|plan, call| call.count == capacity(plan, call)) >= 5);
    assert!(share(&|plan, call| call.count > capacity(plan, call)) == 0);
    assert!(share(&|_, call| call.kernel != focus.kernel) >= 15);
    assert!(share(&|_, call| call.ranks.iter().any(|rank| rank.blocks != call.ranks[0].blocks)) >= 50);
    assert!(share(&|_, call| call.ranks.iter().all(|rank| rank.in_offset % 4 == 0 && rank.out_offset % 4 == 0)) >= 40);
    let all_ranks: HashSet<_> =
        calls().flat_map(|(_, call)| call.ranks.clone()).map(|rank| (rank.in_offset % 4, rank.in_place)).collect();
    assert_eq!(all_ranks.len(), 8);
    let wires: HashSet<Wire> = calls().map(|(_, call)| call.kernel.wire).collect();
    assert_eq!(wires.len(), 3);

    // Endings: every rank is once absent.
    let endings: HashSet<String> = plans.iter().map(|plan| format!("{:?}", plan.ending)).collect();
    assert_eq!(endings.len(), 5, "{endings:?}");
    let eight: HashSet<_> = plans.iter().take(8).map(|plan| std::mem::discriminant(&plan.ending)).collect();
    assert_eq!(eight.len(), 3, "eight seeds see every kind of ending: {:?}", Ending::Quiet);
}

#[test]
fn a_seed_is_a_plan() {
    let kernels = callables(4);
    let limits = session(None).limits();
    let draw = |seed, focus: usize| Plan::draw(seed, kernels[focus], &kernels, &limits);
    assert_eq!(draw(7, 0), draw(7, 0));
    assert_ne!(draw(7, 0), draw(8, 0));
    assert_ne!(draw(7, 0).calls[0].seed, draw(7, 1).calls[0].seed);
}
