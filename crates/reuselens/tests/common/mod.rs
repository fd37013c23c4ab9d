//! A trace made by hand: the rows of threads in turn, and their ends; and how it is analysed.

use std::num::NonZeroUsize;

use reuselens::profile::Sharing;
use reuselens::trace::{
    Block, Event, Kind, Note, ProcessId, Projection, Row, Source, Step, ThreadId, TraceError,
};
use reuselens::units::{Bytes, Granularity};
use reuselens::{AnalysisOptions, analyze};

/// Process, thread.
pub type Who = (u16, u32);

/// A trace made by hand.
#[derive(Clone, Default)]
pub struct Made {
    pub steps: Vec<(Who, What)>,
    pub at: usize,
}

#[derive(Clone)]
pub enum What {
    /// Loads: item, instruction.
    Loads(Vec<(u64, u64)>),
    /// Accesses: kind, item, instruction.
    #[allow(dead_code, reason = "some of the tests only load")]
    Accesses(Vec<(Kind, u64, u64)>),
    /// Rows as they are.
    #[allow(dead_code, reason = "most of the tests need only items")]
    Rows(Vec<Row>),
    /// A block as it is.
    #[allow(dead_code, reason = "most of the tests need no operands")]
    Block(Block),
    /// The thread ends.
    #[allow(dead_code, reason = "threads end in some of the tests only")]
    End,
    /// A note of the trace.
    #[allow(dead_code, reason = "traces say nothing in most of the tests")]
    Note(Note),
}

impl Made {
    /// One thread, in blocks of this length.
    #[allow(dead_code, reason = "some of the tests have several threads")]
    pub fn one(loads: &[(u64, u64)], length: usize) -> Made {
        let blocks = loads.chunks(length);
        let steps = blocks.map(|block| ((0, 0), What::Loads(block.to_vec())));
        Made {
            steps: steps.collect(),
            at: 0,
        }
    }
}

impl Source for Made {
    fn next(&mut self, block: &mut Block) -> Result<Step, TraceError> {
        let Some(((process, thread), what)) = self.steps.get(self.at) else {
            return Ok(Step::End);
        };
        self.at += 1;
        block.clear();
        (block.process, block.thread) = (ProcessId(*process), ThreadId(*thread));
        let push = |block: &mut Block, kind, item, pc| {
            block.push(Row {
                kind,
                size: 8,
                pc,
                addr: 0x10_0000 + item * 64,
            });
        };
        match what {
            What::Loads(loads) => loads
                .iter()
                .for_each(|&(item, pc)| push(block, Kind::Load, item, pc)),
            What::Accesses(all) => all
                .iter()
                .for_each(|&(kind, item, pc)| push(block, kind, item, pc)),
            What::Rows(rows) => rows.iter().for_each(|row| block.push(*row)),
            What::Block(whole) => block.clone_from(whole),
            What::Note(note) => return Ok(Step::Event(Event::Note(note.clone()))),
            What::End => return Ok(Step::Event(Event::ThreadEnded(ThreadId(*thread)))),
        }
        Ok(Step::Block)
    }

    fn has_addresses(&self) -> bool {
        true
    }

    fn describe(&self) -> String {
        "rows made by hand".to_owned()
    }

    fn progress(&self) -> Option<(u64, u64)> {
        Some((self.at as u64, self.steps.len() as u64))
    }

    fn is_of_one_thread(&self) -> bool {
        false
    }

    fn memory(&self) -> Bytes {
        Bytes(0)
    }

    fn read_ahead_within(&mut self, _most: Bytes) {}

    fn project(&mut self, _projection: Projection) -> bool {
        false
    }
}

/// Cache lines, with this sharing and on so many threads.
#[allow(dead_code, reason = "some of the tests have options of their own")]
pub fn options(sharing: Sharing, threads: usize) -> AnalysisOptions {
    AnalysisOptions {
        granularity: Some(Granularity::LINE_64),
        sharing,
        threads: NonZeroUsize::new(threads),
        ..AnalysisOptions::default()
    }
}

/// Why an analysis with changed options is refused.
#[allow(dead_code, reason = "some of the tests refuse nothing")]
pub fn refusal(sharing: Sharing, change: impl Fn(&mut AnalysisOptions)) -> String {
    let mut asked = options(sharing, 2);
    change(&mut asked);
    let made = analyze(&mut Made::default(), Vec::new(), &asked, &mut |_| {});
    made.unwrap_err().to_string()
}
