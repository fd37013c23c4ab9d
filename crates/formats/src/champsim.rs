//! Instructions as ChampSim's tracers write them.
//!
//! Used by `lib.rs`, which lists it in `FORMATS`. The user or the file's ending (`extension`)
//! chooses it, never the content. `records::RecordReader` reads the records.
//!
//! Source: ChampSim, `inc/trace_instruction.h` (`input_instr`). Records of 64 bytes, little endian:
//! `u64` address of the instruction, `u8` whether it is a branch and whether that was taken,
//! registers written (2 × `u8`) and read (4 × `u8`), addresses written (2 × `u64`) and read (4 ×
//! `u64`); 0 is no address.

use std::path::Path;

use crate::records::{RecordLayout, RecordReader, number};
use crate::row_stage::{RowStage, STAGED};
use reuselens_io::Input;
use reuselens_trace::Confidence;
use reuselens_trace::{Block, ItemProjection, Kind, Row, TraceError};

/// What to type after `--format`.
pub const NAME: &str = "champsim";
/// One line for `reuselens formats`.
pub const SUMMARY: &str =
    "ChampSim's instructions, 64-byte records (ending .champsim, .champsimtrace)";

const LENGTH: usize = 64;
const WRITTEN_AT: usize = 16;
const READ_AT: usize = 32;
/// Addresses of a record.
const WRITES: usize = 2;
const READS: usize = 4;
/// Records whose rows fit into a stage.
const BATCH: usize = STAGED / (READS + WRITES);

/// Never: a wrong guess would give wrong numbers, so the format must be named.
pub fn detect(_head: &[u8]) -> Confidence {
    Confidence::No
}

/// Reads instructions: what one reads becomes loads, then what it writes stores, each of one byte,
/// since lengths are not in the records. Their `pc` is the instruction's address plus one.
pub type Reader = RecordReader<Instructions>;

/// A record is an instruction.
#[derive(Clone)]
pub struct Instructions {
    stage: Box<RowStage>,
}

impl Reader {
    /// A reader at the start of `input`.
    ///
    /// # Errors
    /// `FileError::Empty` or `FileError::Io` if the first bytes cannot be had.
    pub fn new(mut input: Input) -> Result<Reader, TraceError> {
        input.head()?;
        let stage = RowStage::new();
        Ok(RecordReader::of(input, Instructions { stage }))
    }
}

impl RecordLayout for Instructions {
    const HAS_ADDRESSES: bool = true;
    const HAS_KINDS: bool = true;
    const MOST_ACCESSES: usize = READS + WRITES;

    fn length(&self) -> usize {
        LENGTH
    }

    fn describe(&self, path: &Path) -> String {
        format!(
            "data accesses of the instructions in {}, of one byte each as ChampSim keeps no sizes",
            path.display()
        )
    }

    fn rows(&mut self, records: &[u8], rows: &mut Block) -> usize {
        let valid = valid(records);
        for records in valid.chunks(BATCH) {
            let staged = unfold(records, &mut self.stage);
            self.stage.flush(staged, rows);
        }
        valid.len()
    }

    fn items(&mut self, records: &[u8], projection: ItemProjection, items: &mut Vec<u64>) -> usize {
        let valid = valid(records);
        let shift = projection.granularity.shift();
        let kinds = [
            (Kind::Load, READ_AT, READS),
            (Kind::Store, WRITTEN_AT, WRITES),
        ];
        let counted =
            kinds.map(|(kind, at, slots)| (at, if projection.counts(kind) { slots } else { 0 }));
        let mut len = items.len();
        items.resize(len + valid.len() * Self::MOST_ACCESSES, 0);
        for record in valid {
            for (at, slots) in counted {
                for slot in 0..slots {
                    let addr = number(record, at + 8 * slot);
                    // Written in any case, and kept if it is an address.
                    items[len] = addr >> shift;
                    len += usize::from(addr != 0);
                }
            }
        }
        items.truncate(len);
        valid.len()
    }

    fn invalid(&self) -> String {
        "a record is none of ChampSim's: what says whether it is a branch is not 0 or 1".to_owned()
    }
}

/// The records before the first that is none of ChampSim's.
fn valid(records: &[u8]) -> &[[u8; LENGTH]] {
    let (records, _) = records.as_chunks::<LENGTH>();
    let invalid = records.iter().position(is_invalid);
    &records[..invalid.unwrap_or(records.len())]
}

/// Puts the accesses of some records on the stage; how many there are.
fn unfold(records: &[[u8; LENGTH]], stage: &mut RowStage) -> usize {
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
        for slot in 0..READS {
            put(Kind::Load, READ_AT + 8 * slot);
        }
        for slot in 0..WRITES {
            put(Kind::Store, WRITTEN_AT + 8 * slot);
        }
    }
    staged
}

/// Whether one of the two flags is more than a flag.
fn is_invalid(record: &[u8; LENGTH]) -> bool {
    (record[8] | record[9]) > 1
}
