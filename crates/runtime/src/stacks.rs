//! The bounds of threads' stacks, and the libc function that returns them.
//!
//! glibc's `pthread_getattr_np` holds the lock of the thread that it describes while it allocates.
//! An allocation may be the first event of the calling thread, which is when the run time asks for
//! the bounds of that thread's stack: it would wait for a lock that its own thread holds. So the
//! program's calls go through the function here, which keeps the hooks of the calling thread silent
//! meanwhile.

use core::ffi::{c_int, c_void};
use core::sync::atomic::AtomicUsize;

use reuselens_guest::sys;

use crate::spawn::real;
use crate::thread;

/// libc's function; 0 before it was looked up.
static REAL_GET_ATTRIBUTES: AtomicUsize = AtomicUsize::new(0);
/// `ENOSYS`.
const NO_FUNCTION: c_int = 38;

type GetAttributes = unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int;

unsafe extern "C" {
    static __libc_stack_end: *const c_void;
    fn pthread_self() -> *mut c_void;
    fn pthread_attr_getstack(a: *const [u64; 8], low: *mut usize, bytes: *mut usize) -> c_int;
    fn pthread_attr_destroy(attributes: *mut [u64; 8]) -> c_int;
}

/// Looks up libc's function when the process begins. Later, a thread that begins could wait in the
/// look-up for a thread that is loading a library and waits for the first one.
pub fn find_function() {
    real(&REAL_GET_ATTRIBUTES, c"pthread_getattr_np");
}

/// libc's `pthread_getattr_np`, called with this thread's hooks silent.
///
/// # Safety
/// As `pthread_getattr_np(3)`.
unsafe fn get_attributes(thread: *mut c_void, attributes: *mut c_void) -> c_int {
    match real(&REAL_GET_ATTRIBUTES, c"pthread_getattr_np") {
        0 => NO_FUNCTION,
        address => thread::quietly(|| {
            // SAFETY: libc's function has this type; passed on.
            unsafe { core::mem::transmute::<usize, GetAttributes>(address)(thread, attributes) }
        }),
    }
}

/// `pthread_getattr_np(3)`.
///
/// # Safety
/// As `pthread_getattr_np(3)`.
#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_getattr_np(thread: *mut c_void, attributes: *mut c_void) -> c_int {
    // SAFETY: passed on.
    unsafe { get_attributes(thread, attributes) }
}

/// Lowest address of the calling thread's stack and the first one above it.
pub fn stack_bounds() -> (u64, u64) {
    if sys::pid() == sys::tid() {
        // SAFETY: set by the dynamic loader; lies in the last page or so of the stack.
        let end = unsafe { __libc_stack_end } as u64;
        let high = end.next_multiple_of(4096) + (256 << 10);
        let low = high.saturating_sub(sys::stack_limit());
        let here = 0_u8;
        // After a fork the first thread may run on the stack of another one.
        if (low..high).contains(&(&raw const here as u64)) {
            return (low, high);
        }
    }
    let (mut low, mut bytes) = (0_usize, 0_usize);
    let mut attributes = [0_u64; 8];
    // SAFETY: the attributes are as large as pthread_attr_t (56 bytes); results go to locals.
    unsafe {
        if get_attributes(pthread_self(), (&raw mut attributes).cast()) != 0 {
            return (0, 0);
        }
        pthread_attr_getstack(&raw const attributes, &raw mut low, &raw mut bytes);
        pthread_attr_destroy(&raw mut attributes);
    }
    (low as u64, (low + bytes) as u64)
}
