//! Bytes that contradict their format: an answer for every kernel, no panic.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by a panic")]

use std::path::Path;

use xreduce_inspect::{Line, Reader};

/// Texts that make branches, calls and accesses of any bytes; the word behind stands for the distance of a branch.
const TEXTS: [&str; 8] = [
    "s_branch",
    "s_cbranch_scc0",
    "global_load_b128 v[0:3], v[4:5], off scope:SCOPE_SYS",
    "ds_add_rtn_u64 v[0:1], v2, v[3:4]",
    "s_setpc_b64 s[0:1]",
    "s_endpgm",
    "s_waitcnt vmcnt(0)",
    "v_unknown v0, v1",
];

/// A disassembler without LLVM: four bytes an instruction.
fn disassemble(_: &str, code: &[u8]) -> Result<Vec<Line>, String> {
    let line = |(index, bytes): (usize, &[u8])| {
        let text = TEXTS[usize::from(bytes[0]) % TEXTS.len()];
        let distance = bytes.get(1).copied().unwrap_or(0) % 16;
        let text =
            if text.contains("branch") { format!("{text} {}", 65528 + u32::from(distance)) } else { text.to_owned() };
        Line { offset: 4 * index as u64, length: 4, text }
    };
    Ok(code.chunks(4).enumerate().map(line).collect())
}

/// xorshift64: the same changes in every run.
fn next(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

fn index(state: &mut u64, length: usize) -> usize {
    usize::try_from(next(state) % length.max(1) as u64).unwrap()
}

#[test]
fn mutated_objects_are_answered() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../verify/tests/data/images");
    let mut state = 0x9E37_79B9_7F4A_7C15;
    let mut answers = (0, 0);
    for name in ["add_v5.hsaco", "calls.hsaco", "calls.o", "specific_stripped.hsaco", "prints.ptx", "prints.spv"] {
        let bytes = std::fs::read(folder.join(name)).unwrap();
        let image = xreduce_verify::inspect(&bytes, name).images.remove(0);
        let reader = Reader { disassemble: &disassemble, wanted: &|_, _| true };
        let whole = reader.image(image.clone(), Ok(&bytes));
        assert!(whole.kernels.iter().all(|kernel| kernel.code.is_some()), "{name}: {:?}", whole.kernels);
        for _ in 0..300 {
            let mut mutant = bytes.clone();
            for _ in 0..=index(&mut state, 6) {
                let at = index(&mut state, mutant.len());
                mutant[at] = next(&mut state).to_le_bytes()[0];
            }
            if index(&mut state, 4) == 0 {
                mutant.truncate(index(&mut state, bytes.len()));
            }
            // The facts of the sound image with the bytes of the broken one: nothing has been checked before.
            let report = reader.image(image.clone(), Ok(&mutant));
            assert_eq!(report.kernels.len(), image.kernels.len(), "{name}");
            for kernel in &report.kernels {
                assert_ne!(kernel.code.is_some(), kernel.unread.is_some(), "{name}");
                let answer = if kernel.code.is_some() { &mut answers.0 } else { &mut answers.1 };
                *answer += 1;
            }
        }
    }
    assert!(answers.0 > 500 && answers.1 > 500, "both answers are met: {answers:?}");
}
