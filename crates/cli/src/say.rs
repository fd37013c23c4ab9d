//! Prints text of commands, except reports. Control characters in it are shown as escapes, since
//! names of files, programs and threads come from anywhere; line breaks stay.

use std::io::{self, Write};
use std::path::Path;

use reuselens::units::shown_lines;

/// `println!` for text with names. Fails as writing does, a broken pipe included.
macro_rules! say {
    ($($text:tt)*) => { $crate::say::line(&format!($($text)*)) };
}

/// `eprintln!` for text with names.
macro_rules! tell {
    ($($text:tt)*) => { eprintln!("{}", reuselens::units::shown_lines(&format!($($text)*))) };
}

pub(crate) use {say, tell};

/// The line that names a page that was written.
pub fn page(path: &Path) -> String {
    format!("Page: {}  (open it in a browser)", path.display())
}

/// A line on standard output.
pub fn line(text: &str) -> io::Result<()> {
    let mut line = shown_lines(text).into_owned();
    line.push('\n');
    io::stdout().write_all(line.as_bytes())
}
