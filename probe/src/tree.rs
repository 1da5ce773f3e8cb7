//! Files below a root folder: the machine's own (`/`) or a recorded copy of it.
//!
//! A recorded tree may come from anybody, so nothing outside the root is read, only regular files are opened (a pipe would
//! block), and every read is bounded. What is absent is no trouble: sysfs leaves out what does not apply. What is there and
//! cannot be read is kept and told.

use std::cell::RefCell;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

use serde::Serialize;

use crate::Error;

/// Longest text of an attribute that is kept, in characters.
const LONGEST_WORD: usize = 120;
/// Most of a text file that is read, in bytes; `/proc/cpuinfo` is the longest that we want.
const LONGEST_TEXT: u64 = 64 * 1024;
/// Most of a configuration space: 4096 bytes (PCI Express Base Specification, section 7.2).
const LONGEST_CONFIG: u64 = 4096;
/// Most entries of a folder; a server has a few thousand PCI functions.
const MOST_ENTRIES: usize = 16 * 1024;
/// Most troubles that are kept.
const MOST_TROUBLES: usize = 32;

/// Something that is there and could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unread {
    /// Path below the root, with a leading slash.
    pub path: String,
    /// Why.
    pub cause: String,
}

/// The root folder.
#[derive(Debug)]
pub(crate) struct Tree {
    root: PathBuf,
    unread: RefCell<Vec<Unread>>,
}

impl Tree {
    pub(crate) fn open(root: &Path) -> Result<Self, Error> {
        let open = |source| Error::Root { path: root.to_owned(), source };
        let canonical = root.canonicalize().map_err(open)?;
        fs::read_dir(&canonical).map_err(open)?;
        Ok(Self { root: canonical, unread: RefCell::default() })
    }

    /// What could not be read so far.
    pub(crate) fn unread(self) -> Vec<Unread> {
        self.unread.into_inner()
    }

    /// Keeps a trouble that a reader of the bytes found.
    pub(crate) fn note(&self, path: &str, cause: impl Into<String>) {
        let mut unread = self.unread.borrow_mut();
        let trouble = Unread { path: format!("/{}", clean(path)), cause: cause.into() };
        if unread.len() < MOST_TROUBLES && !unread.contains(&trouble) {
            unread.push(trouble);
        }
    }

    fn failed(&self, path: &str, error: &io::Error) {
        if error.kind() != io::ErrorKind::NotFound && error.kind() != io::ErrorKind::NotADirectory {
            self.note(path, error.to_string());
        }
    }

    /// The real place of a path, symbolic links followed, below the root.
    fn resolve(&self, path: &str) -> Option<PathBuf> {
        match self.root.join(path).canonicalize() {
            Ok(real) if real.starts_with(&self.root) => Some(real),
            Ok(_) => {
                self.note(path, "leads out of the tree");
                None
            }
            Err(error) => {
                self.failed(path, &error);
                None
            }
        }
    }

    /// The first `limit` bytes of a regular file.
    fn read(&self, path: &str, limit: u64) -> Option<Vec<u8>> {
        let real = self.resolve(path)?;
        let read = || {
            if !fs::metadata(&real)?.is_file() {
                return Err(io::Error::other("not a file"));
            }
            let mut bytes = Vec::new();
            File::open(&real)?.take(limit).read_to_end(&mut bytes)?;
            Ok(bytes)
        };
        read().map_err(|error| self.failed(path, &error)).ok()
    }

    /// A text file, as it is; bytes that are no UTF-8 are replaced.
    pub(crate) fn text(&self, path: &str) -> Option<String> {
        self.read(path, LONGEST_TEXT).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    /// A file that holds one word or line, fit to be printed.
    pub(crate) fn word(&self, path: &str) -> Option<String> {
        self.text(path).map(|text| clean(text.trim())).filter(|word| !word.is_empty())
    }

    /// A decimal number, or a hexadecimal one after `0x`.
    pub(crate) fn number(&self, path: &str) -> Option<u64> {
        let word = self.word(path)?;
        let number = match word.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16),
            None => word.parse(),
        };
        number.map_err(|_| self.note(path, format!("`{word}` is no number"))).ok()
    }

    /// A configuration space, as much of it as is shown.
    pub(crate) fn config(&self, path: &str) -> Vec<u8> {
        self.read(path, LONGEST_CONFIG).unwrap_or_default()
    }

    /// Names in a folder, sorted; empty if there is none.
    pub(crate) fn names(&self, path: &str) -> Vec<String> {
        let Some(real) = self.resolve(path) else { return Vec::new() };
        match fs::read_dir(real) {
            Ok(entries) => {
                let names = entries.take(MOST_ENTRIES).flatten().map(|entry| entry.file_name());
                let mut names: Vec<String> = names.filter_map(|name| name.into_string().ok()).collect();
                names.sort_unstable();
                names
            }
            Err(error) => {
                self.failed(path, &error);
                Vec::new()
            }
        }
    }

    /// Whether the path leads anywhere.
    pub(crate) fn has(&self, path: &str) -> bool {
        self.resolve(path).is_some()
    }

    /// Last name of a symbolic link's target, which need not exist.
    pub(crate) fn link(&self, path: &str) -> Option<String> {
        // The folder is resolved and the link itself only read, so a link cannot lead out.
        let (folder, name) = path.rsplit_once('/')?;
        let target = fs::read_link(self.resolve(folder)?.join(name)).ok()?;
        target.file_name().and_then(|name| name.to_str()).map(clean)
    }

    /// Names on the real path of a folder, from the root down, symbolic links followed.
    pub(crate) fn lineage(&self, path: &str) -> Vec<String> {
        let Some(real) = self.resolve(path) else { return Vec::new() };
        let below = real.strip_prefix(&self.root).unwrap_or(&real);
        let name = |part: Component<'_>| part.as_os_str().to_str().map(str::to_owned);
        below.components().filter_map(name).collect()
    }
}

/// Text from a file that may hold anything, fit for a terminal: no control characters, not long.
fn clean(text: &str) -> String {
    let printable = |letter: char| if letter.is_control() { '?' } else { letter };
    text.chars().take(LONGEST_WORD).map(printable).collect()
}
