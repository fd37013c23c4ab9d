//! [`ReplayedDevice`]: a device whose kernels write what they access. Modules get hooks when they
//! are loaded, and after each launch a [`RecordWatch`] gets the records, as a
//! [`KernelWatch`](crate::KernelWatch) gets them of the interpreter.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use reuselens_gpu_advisor::{LaunchContext, VariableSpace};
use reuselens_instrument::{
    InstrumentOptions, Instrumented, LeftOut, LeftOutReason, RecordReplay, RingControl, instrument,
};
use reuselens_ptx::{
    FlowCounts, Kernel, LaunchConfig, LaunchSelection, Loaded, Options, PtxModule, Stats,
    launch_record, readable,
};
use reuselens_warp::{Launch, WarpBatch};

use crate::device::{CudaFault, Device, DeviceVariable, FillValue, KernelInfo, KernelLaunch};
use crate::fatbin::DeviceCode;
use crate::ring::Ring;
use crate::status::Status;

/// Takes what kernels have accessed, launch after launch.
pub trait RecordWatch: Send {
    /// A launch has ended, or was refused.
    fn begin(&mut self, launch: &Launch, context: &LaunchContext);

    /// Memory instructions of the launch: block after block, in a block warp after warp.
    fn batch(&mut self, batch: &WarpBatch);

    /// The launch has ended well, after this much.
    fn end(&mut self, stats: Stats, flow: &FlowCounts);

    /// The launch was stopped, and nothing is known of what it did.
    fn stop(&mut self);

    /// The launch was refused before its first instruction.
    fn refuse(&mut self);
}

/// Launches of a kernel that nothing was seen of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnseenKernel {
    /// Its name, mangled.
    pub kernel: String,
    /// How often it was launched so.
    pub launches: u64,
    /// Why nothing was seen.
    pub why: String,
}

/// What a run on a device with hooks leaves, beside what its watch has seen.
#[derive(Debug)]
pub struct ReplayedRun<D, W> {
    /// The device below.
    pub device: D,
    /// What watched the kernels.
    pub watch: W,
    /// Which launches it has seen.
    pub selection: LaunchSelection,
    /// Launches that it could not see, in the order of the first ones.
    pub unseen: Vec<UnseenKernel>,
    /// What is not recorded of kernels that were seen: name of the kernel, and instructions.
    pub left_out: Vec<(String, Vec<LeftOut>)>,
}

/// A device whose kernels have hooks.
#[derive(Debug)]
pub struct ReplayedDevice<D, W> {
    device: D,
    watch: W,
    selection: LaunchSelection,
    modules: HashMap<u64, ReplayedModule>,
    kernels: HashMap<u64, ReplayedKernel>,
    ring: Ring,
    /// Memory that kernels may change, by its addresses, with its bytes.
    blocks: BTreeMap<u64, u64>,
    unseen: Vec<UnseenKernel>,
    left_out: Vec<(String, Vec<LeftOut>)>,
}

/// What is known of a module.
#[derive(Debug)]
enum ReplayedModule {
    /// It has hooks.
    Seen(Box<SeenModule>),
    /// It has none, and why.
    Unseen(String),
}

/// A module with hooks.
#[derive(Debug)]
struct SeenModule {
    code: Arc<Instrumented>,
    /// Address of the variable that names the buffer; none if there is nothing to record.
    control: Option<u64>,
    /// Decodes kernels, and runs none. Its variables take memory of the process.
    decoder: reuselens_ptx::Device,
    loaded: Loaded,
}

/// What is known of a kernel.
#[derive(Debug)]
struct ReplayedKernel {
    name: String,
    module: u64,
    /// Why nothing is seen of it.
    seen: Result<SeenKernel, String>,
}

/// A kernel that is seen.
#[derive(Clone, Debug)]
struct SeenKernel {
    kernel: Arc<Kernel>,
    replay: Arc<RecordReplay>,
    /// Whether it may be run once more after its memory was restored.
    may_repeat: bool,
}

