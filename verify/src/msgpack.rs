//! A forward-only MessagePack cursor over borrowed bytes, on top of `rmp`.
//!
//! Nothing is built: metadata of one library can describe more than 100,000 kernels. Values that
//! nobody asks for are skipped without recursion, so nesting in hostile input costs no stack.

use rmp::Marker;
use rmp::decode::{self, RmpRead};

use crate::error::ReadError;

/// Position in a MessagePack text.
pub(crate) struct Cursor<'a> {
    rest: &'a [u8],
    what: &'static str,
}

impl<'a> Cursor<'a> {
    /// Starts at the first byte of `bytes`; `what` names the text in errors.
    pub(crate) fn new(bytes: &'a [u8], what: &'static str) -> Self {
        Self { rest: bytes, what }
    }

    fn malformed(&self, expected: &str) -> ReadError {
        let left = self.rest.len();
        ReadError::malformed(self.what, format!("expected {expected}, {left} bytes before its end"))
    }

    /// Number of pairs of the map that starts here.
    pub(crate) fn map(&mut self) -> Result<u32, ReadError> {
        decode::read_map_len(&mut self.rest).map_err(|_| self.malformed("a map"))
    }

    /// Number of elements of the array that starts here.
    pub(crate) fn array(&mut self) -> Result<u32, ReadError> {
        decode::read_array_len(&mut self.rest).map_err(|_| self.malformed("an array"))
    }

