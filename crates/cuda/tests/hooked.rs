//! Kernels with hooks on a device of [`HookedDevice`]: their records are those of the interpreter,
//! and programs find the results that they find without hooks.
//!
//! The ten applications need nvcc (`NVCC` says which).

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use reuselens_cuda::{
    CudaFault, Device, DeviceVariable, FillValue, HookWatch, HookedDevice, HookedDeviceOptions,
    HookedLaunch, HookedModule, Interpreter, KernelCounts, KernelInfo, KernelLaunch, RecordBuffer,
    Status, run,
};
use reuselens_gpu_advisor::LaunchContext;
use reuselens_instrument::{CONTROL_BYTES, InstrumentOptions, SiteCounts};
use reuselens_ptx::{CollectorSink, Ignore, Options};
use reuselens_warp::{Launch, Space, WarpKind, WarpSource as _, WarpStep, WarpStream};
use tempfile::TempDir;

use crate::common::{compile, nvcc, programs};

/// Bytes of the buffer for records.
const BUFFER: u64 = 64 << 20;
/// Bytes of the devices' memory.
const MEMORY: u64 = 1 << 30;

/// Keeps the records of all launches.
#[derive(Default)]
struct Kept(WarpStream);

impl HookWatch for Kept {
    fn end(&mut self, launch: &HookedLaunch<'_>, _: &LaunchContext) -> Result<(), CudaFault> {
        assert_eq!(launch.lost(), 0, "{}", launch.launch().kernel);
        let mut stream = launch.stream().unwrap();
        let stream = WarpStream::read(&mut stream).unwrap();
        self.0.launches.extend(stream.launches);
        Ok(())
    }

    fn unseen(&mut self, kernel: &str, _: &LaunchContext, why: &str) {
        panic!("{kernel}: {why}");
    }
}

/// Two interpreters that do the same, one of them with hooks. What programs read is equal.
struct Twins {
    hooked: HookedDevice<Interpreter<Ignore>, Kept>,
    plain: Interpreter<(CollectorSink<WarpStream>, KernelCounts)>,
    has_buffer: bool,
}

impl Twins {
    fn new() -> Twins {
        let options = HookedDeviceOptions {
            buffer_bytes: BUFFER,
            ..HookedDeviceOptions::default()
        };
        let hooked = Interpreter::new(MEMORY, Options::default(), Ignore);
        let watch = (
            CollectorSink::new(WarpStream::new()),
            KernelCounts::default(),
        );
        Twins {
            hooked: HookedDevice::new(hooked, options, Kept::default()),
            plain: Interpreter::new(MEMORY, Options::default(), watch),
            has_buffer: false,
        }
    }
}

/// What both gave.
#[track_caller]
fn both<T: PartialEq + std::fmt::Debug>(
    hooked: Result<T, CudaFault>,
    plain: Result<T, CudaFault>,
) -> Result<T, CudaFault> {
    let status = |result: &Result<T, CudaFault>| result.as_ref().err().map(|it| it.status);
    assert_eq!(status(&hooked), status(&plain));
    if let (Ok(hooked), Ok(plain)) = (&hooked, &plain) {
        assert_eq!(hooked, plain);
    }
    hooked
}

impl Device for Twins {
    fn allocate(&mut self, bytes: u64, alignment: u64) -> Result<u64, CudaFault> {
        both(
            self.hooked.allocate(bytes, alignment),
            self.plain.allocate(bytes, alignment),
        )
    }

    fn free(&mut self, address: u64) -> Result<(), CudaFault> {
        both(self.hooked.free(address), self.plain.free(address))
    }

    fn read_into(&self, address: u64, to: &mut [u8]) -> Result<(), CudaFault> {
        let mut other = vec![0; to.len()];
        let plain = self.plain.read_into(address, &mut other);
        both(self.hooked.read_into(address, to), plain)?;
        assert!(to == other, "{address:#x}");
        Ok(())
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), CudaFault> {
        both(
            self.hooked.write(address, bytes),
            self.plain.write(address, bytes),
        )
    }

    fn fill(&mut self, address: u64, value: FillValue, count: u64) -> Result<(), CudaFault> {
        both(
            self.hooked.fill(address, value, count),
            self.plain.fill(address, value, count),
        )
    }

