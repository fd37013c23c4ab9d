//! The run time's functions (module `on`), or empty ones without the feature `record` (`off`).
//! Macros expand to calls of these, so that the call is in the caller's line. Not part of the
//! public API.

#[cfg(feature = "record")]
pub use on::{access, data, named_data, partial_data, region_begin, region_end, statement};

#[cfg(not(feature = "record"))]
pub use off::{access, data, named_data, partial_data, region_begin, region_end, statement};

/// The address of an element, or of a part of one.
#[inline(always)]
pub const fn address<T: ?Sized>(element: &T) -> *const () {
    core::ptr::from_ref(element).cast()
}

#[cfg(feature = "record")]
mod on {
    use core::ffi::{CStr, c_char};

    // SAFETY: these are the run time's signatures (`crates/runtime/src/names.rs`), which the build
    // script has linked in. The safe ones take addresses as numbers and read nothing there.
    unsafe extern "C" {
        #[link_name = "RecordData"]
        pub safe fn data(base: *const (), total_bytes: usize, element_bytes: usize);
        #[link_name = "RecordPartialData"]
        pub safe fn partial_data(base: *const (), entry: *const ());
        #[link_name = "RecordAccess"]
        pub safe fn access(base: *const (), element: *const ());
        #[link_name = "RecordStatement"]
        pub safe fn statement();
        #[link_name = "reuselens_mark_region_begin"]
        fn begin(name: *const u8, length: usize);
        #[link_name = "reuselens_mark_region_end"]
        pub safe fn region_end();
        #[link_name = "RecordNamedData"]
        fn named(name: *const c_char, base: *const (), total_bytes: usize, element_bytes: usize);
    }

    #[inline]
    pub fn region_begin(name: &'static str) {
        // SAFETY: the name and its length; one without letters is read up to a zero byte, so it
        // gets one.
        unsafe {
            if name.is_empty() {
                begin(c"".as_ptr().cast(), 0);
            } else {
                begin(name.as_ptr(), name.len());
            }
        }
    }

    #[inline]
    pub fn named_data<T>(name: &CStr, data: &[T]) {
        let (base, total_bytes) = (data.as_ptr().cast(), size_of_val(data));
        // SAFETY: the name ends with a zero byte and is only read during the call; nothing is read
        // at the base.
        unsafe { named(name.as_ptr(), base, total_bytes, size_of::<T>()) }
    }
}

#[cfg(not(feature = "record"))]
mod off {
    use core::ffi::CStr;

    #[inline(always)]
    pub const fn data(_: *const (), _: usize, _: usize) {}
    #[inline(always)]
    pub const fn partial_data(_: *const (), _: *const ()) {}
    #[inline(always)]
    pub const fn access(_: *const (), _: *const ()) {}
    #[inline(always)]
    pub const fn statement() {}
    #[inline(always)]
    pub const fn region_begin(_: &'static str) {}
    #[inline(always)]
    pub const fn region_end() {}
    #[inline(always)]
    pub const fn named_data<T>(_: &CStr, _: &[T]) {}
}
