//! Template text on its way through Tera, with each rendered line traced back to its template's own line.
//!
//! Every template line gets a trailing mark `;@file:line`, which is a comment in LLVM IR; after rendering the marks are
//! stripped into a map. Lines that Tera alone consumes (tags, comments) get none.

use std::path::PathBuf;

use tera::{Context, Tera};

use crate::error::Error;
use crate::files::Files;

const MARK: &str = " ;@";

/// The templates, ready to render.
pub struct Templates {
    tera: Tera,
    files: Vec<(String, PathBuf)>,
}

/// IR text, and for each of its lines where it comes from.
#[derive(Clone, Debug, Default)]
pub struct Text {
    /// The IR.
    pub ir: String,
    origin: Vec<Option<Place>>,
}

/// A line of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Template file.
    pub path: PathBuf,
    /// Line, counted from 1.
    pub line: usize,
}

impl Templates {
    /// Parses all templates.
    ///
    /// # Errors
    /// [`Error::Template`] with Tera's message when one does not parse.
    pub fn new(files: &Files) -> Result<Templates, Error> {
        let mut tera = Tera::new();
        let names: Vec<(String, PathBuf)> = files.iter().map(|(name, _)| (name.to_owned(), files.path(name))).collect();
        let marked: Vec<(String, String)> =
            files.iter().enumerate().map(|(id, (name, text))| (name.to_owned(), mark(id, text))).collect();
        tera.add_raw_templates(marked).map_err(|cause| tera_error(&names, "all", &cause))?;
        Ok(Templates { tera, files: names })
    }

    /// Whether there is a template of this name.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.files.iter().any(|(known, _)| known == name)
    }

    /// How a user finds the template `name`.
    #[must_use]
    pub fn path(&self, name: &str) -> Option<PathBuf> {
        self.files.iter().find(|(known, _)| known == name).map(|(_, path)| path.clone())
    }

    /// Renders the template `name` and appends it to `text`.
    ///
    /// # Errors
    /// [`Error::Template`] when there is none of that name or Tera cannot render it.
    pub fn render(&self, name: &str, context: &Context, module: &str, text: &mut Text) -> Result<(), Error> {
        let Some(path) = self.path(name) else {
            let missing = PathBuf::from(name);
            return Err(Error::Template {
                path: missing,
                line: None,
                module: module.to_owned(),
                message: "this template is needed and missing".to_owned(),
            });
        };
        let rendered =
            self.tera.render(name, context).map_err(|cause| match tera_error(&self.files, module, &cause) {
                Error::Template { path: unknown, line: None, module, message } if unknown.as_os_str().is_empty() => {
                    Error::Template { path, line: None, module, message }
                }
                located => located,
            })?;
        for line in rendered.lines() {
            let (code, place) = self.unmark(line);
            if place.is_none() && code.trim().is_empty() {
                continue;
            }
            text.ir.push_str(code.trim_end());
            text.ir.push('\n');
            text.origin.push(place);
        }
        Ok(())
    }

    fn unmark<'line>(&self, line: &'line str) -> (&'line str, Option<Place>) {
        let marked = line.rsplit_once(MARK).and_then(|(code, mark)| {
            let (file, number) = mark.split_once(':')?;
            let (_, path) = self.files.get(file.parse::<usize>().ok()?)?;
            Some((code, Place { path: path.clone(), line: number.parse().ok()? }))
        });
        marked.map_or((line, None), |(code, place)| (code, Some(place)))
    }
}

impl Text {
    /// Where line `line` (counted from 1) of the IR comes from.
    #[must_use]
    pub fn place(&self, line: usize) -> Option<&Place> {
        self.origin.get(line.checked_sub(1)?)?.as_ref()
    }

    /// Where the first line of inline asm comes from that holds this mnemonic.
    #[must_use]
    pub fn find_asm(&self, mnemonic: &str) -> Option<&Place> {
        let line = self.ir.lines().position(|line| line.contains(" asm ") && line.contains(mnemonic))?;
        self.place(line + 1)
    }
}

/// Appends a mark to each line that leaves anything in the output.
fn mark(id: usize, text: &str) -> String {
    let mut marked = String::with_capacity(text.len() * 2);
    let mut open: Option<&str> = None; // the end of a tag that began on an earlier line
    for (index, line) in text.lines().enumerate() {
        let began_inside = open.is_some();
        let left = strip_tags(line, &mut open);
        marked.push_str(line);
        if !began_inside && open.is_none() && !left.trim().is_empty() {
            marked.push_str(MARK);
            marked.push_str(&format!("{id}:{}", index + 1));
        }
        marked.push('\n');
    }
    marked
}

/// What is left of a line without `{% %}` tags and `{# #}` comments; `open` carries a tag over line ends.
fn strip_tags(line: &str, open: &mut Option<&'static str>) -> String {
    let mut left = String::new();
    let mut rest = line;
    loop {
        if let Some(end) = *open {
            let Some((_, after)) = rest.split_once(end) else { return left };
            rest = after;
            *open = None;
        }
        let next =
            [("{%", "%}"), ("{#", "#}")].into_iter().filter_map(|(begin, end)| Some((rest.find(begin)?, end))).min();
        let Some((at, end)) = next else {
            left.push_str(rest);
            return left;
        };
        let (before, after) = rest.split_at(at);
        left.push_str(before);
        rest = after;
        *open = Some(end);
    }
}

/// Tera's message, with the template and line that it names translated to a place.
fn tera_error(files: &[(String, PathBuf)], module: &str, cause: &tera::Error) -> Error {
    let mut message = cause.to_string();
    let mut source = std::error::Error::source(cause);
    while let Some(inner) = source {
        message.push_str(": ");
        message.push_str(&inner.to_string());
        source = inner.source();
    }
    let named = files.iter().find_map(|(name, path)| {
        let (_, after) = message.split_once(&format!("{name}:"))?;
        let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
        Some((path.clone(), digits.parse().ok()?))
    });
    let (path, line) = named.map_or((PathBuf::new(), None), |(path, line)| (path, Some(line)));
    Error::Template { path, line, module: module.to_owned(), message: unmarked(&message) }
}

/// A message of Tera's quotes marked lines; a user should see them as they are in the file.
fn unmarked(message: &str) -> String {
    let clean = |line: &str| match line.rsplit_once(MARK) {
        Some((code, mark)) if mark.chars().all(|c| c.is_ascii_digit() || c == ':') => code.to_owned(),
        _ => line.to_owned(),
    };
    message.trim().lines().map(clean).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_only_lines_that_leave_text() {
        let text = "a\n{% if x %}\nb {% if y %}c{% endif %}\n{# one\n two #}\n{{ v }}\n\n";
        assert_eq!(
            mark(7, text),
            "a ;@7:1\n{% if x %}\nb {% if y %}c{% endif %} ;@7:3\n{# one\n two #}\n{{ v }} ;@7:6\n\n"
        );
    }
}
