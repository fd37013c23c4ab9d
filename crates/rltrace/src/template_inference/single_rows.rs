//! Templates of one row, for the rows of unmatched fragments.
//!
//! `template_inference` asks for one by what the row is. A hash table of fixed size; a row that
//! finds no room makes its block stay rows.

use super::RowKey;
use reuselens_trace::Templates;

/// Slots of the table.
const SLOTS: usize = 1 << 14;
/// The most rows that have a template.
const MAX_ROWS: usize = SLOTS / 2;
/// Slots that are looked at for a row.
const PROBES: usize = 16;

/// The templates of one row, found by what the row is.
pub(super) struct SingleRows {
    /// Each with its template's number.
    slots: Box<[Option<(RowKey, u32)>]>,
    count: usize,
    /// A row found no free slot among its probes.
    refused: bool,
}

impl SingleRows {
    pub(super) fn new() -> SingleRows {
        SingleRows {
            slots: vec![None; SLOTS].into(),
            count: 0,
            refused: false,
        }
    }

    pub(super) fn clear(&mut self) {
        self.slots.fill(None);
        (self.count, self.refused) = (0, false);
    }

    pub(super) fn is_full(&self) -> bool {
        self.refused || self.count >= MAX_ROWS
    }

    /// The template of such a row; made if there is none. `None` if there is no room for it.
    pub(super) fn find(&mut self, key: RowKey, templates: &mut Templates) -> Option<u32> {
        let first = key.mix(0) as usize;
        for probe in 0..PROBES {
            let slot = &mut self.slots[first.wrapping_add(probe) % SLOTS];
            match slot {
                Some((other, template)) if *other == key => return Some(*template),
                Some(_) => {}
                None if self.count >= MAX_ROWS => return None,
                None => {
                    let template = templates.add(&[key.template_row(Some(0), 0)])?;
                    *slot = Some((key, template));
                    self.count += 1;
                    return Some(template);
                }
            }
        }
        self.refused = true;
        None
    }
}
