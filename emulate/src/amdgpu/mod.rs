//! Front end for AMD machine code: linked AMDGPU code objects of gfx9, gfx10, gfx11 and gfx12.
//!
//! LLVM decodes the bytes to text ([`Decoder`]); `translate.rs` turns each line into a compact operation once, at
//! load; a `wave.rs` executes them. Leaves out: scratch, images, buffers, flat addressing, `s_getpc`, traps, and
//! the hazards that `s_delay_alu`, `s_nop` and `s_wait_alu` are for.

mod decoder;
mod execute;
mod family;
mod float;
mod instruction;
mod object;
mod program;
mod table;
mod text;
mod translate;
mod translate_alu;
mod wave;

pub use decoder::{Decoded, Decoder};
pub use family::Target;
pub use program::CodeObject;
