//! [`Direct`]: the way of the counting tree for streams that seldom reuse within the window: each
//! access goes through the table and the bits, in batches of 64. `window` is the other way; both
//! give the same distances.

use reuselens_simd::entry_point;
use reuselens_units::Distance;

#[cfg(target_arch = "x86_64")]
use super::compare::{Avx2, Avx512};
use super::compare::{Compare, Portable};
use super::dense::Dense;
use super::line::NEVER;
use super::live_bits::LiveBits;
use super::sparse::Sparse;
use super::table::Table;
use crate::prefetch::prefetch;

/// The accesses of a batch at most.
pub(super) const BATCH: usize = 64;

/// Items that are asked for ahead of the batch that they are in.
const AHEAD: usize = 2 * BATCH;

/// Lines of the table that are asked for together.
const GROUP: usize = 8;

/// What is known of the accesses of a batch.
pub(super) struct LookupBatch {
    homes: [usize; BATCH],
    /// The step of the previous access to the item.
    previous: [u32; BATCH],
    /// The accesses whose item is not where it is first looked for.
    elsewhere: [u8; BATCH],
    others: usize,
}

impl LookupBatch {
    pub(super) const EMPTY: LookupBatch = LookupBatch {
        homes: [0; BATCH],
        previous: [NEVER; BATCH],
        elsewhere: [0; BATCH],
        others: 0,
    };

    /// Stage 1: finds where the table may have the items. That memory is asked for bit by bit while
    /// the batch before is counted: asking for all of it at once would fill the processor's queue
    /// of misses.
    #[inline(always)]
    pub(super) fn locate(&mut self, table: &mut impl Table, items: &[u64]) {
        for (&item, home) in items.iter().zip(&mut self.homes) {
            *home = table.home(item);
        }
    }

    /// Stage 1 for a batch with none before it: asks for the memory at once.
    #[inline(always)]
    pub(super) fn locate_now(&mut self, table: &mut impl Table, items: &[u64]) {
        self.locate(table, items);
        for &home in &self.homes[..items.len()] {
            table.prefetch(home);
        }
    }

    /// Stage 2: replaces the last step of each item and keeps the one before; the first item is at
    /// step `now`. `ask` is called with each previous step, to prefetch its bits.
    #[inline(always)]
    pub(super) fn look_up(
        &mut self,
        compare: impl Compare,
        table: &mut impl Table,
        now: u32,
        items: &[u64],
        ask: impl Fn(u32),
    ) {
        let known = items.iter().zip(&self.homes).zip(&mut self.previous);
        let mut others = 0;
        for (index, ((&item, &home), previous)) in (0_u8..).zip(known) {
            let step = now.wrapping_add(index.into());
            match table.replace_at_home(compare, item, home, step) {
                Some(found) => {
                    *previous = found;
                    ask(found);
                }
                None => {
                    self.elsewhere[others % BATCH] = index;
                    others += 1;
                }
            }
        }
        self.others = others;
    }

    /// Stage 2 for those of which the memory was not known before.
    #[inline(always)]
    pub(super) fn look_further(
        &mut self,
        compare: impl Compare,
        table: &mut impl Table,
        now: u32,
        items: &[u64],
        ask: impl Fn(u32),
    ) {
        for &index in &self.elsewhere[..self.others] {
            let index = usize::from(index) % BATCH;
            let step = now.wrapping_add(index as u32);
            let (item, home) = (items[index], self.homes[index]);
            let previous = table.replace_elsewhere(compare, item, home, step);
            self.previous[index] = previous;
            ask(previous);
        }
    }

