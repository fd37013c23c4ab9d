//! Barriers order the accesses of a block's warps: what is reported of random small kernels is what
//! happens in one of all their possible executions.

use std::collections::BTreeSet;

use reuselens_cuda::{AdvisedKernels, KernelWatch};
use reuselens_gpu_advisor::{AdvisorOptions, LaunchContext};
use reuselens_ptx::{Argument, CollectorSink, Device, LaunchSink, Options, PtxModule, SplitMix64};
use reuselens_simt::{Alignment, KernelRun, Loading};
use reuselens_warp::{Space, WarpStream};

/// Times that a kernel goes round its loop.
const STEPS: u32 = 4;
/// Executions of a kernel in all orders grow with the factorial of this.
const MOST_ACCESSES: u32 = 8;
/// Barriers with numbers: each is used once, so that warps never meet at another one's.
const MOST_NUMBERED: u32 = 15;

/// Warps, a bit for each.
type Warps = u32;

/// What the warps do at one place of the loop's body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slot {
    Load,
    Store,
    /// A barrier of all warps that have not ended.
    All,
    /// A barrier of some warps, of which some only arrive.
    Some,
    Exit,
}

/// A slot in one step.
#[derive(Clone, Copy, Debug, Default)]
struct SlotStep {
    /// Those that do it.
    warps: Warps,
    /// Of those, the ones that arrive at the barrier without waiting.
    arriving: Warps,
    /// The barrier's number.
    number: u32,
    /// The line that each warp accesses.
    lines: [u64; 3],
}

/// A kernel: a loop over some slots. Steps and slots in their order are one possible execution, so
/// it ends.
#[derive(Debug)]
struct RandomKernel {
    warps: u32,
    slots: Vec<Slot>,
    /// By step and slot.
    steps: Vec<Vec<SlotStep>>,
}

fn random_kernel(random: &mut SplitMix64) -> RandomKernel {
    let warps = 2 + random.below(2) as u32;
    let slots: Vec<Slot> = (0..2 + random.below(4))
        .map(|_| match random.below(9) {
            0..4 => Slot::Load,
            4 => Slot::Store,
            5 | 6 => Slot::All,
            7 => Slot::Some,
            _ => Slot::Exit,
        })
        .collect();
    let (mut accesses, mut numbered, mut alive) = (0, 0, (1 << warps) - 1);
    let mut step_of = |slot: Slot, random: &mut SplitMix64| {
        let mut step = SlotStep::default();
        let chosen = random.below(1 << warps) as Warps & alive;
        match slot {
            Slot::Load | Slot::Store if accesses + chosen.count_ones() <= MOST_ACCESSES => {
                accesses += chosen.count_ones();
                step.warps = chosen;
                step.lines = std::array::from_fn(|_| random.below(4));
            }
            Slot::All if random.below(2) == 0 => step.warps = alive,
            Slot::Some if numbered < MOST_NUMBERED && chosen != 0 => {
                numbered += 1;
                step.warps = chosen;
                step.number = numbered;
                step.arriving = chosen & random.below(1 << warps) as Warps;
                if step.arriving == chosen {
                    step.arriving = 0;
                }
            }
            Slot::Exit if random.below(4) == 0 => {
                step.warps = chosen;
                alive &= !chosen;
            }
            _ => {}
        }
        step
    };
    let steps = (0..STEPS).map(|_| slots.iter().map(|&slot| step_of(slot, random)).collect());
    RandomKernel {
        warps,
        steps: steps.collect(),
        slots,
    }
}

impl RandomKernel {
    /// A table of four bits for each step and warp.
    fn table(&self, slot: usize, value: impl Fn(&SlotStep, u32) -> u64) -> String {
        let mut table = 0_u64;
        for (at, step) in (0..).zip(&self.steps) {
            for warp in 0..self.warps {
                table |= value(&step[slot], warp) << (4 * (at * self.warps + warp));
            }
        }
        format!("{table:#x}")
    }

