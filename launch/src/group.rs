//! The commanding side: starts the ranks, gives them memory and work, and sees to it that none is
//! left when something went wrong.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use command_fds::{CommandFdExt, FdMapping};

use crate::Error;
use crate::protocol::{Argument, DeviceInfo, MEMORY_FD, Request, Response};
use crate::shared::{self, SharedMemory};

/// How a group is made.
#[derive(Debug, Clone)]
pub struct Options {
    /// Number of ranks, 1 or more.
    pub ranks: usize,
    /// Bytes of the memory that they share; zero at first.
    pub memory_bytes: usize,
    /// The program that calls [`rank_main`](crate::rank_main) ...
    pub program: PathBuf,
    /// ... when it gets these arguments.
    pub arguments: Vec<OsString>,
    /// Environment variables for the ranks, beside the inherited ones.
    pub environment: Vec<(OsString, OsString)>,
    /// The OpenCL loader: a path, or a name for the system's search.
    pub loader: PathBuf,
    /// A part of the name of the device to take; none: the first that fits.
    pub device: Option<String>,
    /// How long a rank may take to answer. Kernels bound their waits themselves; this one is for
    /// drivers and kernels that do not come back, so it should be ample.
    pub patience: Duration,
}

impl Options {
    /// Options for `ranks` ranks that this program itself plays when it gets `argument`, with the
    /// system's OpenCL loader, any device and ten minutes of patience.
    ///
    /// # Errors
    /// [`Error::Start`] if the path of this program cannot be found.
    pub fn this_program(ranks: usize, memory_bytes: usize, argument: &str) -> Result<Self, Error> {
        let program = std::env::current_exe().map_err(|source| Error::Start {
            rank: 0,
            program: PathBuf::from("this program"),
            source,
        })?;
        Ok(Self {
            ranks,
            memory_bytes,
            program,
            arguments: vec![argument.into()],
            environment: Vec::new(),
            loader: PathBuf::from("libOpenCL.so.1"),
            device: None,
            patience: Duration::from_secs(600),
        })
    }
}

/// A kernel for one rank.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    /// The rank that runs it.
    pub rank: usize,
    /// The kernel's name in the module.
    pub kernel: String,
    /// All its arguments, in order.
    pub arguments: Vec<Argument>,
    /// Work-groups.
    pub blocks: u32,
    /// Work-items of a work-group.
    pub threads: u32,
}

/// Running ranks with their shared memory. All of them end when it is dropped.
#[derive(Debug)]
pub struct Group {
    members: Vec<Member>,
    answers: Receiver<(usize, Heard)>,
    memory: SharedMemory,
    devices: Vec<DeviceInfo>,
    patience: Duration,
    ended: bool,
}

#[derive(Debug)]
struct Member {
    child: Child,
    stdin: Option<ChildStdin>,
    last_words: Arc<Mutex<VecDeque<u8>>>,
    readers: Vec<JoinHandle<()>>,
}

/// What comes from a rank's standard output.
#[derive(Debug)]
enum Heard {
    Line(String),
    Closed,
}

/// Bytes kept of a rank's standard error.
const LAST_WORDS: usize = 2000;

