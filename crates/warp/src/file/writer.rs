//! [`WarpWriter`]: writes a stream file, chunk by chunk. The format is described in the module
//! `file`. It takes batches, or [`Records`] that were encoded on other threads.

use std::io::{Error, ErrorKind, Write};
use std::path::{Path, PathBuf};

use crate::file::MAGIC;
use crate::file::encode;
use crate::file::records::Records;
use crate::launch::{MAX_ARRAYS, MAX_SITES};
use crate::{Collector, KernelSite, Launch, RecordPiece, WarpBatch, WarpSink};
use reuselens_io::chunk::{self, Content};
use reuselens_io::varint::put;
use reuselens_trace::TraceError;

/// The fastest level of zstd: the bytes are few already.
const LEVEL: i32 = 1;
/// A chunk is written when it has this many bytes before compression …
const ENOUGH_BYTES: usize = 1 << 20;
/// … or this many records, which bounds what is lost if the file is cut off.
const ENOUGH_RECORDS: u64 = 1 << 20;
/// The most records of one batch.
pub(super) const MAX_RECORDS: usize = 1 << 20;
/// The most bytes of a launch's texts.
const MAX_LAUNCH: usize = 64 << 20;
const MAX_DESCRIPTION: usize = 16 << 10;
pub(super) const VERSION: u16 = 4;
/// The oldest version that is read: it has no phases.
pub(super) const OLDEST_VERSION: u16 = 2;
pub(super) const FIXED: usize = 16;

/// Writes a stream of warp instructions to `W`, in whole chunks of about 1 MiB before compression.
///
/// Without [`WarpWriter::finish`] the file lacks its ending: readers read its complete chunks and
/// then report that it is cut off. Memory: some MiB.
pub struct WarpWriter<W: Write> {
    out: W,
    path: PathBuf,
    packer: zstd::bulk::Compressor<'static>,
    /// The records of a batch, while they are encoded.
    records: Records,
    plain: Vec<u8>,
    stored: Vec<u8>,
    records_waiting: u64,
    /// How many blocks, warps in a block, and sites the launch has; the largest possible number of
    /// sites if the launch has no list of them.
    bounds: Option<(u64, u64, usize)>,
    totals: Totals,
    broken: bool,
}

/// What is in a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Totals {
    pub(super) chunks: u64,
    pub(super) launches: u64,
    pub(super) records: u64,
    pub(super) accesses: u64,
}

impl Totals {
    pub(super) fn numbers(self) -> [u64; 4] {
        [self.chunks, self.launches, self.records, self.accesses]
    }
}

impl<W: Write> WarpWriter<W> {
    /// Begins a file: writes its head. `path` is used in messages only; `description` is a text
    /// about where the records come from, and is cut after 16 KiB.
    ///
    /// # Errors
    /// `FileError::Io` if `out` refuses.
    pub fn new(mut out: W, path: &Path, description: &str) -> Result<WarpWriter<W>, TraceError> {
        let failed = |error| TraceError::io("write", path, error);
        out.write_all(&head(description)).map_err(failed)?;
        Ok(WarpWriter {
            out,
            path: path.to_owned(),
            packer: zstd::bulk::Compressor::new(LEVEL).map_err(failed)?,
            records: Records::new(),
            plain: Vec::new(),
            stored: Vec::new(),
            records_waiting: 0,
            bounds: None,
            totals: Totals::default(),
            broken: false,
        })
    }

    /// Writes the buffered records as a chunk, however small, so that a crash does not lose them.
    ///
    /// # Errors
    /// `FileError::Io` if `out` refuses. The file then ends there: later calls fail too.
    pub fn flush(&mut self) -> Result<(), TraceError> {
        if !self.plain.is_empty() {
            self.chunk(Content::Pieces)?;
            self.plain.clear();
            self.records_waiting = 0;
        }
        let flushed = self.out.flush();
        flushed.map_err(|error| TraceError::io("write", &self.path, error))
    }

    /// Writes the buffered records and the ending, and returns `out`.
    ///
    /// # Errors
    /// `FileError::Io` if `out` refuses.
    pub fn finish(mut self) -> Result<W, TraceError> {
        self.flush()?;
        for number in self.totals.numbers() {
            put(&mut self.plain, number);
        }
        self.chunk(Content::Ending)?;
        self.out
            .flush()
            .map_err(|error| TraceError::io("write", &self.path, error))?;
        Ok(self.out)
    }

    /// Records added so far.
    pub fn records(&self) -> u64 {
        self.totals.records
    }

    fn chunk(&mut self, content: Content) -> Result<(), TraceError> {
        let written = self.pack(content);
        self.broken |= written.is_err();
        written.map_err(|error| TraceError::io("write", &self.path, error))?;
        self.totals.chunks += 1;
        Ok(())
    }