    /// The string that starts here.
    pub(crate) fn string(&mut self) -> Result<&'a str, ReadError> {
        std::str::from_utf8(self.word()?).map_err(|_| self.malformed("a string in UTF-8"))
    }

    /// The string that starts here, unvalidated: for words that are compared with known ones.
    pub(crate) fn word(&mut self) -> Result<&'a [u8], ReadError> {
        // Short strings are nearly all there is: a note can hold millions of keys.
        if let Some((first @ 0xa0..=0xbf, rest)) = self.rest.split_first() {
            self.rest = rest;
            return self.take(u64::from(first & 0x1f));
        }
        let length = decode::read_str_len(&mut self.rest).map_err(|_| self.malformed("a string"))?;
        self.take(u64::from(length))
    }

    /// The unsigned integer that starts here.
    pub(crate) fn unsigned(&mut self) -> Result<u64, ReadError> {
        decode::read_int(&mut self.rest).map_err(|_| self.malformed("an unsigned integer"))
    }

    /// As [`Self::unsigned`], for quantities that fit 32 bits in any sane text.
    pub(crate) fn unsigned32(&mut self) -> Result<u32, ReadError> {
        let value = self.unsigned()?;
        u32::try_from(value).map_err(|_| self.malformed("an integer of 32 bits"))
    }

    /// The truth value that starts here; 0 and 1 count too, as old compilers wrote them.
    pub(crate) fn truth(&mut self) -> Result<bool, ReadError> {
        match self.rest.first() {
            Some(0xc2) => {
                self.take(1)?;
                Ok(false)
            }
            Some(0xc3) => {
                self.take(1)?;
                Ok(true)
            }
            _ => Ok(self.unsigned()? != 0),
        }
    }

    /// Passes over one value, whatever it holds.
    pub(crate) fn skip(&mut self) -> Result<(), ReadError> {
        let mut left = 1u64;
        while left > 0 {
            left = left.saturating_sub(1).saturating_add(self.skip_head()?);
        }
        Ok(())
    }

    /// Passes over a scalar, or over the head of a collection: then returns how many values follow.
    fn skip_head(&mut self) -> Result<u64, ReadError> {
        match self.rest.split_first() {
            // The usual values: small integers and short strings.
            Some((0..=0x7f, rest)) => {
                self.rest = rest;
                return Ok(0);
            }
            Some((0xa0..=0xbf, _)) => return self.word().map(|_| 0),
            _ => {}
        }
        let marker = decode::read_marker(&mut self.rest).map_err(|_| self.malformed("another value"))?;
        let payload = match marker {
            Marker::FixPos(_) | Marker::FixNeg(_) | Marker::Null | Marker::True | Marker::False => 0,
            Marker::U8 | Marker::I8 => 1,
            Marker::U16 | Marker::I16 => 2,
            Marker::U32 | Marker::I32 | Marker::F32 => 4,
            Marker::U64 | Marker::I64 | Marker::F64 => 8,
            Marker::FixStr(length) => u64::from(length),
            Marker::Str8 | Marker::Bin8 => self.length(1)?,
            Marker::Str16 | Marker::Bin16 => self.length(2)?,
            Marker::Str32 | Marker::Bin32 => self.length(4)?,
            Marker::FixExt1 => 2,
            Marker::FixExt2 => 3,
            Marker::FixExt4 => 5,
            Marker::FixExt8 => 9,
            Marker::FixExt16 => 17,
            Marker::Ext8 => self.length(1)? + 1,
            Marker::Ext16 => self.length(2)? + 1,
            Marker::Ext32 => self.length(4)? + 1,
            Marker::FixArray(count) => return Ok(u64::from(count)),
            Marker::Array16 => return self.length(2),
            Marker::Array32 => return self.length(4),
            Marker::FixMap(count) => return Ok(2 * u64::from(count)),
            Marker::Map16 => return Ok(2 * self.length(2)?),
            Marker::Map32 => return Ok(2 * self.length(4)?),
            Marker::Reserved => return Err(self.malformed("a value, not the reserved byte 0xc1")),
        };
        self.take(payload)?;
        Ok(0)
    }

    /// A big-endian length of `width` bytes.
    fn length(&mut self, width: u8) -> Result<u64, ReadError> {
        let read = match width {
            1 => self.rest.read_data_u8().map(u64::from),
            2 => self.rest.read_data_u16().map(u64::from),
            _ => self.rest.read_data_u32().map(u64::from),
        };
        read.map_err(|_| self.malformed("a length"))
    }

    fn take(&mut self, length: u64) -> Result<&'a [u8], ReadError> {
        let split = usize::try_from(length).ok().and_then(|length| self.rest.split_at_checked(length));
        let (head, tail) = split.ok_or_else(|| self.malformed(&format!("{length} bytes more")))?;
        self.rest = tail;
        Ok(head)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skips_every_kind_of_value() {
        let mut text = Vec::new();
        rmp::encode::write_map_len(&mut text, 2).unwrap();
        rmp::encode::write_str(&mut text, &"x".repeat(300)).unwrap();
        rmp::encode::write_array_len(&mut text, 20).unwrap();
        for _ in 0..4 {
            rmp::encode::write_f64(&mut text, 1.5).unwrap();
            rmp::encode::write_sint(&mut text, -70_000).unwrap();
            rmp::encode::write_bin(&mut text, &[1, 2, 3]).unwrap();
            rmp::encode::write_nil(&mut text).unwrap();
            rmp::encode::write_bool(&mut text, true).unwrap();
        }
        rmp::encode::write_uint(&mut text, 1 << 40).unwrap();
        rmp::encode::write_ext_meta(&mut text, 4, 9).unwrap();
        text.extend_from_slice(&[0; 4]);
        rmp::encode::write_str(&mut text, "after").unwrap();
        let mut cursor = Cursor::new(&text, "test");
        cursor.skip().unwrap();
        assert_eq!(cursor.string().unwrap(), "after");
    }

    #[test]
    fn a_tower_of_arrays_neither_overflows_nor_hangs() {
        let tower = vec![0x91u8; 3_000_000];
        assert!(Cursor::new(&tower, "test").skip().is_err());
        // An array of 2^32 - 1 elements that are not there.
        assert!(Cursor::new(&[0xdd, 0xff, 0xff, 0xff, 0xff], "test").skip().is_err());
    }

    #[test]
    fn refuses_the_wrong_kind() {
        assert!(Cursor::new(&[0x01], "test").string().is_err());
        assert!(Cursor::new(&[0xa1, 0xff], "test").string().is_err());
        assert!(Cursor::new(&[0xff], "test").unsigned().is_err());
        assert!(Cursor::new(&[], "test").map().is_err());
    }
}
