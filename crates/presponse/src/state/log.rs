//! The update log: batches in a file that only grows, each under a checksum.
//!
//! ```text
//! head:   "PRSPLOG1" | kind u32 | crc32 of the 12 bytes before, u32
//! record: mark u32 | length u32 | crc32 of length and payload, u32 | payload
//! payload: batch, count, then for each change: 0 or 1 (insert), from, to
//! ```
//!
//! Numbers of a payload are varints (see `reuselens_io::varint`), the others little-endian. Ids are
//! those of clients, so a log needs no table. The mark lets a reader find intact records after a
//! damaged one.

use std::fs::{self, File};
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use reuselens_graph::EdgeKind;
use reuselens_graph::formats::stream::StreamRecord;
use reuselens_io::varint::{self, Cursor};
use thiserror::Error;

const MAGIC: [u8; 8] = *b"PRSPLOG1";
/// Bytes before the first record.
pub const HEAD_LENGTH: u64 = 16;
const MARK: [u8; 4] = *b"\x93Rec";
const RECORD_HEAD: usize = 12;

/// When written bytes are forced to the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncPolicy {
    /// Before a batch is acknowledged: it outlasts a power failure.
    Always,
    /// At most once in this time: a power failure loses what was acknowledged since. A crash of the
    /// process loses nothing.
    Every(Duration),
    /// When the system does it.
    Never,
}

/// Why a batch is not in the log. It is not applied then, and the log is as before.
#[derive(Debug, Error)]
pub enum LogError {
    /// The system refused to write; later batches may succeed.
    #[error("cannot write the update log {}: {source}; {}; the batch is not applied", path.display(), remedy(source))]
    Write {
        /// The log.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// An earlier failure left the log in a state that is not known, so it takes no more batches.
    #[error("the update log {} takes no more batches since {why}; look at the disk and start again", path.display())]
    Broken {
        /// The log.
        path: PathBuf,
        /// The earlier failure.
        why: String,
    },
}

#[cfg(not(test))]
fn sync_file(file: &File) -> io::Result<()> {
    file.sync_data()
}

#[cfg(test)]
use failing::sync_file;

/// Syncs that fail once, as Linux reports a failure.
#[cfg(test)]
pub mod failing {
    use std::cell::Cell;
    use std::fs::File;
    use std::io;

    thread_local! {
        /// Whether the next sync of this thread fails.
        pub static NEXT: Cell<bool> = const { Cell::new(false) };
    }

    pub fn sync_file(file: &File) -> io::Result<()> {
        if NEXT.take() {
            Err(io::Error::other("this sync fails"))
        } else {
            file.sync_data()
        }
    }
}

/// What helps when a log cannot be written.
fn remedy(source: &io::Error) -> &'static str {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    match source.kind() {
        StorageFull | QuotaExceeded | FileTooLarge => "free some space",
        _ => "look at the disk",
    }
}

/// A log that is being written.
#[derive(Debug)]
pub struct UpdateLog {
    file: File,
    path: PathBuf,
    /// The bytes that are intact.
    length: u64,
    policy: SyncPolicy,
    synced: Instant,
    /// Whether bytes were written since.
    is_dirty: bool,
    broken: Option<String>,
    record: Vec<u8>,
}

impl UpdateLog {
    /// Begins an empty log.
    ///
    /// # Errors
    /// If the file cannot be created or synced. It is removed then.
    pub fn create(path: &Path, kind: EdgeKind, policy: SyncPolicy) -> io::Result<Self> {
        let mut file = File::options()
            .create(true)
            .truncate(true)
            .write(true)
            .open(path)?;
        let written = file.write_all(&head(kind)).and_then(|()| sync_file(&file));
        if let Err(error) = written {
            // If it stays without a head, readers of the folder skip it.
            let _ = fs::remove_file(path);
            return Err(error);
        }
        Ok(Self::on(file, path, HEAD_LENGTH, policy))
    }

    /// Goes on after the first `length` bytes of a log; what follows is removed. A log without a
    /// complete head must be created anew.
    ///
    /// # Errors
    /// If the file cannot be opened, cut or synced.
    pub fn reopen(path: &Path, length: u64, policy: SyncPolicy) -> io::Result<Self> {
        let mut file = File::options().write(true).open(path)?;
        file.set_len(length)?;
        file.seek(SeekFrom::Start(length))?;
        file.sync_all()?;
        Ok(Self::on(file, path, length, policy))
    }

