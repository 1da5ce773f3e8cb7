//! The table of instructions that compute (PTX ISA, "Integer Arithmetic", "Floating Point", "Comparison
//! and Selection", "Logic and Shift", and of "Data Movement and Conversion" `mov`, `prmt`, `cvt`, `cvta`).
//!
//! A float add, multiply or fused multiply needs its `.rn`: without it ptxas may fuse, and the sum is no longer defined. Left out: arithmetic in
//! f16 but for sums, in bf16 and f64, `.ftz`, approximations.

use super::opcode::{Opcode, exactly};
use super::{Name, Names, compute, special};
use crate::ptx::instruction::{Compare, Conversion, Function, Logic, Operation, Rounding, SINK, Source, Type};
use crate::ptx::syntax::Operand;

/// Unused source.
const NONE: Source = Source::Immediate(0);

fn at_least_16(kind: Type) -> bool {
    kind.is_integer() && kind.bits() >= 16
}

fn arithmetic_integer(kind: Type) -> bool {
    matches!(kind, Type::Unsigned(16 | 32 | 64) | Type::Signed(16 | 32 | 64))
}

fn bits(kind: Type) -> bool {
    matches!(kind, Type::Bits(16 | 32 | 64))
}

fn half(kind: Type) -> bool {
    matches!(kind, Type::F16 | Type::F16x2)
}

fn float(kind: Type) -> bool {
    matches!(kind, Type::F32 | Type::F32x2)
}

/// An instruction of this table, or none when its name is not in it.
pub(super) fn translate<'t>(
    opcode: &mut Opcode<'t>,
    operands: &[Operand<'t>],
    names: &Names<'t>,
) -> Result<Option<Operation>, String> {
    let table = Table { operands, names };
    let operation = match opcode.name() {
        "mov" => table.mov(opcode)?,
        "add" => table.add(opcode, Function::Add)?,
        "sub" => table.add(opcode, Function::Subtract)?,
        "mul" => table.multiply(opcode)?,
        "mad" => table.multiply_add(opcode)?,
        "fma" => {
            needs_rn(opcode)?;
            table.three(Function::Fused, opcode.kind(float)?)?
        }
        "div" if !opcode.takes("rn") => table.two(Function::Divide, opcode.kind(arithmetic_integer)?)?,
        "div" => table.two(Function::Divide, opcode.kind(|kind| kind == Type::F32)?)?,
        "rem" => table.two(Function::Remainder, opcode.kind(arithmetic_integer)?)?,
        "min" => table.two(Function::Minimum, opcode.kind(|kind| arithmetic_integer(kind) || kind == Type::F32)?)?,
        "max" => table.two(Function::Maximum, opcode.kind(|kind| arithmetic_integer(kind) || kind == Type::F32)?)?,
        "neg" => table.one(Function::Negate, opcode.kind(signed_or_float)?)?,
        "abs" => table.one(Function::Absolute, opcode.kind(signed_or_float)?)?,
        "and" => table.two(Function::And, opcode.kind(|kind| bits(kind) || kind == Type::Predicate)?)?,
        "or" => table.two(Function::Or, opcode.kind(|kind| bits(kind) || kind == Type::Predicate)?)?,
        "xor" => table.two(Function::Xor, opcode.kind(|kind| bits(kind) || kind == Type::Predicate)?)?,
        "not" => table.one(Function::Not, opcode.kind(|kind| bits(kind) || kind == Type::Predicate)?)?,
        "cnot" => table.one(Function::LogicalNot, opcode.kind(bits)?)?,
        "shl" => table.shift(Function::ShiftLeft, opcode.kind(bits)?)?,
        "shr" => table.shift(Function::ShiftRight, opcode.kind(at_least_16)?)?,
        "shf" => {
            let left = opcode.one("a direction", &[("l", true), ("r", false)])?;
            let clamp = opcode.one("a mode", &[("clamp", true), ("wrap", false)])?;
            let kind = opcode.kind(|kind| kind == Type::Bits(32))?;
            table.three(if left { Function::FunnelLeft(clamp) } else { Function::FunnelRight(clamp) }, kind)?
        }
        "popc" => table.count(Function::PopulationCount, opcode)?,
        "clz" => table.count(Function::LeadingZeros, opcode)?,
        "brev" => table.one(Function::BitReverse, opcode.kind(|kind| matches!(kind, Type::Bits(32 | 64)))?)?,
        "bfe" => table.extract(opcode)?,
        "prmt" => table.three(Function::Permute, opcode.kind(|kind| kind == Type::Bits(32))?)?,
        "lop3" => table.lookup(opcode)?,
        "selp" => table.select(opcode)?,
        "setp" => table.set_predicate(opcode)?,
        "cvt" => table.convert(opcode)?,
        "cvta" => table.convert_address(opcode)?,
        _ => return Ok(None),
    };
    Ok(Some(operation))
}

