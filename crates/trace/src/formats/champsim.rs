//! Instructions as ChampSim's tracers write them.
//!
//! Source: ChampSim, `inc/trace_instruction.h` (`input_instr`). Records of 64 bytes, little endian: `u64`
//! address of the instruction, `u8` whether it is a branch and whether that was taken, registers written
//! (2 × `u8`) and read (4 × `u8`), addresses written (2 × `u64`) and read (4 × `u64`); 0 is no address.

use crate::formats::Confidence;
use crate::formats::feed::{ENOUGH, Feed};
use crate::formats::records::{number, whole};
use crate::stage::{STAGED, Stage};
use crate::{Block, Input, Kind, Process, Row, Source, Step, TraceError};

/// What to type after `--format`.
pub const NAME: &str = "champsim";
/// One line for `reuselens formats`.
pub const SUMMARY: &str =
    "ChampSim's instructions, 64-byte records (ending .champsim, .champsimtrace)";

const LENGTH: usize = 64;
const WRITTEN_AT: usize = 16;
const READ_AT: usize = 32;
/// Addresses of a record.
const MOST: usize = 6;
/// Records whose rows fit into a stage.
const BATCH: usize = STAGED / MOST;

/// Never: a wrong guess would give wrong numbers, so the format must be named.
pub fn detect(_head: &[u8]) -> Confidence {
    Confidence::No
}

/// Reads instructions: what one reads becomes loads, then what it writes stores, each of one byte, since
/// lengths are not in the records. Their `pc` is the instruction's address plus one.
pub struct Reader {
    input: Input,
    feed: Feed,
    stage: Box<Stage>,
}

impl Reader {
    /// A reader at the start of `input`.
    ///
    /// # Errors
    /// [`TraceError::Empty`] or [`TraceError::Io`] if the first bytes cannot be had.
    pub fn new(mut input: Input) -> Result<Reader, TraceError> {
        input.head()?;
        Ok(Reader {
            input,
            feed: Feed::new(Process::default()),
            stage: Stage::new(),
        })
    }
}

impl Source for Reader {
    fn next(&mut self, block: &mut Block) -> Result<Step, TraceError> {
        let (input, stage) = (&mut self.input, &mut *self.stage);
        self.feed.next(block, |rows| fill(input, stage, rows))
    }

    fn has_addresses(&self) -> bool {
        true
    }

    fn describe(&self) -> String {
        format!(
            "data accesses of the instructions in {}, of one byte each as ChampSim keeps no sizes",
            self.input.path().display()
        )
    }

    fn progress(&self) -> Option<(u64, u64)> {
        self.input.progress()
    }
}

fn fill(input: &mut Input, stage: &mut Stage, rows: &mut Block) -> Result<bool, TraceError> {
    while rows.len() < ENOUGH {
        // Never past that many, so that blocks are the same however the bytes come.
        let most = ((ENOUGH - rows.len()) / MOST).clamp(1, BATCH);
        let count = whole(input, LENGTH)?.min(most);
        if count == 0 {
            return Ok(false);
        }
        let (records, _) = input.at_least(0)?.as_chunks::<LENGTH>();
        let records = &records[..count];
        let right = records.iter().position(is_wrong).unwrap_or(count);
        let staged = unfold(&records[..right], stage);
        stage.flush(staged, rows);
        input.consume(right * LENGTH);
        if right < count {
            let what =
                "a record is none of ChampSim's: what says whether it is a branch is not 0 or 1";
            return Err(input.bad_bytes(input.offset(), what));
        }
    }
    Ok(true)
}

/// Puts the accesses of some records on the stage; how many there are.
fn unfold(records: &[[u8; LENGTH]], stage: &mut Stage) -> usize {
    let mut staged = 0;
    for record in records {
        let pc = number(record, 0).wrapping_add(1);
        let mut put = |kind, at| {
            let addr = number(record, at);
            let row = Row {
                kind,
                size: 1,
                pc,
                addr,
            };
            stage.put(staged, row);
            staged += usize::from(addr != 0);
        };
        for slot in 0..4 {
            put(Kind::Load, READ_AT + 8 * slot);
        }
        for slot in 0..2 {
            put(Kind::Store, WRITTEN_AT + 8 * slot);
        }
    }
    staged
}

/// Whether one of the two flags is more than a flag.
fn is_wrong(record: &[u8; LENGTH]) -> bool {
    (record[8] | record[9]) > 1
}
