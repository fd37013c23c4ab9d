//! [`look`]: protects the files that the command line names. Files to be read are never written
//! over, and two outputs are never one file.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use clap::ArgMatches;
use reuselens::io::AtomicFile;

use crate::exit::Usage;
use crate::options::PROFILE_EXPORTS;

/// The arguments that name files to write, with [`PROFILE_EXPORTS`]; every other one may name a
/// file to read.
const OUTPUTS: [&str; 10] = [
    "output",
    "json",
    "html",
    "o",
    "hgr",
    "markdown",
    "sarif",
    "gitlab",
    "junit",
    "arithmetic",
];

/// Protects all that is given to be read, `--force` or not.
///
/// # Errors
/// [`Usage`] if two outputs are one file: the second would be written over the first, or fail after
/// the work.
pub fn look(matches: &ArgMatches) -> Result<(), Usage> {
    let mut outputs = BTreeSet::new();
    let mut inner = Some(matches);
    while let Some(matches) = inner {
        for id in matches.ids() {
            let words = matches.try_get_raw(id.as_str()).ok().flatten();
            for word in words.into_iter().flatten() {
                if is_output(id.as_str()) {
                    look_at_output(word, &mut outputs)?
                } else {
                    AtomicFile::protect(Path::new(word))
                }
            }
        }
        inner = matches.subcommand().map(|(_, matches)| matches);
    }
    Ok(())
}

fn is_output(id: &str) -> bool {
    OUTPUTS.contains(&id) || PROFILE_EXPORTS.contains(&id)
}

fn look_at_output(word: &OsStr, outputs: &mut BTreeSet<PathBuf>) -> Result<(), Usage> {
    let path = PathBuf::from(word);
    // Several outputs can go to a pipe or `/dev/null`; the commands look at standard output.
    let is_special = std::fs::metadata(&path).is_ok_and(|about| !about.is_file());
    let parts = path.components().filter(|part| *part != Component::CurDir);
    if is_special || word == "-" || outputs.insert(parts.collect()) {
        return Ok(());
    }
    let name = path.display();
    Err(Usage(format!(
        "two outputs would be the one file {name}; give each a name of its own"
    )))
}
