//! Words, numbers and punctuation of PTX text, each with its line. Comments are dropped.
//!
//! A word is a run of letters, digits and `_ $ % .`, so `ld.global.b32`, `%tid.x` and `$L__BB0_1` are one word each;
//! `::` joins (`L1::no_allocate`).

/// A piece of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token<'t> {
    Word(&'t str),
    /// Starts with a digit; not decoded.
    Number(&'t str),
    /// A quoted text, without the quotes.
    Text(&'t str),
    Mark(char),
}

/// A token and the line it is on, counted from 1.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lexeme<'t> {
    pub(super) token: Token<'t>,
    pub(super) line: u32,
}

/// What cannot be read, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Problem {
    pub(super) line: u32,
    pub(super) why: String,
}

impl Problem {
    pub(super) fn new(line: u32, why: impl Into<String>) -> Self {
        Problem { line, why: why.into() }
    }
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '%' | '.')
}

/// Cuts a text into tokens.
pub(super) fn lex(text: &str) -> Result<Vec<Lexeme<'_>>, Problem> {
    let mut lexemes = Vec::new();
    let (mut rest, mut line) = (text, 1);
    while let Some(first) = rest.chars().next() {
        let length = if first.is_whitespace() {
            first.len_utf8()
        } else if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if let Some(inside) = rest.strip_prefix("/*") {
            inside.find("*/").map(|end| end + 4).ok_or_else(|| Problem::new(line, "a comment without an end"))?
        } else {
            let (token, length) = token(rest, first).ok_or_else(|| Problem::new(line, unknown(first)))?;
            lexemes.push(Lexeme { token, line });
            length
        };
        let (taken, left) = rest.split_at_checked(length).unwrap_or((rest, ""));
        line += u32::try_from(taken.matches('\n').count()).unwrap_or(0);
        rest = left;
    }
    Ok(lexemes)
}

fn unknown(first: char) -> String {
    format!("{first:?} begins nothing")
}

/// The token at the start of a text, and its bytes.
fn token(rest: &str, first: char) -> Option<(Token<'_>, usize)> {
    if first == '"' {
        let inside = rest.get(1..)?;
        let end = inside.find('"')?;
        return Some((Token::Text(inside.get(..end)?), end + 2));
    }
    if is_word(first) {
        let mut length = 0;
        loop {
            let tail = rest.get(length..)?;
            length += tail.find(|c| !is_word(c)).unwrap_or(tail.len());
            match rest.get(length..) {
                Some(tail) if tail.starts_with("::") => length += 2,
                _ => break,
            }
        }
        let word = rest.get(..length)?;
        return Some((if first.is_ascii_digit() { Token::Number(word) } else { Token::Word(word) }, length));
    }
    "{}()[],;:@!+-=<>|".contains(first).then_some((Token::Mark(first), 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_numbers_and_lines() {
        let text = "@!%p1 ld.L1::no_allocate.b32 %r1,[%rd2+-4]; // end\n/* a\nb */ $L1: {-1, 0x7632U}";
        let lexemes = lex(text).unwrap();
        let tokens: Vec<_> = lexemes.iter().map(|lexeme| lexeme.token).collect();
        let (m, w) = (Token::Mark, Token::Word);
        let expected = [
            m('@'),
            m('!'),
            w("%p1"),
            w("ld.L1::no_allocate.b32"),
            w("%r1"),
            m(','),
            m('['),
            w("%rd2"),
            m('+'),
            m('-'),
            Token::Number("4"),
            m(']'),
            m(';'),
            w("$L1"),
            m(':'),
            m('{'),
            m('-'),
            Token::Number("1"),
            m(','),
            Token::Number("0x7632U"),
            m('}'),
        ];
        assert_eq!(tokens, expected);
        assert_eq!(lexemes.last().unwrap().line, 3);
        assert_eq!(lex("a\n#").unwrap_err().line, 2);
        assert!(lex("/* a").is_err() && lex("\"a").is_err());
    }
}
