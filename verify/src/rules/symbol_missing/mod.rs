//! Host symbols that a release must export and does not.

use crate::finding::Severity;
use crate::model::Inspection;
use crate::rules::{Drafts, Rule};

#[cfg(test)]
mod tests;

pub(super) static RULE: Rule = Rule {
    code: "symbol-missing",
    shipped: Some(Severity::Error),
    what: "No host file of the input exports a symbol of --require-symbols.",
    why: "A library that lost part of its interface loads, and fails when the symbol is looked up.",
    fix: "Check the export map and the visibility of the symbol.",
    source: "ELF dynamic symbol tables; PE export tables.",
    check,
};

fn check(inspection: &Inspection, options: &crate::Options, drafts: &mut Drafts) {
    for name in &options.require_symbols {
        if !inspection.host_symbols.contains(name) {
            drafts.at(&inspection.name, format!("{name} is not exported"));
        }
    }
}
