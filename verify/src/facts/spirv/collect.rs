//! Takes instructions one by one and keeps what rules ask about.
//!
//! Instructions come as operand words, because that is what both fronts (rspirv and the bare walk)
//! can give.

use std::collections::{BTreeMap, BTreeSet};

use rspirv::spirv::{AddressingModel, Capability, MemoryModel, Op};

use super::WHAT;
use super::parameters::Types;
use crate::error::ReadError;
use crate::facts::{CALL_GRAPH_VISITS, Detail};
use crate::model::Kernel;
use crate::symbols::is_spirv_assert;

/// `OpenCL.std` instruction number of `printf`.
const OPENCL_PRINTF: u32 = 184;
const DECORATION_LINKAGE: u32 = 41;
const LINKAGE_IMPORT: u32 = 1;
const DECORATION_BUILT_IN: u32 = 11;
const MODE_LOCAL_SIZE: u32 = 17;
const MODE_SUBGROUP_SIZE: u32 = 35;

/// A function of the module.
#[derive(Debug, Default)]
struct Function {
    parameters: Vec<(u32, u32)>,
    calls: BTreeSet<u32>,
    prints: BTreeSet<&'static str>,
    indirect: bool,
}

/// State of one pass over a module.
#[derive(Debug, Default)]
pub(super) struct Collector {
    capabilities: Vec<u32>,
    extensions: Vec<String>,
    sets: BTreeMap<u32, String>,
    addressing: Option<u32>,
    memory: Option<u32>,
    /// Function id and name, in order.
    entries: Vec<(u32, String)>,
    /// Entry's function id and mode; its literals multiplied. The first of each counts.
    modes: BTreeMap<(u32, u32), u32>,
    names: BTreeMap<u32, String>,
    /// Id to linkage name; true for an import.
    linkage: BTreeMap<u32, (String, bool)>,
    /// Variables that the device provides; LLVM gives them import linkage as well.
    built_ins: BTreeSet<u32>,
    types: Types,
    functions: BTreeMap<u32, Function>,
    current: u32,
    /// Between OpFunction and OpFunctionEnd.
    open: bool,
    /// Prints of instructions outside any function do not exist; kept apart all the same.
    module_prints: BTreeSet<&'static str>,
}

impl Collector {
    /// True for opcodes that [`Self::take`] looks at.
    pub(super) fn wants(opcode: u32) -> bool {
        matches!(
            Op::from_u32(opcode),
            Some(
                Op::Name
                    | Op::Extension
                    | Op::ExtInstImport
                    | Op::ExtInst
                    | Op::MemoryModel
                    | Op::EntryPoint
                    | Op::ExecutionMode
                    | Op::Capability
                    | Op::Decorate
                    | Op::Function
                    | Op::FunctionParameter
                    | Op::FunctionEnd
                    | Op::FunctionCall
                    | Op::FunctionPointerCallINTEL
            )
        ) || Types::wants(opcode)
    }

    /// Takes one instruction; `operands` are its words after the first.
    pub(super) fn take(&mut self, opcode: u32, operands: &[u32]) {
        let Some(op) = Op::from_u32(opcode) else {
            return;
        };
        match (op, operands) {
            (Op::Capability, [capability, ..]) => self.capabilities.push(*capability),
            (Op::Extension, name) => self.extensions.push(string(name).0),
            (Op::ExtInstImport, [id, name @ ..]) => {
                self.sets.insert(*id, string(name).0);
            }
            (Op::MemoryModel, [addressing, memory, ..]) => {
                self.addressing = Some(*addressing);
                self.memory = Some(*memory);
                self.types.set_addressing(*addressing);
            }
            (Op::EntryPoint, [_, function, name @ ..]) => {
                self.entries.push((*function, string(name).0));
            }
            (Op::ExecutionMode, [function, mode, literals @ ..]) => {
                let product = literals.iter().fold(1u32, |all, one| all.saturating_mul(*one));
                self.modes.entry((*function, *mode)).or_insert(product);
            }
            (Op::Name, [id, name @ ..]) => {
                self.names.insert(*id, string(name).0);
            }
            (Op::Decorate, [id, DECORATION_LINKAGE, rest @ ..]) => {
                let (name, used) = string(rest);
                let import = rest.get(used) == Some(&LINKAGE_IMPORT);
                self.linkage.insert(*id, (name, import));
            }
            (Op::Decorate, [id, DECORATION_BUILT_IN, ..]) => {
                self.built_ins.insert(*id);
            }
            (Op::Function, [_, id, ..]) => {
                self.current = *id;
                self.open = true;
                self.functions.entry(*id).or_default();
            }
            (Op::FunctionEnd, _) => self.open = false,
            (Op::FunctionParameter, [kind, id, ..]) => {
                if let Some(function) = self.functions.get_mut(&self.current) {
                    function.parameters.push((*id, *kind));
                }
            }
            (Op::FunctionCall, [_, _, callee, ..]) => {
                if let Some(function) = self.functions.get_mut(&self.current) {
                    function.calls.insert(*callee);
                }
            }
            (Op::FunctionPointerCallINTEL, _) => {
                if let Some(function) = self.functions.get_mut(&self.current) {
                    function.indirect = true;
                }
            }
            (Op::ExtInst, [_, _, set, number, ..]) => {
                let print = match self.sets.get(set).map(String::as_str) {
                    Some("OpenCL.std") if *number == OPENCL_PRINTF => "OpenCL.std printf",
                    Some("NonSemantic.DebugPrintf") => "NonSemantic.DebugPrintf",
                    _ => return,
                };
                match self.functions.get_mut(&self.current) {
                    Some(function) => function.prints.insert(print),
                    None => self.module_prints.insert(print),
                };
            }
            _ => self.types.take(op, operands),
        }
    }

