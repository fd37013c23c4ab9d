//! [`Gpu`]: a device with the kernels of a crate, and [`DeviceArray`]s in its memory.
//!
//! Crates that have kernels of their own keep all that they ask of a [`Device`] here: arrays are
//! allocated, filled, uploaded, downloaded and freed, and kernels are launched by name.

use std::collections::HashMap;
use std::marker::PhantomData;
use std::ops::Range;

use reuselens_gpu_advisor::LaunchContext;
use zerocopy::{FromBytes, Immutable, IntoBytes};

use crate::device::{CudaFault, Device, FillValue, KernelLaunch};
use crate::params::Params;

/// Threads of a block, where a launch does not say how many.
const BLOCK: u32 = 128;
/// Blocks of a launch at most. Kernels loop where there is more work.
const MAX_BLOCKS: u64 = 1 << 16;
/// Alignment of all arrays.
const ALIGNMENT: u64 = 256;

/// Why a device with kernels did not do what it was asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GpuFault {
    /// The device refused something, or a kernel was stopped.
    #[error("the device cannot {task}: {}", .fault.message)]
    Device {
        /// What it was asked for.
        task: &'static str,
        /// What it said.
        fault: CudaFault,
    },
    /// A kernel was not launched with the parameters that it declares.
    #[error("the kernel {kernel} takes {takes} bytes of parameters, and {given} were given")]
    Parameters {
        /// Its name.
        kernel: &'static str,
        /// What its code declares.
        takes: u64,
        /// What the caller gives.
        given: u64,
    },
}

/// A number as it is in the device's memory, which is as the processor has it: both have the lowest
/// byte first.
pub trait Number: Copy + IntoBytes + FromBytes + Immutable {
    /// Bytes.
    const BYTES: u64 = size_of::<Self>() as u64;
}

impl Number for u32 {}
impl Number for u64 {}

/// Numbers in the device's memory.
#[derive(Debug)]
pub struct DeviceArray<T> {
    address: u64,
    /// Numbers that it has room for.
    room: u64,
    numbers: PhantomData<T>,
}

impl<T> DeviceArray<T> {
    /// Where it begins.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// The numbers that it has room for.
    pub fn room(&self) -> u64 {
        self.room
    }

    /// The same memory, from its number `first` of another type on, as `room` of these. It belongs
    /// to this array, and is not to be freed.
    pub fn view<U: Number>(&self, first: u64, room: u64) -> DeviceArray<U> {
        DeviceArray {
            address: self.address + first * U::BYTES,
            room,
            numbers: PhantomData,
        }
    }
}

/// A device that has the kernels.
pub struct Gpu<D> {
    device: D,
    /// Number of each kernel, and bytes of its parameters.
    kernels: HashMap<&'static str, (u64, u64)>,
    /// What a batch brings.
    staged: DeviceArray<u32>,
}

/// Says what a device was asked for when it refused.
fn asked(task: &'static str) -> impl Fn(CudaFault) -> GpuFault {
    move |fault| GpuFault::Device { task, fault }
}

