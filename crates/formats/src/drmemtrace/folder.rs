//! A folder of traces as `raw2trace` writes it: a file for each thread, read as one trace.
//!
//! Used by `lib.rs`, when what is opened is a folder.
//!
//! Source: DynamoRIO, `clients/drcachesim/docs/drcachesim.dox.in` (offline traces) and
//! `tracer/raw2trace_directory.cpp`: `drmemtrace.PROGRAM.PID.NUMBER.dir/trace/` has the files
//! `drmemtrace.PROGRAM.PID.NUMBER.trace` of the threads, most of them packed. Each buffer of a
//! thread begins with markers of the time at which it began and of the core it ran on. The file
//! `serial_schedule.bin.gz` is made of these markers: its entries are ordered by time, core and
//! thread (`aggregate_schedule_data` in `common/schedule_file.cpp`), so buffers in that order are
//! the schedule, and the file need not be read. `cpu_schedule.bin.zip` has the same entries core by
//! core.
//!
//! A file is opened when its first buffer is next, so that the memory is that of the threads that
//! live at the same time, not of all.

use std::path::{Path, PathBuf};

use reuselens_io::Input;
use reuselens_trace::{Block, Projection, Source, Step, TraceError};
use reuselens_units::{Bytes, counted};

use super::entry::{self, Entry, LENGTH};
use super::reader::{BufferStart, DrmemtraceReader};
use super::threads::RunningThreads;

/// Endings of the files of threads, without those of packings.
const ENDINGS: [&str; 2] = [".trace", ".memtrace"];
/// Endings that packings add.
const PACKED: [&str; 8] = ["", ".gz", ".zip", ".sz", ".snappy", ".xz", ".zst", ".zstd"];

/// The file of a thread.
struct ThreadFile {
    path: PathBuf,
    /// When its next buffer begins.
    next: BufferStart,
    /// The system's number of its thread, by its beginning.
    thread: u64,
    /// Its reader, once its first buffer was next.
    reader: Option<DrmemtraceReader>,
    /// The system's numbers of its thread and process, as far as they were read.
    tid: u64,
    pid: u64,
}

/// Reads the files of a folder, buffer by buffer, in the order of their times; buffers that begin
/// at the same time are ordered by core, then by the system's number of their thread, then by the
/// name of their file.
pub struct FolderReader {
    folder: PathBuf,
    /// The files that are not read to their ends.
    files: Vec<ThreadFile>,
    /// The file that is read now.
    current: Option<usize>,
    /// The threads and processes of all files.
    threads: RunningThreads,
    /// Bytes of all files, and of those that are read to their ends.
    bytes: u64,
    finished: u64,
    count: usize,
    /// What is wrong with the first file that is damaged. The others are read all the same.
    failed: Option<TraceError>,
}

impl FolderReader {
    /// A reader of the traces in `folder`, or in its folder `trace`.
    ///
    /// # Errors
    /// [`TraceError::UnknownFormat`] if there are none, `FileError::Io` if the folder or a file
    /// cannot be read, `FileError::Corrupt` if the beginning of a file is damaged.
    pub fn new(folder: &Path) -> Result<FolderReader, TraceError> {
        let mut paths = traces_in(folder)?;
        if paths.is_empty() {
            paths = traces_in(&folder.join("trace")).unwrap_or_default();
        }
        if paths.is_empty() {
            return Err(TraceError::UnknownFormat {
                path: folder.to_owned(),
                what: nothing_in(folder),
            });
        }
        let (mut files, mut bytes) = (Vec::new(), 0_u64);
        for path in paths {
            let mut input = Input::open(&path)?;
            let (next, thread) = beginning(input.head()?);
            bytes = bytes.saturating_add(input.progress().map_or(0, |(_, all)| all));
            files.push(ThreadFile {
                path,
                next,
                thread,
                reader: None,
                tid: 0,
                pid: 0,
            });
        }
        Ok(FolderReader {
            folder: folder.to_owned(),
            count: files.len(),
            files,
            current: None,
            threads: RunningThreads::new(0),
            bytes,
            finished: 0,
            failed: None,
        })
    }

    /// Goes on with the file whose next buffer began first. `None` at the end of all.
    fn choose(&mut self) -> Result<Option<usize>, TraceError> {
        let files = self.files.iter().enumerate();
        // Of equal ones, the first.
        let next = files.min_by_key(|(_, file)| (file.next, file.thread));
        let Some((next, _)) = next else {
            return Ok(None);
        };
        let file = &mut self.files[next];
        match &mut file.reader {
            Some(reader) => reader.pass_stamp(),
            None => {
                let mut input = Input::open(&file.path)?;
                input.head()?;
                let mut reader = DrmemtraceReader::of_thread(input);
                file.pid = reader.threads().pid();
                file.reader = Some(reader);
            }
        }
        self.threads.runs(file.tid);
        self.threads.belongs(file.pid);
        Ok(Some(next))
    }

