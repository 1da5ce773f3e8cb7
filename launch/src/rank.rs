//! What a rank's process does: it opens its device once and then does what it is told, one request
//! at a time, until its standard input closes.
#![allow(unsafe_code, reason = "runs kernels that get raw pointers")]

use std::fs::File;
use std::io::{self, BufRead, Write};
use std::process::ExitCode;
use std::sync::mpsc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::opencl::{Session, Value};
use crate::protocol::{Argument, MEMORY_FD, Request, Response};
use crate::shared::SharedMemory;

/// What `Open` made.
struct Rank {
    memory: SharedMemory,
    session: Session,
}

/// The whole life of a rank's process: call it and nothing else from the program that
/// [`Options`](crate::Options) names, when it was started with the arguments given there.
///
/// Talks on standard input and output; nothing else may use them.
pub fn rank_main() -> ExitCode {
    let (sender, requests) = mpsc::channel();
    // A thread of its own, so that the end of the commanding process is seen while a kernel runs.
    let reader = std::thread::Builder::new().spawn(move || {
        for line in io::stdin().lock().lines() {
            let Ok(line) = line else { break };
            if sender.send(line).is_err() {
                break;
            }
        }
        end_at_once();
    });
    if reader.is_err() {
        return ExitCode::FAILURE;
    }
    let mut rank = None;
    for line in requests {
        let response = serde_json::from_str(&line)
            .map_err(|error| format!("not a request: {error}"))
            .and_then(|request| answer(&mut rank, request))
            .unwrap_or_else(Response::Failed);
        let mut stdout = io::stdout().lock();
        let told = serde_json::to_writer(&mut stdout, &response).map_err(io::Error::from);
        if told.and_then(|()| stdout.write_all(b"\n")).and_then(|()| stdout.flush()).is_err() {
            break;
        }
    }
    ExitCode::FAILURE
}

/// Ends this process whatever its other threads do. Not an orderly exit: the driver's own exit
/// handlers wait for kernels that run.
fn end_at_once() {
    let own = rustix::process::getpid();
    if rustix::process::kill_process(own, rustix::process::Signal::KILL).is_err() {
        std::process::abort();
    }
}

fn answer(rank: &mut Option<Rank>, request: Request) -> Result<Response, String> {
    match request {
        Request::Open { memory_bytes, loader, device } => {
            let file = File::options()
                .read(true)
                .write(true)
                .open(format!("/proc/self/fd/{MEMORY_FD}"))
                .map_err(|error| format!("the shared memory is not there: {error}"))?;
            let memory = SharedMemory::map(&file, memory_bytes).map_err(|error| error.to_string())?;
            let session = Session::open(&loader, device.as_deref()).map_err(|error| error.to_string())?;
            let device = session.device().clone();
            *rank = Some(Rank { memory, session });
            Ok(Response::Device(device))
        }
        Request::Load { module } => {
            let rank = rank.as_mut().ok_or("no device is open")?;
            let module = STANDARD.decode(module).map_err(|error| format!("not base64: {error}"))?;
            let kernels = rank.session.load(&module).map_err(|error| error.to_string())?;
            Ok(Response::Kernels(kernels))
        }
        Request::Launch { kernel, arguments, blocks, threads } => {
            let rank = rank.as_mut().ok_or("no device is open")?;
            let values = arguments
                .into_iter()
                .map(|argument| match argument {
                    Argument::Word(word) => Ok(Value::Word(word)),
                    Argument::Pointer(offset) => Ok(Value::Pointer(rank.memory.address(offset, 0)?)),
                })
                .collect::<Result<Vec<_>, crate::Error>>()
                .map_err(|error| error.to_string())?;
            // SAFETY: the pointers lie in the shared memory, which stays mapped. What a kernel does
            // beyond that is what the kernel is run to find out: this process holds nothing that it
            // could harm, and the commanding process sees its death as an error.
            unsafe { rank.session.launch(&kernel, &values, blocks, threads) }.map_err(|error| error.to_string())?;
            Ok(Response::Ended)
        }
    }
}
