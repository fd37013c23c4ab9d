//! The frames of an instruction by debug information: functions, files and lines.
//!
//! `addr2line` finds them, and replaces what is not UTF-8 in the paths of files, so that two files
//! may have one path. Such paths are read once more, with all their bytes: the file of the
//! innermost frame by the unit's rows of lines, and that of a frame around by the call that was
//! inlined into it.

use std::collections::BTreeMap;
use std::path::Path;

use gimli::{Reader as _, ReaderOffset, UnitOffset};
use reuselens_io::{text_of, text_of_bytes};
use reuselens_profile::Frame;

use super::exact_names::path;
use super::frames::Debug;
use super::symbol_names::{demangled, fortran_name};
use super::variables::Unit;
use crate::checked_file::CheckedFile;

/// What debug information calls the language of Fortran's versions.
pub(super) const FORTRAN: [gimli::DwLang; 6] = [
    gimli::DW_LANG_Fortran77,
    gimli::DW_LANG_Fortran90,
    gimli::DW_LANG_Fortran95,
    gimli::DW_LANG_Fortran03,
    gimli::DW_LANG_Fortran08,
    gimli::DW_LANG_Fortran18,
];

/// A frame, and the entry of its function in the unit of the instruction.
pub(super) struct SourceFrame {
    pub frame: Frame,
    entry: Option<UnitOffset>,
}

/// The frames of an instruction, the innermost first, also those of which nothing is known. Paths
/// may have replaced characters: see [`ExactPaths::restore`].
pub(super) fn source_frames(code: &addr2line::Loader, address: u64) -> Vec<SourceFrame> {
    let mut frames = Vec::new();
    let Ok(mut found) = code.find_frames(address) else {
        return frames;
    };
    while let Ok(Some(frame)) = found.next() {
        let function = frame.function.as_ref().and_then(|name| {
            let is_fortran = name
                .language
                .is_some_and(|language| FORTRAN.contains(&language));
            // Not by its language: what is not mangled, as a lambda's own name or one of C, would
            // be taken for a type.
            let bytes = name.name.to_slice().ok()?;
            let name = text_of_bytes(&bytes);
            Some(if is_fortran {
                fortran_name(&name)
            } else {
                demangled(&name)
            })
        });
        let location = frame.location;
        let file = location.as_ref().and_then(|at| at.file);
        let entry = frame.dw_die_offset.map(|place| place.0.into_u64());
        frames.push(SourceFrame {
            frame: Frame {
                function: function.unwrap_or_default(),
                file: file.unwrap_or_default().to_owned(),
                line: location.as_ref().and_then(|at| at.line).unwrap_or(0),
            },
            entry: entry.and_then(|place| usize::try_from(place).ok().map(UnitOffset)),
        });
    }
    frames
}

/// The paths of source files with all their bytes, for frames that have replaced characters in
/// theirs. Reads the file at the first of these, and the rows of a unit at the first in it.
#[derive(Debug, Default)]
pub(super) struct ExactPaths {
    /// `None` within if it cannot be read.
    debug: Option<Option<Debug>>,
    rows: BTreeMap<usize, FileRows>,
}

/// The numbers of the files of a unit's code: that of the code from an address on, up to the next.
/// Most units have a few changes of the file in a hundred rows of lines.
type FileRows = BTreeMap<u64, Option<u64>>;

impl ExactPaths {
    /// Puts paths with all their bytes into the frames of an instruction that have replaced
    /// characters in theirs. A path that cannot be found stays.
    pub(super) fn restore(&mut self, file: &CheckedFile, address: u64, frames: &mut [SourceFrame]) {
        let is_replaced = |it: &SourceFrame| it.frame.file.contains(char::REPLACEMENT_CHARACTER);
        if !frames.iter().any(is_replaced) {
            return;
        }
        let debug = self.debug.get_or_insert_with(|| Debug::read(file));
        let Some((debug, number)) = debug
            .as_ref()
            .and_then(|debug| Some((debug, debug.unit_at(address)?)))
        else {
            return;
        };
        let rows = &mut self.rows;
        debug.with_unit(number, |unit| {
            let rows = rows.entry(number).or_insert_with(|| file_rows(unit));
            let mut inner = None;
            for (position, SourceFrame { frame, entry }) in frames.iter_mut().enumerate() {
                let index = match position {
                    0 => rows.range(..=address).next_back().and_then(|row| *row.1),
                    _ => inner.and_then(|call| call_file(unit, call)),
                };
                inner = *entry;
                let exact = index.and_then(|index| path(unit, index));
                if let Some(exact) = exact.filter(|exact| shown_alike(exact, &frame.file)) {
                    frame.file = text_of(exact);
                }
            }
        });
    }
}

/// Whether a path is this text once what is not UTF-8 is replaced.
fn shown_alike(path: &Path, text: &str) -> bool {
    path.to_string_lossy() == text
}

/// The file of the call of an inlined function.
fn call_file(unit: Unit<'_>, call: UnitOffset) -> Option<u64> {
    let entry = unit.entry(call).ok()?;
    match entry.attr_value(gimli::DW_AT_call_file)? {
        gimli::AttributeValue::FileIndex(index) => Some(index),
        other => other.udata_value(),
    }
}

/// The numbers of the files of a unit's code, as far as its rows can be read.
fn file_rows(unit: Unit<'_>) -> FileRows {
    let mut found = FileRows::new();
    let Some(program) = unit.line_program.clone() else {
        return found;
    };
    let mut rows = program.rows();
    // Of the row before, in the same stretch of code.
    let mut current = None;
    while let Ok(Some((_, row))) = rows.next_row() {
        if row.end_sequence() {
            // Code that was read before may go on there.
            found.entry(row.address()).or_insert(None);
            current = None;
        } else if current != Some(row.file_index()) {
            current = Some(row.file_index());
            found.insert(row.address(), current);
        }
    }
    found
}
