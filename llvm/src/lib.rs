//! LLVM and LLD, linked in: lowers one module per process.
//!
//! One process per module ([`serve`]) because LLVM's SPIR-V back end and LLD keep static state, and because some faults end
//! the process. Inside it: one context, one module, one target machine.

mod disassemble;
mod link;
mod lower;
mod processor;
mod serve;
mod spirv;

pub use disassemble::{Line, disassemble};
pub use serve::serve;

/// Version of the LLVM that is linked in, e.g. `22.1.8`.
pub const VERSION: &str = env!("XREDUCE_LLVM_VERSION");
