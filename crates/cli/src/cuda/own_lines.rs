//! [`in_own_lines`]: instructions that the compiler took from CUDA's own headers belong to the line
//! of the program that uses them.

use reuselens_gpu_advisor::KernelReport;
use reuselens_warp::DeviceCall;

/// Beginnings of the names of headers of CUDA whose functions programs call as if they were
/// instructions: a line in them says nothing about the program.
const HEADERS: [&str; 11] = [
    "texture_",
    "surface_",
    "cuda_texture",
    "cuda_surface",
    "cuda_fp",
    "cuda_bf",
    "cuda_runtime",
    "sm_",
    "device_",
    "math_functions",
    "vector_functions",
];

/// Gives each instruction, basic block and branch of a kernel the line of the program's own source.
/// What was not put into the program's code by the compiler keeps its place.
pub fn in_own_lines(kernel: &mut KernelReport) {
    kernel.move_places(own);
}

/// The place of the innermost call that is not in CUDA's headers, with the calls that lead there;
/// none if the place itself is not in these headers.
fn own<'c>(place: &str, calls: &'c [DeviceCall]) -> Option<(String, &'c [DeviceCall])> {
    if !is_of_cuda(place) {
        return None;
    }
    let mut calls = calls;
    while let [outer @ .., last] = calls {
        if !last.is_inlined || last.place.is_empty() {
            return None;
        }
        if !is_of_cuda(&last.place) {
            return Some((last.place.clone(), outer));
        }
        calls = outer;
    }
    None
}

/// Whether a place (`file:line` or `file:line:column`) is in a header of CUDA.
fn is_of_cuda(place: &str) -> bool {
    let name = place.rsplit('/').next().unwrap_or(place);
    let file = name.split(':').next().unwrap_or(name);
    let is_header = file.ends_with(".h") || file.ends_with(".hpp");
    is_header && place.contains("/include/") && HEADERS.iter().any(|it| file.starts_with(it))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "/usr/local/cuda/include/texture_indirect_functions.h:91";

    fn call(place: &str, is_inlined: bool) -> DeviceCall {
        DeviceCall {
            function: "f".to_owned(),
            place: place.to_owned(),
            is_inlined,
        }
    }

    #[test]
    fn headers_of_cuda_are_left_out() {
        let calls = [
            call("/home/a.cu:20", true),
            call("/home/a.cu:7", true),
            call(HEADER, true),
        ];
        let found = own(HEADER, &calls);
        assert_eq!(found, Some(("/home/a.cu:7".to_owned(), &calls[..1])));
    }

    #[test]
    fn other_places_stay() {
        let calls = [call("/home/a.cu:7", true)];
        assert_eq!(own("/home/include/device_list.cu:3", &calls), None);
        assert_eq!(own("/home/texture_mine.h:3:1", &calls), None);
        // Called and not put in place; and nothing but headers.
        assert_eq!(own(HEADER, &[call("/home/a.cu:7", false)]), None);
        assert_eq!(own(HEADER, &[call(HEADER, true)]), None);
        assert_eq!(own(HEADER, &[]), None);
    }
}
