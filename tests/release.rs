//! Every container of a release, read back by the verifier and by a tool that nobody here wrote.
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

use std::path::Path;
use std::process::Command;

use common::{errors, llvm, root, run, text, tool, xreduce};
use serde_json::Value;
use support::{assert_same, files_with, modules_of, release, small, verify};

#[test]
fn two_releases_are_equal_and_their_checksums_hold() {
    for format in ["dir", "tar.zst", "hip", "fatbin", "header", "rust", "wheel", "kpack"] {
        let (_first, one) = release(format, &["--no-ptxas"]);
        let (_second, two) = release(format, &["--no-ptxas"]);
        text(Command::new("diff").arg("-r").args([&one, &two]));
        text(Command::new("sha256sum").args(["--check", "--strict", "SHA256SUMS"]).current_dir(&one));
        let listed = std::fs::read_to_string(one.join("SHA256SUMS")).unwrap().lines().count();
        let files = text(Command::new("find").arg(&one).args(["-type", "f"])).lines().count();
        assert_eq!(listed + 1, files, "{format}");
    }
}

#[test]
fn a_changed_module_is_not_released() {
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("copy");
    text(Command::new("cp").arg("-r").args([small(), &copy]));
    let module = copy.join("sm_90/xreduce-sm_90-w2.ptx");
    let ptx = std::fs::read_to_string(&module).unwrap();
    std::fs::write(&module, ptx.replacen("ret;", "ret ;", 1)).unwrap();
    let out = folder.path().join("out");
    let said = errors(xreduce().arg("bundle").arg(&copy).args(["--format", "dir", "--out"]).arg(&out), 2);
    assert!(said.contains("xreduce-sm_90-w2.ptx: expected ") && said.contains("with SHA-256"), "{said}");
    assert!(!out.exists());
}

#[test]
fn wrong_use_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let said = errors(xreduce().args(["bundle", "/nowhere", "--format", "dir"]), 2);
    assert!(said.contains("/nowhere/manifest.json: cannot be read"), "{said}");
    let said = errors(xreduce().arg("bundle").arg(small()).args(["--format", "deb"]), 2);
    assert!(said.contains("header"), "{said}");
    std::fs::write(folder.path().join("mine"), "mine").unwrap();
    let said = errors(xreduce().arg("bundle").arg(small()).args(["--format", "dir", "--out"]).arg(folder.path()), 2);
    assert!(said.contains("holds files and no SHA256SUMS"), "{said}");
    assert!(run(Command::new("test").arg("-f").arg(folder.path().join("mine"))).status.success());
}

#[test]
fn tar_unpacks_to_the_bundle() {
    let (folder, out) = release("tar.zst", &["--source-date-epoch", "1700000000"]);
    verify(&out, modules_of(&[]).len());
    let [archive] = files_with(&out, ".tar.zst").try_into().unwrap();
    text(Command::new("tar").arg("-xf").arg(&archive).current_dir(folder.path()));
    let unpacked = folder.path().join(archive.file_name().unwrap().to_str().unwrap().strip_suffix(".tar.zst").unwrap());
    text(Command::new("sha256sum").args(["--check", "--strict", "SHA256SUMS"]).current_dir(&unpacked));
    assert_same(&unpacked.join("manifest.json"), &small().join("manifest.json"));
    for (file, ..) in modules_of(&[]) {
        assert_same(&unpacked.join(&file), &small().join(&file));
    }
    // What was unpacked is a bundle again, and gives the same archive.
    let again = folder.path().join("again");
    let arguments = ["--format", "tar.zst", "--source-date-epoch", "1700000000", "--out"];
    text(xreduce().arg("bundle").arg(&unpacked).args(arguments).arg(&again));
    text(Command::new("diff").arg("-r").args([&out, &again]));
    let listing = text(Command::new("tar").args(["--utc", "-tvf"]).arg(&archive));
    assert!(listing.lines().all(|line| line.contains("-rw-r--r-- 0/0") && line.contains("2023-11-14")), "{listing}");
}

