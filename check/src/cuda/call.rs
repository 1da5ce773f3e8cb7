//! A call of a kernel with a workspace, as an argument buffer.

use xreduce_contract::{Algorithm, Kernel};
use xreduce_launch::cuda::Arguments;

/// What one rank passes to a kernel.
#[derive(Debug, Clone, Copy)]
pub struct CallArguments<'a> {
    /// Address of `in`.
    pub input: u64,
    /// Address of `out`.
    pub output: u64,
    /// Elements.
    pub count: u32,
    /// The rank.
    pub rank: u32,
    /// Blocks of the launch.
    pub blocks: u32,
    /// Threads of a block.
    pub threads: u32,
    /// Capacity of an inbox, bytes.
    pub inbox_bytes: u32,
    /// Bound of a wait, microseconds.
    pub spin_limit: u32,
    /// Addresses of the ranks' workspaces.
    pub workspaces: &'a [u64],
    /// The root, for kernels that have one.
    pub root: u32,
}

impl CallArguments<'_> {
    /// The buffer for `kernel`, which is not ordered by the host.
    #[must_use]
    pub fn buffer(&self, kernel: &Kernel) -> Arguments {
        let words = [self.count, self.rank, self.blocks, self.threads, self.inbox_bytes, self.spin_limit];
        let arguments = Arguments::new().address(self.input).address(self.output);
        let arguments = words.into_iter().fold(arguments, Arguments::word);
        let arguments = self.workspaces.iter().copied().fold(arguments, Arguments::address);
        if kernel.algorithm == Algorithm::RootGather { arguments.word(self.root) } else { arguments }
    }
}

#[cfg(test)]
mod tests {
    use xreduce_contract::{Element, Wire, World, kernel_arguments};

    use super::*;

    #[test]
    fn the_buffer_is_as_long_as_the_contract_says_and_has_each_value_in_its_place() {
        for algorithm in [Algorithm::OneShotPush, Algorithm::RootGather] {
            let kernel =
                Kernel { algorithm, wire: Wire::Flag, element: Element::F32, world: World::try_from(3).unwrap() };
            let workspaces = [11, 12, 13];
            let call = CallArguments {
                input: 1,
                output: 2,
                count: 3,
                rank: 4,
                blocks: 5,
                threads: 6,
                inbox_bytes: 7,
                spin_limit: 8,
                workspaces: &workspaces,
                root: 9,
            };
            let buffer = call.buffer(&kernel);
            let arguments = kernel_arguments(&kernel);
            let last = arguments.last().unwrap();
            assert_eq!(buffer.bytes().len(), (last.offset + last.size) as usize);
            let named = [
                ("in", 1),
                ("out", 2),
                ("count", 3),
                ("rank", 4),
                ("blocks", 5),
                ("threads", 6),
                ("inbox_bytes", 7),
                ("spin_limit", 8),
                ("root", 9),
                ("workspace_0", 11),
                ("workspace_2", 13),
            ];
            let mut found = 0;
            for (name, value) in named {
                let Some(argument) = arguments.iter().find(|argument| argument.name == name) else { continue };
                assert_eq!(buffer.bytes()[argument.offset as usize], value, "{name}");
                found += 1;
            }
            assert_eq!(found, if algorithm == Algorithm::RootGather { 11 } else { 10 });
        }
    }
}
