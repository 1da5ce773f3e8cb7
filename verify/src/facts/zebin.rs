//! Intel machine code ELF (zebin).
//!
//! Source: intel-graphics-compiler, "ZEBinary" (zebin.md, zeinfo.md): machine 205, a YAML text in
//! the section `.ze_info` (type 0xff000011). Printing and asserting show as flags of the execution
//! environment and as payload arguments; a printf in a called function may show only as an implicit
//! argument buffer with stack calls, which is reported as such. Left out: code, relocations.

use object::elf::{FileHeader32, FileHeader64};
use object::read::elf::{FileHeader, SectionHeader};
use object::{Endianness, elf};
use serde::Deserialize;

use crate::error::ReadError;
use crate::facts::Detail;
use crate::model::{Argument, Details, Format, Image, Kernel, Symbols};

const WHAT: &str = "zebin";
const SHT_ZE_INFO: u32 = 0xff00_0011;

/// The part of `.ze_info` that rules ask about; keys not named here are ignored.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ZeInfo {
    version: String,
    kernels: Vec<ZeKernel>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ZeKernel {
    name: String,
    execution_env: Environment,
    payload_arguments: Vec<Payload>,
    per_thread_memory_buffers: Vec<MemoryBuffer>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Environment {
    has_printf_calls: bool,
    require_assert_buffer: bool,
    has_indirect_calls: bool,
    has_stack_calls: bool,
    simd_size: Option<u32>,
    slm_size: Option<u64>,
    grf_count: Option<u32>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Payload {
    arg_type: String,
    offset: Option<u64>,
    size: Option<u64>,
    addrspace: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct MemoryBuffer {
    r#type: String,
    size: u64,
    is_simt_thread: bool,
}

/// Reads one zebin.
pub(crate) fn read(bytes: &[u8], detail: Detail) -> Result<Image, ReadError> {
    // 32-bit addressing is stored as ELF32.
    if bytes.get(4) == Some(&elf::ELFCLASS32.0) {
        read_elf::<FileHeader32<Endianness>>(bytes, detail)
    } else {
        read_elf::<FileHeader64<Endianness>>(bytes, detail)
    }
}

fn read_elf<H: FileHeader<Endian = Endianness>>(bytes: &[u8], detail: Detail) -> Result<Image, ReadError> {
    let malformed = |error: object::Error| ReadError::malformed(WHAT, error.to_string());
    let header = H::parse(bytes).map_err(malformed)?;
    let endian = header.endian().map_err(malformed)?;
    let sections = header.sections(endian, bytes).map_err(malformed)?;
    let info = sections
        .iter()
        .find(|section| section.sh_type(endian).0 == SHT_ZE_INFO)
        .ok_or_else(|| ReadError::unsupported(WHAT, "has no .ze_info section"))?;
    let text = info.data(endian, bytes).map_err(malformed)?;
    let text = std::str::from_utf8(text)
        .map_err(|error| ReadError::malformed(".ze_info", error.to_string()))?
        .trim_end_matches('\0');
    let info: ZeInfo =
        serde_saphyr::from_str(text).map_err(|error| ReadError::malformed(".ze_info", error.to_string()))?;
    Ok(Image {
        path: String::new(),
        container_id: None,
        group: String::new(),
        format: Format::Zebin,
        target: "zebin".to_owned(),
        bytes: bytes.len() as u64,
        loaded: true,
        details: Details::Zebin { ze_info_version: info.version, e_flags: header.e_flags(endian).0 },
        kernels: info.kernels.into_iter().map(|kernel| kernel_of(kernel, detail)).collect(),
        symbols: Symbols::default(),
        printf_strings: Vec::new(),
    })
}

fn kernel_of(kernel: ZeKernel, detail: Detail) -> Kernel {
    let environment = kernel.execution_env;
    let flags = [
        ("has_printf_calls", environment.has_printf_calls),
        ("require_assert_buffer", environment.require_assert_buffer),
        ("has_stack_calls", environment.has_stack_calls),
    ];
    let mut services: Vec<String> = flags.iter().filter(|(_, set)| *set).map(|(name, _)| (*name).to_owned()).collect();
    for payload in &kernel.payload_arguments {
        if matches!(&*payload.arg_type, "printf_buffer" | "assert_buffer" | "implicit_arg_buffer") {
            services.push(payload.arg_type.clone());
        }
    }
    services.sort_unstable();
    services.dedup();
    let end = |payload: &Payload| payload.offset.unwrap_or(0).saturating_add(payload.size.unwrap_or(0));
    let scratch = kernel
        .per_thread_memory_buffers
        .iter()
        .filter(|buffer| buffer.r#type == "scratch" || buffer.r#type == "global")
        // A buffer of a hardware thread serves all its lanes.
        .map(|buffer| match environment.simd_size {
            Some(lanes) if lanes > 0 && !buffer.is_simt_thread => buffer.size.div_ceil(lanes.into()),
            _ => buffer.size,
        })
        .fold(0u64, u64::saturating_add);
    Kernel {
        name: kernel.name,
        kernarg_bytes: kernel.payload_arguments.iter().map(end).max(),
        scratch_bytes: Some(scratch),
        shared_bytes: environment.slm_size,
        dynamic_stack: Some(environment.has_indirect_calls || environment.has_stack_calls),
        vgprs: environment.grf_count,
        wavefront: environment.simd_size,
        services,
        arguments: match detail {
            Detail::Summary => Vec::new(),
            Detail::Full => kernel.payload_arguments.into_iter().map(argument).collect(),
        },
        ..Kernel::default()
    }
}

fn argument(payload: Payload) -> Argument {
    Argument {
        name: None,
        kind: payload.arg_type,
        type_name: None,
        offset: payload.offset,
        bytes: payload.size,
        address_space: payload.addrspace,
    }
}
