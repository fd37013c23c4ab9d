//! [`UnpackThread`]: a thread that decompresses ahead of its reader. It sends parts of 256 KiB
//! through a channel that holds three of them, so it is a bounded number of bytes ahead; the reader
//! sends used buffers back. [`PartSender`] is the thread's side of the channel.

use std::io::{Error, ErrorKind, Read, Result};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread;

/// Bytes of a part.
const PART: usize = 256 << 10;
/// The most parts that wait for the reader.
const WAITING: usize = 3;
/// The most bytes in memory: the parts that wait, one that is being filled, and one that is read.
pub(super) const MOST_HELD: usize = (WAITING + 2) * PART;

/// A message of the thread.
enum Message {
    /// A part: this many bytes of the buffer are next.
    Part(Vec<u8>, usize),
    /// The end.
    End,
    /// The end, because of this error.
    Failed(Error),
}

/// The thread's side of the channel.
pub(super) struct PartSender {
    messages: SyncSender<Message>,
    used: Receiver<Vec<u8>>,
}

impl PartSender {
    /// Sends all bytes of `unpacked`, those before an error, too. Returns `false` if the reader is
    /// gone, so that the thread may stop.
    pub(super) fn copy(&self, unpacked: &mut dyn Read) -> Result<bool> {
        loop {
            let mut part = self.used.try_recv().unwrap_or_else(|_| vec![0; PART]);
            let (filled, ended) = fill(unpacked, &mut part);
            if filled > 0 && self.messages.send(Message::Part(part, filled)).is_err() {
                return Ok(false);
            }
            if ended? {
                return Ok(true);
            }
        }
    }
}

/// Fills `part` as far as possible. Returns the number of bytes, and whether that was the end.
fn fill(unpacked: &mut dyn Read, part: &mut [u8]) -> (usize, Result<bool>) {
    let mut filled = 0;
    while filled < part.len() {
        match unpacked.read(&mut part[filled..]) {
            Ok(0) => return (filled, Ok(true)),
            Ok(count) => filled += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return (filled, Err(error)),
        }
    }
    (filled, Ok(false))
}

/// The reader's side of the channel. When it is dropped, the thread ends when it sends next.
pub(super) struct UnpackThread {
    messages: Receiver<Message>,
    used: Sender<Vec<u8>>,
    part: Vec<u8>,
    at: usize,
    filled: usize,
    over: bool,
}

impl UnpackThread {
    /// Starts a thread that does `job`.
    pub(super) fn start(
        job: impl FnOnce(&PartSender) -> Result<()> + Send + 'static,
    ) -> Result<UnpackThread> {
        let (to_reader, messages) = sync_channel(WAITING);
        let (used, from_reader) = channel();
        let sink = PartSender {
            messages: to_reader,
            used: from_reader,
        };
        let work = move || {
            let last = match job(&sink) {
                Ok(()) => Message::End,
                Err(error) => Message::Failed(error),
            };
            // If the reader is gone, the message is not needed.
            let _ = sink.messages.send(last);
        };
        // The thread is never joined: it may be blocked at a pipe that never ends, and holds
        // nothing that other threads need.
        thread::Builder::new()
            .name("unpack".to_owned())
            .spawn(work)?;
        Ok(UnpackThread {
            messages,
            used,
            part: Vec::new(),
            at: 0,
            filled: 0,
            over: false,
        })
    }

    /// Waits for the next part; `false` at the end.
    fn next(&mut self) -> Result<bool> {
        match self.messages.recv() {
            Ok(Message::Part(part, filled)) => {
                let used = std::mem::replace(&mut self.part, part);
                if !used.is_empty() {
                    let _ = self.used.send(used);
                }
                (self.at, self.filled) = (0, filled);
                return Ok(true);
            }
            Ok(Message::End) => self.over = true,
            Ok(Message::Failed(error)) => {
                self.over = true;
                return Err(error);
            }
            Err(_) => {
                self.over = true;
                return Err(Error::other("the thread that unpacks it broke down"));
            }
        }
        Ok(false)
    }
}

impl Read for UnpackThread {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        while self.at == self.filled {
            if self.over || !self.next()? {
                return Ok(0);
            }
        }
        let part = &self.part[self.at..self.filled];
        let count = part.len().min(buffer.len());
        buffer[..count].copy_from_slice(&part[..count]);
        self.at += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_before_an_error_are_read_in_order() {
        let bytes: Vec<u8> = (0..3 * PART + 77).map(|at| (at % 251) as u8).collect();
        let sent = bytes.clone();
        let mut ahead = UnpackThread::start(move |sink| {
            sink.copy(&mut &sent[..])?;
            Err(Error::other("it broke"))
        })
        .unwrap();
        let mut read = Vec::new();
        let error = ahead.read_to_end(&mut read).unwrap_err();
        assert_eq!(error.to_string(), "it broke");
        assert_eq!(read, bytes);
        assert_eq!(ahead.read(&mut [0; 8]).unwrap(), 0);
    }

    #[test]
    fn panic_of_the_thread_is_a_read_error() {
        let mut ahead = UnpackThread::start(|_| panic!("on purpose")).unwrap();
        let error = ahead.read(&mut [0; 8]).unwrap_err();
        assert!(error.to_string().contains("broke down"), "{error}");
    }

    #[test]
    fn thread_ends_when_its_reader_is_dropped() {
        let (ended, wait) = channel();
        let ahead = UnpackThread::start(move |sink| {
            let there = sink.copy(&mut std::io::repeat(7))?;
            ended.send(there).unwrap();
            Ok(())
        })
        .unwrap();
        drop(ahead);
        assert!(!wait.recv().unwrap());
    }
}
