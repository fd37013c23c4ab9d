//! Any text, read as a placement file and as a machine file.

use reuselens_placement::{MemoryMachine, PlacementFile};

/// Runs the target on these bytes.
pub fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    if let Ok(file) = PlacementFile::from_toml(text) {
        assert_eq!(PlacementFile::from_toml(&file.to_toml().unwrap()), Ok(file));
    }
    let _ = MemoryMachine::from_toml(text);
}
