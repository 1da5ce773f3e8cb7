//! What one inspection found: device images and their kernels, in one shape for every format.
//!
//! Field names follow the AMDGPU code object metadata where a word for the thing exists there
//! (LLVM, "User Guide for AMDGPU Backend", section Code Object Metadata). A fact that a format does
//! not state is `None`, never a default: rules must tell "no scratch" from "scratch unknown".

use serde::Serialize;

use crate::hidden::HiddenArguments;

/// Everything that was found in one input (a file, or bytes handed over by a builder).
#[derive(Debug, Clone, Default, Serialize)]
pub struct Inspection {
    /// Name of the input, as given by the caller.
    pub name: String,
    /// Device images, in the order in which they lie in the input.
    pub images: Vec<Image>,
    /// Containers that were opened on the way to the images.
    pub containers: Vec<Container>,
    /// Things that hold no device code and were passed over, with the reason.
    pub skipped: Vec<Skipped>,
    /// Places where the input is malformed or cannot be read by this version.
    pub faults: Vec<Fault>,
    /// Those of the asked-for host symbols that a host file exports.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub host_symbols: Vec<String>,
}

/// One container: a fat binary, a bundle, a section, an archive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Container {
    /// Path through the enclosing containers, joined by ` > `.
    pub path: String,
    /// What it is.
    pub kind: ContainerKind,
    /// Size in bytes as stored, before any decompression.
    pub bytes: u64,
}

/// The kinds of container that can be opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ContainerKind {
    /// Clang offload bundle, uncompressed.
    Bundle,
    /// Compressed clang offload bundle, format version 1.
    CcobV1,
    /// Compressed clang offload bundle, format version 2.
    CcobV2,
    /// Compressed clang offload bundle, format version 3.
    CcobV3,
    /// Host ELF file with device sections.
    Elf,
    /// Host PE or COFF file with device sections.
    Pe,
    /// A device section of a host file.
    Section,
    /// LLVM OffloadBinary.
    OffloadBinary,
    /// CUDA fat binary.
    CudaFatbin,
    /// `ar` archive: static library, `.deb`, or output of ocloc.
    Ar,
    /// zip file, Python wheels included.
    Zip,
    /// tar file.
    Tar,
    /// gzip, xz or zstd stream.
    Compressed,
    /// ROCm kernel pack archive (`KPAK`).
    Kpack,
}

/// Something that was looked at and holds no device code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Skipped {
    /// Path through the enclosing containers.
    pub path: String,
    /// Why it was passed over.
    pub reason: String,
}

/// A place that could not be read as its format demands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Fault {
    /// Path through the enclosing containers.
    pub path: String,
    /// Broken, or merely beyond this version.
    pub kind: FaultKind,
    /// What is wrong, where, and what was expected.
    pub message: String,
}

/// How bad a [`Fault`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FaultKind {
    /// The bytes contradict their format: truncated, hash mismatch, sizes that point outside.
    Malformed,
    /// Device code is there, but this version cannot read it.
    Unreadable,
    /// Near a limit of the format or of a loader.
    TooLarge,
}

/// One device image: a code object, a PTX text, a SPIR-V module.
#[derive(Debug, Clone, Serialize)]
pub struct Image {
    /// Path through the enclosing containers, joined by ` > `.
    pub path: String,
    /// Identity that the enclosing container gives it, for example
    /// `hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-`.
    pub container_id: Option<String>,
    /// Path of the group of images that a runtime chooses from: one bundle, one fat binary.
    pub group: String,
    /// Format of the image.
    pub format: Format,
    /// Target from the image itself: `gfx90a:sramecc+:xnack-`, `sm_90`, `spirv64`.
    pub target: String,
    /// Size in bytes, uncompressed.
    pub bytes: u64,
    /// False for images that no runtime loads: the `-rdc` inputs that stay in `__nv_relfatbin`.
    pub loaded: bool,
    /// Facts that only one format has.
    pub details: Details,
    /// Kernels, in the order of the image.
    pub kernels: Vec<Kernel>,
    /// Symbols that rules ask about.
    pub symbols: Symbols,
    /// Format strings of `printf` calls that a runtime prints from a buffer.
    pub printf_strings: Vec<String>,
}

/// The formats of device images.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Format {
    /// AMDGPU code object.
    Amdgpu,
    /// NVIDIA PTX text.
    Ptx,
    /// NVIDIA machine code ELF.
    Cubin,
    /// SPIR-V module.
    Spirv,
    /// Intel machine code ELF.
    Zebin,
}

