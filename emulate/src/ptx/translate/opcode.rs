//! An opcode, taken apart at its dots and used up modifier by modifier: what nobody asked for is an error.

use crate::ptx::instruction::Type;

pub(super) struct Opcode<'t> {
    name: &'t str,
    modifiers: Vec<&'t str>,
    at: usize,
}

impl<'t> Opcode<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        let mut parts = text.split('.');
        let name = parts.next().unwrap_or("");
        Opcode { name, modifiers: parts.collect(), at: 0 }
    }

    pub(super) fn name(&self) -> &'t str {
        self.name
    }

    fn peek(&self) -> Option<&'t str> {
        self.modifiers.get(self.at).copied()
    }

    /// Whether this modifier comes next.
    pub(super) fn takes(&mut self, modifier: &str) -> bool {
        let takes = self.peek() == Some(modifier);
        self.at += usize::from(takes);
        takes
    }

    /// The next modifier's meaning, if the table has it.
    pub(super) fn takes_one<T: Copy>(&mut self, table: &[(&str, T)]) -> Option<T> {
        let next = self.peek()?;
        let (_, meaning) = table.iter().find(|(name, _)| *name == next)?;
        self.at += 1;
        Some(*meaning)
    }

    /// The next modifier, which must be in the table.
    pub(super) fn one<T: Copy>(&mut self, what: &str, table: &[(&str, T)]) -> Result<T, String> {
        self.takes_one(table).ok_or_else(|| match self.peek() {
            Some(found) => format!("`.{found}` where {what} was expected"),
            None => format!("{what} is missing"),
        })
    }

    /// The next modifier, a type that `fits`.
    pub(super) fn kind(&mut self, fits: impl Fn(Type) -> bool) -> Result<Type, String> {
        let found = self.peek().ok_or("the type is missing")?;
        self.at += 1;
        Type::named(found).filter(|kind| fits(*kind)).ok_or_else(|| format!("`.{found}` is not modelled here"))
    }

    /// All modifiers must have been used.
    pub(super) fn end(&self) -> Result<(), String> {
        self.peek().map_or(Ok(()), |left| Err(format!("modifier `.{left}` is not modelled here")))
    }
}

/// Exactly so many operands.
pub(super) fn exactly<T, const N: usize>(operands: &[T]) -> Result<&[T; N], String> {
    operands.try_into().map_err(|_| format!("{N} operands were expected, not {}", operands.len()))
}
