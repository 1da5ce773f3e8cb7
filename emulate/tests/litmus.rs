//! Litmus tests: what the LLVM memory model forbids never appears in the machine code's runs, and what it allows and the
//! adversary can do does appear, on every family. Each thread runs on a device of its own; x is in the first one's memory,
//! y in the second one's.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "test code outside test functions")]

mod support;

use support::{Arguments, TARGETS, compile, launch, load, read_words, region};
use xreduce_emulate::amdgpu::CodeObject;
use xreduce_emulate::{Machine, RunOptions};

/// The threads of a test as lines over %x, %y; results r0.. of thread t go to a slot of its own.
struct Litmus {
    threads: &'static [&'static str],
}

const SLOTS: usize = 2;

impl Litmus {
    /// Kernels t0, t1, ...: `R n value` in a thread's text stores a result.
    fn ir(&self) -> String {
        let mut ir = String::new();
        for (number, text) in self.threads.iter().enumerate() {
            let body: String = text
                .split(';')
                .map(|line| match line.trim().strip_prefix("R ") {
                    Some(result) => {
                        let (slot, value) = result.split_once(' ').unwrap();
                        format!("  store i32 {value}, ptr addrspace(1) %r{slot}\n")
                    }
                    None => format!("  {}\n", line.trim()),
                })
                .collect();
            ir += &format!(
                "define amdgpu_kernel void @t{number}(ptr addrspace(1) %x, ptr addrspace(1) %y, ptr addrspace(1) %r0) {{\n  \
                 %r1 = getelementptr i32, ptr addrspace(1) %r0, i64 1\n{body}  ret void\n}}\n"
            );
        }
        ir
    }

    fn load(&self, target: &str) -> CodeObject {
        load(&compile(target, &self.ir())).unwrap_or_else(|error| panic!("{target}: {error}"))
    }

    /// Outcome of one run: the results of all threads, then x and y at the end.
    fn run(&self, object: &CodeObject, seed: u64) -> Vec<u32> {
        let mut machine = Machine::new();
        let devices: Vec<_> = self.threads.iter().map(|_| machine.add_device()).collect();
        let x = region(&mut machine, "x", devices[0], &[0]);
        let y = region(&mut machine, "y", devices[1], &[0]);
        let mut results = Vec::new();
        for (number, device) in devices.iter().enumerate() {
            let result = region(&mut machine, "results", *device, &[9; SLOTS]);
            let kernel = object.kernel(&format!("t{number}")).unwrap();
            let arguments = Arguments::default().pointer(x).pointer(y).pointer(result);
            machine.launch(*device, launch(kernel, 1, 1, arguments)).unwrap();
            results.push(result);
        }
        machine.run(&RunOptions::new(seed)).unwrap_or_else(|failure| panic!("seed {seed}: {failure}"));
        let mut outcome: Vec<u32> = results.iter().flat_map(|result| read_words(&machine, *result, SLOTS)).collect();
        outcome.extend([read_words(&machine, x, 1)[0], read_words(&machine, y, 1)[0]]);
        outcome
    }

    /// No run has such an outcome.
    fn never(&self, target: &str, fits: impl Fn(&[u32]) -> bool) {
        let object = self.load(target);
        for seed in 0..RUNS {
            let outcome = self.run(&object, seed);
            assert!(!fits(&outcome), "{target} seed {seed}: {outcome:?}");
        }
    }

    /// Some run has such an outcome.
    fn at_times(&self, target: &str, fits: impl Fn(&[u32]) -> bool) {
        let object = self.load(target);
        assert!((0..10 * RUNS).any(|seed| fits(&self.run(&object, seed))), "{target}: not once in {} runs", 10 * RUNS);
    }
}

/// Runs in which a forbidden outcome must not appear; one that is allowed must within ten times as many.
const RUNS: u64 = 500;

#[test]
fn message_passing() {
    let with = Litmus {
        threads: &[
            "store i32 1, ptr addrspace(1) %x; store atomic i32 1, ptr addrspace(1) %y release, align 4",
            "%f = load atomic i32, ptr addrspace(1) %y acquire, align 4; %d = load i32, ptr addrspace(1) %x; R 0 %f; R 1 %d",
        ],
    };
    let relaxed_load = Litmus {
        threads: &[
            "store i32 1, ptr addrspace(1) %x; store atomic i32 1, ptr addrspace(1) %y release, align 4",
            "%f = load atomic i32, ptr addrspace(1) %y monotonic, align 4; %d = load i32, ptr addrspace(1) %x; R 0 %f; R 1 %d",
        ],
    };
    let relaxed_store = Litmus {
        threads: &[
            "store i32 1, ptr addrspace(1) %x; store atomic i32 1, ptr addrspace(1) %y monotonic, align 4",
            "%f = load atomic i32, ptr addrspace(1) %y acquire, align 4; %d = load i32, ptr addrspace(1) %x; R 0 %f; R 1 %d",
        ],
    };
    let agent = Litmus {
        threads: &[
            "store i32 1, ptr addrspace(1) %x; store atomic i32 1, ptr addrspace(1) %y syncscope(\"agent\") release, align 4",
            "%f = load atomic i32, ptr addrspace(1) %y syncscope(\"agent\") acquire, align 4; %d = load i32, ptr addrspace(1) %x; R 0 %f; R 1 %d",
        ],
    };
    // Flag seen, data not.
    let stale = |outcome: &[u32]| outcome[2] == 1 && outcome[3] == 0;
    for target in TARGETS {
        with.never(target, stale);
        with.at_times(target, |outcome| outcome[2..4] == [1, 1]);
        with.at_times(target, |outcome| outcome[2] == 0);
        relaxed_store.at_times(target, stale);
        relaxed_load.at_times(target, stale);
        // Where agent scope and system scope are different code, the difference shows.
        if matches!(target, "gfx1201" | "gfx942" | "gfx90a") {
            agent.at_times(target, stale);
        } else {
            agent.never(target, stale);
        }
    }
}

