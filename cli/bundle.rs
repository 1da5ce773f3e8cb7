//! `xreduce bundle`: a built bundle into a form that a release job takes as it is; shards merged; a bundle built again.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use xreduce_release::{Bundle, Circumstances, Error, Format, Options, Rebuild, merge, pack, publish};

/// Packs a built bundle for release, with checksums, provenance and a bill of materials.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Bundle, as `xreduce build` wrote it
    #[arg(value_name = "BUNDLE", default_value = "out")]
    bundle: PathBuf,
    /// Form of the release
    #[arg(long, value_name = "FORMAT", value_parser = format_parser(), required_unless_present_any = ["merge", "rebuild_check"])]
    format: Option<Format>,
    /// Folder of the release, or of the merged bundle; an earlier one there is replaced
    #[arg(long, value_name = "DIR", default_value = "release")]
    out: PathBuf,
    /// Make one bundle of all shards of a build
    #[arg(long, value_name = "SHARD", num_args = 1.., conflicts_with_all = ["format", "rebuild_check", "bundle"])]
    merge: Vec<PathBuf>,
    /// Build the bundle again from its provenance and compare every byte
    #[arg(long, conflicts_with = "format")]
    rebuild_check: bool,
    /// rebuild-check: folder of templates in place of the built-in ones
    #[arg(long, value_name = "DIR", requires = "rebuild_check")]
    templates: Option<PathBuf>,
    /// rebuild-check: folder of target files in place of the built-in ones
    #[arg(long, value_name = "DIR", requires = "rebuild_check")]
    targets: Option<PathBuf>,
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
    let done = match args.format {
        Some(format) => release(args, format),
        None if args.rebuild_check => rebuild(args),
        None => merged(args),
    };
    match done {
        Ok(said) => {
            if !args.quiet {
                crate::say(format_args!("{said}"));
            }
            ExitCode::SUCCESS
        }
        Err(error) => {
            crate::complain(format_args!("{error}"));
            ExitCode::from(match error {
                Error::Bundle(_) | Error::Input { .. } | Error::Output { .. } | Error::Program { .. } => crate::USAGE,
                Error::Format { .. } | Error::Differs(_) => crate::FAULT,
            })
        }
    }
}

fn release(args: &Args, format: Format) -> Result<String, Error> {
    let circumstances = Circumstances {
        epoch: args.source_date_epoch,
        // Set by `make dist`, which builds from a clean checkout; elsewhere not known.
        source_revision: option_env!("XREDUCE_SOURCE_REVISION")
            .filter(|revision| !revision.is_empty())
            .map(str::to_owned),
    };
    let ptxas = args.ptxas.clone().or_else(|| on_path("ptxas").filter(|_| !args.no_ptxas));
    let options = Options { compress: args.compress, ptxas, circumstances };
    let contents = pack(&Bundle::read(&args.bundle)?, format, &options)?;
    publish(&contents, &args.out)?;
    let lines =
        contents.iter().map(|(name, bytes)| format!("{:>10}  {}\n", bytes.len(), args.out.join(name).display()));
    Ok(lines.collect())
}

fn merged(args: &Args) -> Result<String, Error> {
    let manifest = merge(&args.merge, &args.out)?;
    let modules: usize = manifest.targets.iter().map(|target| target.modules.len()).sum();
    Ok(format!("{modules} modules of {} shards: {}\n", args.merge.len(), args.out.join("manifest.json").display()))
}

fn rebuild(args: &Args) -> Result<String, Error> {
    let program = std::env::current_exe()
        .map_err(|cause| Error::Differs(format!("this program's own path is not known: {cause}")))?;
    let folders = [("--templates", &args.templates), ("--targets", &args.targets)];
    let given = folders.into_iter().filter_map(|(option, folder)| Some((option, folder.as_ref()?)));
    let arguments = given.flat_map(|(option, folder)| [option.to_owned(), folder.display().to_string()]).collect();
    let equal = Rebuild { program, arguments }.check(&args.bundle)?;
    Ok(format!("{}: rebuilt, {equal} modules and the manifest are equal\n", args.bundle.display()))
}

fn on_path(program: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(program)).find(|path| path.is_file())
}
