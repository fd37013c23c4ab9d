//! Opens traces, profiles and parts, and finds by a file's first bytes what it is, so that a file
//! of the wrong kind is refused with advice.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

use anyhow::Context as _;
use reuselens::formats;
use reuselens::formats::AnySource;
use reuselens::profile::Profile;
use reuselens::shard::{Part, PartError};
use reuselens::trace::Confidence;
use reuselens::trace::{Selection, Unsegmented, WithRemark};
use reuselens::units::Bytes;
use reuselens_report::StoredGpuRun;
use reuselens_warp::file as warps;

use crate::part;

/// Bytes that are looked at: the longest mark is that of a run of a CUDA program.
const MARK: u64 = 40;

/// What programs begin with.
const PROGRAM: &[u8] = b"\x7fELF";

/// Opens a trace, in the format of this name or in the one that its content shows. Our own files
/// that are no traces are refused with advice.
pub fn open_trace(path: &Path, format: Option<&str>) -> anyhow::Result<AnySource> {
    refuse_what_is_no_trace(path, format)?;
    Ok(formats::open(path, format)?)
}

/// [`open_trace`] for a part of it. The source first delivers a remark that it is a part, or will
/// be copied as one.
pub fn open_part(
    path: &Path,
    format: Option<&str>,
    part: Selection,
    is_copy: bool,
) -> anyhow::Result<AnySource> {
    if part.is_all() {
        return open_trace(path, format);
    }
    refuse_what_is_no_trace(path, format)?;
    let note = part::note(&part, is_copy);
    let source = formats::open_part(path, format, part)?;
    Ok(match note {
        Some(note) => Box::new(Unsegmented(WithRemark::new(source, note))),
        None => source,
    })
}

/// Refuses our own files that are no traces, unless a format was named.
pub fn refuse_what_is_no_trace(path: &Path, format: Option<&str>) -> anyhow::Result<()> {
    match format {
        None => refuse_our_own(path, &head(path)),
        Some(_) => Ok(()),
    }
}

/// Whether there is a profile at `path`.
pub fn is_profile(path: &Path) -> bool {
    Profile::is_profile(&head(path))
}

/// Whether there is a native trace at `path`.
pub fn is_native(path: &Path) -> bool {
    reuselens::rltrace::detect(&head(path)) == Confidence::Certain
}

/// Whether there is a stream of warp instructions at `path`.
pub fn is_warp_stream(path: &Path) -> bool {
    warps::detect(&head(path)) == Confidence::Certain
}

/// The first bytes of a regular file; none of a pipe, which can be read only once.
fn head(path: &Path) -> Vec<u8> {
    let is_file = std::fs::metadata(path).is_ok_and(|about| about.is_file());
    let head = is_file.then(|| File::open(path).and_then(|mut file| begin(&mut file)));
    head.and_then(Result::ok).unwrap_or_default()
}

fn refuse_our_own(path: &Path, head: &[u8]) -> anyhow::Result<()> {
    let (path, program) = (path.display(), typed(path));
    if Profile::is_profile(head) {
        anyhow::bail!(
            "{path} is no trace but a profile, so it is analysed already; show it with `reuselens report {path}`"
        );
    }
    if Part::is_part(head) {
        anyhow::bail!(
            "{path} is no trace but a part of an analysis; put it together with the other parts: `reuselens merge {path} PART…`"
        );
    }
    if head.starts_with(PROGRAM) {
        anyhow::bail!(
            "{path} is a program, not a trace; run it and look at it with `reuselens profile -- {program}`"
        );
    }
    if starts_gpu_run(head) {
        anyhow::bail!(gpu_run_advice(&path));
    }
    if warps::detect(head) == Confidence::Certain {
        anyhow::bail!(
            "{path} is a stream of warp instructions of a GPU kernel; analyse it with `reuselens gpu analyze {path}`"
        );
    }
    Ok(())
}

/// Reads a profile.
pub fn read_profile(path: &Path) -> anyhow::Result<Profile> {
    let bytes = read_if(path, Profile::is_profile).map_err(|error| {
        let next = match error.kind() {
            ErrorKind::IsADirectory => "name a profile in it, NAME.rlprof",
            _ => "`reuselens profile -- PROGRAM` makes a profile",
        };
        unreadable(path, &error, next)
    })?;
    if bytes.is_empty() {
        anyhow::bail!(
            "{} is empty and no profile; make one with `reuselens profile -- PROGRAM`, or from a trace with `reuselens analyze TRACE`",
            path.display()
        );
    }
    refuse_what_a_profile_is_made_of(path, &bytes)?;
    if Part::is_part(&bytes) {
        anyhow::bail!(
            "{0} is no profile but a part of one; put it together with the other parts: `reuselens merge {0} PART…`",
            path.display()
        );
    }
    // The content of a file counts more than its ending: `run.f` may be a profile.
    if !Profile::is_profile(&bytes) {
        refuse_source(path, "no profile")?;
    }
    Profile::from_bytes(&bytes).with_context(|| path.display().to_string())
}

/// The text of a file of at most `limit` bytes.
///
/// # Errors
/// If it cannot be read, is larger, or is no UTF-8.
pub fn read_text(path: &Path, limit: u64) -> std::io::Result<String> {
    let mut text = String::new();
    File::open(path)?
        .take(limit + 1)
        .read_to_string(&mut text)?;
    if text.len() as u64 <= limit {
        Ok(text)
    } else {
        Err(std::io::Error::other(format!(
            "it is larger than {}",
            Bytes(limit)
        )))
    }
}

