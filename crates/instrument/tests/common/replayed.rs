//! Launches that are replayed from records, beside the interpreter that watches them itself: memory
//! instructions of warps with their phases and positions, and control flow, are equal.

use std::collections::BTreeMap;

use reuselens_instrument::{
    CONTROL_BYTES, InstrumentOptions, Instrumented, RecordReplay, RingControl, instrument,
};
use reuselens_ptx::{
    Argument, CollectorSink, Device, FlowCounts, Ignore, Kernel, Loaded, Options, PtxModule,
    launch_record,
};
use reuselens_warp::{Space, WarpBatch, WarpKind, WarpStream};

/// Bytes of the buffer for records.
const BUFFER: u64 = 1 << 23;

/// Kernels whose launches are replayed otherwise: one that returns in the middle (a return with a
/// hook before it is another basic block to the interpreter, whose lanes meet elsewhere then), and
/// one whose functions call each other through pointers (where their lanes return to is not known).
const OTHERWISE: [&str; 2] = ["branches", "shapes"];

/// A module on a device with hooks for its flow, and on another without.
pub struct Replayed {
    devices: [Device; 2],
    modules: [Loaded; 2],
    instrumented: Instrumented,
    buffer: u64,
}

/// How a launch is configured.
pub type Configuration = ([u32; 3], [u32; 3], u64);

fn load(device: &mut Device, text: &str) -> Loaded {
    let module = PtxModule::parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    device.load(module).unwrap()
}

impl Replayed {
    /// The variable of the hooks has `room` bytes, as on all other devices.
    pub fn new(text: &str, room: u64) -> Replayed {
        let options = InstrumentOptions {
            flow: true,
            ..InstrumentOptions::default()
        };
        let instrumented = instrument(text, &options).unwrap();
        let mut devices = [Device::new(), Device::new()];
        let buffers = devices
            .each_mut()
            .map(|device| device.allocate("records", BUFFER).unwrap());
        // The variable of the hooks is declared before all others.
        devices[1].allocate("ring", room).unwrap();
        let variable = format!(".b64 reuselens_ring[{}];", room / 8);
        let hooks = (instrumented.text).replace(".b64 reuselens_ring[5];", &variable);
        let [hooked, plain] = &mut devices;
        // Hooks let blocks run one after the other: see `Run::new`.
        let ordered = text.replace("ret;", "ret; red.global.add.u32 [0], 0;");
        let modules = [load(hooked, &hooks), load(plain, &ordered)];
        Replayed {
            devices,
            modules,
            instrumented,
            buffer: buffers[0],
        }
    }

    pub fn set_stack(&mut self, bytes: u64) {
        for device in &mut self.devices {
            device.set_stack(Some(bytes));
        }
    }

    pub fn put(&mut self, bytes: &[u8], at: u64) {
        for device in &mut self.devices {
            let address = device.allocate("buffer", bytes.len() as u64).unwrap();
            assert_eq!(address, at);
            device.write(address, bytes).unwrap();
        }
    }

    pub fn launch(&mut self, name: &str, configuration: Configuration, arguments: &[Argument]) {
        if OTHERWISE.contains(&name) {
            return;
        }
        let options = options();
        let [hooked, plain] = [0, 1].map(|number| {
            let (device, module) = (&self.devices[number], &self.modules[number]);
            device.kernel(module, name, &options).unwrap()
        });
        let expected = self.watched(&plain, configuration, arguments);
        let Some(found) = self.replayed([&hooked, &plain], configuration, arguments) else {
            return;
        };
        let mut left_out = self.instrumented.left_out.iter();
        if !left_out.any(|it| !it.function.is_empty()) {
            assert_equal(&plain, found, expected);
        }
    }

