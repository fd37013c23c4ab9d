//! Scales numbers by a kernel that the driver's interface loads, by the crate `cudarc`.

use cudarc::driver::{CudaContext, LaunchConfig, PushKernelArg};
use cudarc::nvrtc::Ptx;

const PTX: &str = ".version 7.0\n.target sm_70\n.address_size 64\n\
    .visible .entry scale(.param .u64 a, .param .f32 factor, .param .u32 n) {\n\
    .reg .pred %p<2>; .reg .u32 %r<6>; .reg .u64 %x<3>; .reg .f32 %f<4>;\n\
    mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;\n\
    mad.lo.u32 %r4, %r1, %r2, %r3; ld.param.u32 %r5, [n];\n\
    setp.ge.u32 %p1, %r4, %r5; @%p1 bra END;\n\
    ld.param.u64 %x1, [a]; mul.wide.u32 %x2, %r4, 4; add.u64 %x1, %x1, %x2;\n\
    ld.param.f32 %f1, [factor]; ld.global.f32 %f2, [%x1];\n\
    mul.f32 %f3, %f1, %f2; st.global.f32 [%x1], %f3;\n\
    END: ret;\n}\n";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let context = CudaContext::new(0)?;
    println!("{} {:?}", context.name()?, context.compute_capability()?);
    let stream = context.new_stream()?;
    let module = context.load_module(Ptx::from_src(PTX))?;
    let scale = module.load_function("scale")?;
    let host: Vec<f32> = (0..1000).map(|i| i as f32).collect();
    let mut device = stream.memcpy_stod(&host)?;
    let (factor, n) = (3.0f32, 1000u32);
    let mut launch = stream.launch_builder(&scale);
    launch.arg(&mut device).arg(&factor).arg(&n);
    // SAFETY: the kernel stays in the array.
    unsafe { launch.launch(LaunchConfig::for_num_elems(n)) }?;
    let back = stream.memcpy_dtov(&device)?;
    stream.synchronize()?;
    assert!(back.iter().zip(&host).all(|(back, host)| *back == 3.0 * host));
    println!("ok scale");
    Ok(())
}
