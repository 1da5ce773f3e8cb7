//! Format `tar.zst`: the bundle's folder as an archive with equal bytes for equal bundles.
//!
//! Members are sorted, owned by nobody, of one time and one mode; the archive holds one folder named after the version, as
//! distributions expect. The folder has the documents of a release inside, so they stay with what is unpacked.

use crate::attest::{Circumstances, attest};
use crate::bundle::Bundle;
use crate::contents::Contents;
use crate::error::Error;

/// Slow and small: a release is packed once.
const LEVEL: i32 = 19;

/// `xreduce-kernels-<version>.tar.zst`.
pub(crate) fn files(bundle: &Bundle, circumstances: &Circumstances) -> Result<Contents, Error> {
    let name = format!("xreduce-kernels-{}", bundle.version());
    let mut inside = bundle.files();
    attest(&mut inside, "xreduce-kernels", bundle, circumstances)?;
    let failed = |cause: std::io::Error| Error::Format { format: "tar.zst", message: cause.to_string() };
    let mut archive = tar::Builder::new(Vec::new());
    for (path, bytes) in &inside {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        header.set_mtime(u64::try_from(circumstances.epoch).unwrap_or(0));
        header.set_uid(0);
        header.set_gid(0);
        archive.append_data(&mut header, format!("{name}/{path}"), bytes.as_slice()).map_err(failed)?;
    }
    let archive = archive.into_inner().map_err(failed)?;
    Ok(Contents::from([(format!("{name}.tar.zst"), zstd(&archive)?)]))
}

/// One zstd frame that states its size and carries a checksum.
pub(crate) fn zstd(bytes: &[u8]) -> Result<Vec<u8>, Error> {
    let failed = |cause: std::io::Error| Error::Format { format: "zstd", message: cause.to_string() };
    let mut encoder = zstd::Encoder::new(Vec::new(), LEVEL).map_err(failed)?;
    encoder.include_checksum(true).map_err(failed)?;
    encoder.set_pledged_src_size(Some(bytes.len() as u64)).map_err(failed)?;
    std::io::Write::write_all(&mut encoder, bytes).map_err(failed)?;
    encoder.finish().map_err(failed)
}
