//! Loads, stores and atomic operations of a thread. The elements of a vector access are accesses of their own, in any
//! order (PTX ISA, "Vector Data-types" of the memory model).

use super::convert::{signed, truncate};
use super::instruction::{Access, Address, Register, Source, Type, Update};
use super::thread::PtxThread;
use crate::error::Fault;
use crate::memory::AccessKind;
use crate::rng::Rng;
use crate::thread::Context;

/// Most elements of a vector.
const MOST: usize = 8;

/// The numbers below `count`, shuffled.
fn shuffled(count: usize, rng: &mut Rng) -> [usize; MOST] {
    let mut order = std::array::from_fn(|index| index);
    for last in (1..count.min(MOST)).rev() {
        let other = usize::try_from(rng.below(last as u64 + 1)).unwrap_or(0);
        order.swap(last, other);
    }
    order
}

/// A value of type `kind` in a register of `width` bits.
pub(super) fn extend(value: u64, kind: Type, width: u32) -> u64 {
    if kind.is_signed() { truncate(signed(value, kind.bits()).cast_unsigned(), width) } else { value }
}

impl PtxThread {
    /// The address of an access of so many bytes, checked.
    fn address(&self, address: &Address, bytes: u64, kind: AccessKind, context: &Context<'_>) -> Result<u64, Fault> {
        let base = self.read(address.base, context).wrapping_add_signed(address.offset);
        let at = if address.shared { base.wrapping_add(self.block.shared) } else { base };
        context.memory.check(at, bytes, bytes, kind, self.block.start.device)?;
        Ok(at)
    }

    pub(super) fn load(
        &mut self,
        access: &Access,
        destinations: &[Register],
        width: u32,
        context: &mut Context<'_>,
    ) -> Result<(), Fault> {
        let size = u64::from(access.element.bits() / 8);
        let at = self.address(&access.address, size * destinations.len() as u64, AccessKind::Load, context)?;
        context.memory.maybe_drain(self.id, context.rng);
        let order = shuffled(destinations.len(), context.rng);
        for index in order.into_iter().take(destinations.len()) {
            let place = at + size * index as u64;
            let value = context.memory.ordered_load(self.id, place, size, access.order, context.rng);
            if let Some(destination) = destinations.get(index) {
                self.write(*destination, extend(value, access.element, width));
            }
            if index == 0 {
                self.note(context, at, value);
            }
        }
        Ok(())
    }

    pub(super) fn store(
        &mut self,
        access: &Access,
        sources: &[Source],
        context: &mut Context<'_>,
    ) -> Result<(), Fault> {
        let size = u64::from(access.element.bits() / 8);
        let at = self.address(&access.address, size * sources.len() as u64, AccessKind::Store, context)?;
        context.memory.maybe_drain(self.id, context.rng);
        let order = shuffled(sources.len(), context.rng);
        for index in order.into_iter().take(sources.len()) {
            let Some(source) = sources.get(index) else { continue };
            let value = truncate(self.read(*source, context), access.element.bits());
            let place = at + size * index as u64;
            context.memory.ordered_store(self.id, place, size, value, access.order, context.rng);
            if index == 0 {
                self.note(context, at, value);
            }
        }
        Ok(())
    }

    pub(super) fn atomic(
        &mut self,
        update: Update,
        access: &Access,
        destination: Register,
        [first, second]: [Source; 2],
        context: &mut Context<'_>,
    ) -> Result<(), Fault> {
        let kind = access.element;
        let size = u64::from(kind.bits() / 8);
        let at = self.address(&access.address, size, AccessKind::Atomic, context)?;
        context.memory.maybe_drain(self.id, context.rng);
        let (a, b) = (self.read(first, context), self.read(second, context));
        let apply = |old| updated(update, kind, old, a, b);
        let old = context.memory.ordered_update(self.id, at, size, access.order, context.rng, apply);
        self.write(destination, old);
        self.note(context, at, old);
        Ok(())
    }
}

/// What an update leaves; none when it leaves what was there.
fn updated(update: Update, kind: Type, old: u64, a: u64, b: u64) -> Option<u64> {
    let bits = kind.bits();
    let less = if kind.is_signed() { signed(a, bits) < signed(old, bits) } else { a < old };
    let new = match update {
        Update::Add => old.wrapping_add(a),
        Update::Minimum => {
            if less {
                a
            } else {
                old
            }
        }
        Update::Maximum => {
            if less {
                old
            } else {
                a
            }
        }
        Update::And => old & a,
        Update::Or => old | a,
        Update::Xor => old ^ a,
        Update::Exchange => a,
        Update::CompareAndSwap if old == a => b,
        Update::CompareAndSwap => return None,
        Update::Increment => {
            if old >= a {
                0
            } else {
                old + 1
            }
        }
        Update::Decrement => {
            if old == 0 || old > a {
                a
            } else {
                old - 1
            }
        }
    };
    Some(truncate(new, bits))
}
