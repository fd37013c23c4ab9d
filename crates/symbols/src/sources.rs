//! The lines of source files, kept while questions about them go on.

use std::collections::BTreeMap;
use std::io::Read;

use reuselens_io::{open_regular_file, path_of, text_of_bytes};
use reuselens_profile::Frame;

use super::statements;

/// The most bytes of a source file that is read.
const MOST_SOURCE: u64 = 4 << 20;
/// Source files that are kept.
const MAX_SOURCES: usize = 64;

/// The source files that were asked for. Cost: each file is read once while it is kept.
#[derive(Debug, Default)]
pub(super) struct Sources {
    files: BTreeMap<String, Vec<String>>,
}

impl Sources {
    /// The lines of a file; none if it cannot be read or is too large.
    pub fn lines(&mut self, file: &str) -> &[String] {
        if self.files.len() >= MAX_SOURCES && !self.files.contains_key(file) {
            self.files.clear();
        }
        let read = || {
            let opened = open_regular_file(&path_of(file)).ok();
            let mut bytes = Vec::new();
            // Comments in other encodings than UTF-8 leave the rest of a file readable.
            let _ = opened
                .filter(|(_, bytes)| *bytes < MOST_SOURCE)
                .and_then(|(mut file, _)| file.read_to_end(&mut bytes).ok());
            let text = text_of_bytes(&bytes);
            text.lines().map(str::to_owned).collect()
        };
        let known = self.files.entry(file.to_owned());
        known.or_insert_with(read)
    }

    /// The statement around a frame's line, if its source can be read.
    pub fn statement(&mut self, frame: &Frame) -> Option<String> {
        let lines = self.lines(&frame.file);
        let line = usize::try_from(frame.line).ok()?.checked_sub(1)?;
        let around = if statements::is_fortran(&frame.file) {
            statements::around_fortran
        } else {
            statements::around
        };
        (line < lines.len()).then(|| around(lines, line))
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    use reuselens_io::text_of;

    use super::*;

    #[test]
    fn sources_are_read_whatever_their_bytes_and_their_path() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(OsStr::from_bytes(b"gr\xfcn.c"));
        std::fs::write(&path, b"/* gr\xfcn */\nint *all = malloc(12);\n").unwrap();
        let frame = Frame {
            function: "main".to_owned(),
            file: text_of(&path),
            line: 2,
        };
        let statement = Sources::default().statement(&frame).unwrap();
        assert!(statement.contains("int *all = malloc(12)"), "{statement}");
    }
}
