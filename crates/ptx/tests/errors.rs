//! Errors of PTX, kernels and launches: each is reported with its place, and no input panics.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::common::{Run, ptx};
use proptest::prelude::*;
use reuselens_ptx::{
    Argument, BlockSink, Device, FaultKind, Ignore, KernelError, LaunchError, LaunchSink, Options,
    PtxModule, WarpAccess,
};

fn module(parameters: &str, body: &str) -> String {
    format!(
        ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k({parameters}) {{\n.reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<9>; .reg .f32 %f<9>; .reg .b64 %x<9>;\n{body}\n}}\n"
    )
}

/// The error of a kernel that cannot be made ready.
fn refused(body: &str) -> String {
    let mut device = Device::new();
    let text = module(".param .u64 a", body);
    let module = match PtxModule::parse(&text) {
        Ok(module) => device.load(module).unwrap(),
        Err(error) => return error.to_string(),
    };
    device
        .kernel(&module, "k", &Options::default())
        .unwrap_err()
        .to_string()
}

fn stopped(run: &mut Run, block: u32, arguments: &[Argument]) -> KernelError {
    let kernel = run.kernel("k");
    let launch = kernel
        .launch([2, 1, 1], [block, 1, 1], 0, arguments)
        .unwrap();
    match run
        .device
        .launch(&kernel, &launch, &run.options, &mut Ignore)
    {
        Err(LaunchError::Stopped(error)) => error,
        other => panic!("{other:?}"),
    }
}

fn fault(body: &str, options: Options) -> KernelError {
    let mut run = Run::new(&module(".param .u64 a", body), options);
    let a = run.put(&[0u32; 64]);
    stopped(&mut run, 64, &[a])
}

#[test]
fn newer_versions_are_read_and_only_unknown_instructions_refused() {
    let ready = |instruction: &str| {
        let text = module(".param .u64 a", instruction)
            .replace(".version 7.0", ".version 10.9")
            .replace("sm_80", "sm_130a");
        let mut device = Device::new();
        let module = device.load(PtxModule::parse(&text).unwrap()).unwrap();
        device.kernel(&module, "k", &Options::default()).map(drop)
    };
    assert!(ready("ld.param.u64 %x1, [a]; st.global.u32 [%x1], 7; ret;").is_ok());
    let refused = ready("frobnicate.b32 %r1; ret;").unwrap_err().to_string();
    assert!(refused.contains("frobnicate"), "{refused}");
}

#[test]
fn parse_errors_name_their_place() {
    let message = |text: &str| PtxModule::parse(text).unwrap_err().to_string();
    assert!(message("").contains("expected `.version`"));
    assert!(message("int main() {}").contains("line 1, column 1"));
    assert!(message(".version 7.0 .target sm_80 .address_size 32").contains("32 bits"));
    assert!(
        message(".version 7.0\n.target sm_80\n.visible .entry k() {\n")
            .contains("line 3, column 21: this '{' is never closed")
    );
    assert!(message(".version 7.0\n/* ").contains("no end"));
    assert!(message(".version 7.0\n.file 1 \"a").contains("no end in its line"));
    assert!(message(".version 7.0\n\u{1F600}").contains("no meaning"));
}

/// A kernel that calls a function, which calls another twice, and so on.
fn tree(depth: u32) -> String {
    let leaf = ".version 7.0\n.target sm_80\n.address_size 64\n.func f0()\n{\nret;\n}\n".to_owned();
    let functions = (1..depth).map(|at| {
        let call = format!("call f{};\n", at - 1);
        format!(".func f{at}()\n{{\n{call}{call}ret;\n}}\n")
    });
    let last = depth - 1;
    let kernel = format!(".visible .entry k()\n{{\ncall f{last};\nret;\n}}\n");
    leaf + &functions.collect::<String>() + &kernel
}

#[test]
fn calls_that_multiply_are_refused() {
    let decoded = |depth| {
        let mut device = Device::new();
        let module = device
            .load(PtxModule::parse(&tree(depth)).unwrap())
            .unwrap();
        device.kernel(&module, "k", &Options::default()).map(|_| ())
    };
    assert!(decoded(10).is_ok());
    // A thousand million bodies, none of which does anything.
    let message = decoded(30).unwrap_err().to_string();
    assert!(message.contains("all calls together"), "{message}");
}

