//! Asking a driver in a process of its own, which may crash or hang without harm.

use std::io::Read as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use super::{Answer, Driver, State};

/// How long a driver may take. A first start of CUDA or HIP on a large server takes some seconds.
const LIMIT: Duration = Duration::from_secs(60);

/// Asks by a program that calls [`super::ask`] and writes the answer as one line of JSON, its last, to standard output.
#[must_use]
pub fn ask_apart(driver: Driver, program: &Path, arguments: &[&str]) -> Answer {
    within(driver, program, arguments, LIMIT)
}

fn within(driver: Driver, program: &Path, arguments: &[&str], limit: Duration) -> Answer {
    let failed = |trouble: String| Answer::empty(driver, State::Failed, Some(trouble));
    let child =
        Command::new(program).args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
    let mut child = match child {
        Ok(child) => child,
        Err(error) => return failed(format!("the process for it cannot be started: {error}")),
    };
    let said = listen(&mut child, limit);
    if said.is_none() {
        // Already gone, or gone now.
        let _gone = child.kill();
    }
    let status = child.wait();
    let answer = said.as_deref().and_then(|said| said.lines().next_back()).map(serde_json::from_str::<Answer>);
    match (answer, said.is_some(), status) {
        (Some(Ok(answer)), _, _) if answer.driver == driver => answer,
        (_, false, _) => failed(format!("it did not answer within {} s", limit.as_secs())),
        (_, true, Ok(status)) => failed(format!("it ended the process that asked it ({status})")),
        (_, true, Err(error)) => failed(format!("the process that asked it is lost: {error}")),
    }
}

/// All that the child writes, if it ends in time.
fn listen(child: &mut Child, limit: Duration) -> Option<String> {
    let mut output = child.stdout.take()?;
    let (sender, receiver) = mpsc::channel();
    // Ends with the child, which is killed when time is up.
    thread::spawn(move || {
        let mut said = Vec::new();
        let _what_came_counts = output.read_to_end(&mut said);
        let _nobody_listens = sender.send(String::from_utf8_lossy(&said).into_owned());
    });
    receiver.recv_timeout(limit).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, limit: Duration) -> Answer {
        within(Driver::Cuda, Path::new("/bin/sh"), &["-c", script], limit)
    }

    #[test]
    fn the_last_line_is_the_answer() {
        let answer = Answer::empty(Driver::Cuda, State::NoDevice, None);
        let json = serde_json::to_string(&answer).unwrap();
        assert_eq!(shell(&format!("echo noise; echo '{json}'"), LIMIT), answer);
    }

    #[test]
    fn a_crash_is_told() {
        let answer = shell("kill -SEGV $$", LIMIT);
        assert_eq!(answer.state, State::Failed);
        assert!(answer.trouble.concat().contains("signal: 11"), "{answer:?}");
    }

    #[test]
    fn a_hang_is_ended() {
        let answer = shell("exec sleep 1000", Duration::from_millis(100));
        assert!(answer.trouble.concat().contains("did not answer"), "{answer:?}");
    }

    #[test]
    fn an_answer_of_another_driver_is_none() {
        let json = serde_json::to_string(&Answer::empty(Driver::Hip, State::NoDevice, None)).unwrap();
        assert_eq!(shell(&format!("echo '{json}'"), LIMIT).state, State::Failed);
    }
}
