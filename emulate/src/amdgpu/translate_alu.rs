//! Scalar and vector ALU instructions to their executable form (`translate.rs`).

use super::family::Generation;
use super::float;
use super::instruction::{FloatType, Instruction, Map, Mask, Operation, RegisterSet, Source, VectorSource, Width};
use super::table::{self, MapRow, Scalar, Vector};
use super::text::{EXEC, NULL, Operand, Part, Text, VCC, Value, integer};
use super::translate::Site;

/// Translates an ALU instruction.
pub(super) fn alu(text: &Text<'_>, site: &Site<'_>) -> Result<Instruction, String> {
    let mut touches = RegisterSet::default();
    let operation = if let Some(operation) = table::scalar(text.mnemonic) {
        text.no_more()?;
        scalar(&operation, text, &mut touches)?
    } else {
        let (mnemonic, sdwa) =
            text.mnemonic.strip_suffix("_sdwa").map_or((text.mnemonic, false), |mnemonic| (mnemonic, true));
        let operation = table::vector(mnemonic).ok_or("unknown instruction")?;
        let selection = Selection::read(text, sdwa)?;
        vector(&operation, text, &selection, site, &mut touches)?
    };
    Ok(Instruction { operation, touches })
}

/// VOPD: two operations that read their sources before either writes.
pub(super) fn dual(first: &str, second: &str, site: &Site<'_>) -> Result<Instruction, String> {
    let mut touches = RegisterSet::default();
    let mut half = |text: &str| {
        let text = text.trim();
        let text = Text::parse(text.strip_prefix("v_dual_").ok_or("half of a pair that is not v_dual_*")?)?;
        let mnemonic = format!("v_{}", text.mnemonic);
        let operation = table::vector(&mnemonic).ok_or("unknown instruction")?;
        let selection = Selection::read(&text, false)?;
        vector(&operation, &text, &selection, site, &mut touches)
    };
    let operation = Operation::Dual(Box::new((half(first)?, half(second)?)));
    Ok(Instruction { operation, touches })
}

// ---- operands ----

/// A scalar operand of a width.
fn scalar_source(operand: Operand, width: Width, touches: &mut RegisterSet) -> Result<Source, String> {
    if operand.negate || operand.absolute {
        return Err("a sign modifier on a scalar operand".to_owned());
    }
    let count = if width == Width::Double { 2 } else { 1 };
    match operand.value {
        Value::Scalar(first, found) if found == count || first == NULL => {
            touches.add_scalar(first, count);
            Ok(Source::Scalar(first))
        }
        Value::Integer(_) | Value::Float(_) => constant(operand.value, width, FloatType::None).map(Source::Constant),
        other => Err(format!("operand {other:?}, expected {count} scalar registers or a constant")),
    }
}

fn scalar_destination(operand: Operand, width: Width, touches: &mut RegisterSet) -> Result<u8, String> {
    match scalar_source(operand, width, touches)? {
        Source::Scalar(first) => Ok(first),
        _ => Err("a constant as destination".to_owned()),
    }
}

/// Bits of a constant for an operand of a width.
fn constant(value: Value, width: Width, float: FloatType) -> Result<u64, String> {
    let wrong = || Err(format!("constant {value:?} for an operand of {width:?}"));
    match (value, width) {
        (Value::Integer(n), Width::Double) => {
            // Inline constants are sign-extended. A literal has 32 bits, and which extension it gets depends on the
            // instruction; below 2^31 there is only one.
            if (-16..=0x7FFF_FFFF).contains(&n) { Ok(n.cast_unsigned()) } else { wrong() }
        }
        (Value::Integer(n), Width::Word) => {
            if let Ok(n) = u32::try_from(n) {
                Ok(u64::from(n))
            } else {
                i32::try_from(n).map_or_else(|_| wrong(), |n| Ok(u64::from(n.cast_unsigned())))
            }
        }
        (Value::Integer(n), Width::Half) => {
            if let Ok(n) = u16::try_from(n) {
                Ok(u64::from(n))
            } else {
                i16::try_from(n).map_or_else(|_| wrong(), |n| Ok(u64::from(n.cast_unsigned())))
            }
        }
        (Value::Float(x), Width::Word) => {
            // A 16-bit source in a 32-bit row does not exist; packed rows would need both halves.
            if float == FloatType::Half { wrong() } else { Ok(u64::from(x.to_bits())) }
        }
        (Value::Float(x), Width::Half) => Ok(u64::from(float::single_to_half(x.to_bits()))),
        _ => wrong(),
    }
}

