//! [`DriverDevice`]: a GPU by its driver.

use std::collections::HashMap;
use std::ffi::CString;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use reuselens_cuda::fatbin::{DeviceCode, FatBinaryError};
use reuselens_cuda::{
    CudaFault, Device, DeviceVariable, FillValue, KernelInfo, KernelLaunch, Status, check_alignment,
};
use reuselens_gpu_advisor::{LaunchContext, VariableSpace};
use reuselens_ptx::{DeviceError, PtxModule, readable};

use crate::call::{Failure, PreparedLaunch};
use crate::driver::{Driver, KernelHandle, ModuleHandle};
use crate::error::DriverError;

/// Shared memory of a block that each GPU gives without being asked for more.
const PLAIN_SHARED_BYTES: u64 = 48 << 10;
/// Times that a kernel's end is asked for before the thread lets others run.
const EAGER_QUERIES: u32 = 1 << 12;
/// A wait sleeps between queries once it has taken this long.
const SLEEPLESS: Duration = Duration::from_millis(2);
/// The longest sleep between two queries.
const LONGEST_SLEEP: Duration = Duration::from_millis(1);
/// Bytes that a copy between places that overlap moves at a time.
const PART_BYTES: u64 = 64 << 10;

/// A GPU by its driver.
///
/// It is the context that all users of CUDA in a process share (the primary one). The driver's
/// compiler makes machine code of the PTX that a fat binary has; files that are to be linked are
/// refused. The driver prints what kernels print, to the standard output of the process when a
/// kernel has ended, and [`Device::take_printed`] has nothing. A driver ends no kernel: the flag of
/// [`Device::stop`] ends the wait for one, and later calls wait for it. An access out of bounds
/// that a GPU notices ends all work of the process on it: each later call returns that error.
///
/// The limits of the context are shared, too. [`KernelLaunch::stack_bytes`] changes the limit of a
/// thread's stack while that kernel runs, and restores it; kernels that other threads launch at the
/// same time have the changed one.
#[derive(Debug)]
pub struct DriverDevice {
    driver: Driver,
    /// `None` for those that have ended.
    modules: Vec<Option<LoadedModule>>,
    kernels: Vec<ReadyKernel>,
    numbers: HashMap<(u64, String), u64>,
    stop: Arc<AtomicBool>,
    /// The limit of a thread's stack before a launch changed it, until it is restored.
    stack_before: Option<u64>,
    /// Why nothing works any more.
    lost: OnceLock<CudaFault>,
}

/// A module on the GPU.
#[derive(Debug)]
struct LoadedModule {
    handle: ModuleHandle,
    /// None of machine code.
    code: Option<PtxModule>,
    variables: Vec<DeviceVariable>,
}

/// A kernel on the GPU.
#[derive(Clone, Debug)]
struct ReadyKernel {
    handle: KernelHandle,
    /// The number of its module.
    module: u64,
    name: String,
    info: KernelInfo,
    /// Bytes of shared memory that launches may add.
    permitted: u64,
}

impl DriverDevice {
    /// Opens the driver of this machine, and takes a GPU, from 0. CUDA starts for this process
    /// then, which takes some tenths of a second.
    ///
    /// # Errors
    /// If there is no driver or no such GPU, or the driver is older than CUDA 11.0.
    pub fn open(number: u32) -> Result<DriverDevice, DriverError> {
        Driver::open(number).map(DriverDevice::new)
    }

    /// The device of a driver.
    pub(crate) fn new(driver: Driver) -> DriverDevice {
        DriverDevice {
            driver,
            modules: Vec::new(),
            kernels: Vec::new(),
            numbers: HashMap::new(),
            stop: Arc::default(),
            stack_before: None,
            lost: OnceLock::new(),
        }
    }

    /// Why nothing works any more; none while it does. What a kernel of a program did wrong
    /// ([`Status::is_fatal`]) is a reason, too.
    pub fn lost(&self) -> Option<&CudaFault> {
        self.lost.get()
    }

