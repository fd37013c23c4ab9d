//! [`Interpreter`]: the [`Device`] that runs kernels on the processor, by the crate `ptx`.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use reuselens_gpu_advisor::{LaunchContext, VariableSpace};
use reuselens_ptx::{
    DeviceError, FaultKind, FlowCounts, Ignore, Kernel, LaunchConfig, LaunchError, LaunchSelection,
    LaunchSink, Loaded, Options, PtxModule, SkippedAccess, Stats, readable,
};

use crate::device::{
    CudaFault, Device, DeviceVariable, FillValue, KernelInfo, KernelLaunch, check_alignment,
};
use crate::fatbin::{DeviceCode, FatBinaryError};
use crate::status::Status;

/// Threads of a block, where a kernel says nothing.
const MAX_THREADS: u64 = 1024;

/// Looks at what kernels do while they run.
pub trait KernelWatch: LaunchSink + Send {
    /// A kernel is about to run. `context` says who launched it, and whose the memory is.
    ///
    /// # Errors
    /// What keeps the watch from going on, as a message. The kernel does not run then.
    fn begin(
        &mut self,
        kernel: &Kernel,
        launch: &LaunchConfig,
        context: &LaunchContext,
    ) -> Result<(), String>;

    /// It has left out accesses of lanes, as the device goes on after bad ones
    /// ([`Options::on_fault`]). Called before [`end`](Self::end) or [`stop`](Self::stop).
    fn skip(&mut self, skipped: &[SkippedAccess]);

    /// It has ended well, after this much. `flow` is its control flow, if the device was asked to
    /// count it ([`Options::flow`]).
    fn end(
        &mut self,
        kernel: &Kernel,
        launch: &LaunchConfig,
        stats: Stats,
        flow: Option<&FlowCounts>,
    );

    /// It was stopped. What it did until then was seen; `flow` is as for [`end`](Self::end).
    fn stop(&mut self, kernel: &Kernel, launch: &LaunchConfig, flow: Option<&FlowCounts>);

    /// It was refused before its first instruction: the launch does not fit.
    fn refuse(&mut self, kernel: &Kernel, launch: &LaunchConfig);
}

/// A device without a GPU.
#[derive(Debug)]
pub struct Interpreter<W> {
    device: reuselens_ptx::Device,
    limit: u64,
    options: Options,
    /// `None` for those that have ended.
    modules: Vec<Option<Loaded>>,
    kernels: Vec<Kernel>,
    /// Of kernels that are counted while they run, those for launches that are not looked at.
    plain: Vec<Option<Kernel>>,
    selection: LaunchSelection,
    numbers: HashMap<(u64, String), u64>,
    allocated: u64,
    /// Accesses of lanes that launches left out which `watch` did not see.
    unseen_skipped: u64,
    watch: W,
}

impl<W: KernelWatch> Interpreter<W> {
    /// A device with up to `limit` bytes of memory, whose kernels `watch` sees.
    pub fn new(limit: u64, options: Options, watch: W) -> Interpreter<W> {
        Interpreter {
            device: reuselens_ptx::Device::with_limit(limit),
            limit,
            options,
            modules: Vec::new(),
            kernels: Vec::new(),
            plain: Vec::new(),
            selection: LaunchSelection::default(),
            numbers: HashMap::new(),
            allocated: 0,
            unseen_skipped: 0,
            watch,
        }
    }

    /// Lets `watch` see only the launches that `selection` chooses. The others run, as fast as
    /// they can. To be called before kernels are looked up.
    pub fn with_selection(self, selection: LaunchSelection) -> Interpreter<W> {
        Interpreter { selection, ..self }
    }

    /// Which launches `watch` has seen.
    pub fn selection(&self) -> &LaunchSelection {
        &self.selection
    }

    /// Accesses of lanes that were left out in launches that `watch` has not seen, as the device
    /// goes on after bad ones ([`Options::on_fault`]).
    pub fn unseen_skipped(&self) -> u64 {
        self.unseen_skipped
    }

