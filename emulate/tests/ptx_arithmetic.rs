//! PTX instructions that compute, against references in Rust, on special and random operands. Every instruction of the
//! table in `ptx/translate/arithmetic.rs` is here. The references are written for clearness (searches, bit loops), not as
//! the emulator computes. Most instructions, and what becomes of NaNs, were compared with an H200 once: bit-equal.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap,
    reason = "test code outside test functions, and references that say what an instruction does to its bits"
)]

mod support;

use support::{Arguments, launch, read_words, region};
use xreduce_emulate::ptx::Module;
use xreduce_emulate::{Machine, RunOptions};

type Reference = fn(u64, u64, u64) -> u64;

const THREADS: usize = 512;

/// Operands that have broken arithmetic before, and random ones: triples of 64-bit values.
fn operands() -> Vec<[u64; 3]> {
    const SPECIAL: [u64; 30] = [
        0,
        1,
        2,
        31,
        32,
        33,
        63,
        64,
        0x7FFF_FFFF,
        0x8000_0000,
        0x8000_0001,
        0xFFFF_FFFF,
        0x3F80_0000,
        0xBF80_0000,
        0x7F80_0000,
        0xFF80_0000,
        0x7FC0_0000,
        0x7F80_0001,
        0x007F_FFFF,
        0x0080_0000,
        0x7F7F_FFFF,
        0x3380_0000,
        0x3300_0000,
        0x3300_0001,
        0x477F_EFFF,
        0x477F_F000,
        0x3F80_8000,
        0x3F81_8000,
        0x7FFF_FFFF_FFFF_FFFF,
        0x8000_0000_0000_0000,
    ];
    let mut state = 0x1234_5678_9ABC_DEF1_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let (random, special) = (state.rotate_left(29), SPECIAL[(state >> 40) as usize % SPECIAL.len()]);
        match state % 5 {
            0 | 1 => special,
            2 => special << 32 | random & 0xFFFF_FFFF,
            // Floats near each other, halfway cases of narrower ones.
            3 => 0x3F80_0000 + (random & 0x07FF_F000),
            _ => random,
        }
    };
    (0..THREADS).map(|_| std::array::from_fn(|_| next())).collect()
}

/// A kernel around one instruction: operands in %a %b %c (64 bits), %ra %rb %rc (their low words), %ha %hb (16 bits), %pc
/// (the lowest bit of c); the result in %d, %r, %h or %p.
fn kernel(instruction: &str) -> String {
    format!(
        ".version 8.6\n.target sm_100\n.address_size 64\n.visible .entry test(.param .b64 in, .param .b64 out)\n{{\n\
         .reg .b64 %i, %o, %t, %a, %b, %c, %d;\n.reg .b32 %n, %ra, %rb, %rc, %r, %one;\n.reg .b16 %ha, %hb, %h;\n\
         .reg .pred %p, %pc, %q;\n\
         ld.param.b64 %i, [in];\nld.param.b64 %o, [out];\nmov.u32 %n, %tid.x;\nmad.wide.u32 %i, %n, 24, %i;\n\
         mad.wide.u32 %o, %n, 8, %o;\nld.global.b64 %a, [%i];\nld.global.b64 %b, [%i+8];\nld.global.b64 %c, [%i+16];\n\
         cvt.u32.u64 %ra, %a;\ncvt.u32.u64 %rb, %b;\ncvt.u32.u64 %rc, %c;\ncvt.u16.u64 %ha, %a;\ncvt.u16.u64 %hb, %b;\n\
         and.b32 %one, %rc, 1;\nsetp.ne.s32 %pc, %one, 0;\nmov.b64 %d, 0;\nmov.b32 %r, 0;\nmov.b16 %h, 0;\nmov.pred %p, 0;\n\
         {instruction};\n\
         cvt.u64.u32 %t, %r;\nor.b64 %d, %d, %t;\ncvt.u64.u16 %t, %h;\nor.b64 %d, %d, %t;\nselp.b64 %t, 1, 0, %p;\n\
         or.b64 %d, %d, %t;\nst.global.b64 [%o], %d;\nret;\n}}\n"
    )
}

