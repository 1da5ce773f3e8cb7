//! The header of one target: its modules as arrays of 64-bit words, their kernels, the dispatch rows.
//!
//! Words, not bytes: an eighth of the tokens, so that a compiler takes a tenth of the time and memory, and alignment for
//! free. Every module is followed by at least one zero byte, which ends PTX for drivers that take it as a C string.

use std::fmt::Write as _;

use xreduce_contract::World;
use xreduce_contract::manifest::{DispatchRow, KernelEntry, Module, SpinLimitUnit, TargetEntry};

use super::{FORMAT, constant, identifier};
use crate::bundle::Bundle;
use crate::error::Error;
use crate::layouts::Layouts;

/// The text of `xreduce_<target>.h`.
pub(super) fn target(bundle: &Bundle, target: &TargetEntry, layouts: &Layouts) -> Result<String, Error> {
    let name = identifier(&target.name);
    let mut text = format!(
        "/* Modules for {}: included by xreduce.h where XREDUCE_IMPLEMENTATION is defined. Generated. */\n",
        target.name
    );
    for module in &target.modules {
        words(&mut text, &symbol(&name, module, "data"), bundle.bytes(module));
        let _written = writeln!(text, "static const struct xreduce_kernel {}[] = {{", symbol(&name, module, "kernels"));
        for kernel in &module.kernels {
            text.push_str(&kernel_row(kernel, module.world, layouts)?);
        }
        text.push_str("};\n");
    }
    let _written = writeln!(text, "static const struct xreduce_module xreduce_{name}_modules[] = {{");
    for module in &target.modules {
        let _written = writeln!(
            text,
            "    {{\"{}\", \"{}\", {}, {}, {}, {}, {}}},",
            module.file,
            module.sha256,
            symbol(&name, module, "data"),
            module.bytes,
            module.world,
            module.kernels.len(),
            symbol(&name, module, "kernels")
        );
    }
    let _written = writeln!(text, "}};\nstatic const struct xreduce_dispatch xreduce_{name}_dispatch[] = {{");
    for row in &target.dispatch {
        text.push_str(&dispatch_row(row));
    }
    if target.dispatch.is_empty() {
        text.push_str("    {0, 0, XREDUCE_ONE_SHOT_PUSH, XREDUCE_LL, 0, 0}, /* never looked at */\n");
    }
    let processors: String = target.processors.iter().map(|name| format!("\"{name}\", ")).collect();
    let unit = match target.spin_limit_unit {
        SpinLimitUnit::Microseconds => "XREDUCE_MICROSECONDS",
        SpinLimitUnit::Polls => "XREDUCE_POLLS",
    };
    let _written = writeln!(
        text,
        "}};\nstatic const char *const xreduce_{name}_processors[] = {{{processors}NULL}};\n\
         static const struct xreduce_target xreduce_target_{name} = {{\n    \"{}\", xreduce_{name}_processors, {}, {unit}, {}, \
         {}, {}, {}, {}, xreduce_{name}_modules, xreduce_{name}_dispatch}};",
        target.name,
        constant(&target.family),
        target.spin_limit_default,
        target.lanes,
        target.max_blocks_per_compute_unit,
        target.modules.len(),
        target.dispatch.len(),
    );
    Ok(text)
}

fn symbol(target: &str, module: &Module, what: &str) -> String {
    format!("xreduce_{target}_w{}_{what}", module.world)
}

fn words(text: &mut String, name: &str, bytes: &[u8]) {
    let _written = write!(text, "static const uint64_t {name}[] = {{");
    for index in 0..=bytes.len() / 8 {
        let mut word = [0; 8];
        let rest = bytes.get(8 * index..).unwrap_or(&[]);
        for (to, from) in word.iter_mut().zip(rest) {
            *to = *from;
        }
        let gap = if index % 6 == 0 { "\n    " } else { " " };
        let _written = write!(text, "{gap}{:#x},", u64::from_le_bytes(word));
    }
    text.push_str("\n};\n");
}

fn kernel_row(kernel: &KernelEntry, world: World, layouts: &Layouts) -> Result<String, Error> {
    let (index, layout) = layouts.of_kernel(kernel, world, FORMAT)?;
    Ok(format!(
        "    {{\"{}\", {}, {}, {}, {}, {world}, {}, {}, {}, {}, xreduce_arguments_{index}}},\n",
        kernel.symbol,
        constant(kernel.algorithm),
        constant(kernel.wire),
        constant(kernel.element),
        constant(kernel.sum_order),
        kernel.elements_per_packet,
        kernel.max_threads_per_block,
        layout.bytes(),
        layout.arguments.len(),
    ))
}

fn dispatch_row(row: &DispatchRow) -> String {
    // Every field by name: one that is added must be answered here before a host may choose by these rows.
    let DispatchRow { max_bytes, max_world, algorithm, wire, blocks, threads, source, measured: _ } = row;
    format!(
        "    {{{max_bytes}u, {max_world}, {}, {}, {blocks}, {threads}}}, /* {} */\n",
        constant(algorithm),
        constant(wire),
        source.replace("*/", "* /")
    )
}
