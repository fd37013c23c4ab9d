//! [`Segment`]: the shared segment on the analysing side, which creates it. Its methods return
//! references to atomics, or copies of records, entries and gates.
//!
//! A measured program may write anything anywhere in the segment, so all indices are checked here,
//! and callers check what they read. This is the only unsafe module of the reading side.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::PathBuf;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use reuselens_io::{read_folder, retry_interrupted};
use reuselens_wire::{
    BLOCK_BYTES, BLOCK_HEADER_BYTES, BLOCKS, BLOCKS_OFFSET, BlockHeader, DICTIONARY_BYTES,
    DICTIONARY_OFFSET, DictionaryEntry, ENTRY_ROWS_MOST, ENTRY_UNIT, EntryRow, Gate, Header, MAGIC,
    MappedSegment, Marks, RECORD_BYTES, Record, SEGMENT_BYTES, SLOTS, Slot, VERSION, entry_bytes,
};

/// The records of one block.
#[derive(Default)]
pub struct RawBlock {
    pub process: u32,
    pub thread: u32,
    pub first_stamp: u64,
    pub last_stamp: u64,
    pub stack_high: u64,
    pub records: Vec<Record>,
}

/// The stage of a slot, with a copy of what is not atomic.
pub struct StageCopy<'a> {
    pub slot: &'a Slot,
    /// A copy of its gate.
    pub gate: Gate,
    /// Whether its thread is sorting it.
    pub sorting: bool,
}

/// A segment of our own, which programs that we start find through the environment.
pub struct Segment {
    base: NonNull<u8>,
    mapped: MappedSegment,
    file: OwnedFd,
    /// Values of the header's words that only the analysing side writes.
    written: [u32; WRITTEN],
}

/// Words of the header that only the analysing side writes, once.
const WRITTEN: usize = 4;

// SAFETY: the mapping is owned by this value, and all access to it is atomic or through copies.
unsafe impl Send for Segment {}
// SAFETY: as above.
unsafe impl Sync for Segment {}

impl Segment {
    /// Creates an empty segment. `wants` is a sum of `WANTS_…`. Memory is used only as blocks are.
    pub fn create(wants: u32) -> io::Result<Segment> {
        // SAFETY: plain system calls; the descriptor is owned from here on, and the mapping is as
        // long as the file.
        let (file, base) = unsafe {
            let fd = libc::memfd_create(c"reuselens".as_ptr(), libc::MFD_CLOEXEC);
            if fd < 0 {
                return Err(io::Error::last_os_error());
            }
            let file = OwnedFd::from_raw_fd(fd);
            make_long(fd)?;
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            let base = libc::mmap(
                std::ptr::null_mut(),
                SEGMENT_BYTES,
                protection,
                libc::MAP_SHARED,
                fd,
                0,
            );
            if base == libc::MAP_FAILED {
                return Err(io::Error::last_os_error());
            }
            (file, NonNull::new_unchecked(base.cast()))
        };
        let mut segment = Segment {
            base,
            // SAFETY: just mapped, all zero; `self` unmaps it when it is dropped, and nothing that
            // it hands out lives longer.
            mapped: unsafe { MappedSegment::new(base) },
            file,
            written: [0; WRITTEN],
        };
        let header = segment.header();
        header.queue.init();
        header.version.store(VERSION, Ordering::Relaxed);
        header.wants.store(wants, Ordering::Relaxed);
        header
            .consumer_pid
            .store(std::process::id(), Ordering::Relaxed);
        let status = std::fs::read("/proc/thread-self/status").unwrap_or_default();
        let filters = reuselens_wire::filters(&status);
        header.filters.store(filters, Ordering::Relaxed);
        header.magic.store(MAGIC, Ordering::Release);
        segment.written = segment.once_written();
        Ok(segment)
    }

    fn once_written(&self) -> [u32; WRITTEN] {
        let header = self.header();
        [
            &header.version,
            &header.wants,
            &header.consumer_pid,
            &header.filters,
        ]
        .map(|word| word.load(Ordering::Relaxed))
    }

