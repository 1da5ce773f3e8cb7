//! Target files: what differs between GPUs, one YAML file each, read into checked values.
//!
//! A file holds nothing that can be derived. Unknown keys, wrong types and unknown words are errors with file, line and the
//! nearest known word.

use serde::Deserialize;
use sha2::{Digest, Sha256};
use xreduce_contract::manifest::{DispatchRow, Measurement};
use xreduce_contract::{Algorithm, Wire, World};

use crate::error::Error;
use crate::family::Family;
use crate::files::Files;

/// One GPU target, checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// Name: the file's, without extension.
    pub name: String,
    /// Family.
    pub family: Family,
    /// LLVM target triple.
    pub triple: String,
    /// LLVM processor name; empty where LLVM has none (SPIR-V).
    pub cpu: String,
    /// LLVM feature string.
    pub features: String,
    /// Processor names that its modules run on.
    pub processors: Vec<String>,
    /// Products with these processors.
    pub products: Vec<String>,
    /// Lanes that execute together: wavefront, warp or sub-group.
    pub lanes: u32,
    /// Limits.
    pub limits: Limits,
    /// Device clock in MHz, for the families that need it.
    pub clock_mhz: Option<u32>,
    /// The bound of a wait when `spin_limit` is 0, in the family's unit.
    pub spin_limit_default: u32,
    /// Which kernel and grid for which message.
    pub dispatch: Vec<DispatchRow>,
    /// SHA-256 of the file, hexadecimal.
    pub sha256: String,
}

/// Limits of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// The most threads of a block.
    pub threads_per_block: u32,
    /// The most blocks per compute unit that are surely resident at once.
    pub blocks_per_compute_unit: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "the keys of a target file")]
