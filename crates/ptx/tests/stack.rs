//! Memory that functions take while they run (`alloca`): as nvcc makes it, held to the same
//! calculation on the CPU, and what is wrong with it, written by hand.

use crate::common::{Run, ints, ptx};
use reuselens_ptx::{Device, FaultKind, Ignore, LaunchError, Options, PtxModule};

const N: usize = 200;

/// Runs a kernel of the suite in several ways, and compares what each thread gives.
fn gives(kernel: &str, stack: Option<u64>, expected: impl Fn(i32, i32) -> i32) {
    for (threads, seed) in [(1, None), (3, None), (2, Some(7))] {
        let options = Options {
            threads,
            seed,
            ..Options::default()
        };
        let mut run = Run::new(&ptx("nvcc", "stack"), options);
        run.device.set_stack(stack);
        let input = ints(N, 12);
        let (a, b) = (run.put(&input), run.put(&[0i32; N]));
        run.line(kernel, N, &[a, b.clone()]);
        let results = input.iter().zip(0i32..).map(|(&x, i)| expected(i, x));
        assert_eq!(
            run.get::<i32>(&b, N),
            results.collect::<Vec<_>>(),
            "{kernel}"
        );
    }
}

fn shuffled_sum(n: i32, seed: i32) -> i32 {
    let kept = (0..n).map(|k| seed.wrapping_mul(k)).collect::<Vec<_>>();
    let read = (0..n).map(|k| kept[((k * 7 + 1) % n) as usize]);
    read.fold(0, |sum: i32, value| sum.wrapping_mul(3).wrapping_add(value))
}

#[test]
fn kernel_takes_memory_in_a_loop_by_some_lanes_only() {
    gives("list", None, |_, x| {
        let rounds = (0..x & 7).filter(|k| x >> k & 8 != 0);
        let values = rounds.map(|k| x.wrapping_add(k)).rev();
        values.fold(0, |sum: i32, value| sum.wrapping_mul(5).wrapping_add(value))
    });
}

#[test]
fn function_gives_back_what_it_took_when_it_returns() {
    gives("often", None, |_, x| {
        let calls = (0..40).filter(|k| x >> (k & 15) & 1 != 0);
        let sums = calls.map(|k| shuffled_sum(1 + (x.wrapping_add(k) & 31), k));
        sums.fold(0, i32::wrapping_add)
    });
}

fn down(depth: i32, seed: i32) -> i32 {
    let n = 1 + (seed & 15);
    let mut sum = 0;
    if depth > 0 {
        sum = down(depth - 1, seed.wrapping_mul(3).wrapping_add(1));
    }
    if depth > 1 {
        sum = sum.wrapping_add(down(depth - 2, seed.wrapping_mul(5).wrapping_add(2)));
    }
    let own = (0..n).map(|k| seed.wrapping_add((k * 7 + 1) % n));
    own.fold(sum, |sum, value| sum.wrapping_mul(3).wrapping_add(value))
}

#[test]
fn calls_of_a_recursion_keep_the_memory_that_they_took() {
    gives("deep", None, |_, x| {
        let own = x.wrapping_sub((x >> 6 & 255) % (1 + (x & 7)));
        down(x >> 4 & 3, x).wrapping_add(own)
    });
}

#[test]
fn functions_called_through_pointers_take_memory_of_their_own() {
    gives("pointers", None, |i, x| {
        let call = |k: i32| {
            let (n, seed) = (1 + (x >> k & 15), i + k);
            match x.wrapping_add(k) & 1 {
                0 => shuffled_sum(n, seed),
                _ => seed + n - 1 - seed % n,
            }
        };
        (0..8).fold(0, |sum: i32, k| sum.wrapping_mul(3).wrapping_add(call(k)))
    });
}