    /// Whether the header has values that it can have without being written over. `closed`: whether
    /// the end of the reading was announced in it.
    pub fn is_header_intact(&self, closed: bool) -> bool {
        let header = self.header();
        header.magic.load(Ordering::Relaxed) == MAGIC
            && self.once_written() == self.written
            && header.consumer_gone.load(Ordering::Relaxed) == u32::from(closed)
            && header.slots_used.load(Ordering::Relaxed) as usize <= SLOTS
            && header.dictionary_used.load(Ordering::Relaxed) as usize
                <= DICTIONARY_BYTES / ENTRY_UNIT
    }

    /// A path by which programs of this user can open the segment as long as this process lives.
    pub fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd())
    }

    /// The header.
    pub fn header(&self) -> &Header {
        self.mapped.header()
    }

    /// Slot `index`, if there is one.
    pub fn slot(&self, index: usize) -> Option<&Slot> {
        (index < SLOTS).then(|| self.mapped.slot(index))
    }

    /// The stage of slot `index`, if there is one. The copy is meaningful only if the stage's
    /// thread is dead or does not change it now; else its numbers may not fit each other.
    pub fn stage(&self, index: usize) -> Option<StageCopy<'_>> {
        if index >= SLOTS {
            return None;
        }
        // SAFETY: in bounds of the mapping and aligned. All fields of the slot are atomic; the
        // state is copied as it is, and all bytes are a valid one.
        unsafe {
            let stage = self.mapped.stage(index).as_ptr();
            let gate = (&raw const (*stage).gate).read_volatile();
            let sorting = (*stage).sorting.load(Ordering::Acquire) != 0;
            Some(StageCopy {
                slot: &(*stage).slot,
                gate,
                sorting,
            })
        }
    }

    /// Header of block `index`, if there is one.
    pub fn block(&self, index: u32) -> Option<&BlockHeader> {
        ((index as usize) < BLOCKS).then(|| self.mapped.block(index))
    }

    /// The marks of block `index`, if there is one.
    pub fn marks(&self, index: u32) -> Option<&Marks> {
        ((index as usize) < BLOCKS).then(|| self.mapped.marks(index))
    }

    /// Copies the records of a block from byte `from` up to byte `to`, its header included.
    pub fn copy_records(&self, block: u32, from: usize, to: usize, into: &mut Vec<Record>) {
        into.clear();
        if block as usize >= BLOCKS {
            return;
        }
        let from = from.clamp(BLOCK_HEADER_BYTES, BLOCK_BYTES) / RECORD_BYTES * RECORD_BYTES;
        let count = to.clamp(from, BLOCK_BYTES).saturating_sub(from) / RECORD_BYTES;
        into.reserve(count);
        let start = BLOCKS_OFFSET + block as usize * BLOCK_BYTES + from;
        // SAFETY: in bounds of the mapping and aligned, room was reserved, and any bytes are a
        // valid record. Records before the cursor are no longer written to; if a program broke
        // that, the copy holds garbage that the decoder checks like any other input.
        unsafe {
            std::ptr::copy_nonoverlapping(
                self.base.add(start).cast::<Record>().as_ptr(),
                into.as_mut_ptr(),
                count,
            );
            into.set_len(count);
        }
    }

    /// Entry `number` of the dictionary; its rows go into `rows`. `None` if there is no such entry.
    pub fn entry(&self, number: u32, rows: &mut Vec<EntryRow>) -> Option<DictionaryEntry> {
        rows.clear();
        let at = number as usize * ENTRY_UNIT;
        let used = self.header().dictionary_used.load(Ordering::Relaxed) as usize;
        let end = used.saturating_mul(ENTRY_UNIT).min(DICTIONARY_BYTES);
        let within = |bytes: usize| at + bytes <= end;
        if !within(size_of::<DictionaryEntry>()) {
            return None;
        }
        // SAFETY: in bounds of the mapping and aligned, and any bytes are a valid entry. It was
        // written before the block record that names it; if a program broke that, the copy holds
        // garbage that is checked.
        let (entry, first) = unsafe {
            let at = self
                .base
                .add(DICTIONARY_OFFSET + at)
                .cast::<DictionaryEntry>();
            (at.read_volatile(), at.add(1).cast::<EntryRow>())
        };
        // Rows that are those of another entry are read from that one.
        let count = if entry.of == 0 {
            entry.rows as usize
        } else {
            0
        };
        if count > ENTRY_ROWS_MOST || !within(entry_bytes(count)) {
            return None;
        }
        // SAFETY: as above.
        let row = |index| unsafe { first.add(index).read_volatile() };
        rows.extend((0..count).map(row));
        Some(entry)
    }

    /// Gives a block back to the pool.
    pub fn give_block(&self, index: u32) {
        if (index as usize) < BLOCKS {
            // The pool asks for the link of the given block, which is in bounds.
            static NOWHERE: AtomicU32 = AtomicU32::new(0);
            let link = |number| {
                self.block(number)
                    .map_or(&NOWHERE, |block| &block.next_free)
            };
            self.header().pool.give(index, link);
        }
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        self.header().consumer_gone.store(1, Ordering::Release);
        futex_wake_all(&self.header().queue.taken);
        // SAFETY: nothing borrowed from the mapping outlives `self`.
        unsafe { libc::munmap(self.base.as_ptr().cast(), SEGMENT_BYTES) };
    }
}