/// Why a file cannot be read, and what to do `next`.
pub fn unreadable(path: &Path, error: &std::io::Error, next: &str) -> anyhow::Error {
    let why = match error.kind() {
        ErrorKind::NotFound => "there is no such file".to_owned(),
        ErrorKind::IsADirectory => "it is a directory".to_owned(),
        ErrorKind::PermissionDenied => "you may not read it".to_owned(),
        _ => error.to_string(),
    };
    anyhow::anyhow!("cannot read {}: {why}; {next}", path.display())
}

/// Refuses source code, by the ending of its name, with advice on how to measure its program.
pub fn refuse_source(path: &Path, wanted: &str) -> anyhow::Result<()> {
    let ending = path.extension().unwrap_or_default().to_string_lossy();
    let (language, compiler) = match &*ending {
        "c" => ("C", "cc"),
        "cc" | "cpp" | "cxx" => ("C++", "c++"),
        "f" | "for" | "f90" | "f95" | "f03" | "f08" => ("Fortran", "fortran"),
        _ => return Ok(()),
    };
    let (source, program) = (path.display(), typed(&path.with_extension("")));
    anyhow::bail!(
        "{source} is source code in {language} and {wanted}; to measure its program: `reuselens {compiler} -g {source} -o {program}`, then `reuselens profile -- {program}`"
    )
}

/// Refuses traces and programs, by the first bytes of a file, with advice.
fn refuse_what_a_profile_is_made_of(path: &Path, head: &[u8]) -> anyhow::Result<()> {
    let (path, program) = (path.display(), typed(path));
    if reuselens::rltrace::detect(head) == Confidence::Certain {
        anyhow::bail!(
            "{path} is a trace and no profile yet; make one of it with `reuselens analyze {path}`"
        );
    }
    if starts_gpu_run(head) {
        anyhow::bail!(gpu_run_advice(&path));
    }
    if head.starts_with(PROGRAM) {
        anyhow::bail!(
            "{path} is a program and no profile; make one of a run of it with `reuselens profile -- {program}`"
        );
    }
    Ok(())
}

/// What to type for a file that was given in place of a command; `None` if it is none of ours and
/// no program.
pub fn what_to_do_with(path: &Path) -> Option<String> {
    let (head, name) = (head(path), path.display());
    if Profile::is_profile(&head) {
        return Some(format!("to show a profile: reuselens report {name}"));
    }
    if reuselens::rltrace::detect(&head) == Confidence::Certain {
        return Some(format!("to analyse a trace: reuselens analyze {name}"));
    }
    let is_program = head.starts_with(PROGRAM) || head.starts_with(b"#!");
    is_program.then(|| {
        let program = typed(path);
        format!("to run a program and look at it: reuselens profile -- {program}")
    })
}

/// A program as it is run: one in this directory is not looked for here.
fn typed(program: &Path) -> String {
    match program.components().count() {
        1 => format!("./{}", program.display()),
        _ => program.display().to_string(),
    }
}

/// Reads a part of an analysis.
pub fn read_part(path: &Path) -> anyhow::Result<Part> {
    let bytes = read_if(path, Part::is_part).map_err(|source| PartError::Unreadable {
        path: path.to_owned(),
        source,
    })?;
    refuse_what_a_profile_is_made_of(path, &bytes)?;
    if Profile::is_profile(&bytes) {
        anyhow::bail!(
            "{0} is no part but a whole profile, so there is nothing to merge; show it with `reuselens report {0}`",
            path.display()
        );
    }
    Part::from_bytes(&bytes).with_context(|| path.display().to_string())
}

/// All bytes of a file whose first ones are right; of any other, which may be of any size, only
/// those.
fn read_if(path: &Path, right: fn(&[u8]) -> bool) -> std::io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let mut bytes = begin(&mut file)?;
    if right(&bytes) {
        file.read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}

fn begin(file: &mut File) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(MARK).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Whether this is how a run of a CUDA program begins.
fn starts_gpu_run(head: &[u8]) -> bool {
    let head: Vec<u8> = head
        .iter()
        .copied()
        .filter(|it| !it.is_ascii_whitespace())
        .collect();
    head.starts_with(br#"{"schema":"reuselens-gpu/"#)
}

/// What to do with a run of a CUDA program that was given in place of a trace or a profile.
fn gpu_run_advice(path: &std::path::Display<'_>) -> String {
    format!(
        "{path} is a run of a CUDA program; open its page in a browser, see what to change with \
         `reuselens advise {path}`, or compare it with another run: `reuselens gpu diff {path} \
         OTHER.rlgpu`"
    )
}

/// Whether a file is a run of a CUDA program; false for what cannot be read.
pub fn is_gpu_run(path: &Path) -> bool {
    let head = File::open(path).and_then(|mut file| begin(&mut file));
    head.is_ok_and(|head| starts_gpu_run(&head))
}

/// Reads a run of a CUDA program.
pub fn read_gpu_run(path: &Path) -> anyhow::Result<StoredGpuRun> {
    let next = "`reuselens profile -- PROGRAM` of a CUDA program makes a run, NAME.rlgpu";
    let bytes = read_if(path, starts_gpu_run).map_err(|error| unreadable(path, &error, next))?;
    if !starts_gpu_run(&bytes) {
        anyhow::bail!("{} is no run of a CUDA program; {next}", path.display());
    }
    let text = String::from_utf8(bytes)
        .map_err(|_| anyhow::anyhow!("{} is damaged: it is not UTF-8", path.display()))?;
    StoredGpuRun::parse(&text).with_context(|| path.display().to_string())
}
