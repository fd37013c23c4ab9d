//! Shapes of one row: for rows of pieces that are not known.

use super::Site;
use reuselens_trace::Shapes;

/// Places of the table.
const SLOTS: usize = 1 << 14;
/// The most rows that have a shape.
const MOST: usize = SLOTS / 2;
/// Places that are looked at for a row.
const PROBES: usize = 16;

/// The shapes of one row, found by what the row is.
pub(super) struct Singles {
    /// Each with its shape's number.
    slots: Box<[Option<(Site, u32)>]>,
    count: usize,
    /// A row found no place.
    refused: bool,
}

impl Singles {
    pub(super) fn new() -> Singles {
        Singles {
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
        self.refused || self.count >= MOST
    }

    /// The shape of a row of this site. `None` if there is no room for it.
    pub(super) fn find(&mut self, site: Site, shapes: &mut Shapes) -> Option<u32> {
        let first = site.mix(0) as usize;
        for probe in 0..PROBES {
            let slot = &mut self.slots[first.wrapping_add(probe) % SLOTS];
            match slot {
                Some((other, shape)) if *other == site => return Some(*shape),
                Some(_) => {}
                None if self.count >= MOST => return None,
                None => {
                    let shape = shapes.add(&[site.row(Some(0), 0)])?;
                    *slot = Some((site, shape));
                    self.count += 1;
                    return Some(shape);
                }
            }
        }
        self.refused = true;
        None
    }
}