fn signed_or_float(kind: Type) -> bool {
    matches!(kind, Type::Signed(16 | 32 | 64) | Type::F32)
}

fn needs_rn(opcode: &mut Opcode<'_>) -> Result<(), String> {
    if opcode.takes("rn") { Ok(()) } else { Err("only `.rn` is modelled; without it ptxas may fuse".to_owned()) }
}

struct Table<'a, 't> {
    operands: &'a [Operand<'t>],
    names: &'a Names<'t>,
}

impl Table<'_, '_> {
    fn one(&self, function: Function, kind: Type) -> Result<Operation, String> {
        let [d, a] = exactly(self.operands)?;
        let sources = [self.names.read(a, kind, false)?, NONE, NONE];
        Ok(compute(function, kind, self.names.write(d, kind, false)?, sources))
    }

    fn two(&self, function: Function, kind: Type) -> Result<Operation, String> {
        let [d, a, b] = exactly(self.operands)?;
        let sources = [self.names.read(a, kind, false)?, self.names.read(b, kind, false)?, NONE];
        Ok(compute(function, kind, self.names.write(d, kind, false)?, sources))
    }

    fn three(&self, function: Function, kind: Type) -> Result<Operation, String> {
        self.three_to(function, kind, kind)
    }

    /// Three sources, the last one and the result of type `wide`.
    fn three_to(&self, function: Function, kind: Type, wide: Type) -> Result<Operation, String> {
        let [d, a, b, c] = exactly(self.operands)?;
        let sources =
            [self.names.read(a, kind, false)?, self.names.read(b, kind, false)?, self.names.read(c, wide, false)?];
        Ok(compute(function, kind, self.names.write(d, wide, false)?, sources))
    }

    /// The distance is a u32 whatever is shifted.
    fn shift(&self, function: Function, kind: Type) -> Result<Operation, String> {
        let [d, a, b] = exactly(self.operands)?;
        let sources = [self.names.read(a, kind, false)?, self.names.read(b, Type::Unsigned(32), false)?, NONE];
        Ok(compute(function, kind, self.names.write(d, kind, false)?, sources))
    }

    /// The result is a u32 whatever is counted.
    fn count(&self, function: Function, opcode: &mut Opcode<'_>) -> Result<Operation, String> {
        let kind = opcode.kind(|kind| matches!(kind, Type::Bits(32 | 64)))?;
        let [d, a] = exactly(self.operands)?;
        let sources = [self.names.read(a, kind, false)?, NONE, NONE];
        Ok(compute(function, kind, self.names.write(d, Type::Unsigned(32), false)?, sources))
    }

