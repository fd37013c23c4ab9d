//! The driver's names of results.

use std::ffi::c_char;

use super::super::memory::store;
use super::returned;
use crate::status::Status;

/// Number and name, with a zero at its end.
macro_rules! names {
    ($($number:literal $name:literal;)*) => {
        const NAMES: &[(u32, &str)] = &[$(($number, concat!($name, "\0")),)*];
    };
}

names! {
    0 "CUDA_SUCCESS";
    1 "CUDA_ERROR_INVALID_VALUE";
    2 "CUDA_ERROR_OUT_OF_MEMORY";
    3 "CUDA_ERROR_NOT_INITIALIZED";
    101 "CUDA_ERROR_INVALID_DEVICE";
    200 "CUDA_ERROR_INVALID_IMAGE";
    201 "CUDA_ERROR_INVALID_CONTEXT";
    209 "CUDA_ERROR_NO_BINARY_FOR_GPU";
    218 "CUDA_ERROR_INVALID_PTX";
    301 "CUDA_ERROR_FILE_NOT_FOUND";
    400 "CUDA_ERROR_INVALID_HANDLE";
    500 "CUDA_ERROR_NOT_FOUND";
    700 "CUDA_ERROR_ILLEGAL_ADDRESS";
    701 "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES";
    702 "CUDA_ERROR_LAUNCH_TIMEOUT";
    710 "CUDA_ERROR_ASSERT";
    712 "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED";
    713 "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED";
    714 "CUDA_ERROR_HARDWARE_STACK_ERROR";
    715 "CUDA_ERROR_ILLEGAL_INSTRUCTION";
    716 "CUDA_ERROR_MISALIGNED_ADDRESS";
    718 "CUDA_ERROR_INVALID_PC";
    719 "CUDA_ERROR_LAUNCH_FAILED";
    720 "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE";
    801 "CUDA_ERROR_NOT_SUPPORTED";
    900 "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED";
    901 "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED";
    910 "CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE";
    999 "CUDA_ERROR_UNKNOWN";
}

fn name(number: u32) -> Option<&'static str> {
    let known = NAMES.iter().find(|known| known.0 == number);
    known.map(|known| known.1)
}

/// Stores a text, or a null pointer and an error where there is none.
fn give(to: *mut *const c_char, text: Option<&'static str>) -> u32 {
    let at = text.map_or(std::ptr::null(), |text| text.as_ptr().cast());
    returned(store(to, at).and_then(|()| text.map(drop).ok_or(Status::INVALID_VALUE)))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGetErrorName(number: u32, to: *mut *const c_char) -> u32 {
    give(to, name(number))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGetErrorString(number: u32, to: *mut *const c_char) -> u32 {
    give(to, name(number).map(|_| Status(number).c_text()))
}
