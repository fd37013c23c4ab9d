//! Any text, read as the body of a profile: what is read can be merged and shown.
#![no_main]

use reuselens::locality::Profile;
use reuselens_report::{HtmlOptions, JsonOptions, TextOptions, json, page, summary};

/// A profile's file with this body.
fn file(text: &str) -> Vec<u8> {
    let Ok(body) = zstd::bulk::compress(text.as_bytes(), 1) else {
        return Vec::new();
    };
    let lengths = [text.len() as u64, body.len() as u64].map(u64::to_le_bytes);
    let rest = [lengths.as_flattened(), body.as_slice()].concat();
    let sum = crc32fast::hash(&rest).to_le_bytes();
    let head = [b"\x8Frlprof\n".as_slice(), &1_u32.to_le_bytes(), &sum].concat();
    [head, rest].concat()
}

libfuzzer_sys::fuzz_target!(|text: &str| {
    let Ok(profile) = Profile::from_bytes(&file(text)) else {
        return;
    };
    assert_eq!(Profile::from_bytes(&profile.to_bytes()).unwrap(), profile);
    let _ = Profile::merge(&[profile.clone(), profile.clone()]);
    let _ = summary(&profile, &TextOptions::default());
    let _ = page(&profile, &HtmlOptions::default());
    let _ = json(&profile, &JsonOptions::default());
});
