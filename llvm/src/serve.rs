//! The worker's side of a job: read it, lower it, answer. See `xreduce_codegen::job` for the form.

use std::io::{self, Read, Write};

use xreduce_codegen::job::{Answer, Job};

use crate::lower::lower;

/// Takes one job from `input`, lowers it and answers on `output`.
///
/// # Errors
/// When `input` holds no job, or a stream breaks. What LLVM finds wrong with the job is an answer, not an error.
pub fn serve(mut input: impl Read, mut output: impl Write) -> io::Result<()> {
    let mut text = String::new();
    input.read_to_string(&mut text)?;
    let job: Job = serde_json::from_str(&text)?;
    let (answer, artifact) = match lower(&job) {
        Ok(artifact) => (Answer::Done { bytes: artifact.len() }, artifact),
        Err(answer) => (answer, Vec::new()),
    };
    serde_json::to_writer(&mut output, &answer)?;
    output.write_all(b"\n")?;
    output.write_all(&artifact)?;
    output.flush()
}