/// A vector operand of a width.
fn vector_source(
    operand: Operand,
    width: Width,
    float: FloatType,
    touches: &mut RegisterSet,
) -> Result<VectorSource, String> {
    let count = if width == Width::Double { 2 } else { 1 };
    let (from, part) = match operand.value {
        Value::Vector(first, found, part) if found == count => {
            if part != Part::Whole && width != Width::Half {
                return Err("half of a register for a whole operand".to_owned());
            }
            touches.add_vector(first, count);
            (Source::Vector(first), part)
        }
        Value::Scalar(first, found) if found == count || first == NULL => {
            touches.add_scalar(first, count);
            (Source::Scalar(first), Part::Whole)
        }
        Value::Integer(_) | Value::Float(_) => (Source::Constant(constant(operand.value, width, float)?), Part::Whole),
        other => return Err(format!("operand {other:?}, expected {count} registers or a constant")),
    };
    if (operand.negate || operand.absolute) && float == FloatType::None {
        return Err("a sign modifier on an operand that is no float".to_owned());
    }
    Ok(VectorSource { from, part, negate: operand.negate, absolute: operand.absolute })
}

fn vector_destination(operand: Operand, width: Width, touches: &mut RegisterSet) -> Result<(u16, Part), String> {
    let count = if width == Width::Double { 2 } else { 1 };
    match operand.value {
        Value::Vector(first, found, part) if found == count && (part == Part::Whole || width == Width::Half) => {
            touches.add_vector(first, count);
            Ok((first, part))
        }
        other => Err(format!("destination {other:?}, expected {count} vector registers")),
    }
}

/// A lane mask in scalar registers: one for a wave of 32, two for one of 64.
fn mask_operand(operand: Operand, site: &Site<'_>, touches: &mut RegisterSet) -> Result<u8, String> {
    let count = if site.wave_size == 64 { 2 } else { 1 };
    match operand.value {
        Value::Scalar(first, found) if found == count || first == NULL => {
            touches.add_scalar(first, count);
            Ok(first)
        }
        other => Err(format!("lane mask {other:?}, expected {count} scalar registers")),
    }
}

// ---- parts of registers ----

/// Which halves of registers the modifiers select: `op_sel`, `op_sel_hi`, or the selectors of SDWA.
#[derive(Debug, Default)]
struct Selection {
    op_sel: Option<Vec<bool>>,
    op_sel_hi: Option<Vec<bool>>,
    sdwa_sources: [Option<Part>; 2],
    sdwa_destination: Option<Part>,
    sdwa_preserves: bool,
}

impl Selection {
    fn read(text: &Text<'_>, sdwa: bool) -> Result<Self, String> {
        let mut selection = Selection::default();
        for modifier in &text.modifiers {
            let unknown = || format!("unknown modifier `{modifier}`");
            let (name, value) = modifier.split_once(':').ok_or_else(unknown)?;
            match (name, sdwa) {
                ("op_sel", false) => selection.op_sel = Some(bit_list(value).ok_or_else(unknown)?),
                ("op_sel_hi", false) => selection.op_sel_hi = Some(bit_list(value).ok_or_else(unknown)?),
                ("src0_sel", true) => selection.sdwa_sources[0] = sdwa_part(value).ok_or_else(unknown)?,
                ("src1_sel", true) => selection.sdwa_sources[1] = sdwa_part(value).ok_or_else(unknown)?,
                ("dst_sel", true) => selection.sdwa_destination = sdwa_part(value).ok_or_else(unknown)?,
                ("dst_unused", true) if value == "UNUSED_PRESERVE" => selection.sdwa_preserves = true,
                ("dst_unused", true) if value == "UNUSED_PAD" => {}
                _ => return Err(unknown()),
            }
        }
        Ok(selection)
    }

    fn none(&self) -> Result<(), String> {
        if self.op_sel.is_some()
            || self.op_sel_hi.is_some()
            || self.sdwa_sources != [None; 2]
            || self.sdwa_destination.is_some()
        {
            return Err("a half is selected where this instruction has none".to_owned());
        }
        Ok(())
    }

    /// The part that operand `index` (the destination last) of a row of `operands` uses.
    fn part(&self, index: usize, operands: usize, named: Part, width: Width) -> Result<Part, String> {
        let Some(bits) = &self.op_sel else { return Ok(named) };
        if bits.len() != operands {
            return Err(format!("op_sel of {} bits, expected {operands}", bits.len()));
        }
        let high = bits.get(index).copied().unwrap_or(false);
        match (width, named, high) {
            (Width::Half, Part::Whole, true) | (Width::Half, Part::High, true) => Ok(Part::High),
            (Width::Half, Part::Low, false) | (_, Part::Whole, false) => Ok(named),
            _ => Err("op_sel contradicts an operand".to_owned()),
        }
    }
}

