//! Cooperative launches: blocks that wait for each other, in both directions.

use std::collections::BTreeMap;

use reuselens_ptx::{
    Argument, CollectorSink, Count, Device, FaultKind, Ignore, Kernel, LaunchConfig, LaunchError,
    Options, PtxModule, Stats,
};
use reuselens_warp::{Space, WarpBatch, WarpStream};

/// `ring(even, odd, steps)`: `to[i] = from[i + n / 2] + from[i - 1]`, and a grid barrier after each
/// step, as nvcc compiles `grid.sync()` for blocks and grids in a line.
///
/// `wait(flags)`: each block waits for the flag of the next one, and the last one sets its flag
/// first; each then sets its own.
///
/// `odd(out)`: block 3 traps.
const PTX: &str = "
.version 7.0
.target sm_80
.address_size 64
.visible .entry ring(.param .u64 even, .param .u64 odd, .param .u32 steps) {
    .reg .pred %p<9>; .reg .b32 %r<30>; .reg .b64 %x<20>;
    ld.param.u64 %x1, [even];
    ld.param.u64 %x2, [odd];
    ld.param.u32 %r1, [steps];
    mov.u32 %r2, %envreg2;
    cvt.u64.u32 %x3, %r2;
    mov.u32 %r3, %envreg1;
    cvt.u64.u32 %x4, %r3;
    bfi.b64 %x5, %x4, %x3, 32, 32;
    mov.u32 %r4, %ctaid.x;
    mov.u32 %r5, %ntid.x;
    mov.u32 %r6, %tid.x;
    mov.u32 %r7, %nctaid.x;
    mad.lo.u32 %r8, %r4, %r5, %r6;
    mul.lo.u32 %r9, %r7, %r5;
    mov.u32 %r10, 0;
STEP:
    shr.u32 %r11, %r9, 1;
    add.u32 %r11, %r11, %r8;
    rem.u32 %r11, %r11, %r9;
    add.u32 %r12, %r8, %r9;
    sub.u32 %r12, %r12, 1;
    rem.u32 %r12, %r12, %r9;
    mul.wide.u32 %x6, %r11, 4;
    add.u64 %x6, %x6, %x1;
    mul.wide.u32 %x7, %r12, 4;
    add.u64 %x7, %x7, %x1;
    mul.wide.u32 %x8, %r8, 4;
    add.u64 %x8, %x8, %x2;
    ld.global.u32 %r13, [%x6];
    ld.global.u32 %r14, [%x7];
    add.u32 %r13, %r13, %r14;
    st.global.u32 [%x8], %r13;
    mov.u64 %x9, %x1;
    mov.u64 %x1, %x2;
    mov.u64 %x2, %x9;
    setp.ne.s64 %p1, %x5, 0;
    @%p1 bra SYNC;
    trap;
SYNC:
    add.s64 %x10, %x5, 4;
    barrier.sync 0;
    setp.ne.u32 %p2, %r6, 0;
    @%p2 bra MET;
    setp.eq.u32 %p3, %r4, 0;
    mov.u32 %r15, -2147483647;
    sub.s32 %r16, %r15, %r7;
    selp.b32 %r17, %r16, 1, %p3;
    atom.add.release.gpu.u32 %r18, [%x10], %r17;
POLL:
    ld.acquire.gpu.u32 %r19, [%x10];
    xor.b32 %r20, %r19, %r18;
    setp.gt.s32 %p4, %r20, -1;
    @%p4 bra POLL;
MET:
    barrier.sync 0;
    add.u32 %r10, %r10, 1;
    setp.lt.u32 %p5, %r10, %r1;
    @%p5 bra STEP;
    ret;
}
.visible .entry wait(.param .u64 flags) {
    .reg .pred %p<9>; .reg .b32 %r<9>; .reg .b64 %x<9>;
    ld.param.u64 %x1, [flags];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %nctaid.x;
    mul.wide.u32 %x2, %r1, 4;
    add.u64 %x1, %x1, %x2;
    add.u32 %r3, %r1, 1;
    setp.eq.u32 %p1, %r3, %r2;
    mov.u32 %r4, 0;
    @%p1 bra SET;
POLL:
    ld.volatile.global.u32 %r4, [%x1+4];
    setp.eq.u32 %p2, %r4, 0;
    @%p2 bra POLL;
SET:
    add.u32 %r4, %r4, 1;
    st.volatile.global.u32 [%x1], %r4;
    ret;
}
.visible .entry odd() {
    .reg .pred %p<9>; .reg .b32 %r<9>;
    mov.u32 %r1, %ctaid.x;
    setp.ne.u32 %p1, %r1, 3;
    @%p1 bra END;
    trap;
END:
    ret;
}";