    /// That the GPU still works.
    fn works(&self) -> Result<(), CudaFault> {
        self.lost.get().cloned().map_or(Ok(()), Err)
    }

    /// What a call that failed comes to.
    fn fault(&self, failure: Failure) -> CudaFault {
        self.fault_of(failure, "")
    }

    /// The same, with whose call it was. What the GPU does not outlive is kept for later calls.
    fn fault_of(&self, failure: Failure, whose: &str) -> CudaFault {
        let Failure { call, code } = failure;
        let what = format!("{whose}{call} returns {}", self.driver.name(code));
        let message = match code {
            OUT_OF_MEMORY => {
                let left = self.driver.memory();
                let left = left.map_or(String::new(), |(free, all)| {
                    format!(", with {free} of {all} bytes free")
                });
                format!("{what}{left}; nvidia-smi lists the programs that have memory of the GPU")
            }
            _ if is_lost(code) => format!(
                "{what}; the GPU does not work for this process any more: start the program again, \
                 and look with compute-sanitizer at its kernels and with nvidia-smi at the GPU"
            ),
            _ => what,
        };
        let fault = CudaFault::new(Status(code), message);
        if is_lost(code) {
            // The first one is the cause of those that follow.
            let _ = self.lost.set(fault.clone());
        }
        fault
    }

    /// Passes on what a call returned.
    fn pass<T>(&self, result: Result<T, Failure>) -> Result<T, CudaFault> {
        result.map_err(|failure| self.fault(failure))
    }

    /// That bytes are in one block, on a GPU that works.
    fn check(&self, address: u64, bytes: u64) -> Result<(), CudaFault> {
        self.works()?;
        if self.driver.check(address, bytes) {
            return Ok(());
        }
        Err(DeviceError::OutOfBounds {
            address,
            size: bytes,
        }
        .into())
    }

    fn module(&self, module: u64) -> Result<&LoadedModule, CudaFault> {
        let found = usize::try_from(module)
            .ok()
            .and_then(|index| self.modules.get(index)?.as_ref());
        found.ok_or_else(|| {
            let what = format!("there is no module {module}");
            CudaFault::new(Status::INVALID_IMAGE, what)
        })
    }

    /// Loads PTX; its handle.
    fn load_text(&mut self, text: &str) -> Result<ModuleHandle, CudaFault> {
        let code = c_string(text, Status::INVALID_PTX)?;
        let loaded = self.driver.load(&code);
        loaded.map_err(|refused| self.load_fault(refused))
    }

    /// Loads what has machine code only; its number.
    fn load_machine_code(&mut self, code: &[u8]) -> Result<u64, CudaFault> {
        let loaded = self.driver.load_machine_code(code);
        let handle = loaded.map_err(|refused| self.load_fault(refused))?;
        self.modules.push(Some(LoadedModule {
            handle,
            code: None,
            variables: Vec::new(),
        }));
        Ok(self.modules.len() as u64 - 1)
    }

    /// What a module that the driver refused comes to, with what its compiler says.
    fn load_fault(&self, (failure, log): (Failure, String)) -> CudaFault {
        let fault = self.fault(failure);
        let advice = match failure.code {
            UNSUPPORTED_PTX => format!(
                "; the driver is one for {}, and PTX of a newer CUDA needs a newer driver",
                self.cuda()
            ),
            NO_BINARY | INVALID_PTX => {
                "; PTX runs on GPUs of its .target's compute capability and later ones, machine \
                 code on those that it is for"
                    .to_owned()
            }
            _ => String::new(),
        };
        let log = match &log[..] {
            "" => log,
            _ => format!(": {log}"),
        };
        CudaFault {
            message: format!("{}{log}{advice}", fault.message),
            ..fault
        }
    }

