//! Instructions counted: of a whole kernel, and of its loops.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::code::{Access, Code, Flow, Instruction, Kind, Role, Unit};
use crate::loops;

/// Equal accesses of a stretch of code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Counted {
    /// How many instructions access so.
    pub count: u64,
    /// What they have in common.
    #[serde(flatten)]
    pub access: Access,
}

/// What a stretch of code holds. Instructions are counted as they stand, each once, however often it is executed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// All instructions, the unknown ones among them.
    pub instructions: u64,
    /// Memory accesses: loads, stores, then atomics.
    pub accesses: Vec<Counted>,
    /// Waits for memory.
    pub waits: u64,
    /// Barriers of a block or cluster.
    pub barriers: u64,
    /// Fences, write-backs and invalidations of caches.
    pub fences: u64,
    /// Sleeps.
    pub sleeps: u64,
    /// Branches.
    pub branches: u64,
    /// Calls, which are not followed.
    pub calls: u64,
}

/// A natural loop with memory accesses of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LoopReport {
    /// Its header as a person looks it up.
    pub place: String,
    /// Its header, in the unit of the code.
    pub at: u64,
    /// Loops around it.
    pub depth: u32,
    /// No loop with memory accesses is within it.
    pub innermost: bool,
    /// Its instructions without those of loops within it that are listed themselves.
    #[serde(flatten)]
    pub counts: Counts,
}

/// What the instructions of a kernel say.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CodeReport {
    /// How places are counted.
    pub unit: Unit,
    /// The whole kernel.
    #[serde(flatten)]
    pub all: Counts,
    /// Loops with memory accesses, in the order of the code.
    pub loops: Vec<LoopReport>,
    /// What the loops may lack: branches whose target is not known, cycles that are no natural loops.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl Counts {
    fn of<'i>(instructions: impl Iterator<Item = &'i Instruction>) -> Self {
        let mut counts = Counts::default();
        let mut accesses: BTreeMap<&Access, u64> = BTreeMap::new();
        for instruction in instructions {
            counts.instructions += 1;
            for access in &instruction.accesses {
                *accesses.entry(access).or_default() += 1;
            }
            match instruction.role {
                Role::Wait => counts.waits += 1,
                Role::Barrier => counts.barriers += 1,
                Role::Fence => counts.fences += 1,
                Role::Sleep => counts.sleeps += 1,
                Role::Branch => counts.branches += 1,
                Role::Call => counts.calls += 1,
                Role::Other => {}
            }
        }
        counts.accesses =
            accesses.into_iter().map(|(access, count)| Counted { count, access: access.clone() }).collect();
        counts
    }

    /// The accesses of one kind.
    pub fn kind(&self, kind: Kind) -> impl Iterator<Item = &Counted> {
        self.accesses.iter().filter(move |counted| counted.access.kind == kind)
    }
}

/// Counts a kernel and its loops.
pub(crate) fn tally(code: &Code) -> CodeReport {
    let nest = loops::find(&code.instructions);
    let stretch = |ranges: &[std::ops::Range<usize>]| -> Vec<&Instruction> {
        ranges.iter().filter_map(|range| code.instructions.get(range.clone())).flatten().collect()
    };
    // Inner loops come first. One without accesses of its own is part of the loop around it.
    let mut own: Vec<Vec<&Instruction>> = nest.loops.iter().map(|one| stretch(&one.own)).collect();
    let mut has_inner = vec![false; own.len()];
    let mut found = Vec::new();
    for (number, natural) in nest.loops.iter().enumerate() {
        let instructions = own.get_mut(number).map(std::mem::take).unwrap_or_default();
        let inner = has_inner.get(number).copied().unwrap_or(false);
        let accesses = instructions.iter().any(|instruction| !instruction.accesses.is_empty());
        if let Some(parent) = natural.parent {
            if let Some(flag) = has_inner.get_mut(parent) {
                *flag |= accesses || inner;
            }
            if let Some(list) = own.get_mut(parent).filter(|_| !accesses) {
                list.extend(&instructions);
            }
        }
        if accesses {
            let depth = std::iter::successors(natural.parent, |loop_| nest.loops.get(*loop_)?.parent).count();
            found.push(LoopReport {
                place: code.place(natural.header),
                at: code.instructions.get(natural.header).map_or(0, |instruction| instruction.at),
                depth: u32::try_from(depth).unwrap_or(u32::MAX),
                innermost: !inner,
                counts: Counts::of(instructions.into_iter()),
            });
        }
    }
    found.sort_by_key(|one| one.at);
    CodeReport { unit: code.unit, all: Counts::of(code.instructions.iter()), loops: found, notes: notes(code, &nest) }
}

fn notes(code: &Code, nest: &loops::Nest) -> Vec<String> {
    let mut notes = Vec::new();
    let unknown = |instruction: &Instruction| matches!(instruction.flow, Flow::Unknown { .. });
    let count = code.instructions.iter().filter(|instruction| unknown(instruction)).count();
    if let Some(first) = code.instructions.iter().position(unknown) {
        let place = code.place(first);
        notes.push(format!(
            "branches to places that are not in the instruction: {count}, the first at {place}; loops through them are not \
             seen"
        ));
    }
    if let Some(index) = nest.irreducible {
        notes.push(format!("a cycle with more than one entry, through {}: no natural loop", code.place(index)));
    }
    notes
}
