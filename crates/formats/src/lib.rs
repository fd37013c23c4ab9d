//! The formats of traces: one module each, with the same names inside (`NAME`, `SUMMARY`, `detect`;
//! `Reader` if it is read), and the list of them. To add one, implement `line_reader::LineFormat`
//! (text, one access on each line) or `records::RecordLayout` (records of one length), and add it
//! to [`FORMATS`].
//!
//! [`open`] finds the format of a file and reads it, [`survey`](survey()) says what is in it, and
//! [`convert`](convert()) copies any source into another form; [`convert_warps`] does so for
//! streams of warp instructions. The native file has a crate of its own, `rltrace`, and is in the
//! list [`FORMATS`] too.
//!
//! For: whoever reads a trace file that others made. Not for: running programs, and not for
//! analysis.

pub mod champsim;
pub mod csv;
pub mod din;
pub mod drmemtrace;
pub mod lackey;
pub mod msr;
pub mod oraclegeneral;
pub mod parquet;
pub mod text;
pub mod u32;
pub mod u64;
pub mod vscsi;

mod ambiguity;
mod batch;
mod block_requests;
mod choices;
mod convert;
mod delivery;
mod extension;
mod extent;
mod line_reader;
mod lines;
mod names;
mod number;
mod raw_items;
mod records;
mod row_stage;
mod segments;
mod signature;
mod survey;
mod warps;

use std::path::Path;

use reuselens_io::Input;
use reuselens_rltrace as native;
use reuselens_trace::{
    Confidence, Segmented, Selected, Selection, Source, TraceError, Unsegmented, WithRemark,
};

pub use convert::{Converted, Target, convert};
pub use survey::{Survey, survey};
pub use warps::{ConvertedWarps, WarpTarget, convert_warps};

/// A source of which only the interface is known. It may have no segments.
pub type AnySource = Box<dyn Segmented + Send>;

/// What there is to know about a format.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct FormatInfo {
    /// What to type after `--format` or `--to`.
    pub name: &'static str,
    /// One line on what it is.
    pub summary: &'static str,
    /// Whether it can be read.
    pub reads: bool,
    /// Whether `convert` can write it.
    pub writes: bool,
    /// Whether it holds byte addresses (`true`) or ids that are the items (`false`).
    pub addresses: bool,
    detect: fn(&[u8]) -> Confidence,
    open: fn(Input) -> Result<AnySource, TraceError>,
}

/// Every format, in the order in which they are listed to people. Of two that are equally sure of a
/// file, the first is taken.
// A constant would have all readers compiled once more in each crate that uses it.
pub static FORMATS: &[FormatInfo] = &[
    FormatInfo {
        name: native::NAME,
        summary: native::SUMMARY,
        reads: true,
        writes: true,
        addresses: true,
        detect: native::detect,
        open: |input| Ok(Box::new(native::Reader::new(input)?)),
    },
    FormatInfo {
        name: lackey::NAME,
        summary: lackey::SUMMARY,
        reads: true,
        writes: false,
        addresses: true,
        detect: lackey::detect,
        open: |input| unsegmented(lackey::Reader::new(input)),
    },
    FormatInfo {
        name: din::NAME,
        summary: din::SUMMARY,
        reads: true,
        writes: false,
        addresses: true,
        detect: din::detect,
        open: |input| unsegmented(din::Reader::new(input)),
    },
    FormatInfo {
        name: csv::NAME,
        summary: csv::SUMMARY,
        reads: true,
        writes: false,
        addresses: true,
        detect: csv::detect,
        open: |input| unsegmented(csv::Reader::new(input)),
    },
    FormatInfo {
        name: msr::NAME,
        summary: msr::SUMMARY,
        reads: true,
        writes: false,
        addresses: true,
        detect: msr::detect,
        open: |input| unsegmented(msr::Reader::new(input)),
    },
    FormatInfo {
        name: text::NAME,
        summary: text::SUMMARY,
        reads: true,
        writes: true,
        addresses: false,
        detect: text::detect,
        open: |input| Ok(Box::new(text::Reader::new(input)?)),
    },
    FormatInfo {
        name: u64::NAME,
        summary: u64::SUMMARY,
        reads: true,
        writes: false,
        addresses: false,
        detect: u64::detect,
        open: |input| Ok(Box::new(u64::Reader::new(input)?)),
    },
    FormatInfo {
        name: u32::NAME,
        summary: u32::SUMMARY,
        reads: true,
        writes: false,
        addresses: false,
        detect: u32::detect,
        open: |input| Ok(Box::new(u32::Reader::new(input)?)),
    },
    FormatInfo {
        name: drmemtrace::NAME,
        summary: drmemtrace::SUMMARY,
        reads: true,
        writes: false,
        addresses: true,
        detect: drmemtrace::detect,
        open: |input| Ok(Box::new(drmemtrace::Reader::new(input)?)),
    },
    FormatInfo {
        name: champsim::NAME,
        summary: champsim::SUMMARY,
        reads: true,
        writes: false,
        addresses: true,
        detect: champsim::detect,
        open: |input| Ok(Box::new(champsim::Reader::new(input)?)),
    },
    FormatInfo {
        name: oraclegeneral::NAME,
        summary: oraclegeneral::SUMMARY,
        reads: true,
        writes: false,
        addresses: false,
        detect: oraclegeneral::detect,
        open: |input| Ok(Box::new(oraclegeneral::Reader::new(input)?)),
    },
    FormatInfo {
        name: vscsi::NAME,
        summary: vscsi::SUMMARY,
        reads: true,
        writes: false,
        addresses: false,
        detect: vscsi::detect,
        open: |input| Ok(Box::new(vscsi::Reader::new(input)?)),
    },
    FormatInfo {
        name: parquet::NAME,
        summary: parquet::SUMMARY,
        reads: false,
        writes: true,
        addresses: true,
        detect: parquet::detect,
        open: parquet::refuse,
    },
];