    /// The version of CUDA that the driver is for.
    fn cuda(&self) -> String {
        let version = self.driver.version();
        format!("CUDA {}.{}", version / 1000, version % 1000 / 10)
    }

    /// The parameters of a kernel that the driver has as machine code, and the bytes of all.
    fn machine_code_params(
        &self,
        handle: ModuleHandle,
        name: &str,
    ) -> Result<(Vec<(u64, u64)>, u64), CudaFault> {
        let name_in_c = c_string(name, Status::INVALID_FUNCTION)?;
        let params = self.pass(self.driver.params(handle, &name_in_c))?;
        let params = params.ok_or_else(|| {
            let what = format!(
                "kernel {} has machine code only, and the driver, one for {}, does not report its \
                 parameters, as those of CUDA 12.4 and later do; update the driver, or compile \
                 with PTX (nvcc -gencode arch=compute_XX,code=compute_XX)",
                readable(name),
                self.cuda()
            );
            CudaFault::new(Status::NOT_SUPPORTED, what)
        })?;
        let ends = params.iter().map(|(offset, bytes)| offset + bytes);
        let end = ends.max().unwrap_or_default();
        Ok((params, end))
    }

    /// The variables of a module that the driver has: it leaves out what no kernel uses.
    fn find_variables(
        &mut self,
        handle: ModuleHandle,
        code: &PtxModule,
    ) -> Result<Vec<DeviceVariable>, CudaFault> {
        let mut found = Vec::new();
        for (name, is_constant) in code.variables() {
            match self
                .driver
                .variable(handle, &c_string(name, Status::INVALID_SYMBOL)?)
            {
                Ok((address, bytes)) => found.push(DeviceVariable {
                    name: name.to_owned(),
                    address,
                    bytes,
                    space: if is_constant {
                        VariableSpace::Constant
                    } else {
                        VariableSpace::Global
                    },
                }),
                Err(failure) if failure.code == NOT_FOUND => {}
                Err(failure) => return Err(self.fault(failure)),
            }
        }
        Ok(found)
    }

    /// Finds a kernel that was not asked for before.
    fn find_kernel(&mut self, module: u64, name: &str) -> Result<ReadyKernel, CudaFault> {
        let loaded = self.module(module)?;
        let handle = loaded.handle;
        let (params, param_bytes, architecture) = match &loaded.code {
            Some(code) => {
                let Some(params) = code.params(name) else {
                    let what = format!("the device code has no kernel {}", readable(name));
                    return Err(CudaFault::new(Status::INVALID_FUNCTION, what));
                };
                let (params, bytes) = params.map_err(DeviceError::from)?;
                let params = params.iter().map(|it| (it.offset, it.size)).collect();
                (params, bytes, Some(code.architecture()))
            }
            None => {
                let (params, bytes) = self.machine_code_params(handle, name)?;
                (params, bytes, None)
            }
        };
        let name_in_c = c_string(name, Status::INVALID_FUNCTION)?;
        let found = self.driver.kernel(handle, &name_in_c, param_bytes);
        let handle = self.pass(found)?;
        let numbers = [MAX_THREADS, SHARED_BYTES, LOCAL_BYTES];
        let mut values = [0; 3];
        for (value, number) in values.iter_mut().zip(numbers) {
            let found = self.driver.attribute(handle, number);
            *value = self.pass(found)?;
        }
        let [max_threads, shared_bytes, local_bytes] = values;
        let architecture = match architecture {
            Some(architecture) => architecture.into(),
            None => self.pass(self.driver.attribute(handle, BINARY_VERSION))?,
        };
        Ok(ReadyKernel {
            handle,
            module,
            name: readable(name),
            info: KernelInfo {
                max_threads,
                shared_bytes,
                local_bytes,
                param_bytes,
                architecture,
                params,
            },
            permitted: PLAIN_SHARED_BYTES.saturating_sub(shared_bytes),
        })
    }

