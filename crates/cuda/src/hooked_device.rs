//! [`HookedDevice`]: a device whose kernels have hooks, and a [`HookWatch`] that gets what they
//! write. Programs run on it as on the device below it.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use reuselens_gpu_advisor::LaunchContext;
use reuselens_instrument::InstrumentOptions;

use crate::device::{CudaFault, Device, DeviceVariable, FillValue, KernelInfo, KernelLaunch};
use crate::hooked::{HookedLaunch, HookedModule, RecordBuffer};

/// Looks at what kernels with hooks did.
pub trait HookWatch: Send {
    /// A kernel with hooks has ended well.
    ///
    /// # Errors
    /// What keeps the watch from going on; the program gets it as the launch's error.
    fn end(&mut self, launch: &HookedLaunch<'_>, context: &LaunchContext) -> Result<(), CudaFault>;

    /// A kernel was launched of which there are no records, and `why`: its module has no hooks, or
    /// the launch was refused or stopped.
    fn unseen(&mut self, kernel: &str, context: &LaunchContext, why: &str);
}

/// What a [`HookedDevice`] puts hooks at, and how large its buffer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HookedDeviceOptions {
    /// What gets hooks.
    pub hooks: InstrumentOptions,
    /// Bytes of the buffer for the records of a launch, at first.
    pub buffer_bytes: u64,
    /// Bytes that it may grow to.
    pub most_bytes: u64,
}

impl Default for HookedDeviceOptions {
    fn default() -> HookedDeviceOptions {
        HookedDeviceOptions {
            hooks: InstrumentOptions::default(),
            buffer_bytes: 64 << 20,
            most_bytes: 4 << 30,
        }
    }
}

/// A device that puts hooks into the kernels of the modules that it loads. The watch gets the
/// records of each launch when it has ended.
///
/// A module that can have no hooks is loaded as it is, and its launches are unseen. The device has
/// the buffer from the first launch on. Kernels with hooks take many times as long.
pub struct HookedDevice<D, W> {
    device: D,
    options: HookedDeviceOptions,
    /// By their numbers on the device; for a module without hooks, why it has none.
    modules: HashMap<u64, Result<HookedModule, String>>,
    /// Module and name of each kernel.
    kernels: HashMap<u64, (u64, String)>,
    buffer: Option<RecordBuffer>,
    watch: W,
}

impl<D: Device, W: HookWatch> HookedDevice<D, W> {
    /// Hooks for what `device` runs.
    pub fn new(device: D, options: HookedDeviceOptions, watch: W) -> HookedDevice<D, W> {
        HookedDevice {
            device,
            options,
            modules: HashMap::new(),
            kernels: HashMap::new(),
            buffer: None,
            watch,
        }
    }

    /// The device below, and what watched.
    pub fn into_parts(self) -> (D, W) {
        (self.device, self.watch)
    }

    /// What watches.
    pub fn watch(&self) -> &W {
        &self.watch
    }

    /// The module with this number, if it has hooks.
    pub fn module(&self, number: u64) -> Option<&HookedModule> {
        self.modules.get(&number)?.as_ref().ok()
    }

    /// Runs a kernel of a module with hooks, and shows its records to the watch.
    fn launch_hooked(
        &mut self,
        (module, name): (u64, &str),
        launch: &KernelLaunch,
        context: &LaunchContext,
    ) -> Result<(), CudaFault> {
        let device = &mut self.device;
        let module = match self.modules.get_mut(&module) {
            Some(Ok(module)) => module,
            Some(Err(why)) => {
                self.watch.unseen(name, context, why);
                return device.launch(launch, context);
            }
            None => return device.launch(launch, context),
        };
        let buffer = match &mut self.buffer {
            Some(buffer) => buffer,
            none => {
                let options = &self.options;
                match RecordBuffer::new(device, options.buffer_bytes, options.most_bytes) {
                    Ok(new) => none.insert(new),
                    Err(fault) => {
                        self.watch.unseen(name, context, &fault.message);
                        return device.launch(launch, context);
                    }
                }
            }
        };
        match buffer.launch(device, module, name, launch, context) {
            Ok(ended) => self.watch.end(&ended, context),
            Err(fault) => {
                self.watch.unseen(name, context, &fault.message);
                Err(fault)
            }
        }
    }
}

impl<D: Device, W: HookWatch> Device for HookedDevice<D, W> {
    fn allocate(&mut self, bytes: u64, alignment: u64) -> Result<u64, CudaFault> {
        self.device.allocate(bytes, alignment)
    }

    fn free(&mut self, address: u64) -> Result<(), CudaFault> {
        self.device.free(address)
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

    fn load(&mut self, fat_binary: &[u8]) -> Result<u64, CudaFault> {
        match HookedModule::load(&mut self.device, fat_binary, &self.options.hooks) {
            Ok(module) => {
                let number = module.number();
                self.modules.insert(number, Ok(module));
                Ok(number)
            }
            // A module that the device refuses as it is has an error that its author knows.
            Err(fault) => {
                let number = self.device.load(fat_binary)?;
                self.modules.insert(number, Err(fault.message));
                Ok(number)
            }
        }
    }

    fn unload(&mut self, module: u64) -> Result<Vec<u64>, CudaFault> {
        let own = self.module(module).and_then(HookedModule::ring);
        let mut addresses = self.device.unload(module)?;
        addresses.retain(|&address| Some(address) != own);
        self.modules.remove(&module);
        self.kernels.retain(|_, (of, _)| *of != module);
        Ok(addresses)
    }

    fn kernel(&mut self, module: u64, name: &str) -> Result<(u64, KernelInfo), CudaFault> {
        let (kernel, info) = self.device.kernel(module, name)?;
        self.kernels.insert(kernel, (module, name.to_owned()));
        Ok((kernel, info))
    }

    fn variable(&self, module: u64, name: &str) -> Result<(u64, u64), CudaFault> {
        self.device.variable(module, name)
    }

    fn variables(&self, module: u64) -> Vec<DeviceVariable> {
        match self.module(module) {
            Some(module) => module.variables(&self.device),
            None => self.device.variables(module),
        }
    }

    fn launch(&mut self, launch: &KernelLaunch, context: &LaunchContext) -> Result<(), CudaFault> {
        match self.kernels.get(&launch.kernel).cloned() {
            Some((module, name)) => self.launch_hooked((module, &name), launch, context),
            None => self.device.launch(launch, context),
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
