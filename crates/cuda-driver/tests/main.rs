//! The tests of [`Device`](reuselens_cuda::Device), on the interpreter and on the driver's device.
//!
//! There is no GPU in a test: the driver is the stand-in of the crate `cuda`, whose GPU is the
//! interpreter. Each case of `cases` runs here on the interpreter, and in a process of its own,
//! which finds the stand-in, on a [`DriverDevice`](reuselens_cuda_driver::DriverDevice).

mod cases;
mod drivers;
mod equality;
mod fake;
mod fakes;
mod hooked;
mod inside;
