//! PTX text: header, entries with their parameters, functions that only the driver can provide.
//!
//! Source: NVIDIA, "PTX ISA", chapters Directives and State Spaces. Instructions are not decoded
//! except `call`, whose target is needed for the call graph. Left out: textures, surfaces, debug
//! sections.

mod body;
mod lexer;
mod parameter;

use std::collections::{BTreeMap, BTreeSet};

use self::body::Function;
use self::lexer::{Lexer, Token};
use crate::error::ReadError;
use crate::facts::Detail;
use crate::model::{Argument, Details, Format, Image, Kernel, Symbols};

const WHAT: &str = "PTX text";

/// True if `bytes` begin like PTX: blanks and comments, then `.version`.
pub(crate) fn is_ptx(bytes: &[u8]) -> bool {
    let start = bytes.get(..bytes.len().min(4096)).unwrap_or(bytes);
    let text = match std::str::from_utf8(start) {
        Ok(text) => text,
        Err(error) => match start.get(..error.valid_up_to()).and_then(|valid| std::str::from_utf8(valid).ok()) {
            Some(text) => text,
            None => return false,
        },
    };
    Lexer::new(text).next() == Some(Token::Word(".version"))
}

/// Reads one PTX text; trailing NULs, as fat binaries store them, are ignored.
pub(crate) fn read(bytes: &[u8], detail: Detail) -> Result<Image, ReadError> {
    let text = std::str::from_utf8(bytes)
        .map_err(|error| ReadError::malformed(WHAT, error.to_string()))?
        .trim_end_matches('\0');
    let mut module = Module { lexer: Lexer::new(text), ..Module::default() };
    module.read(detail)?;
    module.finish(bytes.len() as u64, detail)
}

/// What has been read so far.
#[derive(Debug)]
struct Module<'a> {
    lexer: Lexer<'a>,
    version: &'a str,
    target: String,
    address_bits: u32,
    kernels: Vec<Kernel>,
    /// Functions with a body, entries included.
    functions: BTreeMap<&'a str, Function<'a>>,
    /// Functions and variables that are only declared.
    declared: BTreeSet<&'a str>,
    /// Variables with a definition.
    variables: BTreeSet<&'a str>,
    /// Module-scope shared variables and their bytes.
    shared: BTreeMap<&'a str, u64>,
}

impl Default for Module<'_> {
    fn default() -> Self {
        Self {
            lexer: Lexer::new(""),
            version: "",
            target: String::new(),
            address_bits: 64,
            kernels: Vec::new(),
            functions: BTreeMap::new(),
            declared: BTreeSet::new(),
            variables: BTreeSet::new(),
            shared: BTreeMap::new(),
        }
    }
}

impl<'a> Module<'a> {
    fn read(&mut self, detail: Detail) -> Result<(), ReadError> {
        if self.lexer.next() != Some(Token::Word(".version")) {
            return Err(ReadError::malformed(WHAT, "does not begin with .version"));
        }
        self.version = self.word("a version number")?;
        // `.visible`, `.weak`, `.extern` and the like apply to the item that follows.
        let mut external = false;
        while let Some(token) = self.lexer.next() {
            match token {
                Token::Word(".target") => {
                    self.target = self.word("a target")?.to_owned();
                }
                Token::Word(".address_size") => {
                    let bits = self.word("an address size")?;
                    self.address_bits = bits.parse().map_err(|_| self.unexpected("32 or 64"))?;
                }
                Token::Word(".extern") => {
                    external = true;
                    continue;
                }
                Token::Word(".visible" | ".weak" | ".common") => continue,
                Token::Word(".entry") => self.entry(detail)?,
                Token::Word(".func") => self.function()?,
                Token::Word(space @ (".global" | ".const" | ".shared")) => {
                    self.variable(space, external)?;
                }
                Token::Mark('{') => self.skip_block()?,
                _ => {}
            }
            external = false;
        }
        if self.target.is_empty() {
            return Err(ReadError::malformed(WHAT, "ends without a .target"));
        }
        Ok(())
    }

    fn unexpected(&self, expected: &str) -> ReadError {
        let left = self.lexer.left();
        ReadError::malformed(WHAT, format!("expected {expected}, {left} bytes before its end"))
    }

