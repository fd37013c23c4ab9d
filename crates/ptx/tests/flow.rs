//! Counts of control flow: known numbers of small kernels, and of random ones against a calculation
//! that goes through the program itself with masks.

use std::collections::BTreeMap;

use reuselens_ptx::{
    Argument, BlockFlow, BranchFlow, Device, FlowCounts, Ignore, LaunchError, Options, PtxModule,
    SplitMix64, Stats,
};
use reuselens_warp::InstructionClass;

/// A kernel with a body in registers `%h` (`tid + 40 * ctaid`), `%r`, `%i` and `%p`.
fn module(body: &str) -> String {
    format!(
        ".version 7.0\n.target sm_80\n.address_size 64\n.file 1 \"k.cu\"\n\
         .visible .entry k(.param .u64 out) {{\n\
         .reg .pred %p<9>; .reg .b32 %r<9>; .reg .b32 %i<99>; .reg .b32 %h; .reg .b64 %x<9>;\n\
         mov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\nmad.lo.s32 %h, %r2, 40, %r1;\n{body}}}\n"
    )
}

/// The line of the first statement of a body.
const FIRST: u32 = 10;

fn counts(body: &str, grid: u32, threads: u32, workers: usize) -> FlowCounts {
    let options = Options {
        flow: true,
        threads: workers,
        ..Options::default()
    };
    let (flow, result) = launch(body, grid, threads, &options);
    result.unwrap_or_else(|error| panic!("{error}\n{body}"));
    flow.expect("the kernel is decoded to be counted")
}

fn launch(
    body: &str,
    grid: u32,
    threads: u32,
    options: &Options,
) -> (Option<FlowCounts>, Result<(), LaunchError>) {
    let mut device = Device::new();
    let module = device
        .load(PtxModule::parse(&module(body)).unwrap())
        .unwrap();
    let kernel = device.kernel(&module, "k", options).unwrap();
    let launch = kernel.launch([grid, 1, 1], [threads, 1, 1], 0, &[Argument::Integer(0)]);
    let result = device.launch(&kernel, &launch.unwrap(), options, &mut Ignore);
    let flow = device.take_flow();
    if let (Some(flow), Ok(stats)) = (&flow, &result) {
        assert_all_counted(flow, stats, body);
    }
    (flow, result.map(|_| ()))
}

/// The instructions of all classes are those that the interpreter counts one by one.
pub fn assert_all_counted(flow: &FlowCounts, stats: &Stats, body: &str) {
    let rows = &flow.instructions;
    let warps: u64 = rows.iter().map(|row| row.warps).sum();
    let threads: u64 = rows.iter().map(|row| row.threads).sum();
    let all = (stats.warp_instructions, stats.thread_instructions);
    assert_eq!((warps, threads), all, "{body}");
}

/// Line, executions by warps, divergent ones, and executions by threads.
fn block(flow: &BlockFlow) -> (u32, u64, u64, u64) {
    let line = flow.place.position.line;
    (line, flow.warps, flow.divergent, flow.threads)
}

/// Line, executions by warps, splits, executions by threads, and those of them that took it.
fn branch(flow: &BranchFlow) -> (u32, u64, u64, u64, u64) {
    let line = flow.place.position.line;
    (line, flow.warps, flow.splits, flow.threads, flow.taken)
}

fn blocks(counts: &FlowCounts) -> Vec<(u32, u64, u64, u64)> {
    counts.blocks.iter().map(block).collect()
}

fn branches(counts: &FlowCounts) -> Vec<(u32, u64, u64, u64, u64)> {
    counts.branches.iter().map(branch).collect()
}

/// The line of the PTX on which a kernel's first instruction is.
const ENTRY: u32 = 7;

#[test]
fn lanes_without_a_thread_are_not_divergence() {
    // Two warps, of 32 and of 8 threads; threads below 4 go through the middle block.
    let body = "setp.gt.u32 %p1, %r1, 3;\n@%p1 bra END;\nadd.u32 %r3, %r1, 1;\nEND:\nmov.u32 %r4, 0;\nret;\n";
    let found = counts(body, 1, 40, 1);
    let expected = [
        (ENTRY, 2, 0, 40),
        (FIRST + 2, 1, 1, 4),
        (FIRST + 4, 2, 0, 40),
    ];
    assert_eq!(blocks(&found), expected);
    assert_eq!(branches(&found), [(FIRST + 1, 2, 1, 40, 36)]);
    assert_eq!(
        (found.branches[0].block, found.blocks[0].instructions),
        (0, 5)
    );
    assert_eq!(found.predicated, []);
}

