//! A group of ranks on the CPU OpenCL runtime of `.tools/`: what works, and that every way to fail is
//! an error that names the rank and leaves no process behind.
//!
//! The ranks are this program itself, so it has a `main` of its own instead of the test harness's.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test program"
)]

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use libtest_mimic::{Arguments, Failed, Trial};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use xreduce_launch::{Argument, Error, Group, Launch, Options, rank_main};

/// This program is to play a rank.
const RANK: &str = "--play-rank";
/// This program is to start a group, name its processes and then hang in a kernel.
const PARENT: &str = "--play-parent";
const MEMORY: usize = 1 << 16;

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some(RANK) => return rank_main(),
        Some(PARENT) => return play_parent(),
        _ => {}
    }
    let tests: [(&str, fn()); 8] = [
        ("kernels_write_shared_memory", kernels_write_shared_memory),
        ("ranks_meet_in_shared_memory", ranks_meet_in_shared_memory),
        ("a_crash_names_the_rank_and_ends_the_group", a_crash_names_the_rank_and_ends_the_group),
        ("a_hang_names_the_rank_and_ends_the_group", a_hang_names_the_rank_and_ends_the_group),
        ("refusals_say_what_was_expected", refusals_say_what_was_expected),
        ("a_module_that_is_none_is_refused", a_module_that_is_none_is_refused),
        ("what_cannot_start_is_an_error", what_cannot_start_is_an_error),
        ("ranks_end_with_their_parent", ranks_end_with_their_parent),
    ];
    let trials = tests.into_iter().map(|(name, test)| {
        Trial::test(name, move || {
            test();
            Ok::<(), Failed>(())
        })
    });
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit_code()
}

fn kernels_write_shared_memory() {
    let mut group = start(1);
    let device = group.devices()[0].clone();
    assert!(device.compute_units >= 1 && device.max_group_size >= 64, "{device:?}");
    group.launch(&[launch(0, "count_up", &[Argument::Pointer(256), Argument::Word(7)], 2, 16)]).unwrap();
    let words: Vec<u32> = (0..33).map(|index| word(&group, 256 + 4 * index)).collect();
    assert_eq!(words[..32], (7..39).collect::<Vec<u32>>());
    assert_eq!(words[32], 0);
}

fn ranks_meet_in_shared_memory() {
    let mut group = start(2);
    for call in 1..=20 {
        group.fill(0, 512, 0).unwrap();
        let meet = |rank: usize, own, peer| {
            let value = Argument::Word(call * 10 + u32::try_from(rank).unwrap());
            let arguments = [Argument::Pointer(own), Argument::Pointer(peer), value, Argument::Word(u32::MAX)];
            launch(rank, "meet", &arguments, 1, 1)
        };
        group.launch(&[meet(0, 0, 256), meet(1, 256, 0)]).unwrap();
        assert_eq!((word(&group, 4), word(&group, 260)), (call * 10 + 1, call * 10));
    }
    // Alone, a rank comes back at its bound.
    group.fill(0, 512, 0).unwrap();
    let arguments = [Argument::Pointer(0), Argument::Pointer(256), Argument::Word(5), Argument::Word(1000)];
    group.launch(&[launch(0, "meet", &arguments, 1, 1)]).unwrap();
    assert_eq!((word(&group, 4), word(&group, 256)), (0, 5));
}

fn a_crash_names_the_rank_and_ends_the_group() {
    let mut group = start(2);
    let processes = watch(&group);
    let error = group.launch(&[launch(1, "crash", &[Argument::Pointer(0)], 1, 1)]).unwrap_err();
    assert!(matches!(error, Error::Died { rank: 1, doing: "run its kernel", .. }), "{error}");
    assert!(error.to_string().contains("signal"), "{error}");
    await_end(&processes);
    assert!(matches!(group.launch(&[launch(0, "count_up", &[], 1, 1)]), Err(Error::Ended)));
}

fn a_hang_names_the_rank_and_ends_the_group() {
    let mut group = start(2);
    let processes = watch(&group);
    // The kernel never ends, so that any patience runs out.
    group.set_patience(Duration::from_millis(50));
    let error = group.launch(&[launch(1, "hang", &[Argument::Pointer(0)], 1, 1)]).unwrap_err();
    assert!(matches!(error, Error::Silent { rank: 1, .. }), "{error}");
    await_end(&processes);
}

fn refusals_say_what_was_expected() {
    let mut group = start(2);
    let mut refused = |launches: &[Launch]| group.launch(launches).unwrap_err().to_string();
    let pointer = Argument::Pointer(0);
    let unknown = refused(&[launch(0, "sum", &[pointer], 1, 1)]);
    assert!(unknown.contains("rank 0") && unknown.contains("no kernel sum"), "{unknown}");
    assert!(unknown.contains("count_up, crash, hang, meet"), "{unknown}");
    let few = refused(&[launch(1, "meet", &[pointer], 1, 1)]);
    assert!(few.contains("rank 1") && few.contains("takes 4 arguments, not 1"), "{few}");
    let outside = refused(&[launch(0, "hang", &[Argument::Pointer(MEMORY as u64 + 1)], 1, 1)]);
    assert!(outside.contains("outside the 65536 bytes"), "{outside}");
    let large = refused(&[launch(0, "hang", &[pointer], 1, 1 << 30)]);
    assert!(large.contains("work-items in a group"), "{large}");
    let hang = launch(0, "hang", &[pointer], 1, 1);
    let twice = refused(&[hang.clone(), hang]);
    assert!(twice.contains("rank 0 of 2"), "{twice}");
    let beyond = refused(&[launch(2, "hang", &[pointer], 1, 1)]);
    assert!(beyond.contains("rank 2 of 2"), "{beyond}");
    // None of them ended the group.
    let arguments = [Argument::Pointer(0), Argument::Word(1)];
    group.launch(&[launch(0, "count_up", &arguments, 1, 1)]).unwrap();
}

