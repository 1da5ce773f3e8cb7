//! Prints how fast kernels are emulated: wave instructions and kernels a second, on the packet exchange of two ranks.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::print_stdout, reason = "a benchmark prints")]

#[path = "../tests/support/mod.rs"]
mod support;

use std::time::Instant;

use support::{Arguments, assemble, launch, load, region};
use xreduce_emulate::{Machine, RunOptions};

/// Pushes a packet per thread, polls for the peer's, and ends.
const EXCHANGE: &str = "s_load_b128 s[4:7], s[0:1], 0x0\nv_lshlrev_b32 v1, 4, v0\nv_mov_b32 v4, 1\nv_mov_b32 v5, 2\nv_mov_b32 v6, 3\n\
    v_mov_b32 v7, 4\ns_waitcnt lgkmcnt(0)\nglobal_store_b128 v1, v[4:7], s[6:7] glc slc dlc\npoll:\ns_sleep 1\n\
    global_load_b128 v[8:11], v1, s[4:5] glc slc dlc\ns_waitcnt vmcnt(0)\nv_cmp_eq_u32 vcc_lo, 0, v8\nv_cmp_eq_u32 s8, 0, v11\n\
    s_or_b32 vcc_lo, vcc_lo, s8\ns_cbranch_vccnz poll\ns_endpgm";

fn main() {
    let object = load(&assemble("gfx1100", 16, EXCHANGE)).unwrap();
    let kernel = &object.kernels()[0];
    let (start, mut steps, mut launches) = (Instant::now(), 0, 0);
    for seed in 0..300 {
        let mut machine = Machine::new();
        let devices = [machine.add_device(), machine.add_device()];
        let boxes = devices.map(|device| region(&mut machine, "inbox", device, &[0; 1024]));
        for (rank, device) in devices.into_iter().enumerate() {
            let arguments = Arguments::default().pointer(boxes[rank]).pointer(boxes[1 - rank]);
            machine.launch(device, launch(kernel, 2, 256, arguments)).unwrap();
        }
        let report = machine.run(&RunOptions::new(seed)).unwrap();
        steps += report.steps;
        launches += report.launches;
    }
    let seconds = start.elapsed().as_secs_f64();
    let rate = |count: u64| f64::from(u32::try_from(count).unwrap()) / seconds;
    println!("{:.2} million wave instructions and {:.0} kernels a second", rate(steps) / 1e6, rate(launches));
}
