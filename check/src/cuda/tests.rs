//! The host side on a stand-in for the driver (`stand_in.c`), built by the C compiler: right kernels pass, and what goes
//! wrong is told.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

use std::process::Command;

use sha2::{Digest, Sha256};
use tempfile::TempDir;
use xreduce_contract::manifest::{Format, KernelEntry, Manifest, Module, SpinLimitUnit, TargetEntry};
use xreduce_contract::{Algorithm, CONTRACT_VERSION, Element, Kernel, Wire, World, kernel_arguments};

use super::{Cuda, needed_capability, soak};
use crate::backend::{Backend, Launch, ModuleBytes, Sharing, Value};
use crate::bundle::Bundle;
use crate::fault::What;
use crate::report::{Outcome, Verdict};
use crate::select::{Selection, check_bundle};

const SOURCE: &str = include_str!("stand_in.c");

/// A machine with the stand-in, and a bundle with two kernels for it.
struct Fixture {
    _folder: TempDir,
    cuda: Cuda,
    bundle: Bundle,
}

fn kernels() -> [Kernel; 2] {
    let world = World::try_from(3).unwrap();
    [Wire::Ll, Wire::Sentinel].map(|wire| Kernel {
        algorithm: Algorithm::OneShotPush,
        wire,
        element: Element::F32,
        world,
    })
}

fn fixture(fault: u32) -> Fixture {
    let folder = TempDir::new().unwrap();
    let (source, library) = (folder.path().join("stand_in.c"), folder.path().join("libcuda.so"));
    std::fs::write(&source, SOURCE).unwrap();
    let mut compiler = Command::new("cc");
    compiler.args(["-O1", "-shared", "-fPIC", &format!("-DFAULT={fault}"), "-o"]);
    let built = compiler.args([&library, &source]).output().unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let ptx = kernels().iter().fold(".version 7.8\n// griddepcontrol.wait\n".to_owned(), |text, kernel| {
        text + &format!(".visible .entry {}(\n)\n", kernel.symbol())
    });
    std::fs::write(folder.path().join("module.ptx"), &ptx).unwrap();
    let module = Module {
        file: "module.ptx".to_owned(),
        sha256: Sha256::digest(&ptx).iter().map(|byte| format!("{byte:02x}")).collect(),
        bytes: ptx.len() as u64,
        inputs_sha256: String::new(),
        world: World::try_from(3).unwrap(),
        format: Format::Ptx { ptx_version: "7.8".to_owned(), ptx_target: "sm_90".to_owned() },
        kernels: { kernels().into_iter() }
            .map(|kernel| KernelEntry {
                symbol: kernel.symbol(),
                algorithm: kernel.algorithm,
                wire: kernel.wire,
                element: kernel.element,
                sum_order: kernel.algorithm.sum_order(),
                elements_per_packet: kernel.elements_per_packet(),
                arguments: kernel_arguments(&kernel),
                max_threads_per_block: 512,
                resources: Default::default(),
                evidence: Vec::new(),
            })
            .collect(),
    };
    let target = TargetEntry {
        name: "sm_90".to_owned(),
        family: "nvptx".to_owned(),
        processors: vec!["sm_90".to_owned()],
        target_sha256: String::new(),
        lanes: 32,
        spin_limit_unit: SpinLimitUnit::Microseconds,
        spin_limit_default: 1,
        max_blocks_per_compute_unit: 1,
        modules: vec![module],
        dispatch: Vec::new(),
    };
    let manifest = Manifest {
        schema: 1,
        tool: String::new(),
        llvm: String::new(),
        contract: CONTRACT_VERSION,
        workspace_layout: 1,
        templates_sha256: String::new(),
        shard: None,
        targets: vec![target],
    };
    let cuda = Cuda::open_at(&library).unwrap();
    let bundle = Bundle { folder: folder.path().to_owned(), manifest };
    Fixture { _folder: folder, cuda, bundle }
}

impl Fixture {
    fn soak(&self, calls: u64) -> crate::Report {
        soak(&self.bundle, &self.cuda, &Selection::new(None, 1, 1).unwrap(), calls, &mut |_| {}).unwrap()
    }

    fn module<'a>(&'a self, bytes: &'a [u8]) -> ModuleBytes<'a> {
        let target = &self.bundle.manifest.targets[0];
        ModuleBytes { name: "module.ptx", processors: &target.processors, bytes, world: target.modules[0].world }
    }
}

#[test]
fn a_soak_of_right_kernels_passes_over_both_ends_of_the_epochs() {
    let report = fixture(0).soak(60);
    assert_eq!(report.verdict(), Verdict::Passed, "{report}");
    assert!(report.kernels.iter().all(|kernel| kernel.calls >= 60));
    assert_eq!(report.kernels[0].device, "stand-in, 3 ranks on one GPU, driver for CUDA 13.0");
}

