//! What every release says of itself: `provenance.json`, `sbom.spdx.json` and `SHA256SUMS`.
//!
//! Provenance is an in-toto Statement (version 1) with the predicate SLSA Provenance (version 1): its subjects are the files
//! of the release, its parameters what has to be asked of the tool to get the kernels again. The bill of materials is SPDX 2.3.
//! Both are bare statements: signing them is the release job's business.

use std::collections::BTreeSet;

use chrono::{DateTime, SecondsFormat};
use serde::{Deserialize, Serialize};

use crate::bundle::Bundle;
use crate::contents::{Contents, add_sums, sha256};
use crate::error::Error;
use crate::sbom;

/// Name of the provenance statement.
pub const PROVENANCE: &str = "provenance.json";
/// Name of the bill of materials.
pub const SBOM: &str = "sbom.spdx.json";

const STATEMENT: &str = "https://in-toto.io/Statement/v1";
const PREDICATE: &str = "https://slsa.dev/provenance/v1";
/// Names the meaning of the parameters; a change of meaning is a new name.
const BUILD_TYPE: &str = "urn:xreduce:build:1";
const BUILDER: &str = "urn:xreduce:tool";

/// What a release job knows and a bundle does not say.
#[derive(Clone, Debug, Default)]
pub struct Circumstances {
    /// Seconds since 1970 that stand for the time of the release: `SOURCE_DATE_EPOCH`. 0 keeps releases of equal bundles equal.
    pub epoch: i64,
    /// Commit of the tool's source, where the tool knows it.
    pub source_revision: Option<String>,
}

impl Circumstances {
    /// The time as both documents write it.
    ///
    /// # Errors
    /// [`Error::Differs`] for a time outside the years that a calendar can say.
    pub(crate) fn time(&self) -> Result<String, Error> {
        let time = DateTime::from_timestamp(self.epoch, 0).filter(|_| (0..=253_402_300_799).contains(&self.epoch));
        let time = time.ok_or_else(|| Error::Differs(format!("SOURCE_DATE_EPOCH {} is no date", self.epoch)))?;
        Ok(time.to_rfc3339_opts(SecondsFormat::Secs, true))
    }
}

/// An in-toto Statement about the files of a release.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Statement {
    #[serde(rename = "_type")]
    kind: String,
    subject: Vec<Resource>,
    #[serde(rename = "predicateType")]
    predicate_type: String,
    /// How the kernels in them were built.
    pub predicate: Provenance,
}

impl Statement {
    /// Name and SHA-256 of every file that the statement is about.
    pub(crate) fn subjects(&self) -> impl Iterator<Item = (&str, &str)> {
        self.subject.iter().filter_map(|subject| {
            let sha256 = subject.digest.as_ref()?.sha256.as_deref()?;
            Some((subject.name.as_str(), sha256))
        })
    }
}

/// SLSA Provenance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Provenance {
    /// From what.
    pub build_definition: BuildDefinition,
    run_details: RunDetails,
}

/// From what the kernels were built.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BuildDefinition {
    build_type: String,
    /// What was asked of the tool.
    pub external_parameters: Choices,
    /// Templates, target files and LLVM.
    pub resolved_dependencies: Vec<Resource>,
}

/// What has to be asked of `xreduce build` to get the kernels again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Choices {
    /// The values of `--target`.
    pub targets: BTreeSet<String>,
    /// The values of `--algorithm`.
    pub algorithms: BTreeSet<String>,
    /// The values of `--element`.
    pub elements: BTreeSet<String>,
    /// The values of `--world`.
    pub worlds: BTreeSet<u32>,
}