    fn copy(&mut self, to: u64, from: u64, bytes: u64) -> Result<(), CudaFault> {
        both(
            self.hooked.copy(to, from, bytes),
            self.plain.copy(to, from, bytes),
        )
    }

    /// The variable of the hooks has the place of a block.
    fn load(&mut self, fat_binary: &[u8]) -> Result<u64, CudaFault> {
        let hooked = self.hooked.load(fat_binary);
        if hooked.is_ok() {
            self.plain.allocate(CONTROL_BYTES as u64, 1)?;
        }
        both(hooked, self.plain.load(fat_binary))
    }

    fn unload(&mut self, module: u64) -> Result<Vec<u64>, CudaFault> {
        both(self.hooked.unload(module), self.plain.unload(module))
    }

    fn kernel(&mut self, module: u64, name: &str) -> Result<(u64, KernelInfo), CudaFault> {
        both(
            self.hooked.kernel(module, name),
            self.plain.kernel(module, name),
        )
    }

    fn variable(&self, module: u64, name: &str) -> Result<(u64, u64), CudaFault> {
        both(
            self.hooked.variable(module, name),
            self.plain.variable(module, name),
        )
    }

    fn variables(&self, module: u64) -> Vec<DeviceVariable> {
        let variables = self.hooked.variables(module);
        assert_eq!(variables, self.plain.variables(module));
        variables
    }

    fn launch(&mut self, launch: &KernelLaunch, context: &LaunchContext) -> Result<(), CudaFault> {
        if !std::mem::replace(&mut self.has_buffer, true) {
            self.plain.allocate(BUFFER, 256)?;
        }
        both(
            self.hooked.launch(launch, context),
            self.plain.launch(launch, context),
        )
    }

    fn set_heap(&mut self, bytes: u64) -> Result<(), CudaFault> {
        both(self.hooked.set_heap(bytes), self.plain.set_heap(bytes))
    }

    fn take_printed(&mut self) -> Vec<u8> {
        let printed = self.hooked.take_printed();
        assert_eq!(printed, self.plain.take_printed());
        printed
    }

    fn memory(&self) -> (u64, u64) {
        self.hooked.memory()
    }

    fn stop(&self) -> Arc<AtomicBool> {
        self.hooked.stop()
    }

    fn addresses(&self) -> Range<u64> {
        self.hooked.addresses()
    }
}

/// Of each block and warp, in the order of execution: the instruction and its place, phase, memory,
/// kind, bytes, lanes and addresses.
type Records = BTreeMap<(u32, u32), Vec<AccessTuple>>;

type AccessTuple = ((String, String), u32, Space, WarpKind, u8, u32, Vec<u64>);

/// The records of a launch. Accesses of parameters have no hooks.
fn records(stream: &WarpStream, number: usize) -> (Launch, Records) {
    let recorded = &stream.launches[number];
    let mut found = Records::new();
    for row in recorded.batches.iter().flat_map(|batch| batch.rows()) {
        if row.space == Space::Parameter {
            continue;
        }
        let site = &recorded.launch.sites[row.site as usize];
        found.entry((row.block, row.warp)).or_default().push((
            (site.text.clone(), site.place.clone()),
            row.phase,
            row.space,
            row.kind,
            row.bytes,
            row.mask,
            row.addresses.to_vec(),
        ));
    }
    let launch = Launch {
        sites: Arc::default(),
        ..recorded.launch.clone()
    };
    (launch, found)
}

/// The ten applications, each with small sizes.
const APPLICATIONS: [(&str, &[&str]); 10] = [
    ("backprop", &["256"]),
    ("bfs", &["2000", "6"]),
    ("bicg", &["64", "64"]),
    ("hotspot", &["48", "4"]),
    ("lavaMD", &["2"]),
    ("nn", &["2000"]),
    ("nw", &["64"]),
    ("srad_v2", &["32", "2"]),
    ("syr2k", &["32", "32"]),
    ("syrk", &["32", "32"]),
];

