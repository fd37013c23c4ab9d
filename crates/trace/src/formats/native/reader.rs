//! Reads a native file, chunk by chunk.

use crate::formats::native::Header;
use crate::formats::native::bytes::Damage;
use crate::formats::native::chunk::{Chunks, Content};
use crate::formats::native::decode::{self, Decoder, Piece};
use crate::formats::native::encode::Totals;
use crate::{Block, Input, Source, Step, TraceError};

/// Reads a native trace file. Memory: one chunk and one block.
pub struct Reader {
    input: Input,
    header: Header,
    chunks: Chunks,
    plain: Vec<u8>,
    decoder: Decoder,
    rows: Block,
    totals: Totals,
    /// Where the chunk in `plain` begins in the file.
    start: u64,
    over: bool,
}

impl Reader {
    /// Reads the file's head.
    ///
    /// # Errors
    /// [`TraceError::UnknownFormat`] if it is no native file or one of another version,
    /// [`TraceError::Corrupt`] if the head is damaged, [`TraceError::Empty`], [`TraceError::Io`].
    pub fn new(mut input: Input) -> Result<Reader, TraceError> {
        input.head()?;
        let header = Header::read(&mut input)?;
        Ok(Reader {
            chunks: Chunks::new(&input)?,
            start: input.offset(),
            input,
            header,
            plain: Vec::new(),
            decoder: Decoder::new(),
            rows: Block::new(),
            totals: Totals::default(),
            over: false,
        })
    }

    /// What the file says about itself.
    pub fn header(&self) -> &Header {
        &self.header
    }

    fn step(&mut self, block: &mut Block) -> Result<Step, TraceError> {
        loop {
            let piece = self.decoder.next(&self.plain, &mut self.rows);
            match piece.map_err(|damage| self.damaged(damage))? {
                Piece::Block => {
                    self.totals.blocks += 1;
                    self.totals.rows += self.rows.len() as u64;
                    std::mem::swap(&mut self.rows, block);
                    return Ok(Step::Block);
                }
                Piece::Event(event) => {
                    self.totals.events += 1;
                    return Ok(Step::Event(event));
                }
                Piece::End => {
                    if !self.next_chunk()? {
                        return Ok(Step::End);
                    }
                }
            }
        }
    }

    /// Goes to the next chunk; `false` after the ending.
    fn next_chunk(&mut self) -> Result<bool, TraceError> {
        self.start = self.input.offset();
        match self.chunks.next(&mut self.input, &mut self.plain)? {
            Content::Pieces => {
                self.totals.chunks += 1;
                let begun = self.decoder.begin(&self.plain);
                begun.map_err(|damage| self.damaged(damage))?;
                Ok(true)
            }
            Content::Ending => {
                self.check_ending()?;
                Ok(false)
            }
        }
    }

    fn check_ending(&mut self) -> Result<(), TraceError> {
        let totals = decode::totals(&self.plain).map_err(|damage| self.damaged(damage))?;
        if totals != self.totals {
            return Err(self.damaged(Damage("the totals in the ending are not those of the file")));
        }
        if !self.input.at_least(1)?.is_empty() {
            let what = "there are bytes after the end of the trace: was another file appended?";
            return Err(self.input.bad_bytes(self.input.offset(), what));
        }
        Ok(())
    }

    fn damaged(&self, damage: Damage) -> TraceError {
        self.input.bad_bytes(self.start, damage.0)
    }
}

impl Source for Reader {
    fn next(&mut self, block: &mut Block) -> Result<Step, TraceError> {
        if self.over {
            return Ok(Step::End);
        }
        let step = self.step(block);
        self.over = matches!(step, Err(_) | Ok(Step::End));
        step
    }

    fn has_addresses(&self) -> bool {
        self.header.has_addresses
    }

    fn describe(&self) -> String {
        self.header.description.clone()
    }

    fn progress(&self) -> Option<(u64, u64)> {
        self.input.progress()
    }
}