    fn word(&mut self, expected: &str) -> Result<&'a str, ReadError> {
        match self.lexer.next() {
            Some(Token::Word(word)) => Ok(word),
            _ => Err(self.unexpected(expected)),
        }
    }

    /// `.entry name (params) directives { body }`
    fn entry(&mut self, detail: Detail) -> Result<(), ReadError> {
        let name = self.word("the name of an entry")?;
        let mut kernel = Kernel { name: name.to_owned(), ..Kernel::default() };
        let mut arguments = Vec::new();
        let mut threads: Option<u32> = None;
        loop {
            match self.lexer.next() {
                Some(Token::Mark('(')) => {
                    arguments = parameter::list(&mut self.lexer, self.address_bits)?;
                }
                Some(Token::Word(".maxntid" | ".reqntid")) => threads = Some(self.product()?),
                Some(Token::Mark('{')) => break,
                // A prototype of an entry: defined elsewhere.
                Some(Token::Mark(';')) => return Ok(()),
                Some(_) => {}
                None => return Err(self.unexpected("the body of an entry")),
            }
        }
        let function = body::read(&mut self.lexer, &self.shared)?;
        kernel.max_threads = threads;
        kernel.kernarg_bytes = Some(arguments.last().map_or(0, end_of));
        if detail == Detail::Full {
            kernel.arguments = arguments;
        }
        self.functions.insert(name, function);
        self.kernels.push(kernel);
        Ok(())
    }

    /// Up to three numbers separated by commas, multiplied.
    fn product(&mut self) -> Result<u32, ReadError> {
        let mut product = 1u32;
        loop {
            let number: u32 =
                self.word("a number of threads")?.parse().map_err(|_| self.unexpected("a number of threads"))?;
            product = product.saturating_mul(number);
            let mut ahead = self.lexer.clone();
            if ahead.next() != Some(Token::Mark(',')) {
                return Ok(product);
            }
            self.lexer = ahead;
        }
    }

    /// `.func (returns) name (params) { body }`, or a declaration that ends in `;`
    fn function(&mut self) -> Result<(), ReadError> {
        let mut name = None;
        let mut depth = 0u32;
        loop {
            match self.lexer.next() {
                Some(Token::Mark('(')) => depth = depth.saturating_add(1),
                Some(Token::Mark(')')) => depth = depth.saturating_sub(1),
                Some(Token::Word(word)) if depth == 0 && name.is_none() && is_name(word) => {
                    name = Some(word);
                }
                Some(Token::Mark('{')) => break,
                Some(Token::Mark(';')) => {
                    self.declared.extend(name);
                    return Ok(());
                }
                Some(_) => {}
                None => return Err(self.unexpected("the body of a function")),
            }
        }
        let name = name.ok_or_else(|| self.unexpected("the name of a function"))?;
        let function = body::read(&mut self.lexer, &self.shared)?;
        self.functions.insert(name, function);
        Ok(())
    }

    /// A module-scope variable, up to its `;`.
    fn variable(&mut self, space: &str, external: bool) -> Result<(), ReadError> {
        let variable = parameter::variable(&mut self.lexer, self.address_bits)?;
        if let Some((name, bytes)) = variable {
            if space == ".shared" {
                // An external one is dynamic shared memory, sized at launch.
                self.shared.insert(name, bytes);
            } else if external {
                self.declared.insert(name);
            } else {
                self.variables.insert(name);
            }
        }
        Ok(())
    }

    /// A block that belongs to no function (debug sections).
    fn skip_block(&mut self) -> Result<(), ReadError> {
        let mut depth = 1u32;
        while depth > 0 {
            match self.lexer.next() {
                Some(Token::Mark('{')) => depth = depth.saturating_add(1),
                Some(Token::Mark('}')) => depth -= 1,
                Some(_) => {}
                None => return Err(self.unexpected("the end of a block")),
            }
        }
        Ok(())
    }

    fn finish(mut self, bytes: u64, detail: Detail) -> Result<Image, ReadError> {
        let undefined: Vec<String> = self
            .declared
            .iter()
            .filter(|name| !self.functions.contains_key(*name) && !self.variables.contains(*name))
            .map(|name| (*name).to_owned())
            .collect();
        let mut visits = super::CALL_GRAPH_VISITS;
        for kernel in &mut self.kernels {
            let reach = body::reach(&self.functions, &kernel.name, &mut visits)?;
            kernel.scratch_bytes = Some(reach.local_bytes);
            kernel.shared_bytes = Some(reach.shared_bytes);
            kernel.dynamic_stack = Some(reach.dynamic_stack);
            kernel.calls = reach.outside;
        }
        let defined = if detail == Detail::Full {
            let names = self.functions.keys().chain(&self.variables);
            names.map(|name| (*name).to_owned()).collect()
        } else {
            Vec::new()
        };
        Ok(Image {
            path: String::new(),
            container_id: None,
            group: String::new(),
            format: Format::Ptx,
            target: self.target.clone(),
            bytes,
            loaded: true,
            details: Details::Ptx {
                version: self.version.to_owned(),
                target: self.target,
                address_bits: self.address_bits,
            },
            kernels: self.kernels,
            symbols: Symbols { defined, undefined, ..Symbols::default() },
            printf_strings: Vec::new(),
        })
    }
}

/// Bytes from the start of the argument block to the end of `argument`.
fn end_of(argument: &Argument) -> u64 {
    argument.offset.unwrap_or(0).saturating_add(argument.bytes.unwrap_or(0))
}

/// Identifiers; directives begin with a dot, numbers with a digit, registers with `%`.
fn is_name(word: &str) -> bool {
    word.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_' || first == '$')
}