impl<D: Device, W: RecordWatch> ReplayedDevice<D, W> {
    /// The device with hooks in what it runs, of which `watch` sees the launches that `selection`
    /// chooses.
    pub fn new(device: D, watch: W, selection: LaunchSelection) -> ReplayedDevice<D, W> {
        ReplayedDevice {
            device,
            watch,
            selection,
            modules: HashMap::new(),
            kernels: HashMap::new(),
            ring: Ring::default(),
            blocks: BTreeMap::new(),
            unseen: Vec::new(),
            left_out: Vec::new(),
        }
    }

    /// What the run leaves.
    pub fn finish(self) -> ReplayedRun<D, W> {
        ReplayedRun {
            device: self.device,
            watch: self.watch,
            selection: self.selection,
            unseen: self.unseen,
            left_out: self.left_out,
        }
    }

    /// Loads PTX with hooks; its number, and what is known of it.
    fn load_with_hooks(&mut self, text: &str) -> Result<(u64, ReplayedModule), String> {
        let options = InstrumentOptions {
            flow: true,
            ..InstrumentOptions::default()
        };
        let code = instrument(text, &options).map_err(|error| error.to_string())?;
        let parsed = PtxModule::parse(text).map_err(|error| error.to_string())?;
        let mut decoder = reuselens_ptx::Device::new();
        let loaded = decoder.load(parsed).map_err(|error| error.to_string())?;
        let module = self.device.load(code.text.as_bytes());
        let module = module.map_err(|fault| fault.message)?;
        let control = self.device.variable(module, &code.variable).ok();
        let seen = SeenModule {
            control: control.map(|(address, _)| address),
            code: Arc::new(code),
            decoder,
            loaded,
        };
        Ok((module, ReplayedModule::Seen(Box::new(seen))))
    }

    /// Whether a variable is the one that names the buffer.
    fn is_own(&self, module: u64, name: &str) -> bool {
        let known = self.modules.get(&module);
        matches!(known, Some(ReplayedModule::Seen(seen)) if seen.code.variable == name)
    }

    /// Refuses a kernel that reads textures: the textures of a program are descriptions for the
    /// interpreter, which a GPU does not know.
    fn refuse_textures(&self, module: u64, name: &str) -> Result<(), CudaFault> {
        let Some(ReplayedModule::Seen(seen)) = self.modules.get(&module) else {
            return Ok(());
        };
        let mut left_out = seen.code.left_out_of(name).into_iter();
        let texture = left_out.find(|it| it.reason == LeftOutReason::Texture);
        texture.map_or(Ok(()), |it| {
            let what = format!(
                "kernel {} is refused: it uses textures or surfaces ({}, PTX line {}), which \
                 programs have on the interpreter only; leave --device out",
                readable(name),
                it.opcode,
                it.line
            );
            Err(CudaFault::new(Status::NOT_SUPPORTED, what))
        })
    }

    /// What is known of a kernel that was not asked for before.
    fn find(&mut self, module: u64, name: &str) -> Result<SeenKernel, String> {
        let seen = match self.modules.get(&module) {
            Some(ReplayedModule::Seen(seen)) => seen,
            Some(ReplayedModule::Unseen(why)) => return Err(why.clone()),
            None => return Err("its module is unknown".to_owned()),
        };
        let options = Options {
            flow: true,
            ..Options::default()
        };
        let kernel = seen.decoder.kernel(&seen.loaded, name, &options);
        let kernel = kernel.map_err(|error| error.to_string())?;
        let left_out = seen.code.left_out_of(name).into_iter();
        // What a kernel prints and takes from the heap is not undone by restoring its memory.
        let (outside, left_out): (Vec<_>, Vec<_>) =
            left_out.partition(|it| it.reason == LeftOutReason::NoBody);
        let may_repeat = outside.iter().all(|it| it.opcode.contains("assert"));
        let left_out: Vec<LeftOut> = left_out.into_iter().cloned().collect();
        let replay = Arc::new(RecordReplay::new(&seen.code, &kernel));
        if !left_out.is_empty() {
            self.left_out.push((name.to_owned(), left_out));
        }
        Ok(SeenKernel {
            kernel: Arc::new(kernel),
            replay,
            may_repeat,
        })
    }

    /// Counts a launch that nothing is seen of.
    fn count_unseen(&mut self, kernel: &str, why: String) {
        let mut known = self.unseen.iter_mut();
        match known.find(|it| it.kernel == kernel && it.why == why) {
            Some(known) => known.launches += 1,
            None => self.unseen.push(UnseenKernel {
                kernel: kernel.to_owned(),
                launches: 1,
                why,
            }),
        }
    }

