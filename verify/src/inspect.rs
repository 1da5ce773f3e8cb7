//! Bytes to inspection: recognises what the bytes are and has them read.

use crate::error::ReadError;
use crate::facts::{Detail, amdgpu, ptx, spirv};
use crate::model::{Fault, Image, Inspection, Skipped};

/// Reads `bytes`; `name` becomes the input's name and the start of every path.
///
/// Never fails: what is broken or unknown becomes a [`Fault`], which [`crate::check`] turns into the
/// findings `container-malformed` and `unreadable`.
#[must_use]
pub fn inspect(bytes: &[u8], name: &str) -> Inspection {
    let mut inspection = Inspection { name: name.to_owned(), ..Inspection::default() };
    match image(bytes, Detail::Full) {
        Some(Ok(image)) => inspection.images.push(Image { path: name.to_owned(), group: name.to_owned(), ..image }),
        Some(Err(error)) => {
            inspection.faults.push(Fault { path: name.to_owned(), kind: error.kind(), message: error.to_string() });
        }
        None => inspection.skipped.push(Skipped { path: name.to_owned(), reason: "no known format".to_owned() }),
    }
    inspection
}

/// Reads a bare device image; `None` if the bytes are no such thing.
fn image(bytes: &[u8], detail: Detail) -> Option<Result<Image, ReadError>> {
    if bytes.starts_with(b"\x7fELF") {
        Some(amdgpu::read(bytes, detail))
    } else if spirv::is_spirv(bytes) {
        Some(spirv::read(bytes, detail))
    } else if ptx::is_ptx(bytes) {
        Some(ptx::read(bytes, detail))
    } else {
        None
    }
}
