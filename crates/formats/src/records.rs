//! The reader that the binary formats with records of one length share (u64, champsim,
//! oraclegeneral, vscsi): `RecordReader`. A format implements `RecordLayout`, which turns records
//! into rows or items.
//!
//! Where a record begins is known without reading those before it. So an uncompressed file can be
//! read in segments by several threads ([`Segmented::segments`]), as can an archive, whose segments
//! begin where its members do. A reader that is asked for items ([`Projection::Items`]) makes no
//! rows. `buffered` and the functions that decode little-endian numbers are used by drmemtrace too.

use std::path::Path;

use reuselens_units::{Accesses, Bytes, Granularity};

use crate::block_requests::Unit;
use crate::delivery::{self, Delivery, ENOUGH, ObjectRequest};
use crate::segments::Cuts;
use reuselens_io::Input;
use reuselens_trace::{
    AnySegment, Block, ItemBatch, ItemProjection, Kind, Process, Projection, Segmented, Source,
    Step, TraceError, TraceSegment,
};

/// What a format makes of its records.
pub trait RecordLayout: Clone + Send + 'static {
    /// Whether records hold byte addresses (`true`) or ids that are the items.
    const HAS_ADDRESSES: bool;
    /// Whether accesses are loads or stores (`true`), or all of them are loads.
    const HAS_KINDS: bool;
    /// The most accesses of a record.
    const MOST_ACCESSES: usize;

    /// Bytes of a record.
    fn length(&self) -> usize;

    /// Where the accesses come from; see [`Source::describe`].
    fn describe(&self, path: &Path) -> String;

    /// Appends the rows of whole records, up to the first that is not valid. Returns how many
    /// records these are.
    fn rows(&mut self, records: &[u8], rows: &mut Block) -> usize;

    /// As [`Self::rows`], but appends the items of the accesses, of the kinds that count.
    fn items(&mut self, records: &[u8], projection: ItemProjection, items: &mut Vec<u64>) -> usize;

    /// What is wrong with a record at which [`Self::rows`] stops, as a sentence without its full
    /// stop.
    fn invalid(&self) -> String {
        "a record is not valid".to_owned()
    }

    /// What is wrong with an input that ends with `bytes` bytes of a record.
    fn cut_off(&self, bytes: usize) -> String {
        cut_off(bytes, self.length())
    }
}

/// A layout whose records are requests for objects that have a size.
pub trait SizedLayout: RecordLayout {
    /// The request of a valid record; `None` if it is not valid.
    fn object(&self, record: &[u8]) -> Option<ObjectRequest>;
}

/// [`SizedLayout::object`] of the layout of a reader.
type Object<L> = fn(&L, &[u8]) -> Option<ObjectRequest>;

/// Reads the records of a layout: all of them, or those of a segment of a file.
pub struct RecordReader<L> {
    delivery: Delivery,
    records: Records<L>,
    /// How the sizes of objects are read, if records have them.
    object: Option<Object<L>>,
}

/// The records that are not read yet.
struct Records<L> {
    input: Input,
    layout: L,
    /// What to make: items if there is a projection, else rows.
    projection: Option<ItemProjection>,
    /// Makes rows that have the sizes of objects.
    object: Option<Object<L>>,
    /// If the ids of objects are numbers of blocks: bytes of these.
    unit: Option<Unit>,
    /// How many there are in a segment; `None` for a segment that goes on to the end of the input.
    left: Option<u64>,
    /// Of a segment: where others can begin.
    cuts: Option<Cuts>,
}

impl<L: RecordLayout> RecordReader<L> {
    /// A reader of `input`, whose first bytes are buffered.
    pub(super) fn of(input: Input, layout: L) -> Self {
        RecordReader {
            delivery: Delivery::new(Process::default()),
            records: Records {
                input,
                layout,
                projection: None,
                object: None,
                unit: None,
                left: None,
                cuts: None,
            },
            object: None,
        }
    }

    /// As [`Self::of`], of records with the sizes of objects.
    pub(super) fn of_objects(input: Input, layout: L) -> Self
    where
        L: SizedLayout,
    {
        RecordReader {
            object: Some(L::object),
            ..RecordReader::of(input, layout)
        }
    }

    /// A reader of `input`, whose first bytes are buffered and whose records are requests for
    /// blocks of a unit: an access to the bytes of each.
    pub(super) fn of_requests(input: Input, layout: L, unit: Unit) -> Self
    where
        L: SizedLayout,
    {
        let mut reader = RecordReader::of(input, layout);
        reader.records.object = Some(L::object);
        reader.records.unit = Some(unit);
        reader
    }