fn bit_list(text: &str) -> Option<Vec<bool>> {
    let inner = text.strip_prefix('[')?.strip_suffix(']')?;
    inner.split(',').map(|bit| integer(bit.trim()).filter(|bit| *bit == 0 || *bit == 1).map(|bit| bit == 1)).collect()
}

/// An SDWA selector: the outer option is none for one that is not supported, the inner one for the whole register.
fn sdwa_part(text: &str) -> Option<Option<Part>> {
    match text {
        "DWORD" => Some(None),
        "WORD_0" => Some(Some(Part::Low)),
        "WORD_1" => Some(Some(Part::High)),
        _ => None,
    }
}

// ---- instructions ----

fn scalar(operation: &Scalar, text: &Text<'_>, touches: &mut RegisterSet) -> Result<Operation, String> {
    Ok(match *operation {
        Scalar::Unary { function, width, source, sets_scc } => {
            let [destination, operand] = text.exactly()?;
            Operation::ScalarUnary {
                function,
                destination: scalar_destination(destination, width, touches)?,
                width,
                source: scalar_source(operand, source, touches)?,
                source_width: source,
                sets_scc,
            }
        }
        Scalar::Binary { function, width, sources, sets_scc } => {
            let [destination, a, b] = text.exactly()?;
            Operation::ScalarBinary {
                function,
                destination: scalar_destination(destination, width, touches)?,
                width,
                sources: [
                    (scalar_source(a, sources[0], touches)?, sources[0]),
                    (scalar_source(b, sources[1], touches)?, sources[1]),
                ],
                sets_scc,
            }
        }
        Scalar::WithConstant { function, sets_scc } => {
            let [destination, value] = text.exactly()?;
            let destination = scalar_destination(destination, Width::Word, touches)?;
            let sources = [(Source::Scalar(destination), Width::Word), (signed16(value)?, Width::Word)];
            Operation::ScalarBinary { function, destination, width: Width::Word, sources, sets_scc }
        }
        Scalar::Compare { function, width } => {
            let [a, b] = text.exactly()?;
            let first = scalar_source(a, width, touches)?;
            // A bit number is 32 bits wide whatever is tested; a 16-bit constant is signed in the i32 forms.
            let second = if text.mnemonic.starts_with("s_cmpk_") && text.mnemonic.ends_with("_i32") {
                signed16(b)?
            } else {
                scalar_source(b, width, touches)?
            };
            Operation::ScalarCompare { function, sources: [first, second], width }
        }
        Scalar::SaveExec { function, width } => {
            let [destination, source] = text.exactly()?;
            let destination = scalar_destination(destination, width, touches)?;
            Operation::SaveExec { function, destination, source: scalar_source(source, width, touches)?, width }
        }
    })
}

/// A 16-bit constant of an SOPK instruction, sign-extended.
fn signed16(operand: Operand) -> Result<Source, String> {
    let Value::Integer(n) = operand.value else { return Err("expected a 16-bit constant".to_owned()) };
    let value = u16::try_from(n)
        .map(u16::cast_signed)
        .or_else(|_| i16::try_from(n))
        .map_err(|_| format!("constant {n}, expected 16 bits"))?;
    Ok(Source::Constant(u64::from(i32::from(value).cast_unsigned())))
}

