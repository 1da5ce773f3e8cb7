//! Litmus tests in PTX (`data/ptx_litmus.txt`): what the PTX memory model forbids never appears in 10,000 runs; what it
//! allows appears, or is listed as not shown. `docs/evidence.md` holds the table; `make bless` rewrites it.
//!
//! What is forbidden follows from the axioms of the PTX ISA, "Memory Consistency Model".

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "test code outside test functions")]

mod support;

use std::fmt::Write as _;

use support::{Arguments, launch, read_words, region};
use xreduce_emulate::ptx::Module;
use xreduce_emulate::{Machine, RunOptions};

const TESTS: &str = include_str!("data/ptx_litmus.txt");

/// Runs of each test.
const RUNS: u64 = 10_000;

/// Results a thread has: %a, %b, %c.
const RESULTS: usize = 3;

/// A line of the data.
struct Litmus {
    name: &'static str,
    /// `devices`, `blocks` or `block`: what each thread has for itself, or all share.
    on: &'static str,
    threads: Vec<&'static str>,
    outcome: &'static str,
    model: &'static str,
}

impl Litmus {
    fn parse(line: &'static str) -> Self {
        let fields: Vec<_> = line.split(" | ").collect();
        let [name, on, threads, outcome, model] = fields[..] else { panic!("five fields: {line}") };
        Litmus { name, on, threads: threads.split(" || ").collect(), outcome, model }
    }

    fn module(&self) -> Module {
        let mut text = ".version 8.0\n.target sm_90\n.address_size 64\n".to_owned();
        let head = "(.param .b64 px, .param .b64 py, .param .b64 pr)\n{\n.reg .b64 %x, %y, %r, %h, %l;\n.reg .b32 %a, %b, %c, %who;\n\
                    .reg .pred %p;\nld.param.b64 %x, [px];\nld.param.b64 %y, [py];\nld.param.b64 %r, [pr];\n\
                    mov.b32 %a, 9;\nmov.b32 %b, 9;\nmov.b32 %c, 9;\n";
        let body = |number: usize, lines: &str| {
            let at = number * RESULTS * 4;
            let (b, c) = (at + 4, at + 8);
            format!("{lines};\nst.b32 [%r+{at}], %a;\nst.b32 [%r+{b}], %b;\nst.b32 [%r+{c}], %c;\nret;")
        };
        if self.on == "devices" {
            for (number, lines) in self.threads.iter().enumerate() {
                writeln!(text, ".visible .entry t{number}{head}{}}}", body(number, lines)).unwrap();
            }
        } else {
            let who = if self.on == "blocks" { "%ctaid.x" } else { "%tid.x" };
            writeln!(text, ".visible .entry all{head}mov.u32 %who, {who};").unwrap();
            for (number, lines) in self.threads.iter().enumerate() {
                writeln!(text, "setp.ne.s32 %p, %who, {number};\n@%p bra next{number};").unwrap();
                writeln!(text, "{}\nnext{number}:", body(number, lines)).unwrap();
            }
            text += "ret;\n}\n";
        }
        Module::load(text.as_bytes()).unwrap_or_else(|error| panic!("{}: {error}\n{text}", self.name))
    }

    /// Results of all threads, then the first words of x and y at the end.
    fn run(&self, module: &Module, seed: u64) -> Vec<u32> {
        let mut machine = Machine::new();
        let count = self.threads.len();
        let devices: Vec<_> = (0..if self.on == "devices" { count } else { 1 }).map(|_| machine.add_device()).collect();
        let x = region(&mut machine, "x", devices[0], &[0; 4]);
        let y = region(&mut machine, "y", devices[1 % devices.len()], &[0; 4]);
        let results = region(&mut machine, "results", devices[0], &vec![0; RESULTS * count]);
        let arguments = || Arguments::default().pointer(x).pointer(y).pointer(results);
        let threads = u32::try_from(count).unwrap();
        let (blocks, threads) = if self.on == "blocks" { (threads, 1) } else { (1, threads) };
        if self.on == "devices" {
            for (device, kernel) in devices.iter().zip(module.kernels()) {
                machine.launch(*device, launch(kernel, 1, 1, arguments())).unwrap();
            }
        } else {
            machine.launch(devices[0], launch(&module.kernels()[0], blocks, threads, arguments())).unwrap();
        }
        machine.run(&RunOptions::new(seed)).unwrap_or_else(|failure| panic!("{} seed {seed}: {failure}", self.name));
        [read_words(&machine, results, RESULTS * count), read_words(&machine, x, 1), read_words(&machine, y, 1)]
            .concat()
    }