    /// The next event or block of a file; `None` when it arrives at a buffer, or at its end.
    fn next_of(&mut self, index: usize, block: &mut Block) -> Option<Step> {
        let file = &mut self.files[index];
        let reader = file.reader.as_mut()?;
        // The numbers of threads are those of all files.
        std::mem::swap(reader.threads(), &mut self.threads);
        let step = reader.next_of_buffer(block);
        std::mem::swap(reader.threads(), &mut self.threads);
        (file.tid, file.pid) = (self.threads.tid(), self.threads.pid());
        let over = match step {
            Ok(Some(Step::End)) => None,
            Ok(Some(step)) => return Some(step),
            Ok(None) => {
                file.next = reader.next_buffer().unwrap_or(file.next);
                return None;
            }
            Err(error) => Some(error),
        };
        if let Some(error) = over {
            self.failed.get_or_insert(error);
        }
        let all = reader.progress().map_or(0, |(_, all)| all);
        self.finished = self.finished.saturating_add(all);
        self.files.remove(index);
        None
    }
}

impl Source for FolderReader {
    fn next(&mut self, block: &mut Block) -> Result<Step, TraceError> {
        loop {
            let Some(current) = self.current else {
                self.current = match self.choose() {
                    Ok(Some(next)) => Some(next),
                    Ok(None) => return self.failed.take().map_or(Ok(Step::End), Err),
                    Err(error) => {
                        self.files.clear();
                        self.failed.get_or_insert(error);
                        None
                    }
                };
                continue;
            };
            match self.next_of(current, block) {
                Some(step) => return Ok(step),
                None => self.current = None,
            }
        }
    }

    fn has_addresses(&self) -> bool {
        true
    }

    fn describe(&self) -> String {
        format!(
            "data accesses that DynamoRIO's drmemtrace recorded in {}, of {} in the order of time",
            self.folder.display(),
            counted(self.count as u64, "thread", "threads")
        )
    }

    fn progress(&self) -> Option<(u64, u64)> {
        let readers = self.files.iter().filter_map(|file| file.reader.as_ref());
        let taken = readers.filter_map(|reader| reader.progress());
        let taken = taken.fold(self.finished, |sum, (taken, _)| sum.saturating_add(taken));
        Some((taken.min(self.bytes), self.bytes))
    }

    fn is_of_one_thread(&self) -> bool {
        false
    }

    fn memory(&self) -> Bytes {
        let readers = self.files.iter().filter_map(|file| file.reader.as_ref());
        let bytes = readers.map(|reader| reader.input.memory().get());
        Bytes(bytes.sum())
    }

    fn read_ahead_within(&mut self, _most: Bytes) {}

    fn project(&mut self, _projection: Projection) -> bool {
        false
    }
}

/// The files of threads in a folder, by name.
fn traces_in(folder: &Path) -> Result<Vec<PathBuf>, TraceError> {
    let failed = |error| reuselens_io::FileError::io("read", folder, error);
    let mut paths = Vec::new();
    for entry in reuselens_io::read_folder(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if is_trace(&path) && path.is_file() {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

/// Whether a file is that of a thread, by its name.
fn is_trace(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy());
    let name = name.unwrap_or_default();
    PACKED.iter().any(|packed| {
        let name = name.strip_suffix(packed);
        name.is_some_and(|name| ENDINGS.iter().any(|ending| name.ends_with(ending)))
    })
}

/// Why nothing can be read in a folder, and what to do.
fn nothing_in(folder: &Path) -> String {
    if folder.join("raw").is_dir() {
        format!(
            "the folder has the raw files of DynamoRIO only; convert them first: `drrun -t drmemtrace -indir {} -tool \
             basic_counts`",
            folder.display()
        )
    } else {
        "it is a folder, and has no traces of DynamoRIO (*.trace, *.trace.gz, *.trace.zip, *.trace.sz, also in \
         its folder trace/); name a file, or the folder that raw2trace wrote"
            .to_owned()
    }
}

/// What the first entries of a file say: when its first buffer begins, and the system's number of
/// its thread; 0 for what they do not say.
fn beginning(head: &[u8]) -> (BufferStart, u64) {
    let (entries, _) = head.as_chunks::<LENGTH>();
    let mut entries = entries.iter().map(Entry::of);
    let thread = entries.clone().find(|entry| entry.kind == entry::THREAD);
    let stamp = entries.find(|entry| entry.is_stamp());
    let start = match stamp {
        Some(stamp) => BufferStart::of(stamp, entries.next()),
        None => BufferStart { time: 0, core: 0 },
    };
    (start, thread.map_or(0, |entry| entry.addr))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_threads_are_known_by_name() {
        for (name, expected) in [
            ("drmemtrace.a.out.123.4567.trace.zip", true),
            ("drmemtrace.a.out.123.4567.trace.gz", true),
            ("drmemtrace.a.out.123.4567.trace.sz", true),
            ("drmemtrace.a.out.123.4567.trace", true),
            ("x.memtrace.gz", true),
            ("cpu_schedule.bin.zip", false),
            ("serial_schedule.bin.gz", false),
            ("modules.log", false),
            ("trace", false),
            ("x.trace.txt", false),
        ] {
            assert_eq!(is_trace(Path::new(name)), expected, "{name}");
        }
    }
}
