//! Talks with drivers, played by stand-ins in C: the calls, their arguments, and what is made of the answers.
//! What a real driver does is not shown here.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by a panic"
)]

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use libtest_mimic::{Arguments, Trial};
use tempfile::TempDir;
use xreduce_probe::Address;
use xreduce_probe::drivers::{Access, Answer, Driver, End, Kernel, State, ask};

/// Builds a stand-in under the name that the driver is opened by.
fn stand_in(folder: &TempDir, driver: Driver) {
    let (source, library) = match driver {
        Driver::Hip => ("hip.c", "libamdhip64.so.7"),
        Driver::Cuda => ("cuda.c", "libcuda.so.1"),
        Driver::LevelZero => ("level_zero.c", "libze_loader.so.1"),
    };
    let source: PathBuf = [env!("CARGO_MANIFEST_DIR"), "tests", "stand_ins", source].iter().collect();
    let mut cc = Command::new("cc");
    cc.args(["-shared", "-fPIC", "-Wall", "-Werror", "-o"]).arg(folder.path().join(library)).arg(source);
    assert!(cc.status().unwrap().success());
}

/// Asks in a process that finds libraries in `folder` first.
fn asked(driver: Driver, folder: &Path, scene: &str) -> Answer {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.env("LD_LIBRARY_PATH", folder).env("DRIVER", driver.word()).env("SCENE", scene);
    let output = child.output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let answer = said.lines().find(|line| line.starts_with('{')).unwrap_or_else(|| panic!("{said}"));
    serde_json::from_str(answer).unwrap()
}

/// What `asked` starts: this program again, told by the variable which driver to ask.
fn child(word: &str) {
    let driver = Driver::ALL.into_iter().find(|driver| driver.word() == word).unwrap();
    let target = |address, target: Option<&str>| (Address::parse(address).unwrap(), target.map(str::to_owned));
    let targets = [target("0000:03:00.0", Some("gfx1201")), target("0000:0a:00.0", Some("gfx1201"))];
    let answer = ask(driver, &targets, &|target| Ok(format!("code for {target}").into_bytes()));
    println!("\n{}", serde_json::to_string(&answer).unwrap());
}

fn with_stand_in(driver: Driver, scene: &str) -> Answer {
    let folder = tempfile::tempdir().unwrap();
    stand_in(&folder, driver);
    asked(driver, folder.path(), scene)
}

fn hip_devices_and_kernels() {
    let answer = with_stand_in(Driver::Hip, "runs");
    assert_eq!(answer.state, State::Answered, "{answer:?}");
    let names: Vec<_> = answer.devices.iter().map(|device| device.name.as_str()).collect();
    assert_eq!(names, ["Radeon one", "Radeon two"]);
    assert_eq!(answer.devices[1].address, Address::parse("0000:0a:00.0"));
    let peers = [Access { from: 0, to: 1, can: true }, Access { from: 1, to: 0, can: false }];
    assert_eq!(answer.peers, peers);
    let ends: Vec<_> = answer.kernels.iter().map(|run| (run.device, run.kernel, run.end)).collect();
    let wanted = [0, 1].map(|device| [Kernel::Plain, Kernel::Hostcall].map(|kernel| (device, kernel, End::Ran)));
    assert_eq!(ends, wanted.concat());
}

fn hip_refuses_hostcalls() {
    for (scene, end, detail) in [
        ("refuses", End::Refused, "hipModuleLaunchKernel: hipErrorIllegalState (401)"),
        ("late", End::Refused, "hipDeviceSynchronize: hipErrorIllegalState (401)"),
        ("lost", End::Wrong, "stored 0x00000000, not 0x0b0ffe12"),
    ] {
        let answer = with_stand_in(Driver::Hip, scene);
        for run in &answer.kernels {
            let wanted = match run.kernel {
                Kernel::Plain => (End::Ran, None),
                Kernel::Hostcall => (end, Some(detail)),
            };
            assert_eq!((run.end, run.detail.as_deref()), wanted, "{scene}");
        }
    }
}

fn cuda_devices() {
    let answer = with_stand_in(Driver::Cuda, "two");
    assert_eq!(answer.state, State::Answered, "{answer:?}");
    assert_eq!(answer.devices[1].address, Address::parse("0000:3b:00.0"));
    assert_eq!(answer.devices[0].target.as_deref(), Some("sm_90"));
    assert_eq!(answer.peers.len(), 2);
    assert!(answer.peers.iter().all(|access| access.can));
}

fn level_zero_devices() {
    let answer = with_stand_in(Driver::LevelZero, "two");
    assert_eq!(answer.state, State::Answered, "{answer:?}");
    let devices: Vec<_> = answer.devices.iter().map(|device| (device.name.as_str(), device.address)).collect();
    assert_eq!(devices, [("Arc one", Address::parse("0000:03:00.0")), ("Arc two", Address::parse("0000:43:00.0"))]);
    assert!(answer.peers.len() == 2 && answer.peers.iter().all(|access| !access.can));
}

fn no_device_is_no_failure() {
    for driver in Driver::ALL {
        let answer = with_stand_in(driver, "none");
        assert_eq!((answer.state, answer.trouble.len()), (State::NoDevice, 0), "{answer:?}");
    }
}

fn a_failing_call_is_named() {
    let answer = with_stand_in(Driver::Cuda, "old");
    assert_eq!(answer.trouble, ["cuInit of libcuda.so.1: CUDA_ERROR_SYSTEM_DRIVER_MISMATCH (803)"]);
    let answer = with_stand_in(Driver::LevelZero, "lost");
    assert_eq!(answer.trouble, ["zeDeviceGetProperties of libze_loader.so.1: 0x70000001"]);
}

/// A library of the right name that is none, and one that lacks functions.
fn a_broken_library_is_told() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("libcuda.so.1"), "no library").unwrap();
    let answer = asked(Driver::Cuda, folder.path(), "two");
    assert_eq!(answer.state, State::Failed);
    assert!(answer.trouble[0].contains("libcuda.so.1"), "{answer:?}");

    stand_in(&folder, Driver::LevelZero);
    std::fs::copy(folder.path().join("libze_loader.so.1"), folder.path().join("libcuda.so.1")).unwrap();
    let answer = asked(Driver::Cuda, folder.path(), "two");
    assert_eq!(answer.state, State::Failed);
    assert!(answer.trouble[0].contains("cuInit"), "{answer:?}");
}

fn main() -> ExitCode {
    if let Ok(word) = std::env::var("DRIVER") {
        child(&word);
        return ExitCode::SUCCESS;
    }
    let tests: [(&str, fn()); 7] = [
        ("hip_devices_and_kernels", hip_devices_and_kernels),
        ("hip_refuses_hostcalls", hip_refuses_hostcalls),
        ("cuda_devices", cuda_devices),
        ("level_zero_devices", level_zero_devices),
        ("no_device_is_no_failure", no_device_is_no_failure),
        ("a_failing_call_is_named", a_failing_call_is_named),
        ("a_broken_library_is_told", a_broken_library_is_told),
    ];
    let trial = |(name, test): (&str, fn())| {
        Trial::test(name, move || {
            test();
            Ok(())
        })
    };
    libtest_mimic::run(&Arguments::from_args(), tests.map(trial).into()).exit_code()
}
