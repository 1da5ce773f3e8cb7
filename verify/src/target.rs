//! Which image serves which GPU.
//!
//! Sources: LLVM, "User Guide for AMDGPU Backend" (target IDs, generic processors); NVIDIA, "CUDA
//! Compiler Driver" (binary and PTX compatibility).

use crate::model::{Format, Image};

/// Members of the generic AMDGPU processors.
const GENERIC: [(&str, &[&str]); 6] = [
    ("gfx9-generic", &["gfx900", "gfx902", "gfx904", "gfx906", "gfx909", "gfx90c"]),
    ("gfx9-4-generic", &["gfx940", "gfx941", "gfx942", "gfx950"]),
    ("gfx10-1-generic", &["gfx1010", "gfx1011", "gfx1012", "gfx1013"]),
    ("gfx10-3-generic", &["gfx1030", "gfx1031", "gfx1032", "gfx1033", "gfx1034", "gfx1035", "gfx1036"]),
    ("gfx11-generic", &["gfx1100", "gfx1101", "gfx1102", "gfx1103", "gfx1150", "gfx1151", "gfx1152", "gfx1153"]),
    ("gfx12-generic", &["gfx1200", "gfx1201"]),
];

/// True if a runtime can run `image` on the GPU called `wanted`.
pub(crate) fn serves(image: &Image, wanted: &str) -> bool {
    if !image.loaded {
        return false;
    }
    match image.format {
        Format::Amdgpu => amdgpu(&image.target, wanted),
        Format::Cubin => cuda(&image.target, wanted, false),
        Format::Ptx => cuda(&image.target, wanted, true),
        Format::Spirv => wanted == image.target || wanted == "spirv",
        Format::Zebin => image.container_id.as_deref() == Some(wanted),
    }
}

/// The image's features must be the wanted ones wherever both speak.
fn amdgpu(have: &str, wanted: &str) -> bool {
    let (mut have, mut wanted) = (have.split(':'), wanted.split(':'));
    let (Some(processor), Some(wanted_processor)) = (have.next(), wanted.next()) else {
        return false;
    };
    let members = GENERIC.iter().find(|(name, _)| *name == processor).map(|(_, members)| members);
    let same = processor == wanted_processor || members.is_some_and(|members| members.contains(&wanted_processor));
    let wanted: Vec<&str> = wanted.collect();
    same && have.all(|feature| {
        let (name, sign) = feature.split_at(feature.len().saturating_sub(1));
        !wanted.iter().any(|other| other.starts_with(name) && !other.ends_with(sign))
    })
}

/// Machine code runs on the same major version from its minor on, PTX on anything newer; code for
/// an architecture's own features (`sm_90a`) only there.
fn cuda(have: &str, wanted: &str, ptx: bool) -> bool {
    let (Some((have, special)), Some((wanted, _))) = (sm(have), sm(wanted)) else {
        return false;
    };
    if special {
        return have == wanted;
    }
    wanted >= have && (ptx || wanted / 10 == have / 10)
}

/// Number of an `sm_` or `compute_` name, and whether a letter follows it.
fn sm(name: &str) -> Option<(u32, bool)> {
    // A PTX .target may go on with modes: `sm_90, debug`.
    let name = name.split([',', ' ']).next()?;
    let number = name.strip_prefix("sm_").or_else(|| name.strip_prefix("compute_"))?;
    let digits = number.trim_end_matches(|c: char| c.is_ascii_lowercase());
    Some((digits.parse().ok()?, digits.len() < number.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amd_names_generics_and_features() {
        assert!(amdgpu("gfx1100", "gfx1100"));
        assert!(!amdgpu("gfx1100", "gfx1101"));
        assert!(amdgpu("gfx11-generic", "gfx1151"));
        assert!(!amdgpu("gfx11-generic", "gfx1201"));
        assert!(amdgpu("gfx90a:xnack-", "gfx90a"));
        assert!(amdgpu("gfx90a:xnack-", "gfx90a:sramecc+:xnack-"));
        assert!(!amdgpu("gfx90a:xnack-", "gfx90a:xnack+"));
    }

    #[test]
    fn cuda_compatibility() {
        assert!(cuda("sm_80", "sm_86", false));
        assert!(!cuda("sm_86", "sm_80", false));
        assert!(!cuda("sm_80", "sm_90", false));
        assert!(cuda("sm_80", "sm_120", true));
        assert!(!cuda("sm_90a", "sm_100", true));
        assert!(cuda("sm_90a", "sm_90", true));
        assert!(!cuda("sm_90", "gfx1100", true));
        assert!(cuda("sm_100", "sm_103", false));
        assert!(!cuda("sm_100", "sm_120", false));
    }
}