fn a_module_that_is_none_is_refused() {
    let mut group = Group::start(&options(1)).unwrap();
    let arguments = [Argument::Pointer(0), Argument::Word(1)];
    let none = group.launch(&[launch(0, "count_up", &arguments, 1, 1)]).unwrap_err();
    assert!(none.to_string().contains("no module is loaded"), "{none}");
    let error = group.load(b"this is no SPIR-V").unwrap_err();
    assert!(matches!(error, Error::Refused { rank: 0, doing: "load the module", .. }), "{error}");
    group.load(&module()).unwrap();
    group.launch(&[launch(0, "count_up", &arguments, 1, 1)]).unwrap();
}

fn what_cannot_start_is_an_error() {
    let no_program = Options { program: PathBuf::from("/no/such/program"), ..options(1) };
    assert!(matches!(Group::start(&no_program), Err(Error::Start { rank: 0, .. })));
    let no_loader = Options { loader: PathBuf::from("/no/such/libOpenCL.so.1"), ..options(2) };
    let error = Group::start(&no_loader).unwrap_err().to_string();
    assert!(error.contains("/no/such/libOpenCL.so.1") && error.contains("ocl-icd"), "{error}");
    let no_device = Options { device: Some("a GPU of dreams".to_owned()), ..options(1) };
    let error = Group::start(&no_device).unwrap_err().to_string();
    assert!(error.contains("a GPU of dreams"), "{error}");
    // A program that ends without a word, and one that says something else.
    let mute = Options { program: PathBuf::from("/bin/true"), ..options(1) };
    assert!(matches!(Group::start(&mute), Err(Error::Died { rank: 0, .. })));
    let echo = Options { program: PathBuf::from("/bin/cat"), arguments: Vec::new(), ..options(1) };
    assert!(matches!(Group::start(&echo), Err(Error::Answer { rank: 0, .. })));
}

fn ranks_end_with_their_parent() {
    let mut parent = Command::new(std::env::current_exe().unwrap()).arg(PARENT).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(parent.stdout.take().unwrap()).lines();
    let processes: Vec<_> = lines.next().unwrap().unwrap().split(' ').map(|id| open(id.parse().unwrap())).collect();
    assert_eq!(processes.len(), 2);
    parent.kill().unwrap();
    parent.wait().unwrap();
    await_end(&processes);
}

fn play_parent() -> ExitCode {
    let mut group = start(2);
    let ids: Vec<String> = group.process_ids().iter().map(u32::to_string).collect();
    println!("{}", ids.join(" "));
    std::io::stdout().flush().unwrap();
    let hang = |rank| launch(rank, "hang", &[Argument::Pointer(0)], 1, 1);
    group.launch(&[hang(0), hang(1)]).unwrap();
    ExitCode::FAILURE
}

/// A group with the test module loaded.
fn start(ranks: usize) -> Group {
    let mut group = Group::start(&options(ranks)).unwrap();
    let mut kernels = group.load(&module()).unwrap();
    kernels.sort();
    assert_eq!(kernels, ["count_up", "crash", "hang", "meet"]);
    group
}

fn options(ranks: usize) -> Options {
    let runtime = root().join(".tools/opencl");
    assert!(runtime.exists(), "{} is missing: run `make tools`", runtime.display());
    let mut options = Options::this_program(ranks, MEMORY, RANK).unwrap();
    options.environment.push(("OCL_ICD_VENDORS".into(), runtime.into()));
    options
}

/// The test kernels, compiled by LLVM's own command.
fn module() -> Vec<u8> {
    let prefix = std::env::var_os("LLVM_SYS_221_PREFIX").unwrap_or_else(|| "/usr/lib/llvm-22".into());
    let compiler = Path::new(&prefix).join("bin/llc");
    let output = Command::new(&compiler)
        .args(["-O2", "-filetype=obj", "-o", "-"])
        .arg(root().join("launch/tests/group/kernels.ll"))
        .output()
        .unwrap_or_else(|error| panic!("{}: {error}: run `make tools`", compiler.display()));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

fn launch(rank: usize, kernel: &str, arguments: &[Argument], blocks: u32, threads: u32) -> Launch {
    let (kernel, arguments) = (kernel.to_owned(), arguments.to_vec());
    Launch { rank, kernel, arguments, blocks, threads }
}

fn word(group: &Group, offset: u64) -> u32 {
    let mut bytes = [0; 4];
    group.read(offset, &mut bytes).unwrap();
    u32::from_ne_bytes(bytes)
}

fn watch(group: &Group) -> Vec<std::os::fd::OwnedFd> {
    group.process_ids().into_iter().map(open).collect()
}

/// A descriptor that becomes readable when the process ends.
fn open(id: u32) -> std::os::fd::OwnedFd {
    let id = Pid::from_raw(i32::try_from(id).unwrap()).unwrap();
    pidfd_open(id, PidfdFlags::empty()).unwrap()
}

fn await_end(processes: &[std::os::fd::OwnedFd]) {
    for process in processes {
        let mut wait = [rustix::event::PollFd::new(process, rustix::event::PollFlags::IN)];
        assert_eq!(rustix::event::poll(&mut wait, None).unwrap(), 1);
    }
}
