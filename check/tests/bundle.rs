//! A bundle's kernels, selected and checked: what a report says, and what of it enters the manifest.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test program")]

mod model;

use std::fs;

use model::{Bug, Model, kernels};
use tempfile::TempDir;
use xreduce_check::{
    Bundle, BundleError, Outcome, Progress, Selection, Verdict, check_bundle, check_bundle_in_parallel, record,
};
use xreduce_contract::manifest::{Evidence, Format, KernelEntry, Manifest, Module, SpinLimitUnit, TargetEntry};
use xreduce_contract::{CONTRACT_VERSION, World, kernel_arguments};

/// SHA-256 of the four bytes "code", as `sha256sum` gives it.
const SHA256: &str = "5694d08a2e53ffcae0c3103e5ad6f6076abd960eb1f8a56577040bc1028f702b";

fn manifest() -> Manifest {
    let kernel_entry = |kernel: xreduce_contract::Kernel| KernelEntry {
        symbol: kernel.symbol(),
        algorithm: kernel.algorithm,
        wire: kernel.wire,
        element: kernel.element,
        sum_order: kernel.algorithm.sum_order(),
        elements_per_packet: kernel.elements_per_packet(),
        arguments: kernel_arguments(&kernel),
        max_threads_per_block: 256,
        resources: Default::default(),
        evidence: vec![Evidence::Verified, Evidence::Run { device: "model device".to_owned(), calls: 1 }],
    };
    let module = |target: &str, world: u32, format: Format| Module {
        file: format!("{target}/w{world}"),
        sha256: SHA256.to_owned(),
        bytes: 4,
        inputs_sha256: String::new(),
        world: World::try_from(world).unwrap(),
        format,
        kernels: kernels(world).into_iter().map(kernel_entry).collect(),
    };
    let target = |name: &str, modules: Vec<Module>| TargetEntry {
        name: name.to_owned(),
        family: "any".to_owned(),
        processors: vec![name.to_owned()],
        target_sha256: String::new(),
        lanes: 16,
        spin_limit_unit: SpinLimitUnit::Polls,
        spin_limit_default: 1,
        max_blocks_per_compute_unit: 1,
        modules,
        dispatch: Vec::new(),
    };
    let spirv = || Format::Spirv { spirv_version: "1.2".to_owned(), capabilities: Vec::new(), extensions: Vec::new() };
    let ptx = || Format::Ptx { ptx_version: "7.0".to_owned(), ptx_target: "sm_90".to_owned() };
    Manifest {
        schema: 1,
        tool: String::new(),
        llvm: String::new(),
        contract: CONTRACT_VERSION,
        workspace_layout: 1,
        templates_sha256: String::new(),
        shard: None,
        targets: vec![
            target("one", vec![module("one", 2, spirv()), module("one", 3, spirv())]),
            target("other", vec![module("other", 2, ptx())]),
        ],
    }
}

fn bundle() -> (TempDir, Bundle) {
    let folder = TempDir::new().unwrap();
    let bundle = Bundle { folder: folder.path().to_owned(), manifest: manifest() };
    for target in &bundle.manifest.targets {
        fs::create_dir(folder.path().join(&target.name)).unwrap();
        for module in &target.modules {
            fs::write(folder.path().join(&module.file), "code").unwrap();
        }
    }
    bundle.save().unwrap();
    assert_eq!(Bundle::open(folder.path()).unwrap(), bundle);
    (folder, bundle)
}

fn select(glob: &str, seeds: u32) -> Selection {
    Selection::new(Some(glob), 1, seeds).unwrap()
}

#[test]
fn all_kernels_that_run_here_pass_and_enter_the_manifest() {
    let (_folder, mut bundle) = bundle();
    let mut steps = Vec::new();
    let selection = Selection::new(None, 1, 4).unwrap();
    let report =
        check_bundle(&bundle, &Model(None), &selection, &mut |progress| steps.push((progress.done, progress.of)));
    let report = report.unwrap();
    assert_eq!((report.verdict(), report.kernels.len(), report.not_run_here), (Verdict::Passed, 12, 6));
    assert!(report.kernels.iter().all(|kernel| kernel.seeds == 4 && kernel.calls > 16));
    assert_eq!(steps.last(), Some(&(48, 48)));
    assert!(steps.is_sorted());
    let mut steps = Vec::new();
    let mut progress = |progress: Progress<'_>| steps.push((progress.done, progress.of));
    let parallel = check_bundle_in_parallel(&bundle, &Model(None), &selection, &mut progress).unwrap();
    assert_eq!(parallel, report, "the same kernels in the same order");
    assert_eq!(steps.last(), Some(&(48, 48)));
    assert!(steps.is_sorted());
    let text = report.to_string();
    assert!(
        text.contains("12 of 12 kernels passed on model, model device; 6 kernels of other formats not run"),
        "{text}"
    );

    record(&mut bundle.manifest, &report);
    bundle.save().unwrap();
    let read = Bundle::open(&bundle.folder).unwrap().manifest;
    for (kernel, passed) in read.targets[0].modules.iter().flat_map(|module| &module.kernels).zip(&report.kernels) {
        let run = Evidence::Run { device: "model device".to_owned(), calls: passed.calls };
        assert_eq!(kernel.evidence, [Evidence::Verified, run], "the longer run replaces the shorter");
    }
    assert_eq!(read.targets[1], manifest().targets[1]);
    let shorter = check_bundle(&bundle, &Model(None), &select("*", 1), &mut |_| {}).unwrap();
    record(&mut bundle.manifest, &shorter);
    assert_eq!(bundle.manifest, read, "a shorter run changes nothing");
}

