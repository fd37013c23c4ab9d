//! The debug information of a file: read at the first question about it, or ahead of that.

use std::collections::BTreeMap;

use object::{Object, ObjectSection};
use reuselens_attribute::Variable;
use reuselens_profile::Frame;
use reuselens_workers::{Worker, spawn};

use super::source_frames::{ExactPaths, SourceFrame, source_frames};
use super::variables;
use crate::checked_file::CheckedFile;

/// The most bytes of a file that is read ahead: what is read ahead takes a few times as much memory
/// while the program runs, and not only at the end.
const MOST_AHEAD: u64 = 64 << 20;
/// How many times the bytes of its sections debug information takes once it is read: the sections,
/// unpacked, and the tables of units, lines and functions. Measured: the C library's 10 MiB and the
/// loader's take 58.
const TIMES: u64 = 5;

/// Bytes that the debug information of a file takes once it is read, about. The sections may be
/// compressed.
pub(super) fn bytes(file: &object::File<'_>) -> u64 {
    let sections = file.sections().filter(|section| {
        let name = section.name().unwrap_or_default();
        name.starts_with(".debug_") || name.starts_with(".zdebug_")
    });
    let unpacked = sections.map(|section| {
        let range = section.compressed_file_range();
        range.map_or_else(|_| section.size(), |range| range.uncompressed_size)
    });
    let sum = unpacked.fold(0_u64, u64::saturating_add);
    sum.saturating_mul(TIMES)
}

/// Whether a file is read ahead, if there is room.
pub(super) fn is_small(file: &CheckedFile) -> bool {
    let about = file.file.metadata();
    about.is_ok_and(|about| about.len() <= MOST_AHEAD)
}

/// What names the code and the variables of a file.
#[derive(Default)]
pub(super) struct DebugNames {
    ahead: Option<Worker<Contents>>,
    /// `None` within if it cannot be read.
    code: Option<Option<addr2line::Loader>>,
    /// By address.
    variables: Option<BTreeMap<u64, Variable>>,
    paths: ExactPaths,
}

/// All of it.
struct Contents {
    code: Option<addr2line::Loader>,
    variables: BTreeMap<u64, Variable>,
}

impl DebugNames {
    /// Begins to read a file on a thread of its own, so that the questions at the end of a run need
    /// not wait: unpacking the debug information of the C library takes as long as a short program
    /// runs. If the system gives no thread, it is read at the first question.
    pub fn ahead(file: &CheckedFile) -> DebugNames {
        let read = |file: CheckedFile| Contents {
            code: read_code(&file),
            variables: read_variables(&file),
        };
        let file = file.again().ok();
        DebugNames {
            ahead: file.and_then(|file| spawn("symbols", file, read).ok()),
            ..DebugNames::default()
        }
    }

    /// What names the code of the file.
    pub fn code(&mut self, file: &CheckedFile) -> Option<&addr2line::Loader> {
        self.take_ahead();
        self.code.get_or_insert_with(|| read_code(file)).as_ref()
    }

    /// The frames of an instruction that debug information knows, the innermost first.
    pub fn frames(&mut self, file: &CheckedFile, address: u64) -> Vec<Frame> {
        let code = self.code(file);
        let mut frames = code.map_or_else(Vec::new, |code| source_frames(code, address));
        self.paths.restore(file, address, &mut frames);
        let frames = frames.into_iter().map(|SourceFrame { frame, .. }| frame);
        frames.filter(|frame| *frame != Frame::default()).collect()
    }

    /// The variable at an address.
    pub fn variable(&mut self, file: &CheckedFile, address: u64) -> Option<&Variable> {
        self.take_ahead();
        let read = || read_variables(file);
        self.variables.get_or_insert_with(read).get(&address)
    }

    fn take_ahead(&mut self) {
        if let Some(worker) = self.ahead.take() {
            let Contents { code, variables } = worker.join();
            (self.code, self.variables) = (Some(code), Some(variables));
        }
    }
}

/// The variables of a file. Nobody changes the types of the system's libraries.
fn read_variables(file: &CheckedFile) -> BTreeMap<u64, Variable> {
    variables::read(&file.path(), !file.is_of_system())
}

/// Unpacks all debug information.
fn read_code(file: &CheckedFile) -> Option<addr2line::Loader> {
    addr2line::Loader::new(file.path()).ok()
}