struct RawTarget {
    family: Family,
    triple: String,
    cpu: String,
    features: String,
    processors: Vec<String>,
    products: Vec<String>,
    lanes: u32,
    limits: Limits,
    clock_mhz: Option<u32>,
    spin_limit_default: u32,
    launch: RawLaunch,
    dispatch: Vec<RawRow>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawLaunch {
    threads: u32,
    blocks: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRow {
    max_bytes: u64,
    max_world: Option<World>,
    algorithm: Algorithm,
    wire: Wire,
    threads: Option<u32>,
    blocks: Option<u32>,
    source: String,
    measured: Option<Measurement>,
}

impl RawRow {
    /// Without the key a row is for every world.
    fn max_world(&self) -> World {
        self.max_world.unwrap_or(World::LARGEST)
    }
}

/// All targets of a set of files, by name.
#[derive(Clone, Debug, PartialEq)]
pub struct Targets(Vec<Target>);

impl Targets {
    /// Reads every file of the set.
    ///
    /// # Errors
    /// [`Error::Input`] for the first faulty file, with its line.
    pub fn read(files: &Files) -> Result<Targets, Error> {
        files.iter().map(|(name, text)| Target::parse(files, name, text)).collect::<Result<_, _>>().map(Targets)
    }

    /// Every target, by name.
    pub fn iter(&self) -> impl Iterator<Item = &Target> {
        self.0.iter()
    }

    /// The target of this name.
    ///
    /// # Errors
    /// [`Error::Choice`] with the nearest known name.
    pub fn get(&self, name: &str) -> Result<&Target, Error> {
        self.0.iter().find(|target| target.name == name).ok_or_else(|| {
            let known: Vec<&str> = self.0.iter().map(|target| target.name.as_str()).collect();
            Error::Choice(format!("unknown target `{name}`{}", suggestion(name, &known)))
        })
    }
}

impl Target {
    /// The number in the processor's name that orders a family's generations: 110 for `gfx1100` and `gfx11-generic`, 90 for
    /// `gfx90a` and for `sm_90`, 94 for `gfx942`, 0 where LLVM has no processor names.
    #[must_use]
    pub fn generation(&self) -> u32 {
        generation(self.family, &self.cpu).unwrap_or(0)
    }

    /// Whether LLVM has an instruction that rounds f32 to bf16 here. Elsewhere it would expand it, or, for SPIR-V, ask for
    /// extensions that validators reject.
    #[must_use]
    pub fn has_bfloat(&self) -> bool {
        match self.family {
            Family::Amdgpu => self.generation() == 95,
            Family::Nvptx => self.generation() >= 80,
            Family::Spirv => false,
        }
    }

    fn parse(files: &Files, file: &str, text: &str) -> Result<Target, Error> {
        let path = files.path(file);
        let error = |line: Option<usize>, message: String| Error::Input { path: path.clone(), line, message };
        let raw: RawTarget = serde_yaml::from_str(text).map_err(|cause| {
            let line = cause.location().map(|location| location.line());
            let (line, message) = explain(text, line, &cause.to_string());
            error(line, message)
        })?;
        if let Err((key, message)) = check(&raw) {
            return Err(error(line_of(text, key), message));
        }
        for (index, row) in raw.dispatch.iter().enumerate() {
            let earlier = index.checked_sub(1).and_then(|before| raw.dispatch.get(before));
            if let Err(message) = check_row(&raw, row, earlier) {
                return Err(error(line_of_row(text, index), message));
            }
        }
        let dispatch = raw.dispatch.into_iter().map(|row| DispatchRow {
            max_bytes: row.max_bytes,
            max_world: row.max_world(),
            algorithm: row.algorithm,
            wire: row.wire,
            blocks: row.blocks.unwrap_or(raw.launch.blocks),
            threads: row.threads.unwrap_or(raw.launch.threads),
            source: row.source,
            measured: row.measured,
        });
        Ok(Target {
            name: file.trim_end_matches(".yaml").to_owned(),
            family: raw.family,
            triple: raw.triple,
            cpu: raw.cpu,
            features: raw.features,
            processors: raw.processors,
            products: raw.products,
            lanes: raw.lanes,
            limits: raw.limits,
            clock_mhz: raw.clock_mhz,
            spin_limit_default: raw.spin_limit_default,
            dispatch: dispatch.collect(),
            sha256: hex(&Sha256::digest(text.as_bytes())),
        })
    }
}

fn generation(family: Family, cpu: &str) -> Option<u32> {
    let rest = cpu.strip_prefix(family.cpu_prefix())?;
    match family {
        // gfx<major><minor><stepping>, the last two hexadecimal, or gfx<major>-generic and gfx<major>-<minor>-generic
        Family::Amdgpu => {
            let (major, minor) = match rest.strip_suffix("-generic") {
                Some(generic) => generic.split_once('-').unwrap_or((generic, "0")),
                None => {
                    let (major, rest) = rest.split_at_checked(rest.len().checked_sub(2)?)?;
                    let (minor, stepping) = rest.split_at_checked(1)?;
                    stepping.chars().all(|c| c.is_ascii_hexdigit()).then_some((major, minor))?
                }
            };
            Some(major.parse::<u32>().ok()? * 10 + u32::from_str_radix(minor, 16).ok()?)
        }
        Family::Nvptx => rest.parse().ok(),
        Family::Spirv => rest.is_empty().then_some(0),
    }
}

/// What no type can say: the key whose line to name, and what was expected there.
fn check(raw: &RawTarget) -> Result<(), (&'static str, String)> {
    let family = raw.family;
    if !raw.triple.starts_with(family.architecture()) {
        return Err((
            "triple",
            format!(
                "`{}` is no triple of family {}, expected one that starts with `{}`",
                raw.triple,
                family.word(),
                family.architecture()
            ),
        ));
    }
    if generation(family, &raw.cpu).is_none() {
        let expected = match family {
            Family::Amdgpu => "a processor such as `gfx1100` or `gfx11-generic`",
            Family::Nvptx => "a processor such as `sm_90`",
            Family::Spirv => "an empty string: LLVM has no processors for SPIR-V",
        };
        return Err(("cpu", format!("`{}`: expected {expected}", raw.cpu)));
    }
    if raw.processors.is_empty() {
        return Err(("processors", "expected at least one processor name".to_owned()));
    }
    if !raw.lanes.is_power_of_two() || raw.lanes > 64 {
        return Err(("lanes", format!("{}: expected a power of two up to 64", raw.lanes)));
    }
    let threads = raw.limits.threads_per_block;
    if threads == 0 || threads > 1024 || !threads.is_multiple_of(raw.lanes) {
        return Err((
            "threads_per_block",
            format!("{threads}: expected a multiple of lanes ({}) up to 1024", raw.lanes),
        ));
    }
    if raw.limits.blocks_per_compute_unit == 0 {
        return Err(("blocks_per_compute_unit", "0: expected at least 1".to_owned()));
    }
    match (raw.clock_mhz, family.has_clock_mhz()) {
        (None, true) => {
            return Err((
                "family",
                format!("missing key `clock_mhz`: family {} bounds waits by this clock", family.word()),
            ));
        }
        (Some(_), false) => {
            return Err(("clock_mhz", format!("family {} has no such clock: remove the key", family.word())));
        }
        (Some(0), true) => return Err(("clock_mhz", "0: expected MHz".to_owned())),
        _ => {}
    }
    if raw.spin_limit_default == 0 {
        return Err(("spin_limit_default", "0: expected a bound, waits are never endless".to_owned()));
    }
    check_grid(raw, raw.launch.threads, raw.launch.blocks).map_err(|message| ("launch", message))?;
    if raw.dispatch.is_empty() {
        return Err(("dispatch", "expected at least one row".to_owned()));
    }
    Ok(())
}

fn check_grid(raw: &RawTarget, threads: u32, blocks: u32) -> Result<(), String> {
    if threads == 0 || threads > raw.limits.threads_per_block || !threads.is_multiple_of(raw.lanes) {
        return Err(format!(
            "threads: {threads}: expected a multiple of lanes ({}) up to limits.threads_per_block ({})",
            raw.lanes, raw.limits.threads_per_block
        ));
    }
    if blocks == 0 {
        return Err("blocks: 0: expected at least 1".to_owned());
    }
    Ok(())
}

fn check_row(raw: &RawTarget, row: &RawRow, earlier: Option<&RawRow>) -> Result<(), String> {
    let key = |row: &RawRow| (row.max_bytes, row.max_world());
    if earlier.is_some_and(|earlier| key(earlier) >= key(row)) || row.max_bytes == 0 {
        return Err(format!("max_bytes: {}: expected rows in ascending order, above 0", row.max_bytes));
    }
    if row.wire == Wire::Host {
        return Err("wire: host: no call can be dispatched to it, the host orders it".to_owned());
    }
    if !row.algorithm.wires().contains(&row.wire) {
        let wires: Vec<&str> = row.algorithm.wires().iter().map(|wire| wire.word()).collect();
        return Err(format!(
            "wire: {} does not exist with `{}`, expected one of: {}",
            row.algorithm,
            row.wire,
            wires.join(", ")
        ));
    }
    if row.source.trim().is_empty() {
        return Err("source: expected where this choice comes from".to_owned());
    }
    check_grid(raw, row.threads.unwrap_or(raw.launch.threads), row.blocks.unwrap_or(raw.launch.blocks))
}

/// Line (from 1) of the first `key:`, in block or flow style.
fn line_of(text: &str, key: &str) -> Option<usize> {
    let starts = |line: &str| {
        line.split(['{', ',', '-', ' ']).any(|part| part.strip_prefix(key).is_some_and(|rest| rest.starts_with(':')))
    };
    text.lines().position(starts).map(|index| index + 1)
}

/// Line (from 1) of a row of `dispatch`.
fn line_of_row(text: &str, row: usize) -> Option<usize> {
    let begin = line_of(text, "dispatch")?;
    let rows = text.lines().enumerate().skip(begin).filter(|(_, line)| line.trim_start().starts_with('-'));
    rows.map(|(index, _)| index + 1).nth(row)
}

/// Serde's message in the words of this tool: the line of the unknown word itself, and the nearest known one.
fn explain(text: &str, line: Option<usize>, message: &str) -> (Option<usize>, String) {
    let bare = message.rsplit_once(" at line ").map_or(message, |(bare, _)| bare);
    let mut quoted = bare.split('`').skip(1).step_by(2);
    if let Some((_, word)) = bare.split_once("duplicate field `") {
        let key = word.trim_end_matches('`');
        let last = text.lines().enumerate().filter(|(_, line)| line_of(line, key).is_some()).last();
        return (last.map(|(index, _)| index + 1).or(line), format!("the key `{key}` stands here a second time"));
    }
    let unknown = ["unknown field", "unknown variant"].iter().any(|kind| bare.contains(kind));
    let Some(word) = quoted.next().filter(|_| unknown) else {
        return (line, bare.to_owned());
    };
    let known: Vec<&str> = quoted.collect();
    let kind = if bare.contains("unknown field") { "unknown key" } else { "unknown word" };
    let at = if kind == "unknown key" { line_of(text, word) } else { None };
    (at.or(line), format!("{kind} `{word}`{}", suggestion(word, &known)))
}

/// `; did you mean ...` where something is near, and what is known.
pub(crate) fn suggestion(word: &str, known: &[&str]) -> String {
    let nearest = known
        .iter()
        .map(|candidate| (strsim::damerau_levenshtein(word, candidate), candidate))
        .min()
        .filter(|(distance, candidate)| *distance <= 1 + candidate.len() / 3);
    let nearest = nearest.map_or(String::new(), |(_, candidate)| format!("; did you mean `{candidate}`?"));
    format!("{nearest} (known: {})", known.join(", "))
}

/// Lower-case hexadecimal of a digest.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(change: impl Fn(&str) -> String) -> Result<Target, String> {
        let files = Files::targets(None).unwrap();
        let (name, text) = files.iter().find(|(name, _)| *name == "gfx1100.yaml").unwrap();
        Target::parse(&files, name, &change(text)).map_err(|error| error.to_string())
    }