/// By hand: 40 threads in two warps. Those below 4 do the middle block; the store is for those
/// below 8, all in the first warp.
#[test]
fn instructions_are_counted_one_by_one() {
    let body = "setp.gt.u32 %p1, %r1, 3;\n@%p1 bra END;\n.reg .f32 %f<4>;\n\
        .loc 1 5 1\nfma.rn.f32 %f1, %f2, %f3, %f1;\nadd.f32 %f1, %f1, %f1;\n\
        .loc 1 6 1\nmul.f32 %f2, %f1, %f1;\nadd.u32 %r3, %r1, 1;\n\
        END:\n.loc 1 7 9\nld.param.u64 %x1, [out];\nsetp.lt.u32 %p2, %r1, 8;\n\
        .shared .f32 s[8];\nmov.u32 %r5, s;\n@%p2 st.shared.f32 [%r5], %f1;\nret;\n";
    let found = counts(body, 1, 40, 1);
    let rows = found.instructions.iter().map(|row| {
        let counts = [row.warps, row.threads, row.float_operations];
        let place = format!("{}:{}", row.place.line(), row.place.column());
        (place, row.class, &row.text[..], counts)
    });
    let rows: Vec<_> = rows.collect();
    use InstructionClass::{Control, Float32, Integer, LoadParameter, Move, StoreShared};
    let expected = [
        (":0", Integer, "setp.gt.u32 %p1, %r1, 3;", [2, 40, 0]),
        (":0", Control, "@%p1 bra END;", [2, 36, 0]),
        (
            "k.cu:5:1",
            Float32,
            "fma.rn.f32 %f1, %f2, %f3, %f1;",
            [1, 4, 8],
        ),
        ("k.cu:5:1", Float32, "add.f32 %f1, %f1, %f1;", [1, 4, 4]),
        ("k.cu:6:1", Float32, "mul.f32 %f2, %f1, %f1;", [1, 4, 4]),
        ("k.cu:6:1", Integer, "add.u32 %r3, %r1, 1;", [1, 4, 0]),
        (
            "k.cu:7:9",
            LoadParameter,
            "ld.param.u64 %x1, [out];",
            [2, 40, 0],
        ),
        ("k.cu:7:9", Integer, "setp.lt.u32 %p2, %r1, 8;", [2, 40, 0]),
        ("k.cu:7:9", Move, "mov.u32 %r5, s;", [2, 40, 0]),
        (
            "k.cu:7:9",
            StoreShared,
            "@%p2 st.shared.f32 [%r5], %f1;",
            [2, 8, 0],
        ),
        ("k.cu:7:9", Control, "ret;", [2, 40, 0]),
    ];
    let expected =
        expected.map(|(place, class, text, counts)| (place.to_owned(), class, text, counts));
    assert_eq!(rows[rows.len() - expected.len()..], expected);
}

#[test]
fn blocks_after_an_early_return_are_divergent() {
    // Of 40 threads those from 20 on return: half of the first warp, and all of the second.
    let body = "setp.ge.u32 %p1, %r1, 20;\n@%p1 ret;\nmov.u32 %r4, 0;\nret;\n";
    let found = counts(body, 1, 40, 1);
    assert_eq!(blocks(&found), [(ENTRY, 2, 0, 40), (FIRST + 2, 1, 1, 20)]);
    assert_eq!(branches(&found), [(FIRST + 1, 2, 1, 40, 20)]);
}

#[test]
fn lanes_meet_after_an_if_in_which_others_return() {
    // Threads below 16 go through an `if` in which those below 4 return: to the last return, as
    // nvcc has it, or where they are, as clang has it.
    for (leave, out) in [("bra OUT", "OUT:\nret;\n"), ("ret", "ret;\n")] {
        let body = format!(
            "setp.ge.u32 %p1, %r1, 16;\n@%p1 bra JOIN;\nsetp.ge.u32 %p2, %r1, 4;\n\
             @%p2 bra STAY;\nadd.u32 %r3, %r1, 1;\n{leave};\nSTAY:\nadd.u32 %r3, %r1, 2;\n\
             JOIN:\nadd.u32 %r4, %r3, 3;\nbar.sync 0;\nadd.u32 %r4, %r4, 3;\n{out}"
        );
        let found = counts(&body, 1, 32, 1);
        let join = blocks(&found).into_iter().find(|row| row.0 == FIRST + 9);
        assert_eq!(join, Some((FIRST + 9, 1, 1, 28)), "{:?}", blocks(&found));
    }
}

