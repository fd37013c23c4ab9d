//! Bodies of kernels that tests write themselves, run by one warp or a block of several.

use reuselens_ptx::{
    Argument, BlockSink, Device, LaunchError, LaunchSink, Options, PtxModule, Space, WarpAccess,
    WarpKind,
};

/// One access of a lane: space, store, address, bytes.
#[allow(dead_code, reason = "not every test needs it")]
pub type LaneAccess = (Space, bool, u64, u8);

/// Collects the accesses of lanes, without those to parameters.
#[allow(dead_code, reason = "not every test needs it")]
#[derive(Clone, Debug, Default)]
pub struct Watch(pub Vec<LaneAccess>);

impl BlockSink for Watch {
    fn accept(&mut self, access: &WarpAccess<'_>) {
        let lanes = (0..32).filter(|lane| access.mask >> lane & 1 != 0);
        let is_store = access.kind == WarpKind::Store;
        if access.space != Space::Param {
            let one = |lane: usize| (access.space, is_store, access.addresses[lane], access.bytes);
            self.0.extend(lanes.map(one));
        }
    }

    fn calculate(&mut self, _: &reuselens_ptx::Calculation<'_>) {}

    fn finish(&mut self) {}
}

impl LaunchSink for Watch {
    type Block = Watch;

    fn open(&mut self, _: u32) -> Watch {
        Watch::default()
    }

    fn drain(&mut self, _: u32, _: &mut Watch) {}

    fn close(&mut self, _: u32, block: Watch) {
        self.0.extend(block.0);
    }
}

/// Runs a body of a kernel with buffers as parameters `p0`, `p1` … for one warp. `%x1`, `%x2` … are
/// their addresses and `%r0` is the lane. Returns the buffers as the kernel leaves them.
pub fn run<S: LaunchSink + Send>(
    body: &str,
    buffers: &[Vec<u8>],
    threads: u32,
    sink: &mut S,
) -> Result<(Vec<Vec<u8>>, Vec<u64>), LaunchError> {
    let names: Vec<String> = (0..buffers.len())
        .map(|at| format!(".param .u64 p{at}"))
        .collect();
    let loads: String = (0..buffers.len())
        .map(|at| format!("ld.param.u64 %x{}, [p{at}];\n", at + 1))
        .collect();
    let text = format!(
        ".version 7.8\n.target sm_90\n.address_size 64\n.visible .entry k({}) {{\n\
         .shared .align 16 .b8 room[4096];\n\
         .reg .pred %p<9>; .reg .b32 %r<99>; .reg .b32 %a<9>; .reg .b32 %b<9>; .reg .b32 %c<9>;\n\
         .reg .b32 %d<9>; .reg .b64 %x<99>; .reg .f64 %fa<9>; .reg .f64 %fb<9>; .reg .f64 %fc<9>;\n\
         .reg .f64 %fd<9>;\nmov.u32 %r0, %tid.x;\n{loads}{body}\nret;\n}}\n",
        names.join(", ")
    );
    let mut device = Device::new();
    let module = PtxModule::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let module = device.load(module).unwrap();
    let kernel = device.kernel(&module, "k", &Options::default());
    let kernel = kernel.unwrap_or_else(|error| panic!("{error}\n{text}"));
    let mut addresses = Vec::new();
    for buffer in buffers {
        let address = device.allocate("buffer", buffer.len() as u64).unwrap();
        device.write(address, buffer).unwrap();
        addresses.push(address);
    }
    let arguments: Vec<Argument> = addresses.iter().map(|&at| Argument::Pointer(at)).collect();
    let launch = kernel
        .launch([1, 1, 1], [threads, 1, 1], 0, &arguments)
        .unwrap();
    device.launch(&kernel, &launch, &Options::default(), sink)?;
    let left = buffers
        .iter()
        .zip(&addresses)
        .map(|(buffer, &address)| device.read(address, buffer.len() as u64).unwrap().to_vec());
    Ok((left.collect(), addresses))
}
