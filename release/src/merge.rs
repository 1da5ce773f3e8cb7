//! Shards of one build, merged into the bundle that one machine would have built.
//!
//! A shard is a bundle whose manifest has the mark `shard`: an object with `index`, 1 to `of`, and `of`. Everything in the mark
//! but the index has to agree between shards, and `modules`, where the mark has it, is the number of modules of the whole build.
//! The mark is read as JSON, before the manifest, so that a shard never passes for a whole bundle.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use xreduce_codegen::bundle::{Draft, MANIFEST};
use xreduce_contract::manifest::{Manifest, TargetEntry};

use crate::bundle::Bundle;
use crate::error::Error;

/// Key of the mark.
pub(crate) const SHARD: &str = "shard";

struct Shard {
    folder: PathBuf,
    index: u64,
    of: u64,
    /// The mark without its index.
    common: Map<String, Value>,
    bundle: Bundle,
}

impl Shard {
    fn read(folder: &Path) -> Result<Shard, Error> {
        let path = folder.join(MANIFEST);
        let text = fs::read(&path).map_err(|cause| Error::input(&path, cause))?;
        let mut value: Value =
            serde_json::from_slice(&text).map_err(|cause| Error::input(&path, format!("is no manifest: {cause}")))?;
        let mark = value.as_object_mut().and_then(|object| object.remove(SHARD));
        let Some(Value::Object(mut common)) = mark else {
            return Err(Error::input(&path, "is no shard: its manifest has no mark `shard`"));
        };
        let index = common.remove("index").and_then(|index| index.as_u64());
        let of = common.get("of").and_then(Value::as_u64);
        let (Some(index), Some(of)) = (index, of) else {
            return Err(Error::input(&path, "has a mark `shard` without the numbers `index` and `of`"));
        };
        if !(1..=of).contains(&index) {
            return Err(Error::input(&path, format!("is shard {index} of {of}; expected 1 to {of}")));
        }
        let manifest: Manifest =
            serde_json::from_value(value).map_err(|cause| Error::input(&path, format!("is no manifest: {cause}")))?;
        let bundle = Bundle::with_manifest(folder, manifest, text)?;
        Ok(Shard { folder: folder.to_path_buf(), index, of, common, bundle })
    }

    fn name(&self) -> String {
        format!("{} (shard {} of {})", self.folder.display(), self.index, self.of)
    }
}

/// Merges shards into a bundle at `out`; an earlier bundle there is replaced.
///
/// # Errors
/// A shard cannot be read, is missing, is given twice, or is of another build, each by its name.
pub fn merge(folders: &[PathBuf], out: &Path) -> Result<Manifest, Error> {
    let mut shards = folders.iter().map(|folder| Shard::read(folder)).collect::<Result<Vec<_>, _>>()?;
    shards.sort_by_key(|shard| shard.index);
    check_complete(&shards)?;
    let Some(first) = shards.first() else {
        return Err(Error::Differs("no shard was given".to_owned()));
    };
    let mut manifest = Manifest { targets: Vec::new(), ..first.bundle.manifest.clone() };
    let mut targets: BTreeMap<String, (TargetEntry, &Shard)> = BTreeMap::new();
    for shard in &shards {
        compare(first, shard, &first.common, &shard.common)?;
        let head = |shard: &Shard| Manifest { targets: Vec::new(), ..shard.bundle.manifest.clone() };
        compare(first, shard, &head(first), &head(shard))?;
        for entry in &shard.bundle.manifest.targets {
            let bare = |entry: &TargetEntry| TargetEntry { modules: Vec::new(), ..entry.clone() };
            let (merged, origin) = targets.entry(entry.name.clone()).or_insert_with(|| (bare(entry), shard));
            compare(origin, shard, &bare(merged), &bare(entry))?;
            for module in &entry.modules {
                if merged.modules.iter().any(|other| other.world == module.world) {
                    let message = format!("{}: another shard holds {} too", shard.name(), module.file);
                    return Err(Error::Differs(message));
                }
                merged.modules.push(module.clone());
            }
        }
    }
    manifest.targets = targets.into_values().map(|(entry, _)| entry).collect();
    for entry in &mut manifest.targets {
        entry.modules.sort_by_key(|module| module.world);
    }
    let found = manifest.targets.iter().map(|entry| entry.modules.len() as u64).sum::<u64>();
    if let Some(expected) = first.common.get("modules").and_then(Value::as_u64).filter(|expected| *expected != found) {
        return Err(Error::Differs(format!("the build has {expected} modules, its shards hold {found}")));
    }
    let draft = Draft::new(out)?;
    for shard in &shards {
        for module in shard.bundle.manifest.targets.iter().flat_map(|target| &target.modules) {
            draft.write(&module.file, shard.bundle.bytes(module))?;
        }
    }
    let text = manifest.to_text().map_err(|cause| Error::Differs(cause.to_string()))?;
    draft.write(MANIFEST, text.as_bytes())?;
    draft.publish()?;
    Ok(manifest)
}

/// Every index once.
fn check_complete(shards: &[Shard]) -> Result<(), Error> {
    for pair in shards.windows(2) {
        if let [one, other] = pair {
            if one.of != other.of {
                let message = format!("{} is not of the build of {}", other.name(), one.name());
                return Err(Error::Differs(message));
            }
            if one.index == other.index {
                return Err(Error::Differs(format!("{} and {} are the same shard", one.name(), other.name())));
            }
        }
    }
    let of = shards.first().map_or(0, |shard| shard.of);
    match (1..=of).find(|index| shards.iter().all(|shard| shard.index != *index)) {
        Some(missing) => Err(Error::Differs(format!("shard {missing} of {of} is missing"))),
        None => Ok(()),
    }
}

/// Two shards of one build say the same; else names the first key in which the second differs.
fn compare<T: serde::Serialize>(first: &Shard, second: &Shard, one: &T, other: &T) -> Result<(), Error> {
    let as_map = |value: &T| match serde_json::to_value(value) {
        Ok(Value::Object(map)) => map,
        _ => Map::new(),
    };
    let (one, other) = (as_map(one), as_map(other));
    let keys = one.keys().chain(other.keys());
    match keys.into_iter().find(|key| one.get(*key) != other.get(*key)) {
        None => Ok(()),
        Some(key) => {
            let of = |map: &Map<String, Value>| map.get(key).map_or("nothing".to_owned(), Value::to_string);
            Err(Error::Differs(format!(
                "{} is of another build than {}: its `{key}` is {}, expected {}",
                second.name(),
                first.name(),
                of(&other),
                of(&one)
            )))
        }
    }
}
