//! PTX text cut into statements: labels, blocks, directives and instructions with their lines.
//!
//! Source: NVIDIA, "PTX ISA", chapters Syntax and Directives. A brace opens a block only where a statement may begin or
//! behind the header of a function; elsewhere it holds a vector or the values of a variable. `.loc` and `.file` end with
//! their line, everything else at `;`.

/// What a statement is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    /// `name:`, without the colon.
    Label,
    /// `{`, with the header of the function before it, if there is one.
    Open,
    /// `}` of a block.
    Close,
    /// Instruction or directive, without its semicolon.
    Plain,
}

/// One statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Statement<'t> {
    /// Line of its first character, from 1.
    pub(super) line: u64,
    pub(super) what: What,
    /// Trimmed; comments within are still in it.
    pub(super) text: &'t str,
}

/// State of the cut.
struct Cutter<'t> {
    text: &'t str,
    /// Start of the statement, once a character of it was met.
    start: Option<(usize, u64)>,
    /// Braces within the statement.
    vector: usize,
    line: u64,
    found: Vec<Statement<'t>>,
}

/// All statements of a text; what is left without an end is dropped.
pub(super) fn split(text: &str) -> Vec<Statement<'_>> {
    let mut cutter = Cutter { text, start: None, vector: 0, line: 1, found: Vec::new() };
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let length = skipped(rest, cutter.start.is_none());
        if length > 0 {
            let lines = rest.get(..length).unwrap_or(rest).bytes().filter(|byte| *byte == b'\n').count();
            // A string belongs to its statement.
            if rest.starts_with('"') {
                cutter.start.get_or_insert((at, cutter.line));
            }
            cutter.line += lines as u64;
            at += length;
            continue;
        }
        let Some(first) = rest.chars().next() else { break };
        cutter.take(at, first, rest);
        at += first.len_utf8();
        // `::` is part of a word (`L1::no_allocate`), not two labels.
        if rest.starts_with("::") {
            at += 1;
        }
    }
    cutter.found
}

/// Bytes of the comment, the string or the line directive that `rest` begins with; 0 if it is none of them.
fn skipped(rest: &str, fresh: bool) -> usize {
    let to = |end: Option<usize>, more: usize| end.map_or(rest.len(), |at| at + more);
    if rest.starts_with("//") || (fresh && (rest.starts_with(".loc") || rest.starts_with(".file"))) {
        to(rest.find('\n'), 0)
    } else if let Some(inside) = rest.strip_prefix("/*") {
        to(inside.find("*/"), 4)
    } else if let Some(inside) = rest.strip_prefix('"') {
        to(inside.find('"'), 2)
    } else {
        0
    }
}

impl<'t> Cutter<'t> {
    fn take(&mut self, at: usize, first: char, rest: &str) {
        let so_far = || self.start.map_or("", |(start, _)| self.text.get(start..at).unwrap_or_default()).trim_end();
        match first {
            '\n' => self.line += 1,
            ';' => {
                self.vector = 0;
                self.push(at, What::Plain);
            }
            ':' if self.vector == 0 && !rest.starts_with("::") && is_name(so_far()) => self.push(at, What::Label),
            '{' if self.vector == 0 && (self.start.is_none() || is_header(so_far())) => {
                self.start.get_or_insert((at, self.line));
                self.push(at, What::Open);
            }
            '{' => {
                self.vector += 1;
                self.start.get_or_insert((at, self.line));
            }
            '}' if self.vector > 0 => self.vector -= 1,
            '}' => {
                // An unfinished statement before it is no statement.
                self.start = Some((at, self.line));
                self.push(at, What::Close);
            }
            _ if first.is_whitespace() => {}
            _ => {
                self.start.get_or_insert((at, self.line));
            }
        }
    }

    fn push(&mut self, end: usize, what: What) {
        if let Some((start, line)) = self.start.take() {
            let text = self.text.get(start..end).unwrap_or_default().trim();
            self.found.push(Statement { line, what, text });
        }
    }
}

fn is_name(word: &str) -> bool {
    !word.is_empty()
        && !word.starts_with(|first: char| first.is_ascii_digit())
        && word.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '%'))
}

/// A directive that a body follows: the values of a variable come behind `=`.
fn is_header(text: &str) -> bool {
    text.starts_with('.') && !text.contains('=')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts() {
        let text = "ld.global.L1::no_allocate.v2.b32 {%r1,\n%r2}, [%rd1];\n.file 1 \"a;b\"\nL1: { bar.sync 0; } /* ;\n */ ret;";
        let found: Vec<_> = split(text).into_iter().map(|one| (one.line, one.what, one.text)).collect();
        let expected = [
            (1, What::Plain, "ld.global.L1::no_allocate.v2.b32 {%r1,\n%r2}, [%rd1]"),
            (4, What::Label, "L1"),
            (4, What::Open, ""),
            (4, What::Plain, "bar.sync 0"),
            (4, What::Close, ""),
            (5, What::Plain, "ret"),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn unclosed_things_end() {
        for text in ["/* ", "\"", "{", "}", "a: {", ";;", "é{ü:;", ".entry x(", "::::", "{{}}}"] {
            let _cut_without_a_panic = split(text);
        }
        assert!(split(";;").is_empty());
    }
}
