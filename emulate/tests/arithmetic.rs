//! Instructions against a reference in Rust, on special and random operands, lane by lane, on every family that has
//! them.

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

use support::{Arguments, assemble, assemble_with, launch, load, read_words, region};
use xreduce_emulate::amdgpu::CodeObject;
use xreduce_emulate::{Machine, RunOptions};

/// Operands that have broken float code before, and random ones. `lanes` triples.
fn operands(seed: u64, lanes: usize) -> [Vec<u32>; 3] {
    const SPECIAL: [u32; 20] = [
        0,
        0x8000_0000,
        1,
        0x8000_0001,
        0x007F_FFFF,
        0x0080_0000,
        0x3F80_0000,
        0xBF80_0000,
        0x7F7F_FFFF,
        0xFF7F_FFFF,
        0x7F80_0000,
        0xFF80_0000,
        0x7FC0_0000,
        0xFFFF_FFFF,
        0x7F80_0001,
        0x0000_FFFF,
        0xFFFF_0000,
        0x3380_0000,
        0x477F_F000,
        31,
    ];
    let mut state = seed | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let random = (state >> 24) as u32;
        if state.is_multiple_of(3) { SPECIAL[(state >> 40) as usize % SPECIAL.len()] } else { random }
    };
    std::array::from_fn(|_| (0..lanes).map(|_| next()).collect())
}

/// The instructions around the tested ones: operands of the lane in v[10:12], its results from v[20:21].
fn harness(processor: &str, body: &str) -> String {
    let gfx12 = processor.starts_with("gfx12");
    let gfx9 = processor.starts_with("gfx9");
    let old = gfx9 || processor.starts_with("gfx10");
    let (load64, load32) = if old { ("dwordx2", "dword") } else { ("b64", "b32") };
    let wait = if gfx12 { "s_wait_kmcnt 0x0\ns_wait_loadcnt 0x0" } else { "s_waitcnt vmcnt(0) lgkmcnt(0)" };
    format!(
        "s_load_{load64} s[4:5], s[0:1], 0x0\ns_load_{load64} s[6:7], s[0:1], 0x8\ns_load_{load64} s[8:9], s[0:1], 0x10\ns_load_{load64} s[10:11], s[0:1], 0x18\n{wait}\n\
         v_lshlrev_b32 v1, 2, v0\nv_lshlrev_b32 v2, 3, v0\n\
         global_load_{load32} v10, v1, s[4:5]\nglobal_load_{load32} v11, v1, s[6:7]\nglobal_load_{load32} v12, v1, s[8:9]\n{wait}\n\
         v_mov_b32 v20, 0\nv_mov_b32 v21, 0\n{body}\nglobal_store_{load64} v2, v[20:21], s[10:11]\ns_endpgm"
    )
}

/// A kernel that runs `body` on 64 lanes.
struct Body {
    object: CodeObject,
    what: String,
}

/// A lane's operands and its v[20:21] at the end.
type Lane = ([u32; 3], [u32; 2]);

impl Body {
    fn new(processor: &str, body: &str) -> Self {
        let what = format!("{processor}: {body}");
        let object =
            load(&assemble(processor, 32, &harness(processor, body))).unwrap_or_else(|error| panic!("{what}: {error}"));
        Body { object, what }
    }

    fn run(&self, seed: u64) -> Vec<Lane> {
        let mut machine = Machine::new();
        let device = machine.add_device();
        let inputs = operands(seed, 64);
        let addresses = inputs.each_ref().map(|words| region(&mut machine, "operands", device, words));
        let output = region(&mut machine, "results", device, &[0; 128]);
        let arguments = addresses.into_iter().fold(Arguments::default(), Arguments::pointer).pointer(output);
        machine.launch(device, launch(&self.object.kernels()[0], 1, 64, arguments)).unwrap();
        machine.run(&RunOptions::new(seed)).unwrap_or_else(|failure| panic!("{}: {failure}", self.what));
        let results = read_words(&machine, output, 128);
        (0..64)
            .map(|lane| (inputs.each_ref().map(|words| words[lane]), [results[2 * lane], results[2 * lane + 1]]))
            .collect()
    }
}

fn run(processor: &str, body: &str, seed: u64) -> Vec<Lane> {
    Body::new(processor, body).run(seed)
}

