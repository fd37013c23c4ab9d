//! Any bytes, read as a stream of warp instructions.
#![no_main]

use reuselens_io::Input;
use reuselens_warp::file::WarpReader;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let input = Input::new(std::io::Cursor::new(bytes.to_vec()), "fuzz");
    if let Ok(mut reader) = WarpReader::new(input) {
        reuselens_fuzz::read_warps(&mut reader);
    }
});
