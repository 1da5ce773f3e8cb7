//! Checks the kernels of a bundle that a caller selects, seed by seed.

use std::sync::{Mutex, PoisonError};

use globset::{Glob, GlobMatcher};
use rayon::prelude::*;
use xreduce_contract::Kernel;
use xreduce_contract::manifest::{Evidence, Manifest, Module, TargetEntry};

use crate::backend::{Backend, ModuleBytes, Session};
use crate::bundle::{Bundle, BundleError};
use crate::emulator::Emulator;
use crate::plan::{Callable, Plan};
use crate::report::{KernelReport, Outcome, Report};
use crate::run::{Stop, run};

/// Which kernels and seeds.
#[derive(Debug, Clone)]
pub struct Selection {
    kernels: Option<GlobMatcher>,
    first_seed: u64,
    seeds: u32,
}

/// How far a check has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress<'a> {
    /// The kernel whose plan has just ended.
    pub symbol: &'a str,
    /// Plans that have ended or that will not run any more.
    pub done: u64,
    /// All plans.
    pub of: u64,
}

impl Selection {
    /// Kernels whose `symbol` or `target/symbol` matches `glob` (none: all), and `seeds` seeds from
    /// `first_seed` on.
    ///
    /// # Errors
    /// A glob that is none.
    pub fn new(glob: Option<&str>, first_seed: u64, seeds: u32) -> Result<Self, globset::Error> {
        let kernels = glob.map(|glob| Glob::new(glob).map(|glob| glob.compile_matcher())).transpose()?;
        Ok(Self { kernels, first_seed, seeds })
    }

    /// The first seed.
    #[must_use]
    pub fn first_seed(&self) -> u64 {
        self.first_seed
    }

    /// Whether this kernel is among them.
    #[must_use]
    pub fn wants(&self, target: &str, symbol: &str) -> bool {
        self.kernels.as_ref().is_none_or(|glob| glob.is_match(symbol) || glob.is_match(format!("{target}/{symbol}")))
    }
}

/// Checks the selected kernels of a bundle one after the other, as far as the backend runs their modules.
///
/// # Errors
/// [`BundleError`] if a module cannot be read. What a kernel or the backend does wrong is in the report.
pub fn check_bundle(
    bundle: &Bundle,
    backend: &dyn Backend,
    selection: &Selection,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Report, BundleError> {
    let (jobs, not_run_here) = jobs(bundle, backend, selection);
    let progress = Steps::new(&jobs, selection, progress);
    let mut worker = Worker::new(bundle, backend);
    let kernels = jobs.iter().map(|job| worker.check(job, selection, &progress)).collect::<Result<_, _>>()?;
    Ok(Report { backend: backend.name(), kernels, not_run_here })
}

/// As [`check_bundle`], with a session on every thread of rayon's pool. The report is the same.
///
/// # Errors
/// As [`check_bundle`].
pub fn check_bundle_in_parallel(
    bundle: &Bundle,
    backend: &(dyn Backend + Sync),
    selection: &Selection,
    progress: &mut (dyn FnMut(Progress<'_>) + Send),
) -> Result<Report, BundleError> {
    let (jobs, not_run_here) = jobs(bundle, backend, selection);
    let progress = Steps::new(&jobs, selection, progress);
    // Kernels of a module stand together, so that most workers load it once.
    let kernels = jobs
        .par_iter()
        .map_init(|| Worker::new(bundle, backend), |worker, job| worker.check(job, selection, &progress))
        .collect::<Result<_, _>>()?;
    Ok(Report { backend: backend.name(), kernels, not_run_here })
}

/// A kernel to be checked.
struct Job<'a> {
    target: &'a TargetEntry,
    module: &'a Module,
    focus: Callable,
}

/// The selected kernels that run on this backend, and the number of those that do not.
fn jobs<'a>(bundle: &'a Bundle, backend: &dyn Backend, selection: &Selection) -> (Vec<Job<'a>>, usize) {
    let (mut jobs, mut not_run_here) = (Vec::new(), 0);
    for target in &bundle.manifest.targets {
        for module in &target.modules {
            let wanted = callables(target, module)
                .into_iter()
                .filter(|callable| selection.wants(&target.name, &callable.kernel.symbol()));
            if backend.runs(&module.format) {
                jobs.extend(wanted.map(|focus| Job { target, module, focus }));
            } else {
                not_run_here += wanted.count();
            }
        }
    }
    (jobs, not_run_here)
}

/// Counts the plans of all workers.
struct Steps<P> {
    /// Plans done, and who is told.
    told: Mutex<(u64, P)>,
    of: u64,
}

impl<P: FnMut(Progress<'_>)> Steps<P> {
    fn new(jobs: &[Job<'_>], selection: &Selection, told: P) -> Self {
        Self { told: Mutex::new((0, told)), of: jobs.len() as u64 * u64::from(selection.seeds) }
    }

    fn done(&self, symbol: &str, plans: u32) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        told.0 += u64::from(plans);
        let done = told.0;
        (told.1)(Progress { symbol, done, of: self.of });
    }
}

/// Checks kernel after kernel, and keeps the module of the last one loaded.
struct Worker<'a> {
    bundle: &'a Bundle,
    backend: &'a dyn Backend,
    loaded: Option<Loaded<'a>>,
}

