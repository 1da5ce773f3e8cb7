//! Says what the kernels of a GPU binary are made of, for people who compare kernels: arguments, registers, scratch and
//! shared memory, instructions, and each inner loop with its memory accesses, waits and branches.
//!
//! Containers and the facts of headers and metadata come from `xreduce-verify`; this crate reads the instructions. AMDGPU
//! machine code needs a disassembler, which the caller has; PTX and SPIR-V need none. Machine code of NVIDIA and Intel is
//! not read: the report says so, kernel by kernel.
//!
//! ```
//! let text = b".version 7.8\n.target sm_90\n.address_size 64\n.visible .entry k() {\nL: bra L;\n}\n";
//! let image = xreduce_verify::inspect(text, "k.ptx").images.remove(0);
//! let reader = xreduce_inspect::Reader { disassemble: &|_, _| Err("not needed".to_owned()), wanted: &|_, _| true };
//! let image = reader.image(image, Ok(text));
//! assert_eq!(image.kernels[0].code.as_ref().unwrap().all.instructions, 1);
//! ```

mod amdgpu;
mod code;
mod loops;
mod ptx;
mod read;
mod report;
mod spirv;
mod tally;
mod text;

pub use amdgpu::Line;
pub use code::{Access, Kind, Unit};
pub use read::{Disassemble, Reader};
pub use report::{ImageReport, KernelReport, Report};
pub use tally::{CodeReport, Counted, Counts, LoopReport};
pub use text::{table, verbose};