const EVERY: &[&str] = &["gfx1100", "gfx1201", "gfx1030", "gfx908", "gfx942"];
const RDNA: &[&str] = &["gfx1100", "gfx1201", "gfx1030"];
const GFX9: &[&str] = &["gfx908", "gfx942"];

/// Tests a body with a 32-bit result on some processors.
fn check(processors: &[&str], body: &str, reference: impl Fn(u32, u32, u32) -> u32) {
    for processor in processors {
        let kernel = Body::new(processor, body);
        for seed in 1..6 {
            for ([a, b, c], [result, _]) in kernel.run(seed * 77_777) {
                let expected = reference(a, b, c);
                let what = &kernel.what;
                assert_eq!(result, expected, "{what} of {a:#x} {b:#x} {c:#x}: {result:#x}, expected {expected:#x}");
            }
        }
    }
}

/// An IEEE operation; every NaN result is one quiet NaN, whose payload is that of the first NaN operand.
fn ieee(operands: &[u32], value: f32) -> u32 {
    if !value.is_nan() {
        return value.to_bits();
    }
    operands.iter().find(|bits| f32::from_bits(**bits).is_nan()).map_or(0x7FC0_0000, |bits| bits | 0x0040_0000)
}

fn f(bits: u32) -> f32 {
    f32::from_bits(bits)
}

#[test]
fn float_operations_are_ieee() {
    check(EVERY, "v_add_f32 v20, v10, v11", |a, b, _| ieee(&[a, b], f(a) + f(b)));
    check(EVERY, "v_sub_f32 v20, v10, v11", |a, b, _| ieee(&[a, b], f(a) - f(b)));
    check(EVERY, "v_mul_f32 v20, v10, v11", |a, b, _| ieee(&[a, b], f(a) * f(b)));
    check(EVERY, "v_fma_f32 v20, v10, v11, v12", |a, b, c| ieee(&[a, b, c], f(a).mul_add(f(b), f(c))));
    check(EVERY, "v_add_f32 v20, -v10, |v11|", |a, b, _| {
        let (a, b) = (a ^ 0x8000_0000, b & 0x7FFF_FFFF);
        ieee(&[a, b], f(a) + f(b))
    });
    check(EVERY, "v_add_f32 v20, 0.5, v11", |_, b, _| ieee(&[b], 0.5 + f(b)));
}

#[test]
fn a_kernel_that_flushes_denormals_gets_zeros() {
    let body = harness("gfx1100", "v_add_f32 v20, v10, v11");
    let object = load(&assemble_with("gfx1100", 32, &body, 0)).unwrap();
    let kernel = Body { object, what: "flushing".to_owned() };
    let flush = |bits: u32| if f(bits).is_subnormal() { bits & 0x8000_0000 } else { bits };
    for ([a, b, _], [result, _]) in kernel.run(3) {
        let (a, b) = (flush(a), flush(b));
        assert_eq!(result, flush(ieee(&[a, b], f(a) + f(b))));
    }
}

#[test]
fn paired_float_operations_read_before_they_write() {
    check(
        &["gfx1100", "gfx1201"],
        "v_mov_b32 v20, v10\nv_mov_b32 v21, v11\nv_dual_mov_b32 v20, v21 :: v_dual_mov_b32 v21, v20",
        |_, b, _| b,
    );
    check(
        &["gfx1100", "gfx1201"],
        "v_mov_b32 v21, v10\nv_dual_add_f32 v20, v21, v11 :: v_dual_mov_b32 v21, 1.0",
        |a, b, _| ieee(&[a, b], f(a) + f(b)),
    );
    check(&["gfx942"], "v_mov_b32 v13, v12\nv_pk_add_f32 v[20:21], v[10:11], v[12:13]", |a, _, c| {
        ieee(&[a, c], f(a) + f(c))
    });
}

