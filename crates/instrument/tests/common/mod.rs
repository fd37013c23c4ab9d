//! What the tests of the interpreter use, with a kernel with hooks in the place of the kernel: each
//! launch is run without hooks, and with hooks that count, on other devices too. Memory, records
//! and control flow are compared.

use std::collections::{BTreeMap, BTreeSet};

use reuselens_instrument::{
    CONTROL_BYTES, COUNT_BYTES, HookKind, InstrumentOptions, Instrumented, LeftOutReason,
    RingControl, SiteCounts, instrument, read_counts, read_ring,
};
use reuselens_ptx::{
    Argument, CollectorSink, Device, FlowCounts, Ignore, InstructionFlow, Kernel, KernelPlace,
    LaunchConfig, Loaded, Options, PtxModule, Stats, launch_record,
};
use reuselens_warp::{Launch, Space, WarpKind, WarpSource, WarpStream};

use bypassing::BypassRun;
use replayed::Replayed;

pub mod bypassing;
#[path = "../../../ptx/tests/common/mod.rs"]
#[allow(dead_code, reason = "only some of it is used")]
mod interpreter;
mod replayed;

pub use interpreter::{Number, floats, ints, noise, ptx};

/// Bytes of the buffer for records.
const BUFFER: u64 = 1 << 23;

/// A module on a device with hooks, on another with hooks that count, and on a third without.
pub struct Run {
    /// With hooks.
    pub device: Device,
    pub options: Options,
    /// Of the kernel without hooks.
    pub stats: Stats,
    module: Loaded,
    instrumented: Instrumented,
    buffer: u64,
    counted: Counted,
    bypassing: [BypassRun; 3],
    plain: Device,
    plain_module: Loaded,
    buffers: Vec<(u64, u64)>,
    replayed: Replayed,
}

/// A module with hooks that count.
struct Counted {
    device: Device,
    module: Loaded,
    instrumented: Instrumented,
}

/// Calls `test` for both compilers.
pub fn everywhere(file: &str, test: impl Fn(&mut Run)) {
    for compiler in ["clang", "nvcc"] {
        let options = Options {
            threads: 1,
            ..Options::default()
        };
        test(&mut Run::new(&ptx(compiler, file), options));
    }
}

fn load(device: &mut Device, text: &str) -> Loaded {
    let module = PtxModule::parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    device
        .load(module)
        .unwrap_or_else(|error| panic!("{error}"))
}

/// Hooks at all that can have them.
const ALL: InstrumentOptions = InstrumentOptions {
    blocks: true,
    branches: true,
    counts: false,
    flow: false,
};

impl Run {
    pub fn new(text: &str, options: Options) -> Run {
        let instrumented = instrument(text, &ALL).unwrap();
        let counts = InstrumentOptions {
            counts: true,
            ..ALL
        };
        let counts = instrument(text, &counts).unwrap();
        let [mut device, mut counting, mut plain] = [Device::new(), Device::new(), Device::new()];
        let buffer = device.allocate("records", BUFFER).unwrap();
        counting.allocate("records", BUFFER).unwrap();
        plain.allocate("records", BUFFER).unwrap();
        // All devices have all else at the same addresses.
        let room = (COUNT_BYTES * instrumented.sites.len()).max(CONTROL_BYTES) as u64;
        if instrumented.sites.is_empty() {
            device.allocate("ring", room).unwrap();
            counting.allocate("ring", room).unwrap();
        }
        plain.allocate("ring", room).unwrap();
        let sized = |text: &str, numbers: u64| {
            let wanted = format!(".b64 reuselens_ring[{numbers}];");
            text.replace(".b64 reuselens_ring[5];", &wanted)
        };
        let module = load(&mut device, &sized(&instrumented.text, room / 8));
        let counted = Counted {
            module: load(&mut counting, &counts.text),
            device: counting,
            instrumented: counts,
        };
        // Hooks let the interpreter run blocks one after the other, for their atomic operations are
        // how blocks talk to each other. An atomic operation that is never reached does the same.
        let ordered = text.replace("ret;", "ret; red.global.add.u32 [0], 0;");
        let plain_module = load(&mut plain, &ordered);
        let bypassing = [0, 1, 2].map(|warps| BypassRun::new(&ordered, warps, &[BUFFER, room]));
        let replayed = Replayed::new(text, room);
        Run {
            device,
            module,
            options,
            stats: Stats::default(),
            instrumented,
            buffer,
            counted,
            bypassing,
            plain,
            plain_module,
            buffers: Vec::new(),
            replayed,
        }
    }