    /// The kernel of a launch, with what the launch needs beforehand.
    fn prepare(&mut self, launch: &KernelLaunch) -> Result<ReadyKernel, CudaFault> {
        let index = usize::try_from(launch.kernel).ok();
        let found = index.and_then(|index| Some((index, self.kernels.get(index)?.clone())));
        let found = found.filter(|(_, kernel)| self.module(kernel.module).is_ok());
        let no_kernel = || CudaFault::new(Status::INVALID_FUNCTION, "there is no such kernel");
        let (index, mut kernel) = found.ok_or_else(no_kernel)?;
        let (takes, given) = (kernel.info.param_bytes, launch.params.len());
        if takes != given as u64 {
            return Err(CudaFault::new(
                Status::INVALID_CONFIGURATION,
                format!(
                    "kernel {} takes {takes} bytes of parameters, and {given} were given",
                    kernel.name
                ),
            ));
        }
        let shared = shared_bytes(launch)?;
        if launch.shared_bytes > kernel.permitted {
            let permitted = self.driver.permit_shared(kernel.handle, shared);
            self.pass(permitted)
                .map_err(|fault| configuration_fault(&kernel, launch, fault))?;
            kernel.permitted = launch.shared_bytes;
            self.kernels[index].permitted = launch.shared_bytes;
        }
        Ok(kernel)
    }

    /// Gives the threads of the next launch a stack. The limit is asked for each time, as all users
    /// of the context share it.
    fn set_stack(&mut self, bytes: u64) -> Result<(), CudaFault> {
        let before = self.pass(self.driver.stack())?;
        if before != bytes {
            let set = self.driver.set_stack(bytes);
            self.pass(set)?;
            self.stack_before = Some(before);
        }
        Ok(())
    }

    /// Restores the limit of a thread's stack, if a launch changed it.
    fn restore_stack(&mut self) -> Result<(), CudaFault> {
        match self.stack_before.take() {
            Some(before) => {
                let set = self.driver.set_stack(before);
                self.pass(set)
            }
            None => Ok(()),
        }
    }

    /// Begins a kernel, and waits for its end or for the flag that ends the wait.
    fn run(&mut self, kernel: &ReadyKernel, launch: &KernelLaunch) -> Result<(), CudaFault> {
        let params = &kernel.info.params[..];
        let begun = self.driver.launch(
            kernel.handle,
            PreparedLaunch {
                grid: launch.grid,
                block: launch.block,
                shared_bytes: shared_bytes(launch)?,
                params: &mut launch.params.clone(),
                cooperative_params: launch.is_cooperative.then_some(params),
            },
        );
        self.pass(begun)
            .map_err(|fault| configuration_fault(kernel, launch, fault))?;
        self.wait(kernel)
    }

    /// Waits for the end of a kernel, or for the flag that ends the wait.
    fn wait(&self, kernel: &ReadyKernel) -> Result<(), CudaFault> {
        let mut queries = 0;
        let begin = Instant::now();
        loop {
            match self.driver.is_ready() {
                Ok(true) => return Ok(()),
                Ok(false) if self.stop.load(Ordering::Relaxed) => {
                    let what = format!(
                        "kernel {} is not waited for any longer; a driver ends no kernel, so later \
                         calls wait for it",
                        kernel.name
                    );
                    return Err(CudaFault::new(Status::TIMEOUT, what));
                }
                Ok(false) if queries < EAGER_QUERIES => {
                    queries += 1;
                    std::hint::spin_loop();
                }
                Ok(false) => match sleep_after(begin.elapsed()) {
                    Some(time) => std::thread::sleep(time),
                    None => std::thread::yield_now(),
                },
                Err(failure) => {
                    return Err(self.fault_of(failure, &format!("kernel {}: ", kernel.name)));
                }
            }
        }
    }
}

