//! Bad accesses of every kind: they stop the kernel, or are left out and counted.

use crate::common::Run;
use reuselens_ptx::{
    AddressMode, Argument, BlockSink, ChannelKind, FaultKind, LaunchError, LaunchSink, OnFault,
    Options, SkippedAccess, TextureDescriptor, WarpAccess,
};

/// The lanes of each access that is no parameter's, by the line of the PTX, as the sink sees them.
#[derive(Clone, Debug, Default)]
struct Lanes(Vec<(u32, u32)>);

impl BlockSink for Lanes {
    fn accept(&mut self, access: &WarpAccess<'_>) {
        self.0.push((access.site, access.mask));
    }

    fn calculate(&mut self, _: &reuselens_ptx::Calculation<'_>) {}

    fn finish(&mut self) {}
}

impl LaunchSink for Lanes {
    type Block = Lanes;

    fn open(&mut self, _: u32) -> Lanes {
        Lanes::default()
    }

    fn drain(&mut self, _: u32, _: &mut Lanes) {}

    fn close(&mut self, _: u32, block: Lanes) {
        self.0.extend(block.0);
    }
}

/// What a kernel leaves.
struct Left {
    /// The words of the buffer, which were 1 to 32.
    words: Vec<u32>,
    /// `%r2` of each lane, 99 at first.
    results: Vec<u32>,
    skipped: Vec<SkippedAccess>,
    /// The lanes of the accesses of the line with `BAD`.
    seen: Vec<u32>,
}

/// Runs a body in one warp of each of two blocks, of which the second one returns at once. `%x1` is
/// a buffer of 32 words, `%x2` the lane's word in it, and `%x3` the word before that; `%r1` is the
/// lane, `%x5` a texture and surface of 64 texels in the buffer. The instruction in question is in
/// the line with `BAD`.
fn run(body: &str, on_fault: OnFault) -> Result<Left, LaunchError> {
    let text = format!(
        ".version 7.8\n.target sm_80\n.address_size 64\n.shared .align 16 .b8 room[512];\n\
         .visible .entry k(.param .u64 a, .param .u64 out, .param .u64 t) {{\n\
         .reg .pred %p<9>; .reg .b32 %r<20>; .reg .b64 %x<9>; .local .align 8 .b8 own[16];\n\
         mov.u32 %r1, %ctaid.x; setp.ne.u32 %p1, %r1, 0; @%p1 ret; mov.u32 %r1, %tid.x;\n\
         ld.param.u64 %x1, [a]; ld.param.u64 %x4, [out]; ld.param.u64 %x5, [t];\n\
         mad.wide.u32 %x2, %r1, 4, %x1; mad.wide.u32 %x4, %r1, 4, %x4; sub.u64 %x3, %x2, 4;\n\
         mov.u32 %r2, 99;\n{body}\nst.global.u32 [%x4], %r2;\nret;\n}}\n"
    );
    let options = Options {
        on_fault,
        ..Options::default()
    };
    let mut run = Run::new(&text, options);
    let a = run.put(&(1..33u32).collect::<Vec<_>>());
    let Argument::Pointer(address) = a else {
        panic!()
    };
    let texture = TextureDescriptor {
        address,
        size: [64, 1, 1],
        layers: 0,
        is_cube: false,
        is_seamless: false,
        row_bytes: 256,
        layer_bytes: 256,
        channels: 1,
        channel_bytes: 4,
        kind: ChannelKind::Unsigned,
        modes: [AddressMode::Clamp; 3],
        is_filtered: false,
        reads_unit: false,
        takes_unit: false,
        border: [0.0; 4],
    };
    let (out, texture) = (run.put(&[0u32; 32]), run.put(&texture.to_bytes()));
    let kernel = run.kernel("k");
    let arguments = [a.clone(), out.clone(), texture];
    let launch = kernel.launch([2, 1, 1], [32, 1, 1], 0, &arguments).unwrap();
    let mut lanes = Lanes::default();
    let options = run.options.clone();
    let ended = run.device.launch(&kernel, &launch, &options, &mut lanes);
    let skipped = run.device.take_skipped();
    ended?;
    let bad = 1 + text.lines().position(|line| line.contains("BAD")).unwrap() as u32;
    let is_bad = |site: u32| kernel.sites()[site as usize].position.line == bad;
    for access in &skipped {
        assert_eq!(access.place.position.line, bad, "{text}");
    }
    Ok(Left {
        words: run.get(&a, 32),
        results: run.get(&out, 32),
        skipped,
        seen: lanes
            .0
            .iter()
            .filter(|one| is_bad(one.0))
            .map(|one| one.1)
            .collect(),
    })
}

/// Demands that the lanes of `bad` stop the kernel, the first of them, and are left out otherwise:
/// gives what is left then. `count` is how often each of them accesses something.
fn check(body: &str, bad: u32, count: u32, kind: FaultKind) -> Left {
    let Err(LaunchError::Stopped(error)) = run(body, OnFault::Stop) else {
        panic!("{body}")
    };
    let first = Some([bad.trailing_zeros(), 0, 0]);
    assert_eq!(
        (error.kind(), error.thread()),
        (kind, first),
        "{body}: {error}"
    );
    let left = run(body, OnFault::Continue).unwrap_or_else(|error| panic!("{error}\n{body}"));
    let [skipped] = &left.skipped[..] else {
        panic!("{body}: {:?}", left.skipped)
    };
    assert_eq!(skipped.lanes, u64::from(bad.count_ones() * count), "{body}");
    assert_eq!(skipped.first.to_string(), error.to_string());
    // A copy whose source is left out writes zeros.
    let is_copy = body.contains("cp.async");
    for &seen in left.seen.iter().filter(|_| !is_copy) {
        assert_eq!(seen & bad, 0, "{body}: {seen:x}");
    }
    left
}

/// The words as they were, with a change of one of them.
fn words(change: impl Fn(u32) -> u32) -> Vec<u32> {
    (0..32).map(change).collect()
}

use FaultKind::{Misaligned, OutOfBounds};

#[test]
fn loads_give_zeros() {
    for load in [
        "ld.global.u32",
        "ld.u32",
        "ld.global.nc.u32",
        "ld.volatile.global.u32",
    ] {
        let left = check(&format!("{load} %r2, [%x3]; // BAD"), 1, 1, OutOfBounds);
        assert_eq!(left.results, words(|lane| lane), "{load}");
        assert_eq!((left.words, left.seen), (words(|at| at + 1), vec![!1]));
    }
    let odd = 0xaaaa_aaaa;
    let left = check(
        "ld.global.v2.u32 {%r3, %r2}, [%x2]; // BAD",
        odd,
        1,
        Misaligned,
    );
    assert_eq!(
        left.results,
        words(|lane| if lane % 2 == 0 { lane + 2 } else { 0 })
    );
    let signed = check("ld.global.s8 %r2, [%x3+8]; // BAD", 1 << 31, 1, OutOfBounds);
    assert_eq!(
        signed.results,
        words(|lane| if lane < 31 { lane + 2 } else { 0 })
    );
    let all = check(
        "ld.global.u32 %r2, [%x2+4096]; // BAD",
        u32::MAX,
        1,
        OutOfBounds,
    );
    assert_eq!((all.results, all.seen), (words(|_| 0), vec![]));
    let guarded = "setp.lt.u32 %p2, %r1, 8;\n@!%p2 ld.global.u32 %r2, [%x2+96]; // BAD";
    let left = check(guarded, 0xffff_ff00, 1, OutOfBounds);
    assert_eq!(left.results, words(|lane| if lane < 8 { 99 } else { 0 }));
}

#[test]
fn stores_are_dropped() {
    let left = check(
        "st.global.u32 [%x2+4], %r1; // BAD",
        1 << 31,
        1,
        OutOfBounds,
    );
    assert_eq!(left.words, words(|at| if at == 0 { 1 } else { at - 1 }));
    let left = check(
        "st.v2.u32 [%x2+4], {%r1, %r2}; // BAD",
        0xd555_5555,
        1,
        Misaligned,
    );
    let expected = |at: u32| match at {
        0 | 1 => at + 1,
        _ if at.is_multiple_of(2) => at - 1,
        _ => 99,
    };
    assert_eq!(left.words, words(expected));
}

#[test]
fn other_spaces_are_the_same() {
    let shared = "shl.b32 %r3, %r1, 5; mov.u32 %r4, room; add.u32 %r3, %r3, %r4;";
    let upper = 0xffff_0000;
    for (body, first) in [
        (format!("{shared}\nld.shared.u32 %r2, [%r3]; // BAD"), 0),
        (
            format!("{shared}\natom.shared.add.u32 %r2, [%r3], 1; // BAD"),
            0,
        ),
        (
            format!("{shared}\natom.shared.cas.b32 %r2, [%r3], 0, 5; // BAD"),
            0,
        ),
        (
            format!(
                "{shared} cvt.u64.u32 %x6, %r3; cvta.shared.u64 %x6, %x6;\nld.u32 %r2, [%x6]; // BAD"
            ),
            0,
        ),
        (
            format!(
                "{shared}\nst.shared.u32 [%r3], 1; // BAD\nsetp.lt.u32 %p2, %r1, 16; @%p2 ld.shared.u32 %r2, [%r3]; @!%p2 mov.u32 %r2, 0;"
            ),
            1,
        ),
    ] {
        let left = check(&body, upper, 1, OutOfBounds);
        assert_eq!(
            left.results,
            words(|lane| if lane < 16 { first } else { 0 }),
            "{body}"
        );
    }
    let local = "shl.b32 %r3, %r1, 2;\nld.local.u32 %r2, [%r3]; // BAD";
    assert_eq!(
        check(local, 0xffff_fff0, 1, OutOfBounds).results,
        words(|_| 0)
    );
    let param = "mov.u64 %x6, a; cvta.param.u64 %x6, %x6;";
    let load = format!("{param} mad.wide.u32 %x6, %r1, 8, %x6;\nld.u32 %r2, [%x6]; // BAD");
    let left = check(&load, 0xffff_fff8, 1, OutOfBounds);
    assert!(left.results[..3].iter().all(|&word| word != 0));
    assert_eq!(left.results[3..], [0; 29]);
    let store = format!("{param}\nst.u32 [%x6], %r1; // BAD");
    assert_eq!(
        check(&store, u32::MAX, 1, OutOfBounds).results,
        words(|_| 99)
    );
}

#[test]
fn atomic_operations_give_zero_and_change_nothing() {
    for (body, is_cas) in [
        ("atom.global.add.u32 %r2, [%x3], 100; // BAD", false),
        ("atom.add.u32 %r2, [%x3], 100; // BAD", false),
        ("atom.global.cas.b32 %r2, [%x3], 5, 105; // BAD", true),
    ] {
        let left = check(body, 1, 1, OutOfBounds);
        assert_eq!(left.results, words(|lane| lane), "{body}");
        let new = |at: u32| match (at, is_cas) {
            (31, _) => 32,
            (4, true) => 105,
            (_, true) => at + 1,
            (_, false) => at + 101,
        };
        assert_eq!(left.words, words(new), "{body}");
    }
    let left = check("red.global.max.u32 [%x3], 20; // BAD", 1, 1, OutOfBounds);
    assert_eq!(
        left.words,
        words(|at| if at == 31 { 32 } else { 20.max(at + 1) })
    );
}

/// After the copy, the word of each lane's 16 bytes of shared memory.
const COPIED: &str = "cp.async.wait_all;\nld.shared.u32 %r2, [%r3];";

#[test]
fn copies_write_zeros_or_nothing() {
    let to =
        "shl.b32 %r3, %r1, 4; mov.u32 %r4, room; add.u32 %r3, %r3, %r4;\nst.shared.u32 [%r3], 77;";
    let copy = format!("{to}\ncp.async.ca.shared.global [%r3], [%x3], 4; // BAD\n{COPIED}");
    assert_eq!(check(&copy, 1, 1, OutOfBounds).results, words(|lane| lane));
    let copy = format!("{to}\ncp.async.cg.shared.global [%r3], [%x2], 16; // BAD\n{COPIED}");
    let bad = !0x1111_1111;
    let left = check(&copy, bad, 1, Misaligned);
    assert_eq!(
        left.results,
        words(|lane| if lane % 4 == 0 { lane + 1 } else { 0 })
    );
    let copy = format!(
        "{to}\ncp.async.ca.shared.global [%r3+256], [%x2], 4; // BAD\ncp.async.wait_all;\n\
        setp.ge.u32 %p2, %r1, 16; @%p2 ld.shared.u32 %r2, [%r3];"
    );
    let left = check(&copy, 0xffff_0000, 1, OutOfBounds);
    assert_eq!(
        left.results,
        words(|lane| if lane < 16 { 99 } else { lane - 15 })
    );
}

#[test]
fn matrices_have_zeros_for_what_is_left_out() {
    let rows = "mov.u32 %r4, room; shl.b32 %r3, %r1, 4; add.u32 %r3, %r3, %r4; st.shared.u32 [%r3], 0x20001;";
    // The rows of the last matrix begin where the memory ends.
    let load = format!(
        "{rows}\nsetp.ge.u32 %p2, %r1, 24; @%p2 add.u32 %r3, %r3, 128;\n\
         ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{%r5, %r6, %r7, %r2}}, [%r3]; // BAD"
    );
    assert_eq!(
        check(&load, 0xff00_0000, 1, OutOfBounds).results,
        words(|_| 0)
    );
    let kept = load.replace("%r5, %r6, %r7, %r2", "%r2, %r6, %r7, %r5");
    let left = check(&kept, 0xff00_0000, 1, OutOfBounds);
    assert_eq!(
        left.results,
        words(|lane| if lane % 4 == 0 { 0x20001 } else { 0 })
    );
    // 8 x 8 doubles, of which the buffer has the first two rows; a lane has two elements.
    let load = "wmma.load.c.sync.aligned.m8n8k4.row.global.f64 {%x6, %x7}, [%x1], 8; // BAD\n\
        cvt.u32.u64 %r2, %x7;";
    let left = check(load, 0xffff_ff00, 1, OutOfBounds);
    assert_eq!(
        left.results,
        words(|lane| if lane < 8 { 4 * lane + 3 } else { 0 })
    );
    let store = "mov.u64 %x6, 7;\nwmma.store.d.sync.aligned.m8n8k4.row.global.f64 [%x1], {%x6, %x6}, 8; // BAD";
    let left = check(store, 0xffff_ff00, 1, OutOfBounds);
    assert_eq!(left.words, words(|at| if at % 2 == 0 { 7 } else { 0 }));
}

#[test]
fn textures_and_surfaces_give_zeros() {
    let fetch =
        "shl.b32 %r3, %r1, 1;\ntex.1d.v4.u32.s32 {%r2, %r4, %r5, %r6}, [%x5, {%r3}]; // BAD";
    let left = check(fetch, 0xffff_0000, 1, OutOfBounds);
    assert_eq!(
        left.results,
        words(|lane| if lane < 16 { 2 * lane + 1 } else { 0 })
    );
    let load = "shl.b32 %r3, %r1, 3;\nsuld.b.1d.b32.trap {%r2}, [%x5, {%r3}]; // BAD";
    let left = check(load, 0xffff_0000, 1, OutOfBounds);
    assert_eq!(
        left.results,
        words(|lane| if lane < 16 { 2 * lane + 1 } else { 0 })
    );
    let store = "shl.b32 %r3, %r1, 3;\nsust.b.1d.b32.trap [%x5, {%r3}], {%r1}; // BAD";
    let left = check(store, 0xffff_0000, 1, OutOfBounds);
    assert_eq!(
        left.words,
        words(|at| if at % 2 == 0 { at / 2 } else { at + 1 })
    );
    let outside = "add.u32 %r3, %r1, 60; shl.b32 %r3, %r3, 2;\nsuld.b.1d.b32.trap {%r2}, [%x5, {%r3}]; // BAD";
    assert_eq!(
        check(outside, u32::MAX, 1, OutOfBounds).results,
        words(|_| 0)
    );
}

/// Other faults stop the kernel in both ways.
#[test]
fn what_is_no_bad_access_still_stops() {
    for body in [
        "trap; // BAD",
        "setp.eq.u32 %p2, %r1, 0; @%p2 bar.sync 0; // BAD",
    ] {
        for on_fault in [OnFault::Stop, OnFault::Continue] {
            assert!(run(body, on_fault).is_err(), "{body}");
        }
    }
}

/// Each line is counted by itself, over all blocks and any number of threads.
#[test]
fn counts_are_sums_over_blocks_whatever_the_threads() {
    let text = ".version 7.8\n.target sm_80\n.address_size 64\n\
        .visible .entry k(.param .u64 a) { .reg .b32 %r<9>; .reg .b64 %x<9>;\n\
        ld.param.u64 %x1, [a]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mad.lo.u32 %r1, %r2, 32, %r1;\n\
        mad.wide.u32 %x2, %r1, 4, %x1;\n\
        ld.global.u32 %r3, [%x2];\nst.global.u32 [%x2+40], %r3;\nret; }\n";
    let counted = |threads, seed| {
        let options = Options {
            threads,
            seed,
            on_fault: OnFault::Continue,
            ..Options::default()
        };
        let mut run = Run::new(text, options);
        let a = run.put(&[1u32; 1000]);
        run.launch("k", [64, 1, 1], [32, 1, 1], 0, &[a]);
        let skipped = run.device.take_skipped();
        assert!(run.device.take_skipped().is_empty());
        let one = |access: &SkippedAccess| {
            let line = access.place.position.line;
            (
                line,
                access.lanes,
                access.first.block()[0],
                access.first.thread(),
            )
        };
        skipped.iter().map(one).collect::<Vec<_>>()
    };
    let expected = [
        (7, 2048 - 1000, 31, Some([8, 0, 0])),
        (8, 2048 - 990, 30, Some([30, 0, 0])),
    ];
    for threads in [1, 4] {
        let mut found = counted(threads, None);
        found.sort_unstable();
        assert_eq!(found, expected);
    }
    let lanes = |rows: Vec<(u32, u64, u32, _)>| rows.iter().map(|row| row.1).sum::<u64>();
    assert_eq!(lanes(counted(3, Some(5))), 2048 - 1000 + 2048 - 990);
}
