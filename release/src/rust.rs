//! Format `rust`: a data crate without build script or dependency, for `no_std` too.
//!
//! `src/lib.rs` is `rust/api.rs` with the words of the contract and the argument structures put in; `src/tables.rs` the
//! bundle's tables, whose modules are `include_bytes!` of `modules/`. Constant assertions hold the compiler to the manifest.

use std::fmt::{Display, Write as _};

use xreduce_contract::manifest::{DispatchRow, KernelEntry, SpinLimitUnit, TargetEntry};
use xreduce_contract::{Algorithm, ArgumentType, Element, SumOrder, Wire, World};

use crate::bundle::Bundle;
use crate::contents::Contents;
use crate::error::Error;
use crate::layouts::{Layout, Layouts, Source, source, structure};

const FORMAT: &str = "rust";
const API: &str = include_str!("rust/api.rs");

/// The crate's files.
///
/// # Errors
/// [`Error::Format`]: an argument that a call has no value for, or lists that no structure has.
pub(crate) fn files(bundle: &Bundle) -> Result<Contents, Error> {
    let layouts = Layouts::of(&bundle.manifest, FORMAT)?;
    let mut contents = Contents::new();
    for module in bundle.manifest.targets.iter().flat_map(|target| &target.modules) {
        contents.insert(format!("modules/{}", module.file), bundle.bytes(module).to_vec());
    }
    let mut tables = String::from("//! The bundle's tables. Generated.\n\nuse super::*;\n\n");
    for (index, layout) in layouts.lists.iter().enumerate() {
        tables.push_str(&argument_table(index, layout)?);
    }
    tables.push_str("pub(super) static TARGETS: &[Target] = &[\n");
    for target in &bundle.manifest.targets {
        tables.push_str(&target_row(target, &layouts)?);
    }
    tables.push_str("];\n");
    let api = format!("{API}{}{}", words(), structures(&layouts));
    let manifest = format!(
        "[package]\nname = \"xreduce-kernels\"\nversion = \"{}\"\nedition = \"2021\"\nrust-version = \"1.77\"\n\
         license = \"MIT OR Apache-2.0\"\n\
         description = \"Small-message allreduce kernels for AMD, NVIDIA and Intel GPUs, as data\"\n\n[lib]\ndoctest = false\n",
        bundle.version()
    );
    contents.insert("Cargo.toml".to_owned(), manifest.into_bytes());
    contents.insert("src/lib.rs".to_owned(), api.into_bytes());
    contents.insert("src/tables.rs".to_owned(), tables.into_bytes());
    contents.insert("manifest.json".to_owned(), bundle.manifest_text.clone());
    Ok(contents)
}

/// `one_shot_push` as `OneShotPush`.
fn camel(word: impl Display) -> String {
    let word = word.to_string();
    let parts = word.split('_').map(|part| {
        let mut letters = part.chars();
        letters.next().map_or(String::new(), |first| first.to_ascii_uppercase().to_string() + letters.as_str())
    });
    parts.collect()
}

fn words() -> String {
    let mut text = String::new();
    let mut list = |name: &str, what: &str, words: &[&str]| {
        let _written = writeln!(
            text,
            "\n/// {what}.\n#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]\n#[non_exhaustive]\npub enum {name} {{"
        );
        for word in words {
            let _written = writeln!(text, "    /// `{word}`\n    {},", camel(word));
        }
        text.push_str("}\n");
    };
    list("Algorithm", "How contributions travel and where they are summed", Algorithm::WORDS);
    list("Wire", "How a receiver knows that data has arrived", Wire::WORDS);
    list("Element", "Type of the summed elements", Element::WORDS);
    list("SumOrder", "Order of summation", SumOrder::WORDS);
    text.push_str(
        "\nimpl Element {\n    /// Size, bytes.\n    pub const fn bytes(self) -> u32 {\n        match self {\n",
    );
    for element in Element::ALL {
        let _written = writeln!(text, "            Element::{} => {},", camel(element), element.bytes());
    }
    text.push_str("        }\n    }\n}\n");
    text
}

