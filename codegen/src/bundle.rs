//! A bundle's folder: made beside its place, checked, and put there in one step; read back and checked against its manifest.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use sha2::{Digest, Sha256};
use tempfile::TempDir;
use xreduce_contract::manifest::{Manifest, SCHEMA};

use crate::error::{Error, Rejection};
use crate::gate;
use crate::target::hex;

/// Name of the manifest in a bundle.
pub const MANIFEST: &str = "manifest.json";

/// A bundle in the making: a folder beside its final place, removed unless it is put there.
pub struct Draft {
    folder: TempDir,
    place: PathBuf,
}

impl Draft {
    /// Prepares to replace `place`, which must not exist, or be an empty folder or an earlier bundle and nothing else.
    ///
    /// # Errors
    /// [`Error::Output`] when `place` holds something that is not a bundle's, or a folder cannot be made beside it.
    pub fn new(place: &Path) -> Result<Draft, Error> {
        let place = if place.exists() {
            fs::canonicalize(place).map_err(|cause| Error::output(place, cause))?
        } else {
            place.to_path_buf()
        };
        check_replaceable(&place)?;
        let parent = place
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty())
            .map_or_else(|| PathBuf::from("."), Path::to_path_buf);
        fs::create_dir_all(&parent).map_err(|cause| Error::output(&parent, cause))?;
        let folder = tempfile::Builder::new()
            .prefix(".xreduce-")
            .permissions(fs::Permissions::from_mode(0o777))
            .tempdir_in(&parent)
            .map_err(|cause| Error::output(&parent, cause))?;
        Ok(Draft { folder, place })
    }

    /// Writes one file, `name` with `/` between folders.
    ///
    /// # Errors
    /// [`Error::Output`], e.g. when the disk is full.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<(), Error> {
        let path = self.folder.path().join(name);
        let told = |cause: std::io::Error| Error::output(&self.place.join(name), format!("cannot be written: {cause}"));
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(told)?;
        }
        let mut file = fs::File::create(&path).map_err(told)?;
        std::io::Write::write_all(&mut file, bytes).map_err(told)?;
        file.sync_all().map_err(told)
    }

    /// Where the draft is now.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Puts the draft in its place. What was there is gone afterwards; if this fails it is untouched.
    ///
    /// # Errors
    /// [`Error::Output`].
    pub fn publish(self) -> Result<(), Error> {
        let told = |cause: std::io::Error| Error::output(&self.place, format!("cannot be replaced: {cause}"));
        if !self.place.exists() {
            fs::rename(self.folder.path(), &self.place).map_err(told)?;
            let _moved = self.folder.keep();
            return Ok(());
        }
        // One step where the file system can exchange two folders; the old bundle then goes with the draft's folder.
        if renameat_with(CWD, self.folder.path(), CWD, &self.place, RenameFlags::EXCHANGE).is_ok() {
            return Ok(());
        }
        let old = self.folder.path().with_extension("old");
        fs::rename(&self.place, &old).map_err(told)?;
        if let Err(cause) = fs::rename(self.folder.path(), &self.place) {
            fs::rename(&old, &self.place).map_err(told)?;
            return Err(told(cause));
        }
        let _moved = self.folder.keep();
        fs::remove_dir_all(&old).map_err(|cause| Error::output(&old, cause))
    }
}

/// A folder is ours to replace if every file in it is named by its manifest.
fn check_replaceable(place: &Path) -> Result<(), Error> {
    if !place.exists() {
        return Ok(());
    }
    if !place.is_dir() {
        return Err(Error::output(place, "is no folder; give another place with --out"));
    }
    let mut entries = std::fs::read_dir(place).map_err(|cause| Error::output(place, cause))?;
    if entries.next().is_none() {
        return Ok(());
    }
    if !place.join(MANIFEST).is_file() {
        return Err(Error::output(
            place,
            "holds files and no manifest.json, so it is no bundle and is not replaced; give another place with --out",
        ));
    }
    let listed = loosely_listed_files(&place.join(MANIFEST))?;
    let found = files_below(place)?;
    match found.iter().find(|file| !listed.contains(*file)) {
        None => Ok(()),
        Some(stray) => Err(Error::output(
            &place.join(stray),
            "is not a file of a bundle, so its folder is not replaced; remove it or give another place with --out",
        )),
    }
}

