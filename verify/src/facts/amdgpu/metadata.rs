//! The `NT_AMDGPU_METADATA` note: kernels, their arguments, their needs.
//!
//! Keys: LLVM, "User Guide for AMDGPU Backend", Code Object V3 to V5 Metadata (V6 adds none that
//! matter here). Left out: attributes, vector type hints, work-group size hints.

use crate::error::ReadError;
use crate::facts::Detail;
use crate::model::{Argument, Kernel};
use crate::msgpack::Cursor;

/// What the note says about the whole code object.
#[derive(Debug, Default)]
pub(crate) struct Metadata {
    /// `amdhsa.target`, absent in many shipped files.
    pub(crate) target: Option<String>,
    /// `amdhsa.version`.
    pub(crate) version: Option<(u64, u64)>,
    pub(crate) kernels: Vec<Kernel>,
    pub(crate) printf: Vec<String>,
}

/// Reads the note's MessagePack text.
pub(crate) fn read(bytes: &[u8], detail: Detail) -> Result<Metadata, ReadError> {
    let mut cursor = Cursor::new(bytes, "AMDGPU metadata note");
    let mut metadata = Metadata::default();
    for _ in 0..cursor.map()? {
        match cursor.word()? {
            b"amdhsa.target" => metadata.target = Some(cursor.string()?.to_owned()),
            b"amdhsa.version" => metadata.version = version(&mut cursor)?,
            b"amdhsa.printf" => {
                for _ in 0..cursor.array()? {
                    metadata.printf.push(cursor.string()?.to_owned());
                }
            }
            b"amdhsa.kernels" => {
                for _ in 0..cursor.array()? {
                    metadata.kernels.push(kernel(&mut cursor, detail)?);
                }
            }
            _ => cursor.skip()?,
        }
    }
    Ok(metadata)
}

fn version(cursor: &mut Cursor<'_>) -> Result<Option<(u64, u64)>, ReadError> {
    let mut parts = [None, None];
    for at in 0..cursor.array()? {
        match parts.get_mut(at as usize) {
            Some(part) => *part = Some(cursor.unsigned()?),
            None => cursor.skip()?,
        }
    }
    let [major, minor] = parts;
    Ok(major.zip(minor))
}

fn kernel(cursor: &mut Cursor<'_>, detail: Detail) -> Result<Kernel, ReadError> {
    let mut kernel = Kernel::default();
    let mut symbol = None;
    for _ in 0..cursor.map()? {
        match cursor.word()? {
            b".name" => kernel.name = cursor.string()?.to_owned(),
            b".symbol" => symbol = Some(cursor.string()?),
            b".language" => kernel.language = Some(cursor.string()?.to_owned()),
            b".kernarg_segment_size" => kernel.kernarg_bytes = Some(cursor.unsigned()?),
            b".private_segment_fixed_size" => kernel.scratch_bytes = Some(cursor.unsigned()?),
            b".group_segment_fixed_size" => kernel.shared_bytes = Some(cursor.unsigned()?),
            b".uses_dynamic_stack" => kernel.dynamic_stack = Some(cursor.truth()?),
            b".vgpr_count" => kernel.vgprs = Some(cursor.unsigned32()?),
            b".sgpr_count" => kernel.sgprs = Some(cursor.unsigned32()?),
            b".vgpr_spill_count" => kernel.vgpr_spills = Some(cursor.unsigned32()?),
            b".sgpr_spill_count" => kernel.sgpr_spills = Some(cursor.unsigned32()?),
            b".max_flat_workgroup_size" => kernel.max_threads = Some(cursor.unsigned32()?),
            b".wavefront_size" => kernel.wavefront = Some(cursor.unsigned32()?),
            b".args" => {
                for _ in 0..cursor.array()? {
                    argument(cursor, &mut kernel, detail)?;
                }
            }
            _ => cursor.skip()?,
        }
    }
    let symbol = symbol.ok_or_else(|| ReadError::malformed("AMDGPU metadata note", "a kernel without .symbol"))?;
    let base = symbol.strip_suffix(".kd").unwrap_or(symbol);
    if kernel.name.is_empty() {
        kernel.name = base.to_owned();
    }
    if base != kernel.name || base == symbol {
        kernel.descriptor = Some(symbol.to_owned());
    }
    Ok(kernel)
}

fn argument(cursor: &mut Cursor<'_>, kernel: &mut Kernel, detail: Detail) -> Result<(), ReadError> {
    let mut argument = Argument::default();
    for _ in 0..cursor.map()? {
        match cursor.word()? {
            b".value_kind" => {
                let kind = cursor.word()?;
                if let Some(hidden) = hidden(kind) {
                    kernel.hidden.insert(hidden);
                }
                if detail == Detail::Full {
                    argument.kind = String::from_utf8_lossy(kind).into_owned();
                }
            }
            b".type_name" => {
                kernel.typed_arguments = true;
                let name = cursor.string()?;
                argument.type_name = (detail == Detail::Full).then(|| name.to_owned());
            }
            _ if detail == Detail::Summary => cursor.skip()?,
            b".name" => argument.name = Some(cursor.string()?.to_owned()),
            b".offset" => argument.offset = Some(cursor.unsigned()?),
            b".size" => argument.bytes = Some(cursor.unsigned()?),
            b".address_space" => argument.address_space = Some(cursor.string()?.to_owned()),
            _ => cursor.skip()?,
        }
    }
    if detail == Detail::Full {
        kernel.arguments.push(argument);
    }
    Ok(())
}

/// The word if it names a hidden argument.
fn hidden(kind: &[u8]) -> Option<&str> {
    kind.starts_with(b"hidden_").then(|| std::str::from_utf8(kind).unwrap_or("hidden_unknown"))
}
