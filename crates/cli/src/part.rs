//! [`PartArgs`]: the options that choose a part of a trace (`--from`, `--to`, `--thread`).

use std::collections::BTreeSet;
use std::path::Path;

use clap::Args;
use reuselens::formats::survey;
use reuselens::profile::{self, Profile};
use reuselens::trace::{Extent, Note, Place, Selection, ThreadId};

use crate::exit::Usage;

/// Which part of a trace is looked at.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "A part of the trace")]
pub struct PartArgs {
    /// Begin at this row (4M), after this share of the rows (25%), or at a time: @ and ticks after
    /// the first stamp, or a share of the time (@25%)
    #[arg(long, value_name = "PLACE", value_parser = place)]
    from: Option<Place>,

    /// End before this place
    #[arg(long, value_name = "PLACE", value_parser = place)]
    until: Option<Place>,

    /// Only this thread, by its number in `reuselens info`; several allowed (--thread 1,2)
    #[arg(long, value_name = "N", value_parser = thread, value_delimiter = ',')]
    thread: Vec<u32>,
}

impl PartArgs {
    /// The first of these options that was given.
    pub fn first_given(&self) -> Option<&'static str> {
        let given = [
            ("--from", self.from.is_some()),
            ("--until", self.until.is_some()),
            ("--thread", !self.thread.is_empty()),
        ];
        given.into_iter().find(|it| it.1).map(|it| it.0)
    }

    /// The chosen part of the trace at `path`. A share or a time needs the trace's extent: from the
    /// index of a native file, and else from a pass over all bytes.
    pub fn selection(&self, path: &Path, format: Option<&str>) -> anyhow::Result<Selection> {
        let places = [self.from, self.until];
        let relative = places.iter().flatten().any(|place| place.is_relative());
        let extent = if relative {
            extent(path, format)?
        } else {
            Extent::default()
        };
        let timed = |place: &Place| matches!(place, Place::Ticks(_) | Place::TimeShare(_));
        if places.iter().flatten().any(timed) && extent.stamps == (0, 0) {
            let text = format!(
                "{} has no times; name rows, as in --from 25%",
                path.display()
            );
            return Err(Usage(text).into());
        }
        let threads: BTreeSet<ThreadId> = self.thread.iter().copied().map(ThreadId).collect();
        let selection = Selection::between(self.from, self.until, threads, &extent);
        if selection.rows.is_empty() || selection.stamps.is_empty() {
            let text =
                "nothing lies between --from and --until: the end is not behind the beginning";
            return Err(Usage(text.to_owned()).into());
        }
        Ok(selection)
    }
}

/// The number of a thread of a trace.
fn thread(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| {
        "a thread of a trace has a number, from 0: reuselens info TRACE lists them; write for instance --thread 0"
            .to_owned()
    })
}

fn extent(path: &Path, format: Option<&str>) -> anyhow::Result<Extent> {
    if path == Path::new("-") {
        let text = "shares and times are those of the whole trace, and standard input can be read only once; name rows, \
                    as in --from 4M";
        return Err(Usage(text.to_owned()).into());
    }
    let survey = survey(path, format, &Selection::default())?;
    Ok(survey.extent())
}

/// The chosen part as text; `None` if it is all of the trace.
pub fn chosen(selection: &Selection) -> Option<String> {
    if selection.is_all() {
        return None;
    }
    let mut parts = Vec::new();
    let end = |end: u64, of: &str| match end {
        u64::MAX => "the end".to_owned(),
        end => format!("{of}{end}"),
    };
    let (rows, stamps) = (&selection.rows, &selection.stamps);
    if *rows != (0..u64::MAX) {
        parts.push(format!("rows {} to {}", rows.start, end(rows.end, "")));
    }
    if *stamps != (0..u64::MAX) {
        parts.push(format!(
            "stamps {} to {}",
            stamps.start,
            end(stamps.end, "")
        ));
    }
    if !selection.threads.is_empty() {
        let threads = selection.threads.iter().map(|thread| thread.0.to_string());
        parts.push(format!(
            "threads {}",
            threads.collect::<Vec<_>>().join(", ")
        ));
    }
    Some(parts.join("; "))
}

/// The remark that goes with a part, or with a copy of it; `None` for all of a trace.
pub fn note(selection: &Selection, is_copy: bool) -> Option<Note> {
    let chosen = chosen(selection)?;
    let (what, all) = if is_copy {
        (
            "this is a copy of a part of a trace",
            "analyse that trace for all",
        )
    } else {
        (
            "only a part of the trace was looked at",
            "without --from, --until and --thread all is looked at",
        )
    };
    Some(Note {
        code: "part".to_owned(),
        message: format!("{what} ({chosen}): what was used before it counts as never touched"),
        hint: format!("first touches and the longest distances are those of the part; {all}"),
    })
}

/// Fails if a part has no accesses, which is most likely a slip, so that no earlier result is
/// replaced by an empty one.
pub fn refuse_nothing(profile: &Profile, chosen: &str, trace: &Path) -> Result<(), Usage> {
    // A trace that was cut off has a message of its own.
    let incomplete = matches!(profile.outcome, profile::Outcome::Incomplete(_));
    let mut warnings = profile.warnings.iter();
    if incomplete || warnings.all(|other| other.code != "no-accesses") {
        return Ok(());
    }
    if profile.method.data != "all" {
        let trace = trace.display();
        return Err(Usage(format!(
            "nothing that counts lies in the part of {trace} that was chosen ({chosen}), or no such data are used there; leave out --data"
        )));
    }
    Err(nothing(chosen, trace))
}

/// The error that a part of a trace has no accesses.
pub fn nothing(chosen: &str, trace: &Path) -> Usage {
    let trace = trace.display();
    Usage(format!(
        "nothing that counts lies in the part of {trace} that was chosen ({chosen}); see which threads, rows and times there \
         are: reuselens info {trace}"
    ))
}

/// A place in a trace: `4M`, `25%`, `@1000000`, `@25%`.
fn place(text: &str) -> Result<Place, String> {
    let (timed, rest) = match text.strip_prefix('@') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    if let Some(number) = rest.strip_suffix('%') {
        let percent = number.trim_end().parse::<f64>().ok();
        let share = percent.filter(|percent| (0.0..=100.0).contains(percent));
        let share = share.ok_or_else(|| format!("'{text}' is no share: write for instance 25%"))?;
        return Ok(if timed {
            Place::TimeShare(share / 100.0)
        } else {
            Place::RowShare(share / 100.0)
        });
    }
    let number = match rest {
        "0" => Ok(0),
        rest => crate::options::number(rest),
    };
    let number = number.map_err(|_| {
        format!("'{text}' is no place: write a row (4M), a share of the rows (25%), or a time (@1000000, @25%)")
    })?;
    Ok(if timed {
        Place::Ticks(number)
    } else {
        Place::Row(number)
    })
}
