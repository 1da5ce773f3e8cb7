//! One PTX instruction: what memory it accesses, what else it is, where it goes.
//!
//! Source: NVIDIA, "PTX ISA", chapter Instruction Set (data movement, parallel synchronisation, control flow). Everything
//! is read from the dotted name. Bulk and tensor copies have their size in an operand: their width is unknown. Texture
//! and surface instructions count as accesses of unknown width.

use super::statement::Statement;
use crate::code::{Access, Flow, Instruction, Kind, Role};

/// Reads one statement; `place` finds a label, `table` the list of a `.branchtargets`.
pub(super) fn read(
    statement: &Statement<'_>,
    place: &dyn Fn(&str) -> Option<usize>,
    table: &dyn Fn(&str) -> Option<Vec<usize>>,
) -> Instruction {
    let (guarded, text) = match statement.text.strip_prefix('@') {
        Some(rest) => (true, rest.split_once(char::is_whitespace).map_or("", |(_, rest)| rest).trim_start()),
        None => (false, statement.text),
    };
    let (name, operands) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let operands = operands.trim();
    let parts: Vec<&str> = name.split('.').collect();
    let operation = parts.first().copied().unwrap_or_default();
    let flow = match operation {
        "bra" => place(operands)
            .map_or(Flow::Unknown { falls: guarded }, |target| Flow::To { targets: vec![target], falls: guarded }),
        "brx" => {
            let list = operands.rsplit(',').next().unwrap_or_default().trim();
            table(list).map_or(Flow::Unknown { falls: guarded }, |targets| Flow::To { targets, falls: guarded })
        }
        "ret" | "exit" | "trap" if !guarded => Flow::End,
        "ret" | "exit" | "trap" => Flow::To { targets: Vec::new(), falls: true },
        _ => Flow::Next,
    };
    Instruction {
        at: statement.line,
        accesses: accesses(operation, &parts, operands),
        role: role(operation, &parts),
        flow,
    }
}

fn role(operation: &str, parts: &[&str]) -> Role {
    let has = |word: &str| parts.contains(&word);
    match operation {
        "bra" | "brx" => Role::Branch,
        "call" => Role::Call,
        "bar" | "barrier" if has("arrive") => Role::Other,
        "bar" | "barrier" => Role::Barrier,
        "mbarrier" if has("try_wait") || has("test_wait") => Role::Wait,
        "cp" if has("wait_group") || has("wait_all") => Role::Wait,
        "griddepcontrol" | "wgmma" | "tcgen05" if has("wait") || has("wait_group") => Role::Wait,
        "membar" | "fence" => Role::Fence,
        "nanosleep" => Role::Sleep,
        _ => Role::Other,
    }
}

fn accesses(operation: &str, parts: &[&str], operands: &str) -> Vec<Access> {
    let one = |kind| vec![access(kind, parts, space(parts, 0), true)];
    match operation {
        "ld" | "ldu" | "tex" | "tld4" | "suld" => one(Kind::Load),
        "st" | "sust" => one(Kind::Store),
        "atom" | "red" | "sured" => one(Kind::Atomic),
        "multimem" if parts.contains(&"ld_reduce") => one(Kind::Load),
        "multimem" if parts.contains(&"st") => one(Kind::Store),
        "multimem" if parts.contains(&"red") => one(Kind::Atomic),
        "ldmatrix" | "stmatrix" => {
            // Eight rows of 16 bytes a matrix over 32 lanes: 4 bytes a lane and matrix.
            let count = parts.iter().find_map(|part| part.strip_prefix('x')?.parse::<u64>().ok());
            let kind = if operation == "ldmatrix" { Kind::Load } else { Kind::Store };
            let mut access = access(kind, parts, "shared", false);
            access.bytes = count.map(|count| 4 * count);
            vec![access]
        }
        // `cp.async.ca.shared.global`: destination, then source. Waits and commits name no space.
        "cp" if parts.iter().filter(|part| known_space(part).is_some()).count() >= 2 => {
            // `cp.async` alone has its size as a number: `[to], [from], 16`.
            let bytes = operands
                .split(',')
                .nth(2)
                .filter(|_| !parts.contains(&"bulk"))
                .and_then(|size| size.trim().parse().ok());
            let (from, to) =
                (access(Kind::Load, parts, space(parts, 1), false), access(Kind::Store, parts, space(parts, 0), false));
            vec![Access { bytes, ..from }, Access { bytes, bits: Vec::new(), ..to }]
        }
        _ => Vec::new(),
    }
}

fn access(kind: Kind, parts: &[&str], space: &'static str, sized: bool) -> Access {
    Access { kind, space, bytes: if sized { width(parts) } else { None }, bits: bits(parts) }
}

const SPACES: [&str; 6] = ["global", "shared", "local", "const", "param", "generic"];

fn known_space(part: &str) -> Option<&'static str> {
    let word = part.split("::").next().unwrap_or(part);
    SPACES.into_iter().find(|space| *space == word)
}

/// The space named at position `number`; without one, addresses are generic.
fn space(parts: &[&str], number: usize) -> &'static str {
    parts.iter().filter_map(|part| known_space(part)).nth(number).unwrap_or("generic")
}

