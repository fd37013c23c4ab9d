//! What tests beside the code are made of.

use reuselens_profile::Frame;

/// A frame of a function, a file and a line.
pub(crate) fn frame(function: &str, file: &str, line: u32) -> Frame {
    Frame {
        function: function.into(),
        file: file.into(),
        line,
    }
}
