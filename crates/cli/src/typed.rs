//! [`TypedOptions`]: which options were typed, so that a command can refuse those without effect.

use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command, Error, FromArgMatches};

/// The names of the options that stand on the command line; those with default values are left out.
///
/// It has no options of its own. A command flattens it into its arguments *as the first field*,
/// since the fields after it take their values out of what clap has read.
#[derive(Clone, Debug, Default)]
pub struct TypedOptions {
    ids: Vec<String>,
}

impl TypedOptions {
    /// As if these were typed.
    #[cfg(test)]
    pub fn of(ids: &[&str]) -> Self {
        let ids = ids.iter().map(|&id| id.to_owned()).collect();
        Self { ids }
    }

    /// The first of these options that was typed, as it is typed: `--max-size`.
    pub fn first_of(&self, ids: &[&str]) -> Option<String> {
        let typed = |id: &&&str| self.ids.iter().any(|typed| typed == **id);
        let id = ids.iter().find(typed)?;
        Some(format!("--{}", option_name(id)))
    }
}

/// The name of an option, by the name that it has in the code.
fn option_name(id: &str) -> String {
    match id {
        "span" => "for".to_owned(),
        _ => id.replace('_', "-"),
    }
}

impl FromArgMatches for TypedOptions {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let typed = |id: &&str| matches.value_source(id) == Some(ValueSource::CommandLine);
        let ids = matches.ids().map(|id| id.as_str()).filter(typed);
        let ids = ids.map(str::to_owned).collect();
        Ok(Self { ids })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for TypedOptions {
    fn augment_args(command: Command) -> Command {
        command
    }

    fn augment_args_for_update(command: Command) -> Command {
        command
    }
}