    /// What watched the kernels.
    pub fn into_watch(self) -> W {
        self.watch
    }

    /// Runs a launch that is not looked at.
    fn launch_unseen(&mut self, kernel: usize, config: &LaunchConfig) -> Result<(), CudaFault> {
        let kernel = self.plain[kernel].as_ref().unwrap_or(&self.kernels[kernel]);
        let ended = self
            .device
            .launch(kernel, config, &self.options, &mut Ignore);
        self.device.take_flow();
        let skipped = self.device.take_skipped();
        self.unseen_skipped += skipped.iter().map(|access| access.lanes).sum::<u64>();
        ended
            .map(drop)
            .map_err(|error| launch_fault(&error, config.cooperative))
    }

    fn module(&self, module: u64) -> Result<&Loaded, CudaFault> {
        let found = usize::try_from(module)
            .ok()
            .and_then(|i| self.modules.get(i)?.as_ref());
        found.ok_or_else(|| {
            CudaFault::new(
                Status::INVALID_IMAGE,
                format!("there is no module {module}"),
            )
        })
    }
}

impl<W: KernelWatch> Device for Interpreter<W> {
    fn allocate(&mut self, bytes: u64, alignment: u64) -> Result<u64, CudaFault> {
        check_alignment(alignment)?;
        self.allocated += 1;
        let name = format!("block {}", self.allocated);
        Ok(self.device.allocate_aligned(&name, bytes, alignment)?)
    }

    fn free(&mut self, address: u64) -> Result<(), CudaFault> {
        if self.device.free(address) {
            Ok(())
        } else {
            let what = format!("{address:#x} is freed, and no block begins there");
            Err(CudaFault::new(Status::INVALID_VALUE, what))
        }
    }

    fn read_into(&self, address: u64, to: &mut [u8]) -> Result<(), CudaFault> {
        to.copy_from_slice(self.device.read(address, to.len() as u64)?);
        Ok(())
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), CudaFault> {
        Ok(self.device.write(address, bytes)?)
    }

    fn fill(&mut self, address: u64, value: FillValue, count: u64) -> Result<(), CudaFault> {
        let bytes = value.bytes(address, count)?;
        let place = self.device.bytes_mut(address, bytes)?;
        match value {
            FillValue::Byte(byte) => place.fill(byte),
            FillValue::Half(half) => place
                .chunks_exact_mut(2)
                .for_each(|element| element.copy_from_slice(&half.to_le_bytes())),
            FillValue::Word(word) => place
                .chunks_exact_mut(4)
                .for_each(|element| element.copy_from_slice(&word.to_le_bytes())),
        }
        Ok(())
    }

    fn copy(&mut self, to: u64, from: u64, bytes: u64) -> Result<(), CudaFault> {
        Ok(self.device.copy(to, from, bytes)?)
    }

    fn load(&mut self, fat_binary: &[u8]) -> Result<u64, CudaFault> {
        let loaded = self.device.load(linked(fat_binary)?)?;
        self.modules.push(Some(loaded));
        Ok(self.modules.len() as u64 - 1)
    }

    fn unload(&mut self, module: u64) -> Result<Vec<u64>, CudaFault> {
        let variables = self.module(module)?.variables();
        let addresses: Vec<u64> = variables.map(|(_, address, _)| address).collect();
        self.modules[module as usize] = None;
        self.numbers.retain(|(of, _), _| *of != module);
        for &address in &addresses {
            self.device.free(address);
        }
        Ok(addresses)
    }

    fn kernel(&mut self, module: u64, name: &str) -> Result<(u64, KernelInfo), CudaFault> {
        let key = (module, name.to_owned());
        let number = match self.numbers.get(&key) {
            Some(&number) => number,
            None => {
                let loaded = self.module(module)?;
                if !loaded.has_kernel(name) {
                    let what = format!("the device code has no kernel {}", readable(name));
                    return Err(CudaFault::new(Status::INVALID_FUNCTION, what));
                }
                let kernel = self.device.kernel(loaded, name, &self.options);
                let kernel = kernel.map_err(|error| refused_kernel(name, error))?;
                let plain = Options {
                    flow: false,
                    arithmetic: false,
                    ..self.options.clone()
                };
                let watches = self.options.flow || self.options.arithmetic;
                let plain = if watches && !self.selection.has_all() {
                    Some(self.device.kernel(loaded, name, &plain)?)
                } else {
                    None
                };
                self.kernels.push(kernel);
                self.plain.push(plain);
                let number = self.kernels.len() as u64 - 1;
                self.numbers.insert(key, number);
                number
            }
        };
        Ok((number, info(&self.kernels[number as usize])))
    }

