//! A thread that brings to the disk what has been written of a file, so that who ends it need not wait for all of it.

use std::fs::File;
use std::io::Error;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::{Builder, JoinHandle};

/// The thread. It ends when this is dropped, after what it is at.
#[derive(Debug)]
pub(crate) struct Ahead {
    wanted: SyncSender<()>,
    thread: JoinHandle<std::io::Result<()>>,
    /// How much was written when it was last asked to.
    asked: u64,
}

/// Bytes after which it is asked to again.
const AHEAD_EVERY: u64 = 16 << 20;

impl Ahead {
    /// A thread for this file.
    pub(crate) fn new(file: File) -> std::io::Result<Ahead> {
        let (wanted, asked) = sync_channel(1);
        let thread = Builder::new().name("sync".to_owned());
        let thread = thread.spawn(move || asked.iter().try_for_each(|()| file.sync_data()))?;
        Ok(Ahead {
            wanted,
            thread,
            asked: 0,
        })
    }

    /// So much has been written.
    pub(crate) fn look(&mut self, written: u64) {
        if written >= self.asked + AHEAD_EVERY {
            self.asked = written;
            // If it is busy, or has ended for an error, it is asked no more than that.
            let _ = self.wanted.try_send(());
        }
    }

    /// What went wrong meanwhile: the system says that once for each file.
    pub(crate) fn end(self) -> std::io::Result<()> {
        drop(self.wanted);
        let gone = |_| {
            Err(Error::other(
                "the thread that brings it to the disk has ended",
            ))
        };
        self.thread.join().unwrap_or_else(gone)
    }
}