/// Opens the trace at `path` (`-` is standard input), in the format called `format`, or else in the
/// one that its content shows.
///
/// Raw `u64` and `u32` files, and those of `champsim` and `oraclegeneral`, have nothing to be known
/// by: they are taken as such only by name (`--format u64`) or by an ending (`.u64` or `.bin`),
/// because a wrong guess gives wrong numbers without a word. Compressed files are unpacked on the
/// way, see [`Input`].
///
/// # Errors
/// `FileError::Io` if it cannot be opened, `FileError::Empty` if nothing is in it,
/// [`TraceError::UnknownFormat`] if no format fits, `FileError::Corrupt` if its very head is
/// damaged.
///
/// A folder is one of traces of DynamoRIO, a file for each thread: [`drmemtrace::FolderReader`].
pub fn open(path: &Path, format: Option<&str>) -> Result<AnySource, TraceError> {
    if path.is_dir() {
        return folder(path, format);
    }
    read(Input::open(path)?, format)
}

/// As [`open`], for an input that is already open.
///
/// # Errors
/// Those of [`open`].
pub fn read(mut input: Input, format: Option<&str>) -> Result<AnySource, TraceError> {
    let choice = format.and_then(choices::choice);
    let named = format.is_some();
    let format = detected_or_named(&mut input, format)?;
    if extension::has_format(format.name) && !extension::is_packed(input.path()) {
        input.head_of_any_bytes()?;
    }
    let path = input.path().to_owned();
    let ambiguity = ambiguity::remark(&path, input.head()?, format.name).filter(|_| !named);
    if let Some((choices, choice)) = choice {
        return (choices.open)(input, choice);
    }
    let source = (format.open)(input)?;
    Ok(match ambiguity {
        Some(note) => Box::new(Unsegmented(WithRemark::new(source, note))),
        None => source,
    })
}

/// As [`open`], but only `part` of the trace. Of a native file with an index only that is read.
///
/// # Errors
/// Those of [`open`].
pub fn open_part(
    path: &Path,
    format: Option<&str>,
    part: Selection,
) -> Result<AnySource, TraceError> {
    if path.is_dir() {
        let source = Selected::without_operands(folder(path, format)?, part);
        return Ok(Box::new(Unsegmented(source)));
    }
    let mut input = Input::open(path)?;
    if detected_or_named(&mut input, format)?.name == native::NAME {
        let mut reader = native::Reader::new(input)?;
        reader.select(part)?;
        return Ok(Box::new(reader));
    }
    let source = Selected::without_operands(read(input, format)?, part);
    Ok(Box::new(Unsegmented(source)))
}

/// The traces in a folder, as one source.
pub(crate) fn folder(path: &Path, format: Option<&str>) -> Result<AnySource, TraceError> {
    if let Some(format) = format.filter(|&format| format != drmemtrace::NAME) {
        let what = format!(
            "it is a folder, and only --format {} reads folders, not '{}'; name a file",
            drmemtrace::NAME,
            format.escape_debug()
        );
        let path = path.to_owned();
        return Err(TraceError::UnknownFormat { path, what });
    }
    unsegmented(drmemtrace::FolderReader::new(path))
}

/// A source that is read in one go.
fn unsegmented<S>(source: Result<S, TraceError>) -> Result<AnySource, TraceError>
where
    S: Source + Send + 'static,
{
    Ok(Box::new(Unsegmented(source?)))
}

/// The format that is asked for, or the one that the content shows.
pub(crate) fn detected_or_named(
    input: &mut Input,
    format: Option<&str>,
) -> Result<&'static FormatInfo, TraceError> {
    let found = match format {
        Some(name) => {
            let choice = choices::choice(name);
            named(input, choice.map_or(name, |(choices, _)| choices.format))
        }
        None => detected(input),
    }?;
    check_packing(input, found)?;
    Ok(found)
}

