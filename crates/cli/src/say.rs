//! Prints text of commands, except reports. Control characters in it are shown as escapes, since
//! names of files, programs and threads come from anywhere; line breaks stay. [`bytes`] and
//! [`stdout`] are for bytes as they are.

use std::path::Path;

pub use reuselens::io::console::{bytes, line, stdout};
pub use reuselens::io::{say, tell};

/// The line that names a page that was written.
pub fn page(path: &Path) -> String {
    format!("Page: {}  (open it in a browser)", path.display())
}