    fn mov(&self, opcode: &mut Opcode<'_>) -> Result<Operation, String> {
        let kind = opcode.kind(|kind| kind == Type::Predicate || kind.bits() >= 16)?;
        let [d, a] = exactly(self.operands)?;
        match (d, a) {
            (d, Operand::Vector(parts)) => {
                let part = part_of(kind, parts.len())?;
                let destination = self.names.write(d, kind, false)?;
                let parts = parts.iter().map(|part_| self.names.read(part_, part, false)).collect::<Result<_, _>>()?;
                Ok(Operation::Pack { destination, bits: part.bits(), parts })
            }
            (Operand::Vector(parts), a) => {
                let part = part_of(kind, parts.len())?;
                let source = self.names.read(a, kind, false)?;
                let destinations =
                    parts.iter().map(|part_| self.names.write(part_, part, false)).collect::<Result<_, _>>()?;
                Ok(Operation::Unpack { destinations, bits: part.bits(), source })
            }
            (d, a) => {
                let destination = self.names.write(d, kind, false)?;
                let named = match a {
                    Operand::Name(name) => match self.names.lookup(name) {
                        Some(Name::Shared(offset)) => Some(Source::Immediate(offset)),
                        _ => special(name),
                    },
                    _ => None,
                };
                let source = match named {
                    Some(source) => source,
                    None => self.names.read(a, kind, false)?,
                };
                Ok(compute(Function::Move, kind, destination, [source, NONE, NONE]))
            }
        }
    }

    fn add(&self, opcode: &mut Opcode<'_>, function: Function) -> Result<Operation, String> {
        let rounded = opcode.takes("rn");
        let kind = opcode.kind(|kind| arithmetic_integer(kind) || float(kind) || half(kind))?;
        if rounded == kind.is_integer() {
            return Err("floats need `.rn`, without which ptxas may fuse; integers have none".to_owned());
        }
        self.two(function, kind)
    }

    fn multiply(&self, opcode: &mut Opcode<'_>) -> Result<Operation, String> {
        if opcode.takes("rn") {
            return self.two(Function::Multiply, opcode.kind(float)?);
        }
        let functions = [("lo", Function::Multiply), ("hi", Function::MultiplyHigh), ("wide", Function::MultiplyWide)];
        let function = opcode.one("`.lo`, `.hi`, `.wide` or `.rn`", &functions)?;
        let kind = opcode.kind(arithmetic_integer)?;
        if function != Function::MultiplyWide {
            return self.two(function, kind);
        }
        let wide = twice(kind)?;
        let [d, a, b] = exactly(self.operands)?;
        let sources = [self.names.read(a, kind, false)?, self.names.read(b, kind, false)?, NONE];
        Ok(compute(function, kind, self.names.write(d, wide, false)?, sources))
    }

    fn multiply_add(&self, opcode: &mut Opcode<'_>) -> Result<Operation, String> {
        let functions =
            [("lo", Function::MultiplyAdd), ("hi", Function::MultiplyHighAdd), ("wide", Function::MultiplyWideAdd)];
        let function = opcode.one("`.lo`, `.hi` or `.wide`", &functions)?;
        let kind = opcode.kind(arithmetic_integer)?;
        let wide = if function == Function::MultiplyWideAdd { twice(kind)? } else { kind };
        self.three_to(function, kind, wide)
    }

    fn extract(&self, opcode: &mut Opcode<'_>) -> Result<Operation, String> {
        let kind = opcode.kind(|kind| arithmetic_integer(kind) && kind.bits() >= 32)?;
        let [d, a, b, c] = exactly(self.operands)?;
        let number = |operand| self.names.read(operand, Type::Unsigned(32), false);
        let sources = [self.names.read(a, kind, false)?, number(b)?, number(c)?];
        Ok(compute(Function::ExtractField, kind, self.names.write(d, kind, false)?, sources))
    }

    fn lookup(&self, opcode: &mut Opcode<'_>) -> Result<Operation, String> {
        let kind = opcode.kind(|kind| kind == Type::Bits(32))?;
        let [d, a, b, c, table] = exactly(self.operands)?;
        let Source::Immediate(table) = self.names.read(table, Type::Unsigned(8), true)? else {
            return Err("the table is a number".to_owned());
        };
        let read = |operand| self.names.read(operand, kind, false);
        let function = Function::Lookup(table.to_le_bytes()[0]);
        Ok(compute(function, kind, self.names.write(d, kind, false)?, [read(a)?, read(b)?, read(c)?]))
    }

