//! [`Embedding`]: which source files go into a page: those of the user's own project, unless an
//! option asks for more or for none.
//!
//! The names of the files come from debug information, and a profile or a trace from another person
//! may name any file. A page must not reveal a file that its user did not mean to publish.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};
use std::time::SystemTime;

use clap::Args;
use reuselens::io::open_regular_file;
use reuselens::profile::Profile;
use reuselens::units::counted;

use crate::say::tell;

/// The most bytes of a file that goes into a page.
const MOST: u64 = 1 << 20;

/// Endings of source files, in lower case. A file with another ending goes into a page only with
/// `--embed-source`.
const ENDINGS: &[&str] = &[
    "adb", "ads", "asm", "c", "c++", "cc", "cl", "cpp", "cu", "cuh", "cxx", "d", "def", "f", "f03",
    "f08", "f77", "f90", "f95", "for", "go", "h", "h++", "hh", "hpp", "hs", "hxx", "inc", "inl",
    "ipp", "jl", "l", "m", "ml", "mli", "mm", "nim", "pas", "rs", "s", "swift", "tcc", "tpp", "y",
    "zig",
];

/// Folders that mark the top of a project.
const PROJECT_MARKS: &[&str] = &[".git", ".hg", ".jj", ".svn"];

/// Options of which source files go into a page.
#[derive(Args, Clone, Debug)]
pub struct Embedding {
    /// Put all source lines into the HTML page, not only those of files of this project (they leave
    /// the machine with the page)
    #[arg(long, help_heading = "Output")]
    embed_source: bool,

    /// Put no source lines into the HTML page
    #[arg(
        long,
        conflicts_with_all = ["embed_source", "source_folder"],
        help_heading = "Output"
    )]
    no_embed_source: bool,

    /// Put the lines of source files below this folder into the HTML page too (several allowed)
    #[arg(long, value_name = "FOLDER", help_heading = "Output")]
    source_folder: Vec<PathBuf>,
}

/// Where a profile is from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum ProfileOrigin {
    /// Its program just ran here with the user's rights, and could have read any file itself.
    RanHere,
    /// Another person may have made it, with names of files of their choice.
    Anywhere,
}

impl Embedding {
    /// The texts of the source files that a profile names and that may be shown, by name. A warning
    /// on standard error has the number of those that `--embed-source` could not take.
    pub fn texts(&self, profile: &Profile, origin: ProfileOrigin) -> BTreeMap<String, String> {
        self.texts_of(source_files(profile), origin)
    }

    /// As [`Embedding::texts`], of these files.
    pub fn texts_of(
        &self,
        files: BTreeSet<&str>,
        origin: ProfileOrigin,
    ) -> BTreeMap<String, String> {
        if self.no_embed_source {
            return BTreeMap::new();
        }
        let rule = Rule::new(self, origin);
        let (mut texts, mut left_out) = (BTreeMap::new(), 0_u64);
        for file in files {
            // Links are followed first: what counts is where a file really is.
            let Ok(path) = std::fs::canonicalize(file) else {
                continue;
            };
            if !rule.allows(&path) {
                left_out += u64::from(path.is_file());
            } else if let Some(text) = text(&path) {
                texts.insert(file.to_owned(), text);
            }
        }
        if self.embed_source && left_out > 0 {
            tell!(
                "reuselens: warning: {} left out of the page, since only files of the project in the current folder are embedded; \
                 to show those of another folder, add --source-folder FOLDER",
                counted(left_out, "source file is", "source files are")
            );
        }
        texts
    }
}

/// The names of the source files of a profile.
fn source_files(profile: &Profile) -> BTreeSet<&str> {
    let frames = profile.sites.iter().flat_map(|site| &site.frames);
    let names = frames.map(|frame| &*frame.file);
    names.filter(|name| !name.is_empty()).collect()
}

/// The source files of a profile that were changed after it was made, as far as they are here.
pub fn changed_after(profile: &Profile, made: SystemTime) -> BTreeSet<&str> {
    let changed = |file: &&str| {
        let about = std::fs::metadata(file);
        about.is_ok_and(|about| about.is_file() && about.modified().is_ok_and(|at| at > made))
    };
    let files = source_files(profile).into_iter();
    files.filter(changed).collect()
}

/// A regular file that is small and a text.
fn text(path: &Path) -> Option<String> {
    let (file, _) = open_regular_file(path).ok()?;
    let mut text = String::new();
    file.take(MOST).read_to_string(&mut text).ok()?;
    Some(text).filter(|text| (text.len() as u64) < MOST)
}

/// Which files may be shown.
struct Rule {
    /// All files: the program ran here, and the user asked for them.
    all: bool,
    /// Whether files below the project need no ending of a source file.
    any_ending: bool,
    /// Folders that the user named.
    named: Vec<PathBuf>,
    /// The folder of the project; `None` if it would be the root or the user's home, which are no
    /// projects.
    project: Option<PathBuf>,
}

impl Rule {
    fn new(options: &Embedding, origin: ProfileOrigin) -> Rule {
        let named = options
            .source_folder
            .iter()
            .filter_map(|folder| std::fs::canonicalize(folder).ok());
        let home = home();
        let current = current_folder();
        let project =
            current.map(|current| marked_top(&current, home.as_deref()).unwrap_or(current));
        Rule {
            all: options.embed_source && origin == ProfileOrigin::RanHere,
            any_ending: options.embed_source,
            named: named.collect(),
            project: project
                .filter(|folder| folder.parent().is_some() && Some(folder) != home.as_ref()),
        }
    }

    fn allows(&self, path: &Path) -> bool {
        self.all
            || self.named.iter().any(|folder| path.starts_with(folder))
            || (self.is_of_project(path) && (self.any_ending || has_source_ending(path)))
    }

    /// Whether a file is below the project's folder and not below a hidden one: a home has keys in
    /// those.
    fn is_of_project(&self, path: &Path) -> bool {
        let project = self.project.as_ref();
        let below = project.and_then(|folder| path.strip_prefix(folder).ok());
        let is_hidden = |part: Component| part.as_os_str().to_string_lossy().starts_with('.');
        below.is_some_and(|below| !below.components().any(is_hidden))
    }
}

/// The folder of the project around the current folder; `None` if version control marks none.
pub fn repository() -> Option<PathBuf> {
    marked_top(&current_folder()?, home().as_deref())
}

fn current_folder() -> Option<PathBuf> {
    let current = std::env::current_dir().and_then(std::fs::canonicalize);
    current.ok()
}

fn home() -> Option<PathBuf> {
    std::env::home_dir().and_then(|home| std::fs::canonicalize(home).ok())
}

/// The nearest folder at or above `folder` that version control marks as the top of a project. (A
/// program is often built and run in a folder beside that of its sources.) A mark counts only if it
/// belongs to the owner of `folder`, since anybody can make one in `/tmp`, and not in the home of
/// the user, where some keep settings under version control.
fn marked_top(folder: &Path, home: Option<&Path>) -> Option<PathBuf> {
    let owner = |path: &Path| std::fs::metadata(path).ok().map(|about| about.uid());
    let user = owner(folder);
    let is_marked = |above: &&Path| {
        let mut marks = PROJECT_MARKS.iter().map(|mark| above.join(mark));
        Some(*above) != home && marks.any(|mark| mark.exists() && owner(&mark) == user)
    };
    folder.ancestors().find(is_marked).map(Path::to_path_buf)
}

fn has_source_ending(path: &Path) -> bool {
    let ending = path.extension().unwrap_or_default().to_ascii_lowercase();
    ENDINGS.iter().any(|known| ending == *known)
}