    /// PTX in which the slots stand in their order, and warps look up what they do in a step.
    fn ptx(&self) -> String {
        let mut body = String::new();
        let has = |warps: Warps, warp: u32| u64::from(warps >> warp & 1);
        for (slot, kind) in self.slots.iter().enumerate() {
            let looked_up = |to: &str, table: String| {
                format!("shr.u64 %x3, {table}, %r5; and.b64 {to}, %x3, 15;\n")
            };
            let takes_part = self.table(slot, |step, warp| has(step.warps, warp));
            body += &looked_up("%x4", takes_part);
            body += "setp.ne.u64 %p1, %x4, 0;\n";
            match kind {
                Slot::Load | Slot::Store => {
                    body += &looked_up(
                        "%x4",
                        self.table(slot, |step, warp| step.lines[warp as usize]),
                    );
                    body += "mad.lo.u64 %x4, %x4, 128, %x1;\n";
                    body += match kind {
                        Slot::Load => "@%p1 ld.global.u32 %r6, [%x4];\n",
                        _ => "@%p1 st.global.u32 [%x4], %r6;\n",
                    };
                }
                Slot::All => body += "@%p1 bar.sync 0;\n",
                Slot::Some => {
                    let waits = |step: &SlotStep, warp| has(step.warps & !step.arriving, warp);
                    body += &looked_up("%x4", self.table(slot, |step, _| step.number.into()));
                    body += "cvt.u32.u64 %r6, %x4;\n";
                    let members = |step: &SlotStep, _| step.warps.count_ones().into();
                    body += &looked_up("%x4", self.table(slot, members));
                    body += "cvt.u32.u64 %r7, %x4; shl.b32 %r7, %r7, 5;\n";
                    body += &looked_up("%x4", self.table(slot, waits));
                    body += "setp.ne.u64 %p2, %x4, 0; and.pred %p2, %p1, %p2; not.pred %p3, %p2;\n";
                    body += "and.pred %p3, %p1, %p3;\n@%p2 bar.sync %r6, %r7;\n";
                    body += "@%p3 bar.arrive %r6, %r7;\n";
                }
                Slot::Exit => body += "@%p1 ret;\n",
            }
        }
        format!(
            ".version 7.0\n.target sm_80\n.address_size 64\n\
             .visible .entry k(.param .u64 data) {{\n\
             .reg .pred %p<9>; .reg .b32 %r<9>; .reg .b64 %x<9>;\n\
             ld.param.u64 %x1, [data];\nmov.u32 %r1, %tid.x; shr.u32 %r2, %r1, 5;\n\
             mov.u32 %r3, 0; mov.u32 %r6, 0;\nLOOP:\n\
             mad.lo.u32 %r4, %r3, {}, %r2; shl.b32 %r5, %r4, 2;\n{body}\
             add.u32 %r3, %r3, 1; setp.lt.u32 %p4, %r3, {STEPS};\n@%p4 bra LOOP;\nret; }}\n",
            self.warps
        )
    }

    /// What a warp does, in order.
    fn program(&self, warp: u32) -> Vec<Op> {
        let mut program = Vec::new();
        for (slot, step) in self.steps.iter().flat_map(|slots| slots.iter().enumerate()) {
            if step.warps >> warp & 1 == 0 {
                continue;
            }
            program.push(match self.slots[slot] {
                kind @ (Slot::Load | Slot::Store) => Op::Access(Access {
                    slot,
                    is_load: kind == Slot::Load,
                    line: step.lines[warp as usize],
                }),
                Slot::All => Op::WaitForAll,
                Slot::Some if step.arriving >> warp & 1 != 0 => Op::Arrive(step.number),
                Slot::Some => Op::Wait(step.number, step.warps.count_ones()),
                Slot::Exit => return program,
            });
        }
        program
    }
}

#[derive(Clone, Copy, Debug)]
struct Access {
    slot: usize,
    is_load: bool,
    line: u64,
}

#[derive(Clone, Copy, Debug)]
enum Op {
    Access(Access),
    WaitForAll,
    /// At the barrier with a number, for as many warps.
    Wait(u32, u32),
    Arrive(u32),
}

/// All orders in which the accesses of warps can happen, each as the warps of its accesses.
#[derive(Default)]
struct Orders {
    programs: Vec<Vec<Op>>,
    found: BTreeSet<Vec<u32>>,
}

/// Where the warps are.
#[derive(Clone)]
struct State {
    /// By warp: the next operation.
    next: Vec<usize>,
    /// By the barrier's number: those that have arrived without waiting.
    arrived: [u32; MOST_NUMBERED as usize + 1],
}

impl Orders {
    fn of(kernel: &RandomKernel) -> Orders {
        let mut orders = Orders {
            programs: (0..kernel.warps).map(|warp| kernel.program(warp)).collect(),
            found: BTreeSet::new(),
        };
        let state = State {
            next: vec![0; kernel.warps as usize],
            arrived: [0; MOST_NUMBERED as usize + 1],
        };
        orders.search(state, &mut Vec::new());
        orders
    }

    fn op(&self, state: &State, warp: usize) -> Option<Op> {
        self.programs[warp].get(state.next[warp]).copied()
    }