fn vector(
    operation: &Vector,
    text: &Text<'_>,
    selection: &Selection,
    site: &Site<'_>,
    touches: &mut RegisterSet,
) -> Result<Operation, String> {
    match operation {
        Vector::Map(row) => return map(row, text, selection, site.generation, touches).map(Operation::Map),
        Vector::FusedMix => return fused_mix(text, selection, touches),
        Vector::Compare { width: Width::Half, .. } | Vector::Select(Width::Half) | Vector::PackedMove => {}
        _ => selection.none()?,
    }
    Ok(match operation {
        Vector::Map(_) | Vector::FusedMix => return Err("unknown instruction".to_owned()),
        Vector::MapDouble { function, sources: widths } => {
            let Some((destination, operands)) = text.operands.split_first() else {
                return Err("no operands".to_owned());
            };
            if operands.len() != widths.len() {
                return Err(format!("{} sources, expected {}", operands.len(), widths.len()));
            }
            let (destination, _) = vector_destination(*destination, Width::Double, touches)?;
            let mut sources = [(UNUSED, Width::Word); 3];
            for ((slot, operand), width) in sources.iter_mut().zip(operands).zip(*widths) {
                *slot = (vector_source(*operand, *width, FloatType::None, touches)?, *width);
            }
            Operation::MapDouble { function: *function, destination, sources }
        }
        Vector::PackedMove => {
            let [destination, a, b] = text.exactly()?;
            let high = match selection.op_sel.as_deref() {
                None => [false; 2],
                Some([a, b]) => [*a, *b],
                Some(_) => return Err("op_sel of another length than 2".to_owned()),
            };
            let (destination, _) = vector_destination(destination, Width::Double, touches)?;
            let mut source = |operand| {
                Ok::<_, String>((vector_source(operand, Width::Double, FloatType::None, touches)?, Width::Double))
            };
            let sources = [source(a)?, source(b)?, (UNUSED, Width::Word)];
            Operation::MapDouble { function: table::packed_move(high), destination, sources }
        }
        Vector::Compare { function, width, float, sets_exec } => {
            let (destination, [a, b]) = compare_operands(text, *sets_exec, site, touches)?;
            let mut sources = [vector_source(a, *width, *float, touches)?, vector_source(b, *width, *float, touches)?];
            for (index, source) in sources.iter_mut().enumerate() {
                source.part = selection.part(index, 3, source.part, *width)?;
            }
            Operation::Compare { function: *function, destination, sources, flushes: *float == FloatType::Single }
        }
        Vector::CompareDouble { function, sets_exec } => {
            let (destination, [a, b]) = compare_operands(text, *sets_exec, site, touches)?;
            let sources = [
                vector_source(a, Width::Double, FloatType::None, touches)?,
                vector_source(b, Width::Double, FloatType::None, touches)?,
            ];
            Operation::CompareDouble { function: *function, destination, sources }
        }
        Vector::Carry { function, takes_carry } => {
            let (operands, carry_in) = if *takes_carry {
                let [destination, out, a, b, carry] = text.exactly()?;
                ([destination, out, a, b], Some(mask_operand(carry, site, touches)?))
            } else {
                (text.exactly()?, None)
            };
            let [destination, out, a, b] = operands;
            let (destination, _) = vector_destination(destination, Width::Word, touches)?;
            let carry_out = mask_operand(out, site, touches)?;
            let sources = [
                vector_source(a, Width::Word, FloatType::None, touches)?,
                vector_source(b, Width::Word, FloatType::None, touches)?,
            ];
            Operation::Carry { function: *function, destination, carry_out, carry_in, sources }
        }
        Vector::MultiplyAdd => {
            let [destination, out, a, b, c] = text.exactly()?;
            let (destination, _) = vector_destination(destination, Width::Double, touches)?;
            let carry_out = mask_operand(out, site, touches)?;
            let mut source = |operand, width| vector_source(operand, width, FloatType::None, touches);
            let sources = [source(a, Width::Word)?, source(b, Width::Word)?, source(c, Width::Double)?];
            Operation::MultiplyAdd { destination, carry_out, sources }
        }
        Vector::Select(width) => {
            // Without a mask operand (VOPD) it is VCC.
            let (operands, mask) = match text.exactly() {
                Ok([destination, a, b, mask]) => ([destination, a, b], mask_operand(mask, site, touches)?),
                Err(_) => (text.exactly()?, VCC),
            };
            touches.add_scalar(mask, 1);
            let [destination, a, b] = operands;
            let (destination, part) = vector_destination(destination, *width, touches)?;
            let float = if *width == Width::Half { FloatType::Half } else { FloatType::Single };
            let mut sources = [vector_source(a, *width, float, touches)?, vector_source(b, *width, float, touches)?];
            for (index, source) in sources.iter_mut().enumerate() {
                source.part = selection.part(index, 4, source.part, *width)?;
            }
            let part = selection.part(3, 4, part, *width)?;
            let part = if *width == Width::Half && part == Part::Whole { Part::Low } else { part };
            Operation::Select { destination, part, mask, sources }
        }
        Vector::MaskCount { high } => {
            let [destination, a, b] = text.exactly()?;
            let (destination, _) = vector_destination(destination, Width::Word, touches)?;
            let sources = [
                vector_source(a, Width::Word, FloatType::None, touches)?,
                vector_source(b, Width::Word, FloatType::None, touches)?,
            ];
            Operation::MaskCount { destination, sources, high: *high }
        }
        Vector::ReadFirstLane => {
            let [destination, source] = text.exactly()?;
            let destination = scalar_destination(destination, Width::Word, touches)?;
            Operation::ReadFirstLane {
                destination,
                source: vector_source(source, Width::Word, FloatType::None, touches)?,
            }
        }
        Vector::ReadLane => {
            let [destination, source, lane] = text.exactly()?;
            let destination = scalar_destination(destination, Width::Word, touches)?;
            let (source, _) = vector_destination(source, Width::Word, touches)?;
            Operation::ReadLane { destination, source, lane: scalar_source(lane, Width::Word, touches)? }
        }
        Vector::WriteLane => {
            let [destination, source, lane] = text.exactly()?;
            let (destination, _) = vector_destination(destination, Width::Word, touches)?;
            let source = scalar_source(source, Width::Word, touches)?;
            Operation::WriteLane { destination, source, lane: scalar_source(lane, Width::Word, touches)? }
        }
    })
}

