//! Fragments of every kind of output that a person can review; `make bless` rewrites them.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by a panic"
)]

mod common;

use std::fmt::Write as _;

use common::{bundle, llvm, module, text, tool, xreduce};

fn golden(name: &str, content: &str) {
    insta::with_settings!({ snapshot_path => "golden", prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!(name, content.trim_end());
    });
}

/// How a listing writes a label, and a jump to one.
struct Syntax {
    label: fn(&str) -> Option<&str>,
    jump: fn(&str) -> Option<&str>,
}

const AMDGPU: Syntax = {
    fn label(line: &str) -> Option<&str> {
        line.strip_prefix('<')?.strip_suffix(">:")
    }
    fn jump(line: &str) -> Option<&str> {
        let branches = ["s_cbranch", "s_branch"].iter().any(|branch| line.trim_start().starts_with(branch));
        line.split_whitespace().last().filter(|_| branches)
    }
    Syntax { label, jump }
};

const PTX: Syntax = {
    fn label(line: &str) -> Option<&str> {
        line.strip_suffix(':').filter(|_| line.starts_with('$'))
    }
    fn jump(line: &str) -> Option<&str> {
        line.trim_end_matches(';').split_whitespace().last().filter(|_| line.contains("bra"))
    }
    Syntax { label, jump }
};

const SPIRV: Syntax = {
    fn label(line: &str) -> Option<&str> {
        line.strip_suffix(" = OpLabel")
    }
    fn jump(line: &str) -> Option<&str> {
        line.split_whitespace().last().filter(|_| line.starts_with("OpBranch"))
    }
    Syntax { label, jump }
};

/// The smallest stretch of lines from a label to a later jump to it that contains all of `needles`.
fn inner_loop<'a>(lines: &[&'a str], syntax: &Syntax, needles: &[&str]) -> Vec<&'a str> {
    let mut best: Option<&[&str]> = None;
    for (begin, name) in lines.iter().enumerate().filter_map(|(index, line)| Some((index, (syntax.label)(line)?))) {
        let jumps = lines.iter().enumerate().skip(begin).filter(|(_, line)| (syntax.jump)(line) == Some(name));
        for (end, _) in jumps {
            let stretch = &lines[begin..=end];
            let whole = needles.iter().all(|needle| stretch.iter().any(|line| line.contains(needle)));
            if whole && best.is_none_or(|best| stretch.len() < best.len()) {
                best = Some(stretch);
            }
        }
    }
    best.unwrap_or_else(|| panic!("no loop with {needles:?} in:\n{}", lines.join("\n"))).to_vec()
}

/// The lines of one function of a listing, from a line that contains `begin` to one that `end` accepts.
fn function<'a>(listing: &'a str, begin: &str, end: fn(&str) -> bool) -> Vec<&'a str> {
    let mut lines: Vec<&str> = listing.lines().skip_while(|line| !line.contains(begin)).collect();
    let length = lines.iter().skip(1).position(|line| end(line)).unwrap() + 2;
    lines.truncate(length);
    lines
}

fn amd_poll_loop(file: &str, symbol: &str) -> String {
    let options = ["-d", "--symbolize-operands", "--no-leading-addr", "--no-show-raw-insn"];
    let listing = text(llvm("llvm-objdump").args(options).arg(module(file)));
    let clean: Vec<&str> = listing.lines().map(|line| line.split("//").next().unwrap_or_default().trim_end()).collect();
    let clean = clean.join("\n");
    let lines = function(&clean, &format!("<{symbol}>:"), |line| line.trim() == "s_endpgm");
    inner_loop(&lines, &AMDGPU, &["global_load_b128", "s_sleep"]).join("\n")
}

#[test]
fn inner_loops_of_the_push_kernels() {
    for wire in ["ll", "sentinel"] {
        let symbol = format!("xreduce_one_shot_push_{wire}_f32_w2");
        golden(&format!("gfx1100_poll_{wire}"), &amd_poll_loop("xreduce-gfx1100-w2.hsaco", &symbol));
        golden(&format!("gfx1201_poll_{wire}"), &amd_poll_loop("xreduce-gfx1201-w2.hsaco", &symbol));

        let ptx = std::fs::read_to_string(module("xreduce-sm_90-w2.ptx")).unwrap();
        let lines = function(&ptx, &format!(".entry {symbol}("), |line| line == "}");
        let poll = inner_loop(&lines, &PTX, &["ld.volatile.global.v2.b64"]);
        golden(&format!("sm_90_poll_{wire}"), &poll.join("\n"));

        let listing = text(tool("spirv-dis").args(["--no-color", "--no-indent"]).arg(module("xreduce-xe2-w2.spv")));
        let lines = function(&listing, &format!("%{symbol} = OpFunction"), |line| line == "OpFunctionEnd");
        let poll = inner_loop(&lines, &SPIRV, &["OpLoad %v4uint", "Volatile|Aligned 16"]);
        golden(&format!("xe2_poll_{wire}"), &renumbered(&poll.join("\n")));
    }
}

