//! `make mutants`: breaks each synchronising operation of the templates, one at a time, and asks `xreduce check` to notice.
//!
//! A mutant is *killed* if check fails on it by execution, *equal* if its modules are byte for byte those of the original,
//! *argued* if it passes and the list says why that is right, *alive* otherwise. Writes the table of `docs/evidence.md`.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "this is a command: it prints")]

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Output};

use serde::Deserialize;

/// The targets whose machine code is executed.
const TARGETS: [&str; 2] = ["gfx1100", "gfx1201"];
const SEEDS: &str = "24";
const LIST: &str = "mutants/mutants.yaml";
const EVIDENCE: &str = "docs/evidence.md";
const BEGIN: &str = "<!-- mutants: written by `make mutants` -->";
const END: &str = "<!-- end of mutants -->";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Mutant {
    name: String,
    file: String,
    #[serde(rename = "in")]
    within: String,
    from: String,
    to: String,
    argued: Option<String>,
}

/// What became of a mutant on one target.
#[derive(PartialEq)]
enum Fate {
    /// Check failed; its first words about it.
    Killed(String),
    /// The build itself refuses it.
    Refused(String),
    Equal,
    Passed,
}

type Modules = BTreeMap<PathBuf, Vec<u8>>;

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(cause) => {
            eprintln!("mutants: {cause}");
            ExitCode::from(2)
        }
    }
}

/// Runs all mutants, or those whose name contains the second argument; the first is the command `xreduce`.
fn run() -> Result<bool, Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let xreduce = PathBuf::from(arguments.next().ok_or("usage: xreduce-mutants PATH-OF-XREDUCE [PART-OF-A-NAME]")?);
    let only = arguments.next();
    let mutants: Vec<Mutant> = serde_yaml::from_str(&fs::read_to_string(LIST)?)?;
    let folder = tempfile::tempdir()?;
    let mut originals = BTreeMap::new();
    for target in TARGETS {
        let out = folder.path().join(target);
        let built = build(&xreduce, Path::new("templates"), target, &out)?;
        if !built.status.success() {
            return Err(format!("the original does not build: {}", first_words(&built)).into());
        }
        originals.insert(target, modules(&out)?);
    }
    let mut rows = Vec::new();
    for mutant in mutants.iter().filter(|mutant| only.as_ref().is_none_or(|part| mutant.name.contains(part))) {
        let mut fates = Vec::new();
        for target in TARGETS {
            fates.push(fate(&xreduce, mutant, target, originals.get(target).ok_or("no original")?)?);
        }
        let shown: Vec<String> = fates.iter().map(|fate| show(fate, mutant)).collect();
        println!("{}: {}", mutant.name, shown.join(" | "));
        rows.push((mutant, fates));
    }
    let alive = rows.iter().any(|(mutant, fates)| mutant.argued.is_none() && fates.contains(&Fate::Passed));
    if only.is_none() {
        write_table(&rows)?;
    }
    Ok(!alive)
}

fn fate(xreduce: &Path, mutant: &Mutant, target: &str, original: &Modules) -> Result<Fate, Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let templates = folder.path().join("templates");
    copy(Path::new("templates"), &templates)?;
    let path = templates.join(&mutant.file);
    let text = fs::read_to_string(&path)?;
    let missing = |what: &str| format!("{}: `{what}` is not in {}", mutant.name, mutant.file);
    let begin = text.find(&mutant.within).ok_or_else(|| missing(&mutant.within))?;
    let (before, rest) = text.split_at(begin);
    if !rest.contains(&mutant.from) {
        return Err(missing(&mutant.from).into());
    }
    fs::write(&path, format!("{before}{}", rest.replacen(&mutant.from, &mutant.to, 1)))?;
    let out = folder.path().join("out");
    let built = build(xreduce, &templates, target, &out)?;
    if !built.status.success() {
        return Ok(Fate::Refused(first_words(&built)));
    }
    if &modules(&out)? == original {
        return Ok(Fate::Equal);
    }
    for symbol in symbols(&out)? {
        let mut command = Command::new(xreduce);
        let checked = command.arg("check").arg(&out).args(["--seeds", SEEDS, "--kernel", &symbol]).output()?;
        match checked.status.code() {
            Some(0) => {}
            Some(1) => return Ok(Fate::Killed(first_fault(&symbol, &checked))),
            _ => {
                return Err(
                    format!("{} on {target}: check could not decide: {}", mutant.name, first_words(&checked)).into()
                );
            }
        }
    }
    Ok(Fate::Passed)
}

/// The kernels of a bundle, in its order.
fn symbols(out: &Path) -> Result<Vec<String>, Box<dyn Error>> {
    let manifest: serde_json::Value = serde_json::from_slice(&fs::read(out.join("manifest.json"))?)?;
    let array = |value: &serde_json::Value, key: &str| {
        value.get(key).and_then(|list| list.as_array()).cloned().unwrap_or_default()
    };
    let modules = array(&manifest, "targets").into_iter().flat_map(|target| array(&target, "modules"));
    let kernels = modules.flat_map(|module| array(&module, "kernels"));
    Ok(kernels.filter_map(|kernel| Some(kernel.get("symbol")?.as_str()?.to_owned())).collect())
}

