//! Segments of a trace of one thread, each of which can be read without the entries before it.
//!
//! Used by `reader`, when the analysis has more than one worker.
//!
//! An entry has 12 bytes, so one begins at each multiple of 12. To read an access, a segment must
//! know the thread and the instruction. `raw2trace` writes a file for each thread and names the
//! thread once, before the first access. The instruction is only the row's `pc`, which callers that
//! read segments do not use.

use reuselens_units::{Accesses, Bytes};

use super::entry::{self, Class, Entry, LENGTH};
use super::reader::DrmemtraceReader;
use super::threads::RunningThreads;
use crate::drmemtrace::first_process;
use crate::segments::{Cuts, FEWEST_OF_ROWS};
use reuselens_io::Input;
use reuselens_trace::{AnySegment, TraceError, TraceSegment};

/// Entries for each access, about: that of its instruction, now and then an encoding, and those of
/// instructions without accesses.
const PER_ACCESS: u64 = 3;

/// Which entries a segment has.
pub(super) struct Segment {
    /// How many are not read yet; `None` for the segment that goes on to the end of the input.
    pub(super) left: Option<u64>,
    /// Where others can begin.
    cuts: Cuts,
    /// Who runs in all segments.
    threads: RunningThreads,
}

/// The segments of all of `input`; none if there would be fewer than [`FEWEST_OF_ROWS`], nothing of
/// it can be read beside it, or who runs is not named at its beginning.
pub(super) fn segments(
    input: &mut Input,
    most: usize,
    shortest: Accesses,
) -> Result<Vec<AnySegment>, TraceError> {
    let can = input.offset() == 0 && most >= FEWEST_OF_ROWS;
    let places = can.then(|| input.places()).flatten();
    let (Some(places), Some(threads)) = (places, only_thread(input.head()?)) else {
        return Ok(Vec::new());
    };
    let cuts = Cuts::new(places, LENGTH);
    let counts = FEWEST_OF_ROWS..=most;
    cuts.segments(counts, shortest_entries(shortest), |first, next| {
        let left = next.map(|next| next - first);
        reader(input, &cuts, &threads, first, left)
    })
}

/// A reader of the `left` entries of a segment from entry `first` on.
fn reader(
    input: &Input,
    cuts: &Cuts,
    threads: &RunningThreads,
    first: u64,
    left: Option<u64>,
) -> Result<Option<DrmemtraceReader>, TraceError> {
    let input = input.another_at(&cuts.places, cuts.byte(first))?;
    let segment = Segment {
        left,
        cuts: cuts.clone(),
        threads: threads.clone(),
    };
    Ok(input.map(|input| DrmemtraceReader::of(input, threads.clone(), Some(segment))))
}

/// Who runs at the first access or instruction of a trace that begins with `head`, if there is one
/// and that was named.
fn only_thread(head: &[u8]) -> Option<RunningThreads> {
    let mut threads = RunningThreads::new(first_process(head));
    let mut named = false;
    let (entries, _) = head.as_chunks::<LENGTH>();
    for entry in entries.iter().map(Entry::of) {
        match entry.kind {
            entry::THREAD => {
                threads.runs(entry.addr);
                named = true;
            }
            entry::PID => threads.belongs(entry.addr),
            _ if entry.class() == Class::Skipped => {}
            entry::THREAD_EXIT => return None,
            _ => return named.then_some(threads),
        }
    }
    None
}

/// Roughly the entries of a segment of at least `shortest` accesses.
fn shortest_entries(shortest: Accesses) -> u64 {
    shortest.get().max(1).saturating_mul(PER_ACCESS)
}

impl TraceSegment for DrmemtraceReader {
    fn split_off(&mut self, shortest: Accesses) -> Result<Option<AnySegment>, TraceError> {
        let Some(segment) = &mut self.segment else {
            return Ok(None);
        };
        let (offset, shortest) = (self.input.offset(), shortest_entries(shortest));
        let (cuts, threads) = (&segment.cuts, &segment.threads);
        cuts.split_off(offset, &mut segment.left, shortest, |first, left| {
            reader(&self.input, cuts, threads, first, left)
        })
    }

    fn buffers(&self) -> Bytes {
        self.input.memory()
    }
}
