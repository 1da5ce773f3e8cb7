//! Processor and features of an AMDGPU code object from its ELF header flags.
//!
//! Numbers: LLVM, "User Guide for AMDGPU Backend", ELF Header, `EF_AMDGPU_MACH` and the feature
//! fields; gfx940 and gfx941 are gone from current lists but still shipped by ROCm 6.0.

/// `EF_AMDGPU_MACH` (low byte of the flags) and the processor it means.
const MACH: &[(u8, &str)] = &[
    (0x20, "gfx600"),
    (0x21, "gfx601"),
    (0x22, "gfx700"),
    (0x23, "gfx701"),
    (0x24, "gfx702"),
    (0x25, "gfx703"),
    (0x26, "gfx704"),
    (0x28, "gfx801"),
    (0x29, "gfx802"),
    (0x2a, "gfx803"),
    (0x2b, "gfx810"),
    (0x2c, "gfx900"),
    (0x2d, "gfx902"),
    (0x2e, "gfx904"),
    (0x2f, "gfx906"),
    (0x30, "gfx908"),
    (0x31, "gfx909"),
    (0x32, "gfx90c"),
    (0x33, "gfx1010"),
    (0x34, "gfx1011"),
    (0x35, "gfx1012"),
    (0x36, "gfx1030"),
    (0x37, "gfx1031"),
    (0x38, "gfx1032"),
    (0x39, "gfx1033"),
    (0x3a, "gfx602"),
    (0x3b, "gfx705"),
    (0x3c, "gfx805"),
    (0x3d, "gfx1035"),
    (0x3e, "gfx1034"),
    (0x3f, "gfx90a"),
    (0x40, "gfx940"),
    (0x41, "gfx1100"),
    (0x42, "gfx1013"),
    (0x43, "gfx1150"),
    (0x44, "gfx1103"),
    (0x45, "gfx1036"),
    (0x46, "gfx1101"),
    (0x47, "gfx1102"),
    (0x48, "gfx1200"),
    (0x49, "gfx1250"),
    (0x4a, "gfx1151"),
    (0x4b, "gfx941"),
    (0x4c, "gfx942"),
    (0x4e, "gfx1201"),
    (0x4f, "gfx950"),
    (0x51, "gfx9-generic"),
    (0x52, "gfx10-1-generic"),
    (0x53, "gfx10-3-generic"),
    (0x54, "gfx11-generic"),
    (0x55, "gfx1152"),
    (0x58, "gfx1153"),
    (0x59, "gfx12-generic"),
    (0x5a, "gfx1251"),
    (0x5f, "gfx9-4-generic"),
    // R600 family, never with HSA; named so that the error is clear.
    (0x01, "r600"),
    (0x02, "r630"),
    (0x05, "rv710"),
    (0x06, "rv730"),
    (0x07, "rv770"),
];

/// Target ID in canonical form (`gfx90a:sramecc+:xnack-`), or `unknown-mach-0x..`.
///
/// `version` is the code object version. A feature that the flags leave open ("any"), or that the
/// processor does not have, is not named.
pub(crate) fn target_id(e_flags: u32, version: u8) -> String {
    let mach = e_flags & 0xff;
    let mut id = match MACH.iter().find(|(number, _)| u32::from(*number) == mach) {
        Some((_, name)) => (*name).to_owned(),
        None => format!("unknown-mach-0x{mach:x}"),
    };
    let (sramecc, xnack) = if version == 3 {
        // V3 has one bit each: set means on, clear means off or unsupported, which look the same.
        ((e_flags & 0x200 != 0).then_some('+'), (e_flags & 0x100 != 0).then_some('+'))
    } else {
        (selection((e_flags >> 10) & 3), selection((e_flags >> 8) & 3))
    };
    for (feature, state) in [("sramecc", sramecc), ("xnack", xnack)] {
        if let Some(sign) = state {
            id.push(':');
            id.push_str(feature);
            id.push(sign);
        }
    }
    id
}

/// The two-bit field of V4 and later: 0 unsupported, 1 any, 2 off, 3 on.
fn selection(field: u32) -> Option<char> {
    match field {
        2 => Some('-'),
        3 => Some('+'),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_seen_in_shipped_files() {
        assert_eq!(target_id(0x41, 6), "gfx1100");
        assert_eq!(target_id(0x53f, 6), "gfx90a");
        assert_eq!(target_id(0x0100_0054, 6), "gfx11-generic");
        assert_eq!(target_id(0x0100_055f, 6), "gfx9-4-generic");
        assert_eq!(target_id(0x540, 5), "gfx940");
        assert_eq!(target_id(0xe3f, 5), "gfx90a:sramecc+:xnack-");
        assert_eq!(target_id(0x33f, 3), "gfx90a:sramecc+:xnack+");
        assert_eq!(target_id(0xfe, 5), "unknown-mach-0xfe");
    }

    #[test]
    fn no_number_and_no_name_twice() {
        for (at, (number, name)) in MACH.iter().enumerate() {
            for (other, other_name) in &MACH[at + 1..] {
                assert_ne!(number, other);
                assert_ne!(name, other_name);
            }
        }
    }
}