#[test]
fn a_soak_names_the_element_that_is_wrong() {
    let report = fixture(1).soak(60);
    let Outcome::Failed { fault, replay, .. } = &report.kernels[0].outcome else { panic!("{report}") };
    let What::Element { index, saw, inputs, .. } = &fault.what else { panic!("{fault}") };
    assert!(*index < fault.count as usize && saw.starts_with("1e30") && inputs.len() == 3, "{fault}");
    let command = "--on cuda --kernel sm_90/xreduce_one_shot_push_ll_f32_w3 --calls 60 --seed 1";
    assert!(replay.contains(command), "{replay}");
    let Outcome::Failed { fault: other, .. } = &report.kernels[1].outcome else { panic!("{report}") };
    assert_ne!(fault, other, "what was found is forgotten before the next kernel");
    assert!(report.kernels.iter().all(|kernel| kernel.seeds == 0));
}

#[test]
fn a_soak_sees_a_byte_written_beside_the_result() {
    let report = fixture(3).soak(60);
    let Outcome::Failed { fault, .. } = &report.kernels[0].outcome else { panic!("{report}") };
    let What::Byte { offset, .. } = fault.what else { panic!("{fault}") };
    assert_eq!((offset, fault.rank), (i64::from(fault.count) * 4, Some(2)), "{fault}");
}

#[test]
fn a_kernel_that_ends_the_context_fails_and_nothing_after_it_is_decided() {
    let report = fixture(2).soak(60);
    let Outcome::Failed { fault, .. } = &report.kernels[0].outcome else { panic!("{report}") };
    assert!(fault.to_string().contains("CUDA_ERROR_ILLEGAL_ADDRESS"), "{fault}");
    let Outcome::Undecided { reason } = &report.kernels[1].outcome else { panic!("{report}") };
    assert!(reason.contains("died earlier"), "{reason}");
}

#[test]
fn plans_pass_on_right_kernels_and_fail_on_wrong_ones() {
    // One seed at a time: those whose plan asks for a rank that does not come are beyond the stand-in.
    for seed in [0, 1, 3, 4, 5, 7, 8] {
        let selection = Selection::new(None, seed, 1).unwrap();
        let good = fixture(0);
        let report = check_bundle(&good.bundle, &good.cuda, &selection, &mut |_| {}).unwrap();
        assert_eq!(report.verdict(), Verdict::Passed, "{report}");
    }
    let bad = fixture(1);
    let report = check_bundle(&bad.bundle, &bad.cuda, &Selection::new(None, 1, 1).unwrap(), &mut |_| {}).unwrap();
    assert_eq!(report.verdict(), Verdict::Failed, "{report}");
}

#[test]
fn a_grid_that_cannot_be_resident_is_refused_with_the_reason() {
    let fixture = fixture(0);
    let bytes = fixture.bundle.module(&fixture.bundle.manifest.targets[0].modules[0]).unwrap();
    let mut session = fixture.cuda.open(&fixture.module(&bytes)).unwrap();
    // 8 multiprocessors, 2 blocks on each, 3 ranks, 2 launches of each.
    assert_eq!(session.limits().blocks, 2);
    let region = session.allocate(0, 64, Sharing::Own).unwrap();
    let launch = Launch {
        rank: 0,
        symbol: kernels()[0].symbol(),
        arguments: vec![Value::Address { region, offset: 0 }, Value::Word(0)],
        blocks: 3,
        threads: 32,
    };
    let error = session.launch(&[launch], 0).unwrap_err();
    assert!(!error.by_kernel && error.message.contains("only 2 are surely resident at once"), "{error}");
    let outside = session.write(region, 60, &[0; 8]).unwrap_err();
    assert!(outside.message.contains("outside an allocation of 64 bytes"), "{outside}");
}

#[test]
fn the_compilers_log_is_in_the_error() {
    let fixture = fixture(0);
    let error = fixture.cuda.open(&fixture.module(b".entry a()")).err().unwrap();
    assert!(error.message.starts_with("module.ptx: cuModuleLoadDataEx: CUDA_ERROR (218)"), "{error}");
    assert!(error.message.ends_with("line 1: no .version"), "{error}");
}

#[test]
fn newer_targets_and_other_formats_do_not_run_here() {
    let cuda = fixture(0).cuda;
    let ptx = |target: &str| Format::Ptx { ptx_version: "7.8".to_owned(), ptx_target: target.to_owned() };
    assert_eq!(
        ["sm_75", "sm_90", "sm_100", "sm_90a"].map(|target| cuda.runs(&ptx(target))),
        [true, true, false, false]
    );
    assert!(!cuda.runs(&Format::Hsaco { elf_flags: 0, code_object_version: 6 }));
}

#[test]
fn later_processors_run_older_code_unless_it_is_tied_to_one() {
    assert_eq!(["sm_90", "sm_120", "sm_90a", "gfx1100"].map(needed_capability), [Some(90), Some(120), None, None]);
}
