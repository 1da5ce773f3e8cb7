//! `xreduce inspect`: what the kernels of a binary are made of.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::ValueEnum;
use globset::Glob;
use xreduce_inspect::{Line, Reader};

/// Says what the kernels of a GPU binary are made of: registers, memory, instructions, inner loops.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// File or folder: a bundle, one of its files, or anybody's binary
    #[arg(value_name = "PATH")]
    path: PathBuf,
    /// Only kernels whose NAME or TARGET/NAME matches
    #[arg(long, value_name = "GLOB")]
    kernel: Option<Glob>,
    /// Form of the report on standard output
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// In text, all that is known of each kernel instead of a line
    #[arg(long)]
    verbose: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    Text,
    Json,
}

pub(crate) fn run(args: &Args) -> ExitCode {
    let glob = args.kernel.as_ref().map(Glob::compile_matcher);
    let wanted = |target: &str, name: &str| {
        glob.as_ref().is_none_or(|glob| glob.is_match(name) || glob.is_match(format!("{target}/{name}")))
    };
    let report = match (Reader { disassemble: &disassemble, wanted: &wanted }).path(&args.path) {
        Ok(report) => report,
        Err(error) => {
            crate::complain(format_args!("{error}"));
            return ExitCode::from(crate::USAGE);
        }
    };
    match args.format {
        Format::Json => match serde_json::to_string_pretty(&report) {
            Ok(json) => crate::say(format_args!("{json}\n")),
            Err(error) => crate::complain(format_args!("{error}")),
        },
        Format::Text if args.verbose => crate::say(format_args!("{}", xreduce_inspect::verbose(&report))),
        Format::Text => crate::say(format_args!("{}", xreduce_inspect::table(&report))),
    }
    for fault in &report.faults {
        crate::complain(format_args!("{}: {}", fault.path, fault.message));
    }
    if report.images.is_empty() {
        let what = if args.kernel.is_some() { "no kernel matches" } else { "no kernels" };
        crate::complain(format_args!("{}: {what}", report.name));
    }
    if report.is_whole() { ExitCode::SUCCESS } else { ExitCode::from(crate::UNDECIDED) }
}

/// LLVM's disassembler, as the reader wants it.
fn disassemble(processor: &str, code: &[u8]) -> Result<Vec<Line>, String> {
    let lines = xreduce_llvm::disassemble(processor, code)?;
    let line = |line: xreduce_llvm::Line| Line { offset: line.offset, length: line.length, text: line.text };
    Ok(lines.into_iter().map(line).collect())
}
