//! Runs CUDA programs, host side and all, on a machine without a GPU.
//!
//! A program that uses CUDA calls the functions of its runtime library, or of its driver. This
//! crate takes the place of both: a small shared library in the program takes the calls, and
//! asks the analysing process, whose [`Device`] has the memory and runs the kernels. The device
//! that is here is the [`Interpreter`]: it runs the PTX that the program carries.
//!
//! This crate is compiled twice. As a library of the workspace it is the analysing side. As a
//! shared library (`--cfg reuselens_cuda`, by the build script, embedded here) it is the side of
//! the program.
//!
//! | what | modules |
//! |---|---|
//! | what both sides share | `protocol`, `status`, `fatbin_head`, `little_endian` |
//! | the device | `device`, `interpreter`, `fatbin` |
//! | a device whose kernels record what they access | `replayed`, `ring`, `kept_memory` |
//! | the device, for crates with kernels of their own | `gpu`, `params` |
//! | kernels with hooks on any device | `hooked`, `hooked_device` |
//! | what is kept of kernels | `counts`, `advised` |
//! | what is kept of the host side | `accounts`, `client_names`, `static_symbols` |
//! | around a run | `program`, `command`, `python`, `server`, `run` |
//! | compiling programs | `nvcc` |
//! | in the program | `guest` |
//!
//! Sources: NVIDIA, *CUDA Runtime API* 13.0 (what each function does and returns).
//!
//! For: running CUDA programs and watching what their kernels do. Not for: analysing that (the
//! crate `gpu-advisor`, which `advised` feeds), and not for timing: nothing here is as fast as a
//! GPU, or as slow in the same places.
#![cfg_attr(reuselens_cuda, allow(missing_docs, non_snake_case))]

#[cfg(not(reuselens_cuda))]
mod accounts;
#[cfg(not(reuselens_cuda))]
mod advised;
#[cfg(not(reuselens_cuda))]
mod client_names;
#[cfg(not(reuselens_cuda))]
mod command;
#[cfg(not(reuselens_cuda))]
mod counts;
#[cfg(not(reuselens_cuda))]
mod device;
#[cfg(not(reuselens_cuda))]
pub mod fatbin;
mod fatbin_head;
#[cfg(not(reuselens_cuda))]
mod gpu;
#[cfg(reuselens_cuda)]
mod guest;
#[cfg(not(reuselens_cuda))]
mod hooked;
#[cfg(not(reuselens_cuda))]
mod hooked_device;
#[cfg(not(reuselens_cuda))]
mod interpreter;
#[cfg(not(reuselens_cuda))]
mod kept_memory;
mod little_endian;
#[cfg(not(reuselens_cuda))]
pub mod nvcc;
#[cfg(not(reuselens_cuda))]
mod params;
#[cfg(not(reuselens_cuda))]
mod program;
mod protocol;
#[cfg(not(reuselens_cuda))]
mod python;
#[cfg(not(reuselens_cuda))]
mod replayed;
#[cfg(not(reuselens_cuda))]
mod ring;
#[cfg(not(reuselens_cuda))]
mod run;
#[cfg(not(reuselens_cuda))]
mod server;
#[cfg(not(reuselens_cuda))]
mod static_symbols;
mod status;

#[cfg(not(reuselens_cuda))]
pub use advised::{AdvisedBlock, AdvisedKernels};
#[cfg(not(reuselens_cuda))]
pub use command::command_use;
#[cfg(not(reuselens_cuda))]
pub use counts::{KernelCount, KernelCounts};
#[cfg(not(reuselens_cuda))]
pub use device::{
    CudaFault, Device, DeviceVariable, FillValue, KernelInfo, KernelLaunch, check_alignment,
};
#[cfg(not(reuselens_cuda))]
pub use gpu::{DeviceArray, Gpu, GpuFault, Number};
#[cfg(not(reuselens_cuda))]
pub use hooked::{HookedLaunch, HookedModule, RecordBuffer};
#[cfg(not(reuselens_cuda))]
pub use hooked_device::{HookWatch, HookedDevice, HookedDeviceOptions};
#[cfg(not(reuselens_cuda))]
pub use interpreter::{Interpreter, KernelWatch};
#[cfg(not(reuselens_cuda))]
pub use params::Params;
#[cfg(not(reuselens_cuda))]
pub use program::{CudaUse, cuda_use};
#[cfg(not(reuselens_cuda))]
pub use python::{PythonUse, python_name, python_use};
#[cfg(not(reuselens_cuda))]
pub use replayed::{RecordWatch, ReplayedDevice, ReplayedRun, UnseenKernel};
#[cfg(not(reuselens_cuda))]
pub use run::{CudaRun, CudaServer, LIBRARY_NAME, RunError, run};
#[cfg(not(reuselens_cuda))]
pub use server::Refused;
pub use status::Status;
