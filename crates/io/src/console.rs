//! What command lines print: lines on standard output and standard error, and the message of an
//! error. Nothing here panics where an output is closed or full.
//!
//! Control characters in text are shown as escapes, since names of files, programs and threads come
//! from anywhere; line breaks stay. [`bytes`] and [`stdout`] are for bytes as they are.

mod standard_output;

use std::error::Error;
use std::io::{self, Write};
use std::path::Path;

use reuselens_units::{shown, shown_lines};

pub use standard_output::StandardOutput;

/// `println!` for text with names: control characters are shown as escapes, line breaks stay. Fails
/// as writing does, a broken pipe included.
#[macro_export]
macro_rules! say {
    ($($text:tt)*) => { $crate::console::line(&format!($($text)*)) };
}

/// A line on standard error, for text with names. One that cannot be written is lost.
#[macro_export]
macro_rules! tell {
    ($($text:tt)*) => { $crate::console::error_line(&format!($($text)*)) };
}

/// Prints a line on standard output.
///
/// # Errors
/// As writing does, a broken pipe included.
pub fn line(text: &str) -> io::Result<()> {
    let mut line = shown_lines(text).into_owned();
    line.push('\n');
    stdout().write_all(line.as_bytes())
}

/// Writes bytes as they are on standard output. What follows their last line break does not wait
/// for the end of the process, where an error would be lost.
///
/// # Errors
/// As for [`line()`].
pub fn bytes(bytes: &[u8]) -> io::Result<()> {
    let mut out = stdout();
    out.write_all(bytes)?;
    out.flush()
}

/// Prints a line on standard error. A line that cannot be written is lost: `eprintln!` would panic
/// where standard error is full.
pub fn error_line(text: &str) {
    let _ = writeln!(io::stderr(), "{}", shown_lines(text));
}

/// Prints text that ends its lines itself on standard error, as [`error_line`] does.
pub fn error_text(text: &str) {
    let _ = write!(io::stderr(), "{}", shown_lines(text));
}

/// Whether an argument of this process has control characters. Usage errors repeat arguments, so
/// then they must not be printed as they are.
pub fn arguments_have_controls() -> bool {
    let mut arguments = std::env::args_os();
    arguments.any(|argument| {
        let text = argument.to_string_lossy();
        shown(&text) != text
    })
}

/// Standard output, to write bytes as they are. Errors say that they are of standard output.
pub fn stdout() -> NamedOutput<StandardOutput> {
    NamedOutput {
        out: StandardOutput::new(),
        failure: "cannot write to standard output".to_owned(),
    }
}

/// Prints a text that was asked for (help, the version) by `print`.
///
/// # Errors
/// Why it cannot be printed; a broken pipe is none.
pub fn asked_for(print: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
    let mut out = stdout();
    let printed = StandardOutput::check().and_then(|()| print());
    let printed = printed.map_err(|error| out.named(error));
    match printed.and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
        _ => Ok(()),
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

/// What went wrong and why: the error and its causes, without the system's numbers of errors. A
/// cause that the text already has is not repeated.
pub fn message(error: &(dyn Error + 'static)) -> String {
    causes(error).fold(String::new(), |text, cause| {
        let cause = without_numbers(&cause.to_string());
        match (text.is_empty(), text.contains(&cause)) {
            (true, _) => cause,
            (false, true) => text,
            (false, false) => format!("{text}: {cause}"),
        }
    })
}

/// Whether the reader of an output has closed it: it had enough, so the command has not failed.
pub fn is_broken_pipe(error: &(dyn Error + 'static)) -> bool {
    let mut errors = causes(error).filter_map(|cause| cause.downcast_ref::<io::Error>());
    errors.any(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

/// An error, its cause, the cause of that, and so on.
fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error| error.source())
}

/// A message without the system's numbers of errors, which follow their names:
/// `No such file or directory (os error 2)`.
fn without_numbers(message: &str) -> String {
    const NUMBER: &str = " (os error ";
    let mut parts = message.split(NUMBER);
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.trim_start_matches(|letter: char| letter.is_ascii_digit());
        match rest.strip_prefix(')').filter(|_| rest.len() < part.len()) {
            Some(rest) => text.push_str(rest),
            None => text.extend([NUMBER, part]),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FileError;

    #[test]
    fn only_error_numbers_are_removed_from_messages() {
        let error = io::Error::from_raw_os_error(2);
        let text = without_numbers(&format!("cannot read a: {error}; look"));
        assert!(text.starts_with("cannot read a: ") && text.ends_with("; look"));
        assert!(!text.contains("os error"), "{text}");
        for other in ["a (os error )", "a (os error 2", "a (os error x)", "plain"] {
            assert_eq!(without_numbers(other), other);
        }
    }

    #[test]
    fn message_names_each_cause_once() {
        let missing = io::Error::from_raw_os_error(2);
        let file = FileError::io("read", Path::new("a"), missing);
        // Its text has its cause.
        assert_eq!(message(&file), "cannot read a: No such file or directory");
        let outer = io::Error::other(file);
        assert_eq!(
            message(&outer),
            message(&io::Error::other(
                "cannot read a: No such file or directory"
            ))
        );
    }

    /// An output that nobody reads.
    struct Closed;

    impl Write for Closed {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Err(io::Error::from_raw_os_error(28))
        }
    }

    #[test]
    fn named_output_names_the_file_and_keeps_the_kind() {
        let mut out = NamedOutput::file(Closed, Path::new("a.txt"));
        assert!(is_broken_pipe(&out.write(b"a").unwrap_err()));
        let full = out.flush().unwrap_err();
        assert_eq!(full.kind(), io::ErrorKind::StorageFull);
        assert!(!is_broken_pipe(&full));
        assert_eq!(
            message(&full),
            "cannot write a.txt: No space left on device"
        );
    }
}
