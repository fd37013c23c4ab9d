//! [`Device`]: a GPU in this process, for Python: the interpreter, the memory that kernels access,
//! and what was seen of them.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pyo3::exceptions::{PyMemoryError, PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use reuselens_cuda::KernelWatch;
use reuselens_gpu_advisor::{AdvisorOptions, GpuModel, LaunchContext, ObjectRange};
use reuselens_ptx::{
    Argument, Device as Interpreter, DeviceError, Kernel, LaunchConfig, LaunchError, Loaded,
    Options, PtxModule, Stats,
};
use reuselens_report::{
    GpuPageOptions, GpuRun, GpuTextOptions, SummedRun, gpu_csv, gpu_json, gpu_page, gpu_text,
};
use reuselens_units::shown_json;

use crate::KernelError;
use crate::host_memory::{ArrayView, Buffers, Region, copy_in, copy_out, join, regions};
use crate::run_names::{RunNames, object_ranges};
use crate::watch::Watch;

/// How long an interrupt from the keyboard can go unnoticed.
const PATIENCE: Duration = Duration::from_millis(50);
/// Accesses of a launch for which a better order of threads is looked for, as `reuselens profile`
/// does.
const MAPPED_ACCESSES: u32 = 1 << 16;

/// An argument of a kernel.
#[derive(FromPyObject)]
pub enum KernelArgument {
    /// An address: index of an array, and bytes from its base.
    Pointer((usize, u64)),
    /// An integer of any size.
    Integer(i128),
    /// A float.
    Float(f64),
    /// The bytes of the parameter.
    Bytes(Vec<u8>),
}

/// A GPU in this process.
#[pyclass(frozen, module = "reuselens._native")]
pub struct Device {
    state: Mutex<State>,
    stop: Arc<AtomicBool>,
}

struct State {
    device: Interpreter,
    options: Options,
    analysis: AdvisorOptions,
    /// None for those that have ended.
    modules: Vec<Option<Loaded>>,
    /// With the number of the module; none for those whose module has ended.
    kernels: Vec<Option<(usize, Kernel)>>,
    buffers: Buffers,
    watch: Watch,
    names: RunNames,
}

/// Why a launch failed.
enum Failure {
    /// The launch does not fit, or what was given does not.
    Refused(String),
    /// No memory.
    Memory(String),
    /// The kernel was stopped.
    Stopped(String),
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> PyErr {
        match failure {
            Failure::Refused(what) => PyValueError::new_err(what),
            Failure::Memory(what) => PyMemoryError::new_err(what),
            Failure::Stopped(what) => KernelError::new_err(what),
        }
    }
}

impl From<DeviceError> for Failure {
    fn from(error: DeviceError) -> Failure {
        match error {
            DeviceError::OutOfMemory {
                size,
                left,
                limit,
                name,
            } => Failure::Memory(format!(
                "'{name}' takes {size} bytes, and the device has {left} of {limit} left; make it \
                 smaller, or raise memory_limit"
            )),
            error => Failure::Refused(error.to_string()),
        }
    }
}

#[pymethods]
impl Device {
    #[new]
    #[pyo3(signature = (*, memory_limit=8 << 30, threads=None, max_instructions=1 << 40, gpu="hopper", caches=true))]
    fn new(
        memory_limit: u64,
        threads: Option<usize>,
        max_instructions: u64,
        gpu: &str,
        caches: bool,
    ) -> PyResult<Device> {
        let model: GpuModel = gpu
            .parse()
            .map_err(|error: String| PyValueError::new_err(format!("gpu={gpu:?}: {error}")))?;
        let analysis = AdvisorOptions {
            caches,
            bypass: caches,
            model,
            mapped_accesses: MAPPED_ACCESSES,
            ..AdvisorOptions::default()
        };
        let mut options = Options {
            max_instructions,
            flow: true,
            ..Options::default()
        };
        if let Some(threads) = threads {
            options.threads = threads.clamp(1, 256);
        }
        Ok(Device {
            stop: Arc::clone(&options.stop),
            state: Mutex::new(State {
                device: Interpreter::with_limit(memory_limit),
                options,
                analysis,
                modules: Vec::new(),
                kernels: Vec::new(),
                buffers: Buffers::default(),
                watch: Watch::new(analysis),
                names: RunNames::default(),
            }),
        })
    }

    /// Streaming multiprocessors of the GPU whose caches are modelled.
    fn multiprocessors(&self, py: Python<'_>) -> u32 {
        self.with(py, |state| state.analysis.model.sms)
    }

    /// Reads PTX; the number of the module.
    fn load(&self, py: Python<'_>, ptx: &str) -> PyResult<usize> {
        Ok(self.with(py, |state| state.load(ptx))?)
    }

