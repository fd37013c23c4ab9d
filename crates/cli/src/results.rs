//! Files that commands leave behind: [`Results`] are a profile and its page, with a number if the
//! name is taken; other files are written completely or not at all.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use reuselens::io::{AtomicFile, FileError, path_of, text_of};
use reuselens::profile::Profile;
use reuselens_report::ShownProfile;

use crate::output::{Rendered, Show};
use crate::say::{self, tell};

/// How many names are tried where other programs take them at the same time.
const NAMES_TRIED: u32 = 100;

/// What the profile and the page of a run end in.
const ENDINGS: [&str; 2] = ["rlprof", "html"];

/// The profile and the page that a run leaves behind. They are begun before the work, so that what
/// cannot be written is known before it.
pub struct Results {
    profile: AtomicFile,
    page: AtomicFile,
    /// Where the profile will be.
    pub profile_path: PathBuf,
    /// The name and the endings of files that get a number where another run takes their names
    /// meanwhile; `None` if they were asked for.
    numbered: Option<(String, [&'static str; 2])>,
}

impl Results {
    /// `output` is the value of `-o`; without it, the files are called `name` and are in this
    /// directory: with the next number if there are such files, unless they are to be overwritten.
    pub fn begin(output: Option<&Path>, name: &str, force: bool) -> anyhow::Result<Results> {
        let profile_path = match output {
            Some(path) if path.extension().is_some_and(|e| e == "rlprof") => path.to_owned(),
            Some(path) => with_ending(path, "rlprof"),
            None if force => path_of(&format!("{name}.rlprof")),
            None => numbered(name, &ENDINGS),
        };
        let page_path = profile_path.with_extension("html");
        Ok(Results {
            profile: AtomicFile::create(&profile_path, force)?,
            page: AtomicFile::create(&page_path, force)?,
            profile_path,
            numbered: (output.is_none() && !force).then(|| (name.to_owned(), ENDINGS)),
        })
    }

    /// Lets both get a number where another run takes their names meanwhile: they are called
    /// `name` and have these endings.
    pub fn number(&mut self, name: &str, endings: [&'static str; 2]) {
        self.numbered = Some((name.to_owned(), endings));
    }

    /// Writes both, then exports and summary, and prints what to do next; `again` is the command
    /// that makes another profile to compare with.
    pub fn finish(
        self,
        shown: &ShownProfile<'_>,
        rendered: &Rendered,
        show: &Show,
        again: &str,
    ) -> anyhow::Result<()> {
        let profile = shown.profile();
        let mut profile_path = self.profile_path.clone();
        let first = match &self.numbered {
            Some((name, [ending, _])) => path_of(&format!("{name}.{ending}")),
            None => profile_path.clone(),
        };
        let written = self.write(rendered).and_then(|path| {
            profile_path = path;
            show.exports(shown)
        });
        let page_path = profile_path.with_extension("html");
        if show.quiet && profile_path != first {
            // A script that reads the first name would otherwise take an older run for this one.
            tell!(
                "reuselens: {} exists, so the profile is {}; -o names it, --force overwrites",
                first.display(),
                profile_path.display()
            );
        }
        // Results that cannot be written are at least printed: the work may have taken long.
        let printed = say::bytes(rendered.summary.as_bytes());
        show.warn(profile);
        written?;
        printed?;
        let profile_has_causes = profile.causes.is_some();
        let (profile, page) = (profile_path.display(), page_path.display());
        show.say(&format!("\nPage:    {page}  (open it in a browser)"))?;
        show.say(&format!("Profile: {profile}"))?;
        let after = unused("after");
        let mut next = "Next:";
        if profile_has_causes {
            show.say(&format!("{next}    reuselens advise {profile}"))?;
            next = "  or:";
        }
        show.say(&format!(
            "{next}    {again} with -o {after}, then: reuselens diff {profile} {after}.rlprof"
        ))
    }

    /// Writes both; where the profile is then.
    ///
    /// # Errors
    /// If they cannot be written, and what was there before is kept.
    pub fn write(mut self, rendered: &Rendered) -> anyhow::Result<PathBuf> {
        let failed = |path: &Path| format!("cannot write {}: is the disk full?", path.display());
        self.profile
            .write_all(&rendered.file)
            .with_context(|| failed(&self.profile_path))?;
        self.page
            .write_all(rendered.page.as_bytes())
            .with_context(|| failed(&self.profile_path.with_extension("html")))?;
        let Some((name, endings)) = self.numbered else {
            self.profile.commit()?;
            self.page.commit()?;
            return Ok(self.profile_path);
        };
        let path = self.profile.commit_or(|| numbered(&name, &endings))?;
        self.page.rename_target(&path.with_extension("html"));
        self.page.commit()?;
        Ok(path)
    }
}

/// What the outputs of a trace are called, as [`text_of`] has it: its name without its directory
/// and ending, or with its ending where the profile of that name here is of a trace that differs
/// only in that. So traces
/// `t.txt` and `t.bin` have each a series of numbers. Where files are named (`-o`) or to be
/// overwritten, the name is always the one without the ending.
pub fn name_of(trace: &Path, output: Option<&Path>, force: bool) -> String {
    let name = stem(trace);
    if output.is_some() || force || trace == Path::new("-") {
        return name;
    }
    let bytes = std::fs::read(path_of(&format!("{name}.rlprof"))).unwrap_or_default();
    let Ok(profile) = Profile::from_bytes(&bytes) else {
        return name;
    };
    let [other] = &profile.command[..] else {
        return name;
    };
    let other = path_of(other);
    let is_sibling = other.extension().is_some()
        && stem(&other) == name
        && other.file_name() != trace.file_name();
    let full = trace.file_name().filter(|_| is_sibling);
    full.map_or(name, text_of)
}

/// The name of a trace without its directory and ending, as [`text_of`] has it; `stdin` for
/// standard input.
pub fn stem(trace: &Path) -> String {
    let stem = trace.file_stem().filter(|_| trace != Path::new("-"));
    stem.map_or_else(|| "stdin".to_owned(), text_of)
}

/// A file of this name if neither it nor files with the other endings exist: `name.rlprof`,
/// or `name.2.rlprof` and so on from the second run. The first ending is the file's.
pub fn numbered(name: &str, endings: &[&str]) -> PathBuf {
    let stems = (2..u32::MAX).map(|number| format!("{name}.{number}"));
    let mut stems = std::iter::once(name.to_owned()).chain(stems);
    let file = |stem: &str, ending: &str| path_of(&format!("{stem}.{ending}"));
    let is_free = |stem: &String| {
        // A pipe or `/dev/null` can be written again.
        let taken = |ending: &&str| {
            std::fs::metadata(file(stem, ending)).is_ok_and(|about| about.is_file())
        };
        !endings.iter().any(taken)
    };
    let stem = stems.find(is_free).unwrap_or_else(|| name.to_owned());
    file(&stem, endings[0])
}

/// As [`numbered`], and creates the file; again with the next number where another program has
/// taken the name meanwhile.
pub fn first_free<T>(
    name: &str,
    endings: &[&str],
    create: impl Fn(PathBuf) -> Result<T, FileError>,
) -> Result<T, FileError> {
    for _ in 0..NAMES_TRIED {
        match create(numbered(name, endings)) {
            Err(error) if error.is_taken() => {}
            done => return done,
        }
    }
    create(numbered(name, endings))
}

/// `path` with `.ending` appended (not in place of an ending it has).
pub fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(ending);
    name.into()
}

/// Writes a file completely or not at all.
pub fn write_whole(path: &Path, bytes: &[u8], force: bool) -> anyhow::Result<()> {
    let mut file = AtomicFile::create(path, force)?;
    file.write_all(bytes)
        .with_context(|| format!("cannot write {}: is the disk full?", path.display()))?;
    file.commit()?;
    Ok(())
}

/// Whether an output is standard output: `-`.
pub fn is_standard_output(path: &Path) -> bool {
    path == Path::new("-")
}

/// Whether a path leads to what standard output is: `/dev/stdout`, `/proc/self/fd/1`.
pub fn is_where_standard_output_goes(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let identity = |path: &Path| {
        let about = std::fs::metadata(path).ok()?;
        Some((about.dev(), about.ino()))
    };
    let standard = identity(Path::new("/proc/self/fd/1"));
    standard.is_some() && identity(path) == standard
}

/// Fails before the work if one of these outputs cannot be written after it. Returns how many of
/// them are standard output.
pub fn check_outputs<'a>(
    outputs: impl IntoIterator<Item = &'a PathBuf>,
    force: bool,
) -> anyhow::Result<usize> {
    let mut standard = 0;
    for path in outputs {
        if is_standard_output(path) {
            standard += 1
        } else {
            AtomicFile::check(path, force)?
        }
    }
    Ok(standard)
}

/// Writes a file completely or not at all; `-` is standard output.
pub fn write_text(path: &Path, text: &str, force: bool) -> anyhow::Result<()> {
    if is_standard_output(path) {
        say::bytes(text.as_bytes())?;
        return Ok(());
    }
    write_whole(path, text.as_bytes(), force)
}

/// A name that no profile here has: this one, or with a number after it.
fn unused(name: &str) -> String {
    let numbered = (2..100).map(|number| format!("{name}{number}"));
    let mut names = std::iter::once(name.to_owned()).chain(numbered);
    let free = names.find(|name| !Path::new(&format!("{name}.rlprof")).exists());
    free.unwrap_or_else(|| name.to_owned())
}
