//! The report as text: a table with one line per kernel, or all that is known.

use std::fmt::Write as _;

use crate::code::Kind;
use crate::report::{ImageReport, KernelReport, Report};
use crate::tally::{Counted, Counts};

const HEADER: [&str; 11] =
    ["kernel", "vgpr", "sgpr", "scratch", "lds", "instrs", "inner loop", "instrs", "loads", "stores", "atomics"];

/// A table per image, a line per kernel: registers, memory in bytes, instructions, and the accesses of the loop that
/// [`KernelReport::inner_loop`] chooses as `count x bytes`. Global memory goes without saying.
#[must_use]
pub fn table(report: &Report) -> String {
    let rows = report.images.iter().map(|image| image.kernels.iter().map(row).collect()).collect::<Vec<Vec<_>>>();
    let mut widths = HEADER.map(str::len);
    for row in rows.iter().flatten() {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut text = String::new();
    for (image, rows) in report.images.iter().zip(&rows) {
        if !text.is_empty() {
            text.push('\n');
        }
        line(&mut text, &title(image));
        line(&mut text, &padded(&widths, &HEADER.map(str::to_owned)));
        for (row, kernel) in rows.iter().zip(&image.kernels) {
            line(&mut text, &padded(&widths, row));
            for note in kernel.unread.iter().chain(kernel.code.iter().flat_map(|code| &code.notes)) {
                line(&mut text, &format!("  {note}"));
            }
        }
    }
    text
}

fn row(kernel: &KernelReport) -> [String; 11] {
    let inner = kernel.inner_loop();
    let accesses = |kind| inner.map_or_else(unknown, |inner| short(inner.counts.kind(kind)));
    [
        kernel.name.clone(),
        number(kernel.vgprs),
        number(kernel.sgprs),
        number(kernel.scratch_bytes),
        number(kernel.shared_bytes),
        number(kernel.code.as_ref().map(|code| code.all.instructions)),
        inner.map_or_else(unknown, |inner| inner.place.clone()),
        number(inner.map(|inner| inner.counts.instructions)),
        accesses(Kind::Load),
        accesses(Kind::Store),
        accesses(Kind::Atomic),
    ]
}

/// Numbers to the right, words to the left.
fn padded(widths: &[usize; 11], cells: &[String; 11]) -> String {
    let mut text = String::new();
    for (index, (cell, width)) in cells.iter().zip(widths).enumerate() {
        let right = matches!(index, 1..=5 | 7);
        let _ = if right { write!(text, "{cell:>width$}  ") } else { write!(text, "{cell:<width$}  ") };
    }
    text
}

/// `2x16 sys, 1x4 lds`
fn short<'c>(accesses: impl Iterator<Item = &'c Counted>) -> String {
    let one = |Counted { count, access }: &Counted| {
        let mut text = format!("{count}x{}", number(access.bytes));
        let space = Some(access.space).filter(|space| *space != "global");
        for word in space.into_iter().map(str::to_owned).chain(access.bits.iter().map(|bit| abridged(bit))) {
            text.push(' ');
            text.push_str(&word);
        }
        text
    };
    let list: Vec<String> = accesses.map(one).collect();
    if list.is_empty() { unknown() } else { list.join(", ") }
}

/// `sys` of `scope:SCOPE_SYS`, `atomic_return` of `th:TH_ATOMIC_RETURN`.
fn abridged(bit: &str) -> String {
    let rest = bit.strip_prefix("scope:SCOPE_").or_else(|| bit.strip_prefix("th:TH_"));
    rest.map_or_else(|| bit.to_owned(), str::to_ascii_lowercase)
}

/// Everything about every kernel, cache and scope bits as written.
#[must_use]
pub fn verbose(report: &Report) -> String {
    let mut text = String::new();
    for image in &report.images {
        if !text.is_empty() {
            text.push('\n');
        }
        line(&mut text, &title(image));
        for kernel in &image.kernels {
            line(&mut text, &kernel.name);
            describe(&mut text, kernel);
        }
    }
    text
}