    /// Ends a module, and frees its variables.
    fn unload(&self, py: Python<'_>, module: usize) {
        self.with(py, |state| state.unload(module));
    }

    /// Makes a kernel of a module ready; the kernel's number and the most threads of a block.
    fn kernel(&self, py: Python<'_>, module: usize, name: &str) -> PyResult<(usize, u64)> {
        Ok(self.with(py, |state| state.kernel(module, name))?)
    }

    /// Runs a kernel to its end; the instructions of warps and of threads.
    #[pyo3(signature = (kernel, grid, threads, shared, arguments, arrays, calls, *, cooperative=false))]
    #[expect(clippy::too_many_arguments, reason = "Python names them")]
    fn launch(
        &self,
        py: Python<'_>,
        kernel: usize,
        grid: [u32; 3],
        threads: u32,
        shared: u64,
        arguments: Vec<KernelArgument>,
        arrays: Vec<ArrayView>,
        calls: Vec<(String, String)>,
        cooperative: bool,
    ) -> PyResult<(u64, u64)> {
        let launch = Launch {
            kernel,
            grid,
            threads,
            shared,
            arguments,
            arrays,
            calls,
            cooperative,
        };
        let (stats, interrupt) = self.run(py, launch);
        if let Some(interrupt) = interrupt {
            return Err(interrupt);
        }
        let stats = stats?;
        Ok((stats.warp_instructions, stats.thread_instructions))
    }

    /// Takes what kernels have printed.
    fn take_printed(&self, py: Python<'_>) -> Vec<u8> {
        self.with(py, |state| state.device.take_printed())
    }

    /// Forgets what was seen of kernels.
    fn reset(&self, py: Python<'_>) {
        self.with(py, |state| {
            state.watch.reset(state.analysis);
            state.names = RunNames::default();
        });
    }

    /// The report as text.
    fn text(&self, py: Python<'_>, top: usize, width: usize, color: bool) -> String {
        let options = GpuTextOptions { top, width, color };
        self.with(py, |state| {
            gpu_text(&SummedRun::of(&state.run("")), &options)
        })
    }

    /// The run as JSON, as `.rlgpu` files have it.
    fn json(&self, py: Python<'_>, command: &str) -> String {
        self.with(py, |state| {
            let run = state.run(command);
            shown_json(&gpu_json(&SummedRun::of(&run))).into_owned()
        })
    }

    /// The run as a table of kernels, lines and arrays.
    fn csv(&self, py: Python<'_>) -> String {
        self.with(py, |state| gpu_csv(&SummedRun::of(&state.run(""))))
    }

    /// The run as a page, with the sources of its kernels.
    fn page(&self, py: Python<'_>, command: &str) -> String {
        self.with(py, |state| {
            let run = state.run(command);
            let sources = sources(&run);
            gpu_page(&SummedRun::of(&run), &GpuPageOptions { sources })
        })
    }

    /// A dict for each kernel and call path, in the order of the first launches.
    fn kernels<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let (reports, paths) = self.with(py, |state| {
            let reports = state.watch.reports();
            let paths = reports
                .iter()
                .map(|report| state.names.calls(report.call_path));
            let paths: Vec<Vec<(String, String)>> = paths
                .map(|calls| {
                    let calls = calls.iter();
                    calls
                        .map(|it| (it.function.clone(), it.place.clone()))
                        .collect()
                })
                .collect();
            (reports, paths)
        });
        let rows = reports.iter().zip(paths).map(|(report, calls)| {
            let row = PyDict::new(py);
            row.set_item("kernel", reuselens_ptx::without_parameters(&report.kernel))?;
            row.set_item("calls", calls)?;
            row.set_item("launches", report.launches.launches)?;
            row.set_item("warp_instructions", report.instructions.warps)?;
            row.set_item("thread_instructions", report.instructions.threads)?;
            row.set_item("requests", report.global.requests)?;
            row.set_item("sectors", report.global.sectors)?;
            row.set_item("excessive_sectors", report.global.excessive_sectors())?;
            let caches = report.caches.as_ref();
            let l2 = caches.map(|it| it.l2.loads + it.l2.stores);
            let missed =
                caches.map(|it| it.l2.loads + it.l2.stores - it.l2.load_hits - it.l2.store_hits);
            row.set_item("l1_hit_rate", caches.map(|it| it.l1.load_hit_rate()))?;
            row.set_item("l2_hit_rate", caches.map(|it| it.l2.hit_rate()))?;
            row.set_item("l2_sectors", l2)?;
            row.set_item("memory_sectors", missed)?;
            Ok(row)
        });
        rows.collect()
    }

    /// Writes the memory instructions of the launches from now on to a file.
    fn record(&self, py: Python<'_>, path: PathBuf, overwrite: bool, about: &str) -> PyResult<()> {
        let begun = self.with(py, |state| {
            if state.watch.is_recording() {
                return Err("a recording is running; end it first".to_owned());
            }
            state.watch.record(&path, overwrite, about)
        });
        begun.map_err(PyOSError::new_err)
    }

    /// Ends the recording; the number of records, none without a recording.
    fn stop_recording(&self, py: Python<'_>, keep: bool) -> PyResult<Option<u64>> {
        let ended = self.with(py, |state| state.watch.stop_recording(keep));
        ended.map_err(PyOSError::new_err)
    }
}

