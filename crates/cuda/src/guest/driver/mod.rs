//! The functions of CUDA's driver (`libcuda`), for programs that do without the runtime.
//!
//! Most do what a function of the runtime does: they check that there is a context, pass on what
//! they get, and give the driver's number of the result. The numbers are the runtime's, but for a
//! few that the driver does not have.
//!
//! Source: NVIDIA, *CUDA Driver API* 13.0.

mod contexts;
mod entry;
mod jit_options;
mod kernels;
mod launches;
mod links;
mod memory;
mod missing;
mod modules;
mod names;
mod pointers;
mod pools;
mod streams;

use super::errors::for_driver;
use crate::status::Status;

/// The driver's number of a result.
fn number(status: Status) -> u32 {
    match status {
        Status::INVALID_CONFIGURATION | Status::INVALID_PITCH | Status::INVALID_DIRECTION => {
            Status::INVALID_VALUE
        }
        Status::INVALID_SYMBOL => Status::NOT_FOUND,
        Status::INVALID_FUNCTION => Status::INVALID_HANDLE,
        status => status,
    }
    .0
}

/// What a function of the driver returns.
fn returned(result: Result<(), Status>) -> u32 {
    result.map_or_else(number, |()| 0)
}

/// The same of a function that needs a context.
fn in_context(work: impl FnOnce() -> Result<(), Status>) -> u32 {
    returned(contexts::current().and_then(|_| work()))
}

/// The same where a function of the runtime does the work.
fn runtime_in_context(work: impl FnOnce() -> u32) -> u32 {
    in_context(|| runtime(work))
}

/// What a function of the runtime does for one of the driver.
fn runtime(work: impl FnOnce() -> u32) -> Result<(), Status> {
    match for_driver(work) {
        0 => Ok(()),
        number => Err(Status(number)),
    }
}

/// Functions of the driver that do what one of the runtime does: name, arguments, function.
macro_rules! as_runtime {
    ($($name:ident($($argument:ident: $type:ty),*) = $function:path;)*) => { $(
        #[unsafe(no_mangle)]
        pub extern "C" fn $name($($argument: $type),*) -> u32 {
            $crate::guest::driver::runtime_in_context(|| $function($($argument),*))
        }
    )* };
}
use as_runtime;