const UNUSED: VectorSource =
    VectorSource { from: Source::Constant(0), part: Part::Whole, negate: false, absolute: false };

fn map(
    row: &MapRow,
    text: &Text<'_>,
    selection: &Selection,
    generation: Generation,
    touches: &mut RegisterSet,
) -> Result<Map, String> {
    let Some((destination, operands)) = text.operands.split_first() else { return Err("no operands".to_owned()) };
    if operands.len() != row.sources.len() {
        return Err(format!("{} sources, expected {}", operands.len(), row.sources.len()));
    }
    if row.packed {
        let all = |bits: &Option<Vec<bool>>, default| bits.iter().flatten().all(|bit| *bit == default);
        if !all(&selection.op_sel, false)
            || !all(&selection.op_sel_hi, true)
            || operands.iter().any(|operand| operand.negate || operand.absolute)
        {
            return Err("packed operands in another than their usual order".to_owned());
        }
    } else if selection.op_sel_hi.is_some() {
        return Err("unknown modifier `op_sel_hi`".to_owned());
    }
    let (register, named) = vector_destination(*destination, row.result, touches)?;
    let mut sources = [UNUSED; 3];
    for (index, ((slot, operand), width)) in sources.iter_mut().zip(operands).zip(row.sources).enumerate() {
        *slot = vector_source(*operand, *width, row.float, touches)?;
        if let Some(part) = selection.sdwa_sources.get(index).copied().flatten() {
            slot.part = part;
        } else if !row.packed {
            slot.part = selection.part(index, operands.len() + 1, slot.part, *width)?;
        }
        if *width == Width::Half && slot.part == Part::Whole {
            slot.part = Part::Low;
        }
    }
    let mut part =
        if row.packed { named } else { selection.part(operands.len(), operands.len() + 1, named, row.result)? };
    let mut clears = false;
    if let Some(selected) = selection.sdwa_destination {
        (part, clears) = (selected, !selection.sdwa_preserves);
    } else if row.result == Width::Half && part == Part::Whole {
        (part, clears) = (Part::Low, !generation.keeps_upper_half());
    }
    let flushes = row.float == FloatType::Single;
    Ok(Map { function: row.function, destination: register, part, clears, sources, flushes })
}

fn compare_operands(
    text: &Text<'_>,
    sets_exec: bool,
    site: &Site<'_>,
    touches: &mut RegisterSet,
) -> Result<(Mask, [Operand; 2]), String> {
    if sets_exec {
        if site.generation.is_gfx9() {
            return Err("v_cmpx with a second destination".to_owned());
        }
        let operands = match text.exactly() {
            // The e64 form of some disassemblers names exec.
            Ok([Operand { value: Value::Scalar(EXEC, _), .. }, a, b]) => [a, b],
            _ => text.exactly()?,
        };
        return Ok((Mask::Exec, operands));
    }
    let [destination, a, b] = text.exactly()?;
    Ok((Mask::Scalar(mask_operand(destination, site, touches)?), [a, b]))
}

/// `v_fma_mix_f32`: op_sel_hi says which sources are halves, op_sel which half.
fn fused_mix(text: &Text<'_>, selection: &Selection, touches: &mut RegisterSet) -> Result<Operation, String> {
    let [destination, a, b, c] = text.exactly()?;
    let (destination, _) = vector_destination(destination, Width::Word, touches)?;
    let bit = |bits: &Option<Vec<bool>>, index: usize| {
        bits.as_ref().and_then(|bits| bits.get(index)).copied().unwrap_or(false)
    };
    let mut sources = [(UNUSED, false); 3];
    for (index, (slot, operand)) in sources.iter_mut().zip([a, b, c]).enumerate() {
        let half = bit(&selection.op_sel_hi, index);
        let width = if half { Width::Half } else { Width::Word };
        let mut source = vector_source(operand, width, FloatType::Single, touches)?;
        if half && source.part == Part::Whole {
            source.part = if bit(&selection.op_sel, index) { Part::High } else { Part::Low };
        }
        *slot = (source, half);
    }
    Ok(Operation::FusedMix { destination, sources })
}
