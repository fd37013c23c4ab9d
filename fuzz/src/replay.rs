//! What libFuzzer does for hours, for a moment and without it: every input of a target's corpus,
//! and the same inputs damaged.

use std::path::Path;

use reuselens_testing::traces::Random;
use reuselens_testing::traces::damage::{LIKELY, damage};

use crate::targets::Run;

/// How often each input is damaged.
const DAMAGED: usize = 20;

/// Gives `run` the inputs of a target's corpus, each as it is and then damaged. The input in hand
/// is named if the target panics.
pub fn inputs_and_damaged_ones(name: &str, run: Run) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("corpus")
        .join(name);
    let listed = std::fs::read_dir(&folder).unwrap();
    let mut paths: Vec<_> = listed.map(|entry| entry.unwrap().path()).collect();
    // The order of a folder is not that of names, and what is drawn should not depend on it.
    paths.sort();
    assert!(!paths.is_empty(), "{} has no inputs", folder.display());
    // Each input draws by itself: a longer one changes nothing for those after it.
    for (path, seed) in paths.iter().zip(0..) {
        let mut random = Random(seed);
        let kept = std::fs::read(path).unwrap();
        let mut input = Input {
            path,
            damaged: 0,
            bytes: kept.clone(),
        };
        run(&input.bytes);
        for _ in 0..DAMAGED {
            input.damaged += 1;
            input.bytes.clone_from(&kept);
            damage(&mut random, &mut input.bytes, LIKELY);
            run(&input.bytes);
        }
    }
}

/// An input that a target has in hand.
struct Input<'a> {
    path: &'a Path,
    /// The number of the damaged copy; 0 for what is kept.
    damaged: usize,
    bytes: Vec<u8>,
}

// Not `catch_unwind`: the test is to fail as it does, and the input is shown beside its message.
impl Drop for Input<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let (path, damaged, bytes) = (self.path.display(), self.damaged, &self.bytes);
            eprintln!("{path}, damaged copy {damaged} (0 is itself): {bytes:?}");
        }
    }
}
