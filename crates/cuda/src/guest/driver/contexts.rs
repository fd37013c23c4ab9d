//! Start, the device, and contexts. All contexts are of one device and share its memory; a thread
//! has a stack of those that it entered.

use std::cell::RefCell;
use std::ffi::c_char;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::super::connection::device;
use super::super::devices;
use super::super::errors::uses_runtime;
use super::super::handles::Handles;
use super::super::lock;
use super::super::memory::{store, store_if_wanted};
use super::super::properties;
use super::super::streams;
use super::{as_runtime, in_context, returned, runtime};
use crate::status::Status;

static IS_STARTED: AtomicBool = AtomicBool::new(false);

/// Contexts, with the flags that they were made with.
static CONTEXTS: Handles<u32> = Handles::new();

/// The context that all who retain it share; 0 while nobody does, and how many do.
static PRIMARY: Mutex<(usize, usize)> = Mutex::new((0, 0));
/// Flags for the next primary context.
static PRIMARY_FLAGS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static ENTERED: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

/// That the driver is started: by the program, or by the runtime for this thread.
pub fn started() -> Result<(), Status> {
    if IS_STARTED.load(Ordering::Relaxed) {
        return Ok(());
    }
    if uses_runtime() {
        device().map(|_| IS_STARTED.store(true, Ordering::Relaxed))
    } else {
        Err(Status::INITIALIZATION)
    }
}

/// Checks the number of a device: there is one, number 0.
pub fn check_device(number: i32) -> Result<(), Status> {
    started()?;
    match number {
        0 => Ok(()),
        _ => Err(Status::INVALID_DEVICE),
    }
}

/// The context that this thread has entered last; 0 for none. The runtime enters the primary one
/// for a thread that has none.
fn entered() -> usize {
    let top = ENTERED.with_borrow(|entered| entered.last().copied());
    match top.unwrap_or(0) {
        0 if uses_runtime() => {
            let context = primary_of_runtime();
            ENTERED.with_borrow_mut(|entered| {
                entered.pop();
                entered.push(context);
            });
            context
        }
        context => context,
    }
}

/// The primary context, which the runtime retains from its first use on.
fn primary_of_runtime() -> usize {
    static IS_RETAINED: AtomicBool = AtomicBool::new(false);
    let mut primary = lock(&PRIMARY);
    if !IS_RETAINED.swap(true, Ordering::Relaxed) {
        retain(&mut primary);
    }
    primary.0
}

/// The context of this thread. One that another thread has destroyed is none.
pub fn current() -> Result<usize, Status> {
    started()?;
    match entered() {
        0 => Err(Status::INVALID_CONTEXT),
        context => flags_of(context).map(|_| context),
    }
}

