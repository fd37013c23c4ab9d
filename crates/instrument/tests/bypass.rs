//! Loads that go by warps, held to numbers by hand. `common::bypassing` holds them to the model of
//! caches, for all kernels of the other tests.

use reuselens_gpu_advisor::BypassOracle;
use reuselens_ptx::{Argument, Options};

use crate::common::bypassing::BypassRun;

/// Each thread loads a word of its own twice.
const TWICE: &str = ".version 7.0
.target sm_75
.address_size 64
.visible .entry k(.param .u64 a) {
.reg .b64 %x<3>; .reg .b32 %r<3>;
ld.param.u64 %x1, [a];
mov.u32 %r1, %tid.x;
mul.wide.u32 %x2, %r1, 4;
add.u64 %x1, %x1, %x2;
ld.global.u32 %r2, [%x1];
ld.global.nc.u32 %r1, [%x1];
add.u32 %r2, %r2, %r1;
st.global.u32 [%x1], %r2;
ret;
}
";

#[test]
fn each_warp_that_uses_the_l1_saves_its_second_load() {
    // A warp loads four sectors of 32 bytes, twice. Without the L1 it fetches them twice.
    let oracle = BypassOracle {
        loads: 4 * 8,
        traffic: vec![4 + 3 * 8, 2 * 4 + 2 * 8, 3 * 4 + 8, 4 * 4],
    };
    for warps in 0..6 {
        let mut run = BypassRun::new(TWICE, warps, &[]);
        let words: Vec<u8> = (0..128u32).flat_map(u32::to_le_bytes).collect();
        let a = run.device.allocate("words", 4 * 128).unwrap();
        run.device.write(a, &words).unwrap();
        let options = Options::default();
        let launch = [Argument::Pointer(a)];
        run.launch_with("k", ([1; 3], [128, 1, 1]), &launch, &options, &oracle);
        let doubled: Vec<u8> = (0..128u32).flat_map(|it| (2 * it).to_le_bytes()).collect();
        assert_eq!(run.device.read(a, 4 * 128).unwrap(), doubled);
    }
}
