//! Writers of containers, independent of the readers, and the committed fixtures.

#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "each test file uses its own part of these helpers of tests"
)]

mod cases;
mod hosts;
pub(crate) mod mutate;

use std::fs;
use std::io::Write;
use std::path::Path;

#[allow(unused_imports, reason = "each test file uses its own part of these helpers of tests")]
pub(crate) use cases::cases;
#[allow(unused_imports, reason = "each test file uses its own part of these helpers of tests")]
pub(crate) use hosts::{CudaKernel, code_object, cubin, headless, host, pe, sycl, zebin};
use md5::{Digest, Md5};

/// A committed image of `data/images`.
pub(crate) fn fixture(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/images").join(name);
    fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Entry ID of a HIP image for gfx1100.
pub(crate) const HIP: &str = "hipv4-amdgcn-amd-amdhsa--gfx1100";
/// Entry ID of the host placeholder.
pub(crate) const HOST: &str = "host-x86_64-unknown-linux-gnu-";

/// A clang offload bundle whose images begin on multiples of `align`.
pub(crate) fn bundle(entries: &[(&str, &[u8])], align: usize) -> Vec<u8> {
    let header: usize = 32 + entries.iter().map(|(id, _)| 24 + id.len()).sum::<usize>();
    let mut out = b"__CLANG_OFFLOAD_BUNDLE__".to_vec();
    out.extend((entries.len() as u64).to_le_bytes());
    let mut at = header;
    let mut body = vec![0; header];
    for (id, image) in entries {
        if !image.is_empty() {
            at = body.len().next_multiple_of(align);
            body.resize(at, 0);
        }
        for field in [at, image.len(), id.len()] {
            out.extend((field as u64).to_le_bytes());
        }
        out.extend(id.as_bytes());
        body.extend_from_slice(image);
    }
    out.extend_from_slice(&body[header..]);
    out
}

/// A HIP bundle with a host placeholder and one image.
pub(crate) fn hip(image: &[u8]) -> Vec<u8> {
    bundle(&[(HOST, b""), (HIP, image)], 4096)
}

/// Compression of a [`ccob`].
#[derive(Debug, Clone, Copy)]
pub(crate) enum Packing {
    Zlib,
    Zstd,
}

pub(crate) fn pack(bytes: &[u8], packing: Packing) -> Vec<u8> {
    match packing {
        Packing::Zstd => zstd::encode_all(bytes, 3).unwrap(),
        Packing::Zlib => {
            let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
            encoder.write_all(bytes).unwrap();
            encoder.finish().unwrap()
        }
    }
}

/// A compressed offload bundle.
pub(crate) fn ccob(version: u16, packing: Packing, inner: &[u8]) -> Vec<u8> {
    let payload = pack(inner, packing);
    let mut out = b"CCOB".to_vec();
    out.extend(version.to_le_bytes());
    out.extend(u16::from(matches!(packing, Packing::Zstd)).to_le_bytes());
    match version {
        1 => {}
        2 => out.extend((24 + payload.len() as u32).to_le_bytes()),
        _ => out.extend((32 + payload.len() as u64).to_le_bytes()),
    }
    if version < 3 {
        out.extend((inner.len() as u32).to_le_bytes());
    } else {
        out.extend((inner.len() as u64).to_le_bytes());
    }
    out.extend(&Md5::digest(inner)[..8]);
    out.extend(payload);
    out
}

/// Payload form of a fat binary entry.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Stored {
    Plain,
    Lz4,
    Zstd,
}

/// A CUDA fat binary with one entry.
pub(crate) fn fatbin(kind: u16, sm: u32, header: u32, stored: Stored, image: &[u8]) -> Vec<u8> {
    let (payload, flag) = match stored {
        Stored::Plain => (image.to_vec(), 0u64),
        Stored::Lz4 => (lz4_flex::block::compress(image), 0x2000),
        Stored::Zstd => (zstd::encode_all(image, 3).unwrap(), 0x8000),
    };
    let padded = payload.len().next_multiple_of(8);
    let mut entry = vec![0u8; header as usize];
    let mut put = |at: usize, bytes: &[u8]| entry[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, &kind.to_le_bytes());
    put(4, &header.to_le_bytes());
    put(8, &(padded as u64).to_le_bytes());
    put(16, &(payload.len() as u32).to_le_bytes());
    put(28, &sm.to_le_bytes());
    put(40, &flag.to_le_bytes());
    put(56, &(image.len() as u64).to_le_bytes());
    entry.extend(&payload);
    entry.resize(header as usize + padded, 0);
    let mut out = 0xba55_ed50u32.to_le_bytes().to_vec();
    out.extend(1u16.to_le_bytes());
    out.extend(16u16.to_le_bytes());
    out.extend((entry.len() as u64).to_le_bytes());
    out.extend(entry);
    out
}