/// One program of the ten, whose first argument says which: nvcc takes as long for one of them.
fn ten_applications(folder: &TempDir, nvcc: &str) -> PathBuf {
    let (source, program) = (folder.path().join("ten.cu"), folder.path().join("ten"));
    let path = |name: &str| programs().join(name).display().to_string();
    let headers = ["algorithm", "cmath", "cstring", "utility", "vector"];
    let headers = headers.map(|name| format!("#include <{name}>\n")).concat();
    let parts = APPLICATIONS.map(|(name, _)| {
        format!(
            "namespace {name} {{\n#include \"{}\"\n}}\n",
            path(&format!("{name}.cu"))
        )
    });
    let calls = APPLICATIONS.map(|(name, _)| {
        format!("if (!strcmp(argv[1], \"{name}\")) return {name}::main(argc - 1, argv + 1);\n")
    });
    let text = format!(
        "{headers}#include \"{}\"\n{}int main(int argc, char **argv) {{\n{}return 9;\n}}\n",
        path("options.h"),
        parts.concat(),
        calls.concat()
    );
    std::fs::write(&source, text).unwrap();
    compile(nvcc, &source, &program, &[]);
    program
}

#[test]
fn records_of_the_ten_applications_are_those_of_the_interpreter() {
    let Some(nvcc) = nvcc() else { return };
    let folder = TempDir::new().unwrap();
    let program = ten_applications(&folder, &nvcc);
    for (name, arguments) in APPLICATIONS {
        let mut command = vec![program.clone().into_os_string(), name.into()];
        command.extend(arguments.iter().map(OsString::from));
        let mut running = run(&command, Twins::new(), true).unwrap();
        let ended = loop {
            if let Some(ended) = running.try_wait().unwrap() {
                break ended;
            }
            std::thread::sleep(Duration::from_millis(2));
        };
        let (refused, _, Twins { hooked, plain, .. }) = running.finish();
        assert!(ended.success(), "{name}: {ended} {refused:?}");
        let hooked = hooked.into_parts().1.0;
        let plain = plain.into_watch().0.finish().unwrap();
        assert!(!hooked.launches.is_empty(), "{name}");
        assert_eq!(hooked.launches.len(), plain.launches.len(), "{name}");
        for number in 0..hooked.launches.len() {
            let [(launch, records), (expected, wanted)] =
                [&hooked, &plain].map(|stream| self::records(stream, number));
            assert_eq!(launch, expected, "{name}, launch {number}");
            assert!(!records.is_empty(), "{name}, launch {number}");
            for (warp, rows) in &wanted {
                assert_eq!(
                    records.get(warp),
                    Some(rows),
                    "{name}, launch {number}, {warp:?}"
                );
            }
            assert_eq!(records.len(), wanted.len(), "{name}, launch {number}");
        }
    }
}

/// Each thread adds its number to a word of its own.
const ADDS: &str = ".version 7.0\n.target sm_70\n.address_size 64\n\
    .visible .entry add(.param .u64 a) {\n.reg .b64 %x<3>; .reg .b32 %r<3>;\n\
    ld.param.u64 %x1, [a];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %x2, %r1, 4;\n\
    add.u64 %x1, %x1, %x2;\nld.global.u32 %r2, [%x1];\nadd.u32 %r2, %r2, %r1;\n\
    st.global.u32 [%x1], %r2;\nret; }\n";

/// Bytes of a record of 32 lanes.
const RECORD: u64 = 16 + 32 * 8;

#[test]
fn buffer_grows_after_records_were_lost() {
    let mut device = Interpreter::new(1 << 20, Options::default(), Ignore);
    let hooks = InstrumentOptions::default();
    let mut module = HookedModule::load(&mut device, ADDS.as_bytes(), &hooks).unwrap();
    let (kernel, info) = device.kernel(module.number(), "add").unwrap();
    assert_eq!(info.param_bytes, 8);
    assert!(module.variables(&device).is_empty());
    let words = device.allocate(4 * 64, 4).unwrap();
    // Four records: two instructions of two warps.
    let launch = KernelLaunch {
        kernel,
        grid: [1; 3],
        block: [64, 1, 1],
        params: words.to_le_bytes().to_vec(),
        ..KernelLaunch::default()
    };
    let limit = 3 * RECORD;
    let mut buffer = RecordBuffer::new(&mut device, 0, limit).unwrap();
    // The least buffer has 512 bytes, and the limit is too small for all.
    let context = LaunchContext::default();
    for (bytes, lost) in [(512, 3), (limit, 1), (limit, 1)] {
        let ended = buffer.launch(&mut device, &mut module, "add", &launch, &context);
        let ended = ended.unwrap();
        assert_eq!(
            (ended.lost(), ended.needed_bytes()),
            (lost, 4 * RECORD),
            "{bytes}"
        );
        assert_eq!(ended.bytes(), (4 - lost) * RECORD);
        let mut stream = ended.stream().unwrap();
        let first = stream.next(&mut Default::default()).unwrap();
        assert!(matches!(first, WarpStep::Launch(ref it) if it.kernel == "add"));
        let mut stream = ended.stream().unwrap();
        assert_eq!(WarpStream::read(&mut stream).unwrap().records(), 4 - lost);
        assert_eq!(buffer.bytes(), bytes);
    }
    // What the kernel calculates does not depend on the buffer: three launches added.
    let mut bytes = [0; 4 * 64];
    device.read_into(words, &mut bytes).unwrap();
    let found = bytes
        .chunks(4)
        .map(|word| u32::from_le_bytes(word.try_into().unwrap()));
    assert!(found.eq((0..64).map(|thread| 3 * thread)));
    let free = device.memory().0;
    buffer.free(&mut device).unwrap();
    assert!(device.memory().0 >= free + limit);
}