    /// Warps come to barriers and pass them as soon as they can: that allows all orders.
    fn pass_barriers(&self, state: &mut State) {
        loop {
            let before = state.next.clone();
            for warp in 0..self.programs.len() {
                if let Some(Op::Arrive(number)) = self.op(state, warp) {
                    state.arrived[number as usize] += 1;
                    state.next[warp] += 1;
                }
            }
            let all = 0..self.programs.len();
            let waiting = |state: &State, wanted: u32| -> Vec<usize> {
                let waits = |&warp: &usize| match self.op(state, warp) {
                    Some(Op::Wait(number, _)) => number == wanted,
                    Some(Op::WaitForAll) => wanted == 0,
                    _ => false,
                };
                all.clone().filter(waits).collect()
            };
            for number in 0..=MOST_NUMBERED {
                let here = waiting(state, number);
                let Some(&first) = here.first() else { continue };
                let wanted = match self.op(state, first) {
                    Some(Op::Wait(_, warps)) => warps as usize,
                    _ => all
                        .clone()
                        .filter(|&warp| self.op(state, warp).is_some())
                        .count(),
                };
                if here.len() + state.arrived[number as usize] as usize >= wanted {
                    here.iter().for_each(|&warp| state.next[warp] += 1);
                }
            }
            if state.next == before {
                return;
            }
        }
    }

    fn search(&mut self, mut state: State, order: &mut Vec<u32>) {
        self.pass_barriers(&mut state);
        let mut has_ended = true;
        for warp in 0..self.programs.len() {
            match self.op(&state, warp) {
                Some(Op::Access(_)) => {
                    let mut after = state.clone();
                    after.next[warp] += 1;
                    order.push(warp as u32);
                    self.search(after, order);
                    order.pop();
                    has_ended = false;
                }
                Some(_) => has_ended = false,
                None => {}
            }
        }
        if has_ended {
            self.found.insert(order.clone());
        }
    }

    /// The accesses in an order.
    fn accesses(&self, order: &[u32]) -> Vec<Access> {
        let mut programs: Vec<_> = self.programs.iter().map(|ops| ops.iter()).collect();
        let next = |&warp: &u32| {
            programs[warp as usize].find_map(|op| match op {
                Op::Access(access) => Some(*access),
                _ => None,
            })
        };
        order.iter().filter_map(next).collect()
    }
}

/// By slot: loads, those of them that reuse a line, and the sum of their distances.
type Distances = Vec<(u64, u64, u64)>;

/// The definition. A store ends the reuse of its line.
fn distances(accesses: &[Access], slots: usize) -> Distances {
    let mut sums = vec![(0, 0, 0); slots];
    for (at, access) in accesses.iter().enumerate().filter(|(_, it)| it.is_load) {
        let sum = &mut sums[access.slot];
        sum.0 += 1;
        let before = accesses[..at].iter().rposition(|it| it.line == access.line);
        let Some(before) = before.filter(|&before| accesses[before].is_load) else {
            continue;
        };
        let between = accesses[before + 1..at].iter().map(|it| it.line);
        sum.1 += 1;
        sum.2 += between.collect::<BTreeSet<u64>>().len() as u64;
    }
    sums
}

/// Runs a kernel; `see` gets what is launched.
fn run<S: LaunchSink + Send>(
    kernel: &RandomKernel,
    seed: Option<u64>,
    sink: &mut S,
    begin: impl FnOnce(&mut S, &reuselens_ptx::Kernel, &reuselens_ptx::LaunchConfig),
) {
    let options = Options {
        seed,
        threads: 1,
        ..Options::default()
    };
    let mut device = Device::new();
    let module = PtxModule::parse(&kernel.ptx()).unwrap();
    let module = device.load(module).unwrap();
    let data = device.allocate("data", 4 * 128).unwrap();
    let loaded = device.kernel(&module, "k", &options).unwrap();
    let block = [kernel.warps * 32, 1, 1];
    let launch = loaded.launch([1; 3], block, 0, &[Argument::Pointer(data)]);
    let launch = launch.unwrap();
    begin(sink, &loaded, &launch);
    let ended = device.launch(&loaded, &launch, &options, sink);
    ended.unwrap_or_else(|error| panic!("{error}\n{kernel:?}"));
}

/// What is reported of the kernel's loads.
fn reported(kernel: &RandomKernel, seed: Option<u64>) -> Distances {
    let mut watch = AdvisedKernels::new(AdvisorOptions::default());
    run(kernel, seed, &mut watch, |watch, loaded, launch| {
        let context = LaunchContext::default();
        watch.begin(loaded, launch, &context).unwrap();
    });
    let report = watch.finish().remove(0);
    let mut sums = vec![(0, 0, 0); kernel.slots.len()];
    // The first site is the load of the parameter.
    let slots = (0..kernel.slots.len())
        .filter(|&slot| matches!(kernel.slots[slot], Slot::Load | Slot::Store));
    for (site, slot) in (1..).zip(slots) {
        if let Some(report) = report.by_site.iter().find(|report| report.site == site) {
            let reuse = report.counts.reuse;
            sums[slot] = (reuse.loads, reuse.reuses, reuse.distance_sum);
        }
    }
    sums
}