impl Group {
    /// Starts all ranks and waits until each has opened its device.
    ///
    /// # Errors
    /// If memory, a process or a device cannot be had; no process is left then.
    pub fn start(options: &Options) -> Result<Self, Error> {
        let file = shared::create(options.memory_bytes)?;
        let memory = SharedMemory::map(&file, options.memory_bytes)?;
        let (sender, answers) = channel();
        // Made first, so that dropping it ends the ranks that a later failure leaves behind.
        let mut group = Self {
            members: Vec::new(),
            answers,
            memory,
            devices: Vec::new(),
            patience: options.patience,
            ended: false,
        };
        for rank in 0..options.ranks {
            let fail = |source| Error::Start { rank, program: options.program.clone(), source };
            let file = file.try_clone().map_err(fail)?;
            let mut command = Command::new(&options.program);
            command
                .args(&options.arguments)
                .envs(options.environment.iter().map(|(name, value)| (name, value)))
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped());
            command
                .fd_mappings(vec![FdMapping { parent_fd: file.into(), child_fd: MEMORY_FD }])
                .map_err(|error| fail(std::io::Error::other(error)))?;
            let child = command.spawn().map_err(fail)?;
            group.members.push(Member::new(rank, child, &sender).map_err(fail)?);
        }
        let open = Request::Open {
            memory_bytes: options.memory_bytes,
            loader: options.loader.clone(),
            device: options.device.clone(),
        };
        let requests = (0..options.ranks).map(|rank| (rank, open.clone())).collect();
        for (rank, response) in group.exchange(requests)? {
            match response {
                Response::Device(device) => group.devices.push(device),
                other => return Err(unexpected(rank, open.what(), &other)),
            }
        }
        Ok(group)
    }

    /// The devices, by rank.
    #[must_use]
    pub fn devices(&self) -> &[DeviceInfo] {
        &self.devices
    }

    /// The ranks' processes, by rank: for a debugger.
    #[must_use]
    pub fn process_ids(&self) -> Vec<u32> {
        self.members.iter().map(|member| member.child.id()).collect()
    }

    /// How long a rank may take to answer from now on.
    pub fn set_patience(&mut self, patience: Duration) {
        self.patience = patience;
    }

    /// Loads a SPIR-V module on every rank, in place of the one before; gives its kernels' names.
    ///
    /// # Errors
    /// [`Error::Refused`] with the driver's words, or the loss of a rank.
    pub fn load(&mut self, module: &[u8]) -> Result<Vec<String>, Error> {
        let request = Request::Load { module: STANDARD.encode(module) };
        let requests = (0..self.members.len()).map(|rank| (rank, request.clone())).collect();
        let mut names = Vec::new();
        for (rank, response) in self.exchange(requests)? {
            match response {
                Response::Kernels(kernels) => names = kernels,
                other => return Err(unexpected(rank, request.what(), &other)),
            }
        }
        Ok(names)
    }

    /// Runs one kernel on each of the ranks named, all at the same time, and waits until all have
    /// ended. Ranks that are not named do nothing.
    ///
    /// # Errors
    /// [`Error::Rank`] before anything runs; [`Error::Refused`] when all have ended or refused;
    /// [`Error::Died`] and [`Error::Silent`] after all ranks were ended.
    pub fn launch(&mut self, launches: &[Launch]) -> Result<(), Error> {
        let ranks = self.members.len();
        let mut named = vec![false; ranks];
        for launch in launches {
            match named.get_mut(launch.rank) {
                Some(seen) if !*seen => *seen = true,
                _ => return Err(Error::Rank { rank: launch.rank, ranks }),
            }
        }
        let requests = launches.iter().map(|launch| {
            let request = Request::Launch {
                kernel: launch.kernel.clone(),
                arguments: launch.arguments.clone(),
                blocks: launch.blocks,
                threads: launch.threads,
            };
            (launch.rank, request)
        });
        for (rank, response) in self.exchange(requests.collect())? {
            if response != Response::Ended {
                return Err(unexpected(rank, "run its kernel", &response));
            }
        }
        Ok(())
    }

    /// Copies from the shared memory. No kernel runs meanwhile: [`Group::launch`] waits for all.
    ///
    /// # Errors
    /// [`Error::OutOfRange`].
    pub fn read(&self, offset: u64, bytes: &mut [u8]) -> Result<(), Error> {
        self.memory.read(offset, bytes)
    }

    /// Copies into the shared memory.
    ///
    /// # Errors
    /// [`Error::OutOfRange`].
    pub fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<(), Error> {
        self.memory.write(offset, bytes)
    }

    /// Sets bytes of the shared memory.
    ///
    /// # Errors
    /// [`Error::OutOfRange`].
    pub fn fill(&mut self, offset: u64, bytes: usize, value: u8) -> Result<(), Error> {
        self.memory.fill(offset, bytes, value)
    }

    /// Sends each request to its rank and collects one answer from each, by rank. Ends the group if
    /// a rank died or kept silent; a refusal is only told when all have answered.
    fn exchange(&mut self, requests: Vec<(usize, Request)>) -> Result<Vec<(usize, Response)>, Error> {
        if self.ended {
            return Err(Error::Ended);
        }
        let outcome = self.try_exchange(requests);
        if matches!(&outcome, Err(error) if !matches!(error, Error::Refused { .. })) {
            self.end();
        }
        outcome
    }

    fn try_exchange(&mut self, requests: Vec<(usize, Request)>) -> Result<Vec<(usize, Response)>, Error> {
        let Some(doing) = requests.first().map(|(_, request)| request.what()) else {
            return Ok(Vec::new());
        };
        let mut waiting = Vec::new();
        for (rank, request) in requests {
            let mut line = serde_json::to_string(&request).map_err(|error| Error::Answer {
                rank,
                doing,
                answer: error.to_string(),
            })?;
            line.push('\n');
            let member = self.members.get_mut(rank).ok_or(Error::Ended)?;
            let sent = member.stdin.as_mut().map(|stdin| stdin.write_all(line.as_bytes()));
            if !matches!(sent, Some(Ok(()))) {
                return Err(self.died(rank, doing));
            }
            waiting.push(rank);
        }
        let deadline = Instant::now().checked_add(self.patience);
        let mut answers = Vec::new();
        while let Some(&first) = waiting.first() {
            let left = deadline.map_or(Duration::MAX, |end| end.saturating_duration_since(Instant::now()));
            let Ok((rank, heard)) = self.answers.recv_timeout(left) else {
                return Err(Error::Silent { rank: first, doing, waited: self.patience });
            };
            let Heard::Line(line) = heard else { return Err(self.died(rank, doing)) };
            let Ok(response) = serde_json::from_str(&line) else {
                return Err(Error::Answer { rank, doing, answer: line });
            };
            waiting.retain(|waiting| *waiting != rank);
            answers.push((rank, response));
        }
        answers.sort_by_key(|(rank, _)| *rank);
        match answers.iter().find(|(_, response)| matches!(response, Response::Failed(_))) {
            Some((rank, Response::Failed(reason))) => {
                Err(Error::Refused { rank: *rank, doing, reason: reason.clone() })
            }
            _ => Ok(answers),
        }
    }

    /// The error for a rank whose end of the line is closed.
    fn died(&mut self, rank: usize, doing: &'static str) -> Error {
        let Some(member) = self.members.get_mut(rank) else { return Error::Ended };
        // It may have closed its output and live on.
        let killed = member.child.try_wait().ok().flatten().is_none();
        let (status, last_words) = member.end();
        let status = if killed { format!("closed its output; {status}") } else { status };
        Error::Died { rank, doing, status, last_words }
    }

    /// Ends all ranks and waits for their processes.
    fn end(&mut self) {
        self.ended = true;
        for member in &mut self.members {
            member.end();
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.end();
    }
}