#[test]
fn lanes_that_left_a_loop_are_missed_in_it() {
    // Thread t of 4 goes round t + 1 times.
    let body = "mov.u32 %i1, %r1;\nLOOP:\nadd.u32 %r3, %r3, 1;\nsetp.ne.u32 %p1, %i1, 0;\nsub.u32 %i1, %i1, 1;\n@%p1 bra LOOP;\nret;\n";
    let found = counts(body, 3, 4, 2);
    let expected = [
        (ENTRY, 3, 0, 12),
        (FIRST + 2, 12, 9, 30),
        (FIRST + 6, 3, 0, 12),
    ];
    assert_eq!(blocks(&found), expected);
    assert_eq!(branches(&found), [(FIRST + 5, 12, 9, 30, 18)]);
}

#[test]
fn instructions_under_a_guard_are_apart_from_branches() {
    let body =
        "setp.gt.u32 %p1, %r1, 3;\n@!%p1 mov.u32 %r4, 0;\n@%p1 mul.wide.u32 %x1, %r1, 4;\nret;\n";
    let found = counts(body, 1, 40, 1);
    assert_eq!(blocks(&found), [(ENTRY, 2, 0, 40)]);
    assert_eq!(found.branches, []);
    let predicated: Vec<_> = found.predicated.iter().map(branch).collect();
    assert_eq!(
        predicated,
        [(FIRST + 1, 2, 1, 40, 4), (FIRST + 2, 2, 1, 40, 36)]
    );
}

#[test]
fn a_branch_by_a_table_splits_where_targets_differ() {
    let body = "and.b32 %r3, %r1, 1;\nTABLE: .branchtargets A, B;\nbrx.idx %r3, TABLE;\nA:\nmov.u32 %r4, 1;\nbra END;\nB:\nmov.u32 %r4, 2;\nEND:\nmov.u32 %r5, 2;\nret;\n";
    let found = counts(body, 1, 33, 1);
    let expected = [
        (ENTRY, 2, 0, 33),
        (FIRST + 4, 2, 1, 17),
        (FIRST + 7, 1, 1, 16),
        (FIRST + 9, 2, 0, 33),
    ];
    assert_eq!(blocks(&found), expected);
    assert_eq!(branches(&found), [(FIRST + 2, 2, 1, 33, 33)]);
}

#[test]
fn places_have_file_line_and_column() {
    let body = ".loc 1 12 5\nsetp.gt.u32 %p1, %r1, 3;\n.loc 1 13 9\n@%p1 bra END;\n.loc 1 14 3\nmov.u32 %r4, 0;\nEND:\nret;\n";
    let found = counts(body, 1, 32, 1);
    let source = |place: &reuselens_ptx::KernelPlace| {
        let source = place.source.clone()?;
        Some((source.file, source.line, source.column))
    };
    assert_eq!(source(&found.blocks[0].place), None);
    assert_eq!(
        source(&found.branches[0].place),
        Some(("k.cu".into(), 13, 9))
    );
    assert_eq!(source(&found.blocks[1].place), Some(("k.cu".into(), 14, 3)));
}

#[test]
fn a_launch_that_is_stopped_counts_up_to_the_stop() {
    // Block 2 of 4 traps; those before it are counted, with any number of threads.
    let body = "setp.ne.u32 %p1, %r2, 2;\n@%p1 bra END;\ntrap;\nEND:\nret;\n";
    for threads in [1, 2, 3] {
        let options = Options {
            flow: true,
            threads,
            ..Options::default()
        };
        let (flow, result) = launch(body, 4, 32, &options);
        result.unwrap_err();
        let expected = [
            (ENTRY, 3, 0, 96),
            (FIRST + 2, 1, 0, 32),
            (FIRST + 4, 2, 0, 64),
        ];
        assert_eq!(blocks(&flow.unwrap()), expected, "{threads}");
    }
}

#[test]
fn nothing_is_counted_unless_asked_for() {
    let (flow, result) = launch("ret;\n", 1, 32, &Options::default());
    assert_eq!((flow, result.is_ok()), (None, true));
}

/// A program: what threads do depends on bits of their number.
enum Node {
    If(Vec<Node>, Vec<Node>, Bits),
    Loop(Vec<Node>, Bits),
    /// Whether it goes to the block of the last return.
    Return(Bits, bool),
    Guarded(Bits),
}

/// `h * factor >> 24 & mask`
#[derive(Clone, Copy)]
struct Bits {
    factor: u32,
    mask: u32,
}

impl Bits {
    fn any(random: &mut SplitMix64) -> Bits {
        // A mask of 0 holds for no thread, and a factor of 2^24 keeps the number's low bits.
        let factor = [1 << 24, 1 << 21, 0x9e37_79b1][random.below(3) as usize];
        let mask = random.below(4) as u32;
        Bits { factor, mask }
    }