    /// A side of a condition: a number, `x`, `y` or `1:a`.
    fn value(&self, text: &str, results: &[u32]) -> u32 {
        let end = self.threads.len() * RESULTS;
        match (text, text.split_once(':')) {
            ("x", _) => results[end],
            ("y", _) => results[end + 1],
            (_, Some((thread, name))) => {
                results[thread.parse::<usize>().unwrap() * RESULTS + "abc".find(name).unwrap()]
            }
            _ => text.strip_prefix("0x").map_or_else(|| text.parse(), |text| u32::from_str_radix(text, 16)).unwrap(),
        }
    }

    fn fits(&self, results: &[u32]) -> bool {
        self.outcome.split(' ').all(|condition| {
            let side = |text| self.value(text, results);
            if let Some((a, b)) = condition.split_once("!=") {
                side(a) != side(b)
            } else if let Some((a, b)) = condition.split_once('>') {
                side(a) > side(b)
            } else {
                let (a, b) = condition.split_once('=').unwrap();
                side(a) == side(b)
            }
        })
    }

    /// The row of the table, or what is wrong.
    fn row(&self) -> Result<String, String> {
        let module = self.module();
        let seen = (0..RUNS).filter(|seed| self.fits(&self.run(&module, *seed))).count();
        let Litmus { name, on, outcome, threads, model } = self;
        let wrong = || Err(format!("{name} on {on}, {threads:?}: {outcome} is {model}, and was seen {seen} times"));
        let says = match (*model, seen) {
            ("forbidden", 0) => "forbidden, never seen".to_owned(),
            ("allowed", 1..) => "allowed, seen".to_owned(),
            (model, 0) if model.starts_with("not shown: ") => format!("allowed, {model}"),
            _ => return wrong(),
        };
        let threads = threads.iter().map(|lines| format!("`{lines}`")).collect::<Vec<_>>().join(" ∥ ");
        Ok(format!("| {name} | {threads} | {on} | {outcome} | {says} |\n"))
    }
}

#[test]
fn outcomes_are_what_the_model_says_and_what_the_table_lists() {
    let tests: Vec<_> = TESTS.lines().filter(|line| !line.starts_with('#')).map(Litmus::parse).collect();
    assert!(tests.len() > 40);
    let half = tests.len() / 2;
    let rows = std::thread::scope(|scope| {
        let halves = [&tests[..half], &tests[half..]];
        let workers = halves.map(|tests| scope.spawn(|| tests.iter().map(Litmus::row).collect::<Vec<_>>()));
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect::<Vec<_>>()
    });
    let wrong: Vec<_> = rows.iter().filter_map(|row| row.as_ref().err()).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    let table = rows.into_iter().map(Result::unwrap).collect::<String>();
    let table =
        format!("| test | threads | apart by | outcome | the model, and {RUNS} runs |\n|---|---|---|---|---|\n{table}");

    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/evidence.md");
    let text = std::fs::read_to_string(path).unwrap();
    let (start, end) =
        ("<!-- litmus tests of PTX: written by `make bless` -->\n", "<!-- end of litmus tests of PTX -->\n");
    let (before, rest) = text.split_once(start).unwrap();
    let (found, after) = rest.split_once(end).unwrap();
    if std::env::var("INSTA_UPDATE").is_ok_and(|value| value == "always") {
        std::fs::write(path, [before, start, &table, end, after].concat()).unwrap();
    } else {
        assert!(found == table, "docs/evidence.md is out of date; `make bless` writes:\n{table}");
    }
}