#[test]
fn finding_a_kernel_does_not_slow_down_with_their_number() {
    const KERNELS: usize = 4000;
    let kernels = (0..KERNELS).map(|at| format!(".visible .entry k{at}()\n{{\nret;\n}}\n"));
    let head = ".version 7.0\n.target sm_80\n.address_size 64\n".to_owned();
    let mut device = Device::new();
    let module = PtxModule::parse(&(head + &kernels.collect::<String>())).unwrap();
    let module = device.load(module).unwrap();
    for at in 0..KERNELS {
        let name = format!("k{at}");
        let kernel = device.kernel(&module, &name, &Options::default());
        assert_eq!(kernel.unwrap().name(), name);
    }
}

#[test]
fn instructions_outside_the_subset_are_refused_with_their_place() {
    for (body, expected) in [
        ("frob.s32 %r1, %r2;", "line 6, column 1: `frob.s32`"),
        (
            "tex.cube.v4.f32.s32 {%f1,%f2,%f3,%f4}, [%x1, {%r1,%r2,%r3,%r3}];",
            "mipmaps, gradients",
        ),
        (
            "mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32 %r1, %r2, %r3, %r4;",
            "this shape, type or layout of matrices is not supported",
        ),
        (
            "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 %r1, %r2, %r3, %r4;",
            "wrong number of registers",
        ),
        ("wgmma.fence.sync.aligned;", "tensor cores"),
        (
            "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], \
             [%x1, {%r2, %r3}], [%r4];",
            "tensor maps",
        ),
        (
            "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%x1], [%r1], 16;",
            "with reductions",
        ),
        (
            "cp.async.ca.shared.global [%x1], [%x2], 12;",
            "4, 8 or 16 bytes",
        ),
        (
            "mbarrier.init.global.b64 [%x1], %r2;",
            "is in shared memory",
        ),
        ("mbarrier.init.shared.b64 [%r1];", "wrong operands"),
        (
            "mbarrier.arrive.expect_tx.shared.b64 _, [%r1];",
            "number of bytes",
        ),
        ("mbarrier.arrive.shared::cluster.b64 _, [%r1];", "clusters"),
        ("mapa.shared::cluster.u32 %r1, %r2, %r3;", "clusters"),
        ("barrier.cluster.arrive.aligned;", "clusters"),
        ("add.frob.s32 %r1, %r2, %r3;", "the modifier .frob"),
        ("add.s32 %r1, %r2;", "takes 3 operands, not 2"),
        ("add.s32 %r1, %x2, %r3;", "%x2 has type .b64"),
        ("add.s32 %x1, %r2, %r3;", "gives .u32"),
        ("add.s32 %r1, %r2, %nope;", "%nope"),
        ("add.s32 %r1, %r2, %r99;", "%r99 is not declared"),
        ("bra NOWHERE;", "no label NOWHERE"),
        ("ld.global.v2.u32 %r1, [%x1];", "wrong number of registers"),
        ("st.const.u32 [%x1], %r1;", "cannot be written"),
        (
            "call (%r1), %x1, (%r2), proto;",
            "no prototype proto before",
        ),
        ("mov.u32 %r1, %frob.x;", "%frob.x"),
        (
            "mov.u64 %x1, k;",
            "kernels cannot launch kernels here, and this launches k",
        ),
        ("L: L: ret;", "there is a label L already"),
        ("ld.shared::cluster.u32 %r1, [%r2];", "clusters"),
    ] {
        let message = refused(body);
        assert!(message.contains(expected), "{body}: {message}");
    }
}

#[test]
fn a_run_beyond_the_last_address_is_out_of_bounds() {
    // Lanes 0 to 15 are below the end of all addresses, the others at the beginning of the block's
    // memory, each after the one before.
    for space in ["shared", "global"] {
        let body = format!(
            ".shared .align 4 .b8 room[256];\nmov.u64 %x3, room;\nmov.u32 %r1, %tid.x;\n\
             mul.wide.u32 %x1, %r1, 4;\nadd.s64 %x2, %x1, -64;\nld.{space}.u32 %r2, [%x2]; ret;"
        );
        let error = fault(&body, Options::default());
        assert_eq!(error.kind(), FaultKind::OutOfBounds, "{space}");
        assert_eq!(error.thread(), Some([0, 0, 0]), "{space}");
    }
}