    fn of(self, thread: u32) -> u32 {
        thread.wrapping_mul(self.factor) >> 24 & self.mask
    }
}

fn program(random: &mut SplitMix64, depth: u32) -> Vec<Node> {
    let node = |random: &mut SplitMix64| match random.below(6) {
        0 | 1 if depth < 3 => {
            let other = match random.below(2) {
                0 => Vec::new(),
                _ => program(random, depth + 1),
            };
            Node::If(program(random, depth + 1), other, Bits::any(random))
        }
        2 if depth < 3 => Node::Loop(program(random, depth + 1), Bits::any(random)),
        3 => Node::Return(Bits::any(random), random.below(2) == 0),
        _ => Node::Guarded(Bits::any(random)),
    };
    (0..random.below(4)).map(|_| node(random)).collect()
}

/// Writes a program as PTX, and goes through it with masks.
#[derive(Default)]
struct Reference {
    text: Vec<String>,
    labels: u32,
    blocks: BTreeMap<u32, (u64, u64, u64)>,
    branches: BTreeMap<u32, (u64, u64, u64, u64)>,
    predicated: BTreeMap<u32, (u64, u64, u64, u64)>,
    /// Whether any return goes to the last one.
    goes_out: bool,
    /// Threads that come to the last return.
    out: u64,
}

/// What is executed, with the lines of the PTX.
enum Step {
    Block(u32),
    If(u32, Bits, Vec<Step>, Vec<Step>),
    Loop(u32, Bits, Vec<Step>),
    /// Whether it goes to the last return.
    Return(u32, Bits, bool),
    Guarded(u32, Bits),
}

impl Reference {
    /// Adds a line. Returns its number in the PTX.
    fn line(&mut self, text: String) -> u32 {
        self.text.push(text);
        FIRST + self.text.len() as u32 - 1
    }

    fn leader(&mut self) -> Step {
        let line = self.line("add.u32 %r6, %r6, 1;".into());
        self.blocks.insert(line, Default::default());
        Step::Block(line)
    }

    fn label(&mut self) -> String {
        self.labels += 1;
        format!("L{}", self.labels)
    }

    /// A predicate that holds where the bits are not all zero; the bits are in `%r5`.
    fn test(&mut self, bits: Bits) {
        self.line(format!("mul.lo.u32 %r5, %h, {};", bits.factor));
        self.line("shr.u32 %r5, %r5, 24;".into());
        self.line(format!("and.b32 %r5, %r5, {};", bits.mask));
        self.line("setp.ne.u32 %p1, %r5, 0;".into());
    }

    fn write(&mut self, nodes: &[Node]) -> Vec<Step> {
        nodes.iter().flat_map(|node| self.write_one(node)).collect()
    }

    fn write_one(&mut self, node: &Node) -> Vec<Step> {
        match node {
            Node::If(yes, no, bits) => {
                let (other, end) = (self.label(), self.label());
                self.test(*bits);
                let at = self.line(format!("@!%p1 bra {other};"));
                let mut taken = vec![self.leader()];
                taken.extend(self.write(yes));
                self.line(format!("bra {end};"));
                self.line(format!("{other}:"));
                let mut left = vec![self.leader()];
                left.extend(self.write(no));
                self.line(format!("{end}:"));
                vec![Step::If(at, *bits, taken, left), self.leader()]
            }
            Node::Loop(body, bits) => {
                let begin = self.label();
                self.test(*bits);
                let round = self.labels;
                self.line(format!("mov.u32 %i{round}, %r5;"));
                self.line(format!("{begin}:"));
                let mut steps = vec![self.leader()];
                steps.extend(self.write(body));
                self.line(format!("setp.ne.u32 %p1, %i{round}, 0;"));
                self.line(format!("sub.u32 %i{round}, %i{round}, 1;"));
                let at = self.line(format!("@%p1 bra {begin};"));
                vec![Step::Loop(at, *bits, steps), self.leader()]
            }
            Node::Return(bits, goes_out) => {
                self.test(*bits);
                let how = if *goes_out { "bra OUT" } else { "ret" };
                let at = self.line(format!("@%p1 {how};"));
                self.goes_out |= goes_out;
                vec![Step::Return(at, *bits, *goes_out), self.leader()]
            }
            Node::Guarded(bits) => {
                self.test(*bits);
                vec![Step::Guarded(
                    self.line("@%p1 mov.u32 %r7, 1;".into()),
                    *bits,
                )]
            }
        }
    }

