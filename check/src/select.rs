//! Checks the kernels of a bundle that a caller selects, seed by seed.

use globset::{Glob, GlobMatcher};
use xreduce_contract::Kernel;
use xreduce_contract::manifest::{Evidence, Manifest, Module, TargetEntry};

use crate::backend::{Backend, BackendError, ModuleBytes, Session};
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

/// Checks the selected kernels of a bundle, as far as the backend runs their modules.
///
/// # Errors
/// [`BundleError`] if a module cannot be read. What a kernel or the backend does wrong is in the report.
pub fn check_bundle(
    bundle: &Bundle,
    backend: &dyn Backend,
    selection: &Selection,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Report, BundleError> {
    let mut report = Report { backend: backend.name(), kernels: Vec::new(), not_run_here: 0 };
    let mut chosen = Vec::new();
    for target in &bundle.manifest.targets {
        for module in &target.modules {
            let wanted: Vec<Callable> = callables(target, module)
                .into_iter()
                .filter(|callable| selection.wants(&target.name, &callable.kernel.symbol()))
                .collect();
            if backend.runs(&module.format) {
                chosen.push((target, module, wanted));
            } else {
                report.not_run_here += wanted.len();
            }
        }
    }
    let kernels: usize = chosen.iter().map(|(_, _, wanted)| wanted.len()).sum();
    let of = kernels as u64 * u64::from(selection.seeds);
    let mut done = 0;
    for (target, module, wanted) in chosen {
        if wanted.is_empty() {
            continue;
        }
        let bytes = bundle.module(module)?;
        let all = callables(target, module);
        let mut runner = Runner {
            backend,
            module: ModuleBytes {
                name: &module.file,
                processors: &target.processors,
                bytes: &bytes,
                world: module.world,
            },
            session: None,
        };
        for focus in wanted {
            let symbol = focus.kernel.symbol();
            let mut kernel = KernelReport::new(&target.name, &symbol);
            for seed in (selection.first_seed..).take(selection.seeds as usize) {
                match runner.seed(seed, focus, &all) {
                    Ok((device, right)) => {
                        kernel.device = device;
                        kernel.seeds += 1;
                        kernel.calls += right.iter().filter(|other| **other == focus.kernel).count() as u64;
                    }
                    Err(Stop::Backend(error)) => {
                        kernel.outcome = Outcome::Undecided { reason: error.message };
                        break;
                    }
                    Err(Stop::Fault(fault)) => {
                        let folder = bundle.folder.display();
                        let replay = format!(
                            "xreduce check {folder} --on {} --kernel {}/{symbol} --seed {seed}",
                            backend.name(),
                            target.name,
                        );
                        kernel.outcome = Outcome::Failed { seed, fault, replay };
                        break;
                    }
                }
                progress(Progress { symbol: &symbol, done: done + u64::from(kernel.seeds), of });
            }
            done += u64::from(selection.seeds);
            progress(Progress { symbol: &symbol, done, of });
            report.kernels.push(kernel);
        }
    }
    Ok(report)
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

/// A module and, while it is fit for use, its session.
struct Runner<'a> {
    backend: &'a dyn Backend,
    module: ModuleBytes<'a>,
    session: Option<Box<dyn Session>>,
}

impl Runner<'_> {
    /// Runs one plan; gives the device and the kernels of the calls that were right.
    fn seed(&mut self, seed: u64, focus: Callable, all: &[Callable]) -> Result<(String, Vec<Kernel>), Stop> {
        let mut session = match self.session.take() {
            Some(session) => session,
            None => self.backend.open(&self.module).map_err(|error: BackendError| Stop::Backend(error))?,
        };
        let plan = Plan::draw(seed, focus, all, &session.limits());
        let right = run(session.as_mut(), &plan, focus)?;
        let device = session.device();
        // Not after a fault: what a broken kernel leaves is nobody's starting point.
        self.session = Some(session);
        Ok((device, right))
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
