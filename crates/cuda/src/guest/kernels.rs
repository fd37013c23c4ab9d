//! Kernels: launches, and what programs ask about them.

use std::cell::RefCell;
use std::ffi::c_void;

use super::Dim3;
use super::call_paths;
use super::connection::ask;
use super::devices;
use super::errors::returned;
use super::managed;
use super::memory::store;
use super::modules::{self, ReadyKernel};
use super::properties::{
    BLOCKS_OF_SM, MAX_SHARED_OPTIN, MULTIPROCESSORS, SHARED_OF_SM, THREADS_OF_SM, WARP,
};
use super::work::{Work, submit};
use crate::protocol::{Message, Operation};
use crate::status::Status;

/// What `kernel<<<grid, block, shared, stream>>>` pushes, and the kernel's stub pops.
#[derive(Clone, Copy)]
pub struct Configuration {
    pub grid: Dim3,
    pub block: Dim3,
    pub shared_bytes: usize,
    pub stream: usize,
    pub is_cooperative: bool,
}

impl Configuration {
    /// Of a launch whose blocks may run one after the other.
    pub fn plain(grid: Dim3, block: Dim3, shared_bytes: usize, stream: usize) -> Configuration {
        Configuration {
            grid,
            block,
            shared_bytes,
            stream,
            is_cooperative: false,
        }
    }
}

thread_local! {
    static CONFIGURATIONS: RefCell<Vec<Configuration>> = const { RefCell::new(Vec::new()) };
}

#[unsafe(no_mangle)]
pub extern "C" fn __cudaPushCallConfiguration(
    grid: Dim3,
    block: Dim3,
    shared_bytes: usize,
    stream: usize,
) -> u32 {
    let configuration = Configuration::plain(grid, block, shared_bytes, stream);
    CONFIGURATIONS.with_borrow_mut(|pushed| pushed.push(configuration));
    0
}

#[unsafe(no_mangle)]
pub extern "C" fn __cudaPopCallConfiguration(
    grid: *mut Dim3,
    block: *mut Dim3,
    shared_bytes: *mut usize,
    stream: *mut usize,
) -> u32 {
    let popped = CONFIGURATIONS.with_borrow_mut(Vec::pop);
    returned(popped.ok_or(Status::INVALID_CONFIGURATION).and_then(|it| {
        store(grid, it.grid)?;
        store(block, it.block)?;
        store(shared_bytes, it.shared_bytes)?;
        store(stream, it.stream)
    }))
}

/// A kernel's handle is its address in the program's code.
#[unsafe(no_mangle)]
pub extern "C" fn __cudaGetKernel(to: *mut usize, host: usize) -> u32 {
    if modules::is_kernel(host) {
        returned(store(to, host))
    } else {
        returned(Err(Status::INVALID_FUNCTION))
    }
}

/// What CUDA says of a launch before it begins, and why.
fn check(kernel: &ReadyKernel, configuration: &Configuration) -> Result<(), (Status, String)> {
    let [x, y, z] = <[u64; 3]>::from(configuration.block);
    let [columns, rows, layers] = <[u64; 3]>::from(configuration.grid);
    let (threads, most) = (x * y * z, kernel.max_threads);
    if !(1..=most).contains(&threads) || z > 64 {
        let why = format!(
            "a block of {x} x {y} x {z} threads; from 1 to {most} are possible for it, and up to 64 in the third direction"
        );
        return Err((Status::INVALID_CONFIGURATION, why));
    }
    let has_blocks = (1..=0x7fff_ffff).contains(&columns)
        && (1..=0xffff).contains(&rows)
        && (1..=0xffff).contains(&layers);
    if !has_blocks {
        let why = format!(
            "a grid of {columns} x {rows} x {layers} blocks; from 1 to 2147483647 x 65535 x 65535 are possible"
        );
        return Err((Status::INVALID_CONFIGURATION, why));
    }
    let bytes = configuration.shared_bytes as u64;
    if bytes > kernel.permitted_bytes {
        let why = format!(
            "it adds {bytes} bytes of shared memory, and {} are permitted; permit more, up to {} (cudaFuncSetAttribute with cudaFuncAttributeMaxDynamicSharedMemorySize)",
            kernel.permitted_bytes,
            (MAX_SHARED_OPTIN as u64).saturating_sub(kernel.shared_bytes)
        );
        return Err((Status::INVALID_VALUE, why));
    }
    let room = blocks_of_sm(kernel, threads as usize, configuration.shared_bytes) as u64
        * MULTIPROCESSORS as u64;
    let blocks = columns * rows * layers;
    if configuration.is_cooperative && blocks > room {
        let why = format!(
            "a cooperative launch of {blocks} blocks, of which {room} fit the device at one time"
        );
        return Err((Status::COOPERATIVE_TOO_LARGE, why));
    }
    Ok(())
}

