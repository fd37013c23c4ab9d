//! Any bytes, read as a stream of changes: each line is read once, whatever is in it.

use reuselens_graph::formats::stream;

/// Runs the target on these bytes.
pub fn run(bytes: &[u8]) {
    let mut reader = stream::read(bytes);
    let lines = bytes.split(|byte| *byte == b'\n').count();
    let records = (0..=lines).take_while(|_| !matches!(reader.next_record(), Ok(None)));
    assert!(records.count() <= lines);
}