/// Makes the segment's file as long as it has to be, under the hard limit on the size of files, for
/// the soft one is meant for files on disks.
fn make_long(fd: i32) -> io::Result<()> {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: plain system calls on a descriptor of ours and a structure that outlives them.
    unsafe {
        libc::getrlimit(libc::RLIMIT_FSIZE, &raw mut limit);
        let raised = libc::rlimit {
            rlim_cur: limit.rlim_max,
            ..limit
        };
        libc::setrlimit(libc::RLIMIT_FSIZE, &raw const raised);
        let made = retry_interrupted(|| match libc::ftruncate(fd, SEGMENT_BYTES as i64) {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        });
        libc::setrlimit(libc::RLIMIT_FSIZE, &raw const limit);
        made
    }
}

/// Sleeps until `word` is woken or no longer `seen`, or until the time is up.
pub fn futex_wait(word: &AtomicU32, seen: u32, most: Duration) {
    let timeout = libc::timespec {
        tv_sec: most.as_secs() as i64,
        tv_nsec: i64::from(most.subsec_nanos()),
    };
    // SAFETY: the word outlives the call, which only reads it.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            libc::FUTEX_WAIT,
            seen,
            &raw const timeout,
        )
    };
}

/// Wakes everyone who sleeps on `word`.
pub fn futex_wake_all(word: &AtomicU32) {
    // SAFETY: as above.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, i32::MAX) };
}

/// Whether a process exists and runs. A zombie does not, unless it has other threads.
pub fn process_exists(pid: u32) -> bool {
    // It has the program's name, which may be any bytes.
    let Ok(stat) = std::fs::read(format!("/proc/{pid}/stat")) else {
        return false;
    };
    let stat = String::from_utf8_lossy(&stat);
    let state = stat.rsplit_once(')').map(|(_, rest)| rest.trim_start());
    let over = state.is_some_and(|rest| rest.starts_with(['Z', 'X']));
    let tasks = PathBuf::from(format!("/proc/{pid}/task"));
    let threads = || read_folder(&tasks).map_or(0, Iterator::count);
    !over || threads() > 1
}

/// Records as words, two for each.
pub fn words_of(records: &mut [Record]) -> &mut [u64] {
    const _: () = assert!(size_of::<Record>() == 16 && align_of::<Record>() == align_of::<u64>());
    // SAFETY: a record is two words, in this order, without gaps, and any words are a record.
    unsafe { std::slice::from_raw_parts_mut(records.as_mut_ptr().cast(), 2 * records.len()) }
}
