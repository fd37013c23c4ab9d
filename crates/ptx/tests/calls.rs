//! Calls that only the run decides: through pointers, of virtual functions, and of functions that
//! call themselves; as both compilers make them, and random ones against branches to plain calls.

use std::fmt::Write as _;

use crate::common::{Run, everywhere, ints, noise, ptx};
use proptest::prelude::*;
use reuselens_ptx::{
    Argument, BlockSink, Device, FaultKind, Ignore, KernelError, LaunchError, LaunchSink, OnFault,
    Options, PtxModule, Space, SplitMix64, WarpAccess,
};
use reuselens_warp::InstructionClass;

const N: usize = 200;

fn square(x: i32) -> i32 {
    x.wrapping_mul(x)
}

fn collatz_steps(x: i32) -> i32 {
    let mut steps = 0;
    let mut y = x & 1023;
    while y > 1 {
        y = if y & 1 == 1 { 3 * y + 1 } else { y >> 1 };
        steps += 1;
    }
    steps
}

/// The result, and whether it counts the call.
fn reversed(x: i32) -> (i32, bool) {
    let digits = x.to_le_bytes();
    let digit = |k: usize| digits[(k + (x & 3) as usize) & 3];
    let r = i32::from_be_bytes([digit(0), digit(1), digit(2), digit(3)]);
    if x < 0 {
        (r, false)
    } else {
        (r.wrapping_neg(), true)
    }
}

/// Calls a function of the table, and counts that.
fn step(which: u32, x: i32, calls: &mut [i32; 3]) -> i32 {
    let (r, counts) = match which {
        0 => (square(x), true),
        1 => (collatz_steps(x), true),
        _ => reversed(x),
    };
    calls[which as usize] += i32::from(counts);
    r
}

#[test]
fn functions_of_a_table_are_called_lane_by_lane() {
    everywhere("calls", |run| {
        let input = ints(N, 3);
        let (a, b) = (run.put(&input), run.put(&[0i32; N]));
        run.line("table", N, &[a, b.clone()]);
        let expected = input.iter().zip(0u32..).map(|(&x, i)| {
            let mut calls = [0; 3];
            let x = step(x as u32 % 3, x, &mut calls);
            let x = step((x as u32).wrapping_add(i) % 3, x, &mut calls);
            x.wrapping_mul(64)
                .wrapping_add(calls[0] * 16 + calls[1] * 4 + calls[2])
        });
        assert_eq!(run.get::<i32>(&b, N), expected.collect::<Vec<_>>());
    });
}

#[test]
fn lanes_that_do_not_call_wait_for_those_that_do() {
    everywhere("calls", |run| {
        let input = ints(N, 4);
        for which in [0, 1] {
            let (a, b) = (run.put(&input), run.put(&[0i32; N]));
            run.line("pointer", N, &[a, b.clone(), Argument::Integer(which)]);
            let expected = input.iter().map(|&x| match (x & 1, which) {
                (0, _) => x,
                (_, 1) => square(x).wrapping_add(1),
                _ => {
                    let (r, counts) = reversed(x);
                    r.wrapping_sub(i32::from(counts))
                }
            });
            assert_eq!(run.get::<i32>(&b, N), expected.collect::<Vec<_>>());
        }
    });
}

#[test]
fn virtual_functions_are_called_lane_by_lane() {
    everywhere("calls", |run| {
        let input = ints(N, 5);
        let (a, b) = (run.put(&input), run.put(&[0i32; N]));
        run.line("shapes", N, &[a, b.clone()]);
        let expected = input.iter().zip(0i32..).map(|(&bits, i)| {
            let (x, scale) = (bits & 255, i & 7);
            let square = |scale: i32| x * x * scale;
            let disc = |scale: i32| 3 * (x + 1) * (x + 1) * scale;
            let pair = |scale: i32| square(scale) + disc(scale + 1);
            let (area, corners) = match bits as u32 >> 8 & 3 {
                0 => (square(scale), 4),
                1 => (disc(scale), 0),
                2 => (pair(scale), 4),
                _ => (pair(scale) + square(scale + 1), 8),
            };
            area.wrapping_mul(16) + corners
        });
        assert_eq!(run.get::<i32>(&b, N), expected.collect::<Vec<_>>());
    });
}

fn ackermann(m: i32, n: i32) -> i32 {
    match (m, n) {
        (0, _) => n + 1,
        (_, 0) => ackermann(m - 1, 1),
        _ => ackermann(m - 1, ackermann(m, n - 1)),
    }
}

#[test]
fn functions_call_themselves_to_another_depth_in_each_lane() {
    everywhere("calls", |run| {
        let input = ints(N, 6);
        let (a, b) = (run.put(&input), run.put(&[0i32; N]));
        run.device.set_stack(Some(1 << 14));
        run.line("recursion", N, &[a, b.clone()]);
        let expected = input.iter().map(|&x| {
            let x = x as u32;
            ackermann((x % 3) as i32, (x >> 4 & 7) as i32)
        });
        assert_eq!(run.get::<i32>(&b, N), expected.collect::<Vec<_>>());
    });
}

