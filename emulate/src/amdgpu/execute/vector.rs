//! Vector ALU: every operation reads its sources for a half of the wave, computes all lanes, and writes those that
//! EXEC lets through.

use crate::amdgpu::float;
use crate::amdgpu::instruction::{LaneFunction, Lanes, Map, Mask, Operation, Source, VectorSource, Width};
use crate::amdgpu::text::{EXEC, Part};
use crate::amdgpu::wave::Wave;
use crate::error::Fault;

/// A computed result, not written yet.
struct Pending {
    destination: u16,
    part: Part,
    clears: bool,
    lanes: [Lanes; 2],
}

/// Executes a vector instruction; false when it is none.
pub(in crate::amdgpu) fn execute(operation: &Operation, wave: &mut Wave) -> Result<bool, Fault> {
    match operation {
        Operation::Map(_) | Operation::Select { .. } => {
            let result = lane_wise(operation, wave)?;
            commit(&result, wave)?;
        }
        Operation::Dual(pair) => {
            let (first, second) = (lane_wise(&pair.0, wave)?, lane_wise(&pair.1, wave)?);
            commit(&first, wave)?;
            commit(&second, wave)?;
        }
        Operation::Compare { function, destination, sources: [a, b], flushes } => {
            let flush = *flushes && !wave.program.descriptor.denormals.keep_inputs;
            let mut mask = 0;
            for half in 0..wave.vector.halves {
                let (a, b) = (fetch(wave, a, half, flush)?, fetch(wave, b, half, flush)?);
                mask |= u64::from(function(&a, &b)) << (32 * half);
            }
            write_mask(wave, *destination, mask);
        }
        Operation::CompareDouble { function, destination, sources: [a, b] } => {
            let mut mask = 0;
            for lane in active(wave) {
                let (a, b) = (lane_value(wave, a, Width::Double, lane)?, lane_value(wave, b, Width::Double, lane)?);
                mask |= u64::from(function(a, b)) << lane;
            }
            write_mask(wave, *destination, mask);
        }
        Operation::MapDouble { function, destination, sources: [a, b, c] } => {
            let mut results = [0u64; 64];
            for lane in active(wave) {
                let value = function(
                    lane_value(wave, &a.0, a.1, lane)?,
                    lane_value(wave, &b.0, b.1, lane)?,
                    lane_value(wave, &c.0, c.1, lane)?,
                );
                if let Some(result) = results.get_mut(lane) {
                    *result = value;
                }
            }
            write_doubles(wave, *destination, &results)?;
        }
        Operation::MultiplyAdd { destination, carry_out, sources: [a, b, c] } => {
            let (mut results, mut out) = ([0u64; 64], 0u64);
            for lane in active(wave) {
                let (a, b) = (lane_value(wave, a, Width::Word, lane)?, lane_value(wave, b, Width::Word, lane)?);
                let (sum, carry) = (a * b).overflowing_add(lane_value(wave, c, Width::Double, lane)?);
                out |= u64::from(carry) << lane;
                if let Some(result) = results.get_mut(lane) {
                    *result = sum;
                }
            }
            write_doubles(wave, *destination, &results)?;
            write_mask(wave, Mask::Scalar(*carry_out), out);
        }
        Operation::Carry { function, destination, carry_out, carry_in, sources: [a, b] } => {
            let carries = carry_in.map_or(0, |register| mask_value(wave, register));
            let mut result =
                Pending { destination: *destination, part: Part::Whole, clears: false, lanes: [[0; 32]; 2] };
            let mut out = 0u64;
            for (half, lanes) in result.lanes.iter_mut().enumerate().take(wave.vector.halves) {
                let (a, b) = (fetch(wave, a, half, false)?, fetch(wave, b, half, false)?);
                for (lane, ((result, a), b)) in (32 * half..).zip(lanes.iter_mut().zip(a).zip(b)) {
                    let (value, carry) = function(a, b, carries >> lane & 1 != 0);
                    *result = value;
                    out |= u64::from(carry) << lane;
                }
            }
            let out = out & wave.exec();
            commit(&result, wave)?;
            write_mask(wave, Mask::Scalar(*carry_out), out);
        }
        Operation::MaskCount { destination, sources: [mask, base], high } => {
            let mut result =
                Pending { destination: *destination, part: Part::Whole, clears: false, lanes: [[0; 32]; 2] };
            for (half, lanes) in result.lanes.iter_mut().enumerate().take(wave.vector.halves) {
                let (masks, bases) = (fetch(wave, mask, half, false)?, fetch(wave, base, half, false)?);
                for (lane, ((result, mask), base)) in (32 * half..).zip(lanes.iter_mut().zip(masks).zip(bases)) {
                    let below = (1u64 << lane) - 1;
                    let below = if *high { below >> 32 } else { below & 0xFFFF_FFFF };
                    *result = (mask & (below & 0xFFFF_FFFF) as u32).count_ones().wrapping_add(base);
                }
            }
            commit(&result, wave)?;
        }
        Operation::ReadFirstLane { destination, source } => {
            let exec = wave.exec();
            let lane = if exec == 0 { 0 } else { exec.trailing_zeros() as usize };
            let value = fetch(wave, source, lane / 32, false)?.get(lane % 32).copied().unwrap_or(0);
            wave.scalar.set_word(*destination, value);
        }
        Operation::ReadLane { destination, source, lane } => {
            let lane = scalar_value(wave, *lane) as usize % (32 * wave.vector.halves);
            let value = wave.vector.lane(*source, lane)?;
            wave.scalar.set_word(*destination, value);
        }
        Operation::WriteLane { destination, source, lane } => {
            let lane = scalar_value(wave, *lane) as usize % (32 * wave.vector.halves);
            let value = scalar_value(wave, *source);
            wave.vector.set_lane(*destination, lane, value)?;
        }
        Operation::FusedMix { destination, sources } => {
            let mut result =
                Pending { destination: *destination, part: Part::Whole, clears: false, lanes: [[0; 32]; 2] };
            for (half, lanes) in result.lanes.iter_mut().enumerate().take(wave.vector.halves) {
                let mut operands = [[0u32; 32]; 3];
                for (operand, (source, is_half)) in operands.iter_mut().zip(sources) {
                    *operand = fetch(wave, &VectorSource { negate: false, absolute: false, ..*source }, half, false)?;
                    for value in operand.iter_mut() {
                        if *is_half {
                            *value = float::half_to_single(*value);
                        }
                        *value = signs(*value, source, Part::Whole);
                    }
                }
                let [a, b, c] = operands;
                for (result, ((a, b), c)) in lanes.iter_mut().zip(a.into_iter().zip(b).zip(c)) {
                    *result = float::fused(a, b, c);
                }
            }
            commit(&result, wave)?;
        }
        _ => return Ok(false),
    }
    Ok(true)
}

