//! Bodies of PTX functions: what they call, and how much local and shared memory they declare.

use std::collections::{BTreeMap, BTreeSet};

use super::lexer::{Lexer, Token};
use super::{WHAT, is_name, parameter};
use crate::error::ReadError;

/// One function with a body.
#[derive(Debug, Default)]
pub(super) struct Function<'a> {
    calls: BTreeSet<&'a str>,
    /// A call through a register: its target is unknown.
    indirect: bool,
    /// `alloca`: stack of a size known only at run time.
    alloca: bool,
    local_bytes: u64,
    /// Shared variables that the body declares or names.
    shared: BTreeMap<&'a str, u64>,
}

/// What an entry can reach.
#[derive(Debug, Default)]
pub(super) struct Reach {
    pub(super) local_bytes: u64,
    pub(super) shared_bytes: u64,
    pub(super) dynamic_stack: bool,
    /// Called functions without a body in this text, sorted.
    pub(super) outside: Vec<String>,
}

/// Reads a body; its opening brace has been read. `shared` are the module's shared variables.
pub(super) fn read<'a>(lexer: &mut Lexer<'a>, shared: &BTreeMap<&'a str, u64>) -> Result<Function<'a>, ReadError> {
    let mut function = Function::default();
    let mut depth = 1u32;
    while depth > 0 {
        match lexer.next() {
            Some(Token::Mark('{')) => depth = depth.saturating_add(1),
            Some(Token::Mark('}')) => depth -= 1,
            Some(Token::Word(".local")) => {
                if let Some((_, bytes)) = parameter::variable(lexer, 64)? {
                    function.local_bytes = function.local_bytes.saturating_add(bytes);
                }
            }
            Some(Token::Word(".shared")) => {
                if let Some((name, bytes)) = parameter::variable(lexer, 64)? {
                    function.shared.insert(name, bytes);
                }
            }
            Some(Token::Word(word)) if word == "call" || word == "call.uni" => {
                call(lexer, &mut function);
            }
            Some(Token::Word(word)) => {
                if word.starts_with("alloca") {
                    function.alloca = true;
                } else if let Some((name, bytes)) = shared.get_key_value(word) {
                    function.shared.insert(name, *bytes);
                }
            }
            Some(_) => {}
            None => return Err(ReadError::malformed(WHAT, "ends inside the body of a function")),
        }
    }
    Ok(function)
}

/// `call (returns), target, (arguments)`: the target is the first word outside parentheses.
fn call<'a>(lexer: &mut Lexer<'a>, function: &mut Function<'a>) {
    let mut depth = 0u32;
    for token in lexer.by_ref() {
        match token {
            Token::Mark('(') => depth = depth.saturating_add(1),
            Token::Mark(')') => depth = depth.saturating_sub(1),
            Token::Word(word) if depth == 0 => {
                if is_name(word) {
                    function.calls.insert(word);
                } else {
                    function.indirect = true;
                }
                return;
            }
            Token::Mark(';' | '}') => return,
            _ => {}
        }
    }
}

/// Follows direct calls from `entry`. Local memory is summed over everything reachable, which is
/// an upper bound for the deepest chain and exact when everything was inlined.
///
/// Every function visited costs one of `visits`: entries times functions is the square of the text.
pub(super) fn reach(
    functions: &BTreeMap<&str, Function<'_>>,
    entry: &str,
    visits: &mut u64,
) -> Result<Reach, ReadError> {
    let mut reach = Reach::default();
    let mut shared: BTreeMap<&str, u64> = BTreeMap::new();
    let mut outside = BTreeSet::new();
    let mut seen = BTreeSet::from([entry]);
    let mut waiting = vec![entry];
    while let Some(name) = waiting.pop() {
        *visits = visits.checked_sub(1).ok_or_else(|| ReadError::unsupported(WHAT, "its call graph is too large"))?;
        let Some(function) = functions.get(name) else {
            outside.insert(name);
            continue;
        };
        reach.local_bytes = reach.local_bytes.saturating_add(function.local_bytes);
        reach.dynamic_stack |= function.alloca || function.indirect;
        shared.extend(&function.shared);
        waiting.extend(function.calls.iter().filter(|name| seen.insert(**name)));
    }
    reach.shared_bytes = shared.values().fold(0, |sum, bytes| sum.saturating_add(*bytes));
    reach.outside = outside.into_iter().map(str::to_owned).collect();
    Ok(reach)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_graph_is_followed_as_far_as_its_visits_go() {
        let mut functions = BTreeMap::new();
        for (name, callee) in [("k", "f"), ("f", "g"), ("g", "vprintf")] {
            functions.insert(name, Function { calls: BTreeSet::from([callee]), ..Function::default() });
        }
        let mut visits = 4;
        assert_eq!(reach(&functions, "k", &mut visits).unwrap().outside, ["vprintf"]);
        assert_eq!(visits, 0);
        assert!(reach(&functions, "k", &mut 3).is_err());
    }
}
