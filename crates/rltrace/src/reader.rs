//! Reads a native file, chunk by chunk: a [`Source`].
//!
//! [`Reader`] finds the chunks (all, those of a `part`, or those of a `segment`), lets `decoders`
//! decode them, and delivers blocks and events in the order of the file. At the end it checks the
//! ending against what was delivered (`ending`).
//!
//! *Invariant:* what is delivered does not depend on the number of threads. After an error, or the
//! end, nothing more is delivered.

mod ending;
mod segment;

use std::ops::RangeInclusive;

use reuselens_units::{Accesses, Bytes};

use crate::decoders::{BlockForm, Decoded, Decoders, Taken};
use crate::encode::Totals;
use crate::index::Index;
use crate::part::FilePart;
use crate::reader::segment::{NextChunk, SegmentChunks};
use crate::{Header, find};
use reuselens_io::Input;
use reuselens_io::chunk::{Chunks, Content, Stored};
use reuselens_io::varint::Damage;
use reuselens_trace::{
    AnySegment, Block, Event, ItemProjection, Projection, Segmented, Selection, Source, Step,
    TraceError,
};

/// The most threads that decode unless more are asked for: four deliver faster than any analysis
/// takes.
const MAX_THREADS: usize = 4;
/// Bytes of decoded blocks that are held ahead unless fewer are asked for: the rows of four chunks
/// of a writer are less, so no decoder waits for another.
const MOST_AHEAD: Bytes = Bytes(128 << 20);
/// Bytes of items for which item accesses are delivered. Smaller items are straddled too often;
/// larger ones would swallow ranges that are too long to be any.
const ITEM_BYTES: RangeInclusive<u64> = 16..=1 << 32;

/// Reads a native trace file.
///
/// Chunks of a file are decoded by some threads, ahead of the reader; what is delivered does not
/// depend on how many there are. Memory: with one thread one chunk before decoding and one block;
/// with more, one chunk before decoding for each, and decoded blocks of up to 128 MiB, or of as
/// many bytes as [`Source::read_ahead_within`] says.
pub struct Reader {
    input: Input,
    header: Header,
    threads: usize,
    chunks: Chunks,
    decoders: Option<Decoders>,
    totals: Totals,
    /// The index's chunk, once it was passed.
    index: Option<Stored>,
    /// The part of the file that is read, if not all.
    part: Option<FilePart>,
    /// The chunks that are read, if this reads a segment beside others.
    segment: Option<SegmentChunks>,
    /// The form in which blocks are delivered.
    form: BlockForm,
    /// Bytes of decoded blocks that may be held ahead.
    ahead: Bytes,
    /// Where the chunk begins that the last piece is from.
    start: u64,
    /// The ending, or why there is none; found ahead of what is delivered.
    ending: Option<Result<Stored, TraceError>>,
    /// Whether the ending was reached, and the file is as it says.
    checked: bool,
    over: bool,
}

impl Reader {
    /// Reads the file's head. Decodes a file with as many threads as there are processors, at most
    /// 4; a pipe without any, since nothing may wait for bytes that are not needed yet.
    ///
    /// # Errors
    /// [`TraceError::UnknownFormat`] if it is no native file or one of another version,
    /// `FileError::Corrupt` if the head is damaged, `FileError::Empty`, `FileError::Io`.
    pub fn new(input: Input) -> Result<Reader, TraceError> {
        let threads = match input.progress() {
            Some(_) => reuselens_workers::processors().get(),
            None => 1,
        };
        Reader::with_threads(input, threads.min(MAX_THREADS))
    }

    /// [`Reader::new`] with that many threads that decode; with one, or none, it is the caller's.
    ///
    /// # Errors
    /// Those of [`Reader::new`].
    pub fn with_threads(mut input: Input, threads: usize) -> Result<Reader, TraceError> {
        input.head()?;
        let header = Header::read(&mut input)?;
        Ok(Reader {
            start: input.offset(),
            input,
            header,
            threads,
            chunks: Chunks::from(0),
            decoders: None,
            totals: Totals::default(),
            index: None,
            part: None,
            segment: None,
            form: BlockForm::Rows,
            ahead: MOST_AHEAD,
            ending: None,
            checked: false,
            over: false,
        })
    }

