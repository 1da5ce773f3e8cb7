//! Declarations of PTX parameters and variables: name, size, offset.
//!
//! Source: NVIDIA, "PTX ISA", State Spaces, Types and Variables. Parameters of an entry lie one
//! after the other, each at its natural or declared alignment.

use super::lexer::{Lexer, Token};
use super::{WHAT, is_name};
use crate::error::ReadError;
use crate::model::Argument;

/// One declaration as read, before it gets an offset.
#[derive(Debug, Default)]
struct Declaration<'a> {
    type_name: Option<&'a str>,
    space: Option<&'a str>,
    pointer: bool,
    align: Option<u64>,
    name: Option<&'a str>,
    /// Number of elements; 1 for a scalar, 0 for an array without bound.
    elements: u64,
}

/// The parameters up to the closing parenthesis; the opening one has been read.
pub(super) fn list(lexer: &mut Lexer<'_>, address_bits: u32) -> Result<Vec<Argument>, ReadError> {
    let mut arguments = Vec::new();
    let mut offset = 0u64;
    loop {
        let (declaration, end) = declaration(lexer, ")")?;
        if let Some(name) = declaration.name {
            let bytes = declaration.bytes(address_bits);
            let align = declaration
                .align
                .filter(|_| !declaration.pointer)
                .unwrap_or_else(|| declaration.element_bytes(address_bits))
                .max(1);
            offset = offset.checked_next_multiple_of(align).unwrap_or(u64::MAX);
            arguments.push(Argument {
                name: Some(name.to_owned()),
                kind: if declaration.pointer { "global_buffer" } else { "by_value" }.to_owned(),
                type_name: declaration.type_name.map(|name| name.trim_start_matches('.').to_owned()),
                offset: Some(offset),
                bytes: Some(bytes),
                address_space: declaration.space.map(|space| space.trim_start_matches('.').to_owned()),
            });
            offset = offset.saturating_add(bytes);
        }
        if end == ')' {
            return Ok(arguments);
        }
    }
}

/// A variable up to its `;`: name and size in bytes. Lists of names are rare; the first counts.
pub(super) fn variable<'a>(lexer: &mut Lexer<'a>, address_bits: u32) -> Result<Option<(&'a str, u64)>, ReadError> {
    let (declaration, mut end) = declaration(lexer, ";")?;
    while end != ';' {
        end = match lexer.next() {
            Some(Token::Mark(mark)) => mark,
            Some(_) => ' ',
            None => return Err(ReadError::malformed(WHAT, "ends inside a variable")),
        };
    }
    Ok(declaration.name.map(|name| (name, declaration.bytes(address_bits))))
}

/// Reads up to `,`, `=` or one of `ends`, whichever comes first, and says which it was.
fn declaration<'a>(lexer: &mut Lexer<'a>, ends: &str) -> Result<(Declaration<'a>, char), ReadError> {
    let mut found = Declaration { elements: 1, ..Declaration::default() };
    loop {
        match lexer.next() {
            Some(Token::Word(".align")) => found.align = number(lexer.next()),
            Some(Token::Word(".ptr")) => found.pointer = true,
            Some(Token::Word(word)) if element(word).is_some() => found.type_name = Some(word),
            Some(Token::Word(word @ (".global" | ".shared" | ".const" | ".local"))) => {
                found.space = Some(word);
            }
            Some(Token::Word(word)) if is_name(word) && found.name.is_none() => {
                found.name = Some(word);
            }
            Some(Token::Mark('[')) => {
                // `[]` has no number: an array without bound.
                let bound = number(lexer.next());
                found.elements = found.elements.saturating_mul(bound.unwrap_or(0));
            }
            Some(Token::Mark(mark)) if matches!(mark, ',' | '=') || ends.contains(mark) => {
                return Ok((found, mark));
            }
            Some(_) => {}
            None => return Err(ReadError::malformed(WHAT, "ends inside a declaration")),
        }
    }
}

fn number(token: Option<Token<'_>>) -> Option<u64> {
    match token {
        Some(Token::Word(word)) => word.parse().ok(),
        _ => None,
    }
}

/// Size of a fundamental type in bytes; `Some(0)` for types as wide as an address.
fn element(word: &str) -> Option<u64> {
    Some(match word {
        ".u8" | ".s8" | ".b8" | ".pred" => 1,
        ".u16" | ".s16" | ".b16" | ".f16" | ".bf16" => 2,
        ".u32" | ".s32" | ".b32" | ".f32" | ".f16x2" | ".bf16x2" => 4,
        ".u64" | ".s64" | ".b64" | ".f64" => 8,
        ".b128" => 16,
        ".texref" | ".samplerref" | ".surfref" => 0,
        _ => return None,
    })
}

impl Declaration<'_> {
    fn element_bytes(&self, address_bits: u32) -> u64 {
        match self.type_name.and_then(element) {
            Some(0) => u64::from(address_bits / 8),
            Some(bytes) => bytes,
            None => 1,
        }
    }

    fn bytes(&self, address_bits: u32) -> u64 {
        self.element_bytes(address_bits).saturating_mul(self.elements)
    }
}