/// An LLVM OffloadBinary with one image.
pub(crate) fn offload_binary(version: u32, triple: &str, arch: &str, image: &[u8]) -> Vec<u8> {
    let strings: Vec<u8> = format!("triple\0{triple}\0arch\0{arch}\0").into_bytes();
    let row = if version == 1 { 16 } else { 24 };
    let header = if version == 3 { 40 } else { 32 };
    let (entry, table) = (header, header + 40);
    let text = table + 2 * row;
    let at = (text + strings.len()).next_multiple_of(8);
    let size = (at + image.len()).next_multiple_of(8);
    let mut out = vec![0x10, 0xff, 0x10, 0xad];
    out.extend(version.to_le_bytes());
    out.extend((size as u64).to_le_bytes());
    out.extend((entry as u64).to_le_bytes());
    out.extend((if version == 1 { 40u64 } else { 1 }).to_le_bytes());
    out.resize(header, 0);
    out.extend(1u16.to_le_bytes());
    out.extend(4u16.to_le_bytes());
    out.extend(0u32.to_le_bytes());
    for field in [table, 2, at, image.len()] {
        out.extend((field as u64).to_le_bytes());
    }
    let value = 7 + triple.len() + 1;
    for (key, value, length) in [(0, 7, triple.len()), (value, value + 5, arch.len())] {
        out.extend(((text + key) as u64).to_le_bytes());
        out.extend(((text + value) as u64).to_le_bytes());
        if version > 1 {
            out.extend((length as u64).to_le_bytes());
        }
    }
    out.extend(strings);
    out.resize(at, 0);
    out.extend(image);
    out.resize(size, 0);
    out
}

/// An OffloadBinary of version 3 with everything behind its header compressed.
pub(crate) fn offload_packed(triple: &str, arch: &str, image: &[u8]) -> Vec<u8> {
    let plain = offload_binary(3, triple, arch, image);
    let mut out = plain[..40].to_vec();
    out.extend(zstd::encode_all(&plain[40..], 3).unwrap());
    let size = out.len() as u64;
    out[8..16].copy_from_slice(&size.to_le_bytes());
    out[32..40].copy_from_slice(&(plain.len() as u64).to_le_bytes());
    out
}

/// An `ar` archive with short member names.
pub(crate) fn ar(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut out = b"!<arch>\n".to_vec();
    for (name, data) in members {
        let name = format!("{name}/");
        out.extend(format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, 0, 644, data.len()).bytes());
        out.extend_from_slice(data);
        if data.len() % 2 == 1 {
            out.push(b'\n');
        }
    }
    out
}

