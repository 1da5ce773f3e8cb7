//! What instructions refer to: types, constants, names, decorations.
//!
//! Types deeper than scalars, vectors and pointers have no size here: kernels move those.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use rspirv::grammar::{INSTRUCTION_TABLE, LogicalOperand, OperandKind};
use rspirv::spirv::{AddressingModel, Decoration, Op, StorageClass};

use super::Raw;

/// A type declaration.
#[derive(Debug, Clone, Copy)]
enum Type {
    Bytes(u64),
    Vector { element: u32, count: u32 },
    Pointer { class: u32, to: Option<u32> },
}

/// Everything outside the bodies of functions, and the types of all results.
#[derive(Debug, Default)]
pub(super) struct Module {
    /// Function and name, in order.
    pub(super) entries: Vec<(u32, String)>,
    names: HashMap<u32, String>,
    /// Names of extended instruction sets.
    sets: HashMap<u32, String>,
    types: HashMap<u32, Type>,
    /// Result to its type.
    results: HashMap<u32, u32>,
    /// First word of constants.
    constants: HashMap<u32, u32>,
    /// Cache controls of a pointer: for stores or for loads, level and control.
    controls: HashMap<u32, Vec<(bool, u32, u32)>>,
    /// Pointers that are another one under a different type.
    casts: HashMap<u32, u32>,
    pointer_bytes: u64,
}

