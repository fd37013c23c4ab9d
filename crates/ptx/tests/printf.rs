//! `printf` in kernels: the text of each lane, in the order of blocks, with any number of threads.

use reuselens_ptx::{Argument, Device, Ignore, Options, PtxModule};

/// Prints `block %u: %d %s|%g` with the numbers of block and thread, a string, and half of the
/// thread's number; stores the result.
const PTX: &str = r#"
.version 7.0
.target sm_70
.address_size 64
.extern .func (.param .b32 ret) vprintf(.param .b64 a, .param .b64 b);
.global .align 1 .b8 format[20] = {98,108,111,99,107,32,37,117,58,32,37,100,32,37,115,124,37,103,10,0};
.global .align 1 .b8 word[4] = {111,110,101,0};
.visible .entry talk(.param .u64 out) {
    .local .align 8 .b8 values[24];
    .reg .b32 %r<6>;
    .reg .b64 %rd<8>;
    .reg .f64 %f<3>;
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %tid.x;
    mov.u64 %rd1, values;
    st.local.u32 [%rd1], %r1;
    st.local.u32 [%rd1+4], %r2;
    mov.u64 %rd2, word;
    cvta.global.u64 %rd3, %rd2;
    st.local.u64 [%rd1+8], %rd3;
    cvt.rn.f64.u32 %f1, %r2;
    mul.f64 %f2, %f1, 0d3FE0000000000000;
    st.local.f64 [%rd1+16], %f2;
    cvta.local.u64 %rd4, %rd1;
    mov.u64 %rd5, format;
    cvta.global.u64 %rd6, %rd5;
    {
    .param .b64 p0;
    .param .b64 p1;
    .param .b32 r0;
    st.param.b64 [p0+0], %rd6;
    st.param.b64 [p1+0], %rd4;
    call.uni (r0), vprintf, (p0, p1);
    ld.param.b32 %r3, [r0+0];
    }
    ld.param.u64 %rd7, [out];
    st.global.u32 [%rd7], %r3;
    ret;
}"#;

/// What three blocks of two threads print, and the last result.
fn printed(threads: usize) -> (String, u32) {
    let mut device = Device::new();
    let module = device.load(PtxModule::parse(PTX).unwrap()).unwrap();
    let options = Options {
        threads,
        ..Options::default()
    };
    let kernel = device.kernel(&module, "talk", &options).unwrap();
    let out = device.allocate("out", 4).unwrap();
    let launch = kernel.launch([3, 1, 1], [2, 1, 1], 0, &[Argument::Pointer(out)]);
    let launch = launch.unwrap();
    device
        .launch(&kernel, &launch, &options, &mut Ignore)
        .unwrap();
    let result = u32::from_le_bytes(*device.read(out, 4).unwrap().first_chunk().unwrap());
    let text = String::from_utf8(device.take_printed()).unwrap();
    assert!(device.take_printed().is_empty());
    (text, result)
}

#[test]
fn lanes_print_in_order_whatever_the_number_of_threads() {
    let mut expected = String::new();
    for block in 0..3 {
        expected += &format!("block {block}: 0 one|0\nblock {block}: 1 one|0.5\n");
    }
    for threads in [1, 2, 4] {
        assert_eq!(printed(threads), (expected.clone(), 4), "{threads}");
    }
}