/// How long a thread sleeps that has waited for a kernel for a time: a sixteenth of it, so that the
/// end is noticed late by that part at most, and no longer than [`LONGEST_SLEEP`].
fn sleep_after(waited: Duration) -> Option<Duration> {
    (waited >= SLEEPLESS).then(|| (waited / 16).min(LONGEST_SLEEP))
}

impl Device for DriverDevice {
    fn allocate(&mut self, bytes: u64, alignment: u64) -> Result<u64, CudaFault> {
        self.works()?;
        check_alignment(alignment)?;
        let taken = self.driver.allocate(bytes, alignment);
        let asked = format!("{bytes} bytes at a multiple of {alignment} are asked for: ");
        let address = taken.map_err(|failure| self.fault_of(failure, &asked))?;
        if bytes > 0
            && let Err(failure) = self.driver.fill_bytes(address, 0, bytes)
        {
            let fault = self.fault_of(failure, &asked);
            // The caller has no address to give back. The first error is the one to return.
            let _ = self.driver.free(address);
            return Err(fault);
        }
        Ok(address)
    }

    fn free(&mut self, address: u64) -> Result<(), CudaFault> {
        self.works()?;
        match self.driver.free(address) {
            Some(freed) => self.pass(freed),
            None => {
                let what = format!("{address:#x} is freed, and no block begins there");
                Err(CudaFault::new(Status::INVALID_VALUE, what))
            }
        }
    }

    fn read_into(&self, address: u64, to: &mut [u8]) -> Result<(), CudaFault> {
        self.check(address, to.len() as u64)?;
        if to.is_empty() {
            return Ok(());
        }
        self.pass(self.driver.read(address, to))
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), CudaFault> {
        self.check(address, bytes.len() as u64)?;
        if bytes.is_empty() {
            return Ok(());
        }
        let written = self.driver.write(address, bytes);
        self.pass(written)
    }

    fn fill(&mut self, address: u64, value: FillValue, count: u64) -> Result<(), CudaFault> {
        self.check(address, value.bytes(address, count)?)?;
        if count == 0 {
            return Ok(());
        }
        let filled = match value {
            FillValue::Byte(byte) => self.driver.fill_bytes(address, byte, count),
            FillValue::Half(half) => self.driver.fill_halves(address, half, count),
            FillValue::Word(word) => self.driver.fill_words(address, word, count),
        };
        self.pass(filled)
    }

    fn copy(&mut self, to: u64, from: u64, bytes: u64) -> Result<(), CudaFault> {
        self.check(to, bytes)?;
        self.check(from, bytes)?;
        if bytes == 0 || to == from {
            return Ok(());
        }
        if to.abs_diff(from) >= bytes {
            let copied = self.driver.copy(to, from, bytes);
            return self.pass(copied);
        }
        // The places overlap, which the driver does not permit: part by part through this process,
        // from the end that is not written before it is read.
        let mut room = vec![0; bytes.min(PART_BYTES) as usize];
        let mut done = 0;
        while done < bytes {
            let part = (bytes - done).min(PART_BYTES);
            let at = if to < from { done } else { bytes - done - part };
            let room = &mut room[..part as usize];
            let moved = self.driver.read(from + at, room);
            let moved = moved.and_then(|()| self.driver.write(to + at, room));
            self.pass(moved)?;
            done += part;
        }
        Ok(())
    }

    fn set_heap(&mut self, bytes: u64) -> Result<(), CudaFault> {
        self.works()?;
        let asked = format!("a heap of {bytes} bytes for kernels is asked for: ");
        let set = self.driver.set_heap(bytes);
        set.map_err(|failure| self.fault_of(failure, &asked))
    }

