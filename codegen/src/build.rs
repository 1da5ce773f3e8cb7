//! A whole build: what was asked for -> modules -> artifacts -> gate -> bundle.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};
use xreduce_contract::manifest::{Evidence, KernelEntry, Manifest, Module, SCHEMA, TargetEntry};
use xreduce_contract::{Algorithm, CONTRACT_VERSION, Element, Kernel, World, kernel_arguments, workspace};

use crate::bundle::{self, Draft, MANIFEST};
use crate::error::{Error, Rejection};
use crate::files::Files;
use crate::gate;
use crate::job::Job;
use crate::render::{algorithm_template, render};
use crate::target::{Target, Targets, hex};
use crate::template::{Templates, Text};
use crate::worker::{Fault, Worker};

/// What to build, from what, and where to.
#[derive(Clone, Debug)]
pub struct BuildOptions {
    /// Names of targets; empty: all.
    pub targets: Vec<String>,
    /// Algorithms; empty: all.
    pub algorithms: Vec<Algorithm>,
    /// Elements; empty: all.
    pub elements: Vec<Element>,
    /// Worlds; empty: all.
    pub worlds: Vec<World>,
    /// Folder of the bundle.
    pub out: PathBuf,
    /// Templates.
    pub templates: Files,
    /// Target files.
    pub target_files: Files,
    /// Modules that are lowered at the same time.
    pub jobs: usize,
    /// How a module is lowered.
    pub worker: Worker,
    /// Version of the LLVM in the worker.
    pub llvm_version: String,
}

/// Told as a build goes on, from several threads.
pub trait Progress: Sync {
    /// `total` modules will be made.
    fn begin(&self, total: usize);
    /// One module, e.g. `gfx1100 w2`, is done, well or not.
    fn done(&self, module: &str);
}

/// What was built.
#[derive(Clone, Debug)]
pub struct Summary {
    /// The manifest that was written.
    pub manifest: Manifest,
    /// Time each module took, by its file's name.
    pub times: BTreeMap<String, Duration>,
    /// Time of the whole build.
    pub total: Duration,
}

/// One module to make.
struct Plan<'a> {
    target: &'a Target,
    world: World,
    kernels: Vec<Kernel>,
}

impl Plan<'_> {
    fn name(&self) -> String {
        format!("{} w{}", self.target.name, self.world)
    }

    fn file(&self) -> String {
        let (target, world) = (&self.target.name, self.world);
        format!("{target}/xreduce-{target}-w{world}.{}", self.target.family.extension())
    }
}

/// Builds a bundle. `interrupted` ends it early; the place of the bundle then stays as it was, as after any error.
///
/// # Errors
/// Everything that went wrong, one entry per faulty module or file.
pub fn build(options: &BuildOptions, progress: &dyn Progress, interrupted: &AtomicBool) -> Result<Summary, Vec<Error>> {
    let begun = Instant::now();
    let one = |error: Error| vec![error];
    let targets = Targets::read(&options.target_files).map_err(one)?;
    let templates = Templates::new(&options.templates).map_err(one)?;
    let plans = plan(options, &targets).map_err(one)?;
    let draft = Draft::new(&options.out).map_err(one)?;

    progress.begin(plans.len());
    let results = in_parallel(options.jobs, &plans, |plan| {
        let begun = Instant::now();
        if interrupted.load(Ordering::Relaxed) {
            return Err(Error::Interrupted);
        }
        let made = make(options, &templates, &draft, plan).map(|module| (module, begun.elapsed()));
        progress.done(&plan.name());
        // A worker that the same Ctrl-C ended is no fault of LLVM's.
        if interrupted.load(Ordering::Relaxed) { Err(Error::Interrupted) } else { made }
    });

    let mut errors = Vec::new();
    let mut times = BTreeMap::new();
    let mut entries: Vec<TargetEntry> = Vec::new();
    for (plan, result) in plans.iter().zip(results) {
        match result {
            Ok((module, time)) => {
                times.insert(module.file.clone(), time);
                match entries.last_mut().filter(|entry| entry.name == plan.target.name) {
                    Some(entry) => entry.modules.push(module),
                    None => entries.push(target_entry(plan.target, module)),
                }
            }
            Err(Error::Interrupted) => return Err(vec![Error::Interrupted]),
            Err(error) => errors.push(error),
        }
    }
    if !errors.is_empty() {
        return Err(merge_gate(errors));
    }
    let manifest = Manifest {
        schema: SCHEMA,
        tool: concat!("xreduce ", env!("CARGO_PKG_VERSION")).to_owned(),
        llvm: options.llvm_version.clone(),
        contract: CONTRACT_VERSION,
        workspace_layout: workspace::LAYOUT_VERSION,
        templates_sha256: hash_of(&options.templates),
        targets: entries,
    };
    let written = write_manifest(&draft, &manifest).and_then(|()| bundle::audit(draft.path()));
    written.map_err(one)?;
    if interrupted.load(Ordering::Relaxed) {
        return Err(vec![Error::Interrupted]);
    }
    draft.publish().map_err(one)?;
    Ok(Summary { manifest, times, total: begun.elapsed() })
}