/// Runs a body for 32 threads, with a function `f` before it, by a stack of that many bytes.
fn body(function: &str, body: &str, stack: u64) -> Result<Vec<u64>, LaunchError> {
    let text = format!(
        ".version 7.3\n.target sm_80\n.address_size 64\n.global .u64 out[32];\n{function}\n\
         .visible .entry k() {{\n.reg .pred %p<9>; .reg .b32 %r<9>; .reg .b64 %x<9>;\n\
         mov.u32 %r0, %tid.x;\nmul.wide.u32 %x0, %r0, 8;\n{body}\n\
         mov.u64 %x7, out;\nadd.u64 %x7, %x7, %x0;\nst.global.u64 [%x7], %x8;\nret;\n}}\n"
    );
    let mut device = Device::new();
    device.set_stack(Some(stack));
    let module = PtxModule::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let module = device.load(module).unwrap();
    let options = Options::default();
    let kernel = device.kernel(&module, "k", &options);
    let kernel = kernel.unwrap_or_else(|error| panic!("{error}\n{text}"));
    let launch = kernel.launch([1; 3], [32, 1, 1], 0, &[]).unwrap();
    device.launch(&kernel, &launch, &options, &mut Ignore)?;
    let address = module.variable("out").unwrap();
    let left = device.read(address, 256).unwrap();
    let numbers = left.as_chunks::<8>().0;
    Ok(numbers
        .iter()
        .map(|&bytes| u64::from_le_bytes(bytes))
        .collect())
}

/// The message of the fault that ends a launch.
fn fault(result: Result<Vec<u64>, LaunchError>) -> (FaultKind, String) {
    match result {
        Err(LaunchError::Stopped(error)) => (error.kind(), error.to_string()),
        other => panic!("{other:?}"),
    }
}

/// A function that takes as many bytes as it is asked for, and calls itself if that is more than
/// 100, for what is left.
const RECURSIVE: &str = ".func f(.param .b64 n) {\n.reg .pred %p<9>; .reg .b64 %x<9>;\n\
    ld.param.u64 %x1, [n];\nalloca.u64 %x2, %x1;\nst.local.u64 [%x2], %x1;\n\
    setp.le.u64 %p1, %x1, 100;\n@%p1 ret;\nsub.u64 %x1, %x1, 100;\n\
    {.param .b64 a;\nst.param.b64 [a], %x1;\ncall f, (a);}\n\
    ld.local.u64 %x3, [%x2];\nret;\n}\n";

/// clang writes 0 as the alignment where the program asks for none.
#[test]
fn alignment_of_0_is_the_default() {
    let taken = |align: &str| body("", &format!("alloca.u64 %x8, 24{align};"), 256);
    assert_eq!(taken(", 0").unwrap(), taken("").unwrap());
}

#[test]
fn alloca_beyond_the_stack_is_an_error_that_says_what_to_do() {
    let taken = |bytes: u64| body("", &format!("alloca.u64 %x8, {bytes};"), 256);
    assert_eq!(taken(256).unwrap(), [0; 32]);
    assert_eq!(taken(250).unwrap(), [0; 32]);
    for bytes in [257, 1 << 20, u64::MAX] {
        let (kind, text) = fault(taken(bytes));
        assert_eq!(kind, FaultKind::Stack);
        assert!(
            text.contains(&format!("`alloca` of {bytes} bytes")),
            "{text}"
        );
        assert!(
            text.contains("of which 256 are left of the 256 bytes"),
            "{text}"
        );
        assert!(text.contains("cudaLimitStackSize"), "{text}");
        assert!(text.contains("thread (0, 0, 0)"), "{text}");
    }
}

#[test]
fn lane_without_room_is_named() {
    let each = "mul.lo.u64 %x1, %x0, 8;\nalloca.u64 %x8, %x1, 64;";
    let (_, text) = fault(body("", each, 1024));
    // Lane 17 asks for 17 * 64 bytes.
    assert!(text.contains("thread (17, 0, 0)"), "{text}");
    assert!(text.contains("`alloca` of 1088 bytes"), "{text}");
}