    fn variable(&self, module: u64, name: &str) -> Result<(u64, u64), CudaFault> {
        let address = self.module(module)?.variable(name);
        let buffer = address.and_then(|address| self.device.buffer(address));
        let place = buffer.map(|buffer| (buffer.address, buffer.size));
        place.ok_or_else(|| {
            let what = format!("the device code has no variable {name}");
            CudaFault::new(Status::INVALID_SYMBOL, what)
        })
    }

    fn variables(&self, module: u64) -> Vec<DeviceVariable> {
        let Ok(module) = self.module(module) else {
            return Vec::new();
        };
        let variables = module.variables();
        variables
            .filter_map(|(name, address, is_constant)| {
                Some(DeviceVariable {
                    name: name.to_owned(),
                    address,
                    bytes: self.device.buffer(address)?.size,
                    space: if is_constant {
                        VariableSpace::Constant
                    } else {
                        VariableSpace::Global
                    },
                })
            })
            .collect()
    }

    fn launch(&mut self, launch: &KernelLaunch, context: &LaunchContext) -> Result<(), CudaFault> {
        let found = usize::try_from(launch.kernel).ok();
        let found = found.and_then(|number| Some((number, self.kernels.get(number)?)));
        let (number, kernel) = found
            .ok_or_else(|| CudaFault::new(Status::INVALID_FUNCTION, "there is no such kernel"))?;
        let config = LaunchConfig {
            cooperative: launch.is_cooperative,
            grid: launch.grid,
            block: launch.block,
            shared: launch.shared_bytes,
            params: launch.params.clone(),
        };
        self.device.set_stack(launch.stack_bytes);
        if !self.selection.takes(kernel.name()) {
            return self.launch_unseen(number, &config);
        }
        self.watch
            .begin(kernel, &config, context)
            .map_err(|message| CudaFault::new(Status::UNKNOWN, message))?;
        let ended = self
            .device
            .launch(kernel, &config, &self.options, &mut self.watch);
        let flow = self.device.take_flow();
        let skipped = self.device.take_skipped();
        if !skipped.is_empty() {
            self.watch.skip(&skipped);
        }
        match ended {
            Ok(stats) => {
                self.watch.end(kernel, &config, stats, flow.as_ref());
                Ok(())
            }
            Err(error) => {
                match &error {
                    LaunchError::Refused(_) => self.watch.refuse(kernel, &config),
                    LaunchError::Stopped(_) => self.watch.stop(kernel, &config, flow.as_ref()),
                }
                Err(launch_fault(&error, config.cooperative))
            }
        }
    }

    fn set_heap(&mut self, bytes: u64) -> Result<(), CudaFault> {
        let left = self.device.left();
        if bytes > left {
            let what = format!(
                "a heap of {bytes} bytes for kernels is asked for (cudaLimitMallocHeapSize), and {left} of the device's memory are left"
            );
            return Err(CudaFault::new(Status::MEMORY_ALLOCATION, what));
        }
        if self.device.set_heap(bytes) {
            Ok(())
        } else {
            let what = "the heap of kernels is set (cudaLimitMallocHeapSize) after a kernel that allocates was launched; set it before";
            Err(CudaFault::new(Status::INVALID_VALUE, what))
        }
    }

    fn take_printed(&mut self) -> Vec<u8> {
        self.device.take_printed()
    }

    fn memory(&self) -> (u64, u64) {
        (self.device.left(), self.limit)
    }