impl<D: Device> Gpu<D> {
    /// Loads the kernels: PTX of each module, with the names of its kernels.
    ///
    /// # Errors
    /// If the device refuses them.
    pub fn new(
        mut device: D,
        modules: &[(&'static str, &'static [&'static str])],
    ) -> Result<Self, GpuFault> {
        let load = asked("load the kernels");
        let mut kernels = HashMap::new();
        for (ptx, names) in modules {
            let module = device.load(ptx.as_bytes()).map_err(&load)?;
            for &name in *names {
                let (kernel, info) = device.kernel(module, name).map_err(&load)?;
                kernels.insert(name, (kernel, info.param_bytes));
            }
        }
        let mut gpu = Self {
            device,
            kernels,
            staged: DeviceArray {
                address: 0,
                room: 0,
                numbers: PhantomData,
            },
        };
        gpu.staged = gpu.array(1 << 10)?;
        Ok(gpu)
    }

    /// The device alone.
    pub fn into_device(self) -> D {
        self.device
    }

    /// Bytes of the device that are free.
    pub fn free_bytes(&self) -> u64 {
        self.device.memory().0
    }

    /// Bytes of the device that are in use.
    pub fn used(&self) -> u64 {
        let (free, all) = self.device.memory();
        all - free
    }

    /// An array of zeros.
    ///
    /// # Errors
    /// If the device refuses.
    pub fn array<T: Number>(&mut self, room: u64) -> Result<DeviceArray<T>, GpuFault> {
        let room = room.max(1);
        let bytes = room.saturating_mul(T::BYTES);
        let address = self.device.allocate(bytes, ALIGNMENT);
        Ok(DeviceArray {
            address: address.map_err(asked("allocate memory"))?,
            room,
            numbers: PhantomData,
        })
    }

    /// Gives an array's memory back.
    ///
    /// # Errors
    /// If the device refuses.
    pub fn free<T>(&mut self, array: DeviceArray<T>) -> Result<(), GpuFault> {
        self.device
            .free(array.address)
            .map_err(asked("free memory"))
    }

    /// Gives an array's memory back, from a destructor, which cannot pass on an error.
    pub fn abandon(&mut self, address: u64) {
        let _ = self.device.free(address);
    }

    /// Makes room for this many numbers, with half as much to spare if there was too little. What
    /// is new is zeros.
    ///
    /// # Errors
    /// If the device refuses.
    pub fn grow<T: Number>(
        &mut self,
        array: &mut DeviceArray<T>,
        numbers: u64,
    ) -> Result<(), GpuFault> {
        if numbers <= array.room {
            return Ok(());
        }
        let larger = self.array(numbers.max(array.room + array.room / 2))?;
        let bytes = array.room * T::BYTES;
        self.device
            .copy(larger.address, array.address, bytes)
            .map_err(asked("copy memory"))?;
        self.free(std::mem::replace(array, larger))
    }

    /// Sets all bytes of some numbers.
    ///
    /// # Errors
    /// If the device refuses.
    pub fn fill<T: Number>(
        &mut self,
        array: &DeviceArray<T>,
        numbers: Range<u64>,
        byte: u8,
    ) -> Result<(), GpuFault> {
        if !numbers.is_empty() {
            let bytes = (numbers.end - numbers.start) * T::BYTES;
            let address = array.address + numbers.start * T::BYTES;
            self.device
                .fill(address, FillValue::Byte(byte), bytes)
                .map_err(asked("write memory"))?;
        }
        Ok(())
    }

    /// Writes numbers from number `first` of the array on.
    ///
    /// # Errors
    /// If the device refuses.
    pub fn write<T: Number>(
        &mut self,
        array: &DeviceArray<T>,
        first: u64,
        numbers: &[T],
    ) -> Result<(), GpuFault> {
        if numbers.is_empty() {
            return Ok(());
        }
        let address = array.address + first * T::BYTES;
        self.device
            .write(address, numbers.as_bytes())
            .map_err(asked("write memory"))
    }

    /// Reads numbers.
    ///
    /// # Errors
    /// If the device refuses.
    pub fn read<T: Number>(
        &self,
        array: &DeviceArray<T>,
        numbers: Range<u64>,
    ) -> Result<Vec<T>, GpuFault> {
        if numbers.is_empty() {
            return Ok(Vec::new());
        }
        let address = array.address + numbers.start * T::BYTES;
        let mut found = vec![T::new_zeroed(); (numbers.end - numbers.start) as usize];
        self.device
            .read_into(address, found.as_mut_bytes())
            .map_err(asked("read memory"))?;
        Ok(found)
    }

    /// Brings lists to the device for the next launches, until this is called again. Returns their
    /// addresses.
    ///
    /// # Errors
    /// If the device refuses.
    pub fn stage<const N: usize>(&mut self, lists: [&[u32]; N]) -> Result<[u64; N], GpuFault> {
        let numbers: usize = lists.iter().map(|list| list.len()).sum();
        if numbers as u64 > self.staged.room {
            // What was staged is not needed any more, so nothing is copied.
            let room = (numbers as u64).max(self.staged.room * 2);
            let larger = self.array(room)?;
            let smaller = std::mem::replace(&mut self.staged, larger);
            self.free(smaller)?;
        }
        let staged = DeviceArray { ..self.staged };
        let mut first = 0;
        let mut addresses = [0; N];
        for (address, list) in addresses.iter_mut().zip(lists) {
            self.write(&staged, first, list)?;
            *address = staged.address + first * u32::BYTES;
            first += list.len() as u64;
        }
        Ok(addresses)
    }

    /// Runs a kernel with `threads` threads or more, in blocks of 128.
    ///
    /// # Errors
    /// If these are not its parameters, or the device refuses or stops it.
    pub fn launch(
        &mut self,
        name: &'static str,
        threads: u64,
        params: Params,
    ) -> Result<(), GpuFault> {
        let blocks = threads.div_ceil(u64::from(BLOCK)).clamp(1, MAX_BLOCKS);
        self.launch_blocks(name, blocks as u32, BLOCK, params)
    }

    /// Runs a kernel with this many blocks of this many threads.
    ///
    /// # Errors
    /// As for [`launch`](Self::launch).
    pub fn launch_blocks(
        &mut self,
        name: &'static str,
        blocks: u32,
        threads: u32,
        params: Params,
    ) -> Result<(), GpuFault> {
        let &(kernel, takes) = self.kernels.get(name).unwrap_or(&(u64::MAX, 0));
        let params = params.into_bytes();
        if takes != params.len() as u64 {
            return Err(GpuFault::Parameters {
                kernel: name,
                takes,
                given: params.len() as u64,
            });
        }
        let launch = KernelLaunch {
            kernel,
            grid: [blocks, 1, 1],
            block: [threads, 1, 1],
            params,
            ..KernelLaunch::default()
        };
        self.device
            .launch(&launch, &LaunchContext::default())
            .map_err(asked("run a kernel"))
    }
}