/// The flags of a context that nobody has destroyed.
fn flags_of(context: usize) -> Result<u32, Status> {
    let flags = CONTEXTS.with(context, |flags| *flags);
    flags.map_err(|_| Status::INVALID_CONTEXT)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuInit(flags: u32) -> u32 {
    returned(match flags {
        0 => device().map(|_| IS_STARTED.store(true, Ordering::Relaxed)),
        _ => Err(Status::INVALID_VALUE),
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDriverGetVersion(to: *mut i32) -> u32 {
    returned(runtime(|| devices::cudaDriverGetVersion(to)))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDeviceGetCount(to: *mut i32) -> u32 {
    returned(started().and_then(|()| store(to, 1)))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDeviceGet(to: *mut i32, number: i32) -> u32 {
    returned(check_device(number).and_then(|()| store(to, 0)))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDeviceGetName(to: *mut c_char, bytes: i32, number: i32) -> u32 {
    returned(check_device(number).and_then(|()| {
        let room = usize::try_from(bytes).ok().filter(|&room| room > 0);
        let room = room.ok_or(Status::INVALID_VALUE)?;
        for at in 0..room {
            let byte = properties::NAME.get(at).copied().filter(|_| at + 1 < room);
            // SAFETY: the program says that it has room for that many bytes.
            let place = unsafe { to.add(at) };
            store(place, byte.unwrap_or(0) as c_char)?;
        }
        Ok(())
    }))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDeviceGetUuid_v2(to: *mut [u8; 16], number: i32) -> u32 {
    returned(check_device(number).and_then(|()| store(to, *b"reuselens device")))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDeviceTotalMem_v2(to: *mut usize, number: i32) -> u32 {
    returned(check_device(number).and_then(|()| store(to, device()?[0] as usize)))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDeviceGetAttribute(to: *mut i32, attribute: u32, number: i32) -> u32 {
    returned(
        check_device(number)
            .and_then(|()| runtime(|| properties::cudaDeviceGetAttribute(to, attribute, number))),
    )
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDeviceComputeCapability(major: *mut i32, minor: *mut i32, number: i32) -> u32 {
    let [high, low] = properties::CAPABILITY;
    returned(check_device(number).and_then(|()| {
        store(major, high)?;
        store(minor, low)
    }))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDeviceCanAccessPeer(to: *mut i32, number: i32, peer: i32) -> u32 {
    let both = check_device(number).and_then(|()| check_device(peer));
    returned(both.and_then(|()| store(to, 0)))
}

fn create(to: *mut usize, flags: u32, number: i32) -> u32 {
    returned(check_device(number).and_then(|()| {
        let context = CONTEXTS.add(flags);
        ENTERED.with_borrow_mut(|entered| entered.push(context));
        store(to, context)
    }))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuCtxCreate_v2(to: *mut usize, flags: u32, number: i32) -> u32 {
    create(to, flags, number)
}

/// What a context of a part of the device needs (`CUctxCreateParams`); an ordinary one where all of
/// it is 0.
#[derive(Debug)]
#[repr(C)]
pub struct CreateParams {
    affinities: usize,
    affinity_count: i32,
    graphics: usize,
}

fn create_part() -> u32 {
    super::missing::refuse("cuCtxCreate for a part of the device")
}

/// The same with what a context of a part of the device needs; that is not provided.
#[unsafe(no_mangle)]
pub extern "C" fn cuCtxCreate_v3(
    to: *mut usize,
    affinities: usize,
    count: i32,
    flags: u32,
    number: i32,
) -> u32 {
    if affinities == 0 || count == 0 {
        create(to, flags, number)
    } else {
        create_part()
    }
}

/// As [`cuCtxCreate_v3`].
#[unsafe(no_mangle)]
pub extern "C" fn cuCtxCreate_v4(
    to: *mut usize,
    params: *const CreateParams,
    flags: u32,
    number: i32,
) -> u32 {
    // SAFETY: the program passes it, or null.
    let is_part = unsafe { params.as_ref() }
        .is_some_and(|params| params.affinity_count != 0 || params.graphics != 0);
    if is_part {
        create_part()
    } else {
        create(to, flags, number)
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn cuCtxDestroy_v2(context: usize) -> u32 {
    returned(started().and_then(|()| {
        let removed = CONTEXTS.remove(context);
        removed.map_err(|_| Status::INVALID_CONTEXT)?;
        ENTERED.with_borrow_mut(|entered| {
            if entered.last() == Some(&context) {
                entered.pop();
            }
        });
        Ok(())
    }))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuCtxSetCurrent(context: usize) -> u32 {
    returned(started().and_then(|()| {
        if context != 0 {
            flags_of(context)?;
        }
        ENTERED.with_borrow_mut(|entered| {
            entered.pop();
            entered.extend((context != 0).then_some(context));
        });
        Ok(())
    }))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuCtxGetCurrent(to: *mut usize) -> u32 {
    returned(started().and_then(|()| store(to, entered())))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuCtxPushCurrent_v2(context: usize) -> u32 {
    returned(started().and_then(|()| {
        flags_of(context)?;
        ENTERED.with_borrow_mut(|entered| entered.push(context));
        Ok(())
    }))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuCtxPopCurrent_v2(to: *mut usize) -> u32 {
    returned(started().and_then(|()| {
        let popped = ENTERED.with_borrow_mut(Vec::pop);
        let context = popped.ok_or(Status::INVALID_CONTEXT)?;
        store_if_wanted(to, context);
        Ok(())
    }))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuCtxGetDevice(to: *mut i32) -> u32 {
    cuCtxGetDevice_v2(to, 0)
}

/// The context that a call names, or the current one.
fn named(context: usize) -> Result<usize, Status> {
    match context {
        0 => current(),
        context => flags_of(context).map(|_| context),
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn cuCtxGetDevice_v2(to: *mut i32, context: usize) -> u32 {
    returned(named(context).and_then(|_| store(to, 0)))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuCtxSynchronize_v2(context: usize) -> u32 {
    returned(named(context).and_then(|_| runtime(|| devices::cudaDeviceSynchronize())))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuCtxGetFlags(to: *mut u32) -> u32 {
    returned(current().and_then(|context| store(to, flags_of(context)?)))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuCtxGetApiVersion(context: usize, to: *mut u32) -> u32 {
    const VERSION: u32 = 3020;
    returned(named(context).and_then(|_| store(to, VERSION)))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDevicePrimaryCtxRetain(to: *mut usize, number: i32) -> u32 {
    returned(check_device(number).and_then(|()| {
        let mut primary = lock(&PRIMARY);
        retain(&mut primary);
        store(to, primary.0)
    }))
}

/// Counts a user of the primary context, which the first one makes.
fn retain((context, users): &mut (usize, usize)) {
    if *users == 0 {
        *context = CONTEXTS.add(PRIMARY_FLAGS.load(Ordering::Relaxed) as u32);
    }
    *users += 1;
}

/// Frees all memory of the device, as the runtime's function does. The context stays.
#[unsafe(no_mangle)]
pub extern "C" fn cuDevicePrimaryCtxReset_v2(number: i32) -> u32 {
    returned(check_device(number).and_then(|()| runtime(|| devices::cudaDeviceReset())))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDevicePrimaryCtxRelease_v2(number: i32) -> u32 {
    returned(check_device(number).and_then(|()| {
        let (context, users) = &mut *lock(&PRIMARY);
        *users = users.checked_sub(1).ok_or(Status::INVALID_CONTEXT)?;
        match *users {
            0 => CONTEXTS.remove(*context).map(drop),
            _ => Ok(()),
        }
    }))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDevicePrimaryCtxSetFlags_v2(number: i32, flags: u32) -> u32 {
    PRIMARY_FLAGS.store(flags as usize, Ordering::Relaxed);
    returned(check_device(number))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDevicePrimaryCtxGetState(
    number: i32,
    flags: *mut u32,
    active: *mut i32,
) -> u32 {
    returned(check_device(number).and_then(|()| {
        let is_active = lock(&PRIMARY).1 > 0;
        store(flags, PRIMARY_FLAGS.load(Ordering::Relaxed) as u32)?;
        store(active, is_active.into())
    }))
}

/// The number of a context is its handle.
#[unsafe(no_mangle)]
pub extern "C" fn cuCtxGetId(context: usize, to: *mut u64) -> u32 {
    returned(named(context).and_then(|context| store(to, context as u64)))
}

/// Flags say how a thread waits, which none does here.
#[unsafe(no_mangle)]
pub extern "C" fn cuCtxSetFlags(flags: u32) -> u32 {
    returned(current().and_then(|context| CONTEXTS.with(context, |known| *known = flags)))
}

/// Advice on caches: no preference.
#[unsafe(no_mangle)]
pub extern "C" fn cuCtxGetCacheConfig(to: *mut u32) -> u32 {
    in_context(|| store(to, 0))
}

/// The context that a stream belongs to: all belong to that of the thread.
#[unsafe(no_mangle)]
pub extern "C" fn cuStreamGetCtx(stream: usize, to: *mut usize) -> u32 {
    in_context(|| {
        streams::exists(stream)?;
        store(to, current()?)
    })
}

/// The same for streams of parts of a device, of which there are none.
#[unsafe(no_mangle)]
pub extern "C" fn cuStreamGetCtx_v2(stream: usize, to: *mut usize, part: *mut usize) -> u32 {
    store_if_wanted(part, 0);
    cuStreamGetCtx(stream, to)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDeviceGetPCIBusId(to: *mut u8, bytes: i32, number: i32) -> u32 {
    returned(
        check_device(number)
            .and_then(|()| runtime(|| devices::cudaDeviceGetPCIBusId(to, bytes, number))),
    )
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDeviceGetByPCIBusId(to: *mut i32, bus: *const c_char) -> u32 {
    returned(started().and_then(|()| runtime(|| devices::cudaDeviceGetByPCIBusId(to, bus))))
}

as_runtime! {
    cuCtxSetCacheConfig(value: u32) = devices::cudaDeviceSetCacheConfig;
    cuCtxSynchronize() = devices::cudaDeviceSynchronize;
    cuProfilerStart() = devices::cudaProfilerStart;
    cuProfilerStop() = devices::cudaProfilerStop;
    cuCtxSetLimit(limit: u32, value: usize) = devices::cudaDeviceSetLimit;
    cuCtxGetLimit(to: *mut usize, limit: u32) = devices::cudaDeviceGetLimit;
    cuCtxGetStreamPriorityRange(least: *mut i32, greatest: *mut i32) =
        devices::cudaDeviceGetStreamPriorityRange;
}
