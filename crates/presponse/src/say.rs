//! Prints text of commands. Control characters in it are shown as escapes, since names of files and
//! lines of clients come from anywhere; line breaks stay.
//! [`NamedOutput`] is for bytes as they are.

use std::io::{self, StdoutLock, Write};
use std::path::Path;

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
    stdout().write_all(line.as_bytes())
}

/// Locks standard output, to write bytes as they are. Errors say that they are of standard output.
pub fn stdout() -> NamedOutput<StdoutLock<'static>> {
    NamedOutput {
        out: io::stdout().lock(),
        failure: "cannot write to standard output".to_owned(),
    }
}

/// An output whose errors say where it writes to.
#[derive(Debug)]
pub struct NamedOutput<W> {
    /// The output itself.
    pub out: W,
    failure: String,
}

impl<W> NamedOutput<W> {
    /// The output to a file.
    pub fn file(out: W, path: &Path) -> Self {
        Self {
            out,
            failure: format!("cannot write {}", path.display()),
        }
    }

    /// The kind stays: a command whose pipe is closed has not failed, and an interrupted call is
    /// tried again.
    fn named(&self, error: io::Error) -> io::Error {
        io::Error::new(error.kind(), format!("{}: {error}", self.failure))
    }
}

impl<W: Write> Write for NamedOutput<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes);
        written.map_err(|error| self.named(error))
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.out.flush();
        flushed.map_err(|error| self.named(error))
    }
}
