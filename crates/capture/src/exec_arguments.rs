//! [`ExecArguments`]: a program, its arguments and its environment, ready to be executed between
//! `fork` and `exec`.
//!
//! It makes the kernel's call alone. The C library's `execvp`, which [`std::process::Command`] ends
//! in, goes on where the kernel refuses a file: it hands the file to `/bin/sh`, also one that is
//! for another processor, and the shell would be measured in place of the program.

use std::collections::BTreeMap;
use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::ptr;

use libc::c_char;
use reuselens_io::program_files;

/// Everything that `execve` takes, made before the fork, since nothing may be allocated after it.
pub(crate) struct ExecArguments {
    /// The files to try, in this order.
    files: Vec<CString>,
    arguments: CStrings,
    environment: CStrings,
}

/// A list of C strings, and the pointers to them with a null pointer after the last, as the kernel
/// takes it.
struct CStrings {
    pointers: Vec<*const c_char>,
    /// What the pointers point to.
    _texts: Vec<CString>,
}

// SAFETY: the pointers point into the heap blocks of the strings in the same value, which are never
// changed and move nowhere when the value does.
unsafe impl Send for CStrings {}
// SAFETY: as above; nothing is changed through a shared reference.
unsafe impl Sync for CStrings {}

impl CStrings {
    fn new(texts: Vec<CString>) -> CStrings {
        let pointers = texts.iter().map(|text| text.as_ptr());
        CStrings {
            pointers: pointers.chain([ptr::null()]).collect(),
            _texts: texts,
        }
    }
}

impl ExecArguments {
    /// A program with its arguments, in this process's environment with `variables` in it. The
    /// program is looked for as by `execvp`.
    ///
    /// # Errors
    /// If one of the texts has a zero in it.
    pub fn new(
        program: &OsStr,
        arguments: &[OsString],
        variables: impl Iterator<Item = (OsString, OsString)>,
    ) -> io::Result<ExecArguments> {
        let mut environment: BTreeMap<OsString, OsString> = std::env::vars_os().collect();
        environment.extend(variables);
        let assign = |(name, value): (OsString, OsString)| {
            CString::new([name.as_bytes(), b"=", value.as_bytes()].concat())
        };
        let words = std::iter::once(program).chain(arguments.iter().map(OsString::as_os_str));
        let words = words.map(|word| CString::new(word.as_bytes()));
        let files = program_files(program).into_iter();
        let files = files.map(|file| CString::new(file.into_os_string().as_bytes()));
        Ok(ExecArguments {
            files: files.collect::<Result<_, _>>()?,
            arguments: CStrings::new(words.collect::<Result<_, _>>()?),
            environment: CStrings::new(
                environment
                    .into_iter()
                    .map(assign)
                    .collect::<Result<_, _>>()?,
            ),
        })
    }

    /// Becomes the program; returns only if that fails, with the system's error. Async-signal-safe.
    ///
    /// Files that do not exist, or that the user may not execute, are passed over; if no file is
    /// left, one that may not be executed is the reason.
    pub fn execute(&self) -> io::Error {
        let mut is_denied = false;
        let mut last = libc::ENOENT;
        for file in &self.files {
            // SAFETY: all three end with a zero, or a null pointer, and outlive the call.
            unsafe {
                libc::execve(
                    file.as_ptr(),
                    self.arguments.pointers.as_ptr(),
                    self.environment.pointers.as_ptr(),
                )
            };
            last = io::Error::last_os_error()
                .raw_os_error()
                .unwrap_or(libc::ENOENT);
            match last {
                libc::EACCES => is_denied = true,
                libc::ENOENT | libc::ENOTDIR | libc::ESTALE | libc::ENODEV | libc::ETIMEDOUT => {}
                _ => return io::Error::from_raw_os_error(last),
            }
        }
        io::Error::from_raw_os_error(if is_denied { libc::EACCES } else { last })
    }
}
