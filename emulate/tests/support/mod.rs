//! Builds code objects for tests with the tools of an installed LLVM 22, and decodes with its `llvm-mc`.
//!
//! The library takes any decoder; these tests need no LLVM linked into them. `LLVM_SYS_221_PREFIX` names another
//! installation.

#![allow(dead_code, unreachable_pub, reason = "each test file uses some of it")]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "test code outside test functions, which the lints do not recognise"
)]

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use xreduce_emulate::amdgpu::{CodeObject, Decoded};
use xreduce_emulate::{Access, Device, Kernel, Launch, LoadError, Machine};

/// One target of every family.
pub const TARGETS: [&str; 6] = ["gfx1100", "gfx1201", "gfx1030", "gfx908", "gfx90a", "gfx942"];

fn tool(name: &str) -> PathBuf {
    let prefix = std::env::var("LLVM_SYS_221_PREFIX").unwrap_or_else(|_| "/usr/lib/llvm-22".to_owned());
    PathBuf::from(prefix).join("bin").join(name)
}

fn pipe(name: &str, arguments: &[&str], input: &[u8]) -> Vec<u8> {
    let mut child = Command::new(tool(name))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{name}: {error}"));
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    let writer = std::thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

fn link(object: &[u8]) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("o"), folder.path().join("so"));
    std::fs::write(&from, object).unwrap();
    pipe("ld.lld", &["-shared", "--threads=1", "-o", to.to_str().unwrap(), from.to_str().unwrap()], &[]);
    std::fs::read(&to).unwrap()
}

/// A code object from LLVM IR, by the pipeline that the project uses.
pub fn compile(processor: &str, ir: &str) -> Vec<u8> {
    let cpu = format!("-mcpu={processor}");
    let optimised = pipe("opt", &["-O3", "-mtriple=amdgcn-amd-amdhsa", &cpu, "-o", "-"], ir.as_bytes());
    link(&pipe("llc", &["-O3", &cpu, "-mtriple=amdgcn-amd-amdhsa", "-filetype=obj", "-o", "-"], &optimised))
}

/// PTX from LLVM IR, by the pipeline that the project uses.
pub fn compile_ptx(processor: &str, ir: &str) -> Vec<u8> {
    let cpu = format!("-mcpu={processor}");
    let optimised = pipe("opt", &["-O3", "-mtriple=nvptx64-nvidia-cuda", &cpu, "-o", "-"], ir.as_bytes());
    pipe("llc", &["-O3", &cpu, "-mtriple=nvptx64-nvidia-cuda", "-o", "-"], &optimised)
}

/// A code object with one kernel `test` from the lines of its body, which keeps denormals. Arguments: `bytes` of kernarg, address in s[0:1];
/// block number in s2 (ttmp9 on gfx12); 256 bytes of group memory; wave32 where there is a choice.
pub fn assemble(processor: &str, argument_bytes: u32, body: &str) -> Vec<u8> {
    assemble_with(processor, argument_bytes, body, 3)
}

/// The same with another denormal mode for 32-bit floats.
pub fn assemble_with(processor: &str, argument_bytes: u32, body: &str, denormals: u32) -> Vec<u8> {
    let gfx9 = processor.starts_with("gfx9");
    let wave32 = if gfx9 { "" } else { ".amdhsa_wavefront_size32 1\n" };
    let accumulators = if matches!(processor, "gfx90a" | "gfx942") { ".amdhsa_accum_offset 128\n" } else { "" };
    let text = format!(
        ".amdgcn_target \"amdgcn-amd-amdhsa--{processor}\"\n.text\n.globl test\n.p2align 8\n.type test,@function\ntest:\n{body}\n.Lend:\n\
         .size test, .Lend-test\n.rodata\n.p2align 6\n.amdhsa_kernel test\n.amdhsa_group_segment_fixed_size 256\n.amdhsa_user_sgpr_kernarg_segment_ptr 1\n\
         .amdhsa_kernarg_size {argument_bytes}\n.amdhsa_float_denorm_mode_32 {denormals}\n.amdhsa_next_free_vgpr 128\n.amdhsa_next_free_sgpr 96\n{wave32}{accumulators}.end_amdhsa_kernel\n"
    );
    let cpu = format!("-mcpu={processor}");
    link(&pipe("llvm-mc", &["-triple=amdgcn-amd-amdhsa", &cpu, "-filetype=obj", "-o", "-"], text.as_bytes()))
}

/// The decoder: `llvm-mc`'s disassembler.
pub fn decode(processor: &str, code: &[u8]) -> Result<Vec<Decoded>, String> {
    let bytes: String = code.iter().map(|byte| format!("0x{byte:02x} ")).collect();
    let cpu = format!("-mcpu={processor}");
    let listing = pipe(
        "llvm-mc",
        &["--disassemble", "-triple=amdgcn-amd-amdhsa", &cpu, "--show-encoding", "--print-imm-hex"],
        bytes.as_bytes(),
    );
    let mut offset = 0;
    let mut decoded = Vec::new();
    for line in String::from_utf8_lossy(&listing).lines() {
        let Some((text, encoding)) = line.split_once("; encoding:") else { continue };
        let length = encoding.matches("0x").count() as u64;
        decoded.push(Decoded { offset, length, text: text.trim().to_owned() });
        offset += length;
    }
    Ok(decoded)
}

pub fn load(object: &[u8]) -> Result<CodeObject, LoadError> {
    CodeObject::load(object, &decode)
}

/// Little-endian argument buffers.
#[derive(Default)]
pub struct Arguments(Vec<u8>);

impl Arguments {
    pub fn pointer(mut self, address: u64) -> Self {
        self.0.resize(self.0.len().next_multiple_of(8), 0);
        self.0.extend(address.to_le_bytes());
        self
    }

    pub fn word(mut self, value: u32) -> Self {
        self.0.extend(value.to_le_bytes());
        self
    }

    /// Padded to what a kernel takes.
    pub fn of(mut self, kernel: &Kernel) -> Vec<u8> {
        self.0.resize(usize::try_from(kernel.argument_bytes()).unwrap(), 0);
        self.0
    }
}

pub fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
}

pub fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// A region with these words in it.
pub fn region(machine: &mut Machine, name: &str, device: Device, contents: &[u32]) -> u64 {
    let address = machine.allocate(name, device, 4 * contents.len() as u64, 0, Access::Shared).unwrap();
    machine.write(address, &bytes(contents)).unwrap();
    address
}

pub fn read_words(machine: &Machine, address: u64, count: usize) -> Vec<u32> {
    let mut memory = vec![0; 4 * count];
    machine.read(address, &mut memory).unwrap();
    words(&memory)
}

/// A launch of the only kernel of an object.
pub fn launch(kernel: &Kernel, blocks: u32, threads: u32, arguments: Arguments) -> Launch {
    Launch::new(kernel, blocks, threads, arguments.of(kernel))
}