    fn load(&mut self, fat_binary: &[u8]) -> Result<u64, CudaFault> {
        self.works()?;
        let text = match DeviceCode::read(fat_binary) {
            Ok(DeviceCode::Single(text)) => text,
            Err(error @ (FatBinaryError::NoPtx { .. } | FatBinaryError::MachineCode { .. })) => {
                return self
                    .load_machine_code(fat_binary)
                    .map_err(|fault| CudaFault {
                        message: format!("{}: {error}", fault.message),
                        ..fault
                    });
            }
            Err(error) => return Err(error.into()),
            Ok(DeviceCode::Linked(files)) => {
                let what = format!(
                    "the device code is to be linked of {} files, and this device takes one of \
                     PTX; compile without -rdc=true, or link it as PTX",
                    files.len()
                );
                return Err(CudaFault::new(Status::NOT_SUPPORTED, what));
            }
        };
        let code = PtxModule::parse(&text).map_err(DeviceError::from)?;
        let handle = self.load_text(&text)?;
        let variables = match self.find_variables(handle, &code) {
            Ok(variables) => variables,
            Err(fault) => {
                // The caller has no number to end the module with. The first error is the one to
                // return.
                let _ = self.driver.unload(handle);
                return Err(fault);
            }
        };
        self.modules.push(Some(LoadedModule {
            handle,
            code: Some(code),
            variables,
        }));
        Ok(self.modules.len() as u64 - 1)
    }

    fn unload(&mut self, module: u64) -> Result<Vec<u64>, CudaFault> {
        self.works()?;
        let loaded = self.module(module)?;
        let variables = loaded.variables.iter().map(|variable| variable.address);
        let (handle, addresses) = (loaded.handle, variables.collect::<Vec<u64>>());
        self.modules[module as usize] = None;
        self.numbers.retain(|(of, _), _| *of != module);
        let unloaded = self.driver.unload(handle);
        self.pass(unloaded)?;
        Ok(addresses)
    }

    fn kernel(&mut self, module: u64, name: &str) -> Result<(u64, KernelInfo), CudaFault> {
        self.works()?;
        let key = (module, name.to_owned());
        let number = match self.numbers.get(&key) {
            Some(&number) => number,
            None => {
                let kernel = self.find_kernel(module, name)?;
                self.kernels.push(kernel);
                let number = self.kernels.len() as u64 - 1;
                self.numbers.insert(key, number);
                number
            }
        };
        Ok((number, self.kernels[number as usize].info.clone()))
    }

    fn variable(&self, module: u64, name: &str) -> Result<(u64, u64), CudaFault> {
        let variables = &self.module(module)?.variables;
        let found = variables.iter().find(|variable| variable.name == name);
        let found = found.ok_or_else(|| {
            let what = format!("the device code has no variable {name}");
            CudaFault::new(Status::INVALID_SYMBOL, what)
        })?;
        Ok((found.address, found.bytes))
    }

    fn variables(&self, module: u64) -> Vec<DeviceVariable> {
        let loaded = self.module(module);
        loaded.map_or_else(|_| Vec::new(), |loaded| loaded.variables.clone())
    }

    fn launch(&mut self, launch: &KernelLaunch, _context: &LaunchContext) -> Result<(), CudaFault> {
        self.works()?;
        let kernel = self.prepare(launch)?;
        if self.stop.load(Ordering::Relaxed) {
            let what = format!("kernel {} was stopped before it began", kernel.name);
            return Err(CudaFault::new(Status::TIMEOUT, what));
        }
        // After a launch that was not waited for.
        self.restore_stack()?;
        if let Some(bytes) = launch.stack_bytes {
            self.set_stack(bytes)?;
        }
        let ended = self.run(&kernel, launch);
        let runs_on = matches!(&ended, Err(fault) if fault.status == Status::TIMEOUT);
        if runs_on || self.works().is_err() {
            // To change the limit would wait for the kernel: the next launch does it.
            return ended;
        }
        let restored = self.restore_stack();
        ended.and(restored)
    }

    /// Nothing: the driver prints.
    fn take_printed(&mut self) -> Vec<u8> {
        Vec::new()
    }