impl Member {
    fn new(rank: usize, mut child: Child, sender: &Sender<(usize, Heard)>) -> std::io::Result<Self> {
        let last_words = Arc::new(Mutex::new(VecDeque::new()));
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        // From here on its drop ends the child.
        let mut member = Self { child, stdin, last_words, readers: Vec::new() };
        if let Some(stdout) = stdout {
            let sender = sender.clone();
            member.readers.push(std::thread::Builder::new().spawn(move || {
                for line in BufReader::new(stdout).lines() {
                    let Ok(line) = line else { break };
                    if sender.send((rank, Heard::Line(line))).is_err() {
                        return;
                    }
                }
                // Nobody listens any longer when the group is being dropped.
                let _ = sender.send((rank, Heard::Closed));
            })?);
        }
        if let Some(mut stderr) = stderr {
            let last_words = Arc::clone(&member.last_words);
            member.readers.push(std::thread::Builder::new().spawn(move || {
                let mut piece = [0; 512];
                while let Ok(length @ 1..) = stderr.read(&mut piece) {
                    let mut kept = last_words.lock().unwrap_or_else(PoisonError::into_inner);
                    kept.extend(piece.iter().take(length));
                    let surplus = kept.len().saturating_sub(LAST_WORDS);
                    kept.drain(..surplus);
                }
            })?);
        }
        Ok(member)
    }

    /// Ends the process and gives its exit status and the end of its standard error. Harmless when
    /// it has ended already.
    fn end(&mut self) -> (String, String) {
        self.stdin = None;
        // Fails only if the process is gone, and then `wait` has its status.
        let _ = self.child.kill();
        let status = match self.child.wait() {
            Ok(status) => status.to_string(),
            Err(error) => error.to_string(),
        };
        for reader in self.readers.drain(..) {
            // A reader that panicked has nothing more to say.
            let _ = reader.join();
        }
        let kept = self.last_words.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes: Vec<u8> = kept.iter().copied().collect();
        let words = String::from_utf8_lossy(&bytes).trim().to_owned();
        (status, if words.is_empty() { words } else { format!(": {words}") })
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        self.end();
    }
}

fn unexpected(rank: usize, doing: &'static str, response: &Response) -> Error {
    Error::Answer { rank, doing, answer: format!("{response:?}") }
}
