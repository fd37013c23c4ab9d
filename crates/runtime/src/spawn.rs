//! Starting threads: what a thread did before it starts another one comes before what that one does.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::sync::atomic::{AtomicUsize, Ordering};

use crate::thread;

/// libc's function; 0 before it was looked up.
static REAL: AtomicUsize = AtomicUsize::new(0);
/// `RTLD_NEXT`: the definition after ours.
const NEXT: *mut c_void = usize::MAX as *mut c_void;
/// `EAGAIN`.
const NO_RESOURCES: c_int = 11;

type Create = unsafe extern "C" fn(
    *mut c_void,
    *const c_void,
    unsafe extern "C" fn(*mut c_void) -> *mut c_void,
    *mut c_void,
) -> c_int;

unsafe extern "C" {
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
}

fn real() -> Option<Create> {
    const NAME: &CStr = c"pthread_create";
    let mut address = REAL.load(Ordering::Relaxed);
    if address == 0 {
        // SAFETY: looks up a name; the hooks are silent meanwhile, for it may allocate.
        address = thread::quietly(|| unsafe { dlsym(NEXT, NAME.as_ptr()) }) as usize;
        REAL.store(address, Ordering::Relaxed);
    }
    // SAFETY: libc's function has this type.
    (address != 0).then(|| unsafe { core::mem::transmute::<usize, Create>(address) })
}

/// `pthread_create(3)`.
///
/// # Safety
/// As `pthread_create(3)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_create(
    thread: *mut c_void,
    attributes: *const c_void,
    start: unsafe extern "C" fn(*mut c_void) -> *mut c_void,
    argument: *mut c_void,
) -> c_int {
    thread::flush();
    match real() {
        // SAFETY: passed on.
        Some(create) => unsafe { create(thread, attributes, start, argument) },
        None => NO_RESOURCES,
    }
}
