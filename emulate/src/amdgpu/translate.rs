//! From the disassembler's text to the executable form: the control and memory instructions here, scalar and vector
//! ALU in `translate_alu.rs`. Fails closed: an operand of a wrong kind or width, or a modifier that is not
//! understood, is an error.

use super::family::{CacheBits, Generation};
use super::instruction::{Address, Condition, Counter, Format, Instruction, Operation, RegisterSet};
use super::table::{self, Memory};
use super::text::{NULL, Operand, Part, Text, VCC, Value, integer};

/// What an instruction's meaning depends on besides its text.
#[derive(Clone, Copy)]
pub(crate) struct Site<'a> {
    pub(crate) generation: Generation,
    /// 32 or 64.
    pub(crate) wave_size: u32,
    /// Byte offset of the next instruction.
    pub(crate) next: u64,
    /// Index of the instruction at a byte offset.
    pub(crate) index_of: &'a dyn Fn(u64) -> Option<usize>,
}

/// Instructions without any effect here: hazards, clauses, priorities, prefetch, and waits for things that our
/// kernels do not have (images, exports).
const NO_EFFECT: [&str; 15] = [
    "s_nop",
    "v_nop",
    "s_delay_alu",
    "s_clause",
    "s_wait_alu",
    "s_waitcnt_depctr",
    "s_setprio",
    "s_code_end",
    "s_inst_prefetch",
    "s_set_inst_prefetch_distance",
    "s_wait_samplecnt",
    "s_wait_bvhcnt",
    "s_wait_expcnt",
    "s_dcache_wb",
    "s_wait_idle",
];