    pub fn kernel(&self, name: &str) -> Kernel {
        self.device
            .kernel(&self.module, name, &self.options)
            .unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    pub fn put<T: Number>(&mut self, values: &[T]) -> Argument {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.bytes()).collect();
        let size = bytes.len() as u64;
        let put = |device: &mut Device| {
            let address = device.allocate("buffer", size).unwrap();
            device.write(address, &bytes).unwrap();
            address
        };
        let address = put(&mut self.device);
        let others = [&mut self.counted.device, &mut self.plain].into_iter();
        for device in others.chain(self.bypassing.iter_mut().map(|run| &mut run.device)) {
            assert_eq!(put(device), address);
        }
        self.replayed.put(&bytes, address);
        self.buffers.push((address, size));
        Argument::Pointer(address)
    }

    pub fn get<T: Number>(&self, buffer: &Argument, count: usize) -> Vec<T> {
        let Argument::Pointer(address) = buffer else {
            panic!("no buffer")
        };
        let size = std::mem::size_of::<T>();
        let bytes = self.device.read(*address, (count * size) as u64).unwrap();
        bytes.chunks_exact(size).map(T::from_bytes).collect()
    }

    pub fn launch(
        &mut self,
        name: &str,
        grid: [u32; 3],
        block: [u32; 3],
        shared: u64,
        arguments: &[Argument],
    ) {
        let options = Options {
            flow: true,
            ..self.options.clone()
        };
        let plain = self.plain.kernel(&self.plain_module, name, &options);
        let plain = plain.unwrap();
        let launch = plain.launch(grid, block, shared, arguments).unwrap();
        let mut sink = CollectorSink::new(WarpStream::new());
        sink.launch(&plain, &launch).unwrap();
        let stats = self.plain.launch(&plain, &launch, &options, &mut sink);
        self.stats = stats.unwrap_or_else(|error| panic!("{error}"));
        let flow = self.plain.take_flow().unwrap();
        let stream = sink.finish().unwrap();
        let expected = self.of_hooks(&plain, &stream);

        let kernel = self.kernel(name);
        let launch = kernel.launch(grid, block, shared, arguments).unwrap();
        let (found, counts) = self.with_hooks(&kernel, &launch);
        self.replayed.launch(name, (grid, block, shared), arguments);
        for (warp, records) in &expected {
            assert_eq!(found.get(warp), Some(records), "{name}, {warp:?}");
        }
        assert_eq!(found.len(), expected.len(), "{name}");
        has_flow(&self.instrumented, &counts, &flow, name);
        let counts = self.counted.launch(name, &launch, &self.options);
        has_flow(&self.counted.instrumented, &counts, &flow, name);
        let oracle = bypassing::oracle(&stream);
        for run in &mut self.bypassing {
            run.launch(name, &launch, &self.options, oracle.as_ref());
        }
        let others = [&self.device, &self.counted.device].into_iter();
        for device in others.chain(self.bypassing.iter().map(|run| &run.device)) {
            for &(address, size) in &self.buffers {
                let both = [device, &self.plain].map(|it| it.read(address, size).unwrap());
                assert!(both[0] == both[1], "{name}: {address:#x}");
            }
        }
    }

