//! [`Device`]: what a stand-in for CUDA's runtime asks of the device that runs its kernels.

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

/// A value that memory is filled with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FillValue {
    /// One byte.
    Byte(u8),
    /// Two bytes, the lower one first.
    Half(u16),
    /// Four bytes, the lowest one first.
    Word(u32),
}

impl FillValue {
    /// Its bytes.
    pub fn size(self) -> u64 {
        match self {
            FillValue::Byte(_) => 1,
            FillValue::Half(_) => 2,
            FillValue::Word(_) => 4,
        }
    }

    /// The bytes that it has `count` times, from `address` on.
    ///
    /// # Errors
    /// If the address is no multiple of the value's size, or no memory is that large.
    pub fn bytes(self, address: u64, count: u64) -> Result<u64, CudaFault> {
        let size = self.size();
        let refuse = |what: String| CudaFault::new(Status::INVALID_VALUE, what);
        if !address.is_multiple_of(size) {
            return Err(refuse(format!(
                "memory is filled with values of {size} bytes from {address:#x} on, which is no \
                 multiple of that"
            )));
        }
        size.checked_mul(count)
            .ok_or_else(|| refuse(format!("{count} values of {size} bytes fill no memory")))
    }
}

/// Refuses an alignment of memory that is no power of two.
///
/// # Errors
/// If it is none; 0 is none.
pub fn check_alignment(alignment: u64) -> Result<(), CudaFault> {
    if alignment.is_power_of_two() {
        return Ok(());
    }
    let what = format!(
        "memory at a multiple of {alignment} is asked for, which is no power of two; ask for 1, 2, \
         4, …"
    );
    Err(CudaFault::new(Status::INVALID_VALUE, what))
}

/// A device: memory, modules, kernels. All calls return when what they ask for is done.
///
/// Memory is copied in and out, never lent: a GPU's is not the process's own.
///
/// Modules and kernels have numbers, which are never used twice. Every call may be given anything,
/// and answers what it cannot do with a [`CudaFault`]. `crates/cuda-driver/tests/cases.rs` tests
/// what all devices do.
pub trait Device: Send {
    /// Takes memory; its address, a multiple of the power of two `alignment`. It is 0 at first.
    ///
    /// # Errors
    /// If there is not enough, or the alignment is no power of two.
    fn allocate(&mut self, bytes: u64, alignment: u64) -> Result<u64, CudaFault>;

    /// Gives memory back.
    ///
    /// # Errors
    /// If no block begins there.
    fn free(&mut self, address: u64) -> Result<(), CudaFault>;

    /// Copies bytes of a block into `to`.
    ///
    /// # Errors
    /// If they are not all in one block.
    fn read_into(&self, address: u64, to: &mut [u8]) -> Result<(), CudaFault>;

    /// Copies `bytes` to a block.
    ///
    /// # Errors
    /// If the place is not all in one block; nothing is written then.
    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), CudaFault>;

    /// Writes `value` `count` times from `address` on, a multiple of the value's size.
    ///
    /// # Errors
    /// If the place is not all in one block, or the address is no such multiple.
    fn fill(&mut self, address: u64, value: FillValue, count: u64) -> Result<(), CudaFault>;

    /// Copies between blocks, or inside one; the places may overlap.
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

    /// Runs a kernel to its end. `context` is for a watch of the kernels
    /// ([`KernelWatch`](crate::KernelWatch)).
    ///
    /// # Errors
    /// A launch that does not fit, and whatever stopped the kernel.
    fn launch(&mut self, launch: &KernelLaunch, context: &LaunchContext) -> Result<(), CudaFault>;

    /// Sets the bytes of the heap that kernels allocate from.
    ///
    /// # Errors
    /// If a kernel that allocates has been launched already, or the device has less memory left.
    fn set_heap(&mut self, bytes: u64) -> Result<(), CudaFault>;

    /// Takes what kernels have printed since this was last called; nothing from a device that
    /// prints it itself.
    fn take_printed(&mut self) -> Vec<u8>;

    /// Bytes that are free, and all bytes.
    fn memory(&self) -> (u64, u64);

    /// A flag that ends kernels soon, with an error, when it is set; or the wait for them, on a
    /// device that cannot end them.
    fn stop(&self) -> Arc<AtomicBool>;

    /// The addresses that its memory can have, whether it is taken or not.
    fn addresses(&self) -> std::ops::Range<u64>;
}
