//! Any bytes as the inside of a chunk of warp instructions, with good checksums: what only the
//! decoder can refuse.
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