    /// Runs a kernel with hooks, and reads what they wrote.
    fn with_hooks(&mut self, kernel: &Kernel, launch: &LaunchConfig) -> (Records, Vec<SiteCounts>) {
        let Some(variable) = self.module.variable(&self.instrumented.variable) else {
            let stats = self
                .device
                .launch(kernel, launch, &self.options, &mut Ignore);
            stats.unwrap();
            return Default::default();
        };
        let control = RingControl::empty(self.buffer, BUFFER);
        self.device.write(variable, &control.to_bytes()).unwrap();
        let stats = self
            .device
            .launch(kernel, launch, &self.options, &mut Ignore);
        stats.unwrap_or_else(|error| panic!("{error}"));
        let bytes = self.device.read(variable, CONTROL_BYTES as u64).unwrap();
        let control = RingControl::from_bytes(bytes.try_into().unwrap());
        assert_eq!(control.lost, 0, "{control:?}");
        let bytes = self.device.read(self.buffer, control.reserved).unwrap();
        let mut launch: Launch = launch_record(kernel, launch);
        launch.sites = self.instrumented.kernel_sites();
        let mut stream = read_ring(&self.instrumented, launch, control, bytes).unwrap();
        let counts = stream.counts().to_vec();
        let stream = WarpStream::read(&mut stream as &mut dyn WarpSource).unwrap();
        let sites = &self.instrumented.sites;
        let records = records(&stream, self.has_phases(), |site| {
            let site = &sites[site as usize];
            Some((site.line, site.column))
        });
        (records, counts)
    }

    /// Whether all that orders warps has hooks.
    fn has_phases(&self) -> bool {
        let mut left_out = self.instrumented.left_out.iter();
        !left_out.any(|left| {
            matches!(
                left.reason,
                LeftOutReason::Barrier | LeftOutReason::PartialBarrier
            )
        })
    }

    /// The records of the interpreter that hooks have too.
    fn of_hooks(&self, kernel: &Kernel, stream: &WarpStream) -> Records {
        let sites = self.instrumented.sites.iter();
        let sites = sites.filter(|site| matches!(site.kind, HookKind::Access { .. }));
        let hooked: BTreeSet<_> = sites.map(|site| (site.line, site.column)).collect();
        let left_out = self.instrumented.left_out.iter();
        let left_out: BTreeSet<u32> = left_out.map(|left| left.line).collect();
        records(stream, self.has_phases(), |site| {
            let site = &kernel.sites()[site as usize];
            let place = (site.position.line, site.position.column);
            let is_hooked = hooked.contains(&place);
            let is_known = site.opcode.contains(".param") || left_out.contains(&place.0);
            assert!(is_hooked || is_known, "{} at {place:?}", site.opcode);
            is_hooked.then_some(place)
        })
    }

    /// Gives the threads of all devices a stack of this many bytes.
    pub fn set_stack(&mut self, bytes: u64) {
        let others = [&mut self.device, &mut self.counted.device, &mut self.plain].into_iter();
        for device in others.chain(self.bypassing.iter_mut().map(|run| &mut run.device)) {
            device.set_stack(Some(bytes));
        }
        self.replayed.set_stack(bytes);
    }

    /// Enough blocks of 64 threads for `n`, in a line.
    pub fn line(&mut self, name: &str, n: usize, arguments: &[Argument]) {
        let mut all = vec![Argument::Integer(n as i128)];
        all.extend_from_slice(arguments);
        self.launch(name, [(n as u32).div_ceil(64), 1, 1], [64, 1, 1], 0, &all);
    }
}

impl Counted {
    /// Runs a kernel, and reads the counts.
    fn launch(&mut self, name: &str, launch: &LaunchConfig, options: &Options) -> Vec<SiteCounts> {
        let kernel = self.device.kernel(&self.module, name, options).unwrap();
        let bytes = (COUNT_BYTES * self.instrumented.sites.len()) as u64;
        let variable = self.module.variable(&self.instrumented.variable);
        if let Some(variable) = variable {
            let zeros = vec![0; bytes as usize];
            self.device.write(variable, &zeros).unwrap();
        }
        let stats = self.device.launch(&kernel, launch, options, &mut Ignore);
        stats.unwrap_or_else(|error| panic!("{error}"));
        let counts = variable.map(|it| self.device.read(it, bytes).unwrap());
        read_counts(counts.unwrap_or_default())
    }
}

