//! The table of instructions with effects: memory, synchronisation, control flow (PTX ISA, "Data Movement", "Parallel
//! Synchronization and Communication", "Control Flow", "Miscellaneous").

use super::opcode::{Opcode, exactly};
use super::{Name, Names};
use crate::memory::{Fence, Order, Strength, SyncScope};
use crate::ptx::instruction::{Access, Address, Operation, SINK, Source, Type, Update, Vote};
use crate::ptx::syntax::Operand;

const SCOPES: &[(&str, SyncScope)] = &[
    ("cta", SyncScope::Block),
    // Of one block: larger clusters need a directive that the parser refuses.
    ("cluster", SyncScope::Block),
    ("gpu", SyncScope::Device),
    ("sys", SyncScope::System),
];

/// State space of an access.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Space {
    /// Also global: regions have one address space.
    Generic,
    Shared,
    Parameter,
}

const SPACES: &[(&str, Space)] =
    &[("global", Space::Generic), ("shared", Space::Shared), ("shared::cta", Space::Shared)];

const WEAK: Order = Order { strength: Strength::Weak, acquire: false, release: false };

fn strong(scope: SyncScope) -> Order {
    Order { strength: Strength::Strong(scope), acquire: false, release: false }
}

/// Any instruction of this table.
pub(super) fn translate<'t>(
    opcode: &mut Opcode<'t>,
    operands: &[Operand<'t>],
    names: &Names<'t>,
) -> Result<Operation, String> {
    match opcode.name() {
        "ld" => load(opcode, operands, names),
        "st" => store(opcode, operands, names),
        "atom" | "red" => atomic(opcode, operands, names),
        "fence" => {
            exactly::<_, 0>(operands)?;
            let fence = opcode.takes_one(&[
                ("sc", Fence::SequentiallyConsistent),
                ("acq_rel", Fence::AcquireRelease),
                ("acquire", Fence::Acquire),
                ("release", Fence::Release),
            ]);
            Ok(Operation::Fence(fence.unwrap_or(Fence::AcquireRelease), opcode.one("a scope", SCOPES)?))
        }
        "membar" => {
            exactly::<_, 0>(operands)?;
            let levels = [("cta", SyncScope::Block), ("gl", SyncScope::Device), ("sys", SyncScope::System)];
            Ok(Operation::Fence(Fence::SequentiallyConsistent, opcode.one("a level", &levels)?))
        }
        "bar" | "barrier" => barrier(opcode, operands, names),
        "griddepcontrol" => {
            exactly::<_, 0>(operands)?;
            // A launch starts when the one before it on its device has ended.
            opcode.one("an action", &[("wait", ()), ("launch_dependents", ())])?;
            Ok(Operation::Nothing)
        }
        "nanosleep" => {
            let kind = opcode.kind(|kind| kind == Type::Unsigned(32))?;
            let [time] = exactly(operands)?;
            Ok(Operation::Pause(names.read(time, kind, false)?))
        }
        "bra" => {
            opcode.takes("uni");
            let [Operand::Name(label)] = exactly(operands)? else { return Err("a label was expected".to_owned()) };
            names
                .labels
                .get(label)
                .map(|at| Operation::Branch(*at))
                .ok_or_else(|| format!("there is no label `{label}`"))
        }
        "ret" | "exit" => {
            exactly::<_, 0>(operands)?;
            opcode.takes("uni");
            Ok(Operation::Exit)
        }
        "trap" => exactly::<_, 0>(operands).map(|_| Operation::Trap),
        other => Err(format!("instruction `{other}` is not modelled")),
    }
}

/// `.weak`, `.relaxed.scope`, `.acquire.scope` (`.release` for stores), `.volatile`, or nothing.
fn access_order(opcode: &mut Opcode<'_>, load: bool) -> Result<Order, String> {
    if opcode.takes("weak") {
        return Ok(WEAK);
    }
    // Relaxed at system scope, but for what the compiler may do with it (PTX ISA, "ld").
    if opcode.takes("volatile") {
        return Ok(strong(SyncScope::System));
    }
    if opcode.takes("relaxed") {
        return Ok(strong(opcode.one("a scope", SCOPES)?));
    }
    if opcode.takes(if load { "acquire" } else { "release" }) {
        let scope = opcode.one("a scope", SCOPES)?;
        return Ok(Order { acquire: load, release: !load, ..strong(scope) });
    }
    Ok(WEAK)
}

