//! `xreduce bench`: times a bundle's kernels on NVIDIA GPUs, beside those of other libraries.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::ValueEnum;
use indicatif::{ProgressBar, ProgressStyle};
use xreduce_bench::{Error, Options, Progress, Report, bench, rivals, write_dispatch};
use xreduce_check::cuda::Cuda;
use xreduce_check::{Bundle, Selection};
use xreduce_contract::{Element, World};

/// Times kernels of a bundle: microseconds per call for messages of 1 KiB to 4 MiB, results checked.
///
/// Ranks share one GPU if there are not enough that reach each other's memory.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Folder with a manifest.json
    #[arg(value_name = "BUNDLE")]
    bundle: PathBuf,
    /// Where to execute
    #[arg(long, value_name = "PLACE", value_enum, default_value_t = Place::Cuda)]
    on: Place,
    /// Only kernels whose SYMBOL or TARGET/SYMBOL matches
    #[arg(long, value_name = "GLOB")]
    kernel: Option<String>,
    /// Ranks
    #[arg(long, value_name = "N", default_value = "2")]
    world: World,
    /// Replays of each graph of calls that the medians are over
    #[arg(long, value_name = "N", default_value_t = 11, value_parser = clap::value_parser!(u16).range(1..))]
    replays: u16,
    /// Also time NCCL and PyTorch's symmetric memory, with a Python interpreter that has them
    #[arg(long, value_name = "PYTHON")]
    rivals: Option<PathBuf>,
    /// With --rivals: also time the kernels that this project began with
    #[arg(long, value_name = "PTX", requires = "rivals")]
    prototype: Option<PathBuf>,
    /// Enter the quickest kernels for f32 into the manifest's dispatch rows
    #[arg(long)]
    write_dispatch: bool,
    /// Also write a plot of latency against size
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Form of the report on standard output
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// No progress bar
    #[arg(long)]
    quiet: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Place {
    /// NVIDIA GPUs: PTX modules
    Cuda,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    Text,
    Json,
}

/// The smallest and the largest message, bytes.
const BYTES: (u64, u64) = (1 << 10, 4 << 20);

pub(crate) fn run(args: &Args) -> ExitCode {
    let Place::Cuda = args.on;
    let selection = match Selection::new(args.kernel.as_deref(), 1, 1) {
        Ok(selection) => selection,
        Err(error) => return end(&error, crate::USAGE),
    };
    let mut bundle = match Bundle::open(&args.bundle) {
        Ok(bundle) => bundle,
        Err(error) => return end(&error, crate::USAGE),
    };
    let report = match measure(args, &bundle, selection) {
        Ok(report) => report,
        Err(error) => {
            let code = match error {
                Error::Bundle(_) => crate::USAGE,
                Error::Wrong(_) => crate::FAULT,
                _ => crate::UNDECIDED,
            };
            return end(&error, code);
        }
    };
    match args.format {
        Format::Json => match serde_json::to_string_pretty(&report) {
            Ok(json) => crate::say(format_args!("{json}\n")),
            Err(error) => return end(&error, crate::UNDECIDED),
        },
        Format::Text => crate::say(format_args!("{report}")),
    }
    if let Some(path) = &args.svg
        && let Err(error) = std::fs::write(path, report.svg())
    {
        return end(&format_args!("{}: {error}", path.display()), crate::USAGE);
    }
    if args.write_dispatch {
        if let Err(error) = write_dispatch(&mut bundle.manifest, &report, Element::F32) {
            return end(&error, crate::UNDECIDED);
        }
        if let Err(error) = bundle.save() {
            return end(&error, crate::USAGE);
        }
    }
    ExitCode::SUCCESS
}

fn measure(args: &Args, bundle: &Bundle, selection: Selection) -> Result<Report, Error> {
    let cuda = Cuda::open()?;
    let bar = bar(!args.quiet && std::io::stderr().is_terminal());
    let mut progress = |progress: Progress<'_>| {
        bar.set_length(progress.of as u64);
        bar.set_position(progress.done as u64);
        bar.set_message(progress.symbol.to_owned());
    };
    let options = Options { selection, world: args.world, replays: args.replays.into(), bytes: BYTES };
    let report = bench(bundle, &cuda, &options, &mut progress);
    bar.finish_and_clear();
    let mut report = report?;
    if let Some(python) = &args.rivals {
        rivals::add(&mut report, python, args.prototype.as_deref().map(Path::new))?;
    }
    Ok(report)
}

fn bar(visible: bool) -> ProgressBar {
    let bar = if visible { ProgressBar::new(0) } else { ProgressBar::hidden() };
    if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} kernels  {msg}") {
        bar.set_style(style);
    }
    bar
}

fn end(error: &dyn std::fmt::Display, code: u8) -> ExitCode {
    crate::complain(format_args!("{error}"));
    ExitCode::from(code)
}