    fn stop(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.options.stop)
    }

    fn addresses(&self) -> std::ops::Range<u64> {
        self.device.addresses()
    }
}

/// The module of a fat binary, or of several: what was linked for a GPU, and what it was linked of.
fn linked(fat_binaries: &[u8]) -> Result<PtxModule, CudaFault> {
    let parsed = |text: &str| -> Result<PtxModule, CudaFault> {
        Ok(PtxModule::parse(text).map_err(DeviceError::from)?)
    };
    match DeviceCode::read(fat_binaries)? {
        DeviceCode::Single(text) => parsed(&text),
        DeviceCode::Linked(texts) => {
            let modules = (1..).zip(&texts).map(|(number, text)| {
                parsed(text).map_err(|fault| CudaFault {
                    message: format!("linked file {number}: {}", fault.message),
                    ..fault
                })
            });
            Ok(PtxModule::link(modules.collect::<Result<_, _>>()?))
        }
    }
}

/// A kernel that cannot be run here.
fn refused_kernel(name: &str, error: DeviceError) -> CudaFault {
    let fault = CudaFault::from(error);
    CudaFault {
        message: format!("kernel {} is refused: {}", readable(name), fault.message),
        ..fault
    }
}

fn info(kernel: &Kernel) -> KernelInfo {
    KernelInfo {
        max_threads: kernel.max_threads().unwrap_or(MAX_THREADS),
        shared_bytes: kernel.shared_bytes(),
        local_bytes: kernel.local_bytes(),
        param_bytes: kernel.param_bytes(),
        architecture: kernel.architecture().into(),
        params: kernel
            .params()
            .iter()
            .map(|param| (param.offset, param.size))
            .collect(),
    }
}

impl From<DeviceError> for CudaFault {
    fn from(error: DeviceError) -> CudaFault {
        let status = match &error {
            DeviceError::OutOfMemory { .. } => Status::MEMORY_ALLOCATION,
            DeviceError::NoKernel { .. } | DeviceError::Ambiguous { .. } => {
                Status::INVALID_FUNCTION
            }
            DeviceError::OutOfBounds { .. } => Status::INVALID_VALUE,
            DeviceError::Ptx(_) => Status::INVALID_PTX,
        };
        let message = match error {
            DeviceError::OutOfMemory { size, left, .. } => {
                format!("{size} bytes of the device's memory are asked for, and {left} are left")
            }
            error => error.to_string(),
        };
        CudaFault::new(status, message)
    }
}

impl From<FatBinaryError> for CudaFault {
    fn from(error: FatBinaryError) -> CudaFault {
        let mut cause = &error;
        while let FatBinaryError::Linked { why, .. } = cause {
            cause = why;
        }
        let status = match cause {
            FatBinaryError::NoPtx { .. } => Status::NO_IMAGE,
            _ => Status::INVALID_IMAGE,
        };
        CudaFault::new(status, error.to_string())
    }
}

/// Why a launch failed.
fn launch_fault(error: &LaunchError, is_cooperative: bool) -> CudaFault {
    let LaunchError::Stopped(stopped) = error else {
        let status = if is_cooperative {
            Status::COOPERATIVE_TOO_LARGE
        } else {
            Status::INVALID_CONFIGURATION
        };
        return CudaFault::new(status, error.to_string());
    };
    let status = match stopped.kind() {
        FaultKind::OutOfBounds => Status::ILLEGAL_ADDRESS,
        FaultKind::Misaligned => Status::MISALIGNED,
        FaultKind::TooLong => Status::TIMEOUT,
        FaultKind::Assertion => Status::ASSERT,
        FaultKind::Stack => Status::HARDWARE_STACK,
        FaultKind::Callee => Status::INVALID_PC,
        FaultKind::Trap | FaultKind::Operand => Status::ILLEGAL_INSTRUCTION,
        _ => Status::LAUNCH_FAILURE,
    };
    CudaFault {
        address: stopped.address(),
        printed: stopped.assertion().unwrap_or_default().to_owned(),
        ..CudaFault::new(status, error.to_string())
    }
}