/// SPIR-V ids in the order of their appearance, so that a change elsewhere does not show here.
fn renumbered(listing: &str) -> String {
    let mut seen: Vec<String> = Vec::new();
    let mut result = String::new();
    for (index, part) in listing.split('%').enumerate() {
        if index == 0 {
            result.push_str(part);
            continue;
        }
        let end = part.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(part.len());
        let (id, rest) = part.split_at(end);
        if id.chars().all(|c| c.is_ascii_digit()) {
            let number = seen.iter().position(|known| known == id).unwrap_or_else(|| {
                seen.push(id.to_owned());
                seen.len() - 1
            });
            write!(result, "%{number}{rest}").unwrap();
        } else {
            write!(result, "%{id}{rest}").unwrap();
        }
    }
    result
}

/// What each algorithm is made of on each family: a change of the templates shows here in numbers.
#[test]
fn inspected_kernels() {
    for (target, extension) in
        [("gfx942", "hsaco"), ("gfx1030", "hsaco"), ("gfx1201", "hsaco"), ("sm_90", "ptx"), ("xe2", "spv")]
    {
        let file = module(&format!("xreduce-{target}-w4.{extension}"));
        let table = text(xreduce().arg("inspect").arg(file).args(["--kernel", "*_f32_w4"]));
        let lines = table.lines().skip_while(|line| !line.starts_with("kernel")).map(str::trim_end);
        golden(&format!("{target}_inspected"), &lines.collect::<Vec<_>>().join("\n"));
    }
}

#[test]
fn metadata_note() {
    for target in ["gfx1100", "gfx1201"] {
        let notes = text(llvm("llvm-readelf").arg("--notes").arg(module(&format!("xreduce-{target}-w2.hsaco"))));
        let first: Vec<&str> = notes.lines().skip_while(|line| !line.contains("amdhsa.kernels")).collect();
        let kernels: Vec<&str> = first.split(|line| line.starts_with("  - .args")).nth(1).unwrap().to_vec();
        let tail: Vec<&str> = first.into_iter().filter(|line| line.starts_with("amdhsa.")).collect();
        golden(&format!("{target}_note"), &format!("{}\n{}", tail.join("\n"), kernels.join("\n")));
    }
}

#[test]
fn ptx_header() {
    let ptx = std::fs::read_to_string(module("xreduce-sm_90-w2.ptx")).unwrap();
    let header: Vec<&str> = ptx.lines().take_while(|line| *line != "{").collect();
    golden("sm_90_header", &header.join("\n"));
}

#[test]
fn spirv_capabilities_and_decorations() {
    let listing = text(tool("spirv-dis").args(["--no-color", "--no-indent"]).arg(module("xreduce-xe2-w2.spv")));
    let mut lines: Vec<String> = Vec::new();
    for line in listing.lines() {
        let kept = ["; Version", "OpCapability", "OpExtension", "OpMemoryModel", "OpEntryPoint", "OpExecutionMode"];
        if kept.iter().any(|kept| line.starts_with(kept)) {
            lines.push(line.to_owned());
        } else if let Some(decoration) = line.strip_prefix("OpDecorate ") {
            // Which id has a decoration changes with every edit: count them.
            let (id, decoration) = decoration.split_once(' ').unwrap();
            let id = if id.trim_start_matches('%').starts_with(|c: char| c.is_ascii_digit()) { "%*" } else { id };
            lines.push(format!("OpDecorate {id} {decoration}"));
        }
    }
    let mut counted: Vec<(String, usize)> = Vec::new();
    for line in lines {
        match counted.iter_mut().find(|(known, _)| *known == line) {
            Some((_, count)) => *count += 1,
            None => counted.push((line, 1)),
        }
    }
    let show = |(line, count): &(String, usize)| if *count == 1 { line.clone() } else { format!("{line}  (x{count})") };
    golden("xe2_capabilities_and_decorations", &counted.iter().map(show).collect::<Vec<_>>().join("\n"));
}

#[test]
fn manifest() {
    let text = std::fs::read_to_string(bundle().join("manifest.json")).unwrap();
    let mut manifest: serde_json::Value = serde_json::from_str(&text).unwrap();
    // One module of each target, one kernel of each module; what changes with every edit is not for review.
    manifest["templates_sha256"] = "...".into();
    let families = ["gfx1201", "sm_90", "xe2"];
    let targets = manifest["targets"].as_array_mut().unwrap();
    targets.retain(|target| families.contains(&target["name"].as_str().unwrap()));
    for target in targets {
        target["target_sha256"] = "...".into();
        target["modules"].as_array_mut().unwrap().truncate(1);
        for module in target["modules"].as_array_mut().unwrap() {
            module["sha256"] = "...".into();
            module["inputs_sha256"] = "...".into();
            module["bytes"] = "...".into();
            module["kernels"].as_array_mut().unwrap().truncate(1);
            // What other suites have checked is in it too.
            module["kernels"][0]["evidence"].as_array_mut().unwrap().truncate(1);
        }
    }
    golden("manifest", &serde_json::to_string_pretty(&manifest).unwrap());
}
