//! What hooks do when the buffer is too small or missing, what is read of a damaged one, and what
//! is refused or left out.

use reuselens_instrument::{
    CONTROL_BYTES, HookKind, InstrumentError, InstrumentOptions, Instrumented, LeftOutReason,
    RingControl, instrument, read_ring,
};
use reuselens_ptx::{Argument, Device, Ignore, Options, PtxModule, launch_record};
use reuselens_warp::{Launch, WarpStream};

fn file(body: &str) -> String {
    format!(
        ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 a) {{
.reg .b64 %x<3>;\n.reg .b32 %r<4>;\n.reg .pred %p<2>;\nld.param.u64 %x1, [a];\nmov.u32 %r1, %tid.x;
mul.wide.u32 %x2, %r1, 4;\nadd.u64 %x1, %x1, %x2;\n{body}\nret;\n}}\n"
    )
}

fn hooks(body: &str) -> Instrumented {
    instrument(&file(body), &InstrumentOptions::default()).unwrap()
}

/// Runs a kernel of four blocks of 64 threads with a buffer that hooks may use `capacity` bytes of.
fn run(instrumented: &Instrumented, capacity: u64) -> (RingControl, Vec<u8>, Launch) {
    let mut device = Device::new();
    let module = device.load(PtxModule::parse(&instrumented.text).unwrap());
    let module = module.unwrap();
    let options = Options::default();
    let kernel = device.kernel(&module, "k", &options).unwrap();
    let variable = module.variable(&instrumented.variable).unwrap();
    let [a, ring] = [1024, 1 << 16].map(|size| device.allocate("buffer", size).unwrap());
    device.write(ring, &[0xa5; 1 << 16]).unwrap();
    let control = RingControl::empty(ring, capacity);
    device.write(variable, &control.to_bytes()).unwrap();
    let launch = kernel.launch([4, 1, 1], [64, 1, 1], 0, &[Argument::Pointer(a)]);
    let launch = launch.unwrap();
    device
        .launch(&kernel, &launch, &options, &mut Ignore)
        .unwrap();
    let control = device.read(variable, CONTROL_BYTES as u64).unwrap();
    let control = RingControl::from_bytes(control.try_into().unwrap());
    let bytes = device.read(ring, 1 << 16).unwrap().to_vec();
    let mut launch = launch_record(&kernel, &launch);
    launch.sites = instrumented.kernel_sites();
    (control, bytes, launch)
}

#[test]
fn records_without_room_are_counted_and_not_written() {
    let instrumented = hooks("ld.global.u32 %r2, [%x1];\nst.global.u32 [%x1], %r2;");
    // 16 records of 16 bytes and 32 addresses.
    let all = 16 * 272;
    for capacity in [
        0,
        16,
        271,
        272,
        273,
        272 * 5 + 100,
        all - 1,
        all,
        all + 1,
        1 << 16,
    ] {
        let (control, bytes, launch) = run(&instrumented, capacity);
        let kept = (capacity / 272).min(16);
        assert_eq!(
            (control.reserved, control.lost),
            (all, 16 - kept),
            "{capacity}"
        );
        let after = &bytes[(kept * 272) as usize..];
        assert!(after.iter().all(|&byte| byte == 0xa5), "{capacity}");
        let mut stream = read_ring(&instrumented, launch, control, &bytes).unwrap();
        assert_eq!(stream.lost(), 16 - kept);
        assert_eq!(WarpStream::read(&mut stream).unwrap().records(), kept);
    }
}

#[test]
fn records_come_by_block_warp_and_position() {
    let instrumented = hooks("ld.global.u32 %r2, [%x1];\nst.global.u32 [%x1], %r2;");
    let (control, bytes, launch) = run(&instrumented, 1 << 16);
    let mut stream = read_ring(&instrumented, launch, control, &bytes).unwrap();
    let stream = WarpStream::read(&mut stream).unwrap();
    let rows = stream.launches[0].batches[0].rows();
    let found: Vec<_> = rows
        .map(|row| (row.block, row.warp, row.position, row.site))
        .collect();
    let expected = (0..16).map(|at| (at / 4, at / 2 % 2, u64::from(at % 2) + 1, at % 2));
    assert_eq!(found, expected.collect::<Vec<_>>());
}