    /// Executes steps for some lanes of a warp that begins at thread `base` of all; returns the
    /// lanes that go on.
    fn run(&mut self, steps: &[Step], mut lanes: u32, warp: (u32, u32)) -> u32 {
        let (base, present) = warp;
        let holding = |bits: Bits, lanes: u32, least: u32| {
            let lanes = (0..32).filter(|lane| lanes >> lane & 1 != 0);
            let lanes = lanes.filter(|lane| bits.of(base + lane) > least);
            lanes.fold(0, |mask, lane| mask | 1 << lane)
        };
        let add = |sum: &mut (u64, u64, u64, u64), lanes: u32, taken: u32| {
            sum.0 += 1;
            sum.1 += u64::from(taken != 0 && taken != lanes);
            sum.2 += u64::from(lanes.count_ones());
            sum.3 += u64::from(taken.count_ones());
        };
        for step in steps {
            if lanes == 0 {
                break;
            }
            match step {
                Step::Block(line) => {
                    let sum = self.blocks.entry(*line).or_default();
                    sum.0 += 1;
                    sum.1 += u64::from(lanes != present);
                    sum.2 += u64::from(lanes.count_ones());
                }
                Step::If(line, bits, yes, no) => {
                    let taken = holding(*bits, lanes, 0);
                    add(
                        self.branches.entry(*line).or_default(),
                        lanes,
                        lanes & !taken,
                    );
                    let other = lanes & !taken;
                    lanes = self.run(yes, taken, warp) | self.run(no, other, warp);
                }
                Step::Loop(line, bits, body) => {
                    let (mut going, mut after) = (lanes, 0);
                    for round in 0.. {
                        going = self.run(body, going, warp);
                        if going == 0 {
                            break;
                        }
                        let more = holding(*bits, going, round);
                        add(self.branches.entry(*line).or_default(), going, more);
                        after |= going & !more;
                        going = more;
                    }
                    lanes = after;
                }
                Step::Return(line, bits, goes_out) => {
                    let ended = holding(*bits, lanes, 0);
                    self.out += u64::from(if *goes_out { ended.count_ones() } else { 0 });
                    add(self.branches.entry(*line).or_default(), lanes, ended);
                    lanes &= !ended;
                }
                Step::Guarded(line, bits) => {
                    let taken = holding(*bits, lanes, 0);
                    add(self.predicated.entry(*line).or_default(), lanes, taken);
                }
            }
        }
        lanes
    }
}

#[test]
fn random_kernels_count_what_a_walk_through_the_program_counts() {
    let mut random = SplitMix64::new(32);
    for round in 0..600 {
        let nodes = program(&mut random, 0);
        let mut reference = Reference::default();
        let mut steps = vec![reference.leader()];
        steps.extend(reference.write(&nodes));
        let mut body = reference.text.join("\n") + "\n";
        if reference.goes_out {
            body += "OUT:\n";
        }
        body += "ret;\n";
        let (grid, threads) = (1 + random.below(3) as u32, 1 + random.below(100) as u32);
        let found = counts(&body, grid, threads, 1 + round % 3);
        for block in 0..grid {
            for first in (0..threads).step_by(32) {
                let lanes = (threads - first).min(32);
                let present = u32::MAX >> (32 - lanes);
                let rest = reference.run(&steps, present, (40 * block + first, present));
                reference.out += u64::from(rest.count_ones());
            }
        }
        let mut expected: Vec<(u32, u64, u64, u64)> = Vec::new();
        expected.extend(
            reference
                .blocks
                .iter()
                .map(|(line, sum)| (*line, sum.0, sum.1, sum.2)),
        );
        // The first block begins with the instructions before the body.
        expected[0].0 = ENTRY;
        let mut rows = blocks(&found);
        if reference.goes_out {
            // In one or several executions.
            assert_eq!(rows.pop().map(|row| row.3), Some(reference.out), "{body}");
        }
        assert_eq!(rows, expected, "round {round}\n{body}");
        let executed = |sums: &[BranchFlow]| {
            let ran = sums.iter().filter(|flow| flow.warps != 0);
            ran.map(branch).collect::<Vec<_>>()
        };
        let wanted = |sums: &BTreeMap<u32, (u64, u64, u64, u64)>| {
            let sums = sums.iter();
            sums.map(|(line, sum)| (*line, sum.0, sum.1, sum.2, sum.3))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            executed(&found.branches),
            wanted(&reference.branches),
            "{body}"
        );
        assert_eq!(
            executed(&found.predicated),
            wanted(&reference.predicated),
            "{body}"
        );
        assert_eq!(found, counts(&body, grid, threads, 1), "{body}");
    }
}