/// Cache operators and eviction hints: speed alone, for weak accesses.
fn skip_hints(opcode: &mut Opcode<'_>, load: bool) {
    let operators: &[(&str, ())] = if load {
        &[("ca", ()), ("cg", ()), ("cs", ()), ("lu", ()), ("cv", ())]
    } else {
        &[("wb", ()), ("cg", ()), ("cs", ()), ("wt", ())]
    };
    opcode.takes_one(operators);
    opcode.takes_one(&[
        ("L1::evict_normal", ()),
        ("L1::evict_unchanged", ()),
        ("L1::evict_first", ()),
        ("L1::evict_last", ()),
        ("L1::no_allocate", ()),
    ]);
    opcode.takes_one(&[("L2::64B", ()), ("L2::128B", ()), ("L2::256B", ())]);
}

/// Number and type of the elements, at most 32 bytes together.
fn elements(opcode: &mut Opcode<'_>) -> Result<(usize, Type), String> {
    let (count, least) = opcode.takes_one(&[("v2", (2, 8)), ("v4", (4, 8)), ("v8", (8, 32))]).unwrap_or((1, 8));
    let most = if count == 8 { 32 } else { 64 };
    let fits = |kind: Type| (least..=most).contains(&kind.bits());
    Ok((count, opcode.kind(|kind| (kind.is_integer() || kind == Type::F32) && fits(kind))?))
}

/// The operands of a vector access, or the one of a scalar access.
fn parts<'o, 't>(operand: &'o Operand<'t>, count: usize) -> Result<&'o [Operand<'t>], String> {
    match operand {
        Operand::Vector(parts) if count > 1 && parts.len() == count => Ok(parts),
        Operand::Vector(_) => Err(format!("{count} elements were expected")),
        scalar if count == 1 => Ok(std::slice::from_ref(scalar)),
        _ => Err(format!("a vector of {count} was expected")),
    }
}

fn address<'t>(operand: &Operand<'t>, space: Space, names: &Names<'t>) -> Result<Address, String> {
    let Operand::Address(base, offset) = operand else { return Err("an address was expected".to_owned()) };
    let shared = space == Space::Shared;
    let base = match base {
        None => Source::Immediate(0),
        Some(name) => match names.lookup(name) {
            Some(Name::Shared(at)) if shared => Source::Immediate(at),
            Some(Name::Shared(_)) => return Err(format!("`{name}` is in shared memory")),
            // Shared memory takes 32-bit addresses too.
            _ if shared => names.read(&Operand::Name(name), Type::Bits(32), true)?,
            _ => names.read(&Operand::Name(name), Type::Bits(64), false)?,
        },
    };
    Ok(Address { base, offset: *offset, shared })
}

fn load<'t>(opcode: &mut Opcode<'t>, operands: &[Operand<'t>], names: &Names<'t>) -> Result<Operation, String> {
    let order = access_order(opcode, true)?;
    let space = opcode.takes_one(SPACES);
    let parameter = space.is_none() && (opcode.takes("param") || opcode.takes("param::entry"));
    let space = if parameter { Space::Parameter } else { space.unwrap_or(Space::Generic) };
    if order == WEAK && !parameter {
        skip_hints(opcode, true);
    }
    let (count, element) = elements(opcode)?;
    let [d, at] = exactly(operands)?;
    let widths = parts(d, count)?.iter().map(|part| names.width(part, element));
    let width = widths.max().unwrap_or(element.bits());
    let destinations =
        parts(d, count)?.iter().map(|part| names.write(part, element, true)).collect::<Result<_, _>>()?;
    if !parameter {
        let access = Access { address: address(at, space, names)?, element, order };
        return Ok(Operation::Load { access, destinations, width });
    }
    let Operand::Address(Some(name), offset) = at else { return Err("a parameter was expected".to_owned()) };
    let start = names.parameters.get(name).ok_or_else(|| format!("there is no parameter `{name}`"))?;
    let offset = start.checked_add_signed(*offset).ok_or("an offset before the parameters")?;
    Ok(Operation::LoadParameter { destinations, width, element, offset })
}

