//! Arithmetic operations with their operands: known lines of small kernels, and as many of the
//! suite's as the instructions that are counted.

use reuselens_ptx::{Argument, ArithmeticSink, Device, FlowCounts, Options, PtxModule};
use reuselens_warp::InstructionClass;

/// What the kernel `k` of a module calculates, as text, and how often its instructions were
/// executed.
fn lines(
    module: &str,
    kernel: &str,
    grid: u32,
    threads: u32,
    arguments: &[Argument],
    workers: usize,
) -> (String, FlowCounts) {
    let options = Options {
        threads: workers,
        flow: true,
        arithmetic: true,
        ..Options::default()
    };
    let mut device = Device::new();
    let module = device.load(PtxModule::parse(module).unwrap()).unwrap();
    let kernel = device.kernel(&module, kernel, &options).unwrap();
    let launch = kernel.launch([grid, 1, 1], [threads, 1, 1], 0, arguments);
    let launch = launch.unwrap();
    let mut sink = ArithmeticSink::new(Some(Vec::new())).unwrap();
    sink.launch(&kernel, &launch).unwrap();
    device
        .launch(&kernel, &launch, &options, &mut sink)
        .unwrap();
    let (text, count) = sink.finish().unwrap();
    let text = String::from_utf8(text.unwrap()).unwrap();
    let calculations = text.lines().filter(|line| !line.starts_with('#'));
    assert_eq!(calculations.count() as u64, count);
    (text, device.take_flow().unwrap())
}

fn module(body: &str) -> String {
    format!(
        ".version 7.0\n.target sm_80\n.address_size 64\n.file 1 \"k.cu\"\n.extern .shared .align 4 .b8 s[];\n.visible .entry k() {{\n\
         .reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<9>; .reg .f32 %f<9>; .reg .b64 %x<9>; .reg .f64 %d<9>;\n\
         mov.u32 %r1, %tid.x;\n{body}}}\n"
    )
}

/// The lines of calculations after the fields of launch, block and warp.
fn calculated(body: &str, threads: u32) -> Vec<String> {
    let (text, _) = lines(&module(body), "k", 1, threads, &[], 1);
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let rest = lines.map(|line| line.splitn(4, '\t').nth(3).unwrap().to_owned());
    rest.collect()
}

#[test]
fn operators_and_operands_are_written() {
    let body = ".loc 1 5 9\nadd.u32 %r2, %r1, 4294967295;\n.loc 1 6 0\ncvt.rn.f32.u32 %f1, %r1;\n\
        fma.rn.f32 %f2, %f1, 0f3F000000, %f1;\nret;\n";
    let (text, _) = lines(&module(body), "k", 1, 3, &[], 1);
    let expected = "# reuselens arithmetic 1\n\
        # launch\tblock\twarp\tlanes\tinstruction\toperands\n\
        # launch\t1\tk\tgrid\t1,1,1\tblock\t3,1,1\n\
        # instruction\t0\tk.cu:5:9\tadd.u32 %r2, %r1, 4294967295;\tu32\tu32\n\
        # instruction\t1\tk.cu:6\tfma.rn.f32 %f2, %f1, 0f3F000000, %f1;\tf32\tf32\tf32\n\
        1\t0\t0\t0x7\t0\t0,1,2\t4294967295,4294967295,4294967295\n\
        1\t0\t0\t0x7\t1\t0,1,2\t0.5,0.5,0.5\t0,1,2\n";
    assert_eq!(text, expected);
}

