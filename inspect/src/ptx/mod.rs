//! PTX text: the statements of an entry as instructions.

mod instruction;
mod statement;

use std::collections::HashMap;

use self::statement::{Statement, What};
use crate::code::{Code, Unit};

/// Code of the entries that `wanted` accepts, in the order of the text; None for one that is only declared.
pub(crate) fn entries(text: &str, wanted: &dyn Fn(&str) -> bool) -> Vec<(String, Code)> {
    let statements = statement::split(text);
    let mut found = Vec::new();
    let mut rest = statements.as_slice();
    while let Some((first, tail)) = rest.split_first() {
        rest = tail;
        let (What::Open, Some(name)) = (first.what, entry_name(first.text)) else { continue };
        let mut depth = 1usize;
        let end = tail.iter().position(|statement| {
            match statement.what {
                What::Open => depth += 1,
                What::Close => depth -= 1,
                What::Label | What::Plain => {}
            }
            depth == 0
        });
        let (body, after) = tail.split_at(end.unwrap_or(tail.len()));
        rest = after;
        if wanted(name) {
            found.push((name.to_owned(), code(body)));
        }
    }
    found
}

/// The name in `.visible .entry name(...)`.
fn entry_name(header: &str) -> Option<&str> {
    let mut words = header.split_whitespace();
    words.by_ref().find(|word| *word == ".entry")?;
    words.next()?.split('(').next().filter(|name| !name.is_empty())
}

/// A label is known in the block that holds it and in the blocks within.
struct Labels<'t> {
    /// Block and name to the index of the instruction that follows.
    places: HashMap<(usize, &'t str), usize>,
    /// The block around each block.
    around: Vec<usize>,
}

impl Labels<'_> {
    fn find(&self, name: &str, mut block: usize) -> Option<usize> {
        loop {
            if let Some(place) = self.places.get(&(block, name)) {
                return Some(*place);
            }
            // The outermost block is its own.
            let around = self.around.get(block).copied()?;
            if around == block {
                return None;
            }
            block = around;
        }
    }
}

fn code(body: &[Statement<'_>]) -> Code {
    let mut labels = Labels { places: HashMap::new(), around: vec![0] };
    let mut names = Vec::new();
    let mut tables: HashMap<(usize, &str), &str> = HashMap::new();
    let mut plain: Vec<(usize, &Statement<'_>)> = Vec::new();
    let mut block = 0;
    let mut label = None;
    for statement in body {
        match statement.what {
            What::Open => {
                labels.around.push(block);
                block = labels.around.len() - 1;
            }
            What::Close => block = labels.around.get(block).copied().unwrap_or(0),
            What::Label => {
                labels.places.insert((block, statement.text), plain.len());
                label = Some(statement.text);
            }
            What::Plain if statement.text.starts_with('.') => {
                if let (Some(name), Some(list)) = (label, statement.text.strip_prefix(".branchtargets")) {
                    tables.insert((block, name), list);
                }
            }
            What::Plain => {
                names.extend(label.take().map(|name| (plain.len(), name.to_owned())));
                plain.push((block, statement));
            }
        }
    }
    let instructions = plain.iter().map(|(block, statement)| {
        let table = |name: &str| {
            let list = std::iter::successors(Some(*block), |block| {
                labels.around.get(*block).copied().filter(|around| around != block)
            })
            .find_map(|block| tables.get(&(block, name)))?;
            list.split(',').map(|name| labels.find(name.trim(), *block)).collect()
        };
        instruction::read(statement, &|name| labels.find(name, *block), &table)
    });
    Code { unit: Unit::Line, instructions: instructions.collect(), labels: names }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::{Flow, Kind};

    const TEXT: &str = r#"
.version 8.0
.target sm_90
.address_size 64
.global .align 4 .b8 table[2] = {1, 2};
.visible .func helper() { ret; }
.visible .entry loops(
	.param .u64 loops_param_0
)
.maxntid 256
{
	.reg .pred %p<3>; /* { */
	.loc 1 5 0
	ld.param.u64 %rd1, [loops_param_0]; // }
$L_top:
	ld.volatile.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd1];
	{
	.reg .b32 t;
	WAIT: setp.eq.u32 %p1, %r1, 0;
	@%p1 bra WAIT;
	}
	{
	WAIT: @!%p1 bra.uni WAIT;
	}
	.pragma "nounroll; {";
	brx.idx %r2, list;
list: .branchtargets $L_top, $L_end;
$L_end:
	ret;
}
.entry empty() { }
"#;

    #[test]
    fn entries_blocks_labels_and_tables() {
        let found = entries(TEXT, &|_| true);
        let names: Vec<_> = found.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["loops", "empty"]);
        let code = &found[0].1;
        let flows: Vec<_> = code.instructions.iter().map(|one| one.flow.clone()).collect();
        let to = |targets: &[usize], falls| Flow::To { targets: targets.to_vec(), falls };
        let expected =
            [Flow::Next, Flow::Next, Flow::Next, to(&[2], true), to(&[4], true), to(&[1, 6], false), Flow::End];
        assert_eq!(flows, expected);
        assert_eq!(code.instructions[1].at, 16);
        assert_eq!(code.place(1), "line 16 ($L_top)");
        assert_eq!(code.place(6), "line 29 ($L_end)");
        let access = &code.instructions[1].accesses[0];
        assert_eq!((access.kind, access.space, access.bytes), (Kind::Load, "global", Some(16)));
    }

    #[test]
    fn a_text_that_ends_early() {
        for end in 0..TEXT.len() {
            let _read_without_a_panic = entries(&TEXT[..end], &|_| true);
        }
    }
}