#[test]
fn a_failure_names_the_first_seed_and_how_to_see_it_again() {
    let (folder, mut bundle) = bundle();
    let broken = Model(Some(Bug::IgnoresCapacity));
    let report = check_bundle(&bundle, &broken, &select("one/*push_ll*w2", 9), &mut |_| {}).unwrap();
    assert_eq!((report.verdict(), report.kernels.len(), report.not_run_here), (Verdict::Failed, 1, 0));
    let Outcome::Failed { seed: 4, replay, .. } = &report.kernels[0].outcome else { panic!("{report}") };
    assert_eq!(report.kernels[0].seeds, 3);
    let command = format!(
        "xreduce check {} --on model --kernel one/xreduce_one_shot_push_ll_f32_w2 --seed 4",
        folder.path().display()
    );
    assert_eq!(*replay, command);
    assert!(report.to_string().contains(&command), "{report}");
    assert!(report.to_string().contains("0 of 1 kernels passed"), "{report}");

    // That seed alone gives the same fault.
    let again = Selection::new(Some("xreduce_one_shot_push_ll_f32_w2"), 4, 1).unwrap();
    let again = check_bundle(&bundle, &broken, &again, &mut |_| {}).unwrap();
    assert_eq!(again.kernels[0].outcome, report.kernels[0].outcome);

    record(&mut bundle.manifest, &report);
    assert_eq!(bundle.manifest, manifest(), "a failure is no evidence");
}

#[test]
fn nothing_to_run_is_not_a_pass() {
    let (_folder, mut bundle) = bundle();
    let check = |bundle: &Bundle, glob| check_bundle(bundle, &Model(None), &select(glob, 1), &mut |_| {}).unwrap();
    let none = check(&bundle, "no_such_kernel");
    assert_eq!((none.verdict(), none.not_run_here), (Verdict::Undecided, 0));
    let other = check(&bundle, "other/*");
    assert_eq!((other.verdict(), other.not_run_here), (Verdict::Undecided, 6));
    assert!(Selection::new(Some("a{"), 1, 1).is_err());

    // A device that does not take the module leaves it undecided.
    fs::write(bundle.folder.join("one/w2"), "no module").unwrap();
    let error = check_bundle(&bundle, &Model(None), &select("one/*w2", 1), &mut |_| {}).unwrap_err();
    let BundleError::Changed { found, .. } = error else { panic!("{error}") };
    bundle.manifest.targets[0].modules[0].sha256 = found;
    let undecided = check(&bundle, "one/*w2");
    assert_eq!(undecided.verdict(), Verdict::Undecided);
    assert!(undecided.to_string().contains("this is no module"), "{undecided}");
}

#[test]
fn a_bundle_that_is_none_says_which_file() {
    let (folder, _bundle) = bundle();
    let path = folder.path().join("manifest.json");
    let text = fs::read_to_string(&path).unwrap();
    let open = |text: &str| {
        fs::write(&path, text).unwrap();
        Bundle::open(folder.path()).unwrap_err().to_string()
    };
    assert!(open(&text.replace("\"schema\": 1", "\"schema\": 2, \"news\": 3")).contains("schema 2, and only 1"));
    assert!(open(&text.replace("\"lanes\"", "\"lines\"")).contains("unknown field `lines`"));
    assert!(open("{").contains("manifest.json: EOF"));
    fs::remove_file(&path).unwrap();
    let missing = Bundle::open(folder.path()).unwrap_err().to_string();
    assert!(missing.contains("manifest.json: No such file"), "{missing}");
    fs::write(&path, &text).unwrap();
    fs::remove_file(folder.path().join("one/w3")).unwrap();
    let bundle = Bundle::open(folder.path()).unwrap();
    let error = check_bundle(&bundle, &Model(None), &select("*w3", 1), &mut |_| {}).unwrap_err().to_string();
    assert!(error.contains("one/w3: No such file"), "{error}");
}
