//! Which thread the rows of a table belong to.
//!
//! Used by `reader`, for tables with a column of threads.
//!
//! A block has rows of one thread, so it ends before the line of another thread: `is_present`
//! remembers that thread, and `switch` then makes it the present one. Memory grows with the number
//! of threads.

use std::collections::HashMap;

use crate::names::Names;
use crate::number::number;
use reuselens_io::text_of_bytes;
use reuselens_trace::{Event, ProcessId, Thread, ThreadId};
use reuselens_units::Bytes;

/// The longest name of a thread that is kept.
const LONGEST: usize = 64;

/// Which thread the rows belong to. Memory grows with the number of distinct threads.
#[derive(Default)]
pub(super) struct TableThreads {
    names: Names,
    numbers: HashMap<u64, ThreadId>,
    /// What the table calls the thread of the present block.
    pub(super) present: Option<u64>,
    /// Its number.
    pub(super) id: ThreadId,
    next: Option<(u64, Thread)>,
}

impl TableThreads {
    /// What the table means by a field. Says whether it is the present thread; if not, that thread
    /// is next.
    pub(super) fn is_present(&mut self, field: &[u8]) -> bool {
        let called = self.names.id(field);
        if self.present == Some(called) {
            return true;
        }
        let number = number(field);
        let thread = Thread {
            process: ProcessId::default(),
            tid: number
                .and_then(|number| u32::try_from(number).ok())
                .unwrap_or(0),
            name: match number {
                Some(_) => String::new(),
                None => text_of_bytes(&field[..field.len().min(LONGEST)]).into_owned(),
            },
            ..Thread::default()
        };
        self.next = Some((called, thread));
        false
    }

    /// The memory held.
    pub(super) fn memory(&self) -> Bytes {
        let numbers = self.numbers.capacity() * (size_of::<(u64, ThreadId)>() + 1);
        self.names.memory() + Bytes(numbers as u64)
    }

    /// Makes the next thread the present one, if there is a next one; returns its event if it is
    /// new.
    pub(super) fn switch(&mut self) -> Option<Event> {
        let (called, thread) = self.next.take()?;
        self.present = Some(called);
        let new = ThreadId(u32::try_from(self.numbers.len()).unwrap_or(u32::MAX));
        self.id = *self.numbers.entry(called).or_insert(new);
        (self.id == new).then_some(Event::Thread(Thread { id: new, ..thread }))
    }
}
