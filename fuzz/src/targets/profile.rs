//! Any text, read as the body of a profile: what is read can be merged and shown.

use reuselens::profile::{Framed, Profile};
use reuselens_report::{HtmlOptions, JsonOptions, TextOptions, Viewer, json, page, summary};

/// The form of a profile's file.
const FORM: Framed = Framed {
    mark: *b"\x8Frlprof\n",
    version: 1,
    level: 1,
    largest: 4 << 30,
};

/// Runs the target on these bytes.
pub fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let Ok(profile) = Profile::from_bytes(&FORM.to_bytes(text.as_bytes())) else {
        return;
    };
    assert_eq!(Profile::from_bytes(&profile.to_bytes()).unwrap(), profile);
    let _ = Profile::merge(&[profile.clone(), profile.clone()]);
    let _ = summary(&profile, &TextOptions::default());
    let _ = page(&profile, &HtmlOptions::default());
    let _ = json(&profile, &JsonOptions::default());
    for viewer in [Viewer::Folded, Viewer::Callgrind, Viewer::Speedscope] {
        let _ = viewer.export(&profile, None);
    }
}
