//! Schema 1 of a bundle's `manifest.json`. Documented for hosts in `docs/manifest.md`.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::arguments::Argument;
use crate::kernel::{Algorithm, Element, Kernel, SumOrder, Wire, World};

/// The schema this crate reads and writes.
pub const SCHEMA: u32 = 1;

/// A bundle: every module, what is in it, and how to launch it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// [`SCHEMA`].
    pub schema: u32,
    /// What made the bundle, e.g. `xreduce 0.1.0`.
    pub tool: String,
    /// The LLVM that lowered it, e.g. `22.1.8`.
    pub llvm: String,
    /// Version of the kernel contract the kernels follow.
    pub contract: u32,
    /// Version of the workspace's layout.
    pub workspace_layout: u32,
    /// SHA-256 over the templates, hexadecimal.
    pub templates_sha256: String,
    /// Which part of a build this is; none: all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<Shard>,
    /// One entry per target, by name.
    pub targets: Vec<TargetEntry>,
}

/// Which modules of a build are in a bundle: of all in order, those whose number modulo `of` is `index` - 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shard {
    /// From 1 to `of`.
    pub index: u32,
    /// Number of shards.
    pub of: u32,
    /// Modules of the whole build.
    pub modules: u32,
}

impl Manifest {
    /// The manifest as the text of its file: JSON, what fits a line on one line.
    ///
    /// # Errors
    /// None that this type can cause; serde's signature.
    pub fn to_text(&self) -> Result<String, serde_json::Error> {
        let mut text = String::new();
        write_value(&serde_json::to_value(self)?, 0, &mut text);
        text.push('\n');
        Ok(text)
    }
}

/// The longest line that a value is written on as a whole.
const LINE: usize = 120;

fn write_value(value: &Value, indent: usize, text: &mut String) {
    let line = value.to_string();
    let (open, close, entries): (char, char, Vec<(Option<&String>, &Value)>) = match value {
        Value::Array(items) if indent + line.len() > LINE => {
            ('[', ']', items.iter().map(|item| (None, item)).collect())
        }
        Value::Object(map) if indent + line.len() > LINE || indent == 0 => {
            ('{', '}', map.iter().map(|(key, item)| (Some(key), item)).collect())
        }
        _ => return text.push_str(&line),
    };
    text.push(open);
    for (index, (key, item)) in entries.into_iter().enumerate() {
        text.push_str(if index == 0 { "\n" } else { ",\n" });
        text.extend(std::iter::repeat_n(' ', indent + 1));
        if let Some(key) = key {
            text.push_str(&Value::from(key.as_str()).to_string());
            text.push_str(": ");
        }
        write_value(item, indent + 1, text);
    }
    text.push('\n');
    text.extend(std::iter::repeat_n(' ', indent));
    text.push(close);
}

/// One GPU target of a bundle.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TargetEntry {
    /// Name of the target, e.g. `gfx1100`.
    pub name: String,
    /// Family, e.g. `amdgpu`.
    pub family: String,
    /// Processor names that the modules run on.
    pub processors: Vec<String>,
    /// SHA-256 of the target's file, hexadecimal.
    pub target_sha256: String,
    /// Lanes that execute together (wavefront, warp or sub-group).
    pub lanes: u32,
    /// What one unit of `spin_limit` is.
    pub spin_limit_unit: SpinLimitUnit,
    /// The bound a kernel takes when `spin_limit` is 0, in that unit.
    pub spin_limit_default: u32,
    /// The most blocks a launch may have, so that all of them are resident at once: per compute unit.
    pub max_blocks_per_compute_unit: u32,
    /// One module per world.
    pub modules: Vec<Module>,
    /// Which kernel and grid for which message, first match wins.
    pub dispatch: Vec<DispatchRow>,
}

/// Unit of the argument `spin_limit`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SpinLimitUnit {
    /// Microseconds of a device clock.
    Microseconds,
    /// Failed polls.
    Polls,
}