/// A module and, while it is fit for use, its session.
struct Loaded<'a> {
    target: &'a TargetEntry,
    module: &'a Module,
    bytes: Vec<u8>,
    /// All its kernels: those that a plan may mix.
    all: Vec<Callable>,
    session: Option<Box<dyn Session>>,
}

impl<'a> Worker<'a> {
    fn new(bundle: &'a Bundle, backend: &'a dyn Backend) -> Self {
        Self { bundle, backend, loaded: None }
    }

    fn check<P: FnMut(Progress<'_>)>(
        &mut self,
        job: &Job<'a>,
        selection: &Selection,
        steps: &Steps<P>,
    ) -> Result<KernelReport, BundleError> {
        let (target, module) = (job.target, job.module);
        let loaded = match self.loaded.take() {
            Some(loaded) if std::ptr::eq(loaded.module, module) => self.loaded.insert(loaded),
            _ => {
                let bytes = self.bundle.module(module)?;
                self.loaded.insert(Loaded { target, module, bytes, all: callables(target, module), session: None })
            }
        };
        let symbol = job.focus.kernel.symbol();
        let mut kernel = KernelReport::new(&target.name, &symbol);
        for seed in (selection.first_seed..).take(selection.seeds as usize) {
            match loaded.seed(self.backend, seed, job.focus) {
                Ok((device, right)) => {
                    kernel.device = device;
                    kernel.seeds += 1;
                    kernel.calls += right.iter().filter(|other| **other == job.focus.kernel).count() as u64;
                    steps.done(&symbol, 1);
                }
                Err(Stop::Backend(error)) => {
                    kernel.outcome = Outcome::Undecided { reason: error.message };
                    break;
                }
                Err(Stop::Fault(fault)) => {
                    let folder = self.bundle.folder.display();
                    let replay = format!(
                        "xreduce check {folder} --on {} --kernel {}/{symbol} --seed {seed}",
                        self.backend.name(),
                        target.name,
                    );
                    kernel.outcome = Outcome::Failed { seed, fault, replay };
                    break;
                }
            }
        }
        if kernel.seeds < selection.seeds {
            steps.done(&symbol, selection.seeds - kernel.seeds);
        }
        Ok(kernel)
    }
}

impl Loaded<'_> {
    /// Runs one plan; gives the device and the kernels of the calls that were right.
    fn seed(&mut self, backend: &dyn Backend, seed: u64, focus: Callable) -> Result<(String, Vec<Kernel>), Stop> {
        let mut session = match self.session.take() {
            Some(session) => session,
            None => backend
                .open(&ModuleBytes {
                    name: &self.module.file,
                    processors: &self.target.processors,
                    bytes: &self.bytes,
                    world: self.module.world,
                })
                .map_err(Stop::Backend)?,
        };
        let plan = Plan::draw(seed, focus, &self.all, &session.limits());
        let right = run(session.as_mut(), &plan, focus)?;
        let device = session.device();
        // Not after a fault: what a broken kernel leaves is nobody's starting point.
        self.session = Some(session);
        Ok((device, right))
    }
}

/// Enters what has passed into the manifest: of the emulator, the most seeds; of each device, the
/// longest run of right calls.
pub fn record(manifest: &mut Manifest, report: &Report) {
    for target in &mut manifest.targets {
        let name = &target.name;
        for kernel in target.modules.iter_mut().flat_map(|module| &mut module.kernels) {
            let Some(passed) = report.kernels.iter().find(|passed| {
                passed.outcome == Outcome::Passed && passed.target == *name && passed.symbol == kernel.symbol
            }) else {
                continue;
            };
            if report.backend == Emulator::NAME {
                let most = kernel.evidence.iter().filter_map(|evidence| match evidence {
                    Evidence::Emulated { seeds } => Some(*seeds),
                    _ => None,
                });
                let seeds = most.max().unwrap_or(0).max(passed.seeds);
                kernel.evidence.retain(|evidence| !matches!(evidence, Evidence::Emulated { .. }));
                kernel.evidence.push(Evidence::Emulated { seeds });
                continue;
            }
            let known = kernel.evidence.iter_mut().find_map(|evidence| match evidence {
                Evidence::Run { device, calls } if *device == passed.device => Some(calls),
                _ => None,
            });
            match known {
                Some(calls) => *calls = passed.calls.max(*calls),
                None => kernel.evidence.push(Evidence::Run { device: passed.device.clone(), calls: passed.calls }),
            }
        }
    }
}

pub(crate) fn callables(target: &TargetEntry, module: &Module) -> Vec<Callable> {
    let callable = |entry: &xreduce_contract::manifest::KernelEntry| Callable {
        kernel: entry.kernel(module.world),
        max_threads: entry.max_threads_per_block,
        lanes: target.lanes,
    };
    module.kernels.iter().map(callable).collect()
}