#[test]
fn launches_without_records_say_why() {
    #[derive(Default)]
    struct Whys(Vec<String>, u64);
    impl HookWatch for Whys {
        fn end(&mut self, launch: &HookedLaunch<'_>, _: &LaunchContext) -> Result<(), CudaFault> {
            self.1 += launch.stream().unwrap().counts().len() as u64;
            Ok(())
        }
        fn unseen(&mut self, kernel: &str, _: &LaunchContext, why: &str) {
            self.0.push(format!("{kernel}: {why}"));
        }
    }
    let device = Interpreter::new(1 << 28, Options::default(), Ignore);
    let options = HookedDeviceOptions::default();
    let mut device = HookedDevice::new(device, options, Whys::default());
    let old = ADDS.replace("7.0", "6.0");
    let words = device.allocate(4 * 32, 4).unwrap();
    let mut run = |text: &str, address: u64| {
        let module = device.load(text.as_bytes()).unwrap();
        let launch = KernelLaunch {
            kernel: device.kernel(module, "add").unwrap().0,
            grid: [1; 3],
            block: [32, 1, 1],
            params: address.to_le_bytes().to_vec(),
            ..KernelLaunch::default()
        };
        device.launch(&launch, &LaunchContext::default())
    };
    run(&old, words).unwrap();
    assert_eq!(run(ADDS, 1).unwrap_err().status, Status::ILLEGAL_ADDRESS);
    run(ADDS, words).unwrap();
    let Whys(whys, ended) = device.into_parts().1;
    assert_eq!(ended, 2);
    let [no_hooks, stopped] = &whys[..] else {
        panic!("{whys:?}")
    };
    assert!(no_hooks.contains("activemask"), "{no_hooks}");
    assert!(stopped.contains("out of bounds"), "{stopped}");
}

#[test]
fn counts_are_summed_on_the_device_until_they_are_cleared() {
    let mut device = Interpreter::new(1 << 20, Options::default(), Ignore);
    let hooks = InstrumentOptions {
        counts: true,
        ..InstrumentOptions::default()
    };
    let mut module = HookedModule::load(&mut device, ADDS.as_bytes(), &hooks).unwrap();
    let words = device.allocate(4 * 40, 4).unwrap();
    let launch = KernelLaunch {
        kernel: device.kernel(module.number(), "add").unwrap().0,
        grid: [1; 3],
        block: [40, 1, 1],
        params: words.to_le_bytes().to_vec(),
        ..KernelLaunch::default()
    };
    let mut buffer = RecordBuffer::new(&mut device, 0, 0).unwrap();
    let context = LaunchContext::default();
    for times in [1, 2, 1] {
        if times == 1 {
            module.clear_counts(&mut device).unwrap();
        }
        let ended = buffer.launch(&mut device, &mut module, "add", &launch, &context);
        assert_eq!(ended.unwrap().bytes(), 0);
        let counts = module.counts(&device).unwrap();
        // A load and a store, each by two warps.
        let expected = SiteCounts {
            warps: 2 * times,
            mixed: 0,
            threads: 40 * times,
            taken: 40 * times,
        };
        assert_eq!(counts, [expected; 2]);
    }
}