#[test]
fn bad_accesses_name_thread_and_line() {
    let base = "ld.param.u64 %x1, [a]; mov.u32 %r1, %tid.x; mul.wide.u32 %x2, %r1, 4; add.s64 %x3, %x1, %x2;\n";
    let error = fault(
        &format!("{base}.loc 1 7 3\nld.global.u32 %r2, [%x3+4]; ret;"),
        Options::default(),
    );
    assert_eq!(
        (error.kind(), error.thread(), error.block()),
        (FaultKind::OutOfBounds, Some([63, 0, 0]), [0, 0, 0])
    );
    assert_eq!(error.position().unwrap().line, 8);
    assert!(
        error
            .to_string()
            .contains("0 bytes behind the end of 'buffer' (256 bytes)"),
        "{error}"
    );
    let error = fault(
        &format!("{base}st.global.u32 [%x3+2], %r1; ret;"),
        Options::default(),
    );
    assert_eq!(
        (error.kind(), error.thread()),
        (FaultKind::Misaligned, Some([0, 0, 0]))
    );
    let error = fault(
        "mov.u64 %x1, 0; ld.u32 %r1, [%x1]; ret;",
        Options::default(),
    );
    assert!(error.to_string().contains("a null pointer"), "{error}");
    assert_eq!(error.address(), Some(0));
    let error = fault(
        ".shared .align 4 .b8 s[64];\nmov.u32 %r1, %tid.x; shl.b32 %r1, %r1, 2; mov.u32 %r2, s; add.u32 %r2, %r2, %r1; st.shared.u32 [%r2], %r1; ret;",
        Options::default(),
    );
    assert_eq!((error.thread(), error.address()), (Some([16, 0, 0]), None));
    let error = fault(
        "mov.u64 %x1, -4; ld.global.u64 %x2, [%x1+4]; ret;",
        Options::default(),
    );
    assert_eq!(error.kind(), FaultKind::OutOfBounds);
    let error = fault(
        "mov.u64 %x1, -8; ld.global.u64 %x2, [%x1]; ret;",
        Options::default(),
    );
    assert_eq!(error.kind(), FaultKind::OutOfBounds);
}

#[test]
fn errors_name_lines_of_the_source() {
    let text = module(
        ".param .u64 a",
        ".loc 1 7 3\nmov.u64 %x1, 0; ld.global.u32 %r1, [%x1]; ret;",
    ) + ".file 1 \"a.cu\"\n";
    let mut run = Run::new(&text, Options::default());
    let a = run.put(&[0u32]);
    assert!(
        stopped(&mut run, 32, &[a])
            .to_string()
            .contains("a.cu:7 (PTX line 7)")
    );
}

#[test]
fn barrier_missed_by_threads_is_an_error() {
    let error = fault(
        "mov.u32 %r1, %laneid; setp.lt.u32 %p1, %r1, 7; @!%p1 bra L; bar.sync 0; L: ret;",
        Options::default(),
    );
    assert_eq!(error.kind(), FaultKind::Barrier);
    assert!(error.to_string().contains("7 of 32"), "{error}");
    let error = fault(
        "mov.u32 %r1, %warpid; bar.sync %r1, 64; ret;",
        Options::default(),
    );
    assert!(
        error
            .to_string()
            .contains("warp 0 at barrier 0, warp 1 at barrier 1"),
        "{error}"
    );
    let error = fault("bar.sync 16; ret;", Options::default());
    assert!(error.to_string().contains("there are 16"), "{error}");
    // Warps that have ended are not waited for.
    let mut run = Run::new(
        &module(
            ".param .u64 a",
            "mov.u32 %r1, %warpid; setp.eq.u32 %p1, %r1, 1; @%p1 exit; bar.sync 0; ret;",
        ),
        Options::default(),
    );
    let a = run.put(&[0u32]);
    run.launch("k", [1, 1, 1], [64, 1, 1], 0, &[a]);
}

#[test]
fn collective_without_all_named_lanes_is_an_error() {
    let error = fault(
        "mov.u32 %r1, %laneid; setp.lt.u32 %p1, %r1, 7; @!%p1 bra L; shfl.sync.idx.b32 %r2, %r1, 0, 31, -1; L: ret;",
        Options::default(),
    );
    assert_eq!(error.kind(), FaultKind::Convergence);
    let error = fault(
        "mov.u32 %r1, %laneid; vote.sync.ballot.b32 %r2, 1, 1; ret;",
        Options::default(),
    );
    assert!(
        error
            .to_string()
            .contains("does not name the lane 1 itself"),
        "{error}"
    );
    assert_eq!(fault("trap;", Options::default()).kind(), FaultKind::Trap);
}

