//! A guess of the format that may be wrong, said with the trace.

use std::path::Path;

use crate::Note;
use crate::formats::{din, ending, text};

/// What speaks against `format`, found from the content `head`: words that could be Dinero's lines, in a file whose
/// name says that they are.
pub(super) fn doubt(path: &Path, head: &[u8], format: &str) -> Option<Note> {
    let doubted = format == text::NAME && ending::is_last(path, din::NAME) && din::may_be(head);
    doubted.then(|| Note {
        code: "may-be-din".to_owned(),
        message: "read as text, where each word is an item: no address in its beginning has a letter, so its lines \
                  could be pairs of any numbers"
            .to_owned(),
        hint: "if this is a trace of Dinero (label and address): --format din".to_owned(),
    })
}