fn describe(text: &mut String, kernel: &KernelReport) {
    let bytes = kernel.kernarg_bytes.map_or(String::new(), |bytes| format!(", {bytes} bytes"));
    let hidden = kernel.hidden.names().collect::<Vec<_>>().join(" ");
    let hidden = if hidden.is_empty() { hidden } else { format!("; {hidden}") };
    line(text, &format!("  arguments {}{bytes}{hidden}", kernel.arguments.len()));
    for argument in &kernel.arguments {
        let kind = argument.type_name.as_deref().unwrap_or(&argument.kind);
        let words = [Some(kind), argument.address_space.as_deref(), argument.name.as_deref()];
        let words = words.into_iter().flatten().collect::<Vec<_>>().join(" ");
        let (offset, bytes) = (number(argument.offset), number(argument.bytes));
        line(text, &format!("    offset {offset}, {bytes} bytes, {words}"));
    }
    line(text, &format!("  registers {} vector, {} scalar", number(kernel.vgprs), number(kernel.sgprs)));
    line(text, &format!("  spilled {} vector, {} scalar", number(kernel.vgpr_spills), number(kernel.sgpr_spills)));
    line(
        text,
        &format!("  scratch {} bytes, shared {} bytes", number(kernel.scratch_bytes), number(kernel.shared_bytes)),
    );
    line(text, &format!("  threads at most {}, lanes {}", number(kernel.max_threads), number(kernel.wavefront)));
    if let Some(why) = &kernel.unread {
        line(text, &format!("  instructions not read: {why}"));
    }
    let Some(code) = &kernel.code else { return };
    line(text, &format!("  {}", others(&code.all)));
    list(text, "    ", &code.all);
    for one in &code.loops {
        let indent = "  ".repeat(usize::try_from(one.depth).unwrap_or(usize::MAX).min(8));
        let inner = if one.innermost { "inner loop" } else { "loop" };
        line(text, &format!("  {indent}{inner} at {}: {}", one.place, others(&one.counts)));
        list(text, &format!("    {indent}"), &one.counts);
    }
    for note in &code.notes {
        line(text, &format!("  {note}"));
    }
}

/// `91 instructions, 3 waits, 10 branches`
fn others(counts: &Counts) -> String {
    let mut text = format!("{} instructions", counts.instructions);
    for (count, one, many) in [
        (counts.waits, "wait", "waits"),
        (counts.barriers, "barrier", "barriers"),
        (counts.fences, "fence", "fences"),
        (counts.sleeps, "sleep", "sleeps"),
        (counts.branches, "branch", "branches"),
        (counts.calls, "call", "calls"),
    ] {
        if count > 0 {
            let _ = write!(text, ", {count} {}", if count == 1 { one } else { many });
        }
    }
    text
}

/// `loads 2 x 16 B global scope:SCOPE_SYS`
fn list(text: &mut String, indent: &str, counts: &Counts) {
    for (kind, word) in [(Kind::Load, "loads"), (Kind::Store, "stores"), (Kind::Atomic, "atomics")] {
        let one = |Counted { count, access }: &Counted| {
            let bits = access.bits.iter().map(|bit| format!(" {bit}")).collect::<String>();
            format!("{count} x {} B {}{bits}", number(access.bytes), access.space)
        };
        let all: Vec<String> = counts.kind(kind).map(one).collect();
        if !all.is_empty() {
            line(text, &format!("{indent}{word} {}", all.join(", ")));
        }
    }
}

fn title(image: &ImageReport) -> String {
    let id = image.container_id.as_deref().map_or(String::new(), |id| format!(" ({id})"));
    let format = format!("{:?}", image.format).to_ascii_lowercase();
    format!("{}{id}: {format}, {}, {} bytes", image.path, image.target, image.bytes)
}

fn line(text: &mut String, content: &str) {
    text.push_str(content.trim_end());
    text.push('\n');
}

fn number(value: Option<impl std::fmt::Display>) -> String {
    value.map_or_else(unknown, |value| value.to_string())
}

/// What a format does not say, and what is not there.
fn unknown() -> String {
    "-".to_owned()
}