/// Translates one instruction.
pub(crate) fn translate(text: &str, site: &Site<'_>) -> Result<Instruction, String> {
    let text = text.trim();
    if let Some((first, second)) = text.split_once("::") {
        return super::translate_alu::dual(first, second, site);
    }
    let (mnemonic, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    if let Some(operation) = control(mnemonic, rest.trim(), site)? {
        let mut touches = RegisterSet::default();
        match operation {
            Operation::Branch(Condition::VccZero(_), _) => touches.add_scalar(VCC, 2),
            Operation::Clock { destination } => touches.add_scalar(destination, 2),
            _ => {}
        }
        return Ok(Instruction { operation, touches });
    }
    let parsed = Text::parse(text)?;
    match table::memory(parsed.mnemonic) {
        Some(access) => memory(&access, parsed, site),
        None => super::translate_alu::alu(&parsed, site),
    }
}

fn control(mnemonic: &str, rest: &str, site: &Site<'_>) -> Result<Option<Operation>, String> {
    if NO_EFFECT.contains(&mnemonic) {
        return Ok(Some(Operation::Nothing));
    }
    let number =
        || integer(rest).and_then(|n| u32::try_from(n).ok()).ok_or_else(|| format!("`{rest}`, expected a number"));
    let wait = |counter, count| Ok(Some(Operation::Wait(vec![(counter, count)])));
    match mnemonic {
        "s_endpgm" => return Ok(Some(Operation::End)),
        "s_sleep" => return Ok(Some(Operation::Sleep(number()?))),
        "s_barrier" => return Ok(Some(Operation::Barrier)),
        "s_barrier_signal" | "s_barrier_wait" => {
            // -1 is the work-group's own barrier; the wait prints it as 16 bits.
            if !["-1", "0xffff", "65535"].contains(&rest) {
                return Err(format!("barrier `{rest}`, expected the work-group's, -1"));
            }
            return Ok(Some(if mnemonic == "s_barrier_signal" {
                Operation::BarrierSignal
            } else {
                Operation::BarrierWait
            }));
        }
        "s_sendmsg" => {
            // Frees the vector registers early; the wave ends next.
            return if rest == "sendmsg(MSG_DEALLOC_VGPRS)" {
                Ok(Some(Operation::Nothing))
            } else {
                Err(format!("message `{rest}`"))
            };
        }
        "s_sendmsg_rtn_b64" | "s_memrealtime" | "s_memtime" => return clock(rest).map(Some),
        "s_waitcnt" => return waitcnt(rest).map(Some),
        "s_waitcnt_vscnt" | "s_waitcnt_vmcnt" | "s_waitcnt_lgkmcnt" => {
            let count = rest.strip_prefix("null,").map(str::trim).and_then(integer).and_then(|n| u32::try_from(n).ok());
            let count = count.ok_or_else(|| format!("`{rest}`, expected null and a number"))?;
            return wait(
                match mnemonic {
                    "s_waitcnt_vscnt" => Counter::Store,
                    "s_waitcnt_vmcnt" => Counter::Load,
                    _ => Counter::Scalar,
                },
                count,
            );
        }
        "s_wait_loadcnt" => return wait(Counter::Load, number()?),
        "s_wait_storecnt" => return wait(Counter::Store, number()?),
        "s_wait_dscnt" => return wait(Counter::Shared, number()?),
        "s_wait_kmcnt" => return wait(Counter::Scalar, number()?),
        // Two fields: the vector counter above, group memory in the low six bits.
        "s_wait_loadcnt_dscnt" | "s_wait_storecnt_dscnt" => {
            let vector = if mnemonic == "s_wait_loadcnt_dscnt" { Counter::Load } else { Counter::Store };
            let counts = number()?;
            return Ok(Some(Operation::Wait(vec![(vector, counts >> 8 & 63), (Counter::Shared, counts & 63)])));
        }
        _ => {}
    }
    if let Some(condition) = branch_condition(mnemonic) {
        // The operand is a 16-bit signed count of words from the next instruction.
        let words = u16::try_from(number()?).map_err(|_| format!("branch distance `{rest}`"))?.cast_signed();
        let target = site.next.wrapping_add_signed(i64::from(words) * 4);
        let index =
            (site.index_of)(target).ok_or_else(|| format!("branch to {target:#x}, where no instruction starts"))?;
        return Ok(Some(Operation::Branch(condition, index)));
    }
    if let Some(bits) = cache_bits_of_control(rest) {
        if let Some(levels) = site.generation.invalidates(mnemonic, bits) {
            return Ok(Some(Operation::Invalidate(levels)));
        }
        if let Some(reach) = site.generation.writes_back(mnemonic, bits) {
            return Ok(Some(Operation::WriteBack(reach)));
        }
    }
    Ok(None)
}

fn cache_bits_of_control(rest: &str) -> Option<CacheBits> {
    let mut text = Text { mnemonic: "", operands: Vec::new(), modifiers: rest.split_whitespace().collect() };
    text.take_cache_bits().ok()
}

fn branch_condition(mnemonic: &str) -> Option<Condition> {
    Some(match mnemonic {
        "s_branch" => Condition::Always,
        "s_cbranch_scc0" => Condition::Scc(false),
        "s_cbranch_scc1" => Condition::Scc(true),
        "s_cbranch_vccz" => Condition::VccZero(true),
        "s_cbranch_vccnz" => Condition::VccZero(false),
        "s_cbranch_execz" => Condition::ExecZero(true),
        "s_cbranch_execnz" => Condition::ExecZero(false),
        _ => return None,
    })
}

/// The real-time counter: `s[8:9], sendmsg(MSG_RTN_GET_REALTIME)` or `s[8:9]`.
fn clock(rest: &str) -> Result<Operation, String> {
    let register = match rest.split_once(',') {
        None => rest,
        Some((register, message)) if message.trim() == "sendmsg(MSG_RTN_GET_REALTIME)" => register,
        Some((_, message)) => return Err(format!("message `{message}`")),
    };
    let text = Text::parse(&format!("clock {}", register.trim())).map(|text| text.exactly::<1>())??;
    match text {
        [Operand { value: Value::Scalar(destination, 2), .. }] => Ok(Operation::Clock { destination }),
        _ => Err(format!("`{register}`, expected a pair of scalar registers")),
    }
}

/// `vmcnt(0) lgkmcnt(1)`; what is not named is not waited for.
fn waitcnt(rest: &str) -> Result<Operation, String> {
    let mut waits = Vec::new();
    for part in rest.split([' ', '&']).filter(|part| !part.is_empty()) {
        let (name, count) =
            part.strip_suffix(')').and_then(|part| part.split_once('(')).ok_or_else(|| format!("wait `{part}`"))?;
        let count = integer(count).and_then(|n| u32::try_from(n).ok()).ok_or_else(|| format!("wait `{part}`"))?;
        match name {
            "vmcnt" => waits.push((Counter::Load, count)),
            "lgkmcnt" => waits.push((Counter::Scalar, count)),
            "expcnt" => {}
            _ => return Err(format!("wait `{part}`")),
        }
    }
    Ok(Operation::Wait(waits))
}

fn memory(access: &Memory, mut text: Text<'_>, site: &Site<'_>) -> Result<Instruction, String> {
    let offset = text.take_offset()?;
    let bits = text.take_cache_bits()?;
    let mut touches = RegisterSet::default();
    let operation = match access {
        Memory::ScalarLoad(words) => {
            if bits != CacheBits::default() {
                return Err("cache bits on a scalar load".to_owned());
            }
            scalar_load(*words, &text, offset, &mut touches)?
        }
        Memory::SharedLoad | Memory::SharedStore => {
            if bits != CacheBits::default() {
                return Err("cache bits on group memory".to_owned());
            }
            let offset = u32::try_from(offset).map_err(|_| "negative offset".to_owned())?;
            let [first, second] = text.exactly()?;
            let one = Format::Words(1);
            let (first, second) = (data(first, one)?, data(second, one)?);
            if matches!(access, Memory::SharedLoad) {
                touches.add_vector(second, 1);
                Operation::SharedLoad { destination: first, address: second, offset }
            } else {
                touches.add_vector(first, 1);
                touches.add_vector(second, 1);
                Operation::SharedStore { data: second, address: first, offset }
            }
        }
        Memory::Load(format) => {
            let [destination, vector, scalar] = text.exactly()?;
            let address = address(vector, scalar, offset, &mut touches)?;
            Operation::Load {
                destination: data(destination, *format)?,
                format: *format,
                address,
                scope: site.generation.load_scope(bits),
            }
        }
        Memory::Store(format) => {
            let [vector, source, scalar] = text.exactly()?;
            let address = address(vector, scalar, offset, &mut touches)?;
            let first = data(source, *format)?;
            touches.add_vector(first, registers(*format));
            Operation::Store { data: first, format: *format, address, reach: site.generation.store_reach(bits) }
        }
        Memory::Atomic { function, words, compares } => {
            let returns = site.generation.atomic_returns(bits);
            let (destination, [vector, source, scalar]) = if returns {
                let [destination, vector, source, scalar] = text.exactly()?;
                (Some(data(destination, Format::Words(*words))?), [vector, source, scalar])
            } else {
                (None, text.exactly()?)
            };
            let address = address(vector, scalar, offset, &mut touches)?;
            let count = if *compares { 2 * words } else { *words };
            let first = data(source, Format::Words(count))?;
            touches.add_vector(first, count);
            let (scope, reach) = (site.generation.atomic_scope(bits), site.generation.atomic_reach(bits));
            Operation::Atomic {
                function: *function,
                destination,
                data: first,
                words: *words,
                compares: *compares,
                address,
                scope,
                reach,
            }
        }
    };
    Ok(Instruction { operation, touches })
}

fn registers(format: Format) -> u8 {
    match format {
        Format::Words(words) => words,
        Format::Small { .. } | Format::HalfRegister(_) => 1,
    }
}

/// First register of the data of an access.
fn data(operand: Operand, format: Format) -> Result<u16, String> {
    match operand {
        Operand { value: Value::Vector(first, count, Part::Whole), negate: false, absolute: false }
            if count == registers(format) =>
        {
            Ok(first)
        }
        _ => Err(format!("data operand {:?}, expected {} vector registers", operand.value, registers(format))),
    }
}

fn address(vector: Operand, scalar: Operand, offset: i64, touches: &mut RegisterSet) -> Result<Address, String> {
    let (scalar, needed) = match scalar.value {
        Value::Off => (None, 2),
        Value::Scalar(first, 2) => {
            touches.add_scalar(first, 2);
            (Some(first), 1)
        }
        _ => return Err(format!("address {:?}, expected `off` or a pair of scalar registers", scalar.value)),
    };
    match vector.value {
        Value::Vector(first, count, Part::Whole) if count == needed => {
            touches.add_vector(first, count);
            Ok(Address { vector: first, scalar, offset })
        }
        _ => Err(format!("address {:?}, expected {needed} vector registers", vector.value)),
    }
}

fn scalar_load(words: u8, text: &Text<'_>, offset: i64, touches: &mut RegisterSet) -> Result<Operation, String> {
    let [destination, base, extra] = text.exactly()?;
    let (Value::Scalar(destination, count), Value::Scalar(base, 2)) = (destination.value, base.value) else {
        return Err("operands of a scalar load, expected scalar registers and a base pair".to_owned());
    };
    if count != words || destination.saturating_add(count) > 128 {
        return Err(format!("{count} destination registers, expected {words}"));
    }
    touches.add_scalar(destination, count);
    touches.add_scalar(base, 2);
    let (offset_register, offset) = match extra.value {
        Value::Integer(constant) => (None, constant + offset),
        Value::Scalar(NULL, 1) => (None, offset),
        Value::Scalar(register, 1) => {
            touches.add_scalar(register, 1);
            (Some(register), offset)
        }
        _ => return Err(format!("offset {:?}", extra.value)),
    };
    Ok(Operation::ScalarLoad { destination, words, base, offset_register, offset })
}
