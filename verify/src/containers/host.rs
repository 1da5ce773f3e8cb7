//! Host files: ELF, PE and COFF, by the sections in which compilers ship device code.
//!
//! Sources: clang and hipcc (`.hip_fatbin`, `.hipFatBinSegment`, `.llvm.offloading`), nvcc
//! (`.nv_fatbin`, `__nv_relfatbin`), DPC++ (`__CLANG_OFFLOAD_BUNDLE__*`, `.tgtimg`), rocm-kpack
//! (`.rocm_kpack_ref`). PE keeps eight bytes of a section name. Not looked for: device code in
//! ordinary data sections.

use object::{FileKind, Object, ObjectKind, ObjectSection, ObjectSymbol};

use super::{Found, Place, Walker, sequence, sycl};
use crate::bytes::{u32_at, zeros};
use crate::model::{ContainerKind, FaultKind};

/// Device sections of a loader are addressed with 32-bit relocations: 2 GiB is the end.
const SECTION_LARGE: u64 = (2 << 30) - (128 << 20);
/// How often the file's length the names of its sections may have in all: hostile names overlap.
const NAME_BYTES: usize = 16;
/// Magic of the wrapper whose kernels lie in a pack outside the file: `HIPK`.
const WRAPPER_KPACK: u32 = 0x4b50_4948;

/// True for PE and COFF; ELF is told by its own magic.
pub(super) fn is_host(bytes: &[u8]) -> bool {
    matches!(
        FileKind::parse(bytes),
        Ok(FileKind::Pe32 | FileKind::Pe64 | FileKind::Coff | FileKind::CoffBig | FileKind::CoffImport)
    )
}

/// What a section holds.
#[derive(Clone, Copy)]
enum Content {
    /// Bundles, fat binaries or offload binaries one after the other.
    Sequence,
    /// The same, but not loaded by any runtime.
    Relocatable,
    Sycl,
}

/// Section names in full.
const SECTIONS: [(&str, Content); 5] = [
    (".hip_fatbin", Content::Sequence),
    (".nv_fatbin", Content::Sequence),
    ("__nv_relfatbin", Content::Relocatable),
    (".llvm.offloading", Content::Sequence),
    (sycl::SECTION, Content::Sycl),
];

/// Opens the host file that `bytes` are.
pub(super) fn open(walker: &Walker<'_>, bytes: &[u8], place: &Place) -> Found {
    let mut found = Found::default();
    if matches!(FileKind::parse(bytes), Ok(FileKind::CoffImport)) {
        found.skip(place, "import library member");
        return found;
    }
    let file = match object::File::parse(bytes) {
        Ok(file) => file,
        Err(error) => {
            found.malformed(place, format!("host file: {error}"));
            return found;
        }
    };
    let truncated = !matches!(file, object::File::Elf32(_) | object::File::Elf64(_));
    // Programs run without section headers; what they embed cannot be told from other data then.
    if file.sections().next().is_none() && matches!(file.kind(), ObjectKind::Executable | ObjectKind::Dynamic) {
        found.fault(place, FaultKind::Unreadable, "host file without section headers: device code cannot be found");
        return found;
    }
    let mut device_sections = 0;
    let mut left = bytes.len().saturating_mul(NAME_BYTES);
    for section in file.sections() {
        let name = match section.name_bytes() {
            Ok(name) if name.len() <= left => name,
            Ok(_) => {
                found.malformed(place, "host file: the section names are longer than the file");
                break;
            }
            Err(error) => {
                found.malformed(place, format!("host file: {error}"));
                break;
            }
        };
        left -= name.len();
        let name = &*String::from_utf8_lossy(name);
        let inside = place.inside(name);
        if matches_name(name, ".hipFatBinSegment", truncated) {
            if let Some(message) = section.data().ok().and_then(packed_elsewhere) {
                found.fault(&inside, FaultKind::Unreadable, message);
            }
            continue;
        }
        let known = SECTIONS.iter().find(|(full, content)| match content {
            // SYCL section names go on with the triple.
            Content::Sycl => name.starts_with(full) || (truncated && matches_name(name, full, true)),
            _ => matches_name(name, full, truncated),
        });
        let Some((_, content)) = known else {
            continue;
        };
        let data = match section.data() {
            Ok(data) => data,
            Err(error) => {
                found.malformed(&inside, format!("section of a host file: {error}"));
                continue;
            }
        };
        // Any number of sections may mean the same bytes.
        if !walker.afford(data.len() as u64, &inside, &mut found) {
            break;
        }
        if zeros(data) == data.len() {
            continue;
        }
        device_sections += 1;
        found.container(&inside, ContainerKind::Section, data.len());
        if data.len() as u64 >= SECTION_LARGE {
            let message = format!("{} bytes in one section, loaders end at 2 GiB", data.len());
            found.fault(&inside, FaultKind::TooLarge, message);
        }
        let mut inside = inside;
        inside.group.clone_from(&inside.path);
        inside.device = true;
        found.join(match content {
            Content::Sequence => sequence::open(walker, data, &inside),
            Content::Relocatable => {
                inside.loaded = false;
                sequence::open(walker, data, &inside)
            }
            Content::Sycl => sycl::open(walker, &file, &section, data, &inside),
        });
    }
    for symbol in file.dynamic_symbols().chain(file.symbols()) {
        if walker.wanted.is_empty() {
            break;
        }
        if let Ok(name) = symbol.name()
            && symbol.is_definition()
            && symbol.is_global()
            && walker.wanted.contains(name)
        {
            found.host_symbols.push(name.to_owned());
        }
    }
    if device_sections == 0 {
        found.skip(place, "host file without a device section");
    } else {
        let kind = if truncated { ContainerKind::Pe } else { ContainerKind::Elf };
        found.container(place, kind, bytes.len());
    }
    found
}

/// PE keeps eight bytes of a name, COFF objects and ELF keep all.
fn matches_name(name: &str, full: &str, truncated: bool) -> bool {
    name == full || (truncated && name.len() == 8 && full.starts_with(name))
}

/// Says so if a wrapper of `.hipFatBinSegment` refers to a kernel pack.
fn packed_elsewhere(wrappers: &[u8]) -> Option<&'static str> {
    let (wrappers, _) = wrappers.as_chunks::<24>();
    wrappers
        .iter()
        .any(|wrapper| u32_at(wrapper, 0) == Some(WRAPPER_KPACK))
        .then_some("the kernels lie in a kernel pack outside this file; inspect the .kpack file")
}
