//! A verdict on one thing, as data.

use serde::Serialize;

/// How much a finding weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Looked at and well.
    Good,
    /// Worth knowing.
    Note,
    /// Costs speed, or may.
    Warning,
    /// Could not be decided here.
    Undecided,
    /// Something will not run, or not as it should.
    Fault,
}

/// What a finding is about; the words are stable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Code {
    /// No GPU of the three vendors.
    NoGpu,
    /// Registers that this user may not read.
    Privileges,
    /// A card that reads as all ones.
    CardSilent,
    /// AMD's compute driver is there and does not list the card.
    CardNotServed,
    /// Whether kernels that declare a hostcall buffer will be launched.
    Hostcall,
    /// Lanes of the link out of the card.
    LinkWidth,
    /// Speed of that link.
    LinkSpeed,
    /// Part of the card's memory that others reach.
    VisibleMemory,
    /// Direct access between two cards.
    PeerAccess,
    /// A driver that finds no device although there is a card for it, or one of our kernels that it does not run.
    Driver,
}

impl Code {
    /// The stable word.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::NoGpu => "no-gpu",
            Self::Privileges => "privileges",
            Self::CardSilent => "card-silent",
            Self::CardNotServed => "card-not-served",
            Self::Hostcall => "hostcall",
            Self::LinkWidth => "link-width",
            Self::LinkSpeed => "link-speed",
            Self::VisibleMemory => "visible-memory",
            Self::PeerAccess => "peer-access",
            Self::Driver => "driver",
        }
    }
}

/// A verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What it is about.
    pub code: Code,
    /// Its weight.
    pub severity: Severity,
    /// Numbers of the cards it is about.
    pub cards: Vec<usize>,
    /// The verdict, a sentence.
    pub message: String,
    /// What it rests on.
    pub evidence: Vec<String>,
    /// What helps, the cheapest first.
    pub help: Vec<String>,
}

impl Finding {
    pub(crate) fn new(code: Code, severity: Severity, cards: &[usize], message: impl Into<String>) -> Self {
        Self { code, severity, cards: cards.to_vec(), message: message.into(), evidence: Vec::new(), help: Vec::new() }
    }

    pub(crate) fn because(mut self, evidence: impl Into<String>) -> Self {
        self.evidence.push(evidence.into());
        self
    }

    pub(crate) fn try_this(mut self, help: impl Into<String>) -> Self {
        self.help.push(help.into());
        self
    }
}
