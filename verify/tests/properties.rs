//! What the tests' writers write is what the readers read, for any members and any nesting; and
//! whatever is done to it, nothing panics and nothing is called clean unread.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "helpers of tests")]

mod support;

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::sample::select;
use support::mutate::{Random, mutate};
use support::*;
use xreduce_verify::{Format, Image, Inspection, Options, Verdict, check, inspect};

/// Code objects with one kernel each, of different sizes.
const IMAGES: [&str; 8] = [
    "add_v4.hsaco",
    "add_v5.hsaco",
    "add_v6.hsaco",
    "calls.o",
    "specific.hsaco",
    "specific_stripped.hsaco",
    "group.hsaco",
    "indirect.hsaco",
];

fn image() -> impl Strategy<Value = Vec<u8>> {
    select(&IMAGES[..]).prop_map(fixture)
}

/// Images by distinct short names.
fn members() -> impl Strategy<Value = Vec<(String, Vec<u8>)>> {
    btree_map("[a-z][a-z0-9_]{0,8}", image(), 1..5).prop_map(|members| members.into_iter().collect())
}

fn borrowed(members: &[(String, Vec<u8>)]) -> Vec<(&str, &[u8])> {
    members.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice())).collect()
}

fn packing() -> impl Strategy<Value = Packing> {
    select(vec![Packing::Zlib, Packing::Zstd])
}

fn stored() -> impl Strategy<Value = Stored> {
    select(vec![Stored::Plain, Stored::Lz4, Stored::Zstd])
}

/// Reads without a fault.
fn read(bytes: &[u8]) -> Inspection {
    let inspection = inspect(bytes, "file");
    assert_eq!(inspection.faults, []);
    inspection
}

/// What identifies an image: its name in its container, or else in its path, and its size.
fn identity(image: &Image) -> (String, u64) {
    let last = image.path.rsplit(" > ").next().unwrap();
    (image.container_id.clone().unwrap_or_else(|| last.to_owned()), image.bytes)
}

fn identities(inspection: &Inspection) -> Vec<(String, u64)> {
    inspection.images.iter().map(identity).collect()
}

fn expected(members: &[(String, Vec<u8>)]) -> Vec<(String, u64)> {
    members.iter().map(|(name, bytes)| (name.clone(), bytes.len() as u64)).collect()
}

/// A way to wrap one file into another.
#[derive(Debug, Clone, Copy)]
enum Wrap {
    Ar,
    Zip,
    Tar,
    Gzip,
    Xz,
    Zstd,
}

fn wrap(bytes: &[u8], by: Wrap) -> Vec<u8> {
    match by {
        Wrap::Ar => ar(&[("member", bytes)]),
        Wrap::Zip => zip(&[("dist/member", bytes)]),
        Wrap::Tar => tar(&[("./member", bytes)]),
        Wrap::Gzip => gzip(bytes),
        Wrap::Xz => xz(bytes),
        Wrap::Zstd => zstd::encode_all(bytes, 1).unwrap(),
    }
}

fn wraps() -> impl Strategy<Value = Vec<Wrap>> {
    vec(select(vec![Wrap::Ar, Wrap::Zip, Wrap::Tar, Wrap::Gzip, Wrap::Xz, Wrap::Zstd]), 0..5)
}

