//! The GPU families: all that Rust knows about one of them, apart from its platform library in `templates/platform/`.

use serde::{Deserialize, Serialize};
use xreduce_contract::manifest::SpinLimitUnit;

/// A family of GPUs that share a platform library and an object format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Family {
    /// AMD: a linked code object.
    Amdgpu,
    /// NVIDIA: PTX text.
    Nvptx,
    /// Intel: a SPIR-V module.
    Spirv,
}

/// What a worker makes of a module's IR.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Output {
    /// Object code, linked by LLD to a shared object.
    LinkedObject,
    /// Assembly text.
    Assembly,
    /// Object code as it comes.
    Object,
}

impl Family {
    /// Name in target files, the manifest and `templates/platform/`.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Family::Amdgpu => "amdgpu",
            Family::Nvptx => "nvptx",
            Family::Spirv => "spirv",
        }
    }

    /// Extension of its modules' files.
    #[must_use]
    pub const fn extension(self) -> &'static str {
        match self {
            Family::Amdgpu => "hsaco",
            Family::Nvptx => "ptx",
            Family::Spirv => "spv",
        }
    }

    /// What the worker emits.
    #[must_use]
    pub const fn output(self) -> Output {
        match self {
            Family::Amdgpu => Output::LinkedObject,
            Family::Nvptx => Output::Assembly,
            Family::Spirv => Output::Object,
        }
    }

    /// First component of every triple of the family, without a version.
    #[must_use]
    pub const fn architecture(self) -> &'static str {
        match self {
            Family::Amdgpu => "amdgcn",
            Family::Nvptx => "nvptx64",
            Family::Spirv => "spirv64",
        }
    }

    /// How a processor of the family is named; the rest of the name is its generation. Empty: LLVM has no processors here.
    #[must_use]
    pub const fn cpu_prefix(self) -> &'static str {
        match self {
            Family::Amdgpu => "gfx",
            Family::Nvptx => "sm_",
            Family::Spirv => "",
        }
    }

    /// Calling convention of a kernel in IR.
    #[must_use]
    pub const fn calling_convention(self) -> &'static str {
        match self {
            Family::Amdgpu => "amdgpu_kernel",
            Family::Nvptx => "ptx_kernel",
            Family::Spirv => "spir_kernel",
        }
    }

    /// Attributes and metadata of a kernel in IR, for blocks of at most `threads` threads.
    #[must_use]
    pub fn kernel_attributes(self, threads: u32) -> String {
        match self {
            Family::Amdgpu => {
                format!("\"amdgpu-flat-work-group-size\"=\"1,{threads}\" \"uniform-work-group-size\"=\"true\"")
            }
            // One block on a multiprocessor is enough (contract, rule 5): ptxas need not spill to make room for more.
            Family::Nvptx => format!("\"nvvm.maxntid\"=\"{threads}\" \"nvvm.minctasm\"=\"1\""),
            Family::Spirv => "!intel_reqd_sub_group_size !4".to_owned(),
        }
    }

    /// SPIR-V extensions the back end may use, in LLVM's syntax.
    #[must_use]
    pub const fn spirv_extensions(self) -> Option<&'static str> {
        match self {
            Family::Spirv => Some("+SPV_INTEL_cache_controls"),
            _ => None,
        }
    }

    /// What one unit of `spin_limit` is.
    #[must_use]
    pub const fn spin_limit_unit(self) -> SpinLimitUnit {
        match self {
            Family::Amdgpu | Family::Nvptx => SpinLimitUnit::Microseconds,
            Family::Spirv => SpinLimitUnit::Polls,
        }
    }

    /// Whether a target file must give the frequency of the device clock: AMD's differs between processors.
    #[must_use]
    pub const fn has_clock_mhz(self) -> bool {
        matches!(self, Family::Amdgpu)
    }
}
