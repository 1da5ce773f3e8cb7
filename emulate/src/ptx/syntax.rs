//! The grammar: a module's directives, its entries, and their bodies as a flat list of statements. Names and types are
//! resolved in `translate/`.

use super::lexer::{Lexeme, Problem, Token};

/// A module's entries and what stands outside them.
#[derive(Debug, Default)]
pub(super) struct Source<'t> {
    pub(super) target: &'t str,
    pub(super) shared: Vec<Variable<'t>>,
    pub(super) entries: Vec<Entry<'t>>,
}

/// A kernel.
#[derive(Debug)]
pub(super) struct Entry<'t> {
    pub(super) name: &'t str,
    pub(super) parameters: Vec<Variable<'t>>,
    /// `.maxntid`, all dimensions multiplied.
    pub(super) max_threads: Option<u32>,
    pub(super) body: Vec<Statement<'t>>,
}

/// A variable or parameter.
#[derive(Clone, Copy, Debug)]
pub(super) struct Variable<'t> {
    pub(super) line: u32,
    pub(super) name: &'t str,
    pub(super) alignment: Option<u64>,
    /// As `.b32` is spelled, without the dot.
    pub(super) element: &'t str,
    /// Elements of an array; 1 for a scalar.
    pub(super) count: u64,
}

