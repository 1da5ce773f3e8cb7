//! One SPIR-V instruction: what memory it accesses, what else it is, where it goes.
//!
//! Sources: Khronos, "SPIR-V Specification" (Memory, Atomic, Barrier, Control-Flow Instructions), "OpenCL.std" (vector
//! loads and stores), SPV_INTEL_subgroups, SPV_INTEL_cache_controls. Asynchronous group copies and inline assembly are
//! not looked into.

use rspirv::spirv::{LoadCacheControl, MemoryAccess, MemorySemantics, Op, Scope, StoreCacheControl};

use super::Raw;
use super::module::Module;
use crate::code::{Access, Flow, Instruction, Kind, Role};

/// Reads one instruction of a body; `place` finds a label.
pub(super) fn read(module: &Module, raw: &Raw<'_>, place: &dyn Fn(u32) -> Option<usize>) -> Instruction {
    let accesses = accesses(module, raw);
    Instruction { at: 4 * raw.at as u64, accesses, role: role(raw.op), flow: flow(module, raw, place) }
}

fn role(op: Option<Op>) -> Role {
    match op {
        Some(Op::ControlBarrier | Op::ControlBarrierWaitINTEL) => Role::Barrier,
        Some(Op::MemoryBarrier) => Role::Fence,
        Some(Op::GroupWaitEvents) => Role::Wait,
        Some(Op::FunctionCall | Op::FunctionPointerCallINTEL) => Role::Call,
        Some(Op::Branch | Op::BranchConditional | Op::Switch) => Role::Branch,
        _ => Role::Other,
    }
}

fn flow(module: &Module, raw: &Raw<'_>, place: &dyn Fn(u32) -> Option<usize>) -> Flow {
    let ids: Vec<u32> = match (raw.op, raw.operands) {
        (Some(Op::Branch), [target, ..]) => vec![*target],
        (Some(Op::BranchConditional), [_, yes, no, ..]) => vec![*yes, *no],
        (Some(Op::Switch), [selector, default, cases @ ..]) => {
            // Each case is a number as wide as the selector, and a label.
            let bytes = module.kind(*selector).and_then(|kind| module.bytes(kind)).unwrap_or(4);
            let words = if bytes > 4 { 2 } else { 1 };
            let labels = cases.chunks(words + 1).filter_map(|case| case.get(words));
            std::iter::once(*default).chain(labels.copied()).collect()
        }
        (Some(Op::Return | Op::ReturnValue | Op::Kill | Op::Unreachable | Op::TerminateInvocation), _) => {
            return Flow::End;
        }
        _ => return Flow::Next,
    };
    match ids.into_iter().map(place).collect() {
        Some(targets) => Flow::To { targets, falls: false },
        None => Flow::Unknown { falls: false },
    }
}