fn results(instruction: &str, operands: &[[u64; 3]]) -> Vec<u64> {
    let module = Module::load(kernel(instruction).as_bytes()).unwrap_or_else(|error| panic!("{instruction}: {error}"));
    let mut machine = Machine::new();
    let device = machine.add_device();
    let words: Vec<u32> = operands.iter().flatten().flat_map(|value| [*value as u32, (value >> 32) as u32]).collect();
    let input = region(&mut machine, "in", device, &words);
    let output = region(&mut machine, "out", device, &[0; 2 * THREADS]);
    let arguments = Arguments::default().pointer(input).pointer(output);
    machine.launch(device, launch(&module.kernels()[0], 1, THREADS as u32, arguments)).unwrap();
    machine.run(&RunOptions::new(1)).unwrap_or_else(|failure| panic!("{instruction}: {failure}"));
    read_words(&machine, output, 2 * THREADS)
        .chunks_exact(2)
        .map(|pair| u64::from(pair[0]) | u64::from(pair[1]) << 32)
        .collect()
}

fn compare(table: &[(&str, Reference)]) {
    let operands = operands();
    for (instruction, reference) in table {
        for ([a, b, c], result) in operands.iter().zip(results(instruction, &operands)) {
            let expected = reference(*a, *b, *c);
            assert_eq!(result, expected, "{instruction} of {a:#x} {b:#x} {c:#x}: {result:#x}, not {expected:#x}");
        }
    }
}

fn w(value: u32) -> u64 {
    u64::from(value)
}

/// Sign extension of the low word.
fn s(value: u64) -> i64 {
    i64::from(value as u32 as i32)
}