#[test]
fn values_are_of_the_operands_types() {
    for (body, expected) in [
        // The sources are from before the result is written over one of them.
        ("sub.s32 %r1, %r1, 2;", "0x3\t0\t0,1\t2,2"),
        ("mul.wide.s32 %x1, %r1, -3;", "0x3\t0\t0,1\t-3,-3"),
        ("and.b32 %r1, %r1, 255;", "0x3\t0\t0,1\t255,255"),
        (
            "add.f64 %d1, 0d3FB999999999999A, 0dBFF0000000000000;",
            "0x3\t0\t0.1,0.1\t-1,-1",
        ),
        (
            "mul.f32 %f1, 0f7F800000, 0f7FC00000;",
            "0x3\t0\tinf,inf\tNaN,NaN",
        ),
        ("shl.b64 %x1, 16, %r1;", "0x3\t0\t16,16\t0,1"),
        (
            "mov.b16 %h1, 0x3C00; add.f16 %h2, %h1, %h1;",
            "0x3\t0\t1,1\t1,1",
        ),
        ("prmt.b32 %r2, %r1, 18, 5;", "0x3\t0\t0,1\t18,18\t5,5"),
        ("mad.lo.cc.u32 %r2, %r1, 7, 9;", "0x3\t0\t0,1\t7,7\t9,9"),
        ("neg.s32 %r2, -7;", "0x3\t0\t-7,-7"),
        ("add.s64 %x1, -2, 1;", "0x3\t0\t-2,-2\t1,1"),
        (
            "mul.f64 %d1, 0d7E37E43C8800759C, 0d3ff0000000000000;",
            "0x3\t0\t1e300,1e300\t1,1",
        ),
        // The address of an operand takes an operation of its own.
        ("add.u32 %r2, s, %r1;", "0x3\t0\t0,0\t0,1"),
    ] {
        assert_eq!(calculated(body, 2), [expected], "{body}");
    }
}

#[test]
fn predicates_are_0_or_1() {
    let body = "setp.eq.u32 %p1, %r1, 1;\nsetp.lt.u32 %p2, %r1, 3;\nand.pred %p3, %p1, %p2;\n\
        not.pred %p4, %p2;\nret;\n";
    let expected = ["0x1f\t0\t0,1,0,0,0\t1,1,1,0,0", "0x1f\t1\t1,1,1,0,0"];
    assert_eq!(calculated(body, 5), expected);
}

#[test]
fn lanes_that_a_guard_switches_off_are_left_out() {
    let body = "setp.lt.u32 %p1, %r1, 2;\n@%p1 add.u32 %r2, %r1, 1;\nsetp.lt.u32 %p2, %r1, 0;\n\
        @%p2 add.u32 %r2, %r1, 1;\n@!%p1 bra END;\nmul.lo.u32 %r3, %r1, %r1;\nEND:\nret;\n";
    assert_eq!(
        calculated(body, 5),
        ["0x3\t0\t0,1\t1,1", "0x3\t2\t0,1\t0,1"]
    );
}

#[test]
fn moves_conversions_and_comparisons_are_none() {
    let body = "setp.lt.u32 %p1, %r1, 2;\ncvt.u64.u32 %x1, %r1;\nselp.u32 %r2, 1, 2, %p1;\nret;\n";
    assert_eq!(calculated(body, 5), [] as [&str; 0]);
}

/// Of a kernel with loops, functions and guards: as many lines as instructions of these classes are
/// counted, whatever the number of threads, in the same order.
#[test]
fn all_arithmetic_instructions_are_written_on_any_number_of_threads() {
    use InstructionClass::{Float16, Float32, Float64, Integer};
    let functions = ".func (.param .b32 r) square(.param .b32 a) { .reg .b32 %a; ld.param.u32 %a, [a];\n\
        mul.lo.u32 %a, %a, %a; st.param.b32 [r], %a; ret; }\n";
    let kernel = module(
        "mov.u32 %r2, 0;\nLOOP:\nadd.u32 %r2, %r2, 1;\n.param .b32 a; .param .b32 r;\n\
         st.param.b32 [a], %r2; call (r), square, (a); ld.param.b32 %r3, [r];\nand.b32 %r4, %r3, 3;\n\
         setp.eq.u32 %p2, %r4, 1;\n@%p2 xor.b32 %r5, %r3, %r1;\nsetp.lt.u32 %p1, %r2, %r1;\n\
         @%p1 bra LOOP;\nret;\n",
    );
    let text = kernel.replace(".file 1", &format!("{functions}.file 1"));
    let (one, flow) = lines(&text, "k", 9, 70, &[], 1);
    let (four, _) = lines(&text, "k", 9, 70, &[], 4);
    assert!(one == four);
    let arithmetic = flow.instructions.iter().filter(|row| {
        let class = [Integer, Float16, Float32, Float64].contains(&row.class);
        class && !row.text.contains("setp")
    });
    // Those of which no lane's guard holds are executed, and calculate nothing.
    let expected: u64 = arithmetic.map(|row| row.threads).sum();
    let lanes = one
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| {
            let mask = line.split('\t').nth(3).unwrap();
            u64::from(u32::from_str_radix(&mask[2..], 16).unwrap().count_ones())
        });
    assert_eq!(lanes.sum::<u64>(), expected);
    assert!(expected > 10_000);
}