    /// Runs a launch that is not looked at. Its hooks have no buffer.
    fn launch_unwatched(
        &mut self,
        module: u64,
        launch: &KernelLaunch,
        context: &LaunchContext,
    ) -> Result<(), CudaFault> {
        if let Some(ReplayedModule::Seen(seen)) = self.modules.get(&module)
            && let Some(control) = seen.control
        {
            let empty = RingControl::empty(0, 0);
            self.device.write(control, &empty.to_bytes())?;
        }
        self.device.launch(launch, context)
    }

    /// Runs a launch, and shows the watch what it did.
    fn launch_watched(
        &mut self,
        (module, name): (u64, &str),
        seen: &SeenKernel,
        launch: &KernelLaunch,
        context: &LaunchContext,
    ) -> Result<(), CudaFault> {
        let Some(ReplayedModule::Seen(of)) = self.modules.get(&module) else {
            return self.device.launch(launch, context);
        };
        let (code, control) = (Arc::clone(&of.code), of.control);
        let config = LaunchConfig {
            cooperative: launch.is_cooperative,
            grid: launch.grid,
            block: launch.block,
            shared: launch.shared_bytes,
            params: launch.params.clone(),
        };
        let record = launch_record(&seen.kernel, &config);
        let repeats = seen.may_repeat.then_some(&self.blocks);
        let ended = self
            .ring
            .run(&mut self.device, control, repeats, launch, context);
        self.watch.begin(&record, context);
        let outcome = match ended {
            Ok(outcome) => outcome,
            Err(fault) => {
                if fault.status.is_fatal() {
                    self.watch.stop();
                } else {
                    self.watch.refuse();
                }
                return Err(fault);
            }
        };
        let (ring, watch) = ((outcome.control, &outcome.bytes[..]), &mut self.watch);
        let replayed = match outcome.lost {
            Some(why) => Err(why),
            None => seen
                .replay
                .run(&code, &seen.kernel, &record, ring, &mut |batch| {
                    watch.batch(batch);
                })
                .map_err(|error| error.to_string()),
        };
        match replayed {
            Ok(replayed) => {
                let blocks = record.grid.count();
                self.watch
                    .end(stats(blocks, &replayed.flow), &replayed.flow);
            }
            Err(why) => {
                self.watch.refuse();
                self.count_unseen(name, why);
            }
        }
        Ok(())
    }
}

/// What a launch executed.
fn stats(blocks: u64, flow: &FlowCounts) -> Stats {
    let instructions = flow.instructions.iter();
    let mut stats = Stats {
        blocks,
        ..Stats::default()
    };
    for instruction in instructions {
        stats.warp_instructions += instruction.warps;
        stats.thread_instructions += instruction.threads;
    }
    stats
}

impl<D: Device, W: RecordWatch> Device for ReplayedDevice<D, W> {
    fn allocate(&mut self, bytes: u64, alignment: u64) -> Result<u64, CudaFault> {
        let mut taken = self.device.allocate(bytes, alignment);
        let is_full = |fault: &CudaFault| fault.status == Status::MEMORY_ALLOCATION;
        if taken.as_ref().is_err_and(is_full) && self.ring.give_back(&mut self.device) {
            taken = self.device.allocate(bytes, alignment);
        }
        let address = taken?;
        self.blocks.insert(address, bytes);
        Ok(address)
    }

    fn free(&mut self, address: u64) -> Result<(), CudaFault> {
        self.device.free(address)?;
        self.blocks.remove(&address);
        Ok(())
    }

    fn read_into(&self, address: u64, to: &mut [u8]) -> Result<(), CudaFault> {
        self.device.read_into(address, to)
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), CudaFault> {
        self.device.write(address, bytes)
    }

    fn fill(&mut self, address: u64, value: FillValue, count: u64) -> Result<(), CudaFault> {
        self.device.fill(address, value, count)
    }

    fn copy(&mut self, to: u64, from: u64, bytes: u64) -> Result<(), CudaFault> {
        self.device.copy(to, from, bytes)
    }