impl Module {
    pub(super) fn read(raw: &[Raw<'_>]) -> Self {
        let mut module = Module::default();
        for raw in raw {
            module.take(raw);
        }
        module
    }

    fn take(&mut self, raw: &Raw<'_>) {
        let Some(op) = raw.op else { return };
        match (op, raw.operands) {
            (Op::MemoryModel, [addressing, ..]) => {
                self.pointer_bytes = if *addressing == AddressingModel::Physical32 as u32 { 4 } else { 8 };
            }
            (Op::EntryPoint, [_, function, name @ ..]) => self.entries.push((*function, string(name))),
            (Op::Name, [id, name @ ..]) => {
                self.names.insert(*id, string(name));
            }
            (Op::ExtInstImport, [id, name @ ..]) => {
                self.sets.insert(*id, string(name));
            }
            (Op::TypeBool, [id, ..]) => {
                self.types.insert(*id, Type::Bytes(1));
            }
            (Op::TypeInt | Op::TypeFloat, [id, bits, ..]) => {
                self.types.insert(*id, Type::Bytes(u64::from(bits.div_ceil(8))));
            }
            (Op::TypeVector, [id, element, count, ..]) => {
                self.types.insert(*id, Type::Vector { element: *element, count: *count });
            }
            (Op::TypePointer, [id, class, to, ..]) => {
                self.types.insert(*id, Type::Pointer { class: *class, to: Some(*to) });
            }
            (Op::TypeUntypedPointerKHR, [id, class, ..]) => {
                self.types.insert(*id, Type::Pointer { class: *class, to: None });
            }
            (Op::Decorate, [id, decoration, level, control, ..]) => {
                let store = match Decoration::from_u32(*decoration) {
                    Some(Decoration::CacheControlLoadINTEL) => false,
                    Some(Decoration::CacheControlStoreINTEL) => true,
                    _ => return,
                };
                self.controls.entry(*id).or_default().push((store, *level, *control));
            }
            (_, operands) => {
                if let ([kind, id, rest @ ..], true) = (operands, WITH_RESULT.contains(&(op as u32))) {
                    self.results.insert(*id, *kind);
                    match (op, rest.first()) {
                        (Op::Constant, Some(value)) => {
                            self.constants.insert(*id, *value);
                        }
                        (Op::ConstantNull, _) => {
                            self.constants.insert(*id, 0);
                        }
                        (Op::Bitcast, Some(source)) => {
                            self.casts.insert(*id, *source);
                        }
                        _ => {}
                    }
                }
            }
        }
    }

    /// `%name`, or `%123` for an id without a name.
    pub(super) fn name(&self, id: u32) -> String {
        match self.names.get(&id).filter(|name| !name.is_empty()) {
            Some(name) => format!("%{name}"),
            None => format!("%{id}"),
        }
    }

    /// True if the instruction stands for nothing that is executed.
    pub(super) fn is_declaration(&self, raw: &Raw<'_>) -> bool {
        match raw.op {
            Some(
                Op::FunctionParameter
                | Op::Variable
                | Op::UntypedVariableKHR
                | Op::Undef
                | Op::LoopMerge
                | Op::SelectionMerge
                | Op::Line
                | Op::NoLine,
            ) => true,
            Some(Op::ExtInst) => raw
                .operands
                .get(2)
                .and_then(|set| self.sets.get(set))
                .is_some_and(|set| set.starts_with("NonSemantic.")),
            _ => false,
        }
    }

    pub(super) fn is_opencl(&self, set: u32) -> bool {
        self.sets.get(&set).is_some_and(|set| set == "OpenCL.std")
    }

    pub(super) fn constant(&self, id: u32) -> Option<u32> {
        self.constants.get(&id).copied()
    }

    /// Type of a result.
    pub(super) fn kind(&self, id: u32) -> Option<u32> {
        self.results.get(&id).copied()
    }

    /// Bytes of a type.
    pub(super) fn bytes(&self, kind: u32) -> Option<u64> {
        match self.types.get(&kind)? {
            Type::Bytes(bytes) => Some(*bytes),
            Type::Vector { element, count } => match self.types.get(element)? {
                Type::Bytes(bytes) => Some(bytes * u64::from(*count)),
                Type::Pointer { .. } => Some(self.pointer_bytes * u64::from(*count)),
                Type::Vector { .. } => None,
            },
            Type::Pointer { .. } => Some(self.pointer_bytes),
        }
    }

    /// Bytes of what a pointer points to, if its type says.
    pub(super) fn pointee(&self, pointer: u32) -> Option<u64> {
        match self.types.get(&self.kind(pointer)?)? {
            Type::Pointer { to, .. } => self.bytes((*to)?),
            _ => None,
        }
    }

    /// Address space of a pointer, in OpenCL's words where it has one.
    pub(super) fn space(&self, pointer: u32) -> &'static str {
        let class = match self.kind(pointer).and_then(|kind| self.types.get(&kind)) {
            Some(Type::Pointer { class, .. }) => StorageClass::from_u32(*class),
            _ => None,
        };
        match class {
            Some(StorageClass::CrossWorkgroup) => "global",
            Some(StorageClass::Workgroup) => "local",
            Some(StorageClass::Function | StorageClass::Private) => "private",
            Some(StorageClass::UniformConstant) => "constant",
            Some(StorageClass::Generic) => "generic",
            Some(StorageClass::Input) => "input",
            Some(StorageClass::Output) => "output",
            Some(StorageClass::Uniform) => "uniform",
            Some(StorageClass::StorageBuffer) => "storage-buffer",
            Some(StorageClass::PhysicalStorageBuffer) => "physical-storage-buffer",
            Some(StorageClass::PushConstant) => "push-constant",
            Some(StorageClass::Image) => "image",
            _ => "unknown",
        }
    }

    /// Cache controls of a pointer or of what it was cast from: level and control.
    pub(super) fn controls(&self, pointer: u32, stores: bool) -> impl Iterator<Item = (u32, u32)> {
        let mut id = pointer;
        // Casts of casts are rare; a cycle of them is malformed.
        for _ in 0..4 {
            match self.casts.get(&id) {
                Some(source) if !self.controls.contains_key(&id) => id = *source,
                _ => break,
            }
        }
        let found = self.controls.get(&id).map(Vec::as_slice).unwrap_or_default();
        found.iter().filter(move |(store, ..)| *store == stores).map(|(_, level, control)| (*level, *control))
    }
}

/// Opcodes whose first operands are the type and the id of a result.
static WITH_RESULT: LazyLock<HashSet<u32>> = LazyLock::new(|| {
    let has_result = |operands: &[LogicalOperand]| {
        let kind = |at: usize| operands.get(at).map(|operand| operand.kind);
        (kind(0), kind(1)) == (Some(OperandKind::IdResultType), Some(OperandKind::IdResult))
    };
    INSTRUCTION_TABLE.iter().filter(|known| has_result(known.operands)).map(|known| known.opcode as u32).collect()
});

/// The literal string at the start of `words`.
fn string(words: &[u32]) -> String {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).take_while(|byte| *byte != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}
