//! `mbarrier` and `cp.async.bulk`: who waits for whom, what is copied, and what sinks see.

use crate::common::Run;
use crate::common::body::{Watch, run};
use reuselens_ptx::{
    BlockSink, FaultKind, Ignore, LaunchError, LaunchSink, Options, Space, WarpAccess, WarpKind,
};

/// The first warp makes ten rows of numbers, the second one reads each: the barrier at `room` says
/// that a row is there, the one after it that it was read.
const EXCHANGE: &str = "
    setp.eq.u32 %p1, %r0, 0;
    @%p1 mbarrier.init.shared.b64 [room], 32;
    @%p1 mbarrier.init.shared.b64 [room+8], 32;
    bar.sync 0;
    mov.u32 %r1, room;
    and.b32 %r2, %r0, 31;
    mad.lo.u32 %r4, %r2, 4, %r1;
    xor.b32 %r3, %r2, 31;
    mad.lo.u32 %r3, %r3, 4, %r1;
    setp.ge.u32 %p2, %r0, 32;
    mov.u32 %r5, 0;
    mov.u32 %r8, 0;
    @%p2 bra READ;
    MAKE:
    and.b32 %r6, %r5, 1;
    xor.b32 %r6, %r6, 1;
    WAIT_EMPTY:
    mbarrier.test_wait.parity.shared.b64 %p3, [room+8], %r6;
    @!%p3 bra WAIT_EMPTY;
    mad.lo.u32 %r7, %r5, 100, %r2;
    st.shared.u32 [%r4+64], %r7;
    mbarrier.arrive.release.cta.shared::cta.b64 _, [room];
    add.u32 %r5, %r5, 1;
    setp.lt.u32 %p4, %r5, 10;
    @%p4 bra MAKE;
    bra OVER;
    READ:
    and.b32 %r6, %r5, 1;
    WAIT_FULL:
    mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p3, [room], %r6, 100;
    @!%p3 bra WAIT_FULL;
    ld.shared.u32 %r9, [%r3+64];
    mad.lo.u32 %r8, %r8, 3, %r9;
    mbarrier.arrive.shared.b64 %x9, [room+8];
    add.u32 %r5, %r5, 1;
    setp.lt.u32 %p4, %r5, 10;
    @%p4 bra READ;
    mul.wide.u32 %x3, %r2, 4;
    add.u64 %x3, %x3, %x1;
    st.global.u32 [%x3], %r8;
    OVER:
";

/// What the reading warp has made of the rows.
fn sums() -> Vec<u32> {
    let sum = |lane: u32| (0..10).fold(0u32, |sum, row| sum * 3 + row * 100 + (31 - lane));
    (0..32).map(sum).collect()
}

fn words(bytes: &[u8]) -> Vec<u32> {
    let words = bytes.as_chunks().0.iter();
    words.map(|word| u32::from_le_bytes(*word)).collect()
}

#[test]
fn warps_wait_for_each_other_in_every_order() {
    let text = format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p0) {{\n\
         .shared .align 16 .b8 room[4096];\n\
         .reg .pred %p<9>; .reg .b32 %r<99>; .reg .b64 %x<99>;\n\
         mov.u32 %r0, %tid.x;\nld.param.u64 %x1, [p0];\n{EXCHANGE}\nret;\n}}\n"
    );
    for seed in (0..40).map(Some).chain([None]) {
        for check_races in [false, true] {
            let options = Options {
                seed,
                check_races,
                ..Options::default()
            };
            let mut run = Run::new(&text, options);
            let out = run.put(&[0u32; 32]);
            let kernel = run.kernel("k");
            let arguments = std::slice::from_ref(&out);
            let launch = kernel.launch([1, 1, 1], [64, 1, 1], 0, arguments).unwrap();
            let Run {
                device, options, ..
            } = &mut run;
            device
                .launch(&kernel, &launch, options, &mut Ignore)
                .unwrap_or_else(|error| panic!("{seed:?} {check_races}: {error}"));
            assert_eq!(run.get::<u32>(&out, 32), sums(), "{seed:?}");
        }
    }
}

/// For each access to shared memory from `room + 64` on: the warp, whether it stores, and
/// its phase.
#[derive(Default)]
struct Phases(Vec<(u32, bool, u32)>);

