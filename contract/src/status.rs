//! The status word of a workspace (contract, rule 6): why calls on it have stopped.

use std::fmt;

/// Meaning of a non-zero status word: `code << 28 | awaited rank << 24 | low 24 bits of the epoch`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// No fault.
    Ok,
    /// This rank waited to its bound for `awaited` in the call `epoch`.
    TimedOut {
        /// The rank that did not come.
        awaited: u32,
        /// Low 24 bits of the call's epoch.
        epoch: u32,
    },
    /// A peer gave up and told this rank so; `awaited` is whom that peer had waited for.
    PeerGaveUp {
        /// The rank that did not come, as the peer saw it.
        awaited: u32,
        /// Low 24 bits of this rank's call.
        epoch: u32,
    },
    /// The message needs more packets than an inbox holds. Alike on every rank; no call was made.
    OverCapacity,
    /// A word that no kernel of this contract writes.
    Unknown(u32),
}

/// Status code: waited to the bound.
pub const TIMED_OUT: u32 = 1;
/// Status code: a peer gave up.
pub const PEER_GAVE_UP: u32 = 2;
/// Status code: over capacity.
pub const OVER_CAPACITY: u32 = 3;

impl Status {
    /// Decodes a status word.
    #[must_use]
    pub const fn decode(word: u32) -> Status {
        let (awaited, epoch) = ((word >> 24) & 0xF, word & 0x00FF_FFFF);
        match word >> 28 {
            0 if word == 0 => Status::Ok,
            TIMED_OUT => Status::TimedOut { awaited, epoch },
            PEER_GAVE_UP => Status::PeerGaveUp { awaited, epoch },
            OVER_CAPACITY => Status::OverCapacity,
            _ => Status::Unknown(word),
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Status::Ok => write!(f, "ok"),
            Status::TimedOut { awaited, epoch } => write!(f, "timed out waiting for rank {awaited} in call {epoch}"),
            Status::PeerGaveUp { awaited, epoch } => {
                write!(f, "a peer gave up waiting for rank {awaited}; seen in call {epoch}")
            }
            Status::OverCapacity => write!(f, "the message is larger than the workspace's inboxes"),
            Status::Unknown(word) => write!(f, "unknown status word {word:#010x}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decodes_each_code() {
        assert_eq!(Status::decode(0), Status::Ok);
        assert_eq!(Status::decode(0x1300_0007), Status::TimedOut { awaited: 3, epoch: 7 });
        assert_eq!(Status::decode(0x2100_0001), Status::PeerGaveUp { awaited: 1, epoch: 1 });
        assert_eq!(Status::decode(0x3000_0000), Status::OverCapacity);
        assert_eq!(Status::decode(7), Status::Unknown(7));
    }
}