const BLOCKS: u32 = 6;
const THREADS: u32 = 48;

struct Machine {
    device: Device,
    module: reuselens_ptx::Loaded,
    options: Options,
}

impl Machine {
    fn new(options: Options) -> Machine {
        Machine::of(PTX, options)
    }

    fn of(text: &str, options: Options) -> Machine {
        let mut device = Device::new();
        let module = device.load(PtxModule::parse(text).unwrap()).unwrap();
        Machine {
            device,
            module,
            options,
        }
    }

    fn buffer(&mut self, values: &[u32]) -> u64 {
        let bytes: Vec<u8> = values
            .iter()
            .flat_map(|value| value.to_le_bytes())
            .collect();
        let address = self.device.allocate("buffer", bytes.len() as u64).unwrap();
        self.device.write(address, &bytes).unwrap();
        address
    }

    fn values(&self, address: u64, count: u32) -> Vec<u32> {
        let bytes = self.device.read(address, u64::from(4 * count)).unwrap();
        let words = bytes.as_chunks::<4>().0;
        words.iter().map(|word| u32::from_le_bytes(*word)).collect()
    }

    fn kernel(&self, name: &str) -> Kernel {
        self.device
            .kernel(&self.module, name, &self.options)
            .unwrap()
    }

    fn launch(
        &mut self,
        name: &str,
        grid: u32,
        arguments: &[Argument],
        cooperative: bool,
    ) -> Result<(Stats, Count), LaunchError> {
        let kernel = self.kernel(name);
        let launch = kernel.launch([grid, 1, 1], [THREADS, 1, 1], 0, arguments);
        let launch = LaunchConfig {
            cooperative,
            ..launch.unwrap()
        };
        let mut count = Count::default();
        let stats = self
            .device
            .launch(&kernel, &launch, &self.options, &mut count)?;
        Ok((stats, count))
    }
}

fn every_order() -> impl Iterator<Item = Options> {
    [(1, None), (3, None), (2, Some(7)), (1, Some(8))]
        .into_iter()
        .map(|(threads, seed)| Options {
            threads,
            seed,
            max_instructions: 1 << 24,
            ..Options::default()
        })
}

#[test]
fn grid_barriers_let_no_block_run_ahead() {
    let n = BLOCKS * THREADS;
    let steps = 9;
    let mut expected: Vec<u32> = (0..n).map(|i| i * i).collect();
    for _ in 0..steps {
        let before = expected.clone();
        let at = |i: u32| before[(i % n) as usize];
        let next = (0..n).map(|i| at(i + n / 2).wrapping_add(at(i + n - 1)));
        expected = next.collect();
    }
    let mut done = Vec::new();
    for options in every_order() {
        let mut machine = Machine::new(options);
        let taken = machine.device.left();
        let even = machine.buffer(&(0..n).map(|i| i * i).collect::<Vec<_>>());
        let odd = machine.buffer(&vec![0; n as usize]);
        let left = machine.device.left();
        let arguments = [
            Argument::Pointer(even),
            Argument::Pointer(odd),
            Argument::Integer(steps),
        ];
        done.push(machine.launch("ring", BLOCKS, &arguments, true).unwrap());
        assert_eq!(machine.values(odd, n), expected, "{:?}", machine.options);
        assert!(left < taken);
        assert_eq!(machine.device.left(), left, "the workspace is freed");
    }
    assert_eq!(done[0], done[1], "the number of threads changes nothing");
    // Waiting costs little: one read of the counter for each barrier and round of turns.
    let each = done[0].0.warp_instructions / u64::from(BLOCKS * THREADS.div_ceil(32));
    assert!(
        each < 60 * steps as u64,
        "{each} instructions for each warp"
    );
}

