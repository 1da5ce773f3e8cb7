//! The text of `docs/rules.md`, from the rules themselves.

use std::fmt::Write;

use crate::RULES;

/// The document. `docs/rules.md` must equal it; a test says so.
#[must_use]
pub fn rules_document() -> String {
    let mut out = String::from(
        "# Rules of `xreduce verify`\n\n\
         Generated from the code: after a change of a rule, run\n\
         `BLESS=1 cargo test -p xreduce-verify --test documents`.\n\n\
         Severities are defaults; a configuration file changes them by rule, target and kernel:\n\n\
         ```toml\n\
         [severity]\n\
         cuda-printf = \"error\"           # off, note, warning, undetermined, error\n\n\
         [[override]]\n\
         rule = \"printf-buffer\"\n\
         target = \"gfx9*\"                # optional pattern\n\
         kernel = \"debug_*\"              # optional pattern\n\
         severity = \"off\"\n\n\
         [[ignore]]\n\
         rule = \"hostcall-declared\"\n\
         kernel = \"debug_*\"\n\
         reason = \"never launched on cards without PCIe atomics\"   # mandatory\n\
         ```\n\n\
         Only errors make exit code 1 (`--deny warnings` raises warnings). Undetermined makes 3 if\n\
         there is no error. The strict profile, which `xreduce build` applies to its own artifacts,\n\
         turns every rule on, as an error.\n\n\
         | code | default | what it checks |\n|---|---|---|\n",
    );
    // Writing to a String cannot fail.
    for rule in RULES {
        let severity = rule.shipped.map_or("off", crate::Severity::word);
        let _ = writeln!(out, "| [`{0}`](#{0}) | {severity} | {1} |", rule.code, rule.what);
    }
    for rule in RULES {
        let _ = write!(
            out,
            "\n## {}\n\n{}\n\n**Why.** {}\n\n**Fix.** {}\n\n**Source.** {}\n",
            rule.code, rule.what, rule.why, rule.fix, rule.source
        );
    }
    out
}
