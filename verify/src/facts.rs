//! Readers of device images: bytes of one image in, [`Image`] out.
//!
//! Each reader takes the bytes of exactly one image. What lies around an image (bundles, fat
//! binaries, host files) is the business of the containers.

pub(crate) mod amdgpu;
pub(crate) mod cubin;
mod names;
pub(crate) mod ptx;
pub(crate) mod spirv;
pub(crate) mod zebin;

/// Functions visited for the call graphs of all kernels of one image. Real modules need thousands.
const CALL_GRAPH_VISITS: u64 = 5_000_000;

/// How much of each kernel is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// Kernels without argument lists, images without the list of defined symbols: all that the
    /// shipped rules need.
    Summary,
    /// Everything.
    Full,
}