/// Tells the report of a launch that does not fit.
fn report_refused(kernel: &ReadyKernel, why: String) {
    let mut request = Message::with_bytes(Operation::Refused, &[kernel.number], why.into_bytes());
    request.call_path = call_paths::here();
    // What the program gets is the launch's own error.
    let _ = ask(&request);
}

pub fn launch(
    host: usize,
    configuration: Configuration,
    arguments: *const *const u8,
) -> Result<(), Status> {
    launch_with(host, configuration, |kernel| gathered(kernel, arguments))
}

/// The parameters of a kernel, whose addresses are in a list.
fn gathered(kernel: &ReadyKernel, arguments: *const *const u8) -> Result<Vec<u8>, Status> {
    let mut params = vec![0; kernel.param_bytes];
    if arguments.is_null() && !kernel.params.is_empty() {
        return Err(Status::INVALID_VALUE);
    }
    for (index, &(offset, bytes)) in kernel.params.iter().enumerate() {
        let room = params
            .get_mut(offset..)
            .and_then(|room| room.get_mut(..bytes));
        let room = room.ok_or(Status::UNKNOWN)?;
        // SAFETY: the program passes a list of as many addresses as there are parameters.
        let argument = unsafe { *arguments.add(index) };
        if argument.is_null() {
            return Err(Status::INVALID_VALUE);
        }
        // SAFETY: the program passes the address of each argument.
        room.copy_from_slice(unsafe { std::slice::from_raw_parts(argument, bytes) });
    }
    Ok(params)
}