    #[test]
    fn every_embedded_target_is_right() {
        let targets = Targets::read(&Files::targets(None).unwrap()).unwrap();
        assert!(targets.iter().count() >= 4);
        let error = targets.get("gfx1110").unwrap_err().to_string();
        assert!(error.starts_with("unknown target `gfx1110`; did you mean `gfx1100`?"), "{error}");
    }

    #[test]
    fn generations_order_a_family() {
        let of = |cpu: &str| generation(Family::Amdgpu, cpu);
        assert_eq!(
            ["gfx90a", "gfx1030", "gfx1201", "gfx11-generic", "gfx9-4-generic"].map(of),
            [Some(90), Some(103), Some(120), Some(110), Some(94)]
        );
        assert_eq!(["sm_90", "gfx11-nonsense", "gfx", "gfxé"].map(of), [None; 4]);
        assert_eq!(generation(Family::Nvptx, "sm_120"), Some(120));
    }

    #[test]
    fn faults_name_file_line_and_the_nearest_word() {
        let cases: &[(&str, &str, &str)] = &[
            ("features:", "featurs:", "targets/gfx1100.yaml:4: unknown key `featurs`; did you mean `features`?"),
            ("family: amdgpu", "family: amdgp", "targets/gfx1100.yaml:1: unknown word `amdgp`; did you mean `amdgpu`?"),
            (
                "lanes: 32 ",
                "lanes: wide ",
                "targets/gfx1100.yaml:7: lanes: invalid type: string \"wide\", expected u32",
            ),
            ("lanes: 32 ", "lanes: 33 ", "targets/gfx1100.yaml:7: 33: expected a power of two up to 64"),
            ("cpu: gfx1100", "cpu: sm_90", "targets/gfx1100.yaml:3: `sm_90`: expected a processor such as `gfx1100`"),
            (
                "threads: 256",
                "threads: 100",
                "targets/gfx1100.yaml:13: threads: 100: expected a multiple of lanes (32)",
            ),
            (
                "wire: sentinel",
                "wire: flag",
                "targets/gfx1100.yaml:26: wire: one_shot_push does not exist with `flag`, expected one of: ll, sentinel",
            ),
            (
                "max_bytes: 262144",
                "max_bytes: 1",
                "targets/gfx1100.yaml:26: max_bytes: 1: expected rows in ascending order",
            ),
            (
                "algorithm: one_shot_pull",
                "algorithm: one_shot_pul",
                "unknown word `one_shot_pul`; did you mean `one_shot_pull`?",
            ),
            ("products:", "other:\nproducts:", "targets/gfx1100.yaml:6: unknown key `other`"),
            ("products:", "cpu: gfx1101\nproducts:", "targets/gfx1100.yaml:6: the key `cpu` stands here a second time"),
        ];
        for (from, to, expected) in cases {
            let error = parse(|text| text.replacen(from, to, 1)).unwrap_err();
            assert!(error.contains(expected), "{from} -> {to}: {error}");
        }
        let missing =
            parse(|text| text.lines().filter(|line| !line.starts_with("lanes")).collect::<Vec<_>>().join("\n"));
        assert!(missing.unwrap_err().contains("missing field `lanes`"));
    }
}
