//! Names of device functions that need help from the host, by exact family.
//!
//! Sources: ROCm device libraries (`ockl`), HIP's `__assert_fail`, CUDA's system calls. Families are
//! exact because neighbours are harmless: `__ockl_get_group_id` says nothing.

/// What a symbol of a host-call family does.
const FAMILIES: [(&str, bool); 6] = [
    // (name or prefix, true for a prefix)
    ("__ockl_hostcall", true),
    ("__ockl_printf", true),
    ("__ockl_fprintf", true),
    ("__ockl_devmem_request", false),
    ("__assert_fail", false),
    ("__ockl_sanitizer_report", false),
];

/// CUDA's device system calls: the driver provides them, the host must drain their buffer.
const CUDA_SYSTEM_CALLS: [&str; 4] = ["vprintf", "__assertfail", "malloc", "free"];

/// True for the host-call families of the ROCm device libraries.
pub(crate) fn is_notable(name: &str) -> bool {
    FAMILIES.iter().any(|(family, prefix)| if *prefix { name.starts_with(family) } else { name == *family })
}

/// True for printing, asserting and allocating calls that the CUDA driver provides.
pub(crate) fn is_cuda_system_call(name: &str) -> bool {
    CUDA_SYSTEM_CALLS.contains(&name)
}

/// True for the functions behind `assert` in SYCL and OpenCL modules.
pub(crate) fn is_spirv_assert(name: &str) -> bool {
    matches!(name, "__devicelib_assert_fail" | "__assert_fail")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_families_only() {
        for name in [
            "__ockl_hostcall_preview",
            "__ockl_hostcall_internal",
            "__ockl_printf_begin",
            "__ockl_fprintf_append_string_n",
            "__ockl_devmem_request",
            "__assert_fail",
            "__ockl_sanitizer_report",
        ] {
            assert!(is_notable(name), "{name}");
        }
        for name in ["__ockl_get_group_id", "__assert_fail_base", "my__ockl_printf_begin", "__ockl_devmem_requests"] {
            assert!(!is_notable(name), "{name}");
        }
    }
}