    /// A module that cannot have hooks runs without.
    fn load(&mut self, fat_binary: &[u8]) -> Result<u64, CudaFault> {
        let hooked = match DeviceCode::read(fat_binary) {
            Ok(DeviceCode::Single(text)) => self.load_with_hooks(&text),
            Ok(DeviceCode::Linked(texts)) if texts.len() == 1 => self.load_with_hooks(&texts[0]),
            Ok(DeviceCode::Linked(_)) => Err("it is linked of several files".to_owned()),
            Err(error) => Err(error.to_string()),
        };
        let (module, known) = match hooked {
            Ok(loaded) => loaded,
            Err(why) => (self.device.load(fat_binary)?, ReplayedModule::Unseen(why)),
        };
        self.modules.insert(module, known);
        for variable in self.variables(module) {
            if variable.space == VariableSpace::Global {
                self.blocks.insert(variable.address, variable.bytes);
            }
        }
        Ok(module)
    }

    fn unload(&mut self, module: u64) -> Result<Vec<u64>, CudaFault> {
        let mut addresses = self.device.unload(module)?;
        if let Some(ReplayedModule::Seen(seen)) = self.modules.remove(&module) {
            addresses.retain(|address| Some(*address) != seen.control);
        }
        self.kernels.retain(|_, kernel| kernel.module != module);
        for address in &addresses {
            self.blocks.remove(address);
        }
        Ok(addresses)
    }

    fn kernel(&mut self, module: u64, name: &str) -> Result<(u64, KernelInfo), CudaFault> {
        self.refuse_textures(module, name)?;
        let (number, info) = self.device.kernel(module, name)?;
        if !self.kernels.contains_key(&number) {
            let seen = self.find(module, name);
            let name = name.to_owned();
            self.kernels
                .insert(number, ReplayedKernel { name, module, seen });
        }
        Ok((number, info))
    }

    fn variable(&self, module: u64, name: &str) -> Result<(u64, u64), CudaFault> {
        if self.is_own(module, name) {
            let what = format!("the device code has no variable {name}");
            return Err(CudaFault::new(Status::INVALID_SYMBOL, what));
        }
        self.device.variable(module, name)
    }

    fn variables(&self, module: u64) -> Vec<DeviceVariable> {
        let mut variables = self.device.variables(module);
        variables.retain(|variable| !self.is_own(module, &variable.name));
        variables
    }

    fn launch(&mut self, launch: &KernelLaunch, context: &LaunchContext) -> Result<(), CudaFault> {
        let Some(kernel) = self.kernels.get(&launch.kernel) else {
            return self.device.launch(launch, context);
        };
        let (name, module, seen) = (kernel.name.clone(), kernel.module, kernel.seen.clone());
        if !self.selection.takes(&name) {
            return self.launch_unwatched(module, launch, context);
        }
        match seen {
            Ok(seen) => self.launch_watched((module, &name), &seen, launch, context),
            Err(why) => {
                let ended = self.launch_unwatched(module, launch, context);
                self.count_unseen(&name, why);
                ended
            }
        }
    }

    fn set_heap(&mut self, bytes: u64) -> Result<(), CudaFault> {
        self.device.set_heap(bytes)
    }

    fn take_printed(&mut self) -> Vec<u8> {
        self.device.take_printed()
    }

    fn memory(&self) -> (u64, u64) {
        self.device.memory()
    }

    fn stop(&self) -> Arc<AtomicBool> {
        self.device.stop()
    }

    fn addresses(&self) -> Range<u64> {
        self.device.addresses()
    }
}

#[cfg(test)]
mod tests {
    use reuselens_gpu_advisor::AdvisorOptions;
    use reuselens_ptx::Options;

    use super::*;
    use crate::advised::AdvisedKernels;
    use crate::counts::KernelCounts;
    use crate::interpreter::Interpreter;