fn build(xreduce: &Path, templates: &Path, target: &str, out: &Path) -> Result<Output, Box<dyn Error>> {
    let mut command = Command::new(xreduce);
    let kernels = ["--element", "f32", "--world", "2", "--world", "3"];
    command.args(["build", "--quiet", "--target", target]).args(kernels).arg("--templates");
    Ok(command.arg(templates).arg("--out").arg(out).output()?)
}

fn modules(out: &Path) -> Result<Modules, Box<dyn Error>> {
    let mut found = Modules::new();
    for entry in fs::read_dir(out)? {
        let path = entry?.path();
        if path.is_dir() {
            for file in fs::read_dir(path)? {
                let file = file?.path();
                found.insert(file.strip_prefix(out)?.to_path_buf(), fs::read(&file)?);
            }
        }
    }
    Ok(found)
}

fn copy(from: &Path, to: &Path) -> Result<(), Box<dyn Error>> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let path = entry?.path();
        let target = to.join(path.file_name().ok_or("a file without a name")?);
        if path.is_dir() {
            copy(&path, &target)?;
        } else {
            fs::copy(&path, &target)?;
        }
    }
    Ok(())
}

fn first_words(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr);
    said.lines().next().unwrap_or_default().to_owned()
}

/// The kernel, the seed and what was wrong.
fn first_fault(symbol: &str, checked: &Output) -> String {
    let report = String::from_utf8_lossy(&checked.stdout);
    let mut lines = report.lines().skip_while(|line| !line.starts_with("FAILED"));
    let seed = lines
        .next()
        .and_then(|line| Some(line.split_once("seed ")?.1.split(',').next()?.to_owned()))
        .unwrap_or_default();
    let what = lines
        .next()
        .and_then(|line| Some(line.split_once("elements")?.1.trim_start_matches([')', ',', ':', ' '])))
        .unwrap_or_default();
    let kernel = symbol.trim_start_matches("xreduce_");
    format!("{kernel} seed {seed}: {}", what.chars().take(90).collect::<String>())
}

fn show(fate: &Fate, mutant: &Mutant) -> String {
    match fate {
        Fate::Killed(fault) => format!("killed, {fault}"),
        Fate::Refused(said) => format!("refused by the build: {said}"),
        Fate::Equal => "equal machine code".to_owned(),
        Fate::Passed if mutant.argued.is_some() => "argued".to_owned(),
        Fate::Passed => "ALIVE".to_owned(),
    }
}

fn write_table(rows: &[(&Mutant, Vec<Fate>)]) -> Result<(), Box<dyn Error>> {
    let mut table = format!("{BEGIN}\n| file | mutant | {} |\n|---|---|---|---|\n", TARGETS.join(" | "));
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for (mutant, fates) in rows {
        let shown: Vec<String> = fates.iter().map(|fate| show(fate, mutant).replace('|', "/")).collect();
        writeln!(table, "| {} | {} | {} |", mutant.file.trim_end_matches(".ll.tera"), mutant.name, shown.join(" | "))?;
        for fate in fates {
            let class = match fate {
                Fate::Killed(_) => "killed by execution",
                Fate::Refused(_) => "refused by the build",
                Fate::Equal => "equal machine code",
                Fate::Passed if mutant.argued.is_some() => "argued",
                Fate::Passed => "alive",
            };
            *counts.entry(class).or_default() += 1;
        }
    }
    let total: usize = counts.values().sum();
    let counted: Vec<String> = counts.iter().map(|(class, count)| format!("{count} {class}")).collect();
    writeln!(
        table,
        "\n{} mutants on {} targets, worlds 2 and 3, {SEEDS} seeds: {total} = {}.",
        rows.len(),
        TARGETS.len(),
        counted.join(", ")
    )?;
    let argued = rows.iter().filter(|(_, fates)| fates.contains(&Fate::Passed));
    let mut reasons = argued.filter_map(|(mutant, _)| Some((&mutant.name, mutant.argued.as_ref()?))).peekable();
    if reasons.peek().is_some() {
        table.push_str("\nArgued:\n\n");
    }
    for (name, reason) in reasons {
        writeln!(table, "- {name}: {reason}")?;
    }
    table.push_str(END);
    let text = fs::read_to_string(EVIDENCE)?;
    let (Some((before, _)), Some((_, after))) = (text.split_once(BEGIN), text.split_once(END)) else {
        return Err(format!("{EVIDENCE} has no place for the table: `{BEGIN}` and `{END}`").into());
    };
    let draft = format!("{EVIDENCE}.new");
    fs::write(&draft, format!("{before}{table}{after}"))?;
    Ok(fs::rename(draft, EVIDENCE)?)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by a panic")]

    use super::*;

    /// A mutant whose text is not in the templates any more changes nothing and proves nothing.
    #[test]
    fn every_mutant_changes_its_template() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let mutants: Vec<Mutant> = serde_yaml::from_str(&fs::read_to_string(root.join(LIST)).unwrap()).unwrap();
        assert!(mutants.len() > 70);
        for mutant in mutants {
            let text = fs::read_to_string(root.join("templates").join(&mutant.file)).unwrap();
            let begin = text.find(&mutant.within).unwrap_or_else(|| panic!("{}: no `{}`", mutant.name, mutant.within));
            assert!(text[begin..].contains(&mutant.from), "{}: no `{}`", mutant.name, mutant.from);
            assert_ne!(mutant.from, mutant.to, "{}", mutant.name);
        }
    }
}