impl Device {
    /// Does something with the device while other threads may run Python.
    fn with<T: Send>(&self, py: Python<'_>, work: impl FnOnce(&mut State) -> T + Send) -> T {
        py.detach(|| work(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner)))
    }

    /// Runs a launch on a thread of its own, so that this one can look for interrupts.
    fn run(&self, py: Python<'_>, launch: Launch) -> (Result<Stats, Failure>, Option<PyErr>) {
        py.detach(|| {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            self.stop.store(false, Ordering::Relaxed);
            let state = &mut *state;
            let (done, is_done) = mpsc::channel::<()>();
            let mut interrupt = None;
            let ended = std::thread::scope(|scope| {
                let running = scope.spawn(move || {
                    let _done = done;
                    state.launch(launch)
                });
                // The sender goes away when the launch has ended, however it ended.
                while is_done.recv_timeout(PATIENCE) == Err(mpsc::RecvTimeoutError::Timeout) {
                    if let Err(error) = Python::attach(|py| py.check_signals()) {
                        self.stop.store(true, Ordering::Relaxed);
                        interrupt.get_or_insert(error);
                    }
                }
                running.join()
            });
            let ended = ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            (ended, interrupt)
        })
    }
}

/// What is launched.
struct Launch {
    kernel: usize,
    grid: [u32; 3],
    threads: u32,
    shared: u64,
    arguments: Vec<KernelArgument>,
    arrays: Vec<ArrayView>,
    calls: Vec<(String, String)>,
    cooperative: bool,
}

impl State {
    fn load(&mut self, ptx: &str) -> Result<usize, Failure> {
        let module = PtxModule::parse(ptx).map_err(DeviceError::from)?;
        self.modules.push(Some(self.device.load(module)?));
        Ok(self.modules.len() - 1)
    }

    fn unload(&mut self, module: usize) {
        let ended = self.modules.get_mut(module).and_then(Option::take);
        for (_, address, _) in ended.iter().flat_map(Loaded::variables) {
            self.device.free(address);
        }
        for kernel in &mut self.kernels {
            if kernel.as_ref().is_some_and(|(of, _)| *of == module) {
                *kernel = None;
            }
        }
    }

    fn kernel(&mut self, module: usize, name: &str) -> Result<(usize, u64), Failure> {
        let loaded = self.modules.get(module).and_then(Option::as_ref);
        let loaded = loaded
            .ok_or_else(|| Failure::Refused(format!("there is no module with number {module}")))?;
        let kernel = self.device.kernel(loaded, name, &self.options)?;
        let threads = kernel.max_threads().unwrap_or(1024);
        self.kernels.push(Some((module, kernel)));
        Ok((self.kernels.len() - 1, threads))
    }

    fn launch(&mut self, launch: Launch) -> Result<Stats, Failure> {
        let Launch {
            kernel: number,
            grid,
            arrays,
            ..
        } = launch;
        let call_path = self.names.call_path(launch.calls);
        let (mut regions, region_of) = regions(&arrays);
        self.buffers.place(&mut self.device, &mut regions)?;
        let kernel = self.kernels.get(number).and_then(Option::as_ref);
        let (_, kernel) = kernel
            .ok_or_else(|| Failure::Refused(format!("there is no kernel with number {number}")))?;
        let arguments = launch.arguments.into_iter();
        let arguments = arguments.map(|argument| placed(argument, &arrays, &regions, &region_of));
        let arguments = arguments.collect::<Result<Vec<Argument>, Failure>>()?;
        let mut config = kernel
            .launch(grid, [launch.threads, 1, 1], launch.shared, &arguments)
            .map_err(|error| Failure::Refused(error.to_string()))?;
        config.cooperative = launch.cooperative;
        let objects = objects(&mut self.names, call_path, &arrays, &regions, &region_of);
        for region in &regions {
            // SAFETY: Python holds the arrays that these bytes belong to until the launch is over.
            unsafe { copy_in(&mut self.device, region)? };
        }
        let ended = run_watched(
            &mut self.device,
            kernel,
            &config,
            &self.options,
            &mut self.watch,
            LaunchContext {
                call_path,
                objects: objects.clone().into(),
            },
        );
        let outcome = match &ended {
            Ok(_) => Ok(()),
            Err((message, address)) => Err((message.clone(), *address)),
        };
        self.names
            .launched(kernel.name(), call_path, &objects, outcome);
        for region in &regions {
            // SAFETY: as above; where an array may be written, so may its bytes.
            if !unsafe { copy_out(&self.device, region)? } {
                return Err(Failure::Refused(format!(
                    "kernel {} wrote to '{}', which is read-only; pass a copy (x.copy())",
                    kernel.name(),
                    region.name
                )));
            }
        }
        ended.map_err(|(message, _)| Failure::Stopped(message))
    }

