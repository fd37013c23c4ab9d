//! A thread that packs, so that what is written next need not wait for it.

use std::io::{Error, Result};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::Builder;

use crate::pack::Packer;

/// A chunk: its bytes, and those packed.
#[derive(Default)]
pub(super) struct Packed {
    pub(super) plain: Vec<u8>,
    pub(super) stored: Vec<u8>,
}

/// The thread. It ends when this is dropped; what it was packing then is lost.
pub(super) struct Aside {
    jobs: SyncSender<Packed>,
    done: Receiver<Result<Packed>>,
}

impl Aside {
    pub(super) fn new() -> Result<Aside> {
        let mut packer = Packer::new()?;
        let (jobs, waiting) = sync_channel::<Packed>(1);
        let (finished, done) = sync_channel(1);
        let thread = Builder::new().name("pack".to_owned());
        thread.spawn(move || {
            while let Ok(mut chunk) = waiting.recv() {
                let packed = packer.pack(&chunk.plain, &mut chunk.stored);
                if finished.send(packed.map(|()| chunk)).is_err() {
                    return;
                }
            }
        })?;
        Ok(Aside { jobs, done })
    }

    /// Begins with a chunk; the one before was taken.
    pub(super) fn begin(&self, chunk: Packed) -> Result<()> {
        self.jobs.send(chunk).map_err(|_| gone())
    }

    /// Waits for the chunk that was begun.
    pub(super) fn take(&self) -> Result<Packed> {
        self.done.recv().map_err(|_| gone())?
    }
}

fn gone() -> Error {
    Error::other("the thread that packs has ended")
}
