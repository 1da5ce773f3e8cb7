//! Format `header`: modules, tables and argument structures as C, for engines that compile what they ship.
//!
//! `xreduce.h` holds what every includer sees, from `header/api.h` with the words of the contract and the bundle's argument
//! lists put in; `xreduce_<target>.h` the modules of a target, which one source file compiles. Nothing is said twice: numbers
//! come from the contract's crate or from the manifest, and static assertions hold the compiler to them.

mod data;

use std::collections::BTreeMap;
use std::fmt::{Display, Write as _};

use xreduce_contract::manifest::Manifest;
use xreduce_contract::{Algorithm, ArgumentType, CONTRACT_VERSION, Element, SumOrder, Wire, status, workspace};

use crate::bundle::Bundle;
use crate::contents::Contents;
use crate::error::Error;
use crate::layouts::{Layouts, MOST_RANKS, Source, source, structure};

pub(crate) const FORMAT: &str = "header";
const API: &str = include_str!("header/api.h");

/// `xreduce.h` and one header for each target.
///
/// # Errors
/// [`Error::Format`]: an argument that the header's calls have no value for, or lists that no C structure has.
pub(crate) fn files(bundle: &Bundle) -> Result<Contents, Error> {
    let layouts = Layouts::of(&bundle.manifest, FORMAT)?;
    let parts = BTreeMap::from([
        ("versions", versions(bundle)),
        ("words", words()),
        ("workspace", workspace_constants()),
        ("status", status_codes()),
        ("arguments", arguments(&layouts)),
    ]);
    let mut text = String::new();
    for line in API.lines() {
        match line.strip_prefix("/*@").and_then(|rest| rest.strip_suffix("@*/")) {
            Some(part) => text.push_str(parts.get(part).map_or("", String::as_str)),
            None => {
                text.push_str(line);
                text.push('\n');
            }
        }
    }
    text.push_str(&implementation(&bundle.manifest, &layouts)?);
    let mut contents = Contents::from([("xreduce.h".to_owned(), text.into_bytes())]);
    for target in &bundle.manifest.targets {
        let text = data::target(bundle, target, &layouts)?;
        if contents.insert(data_file(&target.name), text.into_bytes()).is_some() {
            let message = format!("two targets have the C name `{}`", identifier(&target.name));
            return Err(Error::Format { format: FORMAT, message });
        }
    }
    Ok(contents)
}

/// A target's name as a part of C identifiers.
fn identifier(name: &str) -> String {
    name.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '_' }).collect()
}

fn data_file(target: &str) -> String {
    format!("xreduce_{}.h", identifier(target))
}

/// A word of the contract as a constant's name.
fn constant(word: impl Display) -> String {
    format!("XREDUCE_{}", word.to_string().to_ascii_uppercase())
}

fn versions(bundle: &Bundle) -> String {
    let manifest = &bundle.manifest;
    format!(
        "#define XREDUCE_VERSION \"{}\"\n#define XREDUCE_LLVM_VERSION \"{}\"\n#define XREDUCE_CONTRACT_VERSION {}\n\
         #define XREDUCE_WORKSPACE_LAYOUT {}\n#define XREDUCE_TEMPLATES_SHA256 \"{}\"\n",
        bundle.version(),
        manifest.llvm,
        manifest.contract,
        manifest.workspace_layout,
        manifest.templates_sha256
    )
}

fn words() -> String {
    let mut text = String::new();
    let mut list = |name: &str, words: &[&str]| {
        let constants: Vec<String> = words.iter().map(constant).collect();
        let _written = writeln!(text, "enum xreduce_{name} {{ {} }};", constants.join(", "));
    };
    list("family", &["amdgpu", "nvptx", "spirv"]);
    list("algorithm", Algorithm::WORDS);
    list("wire", Wire::WORDS);
    list("element", Element::WORDS);
    list("sum_order", SumOrder::WORDS);
    list("spin_limit_unit", &["microseconds", "polls"]);
    text.push_str(
        "\nstatic inline uint32_t xreduce_element_bytes(enum xreduce_element element) {\n    switch (element) {\n",
    );
    for element in Element::ALL {
        let _written = writeln!(text, "    case {}: return {};", constant(element), element.bytes());
    }
    text.push_str("    }\n    return 0;\n}\n");
    text
}

fn constants(list: &[(&str, u64, &str)]) -> String {
    list.iter().fold(String::new(), |mut text, (name, value, comment)| {
        let _written =
            writeln!(text, "    XREDUCE_{name} = {value},{}{comment}", if comment.is_empty() { "" } else { " " });
        text
    })
}

