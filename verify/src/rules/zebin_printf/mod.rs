//! Printing and asserting Intel machine code.

use crate::finding::Severity;
use crate::model::Inspection;
use crate::rules::{Drafts, Rule, kernels};

#[cfg(test)]
mod tests;

pub(super) static RULE: Rule = Rule {
    code: "zebin-printf",
    shipped: Some(Severity::Warning),
    what: "Intel machine code states has_printf_calls or require_assert_buffer, or takes a printf \
           or assert buffer.",
    why: "The driver allocates a buffer and drains it after each launch. A note only where a called \
          function may print (implicit arguments together with stack calls).",
    fix: "Build releases with NDEBUG and without printf in kernels.",
    source: "intel-graphics-compiler, zeinfo.md, execution_env and payload_arguments.",
    check,
};

fn check(inspection: &Inspection, _: &crate::Options, drafts: &mut Drafts) {
    for (image, kernel) in kernels(inspection) {
        let prints = |name: &&str| {
            matches!(*name, "has_printf_calls" | "require_assert_buffer" | "printf_buffer" | "assert_buffer")
        };
        let services: Vec<&str> = kernel.services.iter().map(String::as_str).collect();
        let printing: Vec<&str> = services.iter().copied().filter(prints).collect();
        if !printing.is_empty() {
            drafts.kernel(image, kernel, format!("states {}", printing.join(", ")));
        } else if services.contains(&"implicit_arg_buffer") && services.contains(&"has_stack_calls") {
            let message = "may print in a called function: implicit arguments and stack calls";
            drafts.kernel(image, kernel, message).severity = Some(Severity::Note);
        }
    }
}