    /// Whether items can be made as the projection says. Rows of ids are accesses to one item each,
    /// and loads where the format has no kinds. A request for blocks has any number of items.
    fn can_make_items(&self, projection: ItemProjection) -> bool {
        let is_of_ids = || {
            projection.granularity == Granularity::BYTE
                && (L::HAS_KINDS || projection.counts(Kind::Load))
        };
        self.records.unit.is_none() && (L::HAS_ADDRESSES || is_of_ids())
    }

    /// A reader of `left` records from record `first` on, if the input can be read there.
    fn segment(
        &self,
        projection: ItemProjection,
        cuts: &Cuts,
        first: u64,
        left: Option<u64>,
    ) -> Result<Option<Self>, TraceError> {
        let input = &self.records.input;
        let Some(input) = input.another_at(&cuts.places, cuts.byte(first))? else {
            return Ok(None);
        };
        let mut segment = RecordReader::of(input, self.records.layout.clone());
        (segment.records.projection, segment.records.left) = (Some(projection), left);
        segment.records.cuts = Some(cuts.clone());
        Ok(Some(segment))
    }
}

impl<L: RecordLayout> Source for RecordReader<L> {
    fn next(&mut self, block: &mut Block) -> Result<Step, TraceError> {
        let records = &mut self.records;
        self.delivery.next(block, |rows| records.fill(rows))
    }

    fn has_addresses(&self) -> bool {
        L::HAS_ADDRESSES || self.records.unit.is_some()
    }

    fn is_of_one_thread(&self) -> bool {
        true
    }

    fn describe(&self) -> String {
        let Records {
            layout,
            input,
            unit,
            ..
        } = &self.records;
        let what = layout.describe(input.path());
        match unit {
            Some(unit) => format!(
                "{what}, with the bytes of each; blocks have {} bytes",
                unit.bytes()
            ),
            None => what,
        }
    }

    fn progress(&self) -> Option<(u64, u64)> {
        self.records.input.progress()
    }

    fn project(&mut self, projection: Projection) -> bool {
        match projection {
            Projection::Items(projection) => {
                let can = self.can_make_items(projection);
                self.records.projection = can.then_some(projection);
                can
            }
            Projection::Sizes => {
                self.records.object = self.object.or(self.records.object);
                self.object.is_some()
            }
            Projection::Repeats => false,
        }
    }

    fn memory(&self) -> Bytes {
        Bytes(0)
    }

    fn read_ahead_within(&mut self, _most: Bytes) {}
}

impl<L: RecordLayout> Segmented for RecordReader<L> {
    /// Of a file that is not packed, or of an archive.
    fn segments(
        &mut self,
        projection: ItemProjection,
        most: usize,
        shortest: Accesses,
    ) -> Result<Vec<AnySegment>, TraceError> {
        let can = self.records.input.offset() == 0 && self.can_make_items(projection);
        let Some(places) = self.records.input.places().filter(|_| can) else {
            return Ok(Vec::new());
        };
        let cuts = Cuts::new(places, self.records.layout.length());
        cuts.segments(1..=most, shortest.get().max(1), |first, next| {
            self.segment(projection, &cuts, first, next.map(|next| next - first))
        })
    }
}

impl<L: RecordLayout> TraceSegment for RecordReader<L> {
    fn split_off(&mut self, shortest: Accesses) -> Result<Option<AnySegment>, TraceError> {
        let records = &self.records;
        let (Some(projection), Some(cuts)) = (records.projection, &records.cuts) else {
            return Ok(None);
        };
        let (offset, shortest) = (records.input.offset(), shortest.get().max(1));
        let mut left = records.left;
        let half = cuts.split_off(offset, &mut left, shortest, |first, left| {
            self.segment(projection, cuts, first, left)
        });
        self.records.left = left;
        half
    }

    fn buffers(&self) -> Bytes {
        self.records.input.memory()
    }
}

