//! `xreduce bundle`: a built bundle into a form that a release job takes as it is.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use xreduce_release::{Bundle, Circumstances, Error, Format, Options, pack, publish};

/// Packs a built bundle for release, with checksums, provenance and a bill of materials.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Bundle, as `xreduce build` wrote it
    #[arg(value_name = "BUNDLE", default_value = "out")]
    bundle: PathBuf,
    /// Form of the release
    #[arg(long, value_name = "FORMAT", value_parser = format_parser())]
    format: Format,
    /// Folder of the release; an earlier release there is replaced
    #[arg(long, value_name = "DIR", default_value = "release")]
    out: PathBuf,
    /// hip: compressed bundles (CCOB version 3), which older runtimes reject
    #[arg(long)]
    compress: bool,
    /// fatbin: NVIDIA's assembler, for machine code beside the PTX [default: the one on PATH, if any]
    #[arg(long, value_name = "FILE")]
    ptxas: Option<PathBuf>,
    /// fatbin: PTX alone, also where an assembler is found
    #[arg(long, conflicts_with = "ptxas")]
    no_ptxas: bool,
    /// Time that the documents give, in seconds since 1970
    #[arg(long, value_name = "SECONDS", env = "SOURCE_DATE_EPOCH", default_value_t = 0)]
    source_date_epoch: i64,
    /// Print nothing but errors
    #[arg(long)]
    quiet: bool,
}

fn format_parser() -> impl clap::builder::TypedValueParser<Value = Format> {
    let words = Format::ALL.iter().map(|format| format.word());
    PossibleValuesParser::new(words).try_map(|word| {
        Format::ALL.iter().copied().find(|format| format.word() == word).ok_or("no format of this name")
    })
}

pub(crate) fn run(args: &Args) -> ExitCode {
    match release(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            crate::complain(format_args!("{error}"));
            ExitCode::from(match error {
                Error::Bundle(_) | Error::Input { .. } | Error::Output { .. } | Error::Program { .. } => crate::USAGE,
                Error::Format { .. } | Error::Differs(_) => crate::FAULT,
            })
        }
    }
}

fn release(args: &Args) -> Result<(), Error> {
    let circumstances = Circumstances {
        epoch: args.source_date_epoch,
        // Set by `make dist`, which builds from a clean checkout; elsewhere not known.
        source_revision: option_env!("XREDUCE_SOURCE_REVISION").map(str::to_owned),
    };
    let ptxas = args.ptxas.clone().or_else(|| on_path("ptxas").filter(|_| !args.no_ptxas));
    let options = Options { compress: args.compress, ptxas, circumstances };
    let bundle = Bundle::read(&args.bundle)?;
    let contents = pack(&bundle, args.format, &options)?;
    publish(&contents, &args.out)?;
    if !args.quiet {
        for (name, bytes) in &contents {
            crate::say(format_args!("{:>10}  {}\n", bytes.len(), args.out.join(name).display()));
        }
    }
    Ok(())
}

fn on_path(program: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(program)).find(|path| path.is_file())
}
