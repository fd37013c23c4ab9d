//! Any bytes, read as a stream of warp instructions.

use reuselens_io::Input;
use reuselens_warp::file::WarpReader;

/// Runs the target on these bytes.
pub fn run(bytes: &[u8]) {
    let input = Input::new(std::io::Cursor::new(bytes.to_vec()), "fuzz");
    if let Ok(mut reader) = WarpReader::new(input) {
        crate::read_warps(&mut reader);
    }
}