/// Launches a kernel with the parameters that `params` lays out.
pub fn launch_with(
    host: usize,
    configuration: Configuration,
    params: impl FnOnce(&ReadyKernel) -> Result<Vec<u8>, Status>,
) -> Result<(), Status> {
    let kernel = modules::kernel(host)?;
    if let Err((status, why)) = check(&kernel, &configuration) {
        report_refused(&kernel, why);
        return Err(status);
    }
    let mut params = params(&kernel)?;
    managed::translate(&mut params);
    let mut fields = vec![kernel.number];
    fields.extend(<[u64; 3]>::from(configuration.grid));
    fields.extend(<[u64; 3]>::from(configuration.block));
    fields.push(configuration.shared_bytes as u64);
    fields.push(configuration.is_cooperative.into());
    fields.push(devices::stack_bytes());
    let mut request = Message::with_bytes(Operation::Launch, &fields, params);
    request.call_path = call_paths::here();
    submit(configuration.stream, Work::Launch(request))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaLaunchKernel(
    host: usize,
    grid: Dim3,
    block: Dim3,
    arguments: *const *const u8,
    shared_bytes: usize,
    stream: usize,
) -> u32 {
    let configuration = Configuration::plain(grid, block, shared_bytes, stream);
    returned(launch(host, configuration, arguments))
}

/// A launch whose blocks all run at the same time.
#[unsafe(no_mangle)]
pub extern "C" fn cudaLaunchCooperativeKernel(
    host: usize,
    grid: Dim3,
    block: Dim3,
    arguments: *const *const u8,
    shared_bytes: usize,
    stream: usize,
) -> u32 {
    let configuration = Configuration {
        is_cooperative: true,
        ..Configuration::plain(grid, block, shared_bytes, stream)
    };
    returned(launch(host, configuration, arguments))
}

/// How a launch is described (`cudaLaunchConfig_t`).
#[repr(C)]
pub struct LaunchDescription {
    grid: Dim3,
    block: Dim3,
    shared_bytes: usize,
    stream: usize,
    attributes: *const LaunchAttribute,
    attribute_count: u32,
}

/// `cudaLaunchAttribute`: its number, and 64 bytes of its value.
#[repr(C, align(8))]
pub struct LaunchAttribute {
    number: u32,
    _padding: u32,
    value: [u8; 64],
}

/// The attribute that makes a launch cooperative.
const COOPERATIVE: u32 = 2;

/// The attribute with the blocks of a cluster, in each direction.
const CLUSTER: u32 = 4;

/// Attributes that change no result: none (0), the window of the L2 cache (1), the policies of
/// synchronisation (3) and of scheduling (5), the permission to overlap the launch before (6),
/// priority (8), memory domains (9, 10), the preferred size of clusters (11), the carve-out of
/// shared memory (14), and scheduling by the use of NVLink (16).
const HARMLESS: [u32; 11] = [0, 1, 3, 5, 6, 8, 9, 10, 11, 14, 16];

/// What an attribute changes: whether the launch is cooperative, or nothing.
///
/// # Errors
/// The attribute's number if its effect is not provided: clusters of several blocks, events of
/// kernels (7, 12), and nodes that kernels change (13).
fn cooperation_of(attribute: &LaunchAttribute) -> Result<Option<bool>, u32> {
    let one_block = [1u32; 3].map(u32::to_ne_bytes);
    match attribute.number {
        COOPERATIVE => Ok(Some(attribute.value[..4] != [0; 4])),
        CLUSTER if attribute.value[..12] == *one_block.as_flattened() => Ok(None),
        number if HARMLESS.contains(&number) => Ok(None),
        number => Err(number),
    }
}

/// Whether attributes make a launch cooperative.
///
/// # Safety
/// There are as many as the number says.
pub unsafe fn asks_for_cooperation(
    (attributes, count): (*const LaunchAttribute, u32),
) -> Result<bool, Status> {
    let mut is_cooperative = false;
    for index in 0..count as usize {
        // SAFETY: the caller's.
        let attribute = unsafe { &*attributes.add(index) };
        match cooperation_of(attribute) {
            Ok(Some(is_set)) => is_cooperative = is_set,
            Ok(None) => {}
            Err(number) => {
                modules::report_missing(&format!("launch attribute {number}"));
                return Err(Status::NOT_SUPPORTED);
            }
        }
    }
    Ok(is_cooperative)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaLaunchKernelExC(
    description: *const LaunchDescription,
    host: usize,
    arguments: *const *const u8,
) -> u32 {
    if description.is_null() {
        return returned(Err(Status::INVALID_VALUE));
    }
    // SAFETY: the program passes a description.
    let description = unsafe { &*description };
    let attributes = (description.attributes, description.attribute_count);
    // SAFETY: the description gives their number.
    let is_cooperative = match unsafe { asks_for_cooperation(attributes) } {
        Ok(is_cooperative) => is_cooperative,
        Err(status) => return returned(Err(status)),
    };
    let configuration = Configuration {
        grid: description.grid,
        block: description.block,
        shared_bytes: description.shared_bytes,
        stream: description.stream,
        is_cooperative,
    };
    returned(launch(host, configuration, arguments))
}

/// What is known of a kernel (`cudaFuncAttributes`).
#[repr(C)]
pub struct KernelAttributes {
    pub shared_bytes: usize,
    pub constant_bytes: usize,
    pub local_bytes: usize,
    pub max_threads: i32,
    pub registers: i32,
    pub ptx_version: i32,
    pub binary_version: i32,
    pub cache_mode: i32,
    pub max_dynamic_shared_bytes: i32,
    pub carveout: i32,
    pub cluster_must_be_set: i32,
    pub cluster: [i32; 3],
    pub cluster_policy: i32,
    pub non_portable_cluster: i32,
    pub reserved: [i32; 16],
}

/// What is known of a kernel.
pub fn attributes(host: usize) -> Result<KernelAttributes, Status> {
    let kernel = modules::kernel(host)?;
    Ok(KernelAttributes {
        shared_bytes: kernel.shared_bytes as usize,
        constant_bytes: 0,
        local_bytes: kernel.local_bytes as usize,
        max_threads: kernel.max_threads as i32,
        registers: 32,
        ptx_version: kernel.architecture,
        binary_version: 90,
        cache_mode: 0,
        max_dynamic_shared_bytes: kernel.permitted_bytes as i32,
        carveout: -1,
        cluster_must_be_set: 0,
        cluster: [0; 3],
        cluster_policy: 0,
        non_portable_cluster: 0,
        reserved: [0; 16],
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaFuncGetAttributes(to: *mut KernelAttributes, host: usize) -> u32 {
    returned(attributes(host).and_then(|attributes| store(to, attributes)))
}

/// Advice on caches and shared memory; it changes no result.
fn advise(host: usize) -> u32 {
    returned(if modules::is_kernel(host) {
        Ok(())
    } else {
        Err(Status::INVALID_FUNCTION)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaFuncSetAttribute(host: usize, attribute: u32, value: i32) -> u32 {
    const MAX_DYNAMIC_SHARED: u32 = 8;
    const CARVEOUT: u32 = 9;
    match attribute {
        MAX_DYNAMIC_SHARED => {}
        CARVEOUT => return advise(host),
        _ => {
            modules::report_missing(&format!("kernel attribute {attribute}"));
            return returned(Err(Status::NOT_SUPPORTED));
        }
    }
    returned(modules::kernel(host).and_then(|kernel| {
        let most = MAX_SHARED_OPTIN as u64 - kernel.shared_bytes.min(MAX_SHARED_OPTIN as u64);
        let bytes = u64::try_from(value).map_err(|_| Status::INVALID_VALUE)?;
        if bytes <= most {
            modules::permit(host, bytes)
        } else {
            Err(Status::INVALID_VALUE)
        }
    }))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaOccupancyAvailableDynamicSMemPerBlock(
    to: *mut usize,
    host: usize,
    blocks: i32,
    _threads: i32,
) -> u32 {
    let blocks = usize::try_from(blocks).ok().filter(|&blocks| blocks > 0);
    returned(modules::kernel(host).and_then(|kernel| {
        let share = SHARED_OF_SM / blocks.ok_or(Status::INVALID_VALUE)?;
        let taken = kernel.shared_bytes as usize + RESERVED;
        store(to, share.saturating_sub(taken).min(MAX_SHARED_OPTIN))
    }))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaFuncSetCacheConfig(host: usize, _configuration: u32) -> u32 {
    advise(host)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaFuncSetSharedMemConfig(host: usize, _configuration: u32) -> u32 {
    advise(host)
}

/// Shared memory that each block takes beside its own.
const RESERVED: usize = 1 << 10;

/// Blocks of a kernel that fit a multiprocessor: by threads, by shared memory (each block takes one
/// KiB more), and in all.
fn blocks_of_sm(kernel: &ReadyKernel, threads: usize, dynamic_bytes: usize) -> usize {
    if threads == 0 || threads as u64 > kernel.max_threads {
        return 0;
    }
    let shared = kernel.shared_bytes as usize + dynamic_bytes;
    if shared > MAX_SHARED_OPTIN {
        return 0;
    }
    let by_threads = THREADS_OF_SM / threads.next_multiple_of(WARP);
    let by_shared = SHARED_OF_SM / (shared + RESERVED);
    by_threads.min(by_shared).min(BLOCKS_OF_SM)
}

/// The threads of a block of a kernel, at most `limit` (0 for any number) and of full warps, of
/// which the most are on a multiprocessor at one time, more rather than fewer; and the blocks that
/// fill the device then. `shared_bytes` says how many bytes of shared memory a block adds.
pub fn potential_block(
    host: usize,
    shared_bytes: impl Fn(i32) -> usize,
    limit: i32,
) -> Result<(i32, i32), Status> {
    let kernel = modules::kernel(host)?;
    let most = match usize::try_from(limit).map_err(|_| Status::INVALID_VALUE)? {
        0 => kernel.max_threads as usize,
        limit => limit.min(kernel.max_threads as usize),
    };
    let sizes = (1..=most.div_ceil(WARP)).map(|warps| (warps * WARP).min(most));
    let occupied = sizes.map(|threads| {
        let blocks = blocks_of_sm(&kernel, threads, shared_bytes(threads as i32));
        (blocks * threads, threads, blocks)
    });
    let best = occupied.max().filter(|(occupied, ..)| *occupied > 0);
    let (_, threads, blocks) = best.ok_or(Status::INVALID_VALUE)?;
    Ok((blocks as i32 * MULTIPROCESSORS, threads as i32))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaOccupancyMaxActiveBlocksPerMultiprocessor(
    to: *mut i32,
    host: usize,
    threads: i32,
    dynamic_bytes: usize,
) -> u32 {
    cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(to, host, threads, dynamic_bytes, 0)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    to: *mut i32,
    host: usize,
    threads: i32,
    dynamic_bytes: usize,
    _flags: u32,
) -> u32 {
    let threads = usize::try_from(threads).ok().filter(|&threads| threads > 0);
    returned(threads.ok_or(Status::INVALID_VALUE).and_then(|threads| {
        let kernel = modules::kernel(host)?;
        store(to, blocks_of_sm(&kernel, threads, dynamic_bytes) as i32)
    }))
}

/// A function of the program that runs in the order of a stream.
#[unsafe(no_mangle)]
pub extern "C" fn cudaLaunchHostFunc(
    stream: usize,
    function: Option<extern "C" fn(*mut c_void)>,
    argument: usize,
) -> u32 {
    let function = function.ok_or(Status::INVALID_VALUE);
    returned(function.and_then(|function| submit(stream, Work::Call(function, argument))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attribute(number: u32, words: [u32; 3]) -> LaunchAttribute {
        let mut value = [0; 64];
        let bytes = words.map(u32::to_ne_bytes);
        value[..12].copy_from_slice(bytes.as_flattened());
        LaunchAttribute {
            number,
            _padding: 0,
            value,
        }
    }

    #[test]
    fn attributes_that_only_permit_are_accepted_and_others_refused() {
        let effect = |number, words| cooperation_of(&attribute(number, words));
        for hint in [0u32, 1, 3, 5, 6, 8, 9, 10, 11, 14, 16] {
            assert_eq!(effect(hint, [2, 1, 1]), Ok(None), "{hint}");
        }
        assert_eq!(effect(COOPERATIVE, [1, 0, 0]), Ok(Some(true)));
        assert_eq!(effect(COOPERATIVE, [0, 0, 0]), Ok(Some(false)));
        assert_eq!(effect(CLUSTER, [1, 1, 1]), Ok(None));
        assert_eq!(effect(CLUSTER, [1, 2, 1]), Err(CLUSTER));
        // Events that kernels cause, nodes that kernels change, and what CUDA adds later.
        for number in [7, 12, 13, 15, 17] {
            assert_eq!(effect(number, [1, 1, 1]), Err(number), "{number}");
        }
    }
}