#[test]
fn integers() {
    compare(&[
        ("add.s32 %r, %ra, %rb", |a, b, _| w((a as u32).wrapping_add(b as u32))),
        ("add.s64 %d, %a, %b", |a, b, _| a.wrapping_add(b)),
        ("add.s16 %h, %ha, %hb", |a, b, _| a.wrapping_add(b) & 0xFFFF),
        ("sub.s32 %r, %ra, %rb", |a, b, _| w((a as u32).wrapping_sub(b as u32))),
        ("sub.s64 %d, %a, -5", |a, _, _| a.wrapping_add(5)),
        ("mul.lo.s32 %r, %ra, %rb", |a, b, _| w((a as u32).wrapping_mul(b as u32))),
        ("mul.lo.s64 %d, %a, %b", |a, b, _| a.wrapping_mul(b)),
        ("mul.hi.u32 %r, %ra, %rb", |a, b, _| ((a & 0xFFFF_FFFF) * (b & 0xFFFF_FFFF)) >> 32),
        ("mul.hi.s32 %r, %ra, %rb", |a, b, _| w(((s(a) * s(b)) >> 32) as u32)),
        ("mul.hi.u64 %d, %a, %b", |a, b, _| ((u128::from(a) * u128::from(b)) >> 64) as u64),
        ("mul.hi.s64 %d, %a, %b", |a, b, _| ((i128::from(a as i64) * i128::from(b as i64)) >> 64) as u64),
        ("mul.wide.u32 %d, %ra, %rb", |a, b, _| (a & 0xFFFF_FFFF) * (b & 0xFFFF_FFFF)),
        ("mul.wide.s32 %d, %ra, %rb", |a, b, _| (s(a) * s(b)) as u64),
        ("mul.wide.u16 %r, %ha, %hb", |a, b, _| (a & 0xFFFF) * (b & 0xFFFF)),
        ("mad.lo.s32 %r, %ra, %rb, %rc", |a, b, c| w((a as u32).wrapping_mul(b as u32).wrapping_add(c as u32))),
        ("mad.hi.u32 %r, %ra, %rb, %rc", |a, b, c| {
            w((((a & 0xFFFF_FFFF) * (b & 0xFFFF_FFFF)) >> 32) as u32).wrapping_add(c) & 0xFFFF_FFFF
        }),
        ("mad.wide.s32 %d, %ra, %rb, %c", |a, b, c| ((s(a) * s(b)) as u64).wrapping_add(c)),
        ("mad.lo.s64 %d, %a, %b, %c", |a, b, c| a.wrapping_mul(b).wrapping_add(c)),
        ("or.b32 %rb, %rb, 1; div.u32 %r, %ra, %rb", |a, b, _| w(a as u32 / (b as u32 | 1))),
        ("or.b32 %rb, %rb, 1; div.s32 %r, %ra, %rb", |a, b, _| w((a as i32).wrapping_div(b as i32 | 1) as u32)),
        ("or.b64 %b, %b, 1; rem.u64 %d, %a, %b", |a, b, _| a % (b | 1)),
        ("or.b64 %b, %b, 1; rem.s64 %d, %a, %b", |a, b, _| (a as i64).wrapping_rem(b as i64 | 1) as u64),
        ("min.s32 %r, %ra, %rb", |a, b, _| w((a as i32).min(b as i32) as u32)),
        ("max.u32 %r, %ra, %rb", |a, b, _| w((a as u32).max(b as u32))),
        ("max.s64 %d, %a, %b", |a, b, _| (a as i64).max(b as i64) as u64),
        ("neg.s32 %r, %ra", |a, _, _| w((a as u32).wrapping_neg())),
        ("abs.s32 %r, %ra", |a, _, _| w((a as i32).wrapping_abs() as u32)),
        ("and.b32 %r, %ra, %rb", |a, b, _| a & b & 0xFFFF_FFFF),
        ("or.b64 %d, %a, %b", |a, b, _| a | b),
        ("xor.b16 %h, %ha, %hb", |a, b, _| (a ^ b) & 0xFFFF),
        ("not.b32 %r, %ra", |a, _, _| !a & 0xFFFF_FFFF),
        ("cnot.b32 %r, %ra", |a, _, _| u64::from(a as u32 == 0)),
        (
            "and.b32 %rb, %rb, 127; shl.b32 %r, %ra, %rb",
            |a, b, _| {
                if b & 127 < 32 { (a << (b & 127)) & 0xFFFF_FFFF } else { 0 }
            },
        ),
        ("shl.b64 %d, %a, %rb", |a, b, _| if (b as u32) < 64 { a << (b & 63) } else { 0 }),
        ("and.b32 %rb, %rb, 63; shr.u32 %r, %ra, %rb", |a, b, _| (a & 0xFFFF_FFFF) >> (b & 63)),
        ("and.b32 %rb, %rb, 63; shr.s32 %r, %ra, %rb", |a, b, _| w((s(a) >> (b & 63)) as u32)),
        ("shr.s64 %d, %a, %rb", |a, b, _| ((a as i64) >> w(b as u32).min(63)) as u64),
        ("shf.l.wrap.b32 %r, %ra, %rb, %rc", |a, b, c| {
            w((((b & 0xFFFF_FFFF) << 32 | a & 0xFFFF_FFFF) << (c & 31) >> 32) as u32)
        }),
        ("shf.r.wrap.b32 %r, %ra, %rb, %rc", |a, b, c| {
            w((((b & 0xFFFF_FFFF) << 32 | a & 0xFFFF_FFFF) >> (c & 31)) as u32)
        }),
        ("shf.r.clamp.b32 %r, %ra, %rb, %rc", |a, b, c| {
            w((((b & 0xFFFF_FFFF) << 32 | a & 0xFFFF_FFFF) >> w(c as u32).min(32)) as u32)
        }),
        ("popc.b32 %r, %ra", |a, _, _| w((a as u32).count_ones())),
        ("popc.b64 %r, %a", |a, _, _| w(a.count_ones())),
        ("clz.b32 %r, %ra", |a, _, _| w((a as u32).leading_zeros())),
        ("clz.b64 %r, %a", |a, _, _| w(a.leading_zeros())),
        ("brev.b32 %r, %ra", |a, _, _| w((a as u32).reverse_bits())),
        ("bfe.u32 %r, %ra, 16, 1", |a, _, _| a >> 16 & 1),
        ("and.b32 %rb, %rb, 255; and.b32 %rc, %rc, 255; bfe.u32 %r, %ra, %rb, %rc", |a, b, c| {
            let field = if b & 255 < 32 { (a & 0xFFFF_FFFF) >> (b & 255) } else { 0 };
            if c & 255 < 32 { field & ((1 << (c & 255)) - 1) } else { field }
        }),
        ("bfe.s64 %d, %a, 4, 8", |a, _, _| i64::from((a >> 4) as u8 as i8) as u64),
        ("prmt.b32 %r, %ra, %rb, 0x7632U", |a, b, _| (b & 0xFFFF_0000) | (a >> 16 & 0xFFFF)),
        ("prmt.b32 %r, %ra, 0, 0x123U", |a, _, _| w((a as u32).swap_bytes())),
        ("prmt.b32 %r, %ra, %rb, 0x6FB8U", |a, b, _| {
            let sign = |byte: u64| if byte & 0x80 == 0 { 0 } else { 0xFF };
            (b >> 16 & 0xFF) << 24 | sign(b >> 24) << 16 | sign(a >> 24) << 8 | sign(a)
        }),
        ("lop3.b32 %r, %ra, %rb, %rc, 0xE8", |a, b, c| (a & b | a & c | b & c) & 0xFFFF_FFFF),
        // Table bits 1, 3 and 4: (a, b, c) is (0, 0, 1), (0, 1, 1) or (1, 0, 0).
        ("lop3.b32 %r, %ra, %rb, %rc, 0x1A", |a, b, c| (!a & c | a & !b & !c) & 0xFFFF_FFFF),
        ("selp.b32 %r, %ra, %rb, %pc", |a, b, c| (if c & 1 == 1 { a } else { b }) & 0xFFFF_FFFF),
        ("selp.b64 %d, %a, 7, %pc", |a, _, c| if c & 1 == 1 { a } else { 7 }),
        ("mov.b64 {_, %r}, %a", |a, _, _| a >> 32),
        ("mov.b32 {%h, _}, %ra", |a, _, _| a & 0xFFFF),
        ("mov.b64 %d, {%ra, %rb}", |a, b, _| a & 0xFFFF_FFFF | b << 32),
        ("mov.b32 %r, {%ha, %hb}", |a, b, _| a & 0xFFFF | (b & 0xFFFF) << 16),
        ("{ .reg .b16 tmp; mov.b32 {tmp, %h}, %ra; } mov.b32 %n, 0", |a, _, _| a >> 16 & 0xFFFF),
    ]);
}