/// The earliest and the latest phase of each step's accesses, where each block passes as many
/// barriers of its own as its number says before it comes to a grid barrier.
fn phases_of_steps(options: Options, steps: i128) -> Vec<(u32, u32)> {
    let own_barriers = "mov.u32 %r21, 0;\nOWN:\n    barrier.sync 0;\n    add.u32 %r21, %r21, 1;\n    \
                        setp.le.u32 %p6, %r21, %r4;\n    @%p6 bra OWN;\n    setp.ne.u32 %p2";
    let text = PTX.replace("barrier.sync 0;\n    setp.ne.u32 %p2", own_barriers);
    assert_ne!(text, PTX);
    let mut machine = Machine::of(&text, options);
    let data = [0, 1].map(|_| machine.buffer(&[1; (BLOCKS * THREADS) as usize]));
    let kernel = machine.kernel("ring");
    let [even, odd] = data.map(Argument::Pointer);
    let arguments = [even, odd, Argument::Integer(steps)];
    let launch = kernel.launch([BLOCKS, 1, 1], [THREADS, 1, 1], 0, &arguments);
    let launch = LaunchConfig {
        cooperative: true,
        ..launch.unwrap()
    };
    let mut sink = CollectorSink::new(WarpStream::new());
    sink.launch(&kernel, &launch).unwrap();
    let options = machine.options.clone();
    let ended = machine.device.launch(&kernel, &launch, &options, &mut sink);
    ended.unwrap();
    let stream = sink.finish().unwrap();
    let (mut found, mut done) = (Vec::new(), BTreeMap::new());
    let end = u64::from(4 * BLOCKS * THREADS);
    for row in stream.launches[0].batches.iter().flat_map(WarpBatch::rows) {
        let is_in = |start: &u64| row.addresses[0].wrapping_sub(*start) < end;
        if row.space != Space::Global || !data.iter().any(is_in) {
            continue;
        }
        // Three accesses of each warp in each step.
        let done = done.entry((row.block, row.warp)).or_insert(0);
        let step = *done / 3;
        *done += 1;
        if found.len() == step {
            found.push((row.phase, row.phase));
        }
        let (earliest, latest): &mut (u32, u32) = &mut found[step];
        (*earliest, *latest) = ((*earliest).min(row.phase), (*latest).max(row.phase));
    }
    found
}

#[test]
fn phases_of_all_blocks_are_ordered_by_grid_barriers() {
    for options in every_order() {
        let phases = phases_of_steps(options, 5);
        assert_eq!(phases.len(), 5);
        for step in phases.windows(2) {
            let ((_, latest), (earliest, _)) = (step[0], step[1]);
            assert!(latest < earliest, "{phases:?}");
        }
        // All blocks come to the same phase.
        assert!(phases.iter().all(|(earliest, latest)| earliest == latest));
    }
}

#[test]
fn blocks_wait_for_later_ones() {
    for options in every_order() {
        let mut machine = Machine::new(options);
        let flags = machine.buffer(&[0; BLOCKS as usize]);
        let argument = [Argument::Pointer(flags)];
        machine.launch("wait", BLOCKS, &argument, true).unwrap();
        let expected: Vec<u32> = (1..=BLOCKS).rev().collect();
        assert_eq!(machine.values(flags, BLOCKS), expected);
    }
}

fn error(result: Result<(Stats, Count), LaunchError>) -> (FaultKind, String) {
    match result {
        Err(LaunchError::Stopped(error)) => (error.kind(), error.to_string()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_ordinary_launch_has_no_grid_barrier() {
    let mut machine = Machine::new(Options::default());
    let data = machine.buffer(&[0; (BLOCKS * THREADS) as usize]);
    let arguments = [
        Argument::Pointer(data),
        Argument::Pointer(data),
        Argument::Integer(1),
    ];
    let result = machine.launch("ring", BLOCKS, &arguments, false);
    assert_eq!(error(result).0, FaultKind::Trap);
}

#[test]
fn blocks_that_wait_too_long_are_stopped() {
    let mut machine = Machine::new(Options {
        max_instructions: 50,
        ..Options::default()
    });
    let flags = machine.buffer(&[0; BLOCKS as usize]);
    let result = machine.launch("wait", BLOCKS, &[Argument::Pointer(flags)], true);
    let (kind, what) = error(result);
    assert_eq!(kind, FaultKind::TooLong);
    assert!(what.contains("more than 50 instructions"), "{what}");
}

#[test]
fn a_block_that_traps_ends_the_launch() {
    let mut machine = Machine::new(Options::default());
    let (kind, what) = error(machine.launch("odd", BLOCKS, &[], true));
    assert_eq!(kind, FaultKind::Trap);
    assert!(what.contains("block (3, 0, 0)"), "{what}");
}

#[test]
fn grids_beyond_a_gpu_are_refused() {
    let mut machine = Machine::new(Options::default());
    let kernel = machine.kernel("odd");
    let launch = LaunchConfig {
        cooperative: true,
        ..kernel.launch([1 << 20, 1, 1], [64, 1, 1], 0, &[]).unwrap()
    };
    let result = machine
        .device
        .launch(&kernel, &launch, &machine.options.clone(), &mut Ignore);
    let message = result.unwrap_err().to_string();
    assert!(
        message.contains("1048576 blocks of 64 threads: all of them"),
        "{message}"
    );
}
