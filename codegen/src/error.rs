//! Everything that can go wrong between a target file and a bundle, by whose fault it is.

use std::fmt;
use std::path::{Path, PathBuf};

/// Why a build failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// What the user gave: a file or folder, where in it, and what was expected.
    Input {
        /// The file or folder.
        path: PathBuf,
        /// Line, counted from 1, where one is known.
        line: Option<usize>,
        /// What is wrong and what was expected.
        message: String,
    },
    /// A choice on the command line that names nothing.
    Choice(String),
    /// A template: its own name and line.
    Template {
        /// Template file.
        path: PathBuf,
        /// Line in it, counted from 1, where one is known.
        line: Option<usize>,
        /// The module that was being made, e.g. `gfx1100 w2`.
        module: String,
        /// What Tera or LLVM said.
        message: String,
    },
    /// LLVM or LLD failed or crashed on one module, which is kept for a report.
    Lowering {
        /// The module, e.g. `gfx1100 w2`.
        module: String,
        /// What LLVM or LLD said.
        message: String,
        /// Where the module's IR was kept.
        kept: Option<PathBuf>,
    },
    /// The gate: an artifact breaks rules of the verifier's strict profile.
    Gate(Vec<Rejection>),
    /// Files could not be written or replaced.
    Output {
        /// File or folder.
        path: PathBuf,
        /// What happened.
        message: String,
    },
    /// The user stopped the build.
    Interrupted,
}

/// One finding of the gate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// Code of the rule.
    pub code: String,
    /// The artifact, as it would be called in the bundle.
    pub file: String,
    /// The kernel, where the finding is about one.
    pub kernel: Option<String>,
    /// The template that kernel comes from.
    pub template: Option<PathBuf>,
    /// What was found.
    pub message: String,
}

impl Error {
    pub(crate) fn input(path: &Path, message: impl Into<String>) -> Error {
        Error::Input { path: path.to_path_buf(), line: None, message: message.into() }
    }

    pub(crate) fn output(path: &Path, message: impl fmt::Display) -> Error {
        Error::Output { path: path.to_path_buf(), message: message.to_string() }
    }
}

fn place(f: &mut fmt::Formatter<'_>, path: &Path, line: Option<usize>) -> fmt::Result {
    write!(f, "{}", path.display())?;
    line.map_or(Ok(()), |line| write!(f, ":{line}"))
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Input { path, line, message } => {
                place(f, path, *line)?;
                write!(f, ": {message}")
            }
            Error::Choice(message) => f.write_str(message),
            Error::Template { path, line, module, message } => {
                place(f, path, *line)?;
                write!(f, ": {message} (in module {module})")
            }
            Error::Lowering { module, message, kept } => {
                write!(f, "module {module}: {message}")?;
                kept.as_ref().map_or(Ok(()), |path| write!(f, "\n  its IR is kept in {}", path.display()))
            }
            Error::Gate(rejections) => {
                write!(f, "the verifier rejects {} of the build", plural(rejections.len(), "finding"))?;
                for rejection in rejections {
                    write!(f, "\n  {rejection}")?;
                }
                Ok(())
            }
            Error::Output { path, message } => write!(f, "{}: {message}", path.display()),
            Error::Interrupted => f.write_str("interrupted; nothing was changed"),
        }
    }
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}] {}", self.code, self.file)?;
        if let Some(kernel) = &self.kernel {
            write!(f, ": {kernel}")?;
        }
        if let Some(template) = &self.template {
            write!(f, " ({})", template.display())?;
        }
        write!(f, ": {}", self.message)
    }
}

fn plural(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

impl std::error::Error for Error {}