#[test]
fn predicates() {
    compare(&[
        ("setp.eq.b32 %p, %ra, %rb", |a, b, _| u64::from(a as u32 == b as u32)),
        ("setp.ne.s64 %p, %a, %b", |a, b, _| u64::from(a != b)),
        ("setp.lt.s32 %p, %ra, %rb", |a, b, _| u64::from((a as i32) < b as i32)),
        ("setp.lt.u32 %p, %ra, %rb", |a, b, _| u64::from((a as u32) < b as u32)),
        ("setp.hs.u64 %p, %a, %b", |a, b, _| u64::from(a >= b)),
        ("setp.le.s64 %p, %a, %b", |a, b, _| u64::from(a as i64 <= b as i64)),
        ("setp.gt.and.u32 %p, %ra, %rb, !%pc", |a, b, c| u64::from(a as u32 > b as u32 && c & 1 == 0)),
        ("setp.lt.xor.s32 %q|%p, %ra, %rb, %pc", |a, b, c| u64::from((a as i32 >= b as i32) != (c & 1 == 1))),
        ("setp.eq.s32 %q, %ra, %ra; and.pred %p, %q, %pc", |_, _, c| c & 1),
        ("not.pred %p, %pc", |_, _, c| !c & 1),
        ("mov.pred %p, -1", |_, _, _| 1),
        ("xor.pred %p, %pc, 1", |_, _, c| !c & 1),
        ("@%pc mov.b64 %d, %a", |a, _, c| if c & 1 == 1 { a } else { 0 }),
        ("@!%pc mov.b64 %d, %a", |a, _, c| if c & 1 == 0 { a } else { 0 }),
    ]);
}

