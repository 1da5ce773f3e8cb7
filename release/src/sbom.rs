//! The bill of materials of a release: SPDX 2.3 in JSON.
//!
//! Source: SPDX Specification 2.3, clauses 6 (document), 7 (package), 8 (file), 11 (relationships) and annex on the
//! verification code: SHA-1 over the sorted SHA-1 values of the files. SHA-1 is what the specification demands of every file.
//! One package holds all files; LLVM and the tool are packages it was made with, not parts of it: no byte of either is inside.

use serde::Serialize;
use sha1::{Digest as _, Sha1};

use crate::bundle::Bundle;
use crate::contents::{Contents, hex, sha256};

const LICENCE: &str = "MIT OR Apache-2.0";
const NONE: &str = "NOASSERTION";

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Document {
    spdx_version: &'static str,
    data_license: &'static str,
    #[serde(rename = "SPDXID")]
    id: &'static str,
    name: String,
    document_namespace: String,
    creation_info: CreationInfo,
    packages: Vec<Package>,
    files: Vec<File>,
    relationships: Vec<Relationship>,
}

#[derive(Debug, Serialize)]
struct CreationInfo {
    created: String,
    creators: Vec<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Package {
    name: String,
    #[serde(rename = "SPDXID")]
    id: &'static str,
    version_info: String,
    download_location: &'static str,
    files_analyzed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    package_verification_code: Option<VerificationCode>,
    license_concluded: &'static str,
    license_declared: &'static str,
    copyright_text: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    has_files: Vec<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct VerificationCode {
    package_verification_code_value: String,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct File {
    file_name: String,
    #[serde(rename = "SPDXID")]
    id: String,
    checksums: Vec<Checksum>,
    license_concluded: &'static str,
    license_info_in_files: [&'static str; 1],
    copyright_text: &'static str,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Checksum {
    algorithm: &'static str,
    checksum_value: String,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Relationship {
    spdx_element_id: String,
    relationship_type: &'static str,
    related_spdx_element: String,
}

/// The bill of `contents`, a release called `name`, at a time as SPDX writes it.
pub(crate) fn document(contents: &Contents, name: &str, bundle: &Bundle, time: &str) -> Document {
    let version = bundle.version();
    let mut sha1s = Vec::new();
    let mut files = Vec::new();
    for (index, (path, bytes)) in contents.iter().enumerate() {
        let sha1 = hex(&Sha1::digest(bytes));
        sha1s.push(sha1.clone());
        files.push(File {
            file_name: format!("./{path}"),
            id: format!("SPDXRef-File-{index}"),
            checksums: vec![
                Checksum { algorithm: "SHA1", checksum_value: sha1 },
                Checksum { algorithm: "SHA256", checksum_value: sha256(bytes) },
            ],
            license_concluded: LICENCE,
            license_info_in_files: [NONE],
            copyright_text: NONE,
        });
    }
    sha1s.sort_unstable();
    let code = hex(&Sha1::digest(sha1s.concat().as_bytes()));
    let kernels = Package {
        name: name.to_owned(),
        id: "SPDXRef-Package",
        version_info: version.to_owned(),
        download_location: NONE,
        files_analyzed: true,
        package_verification_code: Some(VerificationCode { package_verification_code_value: code.clone() }),
        license_concluded: LICENCE,
        license_declared: LICENCE,
        copyright_text: NONE,
        has_files: files.iter().map(|file| file.id.clone()).collect(),
    };
    let tool = |name: &str, id, version: &str, licence| Package {
        name: name.to_owned(),
        id,
        version_info: version.to_owned(),
        download_location: NONE,
        files_analyzed: false,
        package_verification_code: None,
        license_concluded: licence,
        license_declared: licence,
        copyright_text: NONE,
        has_files: Vec::new(),
    };
    let relate = |from: &str, kind, to: &str| Relationship {
        spdx_element_id: from.to_owned(),
        relationship_type: kind,
        related_spdx_element: to.to_owned(),
    };
    Document {
        spdx_version: "SPDX-2.3",
        data_license: "CC0-1.0",
        id: "SPDXRef-DOCUMENT",
        name: format!("{name}-{version}"),
        // A name of its own for every content, as the specification wants it, and the same for the same.
        document_namespace: format!("urn:xreduce:sbom:{name}:{version}:{code}"),
        creation_info: CreationInfo { created: time.to_owned(), creators: vec![format!("Tool: xreduce-{version}")] },
        packages: vec![
            kernels,
            tool("xreduce", "SPDXRef-Tool", version, LICENCE),
            tool("LLVM", "SPDXRef-LLVM", &bundle.manifest.llvm, "Apache-2.0 WITH LLVM-exception"),
        ],
        files,
        relationships: vec![
            relate("SPDXRef-DOCUMENT", "DESCRIBES", "SPDXRef-Package"),
            relate("SPDXRef-Tool", "BUILD_TOOL_OF", "SPDXRef-Package"),
            relate("SPDXRef-LLVM", "BUILD_TOOL_OF", "SPDXRef-Package"),
        ],
    }
}
