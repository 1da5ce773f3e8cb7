//! Reads a bundle: its manifest, and each module with the checksum that the manifest gives.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use xreduce_contract::manifest::{Manifest, Module, SCHEMA};

/// A folder with a manifest.
#[derive(Debug, Clone, PartialEq)]
pub struct Bundle {
    /// The folder.
    pub folder: PathBuf,
    /// Its manifest.
    pub manifest: Manifest,
}

/// Why a bundle cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// A file cannot be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// The manifest is not one.
    #[error("{}: {source}", path.display())]
    Manifest {
        /// The file.
        path: PathBuf,
        /// What was expected where.
        source: serde_json::Error,
    },
    /// The manifest has another schema.
    #[error("{}: schema {found}, and only {SCHEMA} is known", path.display())]
    Schema {
        /// The file.
        path: PathBuf,
        /// Its schema.
        found: u64,
    },
    /// A file is not the one that the manifest was written for.
    #[error("{}: its SHA-256 is {found}, and the manifest says {expected}", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
        /// What the file has.
        found: String,
        /// What the manifest says.
        expected: String,
    },
}

impl Bundle {
    /// Reads the manifest of a bundle.
    ///
    /// # Errors
    /// [`BundleError`] if it cannot be read or is of another schema.
    pub fn open(folder: &Path) -> Result<Self, BundleError> {
        let path = manifest_path(folder);
        let text = read(&path)?;
        let wrong = |source| BundleError::Manifest { path: path.clone(), source };
        // The schema first: a later one may have other fields.
        let any: serde_json::Value = serde_json::from_slice(&text).map_err(wrong)?;
        match any.get("schema").and_then(serde_json::Value::as_u64) {
            Some(found) if found != u64::from(SCHEMA) => return Err(BundleError::Schema { path, found }),
            _ => {}
        }
        let manifest = serde_json::from_slice(&text).map_err(wrong)?;
        Ok(Self { folder: folder.to_owned(), manifest })
    }

    /// The bytes of a module.
    ///
    /// # Errors
    /// [`BundleError`] if it cannot be read or is not the file that the manifest describes.
    pub fn module(&self, module: &Module) -> Result<Vec<u8>, BundleError> {
        let path = self.folder.join(&module.file);
        let bytes = read(&path)?;
        let found: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        if found != module.sha256 {
            return Err(BundleError::Changed { path, found, expected: module.sha256.clone() });
        }
        Ok(bytes)
    }

    /// Writes the manifest back. A reader sees the old one or the new one, whole.
    ///
    /// # Errors
    /// [`BundleError::File`]; the old manifest stays then.
    pub fn save(&self) -> Result<(), BundleError> {
        let path = manifest_path(&self.folder);
        let fail = |source| BundleError::File { path: path.clone(), source };
        let text = self.manifest.to_text().map_err(|error| fail(error.into()))?;
        let mut file = tempfile::NamedTempFile::new_in(&self.folder).map_err(fail)?;
        file.write_all(text.as_bytes()).map_err(fail)?;
        if let Ok(old) = fs::metadata(&path) {
            file.as_file().set_permissions(old.permissions()).map_err(fail)?;
        }
        file.persist(&path).map_err(|error| fail(error.error))?;
        Ok(())
    }
}

fn manifest_path(folder: &Path) -> PathBuf {
    folder.join("manifest.json")
}

fn read(path: &Path) -> Result<Vec<u8>, BundleError> {
    fs::read(path).map_err(|source| BundleError::File { path: path.to_owned(), source })
}
