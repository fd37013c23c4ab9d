//! [`Outcome`] and its exit codes: 0 done, 1 failed, 2 wrong usage.
//!
//! [`code`] prints the error of a command. A broken pipe is success: the reader of our output had
//! enough.

use std::process::ExitCode;

use reuselens_io::console;

use crate::say::tell;

/// What a command ends with.
pub type Outcome = anyhow::Result<()>;

/// Wrong usage found after the arguments were read.
#[derive(Debug)]
pub struct WrongUsage(pub String);

impl std::fmt::Display for WrongUsage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for WrongUsage {}

/// The exit code of a command; a failure is printed on standard error.
pub fn code(outcome: Outcome) -> ExitCode {
    let Err(error) = outcome else {
        return ExitCode::SUCCESS;
    };
    if console::is_broken_pipe(error.as_ref()) {
        return ExitCode::SUCCESS;
    }
    tell!("presponse: {}", console::message(error.as_ref()));
    match error.downcast_ref::<WrongUsage>() {
        Some(_) => ExitCode::from(2),
        None => ExitCode::FAILURE,
    }
}

/// Usage errors, `--help` and `--version`, as clap words them.
pub fn usage(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        return match console::asked_for(|| error.print()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                tell!("presponse: {}", console::message(&error));
                ExitCode::FAILURE
            }
        };
    }
    if console::arguments_have_controls() {
        // The text is coloured: without colours it can be made harmless.
        console::error_text(&error.render().to_string());
    } else {
        // The exit code says it too.
        let _ = error.print();
    }
    ExitCode::from(2)
}