#[test]
fn endless_kernels_end() {
    for threads in [1, 2] {
        let options = Options {
            max_instructions: 10_000,
            threads,
            ..Options::default()
        };
        assert_eq!(fault("L: bra L; ret;", options).kind(), FaultKind::TooLong);
    }
}

const SHARED: &str = ".shared .align 4 .b8 s[256];\nld.param.u64 %x1, [a]; mov.u32 %r1, %tid.x; shl.b32 %r2, %r1, 2; mov.u32 %r3, s; add.u32 %r4, %r3, %r2; xor.b32 %r5, %r2, 252; add.u32 %r5, %r3, %r5;\n";

#[test]
fn races_are_found_when_asked_for_and_not_where_there_are_none() {
    let check = |body: &str| {
        let text = module(".param .u64 a", &format!("{SHARED}{body}"));
        let mut run = Run::new(
            &text,
            Options {
                check_races: true,
                ..Options::default()
            },
        );
        let a = run.put(&[0u32; 64]);
        let kernel = run.kernel("k");
        let launch = kernel.launch([1, 1, 1], [64, 1, 1], 0, &[a]).unwrap();
        match run
            .device
            .launch(&kernel, &launch, &run.options, &mut Ignore)
        {
            Ok(_) => None,
            Err(LaunchError::Stopped(error)) => Some(error.kind()),
            Err(error) => panic!("{error}"),
        }
    };
    let race = Some(FaultKind::Race);
    assert_eq!(
        check("st.shared.u32 [%r4], %r1; ld.shared.u32 %r6, [%r5]; ret;"),
        race
    );
    assert_eq!(
        check("st.shared.u32 [%r4], %r1; bar.sync 0; ld.shared.u32 %r6, [%r5]; ret;"),
        None
    );
    assert_eq!(check("st.shared.u32 [s], %r1; ret;"), race);
    assert_eq!(check("mov.u32 %r6, 5; st.shared.u32 [s], %r6; ret;"), None);
    assert_eq!(check("atom.shared.add.u32 %r6, [s], 1; ret;"), None);
    assert_eq!(
        check("atom.shared.add.u32 %r6, [s], 1; ld.shared.u32 %r6, [s]; ret;"),
        race
    );
    assert_eq!(
        check("ld.shared.u32 %r6, [%r5]; st.shared.u32 [%r4], %r1; ret;"),
        race
    );
    assert_eq!(check("st.global.u32 [%x1], %r1; ret;"), race);
    // Within a warp, a synchronisation of the warp is enough.
    let half = "xor.b32 %r5, %r2, 4; add.u32 %r5, %r3, %r5; st.shared.u32 [%r4], %r1;";
    assert_eq!(
        check(&format!("{half} ld.shared.u32 %r6, [%r5]; ret;")),
        race
    );
    assert_eq!(
        check(&format!(
            "{half} bar.warp.sync -1; ld.shared.u32 %r6, [%r5]; ret;"
        )),
        None
    );
}

#[test]
fn launches_that_do_not_fit_are_refused() {
    let mut run = Run::new(
        &module(".param .u64 a, .param .u32 n", "ret;"),
        Options::default(),
    );
    let kernel = run.kernel("k");
    let message = |arguments: &[Argument]| {
        kernel
            .launch([1; 3], [32, 1, 1], 0, arguments)
            .unwrap_err()
            .to_string()
    };
    assert!(message(&[]).contains("takes 2 arguments (u64, u32), not 0"));
    assert!(message(&[Argument::Float(1.0), Argument::Integer(1)]).contains("argument 1"));
    assert!(message(&[Argument::Pointer(0), Argument::Integer(1 << 33)]).contains("does not fit"));
    let arguments = [Argument::Pointer(0), Argument::Integer(-1)];
    for (grid, block, shared, expected) in [
        ([0, 1, 1], [32, 1, 1], 0, "a grid of 0"),
        ([1, 1, 1], [32, 64, 1], 0, "from 1 to 1024"),
        ([1 << 20, 1 << 20, 2], [1, 1, 1], 0, "a grid of"),
        ([1, 1, 1], [32, 1, 1], 1 << 20, "shared memory"),
    ] {
        let launch = kernel.launch(grid, block, shared, &arguments).unwrap();
        let error = run
            .device
            .launch(&kernel, &launch, &run.options, &mut Ignore)
            .unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    }
    assert!(
        Device::with_limit(1000)
            .allocate("big", 1001)
            .unwrap_err()
            .to_string()
            .contains("'big' takes 1001 bytes")
    );
}

