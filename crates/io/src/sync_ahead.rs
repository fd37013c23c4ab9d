//! A thread that brings to the disk what has been written of a file, so that who ends it need not
//! wait for all of it.

use std::fs::File;
use std::io::Error;
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
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

    /// So much has been written. False if the thread has ended, for an error that [`Self::end`]
    /// tells.
    pub(crate) fn look(&mut self, written: u64) -> bool {
        if written < self.asked + AHEAD_EVERY {
            return true;
        }
        self.asked = written;
        // If it is busy, it is asked no more than that.
        !matches!(
            self.wanted.try_send(()),
            Err(TrySendError::Disconnected(()))
        )
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// A pipe cannot be brought to any disk.
    #[test]
    fn what_goes_wrong_is_told_at_once() {
        let (_reader, writer) = std::io::pipe().unwrap();
        let file = File::from(std::os::fd::OwnedFd::from(writer));
        let mut ahead = Ahead::new(file).unwrap();
        let asked = (1..10_000).find(|round| {
            std::thread::sleep(Duration::from_millis(1));
            !ahead.look(round * AHEAD_EVERY)
        });
        assert!(asked.is_some(), "it goes on");
        assert!(ahead.end().is_err());
    }
}