    fn pack(&mut self, content: Content) -> std::io::Result<()> {
        if self.broken {
            return Err(Error::other("an earlier write failed: the file ends there"));
        }
        let plain = u32::try_from(self.plain.len()).ok();
        let plain = plain.filter(|&length| length as usize <= chunk::MAX_PLAIN);
        let plain = plain.ok_or_else(|| Error::other("a chunk is larger than 256 MiB"))?;
        self.stored.clear();
        let bound = zstd::zstd_safe::compress_bound(self.plain.len());
        self.stored.reserve(bound);
        self.packer
            .compress_to_buffer(&self.plain, &mut self.stored)?;
        let number = self.totals.chunks as u32;
        let head = chunk::ChunkHead {
            content,
            number,
            plain,
        };
        self.out.write_all(&head.bytes(&self.stored))?;
        self.out.write_all(&self.stored)
    }

    /// Refuses a launch that no reader would take; `texts` are the bytes of its texts.
    fn check(&self, launch: &Launch, texts: usize) -> Result<(), TraceError> {
        let (sites, arrays) = (launch.sites.len(), launch.arrays.len());
        let why = if sites > MAX_SITES {
            format!("a kernel has {sites} memory instructions: the file takes {MAX_SITES}")
        } else if arrays > MAX_ARRAYS {
            format!("a kernel has {arrays} arrays in shared memory: the file takes {MAX_ARRAYS}")
        } else if texts > MAX_LAUNCH {
            format!("a kernel has {texts} bytes of names and places: the file takes {MAX_LAUNCH}")
        } else if arrays > 0 && launch.used.is_none() {
            "a launch has arrays in shared memory, but not what its blocks use".to_owned()
        } else if !launch.has_separate_arrays() {
            "the arrays in a kernel's shared memory overlap, or are not in their order".to_owned()
        } else {
            return Ok(());
        };
        Err(self.refuse(&why))
    }

    fn refuse(&self, what: &str) -> TraceError {
        let error = Error::new(ErrorKind::InvalidInput, what);
        TraceError::io("write", &self.path, error)
    }
}

impl<W: Write> WarpSink for WarpWriter<W> {
    fn launch(&mut self, launch: &Launch) -> Result<(), TraceError> {
        let of_calls = |site: &KernelSite| -> usize {
            let calls = site.calls.iter();
            calls.map(|it| it.function.len() + it.place.len() + 1).sum()
        };
        let sites = launch.sites.iter();
        let texts = sites.map(|site| site.place.len() + site.text.len() + of_calls(site));
        let arrays = launch.arrays.iter().map(|array| array.name.len());
        let texts = texts.sum::<usize>() + arrays.sum::<usize>() + launch.kernel.len();
        self.check(launch, texts)?;
        // A chunk has records of one launch only.
        self.flush()?;
        encode::launch(&mut self.plain, launch);
        let sites = match launch.sites.len() {
            0 => MAX_SITES,
            known => known,
        };
        self.bounds = Some((launch.grid.count(), launch.warps(), sites));
        self.totals.launches += 1;
        Ok(())
    }

    fn batch(&mut self, batch: &WarpBatch) -> Result<(), TraceError> {
        let mut records = std::mem::take(&mut self.records);
        records.clear();
        records.extend(batch);
        let taken = self.take(&records);
        self.records = records;
        taken
    }
}

impl<W: Write> Collector for WarpWriter<W> {
    type Piece = Records;

    fn take(&mut self, records: &Records) -> Result<(), TraceError> {
        let Some((blocks, warps, sites)) = self.bounds else {
            return Err(self.refuse("records come before any launch"));
        };
        if records.count > MAX_RECORDS {
            return Err(self.refuse("a batch has over 1048576 records: hand over smaller ones"));
        }
        let fits = u64::from(records.block) < blocks
            && u64::from(records.warp) < warps
            && (records.site as usize) < sites
            && !records.is_invalid;
        if !records.is_empty() && !fits {
            return Err(
                self.refuse("a record is of a block, warp or site that its launch does not have")
            );
        }
        let has_phases = records.phase_change_count > 0;
        self.plain.push(if has_phases {
            encode::BATCH_WITH_PHASES
        } else {
            encode::BATCH
        });
        put(&mut self.plain, records.count as u64);
        if has_phases {
            put(&mut self.plain, records.phase_change_count);
            self.plain.extend_from_slice(&records.phase_changes);
        }
        self.plain.extend_from_slice(&records.bytes);
        self.totals.records += records.count as u64;
        self.totals.accesses += records.accesses;
        self.records_waiting += records.count as u64;
        if self.plain.len() < ENOUGH_BYTES && self.records_waiting < ENOUGH_RECORDS {
            return Ok(());
        }
        self.flush()
    }
}

/// The head of a file.
fn head(description: &str) -> Vec<u8> {
    let mut end = description.len().min(MAX_DESCRIPTION);
    while !description.is_char_boundary(end) {
        end -= 1;
    }
    let mut bytes = Vec::with_capacity(FIXED + end + 4);
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&VERSION.to_le_bytes());
    bytes.extend_from_slice(&[0; 2]);
    bytes.extend_from_slice(&(end as u32).to_le_bytes());
    bytes.extend_from_slice(&description.as_bytes()[..end]);
    bytes.extend_from_slice(&crc32fast::hash(&bytes).to_le_bytes());
    bytes
}