/// Result of a `Map` or a `Select`, the two kinds that VOPD pairs.
fn lane_wise(operation: &Operation, wave: &Wave) -> Result<Pending, Fault> {
    match operation {
        Operation::Map(map) => self::map(map, wave),
        Operation::Select { destination, part, mask, sources: [a, b] } => {
            let mask = mask_value(wave, *mask);
            let mut result = Pending { destination: *destination, part: *part, clears: false, lanes: [[0; 32]; 2] };
            for (half, lanes) in result.lanes.iter_mut().enumerate().take(wave.vector.halves) {
                let (a, b) = (fetch(wave, a, half, false)?, fetch(wave, b, half, false)?);
                for (lane, ((result, a), b)) in (32 * half..).zip(lanes.iter_mut().zip(a).zip(b)) {
                    *result = if mask >> lane & 1 != 0 { b } else { a };
                }
            }
            Ok(result)
        }
        _ => Err(Fault::internal("no lane-wise operation")),
    }
}

fn map(map: &Map, wave: &Wave) -> Result<Pending, Fault> {
    let denormals = wave.program.descriptor.denormals;
    let flush = map.flushes && !denormals.keep_inputs;
    let mut result = Pending { destination: map.destination, part: map.part, clears: map.clears, lanes: [[0; 32]; 2] };
    let [a, b, c] = &map.sources;
    for (half, lanes) in result.lanes.iter_mut().enumerate().take(wave.vector.halves) {
        match map.function {
            LaneFunction::One(function) => function(lanes, &fetch(wave, a, half, flush)?),
            LaneFunction::Two(function) => {
                function(lanes, &fetch(wave, a, half, flush)?, &fetch(wave, b, half, flush)?);
            }
            LaneFunction::Three(function) => {
                function(
                    lanes,
                    &fetch(wave, a, half, flush)?,
                    &fetch(wave, b, half, flush)?,
                    &fetch(wave, c, half, flush)?,
                );
            }
        }
        if map.flushes && !denormals.keep_outputs && map.part == Part::Whole {
            lanes.iter_mut().for_each(|lane| *lane = float::flush(*lane));
        }
    }
    Ok(result)
}

