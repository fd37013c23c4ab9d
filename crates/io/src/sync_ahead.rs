//! [`SyncThread`]: a thread that flushes a file to the disk (`fdatasync`) while it is written, each
//! time that 16 MiB more were written. [`AtomicFile`](crate::AtomicFile) uses it, so that its final
//! flush need not wait for the entire file.

use std::fs::File;
use std::io::Error;
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::thread::{Builder, JoinHandle};

/// The thread. When this is dropped, it ends after the flush that is running.
#[derive(Debug)]
pub(crate) struct SyncThread {
    wanted: SyncSender<()>,
    thread: JoinHandle<std::io::Result<()>>,
    /// Bytes that were written when the last flush was requested.
    asked: u64,
}

/// Bytes between two requests.
const AHEAD_EVERY: u64 = 16 << 20;

impl SyncThread {
    /// Starts a thread for this file.
    pub(crate) fn new(file: File) -> std::io::Result<SyncThread> {
        let (wanted, asked) = sync_channel(1);
        let thread = Builder::new().name("sync".to_owned());
        let thread = thread.spawn(move || asked.iter().try_for_each(|()| file.sync_data()))?;
        Ok(SyncThread {
            wanted,
            thread,
            asked: 0,
        })
    }

    /// Reports that `written` bytes have been written in total, and requests a flush if it is time.
    /// Returns false if the thread has ended because of an error, which [`Self::end`] returns.
    pub(crate) fn look(&mut self, written: u64) -> bool {
        if written < self.asked + AHEAD_EVERY {
            return true;
        }
        self.asked = written;
        // If a request is pending already, that is enough.
        !matches!(
            self.wanted.try_send(()),
            Err(TrySendError::Disconnected(()))
        )
    }

    /// Ends the thread and returns its error, if there was one. The system reports a write error
    /// only once for each open file.
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// A pipe cannot be flushed to a disk.
    #[test]
    fn look_returns_false_after_a_failed_flush() {
        let (_reader, writer) = std::io::pipe().unwrap();
        let file = File::from(std::os::fd::OwnedFd::from(writer));
        let mut ahead = SyncThread::new(file).unwrap();
        let asked = (1..10_000).find(|round| {
            std::thread::sleep(Duration::from_millis(1));
            !ahead.look(round * AHEAD_EVERY)
        });
        assert!(asked.is_some(), "it goes on");
        assert!(ahead.end().is_err());
    }
}