fn accesses(module: &Module, raw: &Raw<'_>) -> Vec<Access> {
    let Some(op) = raw.op else { return Vec::new() };
    let kind_of = |id: u32| module.kind(id).and_then(|kind| module.bytes(kind));
    let access = |kind, pointer, bytes, mut bits: Vec<String>| {
        let store = kind == Kind::Store;
        bits.extend(
            module.controls(pointer, store).map(|(level, control)| format!("L{}:{}", level + 1, word(control, store))),
        );
        vec![Access { kind, space: module.space(pointer), bytes, bits }]
    };
    match (op, raw.operands) {
        (Op::Load, [kind, _, pointer, rest @ ..]) => access(Kind::Load, *pointer, module.bytes(*kind), operands(rest)),
        (Op::Store, [pointer, object, rest @ ..]) => access(Kind::Store, *pointer, kind_of(*object), operands(rest)),
        (Op::CopyMemory | Op::CopyMemorySized, [to, from, rest @ ..]) => {
            let (bytes, rest) = match (op, rest) {
                (Op::CopyMemorySized, [size, rest @ ..]) => (module.constant(*size).map(u64::from), rest),
                _ => (module.pointee(*to), rest),
            };
            let mut both = access(Kind::Load, *from, bytes, operands(rest));
            both.extend(access(Kind::Store, *to, bytes, operands(rest)));
            both
        }
        (Op::AtomicLoad, [kind, _, pointer, scope, order, ..]) => {
            access(Kind::Load, *pointer, module.bytes(*kind), plain(atomic(module, *scope, *order)))
        }
        (Op::AtomicStore, [pointer, scope, order, value, ..]) => {
            access(Kind::Store, *pointer, kind_of(*value), plain(atomic(module, *scope, *order)))
        }
        (Op::AtomicFlagClear, [pointer, scope, order, ..]) => {
            access(Kind::Store, *pointer, Some(4), plain(atomic(module, *scope, *order)))
        }
        (Op::SubgroupBlockReadINTEL, [kind, _, pointer, ..]) => {
            access(Kind::Load, *pointer, module.bytes(*kind), Vec::new())
        }
        (Op::SubgroupBlockWriteINTEL, [pointer, data, ..]) => access(Kind::Store, *pointer, kind_of(*data), Vec::new()),
        (Op::ExtInst, [kind, _, set, number, arguments @ ..]) if module.is_opencl(*set) => match (*number, arguments) {
            (VLOAD | VLOAD_HALF | VLOAD_HALF_N | VLOADA_HALF_N, [_, pointer, ..]) => {
                access(Kind::Load, *pointer, module.bytes(*kind).filter(|_| *number == VLOAD), Vec::new())
            }
            (VSTORE, [data, _, pointer, ..]) => access(Kind::Store, *pointer, kind_of(*data), Vec::new()),
            (VSTORE_HALF..=VSTOREA_HALF_N_R, [_, _, pointer, ..]) => access(Kind::Store, *pointer, None, Vec::new()),
            _ => Vec::new(),
        },
        (_, operands) => {
            let name = format!("{op:?}");
            if name.starts_with("Atomic") {
                return match operands {
                    [kind, _, pointer, scope, order, ..] => {
                        // A flag's result is a truth value; the flag itself has 32 bits.
                        let bytes = if op == Op::AtomicFlagTestAndSet { Some(4) } else { module.bytes(*kind) };
                        access(Kind::Atomic, *pointer, bytes, atomic(module, *scope, *order))
                    }
                    _ => Vec::new(),
                };
            }
            let image = |kind| vec![Access { kind, space: "image", bytes: None, bits: Vec::new() }];
            match op {
                Op::ImageWrite => image(Kind::Store),
                Op::ImageRead | Op::ImageFetch | Op::ImageGather | Op::ImageDrefGather => image(Kind::Load),
                _ if name.starts_with("ImageSample") || name.starts_with("ImageSparse") => image(Kind::Load),
                _ => Vec::new(),
            }
        }
    }
}

const VLOAD: u32 = 171;
const VSTORE: u32 = 172;
const VLOAD_HALF: u32 = 173;
const VLOAD_HALF_N: u32 = 174;
const VSTORE_HALF: u32 = 175;
const VLOADA_HALF_N: u32 = 179;
const VSTOREA_HALF_N_R: u32 = 181;

/// The words of a memory operand that concern caches and order; the alignment is none.
fn operands(rest: &[u32]) -> Vec<String> {
    let mask = MemoryAccess::from_bits_truncate(rest.first().copied().unwrap_or(0));
    let named = [
        (MemoryAccess::VOLATILE, "Volatile"),
        (MemoryAccess::NONTEMPORAL, "Nontemporal"),
        (MemoryAccess::MAKE_POINTER_AVAILABLE, "MakePointerAvailable"),
        (MemoryAccess::MAKE_POINTER_VISIBLE, "MakePointerVisible"),
        (MemoryAccess::NON_PRIVATE_POINTER, "NonPrivatePointer"),
    ];
    named.iter().filter(|(bit, _)| mask.contains(*bit)).map(|(_, name)| (*name).to_owned()).collect()
}

/// Scope and order of an atomic instruction, where they are constants.
fn atomic(module: &Module, scope: u32, order: u32) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    words.extend(module.constant(scope).and_then(Scope::from_u32).map(|scope| format!("{scope:?}")));
    let order = MemorySemantics::from_bits_truncate(module.constant(order).unwrap_or(0));
    let named = [
        (MemorySemantics::ACQUIRE, "Acquire"),
        (MemorySemantics::RELEASE, "Release"),
        (MemorySemantics::ACQUIRE_RELEASE, "AcquireRelease"),
        (MemorySemantics::SEQUENTIALLY_CONSISTENT, "SequentiallyConsistent"),
    ];
    words.extend(named.iter().filter(|(bit, _)| order.contains(*bit)).map(|(_, name)| (*name).to_owned()));
    words
}

/// Atomic loads and stores are told from others by a word of their own.
fn plain(bits: Vec<String>) -> Vec<String> {
    std::iter::once("atomic".to_owned()).chain(bits).collect()
}

/// The word of a cache control without its vendor.
fn word(control: u32, store: bool) -> String {
    let name = match store {
        false => LoadCacheControl::from_u32(control).map(|known| format!("{known:?}")),
        true => StoreCacheControl::from_u32(control).map(|known| format!("{known:?}")),
    };
    name.map_or(control.to_string(), |name| name.trim_end_matches("INTEL").to_owned())
}
