//! Any bytes, parsed as PTX; the kernels of a module that parses are decoded, and those of the
//! module that it makes linked with itself.

use reuselens_ptx::{Device, Options, PtxModule};

/// Runs the target on these bytes.
pub fn run(bytes: &[u8]) {
    let Ok(module) = PtxModule::parse(&String::from_utf8_lossy(bytes)) else {
        return;
    };
    decode(PtxModule::link(vec![module.clone(), module.clone()]));
    decode(module);
}

fn decode(module: PtxModule) {
    let names: Vec<String> = module.kernels().map(str::to_owned).collect();
    let mut device = Device::with_limit(1 << 20);
    let Ok(module) = device.load(module) else {
        return;
    };
    for name in names {
        let _ = device.kernel(&module, &name, &Options::default());
    }
}