    fn on(file: File, path: &Path, length: u64, policy: SyncPolicy) -> Self {
        Self {
            file,
            path: path.to_owned(),
            length,
            policy,
            synced: Instant::now(),
            is_dirty: false,
            broken: None,
            record: Vec::new(),
        }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its bytes.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Writes a batch. [`Self::sync`] makes it last.
    ///
    /// # Errors
    /// If it cannot be written. The log is as before.
    pub fn append(&mut self, batch: u64, changes: &[StreamRecord]) -> Result<(), LogError> {
        self.check()?;
        encode(&mut self.record, batch, changes);
        if let Err(source) = self.file.write_all(&self.record) {
            self.cut_back(self.length);
            return Err(LogError::Write {
                path: self.path.clone(),
                source,
            });
        }
        self.length += self.record.len() as u64;
        self.is_dirty = true;
        Ok(())
    }

    /// Makes the written batches last as the policy asks for.
    ///
    /// # Errors
    /// If the disk refuses, or did before. What it has then is not known, so the log takes no more
    /// batches, and is not synced again: a later success would not mean that the bytes are there.
    pub fn sync(&mut self) -> Result<(), LogError> {
        self.check()?;
        let is_due = match self.policy {
            SyncPolicy::Always => true,
            SyncPolicy::Every(time) => self.synced.elapsed() >= time,
            SyncPolicy::Never => false,
        };
        if is_due && self.is_dirty {
            self.sync_now()
        } else {
            Ok(())
        }
    }

    /// When [`Self::sync`] should be called if no batch comes before; `None` if not at all.
    pub fn sync_due(&self) -> Option<Instant> {
        match self.policy {
            SyncPolicy::Every(time) if self.is_dirty && self.broken.is_none() => {
                Some(self.synced + time)
            }
            _ => None,
        }
    }

    /// [`Self::sync`] for the end of the process, whatever the policy.
    ///
    /// # Errors
    /// As above.
    pub fn sync_now(&mut self) -> Result<(), LogError> {
        self.check()?;
        if let Err(source) = sync_file(&self.file) {
            self.broken = Some(format!("the disk failed to sync it: {source}"));
            return Err(LogError::Write {
                path: self.path.clone(),
                source,
            });
        }
        (self.synced, self.is_dirty) = (Instant::now(), false);
        Ok(())
    }

    /// An error if an earlier failure ended the log.
    fn check(&self) -> Result<(), LogError> {
        match &self.broken {
            None => Ok(()),
            Some(why) => Err(LogError::Broken {
                path: self.path.clone(),
                why: why.clone(),
            }),
        }
    }

    /// Removes what follows the first `length` bytes, batches that are refused. If that fails, the
    /// log takes no more batches.
    pub fn cut_back(&mut self, length: u64) {
        let cut = self.file.set_len(length);
        match cut.and_then(|()| self.file.seek(SeekFrom::Start(length))) {
            Ok(_) => self.length = length,
            Err(error) if self.broken.is_none() => {
                self.broken = Some(format!("a record at its end could not be removed: {error}"));
            }
            Err(_) => {}
        }
    }
}

fn head(kind: EdgeKind) -> [u8; HEAD_LENGTH as usize] {
    let mut head = [0; HEAD_LENGTH as usize];
    head[..8].copy_from_slice(&MAGIC);
    head[8] = kind_code(kind);
    let crc = crc32fast::hash(&head[..12]);
    head[12..].copy_from_slice(&crc.to_le_bytes());
    head
}

/// How files write the kind of a graph.
pub(super) fn kind_code(kind: EdgeKind) -> u8 {
    match kind {
        EdgeKind::Undirected => 0,
        EdgeKind::Directed => 1,
    }
}

/// The kind of a graph that a file has.
pub(super) fn kind_of_code(code: u8) -> Option<EdgeKind> {
    match code {
        0 => Some(EdgeKind::Undirected),
        1 => Some(EdgeKind::Directed),
        _ => None,
    }
}

/// Puts a record into `record`.
fn encode(record: &mut Vec<u8>, batch: u64, changes: &[StreamRecord]) {
    record.clear();
    record.extend_from_slice(&MARK);
    record.extend_from_slice(&[0; RECORD_HEAD - MARK.len()]);
    varint::put(record, batch);
    varint::put(record, changes.len() as u64);
    for change in changes {
        record.push(u8::from(change.inserts));
        varint::put(record, change.from);
        varint::put(record, change.to);
    }
    let length = (record.len() - RECORD_HEAD) as u32;
    record[4..8].copy_from_slice(&length.to_le_bytes());
    let crc = checksum(length, &record[RECORD_HEAD..]);
    record[8..12].copy_from_slice(&crc.to_le_bytes());
}

fn checksum(length: u32, payload: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&length.to_le_bytes());
    hasher.update(payload);
    hasher.finalize()
}

