//! Who made a release and from what: its documents, the same build again, and one build on several machines.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by a panic"
)]

mod common;
#[path = "release/support.rs"]
mod support;

use std::path::{Path, PathBuf};
use std::process::Command;

use common::{build, changed_templates, errors, text, xreduce};
use serde_json::{Value, json};
use support::{files_with, manifest_of, modules_of, release, small};

#[test]
fn the_bill_of_materials_is_spdx_of_the_files() {
    let (_folder, out) = release("dir", &["--source-date-epoch", "1700000000"]);
    let bill = std::fs::read_to_string(out.join("sbom.spdx.json")).unwrap();
    let bill: spdx_rs::models::SPDX = serde_json::from_str(&bill).unwrap();
    let head = &bill.document_creation_information;
    assert_eq!(head.spdx_version, "SPDX-2.3");
    assert_eq!(head.creation_info.created.to_rfc3339(), "2023-11-14T22:13:20+00:00");
    let [kernels, tool, llvm] = bill.package_information.as_slice() else { panic!("{:?}", bill.package_information) };
    assert_eq!((tool.package_name.as_str(), llvm.package_name.as_str()), ("xreduce", "LLVM"));
    assert_eq!(llvm.package_version.as_deref(), manifest_of(&out)["llvm"].as_str());

    // Every file but the three documents, with the checksums that other tools compute.
    let sum = |tool: &str, file: &Path| text(Command::new(tool).arg(file)).split(' ').next().unwrap().to_owned();
    let mut sha1s = Vec::new();
    for file in &bill.file_information {
        let path = out.join(&file.file_name);
        let of = |algorithm| {
            let found = file.file_checksum.iter().find(|checksum| checksum.algorithm == algorithm).unwrap();
            found.value.clone()
        };
        assert_eq!(of(spdx_rs::models::Algorithm::SHA256), sum("sha256sum", &path));
        assert_eq!(of(spdx_rs::models::Algorithm::SHA1), sum("sha1sum", &path));
        sha1s.push(of(spdx_rs::models::Algorithm::SHA1));
    }
    assert_eq!(sha1s.len(), modules_of(&[]).len() + 1);
    assert_eq!(kernels.files.len(), sha1s.len());
    // The verification code, by the specification's recipe and other people's tools.
    sha1s.sort();
    let joined = out.with_extension("sha1s");
    std::fs::write(&joined, sha1s.concat()).unwrap();
    let code = kernels.package_verification_code.as_ref().unwrap();
    assert_eq!(code.value, sum("sha1sum", &joined));
}

#[test]
fn provenance_names_the_inputs_and_the_files() {
    let (_folder, out) = release("header", &[]);
    let read = |path: PathBuf| -> Value { serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap() };
    let statement = read(out.join("provenance.json"));
    assert_eq!(statement["_type"], "https://in-toto.io/Statement/v1");
    assert_eq!(statement["predicateType"], "https://slsa.dev/provenance/v1");
    let manifest = manifest_of(small());
    let definition = &statement["predicate"]["buildDefinition"];
    let inputs = definition["resolvedDependencies"].as_array().unwrap();
    let input = |name: &str| inputs.iter().find(|input| input["name"] == name).unwrap_or_else(|| panic!("no {name}"));
    assert_eq!(input("templates")["digest"]["sha256"], manifest["templates_sha256"]);
    assert_eq!(input("LLVM")["annotations"]["version"], manifest["llvm"]);
    for target in manifest["targets"].as_array().unwrap() {
        let name = format!("targets/{}.yaml", target["name"].as_str().unwrap());
        assert_eq!(input(&name)["digest"]["sha256"], target["target_sha256"]);
    }
    assert_eq!(definition["externalParameters"]["worlds"], json!([2, 3]));
    for subject in statement["subject"].as_array().unwrap() {
        let file = out.join(subject["name"].as_str().unwrap());
        let sum = text(Command::new("sha256sum").arg(&file));
        assert!(sum.starts_with(subject["digest"]["sha256"].as_str().unwrap()));
    }
    assert_eq!(statement["subject"].as_array().unwrap().len(), files_with(&out, ".h").len());
    let said = errors(
        xreduce().arg("bundle").arg(small()).args(["--format", "dir", "--source-date-epoch", "253402300800"]),
        1,
    );
    assert!(said.contains("SOURCE_DATE_EPOCH 253402300800 is no date"), "{said}");
}

fn rebuild_check(bundle: &Path) -> Command {
    let mut command = xreduce();
    command.arg("bundle").arg(bundle).arg("--rebuild-check");
    command
}

