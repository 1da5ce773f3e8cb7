//! A rank's `in` and `out`, with guard bytes around the elements, and the check that a call changed
//! the elements of `out` and nothing else.

use xreduce_contract::Element;

use crate::backend::{BackendError, Region, Session, Sharing, Value};
use crate::fault::What;
use crate::plan::{MAX_OFFSET, RankCall};
use crate::values;

/// Guard bytes before the first and after the last element that can be addressed.
const GUARD: u32 = 256;

/// The buffers of one rank.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Buffers {
    input: Region,
    output: Region,
    /// Size of each.
    bytes: u32,
}

/// What one buffer holds, byte for byte.
#[derive(Debug, Clone)]
struct Image {
    bytes: Vec<u8>,
    /// Offset of the first element.
    first: usize,
    /// Bytes of elements.
    data: usize,
}

/// What a call found in its buffers: to be compared with what it leaves.
#[derive(Debug, Clone)]
pub(crate) struct Before {
    element: Element,
    input: Image,
    output: Image,
    in_place: bool,
}

impl Image {
    /// Guard bytes everywhere, which depend on their place, and `data` at the element offset.
    fn new(bytes: u32, element: Element, offset: u32, data: &[u8]) -> Self {
        let first = (GUARD + offset * element.bytes()) as usize;
        let period = [0x5A, 0xC3, 0x96, 0x3C, 0xA5, 0x69, 0x0F];
        let mut guard = period.repeat(bytes as usize / period.len() + 1);
        guard.truncate(bytes as usize);
        Self { bytes: guard, first, data: data.len() }.with_data(data)
    }

    /// The same with other elements.
    fn with_data(mut self, data: &[u8]) -> Self {
        if let Some(elements) = self.bytes.get_mut(self.first..self.first + data.len()) {
            elements.copy_from_slice(data);
        }
        self
    }

    fn data<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        bytes.get(self.first..self.first + self.data).unwrap_or(&[])
    }

    /// The first byte outside the elements in which `saw` differs.
    fn changed_outside(&self, buffer: &'static str, saw: &[u8]) -> Option<What> {
        self.clone().with_data(self.data(saw)).changed(buffer, saw)
    }

    /// The first byte in which `saw` differs.
    fn changed(&self, buffer: &'static str, saw: &[u8]) -> Option<What> {
        if saw == self.bytes {
            return None;
        }
        let pairs = saw.iter().zip(&self.bytes).enumerate();
        let (at, (saw, expected)) = { pairs }.find(|(_, (saw, expected))| saw != expected)?;
        let offset = i64::try_from(at).unwrap_or(i64::MAX) - i64::try_from(self.first).unwrap_or(0);
        Some(What::Byte { buffer, offset, saw: *saw, expected: *expected })
    }
}

impl Buffers {
    /// Buffers on `rank` for up to `data` bytes of elements.
    pub(crate) fn allocate(
        session: &mut dyn Session,
        rank: u32,
        data: u32,
        sharing: Sharing,
    ) -> Result<Self, BackendError> {
        let bytes = 2 * GUARD + MAX_OFFSET * Element::F32.bytes() + data;
        let input = session.allocate(rank, u64::from(bytes), sharing)?;
        let output = session.allocate(rank, u64::from(bytes), sharing)?;
        Ok(Self { input, output, bytes })
    }

    /// Writes the elements of `in`, and guard bytes everywhere else.
    pub(crate) fn fill(
        &self,
        session: &mut dyn Session,
        element: Element,
        call: &RankCall,
        data: &[u8],
    ) -> Result<Before, BackendError> {
        let image = |offset| Image::new(self.bytes, element, offset, data);
        let blank = |image: Image| {
            let data: Vec<u8> = data.iter().map(|byte| !byte).collect();
            image.with_data(&data)
        };
        let before = if call.in_place {
            let output = image(call.out_offset);
            Before { element, input: blank(image(call.in_offset)), output, in_place: true }
        } else {
            // The old `out` differs from `in` in every bit, so that no byte is right by chance.
            Before { element, input: image(call.in_offset), output: blank(image(call.out_offset)), in_place: false }
        };
        session.write(self.input, 0, &before.input.bytes)?;
        session.write(self.output, 0, &before.output.bytes)?;
        Ok(before)
    }

    /// The arguments `in` and `out`.
    pub(crate) fn arguments(&self, element: Element, call: &RankCall) -> [Value; 2] {
        let address = |region, offset| Value::Address {
            region,
            offset: u64::from(GUARD) + u64::from(offset) * u64::from(element.bytes()),
        };
        let output = address(self.output, call.out_offset);
        [if call.in_place { output } else { address(self.input, call.in_offset) }, output]
    }

    /// What is wrong after the call: `out` must hold `expected` (or, if none, anything at all), and
    /// every other byte what it held before.
    pub(crate) fn verify(
        &self,
        session: &mut dyn Session,
        before: &Before,
        expected: Expected<'_>,
    ) -> Result<Option<What>, BackendError> {
        let mut saw = vec![0; self.bytes as usize];
        session.read(self.output, 0, &mut saw)?;
        let outside = before.output.changed_outside("out", &saw);
        let wrong = match expected {
            Expected::Anything => outside,
            Expected::Untouched => before.output.changed("out", &saw),
            // A wrong sum says more than the stray byte that often comes with it.
            Expected::Sum { sum, inputs } => {
                wrong_element(before.element, before.output.data(&saw), sum, inputs).or(outside)
            }
        };
        if wrong.is_some() {
            return Ok(wrong);
        }
        session.read(self.input, 0, &mut saw)?;
        let name = if before.in_place { "the unused in" } else { "in" };
        Ok(before.input.changed(name, &saw))
    }
}

fn wrong_element(element: Element, saw: &[u8], sum: &[u8], inputs: &[Vec<u8>]) -> Option<What> {
    let (index, saw, expected) = values::first_difference(element, saw, sum)?;
    let contribution = |input: &Vec<u8>| {
        let bits = values::elements(element, input).nth(index).unwrap_or(0);
        values::show(element, bits)
    };
    Some(What::Element {
        index,
        saw: values::show(element, saw),
        expected: values::show(element, expected),
        inputs: inputs.iter().map(contribution).collect(),
    })
}

/// What `out` must hold after a call.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Expected<'a> {
    /// This sum of these inputs.
    Sum { sum: &'a [u8], inputs: &'a [Vec<u8>] },
    /// What it held before.
    Untouched,
    /// Any elements.
    Anything,
}
