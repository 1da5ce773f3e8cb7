//! Who waits for whom: which rank a status may name when one rank does not come (contract, rule 6).

use xreduce_contract::Algorithm;

use crate::plan::Call;

/// Whether `rank`, which waited until the bound, may have waited for `awaited` while `absent` does not come: in a one-shot
/// for nobody else; otherwise for any rank whose data it takes directly, which may wait for the absent one in turn.
pub(crate) fn for_rank(call: &Call, rank: u32, awaited: u32, absent: u32) -> bool {
    let world = call.kernel.world;
    match call.kernel.algorithm {
        Algorithm::OneShotPush | Algorithm::OneShotPull => awaited == absent,
        Algorithm::RootGather => awaited != rank && (rank == call.root || awaited == call.root),
        // Partners differ in one bit: of an exchange, or of the folding of the ranks from the power of two on.
        Algorithm::Butterfly => (rank ^ awaited).is_power_of_two() && awaited < world.ranks(),
    }
}

#[cfg(test)]
mod tests {
    use xreduce_contract::{Element, Kernel, Wire, World};

    use super::*;
    use crate::values::Values;

    #[test]
    fn partners_are_those_of_each_algorithm() {
        let awaited = |algorithm, rank| {
            let world = World::try_from(6).unwrap();
            let kernel = Kernel { algorithm, wire: Wire::Ll, element: Element::F32, world };
            let call = Call { kernel, count: 1, root: 2, values: Values::Order, seed: 0, ranks: Vec::new() };
            (0..6).filter(|awaited| for_rank(&call, rank, *awaited, 5)).collect::<Vec<_>>()
        };
        assert_eq!(awaited(Algorithm::OneShotPush, 0), [5]);
        assert_eq!(awaited(Algorithm::Butterfly, 1), [0, 3, 5]);
        assert_eq!(awaited(Algorithm::Butterfly, 4), [0, 5]);
        assert_eq!(awaited(Algorithm::RootGather, 0), [2]);
        assert_eq!(awaited(Algorithm::RootGather, 2), [0, 1, 3, 4, 5]);
    }
}