/// The modules that the options ask for, targets by name, worlds ascending.
fn plan<'a>(options: &BuildOptions, targets: &'a Targets) -> Result<Vec<Plan<'a>>, Error> {
    let chosen: Vec<&Target> = if options.targets.is_empty() {
        targets.iter().collect()
    } else {
        for name in &options.targets {
            targets.get(name)?;
        }
        targets.iter().filter(|target| options.targets.contains(&target.name)).collect()
    };
    let algorithms = some_or_all(&options.algorithms, Algorithm::ALL);
    let elements = some_or_all(&options.elements, Element::ALL);
    let mut plans = Vec::new();
    for target in chosen {
        for world in some_or_all(&options.worlds, World::ALL) {
            let mut kernels = Vec::new();
            for algorithm in &algorithms {
                for wire in algorithm.wires() {
                    let of =
                        |element: &Element| Kernel { algorithm: *algorithm, wire: *wire, element: *element, world };
                    kernels.extend(elements.iter().map(of));
                }
            }
            plans.push(Plan { target, world, kernels });
        }
    }
    Ok(plans)
}

fn some_or_all<T: Copy + Ord>(some: &[T], all: &[T]) -> Vec<T> {
    let mut chosen = if some.is_empty() { all.to_vec() } else { some.to_vec() };
    chosen.sort_unstable();
    chosen.dedup();
    chosen
}

/// Runs `work` on every item with `threads` threads; results in the order of the items.
fn in_parallel<T: Sync, R: Send>(threads: usize, items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Vec::with_capacity(items.len()));
    std::thread::scope(|scope| {
        for _ in 0..threads.clamp(1, items.len().max(1)) {
            scope.spawn(|| {
                while let Some((index, item)) =
                    Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|index| Some((index, items.get(index)?)))
                {
                    let result = work(item);
                    results.lock().unwrap_or_else(PoisonError::into_inner).push((index, result));
                }
            });
        }
    });
    let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.sort_unstable_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}

/// Renders, lowers, judges and writes one module.
fn make(options: &BuildOptions, templates: &Templates, draft: &Draft, plan: &Plan<'_>) -> Result<Module, Error> {
    let text = render(templates, plan.target, plan.world, &plan.kernels)?;
    let job = Job {
        module: plan.name(),
        triple: plan.target.triple.clone(),
        cpu: plan.target.cpu.clone(),
        features: plan.target.features.clone(),
        output: plan.target.family.output(),
        spirv_extensions: plan.target.family.spirv_extensions().map(str::to_owned),
        ir: text.ir.clone(),
    };
    let bytes = options.worker.lower(&job).map_err(|fault| explain(options, plan, &text, fault))?;
    let file = plan.file();
    let template = |kernel: &Kernel| templates.path(&algorithm_template(kernel));
    let passed = gate::judge(&file, &bytes, &plan.kernels, template).map_err(Error::Gate)?;
    draft.write(&file, &bytes)?;
    let kernels = plan.kernels.iter().zip(passed.resources).map(|(kernel, resources)| KernelEntry {
        symbol: kernel.symbol(),
        algorithm: kernel.algorithm,
        wire: kernel.wire,
        element: kernel.element,
        sum_order: kernel.algorithm.sum_order(),
        elements_per_packet: kernel.elements_per_packet(),
        arguments: kernel_arguments(kernel),
        max_threads_per_block: plan.target.limits.threads_per_block,
        resources,
        evidence: vec![Evidence::Verified],
    });
    Ok(Module {
        sha256: hex(&Sha256::digest(&bytes)),
        bytes: bytes.len() as u64,
        world: plan.world,
        format: passed.format,
        kernels: kernels.collect(),
        file,
    })
}

