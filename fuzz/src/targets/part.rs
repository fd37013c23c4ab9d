//! Any bytes as the file of a part, and as the content of one with correct checksums.

use reuselens::shard::{Part, finish, merge};

/// Runs the target on these bytes.
pub fn run(bytes: &[u8]) {
    let _ = Part::from_bytes(bytes);
    if let Ok(part) = Part::from_body(bytes) {
        // A part that was read can be written, merged (or refused) and finished.
        let again = Part::from_bytes(&part.to_bytes());
        assert!(again.is_ok_and(|again| again == part));
        let _ = merge(part.clone(), part.clone());
        let _ = finish(vec![part]);
    }
}
