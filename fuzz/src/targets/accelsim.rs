//! Any bytes, read as a kernel's trace of Accel-Sim.

use reuselens_io::Input;
use reuselens_warp::accelsim::KernelReader;

/// Runs the target on these bytes.
pub fn run(bytes: &[u8]) {
    let input = Input::new(std::io::Cursor::new(bytes.to_vec()), "fuzz");
    crate::read_warps(&mut KernelReader::new(input));
}