    /// Delivers only what is selected, and all events. To be called before anything was delivered.
    ///
    /// Of a file with an index only the chunks that hold something of it are read and checked;
    /// without one (one that was cut off or damaged there, a pipe) all of them are.
    ///
    /// # Errors
    /// `FileError::Io` if the file cannot be read.
    pub fn select(&mut self, selection: Selection) -> Result<(), TraceError> {
        if selection.is_all() {
            return Ok(());
        }
        // A part is cut row by row.
        self.form = BlockForm::Rows;
        let index = self.take_index()?.ok();
        self.part = Some(FilePart::new(selection, index));
        Ok(())
    }

    /// Takes the file's index, or why there is none; the reader is at its beginning then.
    ///
    /// # Errors
    /// `FileError::Io` if the file cannot be read.
    pub fn take_index(&mut self) -> Result<Result<Index, String>, TraceError> {
        let begin = self.input.offset();
        let index = find::index(&mut self.input)?;
        if self.input.reach().is_some() {
            self.input.jump(begin)?;
        }
        Ok(index)
    }

    /// Chunks of rows read so far.
    pub fn chunks_read(&self) -> u64 {
        self.totals.chunks
    }

    /// What the file says about itself.
    pub fn header(&self) -> &Header {
        &self.header
    }

    fn step(&mut self, block: &mut Block) -> Result<Step, TraceError> {
        if self.checked {
            return Ok(Step::End);
        }
        let mut decoders = match self.decoders.take() {
            Some(decoders) => decoders,
            None => self.decoders()?,
        };
        let step = self.step_with(&mut decoders, block);
        self.decoders = Some(decoders);
        step
    }

    fn decoders(&self) -> Result<Decoders, TraceError> {
        Decoders::new(self.threads, self.form, self.ahead).map_err(|error| self.failed(error))
    }

    /// Delivers the next piece, and keeps the decoders busy.
    fn step_with(
        &mut self,
        decoders: &mut Decoders,
        block: &mut Block,
    ) -> Result<Step, TraceError> {
        loop {
            // Chunks are found and begun ahead of what is delivered.
            while self.ending.is_none() && decoders.has_room() {
                match self.next_chunk() {
                    Ok(Some(chunk)) if chunk.content == Content::Pieces => decoders.begin(chunk),
                    Ok(None) => break,
                    Ok(Some(ending)) => self.ending = Some(Ok(ending)),
                    Err(error) => self.ending = Some(Err(error)),
                }
            }
            if let Some(event) = self.event_before() {
                return Ok(Step::Event(event));
            }
            if decoders.is_idle() {
                let Some(ending) = self.ending.take() else {
                    return self.check_segment().map(|()| Step::End);
                };
                self.check_ending(&ending?)?;
                self.checked = true;
                let note = self.check_index()?;
                return Ok(note.map_or(Step::End, |note| Step::Event(Event::Note(note))));
            }
            self.start = decoders.start().unwrap_or(self.start);
            match decoders.next() {
                Taken::Piece(Decoded::Block(mut rows)) => {
                    self.passed(&rows);
                    if rows.item_batch.elements_straddle {
                        decoders.need_bases();
                    }
                    let wanted = self.part.as_mut().is_none_or(|part| part.cut(&mut rows));
                    if !wanted {
                        decoders.give_back(rows);
                        continue;
                    }
                    decoders.give_back(std::mem::replace(block, rows));
                    return Ok(Step::Block);
                }
                Taken::Piece(Decoded::Event(event)) => {
                    self.check_event(&event)?;
                    self.totals.events += 1;
                    return Ok(Step::Event(event));
                }
                Taken::End => {
                    self.totals.chunks += 1;
                    if let Some(part) = &mut self.part {
                        part.chunk_is_over();
                    }
                }
                Taken::Damaged(start, damage) => return Err(self.damaged(start, damage)),
            }
        }
    }

    /// The next event of chunks that are not read, which come before those that are.
    fn event_before(&mut self) -> Option<Event> {
        let of_part = self.part.as_mut().and_then(FilePart::event_before);
        of_part.or_else(|| self.segment.as_mut().and_then(SegmentChunks::event_before))
    }