/// A worker's fault in the user's terms: the template's own line where LLVM named one, else the module, which is kept.
fn explain(options: &BuildOptions, plan: &Plan<'_>, text: &Text, fault: Fault) -> Error {
    let module = plan.name();
    let (message, line) = match fault {
        Fault::Faulty { message, line } => (message, line),
        Fault::Failed(message) => (message, None),
        Fault::Unreachable(message) => return Error::Lowering { module, message, kept: None },
    };
    // An assembler's complaint about inline asm quotes the instruction, as lowered, on its second line.
    let quoted = message.lines().nth(1).filter(|_| message.contains("<inline asm>"));
    let mnemonic = quoted.and_then(|asm| asm.split_whitespace().next());
    let place = line.and_then(|line| text.place(line)).or_else(|| text.find_asm(mnemonic?));
    match place {
        Some(place) => Error::Template { path: place.path.clone(), line: Some(place.line), module, message },
        None => {
            let kept = keep(&options.out, plan, &text.ir);
            let message = if kept.is_some() { message } else { format!("{message}; its IR could not be kept") };
            Error::Lowering { module, message, kept }
        }
    }
}

/// Keeps a module that LLVM could not lower beside the bundle: `<out>.failed/<target>-w<world>.ll`.
fn keep(out: &Path, plan: &Plan<'_>, ir: &str) -> Option<PathBuf> {
    let mut folder = out.as_os_str().to_owned();
    folder.push(".failed");
    let folder = PathBuf::from(folder);
    let path = folder.join(format!("{}-w{}.ll", plan.target.name, plan.world));
    std::fs::create_dir_all(&folder).and_then(|()| std::fs::write(&path, ir)).ok().map(|()| path)
}

fn target_entry(target: &Target, module: Module) -> TargetEntry {
    TargetEntry {
        name: target.name.clone(),
        family: target.family.word().to_owned(),
        processors: target.processors.clone(),
        target_sha256: target.sha256.clone(),
        lanes: target.lanes,
        spin_limit_unit: target.family.spin_limit_unit(),
        spin_limit_default: target.spin_limit_default,
        max_blocks_per_compute_unit: target.limits.blocks_per_compute_unit,
        modules: vec![module],
        dispatch: target.dispatch.clone(),
    }
}

fn write_manifest(draft: &Draft, manifest: &Manifest) -> Result<(), Error> {
    let mut text = serde_json::to_string_pretty(manifest).map_err(|cause| Error::output(Path::new(MANIFEST), cause))?;
    text.push('\n');
    draft.write(MANIFEST, text.as_bytes())
}

/// SHA-256 over names and texts, each with its length before it.
fn hash_of(files: &Files) -> String {
    let mut hash = Sha256::new();
    for (name, text) in files.iter() {
        for part in [name, text] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part.as_bytes());
        }
    }
    hex(&hash.finalize())
}

/// Findings of several modules become one list.
fn merge_gate(errors: Vec<Error>) -> Vec<Error> {
    let mut rejections: Vec<Rejection> = Vec::new();
    let mut others = Vec::new();
    for error in errors {
        match error {
            Error::Gate(more) => rejections.extend(more),
            other => others.push(other),
        }
    }
    if !rejections.is_empty() {
        others.push(Error::Gate(rejections));
    }
    others
}
