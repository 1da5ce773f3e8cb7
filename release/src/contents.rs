//! The files of a release, and the step that puts them in their place.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use crate::error::Error;

/// Name of the list of checksums, in the form that `sha256sum --check` reads.
pub const SUMS: &str = "SHA256SUMS";

/// Paths, with `/`, and bytes.
pub type Contents = BTreeMap<String, Vec<u8>>;

/// SHA-256, hexadecimal.
#[must_use]
pub(crate) fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _written = write!(text, "{byte:02x}");
        text
    })
}

/// Adds [`SUMS`] over all other files.
pub(crate) fn add_sums(contents: &mut Contents) {
    contents.remove(SUMS);
    let lines = contents.iter().map(|(name, bytes)| format!("{}  {name}\n", sha256(bytes)));
    let text: String = lines.collect();
    contents.insert(SUMS.to_owned(), text.into_bytes());
}

/// Writes a release beside `place` and moves it there. An earlier release in that place goes; anything else stays, as an error.
///
/// # Errors
/// [`Error::Output`]; what was in the place is then as it was.
pub fn publish(contents: &Contents, place: &Path) -> Result<(), Error> {
    check_replaceable(place)?;
    let parent = place.parent().filter(|parent| !parent.as_os_str().is_empty());
    let parent = parent.map_or_else(|| PathBuf::from("."), Path::to_path_buf);
    fs::create_dir_all(&parent).map_err(|cause| Error::output(&parent, cause))?;
    let draft = tempfile::Builder::new().prefix(".xreduce-").tempdir_in(&parent);
    let draft = draft.map_err(|cause| Error::output(&parent, cause))?;
    let (fresh, old) = (draft.path().join("new"), draft.path().join("old"));
    for (name, bytes) in contents {
        let path = fresh.join(name);
        let told = |cause: std::io::Error| Error::output(&place.join(name), format!("cannot be written: {cause}"));
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(told)?;
        }
        let mut file = fs::File::create(&path).map_err(told)?;
        std::io::Write::write_all(&mut file, bytes).and_then(|()| file.sync_all()).map_err(told)?;
    }
    let told = |cause: std::io::Error| Error::output(place, format!("cannot be replaced: {cause}"));
    let replaces = place.exists();
    if replaces {
        fs::rename(place, &old).map_err(told)?;
    }
    if let Err(cause) = fs::rename(&fresh, place) {
        if replaces {
            fs::rename(&old, place).map_err(told)?;
        }
        return Err(told(cause));
    }
    Ok(())
}

/// A folder is ours to replace if it is empty, or if its list of checksums names every file in it.
fn check_replaceable(place: &Path) -> Result<(), Error> {
    if !place.exists() {
        return Ok(());
    }
    if !place.is_dir() {
        return Err(Error::output(place, "is no folder; give another place with --out"));
    }
    let found = files_below(place)?;
    if found.is_empty() {
        return Ok(());
    }
    let Ok(sums) = fs::read_to_string(place.join(SUMS)) else {
        let message = format!("holds files and no {SUMS}, so it is no release and is not replaced");
        return Err(Error::output(place, message));
    };
    let listed: BTreeSet<&str> = sums.lines().filter_map(|line| Some(line.split_once("  ")?.1)).collect();
    match found.iter().find(|name| *name != SUMS && !listed.contains(name.as_str())) {
        None => Ok(()),
        Some(stray) => {
            let message = format!("is not listed in the release's {SUMS}, so its folder is not replaced");
            Err(Error::output(&place.join(stray), message))
        }
    }
}

/// Every file below a folder, with `/` between folders.
fn files_below(folder: &Path) -> Result<BTreeSet<String>, Error> {
    let mut found = BTreeSet::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next).map_err(|cause| Error::output(&next, cause))? {
            let entry = entry.map_err(|cause| Error::output(&next, cause))?;
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push(entry.path());
            } else if let Ok(name) = entry.path().strip_prefix(folder) {
                found.insert(name.to_string_lossy().replace('\\', "/"));
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some() -> Contents {
        let mut contents = Contents::from([("a/b".to_owned(), b"one".to_vec()), ("c".to_owned(), Vec::new())]);
        add_sums(&mut contents);
        contents
    }

    #[test]
    fn only_a_release_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("place");
        publish(&some(), &place).unwrap();
        let mut other = Contents::from([("d".to_owned(), b"two".to_vec())]);
        add_sums(&mut other);
        publish(&other, &place).unwrap();
        assert_eq!(files_below(&place).unwrap().into_iter().collect::<Vec<_>>(), [SUMS, "d"]);

        fs::write(place.join("mine"), "mine").unwrap();
        let error = publish(&some(), &place).unwrap_err().to_string();
        assert!(error.contains("mine: is not listed"), "{error}");
        fs::remove_file(place.join(SUMS)).unwrap();
        assert!(publish(&some(), &place).unwrap_err().to_string().contains("no SHA256SUMS"));
        assert!(publish(&some(), &place.join("mine")).unwrap_err().to_string().contains("is no folder"));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "a draft was left");
    }

    #[test]
    fn sums_are_those_of_the_files() {
        let sums = String::from_utf8(some().remove(SUMS).unwrap()).unwrap();
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  c";
        assert_eq!(sums.lines().nth(1), Some(empty));
    }
}
