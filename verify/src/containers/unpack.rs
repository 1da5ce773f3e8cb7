//! Decompression of untrusted bytes, bounded.

use std::io::{self, BufRead, Read};

use crate::error::ReadError;
use crate::limits::Limits;

const WHAT: &str = "compressed data";

/// Compression methods met in containers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Method {
    Zlib,
    Gzip,
    Zstd,
    Xz,
}

/// A reader of the unpacked bytes. `expected` bounds the window that a zstd frame may ask for.
pub(super) fn reader<'a>(
    method: Method,
    packed: impl BufRead + Send + 'a,
    expected: u64,
) -> io::Result<Box<dyn Read + Send + 'a>> {
    Ok(match method {
        Method::Zlib => Box::new(flate2::bufread::ZlibDecoder::new(packed)),
        Method::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(packed)),
        Method::Xz => Box::new(liblzma::bufread::XzDecoder::new_multi_decoder(packed)),
        Method::Zstd => {
            let mut decoder = zstd::stream::read::Decoder::with_buffer(packed)?;
            decoder.window_log_max(window_log(expected))?;
            Box::new(decoder)
        }
    })
}

/// Smallest power of two that holds `expected` bytes, within what zstd allows; 128 MiB at least,
/// the decoder's own default.
fn window_log(expected: u64) -> u32 {
    expected.max(1).ilog2().saturating_add(1).clamp(27, 31)
}

/// Unpacks everything. Exactly `declared` bytes are expected if it is given.
pub(super) fn all(method: Method, packed: &[u8], declared: Option<u64>, limits: &Limits) -> Result<Vec<u8>, ReadError> {
    let limit = limits.unpacked(packed.len() as u64);
    if let Some(declared) = declared.filter(|declared| *declared > limit) {
        let detail = format!("declares {declared} bytes, {limit} are allowed for {}", packed.len());
        return Err(ReadError::malformed(WHAT, detail));
    }
    let limit = declared.unwrap_or(limit);
    let broken = |error: io::Error| ReadError::malformed(WHAT, error.to_string());
    let mut unpacked = Vec::new();
    let reader = reader(method, packed, limit).map_err(broken)?;
    // One byte more than allowed tells "exactly" from "more".
    let read = reader.take(limit.saturating_add(1)).read_to_end(&mut unpacked);
    read.map_err(broken)?;
    let length = unpacked.len() as u64;
    if length > limit || declared.is_some_and(|declared| declared != length) {
        let detail = match declared {
            Some(declared) => format!("unpacks to {length} bytes or more, {declared} declared"),
            None => format!("unpacks to more than {limit} bytes, {} are stored", packed.len()),
        };
        return Err(ReadError::malformed(WHAT, detail));
    }
    Ok(unpacked)
}

/// The method that the first bytes belong to.
pub(super) fn method(bytes: &[u8]) -> Option<Method> {
    if bytes.starts_with(&[0x1f, 0x8b]) {
        Some(Method::Gzip)
    } else if bytes.starts_with(&[0xfd, b'7', b'z', b'X', b'Z', 0]) {
        Some(Method::Xz)
    } else if bytes.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
        Some(Method::Zstd)
    } else {
        None
    }
}
