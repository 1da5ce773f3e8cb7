//! The outcome of a check, kernel by kernel, as data and as text.

use std::fmt;

use serde::Serialize;

use crate::fault::Fault;

/// Everything that one check did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Where the kernels ran, e.g. `opencl`.
    pub backend: &'static str,
    /// The kernels asked for that this backend runs, in the manifest's order.
    pub kernels: Vec<KernelReport>,
    /// Kernels asked for that this backend does not run.
    pub not_run_here: usize,
}

/// The outcome for one kernel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct KernelReport {
    /// Its target.
    pub target: String,
    /// Its symbol.
    pub symbol: String,
    /// The device, as far as one was opened.
    pub device: String,
    /// Seeds that passed.
    pub seeds: u32,
    /// Right calls of this kernel in them.
    pub calls: u64,
    /// What came of it.
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// What came of a kernel's check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    /// All seeds passed.
    Passed,
    /// A seed failed; later seeds were not tried.
    Failed {
        /// The first failing seed.
        seed: u64,
        /// What was wrong.
        fault: Box<Fault>,
        /// The command that shows it again.
        replay: String,
    },
    /// Nothing can be said: the backend could not run it.
    Undecided {
        /// Why.
        reason: String,
    },
}

/// The verdict over all kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// At least one kernel ran, and all passed.
    Passed,
    /// At least one kernel failed.
    Failed,
    /// None failed, and one could not be decided or there was none.
    Undecided,
}

impl KernelReport {
    /// Of a kernel that nothing has been run of yet, and nothing is wrong with.
    pub(crate) fn new(target: &str, symbol: &str) -> Self {
        let (target, symbol, device) = (target.to_owned(), symbol.to_owned(), String::new());
        Self { target, symbol, device, seeds: 0, calls: 0, outcome: Outcome::Passed }
    }
}

impl Report {
    /// The verdict over all kernels. A fault counts more than what could not be decided.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        let any = |wanted: fn(&Outcome) -> bool| self.kernels.iter().any(|kernel| wanted(&kernel.outcome));
        if any(|outcome| matches!(outcome, Outcome::Failed { .. })) {
            Verdict::Failed
        } else if self.kernels.is_empty() || any(|outcome| matches!(outcome, Outcome::Undecided { .. })) {
            Verdict::Undecided
        } else {
            Verdict::Passed
        }
    }
}

/// So many kernels that passed get a line each; of more, each target gets one.
const LINES: usize = 24;

impl Report {
    /// A line for each target: how many of its kernels passed, and with how many calls.
    fn write_targets(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let targets = self.kernels.chunk_by(|one, other| one.target == other.target);
        for kernels in targets {
            let passed = || kernels.iter().filter(|kernel| kernel.outcome == Outcome::Passed);
            let (Some(first), calls) = (passed().next(), passed().map(|kernel| kernel.calls).sum::<u64>()) else {
                continue;
            };
            let (count, seeds) = (passed().count(), first.seeds);
            writeln!(f, "ok         {:<14} {count} kernels, {seeds} seeds each, {calls} calls", first.target)?;
        }
        Ok(())
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut passed = 0;
        let condensed = self.kernels.iter().filter(|kernel| kernel.outcome == Outcome::Passed).count() > LINES;
        if condensed {
            self.write_targets(f)?;
        }
        for kernel in &self.kernels {
            let KernelReport { target, symbol, seeds, calls, .. } = kernel;
            match &kernel.outcome {
                Outcome::Passed => {
                    passed += 1;
                    if condensed {
                        continue;
                    }
                    writeln!(f, "ok         {target}/{symbol}  {seeds} seeds, {calls} calls")?;
                }
                Outcome::Failed { seed, fault, replay } => {
                    writeln!(f, "FAILED     {target}/{symbol}  seed {seed}, after {seeds} right ones")?;
                    writeln!(f, "           {fault}")?;
                    writeln!(f, "           again: {replay}")?;
                }
                Outcome::Undecided { reason } => {
                    writeln!(f, "undecided  {target}/{symbol}  {reason}")?;
                }
            }
        }
        let mut devices: Vec<&str> =
            self.kernels.iter().map(|kernel| kernel.device.as_str()).filter(|device| !device.is_empty()).collect();
        devices.sort_unstable();
        devices.dedup();
        write!(f, "{passed} of {} kernels passed on {}", self.kernels.len(), self.backend)?;
        if !devices.is_empty() {
            write!(f, ", {}", devices.join(", "))?;
        }
        if self.not_run_here > 0 {
            write!(f, "; {} kernels of other formats not run", self.not_run_here)?;
        }
        writeln!(f)
    }
}