fn workspace_constants() -> String {
    constants(&[
        ("PACKET", workspace::PACKET, "/* bytes on the wire that travel together */"),
        ("HEADER_PAGE", workspace::HEADER_PAGE, "/* bytes before the inboxes */"),
        ("EPOCH", workspace::EPOCH, "/* offset of the number of the last call */"),
        ("STATUS", workspace::STATUS, "/* offset of the status word */"),
        ("ABORT", workspace::ABORT, "/* offset of the word that peers write when they give up */"),
        ("INBOX_MULTIPLE", 128, "/* inbox_bytes is a multiple of it; workspaces are aligned to it */"),
    ])
}

fn status_codes() -> String {
    constants(&[
        ("TIMED_OUT", status::TIMED_OUT.into(), ""),
        ("PEER_GAVE_UP", status::PEER_GAVE_UP.into(), ""),
        ("OVER_CAPACITY", status::OVER_CAPACITY.into(), ""),
    ])
}

/// A structure for each argument list, with an assertion for each member, and names for all who share it.
fn arguments(layouts: &Layouts) -> String {
    let mut text = String::new();
    for layout in &layouts.lists {
        let mut keys = layout.keys.iter();
        let Some(name) = keys.next().map(|key| structure(*key)) else { continue };
        let _written = writeln!(text, "struct {name} {{");
        for argument in &layout.arguments {
            let kind = match argument.kind {
                ArgumentType::GlobalPointer => "uint64_t",
                ArgumentType::U32 => "uint32_t",
            };
            let _written = writeln!(text, "    {kind} {};", argument.name);
        }
        text.push_str("};\n");
        for argument in &layout.arguments {
            let _written = writeln!(
                text,
                "XREDUCE_STATIC_ASSERT(offsetof(struct {name}, {member}) == {} && sizeof(((struct {name} *)0)->{member}) == {}, \"{member}\");",
                argument.offset,
                argument.size,
                member = argument.name
            );
        }
        let _written = writeln!(
            text,
            "XREDUCE_STATIC_ASSERT(sizeof(struct {name}) == {size} && {size} <= XREDUCE_MOST_ARGUMENT_BYTES, \"size\");",
            size = layout.padded_bytes()
        );
        for key in keys {
            let _written = writeln!(text, "#define {} {name}", structure(*key));
        }
        text.push('\n');
    }
    text
}

/// Where `xreduce_pack` finds an argument's value, as a C expression.
fn source_expression(found: Source<'_>) -> String {
    match found {
        Source::Field(name) => format!("offsetof(struct xreduce_call, {name})"),
        Source::OfRank(field, rank) => format!("offsetof(struct xreduce_call, {field}) + {rank} * sizeof(uint64_t)"),
    }
}

/// What the one source file compiles: argument tables, the targets' headers, and the list of targets.
fn implementation(manifest: &Manifest, layouts: &Layouts) -> Result<String, Error> {
    let mut text = String::from(
        "\n#if defined(XREDUCE_IMPLEMENTATION) && !defined(XREDUCE_IMPLEMENTED)\n#define XREDUCE_IMPLEMENTED\n\n\
         #if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__\n\
         #error \"the modules are stored as little-endian words\"\n#endif\n\n",
    );
    for (index, layout) in layouts.lists.iter().enumerate() {
        let _written = writeln!(text, "static const struct xreduce_argument xreduce_arguments_{index}[] = {{");
        for argument in &layout.arguments {
            let found = source(argument).ok_or_else(|| Error::Format {
                format: FORMAT,
                message: format!("no field of a call gives the argument `{}`", argument.name),
            })?;
            let (name, offset, size) = (&argument.name, argument.offset, argument.size);
            let _written = writeln!(text, "    {{\"{name}\", {offset}, {size}, {}}},", source_expression(found));
        }
        text.push_str("};\n");
    }
    for target in &manifest.targets {
        let _written =
            writeln!(text, "\n#ifndef {0}\n#include \"{1}\"\n#endif", without(&target.family), data_file(&target.name));
    }
    text.push_str(
        "\n#ifdef __cplusplus\nextern \"C\" {\n#endif\nconst struct xreduce_target *const xreduce_targets[] = {\n",
    );
    for target in &manifest.targets {
        let name = identifier(&target.name);
        let _written = writeln!(text, "#ifndef {}\n    &xreduce_target_{name},\n#endif", without(&target.family));
    }
    text.push_str("    NULL};\n#ifdef __cplusplus\n}\n#endif\n\n#endif /* XREDUCE_IMPLEMENTATION */\n");
    Ok(text)
}

fn without(family: &str) -> String {
    format!("XREDUCE_WITHOUT_{}", family.to_ascii_uppercase())
}

const _: () =
    assert!(CONTRACT_VERSION == 1 && workspace::LAYOUT_VERSION == 1 && MOST_RANKS == 8, "header/api.h says so");
