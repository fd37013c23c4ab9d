//! Launches.

use super::super::Dim3;
use super::super::kernels::{self, Configuration, LaunchAttribute};
use super::super::modules::ReadyKernel;
use super::in_context;
use crate::status::Status;

/// Grid and block, as the functions get them.
type Sizes = [u32; 6];

/// What ends a list of parameters in a buffer, and what comes before the buffer and its bytes.
const END: usize = 0;
const BUFFER: usize = 1;
const BUFFER_BYTES: usize = 2;

fn launch(
    kernel: usize,
    configuration: Configuration,
    arguments: *const *const u8,
    extra: *const usize,
) -> Result<(), Status> {
    if extra.is_null() {
        return kernels::launch(kernel, configuration, arguments);
    }
    if !arguments.is_null() {
        return Err(Status::INVALID_VALUE);
    }
    // SAFETY: the program passes a list with its end.
    let params = unsafe { in_buffer(extra) }?;
    kernels::launch_with(kernel, configuration, |kernel| fitting(kernel, params))
}

/// The parameters of a kernel from a buffer, which may end anywhere in the padding after the last
/// of them.
fn fitting(kernel: &ReadyKernel, mut params: Vec<u8>) -> Result<Vec<u8>, Status> {
    // No type of a parameter has a larger alignment.
    const ALIGNMENT: usize = 16;
    let ends = kernel.params.iter().map(|(offset, bytes)| offset + bytes);
    let end = ends.max().unwrap_or(0);
    let padded = kernel.param_bytes.next_multiple_of(ALIGNMENT);
    if !(end..=padded).contains(&params.len()) {
        return Err(Status::INVALID_VALUE);
    }
    params.resize(kernel.param_bytes, 0);
    Ok(params)
}

/// Parameters as the kernel has them, in a buffer that a list names.
///
/// # Safety
/// The list has an end, and the buffer as many bytes as it says.
unsafe fn in_buffer(list: *const usize) -> Result<Vec<u8>, Status> {
    let (mut buffer, mut bytes) = (0, 0);
    let mut at = 0;
    loop {
        // SAFETY: the caller's.
        let (word, value) = unsafe { (*list.add(at), list.add(at + 1)) };
        match word {
            END => break,
            // SAFETY: the caller's.
            BUFFER => buffer = unsafe { *value },
            // SAFETY: the caller's: the value is the address of the number.
            BUFFER_BYTES => bytes = unsafe { *(*value as *const usize) },
            _ => return Err(Status::INVALID_VALUE),
        }
        at += 2;
    }
    if buffer == 0 {
        return Ok(Vec::new());
    }
    // SAFETY: the caller's.
    Ok(unsafe { std::slice::from_raw_parts(buffer as *const u8, bytes) }.to_vec())
}

fn configuration(sizes: Sizes, shared_bytes: u32, stream: usize) -> Configuration {
    let [x, y, z, a, b, c] = sizes;
    let (grid, block) = (Dim3 { x, y, z }, Dim3 { x: a, y: b, z: c });
    Configuration::plain(grid, block, shared_bytes as usize, stream)
}

#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments, reason = "CUDA's")]
pub extern "C" fn cuLaunchKernel(
    kernel: usize,
    columns: u32,
    rows: u32,
    layers: u32,
    x: u32,
    y: u32,
    z: u32,
    shared_bytes: u32,
    stream: usize,
    arguments: *const *const u8,
    extra: *const usize,
) -> u32 {
    let configuration = configuration([columns, rows, layers, x, y, z], shared_bytes, stream);
    in_context(|| launch(kernel, configuration, arguments, extra))
}

#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments, reason = "CUDA's")]
pub extern "C" fn cuLaunchCooperativeKernel(
    kernel: usize,
    columns: u32,
    rows: u32,
    layers: u32,
    x: u32,
    y: u32,
    z: u32,
    shared_bytes: u32,
    stream: usize,
    arguments: *const *const u8,
) -> u32 {
    let configuration = Configuration {
        is_cooperative: true,
        ..configuration([columns, rows, layers, x, y, z], shared_bytes, stream)
    };
    in_context(|| launch(kernel, configuration, arguments, std::ptr::null()))
}

/// How a launch is described (`CUlaunchConfig`).
#[repr(C)]
pub struct DriverLaunch {
    sizes: Sizes,
    shared_bytes: u32,
    stream: usize,
    attributes: *const LaunchAttribute,
    attribute_count: u32,
}

#[unsafe(no_mangle)]
pub extern "C" fn cuLaunchKernelEx(
    description: *const DriverLaunch,
    kernel: usize,
    arguments: *const *const u8,
    extra: *const usize,
) -> u32 {
    in_context(|| {
        if description.is_null() {
            return Err(Status::INVALID_VALUE);
        }
        // SAFETY: the program passes a description.
        let it = unsafe { &*description };
        // SAFETY: the description gives their number.
        let is_cooperative =
            unsafe { kernels::asks_for_cooperation((it.attributes, it.attribute_count)) }?;
        let configuration = Configuration {
            is_cooperative,
            ..configuration(it.sizes, it.shared_bytes, it.stream)
        };
        launch(kernel, configuration, arguments, extra)
    })
}

/// A function of the program that runs in the order of a stream.
#[unsafe(no_mangle)]
pub extern "C" fn cuLaunchHostFunc(
    stream: usize,
    function: Option<extern "C" fn(*mut std::ffi::c_void)>,
    argument: usize,
) -> u32 {
    super::runtime_in_context(|| kernels::cudaLaunchHostFunc(stream, function, argument))
}