fn store<'t>(opcode: &mut Opcode<'t>, operands: &[Operand<'t>], names: &Names<'t>) -> Result<Operation, String> {
    let order = access_order(opcode, false)?;
    let space = opcode.takes_one(SPACES).unwrap_or(Space::Generic);
    if order == WEAK {
        skip_hints(opcode, false);
    }
    let (count, element) = elements(opcode)?;
    let [at, value] = exactly(operands)?;
    let access = Access { address: address(at, space, names)?, element, order };
    let sources = parts(value, count)?.iter().map(|part| names.read(part, element, true)).collect::<Result<_, _>>()?;
    Ok(Operation::Store { access, sources })
}

fn atomic<'t>(opcode: &mut Opcode<'t>, operands: &[Operand<'t>], names: &Names<'t>) -> Result<Operation, String> {
    let returns = opcode.name() == "atom";
    let orders = [
        ("relaxed", (false, false)),
        ("acquire", (true, false)),
        ("release", (false, true)),
        ("acq_rel", (true, true)),
    ];
    let (acquire, release) = opcode.takes_one(&orders).unwrap_or((false, false));
    if acquire && !returns {
        return Err("`red` does not acquire".to_owned());
    }
    let scope = opcode.takes_one(SCOPES).unwrap_or(SyncScope::Device);
    let space = opcode.takes_one(SPACES).unwrap_or(Space::Generic);
    let updates = [
        ("add", Update::Add),
        ("min", Update::Minimum),
        ("max", Update::Maximum),
        ("and", Update::And),
        ("or", Update::Or),
        ("xor", Update::Xor),
        ("exch", Update::Exchange),
        ("cas", Update::CompareAndSwap),
        ("inc", Update::Increment),
        ("dec", Update::Decrement),
    ];
    let update = opcode.one("an operation", &updates)?;
    let element = opcode.kind(|kind| kind.is_integer() && kind.bits() >= 32)?;
    let (d, rest) = match operands.split_first() {
        Some((d, rest)) if returns => (names.write(d, element, false)?, rest),
        _ => (SINK, operands),
    };
    let (at, first, second) = match (rest, update) {
        ([at, a, b], Update::CompareAndSwap) => (at, a, Some(b)),
        ([at, a], _) if update != Update::CompareAndSwap => (at, a, None),
        _ => return Err("an address and the operation's values were expected".to_owned()),
    };
    let read = |operand| names.read(operand, element, false);
    let second = match second {
        Some(second) => read(second)?,
        None => Source::Immediate(0),
    };
    let order = Order { acquire, release, ..strong(scope) };
    let access = Access { address: address(at, space, names)?, element, order };
    Ok(Operation::Atomic { update, access, destination: d, sources: [read(first)?, second] })
}

/// `bar.sync 0`, `barrier[.cta].sync[.aligned] 0`, and the reductions.
fn barrier<'t>(opcode: &mut Opcode<'t>, operands: &[Operand<'t>], names: &Names<'t>) -> Result<Operation, String> {
    opcode.takes("cta");
    let reduces = opcode.one("`.sync` or `.red`", &[("sync", false), ("red", true)])?;
    let vote = if reduces {
        Some(opcode.one("a reduction", &[("and", Vote::All), ("or", Vote::Any), ("popc", Vote::Count)])?)
    } else {
        None
    };
    opcode.takes("aligned");
    let zero = |operand: &Operand<'_>| matches!(operand, Operand::Number("0", false));
    let Some(vote) = vote else {
        let [number] = exactly(operands)?;
        return if zero(number) { Ok(Operation::Barrier) } else { Err("only barrier 0 is modelled".to_owned()) };
    };
    let kind = if vote == Vote::Count { Type::Unsigned(32) } else { Type::Predicate };
    opcode.kind(|found| found == kind)?;
    let [d, number, source] = exactly(operands)?;
    if !zero(number) {
        return Err("only barrier 0, of all threads, is modelled".to_owned());
    }
    let (destination, source) = (names.write(d, kind, false)?, names.read(source, Type::Predicate, false)?);
    Ok(Operation::BarrierVote { vote, destination, source })
}