#[test]
fn integer_operations() {
    check(RDNA, "v_add_nc_u32 v20, v10, v11", |a, b, _| a.wrapping_add(b));
    check(GFX9, "v_add_u32 v20, v10, v11", |a, b, _| a.wrapping_add(b));
    check(EVERY, "v_mul_lo_u32 v20, v10, v11", |a, b, _| a.wrapping_mul(b));
    check(EVERY, "v_mul_hi_u32 v20, v10, v11", |a, b, _| ((u64::from(a) * u64::from(b)) >> 32) as u32);
    check(EVERY, "v_lshlrev_b32 v20, v10, v11", |a, b, _| b << (a & 31));
    check(EVERY, "v_ashrrev_i32 v20, v10, v11", |a, b, _| ((b as i32) >> (a & 31)) as u32);
    check(EVERY, "v_lshl_add_u32 v20, v10, v11, v12", |a, b, c| (a << (b & 31)).wrapping_add(c));
    check(EVERY, "v_and_or_b32 v20, v10, v11, v12", |a, b, c| a & b | c);
    check(EVERY, "v_bfi_b32 v20, v10, v11, v12", |a, b, c| (a & b) | (!a & c));
    check(EVERY, "v_bfe_u32 v20, v10, 5, 9", |a, _, _| a >> 5 & 0x1FF);
    check(EVERY, "v_bfe_i32 v20, v10, 5, 9", |a, _, _| ((a << 18) as i32 >> 23) as u32);
    check(EVERY, "v_alignbit_b32 v20, v10, v11, v12", |a, b, c| {
        (((u64::from(a) << 32) | u64::from(b)) >> (c & 31)) as u32
    });
    check(EVERY, "v_max_i32 v20, v10, v11", |a, b, _| (a as i32).max(b as i32) as u32);
    // Bytes 3 and 2 of the first operand over bytes 3 and 2 of the second: how bf16 results are packed.
    check(RDNA, "v_perm_b32 v20, v10, v11, 0x7060302", |a, b, _| a & 0xFFFF_0000 | b >> 16);
}

#[test]
fn half_operations_and_conversions() {
    let half = |bits: u32| -> f64 {
        let (exponent, mantissa) = (bits >> 10 & 31, f64::from(bits & 0x3FF));
        let magnitude = match exponent {
            0 => mantissa * 2f64.powi(-24),
            31 if mantissa == 0.0 => f64::INFINITY,
            31 => f64::NAN,
            _ => (1024.0 + mantissa) * 2f64.powi(exponent as i32 - 25),
        };
        if bits & 0x8000 == 0 { magnitude } else { -magnitude }
    };
    check(EVERY, "v_cvt_f32_f16 v20, v10", |a, _, _| {
        let value = half(a & 0xFFFF);
        if value.is_nan() { (a & 0x8000) << 16 | 0x7FC0_0000 | (a & 0x3FF) << 13 } else { (value as f32).to_bits() }
    });
    // Exact halves survive the way back.
    check(EVERY, "v_cvt_f32_f16 v20, v10\nv_cvt_f16_f32 v20, v20\nv_and_b32 v20, 0xffff, v20", |a, _, _| {
        let a = a & 0xFFFF;
        if half(a).is_nan() { a | 0x200 } else { a }
    });
    check(GFX9, "v_cvt_f32_f16_sdwa v20, v10 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_1", |a, _, _| {
        let value = half(a >> 16);
        if value.is_nan() { a & 0x8000_0000 | 0x7FC0_0000 | (a >> 16 & 0x3FF) << 13 } else { (value as f32).to_bits() }
    });
    check(&["gfx1100"], "v_mov_b32 v20, v10\nv_mov_b16 v20.h, v11.l", |a, b, _| a & 0xFFFF | b << 16);
    check(&["gfx1100"], "v_mov_b32 v20, v10\nv_lshlrev_b16 v20.l, 3, v11.h", |a, b, _| {
        a & 0xFFFF_0000 | (b >> 16 << 3) & 0xFFFF
    });
    check(&["gfx1030"], "v_mov_b32 v20, v10\nv_add_nc_u16 v20, v10, v11 op_sel:[0,1,0]", |a, b, _| {
        a & 0xFFFF_0000 | a.wrapping_add(b >> 16) & 0xFFFF
    });
    check(GFX9, "v_mov_b32 v20, v10\nv_lshlrev_b16 v20, 3, v11", |_, b, _| (b << 3) & 0xFFFF);
}

#[test]
fn carries_go_through_masks() {
    // 64-bit sum of {b, a} and {c, b}; its high word shows the carry.
    let sum = |a: u32, b: u32, c: u32| {
        ((u64::from(b) << 32 | u64::from(a)).wrapping_add(u64::from(c) << 32 | u64::from(b)) >> 32) as u32
    };
    check(RDNA, "v_add_co_u32 v21, vcc_lo, v10, v11\nv_add_co_ci_u32 v20, vcc_lo, v11, v12, vcc_lo", sum);
    check(RDNA, "v_add_co_u32 v21, s12, v10, v11\nv_add_co_ci_u32_e64 v20, null, v11, v12, s12", sum);
    check(GFX9, "v_add_co_u32 v21, vcc, v10, v11\nv_addc_co_u32 v20, vcc, v11, v12, vcc", sum);
    check(RDNA, "v_sub_co_u32 v21, vcc_lo, v10, v11\nv_sub_co_ci_u32 v20, vcc_lo, v11, v12, vcc_lo", |a, b, c| {
        ((u64::from(b) << 32 | u64::from(a)).wrapping_sub(u64::from(c) << 32 | u64::from(b)) >> 32) as u32
    });
}

