//! Any bytes as the content of a chunk of warp instructions, with correct checksums, so that only
//! the decoder can refuse them.

use reuselens_io::Input;
use reuselens_warp::file::{WarpReader, WarpWriter};

/// Runs the target on these bytes.
pub fn run(bytes: &[u8]) {
    let begun = WarpWriter::new(Vec::new(), "fuzz".as_ref(), "").and_then(WarpWriter::finish);
    let Ok(file) = begun.map(|whole| crate::with_chunk(whole, bytes)) else {
        return;
    };
    let input = Input::new(std::io::Cursor::new(file), "fuzz");
    if let Ok(mut reader) = WarpReader::new(input) {
        crate::read_warps(&mut reader);
    }
}
