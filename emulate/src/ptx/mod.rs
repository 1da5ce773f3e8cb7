//! Front end for PTX text, as `ptxas` and the driver take it.
//!
//! Source: PTX ISA 9 ("Syntax", "State Spaces, Types, and Variables", "Instruction Set", "Memory Consistency Model"); the
//! memory model itself is `memory/causal/`. `lexer.rs` and `syntax.rs` read the text; `translate/` turns each statement into
//! a compact operation once, at load, by closed tables: a directive, instruction, modifier or operand that they do not
//! know is an error that names the line. `thread.rs` executes.
//!
//! Threads of a warp are independent (Volta and newer) and so each is a thread of the scheduler; barriers count threads.
//!
//! Leaves out: functions and calls, local memory, global variables, texture and surface, `ld.global.nc` (the memory model
//! does not cover it), asynchronous copies and mbarriers, warp-wide operations, clusters of more than one block.

mod alu;
mod convert;
mod float;
mod instruction;
mod lexer;
mod memory;
mod program;
mod syntax;
mod thread;
mod translate;

pub use program::Module;
