//! Which kernels share an argument list: what the header and the crate declare one structure for.
//!
//! A structure is named after an algorithm, a wire and a world, since these three decide a kernel's arguments in the
//! contract; the element does not. The first of all that share a list carries it, the others are aliases.

use std::collections::BTreeMap;

use xreduce_contract::manifest::{KernelEntry, Manifest};
use xreduce_contract::{Algorithm, Argument, ArgumentType, Wire, World};

use crate::error::Error;

/// What decides a kernel's arguments.
pub(crate) type Key = (World, Algorithm, Wire);

/// The argument lists of a bundle.
pub(crate) struct Layouts {
    /// Lists in the order of their first key.
    pub(crate) lists: Vec<Layout>,
    of_key: BTreeMap<Key, usize>,
}

/// One list and who has it.
pub(crate) struct Layout {
    pub(crate) arguments: Vec<Argument>,
    /// Ascending, never empty.
    pub(crate) keys: Vec<Key>,
}

impl Layout {
    /// Size of the argument buffer: the end of the last argument. A C structure of it may end in padding.
    pub(crate) fn bytes(&self) -> u32 {
        self.arguments.last().map_or(0, |last| last.offset + last.size)
    }

    /// Size of a C structure of these members.
    pub(crate) fn padded_bytes(&self) -> u32 {
        let align = self.arguments.iter().map(|argument| argument.kind.bytes()).max().unwrap_or(1);
        self.bytes().next_multiple_of(align)
    }
}

/// `xreduce_<algorithm>_<wire>_w<world>_arguments`.
pub(crate) fn structure((world, algorithm, wire): Key) -> String {
    format!("xreduce_{algorithm}_{wire}_w{world}_arguments")
}

impl Layouts {
    /// # Errors
    /// Two kernels of one key have different lists, a list breaks natural alignment, or a name is no plain identifier.
    pub(crate) fn of(manifest: &Manifest, format: &'static str) -> Result<Layouts, Error> {
        let mut by_key: BTreeMap<Key, &KernelEntry> = BTreeMap::new();
        for module in manifest.targets.iter().flat_map(|target| &target.modules) {
            for kernel in &module.kernels {
                let first = by_key.entry((module.world, kernel.algorithm, kernel.wire)).or_insert(kernel);
                if first.arguments != kernel.arguments {
                    let message = format!("`{}` and `{}` have different arguments", first.symbol, kernel.symbol);
                    return Err(Error::Format { format, message });
                }
            }
        }
        let mut layouts = Layouts { lists: Vec::new(), of_key: BTreeMap::new() };
        for (key, kernel) in by_key {
            let same = layouts.lists.iter().position(|list| list.arguments == kernel.arguments);
            let at = match same {
                Some(at) => at,
                None => {
                    check(&kernel.arguments).map_err(|message| {
                        let message = format!("`{}`: {message}", kernel.symbol);
                        Error::Format { format, message }
                    })?;
                    layouts.lists.push(Layout { arguments: kernel.arguments.clone(), keys: Vec::new() });
                    layouts.lists.len() - 1
                }
            };
            if let Some(list) = layouts.lists.get_mut(at) {
                list.keys.push(key);
            }
            layouts.of_key.insert(key, at);
        }
        Ok(layouts)
    }

    /// The list of a kernel: its place in [`Self::lists`], and itself.
    ///
    /// # Errors
    /// The kernel is none of the manifest that these are of.
    pub(crate) fn of_kernel(
        &self,
        kernel: &KernelEntry,
        world: World,
        format: &'static str,
    ) -> Result<(usize, &Layout), Error> {
        let at = self.of_key.get(&(world, kernel.algorithm, kernel.wire)).copied();
        at.and_then(|at| Some((at, self.lists.get(at)?)))
            .ok_or_else(|| Error::Format { format, message: format!("`{}` has no argument list", kernel.symbol) })
    }
}

/// A C compiler lays members out at these offsets only if they are naturally aligned without other gaps.
fn check(arguments: &[Argument]) -> Result<(), String> {
    let mut end = 0u32;
    for argument in arguments {
        let mut letters = argument.name.chars();
        let plain = letters.next().is_some_and(|first| first.is_ascii_lowercase())
            && letters.all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_');
        if !plain {
            return Err(format!("`{}` is no plain name of an argument", argument.name));
        }
        let (size, offset) = (argument.kind.bytes(), end.next_multiple_of(argument.kind.bytes()));
        if (argument.size, argument.offset) != (size, offset) {
            return Err(format!(
                "`{}`: expected {size} bytes at {offset}, the manifest says {} at {}",
                argument.name, argument.size, argument.offset
            ));
        }
        end = offset + size;
    }
    Ok(())
}

/// Where the value of an argument comes from: a field of a call, or an element of a field with one value a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source<'a> {
    /// A plain field of this name.
    Field(&'a str),
    /// Field and rank.
    OfRank(&'static str, u32),
}

/// The fields of one value that a call has; every argument of the contract's kernels is one of them or of [`OF_RANK`].
pub(crate) const FIELDS: &[(&str, ArgumentType)] = &[
    ("in", ArgumentType::GlobalPointer),
    ("out", ArgumentType::GlobalPointer),
    ("count", ArgumentType::U32),
    ("rank", ArgumentType::U32),
    ("blocks", ArgumentType::U32),
    ("threads", ArgumentType::U32),
    ("inbox_bytes", ArgumentType::U32),
    ("spin_limit", ArgumentType::U32),
    ("root", ArgumentType::U32),
];

/// Arguments with one pointer a rank: the beginning of their names, and the field that holds them all.
pub(crate) const OF_RANK: &[(&str, &str)] = &[("workspace_", "workspaces"), ("in_", "ins"), ("out_", "outs")];

/// Where an argument's value comes from; `None` for one that this version has no field for.
pub(crate) fn source(argument: &Argument) -> Option<Source<'_>> {
    if let Some((name, kind)) = FIELDS.iter().find(|(name, _)| *name == argument.name) {
        return (*kind == argument.kind).then_some(Source::Field(name));
    }
    OF_RANK.iter().find_map(|(prefix, field)| {
        let rank: u32 = argument.name.strip_prefix(prefix)?.parse().ok()?;
        (rank < MOST_RANKS && argument.kind == ArgumentType::GlobalPointer).then_some(Source::OfRank(field, rank))
    })
}

/// The largest world of the contract.
pub(crate) const MOST_RANKS: u32 = 8;
