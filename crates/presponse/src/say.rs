//! Prints text of commands. Control characters in it are shown as escapes, since names of files and
//! lines of clients come from anywhere; line breaks stay. [`bytes`] and [`stdout`] are for bytes as
//! they are.

pub use reuselens_io::console::{bytes, error_line, line, stdout};

/// `println!` for text with names. Fails as writing does, a broken pipe included.
macro_rules! say {
    ($($text:tt)*) => { $crate::say::line(&format!($($text)*)) };
}

/// A line on standard error, for text with names. One that cannot be written is lost.
macro_rules! tell {
    ($($text:tt)*) => { $crate::say::error_line(&format!($($text)*)) };
}

pub(crate) use {say, tell};