#[test]
fn a_bundle_is_built_again_and_compared() {
    let (folder, out) = release("dir", &[]);
    let said = text(&mut rebuild_check(&out));
    assert!(said.contains(&format!("{} modules and the manifest are equal", modules_of(&[]).len())), "{said}");

    // Evidence is entered after a build.
    let mut manifest = manifest_of(small());
    let evidence = json!([{"kind": "verified"}, {"kind": "emulated", "seeds": 8}]);
    manifest["targets"][0]["modules"][0]["kernels"][0]["evidence"] = evidence;
    let checked = folder.path().join("checked");
    text(Command::new("cp").arg("-r").args([small(), &checked]));
    std::fs::write(checked.join("manifest.json"), manifest.to_string()).unwrap();
    text(&mut rebuild_check(&checked));

    // Another limit is a difference of the manifest alone.
    manifest["targets"][0]["spin_limit_default"] = json!(1);
    std::fs::write(checked.join("manifest.json"), manifest.to_string()).unwrap();
    let said = errors(&mut rebuild_check(&checked), 1);
    assert!(said.contains("manifest.json: differs in more than evidence"), "{said}");

    // Other templates are named, with what they change.
    let templates = changed_templates("wire/ll.ll.tera", "%passed_0 = icmp eq i32", "%passed_0 = icmp ne i32");
    let said = errors(rebuild_check(&out).arg("--templates").arg(templates.path()), 1);
    assert!(said.contains("templates: built with "), "{said}");
    assert!(said.contains("sm_90/xreduce-sm_90-w2.ptx: built "), "{said}");

    // A file that is not the one the provenance means.
    std::fs::write(out.join("manifest.json"), manifest.to_string()).unwrap();
    let said = errors(&mut rebuild_check(&out), 2);
    assert!(said.contains("manifest.json: its SHA-256 is"), "{said}");
}

/// Builds a part of the small bundle and marks it as a shard.
fn shard(place: &Path, index: u32, of: u32, choices: &[&str]) -> PathBuf {
    let out = place.join(format!("shard-{index}"));
    let _old = std::fs::remove_dir_all(&out);
    text(&mut build(&out, choices));
    mark(&out, json!({"index": index, "of": of}));
    out
}

fn mark(shard: &Path, mark: Value) {
    let mut manifest = manifest_of(shard);
    manifest["shard"] = mark;
    std::fs::write(shard.join("manifest.json"), manifest.to_string()).unwrap();
}

fn merge(shards: &[&Path], out: &Path) -> Command {
    let mut command = xreduce();
    command.arg("bundle").arg("--merge").args(shards).arg("--out").arg(out);
    command
}

#[test]
fn three_shards_merge_into_the_bytes_of_one_build() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path();
    let of = |targets: [&'static str; 2]| {
        ["--target", targets[0], "--target", targets[1], "--element", "f32", "--element", "bf16"]
    };
    let (amd, others) = (of(["gfx1100", "gfx1201"]), of(["sm_90", "xe2"]));
    // A target's worlds come from different shards, and a shard holds several targets.
    let one = shard(place, 1, 3, &[&amd[..], &["--world", "2"]].concat());
    let two = shard(place, 2, 3, &[&amd[..], &["--world", "3"]].concat());
    let three = shard(place, 3, 3, &[&others[..], &["--world", "2", "--world", "3"]].concat());
    let out = place.join("merged");
    let said = text(&mut merge(&[&three, &one, &two], &out));
    assert!(said.starts_with(&format!("{} modules of 3 shards", modules_of(&[]).len())), "{said}");
    text(Command::new("diff").arg("-r").args([small(), &out]));

    // What is wrong is named.
    let fails = |shards: &[&Path], code: i32, expected: &str| {
        let nowhere = place.join("nowhere");
        let said = errors(&mut merge(shards, &nowhere), code);
        assert!(said.contains(expected), "expected {expected} in: {said}");
        assert!(!nowhere.exists());
    };
    fails(&[&one, &three], 1, "shard 2 of 3 is missing");
    fails(&[&one, &two, &two], 1, "are the same shard");
    fails(&[&one, &two, &out], 2, "merged/manifest.json: is no shard");
    let said = errors(xreduce().arg("bundle").arg(&one).args(["--format", "dir"]), 2);
    assert!(said.contains("is one shard of a build"), "{said}");

    mark(&three, json!({"index": 3, "of": 4}));
    fails(&[&one, &two, &three], 1, "shard-3 (shard 3 of 4) is not of the build of");
    mark(&three, json!({"index": 4, "of": 3}));
    fails(&[&one, &two, &three], 2, "is shard 4 of 3; expected 1 to 3");
    mark(&three, json!({"index": 3, "of": 3, "modules": 8}));
    fails(&[&one, &two, &three], 1, "its `modules` is 8, expected nothing");
    for (shard, index) in [(&one, 1), (&two, 2), (&three, 3)] {
        mark(shard, json!({"index": index, "of": 3, "modules": 9}));
    }
    fails(&[&one, &two, &three], 1, "the build has 9 modules, its shards hold 8");

    let templates = changed_templates("wire/ll.ll.tera", "%passed_0 = icmp eq i32", "%passed_0 = icmp ne i32");
    let choices = [&others[..], &["--world", "2", "--templates", templates.path().to_str().unwrap()]].concat();
    shard(place, 3, 3, &choices);
    for (shard, index) in [(&one, 1), (&two, 2)] {
        mark(shard, json!({"index": index, "of": 3}));
    }
    fails(&[&one, &two, &three], 1, "shard-3 (shard 3 of 3) is of another build than");
    shard(place, 3, 3, &[&amd[..], &["--world", "3"]].concat());
    fails(&[&one, &two, &three], 1, "another shard holds gfx1100/xreduce-gfx1100-w3.hsaco too");
}