impl BlockSink for Phases {
    fn accept(&mut self, access: &WarpAccess<'_>) {
        if access.space == Space::Shared && access.bytes == 4 {
            let is_store = access.kind == WarpKind::Store;
            self.0.push((access.warp, is_store, access.phase));
        }
    }

    fn calculate(&mut self, _: &reuselens_ptx::Calculation<'_>) {}

    fn finish(&mut self) {}
}

impl LaunchSink for Phases {
    type Block = Phases;

    fn open(&mut self, _: u32) -> Phases {
        Phases::default()
    }

    fn drain(&mut self, _: u32, _: &mut Phases) {}

    fn close(&mut self, _: u32, block: Phases) {
        self.0.extend(block.0);
    }
}

#[test]
fn what_a_barrier_orders_is_ordered_by_phases() {
    let mut phases = Phases::default();
    let (found, _) = run(EXCHANGE, &[vec![0; 128]], 64, &mut phases).unwrap();
    assert_eq!(words(&found[0]), sums());
    let of = |warp: u32| phases.0.iter().filter(move |record| record.0 == warp);
    let (makes, reads): (Vec<_>, Vec<_>) = (of(0).collect(), of(1).collect());
    assert_eq!((makes.len(), reads.len()), (10, 10));
    for (row, (made, read)) in makes.iter().zip(&reads).enumerate() {
        assert!(made.1 && !read.1);
        assert!(made.2 < read.2, "row {row}: {made:?} before {read:?}");
        if let Some(next) = makes.get(row + 1) {
            assert!(read.2 < next.2, "row {row}: {read:?} before {next:?}");
        }
    }
}

/// What one lane finds: `%r1` to `%r4`, stored by lane 0.
fn found(body: &str) -> Result<Vec<u32>, LaunchError> {
    let body = format!(
        "{body}\nsetp.eq.u32 %p8, %r0, 0;\n\
         @%p8 st.global.v4.u32 [%x1], {{%r1, %r2, %r3, %r4}};\n"
    );
    let (buffers, _) = run(&body, &[vec![0; 16]], 32, &mut Ignore)?;
    Ok(words(&buffers[0]))
}

/// `%r1`: whether the phase before the first has ended by its parity, and so on.
#[test]
fn arrivals_that_drop_out_are_not_awaited_again() {
    let body = "
        setp.eq.u32 %p1, %r0, 0;
        @%p1 mbarrier.init.shared.b64 [room], 32;
        bar.warp.sync -1;
        mbarrier.arrive.shared.b64 %x2, [room];
        mbarrier.test_wait.shared.b64 %p2, [room], %x2;
        selp.u32 %r1, 1, 0, %p2;
        // Half of them drop out of the second phase: the third waits for 16.
        setp.lt.u32 %p3, %r0, 16;
        @%p3 mbarrier.arrive_drop.shared.b64 %x3, [room];
        @!%p3 mbarrier.arrive.shared.b64 %x3, [room];
        mbarrier.test_wait.shared.b64 %p2, [room], %x3;
        selp.u32 %r2, 1, 0, %p2;
        setp.lt.u32 %p4, %r0, 15;
        @%p4 mbarrier.arrive.shared.b64 %x4, [room];
        @%p1 mbarrier.pending_count.b64 %r3, %x4;
        mbarrier.arrive.noComplete.shared.b64 %x5, [room+8], 1;
    ";
    // The last line is of a barrier that nobody has made.
    let error = found(body).unwrap_err().to_string();
    assert!(
        error.contains("waits for 0; was it initialised?"),
        "{error}"
    );
    let (body, _) = body.rsplit_once("mbarrier.arrive").unwrap();
    let tested = "mbarrier.test_wait.parity.shared.b64 %p2, [room], 0;\nselp.u32 %r4, 1, 0, %p2;";
    assert_eq!(found(&format!("{body}{tested}")).unwrap(), [1, 1, 16, 0]);
    let last = "@%p1 mbarrier.arrive.shared.b64 _, [room];";
    assert_eq!(
        found(&format!("{body}{last}{tested}")).unwrap(),
        [1, 1, 16, 1]
    );
}

#[test]
fn copies_of_a_thread_arrive_for_it() {
    let body = |arrive: &str, count: u32| {
        format!(
            "setp.eq.u32 %p1, %r0, 0;
             @%p1 mbarrier.init.shared.b64 [room], {count};
             @%p1 st.shared.u32 [room+64], 7;
             @%p1 cp.async.ca.shared.global [room+64], [%x1], 4;
             @%p1 {arrive}
             mbarrier.test_wait.parity.shared.b64 %p2, [room], 0;
             selp.u32 %r1, 1, 0, %p2;
             ld.shared.u32 %r2, [room+64];"
        )
    };
    let counted = body("cp.async.mbarrier.arrive.noinc.shared.b64 [room];", 1);
    assert_eq!(found(&counted).unwrap()[..2], [1, 0]);
    // Beside those that the barrier waits for: nothing has ended.
    let besides = body("cp.async.mbarrier.arrive.shared::cta.b64 [room];", 1);
    assert_eq!(found(&besides).unwrap()[..2], [0, 0]);
}

/// One thread copies 1,040 bytes there and back; all wait for them.
const BULK: &str = "
    setp.eq.u32 %p1, %r0, 0;
    @%p1 mbarrier.init.shared::cta.b64 [room], 1;
    fence.mbarrier_init.release.cluster;
    fence.proxy.async.shared::cta;
    bar.sync 0;
    mov.u32 %r1, 1040;
    @%p1 mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [room], %r1;
    @%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [room+1024], [%x1], %r1, [room];
    WAIT:
    mbarrier.try_wait.parity.shared::cta.b64 %p2, [room], 0;
    @!%p2 bra WAIT;
    mul.wide.u32 %x3, %r0, 4;
    mov.u64 %x4, room;
    add.u64 %x5, %x4, %x3;
    ld.shared.u32 %r2, [%x5+1024];
    add.u32 %r2, %r2, 1;
    st.shared.u32 [%x5+1024], %r2;
    bar.sync 0;
    @%p1 cp.async.bulk.global.shared::cta.bulk_group [%x2], [room+1024], %r1;
    cp.async.bulk.commit_group;
    cp.async.bulk.wait_group.read 0;
";

#[test]
fn bulk_copies_are_awaited_by_their_bytes() {
    let numbers: Vec<u8> = (0..260u32).flat_map(u32::to_le_bytes).collect();
    let mut watch = Watch::default();
    let buffers = [numbers.clone(), vec![0; 1040]];
    let (found, addresses) = run(BULK, &buffers, 64, &mut watch).unwrap();
    let changed = |at: u32| if at < 64 { at + 1 } else { at };
    assert_eq!(
        words(&found[1]),
        (0..260).map(changed).collect::<Vec<u32>>()
    );
    // 65 pieces of 16 bytes in each direction, in their order.
    let pieces = |from: u64, is_store: bool| {
        (0..65).map(move |piece| (Space::Global, is_store, from + 16 * piece, 16))
    };
    let global = watch
        .0
        .into_iter()
        .filter(|access| access.0 == Space::Global);
    let expected = pieces(addresses[0], false).chain(pieces(addresses[1], true));
    assert!(global.eq(expected));
}

#[test]
fn what_barriers_and_bulk_copies_may_not_do_stops_the_kernel() {
    let numbers = || [vec![0; 1040], vec![0; 1040]];
    for (old, new, expected, kind) in [
        ("1040", "1048", "multiple of 16", FaultKind::Operand),
        (
            "1040",
            "1056",
            "bulk copy of 16 bytes",
            FaultKind::OutOfBounds,
        ),
        (
            "[%x1]",
            "[%x1+8]",
            "no multiple of 16",
            FaultKind::Misaligned,
        ),
        (
            "[room], 1;",
            "[room], 0;",
            "a barrier of 0 arrivals",
            FaultKind::Barrier,
        ),
        (
            "[room], 1;",
            "[room+4], 1;",
            "no multiple of 8",
            FaultKind::Misaligned,
        ),
        (
            "@%p1 mbarrier.arrive",
            "mbarrier.arrive",
            "waits for 0",
            FaultKind::Barrier,
        ),
    ] {
        let body = BULK.replacen(old, new, 1);
        assert_ne!(body, BULK);
        let Err(LaunchError::Stopped(error)) = run(&body, &numbers(), 64, &mut Ignore) else {
            panic!("{old} → {new}: it ended well");
        };
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.to_string().contains(expected), "{error}");
    }
}