#[test]
fn clang_unbundles_what_hip_loads() {
    let modules = modules_of(&["amdgpu"]);
    for (more, magic) in [(&[] as &[&str], "__CLANG_OFFLOAD_BUNDLE__"), (&["--compress"], "CCOB\u{3}\0")] {
        let (folder, out) = release("hip", more);
        verify(&out, modules.len());
        for (file, target, world) in &modules {
            let bundled = out.join(format!("xreduce-w{world}.hipfb"));
            assert!(std::fs::read(&bundled).unwrap().starts_with(magic.as_bytes()));
            let image = folder.path().join("image");
            let mut unbundle = llvm("clang-offload-bundler");
            unbundle.args(["-unbundle", "-type=o"]);
            unbundle.arg(format!("-targets=hipv4-amdgcn-amd-amdhsa--{target}"));
            unbundle.arg(format!("-input={}", bundled.display())).arg(format!("-output={}", image.display()));
            text(&mut unbundle);
            assert_same(&image, &small().join(file));
        }
    }
}

#[test]
fn cuobjdump_reads_the_fat_binaries() {
    let ptxas = tool("ptxas").get_program().to_owned();
    let (folder, out) = release("fatbin", &["--ptxas", ptxas.to_str().unwrap()]);
    let modules = modules_of(&["nvptx"]);
    verify(&out, 2 * modules.len());
    for (file, target, world) in modules {
        let fatbin = out.join(format!("xreduce-w{world}.fatbin"));
        let extracted = folder.path().join(format!("w{world}"));
        std::fs::create_dir_all(&extracted).unwrap();
        let mut extract = tool("cuobjdump");
        extract.args(["--extract-ptx", "all", "--extract-elf", "all"]).arg(&fatbin).current_dir(&extracted);
        text(&mut extract);
        let [ptx] = files_with(&extracted, &format!("{target}.ptx")).try_into().unwrap();
        let text_of = |path: &Path| std::fs::read_to_string(path).unwrap();
        assert_eq!(text_of(&ptx).trim_end(), text_of(&small().join(&file)).trim_end());
        let [cubin] = files_with(&extracted, &format!("{target}.cubin")).try_into().unwrap();
        let assembled = extracted.join("assembled");
        text(tool("ptxas").args(["-arch", &target, "-o"]).arg(&assembled).arg(small().join(&file)));
        let code = |path: &Path| text(tool("nvdisasm").arg("--print-code").arg(path));
        assert_eq!(code(&cubin), code(&assembled));
    }
    let (_folder, out) = release("fatbin", &["--no-ptxas"]);
    verify(&out, modules_of(&["nvptx"]).len());
    let said = errors(xreduce().arg("bundle").arg(small()).args(["--format", "fatbin", "--ptxas", "/bin/false"]), 2);
    assert!(said.contains("/bin/false: "), "{said}");
}

