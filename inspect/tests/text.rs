//! A made-up PTX text, from bytes to the table and to the full text.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by a panic")]

use xreduce_inspect::{Kind, Reader, Report, table, verbose};

const TEXT: &str = "\
.version 8.0
.target sm_90
.address_size 64
.visible .entry poll(.param .u64 poll_in, .param .u32 poll_count)
.maxntid 64
{
\t.reg .pred %p<3>;
outer:
\tld.global.v4.b32 {%r1, %r2, %r3, %r4}, [%rd1];
spin:
\tld.volatile.global.v2.b64 {%rd2, %rd3}, [%rd4];
\t@%p1 bra spin;
again:
\tadd.s32 %r1, %r1, 1;
\t@%p2 bra again;
\tst.shared.b32 [%rd5], %r1;
\tst.shared.b32 [%rd5+4], %r1;
\tatom.release.sys.global.add.u32 %r5, [%rd6], 1;
\tbar.sync 0;
\t@%p1 bra outer;
\tret;
}
.visible .entry jump()
{
\tbrx.idx %r1, nowhere;
}
";

fn report(wanted: &(dyn Fn(&str, &str) -> bool + Sync)) -> Report {
    let image = xreduce_verify::inspect(TEXT.as_bytes(), "made-up.ptx").images.remove(0);
    let reader = Reader { disassemble: &|_, _| Err("not asked".to_owned()), wanted };
    let image = reader.image(image, Ok(TEXT.as_bytes()));
    Report { schema: 1, name: "made-up.ptx".to_owned(), images: vec![image], faults: Vec::new(), skipped: Vec::new() }
}

#[test]
fn a_line_per_kernel() {
    let expected = "\
made-up.ptx: ptx, sm_90, 510 bytes
kernel  vgpr  sgpr  scratch  lds  instrs  inner loop      instrs  loads          stores  atomics
poll       -     -        0    0      11  line 11 (spin)       2  1x16 volatile  -       -
jump       -     -        0    0       1  -                    -  -              -       -
  branches to places that are not in the instruction: 1, the first at line 25; loops through them are not seen
";
    assert_eq!(table(&report(&|_, _| true)), expected);
}

#[test]
fn all_that_is_known() {
    let expected = "\
made-up.ptx: ptx, sm_90, 510 bytes
poll
  arguments 2, 12 bytes
    offset 0, 8 bytes, u64 poll_in
    offset 8, 4 bytes, u32 poll_count
  registers - vector, - scalar
  spilled - vector, - scalar
  scratch 0 bytes, shared 0 bytes
  threads at most 64, lanes -
  11 instructions, 1 barrier, 3 branches
    loads 1 x 16 B global, 1 x 16 B global volatile
    stores 2 x 4 B shared
    atomics 1 x 4 B global release sys
  loop at line 9 (outer): 8 instructions, 1 barrier, 2 branches
    loads 1 x 16 B global
    stores 2 x 4 B shared
    atomics 1 x 4 B global release sys
    inner loop at line 11 (spin): 2 instructions, 1 branch
      loads 1 x 16 B global volatile
";
    assert_eq!(verbose(&report(&|target, name| (target, name) == ("sm_90", "poll"))), expected);
}

#[test]
fn the_loop_without_accesses_counts_for_the_one_around_it() {
    let report = report(&|_, name| name == "poll");
    assert!(report.is_whole());
    let code = report.images[0].kernels[0].code.as_ref().unwrap();
    assert_eq!(code.loops.len(), 2);
    assert_eq!(code.loops[0].counts.branches, 2, "its own and that of the loop over the sum");
    assert_eq!(code.loops[0].counts.kind(Kind::Load).count(), 1);
    assert_eq!((code.loops[0].depth, code.loops[0].innermost), (0, false));
    assert_eq!((code.loops[1].depth, code.loops[1].innermost), (1, true));
}

#[test]
fn json_keeps_the_words_of_the_source() {
    let json = serde_json::to_value(report(&|_, name| name == "poll")).unwrap();
    let code = &json["images"][0]["kernels"][0]["code"];
    assert_eq!(json["schema"], 1);
    assert_eq!(code["unit"], "line");
    assert_eq!(code["instructions"], 11);
    let expected =
        serde_json::json!({"count": 1, "kind": "atomic", "space": "global", "bytes": 4, "bits": ["release", "sys"]});
    assert_eq!(code["loops"][0]["accesses"][2], expected);
}