#[test]
fn frames_and_memory_of_alloca_share_the_stack() {
    let call = "mad.lo.u64 %x1, %x0, 4, 8;\n{.param .b64 a;\nst.param.b64 [a], %x1;\n\
        call f, (a);}\nmov.u64 %x8, 5;";
    assert_eq!(body(RECURSIVE, call, 1 << 14).unwrap(), [5; 32]);
    for stack in (0..1 << 12).step_by(48) {
        match body(RECURSIVE, call, stack) {
            Ok(left) => assert_eq!(left, [5; 32], "{stack}"),
            Err(LaunchError::Stopped(error)) => {
                assert_eq!(error.kind(), FaultKind::Stack, "{stack}: {error}");
                assert!(error.to_string().contains("cudaLimitStackSize"), "{error}");
            }
            Err(other) => panic!("{stack}: {other}"),
        }
    }
}

#[test]
fn call_into_memory_of_alloca_is_an_error() {
    // Lane 31 has 24 bytes left, and a frame takes at least 16 with its argument.
    let call = "mov.u64 %x1, 512;\nsetp.eq.u32 %p1, %r0, 31;\n@%p1 mov.u64 %x1, 1000;\n\
        alloca.u64 %x2, %x1;\n{.param .b64 a;\nmov.u64 %x3, 8;\nst.param.b64 [a], %x3;\n\
        call f, (a);}\nmov.u64 %x8, 5;";
    let (kind, text) = fault(body(RECURSIVE, call, 1016));
    assert_eq!(kind, FaultKind::Stack);
    assert!(
        text.contains("the call of f") && text.contains("thread (31, 0, 0)"),
        "{text}"
    );
    assert_eq!(body(RECURSIVE, call, 1100).unwrap(), [5; 32]);
}

#[test]
fn restored_stack_is_taken_again_and_nonsense_is_refused() {
    let twice = "stacksave.u64 %x1;\nalloca.u64 %x2, 600, 16;\nstackrestore.u64 %x1;\n\
        alloca.u64 %x3, 600, 16;\nsub.u64 %x8, %x2, %x3;";
    assert_eq!(body("", twice, 1024).unwrap(), [0; 32]);
    for value in ["0", "1025", "0xffffffffffffffff"] {
        let (kind, text) = fault(body("", &format!("stackrestore.u64 {value};"), 1024));
        assert_eq!(kind, FaultKind::Stack);
        assert!(text.contains("`stackrestore` of 0x"), "{text}");
    }
}

#[test]
fn what_is_between_frames_and_memory_of_alloca_is_out_of_bounds() {
    for (offset, is_there) in [(0, true), (56, true), (-8, false), (64, false)] {
        let access = format!("alloca.u64 %x1, 64, 16;\nld.local.u64 %x8, [%x1+{offset}];");
        let done = body("", &access, 1024);
        assert_eq!(done.is_ok(), is_there, "{offset}: {done:?}");
    }
}

#[test]
fn memory_of_alloca_is_zero_in_each_block() {
    let text = ".version 7.3\n.target sm_80\n.address_size 64\n.global .u64 sum;\n\
        .visible .entry k() {\n.reg .b64 %x<9>;\nalloca.u64 %x1, 64;\nld.local.u64 %x2, [%x1+8];\n\
        mov.u64 %x3, 1;\nst.local.u64 [%x1+8], %x3;\nred.global.add.u64 [sum], %x2;\nret;\n}\n";
    let mut device = Device::new();
    let module = device.load(PtxModule::parse(text).unwrap()).unwrap();
    let options = Options::default();
    let kernel = device.kernel(&module, "k", &options).unwrap();
    let launch = kernel.launch([9, 1, 1], [32, 1, 1], 0, &[]).unwrap();
    for _ in 0..2 {
        device
            .launch(&kernel, &launch, &options, &mut Ignore)
            .unwrap();
    }
    let address = module.variable("sum").unwrap();
    assert_eq!(device.read(address, 8).unwrap(), [0; 8]);
}