    /// What the interpreter shows of a launch.
    fn watched(
        &mut self,
        kernel: &Kernel,
        (grid, block, shared): Configuration,
        arguments: &[Argument],
    ) -> (Records, FlowCounts) {
        let launch = kernel.launch(grid, block, shared, arguments).unwrap();
        let mut sink = CollectorSink::new(WarpStream::new());
        sink.launch(kernel, &launch).unwrap();
        let device = &mut self.devices[1];
        device
            .launch(kernel, &launch, &options(), &mut sink)
            .unwrap();
        let flow = device.take_flow().unwrap();
        let mut records = Records::new();
        let stream = sink.finish().unwrap();
        for batch in stream.launches.iter().flat_map(|it| &it.batches) {
            add(&mut records, kernel, batch);
        }
        (records, flow)
    }

    /// What a replay shows of it; none if the module has no hooks.
    fn replayed(
        &mut self,
        [hooked, plain]: [&Kernel; 2],
        (grid, block, shared): Configuration,
        arguments: &[Argument],
    ) -> Option<(Records, FlowCounts)> {
        let variable = self.modules[0].variable(&self.instrumented.variable)?;
        let device = &mut self.devices[0];
        let control = RingControl::empty(self.buffer, BUFFER);
        device.write(variable, &control.to_bytes()).unwrap();
        let launch = hooked.launch(grid, block, shared, arguments).unwrap();
        device
            .launch(hooked, &launch, &options(), &mut Ignore)
            .unwrap();
        let control = device.read(variable, CONTROL_BYTES as u64).unwrap();
        let control = RingControl::from_bytes(control.try_into().unwrap());
        let bytes = device.read(self.buffer, control.reserved.min(BUFFER));
        let mut records = Records::new();
        let replayed = RecordReplay::new(&self.instrumented, plain).run(
            &self.instrumented,
            plain,
            &launch_record(plain, &launch),
            (control, bytes.unwrap()),
            &mut |batch| add(&mut records, plain, batch),
        );
        let replayed = replayed.unwrap();
        assert_eq!(replayed.lost, 0, "{}: {control:?}", plain.name());
        Some((records, replayed.flow))
    }
}

fn options() -> Options {
    Options {
        threads: 1,
        flow: true,
        ..Options::default()
    }
}

fn assert_equal(
    kernel: &Kernel,
    (found, mut found_flow): (Records, FlowCounts),
    (expected, mut expected_flow): (Records, FlowCounts),
) {
    let name = kernel.name();
    for (warp, records) in &expected {
        let found = found.get(warp).map_or(&[][..], Vec::as_slice);
        let differs = found.iter().zip(records).position(|(a, b)| a != b);
        if let Some(at) = differs {
            let site = |record: &RecordTuple| &kernel.sites()[record.0 as usize];
            panic!(
                "{name}, {warp:?}: record {at} is {:?} of {:?}, not {:?} of {:?}",
                found[at],
                site(&found[at]),
                records[at],
                site(&records[at])
            );
        }
        assert_eq!(found.len(), records.len(), "{name}, {warp:?}");
    }
    assert_eq!(found.len(), expected.len(), "{name}");
    // Those after a return of a routine, which are made by what is added to the text.
    for flow in [&mut found_flow, &mut expected_flow] {
        flow.blocks.retain(|block| block.instructions > 0);
    }
    let blocks = found_flow.blocks.iter().zip(&expected_flow.blocks);
    for (found, expected) in blocks {
        assert_eq!(found, expected, "{name}");
    }
    assert_eq!(found_flow, expected_flow, "{name}");
}

/// Of each block and warp, in the order of execution: site, phase, position, memory, kind, bytes,
/// lanes, and addresses of what is no parameter.
type Records = BTreeMap<(u32, u32), Vec<RecordTuple>>;

type RecordTuple = (u32, (u32, u64), Space, WarpKind, u8, u32, Vec<u64>);

fn add(records: &mut Records, kernel: &Kernel, batch: &WarpBatch) {
    for row in batch.rows() {
        let is_passed = kernel.sites()[row.site as usize].opcode.contains(".param");
        let addresses = if is_passed { &[] } else { row.addresses };
        records.entry((row.block, row.warp)).or_default().push((
            row.site,
            (row.phase, row.position),
            row.space,
            row.kind,
            row.bytes,
            row.mask,
            addresses.to_vec(),
        ));
    }
}
