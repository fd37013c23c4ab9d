//! Replaces `pthread_create`, which publishes the thread's block first, so that what it did before
//! is read before what the new thread does; and `pthread_setname_np`, which announces the new name.
//! Both call libc's functions ([`real`]).

use core::ffi::{CStr, c_char, c_int, c_void};
use core::sync::atomic::{AtomicUsize, Ordering};

use crate::{publish, thread, title};

/// libc's functions; 0 before they were looked up.
static REAL_CREATE: AtomicUsize = AtomicUsize::new(0);
static REAL_SETNAME: AtomicUsize = AtomicUsize::new(0);
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
    fn pthread_self() -> *mut c_void;
}

/// The address of libc's function with this name, 0 if there is none.
pub fn real(known: &AtomicUsize, name: &CStr) -> usize {
    let mut address = known.load(Ordering::Relaxed);
    if address == 0 {
        // SAFETY: looks up a name; the hooks are silent meanwhile, for it may allocate.
        address = thread::quietly(|| unsafe { dlsym(NEXT, name.as_ptr()) }) as usize;
        known.store(address, Ordering::Relaxed);
    }
    address
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
    publish::start_others();
    thread::flush();
    match real(&REAL_CREATE, c"pthread_create") {
        0 => NO_RESOURCES,
        // SAFETY: libc's function has this type; passed on.
        address => unsafe {
            let create = core::mem::transmute::<usize, Create>(address);
            create(thread, attributes, start, argument)
        },
    }
}

/// `pthread_setname_np(3)`.
///
/// # Safety
/// As `pthread_setname_np(3)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_setname_np(thread: *mut c_void, name: *const c_char) -> c_int {
    type Name = unsafe extern "C" fn(*mut c_void, *const c_char) -> c_int;
    // SAFETY: no arguments.
    let own = unsafe { pthread_self() };
    let result = match real(&REAL_SETNAME, c"pthread_setname_np") {
        0 => NO_RESOURCES,
        // SAFETY: as above.
        address => unsafe { core::mem::transmute::<usize, Name>(address)(thread, name) },
    };
    // Other threads announce their names when they end.
    if result == 0 && thread == own {
        title::changed();
    }
    result
}