    /// Counts a block that was delivered, or cut away.
    fn passed(&mut self, block: &Block) {
        let batch = &block.item_batch;
        let (blocks, rows) = if batch.is_used() {
            (batch.blocks, batch.rows)
        } else {
            (1, block.len() as u64 + block.repeats.rows)
        };
        // The totals of a segment begin with what an index says, which may be any numbers.
        self.totals.blocks = self.totals.blocks.wrapping_add(blocks);
        self.totals.rows = self.totals.rows.wrapping_add(rows);
    }

    /// The next chunk to read; `None` if a part is over.
    fn next_chunk(&mut self) -> Result<Option<Stored>, TraceError> {
        let mut indexed = false;
        if let Some(part) = &mut self.part {
            if !part.find_next(&mut self.input, &mut self.chunks)? {
                return Ok(None);
            }
            indexed = part.is_indexed();
        }
        if let Some(segment) = &mut self.segment {
            match segment.find_next() {
                NextChunk::Over => return Ok(None),
                NextChunk::Chunk => indexed = true,
                NextChunk::Any => {}
            }
        }
        let chunk = self.chunks.next(&mut self.input)?;
        if indexed && chunk.content != Content::Pieces {
            let what = Damage("the index lists a chunk that is none");
            return Err(self.damaged(chunk.start, what));
        }
        if chunk.content != Content::Index {
            return Ok(Some(chunk));
        }
        let next = self.chunks.next(&mut self.input)?;
        if next.content != Content::Ending {
            return Err(self.damaged(next.start, Damage("there is no ending behind the index")));
        }
        self.index = Some(chunk);
        Ok(Some(next))
    }

    /// Whether blocks can be delivered as item accesses.
    fn can_deliver_items(&self, projection: ItemProjection) -> bool {
        self.decoders.is_none()
            && self.part.is_none()
            && self.header.has_addresses
            && ITEM_BYTES.contains(&projection.granularity.bytes())
    }

    /// The error for a chunk that begins at `start`.
    fn damaged(&self, start: u64, damage: Damage) -> TraceError {
        self.input.bad_bytes(start, damage.0).into()
    }

    /// The error for what the system refuses.
    fn failed(&self, error: std::io::Error) -> TraceError {
        TraceError::io("decode", self.input.path(), error)
    }
}

impl Source for Reader {
    fn next(&mut self, block: &mut Block) -> Result<Step, TraceError> {
        if self.over {
            return Ok(Step::End);
        }
        let step = self.step(block);
        if matches!(step, Err(_) | Ok(Step::End)) {
            self.over = true;
            self.decoders = None;
        }
        step
    }

    fn has_addresses(&self) -> bool {
        self.header.has_addresses
    }

    fn describe(&self) -> String {
        self.header.description.clone()
    }

    fn project(&mut self, projection: Projection) -> bool {
        let form = match projection {
            Projection::Items(projection) if self.can_deliver_items(projection) => {
                BlockForm::ItemBatch(projection)
            }
            // A part of a file is cut row by row.
            Projection::Repeats if self.decoders.is_none() && self.part.is_none() => {
                BlockForm::Repeats
            }
            _ => return false,
        };
        self.form = form;
        true
    }

    /// Where the chunk begins that the last piece is from: not how far the input is read, which
    /// depends on the number of threads.
    fn progress(&self) -> Option<(u64, u64)> {
        let read = self.input.progress();
        if self.over || self.input.is_packed() {
            return read;
        }
        read.map(|(_, all)| (self.start.min(all), all))
    }

    fn is_of_one_thread(&self) -> bool {
        false
    }

    /// What may be read ahead, also where one thread decodes: the number of threads is that of the
    /// processors, on which no result may depend.
    fn memory(&self) -> Bytes {
        self.ahead
    }

    fn read_ahead_within(&mut self, most: Bytes) {
        self.ahead = most.min(MOST_AHEAD);
    }
}

impl Segmented for Reader {
    /// Segments of a file with an index; none of others.
    fn segments(
        &mut self,
        projection: ItemProjection,
        most: usize,
        shortest: Accesses,
    ) -> Result<Vec<AnySegment>, TraceError> {
        if self.can_deliver_items(projection) {
            self.in_segments(projection, most, shortest)
        } else {
            Ok(Vec::new())
        }
    }
}

#[cfg(test)]
mod tests;
