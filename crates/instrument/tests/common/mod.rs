//! What the tests of the interpreter use, with a kernel with hooks in the place of the kernel: each
//! launch is run without hooks on a second device too, and memory and records are compared.

use std::collections::{BTreeMap, BTreeSet};

use reuselens_instrument::{
    CONTROL_BYTES, InstrumentOptions, Instrumented, RingControl, instrument, read_ring,
};
use reuselens_ptx::{
    Argument, CollectorSink, Device, Ignore, Kernel, LaunchConfig, Loaded, Options, PtxModule,
    Stats, launch_record,
};
use reuselens_warp::{Launch, Space, WarpKind, WarpSource, WarpStream};

#[path = "../../../ptx/tests/common/mod.rs"]
#[allow(dead_code, reason = "only some of it is used")]
mod interpreter;

pub use interpreter::{Number, floats, ints, noise, ptx};

/// Bytes of the buffer for records.
const BUFFER: u64 = 1 << 23;

/// A module on a device with hooks, and on another without.
pub struct Run {
    /// With hooks.
    pub device: Device,
    module: Loaded,
    pub options: Options,
    /// Of the kernel without hooks.
    pub stats: Stats,
    instrumented: Instrumented,
    buffer: u64,
    plain: Device,
    plain_module: Loaded,
    buffers: Vec<(u64, u64)>,
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

impl Run {
    pub fn new(text: &str, options: Options) -> Run {
        let instrumented = instrument(text, &InstrumentOptions::default()).unwrap();
        let [mut device, mut plain] = [Device::new(), Device::new()];
        let buffer = device.allocate("records", BUFFER).unwrap();
        plain.allocate("records", BUFFER).unwrap();
        let module = load(&mut device, &instrumented.text);
        // Both devices have all else at the same addresses.
        if !instrumented.sites.is_empty() {
            plain.allocate("ring", CONTROL_BYTES as u64).unwrap();
        }
        // Hooks let the interpreter run blocks one after the other, for their atomic operations are
        // how blocks talk to each other. An atomic operation that is never reached does the same.
        let ordered = text.replace("ret;", "ret; red.global.add.u32 [0], 0;");
        let plain_module = load(&mut plain, &ordered);
        Run {
            device,
            module,
            options,
            stats: Stats::default(),
            instrumented,
            buffer,
            plain,
            plain_module,
            buffers: Vec::new(),
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
        let [address, other] = [&mut self.device, &mut self.plain].map(|device| {
            let address = device.allocate("buffer", size).unwrap();
            device.write(address, &bytes).unwrap();
            address
        });
        assert_eq!(address, other);
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
        let plain = self.plain.kernel(&self.plain_module, name, &self.options);
        let plain = plain.unwrap();
        let launch = plain.launch(grid, block, shared, arguments).unwrap();
        let mut sink = CollectorSink::new(WarpStream::new());
        sink.launch(&plain, &launch).unwrap();
        let stats = self.plain.launch(&plain, &launch, &self.options, &mut sink);
        self.stats = stats.unwrap_or_else(|error| panic!("{error}"));
        let expected = self.of_hooks(&plain, &sink.finish().unwrap());

        let kernel = self.kernel(name);
        let launch = kernel.launch(grid, block, shared, arguments).unwrap();
        let found = self.with_hooks(&kernel, &launch);
        for (warp, records) in &expected {
            assert_eq!(found.get(warp), Some(records), "{name}, {warp:?}");
        }
        assert_eq!(found.len(), expected.len(), "{name}");
        for &(address, size) in &self.buffers {
            let [with, without] = [&self.device, &self.plain].map(|it| it.read(address, size));
            assert!(with.unwrap() == without.unwrap(), "{name}: {address:#x}");
        }
    }

    /// Runs a kernel with hooks, and reads what they wrote.
    fn with_hooks(&mut self, kernel: &Kernel, launch: &LaunchConfig) -> Records {
        let Some(variable) = self.module.variable(&self.instrumented.variable) else {
            let stats = self
                .device
                .launch(kernel, launch, &self.options, &mut Ignore);
            stats.unwrap();
            return Records::new();
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
        let stream = WarpStream::read(&mut stream as &mut dyn WarpSource).unwrap();
        let sites = &self.instrumented.sites;
        records(&stream, |site| {
            let site = &sites[site as usize];
            Some((site.line, site.column))
        })
    }

    /// The records of the interpreter that hooks have too.
    fn of_hooks(&self, kernel: &Kernel, stream: &WarpStream) -> Records {
        let sites = self.instrumented.sites.iter();
        let hooked: BTreeSet<_> = sites.map(|site| (site.line, site.column)).collect();
        let left_out = self.instrumented.left_out.iter();
        let left_out: BTreeSet<u32> = left_out.map(|left| left.line).collect();
        records(stream, |site| {
            let site = &kernel.sites()[site as usize];
            let place = (site.position.line, site.position.column);
            let is_hooked = hooked.contains(&place);
            let is_known = site.opcode.contains(".param") || left_out.contains(&place.0);
            assert!(is_hooked || is_known, "{} at {place:?}", site.opcode);
            is_hooked.then_some(place)
        })
    }

    /// Enough blocks of 64 threads for `n`, in a line.
    pub fn line(&mut self, name: &str, n: usize, arguments: &[Argument]) {
        let mut all = vec![Argument::Integer(n as i128)];
        all.extend_from_slice(arguments);
        self.launch(name, [(n as u32).div_ceil(64), 1, 1], [64, 1, 1], 0, &all);
    }
}

/// Of each block and warp, in the order of execution: line and column, memory, kind, bytes, lanes
/// and addresses.
type Records = BTreeMap<(u32, u32), Vec<AccessTuple>>;

type AccessTuple = ((u32, u32), Space, WarpKind, u8, u32, Vec<u64>);

fn records(stream: &WarpStream, place: impl Fn(u32) -> Option<(u32, u32)>) -> Records {
    let mut found = Records::new();
    for batch in stream.launches.iter().flat_map(|it| &it.batches) {
        for row in batch.rows() {
            let Some(place) = place(row.site) else {
                continue;
            };
            found.entry((row.block, row.warp)).or_default().push((
                place,
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
