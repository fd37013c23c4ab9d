//! Where the cells went that were merged in a part.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// By the number that a cell had before a part, the number of the cell that has its accesses after
/// it. Cells that are not named kept their numbers. Numbers of merged cells are used again, so this
/// is for all cells at once: see [`Columns::merged`](reuselens_attribute::Columns::merged).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Moves(BTreeMap<u32, u32>);

impl Moves {
    /// Pairs of a cell and the one that it became a part of, in order.
    pub fn of(merged: &[(u32, u32)]) -> Moves {
        let mut moves = Moves::default();
        // From the last one back: what became a part of a cell goes where that goes after it.
        for &(from, to) in merged.iter().rev() {
            let to = moves.now(to);
            moves.0.insert(from, to);
        }
        moves
    }

    /// The number after the part of a cell with this number before.
    pub fn now(&self, cell: u32) -> u32 {
        *self.0.get(&cell).unwrap_or(&cell)
    }

    /// Adds the moves that came after these.
    pub fn then(&mut self, later: &Moves) {
        for cell in self.0.values_mut() {
            *cell = later.now(*cell);
        }
        for (&from, &to) in &later.0 {
            self.0.entry(from).or_insert(to);
        }
    }

    /// Whether all numbers are below `limit`.
    pub fn is_sound(&self, limit: u32) -> bool {
        self.0.iter().all(|(from, to)| from.max(to) < &limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_go_where_those_go_that_they_are_part_of() {
        // The number 3 is used again for the cell that 5 becomes a part of.
        let moves = Moves::of(&[(3, 4), (5, 3), (3, 6), (4, 7)]);
        assert_eq!([3, 4, 5, 6, 7].map(|cell| moves.now(cell)), [7, 7, 6, 6, 7]);
    }

    #[test]
    fn moves_in_two_parts_are_those_of_both() {
        let all = [
            (3, 4),
            (5, 3),
            (3, 6),
            (4, 7),
            (6, 3),
            (7, 3),
            (8, 1),
            (1, 5),
        ];
        for cut in 0..=all.len() {
            let mut both = Moves::of(&all[..cut]);
            both.then(&Moves::of(&all[cut..]));
            assert_eq!(both, Moves::of(&all), "{cut}");
        }
    }
}