/// Facts that only one format has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Details {
    /// AMDGPU code object.
    Amdgpu {
        /// Code object version, 3 to 6 (the ABI version byte plus 2).
        code_object_version: u8,
        /// ELF header flags, unchanged.
        e_flags: u32,
        /// `amdhsa.target` of the metadata note, where there is one.
        note_target: Option<String>,
        /// True for `ET_REL`: an input of a linker, not loadable.
        relocatable: bool,
    },
    /// PTX text.
    Ptx {
        /// `.version`, for example `7.8`.
        version: String,
        /// `.target` with all its words, for example `sm_90a`.
        target: String,
        /// `.address_size` in bits.
        address_bits: u32,
    },
    /// NVIDIA machine code.
    Cubin {
        /// ELF header flags, unchanged.
        e_flags: u32,
        /// `e_ident[EI_OSABI]` and `e_ident[EI_ABIVERSION]`.
        abi: (u8, u8),
        /// True for `ET_REL`.
        relocatable: bool,
    },
    /// SPIR-V module.
    Spirv {
        /// Version word as `major.minor`.
        version: String,
        /// True if the words are stored big-endian.
        big_endian: bool,
        /// Capabilities by name, in the order of the module.
        capabilities: Vec<String>,
        /// Extensions, in the order of the module.
        extensions: Vec<String>,
        /// Addressing model, for example `Physical64`.
        addressing_model: String,
        /// Memory model, for example `OpenCL`.
        memory_model: String,
    },
    /// Intel machine code.
    Zebin {
        /// Version of `.ze_info`.
        ze_info_version: String,
        /// ELF header flags, unchanged.
        e_flags: u32,
    },
}

/// One kernel (entry point) of an image.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Kernel {
    /// Name that a host passes to its runtime.
    pub name: String,
    /// Symbol of the kernel descriptor if it is not the usual `<name>.kd`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub descriptor: Option<String>,
    /// Source language that the metadata states. HIP compilers write `OpenCL C` too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// The metadata gives the source types of arguments, which OpenCL compilers write and HIP
    /// compilers do not.
    pub typed_arguments: bool,
    /// Explicit and hidden arguments in order; empty if the reader was told to leave them out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<Argument>,
    /// Hidden arguments that the kernel declares.
    pub hidden: HiddenArguments,
    /// Size of the argument block in bytes.
    pub kernarg_bytes: Option<u64>,
    /// Private (scratch, local, stack) memory per work-item in bytes.
    pub scratch_bytes: Option<u64>,
    /// Statically allocated shared memory (LDS) per work-group in bytes.
    pub shared_bytes: Option<u64>,
    /// The kernel needs a stack whose size its compiler could not bound.
    pub dynamic_stack: Option<bool>,
    /// Vector registers per work-item.
    pub vgprs: Option<u32>,
    /// Scalar registers per wavefront.
    pub sgprs: Option<u32>,
    /// Vector registers spilled to memory.
    pub vgpr_spills: Option<u32>,
    /// Scalar registers spilled.
    pub sgpr_spills: Option<u32>,
    /// Largest work-group that the kernel allows, in work-items.
    pub max_threads: Option<u32>,
    /// Lanes of a wavefront, or required sub-group size.
    pub wavefront: Option<u32>,
    /// What the driver must serve while the kernel runs, as zebin states it, for example
    /// `has_printf_calls`; sorted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub services: Vec<String>,
    /// Functions outside the image, and printing instructions, that the kernel can reach through
    /// direct calls; sorted. Known for PTX, SPIR-V and cubin.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<String>,
}

/// One kernel argument.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Argument {
    /// Name, where the image keeps it.
    pub name: Option<String>,
    /// AMDGPU `.value_kind`; `by_value` or `global_buffer` in the other formats.
    pub kind: String,
    /// Type as the format spells it: `u64`, `float*`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub type_name: Option<String>,
    /// Offset in the argument block, bytes.
    pub offset: Option<u64>,
    /// Size in bytes.
    pub bytes: Option<u64>,
    /// Address space of a pointer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address_space: Option<String>,
}

impl Argument {
    /// True for arguments that the runtime fills in, not the caller.
    #[must_use]
    pub fn is_hidden(&self) -> bool {
        self.kind.starts_with("hidden_")
    }
}

/// Symbols of an image.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Symbols {
    /// Defined functions and objects; empty if the reader was told to leave them out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub defined: Vec<String>,
    /// Undefined symbols that must be resolved at load (weak ones are not listed).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub undefined: Vec<String>,
    /// Undefined symbols that no relocation of a linked object refers to: nothing looks them up.
    /// Empty if the reader was told to leave them out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unreferenced: Vec<String>,
    /// Symbols of the host-call families, defined or not.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notable: Vec<String>,
}

impl Image {
    /// The AMDGPU processor, PTX or SPIR-V target without feature suffixes: `gfx90a`.
    #[must_use]
    pub fn processor(&self) -> &str {
        self.target.split(':').next().unwrap_or(&self.target)
    }
}