fn f(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

/// Bits of a result; PTX has one NaN.
fn single(value: f32) -> u64 {
    if value.is_nan() { 0x7FFF_FFFF } else { w(value.to_bits()) }
}

/// Lanes of an f32x2 result.
fn lanes(a: u64, b: u64, operation: fn(f32, f32) -> f32) -> u64 {
    single(operation(f(a), f(b))) | single(operation(f(a >> 32), f(b >> 32))) << 32
}

/// A product and sum rounded once, by way of f64: exact products, and the sum rounded to odd first.
fn fused(a: f32, b: f32, c: f32) -> f32 {
    let (product, c) = (f64::from(a) * f64::from(b), f64::from(c));
    let sum = product + c;
    let back = sum - product;
    let error = (product - (sum - back)) + (c - back);
    let odd = sum.to_bits() & 1 == 1 || error == 0.0 || !sum.is_finite() || error.is_nan();
    let outward = (error > 0.0) == (sum > 0.0);
    let bits = sum.to_bits();
    f64::from_bits(if odd {
        bits
    } else if outward {
        bits + 1
    } else {
        bits - 1
    }) as f32
}

#[test]
fn floats() {
    compare(&[
        ("add.rn.f32 %r, %ra, %rb", |a, b, _| single(f(a) + f(b))),
        ("sub.rn.f32 %r, %ra, %rb", |a, b, _| single(f(a) - f(b))),
        ("mul.rn.f32 %r, %ra, %rb", |a, b, _| single(f(a) * f(b))),
        ("div.rn.f32 %r, %ra, %rb", |a, b, _| single(f(a) / f(b))),
        ("fma.rn.f32 %r, %ra, %rb, %rc", |a, b, c| single(fused(f(a), f(b), f(c)))),
        ("add.rn.f32x2 %d, %a, %b", |a, b, _| lanes(a, b, |a, b| a + b)),
        ("sub.rn.f32x2 %d, %a, %b", |a, b, _| lanes(a, b, |a, b| a - b)),
        ("mul.rn.f32x2 %d, %a, %b", |a, b, _| lanes(a, b, |a, b| a * b)),
        ("min.f32 %r, %ra, %rb", |a, b, _| {
            let negative_zero = f(a) == 0.0 && f(b) == 0.0 && (f(a).is_sign_negative() || f(b).is_sign_negative());
            if negative_zero { 0x8000_0000 } else { single(f(a).min(f(b))) }
        }),
        ("max.f32 %r, %ra, 0f40000000", |a, _, _| single(f(a).max(2.0))),
        ("neg.f32 %r, %ra", |a, _, _| single(-f(a))),
        ("abs.f32 %r, %ra", |a, _, _| single(f(a).abs())),
        ("setp.lt.f32 %p, %ra, %rb", |a, b, _| u64::from(f(a) < f(b))),
        ("setp.ne.f32 %p, %ra, %rb", |a, b, _| u64::from(f(a) < f(b) || f(a) > f(b))),
        ("setp.neu.f32 %p, %ra, %rb", |a, b, _| u64::from(f(a) != f(b))),
        ("setp.geu.f32 %p, %ra, %rb", |a, b, _| u64::from(f(a).is_nan() || f(b).is_nan() || f(a) >= f(b))),
        ("setp.num.f32 %p, %ra, %rb", |a, b, _| u64::from(!f(a).is_nan() && !f(b).is_nan())),
        ("setp.nan.f32 %p, %ra, %rb", |a, b, _| u64::from(f(a).is_nan() || f(b).is_nan())),
    ]);
}

/// The value of a small float without sign, NaN or infinity.
fn small(bits: u32, mantissa: u32, bias: i32) -> f64 {
    let (exponent, fraction) = ((bits >> mantissa) as i32, f64::from(bits & ((1 << mantissa) - 1)));
    let scale = |exponent: i32| 2_f64.powi(exponent - bias - mantissa as i32);
    if exponent == 0 { fraction * scale(1) } else { (fraction + f64::from(1 << mantissa)) * scale(exponent) }
}

/// The nearest small float by search; ties to the even one. `infinity` is the first encoding that is not finite.
fn nearest(value: f32, mantissa: u32, bias: i32, infinity: u32) -> u64 {
    let sign = if value.is_sign_negative() { 0x8000 } else { 0 };
    if value.is_nan() {
        return 0x7FFF;
    }
    let magnitude = f64::from(value.abs());
    let (mut low, mut high) = (0, infinity);
    while high - low > 1 {
        let middle = (low + high) / 2;
        if small(middle, mantissa, bias) <= magnitude { low = middle } else { high = middle }
    }
    // Infinity stands where the next finite number would.
    let (below, above) = (magnitude - small(low, mantissa, bias), small(high, mantissa, bias) - magnitude);
    let up = above < below || above == below && low % 2 == 1;
    sign | w(if up { high } else { low })
}

fn half(value: u64) -> u64 {
    nearest(f(value), 10, 15, 0x7C00)
}

fn brain(value: u64) -> u64 {
    nearest(f(value), 7, 127, 0x7F80)
}

/// The value of an f16 as f32.
fn widened(bits: u64) -> u64 {
    let magnitude = bits as u32 & 0x7FFF;
    let value = match magnitude {
        0x7C01.. => return 0x7FFF_FFFF,
        0x7C00 => f32::INFINITY,
        _ => small(magnitude, 10, 15) as f32,
    };
    w(value.to_bits()) | (bits & 0x8000) << 16
}

#[test]
fn sums_of_halves() {
    compare(&[
        ("add.rn.f16 %h, %ha, %hb", |a, b, _| nearest(f(widened(a)) + f(widened(b)), 10, 15, 0x7C00)),
        ("add.rn.f16x2 %r, %ra, %rb", |a, b, _| {
            let sum = |a, b| nearest(f(widened(a)) + f(widened(b)), 10, 15, 0x7C00);
            sum(a >> 16, b >> 16) << 16 | sum(a, b)
        }),
    ]);
}

#[test]
fn conversions() {
    compare(&[
        ("cvt.rn.f16.f32 %h, %ra", |a, _, _| half(a)),
        ("cvt.rn.bf16.f32 %h, %ra", |a, _, _| brain(a)),
        ("cvt.rn.f16x2.f32 %r, %ra, %rb", |a, b, _| half(a) << 16 | half(b)),
        ("cvt.rn.bf16x2.f32 %r, %ra, %rb", |a, b, _| brain(a) << 16 | brain(b)),
        ("cvt.f32.f16 %r, %ha", |a, _, _| widened(a)),
        ("cvt.f32.bf16 %r, %ha", |a, _, _| (a & 0xFFFF) << 16),
        ("cvt.u64.u32 %d, %ra", |a, _, _| a & 0xFFFF_FFFF),
        ("cvt.s64.s32 %d, %ra", |a, _, _| s(a) as u64),
        ("cvt.u32.u16 %r, %ha", |a, _, _| a & 0xFFFF),
        ("cvt.s32.s16 %r, %ha", |a, _, _| w(i32::from(a as u16 as i16) as u32)),
        ("cvt.s32.s8 %r, %ra", |a, _, _| w(i32::from(a as u8 as i8) as u32)),
        ("cvt.u16.u64 %h, %a", |a, _, _| a & 0xFFFF),
        ("cvt.sat.u8.s32 %r, %ra", |a, _, _| (a as i32).clamp(0, 255) as u64),
        ("cvt.sat.s32.s64 %r, %a", |a, _, _| w((a as i64).clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as u32)),
        ("cvt.rn.f32.u32 %r, %ra", |a, _, _| single(a as u32 as f32)),
        ("cvt.rn.f32.s64 %r, %a", |a, _, _| single(a as i64 as f32)),
        ("cvt.rzi.s32.f32 %r, %ra", |a, _, _| w(f(a) as i32 as u32)),
        ("cvt.rni.u32.f32 %r, %ra", |a, _, _| w(f(a).round_ties_even() as u32)),
        ("cvt.rmi.s32.f32 %r, %ra", |a, _, _| w(f(a).floor() as i32 as u32)),
        ("cvt.rpi.s64.f32 %d, %ra", |a, _, _| if f(a).is_nan() { 1 << 63 } else { f(a).ceil() as i64 as u64 }),
    ]);
    // All encodings there and back.
    let operands: Vec<[u64; 3]> = (0..=0xFFFF).map(|bits| [bits, 0, 0]).collect();
    for (instruction, infinity) in [("f16", 0x7C00), ("bf16", 0x7F80)] {
        for part in operands.chunks(THREADS) {
            let there = format!("cvt.f32.{instruction} %ra, %ha; cvt.rn.{instruction}.f32 %h, %ra");
            for ([bits, ..], result) in part.iter().zip(results(&there, part)) {
                let nan = *bits as u32 & 0x7FFF > infinity;
                assert_eq!(result, if nan { 0x7FFF } else { *bits }, "{instruction} {bits:#x}");
            }
        }
    }
}

#[test]
fn loads_and_stores_of_every_width() {
    let memory = "cvt.u32.u64 %n, %a; st.global.b64 [%o], %a;";
    let table: [(String, Reference); 7] = [
        (format!("{memory} ld.global.u8 %r, [%o+1]"), |a, _, _| a >> 8 & 0xFF),
        (format!("{memory} ld.global.s8 %r, [%o+3]"), |a, _, _| w(i32::from((a >> 24) as u8 as i8) as u32)),
        (format!("{memory} ld.global.s16 %r, [%o+2]"), |a, _, _| w(i32::from((a >> 16) as u16 as i16) as u32)),
        (format!("{memory} ld.global.s32 %d, [%o+4]"), |a, _, _| (a as i64 >> 32) as u64),
        (format!("{memory} ld.global.v2.b32 {{%r, _}}, [%o]"), |a, _, _| a & 0xFFFF_FFFF),
        (format!("{memory} st.global.b8 [%o+1], %rb; ld.global.b64 %d, [%o]"), |a, b, _| a & !0xFF00 | (b & 0xFF) << 8),
        (format!("{memory} st.global.v4.b16 [%o], {{%ha, %hb, %hb, %ha}}; ld.global.b64 %d, [%o]"), |a, b, _| {
            a & 0xFFFF | ((b & 0xFFFF) * 0x1_0001_0000) | (a & 0xFFFF) << 48
        }),
    ];
    let table: Vec<(&str, Reference)> = table.iter().map(|(text, reference)| (text.as_str(), *reference)).collect();
    compare(&table);
}

#[test]
fn updates_of_every_kind() {
    let with = |operation: &str| format!("st.global.b64 [%o], %a; {operation}; ld.global.b64 %d, [%o]");
    let table: [(String, Reference); 11] = [
        (with("atom.global.add.u32 %n, [%o], %rb"), |a, b, _| a & !0xFFFF_FFFF | w((a as u32).wrapping_add(b as u32))),
        (with("red.relaxed.gpu.global.add.u64 [%o], %b"), |a, b, _| a.wrapping_add(b)),
        (with("atom.global.min.s32 %n, [%o], %rb"), |a, b, _| a & !0xFFFF_FFFF | w((a as i32).min(b as i32) as u32)),
        (with("atom.global.max.u32 %n, [%o], %rb"), |a, b, _| a & !0xFFFF_FFFF | w((a as u32).max(b as u32))),
        (with("red.global.and.b32 [%o], %rb"), |a, b, _| a & (b | !0xFFFF_FFFF)),
        (with("red.global.or.b64 [%o], %b"), |a, b, _| a | b),
        (with("red.global.xor.b32 [%o], %rb"), |a, b, _| a ^ (b & 0xFFFF_FFFF)),
        (with("atom.global.exch.b64 %t, [%o], %b"), |_, b, _| b),
        (with("atom.global.cas.b32 %n, [%o], 1, %rb"), |a, b, _| {
            if a as u32 == 1 { a & !0xFFFF_FFFF | b & 0xFFFF_FFFF } else { a }
        }),
        (with("atom.global.inc.u32 %n, [%o], %rb"), |a, b, _| {
            a & !0xFFFF_FFFF | w(if a as u32 >= b as u32 { 0 } else { a as u32 + 1 })
        }),
        (with("atom.global.dec.u32 %n, [%o], %rb"), |a, b, _| {
            let (old, bound) = (a as u32, b as u32);
            a & !0xFFFF_FFFF | w(if old == 0 || old > bound { bound } else { old - 1 })
        }),
    ];
    let table: Vec<(&str, Reference)> = table.iter().map(|(text, reference)| (text.as_str(), *reference)).collect();
    compare(&table);
    compare(&[("st.global.b64 [%o], %a; atom.acq_rel.sys.global.add.u64 %d, [%o], %b", |a, _, _| a)]);
}
