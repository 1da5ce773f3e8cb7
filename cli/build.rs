//! `xreduce build`: kernels for the chosen targets into a bundle.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::builder::PossibleValuesParser;
use clap::builder::TypedValueParser as _;
use comfy_table::{CellAlignment, Table};
use indicatif::{ProgressBar, ProgressStyle};
use xreduce_codegen::worker::Worker;
use xreduce_codegen::{BuildOptions, Files, Progress, Summary};
use xreduce_contract::{Algorithm, Element, World};

/// The hidden subcommand that lowers one module.
pub(crate) const WORKER: &str = "lower-module";

/// Builds a bundle of kernels: modules, verified, and a manifest that describes them.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// GPU target, e.g. gfx1100; may be repeated [default: all]
    #[arg(long = "target", value_name = "TARGET")]
    targets: Vec<String>,
    /// Algorithm; may be repeated [default: all]
    #[arg(long = "algorithm", value_name = "ALGORITHM", value_parser = words::<Algorithm>(Algorithm::WORDS))]
    algorithms: Vec<Algorithm>,
    /// Element type; may be repeated [default: all]
    #[arg(long = "element", value_name = "ELEMENT", value_parser = words::<Element>(Element::WORDS))]
    elements: Vec<Element>,
    /// Number of ranks; may be repeated [default: all]
    #[arg(long = "world", value_name = "RANKS")]
    worlds: Vec<World>,
    /// Make only this part of the modules, e.g. 1/3 on the first of three machines; `xreduce bundle --merge` puts parts together
    #[arg(long, value_name = "I/N", value_parser = shard)]
    shard: Option<(u32, u32)>,
    /// Folder of the bundle; an earlier bundle there is replaced in one step
    #[arg(long, value_name = "DIR", default_value = "out")]
    out: PathBuf,
    /// Folder of target files in place of the built-in ones
    #[arg(long = "targets", value_name = "DIR")]
    target_files: Option<PathBuf>,
    /// Folder of templates in place of the built-in ones
    #[arg(long, value_name = "DIR")]
    templates: Option<PathBuf>,
    /// Modules made at the same time [default: one per processor]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
    /// Print nothing but errors
    #[arg(long)]
    quiet: bool,
}

fn words<T>(known: &'static [&'static str]) -> impl clap::builder::TypedValueParser<Value = T>
where
    T: std::str::FromStr + Clone + Send + Sync + 'static,
    T::Err: std::error::Error + Send + Sync + 'static,
{
    PossibleValuesParser::new(known.iter().copied()).try_map(|word| word.parse::<T>())
}

/// `I/N`.
fn shard(text: &str) -> Result<(u32, u32), String> {
    let numbers = text.split_once('/').and_then(|(index, of)| Some((index.parse().ok()?, of.parse().ok()?)));
    numbers
        .filter(|(index, of)| (1..=*of).contains(index))
        .ok_or_else(|| "expected I/N with 1 <= I <= N, e.g. 1/3".to_owned())
}

pub(crate) fn run(args: &Args) -> ExitCode {
    let interrupted = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&interrupted);
    if let Err(cause) = ctrlc::set_handler(move || seen.store(true, Ordering::Relaxed)) {
        crate::complain(format_args!("Ctrl-C will not be handled: {cause}"));
    }
    let bar = Bar::new(!args.quiet && std::io::stderr().is_terminal());
    let built = options(args).and_then(|options| xreduce_codegen::build(&options, &bar, &interrupted));
    bar.0.finish_and_clear();
    match built {
        Ok(summary) => {
            if !args.quiet {
                print_summary(&summary, args);
            }
            ExitCode::SUCCESS
        }
        Err(errors) => crate::fail(&errors),
    }
}

fn options(args: &Args) -> Result<BuildOptions, Vec<xreduce_codegen::Error>> {
    let one = |error: xreduce_codegen::Error| vec![error];
    let program = std::env::current_exe().map_err(|cause| {
        one(xreduce_codegen::Error::Choice(format!("this program's own path is not known: {cause}")))
    })?;
    let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    Ok(BuildOptions {
        targets: args.targets.clone(),
        algorithms: args.algorithms.clone(),
        elements: args.elements.clone(),
        worlds: args.worlds.clone(),
        shard: args.shard,
        out: args.out.clone(),
        templates: Files::templates(args.templates.as_deref()).map_err(one)?,
        target_files: Files::targets(args.target_files.as_deref()).map_err(one)?,
        jobs: args.jobs.map_or(processors, usize::from),
        worker: Worker { program, arguments: vec![WORKER.to_owned()] },
        llvm_version: xreduce_llvm::VERSION.to_owned(),
    })
}

struct Bar(ProgressBar);

impl Bar {
    fn new(visible: bool) -> Bar {
        let bar = if visible { ProgressBar::new(0) } else { ProgressBar::hidden() };
        if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} modules  {msg}") {
            bar.set_style(style);
        }
        Bar(bar)
    }
}

impl Progress for Bar {
    fn begin(&self, total: usize) {
        self.0.set_length(total as u64);
    }

    fn done(&self, module: &str) {
        self.0.set_message(module.to_owned());
        self.0.inc(1);
    }
}

fn print_summary(summary: &Summary, args: &Args) {
    let mut table = Table::new();
    table.set_header(["target", "world", "kernels", "bytes", "registers", "scratch", "seconds", "file"]);
    let (mut modules, mut kernels, mut bytes) = (0, 0, 0);
    for target in &summary.manifest.targets {
        for module in &target.modules {
            let most = |of: fn(&xreduce_contract::manifest::Resources) -> Option<u32>| {
                let most = module.kernels.iter().filter_map(|kernel| of(&kernel.resources)).max();
                most.map_or("-".to_owned(), |most| most.to_string())
            };
            let seconds = summary.times.get(&module.file);
            let seconds = seconds.map_or("as it was".to_owned(), |time| format!("{:.2}", time.as_secs_f64()));
            table.add_row([
                target.name.clone(),
                module.world.to_string(),
                module.kernels.len().to_string(),
                module.bytes.to_string(),
                most(|resources| resources.vector_registers),
                most(|resources| resources.scratch_bytes),
                seconds,
                module.file.clone(),
            ]);
            modules += 1;
            kernels += module.kernels.len();
            bytes += module.bytes;
        }
    }
    for index in 1..7 {
        if let Some(column) = table.column_mut(index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let (seconds, place) = (summary.total.as_secs_f64(), args.out.join("manifest.json"));
    let (place, made) = (place.display(), summary.times.len());
    if summary.unchanged {
        return crate::say(format_args!(
            "nothing changed: {kernels} kernels in {modules} modules are as they were, {seconds:.2} s: {place}\n"
        ));
    }
    crate::say(format_args!("{}\n\n", crate::plain(table)));
    crate::say(format_args!(
        "{kernels} kernels in {modules} modules, {made} of them made now, {bytes} bytes, all verified, {seconds:.2} s: {place}\n"
    ));
}
