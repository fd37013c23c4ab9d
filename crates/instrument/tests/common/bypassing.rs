//! Kernels whose loads go by warps: the model of caches gives what it predicts of the kernel as it
//! was.

use reuselens_gpu_advisor::{
    Advisor, AdvisorOptions, BypassOracle, CacheShape, GpuModel, KernelReport,
};
use reuselens_instrument::{BypassWarps, BypassedLoad, KeptReason, bypass};
use reuselens_ptx::{Argument, CollectorSink, Device, LaunchConfig, Loaded, Options};
use reuselens_warp::{WarpSink as _, WarpStream};

/// A GPU of one SM with a small cache.
const MODEL: GpuModel = GpuModel {
    sms: 1,
    l1: CacheShape {
        bytes: 1 << 10,
        ways: 4,
    },
    ..GpuModel::HOPPER
};

/// What the analyses say of a launch.
fn advise(stream: &WarpStream) -> KernelReport {
    let options = AdvisorOptions {
        model: MODEL,
        ..AdvisorOptions::default()
    };
    let mut advisor = Advisor::new(options);
    let recorded = &stream.launches[0];
    advisor.launch(&recorded.launch).unwrap();
    for batch in &recorded.batches {
        advisor.batch(batch).unwrap();
    }
    advisor.finish().remove(0)
}

/// What the model predicts of a launch for each number of warps that use the L1.
pub fn oracle(stream: &WarpStream) -> Option<BypassOracle> {
    advise(stream).bypass.unwrap().oracle
}

/// A device with a module whose loads go by warps.
pub struct BypassRun {
    pub device: Device,
    module: Loaded,
    warps: u32,
    /// Whether all loads that the model lets pass by do so.
    is_exact: bool,
}

/// Whether a load does what the model takes it to do.
fn is_exact(load: &BypassedLoad) -> bool {
    match load.kept {
        None | Some(KeptReason::Passes) => true,
        // What has an order for the block alone is in the L1.
        Some(KeptReason::Ordered) => !load.opcode.contains(".cta"),
        Some(KeptReason::Form | KeptReason::Function) => false,
    }
}

impl BypassRun {
    /// Blocks of memory of `before` bytes are taken before the module's variables.
    pub fn new(text: &str, warps: u32, before: &[u64]) -> BypassRun {
        let found = bypass(text, &BypassWarps::All(warps)).unwrap();
        let mut device = Device::new();
        for &bytes in before {
            device.allocate("before", bytes).unwrap();
        }
        BypassRun {
            module: super::load(&mut device, &found.text),
            device,
            warps,
            is_exact: found.loads.iter().all(is_exact),
        }
    }

    /// Runs a kernel, and holds what its loads did in the L1 to what was predicted.
    pub fn launch(
        &mut self,
        name: &str,
        launch: &LaunchConfig,
        options: &Options,
        oracle: Option<&BypassOracle>,
    ) {
        let kernel = self.device.kernel(&self.module, name, options).unwrap();
        let mut sink = CollectorSink::new(WarpStream::new());
        sink.launch(&kernel, launch).unwrap();
        let stats = self.device.launch(&kernel, launch, options, &mut sink);
        stats.unwrap_or_else(|error| panic!("{error}"));
        let report = advise(&sink.finish().unwrap());
        let Some(oracle) = oracle.filter(|_| self.is_exact) else {
            return;
        };
        let l1 = report.caches.unwrap().l1;
        let traffic = match self.warps {
            0 => oracle.loads,
            warps => oracle.traffic(warps),
        };
        let found = (l1.loads, l1.load_misses());
        assert_eq!(found, (oracle.loads, traffic), "{name}: {}", self.warps);
        let again = report.bypass.unwrap().oracle.unwrap();
        assert_eq!(again.traffic(u32::MAX), traffic, "{name}: {}", self.warps);
    }

    /// The same, with arguments and an oracle.
    pub fn launch_with(
        &mut self,
        name: &str,
        (grid, block): ([u32; 3], [u32; 3]),
        arguments: &[Argument],
        options: &Options,
        oracle: &BypassOracle,
    ) {
        let kernel = self.device.kernel(&self.module, name, options).unwrap();
        let launch = kernel.launch(grid, block, 0, arguments).unwrap();
        self.launch(name, &launch, options, Some(oracle));
    }
}
