//! Basic blocks and natural loops of a kernel.
//!
//! A natural loop is what a back edge closes: an edge to a block (the header) that dominates its source. Loops with one
//! header are one loop. The nest is found as LLVM's LoopInfo finds it: headers from the innermost outwards, each
//! collecting blocks against the edges and stepping over the loops already found, so that the cost stays near linear.
//! Cycles that have no header (irreducible control flow) are named, not analysed. Code that nothing leads to is left out.

use std::collections::BTreeSet;
use std::ops::Range;

use petgraph::Direction;
use petgraph::algo::dominators::simple_fast;
use petgraph::algo::toposort;
use petgraph::graph::{DiGraph, NodeIndex};
use petgraph::visit::{EdgeFiltered, EdgeRef};

use crate::code::{Flow, Instruction};

/// One natural loop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NaturalLoop {
    /// Index of the first instruction of its header.
    pub(crate) header: usize,
    /// The next larger loop around it, as an index into [`Nest::loops`].
    pub(crate) parent: Option<usize>,
    /// Instructions of its blocks that are in no smaller loop, as ranges of indices.
    pub(crate) own: Vec<Range<usize>>,
}

/// All loops of a kernel.
#[derive(Debug, Default)]
pub(crate) struct Nest {
    /// Inner loops before those around them.
    pub(crate) loops: Vec<NaturalLoop>,
    /// An instruction in a cycle without header.
    pub(crate) irreducible: Option<usize>,
}

type Graph = DiGraph<Range<usize>, ()>;

/// Finds the loops that can be reached from the first instruction.
pub(crate) fn find(code: &[Instruction]) -> Nest {
    let graph = blocks(code);
    if graph.node_count() == 0 {
        return Nest::default();
    }
    let tree = Dominance::of(&graph);
    let mut finder = Finder {
        graph: &graph,
        tree: &tree,
        of_block: vec![None; graph.node_count()],
        headers: Vec::new(),
        parents: Vec::new(),
        tops: Vec::new(),
    };
    for &header in &tree.post_order {
        finder.header(header);
    }
    let start = |block: NodeIndex| graph.node_weight(block).map_or(0, |range| range.start);
    let mut loops: Vec<NaturalLoop> = finder
        .headers
        .iter()
        .zip(&finder.parents)
        .map(|(header, parent)| NaturalLoop { header: start(*header), parent: *parent, own: Vec::new() })
        .collect();
    for (number, range) in finder.of_block.iter().zip(graph.node_weights()) {
        if let Some(found) = number.and_then(|number| loops.get_mut(number)) {
            found.own.push(range.clone());
        }
    }
    let forward = EdgeFiltered::from_fn(&graph, |edge| {
        tree.reached(edge.source()) && !tree.dominates(edge.target(), edge.source())
    });
    let irreducible = toposort(&forward, None).err().map(|cycle| start(cycle.node_id()));
    Nest { loops, irreducible }
}

/// Cuts the code where control enters or leaves; a block's weight is its range of instructions.
fn blocks(code: &[Instruction]) -> Graph {
    let mut starts = BTreeSet::from([0]);
    for (index, instruction) in code.iter().enumerate() {
        if let Flow::To { targets, .. } = &instruction.flow {
            starts.extend(targets);
        }
        if instruction.flow != Flow::Next {
            starts.insert(index + 1);
        }
    }
    let starts: Vec<usize> = starts.into_iter().filter(|start| *start < code.len()).collect();
    let mut graph = Graph::with_capacity(starts.len(), 2 * starts.len());
    for (number, start) in starts.iter().enumerate() {
        graph.add_node(*start..starts.get(number + 1).copied().unwrap_or(code.len()));
    }
    let block = |index: usize| starts.binary_search(&index).ok().map(NodeIndex::new);
    for node in graph.node_indices() {
        let Some(range) = graph.node_weight(node).cloned() else { continue };
        let Some(last) = code.get(range.end - 1) else { continue };
        let (targets, falls): (&[usize], bool) = match &last.flow {
            Flow::Next => (&[], true),
            Flow::To { targets, falls } => (targets, *falls),
            Flow::Unknown { falls } => (&[], *falls),
            Flow::End => (&[], false),
        };
        for next in targets.iter().copied().chain(falls.then_some(range.end)).filter_map(block) {
            graph.update_edge(node, next, ());
        }
    }
    graph
}

/// The dominator tree, numbered so that a question is two comparisons.
struct Dominance {
    /// Entry and exit number of each block in a walk over the tree; None if nothing leads to it.
    span: Vec<Option<(usize, usize)>>,
    /// Blocks, each after those that it dominates.
    post_order: Vec<NodeIndex>,
}

impl Dominance {
    fn of(graph: &Graph) -> Self {
        let entry = NodeIndex::new(0);
        let dominators = simple_fast(graph, entry);
        let mut children: Vec<Vec<NodeIndex>> = vec![Vec::new(); graph.node_count()];
        for block in graph.node_indices() {
            if let Some(dominator) = dominators.immediate_dominator(block)
                && let Some(list) = children.get_mut(dominator.index())
            {
                list.push(block);
            }
        }
        let mut tree = Dominance { span: vec![None; graph.node_count()], post_order: Vec::new() };
        let mut clock = 0;
        let mut walk = vec![(entry, false)];
        while let Some((block, done)) = walk.pop() {
            clock += 1;
            let Some(span) = tree.span.get_mut(block.index()) else { continue };
            if done {
                *span = span.map(|(enter, _)| (enter, clock));
                tree.post_order.push(block);
            } else {
                *span = Some((clock, clock));
                walk.push((block, true));
                walk.extend(children.get(block.index()).into_iter().flatten().map(|child| (*child, false)));
            }
        }
        tree
    }