    /// The last steps that were found, a group at a time, and meanwhile asks for the lines of the
    /// `next` batch.
    #[inline(always)]
    pub(super) fn found<'a>(
        &'a self,
        next: &'a LookupBatch,
        table: &'a impl Table,
    ) -> impl Iterator<Item = &'a [u32]> {
        let groups = self.previous.chunks(GROUP).zip(next.homes.chunks(GROUP));
        groups.map(|(previous, homes)| {
            for &home in homes {
                table.prefetch(home);
            }
            previous
        })
    }

    /// Stage 3: the distances, and the new state of the bits, one access after the other. Meanwhile
    /// the lines of the `next` batch are asked for.
    #[inline(always)]
    fn count(
        &self,
        bits: &mut LiveBits,
        distances: &mut [Distance],
        next: &LookupBatch,
        table: &impl Table,
    ) {
        let steps = distances.len() as u64;
        let before = bits.live();
        bits.begin(steps);
        let mut live = before;
        let mut taker = bits.taker();
        let mut known = self.found(next, table);
        for distances in distances.chunks_mut(GROUP) {
            let Some(previous) = known.next() else {
                break;
            };
            for (distance, &step) in distances.iter_mut().zip(previous) {
                *distance = if step == NEVER {
                    live += 1;
                    Distance::COLD
                } else {
                    Distance::new(live - 1 - taker.take(step))
                };
            }
        }
        bits.end(steps, before + steps - live);
    }
}

/// Prefetches items of the stream. So many other lines are fetched in between that the processor
/// does not recognise the sequence by itself.
#[inline(always)]
pub(super) fn ask_ahead(rest: &[u64]) {
    for line in (AHEAD..AHEAD + BATCH).step_by(8) {
        prefetch(rest, line);
    }
}

/// The loop that all accesses go through. It writes a column of distances, so it is compiled once
/// for both outputs.
pub(crate) struct Direct<'a, T> {
    pub(super) table: &'a mut T,
    pub(super) bits: &'a mut LiveBits,
    pub(super) batches: &'a mut [LookupBatch; 2],
}

entry_point! {
    /// [`Direct::run_here`] with the instructions of `level`.
    pub(super) fn direct_sparse(
        level,
        direct: &mut Direct<'_, Sparse>,
        items: &[u64],
        distances: &mut [Distance],
    ) {
        Icelake(proof) => direct.run_here(Avx512::with(proof), items, distances),
        V3(proof) => direct.run_here(Avx2::with(proof), items, distances),
        _ => direct.run_here(Portable, items, distances),
    }
}

entry_point! {
    /// [`Direct::run_here`] with the instructions of `level`.
    pub(super) fn direct_dense(
        level,
        direct: &mut Direct<'_, Dense>,
        items: &[u64],
        distances: &mut [Distance],
    ) {
        Icelake(proof) => direct.run_here(Avx512::with(proof), items, distances),
        V3(proof) => direct.run_here(Avx2::with(proof), items, distances),
        _ => direct.run_here(Portable, items, distances),
    }
}

impl<T: Table> Direct<'_, T> {
    /// Takes all `items` through the table and the bits.
    #[inline(always)]
    pub(crate) fn run_here(
        &mut self,
        compare: impl Compare,
        items: &[u64],
        distances: &mut [Distance],
    ) {
        run(
            compare,
            self.table,
            self.bits,
            self.batches,
            items,
            distances,
        );
    }
}

#[inline(always)]
fn run(
    compare: impl Compare,
    table: &mut impl Table,
    bits: &mut LiveBits,
    batches: &mut [LookupBatch; 2],
    items: &[u64],
    distances: &mut [Distance],
) {
    let [current, next] = batches;
    let (mut current, mut next) = (current, next);
    let (mut batch, mut rest) = items.split_at(BATCH.min(items.len()));
    let mut distances = distances;
    // Finding a home may take room.
    table.make_room(2 * BATCH);
    current.locate_now(table, batch);
    while !batch.is_empty() {
        if table.make_room(2 * BATCH) {
            current.locate_now(table, batch);
        }
        if !bits.has_room(batch.len() as u64) {
            table.renumber(bits);
            bits.restart(batch.len() as u64);
        }
        let (following, after) = rest.split_at(BATCH.min(rest.len()));
        ask_ahead(after);
        let now = bits.now() as u32;
        current.look_up(compare, table, now, batch, |step| bits.prefetch(step));
        next.locate(table, following);
        current.look_further(compare, table, now, batch, |step| bits.prefetch(step));
        let (now, later) = distances.split_at_mut(batch.len());
        current.count(bits, now, next, table);
        std::mem::swap(&mut current, &mut next);
        (batch, rest, distances) = (following, after, later);
    }
}
