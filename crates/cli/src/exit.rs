//! [`Outcome`] and its exit codes: 0 done, 1 failed, 2 wrong usage, 3 a limit was exceeded, 4 done,
//! but the input trace was incomplete; 128 plus its number if a signal cut the work short.
//!
//! [`code`] prints the error of a command. A broken pipe is success: the reader of our output had
//! enough.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::CommandFactory;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use reuselens::io::console;

use crate::commands::Cli;
use crate::interrupt;
use crate::say::tell;

/// The exit code of a limit that is broken.
pub const LIMIT_BROKEN: u8 = 3;

/// What a command ends with.
pub type Outcome = anyhow::Result<ExitCode>;

/// Wrong usage found after the arguments were read.
#[derive(Debug)]
pub struct Usage(pub String);

impl std::fmt::Display for Usage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

/// The exit code for a trace that was cut off or damaged; the results have everything before that.
const INCOMPLETE_INPUT: u8 = 4;

/// The exit code of a command that has done its work; `incomplete` if its input trace was cut off
/// or damaged.
pub fn done(incomplete: bool) -> ExitCode {
    if incomplete {
        ExitCode::from(INCOMPLETE_INPUT)
    } else {
        ExitCode::SUCCESS
    }
}

/// Adds to a failure to write over something that `--force` came after the program's name, and so
/// was given to the program.
pub fn without_force(error: anyhow::Error, command: &[OsString]) -> anyhow::Error {
    let mut given = command.iter().skip(1);
    // Many programs have a -f of their own.
    if given.any(|word| word == "--force") && error.to_string().contains("--force") {
        error.context("--force behind the program's name is the program's: put it before")
    } else {
        error
    }
}

/// The exit code of a command; a failure is printed on standard error.
pub fn code(outcome: Outcome) -> ExitCode {
    match outcome {
        Ok(code) => code,
        Err(error) if console::is_broken_pipe(error.as_ref()) => ExitCode::SUCCESS,
        Err(error) => {
            report(&error);
            if let Some(code) = interrupt::code() {
                code
            } else if is_usage(&error) {
                ExitCode::from(2)
            } else {
                ExitCode::FAILURE
            }
        }
    }
}

/// Prints why a command failed.
pub fn report(error: &anyhow::Error) {
    tell!("reuselens: {}", console::message(error.as_ref()));
}

/// Usage errors, `--help` and `--version`, as clap words them.
pub fn usage(mut error: clap::Error) -> ExitCode {
    explain(&mut error);
    if !error.use_stderr() {
        return match console::asked_for(|| error.print()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                report(&error.into());
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

/// Better tips than clap's for an unknown option: clap proposes to pass it to the program, which is
/// hardly meant.
fn explain(error: &mut clap::Error) {
    if let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand)
        && let Some(tip) = crate::files::what_to_do_with(std::path::Path::new(word))
    {
        error.remove(ContextKind::SuggestedSubcommand);
        return suggest(error, tip);
    }
    let unknown = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(option)) => option.clone(),
        _ => return,
    };
    let usage = error.get(ContextKind::Usage).map(ToString::to_string);
    let usage = usage.unwrap_or_default();
    let verb = usage
        .split_whitespace()
        .skip_while(|word| *word != "reuselens")
        .nth(1);
    let verb = verb.unwrap_or_default();
    let runs = ["profile", "record"].contains(&verb);
    if runs && ["--thread", "--from", "--until"].contains(&unknown.as_str()) {
        // Not --threads, which it looks like.
        error.remove(ContextKind::SuggestedArg);
        let tip = "a part is one of a trace: reuselens record -- PROGRAM, then reuselens analyze NAME.rltrace with it";
        return suggest(error, tip.to_owned());
    }
    if let Some(shell) = other_shell(error) {
        // Not one that is spelt like it.
        error.remove(ContextKind::SuggestedValue);
        return suggest(error, format!("there are no completions for {shell}"));
    }
    if error.kind() != ErrorKind::UnknownArgument {
        return;
    }
    if let Some(tip) = meant_by(&unknown, verb) {
        // Not an option that looks like it.
        error.remove(ContextKind::SuggestedArg);
        return suggest(error, tip);
    }
    error.remove(ContextKind::Suggested);
}

/// The shell that completions are asked for, if it is one that has none.
fn other_shell(error: &clap::Error) -> Option<String> {
    const SHELLS: [&str; 10] = [
        "ash", "cmd", "csh", "dash", "ksh", "mksh", "nu", "nushell", "sh", "tcsh",
    ];
    let is_shell = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(argument)) => argument == "<SHELL>",
        _ => false,
    };
    match error.get(ContextKind::InvalidValue) {
        Some(ContextValue::String(value)) if is_shell => {
            SHELLS.contains(&value.as_str()).then(|| value.clone())
        }
        _ => None,
    }
}

/// What people mean by an option that command `verb` does not have, but other tools or other
/// commands do.
fn meant_by(option: &str, verb: &str) -> Option<String> {
    let runs = ["profile", "record"].contains(&verb);
    let tip = match option {
        "--pid" | "--attach" if runs => {
            "a program is measured from its start: put it after --, and choose a part of its run \
             with --after and --for"
        }
        "--html" if ["profile", "analyze"].contains(&verb) => {
            "the page is written without being asked for, as NAME.html; -o NAME names it"
        }
        "--open" | "--browser" | "--view" => "pages are files for any browser: xdg-open NAME.html",
        _ => return of_others(option, verb),
    };
    Some(tip.to_owned())
}

/// The commands that have an option which `verb` does not.
fn of_others(option: &str, verb: &str) -> Option<String> {
    let name = option.strip_prefix("--")?;
    let cli = Cli::command();
    let has = |command: &&clap::Command| {
        let mut arguments = command.get_arguments();
        arguments.any(|argument| argument.get_long() == Some(name) && !argument.is_hide_set())
    };
    let commands = cli.get_subcommands().filter(has);
    let names: Vec<&str> = commands.map(clap::Command::get_name).collect();
    let (first, more) = names.split_first()?;
    let first = match more {
        [] => (*first).to_owned(),
        [second, ..] => format!("{first} and {second}"),
    };
    let shows = ["report", "diff", "check", "advise"].contains(&verb);
    let again = if shows && names[0] == "profile" {
        "; a profile has what was counted, so measure or analyse again with it"
    } else {
        ""
    };
    Some(format!("{option} is an option of reuselens {first}{again}"))
}

fn suggest(error: &mut clap::Error, tip: String) {
    let tips = ContextValue::StyledStrs(vec![tip.into()]);
    error.insert(ContextKind::Suggested, tips);
}

/// Whether the command was used wrongly.
pub(crate) fn is_usage(error: &anyhow::Error) -> bool {
    let ours = error.downcast_ref::<reuselens::Error>();
    error.downcast_ref::<Usage>().is_some() || ours.is_some_and(reuselens::Error::is_usage)
}
