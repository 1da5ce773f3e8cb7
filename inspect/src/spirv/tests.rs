//! Modules assembled word by word.

use rspirv::spirv::{Op, StorageClass};

use super::entries;
use crate::code::{Code, Flow, Kind, Role};

/// The instructions of a module, and one function `kernel` (id 1) of `body` around them.
fn module(declarations: &[(Op, &[u32])], body: &[(u32, &[u32])]) -> Vec<u8> {
    let name = [u32::from_le_bytes(*b"kern"), u32::from_le_bytes(*b"el\0\0")];
    let mut words = vec![super::MAGIC, 0x0001_0200, 0, 1000, 0];
    let mut push = |op: u32, operands: &[u32]| {
        words.push((u32::try_from(operands.len()).unwrap() + 1) << 16 | op);
        words.extend_from_slice(operands);
    };
    push(Op::MemoryModel as u32, &[2, 2]);
    push(Op::EntryPoint as u32, &[6, 1, name[0], name[1]]);
    for (op, operands) in declarations {
        push(*op as u32, operands);
    }
    push(Op::Function as u32, &[90, 1, 0, 91]);
    for (op, operands) in body {
        push(*op, operands);
    }
    push(Op::FunctionEnd as u32, &[]);
    words.into_iter().flat_map(u32::to_le_bytes).collect()
}

const GLOBAL: u32 = StorageClass::CrossWorkgroup as u32;

/// 10: u32, 11: u64, 12: four u32; 20, 22: global pointers to 10, 12; 30: constant 1, 31: constant 258.
const TYPES: [(Op, &[u32]); 7] = [
    (Op::TypeInt, &[10, 32, 0]),
    (Op::TypeInt, &[11, 64, 0]),
    (Op::TypeVector, &[12, 10, 4]),
    (Op::TypePointer, &[20, GLOBAL, 10]),
    (Op::TypePointer, &[22, GLOBAL, 12]),
    (Op::Constant, &[10, 30, 1]),
    (Op::Constant, &[10, 31, 0x202]),
];

fn read(declarations: &[(Op, &[u32])], body: &[(u32, &[u32])]) -> Code {
    let all: Vec<_> = TYPES.iter().chain(declarations).copied().collect();
    let mut found = entries(&module(&all, body), &|name| name == "kernel").unwrap();
    assert_eq!(found.len(), 1);
    found.remove(0).1
}

#[test]
fn accesses_with_caches_scopes_and_orders() {
    let code = read(
        // Load control 0 is uncached, store control 1 write-through, both of level 0, on what pointer 51 was cast from.
        &[(Op::Decorate, &[50, 6442, 0, 0]), (Op::Decorate, &[50, 6443, 0, 1])],
        &[
            (Op::Label as u32, &[40]),
            (Op::Variable as u32, &[20, 45, 7]),
            (Op::PtrAccessChain as u32, &[20, 50, 60, 30]),
            (Op::Bitcast as u32, &[22, 51, 50]),
            (Op::Load as u32, &[12, 52, 51, 3, 16]),
            (Op::Store as u32, &[51, 52, 2, 16]),
            (Op::AtomicLoad as u32, &[11, 53, 50, 30, 31]),
            (Op::AtomicIAdd as u32, &[10, 54, 50, 30, 30, 30]),
            (Op::CopyMemory as u32, &[51, 51]),
            (0xfff0, &[1, 2, 3]),
            (Op::ControlBarrier as u32, &[30, 30, 30]),
            (Op::MemoryBarrier as u32, &[30, 30]),
            (Op::Return as u32, &[]),
        ],
    );
    let accesses: Vec<_> = code
        .instructions
        .iter()
        .flat_map(|one| &one.accesses)
        .map(|one| (one.kind, one.space, one.bytes, one.bits.join(" ")))
        .collect();
    let expected = [
        (Kind::Load, Some(16), "Volatile L1:Uncached"),
        (Kind::Store, Some(16), "L1:WriteThrough"),
        (Kind::Load, Some(8), "atomic Device Acquire L1:Uncached"),
        (Kind::Atomic, Some(4), "Device L1:Uncached"),
        (Kind::Load, Some(16), "L1:Uncached"),
        (Kind::Store, Some(16), "L1:WriteThrough"),
    ];
    assert_eq!(accesses, expected.map(|(kind, bytes, bits)| (kind, "global", bytes, bits.to_owned())));
    let roles: Vec<_> = code.instructions.iter().map(|one| one.role).collect();
    assert_eq!(roles.len(), 11, "all but the label and the variable");
    assert_eq!(roles[7..], [Role::Other, Role::Barrier, Role::Fence, Role::Other]);
}

#[test]
fn branches_and_switches() {
    let code = read(
        &[],
        &[
            (Op::Label as u32, &[40]),
            (Op::Load as u32, &[11, 52, 60]),
            // A selector of 64 bits: two words a case.
            (Op::Switch as u32, &[52, 41, 7, 0, 42, 8, 0, 40]),
            (Op::Label as u32, &[41]),
            (Op::LoopMerge as u32, &[42, 41, 0]),
            (Op::BranchConditional as u32, &[70, 42, 41]),
            (Op::Label as u32, &[42]),
            (Op::Branch as u32, &[99]),
        ],
    );
    let flows: Vec<_> = code.instructions.iter().map(|one| one.flow.clone()).collect();
    let to = |targets: &[usize]| Flow::To { targets: targets.to_vec(), falls: false };
    assert_eq!(flows, [Flow::Next, to(&[2, 3, 0]), to(&[3, 2]), Flow::Unknown { falls: false }]);
    assert!(code.place(2).ends_with("(%41)"), "{}", code.place(2));
}

#[test]
fn broken_modules_are_errors() {
    let whole = module(&TYPES, &[(Op::Label as u32, &[40]), (Op::Return as u32, &[])]);
    for (bytes, why) in [
        (&whole[..3], "expected 0x07230203"),
        (&whole[..16], "expected a multiple of 4 from 20 on"),
        (&whole[..whole.len() - 1], "expected a multiple of 4 from 20 on"),
        (&whole[..24], "claims 3 words, 1 are left"),
    ] {
        let error = entries(bytes, &|_| true).unwrap_err();
        assert!(error.contains(why), "{error}");
    }
    let swapped: Vec<u8> = whole.as_chunks::<4>().0.iter().flat_map(|word| word.iter().rev().copied()).collect();
    assert_eq!(entries(&swapped, &|_| true).unwrap(), entries(&whole, &|_| true).unwrap(), "either byte order");
}
