//! The command `xreduce`: one file per subcommand, each parses, calls a crate and prints.
//!
//! Exit codes, the same for every subcommand: 0 all well; 1 the work found a fault; 2 wrong usage or an input that cannot be
//! opened; 3 could not be decided.

mod bench;
mod build;
mod bundle;
mod check;
mod documents;
mod inspect;
mod probe;
mod targets;
mod verify;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Generates, verifies and checks small-message allreduce kernels for AMD, NVIDIA and Intel GPUs.
#[derive(Parser)]
#[command(name = "xreduce", version, disable_help_subcommand = true, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Build(build::Args),
    Bundle(bundle::Args),
    Targets(targets::Args),
    Check(check::Args),
    Probe(probe::Args),
    Inspect(inspect::Args),
    Bench(bench::Args),
    Verify(verify::Args),
    /// Lowers one module from standard input to standard output: what `build` starts for each.
    #[command(hide = true, name = build::WORKER)]
    LowerModule,
    #[command(hide = true)]
    Documents(documents::Args),
    /// Plays one rank of a check on a device: what `check` starts for each.
    #[command(hide = true, name = check::RANK)]
    PlayRank,
    /// Plays one rank of a check on CUDA in a process of its own.
    #[command(hide = true, name = check::CUDA_RANK)]
    PlayCudaRank,
}

fn main() -> ExitCode {
    match Cli::parse().command {
        Command::Build(args) => build::run(&args),
        Command::Bundle(args) => bundle::run(&args),
        Command::Targets(args) => targets::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Probe(args) => probe::run(&args),
        Command::Inspect(args) => inspect::run(&args),
        Command::Bench(args) => bench::run(&args),
        Command::Verify(args) => verify::run(&args),
        Command::Documents(args) => documents::run(&args),
        Command::PlayRank => xreduce_launch::rank_main(),
        Command::PlayCudaRank => xreduce_check::cuda::rank_main(),
        Command::LowerModule => match xreduce_llvm::serve(std::io::stdin().lock(), std::io::stdout().lock()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(cause) => {
                complain(format_args!("{cause}"));
                ExitCode::from(USAGE)
            }
        },
    }
}

/// Writes to standard output. A reader that has gone ends the command as it ends others; a full disk is told.
fn say(text: std::fmt::Arguments<'_>) {
    use std::io::Write as _;
    let mut output = std::io::stdout().lock();
    if let Err(cause) = output.write_fmt(text).and_then(|()| output.flush()) {
        if cause.kind() != std::io::ErrorKind::BrokenPipe {
            complain(format_args!("standard output: {cause}"));
        }
        std::process::exit(i32::from(USAGE));
    }
}

/// Writes to standard error, if there is one.
fn complain(text: std::fmt::Arguments<'_>) {
    use std::io::Write as _;
    let _nobody_to_tell = writeln!(std::io::stderr().lock(), "xreduce: {text}");
}

/// A table without lines: two spaces between columns, none at either end.
fn plain(mut table: comfy_table::Table) -> String {
    table.load_style(comfy_table::presets::NOTHING);
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    table.trim_fmt()
}

/// Exit code: the work found a fault.
const FAULT: u8 = 1;
/// Exit code: wrong usage, or an input that cannot be opened.
const USAGE: u8 = 2;

/// Exit code: could not be decided.
const UNDECIDED: u8 = 3;

/// Prints each error and gives the exit code that fits them.
fn fail(errors: &[xreduce_codegen::Error]) -> ExitCode {
    use xreduce_codegen::Error;
    for error in errors {
        complain(format_args!("{error}"));
    }
    match errors {
        [Error::Interrupted] => ExitCode::from(130), // as a shell reports a program that Ctrl-C ended
        errors
            if errors
                .iter()
                .all(|error| matches!(error, Error::Input { .. } | Error::Choice(_) | Error::Output { .. })) =>
        {
            ExitCode::from(USAGE)
        }
        _ => ExitCode::from(FAULT),
    }
}
