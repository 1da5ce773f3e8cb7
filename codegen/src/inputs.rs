//! What a module is made from, as one hash; and the modules of an earlier bundle that were made from the same.
//!
//! Content alone decides: names, times and folders do not take part. The code of the generator does, by a hash that the build
//! script takes over its sources.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use xreduce_contract::manifest::{Manifest, Module};
use xreduce_contract::{Kernel, World};

use crate::bundle::{self, MANIFEST};
use crate::files::Files;
use crate::render::parts;
use crate::target::{Target, hex};

/// Hash of all that decides a module's bytes.
pub(crate) fn hash(templates: &Files, llvm: &str, target: &Target, world: World, kernels: &[Kernel]) -> String {
    let mut hash = Sha256::new();
    let mut add = |part: &str| {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part.as_bytes());
    };
    add(env!("XREDUCE_SOURCES_SHA256"));
    add(llvm);
    // Not the dispatch rows or the products: no code depends on them.
    let Target { name, family, triple, cpu, features, lanes, limits, clock_mhz, spin_limit_default, .. } = target;
    add(&format!(
        "{name} {family:?} {triple} {cpu} {features} {lanes} {limits:?} {clock_mhz:?} {spin_limit_default} {world}"
    ));
    kernels.iter().for_each(|kernel| add(&kernel.symbol()));
    let mut left: Vec<String> = parts(target, kernels).into_iter().map(|part| part.template).collect();
    let mut used = BTreeSet::new();
    while let Some(name) = left.pop() {
        if used.insert(name.clone()) {
            left.extend(includes(templates.text(&name).unwrap_or_default()).map(str::to_owned));
        }
    }
    for name in &used {
        add(name);
        add(templates.text(name).unwrap_or_default());
    }
    hex(&hash.finalize())
}

/// Names of the templates that a template includes.
fn includes(text: &str) -> impl Iterator<Item = &str> {
    text.split("{% include \"").skip(1).filter_map(|rest| Some(rest.split_once('"')?.0))
}

/// An earlier bundle at the place of the new one.
pub(crate) struct Previous {
    folder: PathBuf,
    /// Its manifest.
    pub(crate) manifest: Manifest,
    by_inputs: BTreeMap<(String, String), Module>,
}

impl Previous {
    /// The bundle at `folder`, if there is a readable one.
    pub(crate) fn at(folder: &Path) -> Option<Previous> {
        if !folder.join(MANIFEST).is_file() {
            return None;
        }
        let manifest = bundle::read_manifest(folder).ok()?;
        let modules = manifest.targets.iter().flat_map(|target| target.modules.iter().cloned());
        let by_inputs = modules.map(|module| ((module.file.clone(), module.inputs_sha256.clone()), module)).collect();
        Some(Previous { folder: folder.to_owned(), manifest, by_inputs })
    }

    /// The module of this file that was made from these inputs, and its bytes, if they are still what the manifest says.
    pub(crate) fn module(&self, file: &str, inputs_sha256: &str) -> Option<(Module, Vec<u8>)> {
        let module = self.by_inputs.get(&(file.to_owned(), inputs_sha256.to_owned()))?;
        let bytes = fs::read(self.folder.join(file)).ok()?;
        (hex(&Sha256::digest(&bytes)) == module.sha256).then(|| (module.clone(), bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_a_template_includes() {
        let text = "a {% include \"x/y.tera\" %} b\n{% include \"z\" %}";
        assert_eq!(includes(text).collect::<Vec<_>>(), ["x/y.tera", "z"]);
    }
}