proptest! {
    #[test]
    fn bundles(members in members(), align in select(vec![1usize, 8, 256, 4096]), host in any::<bool>()) {
        let mut entries = borrowed(&members);
        if host {
            entries.insert(0, (HOST, b""));
        }
        prop_assert_eq!(identities(&read(&bundle(&entries, align))), expected(&members));
    }

    #[test]
    fn compressed_bundles(members in members(), version in 1u16..4, packing in packing()) {
        let inner = bundle(&borrowed(&members), 8);
        prop_assert_eq!(identities(&read(&ccob(version, packing, &inner))), expected(&members));
    }

    #[test]
    fn bundles_back_to_back(
        units in vec((members(), 0u16..4, packing(), 0usize..5000), 1..4),
        format in select(vec!["elf", "coff", "pe"]),
    ) {
        let (mut section, mut all) = (Vec::new(), Vec::new());
        for (members, version, packing, padding) in &units {
            section.resize(section.len() + padding, 0);
            let inner = bundle(&borrowed(members), 8);
            section.extend(if *version == 0 { inner } else { ccob(*version, *packing, &inner) });
            all.extend(expected(members));
        }
        let sections: [(&str, &[u8]); 2] = [(".data", b"host data"), (".hip_fatbin", &section)];
        let file = match format {
            "elf" => host(object::BinaryFormat::Elf, &sections),
            "coff" => host(object::BinaryFormat::Coff, &sections),
            _ => pe(&sections),
        };
        prop_assert_eq!(identities(&read(&file)), all);
    }

    #[test]
    fn offload_binaries(units in vec((image(), 1u32..5), 1..4)) {
        let (mut section, mut all) = (Vec::new(), Vec::new());
        for (number, (image, version)) in units.iter().enumerate() {
            let arch = format!("gfx{number}");
            section.extend(match version {
                4 => offload_packed("amdgcn-amd-amdhsa", &arch, image),
                version => offload_binary(*version, "amdgcn-amd-amdhsa", &arch, image),
            });
            section.resize(section.len().next_multiple_of(8), 0);
            all.push((format!("amdgcn-amd-amdhsa--{arch}"), image.len() as u64));
        }
        let file = host(object::BinaryFormat::Elf, &[(".llvm.offloading", &section)]);
        prop_assert_eq!(identities(&read(&file)), all);
    }

    #[test]
    fn fat_binaries(
        units in vec((any::<bool>(), 50u32..130, select(vec![64u32, 72, 80, 88, 96, 112, 120]), stored()), 1..5),
        relocatable in any::<bool>(),
    ) {
        let (mut section, mut all) = (Vec::new(), Vec::new());
        for (ptx, sm, header, stored) in &units {
            let (kind, image) = if *ptx { (1, fixture("prints.ptx")) } else { (2, fixture("prints.cubin")) };
            section.extend(fatbin(kind, *sm, *header, *stored, &image));
            let format = if *ptx { Format::Ptx } else { Format::Cubin };
            let id = format!("{} sm_{sm}", if *ptx { "ptx" } else { "cubin" });
            all.push((format, id, !relocatable, 2));
        }
        let name = if relocatable { "__nv_relfatbin" } else { ".nv_fatbin" };
        let inspection = read(&host(object::BinaryFormat::Elf, &[(name, &section)]));
        let found: Vec<_> = inspection
            .images
            .iter()
            .map(|image| (image.format, image.container_id.clone().unwrap(), image.loaded, image.kernels.len()))
            .collect();
        prop_assert_eq!(found, all);
    }

    #[test]
    fn sycl_sections(units in vec(any::<bool>(), 1..5)) {
        let plain = fixture("prints.spv");
        let frame = zstd::encode_all(&*plain, 3).unwrap();
        let images: Vec<(&[u8], usize)> =
            units.iter().map(|packed| (if *packed { &*frame } else { &*plain }, plain.len())).collect();
        let inspection = read(&sycl("sycl-spir64", &images, true));
        let found: Vec<_> = inspection.images.iter().map(|image| (image.format, image.bytes)).collect();
        prop_assert_eq!(found, vec![(Format::Spirv, plain.len() as u64); units.len()]);
        // Frames tell where they end, so they need no table.
        let frames: Vec<(&[u8], usize)> = units.iter().map(|_| (&*frame, 0)).collect();
        prop_assert_eq!(read(&sycl("sycl-spir64", &frames, false)).images.len(), units.len());
    }

    #[test]
    fn archives_and_packages(members in members(), by in select(vec![Wrap::Ar, Wrap::Zip, Wrap::Tar])) {
        let parts = borrowed(&members);
        let file = match by {
            Wrap::Ar => ar(&parts),
            Wrap::Zip => zip(&parts),
            _ => tar(&parts),
        };
        prop_assert_eq!(identities(&read(&file)), expected(&members));
    }

    #[test]
    fn kernel_packs(image in image(), compressed in any::<bool>()) {
        prop_assert_eq!(identities(&read(&kpack(compressed, &image))), [("gfx1100".to_owned(), image.len() as u64)]);
    }

    #[test]
    fn any_nesting(members in members(), version in 0u16..4, packing in packing(), wraps in wraps()) {
        let inner = bundle(&borrowed(&members), 8);
        let unit = if version == 0 { inner } else { ccob(version, packing, &inner) };
        let mut file = host(object::BinaryFormat::Elf, &[(".hip_fatbin", &unit)]);
        for by in &wraps {
            file = wrap(&file, *by);
        }
        prop_assert_eq!(identities(&read(&file)), expected(&members));
    }

    #[test]
    fn code_objects(
        kernels in btree_map(
            "[a-z_][a-zA-Z0-9_]{0,40}",
            vec(select(vec!["by_value", "global_buffer", "hidden_hostcall_buffer", "hidden_heap_v1"]), 0..6),
            1..40,
        ),
    ) {
        let kernels: Vec<(String, Vec<String>)> = kernels
            .into_iter()
            .map(|(name, kinds)| (name, kinds.into_iter().map(str::to_owned).collect()))
            .collect();
        let inspection = read(&code_object(&kernels));
        let found: Vec<(String, Vec<String>)> = inspection.images[0]
            .kernels
            .iter()
            .map(|kernel| (kernel.name.clone(), kernel.arguments.iter().map(|one| one.kind.clone()).collect()))
            .collect();
        let declaring = kernels.iter().filter(|(_, kinds)| kinds.iter().any(|kind| kind.ends_with("call_buffer")));
        let declaring = declaring.count();
        prop_assert_eq!(found, kernels);
        let report = check(&inspection, &Options::default());
        prop_assert_eq!(report.findings.iter().filter(|one| one.code == "hostcall-declared").count(), declaring);
    }

    #[test]
    fn cubins(kernels in btree_map("[a-z][a-z0-9_]{0,20}", (1u32..256, 0u32..100_000, any::<bool>()), 1..10)) {
        let made: Vec<CudaKernel<'_>> = kernels
            .iter()
            .map(|(name, (registers, stack, prints))| CudaKernel {
                name,
                registers: *registers,
                stack: *stack,
                calls: if *prints { &["vprintf"] } else { &[] },
            })
            .collect();
        let inspection = read(&cubin(&made));
        let found: Vec<_> = inspection.images[0]
            .kernels
            .iter()
            .map(|kernel| (kernel.name.as_str(), kernel.vgprs, kernel.scratch_bytes, kernel.calls.len()))
            .collect();
        let expected: Vec<_> = made
            .iter()
            .map(|kernel| (kernel.name, Some(kernel.registers), Some(u64::from(kernel.stack)), kernel.calls.len()))
            .collect();
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn nothing_mutated_is_clean_unread(number in any::<proptest::sample::Index>(), seed in any::<u64>()) {
        let forms = forms();
        let form = number.get(&forms);
        let mut random = Random(seed);
        let mut bytes = form.seed.clone();
        let other = forms[random.below(forms.len())].seed.clone();
        mutate(&mut bytes, &other, &mut random);
        let inspection = inspect(&(form.pack)(&bytes), &form.name);
        let report = check(&inspection, &Options::default());
        prop_assert!(report.verdict != Verdict::Clean || !inspection.images.is_empty());
    }
}
