//! Instruction tables: mnemonic -> operation. The decoder only knows the mnemonics of its target, so one table serves
//! every family; where families give one operation two names, a row has both.

mod compare;
mod memory;
mod scalar;
mod vector;

pub(crate) use memory::{Memory, memory};
pub(crate) use scalar::{Scalar, scalar};
pub(crate) use vector::{MapRow, Vector, packed_move, vector};
