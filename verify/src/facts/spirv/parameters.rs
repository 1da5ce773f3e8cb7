//! Types of kernel parameters: scalars, vectors, pointers. Others keep their id and no size.

use std::collections::BTreeMap;

use rspirv::spirv::{Op, StorageClass};

use crate::model::Argument;

/// A type declaration.
#[derive(Debug, Clone, Copy)]
enum Type {
    Scalar { letter: char, bits: u32 },
    Vector { element: u32, count: u32 },
    Pointer { class: u32, to: Option<u32> },
}

/// Type declarations of a module by id.
#[derive(Debug, Default)]
pub(super) struct Types {
    known: BTreeMap<u32, Type>,
    pointer_bytes: u64,
}

impl Types {
    pub(super) fn wants(opcode: u32) -> bool {
        matches!(
            Op::from_u32(opcode),
            Some(
                Op::TypeBool
                    | Op::TypeInt
                    | Op::TypeFloat
                    | Op::TypeVector
                    | Op::TypePointer
                    | Op::TypeUntypedPointerKHR
            )
        )
    }

    /// Pointer width follows from the addressing model (1: 32 bits, 2 and later: 64).
    pub(super) fn set_addressing(&mut self, addressing: u32) {
        self.pointer_bytes = match addressing {
            0 => 0,
            1 => 4,
            _ => 8,
        };
    }

    pub(super) fn take(&mut self, op: Op, operands: &[u32]) {
        let (id, kind) = match (op, operands) {
            (Op::TypeBool, [id, ..]) => (*id, Type::Scalar { letter: 'b', bits: 8 }),
            (Op::TypeInt, [id, bits, signed, ..]) => {
                let letter = if *signed == 1 { 's' } else { 'u' };
                (*id, Type::Scalar { letter, bits: *bits })
            }
            (Op::TypeFloat, [id, bits, ..]) => (*id, Type::Scalar { letter: 'f', bits: *bits }),
            (Op::TypeVector, [id, element, count, ..]) => {
                let (element, count) = (*element, *count);
                (*id, Type::Vector { element, count })
            }
            (Op::TypePointer, [id, class, to, ..]) => {
                let (class, to) = (*class, Some(*to));
                (*id, Type::Pointer { class, to })
            }
            (Op::TypeUntypedPointerKHR, [id, class, ..]) => {
                let class = *class;
                (*id, Type::Pointer { class, to: None })
            }
            _ => return,
        };
        self.known.insert(id, kind);
    }

    /// The parameter of type `id` as an argument.
    pub(super) fn argument(&self, name: Option<&String>, id: u32) -> Argument {
        let known = self.known.get(&id);
        let (kind, address_space) = match known {
            Some(Type::Pointer { class, .. }) => ("global_buffer", Some(class_name(*class))),
            _ => ("by_value", None),
        };
        Argument {
            name: name.cloned(),
            kind: kind.to_owned(),
            type_name: known.map(|_| self.spell(id, 0)),
            offset: None,
            bytes: self.bytes(id, 0),
            address_space,
        }
    }

    /// Size in bytes; `depth` stops types that contain themselves.
    fn bytes(&self, id: u32, depth: u8) -> Option<u64> {
        match self.known.get(&id)? {
            Type::Scalar { bits, .. } => Some(u64::from(*bits).div_ceil(8)),
            Type::Vector { element, count } if depth < 4 => {
                // OpenCL C 6.1.5: a vector of three takes the room of four.
                let count = if *count == 3 { 4 } else { u64::from(*count) };
                Some(self.bytes(*element, depth + 1)?.saturating_mul(count))
            }
            Type::Vector { .. } => None,
            Type::Pointer { .. } => Some(self.pointer_bytes),
        }
    }

    fn spell(&self, id: u32, depth: u8) -> String {
        match self.known.get(&id) {
            Some(Type::Scalar { letter: 'b', .. }) => "bool".to_owned(),
            Some(Type::Scalar { letter, bits }) => format!("{letter}{bits}"),
            Some(Type::Vector { element, count }) if depth < 4 => {
                format!("{}x{count}", self.spell(*element, depth + 1))
            }
            Some(Type::Pointer { to: Some(to), .. }) if depth < 4 => {
                format!("{}*", self.spell(*to, depth + 1))
            }
            Some(Type::Pointer { to: None, .. }) => "ptr".to_owned(),
            _ => format!("%{id}"),
        }
    }
}

/// OpenCL's word for a storage class, SPIR-V's own where there is none.
fn class_name(class: u32) -> String {
    match StorageClass::from_u32(class) {
        Some(StorageClass::CrossWorkgroup) => "global".to_owned(),
        Some(StorageClass::Workgroup) => "local".to_owned(),
        Some(StorageClass::UniformConstant) => "constant".to_owned(),
        Some(StorageClass::Function) => "private".to_owned(),
        Some(other) => format!("{other:?}"),
        None => class.to_string(),
    }
}
