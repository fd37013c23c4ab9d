//! [`shell_words`]: a script without a first line `#!` is run by a shell.

use std::ffi::OsString;
use std::io;

use crate::find_program::find_program;
use crate::not_a_program::why_not_run;

/// "Exec format error".
const ENOEXEC: i32 = 8;
/// The shell that POSIX names for it (`execvp`).
const SHELL: &str = "/bin/sh";

/// The command that runs `command` by a shell, after the system refused with `error` to execute
/// its file. Only the text of a script is run so: another file, such as a program for another
/// processor, a shell would take for commands.
///
/// # Errors
/// What the file is, if it is no script; `error`, if it is another than that of a file that the
/// system does not execute.
pub fn shell_words(command: &[OsString], error: io::Error) -> io::Result<Vec<OsString>> {
    let Some((program, arguments)) = command.split_first() else {
        return Err(error);
    };
    if error.raw_os_error() != Some(ENOEXEC) {
        return Err(error);
    }
    let Some(path) = find_program(program) else {
        return Err(error);
    };
    if let Some(why) = why_not_run(&path) {
        return Err(io::Error::new(io::ErrorKind::InvalidData, why));
    }
    let words = [OsString::from(SHELL), path.into_os_string()].into_iter();
    Ok(words.chain(arguments.iter().cloned()).collect())
}