/// The layout of a fat binary is no public document: NVIDIA's own tool, given the same images, has to write the same.
#[test]
fn nvidias_own_tool_writes_the_same_fat_binary() {
    let ptxas = tool("ptxas").get_program().to_owned();
    let fatbinary = std::fs::canonicalize(&ptxas).unwrap().with_file_name("fatbinary");
    assert!(fatbinary.exists(), "{} is missing: `make tools` installs it", fatbinary.display());
    let (folder, out) = release("fatbin", &["--ptxas", ptxas.to_str().unwrap()]);
    let mut compared = 0;
    for (file, target, world) in modules_of(&["nvptx"]) {
        let (ptx, cubin, theirs) =
            (folder.path().join("in.ptx"), folder.path().join("out.cubin"), folder.path().join("theirs"));
        std::fs::copy(small().join(&file), &ptx).unwrap();
        text(Command::new(&ptxas).current_dir(folder.path()).args(["-arch", &target, "-o", "out.cubin", "in.ptx"]));
        let sm = target.strip_prefix("sm_").unwrap();
        let mut create = Command::new(&fatbinary);
        create.args(["--compress=false", "-64"]).arg(format!("--create={}", theirs.display()));
        create.arg(format!("--image3=kind=elf,sm={sm},file={}", cubin.display()));
        create.arg(format!("--image3=kind=ptx,sm={sm},file={}", ptx.display()));
        text(&mut create);
        let theirs = entries(&std::fs::read(&theirs).unwrap());
        let ours = entries(&std::fs::read(out.join(format!("xreduce-w{world}.fatbin"))).unwrap());
        let architecture = sm.parse::<u32>().unwrap().to_le_bytes();
        let ours: Vec<_> = ours.into_iter().filter(|(header, _)| header[28..32] == architecture).collect();
        assert_eq!(theirs.len(), ours.len());
        for ((their_header, their_payload), (our_header, our_payload)) in theirs.into_iter().zip(ours) {
            let without_size = |header: &[u8]| [&header[..8], &header[16..]].concat();
            assert_eq!(without_size(&their_header), without_size(&our_header));
            // Their tool drops comments and blanks from PTX; code is kept as it is.
            if their_header[0] == 2 {
                assert!(their_payload == our_payload);
            } else {
                assert!(our_payload.ends_with(b"\0") && our_payload.len() >= their_payload.len());
            }
            compared += 1;
        }
    }
    assert!(compared >= 2);
}

/// Headers and payloads of a fat binary's entries.
fn entries(bytes: &[u8]) -> Vec<(Vec<u8>, Vec<u8>)> {
    let number = |at: usize, size: usize| {
        bytes[at..at + size].iter().rev().fold(0usize, |all, byte| all << 8 | usize::from(*byte))
    };
    assert_eq!((number(0, 4), number(6, 2), number(8, 8)), (0xba55_ed50, 16, bytes.len() - 16));
    let (mut at, mut found) = (16, Vec::new());
    while at < bytes.len() {
        let (header, size) = (number(at + 4, 4), number(at + 8, 8));
        found.push((bytes[at..at + header].to_vec(), bytes[at + header..at + header + size].to_vec()));
        at += header + size;
    }
    found
}

#[test]
fn a_kernel_pack_has_every_code_object() {
    let (_folder, out) = release("kpack", &[]);
    let modules = modules_of(&["amdgpu"]);
    verify(&out, modules.len());
    let bytes = std::fs::read(out.join("xreduce-all.kpack")).unwrap();
    // A MessagePack reader that nobody here wrote: pip's own.
    let script = "import json,struct,sys\nfrom pip._vendor import msgpack\nd=open(sys.argv[1],'rb').read()\n\
        print(json.dumps(msgpack.unpackb(d[struct.unpack('<4sIQ',d[:16])[2]:])))";
    let python = root().join(".tools/python/bin/python");
    let table = text(Command::new(python).args(["-c", script]).arg(out.join("xreduce-all.kpack")));
    let table: Value = serde_json::from_str(&table).unwrap();
    assert_eq!(table["format_version"], 1);
    for (file, target, world) in modules {
        let entry = &table["toc"][format!("xreduce-w{world}")][&target];
        let blob = &table["blobs"][usize::try_from(entry["ordinal"].as_u64().unwrap()).unwrap()];
        let number = |value: &Value| usize::try_from(value.as_u64().unwrap()).unwrap();
        let (at, size) = (number(&blob["offset"]), number(&blob["size"]));
        assert_eq!((at % 64, number(&entry["original_size"])), (0, size));
        assert!(bytes[at..at + size] == std::fs::read(small().join(&file)).unwrap());
        assert!(table["gfx_arches"].as_array().unwrap().contains(&Value::from(target)));
    }
}
