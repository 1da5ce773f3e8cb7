//! The disassembler's text of one instruction, taken apart: mnemonic, operands, modifiers. Whatever does not have a
//! known form is an error that names it.

use super::family::{CacheBits, ScopeBits};

/// Numbers of the special scalar registers, as the hardware encodes them (RDNA ISA, "SGPR addressing").
pub(crate) const VCC: u8 = 106;
const TTMP: u8 = 108;
pub(crate) const TTMP7: u8 = TTMP + 7;
pub(crate) const TTMP9: u8 = TTMP + 9;
pub(crate) const NULL: u8 = 124;
const M0: u8 = 125;
pub(crate) const EXEC: u8 = 126;

/// Which part of a 32-bit register an operand names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Whole,
    Low,
    High,
}

/// An operand without its modifiers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Value {
    /// First register, count of registers, part.
    Vector(u16, u8, Part),
    /// First register, count of registers.
    Scalar(u8, u8),
    /// Integer constant.
    Integer(i64),
    /// Float constant of the operand's type.
    Float(f32),
    /// `off`: no address operand.
    Off,
}

/// An operand with its source modifiers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Operand {
    pub(crate) value: Value,
    pub(crate) negate: bool,
    pub(crate) absolute: bool,
}

/// An instruction taken apart.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Text<'t> {
    /// Without encoding suffix.
    pub(crate) mnemonic: &'t str,
    pub(crate) operands: Vec<Operand>,
    pub(crate) modifiers: Vec<&'t str>,
}

