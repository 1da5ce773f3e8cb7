//! Adding a GPU: one file of a known family, and the list of what a new family touches. And builds that do only what is needed.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test fails by a panic")]

mod common;

use std::collections::BTreeSet;
use std::path::Path;

use common::{build, changed_templates, root, text, tool, xreduce};
use serde_json::Value;

/// A folder of target files that holds a copy of one with other words in it, and nothing else.
fn made_up(name: &str, like: &str, changes: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut file = std::fs::read_to_string(root().join("targets").join(format!("{like}.yaml"))).unwrap();
    for (from, to) in changes {
        assert!(file.contains(from), "{from}");
        file = file.replace(from, to);
    }
    std::fs::write(folder.path().join(format!("{name}.yaml")), file).unwrap();
    folder
}

#[test]
fn a_gpu_of_a_known_family_is_one_file() {
    let out = tempfile::tempdir().unwrap();
    let out = out.path().join("out");
    let small = ["--world", "3", "--algorithm", "butterfly", "--targets"];

    let targets = made_up("gfx1103", "gfx1102", &[("gfx1102", "gfx1103")]);
    text(build(&out, &small).arg(targets.path()));
    let checked = text(xreduce().arg("check").arg(&out).args(["--seeds", "2"]));
    assert!(checked.contains("6 of 6 kernels passed on emulator, gfx1103, emulated"), "{checked}");

    let targets = made_up("sm_87", "sm_86", &[("sm_86", "sm_87")]);
    text(build(&out, &small).arg(targets.path()));
    text(tool("ptxas").args(["-arch", "sm_87", "-o", "/dev/null"]).arg(out.join("sm_87/xreduce-sm_87-w3.ptx")));
    let listed = text(xreduce().args(["targets", "--targets"]).arg(targets.path()));
    assert!(listed.contains("sm_87"), "{listed}");
}

#[test]
fn the_places_that_a_family_touches_are_the_documented_ones() {
    let guide = std::fs::read_to_string(root().join("docs/add-a-target.md")).unwrap();
    let list = guide.split_once("## Of a new family").unwrap().1;
    let numbered = list.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_digit())).count();
    assert!((1..=5).contains(&numbered), "{numbered} places");

    // A family is a word in these; a crate that a build does without, such as the checker, is not meant.
    let words = ["Family::Spirv", "Format::Spirv", "LLVMInitializeSPIRV", "SPIRV"];
    let mut found = BTreeSet::new();
    for folder in ["codegen/src", "contract/src", "llvm", "llvm/src"] {
        for entry in std::fs::read_dir(root().join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "rs") {
                let code = std::fs::read_to_string(&path).unwrap();
                if words.iter().any(|word| code.contains(word)) {
                    found.insert(path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned());
                }
            }
        }
    }
    assert!(found.contains("codegen/src/family.rs"), "{found:?}");
    for place in found {
        assert!(list.contains(&place), "{place} names the family SPIR-V and is not in docs/add-a-target.md");
    }
}

/// Files of the modules that a build made, from its summary.
fn made(summary: &str) -> Vec<&str> {
    let lines = summary.lines().filter(|line| line.contains("xreduce-") && !line.contains("as it was"));
    lines.map(|line| line.split_whitespace().last().unwrap()).collect()
}

#[test]
fn a_build_does_what_is_needed_and_no_more() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let arguments = ["--target", "sm_90", "--target", "xe2", "--world", "2", "--algorithm", "one_shot_push"];
    let first = text(&mut build(&out, &arguments));
    assert_eq!(made(&first), ["sm_90/xreduce-sm_90-w2.ptx", "xe2/xreduce-xe2-w2.spv"]);
    let manifest = std::fs::read(out.join("manifest.json")).unwrap();
    let again = text(&mut build(&out, &arguments));
    assert!(again.starts_with("nothing changed: 12 kernels in 2 modules are as they were"), "{again}");

    // A platform library is used by its own family alone, a wire that no kernel has by nobody.
    let with = |name: &str, from: &str, to: &str| {
        let templates = changed_templates(name, from, to);
        text(build(&out, &arguments).arg("--templates").arg(templates.path()))
    };
    let changed = with("platform/spirv.ll.tera", "; No cheap clock", "; No clock that is cheap");
    assert_eq!(made(&changed), ["xe2/xreduce-xe2-w2.spv"], "{changed}");
    let unused = with("algorithm/butterfly.ll.tera", "; butterfly:", "; butterfly, that is");
    assert_eq!(made(&unused), ["xe2/xreduce-xe2-w2.spv"], "back to the library as it is: {unused}");
    let included = with("algorithm/sum_in_rank_order.ll.tera", "%term_{{ p }} =", "%term_{{ p }}  =");
    assert_eq!(made(&included).len(), 2, "{included}");

    // A file that is not what the manifest says is made again, with the same bytes.
    text(&mut build(&out, &arguments));
    std::fs::write(out.join("sm_90/xreduce-sm_90-w2.ptx"), "something else").unwrap();
    assert_eq!(made(&text(&mut build(&out, &arguments))), ["sm_90/xreduce-sm_90-w2.ptx"]);
    assert_eq!(std::fs::read(out.join("manifest.json")).unwrap(), manifest);
}

#[test]
fn shards_hold_every_module_once() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["--target", "sm_90", "--algorithm", "one_shot_pull", "--element", "f32"];
    let whole = folder.path().join("whole");
    text(&mut build(&whole, &arguments));
    let modules = |out: &Path| -> Vec<String> {
        let manifest: Value = serde_json::from_slice(&std::fs::read(out.join("manifest.json")).unwrap()).unwrap();
        let targets = manifest["targets"].as_array().unwrap();
        let modules = targets.iter().flat_map(|target| target["modules"].as_array().unwrap());
        modules.map(|module| format!("{} {}", module["file"], module["sha256"])).collect()
    };
    let mut parts = Vec::new();
    for shard in ["1/3", "2/3", "3/3"] {
        let out = folder.path().join(shard.replace('/', "of"));
        text(build(&out, &arguments).args(["--shard", shard]));
        let manifest = std::fs::read_to_string(out.join("manifest.json")).unwrap();
        assert!(manifest.contains("\"shard\": {\"index\":"), "{manifest}");
        parts.extend(modules(&out));
    }
    parts.sort();
    assert_eq!(parts, modules(&whole));
    for wrong in ["0/3", "4/3", "1", "a/b"] {
        let output = common::run(build(&whole, &arguments).args(["--shard", wrong]));
        assert_eq!(output.status.code(), Some(2), "{wrong}");
    }
}
