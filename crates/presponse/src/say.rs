//! Prints text of commands. Control characters in it are shown as escapes, since names of files and
//! lines of clients come from anywhere; line breaks stay.

use std::io::{self, Write};

use reuselens_units::shown_lines;

/// `println!` for text with names. Fails as writing does, a broken pipe included.
macro_rules! say {
    ($($text:tt)*) => { $crate::say::line(&format!($($text)*)) };
}

/// A line on standard error, for text with names. One that cannot be written is lost.
macro_rules! tell {
    ($($text:tt)*) => { $crate::say::error_line(&format!($($text)*)) };
}

pub(crate) use {say, tell};

/// See [`tell`].
pub fn error_line(text: &str) {
    // `eprintln!` would panic where standard error is full or closed.
    let _ = writeln!(io::stderr(), "{}", shown_lines(text));
}

/// A line on standard output.
pub fn line(text: &str) -> io::Result<()> {
    let mut line = shown_lines(text).into_owned();
    line.push('\n');
    io::stdout().write_all(line.as_bytes())
}
