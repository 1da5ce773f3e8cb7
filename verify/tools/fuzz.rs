//! Fuzz driver: mutates a valid file of each form for a given CPU time and lets the readers at it.
//!
//! `cargo run --release -p xreduce-verify --example fuzz -- SECONDS_PER_FORM [SEED] [FORM...]`
//!
//! cargo-fuzz needs a nightly compiler; this needs none. It is not guided by coverage; the mutations
//! know where headers and fields are instead, and reach below compression: forms named `..._inside`
//! are mutated first and packed afterwards. A panic leaves its input in `fuzz-find.bin` of the
//! temporary folder; an abort is found again with the same seed and form. With
//! `RAYON_NUM_THREADS=1` a run needs one core. `docs/verify-evidence.md` keeps the record.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a tool for developers: it prints, and stops at the first surprise"
)]

#[path = "../tests/support/mod.rs"]
mod support;

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use support::mutate::{Random, mutate};
use xreduce_verify::{Options, Verdict, check, inspect};

/// An input of a few kilobytes that takes more CPU time is a find.
const SLOW: Duration = Duration::from_secs(2);

/// The input being tried.
static CURRENT: Mutex<Vec<u8>> = Mutex::new(Vec::new());

/// Keeps the input of a panic, then lets the panic be reported as usual.
fn keep_finds() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        let input = CURRENT.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let path = std::env::temp_dir().join("fuzz-find.bin");
        std::fs::write(&path, input).unwrap();
        println!("find: {}", path.display());
        usual(info);
    }));
}

/// CPU time of all threads of this process so far.
fn cpu() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap())
}

fn main() {
    keep_finds();
    let mut arguments = std::env::args().skip(1);
    let limit = Duration::from_secs(arguments.next().map_or(10, |text| text.parse().unwrap()));
    let seed: u64 = arguments.next().map_or(1, |text| text.parse().unwrap());
    let wanted: Vec<String> = arguments.collect();
    let forms = support::forms();
    for form in &forms {
        if !wanted.is_empty() && !wanted.contains(&form.name) {
            continue;
        }
        let mut random = Random(seed);
        let start = cpu();
        let (mut cases, mut images, mut slowest) = (0u64, 0u64, Duration::ZERO);
        // Inputs that still held an image are mutated further: depth without coverage.
        let mut pool = vec![form.seed.clone()];
        while cpu() - start < limit {
            let mut mutated = pool[random.below(pool.len())].clone();
            let other = &forms[random.below(forms.len())].seed;
            mutate(&mut mutated, other, &mut random);
            let input = (form.pack)(&mutated);
            CURRENT.lock().unwrap().clone_from(&input);
            let began = cpu();
            let inspection = inspect(&input, &form.name);
            let report = check(&inspection, &Options::default());
            let took = cpu() - began;
            assert!(took < SLOW, "{}: {took:?}", form.name);
            let empty = inspection.images.is_empty();
            assert!(!empty || report.verdict != Verdict::Clean, "{}: clean, and nothing was read", form.name);
            slowest = slowest.max(took);
            cases += 1;
            images += inspection.images.len() as u64;
            if !empty && mutated.len() < 1 << 16 {
                if pool.len() < 64 {
                    pool.push(mutated);
                } else {
                    let at = 1 + random.below(63);
                    pool[at] = mutated;
                }
            }
        }
        let seconds = (cpu() - start).as_secs();
        println!("| {} | {cases} | {seconds} | {images} | {slowest:?} |", form.name);
    }
}