    fn select(&self, opcode: &mut Opcode<'_>) -> Result<Operation, String> {
        let kind = opcode.kind(|kind| at_least_16(kind) || kind == Type::F32)?;
        let [d, a, b, c] = exactly(self.operands)?;
        let read = |operand| self.names.read(operand, kind, false);
        let sources = [read(a)?, read(b)?, self.names.read(c, Type::Predicate, false)?];
        Ok(compute(Function::Select, kind, self.names.write(d, kind, false)?, sources))
    }

    fn set_predicate(&self, opcode: &mut Opcode<'_>) -> Result<Operation, String> {
        let (compare, unsigned_only, float_only) = opcode.one("a comparison", COMPARISONS)?;
        let logic = opcode.takes_one(&[("and", Logic::And), ("or", Logic::Or), ("xor", Logic::Xor)]);
        let kind = opcode.kind(|kind| {
            let float = matches!(kind, Type::F32 | Type::F16 | Type::Bf16);
            let equality = matches!(compare, Compare::Equal | Compare::NotEqual);
            if float_only { float } else { float && !unsigned_only || at_least_16(kind) && (equality || !bits(kind)) }
        })?;
        if unsigned_only && kind.is_signed() {
            return Err("this comparison is for unsigned integers".to_owned());
        }
        let (d, rest) = self.operands.split_first().ok_or("operands are missing")?;
        let (a, b, c) = match (rest, logic) {
            ([a, b], None) => (a, b, None),
            ([a, b, c], Some(logic)) => (a, b, Some((logic, c))),
            _ => return Err("two operands, and a third to combine with, were expected".to_owned()),
        };
        let (destination, inverse) = match d {
            Operand::Pair(p, q) => {
                let [p, q] = [p, q].map(|name| self.names.write(&Operand::Name(name), Type::Predicate, false));
                (p?, q?)
            }
            d => (self.names.write(d, Type::Predicate, false)?, SINK),
        };
        let combine = match c {
            None => None,
            Some((logic, c)) => Some((logic, self.names.read(c, Type::Predicate, false)?)),
        };
        let sources = [self.names.read(a, kind, false)?, self.names.read(b, kind, false)?];
        Ok(Operation::SetPredicate { compare, kind, destination, inverse, sources, combine })
    }

    fn convert(&self, opcode: &mut Opcode<'_>) -> Result<Operation, String> {
        let roundings = [
            ("rn", (Rounding::NearestEven, false)),
            ("rz", (Rounding::TowardZero, false)),
            ("rni", (Rounding::NearestEven, true)),
            ("rzi", (Rounding::TowardZero, true)),
            ("rmi", (Rounding::Down, true)),
            ("rpi", (Rounding::Up, true)),
        ];
        let (rounding, to_integer) = opcode.takes_one(&roundings).unwrap_or((Rounding::None, false));
        let saturate = opcode.takes("sat");
        let to = opcode.kind(|kind| !matches!(kind, Type::Predicate | Type::Bits(_) | Type::F32x2))?;
        let from = opcode.kind(|kind| !matches!(kind, Type::Predicate | Type::Bits(_) | Type::F32x2))?;
        let width = self.operands.first().map_or(to.bits(), |d| self.names.width(d, to));
        let conversion = Conversion { to, from, rounding, saturate, width };
        let known = match (to.is_integer(), from.is_integer()) {
            (true, true) => rounding == Rounding::None,
            // Out of range saturates by itself.
            (true, false) => to_integer && !saturate && matches!(from, Type::F32 | Type::F16 | Type::Bf16),
            (false, true) => rounding == Rounding::NearestEven && !to_integer && !saturate && to == Type::F32,
            (false, false) if matches!(to, Type::F16x2 | Type::Bf16x2) => {
                from == Type::F32 && rounding == Rounding::NearestEven && !to_integer && !saturate
            }
            (false, false) => {
                let widens = to == Type::F32 && matches!(from, Type::F16 | Type::Bf16);
                let narrows = from == Type::F32 && matches!(to, Type::F16 | Type::Bf16);
                let wanted = if widens { Rounding::None } else { Rounding::NearestEven };
                (widens || narrows) && rounding == wanted && !to_integer && !saturate
            }
        };
        if !known {
            return Err("this conversion is not modelled".to_owned());
        }
        if matches!(to, Type::F16x2 | Type::Bf16x2) {
            let [d, a, b] = exactly(self.operands)?;
            let sources = [self.names.read(a, from, false)?, self.names.read(b, from, false)?];
            return Ok(Operation::Convert { conversion, destination: self.names.write(d, to, false)?, sources });
        }
        let [d, a] = exactly(self.operands)?;
        // Registers may be wider than the types: u8 has none of its own.
        let sources = [self.names.read(a, from, true)?, NONE];
        Ok(Operation::Convert { conversion, destination: self.names.write(d, to, true)?, sources })
    }

