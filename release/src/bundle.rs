//! A bundle in memory: what is packed is what was hashed and judged, whatever happens to its folder meanwhile.
//!
//! Each module is checked against its entry in the manifest, and passes the builder's gate once more: size and SHA-256, kernels,
//! the arguments that the artifact itself declares (ELF note, PTX parameters, SPIR-V function type), the verifier's strict profile.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use xreduce_codegen::bundle::{MANIFEST, read_manifest};
use xreduce_codegen::family::Family;
use xreduce_codegen::gate;
use xreduce_contract::manifest::{Manifest, Module, TargetEntry};
use xreduce_contract::{Kernel, World, kernel_arguments};
use xreduce_verify::inspect;

use crate::contents::sha256;
use crate::error::Error;
use crate::merge::SHARD;

/// A bundle's manifest and modules.
#[derive(Clone, Debug)]
pub struct Bundle {
    /// The manifest.
    pub manifest: Manifest,
    /// The manifest as it was read.
    pub manifest_text: Vec<u8>,
    modules: BTreeMap<String, Artifact>,
}

#[derive(Clone, Debug)]
struct Artifact {
    bytes: Vec<u8>,
    target: String,
}

impl Bundle {
    /// Reads a bundle as `xreduce build` writes it; files that its manifest does not list are not looked at.
    ///
    /// # Errors
    /// The manifest cannot be read, or a module is missing or is not the one that the manifest describes.
    pub fn read(folder: &Path) -> Result<Bundle, Error> {
        let path = folder.join(MANIFEST);
        let manifest_text = fs::read(&path).map_err(|cause| Error::input(&path, format!("cannot be read: {cause}")))?;
        let parsed = serde_json::from_slice::<serde_json::Value>(&manifest_text).unwrap_or_default();
        if let Some(mark) = parsed.get(SHARD).filter(|mark| !mark.is_null()) {
            return Err(Error::input(&path, format!("is one shard of a build, {mark}: merge them all first")));
        }
        Bundle::with_manifest(folder, read_manifest(folder)?, manifest_text)
    }

    /// The modules of a manifest that was read from `folder`.
    pub(crate) fn with_manifest(folder: &Path, manifest: Manifest, manifest_text: Vec<u8>) -> Result<Bundle, Error> {
        let mut modules = BTreeMap::new();
        for module in manifest.targets.iter().flat_map(|target| &target.modules) {
            let path = folder.join(&module.file);
            if !is_plain(&module.file) {
                return Err(Error::input(&path, "is listed in a manifest and leads out of its bundle"));
            }
            let bytes = fs::read(&path).map_err(|cause| Error::input(&path, cause))?;
            let target = judge(module, &bytes).map_err(|message| Error::input(&path, message))?;
            modules.insert(module.file.clone(), Artifact { bytes, target });
        }
        Ok(Bundle { manifest, manifest_text, modules })
    }

    /// The bytes of a module of the manifest.
    #[must_use]
    pub fn bytes(&self, module: &Module) -> &[u8] {
        self.modules.get(&module.file).map_or(&[], |artifact| &artifact.bytes)
    }

    /// What a module says of itself that it runs on: `gfx1100`, `gfx11-generic`, `sm_90`, `spirv64`.
    #[must_use]
    pub fn device_target(&self, module: &Module) -> &str {
        self.modules.get(&module.file).map_or("", |artifact| &artifact.target)
    }

    /// All files: the manifest and the modules, by path.
    #[must_use]
    pub fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let modules = self.modules.iter().map(|(name, artifact)| (name.clone(), artifact.bytes.clone()));
        modules.chain([(MANIFEST.to_owned(), self.manifest_text.clone())]).collect()
    }

    /// Modules of one family by world, each with its target: what containers of alternatives hold.
    #[must_use]
    pub fn by_world(&self, family: Family) -> BTreeMap<World, Vec<(&TargetEntry, &Module)>> {
        let mut worlds: BTreeMap<World, Vec<(&TargetEntry, &Module)>> = BTreeMap::new();
        for target in self.manifest.targets.iter().filter(|target| target.family == family.word()) {
            for module in &target.modules {
                worlds.entry(module.world).or_default().push((target, module));
            }
        }
        worlds
    }

    /// The version part of the manifest's `tool`, e.g. `0.1.0`.
    #[must_use]
    pub fn version(&self) -> &str {
        self.manifest.tool.split_whitespace().next_back().unwrap_or("0")
    }
}

/// A path of normal components only.
fn is_plain(file: &str) -> bool {
    !file.is_empty() && Path::new(file).components().all(|part| matches!(part, std::path::Component::Normal(_)))
}

/// The target that a module names itself, if its bytes are those of its entry.
fn judge(module: &Module, bytes: &[u8]) -> Result<String, String> {
    let found = sha256(bytes);
    if (bytes.len() as u64, &found) != (module.bytes, &module.sha256) {
        let expected = format!("expected {} bytes with SHA-256 {}", module.bytes, module.sha256);
        return Err(format!("{expected}, found {} bytes with {found}", bytes.len()));
    }
    let kernels: Vec<Kernel> = module.kernels.iter().map(|entry| entry.kernel(module.world)).collect();
    let passed = gate::judge(&module.file, bytes, &kernels, |_| None).map_err(|rejections| {
        let all: Vec<String> =
            rejections.into_iter().map(|found| format!("[{}] {}", found.code, found.message)).collect();
        all.join("; ")
    })?;
    if passed.format != module.format {
        return Err(format!("expected {:?}, found {:?}", module.format, passed.format));
    }
    for (entry, kernel) in module.kernels.iter().zip(&kernels) {
        if entry.symbol != kernel.symbol() || entry.arguments != kernel_arguments(kernel) {
            return Err(format!("the entry of `{}` is not that of the contract's `{}`", entry.symbol, kernel.symbol()));
        }
    }
    let inspection = inspect(bytes, &module.file);
    let [image] = inspection.images.as_slice() else {
        return Err(format!("expected one device image, found {}", inspection.images.len()));
    };
    Ok(image.target.clone())
}