pub(crate) fn zip(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, data) in members {
        writer.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
        writer.write_all(data).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

pub(crate) fn tar(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, data) in members {
        let mut header = tar::Header::new_gnu();
        header.set_size(data.len() as u64);
        header.set_mode(0o644);
        header.set_cksum();
        builder.append_data(&mut header, name, *data).unwrap();
    }
    builder.into_inner().unwrap()
}

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub(crate) fn xz(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = liblzma::write::XzEncoder::new(Vec::new(), 3);
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// A kernel pack with one kernel file.
pub(crate) fn kpack(compressed: bool, image: &[u8]) -> Vec<u8> {
    use rmp::encode::{write_array_len, write_map_len, write_str, write_uint};
    let mut out = b"KPAK".to_vec();
    out.extend(1u32.to_le_bytes());
    out.extend([0; 8]);
    out.resize(64, 0);
    let blob = if compressed {
        let frame = zstd::encode_all(image, 3).unwrap();
        let mut blob = 1u32.to_le_bytes().to_vec();
        blob.extend((frame.len() as u32).to_le_bytes());
        blob.extend(frame);
        blob
    } else {
        image.to_vec()
    };
    out.extend(&blob);
    let toc = out.len() as u64;
    out[8..16].copy_from_slice(&toc.to_le_bytes());
    write_map_len(&mut out, if compressed { 5 } else { 4 }).unwrap();
    write_str(&mut out, "format_version").unwrap();
    write_uint(&mut out, 1).unwrap();
    write_str(&mut out, "compression_scheme").unwrap();
    write_str(&mut out, if compressed { "zstd-per-kernel" } else { "none" }).unwrap();
    if compressed {
        write_str(&mut out, "zstd_offset").unwrap();
        write_uint(&mut out, 64).unwrap();
        write_str(&mut out, "zstd_size").unwrap();
        write_uint(&mut out, blob.len() as u64).unwrap();
    } else {
        write_str(&mut out, "blobs").unwrap();
        write_array_len(&mut out, 1).unwrap();
        write_map_len(&mut out, 2).unwrap();
        write_str(&mut out, "offset").unwrap();
        write_uint(&mut out, 64).unwrap();
        write_str(&mut out, "size").unwrap();
        write_uint(&mut out, blob.len() as u64).unwrap();
    }
    write_str(&mut out, "toc").unwrap();
    write_map_len(&mut out, 1).unwrap();
    write_str(&mut out, "lib/a.so").unwrap();
    write_map_len(&mut out, 1).unwrap();
    write_str(&mut out, "gfx1100").unwrap();
    write_map_len(&mut out, 3).unwrap();
    write_str(&mut out, "type").unwrap();
    write_str(&mut out, "hsaco").unwrap();
    write_str(&mut out, "ordinal").unwrap();
    write_uint(&mut out, 0).unwrap();
    write_str(&mut out, "original_size").unwrap();
    write_uint(&mut out, image.len() as u64).unwrap();
    out
}

/// One small file of every form, by name.
pub(crate) fn corpus() -> Vec<(String, Vec<u8>)> {
    use object::BinaryFormat::{Coff, Elf};
    let image = fixture("specific_stripped.hsaco");
    let (ptx, spirv) = (fixture("prints.ptx"), fixture("prints.spv"));
    let swapped: Vec<u8> = spirv.chunks_exact(4).flat_map(|word| word.iter().rev().copied()).collect();
    let small = bundle(&[(HOST, b""), (HIP, &image)], 8);
    let mut all: Vec<(String, Vec<u8>)> = Vec::new();
    let mut add = |name: &str, bytes: Vec<u8>| all.push((name.to_owned(), bytes));
    for name in ["add_v4.hsaco", "add_v6.hsaco", "calls.o", "prints.ptx", "prints.spv", "prints.cubin"] {
        add(name, fixture(name));
    }
    add("headless.hsaco", headless(image.clone()));
    add("big_endian.spv", swapped);
    let kernel = CudaKernel { name: "loud", registers: 24, stack: 64, calls: &["vprintf", "malloc"] };
    let quiet = CudaKernel { name: "quiet", registers: 6, stack: 0, calls: &[] };
    add("cubin", cubin(&[kernel, quiet]));
    add("bundle", small.clone());
    for version in 1..=3 {
        add(&format!("ccob_v{version}_zlib"), ccob(version, Packing::Zlib, &small));
        add(&format!("ccob_v{version}_zstd"), ccob(version, Packing::Zstd, &small));
        let binary = offload_binary(version.into(), "amdgcn-amd-amdhsa", "gfx1100", &image);
        add(&format!("offload_v{version}"), binary);
    }
    add("offload_packed", offload_packed("amdgcn-amd-amdhsa", "gfx1100", &image));
    let two = [ccob(3, Packing::Zstd, &small), vec![0; 100], ccob(2, Packing::Zlib, &small)].concat();
    add("ccobs", two);
    add("fatbin_cubin", fatbin(2, 90, 64, Stored::Lz4, &fixture("prints.cubin")));
    add("fatbin_plain", fatbin(1, 90, 64, Stored::Plain, &ptx));
    add("fatbin_lz4", fatbin(1, 90, 72, Stored::Lz4, &ptx));
    add("fatbin_zstd", fatbin(1, 90, 112, Stored::Zstd, &ptx));
    add("elf", host(Elf, &[(".hip_fatbin", &small)]));
    add("pe", pe(&[(".text", b"code"), (".hip_fatbin", &small)]));
    add("coff", host(Coff, &[(".hip_fatbin", &small)]));
    let frame = zstd::encode_all(&*spirv, 3).unwrap();
    add("sycl", sycl("sycl-spir64", &[(&spirv, 0)], false));
    add("sycl_zstd", sycl("sycl-spir64", &[(&frame, 0)], false));
    add("sycl_table", sycl("sycl-spir64", &[(&spirv, spirv.len()), (&frame, spirv.len())], true));
    let ocloc = ar(&[("64.12.60.7", &zebin(ZE_INFO)), ("generic_ir", &spirv), ("64.20.1.4", &zebin(ZE_INFO))]);
    add("ocloc", sycl("sycl-spir64_gen", &[(&ocloc, ocloc.len())], true));
    add("zebin", zebin(ZE_INFO));
    add("kpack", kpack(false, &image));
    add("kpack_zstd", kpack(true, &image));
    add("ar", ar(&[("a.o", &host(Elf, &[(".hip_fatbin", &small)]))]));
    add("zip", zip(&[("a.so", &host(Elf, &[(".hip_fatbin", &small)]))]));
    let tar = tar(&[("a.so", &host(Elf, &[(".hip_fatbin", &small)]))]);
    add("tar_gz", gzip(&tar));
    add("tar_xz", xz(&tar));
    add("tar_zst", zstd::encode_all(&*tar, 3).unwrap());
    add("deb", ar(&[("debian-binary", b"2.0\n"), ("data.tar.xz", &xz(&tar))]));
    add("tar", tar);
    all
}

/// A valid file that a fuzzer mutates, and what becomes of it before it is read.
pub(crate) struct Form {
    pub(crate) name: String,
    pub(crate) seed: Vec<u8>,
    pub(crate) pack: fn(&[u8]) -> Vec<u8>,
}

/// The corpus as it is, and forms below compression, which mutations of the file hardly reach.
pub(crate) fn forms() -> Vec<Form> {
    let mut forms: Vec<Form> =
        corpus().into_iter().map(|(name, seed)| Form { name, seed, pack: |bytes| bytes.to_vec() }).collect();
    let image = fixture("specific_stripped.hsaco");
    let small = bundle(&[(HOST, b""), (HIP, &image)], 8);
    let mut inside = |name: &str, seed: &[u8], pack: fn(&[u8]) -> Vec<u8>| {
        forms.push(Form { name: format!("{name}_inside"), seed: seed.to_vec(), pack });
    };
    inside("ccob_v1", &small, |bytes| ccob(1, Packing::Zlib, bytes));
    inside("ccob_v2", &small, |bytes| ccob(2, Packing::Zstd, bytes));
    inside("ccob_v3", &small, |bytes| ccob(3, Packing::Zlib, bytes));
    inside("fatbin_lz4", &fixture("prints.ptx"), |bytes| fatbin(1, 90, 72, Stored::Lz4, bytes));
    inside("sycl_zstd", &fixture("prints.spv"), |bytes| {
        let frame = zstd::encode_all(bytes, 3).unwrap();
        sycl("sycl-spir64", &[(&frame, bytes.len())], true)
    });
    inside("zebin", ZE_INFO.as_bytes(), |bytes| zebin(&String::from_utf8_lossy(bytes)));
    inside("kpack_zstd", &image, |bytes| kpack(true, bytes));
    inside("zip", &host(object::BinaryFormat::Elf, &[(".hip_fatbin", &small)]), |bytes| zip(&[("a.so", bytes)]));
    inside("tar_gz", &tar(&[("a.so", &small)]), gzip);
    forms
}

/// A kernel that prints and asserts.
pub(crate) const ZE_INFO: &str = "---
version: '1.50'
kernels:
  - name: loud
    execution_env:
      grf_count: 128
      has_printf_calls: true
      require_assert_buffer: true
      simd_size: 16
    payload_arguments:
      - arg_type: printf_buffer
        offset: 32
        size: 8
      - arg_type: arg_bypointer
        offset: 40
        size: 8
        addrspace: global
    per_thread_memory_buffers:
      - type: scratch
        usage: single_space
        size: 256
  - name: quiet
    execution_env:
      simd_size: 32
...
";