#[test]
fn store_buffering() {
    let relaxed = Litmus {
        threads: &[
            "store atomic i32 1, ptr addrspace(1) %x monotonic, align 4; %a = load atomic i32, ptr addrspace(1) %y monotonic, align 4; R 0 %a",
            "store atomic i32 1, ptr addrspace(1) %y monotonic, align 4; %a = load atomic i32, ptr addrspace(1) %x monotonic, align 4; R 0 %a",
        ],
    };
    let fenced = Litmus {
        threads: &[
            "store atomic i32 1, ptr addrspace(1) %x monotonic, align 4; fence seq_cst; %a = load atomic i32, ptr addrspace(1) %y monotonic, align 4; R 0 %a",
            "store atomic i32 1, ptr addrspace(1) %y monotonic, align 4; fence seq_cst; %a = load atomic i32, ptr addrspace(1) %x monotonic, align 4; R 0 %a",
        ],
    };
    let both = |outcome: &[u32]| outcome[0] == 0 && outcome[2] == 0;
    for target in TARGETS {
        relaxed.at_times(target, both);
        fenced.never(target, both);
    }
}

#[test]
fn load_buffering() {
    let relaxed = Litmus {
        threads: &[
            "%a = load atomic i32, ptr addrspace(1) %x monotonic, align 4; store atomic i32 1, ptr addrspace(1) %y monotonic, align 4; R 0 %a",
            "%a = load atomic i32, ptr addrspace(1) %y monotonic, align 4; store atomic i32 1, ptr addrspace(1) %x monotonic, align 4; R 0 %a",
        ],
    };
    let ordered = Litmus {
        threads: &[
            "%a = load atomic i32, ptr addrspace(1) %x acquire, align 4; store atomic i32 1, ptr addrspace(1) %y release, align 4; R 0 %a",
            "%a = load atomic i32, ptr addrspace(1) %y acquire, align 4; store atomic i32 1, ptr addrspace(1) %x release, align 4; R 0 %a",
        ],
    };
    let both = |outcome: &[u32]| outcome[0] == 1 && outcome[2] == 1;
    for target in TARGETS {
        relaxed.at_times(target, both);
        ordered.never(target, both);
    }
}

#[test]
fn coherence_of_one_location() {
    let reads = Litmus {
        threads: &[
            "store atomic i32 1, ptr addrspace(1) %y monotonic, align 4; store atomic i32 2, ptr addrspace(1) %y monotonic, align 4",
            "%a = load atomic i32, ptr addrspace(1) %y monotonic, align 4; %b = load atomic i32, ptr addrspace(1) %y monotonic, align 4; R 0 %a; R 1 %b",
        ],
    };
    let writes = Litmus {
        threads: &[
            "store atomic i32 1, ptr addrspace(1) %x release, align 4; store atomic i32 2, ptr addrspace(1) %y release, align 4",
            "store atomic i32 1, ptr addrspace(1) %y release, align 4; store atomic i32 2, ptr addrspace(1) %x release, align 4",
        ],
    };
    for target in TARGETS {
        // A later load does not see an older value, and the value may change in between.
        reads.never(target, |outcome| outcome[2] > outcome[3]);
        reads.at_times(target, |outcome| outcome[2] < outcome[3]);
        // 2+2W: not both first stores last.
        writes.never(target, |outcome| outcome[4..6] == [1, 1]);
    }
}

#[test]
fn independent_reads_of_independent_writes() {
    let litmus = Litmus {
        threads: &[
            "store atomic i32 1, ptr addrspace(1) %x release, align 4",
            "store atomic i32 1, ptr addrspace(1) %y release, align 4",
            "%a = load atomic i32, ptr addrspace(1) %x acquire, align 4; %b = load atomic i32, ptr addrspace(1) %y acquire, align 4; R 0 %a; R 1 %b",
            "%a = load atomic i32, ptr addrspace(1) %y acquire, align 4; %b = load atomic i32, ptr addrspace(1) %x acquire, align 4; R 0 %a; R 1 %b",
        ],
    };
    for target in TARGETS {
        // The readers do not disagree on the order.
        litmus.never(target, |outcome| outcome[4..8] == [1, 0, 1, 0]);
    }
}

#[test]
fn the_same_seed_runs_the_same() {
    let litmus = Litmus {
        threads: &[
            "store atomic i32 1, ptr addrspace(1) %x monotonic, align 4",
            "%a = load atomic i32, ptr addrspace(1) %x monotonic, align 4; R 0 %a",
        ],
    };
    let object = load(&compile("gfx1201", &litmus.ir())).unwrap();
    let run = |seed| {
        let mut machine = Machine::new();
        let devices = [machine.add_device(), machine.add_device()];
        let [x, y, result] = ["x", "y", "result"].map(|name| region(&mut machine, name, devices[0], &[0, 0]));
        for (number, device) in devices.into_iter().enumerate() {
            let arguments = Arguments::default().pointer(x).pointer(y).pointer(result);
            machine.launch(device, launch(object.kernel(&format!("t{number}")).unwrap(), 3, 64, arguments)).unwrap();
        }
        let report = machine.run(&RunOptions::new(seed)).unwrap();
        (report, read_words(&machine, result, 1))
    };
    let all: Vec<_> = (0..20).map(run).collect();
    assert_eq!(all, (0..20).map(run).collect::<Vec<_>>());
    assert!(all.iter().any(|outcome| outcome != &all[0]), "seeds differ");
}