    /// Refuses a module that ends too early: inside a function, or before an entry point's own.
    pub(super) fn complete(&self) -> Result<(), ReadError> {
        if self.open {
            return Err(ReadError::malformed(WHAT, "ends inside a function"));
        }
        for (id, name) in &self.entries {
            if !self.functions.contains_key(id) {
                let detail = format!("entry point {name} has no function (%{id})");
                return Err(ReadError::malformed(WHAT, detail));
            }
        }
        Ok(())
    }

    /// Names of the addressing and the memory model.
    pub(super) fn models(&self) -> Result<(String, String), ReadError> {
        let (Some(addressing), Some(memory)) = (self.addressing, self.memory) else {
            return Err(ReadError::malformed(WHAT, "ends without OpMemoryModel"));
        };
        let addressing = named(AddressingModel::from_u32(addressing), addressing);
        Ok((addressing, named(MemoryModel::from_u32(memory), memory)))
    }

    /// `spirv64`, `spirv32` or, for logical addressing, `spirv`.
    pub(super) fn target(&self) -> &'static str {
        match self.addressing {
            Some(1) => "spirv32",
            Some(2) => "spirv64",
            _ => "spirv",
        }
    }

    pub(super) fn capabilities(&self) -> Vec<String> {
        let name = |number: &u32| named(Capability::from_u32(*number), *number);
        self.capabilities.iter().map(name).collect()
    }

    pub(super) fn extensions(&self) -> Vec<String> {
        self.extensions.clone()
    }

    /// Names with import linkage, sorted.
    pub(super) fn imported(&self) -> Vec<String> {
        self.linked(true)
    }

    /// Names of entry points and exported functions, sorted.
    pub(super) fn exported(&self, detail: Detail) -> Vec<String> {
        if detail == Detail::Summary {
            return Vec::new();
        }
        let mut names = self.linked(false);
        names.extend(self.entries.iter().map(|(_, name)| name.clone()));
        names.sort_unstable();
        names.dedup();
        names
    }

    fn linked(&self, want_import: bool) -> Vec<String> {
        let linked =
            self.linkage.iter().filter(|(id, (_, import))| *import == want_import && !self.built_ins.contains(id));
        let mut names: Vec<String> = linked.map(|(_, (name, _))| name.clone()).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    pub(super) fn kernels(&self, detail: Detail) -> Result<Vec<Kernel>, ReadError> {
        let mut visits = CALL_GRAPH_VISITS;
        self.entries.iter().map(|(id, name)| self.kernel(*id, name, detail, &mut visits)).collect()
    }

    fn kernel(&self, id: u32, name: &str, detail: Detail, visits: &mut u64) -> Result<Kernel, ReadError> {
        let mode = |wanted: u32| self.modes.get(&(id, wanted)).copied();
        let (calls, indirect) = self.reach(id, visits)?;
        let parameters = self.functions.get(&id).map(|function| &*function.parameters);
        let arguments = match (detail, parameters) {
            (Detail::Full, Some(parameters)) => {
                parameters.iter().map(|(id, kind)| self.types.argument(self.names.get(id), *kind)).collect()
            }
            _ => Vec::new(),
        };
        Ok(Kernel {
            name: name.to_owned(),
            arguments,
            // Nothing in a module bounds scratch: the driver's compiler decides.
            dynamic_stack: indirect.then_some(true),
            max_threads: mode(MODE_LOCAL_SIZE),
            wavefront: mode(MODE_SUBGROUP_SIZE),
            calls: calls.into_iter().collect(),
            ..Kernel::default()
        })
    }

    /// Outside functions and printing instructions that direct calls from `entry` lead to, and
    /// whether a call through a pointer was met. Every function visited costs one of `visits`.
    fn reach(&self, entry: u32, visits: &mut u64) -> Result<(BTreeSet<String>, bool), ReadError> {
        let mut outside: BTreeSet<String> = self.module_prints.iter().map(|print| (*print).to_owned()).collect();
        let mut indirect = false;
        let mut seen = BTreeSet::from([entry]);
        let mut waiting = vec![entry];
        while let Some(id) = waiting.pop() {
            *visits =
                visits.checked_sub(1).ok_or_else(|| ReadError::unsupported(WHAT, "its call graph is too large"))?;
            // An assert function may well have a body that the device library linked in.
            if let Some((name, import)) = self.linkage.get(&id)
                && (*import || is_spirv_assert(name))
            {
                outside.insert(name.clone());
            } else if let Some(name) = self.names.get(&id).filter(|name| is_spirv_assert(name)) {
                outside.insert(name.clone());
            }
            if let Some(function) = self.functions.get(&id) {
                indirect |= function.indirect;
                outside.extend(function.prints.iter().map(|print| (*print).to_owned()));
                waiting.extend(function.calls.iter().filter(|callee| seen.insert(**callee)));
            }
        }
        Ok((outside, indirect))
    }
}

/// The literal string at the start of `words`, and how many words it takes.
fn string(words: &[u32]) -> (String, usize) {
    let mut bytes = Vec::new();
    for (at, word) in words.iter().enumerate() {
        for byte in word.to_le_bytes() {
            if byte == 0 {
                return (String::from_utf8_lossy(&bytes).into_owned(), at + 1);
            }
            bytes.push(byte);
        }
    }
    (String::from_utf8_lossy(&bytes).into_owned(), words.len())
}

/// Name of an enumerant, or its number if the grammar at hand does not know it.
fn named<T: std::fmt::Debug>(known: Option<T>, number: u32) -> String {
    known.map_or_else(|| number.to_string(), |known| format!("{known:?}"))
}