impl<'t> Text<'t> {
    pub(crate) fn parse(text: &'t str) -> Result<Self, String> {
        let text = text.trim();
        let (mnemonic, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let mnemonic = mnemonic.strip_suffix("_e32").or_else(|| mnemonic.strip_suffix("_e64")).unwrap_or(mnemonic);
        let mut operands = Vec::new();
        let mut modifiers = Vec::new();
        let parts = split_operands(rest);
        for (index, part) in parts.iter().enumerate() {
            let mut words = part.split_whitespace();
            let Some(first) = words.next() else { return Err("an empty operand".to_owned()) };
            operands.push(operand(first)?);
            if index + 1 == parts.len() {
                modifiers.extend(words);
            } else if let Some(extra) = words.next() {
                return Err(format!("`{extra}` after operand {index}"));
            }
        }
        Ok(Text { mnemonic, operands, modifiers })
    }

    /// Takes the `offset:` modifier out; 0 without one.
    pub(crate) fn take_offset(&mut self) -> Result<i64, String> {
        let mut offset = 0;
        let mut error = None;
        self.modifiers.retain(|modifier| match modifier.strip_prefix("offset:") {
            None => true,
            Some(number) => {
                match integer(number) {
                    Some(value) => offset = value,
                    None => error = Some(format!("offset `{number}`")),
                }
                false
            }
        });
        error.map_or(Ok(offset), Err)
    }

    /// Takes the cache bits out of the modifiers.
    pub(crate) fn take_cache_bits(&mut self) -> Result<CacheBits, String> {
        let mut bits = CacheBits::default();
        for modifier in std::mem::take(&mut self.modifiers) {
            match modifier {
                "glc" => bits.glc = true,
                "slc" => bits.slc = true,
                "dlc" => bits.dlc = true,
                "sc0" => bits.sc0 = true,
                "sc1" => bits.sc1 = true,
                "nt" => bits.nt = true,
                "scope:SCOPE_CU" => bits.scope = ScopeBits::Cu,
                "scope:SCOPE_SE" => bits.scope = ScopeBits::Se,
                "scope:SCOPE_DEV" => bits.scope = ScopeBits::Dev,
                "scope:SCOPE_SYS" => bits.scope = ScopeBits::Sys,
                "th:TH_ATOMIC_RETURN" | "th:TH_ATOMIC_NT_RETURN" => bits.returns = true,
                // Eviction hints: they change how long a line stays, which the model leaves to chance anyway.
                "th:TH_LOAD_NT" | "th:TH_STORE_NT" | "th:TH_LOAD_HT" | "th:TH_STORE_HT" | "th:TH_LOAD_LU"
                | "th:TH_ATOMIC_NT" => {}
                other => return Err(format!("unknown modifier `{other}`")),
            }
        }
        Ok(bits)
    }

    /// No modifier may be left.
    pub(crate) fn no_more(&self) -> Result<(), String> {
        self.modifiers.first().map_or(Ok(()), |modifier| Err(format!("unknown modifier `{modifier}`")))
    }

    /// The operands, if there are exactly `N`.
    pub(crate) fn exactly<const N: usize>(&self) -> Result<[Operand; N], String> {
        self.operands.as_slice().try_into().map_err(|_| format!("{} operands, expected {N}", self.operands.len()))
    }
}

/// Splits at the commas that are in no brackets.
fn split_operands(text: &str) -> Vec<&str> {
    let mut depth = 0usize;
    let text = text.trim();
    if text.is_empty() {
        return Vec::new();
    }
    text.split(|c: char| {
        match c {
            '[' | '(' => depth += 1,
            ']' | ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    })
    .map(str::trim)
    .collect()
}

pub(crate) fn integer(text: &str) -> Option<i64> {
    match text.strip_prefix("0x") {
        Some(digits) => i64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

fn operand(text: &str) -> Result<Operand, String> {
    let unknown = || format!("unknown operand `{text}`");
    let (mut body, mut negate, mut absolute) = (text, false, false);
    if let Some(rest) = body.strip_prefix('-').filter(|rest| rest.starts_with(['v', 's', '|', 'e', 't', 'm'])) {
        (body, negate) = (rest, true);
    }
    if let Some(rest) = body.strip_prefix('|').and_then(|rest| rest.strip_suffix('|')) {
        (body, absolute) = (rest, true);
    }
    let value = if let Some(value) = register(body) {
        value
    } else if let Some(value) = integer(body) {
        Value::Integer(value)
    } else if body.contains('.') {
        Value::Float(body.parse().map_err(|_| unknown())?)
    } else {
        return Err(unknown());
    };
    Ok(Operand { value, negate, absolute })
}

fn register(text: &str) -> Option<Value> {
    let named = match text {
        "off" => return Some(Value::Off),
        "vcc" => (VCC, 2),
        "vcc_lo" => (VCC, 1),
        "vcc_hi" => (VCC + 1, 1),
        "exec" => (EXEC, 2),
        "exec_lo" => (EXEC, 1),
        "exec_hi" => (EXEC + 1, 1),
        "m0" => (M0, 1),
        "null" => (NULL, 1),
        _ => (0, 0),
    };
    if named.1 != 0 {
        return Some(Value::Scalar(named.0, named.1));
    }
    if let Some(rest) = text.strip_prefix("ttmp") {
        let (first, count) = range(rest)?;
        return (first + u16::from(count) <= 16).then_some(Value::Scalar(TTMP + u8::try_from(first).ok()?, count));
    }
    if let Some(rest) = text.strip_prefix('s') {
        let (first, count) = range(rest)?;
        return (first + u16::from(count) <= u16::from(VCC)).then_some(Value::Scalar(u8::try_from(first).ok()?, count));
    }
    let rest = text.strip_prefix('v')?;
    let (rest, part) = match (rest.strip_suffix(".l"), rest.strip_suffix(".h")) {
        (Some(rest), _) => (rest, Part::Low),
        (_, Some(rest)) => (rest, Part::High),
        _ => (rest, Part::Whole),
    };
    let (first, count) = range(rest)?;
    (first + u16::from(count) <= 256 && (part == Part::Whole || count == 1))
        .then_some(Value::Vector(first, count, part))
}

/// `7` or `[4:7]`: first register and count.
fn range(text: &str) -> Option<(u16, u8)> {
    let Some(inner) = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')) else {
        return Some((text.parse().ok().filter(|n| *n < 512)?, 1));
    };
    let (first, last) = inner.split_once(':').unwrap_or((inner, inner));
    let (first, last): (u16, u16) = (first.parse().ok()?, last.parse().ok()?);
    let count = last.checked_sub(first)?.checked_add(1)?;
    (count <= 16 && last < 512).then_some((first, u8::try_from(count).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_instructions_apart() {
        let text = Text::parse("v_lshlrev_b16 v1.h, 2, v42.l op_sel:[0,0,1]").unwrap();
        assert_eq!(text.mnemonic, "v_lshlrev_b16");
        assert_eq!(
            text.operands.iter().map(|operand| operand.value).collect::<Vec<_>>(),
            [Value::Vector(1, 1, Part::High), Value::Integer(2), Value::Vector(42, 1, Part::Low)]
        );
        assert_eq!(text.modifiers, ["op_sel:[0,0,1]"]);
        let mut text = Text::parse("global_load_b128 v[10:13], v[1:2], off offset:-4096 glc").unwrap();
        assert_eq!(text.take_offset(), Ok(-4096));
        assert!(text.take_cache_bits().unwrap().glc);
        let text = Text::parse("v_add_f32_e64 v0, -|v1|, 1.0").unwrap();
        assert!(text.operands[1].negate && text.operands[1].absolute);
        assert_eq!(text.operands[2].value, Value::Float(1.0));
    }

    #[test]
    fn refuses_what_it_does_not_know() {
        for text in [
            "v_mov_b32 v0, src_shared_base",
            "v_mov_b32 v0, v[3:1]",
            "v_mov_b32 v300, 0",
            "v_mov_b32 v0 x, v1",
            "v_mov_b32 v0,, v1",
        ] {
            assert!(Text::parse(text).is_err(), "{text}");
        }
        assert!(Text::parse("global_load_b32 v0, v1, s[0:1] tfe").unwrap().take_cache_bits().is_err());
    }
}
