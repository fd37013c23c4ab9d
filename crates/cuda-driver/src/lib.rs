//! A GPU by its driver: [`DriverDevice`], a [`Device`](reuselens_cuda::Device) on which the same
//! kernels run as on the interpreter.
//!
//! The driver's library (`libcuda.so.1`) is opened when a [`DriverDevice`] is made. Nothing needs
//! it to be built or to start, and where there is none, [`DriverDevice::open`] returns an error
//! that says what to do.
//!
//! Without a GPU the crate is tested on this repository's own stand-in: a program that
//! `reuselens profile` starts finds a driver whose GPU is the interpreter.
//!
//! | what | modules |
//! |---|---|
//! | the driver's functions, and memory that is not lent beyond its blocks | `driver`, `call` |
//! | the device | `device` |
//! | why there is none | `error` |
//!
//! Not by the crate `cudarc`: its functions return an enum of the error codes of one version of
//! CUDA, and a code of a newer driver is undefined behaviour there; a library or function that is
//! missing is a panic.
//!
//! Source: NVIDIA, *CUDA Driver API* 13.0.
//!
//! For: programs that have kernels in PTX and take a GPU where there is one. Not for: watching what
//! kernels do (`ReplayedDevice` of the crate `cuda` wraps this device for that), work in several
//! streams, several GPUs at once.

mod call;
mod device;
mod driver;
mod error;

pub use device::DriverDevice;
pub use error::DriverError;
