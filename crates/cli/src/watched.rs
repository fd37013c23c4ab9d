//! [`DamageWatch`]: a source that notices whether another source was cut off or damaged, for
//! commands whose results do not report it.

use reuselens::trace::{Block, Event, Note, Projection, Source, Step, TraceError};
use reuselens::units::Bytes;

/// A source that passes another one on, and notices whether that was cut off or damaged.
///
/// It delivers rows as they are, without asking the other source for a projection.
pub struct DamageWatch<S> {
    source: S,
    damage: Option<String>,
}

impl<S: Source> DamageWatch<S> {
    /// Watches `source`.
    pub fn new(source: S) -> DamageWatch<S> {
        DamageWatch {
            source,
            damage: None,
        }
    }

    /// The damage so far, if any: an error after which the rest is missing, or the remark in a copy
    /// of such a trace.
    pub fn damage(&self) -> Option<&str> {
        self.damage.as_deref()
    }
}

impl<S: Source> Source for DamageWatch<S> {
    fn next(&mut self, block: &mut Block) -> Result<Step, TraceError> {
        let step = self.source.next(block);
        match &step {
            Err(error) if error.is_partial() => self.damage = Some(error.to_string()),
            Ok(Step::Event(Event::Note(note))) if note.code == Note::TRUNCATED => {
                self.damage = Some(note.message.clone());
            }
            _ => {}
        }
        step
    }

    fn has_addresses(&self) -> bool {
        self.source.has_addresses()
    }

    fn describe(&self) -> String {
        self.source.describe()
    }

    fn progress(&self) -> Option<(u64, u64)> {
        self.source.progress()
    }

    fn memory(&self) -> Bytes {
        self.source.memory()
    }

    fn read_ahead_within(&mut self, most: Bytes) {
        self.source.read_ahead_within(most);
    }

    fn is_of_one_thread(&self) -> bool {
        false
    }

    fn project(&mut self, _projection: Projection) -> bool {
        false
    }
}
