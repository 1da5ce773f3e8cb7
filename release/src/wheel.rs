//! Format `wheel`: a data wheel per vendor, read through `importlib.resources`.
//!
//! Source: Python Packaging User Guide, "Binary distribution format" (RECORD: URL-safe base64 of SHA-256 without padding),
//! "Core metadata specifications" 2.4, "Recording installed projects", and PEP 770 for the bill of materials in
//! `.dist-info/sboms`. One wheel per vendor because an index refuses files above a limit and a user has one vendor's GPUs.

use std::io::{Cursor, Write as _};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};
use xreduce_codegen::family::Family;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

use crate::attest::{Circumstances, PROVENANCE, SBOM, attest, json};
use crate::bundle::Bundle;
use crate::contents::{Contents, SUMS};
use crate::error::Error;

const FORMAT: &str = "wheel";
const API: &str = include_str!("wheel/api.py");
const LICENCES: [(&str, &str); 2] =
    [("LICENSE-APACHE", include_str!("../../LICENSE-APACHE")), ("LICENSE-MIT", include_str!("../../LICENSE-MIT"))];
const VENDORS: [(Family, &str, &str); 3] =
    [(Family::Amdgpu, "amd", "AMD"), (Family::Nvptx, "nvidia", "NVIDIA"), (Family::Spirv, "intel", "Intel")];

/// `xreduce_kernels_<vendor>-<version>-py3-none-any.whl` for each vendor of the bundle.
pub(crate) fn files(bundle: &Bundle, circumstances: &Circumstances) -> Result<Contents, Error> {
    let mut contents = Contents::new();
    for (family, word, vendor) in VENDORS {
        if bundle.by_world(family).is_empty() {
            continue;
        }
        let package = format!("xreduce_kernels_{word}");
        let version = bundle.version();
        let tag = format!("{package}-{version}");
        let members = members(bundle, family, &package, vendor, circumstances)?;
        contents.insert(format!("{tag}-py3-none-any.whl"), pack(&members, &format!("{tag}.dist-info/RECORD"))?);
    }
    Ok(contents)
}

/// Everything in a wheel but its RECORD.
fn members(
    bundle: &Bundle,
    family: Family,
    package: &str,
    vendor: &str,
    circumstances: &Circumstances,
) -> Result<Contents, Error> {
    let mut manifest = bundle.manifest.clone();
    manifest.targets.retain(|target| target.family == family.word());
    let mut members = Contents::from([
        (format!("{package}/__init__.py"), API.replace("@vendor@", vendor).into_bytes()),
        (format!("{package}/py.typed"), Vec::new()),
        (format!("{package}/manifest.json"), json(&manifest)?),
    ]);
    for module in manifest.targets.iter().flat_map(|target| &target.modules) {
        members.insert(format!("{package}/{}", module.file), bundle.bytes(module).to_vec());
    }
    let name = package.replace('_', "-");
    attest(&mut members, &name, bundle, circumstances)?;
    members.remove(SUMS); // RECORD says the same.
    let info = format!("{package}-{}.dist-info", bundle.version());
    for (document, place) in [(SBOM, format!("{info}/sboms/{SBOM}")), (PROVENANCE, format!("{package}/{PROVENANCE}"))] {
        if let Some(bytes) = members.remove(document) {
            members.insert(place, bytes);
        }
    }
    for (file, text) in LICENCES {
        members.insert(format!("{info}/licenses/{file}"), text.as_bytes().to_vec());
    }
    let metadata = format!(
        "Metadata-Version: 2.4\nName: {name}\nVersion: {}\nSummary: Small-message allreduce kernels for {vendor} GPUs, as data\n\
         License-Expression: MIT OR Apache-2.0\nLicense-File: LICENSE-APACHE\nLicense-File: LICENSE-MIT\n\
         Requires-Python: >=3.9\n",
        bundle.version()
    );
    members.insert(format!("{info}/METADATA"), metadata.into_bytes());
    let wheel = format!(
        "Wheel-Version: 1.0\nGenerator: xreduce {}\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        bundle.version()
    );
    members.insert(format!("{info}/WHEEL"), wheel.into_bytes());
    Ok(members)
}

/// A zip file of the members and of their RECORD, which comes last as the specification asks.
fn pack(members: &Contents, record: &str) -> Result<Vec<u8>, Error> {
    let failed = |cause: &dyn std::fmt::Display| Error::Format { format: FORMAT, message: cause.to_string() };
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Deflated)
        .compression_level(Some(9))
        .last_modified_time(DateTime::default()) // 1980, the first day that zip can say
        .unix_permissions(0o644);
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    let mut lines = String::new();
    for (name, bytes) in members {
        archive.start_file(name, options).map_err(|cause| failed(&cause))?;
        archive.write_all(bytes).map_err(|cause| failed(&cause))?;
        let hash = URL_SAFE_NO_PAD.encode(Sha256::digest(bytes));
        lines.push_str(&format!("{name},sha256={hash},{}\n", bytes.len()));
    }
    lines.push_str(&format!("{record},,\n"));
    archive.start_file(record, options).map_err(|cause| failed(&cause))?;
    archive.write_all(lines.as_bytes()).map_err(|cause| failed(&cause))?;
    Ok(archive.finish().map_err(|cause| failed(&cause))?.into_inner())
}
