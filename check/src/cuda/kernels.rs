//! The kernels of a PTX module, loaded for every rank, and how many of their blocks may be launched.

use std::collections::HashMap;

use xreduce_launch::cuda::{Error, Function, Module, Ranks};

/// A module's kernels on all ranks.
#[derive(Debug)]
pub struct Kernels {
    /// By rank, then by symbol.
    functions: Vec<HashMap<String, Function>>,
    may_overlap: bool,
    blocks: u32,
    threads: u32,
}

impl Kernels {
    /// Loads all kernels of a module; `name` is for messages.
    ///
    /// # Errors
    /// The driver's, with what its compiler says; or not one block of every rank is resident at the same time.
    pub fn load(ranks: &Ranks, name: &str, ptx: &[u8]) -> Result<Self, Error> {
        let symbols = entries(ptx);
        let of =
            |module: &Module| symbols.iter().map(|symbol| Ok((symbol.clone(), module.function(symbol)?))).collect();
        let functions: Vec<HashMap<String, Function>> =
            ranks.load(name, ptx)?.iter().map(of).collect::<Result<_, Error>>()?;
        // Only kernels that wait for their predecessor may be launched before it has ended (contract, rule 10).
        let may_overlap = String::from_utf8_lossy(ptx).contains("griddepcontrol.wait");
        let all: Vec<Function> = functions.iter().flat_map(HashMap::values).cloned().collect();
        let blocks = ranks.resident_blocks(&all, if may_overlap { 2 } else { 1 })?;
        if blocks == 0 {
            let device = ranks.device();
            return Err(Error::Argument(format!(
                "{name}: not one block of every rank is resident at once on {device}"
            )));
        }
        let mut threads = u32::MAX;
        for function in &all {
            threads = threads.min(function.max_threads()?);
        }
        Ok(Self { functions, may_overlap, blocks, threads })
    }

    /// A kernel on a rank.
    ///
    /// # Errors
    /// [`Error::Argument`] if there is none.
    pub fn get(&self, rank: u32, symbol: &str) -> Result<&Function, Error> {
        let found = self.functions.get(rank as usize).and_then(|functions| functions.get(symbol));
        found.ok_or_else(|| Error::Argument(format!("no kernel {symbol} on rank {rank}")))
    }

    /// Whether a kernel may be launched before its predecessor has ended.
    #[must_use]
    pub fn may_overlap(&self) -> bool {
        self.may_overlap
    }

    /// The most blocks that any launch may have on each of the ranks, so that all are resident at once.
    #[must_use]
    pub fn blocks(&self) -> u32 {
        self.blocks
    }

    /// The most threads of a block that all kernels take.
    #[must_use]
    pub fn threads(&self) -> u32 {
        self.threads
    }
}

/// The kernels that a PTX module declares, in its order (PTX ISA, "Kernel and Function Directives: .entry").
fn entries(ptx: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(ptx);
    let name = |rest: &str| {
        let rest = rest.trim_start();
        rest.split(|letter: char| letter == '(' || letter.is_whitespace()).next().unwrap_or("").to_owned()
    };
    let code = text.lines().map(|line| line.split("//").next().unwrap_or(""));
    code.filter_map(|line| line.split_once(".entry ").map(|(_, rest)| name(rest)))
        .filter(|name| !name.is_empty())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_those_that_the_module_declares() {
        let ptx = b".version 7.8\n// .entry none(\n.visible .entry first(\n\t.param .u64 a\n)\n{\n ret;\n}\n.entry second (\n";
        assert_eq!(entries(ptx), ["first", "second"]);
        assert!(entries(&[0xFF, 0]).is_empty());
    }
}
