//! A thread that unpacks ahead of the reader, a bounded number of parts.

use std::io::{Error, ErrorKind, Read, Result};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread;

/// Bytes handed over at once.
const PART: usize = 256 << 10;
/// Parts that wait for the reader at most.
const WAITING: usize = 3;
/// Bytes held at most: those that wait, one part that is filled and one that is read.
pub(super) const MOST_HELD: usize = (WAITING + 2) * PART;

/// What the thread says.
enum Message {
    /// So many bytes of this buffer come next.
    Part(Vec<u8>, usize),
    /// There is no more.
    End,
    /// There is no more because of that.
    Failed(Error),
}

/// The thread's end: where unpacked bytes go.
pub(super) struct Sink {
    messages: SyncSender<Message>,
    used: Receiver<Vec<u8>>,
}

impl Sink {
    /// Hands over all that `unpacked` gives, and what came before an error too. `false` if the
    /// other side is gone: then there is nothing left to do.
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

/// Fills `part` as far as it goes: how many bytes, and whether that was the end.
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

/// The reader's end. When it is dropped, the thread ends with what it does next.
pub(super) struct Ahead {
    messages: Receiver<Message>,
    used: Sender<Vec<u8>>,
    part: Vec<u8>,
    at: usize,
    filled: usize,
    over: bool,
}

impl Ahead {
    /// Starts a thread that does `job`.
    pub(super) fn start(job: impl FnOnce(&Sink) -> Result<()> + Send + 'static) -> Result<Ahead> {
        let (to_reader, messages) = sync_channel(WAITING);
        let (used, from_reader) = channel();
        let sink = Sink {
            messages: to_reader,
            used: from_reader,
        };
        let work = move || {
            let last = match job(&sink) {
                Ok(()) => Message::End,
                Err(error) => Message::Failed(error),
            };
            // Nobody listens any more: nobody misses it.
            let _ = sink.messages.send(last);
        };
        // Not waited for: it may hang in a pipe that never ends, and holds nothing that others
        // need.
        thread::Builder::new()
            .name("unpack".to_owned())
            .spawn(work)?;
        Ok(Ahead {
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

impl Read for Ahead {
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
    fn all_comes_in_order_and_then_the_error() {
        let bytes: Vec<u8> = (0..3 * PART + 77).map(|at| (at % 251) as u8).collect();
        let sent = bytes.clone();
        let mut ahead = Ahead::start(move |sink| {
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
    fn a_thread_that_breaks_down_is_an_error() {
        let mut ahead = Ahead::start(|_| panic!("on purpose")).unwrap();
        let error = ahead.read(&mut [0; 8]).unwrap_err();
        assert!(error.to_string().contains("broke down"), "{error}");
    }

    #[test]
    fn the_thread_ends_when_nobody_reads() {
        let (ended, wait) = channel();
        let ahead = Ahead::start(move |sink| {
            let there = sink.copy(&mut std::io::repeat(7))?;
            ended.send(there).unwrap();
            Ok(())
        })
        .unwrap();
        drop(ahead);
        assert!(!wait.recv().unwrap());
    }
}
