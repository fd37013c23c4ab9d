//! Any bytes as the content of a chunk of warp instructions, with correct checksums, so that only
//! the decoder can refuse them.
#![no_main]

use reuselens_io::Input;
use reuselens_warp::file::{WarpReader, WarpWriter};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let begun = WarpWriter::new(Vec::new(), "fuzz".as_ref(), "").and_then(WarpWriter::finish);
    let Ok(file) = begun.map(|whole| reuselens_fuzz::with_chunk(whole, bytes)) else {
        return;
    };
    let input = Input::new(std::io::Cursor::new(file), "fuzz");
    if let Ok(mut reader) = WarpReader::new(input) {
        reuselens_fuzz::read_warps(&mut reader);
    }
});