fn stream(kernel: &RandomKernel, seed: Option<u64>) -> WarpStream {
    let mut sink = CollectorSink::new(WarpStream::new());
    run(kernel, seed, &mut sink, |sink, loaded, launch| {
        sink.launch(loaded, launch).unwrap();
    });
    sink.finish().unwrap()
}

/// The warps of the accesses in the order of the records' places.
fn order_of(stream: &WarpStream) -> Vec<u32> {
    let batches = stream.launches[0].batches.iter();
    let rows = batches.flat_map(|batch| batch.rows());
    let mut places: Vec<_> = rows
        .filter(|row| row.space == Space::Global)
        .map(|row| (row.phase, row.position, row.warp))
        .collect();
    places.sort_unstable();
    places.into_iter().map(|(_, _, warp)| warp).collect()
}

/// The warps of the accesses in the order of the block's instructions: of those that are issued
/// together, from the first or from the last.
fn orders_of_analysis(stream: &WarpStream, alignment: Alignment) -> [Vec<u32>; 2] {
    let loading = Loading {
        alignment,
        ..Loading::default()
    };
    let run = KernelRun::read(&mut stream.source(), loading).unwrap();
    let Some(block) = run.blocks().first() else {
        return [Vec::new(), Vec::new()];
    };
    let (mut from_first, mut from_last) = (Vec::new(), Vec::new());
    block.visit(|found| {
        let first_lanes = found.threads.iter().filter(|thread| **thread % 32 == 0);
        let warps = first_lanes.map(|thread| u32::from(*thread) / 32);
        from_first.extend(warps.clone());
        from_last.extend(warps.rev());
    });
    [from_first, from_last]
}

/// Holds what is reported of a kernel against all its executions. Returns in how many orders its
/// accesses can happen, and how many results these have.
fn check(kernel: &RandomKernel, name: &str) -> (usize, usize) {
    let orders = Orders::of(kernel);
    let all = orders.found.iter().map(|order| orders.accesses(order));
    let possible: BTreeSet<Distances> = all
        .map(|accesses| distances(&accesses, kernel.slots.len()))
        .collect();
    let found = reported(kernel, None);
    let is_possible = possible.contains(&found);
    assert!(is_possible, "{name}: {found:?} of {possible:?}\n{kernel:?}");
    for seed in [None, Some(1), Some(2)] {
        // The order in which the interpreter happens to run warps does not show.
        assert_eq!(reported(kernel, seed), found, "{name}, seed {seed:?}");
        let stream = stream(kernel, seed);
        let [first, last] = orders_of_analysis(&stream, Alignment::Sites);
        let [third, fourth] = orders_of_analysis(&stream, Alignment::Positions);
        for order in [order_of(&stream), first, last, third, fourth] {
            let is_possible = orders.found.contains(&order);
            assert!(is_possible, "{name}: {order:?}\n{kernel:?}");
        }
    }
    (orders.found.len(), possible.len())
}

#[test]
fn reported_order_is_that_of_a_possible_execution() {
    let mut random = SplitMix64::new(48);
    let (mut have_one_result, mut have_several) = (0, 0);
    for number in 0..150 {
        let kernel = random_kernel(&mut random);
        let (orders, results) = check(&kernel, &format!("kernel {number}"));
        have_one_result += usize::from(orders > 1 && results == 1);
        have_several += usize::from(results > 1);
    }
    // In both kinds there is something to find.
    assert!(
        have_one_result > 10 && have_several > 30,
        "{have_one_result} {have_several}"
    );
}

/// Two warps meet, load and end; the third one waits at a barrier of all until they have.
#[test]
fn barrier_of_all_comes_after_what_ended_warps_have_done() {
    let of = |warps, number| SlotStep {
        warps,
        number,
        lines: [1, 2, 1],
        ..SlotStep::default()
    };
    let mut steps = vec![vec![SlotStep::default(); 5]; STEPS as usize];
    steps[0] = vec![
        of(0b110, 1),
        of(0b110, 0),
        of(0b110, 0),
        of(0b001, 0),
        of(0b001, 0),
    ];
    let kernel = RandomKernel {
        warps: 3,
        slots: vec![Slot::Some, Slot::Load, Slot::Exit, Slot::All, Slot::Load],
        steps,
    };
    assert_eq!(check(&kernel, "ended warps").0, 2);
}
