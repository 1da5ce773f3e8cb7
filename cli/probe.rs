//! `xreduce probe`: can this machine run it, and if not, why.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use xreduce_codegen::family::Output;
use xreduce_codegen::job::Job;
use xreduce_codegen::worker::{Fault, Worker};
use xreduce_probe::Verdict;
use xreduce_probe::drivers::{Answers, Driver, KERNELS, ask, ask_apart};

/// Says whether this machine can run GPU collectives, and if not, why and what helps.
///
/// Reads the PCI tree and asks installed drivers. Exit codes: 0 no fault found, 1 a fault, 2 wrong usage or
/// an unreadable DIR, 3 not decided.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Form of the report on standard output
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Folder with a copy of another machine's sys and proc in place of this machine; no driver is asked
    #[arg(long, value_name = "DIR")]
    sysfs: Option<PathBuf>,
    /// Asks one driver and prints its answer: what a probe starts for each
    #[arg(long, hide = true, value_parser = driver)]
    ask: Option<Driver>,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Format {
    Text,
    Json,
}

fn driver(word: &str) -> Result<Driver, String> {
    Driver::ALL.into_iter().find(|driver| driver.word() == word).ok_or_else(|| "unknown driver".to_owned())
}

pub(crate) fn run(args: &Args) -> ExitCode {
    let done = match args.ask {
        Some(driver) => answer(driver).map(|()| Verdict::Well),
        None => report(args),
    };
    match done {
        Ok(Verdict::Well) => ExitCode::SUCCESS,
        Ok(Verdict::Fault) => ExitCode::from(crate::FAULT),
        Ok(Verdict::Undecided) => ExitCode::from(crate::UNDECIDED),
        Err(message) => {
            crate::complain(format_args!("{message}"));
            ExitCode::from(crate::USAGE)
        }
    }
}

fn report(args: &Args) -> Result<Verdict, String> {
    let (root, drivers) = match &args.sysfs {
        Some(folder) => (folder.as_path(), Answers::NotAsked),
        None => (Path::new("/"), Answers::Asked(ask_all()?)),
    };
    let report = xreduce_probe::probe(root, drivers).map_err(|error| error.to_string())?;
    match args.format {
        Format::Text => crate::say(format_args!("{report}")),
        Format::Json => crate::say(format_args!("{}\n", report.json().map_err(|error| error.to_string())?)),
    }
    Ok(report.verdict())
}

/// Asks every driver, each in a process of its own.
fn ask_all() -> Result<Vec<xreduce_probe::drivers::Answer>, String> {
    let program = program()?;
    let asked = |driver: Driver| ask_apart(driver, &program, &["probe", "--ask", driver.word()]);
    Ok(Driver::ALL.into_iter().map(asked).collect())
}

/// Asks one driver, here.
fn answer(driver: Driver) -> Result<(), String> {
    let worker = Worker { program: program()?, arguments: vec![crate::build::WORKER.to_owned()] };
    let targets = xreduce_probe::targets(Path::new("/")).map_err(|error| error.to_string())?;
    let lower = |target: &str| worker.lower(&job(target)).map_err(told);
    let answer = ask(driver, &targets, &lower);
    crate::say(format_args!("{}\n", serde_json::to_string(&answer).map_err(|error| error.to_string())?));
    Ok(())
}

fn program() -> Result<PathBuf, String> {
    std::env::current_exe().map_err(|error| format!("this program's own path is not known: {error}"))
}

/// The two kernels for a target, as a worker lowers them.
fn job(target: &str) -> Job {
    Job {
        module: format!("probe {target}"),
        triple: "amdgcn-amd-amdhsa".to_owned(),
        cpu: target.to_owned(),
        features: String::new(),
        output: Output::LinkedObject,
        spirv_extensions: None,
        ir: KERNELS.to_owned(),
    }
}

fn told(fault: Fault) -> String {
    match fault {
        Fault::Faulty { message, .. } | Fault::Failed(message) | Fault::Unreachable(message) => message,
    }
}

#[cfg(test)]
mod tests {
    use xreduce_codegen::job::Answer;
    use xreduce_probe::drivers::Kernel;
    use xreduce_verify::{Detail, Limits, Scan};

    /// Only the kernel that is to be refused declares a hostcall buffer, in a code object that a runtime takes.
    #[test]
    fn one_kernel_declares_a_hostcall_buffer_and_one_needs_nothing() {
        for target in ["gfx1100", "gfx1201", "gfx90a"] {
            let job = serde_json::to_vec(&super::job(target)).unwrap();
            let mut said = Vec::new();
            xreduce_llvm::serve(job.as_slice(), &mut said).unwrap();
            let end = said.iter().position(|byte| *byte == b'\n').unwrap();
            let answer: Answer = serde_json::from_slice(&said[..end]).unwrap();
            assert!(matches!(answer, Answer::Done { .. }), "{target}: {answer:?}");
            let file = tempfile::NamedTempFile::new().unwrap();
            std::fs::write(file.path(), &said[end + 1..]).unwrap();
            let symbols = std::collections::BTreeSet::new();
            let (limits, detail) = (Limits::default(), Detail::Summary);
            let scan = Scan { limits, detail, symbols: &symbols, progress: &|_| {} };
            let images = scan.path(file.path()).unwrap().images;
            // The geometry of a launch comes with the first implicit argument and asks nothing of a runtime.
            let geometry = ["global_offset_", "block_count_", "group_size_", "remainder_", "grid_dims"];
            let asks = |name: &&str| !geometry.iter().any(|word| name.starts_with(&format!("hidden_{word}")));
            let mut hidden: Vec<(&str, Vec<&str>)> = images[0]
                .kernels
                .iter()
                .map(|kernel| (kernel.name.as_str(), kernel.hidden.names().filter(asks).collect()))
                .collect();
            hidden.sort();
            let hostcall = (Kernel::Hostcall.symbol(), vec!["hidden_hostcall_buffer"]);
            let wanted = [hostcall, (Kernel::Plain.symbol(), vec![])];
            assert_eq!(hidden, wanted, "{target}");
        }
    }
}
