//! Builds a bundle again and compares: who ships kernels can show that they come from the source they claim.
//!
//! The build is that of the command, in a process of its own, with the choices of the bundle's provenance or, without one,
//! of its manifest. Evidence that `xreduce check` has entered since is no part of a build and is not compared.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use xreduce_contract::manifest::Manifest;

use crate::attest::{Choices, PROVENANCE, Statement, json};
use crate::bundle::Bundle;
use crate::contents::sha256;
use crate::error::Error;

/// How to build again.
#[derive(Clone, Debug)]
pub struct Rebuild {
    /// The command `xreduce`.
    pub program: PathBuf,
    /// More arguments of its `build`, e.g. `--templates`.
    pub arguments: Vec<String>,
}

impl Rebuild {
    /// Builds the bundle of `folder` again; the number of modules that are equal to the last byte.
    ///
    /// # Errors
    /// [`Error::Input`] for a folder that is no bundle or does not fit its provenance; [`Error::Program`] when the build fails;
    /// [`Error::Differs`] with every difference.
    pub fn check(&self, folder: &Path) -> Result<usize, Error> {
        let original = Bundle::read(folder)?;
        let choices = match statement(folder)? {
            Some(statement) => statement.predicate.build_definition.external_parameters,
            None => Choices::of(&original),
        };
        let place = tempfile::tempdir().map_err(|cause| Error::output(&std::env::temp_dir(), cause))?;
        let out = place.path().join("rebuilt");
        let mut command = Command::new(&self.program);
        command.arg("build").arg("--quiet").args(choices.arguments()).args(&self.arguments).arg("--out").arg(&out);
        let failed = |message: String| Error::Program { program: self.program.clone(), message };
        let output = command.output().map_err(|cause| failed(cause.to_string()))?;
        if !output.status.success() {
            return Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
        }
        compare(&original, &Bundle::read(&out)?)
    }
}

impl Choices {
    /// As arguments of `xreduce build`.
    #[must_use]
    pub fn arguments(&self) -> Vec<String> {
        let worlds = self.worlds.iter().map(u32::to_string);
        let all = self.targets.iter().cloned().map(|word| ("--target", word));
        let all = all.chain(self.algorithms.iter().cloned().map(|word| ("--algorithm", word)));
        let all = all.chain(self.elements.iter().cloned().map(|word| ("--element", word)));
        let all = all.chain(worlds.map(|word| ("--world", word)));
        all.flat_map(|(option, word)| [option.to_owned(), word]).collect()
    }
}

/// The statement beside a bundle, if there is one; every file that it is about is the one it means.
fn statement(folder: &Path) -> Result<Option<Statement>, Error> {
    let path = folder.join(PROVENANCE);
    if !path.exists() {
        return Ok(None);
    }
    let text = fs::read(&path).map_err(|cause| Error::input(&path, cause))?;
    let statement: Statement = serde_json::from_slice(&text)
        .map_err(|cause| Error::input(&path, format!("is no provenance of a bundle: {cause}")))?;
    for (name, expected) in statement.subjects() {
        let path = folder.join(name);
        let bytes = fs::read(&path).map_err(|cause| Error::input(&path, cause))?;
        let found = sha256(&bytes);
        if found != expected {
            return Err(Error::input(&path, format!("its SHA-256 is {found}, the provenance says {expected}")));
        }
    }
    Ok(Some(statement))
}

fn compare(original: &Bundle, rebuilt: &Bundle) -> Result<usize, Error> {
    let mut differences = Vec::new();
    let (ours, theirs) = (&original.manifest, &rebuilt.manifest);
    for (what, one, other) in [
        ("tool", &ours.tool, &theirs.tool),
        ("LLVM", &ours.llvm, &theirs.llvm),
        ("templates", &ours.templates_sha256, &theirs.templates_sha256),
    ] {
        if one != other {
            differences.push(format!("{what}: built with {one}, rebuilt with {other}"));
        }
    }
    let mut equal = 0;
    for target in &ours.targets {
        let again = theirs.targets.iter().find(|other| other.name == target.name);
        if again.is_some_and(|again| again.target_sha256 != target.target_sha256) {
            differences.push(format!("target {}: its file has changed", target.name));
        }
        for module in &target.modules {
            let other = again.and_then(|again| again.modules.iter().find(|other| other.file == module.file));
            match other {
                None => differences.push(format!("{}: was not rebuilt", module.file)),
                Some(other) if rebuilt.bytes(other) != original.bytes(module) => {
                    differences.push(format!("{}: built {}, rebuilt {}", module.file, module.sha256, other.sha256));
                }
                Some(_) => equal += 1,
            }
        }
    }
    if differences.is_empty() && json(&without_evidence(ours))? != json(&without_evidence(theirs))? {
        differences.push("manifest.json: differs in more than evidence".to_owned());
    }
    if differences.is_empty() { Ok(equal) } else { Err(Error::Differs(differences.join("\n"))) }
}

fn without_evidence(manifest: &Manifest) -> Manifest {
    let mut manifest = manifest.clone();
    for module in manifest.targets.iter_mut().flat_map(|target| &mut target.modules) {
        for kernel in &mut module.kernels {
            kernel.evidence.clear();
        }
    }
    manifest
}
