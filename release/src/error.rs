//! Why a bundle could not be packed, by whose fault it is.

use std::fmt;
use std::path::{Path, PathBuf};

/// What went wrong, where, and what was expected.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A manifest or a build, in the builder's own words.
    #[error(transparent)]
    Bundle(#[from] xreduce_codegen::Error),
    /// A file that was given, or is listed, is not what it should be.
    #[error("{}: {message}", path.display())]
    Input {
        /// The file or folder.
        path: PathBuf,
        /// What is wrong and what was expected.
        message: String,
    },
    /// The bundle is sound, but the format cannot carry what it holds, or nothing of it.
    #[error("format {format}: {message}")]
    Format {
        /// The format's word.
        format: &'static str,
        /// What was expected.
        message: String,
    },
    /// Another program was needed and failed.
    #[error("{}: {message}", program.display())]
    Program {
        /// The program.
        program: PathBuf,
        /// What it said.
        message: String,
    },
    /// Two bundles that should be equal are not, or a shard does not fit.
    #[error("{0}")]
    Differs(String),
    /// Files could not be written or put in their place.
    #[error("{}: {message}", path.display())]
    Output {
        /// File or folder.
        path: PathBuf,
        /// What happened.
        message: String,
    },
}

impl Error {
    pub(crate) fn input(path: &Path, message: impl fmt::Display) -> Error {
        Error::Input { path: path.to_path_buf(), message: message.to_string() }
    }

    pub(crate) fn output(path: &Path, message: impl fmt::Display) -> Error {
        Error::Output { path: path.to_path_buf(), message: message.to_string() }
    }
}
