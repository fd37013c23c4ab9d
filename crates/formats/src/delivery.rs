//! The order in which a reader delivers: first the events of its one process and thread, then
//! blocks, then the error, if there was one, or the end. Rows that were read before an error are
//! delivered before it.
//!
//! Used by the readers of formats with one thread: `line_reader`, `records` and text. Also here:
//! the row of an item, and the rows of an object with a size.

use std::collections::VecDeque;

use reuselens_trace::{Block, Event, Kind, Process, Row, Step, Thread, TraceError};

/// Rows after which a reader hands over its block; one more line of input still fits into 64 Ki.
pub(super) const ENOUGH: usize = 32 << 10;

/// The row of an item in a format that knows nothing but items.
pub(super) fn item(id: u64) -> Row {
    Row {
        kind: Kind::Load,
        size: 1,
        pc: 0,
        addr: id,
    }
}

/// A request for an object that has a size.
#[derive(Clone, Copy, Debug)]
pub struct ObjectRequest {
    /// [`Kind::Load`] or [`Kind::Store`].
    pub kind: Kind,
    pub id: u64,
    pub bytes: u64,
}

/// The rows of a request for an object of `bytes` bytes: those of an access of `bytes` bytes at
/// address `id`.
pub(super) fn object(request: ObjectRequest) -> impl Iterator<Item = Row> + Clone {
    let ObjectRequest { kind, id, bytes } = request;
    let short = u8::try_from(bytes).ok();
    let first = Row {
        kind: match (short, kind) {
            (Some(_), kind) => kind,
            (None, Kind::Store) => Kind::RangeStore,
            (None, _) => Kind::RangeLoad,
        },
        size: short.unwrap_or(0),
        ..item(id)
    };
    let operand = Row {
        kind: Kind::Operand,
        size: 0,
        ..item(bytes)
    };
    std::iter::once(first).chain(short.is_none().then_some(operand))
}

/// The order of deliveries of a reader, so that rows read before an error are not lost with it.
pub(super) struct Delivery {
    events: VecDeque<Event>,
    rows: Block,
    failed: Option<TraceError>,
    over: bool,
}

impl Delivery {
    /// Begins with one process of that executable and one thread of it.
    pub(super) fn new(process: Process) -> Delivery {
        let thread = Thread {
            process: process.id,
            ..Thread::default()
        };
        Delivery {
            events: [Event::Process(process), Event::Thread(thread)].into(),
            rows: Block::new(),
            failed: None,
            over: false,
        }
    }

    /// The next step. `fill` appends rows, or items, and says whether there are more.
    pub(super) fn next(
        &mut self,
        block: &mut Block,
        fill: impl FnOnce(&mut Block) -> Result<bool, TraceError>,
    ) -> Result<Step, TraceError> {
        if let Some(event) = self.events.pop_front() {
            return Ok(Step::Event(event));
        }
        if !self.over && self.failed.is_none() {
            self.rows.clear();
            match fill(&mut self.rows) {
                Ok(more) => self.over = !more,
                Err(error) => self.failed = Some(error),
            }
            if !self.rows.is_empty() || self.rows.item_batch.is_used() {
                std::mem::swap(&mut self.rows, block);
                return Ok(Step::Block);
            }
        }
        match self.failed.take() {
            Some(error) => {
                self.over = true;
                Err(error)
            }
            None => Ok(Step::End),
        }
    }
}
