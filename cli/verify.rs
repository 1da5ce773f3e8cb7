//! `xreduce verify`: one verdict on any shipped GPU binary.

use std::collections::BTreeSet;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use indicatif::{ProgressBar, ProgressStyle};
use xreduce_verify::report::{self, Judged};
use xreduce_verify::{Config, Detail, Limits, Options, Profile, Scan, Verdict, check};

/// Inspects shipped GPU binaries for what keeps their kernels from launching.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Files or folders; `-` is standard input
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Form of the report on standard output
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Targets that each input must serve, for example gfx1100,sm_90
    #[arg(long, value_delimiter = ',', value_name = "TARGET")]
    require: Vec<String>,
    /// Highest AMDGPU code object version that the loaders of users know
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(3..=6))]
    max_code_object_version: Option<u8>,
    /// An input without device code is meant to be so
    #[arg(long)]
    allow_empty: bool,
    /// What is raised to an error
    #[arg(long, value_enum, value_name = "WHAT")]
    deny: Option<Deny>,
    /// File of host symbols, one a line, that each input must export
    #[arg(long, value_name = "FILE")]
    require_symbols: Option<PathBuf>,
    /// Severities and ignores (TOML)
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Every rule on, as an error: what `build` demands of its own artifacts
    #[arg(long)]
    strict: bool,
    /// No progress bar
    #[arg(long)]
    quiet: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    Text,
    Json,
    Sarif,
    Junit,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Deny {
    Warnings,
}

/// Exit code: 0 clean, 1 findings, 2 an input that cannot be opened, 3 undetermined.
pub(crate) fn run(args: &Args) -> ExitCode {
    match judge(args) {
        Ok(verdict) => ExitCode::from(match verdict {
            Verdict::Clean => 0,
            Verdict::Findings => 1,
            Verdict::Undetermined => 3,
        }),
        Err(message) => {
            crate::complain(format_args!("{message}"));
            ExitCode::from(2)
        }
    }
}

fn judge(args: &Args) -> Result<Verdict, String> {
    let options = options(args)?;
    let bar = bar(args)?;
    let mut inputs = Vec::new();
    for path in &args.paths {
        let scan = Scan {
            limits: Limits::default(),
            // Only the JSON report shows arguments.
            detail: if args.format == Format::Json { Detail::Full } else { Detail::Summary },
            symbols: &options.require_symbols,
            progress: &|bytes| bar.inc(bytes),
        };
        let inspection = scan.path(path).map_err(|error| error.to_string())?;
        let report = check(&inspection, &options);
        inputs.push(Judged { inspection, report });
    }
    bar.finish_and_clear();
    let text = match args.format {
        Format::Text => report::text(&inputs),
        Format::Json => report::json(&inputs).map_err(|error| error.to_string())? + "\n",
        Format::Sarif => format!("{:#}\n", report::sarif(&inputs)),
        Format::Junit => report::junit(&inputs),
    };
    // A reader that closed the pipe early has what it wanted.
    match std::io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error.to_string()),
        _ => Ok(report::verdict(&inputs)),
    }
}

fn options(args: &Args) -> Result<Options, String> {
    let config = match &args.config {
        Some(path) => Config::read(path).map_err(|error| error.to_string())?,
        None => Config::default(),
    };
    Ok(Options {
        profile: if args.strict { Profile::Strict } else { Profile::Shipped },
        config,
        require: args.require.clone(),
        max_code_object_version: args.max_code_object_version,
        allow_empty: args.allow_empty,
        deny_warnings: args.deny == Some(Deny::Warnings),
        require_symbols: args.require_symbols.as_deref().map_or(Ok(BTreeSet::new()), symbols)?,
    })
}

/// One name a line; blank lines and `#` comments count for nothing.
fn symbols(path: &Path) -> Result<BTreeSet<String>, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let names = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    Ok(names.map(str::to_owned).collect())
}

/// A bar over the bytes of all files, on a terminal.
fn bar(args: &Args) -> Result<ProgressBar, String> {
    if args.quiet || !std::io::stderr().is_terminal() {
        return Ok(ProgressBar::hidden());
    }
    let mut total = 0;
    for path in args.paths.iter().filter(|path| path.as_os_str() != "-") {
        total += xreduce_verify::size(path).map_err(|error| error.to_string())?;
    }
    let style = ProgressStyle::with_template("{bar:40} {bytes} of {total_bytes}, {elapsed}");
    Ok(ProgressBar::new(total).with_style(style.map_err(|error| error.to_string())?))
}