/// Reads and checks a bundle's manifest, without looking at the other files.
///
/// # Errors
/// [`Error::Input`] when it is missing, no JSON of this schema, or of another schema.
pub fn read_manifest(bundle: &Path) -> Result<Manifest, Error> {
    let path = bundle.join(MANIFEST);
    let text = fs::read_to_string(&path).map_err(|cause| Error::input(&path, format!("cannot be read: {cause}")))?;
    let schema = serde_json::from_str::<serde_json::Value>(&text).ok().and_then(|value| value.get("schema")?.as_u64());
    if let Some(schema) = schema.filter(|schema| *schema != u64::from(SCHEMA)) {
        return Err(Error::input(&path, format!("has schema {schema}, expected {SCHEMA}")));
    }
    serde_json::from_str(&text).map_err(|cause| Error::Input {
        path: path.clone(),
        line: Some(cause.line()),
        message: format!("is no manifest: {cause}"),
    })
}

/// Checks a bundle against its manifest: every listed file there with its size, hash, kernels and arguments, and no other.
///
/// # Errors
/// [`Error::Input`] for a manifest that cannot be read, [`Error::Gate`] with everything else that differs.
pub fn audit(bundle: &Path) -> Result<Manifest, Error> {
    let manifest = read_manifest(bundle)?;
    let mut rejections = Vec::new();
    let mut reject = |code: &str, file: &str, message: String| {
        rejections.push(Rejection {
            code: code.to_owned(),
            file: file.to_owned(),
            kernel: None,
            template: None,
            message,
        });
    };
    let listed = listed_files(&manifest);
    for stray in files_below(bundle)?.difference(&listed) {
        reject("file-unlisted", stray, "is in the bundle but not in its manifest".to_owned());
    }
    let mut faults = Vec::new();
    for target in &manifest.targets {
        for module in &target.modules {
            let path = bundle.join(&module.file);
            let bytes = match fs::read(&path) {
                Ok(bytes) => bytes,
                Err(cause) => {
                    reject("file-missing", &module.file, format!("cannot be read: {cause}"));
                    continue;
                }
            };
            let (found, size) = (hex(&Sha256::digest(&bytes)), bytes.len() as u64);
            if (&found, size) != (&module.sha256, module.bytes) {
                let expected = format!("expected {} bytes with SHA-256 {}", module.bytes, module.sha256);
                reject("hash-mismatch", &module.file, format!("{expected}, found {size} bytes with {found}"));
                continue;
            }
            let kernels: Vec<_> = module.kernels.iter().map(|entry| entry.kernel(module.world)).collect();
            for entry in &module.kernels {
                let kernel = entry.kernel(module.world);
                let declared = xreduce_contract::kernel_arguments(&kernel);
                if entry.symbol != kernel.symbol() || entry.arguments != declared {
                    reject(
                        "entry-mismatch",
                        &module.file,
                        format!("the entry of `{}` is not that of the contract's `{}`", entry.symbol, kernel.symbol()),
                    );
                }
            }
            match gate::judge(&module.file, &bytes, &kernels, |_| None) {
                Ok(passed) if passed.format == module.format => {}
                Ok(passed) => reject(
                    "format-mismatch",
                    &module.file,
                    format!("expected {:?}, found {:?}", module.format, passed.format),
                ),
                Err(more) => faults.extend(more),
            }
        }
    }
    rejections.extend(faults);
    if rejections.is_empty() { Ok(manifest) } else { Err(Error::Gate(rejections)) }
}

/// The files that a manifest lists, also one of another version of this program.
fn loosely_listed_files(path: &Path) -> Result<BTreeSet<String>, Error> {
    let text = fs::read_to_string(path).map_err(|cause| Error::input(path, format!("cannot be read: {cause}")))?;
    let manifest: serde_json::Value = serde_json::from_str(&text).map_err(|cause| Error::Input {
        path: path.to_owned(),
        line: Some(cause.line()),
        message: format!("is no manifest: {cause}"),
    })?;
    let list = |value: &serde_json::Value, key: &str| value.get(key).and_then(|list| list.as_array()).cloned();
    let targets = list(&manifest, "targets").unwrap_or_default();
    let modules = targets.iter().filter_map(|target| list(target, "modules")).flatten();
    let files = modules.filter_map(|module| Some(module.get("file")?.as_str()?.to_owned()));
    Ok(files.chain([MANIFEST.to_owned()]).collect())
}

fn listed_files(manifest: &Manifest) -> BTreeSet<String> {
    let modules = manifest.targets.iter().flat_map(|target| target.modules.iter().map(|module| module.file.clone()));
    modules.chain([MANIFEST.to_owned()]).collect()
}

/// Every file below a folder, with `/` between folders.
fn files_below(folder: &Path) -> Result<BTreeSet<String>, Error> {
    let mut found = BTreeSet::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next).map_err(|cause| Error::input(&next, cause.to_string()))? {
            let entry = entry.map_err(|cause| Error::input(&next, cause.to_string()))?;
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push(entry.path());
            } else if let Ok(name) = entry.path().strip_prefix(folder) {
                found.insert(name.to_string_lossy().replace('\\', "/"));
            }
        }
    }
    Ok(found)
}
