//! The native part of the Python package `reuselens`: a GPU that runs kernels in the process of
//! Python itself, on its arrays.
//!
//! | what | modules |
//! |---|---|
//! | the device, as Python has it | `device` |
//! | memory of the process on the device | `host_memory` |
//! | what is seen of kernels | `watch` |
//! | names of arrays and call paths | `run_names` |
//!
//! For: the Python modules in `../reuselens`, which know Triton. Not for: other programs; the
//! crates `ptx` and `cuda` are for those.

mod device;
mod host_memory;
mod run_names;
mod watch;

use pyo3::create_exception;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

create_exception!(
    reuselens._native,
    KernelError,
    PyRuntimeError,
    "A kernel did what it must not; the message has the kernel, block, thread and line."
);

/// See `_native.pyi`.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("KernelError", module.py().get_type::<KernelError>())?;
    module.add_class::<device::Device>()?;
    module.add_function(wrap_pyfunction!(device::write_file, module)?)
}
