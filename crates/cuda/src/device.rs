//! [`Device`]: what a stand-in for CUDA's runtime asks of whatever runs the kernels.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use reuselens_gpu_advisor::{LaunchContext, VariableSpace};

use crate::status::Status;

/// Why a device refused, or stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CudaFault {
    /// What the program gets.
    pub status: Status,
    /// What people get.
    pub message: String,
    /// The address that a kernel accessed, if that was what it did wrong in global memory.
    pub address: Option<u64>,
    /// What the program prints on its standard error because of it.
    pub printed: String,
}

impl CudaFault {
    /// A fault.
    pub fn new(status: Status, message: impl Into<String>) -> CudaFault {
        CudaFault {
            status,
            message: message.into(),
            address: None,
            printed: String::new(),
        }
    }
}

/// What a program can ask about a kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelInfo {
    /// The most threads of a block.
    pub max_threads: u64,
    /// Bytes of shared memory of a block, without those that a launch adds.
    pub shared_bytes: u64,
    /// Bytes of local memory of a thread.
    pub local_bytes: u64,
    /// Bytes of all parameters.
    pub param_bytes: u64,
    /// The architecture that its PTX was compiled for: 75 is compute capability 7.5.
    pub architecture: u64,
    /// Offset and bytes of each parameter.
    pub params: Vec<(u64, u64)>,
}

/// A variable of a module, in the device's memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceVariable {
    /// Its name, mangled.
    pub name: String,
    /// Its address.
    pub address: u64,
    /// Bytes.
    pub bytes: u64,
    /// Where it is.
    pub space: VariableSpace,
}

/// How a kernel is launched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelLaunch {
    /// Number of the kernel.
    pub kernel: u64,
    /// Blocks.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub block: [u32; 3],
    /// Bytes of shared memory that the kernel does not declare itself.
    pub shared_bytes: u64,
    /// The parameters, laid out as the kernel declares them.
    pub params: Vec<u8>,
    /// Whether all blocks run at the same time, and may wait for each other.
    pub is_cooperative: bool,
    /// Bytes of a thread's stack, for kernels that have one; none for as many as CUDA has.
    pub stack_bytes: Option<u64>,
}

/// A device: memory, modules, kernels. All calls return when what they ask for is done.
///
/// Modules and kernels have numbers, which are never used twice. Every call may be given anything,
/// and answers what it cannot do with a [`CudaFault`].
pub trait Device: Send {
    /// Takes memory; its address, a multiple of the power of two `alignment`. It is 0 at first.
    ///
    /// # Errors
    /// If there is not enough.
    fn allocate(&mut self, bytes: u64, alignment: u64) -> Result<u64, CudaFault>;

    /// Gives memory back.
    ///
    /// # Errors
    /// If no block begins there.
    fn free(&mut self, address: u64) -> Result<(), CudaFault>;

    /// Bytes of a block.
    ///
    /// # Errors
    /// If they are not all in one block.
    fn read(&self, address: u64, bytes: u64) -> Result<&[u8], CudaFault>;

    /// Bytes of a block, to be changed.
    ///
    /// # Errors
    /// If they are not all in one block.
    fn bytes_mut(&mut self, address: u64, bytes: u64) -> Result<&mut [u8], CudaFault>;

    /// Copies between blocks, or inside one.
    ///
    /// # Errors
    /// If either side is not all in one block.
    fn copy(&mut self, to: u64, from: u64, bytes: u64) -> Result<(), CudaFault>;

    /// Loads a module from its fat binary; its number.
    ///
    /// # Errors
    /// What cannot be read, or has no code that this device runs.
    fn load(&mut self, fat_binary: &[u8]) -> Result<u64, CudaFault>;

    /// Ends a module, and frees its variables; their addresses. Its kernels are not found any more.
    ///
    /// # Errors
    /// If there is no such module.
    fn unload(&mut self, module: u64) -> Result<Vec<u64>, CudaFault>;

    /// Finds a kernel of a module and makes it ready; its number, and what is known of it.
    ///
    /// # Errors
    /// If there is no such module or kernel, or the kernel needs what this device lacks.
    fn kernel(&mut self, module: u64, name: &str) -> Result<(u64, KernelInfo), CudaFault>;

    /// Address and bytes of a variable of a module.
    ///
    /// # Errors
    /// If there is no such module or variable.
    fn variable(&self, module: u64, name: &str) -> Result<(u64, u64), CudaFault>;

    /// All variables of a module; none if there is no such module.
    fn variables(&self, module: u64) -> Vec<DeviceVariable>;

    /// Runs a kernel to its end. `context` is for whoever watches.
    ///
    /// # Errors
    /// A launch that does not fit, and whatever stopped the kernel.
    fn launch(&mut self, launch: &KernelLaunch, context: &LaunchContext) -> Result<(), CudaFault>;

    /// Takes what kernels have printed since this was last called.
    fn take_printed(&mut self) -> Vec<u8>;

    /// Bytes that are free, and all bytes.
    fn memory(&self) -> (u64, u64);

    /// A flag that ends kernels soon, with an error, when it is set.
    fn stop(&self) -> Arc<AtomicBool>;

    /// The addresses that its memory can have, whether it is taken or not.
    fn addresses(&self) -> std::ops::Range<u64>;
}