/// Elements times the size of one; the type is the last part.
fn width(parts: &[&str]) -> Option<u64> {
    let elements = parts
        .iter()
        .find_map(|part| match *part {
            "v2" => Some(2),
            "v4" => Some(4),
            "v8" => Some(8),
            _ => None,
        })
        .unwrap_or(1);
    let bytes = match *parts.last()? {
        "b8" | "u8" | "s8" | "e4m3" | "e5m2" => 1,
        "b16" | "u16" | "s16" | "f16" | "bf16" | "e4m3x2" | "e5m2x2" => 2,
        "b32" | "u32" | "s32" | "f32" | "f16x2" | "bf16x2" | "e4m3x4" | "e5m2x4" => 4,
        "b64" | "u64" | "s64" | "f64" => 8,
        "b128" => 16,
        _ => return None,
    };
    Some(elements * bytes)
}

/// Order, scope and cache words, as written.
fn bits(parts: &[&str]) -> Vec<String> {
    let is_bit = |part: &&&str| {
        matches!(
            **part,
            "weak"
                | "volatile"
                | "relaxed"
                | "acquire"
                | "release"
                | "acq_rel"
                | "sc"
                | "mmio"
                | "cta"
                | "cluster"
                | "gpu"
                | "sys"
                | "nc"
                | "ca"
                | "cg"
                | "cs"
                | "lu"
                | "cv"
                | "wb"
                | "wt"
                | "async"
                | "bulk"
                | "tensor"
        ) || part.starts_with("L1::")
            || part.starts_with("L2::")
    };
    parts.iter().skip(1).filter(is_bit).map(|part| (*part).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::super::statement::What;
    use super::*;

    fn one(text: &str) -> Instruction {
        let statement = Statement { line: 1, what: What::Plain, text };
        read(&statement, &|name| (name == "L").then_some(7), &|_| None)
    }

    #[test]
    fn reads_accesses() {
        use Kind::{Atomic, Load, Store};
        for (text, kind, space, bytes, bits) in [
            ("ld.volatile.global.v2.b64 {%rd1, %rd2}, [%rd3+4096]", Load, "global", Some(16), "volatile"),
            ("ld.acquire.sys.global.u32 %r1, [%rd1]", Load, "global", Some(4), "acquire sys"),
            ("ld.global.nc.L1::no_allocate.v4.f32 {a,b,c,d}, [%rd1]", Load, "global", Some(16), "nc L1::no_allocate"),
            ("ld.param.b64 %rd1, [p]", Load, "param", Some(8), ""),
            ("ld.u8 %rs1, [%rd1]", Load, "generic", Some(1), ""),
            ("@%p1 st.release.sys.global.v8.b32 [%rd1], {a}", Store, "global", Some(32), "release sys"),
            ("st.shared::cluster.u16 [%r1], %rs1", Store, "shared", Some(2), ""),
            ("atom.relaxed.gpu.global.cas.b32 %r1, [%rd1+4], 0, 1", Atomic, "global", Some(4), "relaxed gpu"),
            ("red.add.u64 [%rd1], 1", Atomic, "generic", Some(8), ""),
            ("multimem.ld_reduce.relaxed.sys.global.add.v4.f32 {a}, [b]", Load, "global", Some(16), "relaxed sys"),
            ("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {a}, [b]", Load, "shared", Some(16), ""),
            ("cp.async.cg.shared.global.L2::128B [a], [b], 16", Load, "global", Some(16), "async cg L2::128B"),
            ("cp.async.bulk.shared::cluster.global.mbarrier [a], [b], %r1, [c]", Load, "global", None, "async bulk"),
        ] {
            let found = one(text).accesses;
            let access = &found[0];
            assert_eq!((access.kind, access.space, access.bytes), (kind, space, bytes), "{text}");
            assert_eq!(access.bits.join(" "), bits, "{text}");
        }
        assert_eq!(one("cp.async.ca.shared.global [a], [b], 16").accesses[1].space, "shared");
        for text in ["cp.async.wait_group 0", "add.s32 %r1, %r2, %r3", "prefetch.global.L2 [a]", "@%p1", ""] {
            assert!(one(text).accesses.is_empty(), "{text}");
        }
    }

    #[test]
    fn reads_roles_and_flow() {
        for (text, role, flow) in [
            ("bra.uni L", Role::Branch, Flow::To { targets: vec![7], falls: false }),
            ("@!%p1 bra L", Role::Branch, Flow::To { targets: vec![7], falls: true }),
            ("bra nowhere", Role::Branch, Flow::Unknown { falls: false }),
            ("brx.idx %r1, table", Role::Branch, Flow::Unknown { falls: false }),
            ("bar.sync 0", Role::Barrier, Flow::Next),
            ("barrier.cluster.arrive", Role::Other, Flow::Next),
            ("fence.acq_rel.sys", Role::Fence, Flow::Next),
            ("nanosleep.u32 20", Role::Sleep, Flow::Next),
            ("call.uni (r), f, (p)", Role::Call, Flow::Next),
            ("cp.async.wait_group 0", Role::Wait, Flow::Next),
            ("ret", Role::Other, Flow::End),
            ("@%p1 exit", Role::Other, Flow::To { targets: Vec::new(), falls: true }),
        ] {
            let found = one(text);
            assert_eq!((found.role, found.flow), (role, flow), "{text}");
        }
    }
}