#[test]
fn buffers_of_other_bytes_are_refused() {
    let instrumented = hooks("ld.global.u32 %r2, [%x1];");
    let (control, bytes, launch) = run(&instrumented, 1 << 16);
    let read = |bytes: &[u8]| {
        let stream = read_ring(&instrumented, launch.clone(), control, bytes);
        stream.map(|_| ()).map_err(|error| (error.at, error.what))
    };
    let changed = |at: usize, value: u8| {
        let mut bytes = bytes.clone();
        bytes[at] = value;
        read(&bytes)
    };
    assert_eq!(read(&bytes), Ok(()));
    assert_eq!(read(&bytes[..300]), Ok(()));
    assert_eq!(changed(272, 9), Err((272, "there is no such site")));
    assert_eq!(changed(8, 4), Err((0, "the launch has no such warp")));
    assert_eq!(read(&vec![0; bytes.len()]), Err((0, "no lane takes part")));
}

#[test]
fn blocks_are_counted() {
    let body = "setp.lt.u32 %p1, %r1, 40;\n@%p1 bra L;\nst.global.u32 [%x1], 1;\nL:";
    let options = InstrumentOptions {
        blocks: true,
        ..InstrumentOptions::default()
    };
    let instrumented = instrument(&file(body), &options).unwrap();
    let (control, bytes, launch) = run(&instrumented, 1 << 16);
    let stream = read_ring(&instrumented, launch, control, &bytes).unwrap();
    let sites = instrumented.sites.iter().zip(stream.counts());
    let blocks = sites.filter(|(site, _)| site.kind == HookKind::Block);
    let found =
        blocks.map(|(site, counts)| (site.line, counts.warps, counts.mixed, counts.threads));
    let found: Vec<_> = found.collect();
    assert_eq!(found, [(8, 8, 0, 256), (14, 4, 4, 96)]);
}

#[test]
fn what_has_no_hook_is_named() {
    let body = "cp.async.ca.shared.global [%r1], [%x1], 4;
ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r2}, [%r1];
ld.global.u32 %r2, [%x1];
frobnicate.b32 %r1, %r2;
tex.1d.v4.u32.s32 {%r1, %r1, %r1, %r1}, [%x1, {%r2}];
@%p1 st.shared::cluster.u32 [%r1], %r2;
st.u32 [k], %r2;
mbarrier.init.shared.b64 [%r1], 1;
.pragma \"nounroll\";";
    let found = hooks(body);
    assert_eq!(found.sites.len(), 1);
    let left: Vec<_> = found
        .left_out
        .iter()
        .map(|left| (left.line - 11, left.reason))
        .collect();
    use LeftOutReason::*;
    let reasons = [
        Copy,
        Matrix,
        Unknown,
        Texture,
        OtherBlocks,
        Address,
        Barrier,
    ];
    let lines = [1, 2, 4, 5, 6, 7, 8];
    assert_eq!(left, lines.into_iter().zip(reasons).collect::<Vec<_>>());
    let text = file("ret;").replace(
        ".visible",
        ".extern .func vprintf(.param .b64 f);\n.visible",
    );
    let found = instrument(&text, &InstrumentOptions::default()).unwrap();
    assert_eq!(found.text, text);
    assert_eq!(found.left_out[0].reason, NoBody);
    assert_eq!(found.left_out[0].opcode, "vprintf");
}

#[test]
fn files_without_hooks_are_errors() {
    let refused = |from: &str, to: &str| {
        let text = file("st.global.u32 [%x1], %r1;").replace(from, to);
        instrument(&text, &InstrumentOptions::default()).unwrap_err()
    };
    let version = InstrumentError::Version {
        found: "6.1".into(),
    };
    assert_eq!(refused("7.0", "6.1"), version);
    assert_eq!(refused(".version 7.0", ""), InstrumentError::NotPtx);
    assert_eq!(refused("size 64", "size 32"), InstrumentError::AddressSize);
    let target = InstrumentError::Target {
        found: "sm_20".into(),
    };
    assert_eq!(refused("sm_75", "sm_20"), target);
    let no_end = |what| InstrumentError::NoEnd { line: 4, what };
    assert_eq!(refused("ret;\n}", ""), no_end("body"));
    let head = instrument(".version 7.0 .entry k(", &InstrumentOptions::default());
    let what = "function";
    assert_eq!(head.unwrap_err(), InstrumentError::NoEnd { line: 1, what });
    assert!(matches!(refused("ret", "\u{1}"), InstrumentError::Ptx(_)));
}
