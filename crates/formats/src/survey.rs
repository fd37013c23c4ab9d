//! What a trace file holds, without analysing it: the command `info`.
//!
//! If all of a native file with an index is asked for, the index alone is read; in every other case
//! the accesses are.

use std::path::Path;

use crate::{detected_or_named, drmemtrace};
use reuselens_io::Input;
use reuselens_rltrace as native;
use reuselens_trace::{Extent, Kind, Selected, Selection, Source, Summary, TraceError};

/// What a trace holds.
#[derive(Debug, Default)]
pub struct Survey {
    /// The name of its format; see [`FORMATS`](crate::FORMATS).
    pub format: &'static str,
    /// The version of its format, where that is known.
    pub version: Option<u16>,
    /// Whether it has byte addresses; see [`Source::has_addresses`].
    pub has_addresses: bool,
    /// Where the accesses come from; see [`Source::describe`].
    pub description: String,
    /// Bytes of the file, if that is known: as it is on disk, compressed or not.
    pub bytes: Option<u64>,
    /// Chunks of a native file.
    pub chunks: Option<u64>,
    /// What is in it. With damage: up to there.
    pub summary: Summary,
    /// Why it could not be read to its end.
    pub incomplete: Option<TraceError>,
    /// Why a native file had to be read to its end, rather than its index only.
    pub no_index: Option<String>,
}

impl Survey {
    /// How much there is of it, in the rows by which a part of it is named: without operands,
    /// unless it is a native trace.
    pub fn extent(&self) -> Extent {
        let mut extent = self.summary.extent();
        if self.format != native::NAME {
            extent.rows -= self.summary.rows_of(Kind::Operand).min(extent.rows);
        }
        extent
    }
}

/// Looks at the trace at `path` (`-` is standard input), in the format called `format` or in the
/// one that its content shows. Of a native file with an index only the index is read; any other is
/// read to its end.
///
/// # Errors
/// Those of [`open`](crate::open).
pub fn survey(path: &Path, format: Option<&str>, part: &Selection) -> Result<Survey, TraceError> {
    if path.is_dir() {
        return survey_folder(path, format, part);
    }
    let mut input = Input::open(path)?;
    let name = detected_or_named(&mut input, format)?.name;
    if name == native::NAME && part.is_all() {
        return survey_native(input);
    }
    let bytes = input.progress().map(|(_, all)| all);
    let mut source = if part.is_all() || name != native::NAME {
        crate::read(input, format)?
    } else {
        let mut reader = native::Reader::new(input)?;
        reader.select(part.clone())?;
        Box::new(reader)
    };
    let mut survey = Survey {
        format: name,
        has_addresses: source.has_addresses(),
        description: source.describe(),
        bytes,
        ..Survey::default()
    };
    let (summary, incomplete) = if name == native::NAME {
        Summary::of(&mut *source)?
    } else {
        Summary::of(&mut Selected::without_operands(source, part.clone()))?
    };
    (survey.summary, survey.incomplete) = (summary, incomplete);
    Ok(survey)
}

/// What the traces in a folder hold.
fn survey_folder(
    path: &Path,
    format: Option<&str>,
    part: &Selection,
) -> Result<Survey, TraceError> {
    let source = crate::folder(path, format)?;
    let mut survey = Survey {
        format: drmemtrace::NAME,
        has_addresses: source.has_addresses(),
        description: source.describe(),
        bytes: source.progress().map(|(_, all)| all),
        ..Survey::default()
    };
    let mut part = Selected::without_operands(source, part.clone());
    (survey.summary, survey.incomplete) = Summary::of(&mut part)?;
    Ok(survey)
}

/// What a native file holds: by its index if there is one, else by reading all of it.
///
/// # Errors
/// [`TraceError`] if it cannot be read, or is none.
fn survey_native(mut input: Input) -> Result<Survey, TraceError> {
    let bytes = input.progress().map(|(_, all)| all);
    input.head()?;
    let mut reader = native::Reader::new(input)?;
    let index = reader.take_index()?;
    let mut survey = Survey {
        format: native::NAME,
        has_addresses: reader.has_addresses(),
        description: reader.describe(),
        version: Some(native::VERSION),
        bytes,
        ..Survey::default()
    };
    match index {
        Ok(index) => {
            survey.chunks = Some(index.chunks.len() as u64);
            survey.summary = index.summary;
        }
        Err(why) => {
            let (summary, incomplete) = Summary::of(&mut reader)?;
            survey.chunks = Some(reader.chunks_read());
            (survey.summary, survey.incomplete) = (summary, incomplete);
            survey.no_index = Some(why);
        }
    }
    Ok(survey)
}