/// What the head of a log or snapshot says.
#[derive(Clone, Copy, Debug)]
pub struct FileHead {
    /// The kind of the graph.
    pub kind: EdgeKind,
}

/// Reads the head of a log or of a snapshot.
///
/// # Errors
/// If it is neither, or damaged.
pub fn read_head(file: &mut impl Read) -> anyhow::Result<FileHead> {
    let mut head = [0; HEAD_LENGTH as usize];
    file.read_exact(&mut head).context("its head is cut off")?;
    if head[..8] != MAGIC && head[..8] != super::snapshot::MAGIC {
        anyhow::bail!("it is no update log and no snapshot of this version of presponse");
    }
    let kind =
        kind_of_code(head[8]).filter(|_| head[12..] == crc32fast::hash(&head[..12]).to_le_bytes());
    let kind = kind.context("its head is damaged; restore it from a copy")?;
    Ok(FileHead { kind })
}

/// Calls `each` with the batches of a log, whose head has been read. Returns the length up to which
/// it is intact; what follows, if anything, is a record that was cut off.
///
/// # Errors
/// If reading fails, a record is damaged and an intact one follows, or `each` fails.
pub fn replay(
    file: File,
    length: u64,
    mut each: impl FnMut(u64, &[StreamRecord]) -> anyhow::Result<()>,
) -> anyhow::Result<u64> {
    let mut input = BufReader::with_capacity(1 << 20, file);
    let (mut at, mut payload, mut changes) = (HEAD_LENGTH, Vec::new(), Vec::new());
    while at < length {
        let Some(batch) = read_record(&mut input, length - at, &mut payload, &mut changes)? else {
            if let Some(intact) = find_intact(input.into_inner(), at + 1, length)? {
                anyhow::bail!(
                    "the record at byte {at} is damaged, and intact ones follow at byte {intact}; \
                     restore the log from a copy, or cut it at byte {at} and lose them"
                );
            }
            return Ok(at);
        };
        each(batch, &changes)?;
        at += (RECORD_HEAD + payload.len()) as u64;
    }
    Ok(at)
}

/// Reads a record, of which there are at most `most` bytes; `None` if it is damaged or cut off.
fn read_record(
    input: &mut impl Read,
    most: u64,
    payload: &mut Vec<u8>,
    changes: &mut Vec<StreamRecord>,
) -> io::Result<Option<u64>> {
    if most < RECORD_HEAD as u64 {
        return Ok(None);
    }
    let mut head = [0; RECORD_HEAD];
    input.read_exact(&mut head)?;
    let field =
        |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    let (length, crc) = (field(4), field(8));
    if head[..4] != MARK || u64::from(length) > most - RECORD_HEAD as u64 {
        return Ok(None);
    }
    payload.resize(length as usize, 0);
    input.read_exact(payload)?;
    Ok(if checksum(length, payload) == crc {
        decode(payload, changes)
    } else {
        None
    })
}

fn decode(payload: &[u8], changes: &mut Vec<StreamRecord>) -> Option<u64> {
    changes.clear();
    let mut cursor = Cursor::new(payload, 0);
    let batch = cursor.number().ok()?;
    let count = cursor.number().ok()?;
    // A change has 3 bytes or more.
    if count > payload.len() as u64 / 3 {
        return None;
    }
    for _ in 0..count {
        let inserts = match cursor.byte().ok()? {
            0 => false,
            1 => true,
            _ => return None,
        };
        changes.push(StreamRecord {
            inserts,
            from: cursor.number().ok()?,
            to: cursor.number().ok()?,
            time: None,
        });
    }
    cursor.is_at_end().then_some(batch)
}

/// Where an intact record begins, from byte `from` on.
fn find_intact(mut file: File, from: u64, length: u64) -> io::Result<Option<u64>> {
    const PIECE: usize = 1 << 20;
    let (mut payload, mut changes) = (Vec::new(), Vec::new());
    let mut at = from;
    while at < length {
        file.seek(SeekFrom::Start(at))?;
        let mut piece = Vec::with_capacity(PIECE);
        (&mut file).take(PIECE as u64).read_to_end(&mut piece)?;
        let marks = piece.windows(MARK.len()).enumerate();
        for (place, _) in marks.filter(|(_, bytes)| *bytes == MARK) {
            let start = at + place as u64;
            file.seek(SeekFrom::Start(start))?;
            if read_record(&mut file, length - start, &mut payload, &mut changes)?.is_some() {
                return Ok(Some(start));
            }
        }
        if piece.len() < PIECE {
            break;
        }
        // A mark may cross the border of two pieces.
        at += (PIECE - MARK.len() + 1) as u64;
    }
    Ok(None)
}