/// A part of a body.
#[derive(Debug)]
pub(super) enum Statement<'t> {
    /// `{`: names declared from here on end at the matching `Close`.
    Open,
    Close,
    Label {
        line: u32,
        name: &'t str,
    },
    /// `.reg .b32 %r<9>` (count 9) or `.reg .b32 a` (none).
    Registers {
        line: u32,
        class: &'t str,
        name: &'t str,
        count: Option<u32>,
    },
    Shared(Variable<'t>),
    Instruction(Line<'t>),
}

/// An instruction.
#[derive(Debug)]
pub(super) struct Line<'t> {
    pub(super) line: u32,
    /// Predicate register and whether it is negated.
    pub(super) guard: Option<(&'t str, bool)>,
    pub(super) opcode: &'t str,
    pub(super) operands: Vec<Operand<'t>>,
}

/// An operand as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Operand<'t> {
    /// Register, special register, variable, label or `_`.
    Name(&'t str),
    /// `!%p`.
    Not(&'t str),
    /// Text of a number, and whether a minus stands before it.
    Number(&'t str, bool),
    /// `[base + offset]`; no base: an absolute address.
    Address(Option<&'t str>, i64),
    /// `{a, b}`.
    Vector(Vec<Operand<'t>>),
    /// `p|q`.
    Pair(&'t str, &'t str),
}

/// Largest count of anything, so that a hostile text cannot ask for memory without end.
const MOST: u64 = 1 << 16;

struct Reader<'a, 't> {
    lexemes: &'a [Lexeme<'t>],
    at: usize,
}

/// Reads a module.
pub(super) fn parse<'t>(lexemes: &[Lexeme<'t>]) -> Result<Source<'t>, Problem> {
    let mut reader = Reader { lexemes, at: 0 };
    let mut source = Source::default();
    while let Some(token) = reader.next() {
        match token {
            Token::Word(".version") => {
                reader.number()?;
            }
            Token::Word(".target") => {
                source.target = reader.word()?;
                while reader.takes(',') {
                    reader.word()?;
                }
            }
            Token::Word(".address_size") => {
                if reader.number()? != "64" {
                    return reader.fails("only 64-bit addresses are modelled");
                }
            }
            Token::Word(".visible" | ".weak") => {}
            Token::Word(".entry") => {
                let entry = reader.entry()?;
                source.entries.push(entry);
            }
            Token::Word(".shared") => {
                let variable = reader.variable()?;
                reader.expect(';')?;
                source.shared.push(variable);
            }
            Token::Word(word) => return reader.fails(format!("`{word}` is not modelled outside of a kernel")),
            other => return reader.fails(format!("a directive was expected, not {}", spelled(other))),
        }
    }
    Ok(source)
}

fn spelled(token: Token<'_>) -> String {
    match token {
        Token::Word(text) | Token::Number(text) | Token::Text(text) => format!("`{text}`"),
        Token::Mark(mark) => format!("`{mark}`"),
    }
}

impl<'t> Reader<'_, 't> {
    fn peek(&self) -> Option<Token<'t>> {
        self.lexemes.get(self.at).map(|lexeme| lexeme.token)
    }

    fn next(&mut self) -> Option<Token<'t>> {
        let token = self.peek();
        self.at += usize::from(token.is_some());
        token
    }

    /// Line of the token read last.
    fn line(&self) -> u32 {
        self.lexemes.get(self.at.saturating_sub(1)).map_or(0, |lexeme| lexeme.line)
    }

    fn fails<T>(&self, why: impl Into<String>) -> Result<T, Problem> {
        Err(Problem::new(self.line(), why))
    }

    fn takes(&mut self, mark: char) -> bool {
        let takes = self.peek() == Some(Token::Mark(mark));
        self.at += usize::from(takes);
        takes
    }

    fn unexpected<T>(&self, token: Option<Token<'t>>, expected: &str) -> Result<T, Problem> {
        let found = token.map_or_else(|| "the end of the text".to_owned(), spelled);
        self.fails(format!("{expected} was expected, not {found}"))
    }

    fn expect(&mut self, mark: char) -> Result<(), Problem> {
        match self.next() {
            Some(Token::Mark(found)) if found == mark => Ok(()),
            other => self.unexpected(other, &format!("`{mark}`")),
        }
    }

    fn word(&mut self) -> Result<&'t str, Problem> {
        match self.next() {
            Some(Token::Word(word)) => Ok(word),
            other => self.unexpected(other, "a name"),
        }
    }

    fn number(&mut self) -> Result<&'t str, Problem> {
        match self.next() {
            Some(Token::Number(number)) => Ok(number),
            other => self.unexpected(other, "a number"),
        }
    }

    fn count(&mut self) -> Result<u64, Problem> {
        let text = self.number()?;
        match integer(text) {
            Some(count) if count <= MOST => Ok(count),
            _ => self.fails(format!("`{text}` is no count up to {MOST}")),
        }
    }

    fn entry(&mut self) -> Result<Entry<'t>, Problem> {
        let name = self.word()?;
        let mut entry = Entry { name, parameters: Vec::new(), max_threads: None, body: Vec::new() };
        if self.takes('(') && !self.takes(')') {
            loop {
                match self.word()? {
                    ".param" => entry.parameters.push(self.variable()?),
                    word => return self.fails(format!("`.param` was expected, not `{word}`")),
                }
                if !self.takes(',') {
                    self.expect(')')?;
                    break;
                }
            }
        }
        loop {
            match self.next() {
                Some(Token::Word(".maxntid")) => {
                    let mut threads = self.count()?;
                    while self.takes(',') {
                        threads = threads.saturating_mul(self.count()?);
                    }
                    entry.max_threads = Some(u32::try_from(threads).unwrap_or(u32::MAX));
                }
                // How many registers and blocks per multiprocessor: no effect on what a kernel does.
                Some(Token::Word(".minnctapersm" | ".maxnreg")) => {
                    self.number()?;
                }
                Some(Token::Mark('{')) => break,
                other => return self.unexpected(other, "a directive of a kernel that is modelled, or its body"),
            }
        }
        entry.body = self.body()?;
        Ok(entry)
    }

    /// `[.align n] .type ...attributes... name [count]`, after `.param` or `.shared`.
    fn variable(&mut self) -> Result<Variable<'t>, Problem> {
        let (mut alignment, mut element) = (None, None);
        loop {
            let word = self.word()?;
            match word {
                ".align" if element.is_none() => alignment = Some(self.count()?),
                // What a pointer parameter points at, and how that is aligned: promises to ptxas.
                ".ptr" | ".global" => {}
                ".align" => {
                    self.number()?;
                }
                _ => match word.strip_prefix('.') {
                    Some(kind) if element.is_none() => element = Some(kind),
                    Some(_) => return self.fails(format!("`{word}` is not modelled for variables")),
                    None => {
                        let Some(element) = element else { return self.fails("a variable without a type") };
                        let mut count = 1;
                        if self.takes('[') {
                            count = self.count()?;
                            self.expect(']')?;
                        }
                        return Ok(Variable { line: self.line(), name: word, alignment, element, count });
                    }
                },
            }
        }
    }

    /// Up to the brace that closes the kernel.
    fn body(&mut self) -> Result<Vec<Statement<'t>>, Problem> {
        let (mut statements, mut depth) = (Vec::new(), 0_u32);
        loop {
            let Some(token) = self.next() else { return self.fails("a kernel without its closing brace") };
            let line = self.line();
            match token {
                Token::Mark('{') => {
                    depth += 1;
                    statements.push(Statement::Open);
                }
                Token::Mark('}') if depth == 0 => return Ok(statements),
                Token::Mark('}') => {
                    depth -= 1;
                    statements.push(Statement::Close);
                }
                Token::Word(".reg") => self.registers(&mut statements)?,
                Token::Word(".shared") => {
                    statements.push(Statement::Shared(self.variable()?));
                    self.expect(';')?;
                }
                Token::Word(".pragma") => match self.next() {
                    Some(Token::Text("nounroll")) => self.expect(';')?,
                    other => return self.unexpected(other, "the pragma \"nounroll\""),
                },
                Token::Word(name) if self.takes(':') => statements.push(Statement::Label { line, name }),
                Token::Word(word) => statements.push(Statement::Instruction(self.instruction(line, None, word)?)),
                Token::Mark('@') => {
                    let negated = self.takes('!');
                    let guard = Some((self.word()?, negated));
                    let opcode = self.word()?;
                    statements.push(Statement::Instruction(self.instruction(line, guard, opcode)?));
                }
                other => return self.unexpected(Some(other), "an instruction"),
            }
        }
    }

    /// After `.reg`.
    fn registers(&mut self, statements: &mut Vec<Statement<'t>>) -> Result<(), Problem> {
        let class = self.word()?;
        loop {
            let name = self.word()?;
            let line = self.line();
            let mut count = None;
            if self.takes('<') {
                count = u32::try_from(self.count()?).ok();
                self.expect('>')?;
            }
            statements.push(Statement::Registers { line, class: class.trim_start_matches('.'), name, count });
            if !self.takes(',') {
                return self.expect(';');
            }
        }
    }

    /// After the opcode.
    fn instruction(&mut self, line: u32, guard: Option<(&'t str, bool)>, opcode: &'t str) -> Result<Line<'t>, Problem> {
        let mut operands = Vec::new();
        if !self.takes(';') {
            loop {
                operands.push(self.operand()?);
                if !self.takes(',') {
                    self.expect(';')?;
                    break;
                }
            }
        }
        Ok(Line { line, guard, opcode, operands })
    }

    fn operand(&mut self) -> Result<Operand<'t>, Problem> {
        match self.next() {
            Some(Token::Word(name)) if self.takes('|') => Ok(Operand::Pair(name, self.word()?)),
            Some(Token::Word(name)) => Ok(Operand::Name(name)),
            Some(Token::Number(text)) => Ok(Operand::Number(text, false)),
            Some(Token::Mark('-')) => Ok(Operand::Number(self.number()?, true)),
            Some(Token::Mark('!')) => Ok(Operand::Not(self.word()?)),
            Some(Token::Mark('[')) => {
                let address = self.address()?;
                self.expect(']')?;
                Ok(address)
            }
            Some(Token::Mark('{')) => {
                let mut parts = Vec::new();
                loop {
                    match self.operand()? {
                        part @ (Operand::Name(_) | Operand::Number(..)) => parts.push(part),
                        _ => return self.fails("a vector holds registers and numbers"),
                    }
                    if !self.takes(',') {
                        self.expect('}')?;
                        return Ok(Operand::Vector(parts));
                    }
                }
            }
            other => self.unexpected(other, "an operand"),
        }
    }

    fn address(&mut self) -> Result<Operand<'t>, Problem> {
        let base = match self.peek() {
            Some(Token::Word(base)) => {
                self.at += 1;
                if !self.takes('+') {
                    return Ok(Operand::Address(Some(base), 0));
                }
                Some(base)
            }
            _ => None,
        };
        let negative = self.takes('-');
        let text = self.number()?;
        let Some(offset) = integer(text).and_then(|value| i64::try_from(value).ok()) else {
            return self.fails(format!("`{text}` is no offset"));
        };
        Ok(Operand::Address(base, if negative { -offset } else { offset }))
    }
}

/// An integer as PTX spells it: decimal or `0x`, `0b`, a leading 0 for octal, with or without `U`.
pub(super) fn integer(text: &str) -> Option<u64> {
    let text = text.strip_suffix(['U', 'u']).unwrap_or(text);
    let (digits, radix) = match text.get(..2) {
        Some("0x" | "0X") => (text.get(2..)?, 16),
        Some("0b" | "0B") => (text.get(2..)?, 2),
        Some(two) if two.starts_with('0') => (text.get(1..)?, 8),
        _ => (text, 10),
    };
    // from_str_radix would take a sign.
    digits.chars().all(|c| c.is_ascii_hexdigit()).then(|| u64::from_str_radix(digits, radix).ok()).flatten()
}
