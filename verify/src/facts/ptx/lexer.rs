//! Tokens of PTX text: words, punctuation, strings; comments vanish.
//!
//! Source: NVIDIA, "PTX ISA", chapter Syntax. Numbers and instruction names are plain words here
//! (`ld.param.u64`, `%rd1`, `0f3F800000`): the reader above never computes with them.

/// One token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// Identifier, directive, register, opcode or number.
    Word(&'a str),
    /// Any other visible character.
    Mark(char),
    /// A string literal, without its quotes.
    Text(&'a str),
}

/// Iterator over the tokens of a text.
#[derive(Debug, Clone)]
pub(super) struct Lexer<'a> {
    rest: &'a str,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { rest: text }
    }

    /// Bytes not yet read, for error messages.
    pub(super) fn left(&self) -> usize {
        self.rest.len()
    }

    /// Cuts `length` bytes off the front; an impossible cut ends the text.
    fn cut(&mut self, length: usize) -> &'a str {
        let (head, tail) = self.rest.split_at_checked(length).unwrap_or((self.rest, ""));
        self.rest = tail;
        head
    }

    fn skip_blank(&mut self) {
        loop {
            self.rest = self.rest.trim_start();
            if self.rest.starts_with("//") {
                let end = self.rest.find('\n').unwrap_or(self.rest.len());
                self.cut(end);
            } else if self.rest.starts_with("/*") {
                let end = self.rest.find("*/").map_or(self.rest.len(), |at| at + 2);
                self.cut(end);
            } else {
                return;
            }
        }
    }
}

impl<'a> Iterator for Lexer<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        self.skip_blank();
        let first = self.rest.chars().next()?;
        if first == '"' {
            self.cut(1);
            let end = self.rest.find('"').unwrap_or(self.rest.len());
            let text = self.cut(end);
            self.cut(1);
            return Some(Token::Text(text));
        }
        let length =
            self.rest.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || b"_$%.".contains(byte)).count();
        if length > 0 {
            return Some(Token::Word(self.cut(length)));
        }
        self.cut(first.len_utf8());
        Some(Token::Mark(first))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_marks_strings_and_comments() {
        let text = "// .entry no\n.target sm_90a /* .entry\nno */ ld.param.u64 %rd1, [a+8]; \"x;y\"";
        let tokens: Vec<_> = Lexer::new(text).collect();
        assert_eq!(
            tokens,
            [
                Token::Word(".target"),
                Token::Word("sm_90a"),
                Token::Word("ld.param.u64"),
                Token::Word("%rd1"),
                Token::Mark(','),
                Token::Mark('['),
                Token::Word("a"),
                Token::Mark('+'),
                Token::Word("8"),
                Token::Mark(']'),
                Token::Mark(';'),
                Token::Text("x;y"),
            ]
        );
    }

    #[test]
    fn unclosed_and_foreign_text_ends() {
        assert_eq!(Lexer::new("/* open").count(), 0);
        assert_eq!(Lexer::new("\"open").count(), 1);
        assert_eq!(Lexer::new("é\u{0}ß").count(), 3);
    }
}
