//! From statements to operations. This file resolves names and operands; `arithmetic.rs` and `effects.rs` are the closed
//! tables of instructions.

mod arithmetic;
mod effects;
mod opcode;

use std::collections::HashMap;

use super::instruction::{Instruction, Operation, Register, Source, Special, Type};
use super::lexer::Problem;
use super::syntax::{Entry, Line, Operand, Statement, Variable, integer};
use opcode::Opcode;

/// A kernel in executable form.
#[derive(Debug, Default)]
pub(super) struct Translated {
    pub(super) instructions: Vec<Instruction>,
    /// Width of each slot of a thread's register file, bits.
    pub(super) widths: Vec<u8>,
    pub(super) argument_bytes: u64,
    pub(super) shared_bytes: u32,
}

/// What a name means.
#[derive(Clone, Copy, Debug)]
enum Name {
    Register(Register, Type),
    /// `name<count>`: registers `name0` and so on from this slot.
    Registers(Register, u32, Type),
    /// Offset in the block's shared memory.
    Shared(u64),
}

/// The names that are known at a point of a body.
#[derive(Debug, Default)]
pub(super) struct Names<'t> {
    scopes: Vec<HashMap<&'t str, Name>>,
    parameters: HashMap<&'t str, u64>,
    labels: HashMap<&'t str, usize>,
    /// Of all registers so far, in their order.
    widths: Vec<u8>,
    shared: u64,
}

/// Most shared memory that a block can have on any processor (sm_90), bytes.
const MOST_SHARED: u64 = 227 << 10;

/// Translates a kernel; `shared` are the module's variables.
pub(super) fn translate<'t>(entry: &Entry<'t>, shared: &[Variable<'t>]) -> Result<Translated, Problem> {
    let mut names = Names { scopes: vec![HashMap::new()], widths: vec![64], ..Names::default() };
    for variable in shared {
        names.declare_shared(variable)?;
    }
    let argument_bytes = names.declare_parameters(&entry.parameters)?;
    names.collect_labels(&entry.body)?;
    let mut instructions = Vec::new();
    for statement in &entry.body {
        match statement {
            Statement::Open => names.scopes.push(HashMap::new()),
            Statement::Close => {
                names.scopes.pop();
            }
            Statement::Label { .. } => {}
            Statement::Registers { line, class, name, count } => names.declare(*line, class, name, *count)?,
            Statement::Shared(variable) => names.declare_shared(variable)?,
            Statement::Instruction(line) => instructions.push(instruction(line, &names)?),
        }
    }
    Ok(Translated {
        instructions,
        widths: names.widths,
        argument_bytes,
        shared_bytes: u32::try_from(names.shared).unwrap_or(u32::MAX),
    })
}

fn instruction<'t>(line: &Line<'t>, names: &Names<'t>) -> Result<Instruction, Problem> {
    let wrong = |why: String| Problem::new(line.line, why);
    let guard = match line.guard {
        None => None,
        Some((name, negated)) => match names.register(name) {
            Some((register, Type::Predicate)) => Some((register, !negated)),
            _ => return Err(wrong(format!("`{name}` is no predicate register"))),
        },
    };
    let mut opcode = Opcode::new(line.opcode);
    let operands = &line.operands;
    let operation = match arithmetic::translate(&mut opcode, operands, names).map_err(wrong)? {
        Some(operation) => operation,
        None => effects::translate(&mut opcode, operands, names).map_err(wrong)?,
    };
    opcode.end().map_err(wrong)?;
    Ok(Instruction { guard, operation, line: line.line })
}