/// A random tree: value, left and right of each node. Children come after their parents.
fn tree(count: usize, seed: u64) -> Vec<[i32; 3]> {
    let mut nodes: Vec<[i32; 3]> = noise(count, seed)
        .iter()
        .map(|&bits| [bits as i32 >> 12, -1, -1])
        .collect();
    let mut random = SplitMix64::new(seed);
    for child in 1..count {
        loop {
            let parent = random.below(child as u64) as usize;
            let side = 1 + random.below(2) as usize;
            if nodes[parent][side] < 0 {
                nodes[parent][side] = child as i32;
                break;
            }
        }
    }
    nodes
}

fn tree_sum(nodes: &[[i32; 3]], at: usize, odd: i32) -> i32 {
    let [value, left, right] = nodes[at];
    let children = [left, right].into_iter().filter(|&child| child >= 0);
    children.fold(value << odd, |sum, child| {
        sum.wrapping_add(tree_sum(nodes, child as usize, 1 - odd))
    })
}

#[test]
fn functions_that_call_each_other_go_through_trees() {
    everywhere("calls", |run| {
        let nodes = tree(300, 7);
        let roots: Vec<i32> = noise(N, 8)
            .iter()
            .map(|&bits| (bits % 300) as i32)
            .collect();
        let (a, b, c) = (
            run.put(&nodes.concat()),
            run.put(&roots),
            run.put(&[0i32; N]),
        );
        run.device.set_stack(Some(1 << 14));
        run.line("trees", N, &[a, b, c.clone()]);
        let expected = roots.iter().map(|&root| tree_sum(&nodes, root as usize, 0));
        assert_eq!(run.get::<i32>(&c, N), expected.collect::<Vec<_>>());
    });
}

/// An access to global or shared memory: its site or its line of the PTX, whether it is a store,
/// lanes, and their addresses.
type Access = (u32, bool, u32, Vec<u64>);

#[derive(Clone, Debug, Default)]
struct Seen(Vec<Access>);

impl BlockSink for Seen {
    fn accept(&mut self, access: &WarpAccess<'_>) {
        if matches!(access.space, Space::Local | Space::Param) {
            return;
        }
        let lanes = (0..32).filter(|lane| access.mask >> lane & 1 != 0);
        let addresses = lanes.map(|lane: usize| access.addresses[lane]).collect();
        let is_store = access.kind == reuselens_ptx::WarpKind::Store;
        self.0.push((access.site, is_store, access.mask, addresses));
    }

    fn calculate(&mut self, _: &reuselens_ptx::Calculation<'_>) {}

    fn finish(&mut self) {}
}

impl LaunchSink for Seen {
    type Block = Seen;

    fn open(&mut self, _: u32) -> Seen {
        Seen::default()
    }

    fn drain(&mut self, _: u32, _: &mut Seen) {}

