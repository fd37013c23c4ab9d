//! Any bytes, parsed as PTX and run: each kernel ends, or gives an error.

use reuselens_ptx::{Argument, Count, Device, OnFault, Options, PtxModule};

/// Runs the target on these bytes.
pub fn run(bytes: &[u8]) {
    let Ok(module) = PtxModule::parse(&String::from_utf8_lossy(bytes)) else {
        return;
    };
    let names: Vec<String> = module.kernels().map(str::to_owned).collect();
    let options = Options {
        threads: 1,
        max_instructions: 10_000,
        check_races: bytes.len() % 2 == 1,
        on_fault: match bytes.len() % 4 {
            0 | 1 => OnFault::Stop,
            _ => OnFault::Continue,
        },
        ..Options::default()
    };
    let mut device = Device::with_limit(1 << 20);
    let Ok(module) = device.load(module) else {
        return;
    };
    let Ok(buffer) = device.allocate("a", 4096) else {
        return;
    };
    for name in names {
        let Ok(kernel) = device.kernel(&module, &name, &options) else {
            continue;
        };
        let arguments: Vec<Argument> = kernel
            .params()
            .iter()
            .map(|param| match param.size {
                8 => Argument::Bytes(buffer.to_le_bytes().to_vec()),
                size => Argument::Bytes(vec![3; size as usize]),
            })
            .collect();
        if let Ok(launch) = kernel.launch([2, 1, 1], [40, 1, 1], 64, &arguments) {
            let _ = device.launch(&kernel, &launch, &options, &mut Count::default());
        }
    }
}
