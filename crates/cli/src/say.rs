//! Prints text of commands, except reports. Control characters in it are shown as escapes, since
//! names of files, programs and threads come from anywhere; line breaks stay. [`bytes`] and
//! [`stdout`] are for bytes as they are.

use std::path::Path;

pub use reuselens::io::console::{bytes, error_line, line, stdout};

/// `println!` for text with names. Fails as writing does, a broken pipe included.
macro_rules! say {
    ($($text:tt)*) => { $crate::say::line(&format!($($text)*)) };
}

/// A line on standard error, for text with names. One that cannot be written is lost.
macro_rules! tell {
    ($($text:tt)*) => { $crate::say::error_line(&format!($($text)*)) };
}

pub(crate) use {say, tell};

/// The line that names a page that was written.
pub fn page(path: &Path) -> String {
    format!("Page: {}  (open it in a browser)", path.display())
}