impl<'t> Names<'t> {
    fn collect_labels(&mut self, body: &[Statement<'t>]) -> Result<(), Problem> {
        let mut index = 0;
        for statement in body {
            match statement {
                Statement::Instruction(_) => index += 1,
                Statement::Label { line, name } if self.labels.insert(name, index).is_some() => {
                    return Err(Problem::new(*line, format!("a second label `{name}`")));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn insert(&mut self, line: u32, name: &'t str, meaning: Name) -> Result<(), Problem> {
        match self.scopes.last_mut().and_then(|scope| scope.insert(name, meaning)) {
            None => Ok(()),
            Some(_) => Err(Problem::new(line, format!("`{name}` is declared twice"))),
        }
    }

    fn declare(&mut self, line: u32, class: &str, name: &'t str, count: Option<u32>) -> Result<(), Problem> {
        let Some(class) = Type::named(class).filter(|class| *class == Type::Predicate || class.bits() >= 16) else {
            return Err(Problem::new(line, format!("registers of type `.{class}` are not modelled")));
        };
        let first = Register::try_from(self.widths.len()).unwrap_or(Register::MAX);
        let width = u8::try_from(class.bits()).unwrap_or(64);
        self.widths.extend((0..count.unwrap_or(1)).map(|_| width));
        if self.widths.len() > usize::from(Register::MAX) {
            return Err(Problem::new(line, format!("more than {} registers", Register::MAX)));
        }
        let meaning = match count {
            None => Name::Register(first, class),
            Some(count) => Name::Registers(first, count, class),
        };
        self.insert(line, name, meaning)
    }

    fn declare_shared(&mut self, variable: &Variable<'t>) -> Result<(), Problem> {
        let (offset, end) = place(variable, self.shared)?;
        if end > MOST_SHARED || variable.count == 0 {
            return Err(Problem::new(variable.line, format!("`{}`: 1 to {MOST_SHARED} bytes expected", variable.name)));
        }
        self.shared = end;
        self.insert(variable.line, variable.name, Name::Shared(offset))
    }

    /// Lays the parameters out; returns the bytes of all.
    fn declare_parameters(&mut self, parameters: &[Variable<'t>]) -> Result<u64, Problem> {
        let mut end = 0;
        for parameter in parameters {
            let (offset, next) = place(parameter, end)?;
            end = next;
            if self.parameters.insert(parameter.name, offset).is_some() {
                return Err(Problem::new(parameter.line, format!("a second parameter `{}`", parameter.name)));
            }
        }
        Ok(end)
    }

    fn lookup(&self, name: &str) -> Option<Name> {
        self.scopes.iter().rev().find_map(|scope| scope.get(name)).copied()
    }

    fn register(&self, name: &str) -> Option<(Register, Type)> {
        match self.lookup(name) {
            Some(Name::Register(register, class)) => return Some((register, class)),
            Some(_) => return None,
            None => {}
        }
        let digits = name.len() - name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        let (prefix, number) = name.split_at_checked(name.len() - digits)?;
        if number.len() > 1 && number.starts_with('0') {
            return None;
        }
        let number: u32 = number.parse().ok()?;
        match self.lookup(prefix)? {
            Name::Registers(first, count, class) if number < count => {
                Some((first.checked_add(u16::try_from(number).ok()?)?, class))
            }
            _ => None,
        }
    }

    /// A register or number to read as `kind`. Its register is as wide, or wider where the instruction allows.
    fn read(&self, operand: &Operand<'t>, kind: Type, wider: bool) -> Result<Source, String> {
        match operand {
            Operand::Number(text, negative) => {
                let bits = number(text, kind).ok_or_else(|| format!("`{text}` is no {} bit number", kind.bits()))?;
                let bits = if *negative { bits.wrapping_neg() } else { bits };
                Ok(Source::Immediate(if kind == Type::Predicate { u64::from(bits != 0) } else { mask(bits, kind) }))
            }
            Operand::Name(name) => self.register_as(name, kind, wider).map(Source::Register),
            Operand::Not(name) if kind == Type::Predicate => self.register_as(name, kind, wider).map(Source::Not),
            _ => Err("a register or a number was expected".to_owned()),
        }
    }

    fn register_as(&self, name: &str, kind: Type, wider: bool) -> Result<Register, String> {
        let Some((register, class)) = self.register(name) else {
            return Err(format!("there is no register `{name}` here"));
        };
        let fits = (class == Type::Predicate) == (kind == Type::Predicate)
            && (class.bits() == kind.bits() || wider && class.bits() > kind.bits());
        if fits { Ok(register) } else { Err(format!("`{name}` is no register for {} bits", kind.bits())) }
    }

    /// Width of a register to write, bits; that of `kind` for `_`.
    fn width(&self, operand: &Operand<'t>, kind: Type) -> u32 {
        match operand {
            Operand::Name(name) => self.register(name).map_or(kind.bits(), |(_, class)| class.bits()),
            _ => kind.bits(),
        }
    }

    /// A register to write as `kind`, or `_`.
    fn write(&self, operand: &Operand<'t>, kind: Type, wider: bool) -> Result<Register, String> {
        match operand {
            Operand::Name("_") => Ok(super::instruction::SINK),
            Operand::Name(name) => self.register_as(name, kind, wider),
            _ => Err("a register was expected".to_owned()),
        }
    }
}

fn mask(bits: u64, kind: Type) -> u64 {
    if kind.bits() >= 64 { bits } else { bits & ((1 << kind.bits()) - 1) }
}

/// A number as bits: an integer, or a 32-bit float in hexadecimal.
fn number(text: &str, kind: Type) -> Option<u64> {
    match (text.strip_prefix("0f").or(text.strip_prefix("0F")), kind.bits()) {
        (Some(digits), 32) if digits.len() == 8 => u64::from_str_radix(digits, 16).ok(),
        _ => integer(text),
    }
}

/// Offset and end of a variable that follows `end` bytes.
fn place(variable: &Variable<'_>, end: u64) -> Result<(u64, u64), Problem> {
    let wrong = |why: String| Problem::new(variable.line, format!("`{}`: {why}", variable.name));
    let size = match Type::named(variable.element) {
        Some(kind) if kind != Type::Predicate => u64::from(kind.bits() / 8),
        _ => return Err(wrong(format!("type `.{}` is not modelled", variable.element))),
    };
    let alignment = variable.alignment.unwrap_or(size).max(size);
    if !alignment.is_power_of_two() || alignment > 1024 {
        return Err(wrong(format!("alignment {alignment}")));
    }
    let offset = end.next_multiple_of(alignment);
    Ok((offset, offset + size * variable.count))
}

/// A special register by its name.
fn special(name: &str) -> Option<Source> {
    Some(match name {
        "%tid.x" => Source::Special(Special::Thread),
        "%ntid.x" => Source::Special(Special::Threads),
        "%ctaid.x" => Source::Special(Special::Block),
        "%nctaid.x" => Source::Special(Special::Blocks),
        "%laneid" => Source::Special(Special::Lane),
        "%warpid" => Source::Special(Special::Warp),
        "%globaltimer" => Source::Special(Special::GlobalTimer),
        "%globaltimer_lo" => Source::Special(Special::GlobalTimerLow),
        "%clock64" => Source::Special(Special::Clock),
        "%clock" => Source::Special(Special::ClockLow),
        // Launches are one-dimensional.
        "%tid.y" | "%tid.z" | "%ctaid.y" | "%ctaid.z" => Source::Immediate(0),
        "%ntid.y" | "%ntid.z" | "%nctaid.y" | "%nctaid.z" => Source::Immediate(1),
        _ => return None,
    })
}

/// The operation of an instruction that computes.
fn compute(
    function: super::instruction::Function,
    kind: Type,
    destination: Register,
    sources: [Source; 3],
) -> Operation {
    Operation::Compute { function, kind, destination, sources }
}
