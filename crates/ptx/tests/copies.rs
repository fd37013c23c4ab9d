//! `cp.async`: what is copied, when it can be seen, and what sinks see.

use crate::common::body::{Watch, run};
use reuselens_ptx::{FaultKind, Ignore, LaunchError, LaunchSink, Space};

const LANES: u32 = 32;

/// Copies 16 bytes for each lane with `copy`, which has the source in `%x51` and the target in
/// `%x53`; runs `wait`, and stores what is in shared memory then.
fn copied<S: LaunchSink + Send>(
    copy: &str,
    wait: &str,
    sink: &mut S,
) -> Result<(Vec<u8>, u64), LaunchError> {
    let body = format!(
        "mul.wide.u32 %x50, %r0, 16;\nadd.u64 %x51, %x50, %x1;\n\
         mov.u64 %x52, room;\nadd.u64 %x53, %x52, %x50;\n\
         mov.u32 %r9, 0x77777777;\nst.shared.v4.u32 [%x53], {{%r9, %r9, %r9, %r9}};\n\
         {copy}\n{wait}\n\
         ld.shared.v4.u32 {{%r1, %r2, %r3, %r4}}, [%x53];\n\
         add.u64 %x54, %x50, %x2;\nst.global.v4.u32 [%x54], {{%r1, %r2, %r3, %r4}};\n"
    );
    let (found, addresses) = run(&body, &[source(), vec![0; 512]], LANES, sink)?;
    Ok((found[1].clone(), addresses[0]))
}

fn source() -> Vec<u8> {
    (0..512u32).map(|byte| (byte * 7 + 1) as u8).collect()
}

const OLD: [u8; 16] = [0x77; 16];

#[test]
fn a_copy_is_seen_when_its_lane_has_waited() {
    let copy = "cp.async.cg.shared.global.L2::128B [%x53], [%x51], 16;";
    let plain = |wait: &str| copied(copy, wait, &mut Ignore).unwrap().0;
    assert_eq!(plain("cp.async.wait_all;"), source());
    assert_eq!(
        plain("cp.async.commit_group;\ncp.async.wait_group 0;"),
        source()
    );
    assert_eq!(plain(""), OLD.repeat(32), "nobody waited");
    assert_eq!(
        plain("cp.async.wait_group 0;"),
        OLD.repeat(32),
        "it is in no group"
    );
    let one_left = plain("cp.async.commit_group;\ncp.async.wait_group 1;");
    assert_eq!(
        one_left,
        OLD.repeat(32),
        "the last group may still be on its way"
    );
    let older = "cp.async.commit_group;\ncp.async.commit_group;\ncp.async.wait_group 1;";
    assert_eq!(plain(older), source(), "an empty group is one");
}

#[test]
fn lanes_wait_for_themselves() {
    let copy = "cp.async.ca.shared.global [%x53], [%x51], 16;\ncp.async.commit_group;\n\
                setp.lt.u32 %p1, %r0, 5;\n";
    let found = copied(copy, "@%p1 cp.async.wait_all;", &mut Ignore)
        .unwrap()
        .0;
    assert_eq!(found[..80], source()[..80]);
    assert_eq!(found[80..], OLD.repeat(27));
}

#[test]
fn what_the_source_does_not_fill_is_zero() {
    // Lane l copies l bytes of 16, and from lane 17 on nothing.
    let copy = "setp.gt.u32 %p1, %r0, 16;\nselp.b32 %r8, 0, %r0, %p1;\n\
                cp.async.cg.shared.global [%x53], [%x51], 16, %r8;\n";
    let mut watch = Watch::default();
    let (found, begin) = copied(copy, "cp.async.wait_all;", &mut watch).unwrap();
    let source = source();
    for lane in 0..32 {
        let bytes = if lane > 16 { 0 } else { lane };
        let mut expected = source[16 * lane..16 * lane + bytes].to_vec();
        expected.resize(16, 0);
        assert_eq!(found[16 * lane..16 * lane + 16], expected, "{lane}");
    }
    // The sink sees what is read of the source, and what is written to shared memory.
    let mut reads: Vec<(u64, u8)> = watch
        .0
        .iter()
        .filter(|one| one.0 == Space::Global && !one.1)
        .map(|one| (one.2 - begin, one.3))
        .collect();
    reads.sort_unstable();
    let expected: Vec<(u64, u8)> = (1..=16).map(|lane| (16 * lane, lane as u8)).collect();
    assert_eq!(reads, expected);
    // Once for the old values and once by the copies.
    let written: Vec<u64> = watch
        .0
        .iter()
        .filter(|one| one.0 == Space::Shared && one.1 && one.3 == 16)
        .map(|one| one.2)
        .collect();
    let lanes: Vec<u64> = (0..32).map(|lane| 16 * lane).collect();
    assert_eq!(written, [lanes.clone(), lanes].concat());
}