    /// Adds 1 to a number of each thread, `n` times; a few threads leave early.
    const PTX: &str = ".version 7.0\n.target sm_70\n.address_size 64\n\
        .visible .global .align 4 .u32 total = 7;\n\
        .visible .entry add(.param .u64 a, .param .u32 n) {\n\
        .reg .b64 %x<5>; .reg .b32 %r<8>; .reg .pred %p<3>;\n\
        .shared .align 4 .b32 tile[64];\n\
        ld.param.u64 %x1, [a];\nld.param.u32 %r1, [n];\n\
        mov.u32 %r2, %tid.x;\nmov.u32 %r3, %ctaid.x;\nmad.lo.u32 %r4, %r3, 64, %r2;\n\
        mul.wide.u32 %x2, %r4, 4;\nadd.u64 %x1, %x1, %x2;\n\
        mul.lo.u32 %r6, %r2, 4;\nmov.u32 %r7, tile;\nadd.u32 %r7, %r7, %r6;\n\
        LOOP:\nld.global.u32 %r5, [%x1];\nadd.u32 %r5, %r5, 1;\nst.global.u32 [%x1], %r5;\n\
        st.shared.u32 [%r7], %r5;\n\
        bar.sync 0;\n\
        setp.eq.u32 %p2, %r2, 3;\n@%p2 st.global.u32 [%x1], %r5;\n\
        sub.u32 %r1, %r1, 1;\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 bra LOOP;\n\
        ret;\n}\n";
    const BLOCKS: u32 = 4;
    const BYTES: u64 = 4 * 64 * BLOCKS as u64;

    fn plain<W: crate::KernelWatch>(watch: W) -> Interpreter<W> {
        let options = Options {
            flow: true,
            ..Options::default()
        };
        Interpreter::new(1 << 30, options, watch)
    }

    fn hooked() -> ReplayedDevice<Interpreter<KernelCounts>, AdvisedKernels> {
        let advised = AdvisedKernels::new(AdvisorOptions::default());
        let device = plain(KernelCounts::default());
        ReplayedDevice::new(device, advised, LaunchSelection::default())
    }

    /// Launches the kernel of a text once for each number of times; what memory holds then.
    fn launched(device: &mut impl Device, text: &str, times: &[u32]) -> Vec<u8> {
        let module = device.load(text.as_bytes()).unwrap();
        assert_eq!(device.variables(module).len(), 1);
        let (kernel, _) = device.kernel(module, "add").unwrap();
        let data = device.allocate(BYTES, 256).unwrap();
        for &times in times {
            let mut params = data.to_le_bytes().to_vec();
            params.extend(times.to_le_bytes());
            let launch = KernelLaunch {
                kernel,
                grid: [BLOCKS, 1, 1],
                block: [64, 1, 1],
                params,
                ..KernelLaunch::default()
            };
            device.launch(&launch, &LaunchContext::default()).unwrap();
        }
        let mut bytes = vec![0; BYTES as usize];
        device.read_into(data, &mut bytes).unwrap();
        bytes
    }

    #[test]
    fn reports_are_those_of_the_interpreter_also_if_records_do_not_fit_at_first() {
        let mut expected = plain(AdvisedKernels::new(AdvisorOptions::default()));
        let mut found = hooked();
        // The records of the second launch take more than the first buffer has.
        let times = [5, 3000, 7];
        let memory = launched(&mut expected, PTX, &times);
        assert_eq!(launched(&mut found, PTX, &times), memory);
        assert_eq!(memory[..4], 3012_u32.to_le_bytes());
        let run = found.finish();
        assert_eq!((run.unseen, run.left_out), (Vec::new(), Vec::new()));
        let [expected, found] = [expected.into_watch(), run.watch].map(AdvisedKernels::finish);
        assert_eq!(found, expected);
        assert_eq!(found[0].launches.launches, 3);
        // It ran once more.
        let counts = run.device.into_watch();
        assert_eq!(counts.kernels()[0].launches, 4);
    }

    #[test]
    fn kernels_without_hooks_run_and_are_named() {
        let old = PTX.replace(".version 7.0", ".version 6.1");
        let mut found = hooked();
        let memory = launched(&mut found, &old, &[2, 3]);
        assert_eq!(memory[..4], 5_u32.to_le_bytes());
        let run = found.finish();
        let [unseen] = &run.unseen[..] else {
            panic!("{:?}", run.unseen)
        };
        assert_eq!((&*unseen.kernel, unseen.launches), ("add", 2));
        assert!(unseen.why.contains("6.1"), "{unseen:?}");
        assert!(run.watch.finish().is_empty());
    }
}
