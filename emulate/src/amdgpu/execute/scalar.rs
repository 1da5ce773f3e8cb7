//! Scalar ALU.

use crate::amdgpu::instruction::{Operation, Source, Width};
use crate::amdgpu::text::EXEC;
use crate::amdgpu::wave::ScalarState;

fn read(state: &ScalarState, source: Source, width: Width) -> u64 {
    match source {
        Source::Scalar(register) if width == Width::Double => state.double(register),
        Source::Scalar(register) => u64::from(state.word(register)),
        Source::Constant(value) => value,
        Source::Vector(_) => 0,
    }
}

fn write(state: &mut ScalarState, register: u8, width: Width, value: u64) {
    if width == Width::Double {
        state.set_double(register, value);
    } else {
        state.set_word(register, (value & 0xFFFF_FFFF) as u32);
    }
}

/// Executes a scalar instruction; false when it is none.
pub(in crate::amdgpu) fn execute(operation: &Operation, state: &mut ScalarState) -> bool {
    match *operation {
        Operation::ScalarUnary { function, destination, width, source, source_width, sets_scc } => {
            let value = function(read(state, source, source_width));
            write(state, destination, width, value);
            if sets_scc {
                state.scc = value != 0;
            }
        }
        Operation::ScalarBinary { function, destination, width, sources: [a, b], sets_scc } => {
            let (value, scc) = function(read(state, a.0, a.1), read(state, b.0, b.1), state.scc);
            write(state, destination, width, value);
            if sets_scc {
                state.scc = scc;
            }
        }
        Operation::ScalarCompare { function, sources: [a, b], width } => {
            state.scc = function(read(state, a, width), read(state, b, width));
        }
        Operation::SaveExec { function, destination, source, width } => {
            let (value, exec) = (read(state, source, width), read(state, Source::Scalar(EXEC), width));
            write(state, destination, width, exec);
            let result = function(value, exec);
            let result = if width == Width::Double { result } else { result & 0xFFFF_FFFF };
            write(state, EXEC, width, result);
            state.scc = result != 0;
        }
        _ => return false,
    }
    true
}