impl<L: RecordLayout> Records<L> {
    /// Fills an empty block. Returns whether there may be more.
    fn fill(&mut self, block: &mut Block) -> Result<bool, TraceError> {
        let length = self.layout.length();
        let mut made = 0;
        // Never past that many, so that blocks are the same however the bytes come.
        while made < ENOUGH {
            let room = ((ENOUGH - made) / L::MOST_ACCESSES).max(1);
            let count = self.buffered()?.min(room);
            if count == 0 {
                return Ok(false);
            }
            let records = &self.input.at_least(0)?[..count * length];
            let mut wrong = None;
            let valid = match (self.projection, self.object) {
                (None, None) => self.layout.rows(records, block),
                (None, Some(object)) => {
                    let records = records.chunks_exact(length);
                    let objects = records.map_while(|record| object(&self.layout, record));
                    let valid;
                    (valid, wrong) = add_objects(objects, self.unit, block);
                    valid
                }
                (Some(projection), _) => {
                    let valid = self
                        .layout
                        .items(records, projection, &mut block.item_batch.items);
                    count_records(&mut block.item_batch, valid);
                    valid
                }
            };
            // Of items as many records, so that a file in which no access counts is read in blocks
            // too.
            made = match self.projection {
                None => block.len(),
                Some(_) => made + valid,
            };
            self.input.consume(valid * length);
            self.left = self.left.map(|left| left - valid as u64);
            if valid < count {
                let offset = self.input.offset();
                let what = wrong.unwrap_or_else(|| self.layout.invalid());
                return Err(self.input.bad_bytes(offset, what).into());
            }
        }
        Ok(true)
    }

    /// Whole records of the segment that are buffered; 0 at its end.
    fn buffered(&mut self) -> Result<usize, TraceError> {
        let length = self.layout.length();
        buffered(&mut self.input, length, self.left, |bytes| {
            self.layout.cut_off(bytes)
        })
    }
}

/// Appends the rows of requests; with a unit, up to the first whose bytes are no addresses. Returns
/// how many requests these are, and what is wrong with that one.
fn add_objects(
    requests: impl Iterator<Item = ObjectRequest>,
    unit: Option<Unit>,
    rows: &mut Block,
) -> (usize, Option<String>) {
    let mut valid = 0;
    for request in requests {
        let placed = unit.map_or(Ok(request), |unit| unit.placed(request));
        match placed {
            Ok(request) => rows.extend(delivery::object(request)),
            Err(what) => return (valid, Some(what)),
        }
        valid += 1;
    }
    (valid, None)
}

/// Updates the counts of `batch`, whose items now include those of `records` more records.
fn count_records(batch: &mut ItemBatch, records: usize) {
    batch.references = batch.items.len() as u64;
    batch.rows += records as u64;
    batch.blocks = 1;
}

/// How many whole records of `length` bytes are buffered, of the `left` records of a segment, or of
/// all; 0 at its end.
///
/// # Errors
/// If the input ends in the middle of a record, of which `cut_off` says what is wrong, or before
/// the segment does.
pub(super) fn buffered(
    input: &mut Input,
    length: usize,
    left: Option<u64>,
    cut_off: impl FnOnce(usize) -> String,
) -> Result<usize, TraceError> {
    if left == Some(0) {
        if input.is_packed() {
            // Reading on checks that the member is complete.
            input.at_least(1)?;
        }
        return Ok(0);
    }
    let what = match (input.at_least(length)?.len(), left) {
        (0, None) => return Ok(0),
        (0, Some(_)) => "the file was longer when its reading began".to_owned(),
        (some, _) if some < length => cut_off(some),
        (all, left) => {
            let left = usize::try_from(left.unwrap_or(u64::MAX)).unwrap_or(usize::MAX);
            return Ok(left.min(all / length));
        }
    };
    Err(input.bad_bytes(input.offset(), what).into())
}

/// What is wrong with an input that ends with `bytes` bytes of a record of `length` bytes.
pub(super) fn cut_off(bytes: usize, length: usize) -> String {
    format!("the last {bytes} bytes are no whole record of {length} bytes: was it cut off?")
}

/// The little-endian 16-bit number at `at`.
#[inline(always)]
pub(super) fn word(record: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([record[at], record[at + 1]])
}

/// The little-endian 32-bit number at `at`.
#[inline(always)]
pub(super) fn number32(record: &[u8], at: usize) -> u32 {
    let bytes = record[at..].first_chunk::<4>();
    bytes.map_or(0, |&bytes| u32::from_le_bytes(bytes))
}

/// The little-endian 64-bit number at `at`.
#[inline(always)]
pub(super) fn number<const N: usize>(record: &[u8; N], at: usize) -> u64 {
    let bytes = record[at..].first_chunk::<8>();
    bytes.map_or(0, |&bytes| u64::from_le_bytes(bytes))
}
