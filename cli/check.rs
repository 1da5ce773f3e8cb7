//! `xreduce check`: executes a bundle's kernels and compares what they leave with the kernel contract.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::ValueEnum;
use indicatif::{ProgressBar, ProgressStyle};
use xreduce_check::cuda::{Cuda, processes, soak};
use xreduce_check::{
    Backend, Bundle, Emulator, OpenCl, Progress, Report, Selection, Verdict, check_bundle, check_bundle_in_parallel,
    record,
};
use xreduce_emulate::amdgpu::Decoded;

/// The hidden subcommand that plays a rank of a check on a device.
pub(crate) const RANK: &str = "play-rank";
/// The hidden subcommand that plays a rank of a check on CUDA in a process of its own.
pub(crate) const CUDA_RANK: &str = "play-cuda-rank";

/// Executes kernels of a bundle, several ranks together, and checks sums, memory and workspaces.
///
/// What has passed is entered into the bundle's manifest.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Folder with a manifest.json
    #[arg(value_name = "BUNDLE")]
    bundle: PathBuf,
    /// Where to execute
    #[arg(long, value_name = "PLACE", value_enum, default_value_t = Place::Emulator)]
    on: Place,
    /// Only kernels whose SYMBOL or TARGET/SYMBOL matches
    #[arg(long, value_name = "GLOB")]
    kernel: Option<String>,
    /// Number of seeds: each draws a sequence of calls
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..))]
    seeds: u32,
    /// This seed alone, as a failure names it
    #[arg(long, value_name = "SEED", conflicts_with = "seeds")]
    seed: Option<u64>,
    /// On CUDA: this many calls of each kernel, with elements that are made once and results that are compared on
    /// the device
    #[arg(long, value_name = "N", conflicts_with = "seeds", value_parser = clap::value_parser!(u64).range(1..))]
    calls: Option<u64>,
    /// On CUDA: each rank a process that opens its peers' workspaces, 100 calls unless --calls says otherwise
    #[arg(long, conflicts_with = "seeds")]
    processes: bool,
    /// Form of the report on standard output
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// No progress bar, and in text only what did not pass
    #[arg(long)]
    quiet: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Place {
    /// The emulator, under its weak-memory adversary: AMD code objects
    Emulator,
    /// A device with an OpenCL driver that takes plain host pointers, such as a CPU: SPIR-V modules
    Opencl,
    /// NVIDIA GPUs: PTX modules. Ranks share one GPU if there are not enough that reach each other's memory
    Cuda,
}

/// What is done to each kernel.
enum Work {
    /// The plans of seeds, one after the other on a device.
    Plans(Box<dyn Backend>),
    /// The plans of seeds, on all processors.
    Emulation(Emulator),
    /// So many calls.
    Soak(Cuda, u64),
    /// So many calls, each rank a process.
    Processes(u64),
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Text,
    Json,
}

pub(crate) fn run(args: &Args) -> ExitCode {
    let selection = match args.seed {
        Some(seed) => Selection::new(args.kernel.as_deref(), seed, 1),
        None => Selection::new(args.kernel.as_deref(), 1, args.seeds),
    };
    let selection = match selection {
        Ok(selection) => selection,
        Err(error) => return unusable(&error),
    };
    let mut bundle = match Bundle::open(&args.bundle) {
        Ok(bundle) => bundle,
        Err(error) => return unusable(&error),
    };
    if (args.calls.is_some() || args.processes) && !matches!(args.on, Place::Cuda) {
        crate::complain(format_args!("--calls and --processes are for --on cuda"));
        return ExitCode::from(crate::USAGE);
    }
    let work = match args.on {
        Place::Emulator => Work::Emulation(Emulator::new(Box::new(decode))),
        Place::Opencl => Work::Plans(Box::new(OpenCl { rank_argument: RANK.to_owned() })),
        Place::Cuda => match (Cuda::open(), args.calls) {
            (Ok(_), calls) if args.processes => Work::Processes(calls.unwrap_or(100)),
            (Ok(cuda), Some(calls)) => Work::Soak(cuda, calls),
            (Ok(cuda), None) => Work::Plans(Box::new(cuda)),
            (Err(error), _) => {
                crate::complain(format_args!("{error}"));
                return ExitCode::from(crate::UNDECIDED);
            }
        },
    };
    let bar = bar(!args.quiet && std::io::stderr().is_terminal());
    let mut progress = |progress: Progress<'_>| {
        bar.set_length(progress.of);
        bar.set_position(progress.done);
        bar.set_message(progress.symbol.to_owned());
    };
    let report = match &work {
        Work::Plans(backend) => check_bundle(&bundle, backend.as_ref(), &selection, &mut progress),
        Work::Emulation(emulator) => check_bundle_in_parallel(&bundle, emulator, &selection, &mut progress),
        Work::Soak(cuda, calls) => soak(&bundle, cuda, &selection, *calls, &mut progress),
        Work::Processes(calls) => match processes(&bundle, CUDA_RANK, &selection, *calls, &mut progress) {
            Ok(report) => Ok(report),
            Err(error) => return unusable(&error),
        },
    };
    bar.finish_and_clear();
    let report = match report {
        Ok(report) => report,
        Err(error) => return unusable(&error),
    };
    record(&mut bundle.manifest, &report);
    if let Err(error) = bundle.save() {
        crate::complain(format_args!("the evidence is not in the manifest: {error}"));
    }
    print(&report, args);
    match report.verdict() {
        Verdict::Passed => ExitCode::SUCCESS,
        Verdict::Failed => ExitCode::from(crate::FAULT),
        Verdict::Undecided => ExitCode::from(crate::UNDECIDED),
    }
}

/// LLVM's disassembler, as the emulator wants it.
fn decode(processor: &str, code: &[u8]) -> Result<Vec<Decoded>, String> {
    let lines = xreduce_llvm::disassemble(processor, code)?;
    let decoded = |line: xreduce_llvm::Line| Decoded { offset: line.offset, length: line.length, text: line.text };
    Ok(lines.into_iter().map(decoded).collect())
}

fn print(report: &Report, args: &Args) {
    match args.format {
        Format::Json => match serde_json::to_string_pretty(report) {
            Ok(json) => crate::say(format_args!("{json}\n")),
            Err(error) => crate::complain(format_args!("{error}")),
        },
        Format::Text if args.quiet && report.verdict() == Verdict::Passed => {}
        Format::Text => crate::say(format_args!("{report}")),
    }
}

fn bar(visible: bool) -> ProgressBar {
    let bar = if visible { ProgressBar::new(0) } else { ProgressBar::hidden() };
    if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len}  {msg}") {
        bar.set_style(style);
    }
    bar
}

fn unusable(error: &dyn std::error::Error) -> ExitCode {
    crate::complain(format_args!("{error}"));
    ExitCode::from(crate::USAGE)
}
