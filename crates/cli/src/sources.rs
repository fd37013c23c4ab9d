//! Which source files go into a page. The names come from debug information, and a profile or a
//! trace that somebody else made may name any file: a page must not carry off what nobody meant to
//! give away.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read;
use std::path::{Component, Path, PathBuf};

use reuselens::locality::Profile;
use reuselens::units::counted;

/// The most bytes of a file that goes into a page.
const MOST: u64 = 1 << 20;

/// Where a profile is from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// Its program ran here just now, and could read all that we can: its sources may be anywhere.
    RanHere,
    /// Its sources have to be below the current folder, or below one that the user named.
    Anywhere,
}

/// The texts of the source files that a profile names, as far as they are there and may be shown.
/// How many are there and may not is said on the standard error.
pub fn of(profile: &Profile, origin: Origin, named: &[PathBuf]) -> BTreeMap<String, String> {
    let frames = profile.sites.iter().flat_map(|site| &site.frames);
    let files: BTreeSet<&String> = frames
        .map(|frame| &frame.file)
        .filter(|file| !file.is_empty())
        .collect();
    let folders = (origin == Origin::Anywhere).then(|| Folders::new(named));
    let (mut texts, mut left_out) = (BTreeMap::new(), 0_u64);
    for file in files {
        // Links are followed first: what counts is where a file really is.
        let Ok(path) = std::fs::canonicalize(file) else {
            continue;
        };
        if folders.as_ref().is_some_and(|folders| !folders.hold(&path)) {
            left_out += u64::from(path.is_file());
        } else if let Some(text) = text(&path) {
            texts.insert(file.clone(), text);
        }
    }
    if left_out > 0 {
        eprintln!(
            "reuselens: warning: {} left out of the page, since only files below the current folder are embedded; to \
             show those of another one, add --source-folder FOLDER",
            counted(left_out, "source file is", "source files are")
        );
    }
    texts
}

/// A regular file that is small and a text.
fn text(path: &Path) -> Option<String> {
    // Opening a pipe blocks until a process opens it for writing.
    if !std::fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let mut text = String::new();
    let file = File::open(path).ok()?;
    file.take(MOST).read_to_string(&mut text).ok()?;
    Some(text).filter(|text| (text.len() as u64) < MOST)
}

/// Folders whose files may be shown.
struct Folders {
    named: Vec<PathBuf>,
    /// Not if it is the root: then nobody chose it.
    current: Option<PathBuf>,
}

impl Folders {
    fn new(named: &[PathBuf]) -> Folders {
        let named = named
            .iter()
            .filter_map(|folder| std::fs::canonicalize(folder).ok());
        let current = std::env::current_dir().and_then(std::fs::canonicalize);
        Folders {
            named: named.collect(),
            current: current.ok().filter(|folder| folder.parent().is_some()),
        }
    }

    /// Whether a file is below one of them. Below the current folder hidden ones are not: a home
    /// has keys in those.
    fn hold(&self, path: &Path) -> bool {
        let current = self.current.as_ref();
        let below = current.and_then(|folder| path.strip_prefix(folder).ok());
        let is_hidden = |part: Component| part.as_os_str().to_string_lossy().starts_with('.');
        self.named.iter().any(|folder| path.starts_with(folder))
            || below.is_some_and(|below| !below.components().any(is_hidden))
    }
}