/// One file of a bundle.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Module {
    /// Path inside the bundle, with `/`.
    pub file: String,
    /// SHA-256 of the file, hexadecimal.
    pub sha256: String,
    /// Size of the file.
    pub bytes: u64,
    /// SHA-256 over everything it was made from: templates, target, kernels, generator. Hexadecimal.
    #[serde(default)]
    pub inputs_sha256: String,
    /// Ranks of its kernels.
    pub world: World,
    /// What its format says of itself.
    pub format: Format,
    /// Its kernels, by symbol.
    pub kernels: Vec<KernelEntry>,
}

/// Format of a module, with the facts a loader checks first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Format {
    /// AMDGPU code object.
    Hsaco {
        /// `e_flags` of the ELF header.
        elf_flags: u32,
        /// Code object version, 3 to 6.
        code_object_version: u32,
    },
    /// PTX text.
    Ptx {
        /// `.version`, e.g. `7.0`.
        ptx_version: String,
        /// `.target`, e.g. `sm_90`.
        ptx_target: String,
    },
    /// SPIR-V binary.
    Spirv {
        /// Version, e.g. `1.2`.
        spirv_version: String,
        /// Capabilities, by name.
        capabilities: Vec<String>,
        /// Extensions, by name.
        extensions: Vec<String>,
    },
}

/// One kernel of a module.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KernelEntry {
    /// Symbol to look up.
    pub symbol: String,
    /// Algorithm.
    pub algorithm: Algorithm,
    /// Wire.
    pub wire: Wire,
    /// Element type.
    pub element: Element,
    /// Order of summation.
    pub sum_order: SumOrder,
    /// Elements one 16-byte packet carries.
    pub elements_per_packet: u32,
    /// Arguments, in order.
    pub arguments: Vec<Argument>,
    /// The most threads a block may have.
    pub max_threads_per_block: u32,
    /// What it takes of the machine.
    pub resources: Resources,
    /// How far it has been proved.
    pub evidence: Vec<Evidence>,
}

impl KernelEntry {
    /// The kernel's identity, for a module of `world` ranks.
    #[must_use]
    pub fn kernel(&self, world: World) -> Kernel {
        Kernel { algorithm: self.algorithm, wire: self.wire, element: self.element, world }
    }
}

/// Registers and memory of a kernel; `None` where the format does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resources {
    /// Vector registers of a lane.
    pub vector_registers: Option<u32>,
    /// Scalar registers of a wave.
    pub scalar_registers: Option<u32>,
    /// Scratch (private) memory of a lane, bytes.
    pub scratch_bytes: Option<u32>,
    /// Shared (workgroup) memory of a block, bytes.
    pub shared_bytes: Option<u32>,
}

/// A proof a kernel has passed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Evidence {
    /// The verifier's strict profile found nothing.
    Verified,
    /// Its emitted bytes were executed by the emulator under this many seeds.
    Emulated {
        /// Seeds passed.
        seeds: u32,
    },
    /// It ran on a device.
    Run {
        /// Name of the device.
        device: String,
        /// Calls that were right.
        calls: u64,
    },
}

/// Which kernel and grid a message of some size gets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DispatchRow {
    /// Messages of at most this many bytes.
    pub max_bytes: u64,
    /// Worlds of at most this many ranks.
    pub max_world: World,
    /// Algorithm.
    pub algorithm: Algorithm,
    /// Wire.
    pub wire: Wire,
    /// The most blocks: a host launches `min(blocks, ceil(packets / threads))`, at least 1.
    pub blocks: u32,
    /// Threads of a block.
    pub threads: u32,
    /// Where the choice comes from.
    pub source: String,
    /// Measurement of these very kernels; `None` where nobody has measured.
    pub measured: Option<Measurement>,
}

/// A measured latency.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measurement {
    /// Median time of a call of `max_bytes`, microseconds.
    pub microseconds: f64,
    /// Device and driver.
    pub device: String,
    /// Day, `YYYY-MM-DD`.
    pub date: String,
}
