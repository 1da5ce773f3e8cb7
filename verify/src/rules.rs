//! The rules: each looks at an inspection and drafts findings.
//!
//! A rule is a folder of its own: its logic, its words, its tests. Adding one is adding a folder
//! and a line in [`RULES`]; the documentation and the report formats follow from its [`Rule`].

use std::borrow::Cow;

use crate::check::Options;
use crate::finding::Severity;
use crate::model::{Image, Inspection, Kernel};

mod code_object_version;
mod container_malformed;
mod cuda_printf;
mod device_malloc;
mod dynamic_stack;
mod hidden_argument;
mod hostcall_declared;
mod hostcall_opencl;
mod hostcall_symbol;
mod identity_mismatch;
mod image_empty;
mod kernels_differ;
mod no_device_code;
mod printf_buffer;
mod register_spill;
mod scratch_used;
mod spirv_printf;
mod symbol_missing;
mod target_missing;
mod too_large;
mod undefined_symbol;
mod unreadable;
mod zebin_printf;

/// All rules, in the order of the documentation and of reports.
pub static RULES: &[&Rule] = &[
    &hostcall_declared::RULE,
    &hostcall_symbol::RULE,
    &hostcall_opencl::RULE,
    &printf_buffer::RULE,
    &device_malloc::RULE,
    &cuda_printf::RULE,
    &spirv_printf::RULE,
    &zebin_printf::RULE,
    &undefined_symbol::RULE,
    &target_missing::RULE,
    &image_empty::RULE,
    &kernels_differ::RULE,
    &identity_mismatch::RULE,
    &code_object_version::RULE,
    &container_malformed::RULE,
    &unreadable::RULE,
    &no_device_code::RULE,
    &too_large::RULE,
    &symbol_missing::RULE,
    &hidden_argument::RULE,
    &scratch_used::RULE,
    &dynamic_stack::RULE,
    &register_spill::RULE,
];

/// One rule: its stable code, its words, its logic.
#[derive(Debug)]
pub struct Rule {
    /// Stable kebab-case word that reports and configuration use.
    pub code: &'static str,
    /// Severity for shipped files; `None` if the rule is off there unless configuration sets it.
    pub shipped: Option<Severity>,
    /// What the rule checks, one sentence.
    pub what: &'static str,
    /// Why a user should care.
    pub why: &'static str,
    /// How to repair what it finds.
    pub fix: &'static str,
    /// Where the knowledge comes from.
    pub source: &'static str,
    pub(crate) check: fn(&Inspection, &Options, &mut Drafts),
}

/// A finding before severities are settled.
#[derive(Debug)]
pub(crate) struct Draft {
    pub(crate) path: String,
    pub(crate) target: Option<String>,
    pub(crate) kernel: Option<String>,
    /// Differs from the rule's own in special cases.
    pub(crate) severity: Option<Severity>,
    pub(crate) class: Option<&'static str>,
    pub(crate) message: Cow<'static, str>,
    /// Differs from the rule's `fix` where the class allows better advice.
    pub(crate) help: Option<&'static str>,
}

/// Collects the drafts of one rule.
#[derive(Debug, Default)]
pub(crate) struct Drafts(pub(crate) Vec<Draft>);

impl Drafts {
    /// A finding about a place that is no image.
    pub(crate) fn at(&mut self, path: &str, message: impl Into<Cow<'static, str>>) -> &mut Draft {
        self.push(path, None, None, message.into())
    }

    /// A finding about an image.
    pub(crate) fn image(&mut self, image: &Image, message: impl Into<Cow<'static, str>>) -> &mut Draft {
        self.push(&image.path, Some(image), None, message.into())
    }

    /// A finding about a kernel of an image.
    pub(crate) fn kernel(
        &mut self,
        image: &Image,
        kernel: &Kernel,
        message: impl Into<Cow<'static, str>>,
    ) -> &mut Draft {
        self.push(&image.path, Some(image), Some(kernel), message.into())
    }

    fn push(
        &mut self,
        path: &str,
        image: Option<&Image>,
        kernel: Option<&Kernel>,
        message: Cow<'static, str>,
    ) -> &mut Draft {
        self.0.push(Draft {
            path: path.to_owned(),
            target: image.map(|image| image.target.clone()),
            kernel: kernel.map(|kernel| kernel.name.clone()),
            severity: None,
            class: None,
            message,
            help: None,
        });
        let last = self.0.len() - 1;
        #[allow(clippy::indexing_slicing, reason = "an element was pushed two lines up")]
        &mut self.0[last]
    }
}

/// All kernels with their images.
pub(crate) fn kernels(inspection: &Inspection) -> impl Iterator<Item = (&Image, &Kernel)> {
    inspection.images.iter().flat_map(|image| image.kernels.iter().map(move |kernel| (image, kernel)))
}

#[cfg(test)]
pub(crate) mod testing;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn codes_are_unique_kebab_case_words() {
        let mut seen = BTreeSet::new();
        for rule in RULES {
            assert!(seen.insert(rule.code), "{} twice", rule.code);
            assert!(rule.code.chars().all(|c| c.is_ascii_lowercase() || c == '-'), "{}", rule.code);
            for words in [rule.what, rule.why, rule.fix, rule.source] {
                assert!(words.ends_with('.'), "{}: {words}", rule.code);
            }
        }
    }
}
