//! What can go wrong between the process that commands and the ranks that it started.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// A failure to start, command or hear a group of ranks.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The block of memory that all ranks share could not be made.
    #[error("cannot {doing} {bytes} bytes of shared memory: {source}")]
    SharedMemory {
        /// What was tried.
        doing: &'static str,
        /// The size asked for.
        bytes: usize,
        /// The system's answer.
        source: io::Error,
    },
    /// A place outside the shared memory was named.
    #[error("bytes {offset} to {offset} + {bytes} are outside the {of} bytes of shared memory")]
    OutOfRange {
        /// First byte.
        offset: u64,
        /// Length.
        bytes: usize,
        /// Size of the shared memory.
        of: usize,
    },
    /// The program that plays a rank could not be started.
    #[error("cannot start {} for rank {rank}: {source}", program.display())]
    Start {
        /// The rank.
        rank: usize,
        /// The program.
        program: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// A rank's process ended by itself.
    #[error("rank {rank} died while it should {doing} ({status}){last_words}")]
    Died {
        /// The rank.
        rank: usize,
        /// What it was asked for.
        doing: &'static str,
        /// Exit code or signal.
        status: String,
        /// The end of what it wrote to standard error, empty or starting with a colon.
        last_words: String,
    },
    /// A rank did not answer in time; all ranks were ended.
    #[error("rank {rank} did not {doing} within {} s; all ranks were ended", waited.as_secs())]
    Silent {
        /// The first rank without an answer.
        rank: usize,
        /// What it was asked for.
        doing: &'static str,
        /// How long the group waited for it.
        waited: Duration,
    },
    /// A rank answered with something that is no answer to the request.
    #[error("rank {rank} should {doing} and answered {answer:?}")]
    Answer {
        /// The rank.
        rank: usize,
        /// What it was asked for.
        doing: &'static str,
        /// What it wrote instead.
        answer: String,
    },
    /// A rank could not do what it was asked for, and says why.
    #[error("rank {rank} could not {doing}: {reason}")]
    Refused {
        /// The rank.
        rank: usize,
        /// What it was asked for.
        doing: &'static str,
        /// The driver's or the rank's words.
        reason: String,
    },
    /// Work for a rank that the group does not have, or two launches for one rank.
    #[error("rank {rank} of {ranks} was named wrongly or twice in one launch")]
    Rank {
        /// The rank named.
        rank: usize,
        /// Ranks of the group.
        ranks: usize,
    },
    /// The group had ended earlier, after an error that was reported then.
    #[error("the ranks have ended after an earlier failure")]
    Ended,
}
