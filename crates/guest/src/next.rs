//! The allocator that the program would use without us: that of the next library.

use core::ffi::{c_char, c_int, c_void};
use core::sync::atomic::{AtomicUsize, Ordering};

use crate::sys;

unsafe extern "C" {
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
    fn __errno_location() -> *mut c_int;
}

const NEXT: *mut c_void = -1_isize as *mut c_void;

/// The address of a function after ours; 0 if there is none.
pub fn find(name: &core::ffi::CStr) -> usize {
    // SAFETY: the name ends with a zero byte.
    unsafe { dlsym(NEXT, name.as_ptr()) as usize }
}

/// Defines a function that calls the next one of its name: variable, name, arguments, result, and
/// what the result is without one.
macro_rules! next {
    ($($name:ident $symbol:literal ($($arg:ident: $type:ty),*) -> $result:ty = $none:expr;)+) => {
        $(
            #[inline]
            pub fn $name($($arg: $type),*) -> $result {
                let at = SLOTS[NextFunction::$name as usize].load(Ordering::Acquire);
                if at == 0 {
                    return $none;
                }
                // SAFETY: the C library's function of this name has this type.
                let function: unsafe extern "C" fn($($type),*) -> $result =
                    unsafe { core::mem::transmute(at) };
                // SAFETY: the arguments are the program's, for this function.
                unsafe { function($($arg),*) }
            }
        )+

        #[allow(non_camel_case_types)]
        enum NextFunction { $($name),+ }

        static SLOTS: [AtomicUsize; [$($symbol),+].len()] =
            [const { AtomicUsize::new(0) }; [$($symbol),+].len()];

        /// Finds all of them.
        pub fn find_all() {
            $(SLOTS[NextFunction::$name as usize].store(find($symbol), Ordering::Release);)+
        }
    };
}

/// Makes a system call in place of a function that is not there; -1 and `errno` where it fails.
fn result(number: usize, a: [usize; 6]) -> isize {
    // SAFETY: the arguments are the program's, for this call.
    match unsafe { sys::call(number, a) } {
        error @ -4095..0 => {
            // SAFETY: the place is this thread's.
            unsafe { *__errno_location() = -error as c_int };
            -1
        }
        result => result,
    }
}

const NULL: *mut u8 = core::ptr::null_mut();

next! {
    malloc c"malloc" (bytes: usize) -> *mut u8 = NULL;
    free c"free" (at: *mut u8) -> () = ();
    calloc c"calloc" (count: usize, bytes: usize) -> *mut u8 = NULL;
    realloc c"realloc" (at: *mut u8, bytes: usize) -> *mut u8 = NULL;
    posix_memalign c"posix_memalign" (to: *mut *mut u8, align: usize, bytes: usize) -> c_int = 12;
    aligned_alloc c"aligned_alloc" (align: usize, bytes: usize) -> *mut u8 = NULL;
    memalign c"memalign" (align: usize, bytes: usize) -> *mut u8 = NULL;
    valloc c"valloc" (bytes: usize) -> *mut u8 = NULL;
    pvalloc c"pvalloc" (bytes: usize) -> *mut u8 = NULL;
    malloc_usable_size c"malloc_usable_size" (at: *mut u8) -> usize = 0;
    munmap c"munmap" (at: *mut u8, bytes: usize) -> c_int =
        result(sys::MUNMAP, [at as usize, bytes, 0, 0, 0, 0]) as c_int;
    mmap c"mmap" (at: usize, bytes: usize, prot: c_int, flags: c_int, fd: c_int, offset: i64) -> *mut u8 =
        result(sys::MMAP, [at, bytes, prot as usize, flags as usize, fd as usize, offset as usize]) as *mut u8;
}
