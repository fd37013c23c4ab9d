//! Any bytes, read as a kernel's trace of Accel-Sim.
#![no_main]

use reuselens_io::Input;
use reuselens_warp::accelsim::KernelReader;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let input = Input::new(std::io::Cursor::new(bytes.to_vec()), "fuzz");
    reuselens_fuzz::read_warps(&mut KernelReader::new(input));
});