/// Line and column.
type Place = (u32, u32);

/// Holds what hooks counted to the control flow that the interpreter counted.
fn has_flow(found: &Instrumented, counts: &[SiteCounts], flow: &FlowCounts, name: &str) {
    let place = |place: &KernelPlace| (place.position.line, place.position.column);
    let mut blocks: BTreeMap<Place, SiteCounts> = BTreeMap::new();
    let mut branches = BTreeMap::new();
    let mut accesses = BTreeMap::new();
    for (site, &counts) in found.sites.iter().zip(counts) {
        let of_kind = match site.kind {
            HookKind::Block => &mut blocks,
            HookKind::Branch | HookKind::IndirectBranch => &mut branches,
            HookKind::Access { .. } => &mut accesses,
            HookKind::Barrier | HookKind::Guard => continue,
        };
        // The last hook of a block's is the one that sees all that come to it.
        of_kind.insert((site.line, site.column), counts);
    }
    // A function that is called in several places is counted in each.
    let mut expected: [BTreeMap<Place, SiteCounts>; 3] = Default::default();
    let mut add = |kind: usize, place: Place, more: [u64; 4]| {
        let sum = expected[kind].entry(place).or_default();
        sum.warps += more[0];
        sum.mixed += more[1];
        sum.threads += more[2];
        sum.taken += more[3];
    };
    // A block that only returns has no hook, and the end of a function is no instruction.
    let returns = |it: &&InstructionFlow| matches!(&*it.text, "ret;" | "exit;");
    let returns = flow.instructions.iter().filter(returns);
    let returns: BTreeSet<Place> = returns.map(|it| place(&it.place)).collect();
    for it in &flow.blocks {
        if it.instructions == 0 || returns.contains(&place(&it.place)) {
            continue;
        }
        add(
            0,
            place(&it.place),
            [it.warps, it.divergent, it.threads, it.threads],
        );
    }
    for it in &flow.branches {
        add(
            1,
            place(&it.place),
            [it.warps, it.splits, it.threads, it.taken],
        );
    }
    for it in &flow.instructions {
        add(2, place(&it.place), [it.warps, 0, 0, it.threads]);
    }
    for (place, expected) in &expected[0] {
        // Instructions that do nothing on the interpreter may be before its first one.
        let found = blocks.range(..=place).next_back();
        assert_eq!(
            found.map(|it| it.1),
            Some(expected),
            "{name}: block at {place:?}"
        );
    }
    for (place, expected) in &expected[1] {
        assert_eq!(
            branches.get(place),
            Some(expected),
            "{name}: branch at {place:?}"
        );
    }
    if !found.options.counts {
        return;
    }
    for (place, counts) in &accesses {
        let Some(expected) = expected[2].get(place) else {
            continue;
        };
        let found = (counts.warps, counts.taken);
        assert_eq!(
            found,
            (expected.warps, expected.taken),
            "{name}: access at {place:?}"
        );
    }
}

/// Of each block and warp, in the order of execution: line and column, phase, memory, kind, bytes,
/// lanes and addresses.
type Records = BTreeMap<(u32, u32), Vec<AccessTuple>>;

type AccessTuple = (Place, u32, Space, WarpKind, u8, u32, Vec<u64>);

fn records(stream: &WarpStream, has_phases: bool, place: impl Fn(u32) -> Option<Place>) -> Records {
    let mut found = Records::new();
    for batch in stream.launches.iter().flat_map(|it| &it.batches) {
        for row in batch.rows() {
            let Some(place) = place(row.site) else {
                continue;
            };
            found.entry((row.block, row.warp)).or_default().push((
                place,
                if has_phases { row.phase } else { 0 },
                row.space,
                row.kind,
                row.bytes,
                row.mask,
                row.addresses.to_vec(),
            ));
        }
    }
    found
}
