//! Writes accesses as text, one address or item on each line; used by `convert`.

use std::collections::HashSet;
use std::io::Write;
use std::path::{Path, PathBuf};

use reuselens_units::Granularity;

use reuselens_io::FileError;
use reuselens_trace::{Block, Event, Kind, ProcessId, TraceError};

/// Bytes gathered before they are written.
const ENOUGH: usize = 64 << 10;
/// The most items that one range operation may cover.
const MAX_COVERED: u64 = 1 << 32;

/// Writes one line per item.
///
/// Without a granularity a line is the address of an access (for a range operation, its first
/// byte): hexadecimal for byte addresses, decimal for ids. With one, it is the number of an item
/// that the access covers, all of them in ascending order, decimal. The program's own
/// `RecordAccess` counts as one byte, and only in processes without compiler instrumentation.
/// Processes and threads are not distinguished.
pub struct TextWriter<W: Write> {
    out: W,
    path: PathBuf,
    granularity: Option<Granularity>,
    hexadecimal: bool,
    instrumented: HashSet<ProcessId>,
    lines: Vec<u8>,
}

impl<W: Write> TextWriter<W> {
    /// A writer to `out`; `path` is for messages only. `has_addresses` is that of the source.
    pub fn new(out: W, path: &Path, granularity: Option<Granularity>, has_addresses: bool) -> Self {
        TextWriter {
            out,
            path: path.to_owned(),
            hexadecimal: has_addresses && granularity.is_none(),
            granularity,
            instrumented: HashSet::new(),
            lines: Vec::with_capacity(ENOUGH + 64),
        }
    }

    /// Remembers which processes are instrumented; events are not written.
    ///
    /// # Errors
    /// None; it returns a `Result` because other writers can fail here.
    pub fn event(&mut self, event: &Event) -> Result<(), TraceError> {
        if let Event::Process(process) = event
            && process.instrumented
        {
            self.instrumented.insert(process.id);
        }
        Ok(())
    }

    /// Writes the items of a block's accesses.
    ///
    /// # Errors
    /// `FileError::Io` if `out` refuses, `FileError::Corrupt` if a range operation claims to
    /// cover over 2^32 items.
    pub fn block(&mut self, block: &Block) -> Result<(), TraceError> {
        let instrumented = self.instrumented.contains(&block.process);
        for (index, (&kind, &addr)) in block.kinds().iter().zip(block.addrs()).enumerate() {
            let size = match kind {
                Kind::Named if instrumented => continue,
                Kind::Named => 1,
                kind if kind.is_access() => block.access_bytes(index),
                _ => continue,
            };
            self.access(addr, size)?;
        }
        Ok(())
    }

    /// Writes what is gathered, and gives back `out`.
    ///
    /// # Errors
    /// `FileError::Io` if `out` refuses.
    pub fn finish(mut self) -> Result<W, TraceError> {
        self.write()?;
        self.out
            .flush()
            .map_err(|error| TraceError::io("write", &self.path, error))?;
        Ok(self.out)
    }

    fn access(&mut self, addr: u64, size: u64) -> Result<(), TraceError> {
        let Some(granularity) = self.granularity else {
            return self.line(addr);
        };
        let (first, last) = granularity.cover(addr, size);
        if last - first >= MAX_COVERED {
            return Err(FileError::Corrupt {
                path: self.path.clone(),
                what: format!("a range operation claims {size} bytes"),
                position: format!("address {addr:#x}"),
            }
            .into());
        }
        (first..=last).try_for_each(|item| self.line(item))
    }

    fn line(&mut self, item: u64) -> Result<(), TraceError> {
        let written = if self.hexadecimal {
            writeln!(self.lines, "{item:#x}")
        } else {
            writeln!(self.lines, "{item}")
        };
        written.map_err(|error| TraceError::io("write", &self.path, error))?;
        if self.lines.len() >= ENOUGH {
            self.write()
        } else {
            Ok(())
        }
    }

    fn write(&mut self) -> Result<(), TraceError> {
        let written = self.out.write_all(&self.lines);
        self.lines.clear();
        written.map_err(|error| TraceError::io("write", &self.path, error))
    }
}