impl Choices {
    /// The choices that give this bundle's kernels.
    #[must_use]
    pub fn of(bundle: &Bundle) -> Choices {
        let targets = &bundle.manifest.targets;
        let modules = || targets.iter().flat_map(|target| &target.modules);
        let kernels = || modules().flat_map(|module| &module.kernels);
        Choices {
            targets: targets.iter().map(|target| target.name.clone()).collect(),
            algorithms: kernels().map(|kernel| kernel.algorithm.to_string()).collect(),
            elements: kernels().map(|kernel| kernel.element.to_string()).collect(),
            worlds: modules().map(|module| module.world.ranks()).collect(),
        }
    }
}

/// A file or an input, by its digest or its version.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Resource {
    /// What it is called.
    pub name: String,
    /// Its hash, where it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<Digest>,
    /// Its version, where that is how it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Version>,
}

/// A hash.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Digest {
    /// SHA-256, hexadecimal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// A Git commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub git_commit: Option<String>,
}

/// A version.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Version {
    /// As its maker writes it.
    pub version: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct RunDetails {
    builder: Builder,
    metadata: Metadata,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Builder {
    id: String,
    version: std::collections::BTreeMap<String, String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    finished_on: String,
}

fn hashed(name: impl Into<String>, sha256: String) -> Resource {
    Resource { name: name.into(), digest: Some(Digest { sha256: Some(sha256), git_commit: None }), annotations: None }
}

fn versioned(name: &str, version: &str) -> Resource {
    Resource { name: name.to_owned(), digest: None, annotations: Some(Version { version: version.to_owned() }) }
}

/// The statement about `contents`, which hold kernels of `bundle`.
fn statement(contents: &Contents, bundle: &Bundle, circumstances: &Circumstances) -> Result<Statement, Error> {
    let manifest = &bundle.manifest;
    let mut inputs = vec![
        versioned("LLVM", &manifest.llvm),
        hashed("templates", manifest.templates_sha256.clone()),
        hashed("manifest.json", sha256(&bundle.manifest_text)),
    ];
    let targets = manifest.targets.iter();
    inputs.extend(targets.map(|target| hashed(format!("targets/{}.yaml", target.name), target.target_sha256.clone())));
    if let Some(commit) = &circumstances.source_revision {
        let digest = Digest { sha256: None, git_commit: Some(commit.clone()) };
        inputs.push(Resource { name: "xreduce".to_owned(), digest: Some(digest), annotations: None });
    }
    let version = [("xreduce".to_owned(), bundle.version().to_owned()), ("llvm".to_owned(), manifest.llvm.clone())];
    Ok(Statement {
        kind: STATEMENT.to_owned(),
        subject: contents.iter().map(|(name, bytes)| hashed(name, sha256(bytes))).collect(),
        predicate_type: PREDICATE.to_owned(),
        predicate: Provenance {
            build_definition: BuildDefinition {
                build_type: BUILD_TYPE.to_owned(),
                external_parameters: Choices::of(bundle),
                resolved_dependencies: inputs,
            },
            run_details: RunDetails {
                builder: Builder { id: BUILDER.to_owned(), version: version.into() },
                metadata: Metadata { finished_on: circumstances.time()? },
            },
        },
    })
}

/// Adds the three documents to the files of a release called `name`.
///
/// # Errors
/// The circumstances' time is no date.
pub(crate) fn attest(
    contents: &mut Contents,
    name: &str,
    bundle: &Bundle,
    circumstances: &Circumstances,
) -> Result<(), Error> {
    let provenance = json(&statement(contents, bundle, circumstances)?)?;
    let document = sbom::document(contents, name, bundle, &circumstances.time()?);
    contents.insert(PROVENANCE.to_owned(), provenance);
    contents.insert(SBOM.to_owned(), json(&document)?);
    add_sums(contents);
    Ok(())
}

/// Pretty, with a newline at the end.
pub(crate) fn json(value: &impl Serialize) -> Result<Vec<u8>, Error> {
    let text = serde_json::to_string_pretty(value).map_err(|cause| Error::Differs(cause.to_string()))?;
    Ok((text + "\n").into_bytes())
}
