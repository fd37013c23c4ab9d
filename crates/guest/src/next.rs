//! The allocator that the program would use without us: that of the next library.

use core::ffi::{c_char, c_int, c_void};
use core::sync::atomic::{AtomicUsize, Ordering};

use crate::errno::reported;
use crate::sys;

unsafe extern "C" {
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
}

const NEXT: *mut c_void = -1_isize as *mut c_void;

/// The address of a function after ours; 0 if there is none.
pub fn find(name: &core::ffi::CStr) -> usize {
    // SAFETY: the name ends with a zero byte.
    unsafe { dlsym(NEXT, name.as_ptr()) as usize }
}

/// Defines a function that calls the next one of its name: name, symbol, arguments, result, and the
/// result where there is none of that name.
macro_rules! next {
    ($(
        $name:ident $symbol:literal ($($arg:ident: $type:ty),*) -> $result:ty = $none:expr;
    )+) => {
        $(
            #[doc = concat!("`", stringify!($name), "` of the next library.")]
            ///
            /// Where it has none, allocations fail, mappings are made and undone by the system
            /// call, and the others do nothing.
            ///
            /// # Safety
            /// The arguments are valid for the C library's function of this name. A block among
            /// them is one that the next allocator returned and that is not freed.
            #[inline]
            #[allow(clippy::unused_unit, reason = "the table has a result for each")]
            pub unsafe fn $name($($arg: $type),*) -> $result {
                let at = SLOTS[NextFunction::$name as usize].load(Ordering::Acquire);
                if at == 0 {
                    return $none;
                }
                type Function = unsafe extern "C" fn($($type),*) -> $result;
                // SAFETY: the C library's function of this name has this type.
                let function = unsafe { core::mem::transmute::<usize, Function>(at) };
                // SAFETY: the caller's.
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

const NULL: *mut u8 = core::ptr::null_mut();

next! {
    malloc c"malloc" (bytes: usize) -> *mut u8 = NULL;
    free c"free" (at: *mut u8) -> () = {};
    calloc c"calloc" (count: usize, bytes: usize) -> *mut u8 = NULL;
    realloc c"realloc" (at: *mut u8, bytes: usize) -> *mut u8 = NULL;
    posix_memalign c"posix_memalign" (to: *mut *mut u8, align: usize, bytes: usize) -> c_int =
        -sys::ENOMEM as c_int;
    aligned_alloc c"aligned_alloc" (align: usize, bytes: usize) -> *mut u8 = NULL;
    memalign c"memalign" (align: usize, bytes: usize) -> *mut u8 = NULL;
    valloc c"valloc" (bytes: usize) -> *mut u8 = NULL;
    pvalloc c"pvalloc" (bytes: usize) -> *mut u8 = NULL;
    malloc_usable_size c"malloc_usable_size" (at: *mut u8) -> usize = 0;
    munmap c"munmap" (at: *mut u8, bytes: usize) -> c_int =
        // SAFETY: the caller's.
        reported(unsafe { sys::munmap(at as usize, bytes) }) as c_int;
    mmap c"mmap" (at: usize, bytes: usize, prot: c_int, flags: c_int, fd: c_int, offset: i64) -> *mut u8 =
        // SAFETY: as above.
        reported(unsafe { sys::mmap(at, bytes, prot as u64, flags as u64, fd, offset) }) as *mut u8;
}