    fn run(&self, command: &str) -> GpuRun {
        self.names.run(command, self.watch.reports())
    }
}

/// Runs a kernel under the eyes of the watch; or why it did not end well, with the address that it
/// accessed wrongly.
fn run_watched(
    device: &mut Interpreter,
    kernel: &Kernel,
    config: &LaunchConfig,
    options: &Options,
    watch: &mut Watch,
    context: LaunchContext,
) -> Result<Stats, (String, Option<u64>)> {
    let begun = watch.begin(kernel, config, &context);
    begun.map_err(|message| (message, None))?;
    let ended = device.launch(kernel, config, options, watch);
    let flow = device.take_flow();
    match ended {
        Ok(stats) => {
            watch.end(kernel, config, stats, flow.as_ref());
            Ok(stats)
        }
        Err(LaunchError::Refused(what)) => {
            watch.refuse(kernel, config);
            Err((what, None))
        }
        Err(LaunchError::Stopped(error)) => {
            watch.stop(kernel, config, flow.as_ref());
            let asserted = error.assertion();
            let asserted =
                asserted.map_or_else(String::new, |text| format!("\n{}", text.trim_end()));
            Err((format!("{error}{asserted}"), error.address()))
        }
    }
}

/// An argument with addresses of the device.
fn placed(
    argument: KernelArgument,
    arrays: &[ArrayView],
    regions: &[Region],
    region_of: &[usize],
) -> Result<Argument, Failure> {
    Ok(match argument {
        KernelArgument::Pointer((array, offset)) => {
            let view = arrays.get(array);
            let view = view.ok_or_else(|| {
                Failure::Refused(format!("there is no array with number {array}"))
            })?;
            let region = &regions[region_of[array]];
            Argument::Pointer(region.device + (view.base_address - region.start) + offset)
        }
        KernelArgument::Integer(value) => Argument::Integer(value),
        KernelArgument::Float(value) => Argument::Float(value),
        KernelArgument::Bytes(bytes) => Argument::Bytes(bytes),
    })
}

/// Where the arrays of a launch are on the device. Arrays that share bytes are one object.
fn objects(
    names: &mut RunNames,
    call_path: u32,
    arrays: &[ArrayView],
    regions: &[Region],
    region_of: &[usize],
) -> Vec<ObjectRange> {
    let mut order: Vec<usize> = (0..arrays.len()).collect();
    order.sort_by_key(|&index| (arrays[index].address, index));
    // First and last address of a part in the process, its region and label.
    let mut parts: Vec<(u64, u64, usize, String)> = Vec::new();
    for index in order {
        let view = &arrays[index];
        let end = view.address.saturating_add(view.nbytes);
        match parts.last_mut() {
            Some((_, last, region, label))
                if *region == region_of[index] && view.address < *last =>
            {
                *last = end.max(*last);
                join(label, &view.label);
            }
            _ => parts.push((view.address, end, region_of[index], view.label.clone())),
        }
    }
    let on_device = parts.into_iter().map(|(start, end, region, label)| {
        let object = names.object(&label, call_path, end - start);
        let region = &regions[region];
        let begin = region.device + (start - region.start);
        (begin..begin + (end - start), object)
    });
    object_ranges(on_device.collect())
}

/// The texts of the files that kernels have lines of, as far as they can be read.
fn sources(run: &GpuRun) -> BTreeMap<String, String> {
    let texts = run.files().into_iter().filter_map(|file| {
        let text = std::fs::read_to_string(&file).ok()?;
        Some((file, text))
    });
    texts.collect()
}

/// Writes a text to a file that appears whole.
#[pyfunction]
pub fn write_file(path: PathBuf, text: &str, overwrite: bool) -> PyResult<()> {
    use std::io::Write;
    let failed = |error: String| PyOSError::new_err(error);
    let mut file = reuselens_io::AtomicFile::create(&path, overwrite)
        .map_err(|error| failed(error.to_string()))?;
    file.write_all(text.as_bytes())
        .map_err(|error| PyRuntimeError::new_err(format!("{}: {error}", path.display())))?;
    file.commit().map_err(|error| failed(error.to_string()))?;
    Ok(())
}