fn commit(result: &Pending, wave: &mut Wave) -> Result<(), Fault> {
    let exec = wave.exec();
    for (half, lanes) in result.lanes.iter().enumerate().take(wave.vector.halves) {
        let target = wave.vector.get_mut(result.destination, half)?;
        for (lane, (target, value)) in (32 * half..).zip(target.iter_mut().zip(lanes)) {
            if exec >> lane & 1 != 0 {
                *target = match result.part {
                    Part::Whole => *value,
                    Part::Low if result.clears => *value & 0xFFFF,
                    Part::Low => *target & 0xFFFF_0000 | *value & 0xFFFF,
                    Part::High if result.clears => *value << 16,
                    Part::High => *target & 0xFFFF | *value << 16,
                };
            }
        }
    }
    Ok(())
}

/// Writes 64-bit results of the lanes that execute.
fn write_doubles(wave: &mut Wave, destination: u16, results: &[u64; 64]) -> Result<(), Fault> {
    for lane in active(wave) {
        let value = results.get(lane).copied().unwrap_or(0);
        wave.vector.set_lane(destination, lane, (value & 0xFFFF_FFFF) as u32)?;
        wave.vector.set_lane(destination + 1, lane, (value >> 32) as u32)?;
    }
    Ok(())
}

/// The lanes that execute.
pub(in crate::amdgpu) fn active(wave: &Wave) -> impl Iterator<Item = usize> + use<> {
    lanes_of(wave.exec())
}

/// The numbers of the set bits.
pub(in crate::amdgpu) fn lanes_of(mut mask: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lane = mask.trailing_zeros();
        mask &= mask.wrapping_sub(1);
        (lane < 64).then_some(lane as usize)
    })
}

fn scalar_value(wave: &Wave, source: Source) -> u32 {
    match source {
        Source::Scalar(register) => wave.scalar.word(register),
        Source::Constant(value) => (value & 0xFFFF_FFFF) as u32,
        Source::Vector(_) => 0,
    }
}

fn mask_value(wave: &Wave, register: u8) -> u64 {
    if wave.vector.halves == 1 { u64::from(wave.scalar.word(register)) } else { wave.scalar.double(register) }
}

/// Lanes that do not execute write 0.
fn write_mask(wave: &mut Wave, destination: Mask, mask: u64) {
    let mask = mask & wave.exec();
    let register = match destination {
        Mask::Scalar(register) => register,
        Mask::Exec => EXEC,
    };
    if wave.vector.halves == 1 {
        wave.scalar.set_word(register, (mask & 0xFFFF_FFFF) as u32);
    } else {
        wave.scalar.set_double(register, mask);
    }
}

fn signs(value: u32, source: &VectorSource, part: Part) -> u32 {
    let sign = if part == Part::Whole { 0x8000_0000 } else { 0x8000 };
    let value = if source.absolute { value & !sign } else { value };
    if source.negate { value ^ sign } else { value }
}

/// A source for one half of the wave, with its part taken out and its modifiers applied.
fn fetch(wave: &Wave, source: &VectorSource, half: usize, flush: bool) -> Result<Lanes, Fault> {
    let mut lanes = match source.from {
        Source::Vector(register) => *wave.vector.get(register, half)?,
        other => [scalar_value(wave, other); 32],
    };
    match source.part {
        Part::Whole => {}
        Part::Low => lanes.iter_mut().for_each(|lane| *lane &= 0xFFFF),
        Part::High => lanes.iter_mut().for_each(|lane| *lane >>= 16),
    }
    if source.negate || source.absolute {
        lanes.iter_mut().for_each(|lane| *lane = signs(*lane, source, source.part));
    }
    if flush && source.part == Part::Whole {
        lanes.iter_mut().for_each(|lane| *lane = float::flush(*lane));
    }
    Ok(lanes)
}

fn lane_value(wave: &Wave, source: &VectorSource, width: Width, lane: usize) -> Result<u64, Fault> {
    Ok(match (source.from, width) {
        (Source::Vector(register), Width::Double) => {
            u64::from(wave.vector.lane(register, lane)?) | u64::from(wave.vector.lane(register + 1, lane)?) << 32
        }
        (Source::Vector(register), _) => u64::from(wave.vector.lane(register, lane)?),
        (Source::Scalar(register), Width::Double) => wave.scalar.double(register),
        (Source::Scalar(register), _) => u64::from(wave.scalar.word(register)),
        (Source::Constant(value), _) => value,
    })
}
