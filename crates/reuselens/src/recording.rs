//! From a source to a trace file.

use std::path::{Path, PathBuf};

use reuselens_capture::{Launch, Running};
use reuselens_trace::formats::native;
use reuselens_trace::{AtomicFile, Block, Event, ProcessEnd, ProcessId, Source, Step};

use crate::Error;

/// What was recorded.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// The trace file.
    pub path: PathBuf,
    /// Rows in it (accesses and all other events of threads).
    pub rows: u64,
    /// Blocks in it.
    pub blocks: u64,
    /// How the program ended.
    pub ended: Option<ProcessEnd>,
}

/// Runs a program and writes what it does into a native trace file at `path`. While it is written the
/// file is called `PATH.partial`; if this process dies, that file is readable up to its last whole
/// chunk. `None`, and no file, if the program has no run time of ours in it.
///
/// # Errors
/// If the file exists and `force` is not set, or cannot be written (a full disk: what was written so
/// far stays under its partial name), or the program cannot be run.
pub fn record_program(
    launch: &Launch,
    path: &Path,
    force: bool,
) -> Result<Option<Recorded>, Error> {
    let file = AtomicFile::create(path, force)?;
    let mut running = Running::start(launch)?;
    let recorded = write(&mut running, file, path)?;
    Ok(recorded.filter(|_| running.saw_run_time()))
}

/// Writes all of `source` into a native trace file at `path`; as [`record_program`] otherwise. `None`
/// if there is nothing in it.
///
/// # Errors
/// As for [`record_program`].
pub fn record(
    source: &mut dyn Source,
    path: &Path,
    force: bool,
) -> Result<Option<Recorded>, Error> {
    let file = AtomicFile::create(path, force)?;
    write(source, file, path)
}

fn write(
    source: &mut dyn Source,
    mut file: AtomicFile,
    path: &Path,
) -> Result<Option<Recorded>, Error> {
    let mut block = Block::new();
    // What is captured is known once the program's first process has shown itself.
    let mut step = source.next(&mut block)?;
    if step == Step::End {
        return Ok(None);
    }
    file.keep_partial()?;
    let header = native::Header {
        has_addresses: source.has_addresses(),
        description: source.describe(),
    };
    let mut recorded = Recorded {
        path: path.to_owned(),
        rows: 0,
        blocks: 0,
        ended: None,
    };
    let mut writer = native::Writer::new(file, path, &header)?;
    loop {
        match step {
            Step::Block => {
                recorded.rows += block.len() as u64;
                recorded.blocks += 1;
                writer.block(&block)?;
            }
            Step::Event(event) => {
                // Rare, and needed for all that follows: it goes out at once.
                let flush = matches!(event, Event::Process(_) | Event::Module(_));
                if let Event::ProcessEnded(ProcessId(0), end) = &event {
                    recorded.ended = Some(*end);
                }
                writer.event(&event)?;
                if flush {
                    writer.flush()?;
                }
            }
            Step::End => break,
        }
        step = source.next(&mut block)?;
    }
    recorded.path = writer.finish()?.commit()?;
    Ok(Some(recorded))
}
