//! Records of rewritten code become shapes and words.

use reuselens_trace::{Block, ProcessId, ShapedBlock, Shapes, Step, ThreadId};
use reuselens_wire::{CODED, NOTE, WireKind};

use super::{Decoder, PLAIN, ROWS_WANTED, drop_torn_end};

/// What [`Decoder::next_shaped`] found.
pub(crate) enum ShapedStep {
    Shaped,
    Other(Step),
}

impl Decoder {
    /// The shapes that [`Self::next_shaped`] has named so far.
    pub fn shapes(&self) -> &Shapes {
        &self.shaping.shapes
    }

    /// Rows that could not be given on as shapes.
    pub fn lost_rows(&self) -> u64 {
        self.shaping.lost
    }

    /// As [`Self::next`], but notes of rewritten code are given on as shapes and words.
    pub fn next_shaped(
        &mut self,
        block: &mut Block,
        shaped: &mut ShapedBlock,
    ) -> Option<ShapedStep> {
        if !self.by_call || self.shapeless {
            return self.next(block).map(ShapedStep::Other);
        }
        if let Some(event) = self.events.pop_front() {
            return Some(ShapedStep::Other(Step::Event(event)));
        }
        self.fill_shaped(shaped);
        if shaped.rows() > 0 {
            return Some(ShapedStep::Shaped);
        }
        if let Some(event) = self.events.pop_front() {
            return Some(ShapedStep::Other(Step::Event(event)));
        }
        let rest = self.shapeless.then(|| self.next(block)).flatten();
        rest.map(ShapedStep::Other)
    }

    /// Turns records into shapes and words up to the next control record.
    fn fill_shaped(&mut self, shaped: &mut ShapedBlock) {
        shaped.clear();
        shaped.process = ProcessId(self.raw.process as u16);
        shaped.thread = ThreadId(self.raw.thread);
        shaped.first_stamp = self.raw.first_stamp;
        shaped.last_stamp = self.raw.last_stamp;
        while shaped.rows() < ROWS_WANTED {
            let (of, shaping) = (self.origin(), &mut self.shaping);
            let records = &mut self.raw.records;
            let into = (shaping, &mut *shaped);
            self.position = self
                .notes
                .shape(of, records, self.position, ROWS_WANTED, into);
            let Some(&record) = self.raw.records.get(self.position) else {
                break;
            };
            if shaped.rows() >= ROWS_WANTED {
                break;
            }
            let number = record.kind();
            let is_row = PLAIN[usize::from(number)].is_some() || number == WireKind::Enter as u8;
            if is_row || matches!(number, NOTE | CODED) {
                self.shapeless = !self.shaping.has_room();
                if self.shapeless {
                    break;
                }
                self.unshaped(shaped);
            } else if number >= WireKind::Process as u8 {
                self.position += 1;
                if let Some(event) = self.control(number, record) {
                    self.events.push_back(event);
                    break;
                }
            } else {
                // Garbage, as in `fill`.
                self.position = self.raw.records.len();
            }
        }
    }

    /// Goes on by what is next and has no shape: ranges, allocations, masked rows.
    fn unshaped(&mut self, shaped: &mut ShapedBlock) {
        let of = self.origin();
        let mut scratch = std::mem::take(&mut self.shaping.scratch);
        let records = &mut self.raw.records;
        self.position = self
            .notes
            .expand(of, records, self.position, 0, 1, &mut scratch);
        if self.position >= self.raw.records.len() {
            drop_torn_end(&mut scratch);
        }
        self.shaping.scratch = scratch;
        self.shaping.rows(shaped);
    }
}