    fn close(&mut self, _: u32, block: Seen) {
        self.0.extend(block.0);
    }
}

const HEAD: &str = ".version 7.8\n.target sm_80\n.address_size 64\n";

/// A function of random statements: it takes a number and the address of a buffer of 64 words, and
/// calls some of the functions before it by `call`, which says how.
fn random_function(
    random: &mut SplitMix64,
    number: u64,
    call: &dyn Fn(&str, &str) -> String,
) -> String {
    let mut text = format!(
        ".func (.param .b32 r) f{number}(.param .b32 a, .param .b64 p) {{\n\
         .local .align 4 .b8 own[16]; .reg .pred %p<9>; .reg .b32 %r<9>; .reg .b64 %x<9>;\n\
         ld.param.u32 %r1, [a]; ld.param.u64 %x1, [p];\nmov.u32 %r2, {number};\nmov.u32 %r3, {};\n",
        random.below(1 << 30)
    );
    let count = 2 + random.below(6);
    for at in 0..count {
        let (x, y) = (1 + random.below(3), 1 + random.below(3));
        let constant = random.below(1 << 16);
        match random.below(8) {
            0 => writeln!(text, "mad.lo.s32 %r{x}, %r{y}, {constant}, %r2;"),
            1 => writeln!(text, "and.b32 %r4, %r{y}, 63;\nmad.wide.u32 %x2, %r4, 4, %x1;\nld.global.u32 %r{x}, [%x2];"),
            2 => writeln!(text, "xor.b32 %r{x}, %r{y}, %r1;\nst.local.u32 [own+4], %r{x};\nld.local.u32 %r{y}, [own+4];"),
            3 => writeln!(text, "mov.u64 %x3, own;\ncvta.local.u64 %x3, %x3;\nst.u32 [%x3+8], %r{x};\nld.u32 %r{y}, [%x3+8];"),
            4 => writeln!(text, "and.b32 %r4, %r{x}, 3;\nsetp.eq.u32 %p1, %r4, {};\n@%p1 bra S{at};\nadd.s32 %r{y}, %r{y}, {constant};\nS{at}:", random.below(4)),
            // Some lanes return here, or end.
            5 => writeln!(text, "and.b32 %r4, %r{x}, 15;\nsetp.eq.u32 %p1, %r4, {};\nst.param.b32 [r], %r{x};\n@%p1 {};", random.below(16), if random.below(4) == 0 { "exit" } else { "ret" }),
            6 => writeln!(text, "mov.u32 %r4, %laneid;\nshl.b32 %r4, %r4, 2;\nmov.u32 %r5, room;\nadd.u32 %r4, %r4, %r5;\nst.shared.u32 [%r4], %r{x};\nld.shared.u32 %r{y}, [%r4];"),
            _ if number > 0 => writeln!(text, "{}", call(&format!("%r{x}"), &format!("%r{y}"))),
            _ => writeln!(text, "add.s32 %r{x}, %r{y}, %r{x};"),
        }
        .unwrap();
    }
    text + "add.s32 %r2, %r2, %r1;\nst.param.b32 [r], %r2;\nret;\n}\n"
}

/// The functions of a random program, with `most` for what may be called from each, and a kernel
/// that calls all of them. Calls are made by `call`: register of the result, of the argument, and
/// how many functions there are to choose among.
fn random_program(seed: u64, call: &dyn Fn(&str, &str, u64) -> String) -> String {
    let mut random = SplitMix64::new(seed);
    let functions = 2 + random.below(4);
    let mut text = format!("{HEAD}.shared .align 4 .b8 room[128];\n");
    for number in 0..functions {
        let calls = |result: &str, argument: &str| call(result, argument, number);
        text += &random_function(&mut random, number, &calls);
    }
    let guard = random.below(8);
    write!(
        text,
        ".visible .entry k(.param .u64 buffer) {{\n\
         .reg .pred %p<9>; .reg .b32 %r<9>; .reg .b64 %x<9>;\n\
         ld.param.u64 %x1, [buffer];\nmov.u32 %r1, %tid.x;\nmov.u32 %r6, %r1;\n\
         mad.wide.u32 %x4, %r1, 4, %x1;\nld.global.u32 %r2, [%x4];\n\
         and.b32 %r3, %r2, 7;\nsetp.eq.u32 %p2, %r3, {guard};\n@%p2 bra DONE;\n{}\n\
         add.s32 %r2, %r2, %r3;\n{}\nDONE:\nst.global.u32 [%x4], %r2;\nret;\n}}\n",
        call("%r3", "%r2", functions),
        call("%r2", "%r3", functions),
    )
    .unwrap();
    text
}

/// A call of one of the functions, chosen by the argument, through a table of pointers. All in one
/// line.
fn through_pointer(result: &str, argument: &str, functions: u64) -> String {
    format!(
        "{{ .reg .b32 %q<3>; .reg .b64 %y<3>; .param .b32 a0; .param .b64 a1; .param .b32 r0; \
         shr.u32 %q1, {argument}, 3; rem.u32 %q1, %q1, {functions}; mov.u64 %y1, table; \
         mad.wide.u32 %y1, %q1, 8, %y1; ld.global.u64 %y2, [%y1]; st.param.b32 [a0], {argument}; \
         st.param.b64 [a1], %x1; proto: .callprototype (.param .b32 _) _ (.param .b32 _, .param .b64 _); \
         call (r0), %y2, (a0, a1), proto; ld.param.b32 {result}, [r0]; }}"
    )
}

/// The same by branches to plain calls.
fn by_branches(result: &str, argument: &str, functions: u64) -> String {
    let calls = (0..functions).map(|number| {
        format!(
            "C{number}: st.param.b32 [a0], {argument}; st.param.b64 [a1], %x1; \
             call (r0), f{number}, (a0, a1); ld.param.b32 {result}, [r0]; bra MET; "
        )
    });
    let names: Vec<String> = (0..functions).map(|number| format!("C{number}")).collect();
    format!(
        "{{ .reg .b32 %q<3>; .param .b32 a0; .param .b64 a1; .param .b32 r0; \
         shr.u32 %q1, {argument}, 3; rem.u32 %q1, %q1, {functions}; \
         list: .branchtargets {}; brx.idx %q1, list; {}MET: }}",
        names.join(", "),
        calls.collect::<String>()
    )
}

/// Runs a program on a buffer of 64 words: the words then, and the accesses by lines, sorted.
fn outcome(text: &str, options: &Options) -> (Vec<u32>, Vec<Access>) {
    let mut run = Run::new(text, options.clone());
    let words: Vec<u32> = noise(64, 9).iter().map(|&bits| bits as u32).collect();
    let buffer = run.put(&words);
    let kernel = run.kernel("k");
    let launch = kernel
        .launch([1; 3], [64, 1, 1], 0, std::slice::from_ref(&buffer))
        .unwrap();
    let mut seen = Seen::default();
    run.device
        .launch(&kernel, &launch, options, &mut seen)
        .unwrap_or_else(|error| panic!("{error}\n{text}"));
    let lines = seen
        .0
        .into_iter()
        .filter_map(|(site, is_store, mask, addresses)| {
            let site = &kernel.sites()[site as usize];
            // The load of the pointer, which only one of the two ways has.
            let is_table = site.opcode == "ld.global.u64";
            (!is_table).then_some((site.position.line, is_store, mask, addresses))
        });
    let mut lines: Vec<_> = lines.collect();
    lines.sort_unstable();
    (run.get(&buffer, 64), lines)
}

#[test]
fn calls_through_pointers_do_what_branches_to_plain_calls_do() {
    let mut divergent = 0;
    for seed in 0..400 {
        let pointers = random_program(seed, &through_pointer);
        let functions = pointers.matches(".func").count();
        let names: Vec<String> = (0..functions).map(|number| format!("f{number}")).collect();
        // Addresses of buffers are equal in both, and lines too.
        let table = format!(
            ".global .u64 table[{functions}] = {{{}}};\n",
            names.join(", ")
        );
        let unused = format!(".global .u64 table[{functions}];\n");
        let branches = random_program(seed, &by_branches) + &unused;
        let options = Options {
            flow: seed % 2 == 1,
            ..Options::default()
        };
        let found = outcome(&(pointers + &table), &options);
        divergent += found.1.iter().filter(|access| access.2 != u32::MAX).count();
        assert_eq!(found, outcome(&branches, &options), "{seed}\n{branches}");
    }
    assert!(divergent > 10_000, "{divergent}");
}

/// A kernel with `%x1` as the first parameter and `%x2` as the lane's place in it, 4 bytes apart.
fn kernel(functions: &str, body: &str) -> String {
    format!(
        "{HEAD}{functions}\n.visible .entry k(.param .u64 a) {{\n\
         .reg .pred %p<9>; .reg .b32 %r<9>; .reg .b64 %x<9>; .param .b32 a0; .param .b32 r0;\n\
         proto: .callprototype (.param .b32 _) _ (.param .b32 _);\n\
         ld.param.u64 %x1, [a]; mov.u32 %r1, %tid.x; mad.wide.u32 %x2, %r1, 4, %x1;\n\
         {body}\nst.global.u32 [%x2], %r2; ret;\n}}\n"
    )
}

/// Functions of a number that give a number: it plus 1, one without a body, one that cannot be run,
/// one that takes two numbers, and a recursive sum of all numbers up to it.
const FUNCTIONS: &str = ".extern .func (.param .b32 r) gone(.param .b32 a);
.func (.param .b32 r) one(.param .b32 a) { .reg .b32 %r<3>; ld.param.u32 %r1, [a]; add.u32 %r2, %r1, 1; st.param.b32 [r], %r2; ret; }
.func (.param .b32 r) bad(.param .b32 a) { frob; ret; }
.func (.param .b32 r) two(.param .b32 a, .param .b32 b) { ret; }
.func (.param .b32 r) sum(.param .b32 a) { .reg .b32 %r<4>; .reg .pred %p; ld.param.u32 %r1, [a];
st.param.b32 [r], %r1; setp.eq.u32 %p, %r1, 0; @%p ret; sub.u32 %r2, %r1, 1;
{ .param .b32 b; .param .b32 c; st.param.b32 [b], %r2; call (c), sum, (b); ld.param.b32 %r2, [c]; }
add.u32 %r1, %r1, %r2; st.param.b32 [r], %r1; ret; }
.global .u64 table[6] = {one, gone, bad, two, sum, 0};";

/// What a kernel leaves in a buffer of 64 numbers, or why it was stopped.
fn launched(text: &str, threads: u32, stack: Option<u64>) -> Result<Vec<u32>, KernelError> {
    let mut run = Run::new(text, Options::default());
    run.device.set_stack(stack);
    let a = run.put(&[0u32; 64]);
    let kernel = run.kernel("k");
    let launch = kernel.launch([1; 3], [threads, 1, 1], 0, std::slice::from_ref(&a));
    let options = run.options.clone();
    match run
        .device
        .launch(&kernel, &launch.unwrap(), &options, &mut Ignore)
    {
        Ok(_) => Ok(run.get(&a, 64)),
        Err(LaunchError::Stopped(error)) => Err(error),
        Err(other) => panic!("{other}"),
    }
}

/// Lanes from 0 on call the functions of the table whose numbers are in `which`.
fn by_table(which: &[u32]) -> Result<Vec<u32>, KernelError> {
    let choices = which.iter().enumerate();
    let choices: String = choices
        .map(|(lane, number)| {
            format!("setp.eq.u32 %p1, %r1, {lane}; @%p1 mov.u32 %r3, {number};\n")
        })
        .collect();
    let body = format!(
        "mov.u32 %r3, 0;\n{choices}mov.u64 %x3, table; mad.wide.u32 %x3, %r3, 8, %x3;\n\
         ld.global.u64 %x4, [%x3]; st.param.b32 [a0], %r1;\n\
         call (r0), %x4, (a0), proto;\nld.param.b32 %r2, [r0];"
    );
    launched(&kernel(FUNCTIONS, &body), 32, None)
}

#[test]
fn pointers_that_lead_to_no_function_are_errors_with_line_and_lane() {
    let sums = by_table(&[0, 4, 0, 4, 4, 4, 4, 4]).unwrap();
    assert_eq!(sums[..9], [1, 1, 3, 6, 10, 15, 21, 28, 9]);
    for (number, kind, expected) in [
        (1, FaultKind::Callee, "leads to gone, which has no body"),
        (
            2,
            FaultKind::Trap,
            "bad is called through a pointer, and cannot be run: line 6, column 44: `frob`",
        ),
        (
            3,
            FaultKind::Callee,
            "leads to two, which has no body, or takes or returns something else",
        ),
        (5, FaultKind::Callee, "a call through a null pointer"),
    ] {
        let error = by_table(&[0, 0, 4, number, number]).unwrap_err();
        let message = error.to_string();
        assert!(message.contains(expected), "{message}");
        assert_eq!(
            (error.kind(), error.thread()),
            (kind, Some([3, 0, 0])),
            "{message}"
        );
    }
    let body = "mov.u64 %x4, table; st.param.b32 [a0], %r1;\n\
        @!%p1 call (r0), %x4, (a0), proto; mov.u32 %r2, 0;";
    let text = kernel(FUNCTIONS, body);
    let error = launched(&text, 4, None).unwrap_err();
    let line = 1 + text
        .lines()
        .position(|line| line.contains("@!%p1"))
        .unwrap();
    let expected = format!(
        "PTX line {line}: a call through the pointer 0x1000000100, which is no function's address"
    );
    assert!(error.to_string().ends_with(&expected), "{error}");
    assert_eq!(error.position().unwrap().line as usize, line);
}

#[test]
fn lists_of_targets_choose_like_prototypes() {
    let body = "list: .calltargets one, sum;\n\
        mov.u64 %x4, one; setp.gt.u32 %p1, %r1, 2; @%p1 mov.u64 %x4, sum;\n\
        st.param.b32 [a0], %r1; call (r0), %x4, (a0), list;\nld.param.b32 %r2, [r0];";
    let found = launched(&kernel(FUNCTIONS, body), 8, None).unwrap();
    assert_eq!(found[..8], [1, 2, 3, 6, 10, 15, 21, 28]);
}

#[test]
fn calls_with_the_same_list_or_sizes_lead_to_the_same_functions() {
    let body = "list: .calltargets gone, one, sum; other: .callprototype (.param .b32 _) _ (.param .b32 _);\n\
        mov.u64 %x4, one; setp.gt.u32 %p1, %r1, 2; @%p1 mov.u64 %x4, sum; st.param.b32 [a0], %r1;\n\
        call (r0), %x4, (a0), list; ld.param.b32 %r3, [r0];\n\
        { call (r0), %x4, (a0), list; ld.param.b32 %r4, [r0]; add.u32 %r3, %r3, %r4; }\n\
        call (r0), %x4, (a0), proto; ld.param.b32 %r4, [r0]; add.u32 %r3, %r3, %r4;\n\
        call (r0), %x4, (a0), other; ld.param.b32 %r2, [r0]; add.u32 %r2, %r2, %r3;";
    let found = launched(&kernel(FUNCTIONS, body), 8, None).unwrap();
    assert_eq!(found[..8], [4, 8, 12, 24, 40, 60, 84, 112]);
}

/// Why the kernel with these functions and that body is refused.
fn refusal(functions: &str, body: &str) -> String {
    let run = Run::new(&kernel(functions, body), Options::default());
    let ready = run.device.kernel(run.module(), "k", &run.options);
    ready.unwrap_err().to_string()
}

#[test]
fn arguments_and_results_of_other_sizes_are_errors() {
    let functions = ".func (.param .b32 r) wide(.param .b64 a) { st.param.b32 [r], 7; ret; }
.func (.param .b64 r) back(.param .b32 a) { st.param.b64 [r], 7; ret; }
.func again(.param .b64 a) { call again, (a); ret; }
.global .u64 table[2] = {wide, back};";
    // A call of the fitting prototype makes a routine of each, and is not reached.
    let fitting = "{ .param .b64 wide0; to_wide: .callprototype (.param .b32 _) _ (.param .b64 _);\n\
        to_back: .callprototype (.param .b64 _) _ (.param .b32 _); setp.ne.u32 %p1, 0, 0;\n\
        @%p1 call (r0), %x4, (wide0), to_wide; @%p1 call (wide0), %x4, (a0), to_back; }";
    for (callee, expected) in [
        (
            "wide",
            "leads to wide, which takes 1 argument (8 bytes) and returns 1 result (4 bytes)",
        ),
        (
            "back",
            "leads to back, which takes 1 argument (4 bytes) and returns 1 result (8 bytes)",
        ),
    ] {
        let body = format!("mov.u64 %x4, {callee};\n{fitting}\ncall (r0), %x4, (a0), proto;");
        let error = launched(&kernel(functions, &body), 4, None).unwrap_err();
        assert_eq!(error.kind(), FaultKind::Callee, "{error}");
        let given = "with 1 argument (4 bytes) and 1 result (4 bytes)";
        let message = error.to_string();
        assert!(
            message.contains(given) && message.contains(expected),
            "{message}"
        );
    }
    for (call, expected) in [
        (
            "call (r0), wide, (a0);",
            "a0 has 4 bytes, and the function takes or returns 8 there",
        ),
        (
            "call (r0), back, (a0);",
            "r0 has 4 bytes, and the function takes or returns 8 there",
        ),
        (
            "call again, (a0);",
            "a0 has 4 bytes, and the function takes or returns 8 there",
        ),
    ] {
        let message = refusal(functions, call);
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn kernels_that_need_a_function_by_name_are_refused_if_it_cannot_be_run() {
    // `bad` is decoded before `good`, which calls it by name.
    let functions = ".func good(.param .b32 a) { call bad, (a); ret; }
.func bad(.param .b32 a) { frob; call good, (a); ret; }
.global .u64 table[1] = {bad};";
    let through = "to_bad: .callprototype _ (.param .b32 _); mov.u64 %x4, bad;\n\
        setp.ne.u32 %p1, 0, 0; @%p1 call %x4, (a0), to_bad; mov.u32 %r2, 5;";
    let message = refusal(functions, &format!("@%p1 call good, (a0); {through}"));
    assert!(message.contains("line 5, column 28: `frob`"), "{message}");
    assert_eq!(
        launched(&kernel(functions, through), 1, None).unwrap()[0],
        5
    );
}

#[test]
fn barriers_under_a_guard_may_be_in_routines() {
    let functions = ".func (.param .b32 r) wait(.param .b32 a) { .reg .b32 %r<3>; .reg .pred %p;
ld.param.u32 %r1, [a]; setp.gt.u32 %p, %r1, 20; @%p barrier.sync 0; st.param.b32 [r], 3; ret; }
.global .u64 table[1] = {wait};";
    let call = "mov.u64 %x4, wait; st.param.b32 [a0], %r1; call (r0), %x4, (a0), proto;\n\
        ld.param.b32 %r2, [r0];";
    assert_eq!(
        launched(&kernel(functions, call), 64, None).unwrap(),
        [3; 64]
    );
    // Of lanes that are elsewhere, none may be missed.
    let some = "mov.u32 %r2, 3; setp.gt.u32 %p1, %r1, 4; mov.u64 %x4, wait; st.param.b32 [a0], %r1;\n\
        @%p1 call (r0), %x4, (a0), proto;";
    let error = launched(&kernel(functions, some), 64, None).unwrap_err();
    assert_eq!(error.kind(), FaultKind::Barrier, "{error}");
}

/// A function that calls itself as often as its argument says, and has 200 registers to keep.
fn with_many_registers() -> String {
    let sets: String = (2..200)
        .map(|at| format!("mov.u64 %x{at}, {at};"))
        .collect();
    format!(
        ".func deep(.param .b32 a) {{ .reg .b64 %x<200>; .reg .b32 %r<3>; .reg .pred %p; .param .b32 b;\n\
         ld.param.u32 %r1, [a]; {sets} sub.u32 %r2, %r1, 1; setp.eq.u32 %p, %r1, 0; @%p ret;\n\
         st.param.b32 [b], %r2; call deep, (b); ret; }}"
    )
}

#[test]
fn registers_that_calls_keep_are_bounded() {
    let stack = Some(1 << 18);
    let call = |count: u32| format!("st.param.b32 [a0], {count}; call deep, (a0); mov.u32 %r2, 9;");
    // 50 KiB for each call of a warp: of 256 MiB, there is room for some 5,000 calls.
    let error = launched(&kernel(&with_many_registers(), &call(u32::MAX)), 64, stack).unwrap_err();
    assert_eq!(error.kind(), FaultKind::Stack, "{error}");
    let message = error.to_string();
    assert!(
        message.contains("bytes of registers, and the calls of the block have"),
        "{message}"
    );
    // Calls that have returned keep nothing.
    let repeated = format!(
        "mov.u32 %r3, 0; L: {}\nadd.u32 %r3, %r3, 1; setp.lt.u32 %p1, %r3, 10; @%p1 bra L;",
        call(1000)
    );
    let found = launched(&kernel(&with_many_registers(), &repeated), 1, stack).unwrap();
    assert_eq!(found[0], 9);
}

/// The sum of all numbers up to the one in `count`, in thread 0.
fn deep(count: u32, stack: Option<u64>) -> Result<Vec<u32>, KernelError> {
    let body = format!(
        "st.param.b32 [a0], {count};\nsetp.eq.u32 %p1, %r1, 0; mov.u32 %r2, 7;\n\
         @%p1 call (r0), sum, (a0);\n@%p1 ld.param.b32 %r2, [r0];"
    );
    launched(&kernel(FUNCTIONS, &body), 2, stack)
}

#[test]
fn recursion_goes_as_deep_as_the_stack_allows() {
    // A frame has the argument, the result, those of the call, and where to return to: 32 bytes.
    assert_eq!(deep(31, None).unwrap()[..2], [31 * 16, 7]);
    let error = deep(32, None).unwrap_err();
    assert_eq!(
        (error.kind(), error.thread()),
        (FaultKind::Stack, Some([0, 0, 0]))
    );
    let message = error.to_string();
    for part in [
        "PTX line 10: the call of sum, inside of 32 others",
        "more than the 1024 bytes of the thread's stack",
        "cudaLimitStackSize",
    ] {
        assert!(message.contains(part), "{message}");
    }
    let stack = 32 * 20_001;
    assert_eq!(deep(20_000, Some(stack)).unwrap()[0], 20_000 * 20_001 / 2);
    assert_eq!(
        deep(20_001, Some(stack)).unwrap_err().kind(),
        FaultKind::Stack
    );
}

/// What is beyond a thread's frames is out of bounds, not what an earlier block left there.
#[test]
fn memory_beyond_the_frames_is_out_of_bounds() {
    let body = "st.param.b32 [a0], 9; call (r0), sum, (a0); ld.param.b32 %r2, [r0];\n";
    let beyond = |offset| {
        let read = format!("mov.u32 %r3, {offset}; ld.local.u32 %r2, [%r3];");
        launched(&kernel(FUNCTIONS, &format!("{body}{read}")), 2, None)
    };
    assert!(beyond(16 + 32 * 9 + 28).is_ok());
    let error = beyond(16 + 32 * 10).unwrap_err();
    assert_eq!(error.kind(), FaultKind::OutOfBounds);
    assert!(
        error
            .to_string()
            .contains("the thread has 336 bytes of local memory"),
        "{error}"
    );
}

#[test]
fn functions_that_print_and_allocate_have_their_own_variables_at_each_depth() {
    let functions = r#"
.extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 p);
.extern .func (.param .b64 r) malloc(.param .b64 n);
.extern .func free(.param .b64 p);
.global .align 1 .b8 text[4] = {37, 100, 32, 0};
.func down(.param .b32 a, .param .b64 above) {
.local .align 8 .b8 own[8]; .reg .b32 %r<4>; .reg .b64 %x<9>; .reg .pred %p;
ld.param.u32 %r1, [a]; ld.param.u64 %x1, [above];
{ .param .b64 m; .param .b64 n; st.param.b64 [n], 4; call (m), malloc, (n); ld.param.b64 %x3, [m]; }
st.u32 [%x3], %r1;
st.local.u32 [own], %r1; mov.u64 %x2, own; cvta.local.u64 %x2, %x2;
setp.eq.u32 %p, %r1, 0; @%p bra LAST; sub.u32 %r2, %r1, 1;
{ .param .b32 b; .param .b64 c; st.param.b32 [b], %r2; st.param.b64 [c], %x2; call down, (b, c); }
LAST:
ld.u32 %r3, [%x1]; sub.u32 %r3, %r3, %r1; st.local.u32 [own+4], %r3; ld.u32 %r2, [%x3];
mad.lo.u32 %r3, %r3, 100, %r2; st.local.u32 [own+4], %r3; add.u64 %x4, %x2, 4;
mov.u64 %x5, text; cvta.global.u64 %x5, %x5;
{ .param .b64 f; .param .b64 p; .param .b32 q; st.param.b64 [f], %x5; st.param.b64 [p], %x4; call (q), vprintf, (f, p); }
{ .param .b64 f; st.param.b64 [f], %x3; call free, (f); }
ret; }"#;
    let body = "{ .local .align 4 .b32 top; .param .b32 b; .param .b64 c; mov.u64 %x4, top;\n\
        add.u32 %r3, %r1, 3; st.local.u32 [top], %r3; cvta.local.u64 %x4, %x4;\n\
        add.u32 %r3, %r1, 2; st.param.b32 [b], %r3; st.param.b64 [c], %x4; call down, (b, c); }\n\
        mov.u32 %r2, 0;";
    let text = kernel(functions, body);
    let mut run = Run::new(&text, Options::default());
    let a = run.put(&[0u32; 64]);
    run.launch("k", [1; 3], [2, 1, 1], 0, &[a]);
    // Lane 1 goes one deeper, and returns from there first. Each value is 1 less than that above.
    let printed = String::from_utf8(run.device.take_printed()).unwrap();
    assert_eq!(printed, "100 100 101 101 102 102 103 ");
}

#[test]
fn calls_of_different_functions_are_counted_as_divergence() {
    let options = Options {
        flow: true,
        ..Options::default()
    };
    let body = "mov.u64 %x4, one; setp.gt.u32 %p1, %r1, 40; @%p1 mov.u64 %x4, sum;\n\
        st.param.b32 [a0], %r1;\ncall (r0), %x4, (a0), proto;\nld.param.b32 %r2, [r0];";
    let text = kernel(FUNCTIONS, body);
    let mut run = Run::new(&text, options.clone());
    run.device.set_stack(Some(1 << 12));
    let a = run.put(&[0u32; 64]);
    run.launch("k", [1; 3], [64, 1, 1], 0, &[a]);
    let line = 1 + text
        .lines()
        .position(|line| line.starts_with("call"))
        .unwrap() as u32;
    let flow = run.device.take_flow().unwrap();
    let mut calls = flow
        .branches
        .iter()
        .filter(|branch| branch.place.position.line == line);
    let call = calls.next().unwrap();
    assert_eq!(
        (call.warps, call.splits, call.threads, call.taken),
        (2, 1, 64, 64)
    );
    assert!(calls.next().is_none());
    // The second warp calls twice.
    crate::flow::assert_all_counted(&flow, &run.stats, &text);
}

/// Threads above 40 end in the function: those of the second warp but for nine.
#[test]
fn threads_that_end_in_a_function_are_missing_after_its_call() {
    let options = Options {
        flow: true,
        ..Options::default()
    };
    let functions = ".func f(.param .b32 a) { .reg .b32 %r<4>; .reg .pred %p; ld.param.u32 %r1, [a];\n\
        setp.gt.u32 %p, %r1, 40; @%p exit; @%p call f, (a); ret; }";
    let body = "mov.u32 %r1, %tid.x; st.param.b32 [a0], %r1; call f, (a0); add.f64 %d1, %d1, %d1;";
    let text = kernel(functions, &format!(".reg .f64 %d<2>; {body}"));
    let mut run = Run::new(&text, options);
    run.device.set_stack(Some(1 << 12));
    let a = run.put(&[0u32; 64]);
    run.launch("k", [1; 3], [64, 1, 1], 0, &[a]);
    let flow = run.device.take_flow().unwrap();
    crate::flow::assert_all_counted(&flow, &run.stats, &text);
    let double = InstructionClass::Float64;
    let after: Vec<_> = flow
        .instructions
        .iter()
        .filter(|row| row.class == double)
        .collect();
    assert_eq!((after[0].warps, after[0].threads), (2, 41));
}

#[test]
fn recursion_without_branches_ends_at_the_most_instructions() {
    let functions = ".func f(.param .b32 a) { .reg .b32 %r<4>; .reg .pred %p; ld.param.u32 %r1, [a];\n\
        setp.ne.u32 %p, %r1, 0; sub.u32 %r1, %r1, 1; .param .b32 b;\n\
        @%p st.param.b32 [b], %r1; @%p call f, (b); @%p st.param.b32 [b], %r1; @%p call f, (b); }";
    let body = "st.param.b32 [a0], 40; call f, (a0); mov.u32 %r2, 0;";
    let options = Options {
        max_instructions: 1 << 17,
        ..Options::default()
    };
    let mut run = Run::new(&kernel(functions, body), options.clone());
    run.device.set_stack(Some(1 << 12));
    let a = run.put(&[0u32; 64]);
    let kernel = run.kernel("k");
    let launch = kernel.launch([1; 3], [1; 3], 0, &[a]).unwrap();
    let ended = run.device.launch(&kernel, &launch, &options, &mut Ignore);
    let Err(LaunchError::Stopped(error)) = ended else {
        panic!("{ended:?}")
    };
    assert_eq!(error.kind(), FaultKind::TooLong, "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Programs with calls of all kinds whose lines are left out, doubled or exchanged end, or give
    /// an error.
    #[test]
    fn damaged_calls_run_or_are_refused(seed in 0u64..1 << 40) {
        let mut random = SplitMix64::new(seed);
        let text = match random.below(3) {
            0 => random_program(seed, &through_pointer) + ".global .u64 table[4] = {f0, f1, f0, f1};\n",
            way => ptx(if way == 1 { "clang" } else { "nvcc" }, "calls"),
        };
        let mut lines: Vec<&str> = text.lines().collect();
        for _ in 0..1 + random.below(4) {
            let (from, to) = (random.below(lines.len() as u64), random.below(lines.len() as u64));
            match random.below(3) {
                0 => drop(lines.remove(from as usize)),
                1 => lines.insert(to as usize, lines[from as usize]),
                _ => lines.swap(from as usize, to as usize),
            }
        }
        let Ok(module) = PtxModule::parse(&lines.join("\n")) else { return Ok(()) };
        let options = Options {
            max_instructions: 100_000,
            threads: 1,
            flow: random.below(2) == 1,
            on_fault: [OnFault::Stop, OnFault::Continue][random.below(2) as usize],
            ..Options::default()
        };
        let names: Vec<String> = module.kernels().map(str::to_owned).collect();
        let mut device = Device::with_limit(1 << 20);
        let Ok(module) = device.load(module) else { return Ok(()) };
        let buffer = device.allocate("a", 1024).unwrap();
        for name in names {
            let Ok(kernel) = device.kernel(&module, &name, &options) else { continue };
            let argument = |param: &reuselens_ptx::Param| match param.size {
                8 => Argument::Pointer(buffer),
                _ => Argument::Integer(40),
            };
            let arguments: Vec<Argument> = kernel.params().iter().map(argument).collect();
            if let Ok(launch) = kernel.launch([2, 1, 1], [40, 1, 1], 0, &arguments) {
                let ended = device.launch(&kernel, &launch, &options, &mut Ignore);
                if let (Ok(stats), Some(flow)) = (ended, device.take_flow()) {
                    crate::flow::assert_all_counted(&flow, &stats, &lines.join("\n"));
                }
            }
        }
    }
}
