//! Why bytes could not be read as a format. Becomes a [`crate::Fault`] of an inspection.

use crate::model::FaultKind;

/// A reader's refusal. The path of the image is added by whoever called the reader.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// The bytes contradict their format.
    #[error("{what}: {detail}")]
    Malformed {
        /// The part that was being read.
        what: &'static str,
        /// What was found and what was expected.
        detail: String,
    },
    /// Well formed as far as can be seen, but not understood by this version.
    #[error("{what}: {detail}")]
    Unsupported {
        /// The part that was being read.
        what: &'static str,
        /// What was found and what is understood.
        detail: String,
    },
}

impl ReadError {
    pub(crate) fn malformed(what: &'static str, detail: impl Into<String>) -> Self {
        Self::Malformed { what, detail: detail.into() }
    }

    pub(crate) fn unsupported(what: &'static str, detail: impl Into<String>) -> Self {
        Self::Unsupported { what, detail: detail.into() }
    }

    /// The fault class that this refusal becomes.
    #[must_use]
    pub fn kind(&self) -> FaultKind {
        match self {
            Self::Malformed { .. } => FaultKind::Malformed,
            Self::Unsupported { .. } => FaultKind::Unreadable,
        }
    }
}
