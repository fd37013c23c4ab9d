//! [`Lockstep`]: the order in which warps and blocks that run side by side are looked at.

use reuselens_warp::WarpRow;

/// An entry of a list that has a place in the order.
pub(crate) trait Positioned {
    /// Entries with a lower one come first.
    fn position(&self) -> u64;
}

/// The place of a record in the order: by phases, as barriers order records, and within a phase by
/// positions. Positions from 2³² on in one phase count as one: records at them come in the order of
/// warps.
#[inline(always)]
pub(crate) fn position_of(row: &WarpRow<'_>) -> u64 {
    u64::from(row.phase) << 32 | row.position.min(u32::MAX.into())
}

/// What is left of a list.
#[derive(Debug)]
struct ListRest<'l, T> {
    list: usize,
    /// Of the next entry.
    position: u64,
    rest: &'l [T],
}

/// The entries of lists, each with its list's number, by position and then by list, as if all lists
/// advanced together. Positions ascend in each list; an entry that is below those before it in its
/// list comes right after them.
///
/// An iterator and not a function that takes one, as closures are not always compiled for the
/// level of their caller.
///
/// Cost: a comparison for each list that has entries left and each position that occurs.
#[derive(Debug)]
pub(crate) struct Lockstep<'l, T> {
    going: Vec<ListRest<'l, T>>,
    /// The list whose entries come now: index in `going`.
    at: usize,
    /// The present position.
    now: u64,
    /// The lowest position of the lists before this one.
    next: u64,
    has_ended: bool,
}

impl<'l, T: Positioned> Lockstep<'l, T> {
    /// The lists with their numbers.
    pub fn new(lists: impl Iterator<Item = (usize, &'l [T])>) -> Lockstep<'l, T> {
        let going: Vec<ListRest<'l, T>> = lists
            .filter_map(|(list, rest)| {
                let position = rest.first()?.position();
                Some(ListRest {
                    list,
                    position,
                    rest,
                })
            })
            .collect();
        let positions = going.iter().map(|cursor| cursor.position);
        Lockstep {
            now: positions.min().unwrap_or(0),
            going,
            at: 0,
            next: u64::MAX,
            has_ended: false,
        }
    }

    /// All lists have given the entries of a position.
    #[inline(always)]
    fn advance(&mut self) {
        if self.has_ended {
            self.going.retain(|cursor| !cursor.rest.is_empty());
        }
        (self.now, self.next) = (self.next, u64::MAX);
        (self.at, self.has_ended) = (0, false);
    }
}

impl<'l, T: Positioned> Iterator for Lockstep<'l, T> {
    type Item = (usize, &'l T);

    #[inline(always)]
    fn next(&mut self) -> Option<(usize, &'l T)> {
        loop {
            while let Some(cursor) = self.going.get_mut(self.at) {
                if cursor.position <= self.now
                    && let Some((entry, rest)) = cursor.rest.split_first()
                {
                    cursor.rest = rest;
                    match rest.first() {
                        Some(entry) => cursor.position = entry.position(),
                        None => self.has_ended = true,
                    }
                    return Some((cursor.list, entry));
                }
                if !cursor.rest.is_empty() {
                    self.next = self.next.min(cursor.position);
                }
                self.at += 1;
            }
            if self.going.is_empty() {
                return None;
            }
            self.advance();
        }
    }
}
