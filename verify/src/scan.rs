//! Files, folders and standard input as inputs.
//!
//! Files are mapped, not read: of a library of 2 GB only headers, notes and symbol tables are ever
//! touched.

#![allow(unsafe_code, reason = "mapping a file; see SAFETY")]

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;

use memmap2::{Mmap, UncheckedAdvice};
use rayon::prelude::*;

use crate::containers::{Place, Walker};
use crate::facts::Detail;
use crate::limits::Limits;
use crate::model::{FaultKind, Inspection, Skipped};

/// Smaller parts are not worth a call to the system.
const RELEASE_BYTES: usize = 1 << 20;

/// An input that cannot be opened.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {cause}")]
pub struct OpenError {
    /// The file or folder.
    pub path: PathBuf,
    /// The system's answer.
    pub cause: std::io::Error,
}

/// How to scan.
#[derive(Clone, Copy)]
pub struct Scan<'s> {
    /// Bounds on what an input may cost.
    pub limits: Limits,
    /// How much of each kernel is kept.
    pub detail: Detail,
    /// Host symbols to look for.
    pub symbols: &'s BTreeSet<String>,
    /// Called with the bytes of each file once it is done, from any thread.
    pub progress: &'s (dyn Fn(u64) + Sync),
}

impl std::fmt::Debug for Scan<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Scan")
            .field("limits", &self.limits)
            .field("detail", &self.detail)
            .field("symbols", &self.symbols)
            .finish_non_exhaustive()
    }
}

impl Scan<'_> {
    /// Inspects a file, or all files below a folder, as one input. `-` is standard input.
    ///
    /// # Errors
    /// The first file or folder that cannot be opened.
    pub fn path(&self, path: &Path) -> Result<Inspection, OpenError> {
        let name = path.display().to_string();
        let mut inspection = Inspection { name: name.clone(), ..Inspection::default() };
        if name == "-" {
            let mut bytes = Vec::new();
            std::io::stdin()
                .lock()
                .take(self.limits.object_bytes)
                .read_to_end(&mut bytes)
                .map_err(|cause| OpenError { path: path.to_owned(), cause })?;
            let work = AtomicU64::new(self.limits.work(bytes.len() as u64));
            if bytes.len() as u64 >= self.limits.object_bytes {
                let message = format!("standard input goes on after {} bytes", bytes.len());
                inspection.fault(&Place::root("-"), FaultKind::Unreadable, message);
            }
            inspection.join(self.walker(&|_| {}, &work).walk(&bytes, &Place::root("-")));
            return Ok(inspection);
        }
        let mut files = Vec::new();
        list(path, true, &mut files, &mut inspection.skipped)?;
        let parts: Vec<Result<Inspection, OpenError>> = files.par_iter().map(|file| self.file(file)).collect();
        for part in parts {
            inspection.join(part?);
        }
        Ok(inspection)
    }

    fn walker<'w>(&'w self, done: &'w (dyn Fn(&[u8]) + Sync), work: &'w AtomicU64) -> Walker<'w> {
        Walker { limits: self.limits, detail: self.detail, wanted: self.symbols, done, work }
    }

    fn file(&self, path: &Path) -> Result<Inspection, OpenError> {
        let failed = |cause| OpenError { path: path.to_owned(), cause };
        let file = File::open(path).map_err(failed)?;
        let length = file.metadata().map_err(failed)?.len();
        let place = Place::root(&path.display().to_string());
        let work = AtomicU64::new(self.limits.work(length));
        let found = if length == 0 {
            self.walker(&|_| {}, &work).walk(&[], &place)
        } else {
            // SAFETY: the map is private and read-only, and lives to the end of this block only. A
            // process that changes the file meanwhile can make two reads of a byte differ; every
            // reader here checks each offset at its use and keeps no reference into the map. One
            // that truncates the file ends this process with SIGBUS, as it would any mapped reader.
            let map = unsafe { Mmap::map(&file) }.map_err(failed)?;
            self.walker(&|part| release(&map, part), &work).walk(&map, &place)
        };
        (self.progress)(length);
        Ok(found)
    }
}

/// Lets the system drop the pages of `part`, if it lies in `map`: pages that were read once would
/// otherwise count as this process's memory to its end. Only a hint, so a refusal is no error.
fn release(map: &Mmap, part: &[u8]) {
    let Some(start) = part.as_ptr().addr().checked_sub(map.as_ptr().addr()) else {
        return;
    };
    if part.len() >= RELEASE_BYTES && start.checked_add(part.len()).is_some_and(|end| end <= map.len()) {
        // SAFETY: the map is a read-only view of a file. Dropping its pages loses nothing that was
        // written, and a later read brings the same bytes of the file back.
        let _ = unsafe { map.unchecked_advise_range(UncheckedAdvice::DontNeed, start, part.len()) };
    }
}

/// Bytes of all files at or below `path`, for a progress bar.
///
/// # Errors
/// The first file or folder that cannot be opened.
pub fn size(path: &Path) -> Result<u64, OpenError> {
    let mut files = Vec::new();
    list(path, true, &mut files, &mut Vec::new())?;
    let length = |file: &PathBuf| std::fs::metadata(file).map_or(0, |metadata| metadata.len());
    Ok(files.iter().map(length).sum())
}

/// Regular files below `path`, sorted. Links are followed only if named by the user: in a folder
/// they lead to files that are there under another name, or outside.
fn list(path: &Path, named: bool, files: &mut Vec<PathBuf>, skipped: &mut Vec<Skipped>) -> Result<(), OpenError> {
    let failed = |cause| OpenError { path: path.to_owned(), cause };
    let metadata = if named { path.metadata() } else { path.symlink_metadata() }.map_err(failed)?;
    if metadata.is_dir() {
        let entries: Result<Vec<PathBuf>, _> =
            path.read_dir().map_err(failed)?.map(|entry| entry.map(|entry| entry.path())).collect();
        let mut entries = entries.map_err(failed)?;
        entries.sort_unstable();
        for entry in &entries {
            list(entry, false, files, skipped)?;
        }
    } else if metadata.is_file() {
        files.push(path.to_owned());
    } else {
        let reason = if metadata.is_symlink() { "symbolic link" } else { "no regular file" };
        skipped.push(Skipped { path: path.display().to_string(), reason: reason.to_owned() });
    }
    Ok(())
}
