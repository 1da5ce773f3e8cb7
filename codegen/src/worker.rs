//! One worker process per module: it holds LLVM, so its state, its crashes and its `exit` calls end with it.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};

use crate::job::{Answer, Job};

/// How to start a worker: a program that runs `xreduce_llvm::serve` when given these arguments.
#[derive(Clone, Debug)]
pub struct Worker {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
}

/// Why a worker gave no artifact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The IR is faulty, at a line of the IR where one is known.
    Faulty {
        /// What LLVM said.
        message: String,
        /// Line of the IR, counted from 1.
        line: Option<usize>,
    },
    /// LLVM could not lower it, or crashed.
    Failed(String),
    /// The worker itself could not be started or spoken to.
    Unreachable(String),
}

impl Worker {
    /// Lowers one module.
    ///
    /// # Errors
    /// See [`Fault`].
    pub fn lower(&self, job: &Job) -> Result<Vec<u8>, Fault> {
        let unreachable = |what: &str, cause: &dyn std::fmt::Display| {
            Fault::Unreachable(format!("{}: {what}: {cause}", self.program.display()))
        };
        let text = serde_json::to_vec(job).map_err(|cause| unreachable("the job cannot be written", &cause))?;
        let mut child = Command::new(&self.program)
            .args(&self.arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|cause| unreachable("the worker cannot be started", &cause))?;
        // A worker that dies before it has read everything breaks the pipe; how it died says more than that.
        let sent = child.stdin.take().map_or(Ok(()), |mut stdin| stdin.write_all(&text));
        let output = child.wait_with_output().map_err(|cause| unreachable("the worker cannot be awaited", &cause))?;
        let said = String::from_utf8_lossy(&output.stderr);
        if !output.status.success() {
            return Err(Fault::Failed(format!("LLVM stopped ({}){}", how(output.status), last_words(&said))));
        }
        // LLVM only warns of a processor or feature it does not know, and goes on without it.
        if let Some(ignored) = said.lines().find(|line| line.contains("is not a recognized")) {
            return Err(Fault::Failed(format!("LLVM says: {ignored}")));
        }
        sent.map_err(|cause| unreachable("the job was not taken", &cause))?;
        let end = output.stdout.iter().position(|byte| *byte == b'\n').unwrap_or(output.stdout.len());
        let (head, rest) = output.stdout.split_at(end);
        let answer = serde_json::from_slice(head).map_err(|cause| unreachable("the answer is not one", &cause))?;
        match answer {
            Answer::Done { bytes } => match rest.split_first() {
                Some((_, artifact)) if artifact.len() == bytes => Ok(artifact.to_vec()),
                _ => Err(unreachable("the answer is cut", &format!("expected {bytes} bytes"))),
            },
            Answer::Faulty { message, line } => Err(Fault::Faulty { message, line }),
            Answer::Failed { message } => Err(Fault::Failed(format!("{message}{}", last_words(&said)))),
        }
    }
}

fn how(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt;
    match (status.signal(), status.code()) {
        (Some(signal), _) => format!("signal {signal}"),
        (None, Some(code)) => format!("exit code {code}"),
        (None, None) => "no exit code".to_owned(),
    }
}

/// What LLVM printed before it stopped, without its stack dump.
fn last_words(stderr: &str) -> String {
    let noise = |line: &&str| {
        !line.trim().is_empty()
            && !line.starts_with("PLEASE submit")
            && !line.starts_with(" #")
            && !line.starts_with('#')
    };
    let lines: Vec<&str> =
        stderr.lines().take_while(|line| !line.starts_with("Stack dump")).filter(noise).take(8).collect();
    if lines.is_empty() { String::new() } else { format!(": {}", lines.join("\n  ")) }
}