    fn reached(&self, block: NodeIndex) -> bool {
        self.span(block).is_some()
    }

    fn dominates(&self, above: NodeIndex, below: NodeIndex) -> bool {
        match (self.span(above), self.span(below)) {
            (Some(above), Some(below)) => above.0 <= below.0 && below.1 <= above.1,
            _ => false,
        }
    }

    fn span(&self, block: NodeIndex) -> Option<(usize, usize)> {
        self.span.get(block.index()).copied().flatten()
    }
}

/// The nest while it grows.
struct Finder<'g> {
    graph: &'g Graph,
    tree: &'g Dominance,
    /// Smallest loop of each block.
    of_block: Vec<Option<usize>>,
    headers: Vec<NodeIndex>,
    parents: Vec<Option<usize>>,
    /// A loop around each loop, shortened as it is followed: the way to the outermost one.
    tops: Vec<usize>,
}

impl Finder<'_> {
    /// Makes a loop of the back edges to `header`, if there are any.
    fn header(&mut self, header: NodeIndex) {
        let graph = self.graph;
        let before = |block: NodeIndex| graph.neighbors_directed(block, Direction::Incoming);
        let mut waiting: Vec<NodeIndex> =
            before(header).filter(|source| self.tree.dominates(header, *source)).collect();
        if waiting.is_empty() {
            return;
        }
        let number = self.headers.len();
        self.headers.push(header);
        self.parents.push(None);
        self.tops.push(number);
        while let Some(block) = waiting.pop() {
            if !self.tree.reached(block) {
                continue;
            }
            let Some(slot) = self.of_block.get_mut(block.index()) else { continue };
            let Some(known) = *slot else {
                *slot = Some(number);
                if block != header {
                    waiting.extend(before(block));
                }
                continue;
            };
            let inner = self.outermost(known);
            if inner != number {
                if let (Some(parent), Some(top)) = (self.parents.get_mut(inner), self.tops.get_mut(inner)) {
                    *parent = Some(number);
                    *top = number;
                }
                // On from what enters the inner loop; its own latches are stepped over, being in it.
                waiting.extend(self.headers.get(inner).copied().into_iter().flat_map(before));
            }
        }
    }

    fn outermost(&mut self, mut number: usize) -> usize {
        while let Some(&above) = self.tops.get(number) {
            if above == number {
                break;
            }
            let next = self.tops.get(above).copied().unwrap_or(above);
            if let Some(top) = self.tops.get_mut(number) {
                *top = next;
            }
            number = next;
        }
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::Role;

    /// One instruction per entry: its targets, and whether it falls through.
    fn nest(flows: &[(&[usize], bool)]) -> Nest {
        let instruction = |(index, (targets, falls)): (usize, &(&[usize], bool))| Instruction {
            at: index as u64,
            accesses: Vec::new(),
            role: Role::Other,
            flow: match targets {
                [] if *falls => Flow::Next,
                [] => Flow::End,
                _ => Flow::To { targets: targets.to_vec(), falls: *falls },
            },
        };
        find(&flows.iter().enumerate().map(instruction).collect::<Vec<_>>())
    }

    fn own(found: &NaturalLoop) -> Vec<usize> {
        found.own.iter().cloned().flatten().collect()
    }

    #[test]
    fn loops_within_loops() {
        // 0; 1..=5 outer with the inner loops 2..=3 and 4 alone; 6 end.
        let found =
            nest(&[(&[], true), (&[], true), (&[], true), (&[2], true), (&[4], true), (&[1], true), (&[], false)]);
        assert_eq!(found.irreducible, None);
        let summary: Vec<_> = found.loops.iter().map(|one| (one.header, one.parent, own(one))).collect();
        assert_eq!(summary, [(4, Some(2), vec![4]), (2, Some(2), vec![2, 3]), (1, None, vec![1, 5])]);
    }

    #[test]
    fn back_edges_to_one_header_are_one_loop() {
        let found = nest(&[(&[], true), (&[4], true), (&[0], true), (&[0], true), (&[], false)]);
        assert_eq!(found.loops.len(), 1);
        assert_eq!(own(&found.loops[0]), [0, 1, 2, 3]);
    }

    #[test]
    fn two_entries_are_no_natural_loop() {
        // 0 goes to 1 or 2, which go to each other.
        let found = nest(&[(&[2], true), (&[], true), (&[1], true), (&[], false)]);
        assert!(found.loops.is_empty());
        assert!(found.irreducible.is_some());
    }

    #[test]
    fn what_nothing_leads_to_is_no_loop() {
        assert!(nest(&[(&[], false), (&[1], false)]).loops.is_empty());
        assert!(nest(&[]).loops.is_empty());
        // A target outside, and one that falls off the end.
        assert!(nest(&[(&[7], true), (&[], true)]).loops.is_empty());
    }

    #[test]
    fn a_deep_nest_costs_little() {
        let depth = 20_000;
        let mut flows: Vec<(Vec<usize>, bool)> = vec![(Vec::new(), true); depth];
        flows.extend((0..depth).rev().map(|header| (vec![header], true)));
        let flows: Vec<(&[usize], bool)> = flows.iter().map(|(targets, falls)| (targets.as_slice(), *falls)).collect();
        let found = nest(&flows);
        assert_eq!(found.loops.len(), depth);
        assert_eq!(found.loops.iter().filter(|one| one.parent.is_none()).count(), 1);
    }
}
