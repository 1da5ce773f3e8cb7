//! Fuzz driver: mutates a valid file of each form for a given time and lets the readers at it.
//!
//! `cargo run --release -p xreduce-verify --example fuzz -- SECONDS_PER_FORM [SEED] [FORM...]`
//!
//! cargo-fuzz needs a nightly compiler; this needs none. It is not guided by coverage; the mutations
//! know where headers and fields are instead. A panic leaves its input in `fuzz-find.bin` of the
//! temporary folder; an abort is found again with the same seed and form.

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
use std::time::{Duration, Instant};

use support::mutate::{Random, mutate};
use xreduce_verify::{Options, check, inspect};

/// An input of a few kilobytes that takes longer is a find.
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

fn main() {
    keep_finds();
    let mut arguments = std::env::args().skip(1);
    let seconds: u64 = arguments.next().map_or(10, |text| text.parse().unwrap());
    let seed: u64 = arguments.next().map_or(1, |text| text.parse().unwrap());
    let forms: Vec<String> = arguments.collect();
    let corpus = support::corpus();
    for (name, bytes) in &corpus {
        if !forms.is_empty() && !forms.contains(name) {
            continue;
        }
        let mut random = Random(seed);
        let start = Instant::now();
        let (mut runs, mut images, mut slowest) = (0u64, 0u64, Duration::ZERO);
        // Inputs that still held an image are mutated further: depth without coverage.
        let mut pool = vec![bytes.clone()];
        while start.elapsed() < Duration::from_secs(seconds) {
            let mut input = pool[random.below(pool.len())].clone();
            let other = &corpus[random.below(corpus.len())].1;
            mutate(&mut input, other, &mut random);
            CURRENT.lock().unwrap().clone_from(&input);
            let began = Instant::now();
            let inspection = inspect(&input, name);
            let _ = check(&inspection, &Options::strict());
            let took = began.elapsed();
            assert!(took < SLOW, "{name}: {took:?}");
            slowest = slowest.max(took);
            runs += 1;
            images += inspection.images.len() as u64;
            if !inspection.images.is_empty() && input.len() < 1 << 16 {
                if pool.len() < 64 {
                    pool.push(input);
                } else {
                    let at = 1 + random.below(63);
                    pool[at] = input;
                }
            }
        }
        println!("{name}: {runs} inputs in {seconds} s, {images} images still read, slowest {slowest:?}");
    }
}
