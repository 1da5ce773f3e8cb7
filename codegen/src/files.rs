//! Where templates and targets come from: embedded in the binary, or a folder that takes their place.

use std::path::{Path, PathBuf};

use include_dir::{Dir, include_dir};

use crate::error::Error;

static TEMPLATES: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/../templates");
static TARGETS: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/../targets");

/// A set of text files, sorted by name.
#[derive(Clone, Debug)]
pub struct Files {
    files: Vec<(String, String)>,
    origin: PathBuf,
}

impl Files {
    /// The templates in this binary, or those of `folder`.
    ///
    /// # Errors
    /// [`Error::Input`] when the folder or a file in it cannot be read as UTF-8 text.
    pub fn templates(folder: Option<&Path>) -> Result<Files, Error> {
        Files::read(folder, &TEMPLATES, "templates", ".tera")
    }

    /// The target files in this binary, or those of `folder`.
    ///
    /// # Errors
    /// As [`Files::templates`].
    pub fn targets(folder: Option<&Path>) -> Result<Files, Error> {
        Files::read(folder, &TARGETS, "targets", ".yaml")
    }

    fn read(folder: Option<&Path>, embedded: &Dir<'_>, origin: &str, extension: &str) -> Result<Files, Error> {
        let mut files = Vec::new();
        let origin = folder.map_or_else(|| PathBuf::from(origin), Path::to_path_buf);
        match folder {
            Some(folder) => read_folder(folder, folder, extension, &mut files)?,
            None => read_embedded(embedded, extension, &mut files),
        }
        if files.is_empty() {
            return Err(Error::input(&origin, format!("holds no file that ends in `{extension}`")));
        }
        files.sort();
        Ok(Files { files, origin })
    }

    /// Name (path inside the set, with `/`) and text of each file.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().map(|(name, text)| (name.as_str(), text.as_str()))
    }

    /// Text of the file `name`.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.iter().find(|(known, _)| *known == name).map(|(_, text)| text)
    }

    /// How a user finds the file `name`: below the folder that was given, or below the embedded set's name.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.origin.join(name)
    }
}

fn read_embedded(folder: &Dir<'_>, extension: &str, files: &mut Vec<(String, String)>) {
    for file in folder.files() {
        let name = file.path().to_string_lossy().replace('\\', "/");
        if let (true, Some(text)) = (name.ends_with(extension), file.contents_utf8()) {
            files.push((name, text.to_owned()));
        }
    }
    for inner in folder.dirs() {
        read_embedded(inner, extension, files);
    }
}

fn read_folder(root: &Path, folder: &Path, extension: &str, files: &mut Vec<(String, String)>) -> Result<(), Error> {
    let entries =
        std::fs::read_dir(folder).map_err(|cause| Error::input(folder, format!("cannot be listed: {cause}")))?;
    for entry in entries {
        let path = entry.map_err(|cause| Error::input(folder, format!("cannot be listed: {cause}")))?.path();
        if path.is_dir() {
            read_folder(root, &path, extension, files)?;
        } else if path.to_string_lossy().ends_with(extension) {
            let text = std::fs::read_to_string(&path)
                .map_err(|cause| Error::input(&path, format!("cannot be read: {cause}")))?;
            let name = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().replace('\\', "/");
            files.push((name, text));
        }
    }
    Ok(())
}