#[test]
fn comparisons_select_and_mask() {
    check(RDNA, "v_cmp_lt_u32 vcc_lo, v10, v11\nv_cndmask_b32 v20, v11, v10, vcc_lo", |a, b, _| a.min(b));
    check(GFX9, "v_cmp_lt_u32 vcc, v10, v11\nv_cndmask_b32 v20, v11, v10, vcc", |a, b, _| a.min(b));
    check(RDNA, "v_cmp_u_f32 s12, v10, v10\nv_cndmask_b32_e64 v20, 0, 1, s12", |a, _, _| u32::from(f(a).is_nan()));
    check(RDNA, "v_cmp_nlt_f32 s12, v10, v11\nv_cndmask_b32_e64 v20, 0, 1, s12", |a, b, _| {
        u32::from(f(a).is_nan() || f(b).is_nan() || f(a) >= f(b))
    });
    check(
        RDNA,
        "v_mov_b32 v13, v12\nv_cmp_gt_u64 s12, v[10:11], v[12:13]\nv_cndmask_b32_e64 v20, 0, 1, s12",
        |a, b, c| u32::from((u64::from(b) << 32 | u64::from(a)) > (u64::from(c) << 32 | u64::from(c))),
    );
    // Only the lanes that the comparison lets through execute; the others keep v20 as it was.
    check(
        RDNA,
        "v_mov_b32 v20, 7\ns_mov_b32 s12, exec_lo\nv_cmpx_gt_i32 v10, v11\nv_mov_b32 v20, v10\ns_mov_b32 exec_lo, s12",
        |a, b, _| {
            if a as i32 > b as i32 { a } else { 7 }
        },
    );
    check(
        RDNA,
        "v_mov_b32 v20, 7\nv_cmp_gt_i32 vcc_lo, v10, v11\ns_and_saveexec_b32 s12, vcc_lo\ns_xor_b32 s12, exec_lo, s12\nv_mov_b32 v20, v10\ns_or_saveexec_b32 s12, s12\n\
         s_xor_b32 exec_lo, exec_lo, s12\nv_mov_b32 v20, v11\ns_or_b32 exec_lo, exec_lo, s12",
        |a, b, _| if a as i32 > b as i32 { a } else { b },
    );
    check(
        GFX9,
        "v_mov_b32 v20, 7\nv_cmp_gt_i32 vcc, v10, v11\ns_and_saveexec_b64 s[12:13], vcc\nv_mov_b32 v20, v10\ns_or_b64 exec, exec, s[12:13]",
        |a, b, _| {
            if a as i32 > b as i32 { a } else { 7 }
        },
    );
}

#[test]
fn products_with_64_bit_sums() {
    let high = |a: u32, b: u32, c: u32| ((u64::from(a) * u64::from(b)).wrapping_add(u64::from(c)) >> 32) as u32;
    let body = |name: &str| format!("v_mov_b32 v13, 0\n{name} v[14:15], null, v10, v11, v[12:13]\nv_mov_b32 v20, v15");
    check(&["gfx1100"], &body("v_mad_u64_u32"), high);
    check(&["gfx1201"], &body("v_mad_co_u64_u32"), high);
}

#[test]
fn group_memory_holds_what_was_stored() {
    let exchange =
        |wait: &str| format!("ds_store_b32 v1, v10\n{wait}\nv_xor_b32 v3, 4, v1\nds_load_b32 v20, v3\n{wait}");
    for (processor, wait) in [("gfx1100", "s_waitcnt lgkmcnt(0)"), ("gfx1201", "s_wait_dscnt 0x0")] {
        let lanes = run(processor, &exchange(wait), 11);
        for (lane, (_, [result, _])) in lanes.iter().enumerate() {
            assert_eq!(*result, lanes[lane ^ 1].0[0], "{processor} lane {lane}");
        }
    }
}