    fn convert_address(&self, opcode: &mut Opcode<'_>) -> Result<Operation, String> {
        let to_space = opcode.takes("to");
        let shared = opcode.one("a state space", &[("global", false), ("shared", true)])?;
        let function = match (shared, to_space) {
            (false, _) => Function::Move,
            (true, true) => Function::FromGeneric,
            (true, false) => Function::ToGeneric,
        };
        self.one(function, opcode.kind(|kind| kind == Type::Unsigned(64))?)
    }
}

/// The parts of a packed value.
fn part_of(kind: Type, parts: usize) -> Result<Type, String> {
    let bits = kind.bits().checked_div(u32::try_from(parts).unwrap_or(0)).unwrap_or(0);
    match (kind.is_integer(), bits) {
        (true, 8) => Ok(Type::Bits(8)),
        (true, 16) => Ok(Type::Bits(16)),
        (true, 32) => Ok(Type::Bits(32)),
        _ => Err(format!("{parts} parts of {} bits are not modelled", kind.bits())),
    }
}

fn twice(kind: Type) -> Result<Type, String> {
    match kind {
        Type::Unsigned(bits @ (16 | 32)) => Ok(Type::Unsigned(bits * 2)),
        Type::Signed(bits @ (16 | 32)) => Ok(Type::Signed(bits * 2)),
        _ => Err("`.wide` is for 16 and 32 bits".to_owned()),
    }
}

/// Comparison, whether it is for unsigned integers only, whether for floats only.
const COMPARISONS: &[(&str, (Compare, bool, bool))] = &[
    ("eq", (Compare::Equal, false, false)),
    ("ne", (Compare::NotEqual, false, false)),
    ("lt", (Compare::Less, false, false)),
    ("le", (Compare::LessEqual, false, false)),
    ("gt", (Compare::Greater, false, false)),
    ("ge", (Compare::GreaterEqual, false, false)),
    ("lo", (Compare::Less, true, false)),
    ("ls", (Compare::LessEqual, true, false)),
    ("hi", (Compare::Greater, true, false)),
    ("hs", (Compare::GreaterEqual, true, false)),
    ("equ", (Compare::EqualUnordered, false, true)),
    ("neu", (Compare::NotEqualUnordered, false, true)),
    ("ltu", (Compare::LessUnordered, false, true)),
    ("leu", (Compare::LessEqualUnordered, false, true)),
    ("gtu", (Compare::GreaterUnordered, false, true)),
    ("geu", (Compare::GreaterEqualUnordered, false, true)),
    ("num", (Compare::Numbers, false, true)),
    ("nan", (Compare::NotNumbers, false, true)),
];
