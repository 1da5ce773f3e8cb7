//! Little-endian fields at an offset of untrusted bytes.

/// Copies `N` bytes from `at`.
fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}

pub(crate) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    array(bytes, at).map(u16::from_le_bytes)
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    array(bytes, at).map(u32::from_le_bytes)
}

pub(crate) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    array(bytes, at).map(u64::from_le_bytes)
}

/// `length` bytes from `at`, both as files state them.
pub(crate) fn slice(bytes: &[u8], at: u64, length: u64) -> Option<&[u8]> {
    let at = usize::try_from(at).ok()?;
    let length = usize::try_from(length).ok()?;
    bytes.get(at..)?.get(..length)
}

/// Longest string that is believed; a table without NUL would be read once for each of its users.
const STRING_BYTES: usize = 4096;

/// Bytes up to the first NUL from `at`, as text; `None` too if that is more than 4096 bytes away.
pub(crate) fn c_string(bytes: &[u8], at: u64) -> Option<String> {
    let rest = bytes.get(usize::try_from(at).ok()?..)?;
    let rest = rest.get(..rest.len().min(STRING_BYTES))?;
    let end = rest.iter().position(|byte| *byte == 0)?;
    Some(String::from_utf8_lossy(rest.get(..end)?).into_owned())
}

/// Number of zero bytes at the start.
pub(crate) fn zeros(bytes: &[u8]) -> usize {
    // Sections are padded to pages: eight at a time.
    let (chunks, _) = bytes.as_chunks::<8>();
    let whole = chunks.iter().take_while(|chunk| **chunk == [0; 8]).count() * 8;
    let rest = bytes.get(whole..).unwrap_or(&[]);
    whole + rest.iter().take_while(|byte| **byte == 0).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_outside_are_none() {
        let bytes = [1, 2, 3, 4, 5, 6, 7, 8];
        assert_eq!(u16_at(&bytes, 0), Some(0x0201));
        assert_eq!(u32_at(&bytes, 5), None);
        assert_eq!(u64_at(&bytes, 0), Some(0x0807_0605_0403_0201));
        assert_eq!(u64_at(&bytes, usize::MAX), None);
        assert_eq!(slice(&bytes, 6, 2), Some(&bytes[6..]));
        assert_eq!(slice(&bytes, 6, u64::MAX), None);
        assert_eq!(slice(&bytes, u64::MAX, 1), None);
        assert_eq!(c_string(b"ab\0c", 0).as_deref(), Some("ab"));
        assert_eq!(c_string(b"ab\0c", 3), None);
        assert_eq!(c_string(&[&[b'a'; STRING_BYTES][..], &[0]].concat(), 0), None);
    }

    #[test]
    fn zeros_count_every_byte() {
        for length in 0..40 {
            let mut bytes = vec![0u8; length];
            assert_eq!(zeros(&bytes), length);
            bytes.push(1);
            bytes.push(0);
            assert_eq!(zeros(&bytes), length);
        }
    }
}