/// Reads a file, and makes all its kernels ready, alone and linked with itself.
fn decode_all(text: &str) {
    let Ok(module) = PtxModule::parse(text) else {
        return;
    };
    decode_module(PtxModule::link(vec![module.clone(), module.clone()]));
    decode_module(module);
}

fn decode_module(module: PtxModule) {
    let names: Vec<String> = module.kernels().map(str::to_owned).collect();
    let mut device = Device::with_limit(1 << 20);
    let Ok(module) = device.load(module) else {
        return;
    };
    for name in names {
        let _ = device.kernel(&module, &name, &Options::default());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Files with pieces left out, doubled or changed are refused or run, and never panic.
    #[test]
    fn damaged_files_are_read_or_refused(file in 0usize..7, from in 0.0f64..1.0, length in 0usize..200, to in 0.0f64..1.0, byte in 32u8..127) {
        let name = ["arithmetic", "atomics", "divergence", "shared", "spaces", "warp", "calls"][file];
        let mut bytes = ptx(if length % 2 == 0 { "clang" } else { "nvcc" }, name).into_bytes();
        let start = (from * bytes.len() as f64) as usize;
        let end = (start + length).min(bytes.len());
        let piece: Vec<u8> = bytes.drain(start..end).collect();
        let place = (to * bytes.len() as f64) as usize;
        bytes.splice(place..place, piece);
        if let Some(changed) = bytes.get_mut(start) {
            *changed = byte;
        }
        decode_all(&String::from_utf8_lossy(&bytes));
    }
}

/// Where a parameter is does not depend on what its pointer points to.
#[test]
fn parameters_with_attributes_of_pointers_are_laid_out_like_others() {
    let text = module(
        ".param .u32 n, .param .u64 .ptr .global .align 4 a",
        "ld.param.u64 %x1, [a]; ld.param.u32 %r1, [n]; st.global.u32 [%x1], %r1; ret;",
    );
    let mut run = Run::new(&text, Options::default());
    let a = run.put(&[0u32]);
    run.launch(
        "k",
        [1, 1, 1],
        [1, 1, 1],
        0,
        &[Argument::Integer(7), a.clone()],
    );
    assert_eq!(run.get::<u32>(&a, 1), [7]);
}

/// C's `gemm` has no other name; each of C++'s has two.
#[test]
fn exact_kernel_name_wins_over_demangled_name() {
    let entries = ["gemm", "_Z4gemmPf", "_Z5gemm2Pf"];
    let entries = entries.map(|name| format!(".visible .entry {name}(.param .u64 a) {{ ret; }}\n"));
    let text = format!(
        ".version 7.0\n.target sm_80\n.address_size 64\n{}",
        entries.concat()
    );
    let mut device = Device::new();
    let module = device.load(PtxModule::parse(&text).unwrap()).unwrap();
    let found = |name: &str| device.kernel(&module, name, &Options::default());
    for (said, meant) in [
        ("gemm", "gemm"),
        ("_Z4gemmPf", "_Z4gemmPf"),
        ("gemm(float*)", "_Z4gemmPf"),
        ("gemm2", "_Z5gemm2Pf"),
    ] {
        assert_eq!(found(said).unwrap().name(), meant, "{said}");
    }
    let error = found("gem").unwrap_err().to_string();
    assert!(
        error.contains("gemm; gemm(float*); gemm2(float*)"),
        "{error}"
    );
}

/// Panics at the first access of a block.
struct Panics {
    at: u32,
}

impl BlockSink for Panics {
    fn accept(&mut self, access: &WarpAccess<'_>) {
        if access.block == self.at {
            std::panic::panic_any(self.at);
        }
    }

    fn calculate(&mut self, _: &reuselens_ptx::Calculation<'_>) {}

    fn finish(&mut self) {}
}

impl LaunchSink for Panics {
    type Block = Panics;

    fn open(&mut self, _: u32) -> Panics {
        Panics { at: self.at }
    }

    fn drain(&mut self, _: u32, _: &mut Panics) {}

    fn close(&mut self, _: u32, _: Panics) {}
}

/// The other threads run ahead of the block that is never delivered, and would wait for it.
#[test]
fn a_panic_in_one_block_ends_a_launch_on_several_threads() {
    let text = ".version 7.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 a) {
.reg .b32 %r<2>; .reg .b64 %x<2>;
ld.param.u64 %x1, [a];
ld.global.u32 %r1, [%x1];
st.global.u32 [%x1], %r1;
ret;
}";
    let options = Options {
        threads: 2,
        ..Options::default()
    };
    let mut run = Run::new(text, options);
    let a = run.put(&[0u32; 64]);
    let kernel = run.kernel("k");
    let launch = kernel.launch([200, 1, 1], [32, 1, 1], 0, &[a]).unwrap();
    let mut sink = Panics { at: 3 };
    let launched =
        AssertUnwindSafe(|| run.device.launch(&kernel, &launch, &run.options, &mut sink));
    let panic = catch_unwind(launched).expect_err("a panic");
    assert_eq!(panic.downcast_ref(), Some(&3_u32));
}

/// With the line of the source, as far as the PTX has lines, of functions in their places too.
#[test]
fn refused_instruction_names_the_line_of_the_source() {
    let text = ".version 7.0\n.target sm_70\n.address_size 64\n.file 1 \"k.cu\"\n\
        .func f() {\n.loc 1 3 5\nfrob.s32 1;\nret;\n}\n.visible .entry child() { ret; }\n\
        .visible .entry k() {\n.loc 1 8 5\ncall f;\nret;\n}\n\
        .visible .entry launches() { .reg .b64 %x<2>;\n.loc 1 12 5\nmov.u64 %x1, child;\nret; }\n\
        .visible .entry bare() {\nfrob.s32 1;\nret; }\n";
    let mut device = Device::new();
    let module = device.load(PtxModule::parse(text).unwrap()).unwrap();
    for (kernel, expected) in [
        ("k", "k.cu:3 (PTX line 7, column 1): `frob.s32`"),
        (
            "launches",
            "k.cu:12 (PTX line 18, column 1): kernels cannot launch kernels here",
        ),
        ("bare", "line 21, column 1: `frob.s32`"),
    ] {
        let error = device.kernel(&module, kernel, &Options::default());
        let message = error.unwrap_err().to_string();
        assert!(message.starts_with(expected), "{message}");
    }
}

/// What one kernel of a file cannot do is no error of the others: each of these is in the file, or
/// in the kernel `bad` and what it calls.
#[test]
fn other_kernels_of_a_file_with_what_is_not_supported_run() {
    let uses = |name: &str| format!("{{ .reg .b64 %x<2>; mov.u64 %x1, {name}; ret; }}");
    let plain = ".visible .entry plain(.param .u64 a) { .reg .b64 %x<2>; .reg .b32 %r<2>;\n\
        ld.param.u64 %x1, [a]; mov.u32 %r1, 7; st.global.u32 [%x1], %r1; ret; }\n";
    for (outside, bad, expected) in [
        (
            ".global .texref t;",
            uses("t"),
            "line 4, column 9: references to textures",
        ),
        (
            ".global .align 4 .surfref t, u = { frob = nearest };",
            uses("u"),
            "textures",
        ),
        (".global .frob .u32 t[4] = {1, 2};", uses("t"), ".frob"),
        (
            ".extern .global .align 4 .u32 t;",
            uses("t"),
            "t is declared but defined in another file",
        ),
        (
            ".global .u64 t[2] = {0, nothing};",
            uses("t"),
            "t begins with the address of nothing",
        ),
        (
            ".func f(.param .texref t);",
            "{ call f; ret; }".to_owned(),
            "references to textures",
        ),
        (
            ".func f() { .reg .frob %r; ret; }",
            "{ call f; ret; }".to_owned(),
            "line 4, column 18: registers of type .frob",
        ),
        (
            ".func f() .frob 3 { { ret; } }",
            "{ call f; ret; }".to_owned(),
            ".frob",
        ),
        ("", "{ .reg .frob %r; { ret; } }".to_owned(), ".frob"),
        ("", ".frob { ret; }".to_owned(), ".frob"),
    ] {
        let text = format!(
            ".version 7.0\n.target sm_80\n.address_size 64\n{outside}\n{plain}\
             .visible .entry bad() {bad}\n{plain}"
        )
        .replacen("plain", "first", 1);
        let mut run = Run::new(&text, Options::default());
        let refused = run.device.kernel(run.module(), "bad", &Options::default());
        let message = refused.unwrap_err().to_string();
        assert!(message.contains(expected), "{text}\n{message}");
        for name in ["first", "plain"] {
            let a = run.put(&[0u32]);
            run.launch(name, [1; 3], [1; 3], 0, std::slice::from_ref(&a));
            assert_eq!(run.get::<u32>(&a, 1), [7]);
        }
    }
}
