//! Instructions of warps whose lanes name groups of their own: each group has its own result.

use crate::common::body;

use reuselens_ptx::Ignore;

/// Runs a body for one warp. `%r1` is the mask of the lanes that are in the lane's group, by
/// `group`; the body leaves its result in `%r2`.
fn results(group: fn(u32) -> u32, text: &str) -> Vec<u32> {
    let masks: Vec<u8> = (0..32)
        .map(|lane| mask_of(group, lane))
        .flat_map(u32::to_le_bytes)
        .collect();
    let text = format!(
        "mul.wide.u32 %x9, %r0, 4;\nadd.u64 %x1, %x1, %x9;\nld.global.u32 %r1, [%x1];\n\
         mul.lo.u32 %r3, %r0, %r0;\n{text}\nst.global.u32 [%x1], %r2;"
    );
    let (left, _) = body::run(&text, &[masks], 32, &mut Ignore).unwrap();
    let word = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().unwrap());
    left[0].chunks(4).map(word).collect()
}

fn mask_of(group: fn(u32) -> u32, lane: u32) -> u32 {
    let others = (0..32).filter(|&other| group(other) == group(lane));
    others.fold(0, |mask, other| mask | 1 << other)
}

/// Half-warps, tiles of four, lanes that alternate, and lanes alone.
const GROUPS: [fn(u32) -> u32; 4] = [
    |lane| lane / 16,
    |lane| lane / 4,
    |lane| lane % 3,
    |lane| lane,
];

#[test]
fn redux_does_not_mix_groups() {
    let names = ["add.u32", "max.u32", "min.u32", "xor.b32"];
    let functions: [fn(u32, u32) -> u32; 4] = [|a, b| a + b, u32::max, u32::min, |a, b| a ^ b];
    for group in GROUPS {
        for (name, function) in names.into_iter().zip(functions) {
            // The mask's register is that of the result once, as compilers may have it.
            let found = results(
                group,
                &format!("redux.sync.{name} %r1, %r3, %r1;\nmov.u32 %r2, %r1;"),
            );
            for lane in 0..32 {
                let members = (0..32).filter(|&other| group(other) == group(lane));
                let expected = members.map(|other| other * other).reduce(function);
                assert_eq!(Some(found[lane as usize]), expected, "{name}, lane {lane}");
            }
        }
    }
}

#[test]
fn elect_chooses_a_lane_of_each_group() {
    for group in GROUPS {
        let found = results(
            group,
            "elect.sync %r4|%p1, %r1;\nselp.u32 %r5, 100, 0, %p1;\nadd.u32 %r2, %r4, %r5;",
        );
        for lane in 0..32 {
            let leader = mask_of(group, lane).trailing_zeros();
            let expected = leader + if leader == lane { 100 } else { 0 };
            assert_eq!(found[lane as usize], expected, "lane {lane}");
        }
    }
}

#[test]
fn votes_and_matches_do_not_mix_groups() {
    for group in GROUPS {
        let ballots = results(
            group,
            "and.b32 %r4, %r0, 1;\nsetp.eq.u32 %p1, %r4, 1;\nvote.sync.ballot.b32 %r2, %p1, %r1;",
        );
        let equal = results(
            group,
            "and.b32 %r4, %r0, 1;\nmatch.any.sync.b32 %r2, %r4, %r1;",
        );
        let all = results(
            group,
            "setp.lt.u32 %p1, %r0, 16;\nvote.sync.all.pred %p2, %p1, %r1;\nselp.u32 %r2, 1, 0, %p2;",
        );
        for lane in 0..32 {
            let mask = mask_of(group, lane);
            let parity = if lane % 2 == 1 {
                0xaaaa_aaaa
            } else {
                0x5555_5555
            };
            assert_eq!(ballots[lane as usize], mask & 0xaaaa_aaaa, "lane {lane}");
            assert_eq!(equal[lane as usize], mask & parity, "lane {lane}");
            assert_eq!(
                all[lane as usize],
                u32::from(mask >> 16 == 0),
                "lane {lane}"
            );
        }
    }
}