#[test]
fn a_predicate_ignores_the_source() {
    let copy = "setp.gt.u32 %p1, %r0, 3;\ncp.async.ca.shared.global [%x53], [%x51], 4, %p1;\n";
    let found = copied(copy, "cp.async.wait_all;", &mut Ignore).unwrap().0;
    for lane in 0..32 {
        let first = if lane > 3 {
            [0; 4]
        } else {
            source()[16 * lane..][..4].try_into().unwrap()
        };
        assert_eq!(found[16 * lane..][..4], first, "{lane}");
        assert_eq!(found[16 * lane + 4..][..12], OLD[..12]);
    }
}

#[test]
fn bad_copies_are_found() {
    let kind = |copy: &str| match copied(copy, "", &mut Ignore) {
        Err(LaunchError::Stopped(error)) => (error.kind(), error.thread()),
        other => panic!("{other:?}"),
    };
    let beyond = "cp.async.cg.shared.global [%x53], [%x51+16], 16;";
    assert_eq!(kind(beyond), (FaultKind::OutOfBounds, Some([31, 0, 0])));
    let part = "mov.u32 %r8, 15;\ncp.async.cg.shared.global [%x53], [%x51+8], 16, %r8;";
    assert_eq!(kind(part).0, FaultKind::Misaligned);
    let target = "cp.async.cg.shared.global [%x53+4096], [%x51], 16;";
    assert_eq!(kind(target), (FaultKind::OutOfBounds, Some([0, 0, 0])));
    let much = "mov.u32 %r8, 17;\ncp.async.cg.shared.global [%x53], [%x51], 16, %r8;";
    assert_eq!(kind(much), (FaultKind::Operand, Some([0, 0, 0])));
}

#[test]
fn copies_that_nobody_waits_for_are_bounded() {
    let times = |count: u32| {
        let copy = format!(
            "mov.u32 %r8, 0;\nMORE:\ncp.async.cg.shared.global [%x53], [%x51], 16;\n\
             add.u32 %r8, %r8, 1;\nsetp.lt.u32 %p1, %r8, {count};\n@%p1 bra MORE;\n"
        );
        copied(&copy, "cp.async.wait_all;", &mut Ignore)
    };
    // 65,536 for a warp of 32 lanes.
    assert_eq!(times(2048).unwrap().0, source());
    match times(2049) {
        Err(LaunchError::Stopped(error)) => {
            assert_eq!(
                (error.kind(), error.thread()),
                (FaultKind::Operand, Some([0, 0, 0]))
            );
            assert!(error.to_string().contains("not waited for"), "{error}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn halves_are_added_atomically() {
    // Each lane adds its number to a half, and 1 and its number to the halves of a pair.
    let body = "cvt.rn.f16.u32 %h1, %r0;\nmov.u16 %h2, 0x3c00;\nmov.b32 %r1, {%h2, %h1};\n\
         atom.global.add.noftz.f16x2 %r2, [%x1], %r1;\nred.global.add.noftz.f16 [%x1+4], %h1;\n\
         cvt.rn.f32.u32 %f1, %r0;\ncvt.rn.bf16.f32 %h3, %f1;\nmov.u16 %h4, 0x3f80;\n\
         mov.b32 %r3, {%h4, %h3};\nred.global.add.noftz.bf16x2 [%x1+8], %r3;\n\
         atom.global.add.noftz.bf16 %h5, [%x1+12], %h4;\n";
    let body = format!(".reg .b16 %h<9>; .reg .f32 %f<9>;\n{body}");
    let (found, _) = run(&body, &[vec![0; 16]], LANES, &mut Ignore).unwrap();
    let bits = |at: usize| u16::from_le_bytes([found[0][at], found[0][at + 1]]);
    let half = |at: usize| half::f16::from_bits(bits(at)).to_f32();
    let brain = |at: usize| half::bf16::from_bits(bits(at)).to_f32();
    assert_eq!((half(0), half(2), half(4)), (32.0, 496.0, 496.0));
    // Sums beyond 256 are rounded to even numbers with each step.
    let sum = (0..32).fold(half::bf16::ZERO, |sum, lane| {
        half::bf16::from_f32(sum.to_f32() + lane as f32)
    });
    assert_eq!((brain(8), brain(10), brain(12)), (32.0, sum.to_f32(), 32.0));
}