#[test]
fn lanes_and_counts() {
    // Number of the lane among those that took the branch, as atomics are combined.
    for (processors, wave) in [(RDNA, 32), (GFX9, 64)] {
        for processor in processors {
            let body = if wave == 32 {
                "v_mbcnt_lo_u32_b32 v20, exec_lo, 0\ns_bcnt1_i32_b32 s12, exec_lo\nv_mov_b32 v21, s12"
            } else {
                "v_mbcnt_lo_u32_b32 v20, exec_lo, 0\nv_mbcnt_hi_u32_b32 v20, exec_hi, v20\ns_bcnt1_i32_b64 s12, exec\nv_mov_b32 v21, s12"
            };
            for (lane, (_, results)) in (0..).zip(run(processor, body, 5)) {
                assert_eq!(results, [lane % wave, wave], "{processor}");
            }
        }
    }
    for processor in EVERY {
        let lanes = run(
            processor,
            "v_readfirstlane_b32 s12, v10\nv_readlane_b32 s13, v10, 3\nv_mov_b32 v20, s12\nv_mov_b32 v21, s13",
            9,
        );
        assert_eq!(lanes[0].1, [lanes[0].0[0], lanes[3].0[0]]);
    }
}

#[test]
fn scalar_operations_and_branches() {
    // Scalar arithmetic on lane 0's operands, and a loop that multiplies by repeated addition.
    for processor in RDNA {
        let add =
            if *processor == "gfx1201" { ("s_add_co_u32", "s_add_co_ci_u32") } else { ("s_add_u32", "s_addc_u32") };
        let body = format!(
            "v_readfirstlane_b32 s12, v10\nv_readfirstlane_b32 s13, v11\nv_readfirstlane_b32 s14, v12\n\
             {} s15, s12, s13\n{} s16, s13, s14\nv_mov_b32 v20, s16\n\
             s_and_b32 s17, s12, 7\ns_mov_b32 s18, 0\nloop:\ns_cmp_eq_u32 s17, 0\ns_cbranch_scc1 done\n{} s18, s18, s13\n{} s17, s17, -1\ns_branch loop\ndone:\nv_mov_b32 v21, s18",
            add.0, add.1, add.0, add.0
        );
        let kernel = Body::new(processor, &body);
        for seed in 1..20 {
            let lanes = kernel.run(seed * 1_234_567);
            let [a, b, c] = lanes[0].0;
            let sum = (u64::from(b) << 32 | u64::from(a)).wrapping_add(u64::from(c) << 32 | u64::from(b));
            assert_eq!(lanes[0].1, [(sum >> 32) as u32, b.wrapping_mul(a & 7)], "{processor}");
        }
    }
    check(
        EVERY,
        "v_readfirstlane_b32 s12, v0\ns_mov_b32 s12, 0xabcd\ns_bfe_u32 s13, s12, 0x80004\nv_mov_b32 v20, s13",
        |_, _, _| 0xBC,
    );
    check(EVERY, "s_movk_i32 s12, 0x8000\nv_mov_b32 v20, s12", |_, _, _| 0xFFFF_8000);
    check(EVERY, "s_mov_b32 s12, 0\ns_cmp_lt_i32 s12, 1\ns_cselect_b32 s13, 5, 6\nv_mov_b32 v20, s13", |_, _, _| 5);
    check(EVERY, "s_mov_b32 s12, 3\ns_lshl_b64 s[14:15], 1, 33\nv_mov_b32 v20, s15", |_, _, _| 2);
}

#[test]
fn unknown_instructions_fail_at_load() {
    for (processor, text) in [
        ("gfx1100", "ds_add_u32 v0, v1"),
        ("gfx1100", "v_sqrt_f32 v1, v0"),
        ("gfx1100", "v_add_f32_e64 v1, v0, v1 clamp"),
        ("gfx1100", "v_add_f32_dpp v1, v0, v1 quad_perm:[0,1,2,3] row_mask:0xf bank_mask:0xf"),
        ("gfx1201", "s_barrier_signal 1"),
        ("gfx942", "s_getpc_b64 s[4:5]"),
    ] {
        let error = load(&assemble(processor, 32, &format!("{text}\ns_endpgm"))).unwrap_err().to_string();
        let mnemonic = text.split(['_', ' ']).take(2).collect::<Vec<_>>().join("_");
        assert!(error.contains(&mnemonic) && error.contains("test+0x0"), "{text}: {error}");
    }
}