    fn memory(&self) -> (u64, u64) {
        self.driver.memory().unwrap_or_default()
    }

    fn stop(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.stop)
    }

    /// All: the driver gives any that this process does not use itself. The process of a program
    /// that a server answers is another one, whose own memory may have the same addresses.
    fn addresses(&self) -> Range<u64> {
        0..u64::MAX
    }
}

/// Bytes of shared memory that a launch adds, as the driver takes them.
fn shared_bytes(launch: &KernelLaunch) -> Result<u32, CudaFault> {
    u32::try_from(launch.shared_bytes).map_err(|_| {
        let what = format!(
            "a launch with {} bytes of shared memory",
            launch.shared_bytes
        );
        CudaFault::new(Status::INVALID_CONFIGURATION, what)
    })
}

/// The fault of a launch that the driver refused. The driver returns the same number for a wrong
/// configuration and for other wrong values. The other values are right here, so the configuration
/// is wrong.
fn configuration_fault(kernel: &ReadyKernel, launch: &KernelLaunch, fault: CudaFault) -> CudaFault {
    let ([a, b, c], [x, y, z]) = (launch.grid, launch.block);
    CudaFault {
        status: match fault.status {
            Status::INVALID_VALUE => Status::INVALID_CONFIGURATION,
            status => status,
        },
        message: format!(
            "kernel {}, grid ({a}, {b}, {c}), block ({x}, {y}, {z}), {} bytes of shared memory: {}",
            kernel.name, launch.shared_bytes, fault.message
        ),
        ..fault
    }
}

/// A string as C has it.
fn c_string(text: &str, status: Status) -> Result<CString, CudaFault> {
    CString::new(text).map_err(|error| {
        let at = error.nul_position();
        CudaFault::new(status, format!("a name or text has a zero at byte {at}"))
    })
}

/// Whether a GPU that returned this works no more for the process.
fn is_lost(code: u32) -> bool {
    /// `CUDA_ERROR_DEVICE_UNAVAILABLE`, `…_ECC_UNCORRECTABLE`, `…_NVLINK_UNCORRECTABLE`,
    /// `…_CONTAINED`, `…_INVALID_ADDRESS_SPACE`, `…_TENSOR_MEMORY_LEAK`, `…_UNKNOWN`.
    const OTHERS: [u32; 7] = [46, 214, 220, 226, 717, 721, 999];
    Status(code).is_fatal() || OTHERS.contains(&code)
}

/// `CUDA_ERROR_OUT_OF_MEMORY`.
const OUT_OF_MEMORY: u32 = 2;
/// `CUDA_ERROR_NO_BINARY_FOR_GPU`.
const NO_BINARY: u32 = 209;
/// `CUDA_ERROR_INVALID_PTX`.
const INVALID_PTX: u32 = 218;
/// `CUDA_ERROR_UNSUPPORTED_PTX_VERSION`.
const UNSUPPORTED_PTX: u32 = 222;
/// `CUDA_ERROR_NOT_FOUND`.
const NOT_FOUND: u32 = 500;
/// `CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK`.
const MAX_THREADS: u32 = 0;
/// `CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES`.
const SHARED_BYTES: u32 = 1;
/// `CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES`.
const LOCAL_BYTES: u32 = 3;
/// `CU_FUNC_ATTRIBUTE_BINARY_VERSION`.
const BINARY_VERSION: u32 = 6;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sleeps_grow_to_the_longest_one() {
        assert_eq!(sleep_after(Duration::ZERO), None);
        assert_eq!(sleep_after(SLEEPLESS), Some(SLEEPLESS / 16));
        let sleeps: Vec<_> = (2..40)
            .map(|waited| sleep_after(Duration::from_millis(waited)).unwrap())
            .collect();
        assert!(sleeps.is_sorted());
        assert_eq!(sleeps.last(), Some(&LONGEST_SLEEP));
    }
}
