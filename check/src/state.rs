//! What the contract says of a workspace when a call has ended on every rank (rules 1, 2, 6, 9 and
//! the wires): the state from which the next call, of any kind and size, must be able to start.

use xreduce_contract::workspace::{ABORT, ARRIVED, EPOCH, FLAG_STRIDE, FLAGS, HEADER_PAGE, STAGED, STATUS};
use xreduce_contract::{Algorithm, Status, Wire, Workspace, World, epoch};

use crate::fault::What;
use crate::plan::Call;

/// What was called before the workspace is looked at.
#[derive(Debug, Clone, Copy)]
pub(crate) struct After<'a> {
    /// The epoch that the header must hold.
    pub(crate) epoch: u32,
    /// The call with that epoch; none if the last thing was no call.
    pub(crate) call: Option<&'a Call>,
    /// Whether the status must say "over capacity" instead of "ok".
    pub(crate) over_capacity: bool,
}

/// Bytes that are compared at once.
const PIECE: usize = 128;

/// The words {epoch, status, abort, 0} of a workspace's first 16 bytes.
pub(crate) fn header(memory: &[u8]) -> [u32; 4] {
    [EPOCH, STATUS, ABORT, 12].map(|offset| word(memory, offset))
}

/// The first word that is not as it must be.
pub(crate) fn verify(memory: &[u8], workspace: &Workspace, world: World, rank: u32, after: After<'_>) -> Option<What> {
    let [epoch, status, abort, zero] = header(memory);
    let status_fits = match Status::decode(status) {
        Status::Ok => !after.over_capacity,
        Status::OverCapacity => after.over_capacity,
        _ => false,
    };
    if !status_fits {
        let expected = if after.over_capacity { Status::OverCapacity } else { Status::Ok };
        let saw = format!("{} ({status:#010x})", Status::decode(status));
        return Some(What::Word { name: "status".to_owned(), offset: STATUS, saw, expected: expected.to_string() });
    }
    let counters = [ARRIVED, STAGED].map(|offset| word(memory, offset));
    let words = [
        ("epoch", EPOCH, epoch, after.epoch),
        ("abort", ABORT, abort, 0),
        ("header word 3", 12, zero, 0),
        ("arrived", ARRIVED, counters[0], 0),
        ("staged", STAGED, counters[1], 0),
    ];
    for (name, offset, saw, expected) in words {
        if saw != expected {
            return Some(wrong(name, offset, saw, expected));
        }
    }
    unused_header(memory, world)
        .or_else(|| flags(memory, workspace, world, rank, after))
        .or_else(|| areas(memory, workspace, world, after))
}

/// The header page holds nothing but what the layout names.
fn unused_header(memory: &[u8], world: World) -> Option<What> {
    let named = |offset: u64| {
        let flag = offset.checked_sub(FLAGS).filter(|at| at % FLAG_STRIDE == 0).map(|at| at / FLAG_STRIDE);
        offset < 16
            || [ARRIVED, STAGED].contains(&offset)
            || flag.is_some_and(|sender| sender < u64::from(world.ranks()))
    };
    first_other(memory, 0, HEADER_PAGE, 0, named, "an unused header word")
}

/// Flags that peers have stored in this call.
fn flags(memory: &[u8], workspace: &Workspace, world: World, rank: u32, after: After<'_>) -> Option<What> {
    let call = after.call?;
    let signals = |sender: u32| match call.kernel.algorithm {
        _ if epoch::refreshes_flags(after.epoch) => true,
        Algorithm::RootGather => rank == call.root || sender == call.root,
        _ => call.kernel.wire == Wire::Flag,
    };
    (0..world.ranks()).filter(|sender| *sender != rank && signals(*sender)).find_map(|sender| {
        let offset = workspace.flag(sender);
        let saw = word(memory, offset);
        (saw != after.epoch).then(|| wrong(&format!("flag of rank {sender}"), offset, saw, after.epoch))
    })
}

/// Consumed sentinel packets are put back, and `ll` packets where the epoch asks for it.
fn areas(memory: &[u8], workspace: &Workspace, world: World, after: After<'_>) -> Option<What> {
    let (sentinel, stage) = (workspace.sentinel_inbox(0, 0), workspace.stage(0));
    let nothing = |_| false;
    first_other(memory, sentinel, stage, 0xFF, nothing, "a sentinel inbox").or_else(|| {
        if after.call.is_none() || !epoch::refills_ll(after.epoch) {
            return None;
        }
        let start = workspace.ll_inbox(epoch::bank(after.epoch), 0);
        let end = start + u64::from(world.ranks()) * u64::from(workspace.inbox_bytes());
        first_other(memory, start, end, 0xFF, nothing, "an ll inbox to be refilled at this epoch")
    })
}

/// The first word from `start` to `end` that does not have `expected` in all its bytes, apart from those
/// that `named` excepts. Most areas are as they must be, and large: they are compared as wholes.
fn first_other(
    memory: &[u8],
    start: u64,
    end: u64,
    expected: u8,
    named: impl Fn(u64) -> bool,
    name: &str,
) -> Option<What> {
    let whole = [expected; PIECE];
    let piece = |at: u64| usize::try_from(at).ok().and_then(|at| memory.get(at..));
    (start..end)
        .step_by(PIECE)
        .filter(|at| at + PIECE as u64 > end || piece(*at).is_none_or(|rest| !rest.starts_with(&whole)))
        .flat_map(|at| (at..end.min(at + PIECE as u64)).step_by(4))
        .filter(|offset| !named(*offset))
        .map(|offset| (offset, word(memory, offset)))
        .find(|(_, saw)| *saw != u32::from_le_bytes([expected; 4]))
        .map(|(offset, saw)| wrong(name, offset, saw, u32::from_le_bytes([expected; 4])))
}

fn wrong(name: &str, offset: u64, saw: u32, expected: u32) -> What {
    What::Word { name: name.to_owned(), offset, saw: format!("{saw:#010x}"), expected: format!("{expected:#010x}") }
}

/// The word at a byte offset; 0 outside, which no caller asks for.
fn word(memory: &[u8], offset: u64) -> u32 {
    let bytes = usize::try_from(offset).ok().and_then(|at| memory.get(at..)).and_then(|rest| rest.first_chunk::<4>());
    bytes.map_or(0, |bytes| u32::from_le_bytes(*bytes))
}