/// Refuses a file whose name says that it is packed and whose content is not, if its format could
/// be any bytes: a packed file with a damaged beginning would be read as numbers, and nothing would
/// show.
fn check_packing(input: &mut Input, format: &FormatInfo) -> Result<(), TraceError> {
    if !extension::has_format(format.name) || !extension::is_packed(input.path()) {
        return Ok(());
    }
    input.head()?;
    if input.is_packed() {
        return Ok(());
    }
    let what = "its name says that it is compressed, but its first bytes are those of no compressed file: it is \
                damaged, or it is not compressed and should be called otherwise";
    Err(unknown(input, what.to_owned()))
}

fn named(input: &Input, name: &str) -> Result<&'static FormatInfo, TraceError> {
    of_name(name).map_err(|what| unknown(input, what))
}

fn of_name(name: &str) -> Result<&'static FormatInfo, String> {
    let known = FORMATS.iter().find(|format| format.name == name);
    known.ok_or_else(|| format!("no format is called '{}'", name.escape_debug()))
}

/// Whether [`open`] knows a format of that name, or understands a choice of columns or of a unit:
/// for those who want to know before there is a file.
///
/// # Errors
/// What is wrong with it, as a sentence without its full stop.
pub fn check_name(name: &str) -> Result<(), String> {
    match choices::choice(name) {
        Some((choices, choice)) => (choices.check)(choice),
        None => of_name(name).map(drop),
    }
}

/// Whether the name of a file says that it is packed, or in a format that `convert` does not write:
/// whoever reads it later may go by its name.
pub fn name_says_otherwise(path: &Path) -> bool {
    let says = |format: &FormatInfo| {
        extension::format(path) == Some(format.name) || extension::is_last(path, format.name)
    };
    let mut not_written = FORMATS.iter().filter(|format| !format.writes);
    extension::is_packed(path) || not_written.any(says)
}

fn detected(input: &mut Input) -> Result<&'static FormatInfo, TraceError> {
    let head = input.head()?;
    let (sure, best) = surest(head);
    let packed = signature::packed_with(head);
    let looks_like_text = text::is_text(head);
    if sure == Confidence::Certain {
        return Ok(best);
    }
    if let Some((how, command)) = packed {
        let path = input.path().display();
        let what = if input.is_packed() {
            format!(
                "there is {how} inside its compression; unpack {path} by hand, `{command}` last"
            )
        } else {
            format!(
                "it is compressed with {how}; unpack it on the way in: `{command} {path} | reuselens analyze -`"
            )
        };
        return Err(unknown(input, what));
    }
    if extension::is_schedule(input.path()) {
        return Err(unknown(input, SCHEDULE.to_owned()));
    }
    if let Some(name) = extension::format(input.path()) {
        return named(input, name);
    }
    if sure == Confidence::Maybe {
        return Ok(best);
    }
    if signature::is_utf16(input.head()?) {
        let path = input.path().display();
        let what = format!(
            "it is text in UTF-16; make it UTF-8 on the way in: `iconv -f UTF-16 -t UTF-8 {path} | reuselens analyze -`"
        );
        return Err(unknown(input, what));
    }
    let what = if looks_like_text {
        let head = input.head()?;
        guess_of_text(csv::misfit(head), csv::table_columns(head))
    } else {
        "its first bytes are those of no trace; if it holds raw little-endian 64-bit items, say `--format u64`".into()
    };
    Err(unknown(input, what))
}

/// What to say of a schedule.
const SCHEDULE: &str = "it is the schedule of a trace of DynamoRIO, which has no accesses; name the folder that it \
     is in, whose traces are then read in that order";

fn surest(head: &[u8]) -> (Confidence, &'static FormatInfo) {
    let mut best = (Confidence::No, &FORMATS[0]);
    for format in FORMATS {
        let sure = (format.detect)(head);
        if sure > best.0 {
            best = (sure, format);
        }
    }
    best
}

/// What to say of text in no known format: what is wrong with the known table that it nearly is, or
/// the columns of an unknown one.
fn guess_of_text(misfit: Option<String>, columns: Option<String>) -> String {
    if let Some(misfit) = misfit {
        misfit
    } else if let Some(columns) = columns {
        format!(
            "none of its columns is known to hold addresses or ids; {columns}; choose one with \
             `--format csv:address=COLUMN` or `--format csv:id=COLUMN`, by its name or its number from 1 (add \
             `,header=no` if the first line is data); if every word of it is an item, say `--format text`"
        )
    } else {
        "this text is in no format known; if every word of it is an item, say `--format text`; if it is a table, \
         `--format csv:address=1` or `csv:id=1`, by the number of the column"
            .into()
    }
}

fn unknown(input: &Input, what: String) -> TraceError {
    TraceError::UnknownFormat {
        path: input.path().to_owned(),
        what,
    }
}
