//! Any text, read as a placement file and as a machine file.
#![no_main]

use reuselens_placement::{MemoryMachine, PlacementFile};

libfuzzer_sys::fuzz_target!(|text: &str| {
    if let Ok(file) = PlacementFile::from_toml(text) {
        assert_eq!(PlacementFile::from_toml(&file.to_toml().unwrap()), Ok(file));
    }
    let _ = MemoryMachine::from_toml(text);
});