/// A `repr(C)` structure for each argument list, its offsets asserted, and names for all who share it.
fn structures(layouts: &Layouts) -> String {
    let mut text = String::new();
    for layout in &layouts.lists {
        let mut keys = layout.keys.iter();
        let Some(name) = keys.next().map(|key| camel(structure(*key))) else { continue };
        let _written = writeln!(
            text,
            "\n/// Argument buffer, {} bytes.\n#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]\n#[repr(C)]\npub struct {name} {{",
            layout.bytes()
        );
        for argument in &layout.arguments {
            let kind = match argument.kind {
                ArgumentType::GlobalPointer => "u64",
                ArgumentType::U32 => "u32",
            };
            let _written = writeln!(
                text,
                "    /// `{0}` of the contract.\n    pub {1}: {kind},",
                argument.name,
                field(&argument.name)
            );
        }
        let _written =
            writeln!(text, "}}\nconst _: () = {{\n    assert!(size_of::<{name}>() == {});", layout.padded_bytes());
        for argument in &layout.arguments {
            let _written =
                writeln!(text, "    assert!(offset_of!({name}, {}) == {});", field(&argument.name), argument.offset);
        }
        text.push_str("};\n");
        for key in keys {
            let alias = camel(structure(*key));
            let _written = writeln!(text, "\n/// Argument buffer, the same as [`{name}`].\npub type {alias} = {name};");
        }
    }
    text
}

/// An argument's name as a field: `in` is a word of the language.
fn field(name: &str) -> &str {
    if name == "in" { "input" } else { name }
}

fn argument_table(index: usize, layout: &Layout) -> Result<String, Error> {
    let mut text = format!("static ARGUMENTS_{index}: &[Argument] = &[\n");
    for argument in &layout.arguments {
        let found = source(argument).ok_or_else(|| Error::Format {
            format: FORMAT,
            message: format!("no field of a call gives the argument `{}`", argument.name),
        })?;
        let value = match found {
            Source::Field(name) => camel(field(name)),
            Source::OfRank(field, rank) => format!("{}({rank})", camel(field)),
        };
        let (name, offset, size) = (&argument.name, argument.offset, argument.size);
        let _written = writeln!(
            text,
            "    Argument {{ name: \"{name}\", offset: {offset}, bytes: {size}, value: Value::{value} }},"
        );
    }
    text.push_str("];\n\n");
    Ok(text)
}

fn target_row(target: &TargetEntry, layouts: &Layouts) -> Result<String, Error> {
    let unit = match target.spin_limit_unit {
        SpinLimitUnit::Microseconds => "Microseconds",
        SpinLimitUnit::Polls => "Polls",
    };
    let mut text = format!(
        "    Target {{\n        name: \"{}\",\n        family: Family::{},\n        processors: &{:?},\n        lanes: {},\n        \
         spin_limit_unit: SpinLimitUnit::{unit},\n        spin_limit_default: {},\n        max_blocks_per_compute_unit: {},\n        \
         modules: &[\n",
        target.name,
        camel(&target.family),
        target.processors,
        target.lanes,
        target.spin_limit_default,
        target.max_blocks_per_compute_unit
    );
    for module in &target.modules {
        let _written = writeln!(
            text,
            "            Module {{\n                file: \"{0}\",\n                sha256: \"{1}\",\n                world: {2},\n                \
             data: &Aligned(*include_bytes!(\"../modules/{0}\")).0,\n                kernels: &[",
            module.file, module.sha256, module.world
        );
        for kernel in &module.kernels {
            text.push_str(&kernel_row(kernel, module.world, layouts)?);
        }
        text.push_str("                ],\n            },\n");
    }
    text.push_str("        ],\n        dispatch: &[\n");
    for row in &target.dispatch {
        text.push_str(&dispatch_row(row));
    }
    text.push_str("        ],\n    },\n");
    Ok(text)
}

fn kernel_row(kernel: &KernelEntry, world: World, layouts: &Layouts) -> Result<String, Error> {
    let (index, layout) = layouts.of_kernel(kernel, world, FORMAT)?;
    Ok(format!(
        "                    Kernel {{ symbol: \"{}\", algorithm: Algorithm::{}, wire: Wire::{}, element: Element::{}, \
         sum_order: SumOrder::{}, elements_per_packet: {}, max_threads_per_block: {}, argument_bytes: {}, arguments: \
         ARGUMENTS_{index} }},\n",
        kernel.symbol,
        camel(kernel.algorithm),
        camel(kernel.wire),
        camel(kernel.element),
        camel(kernel.sum_order),
        kernel.elements_per_packet,
        kernel.max_threads_per_block,
        layout.bytes(),
    ))
}

fn dispatch_row(row: &DispatchRow) -> String {
    // Every field by name: one that is added must be answered here before a host may choose by these rows.
    let DispatchRow { max_bytes, max_world, algorithm, wire, blocks, threads, source: _, measured: _ } = row;
    format!(
        "            Dispatch {{ max_bytes: {max_bytes}, max_world: {max_world}, algorithm: Algorithm::{}, wire: Wire::{}, \
         blocks: {blocks}, threads: {threads} }},\n",
        camel(algorithm),
        camel(wire),
    )
}
