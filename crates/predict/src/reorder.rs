//! [`reuse_driven`]: an order of a trace's statements that brings uses of the same data together
//! and keeps all dependences. [`keeps_dependences`] checks an order independently.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;

/// Instances of statements, in the order in which they ran: the items that each accessed, in its
/// order, and which of them it wrote.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Statements {
    items: Vec<u64>,
    /// For each item whether it was written; else it was read.
    written: Vec<bool>,
    /// Per statement: the end of its items, those beyond its accesses included.
    ends: Vec<u32>,
    /// Per statement: the end of its accesses.
    access_ends: Vec<u32>,
}

/// More accesses than are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TooMany {
    /// Of all statements.
    #[error("more than two thousand million accesses in the statements; record a smaller input")]
    InTotal,
    /// Of one statement: more than [`Statements::MAX_PER_STATEMENT`].
    #[error(
        "a statement has more than 67 million accesses; record a smaller input, or mark more statements (RecordStatement)"
    )]
    InStatement,
}

impl Statements {
    /// None.
    pub fn new() -> Self {
        Self::default()
    }

    /// The most items of one statement: 512 MiB of data in items of 8 bytes. A damaged trace can
    /// claim an access of any length.
    pub const MAX_PER_STATEMENT: usize = 1 << 26;
    /// The most items of all statements: twice as many dependences still have numbers.
    const MAX_IN_TOTAL: usize = (u32::MAX / 2) as usize;

    /// Adds the next statement: the items that it accesses, in its order, and whether it writes
    /// each.
    ///
    /// # Errors
    /// If the statement has more than [`MAX_PER_STATEMENT`](Self::MAX_PER_STATEMENT) accesses, or
    /// all have more than 2³¹. The statement is not added then.
    pub fn push(&mut self, accesses: impl IntoIterator<Item = (u64, bool)>) -> Result<(), TooMany> {
        self.push_with(accesses, [])
    }

    /// As [`push`](Self::push), with further items that the statement uses: dependences are those
    /// of all its items, but [`accesses`](Self::accesses) omits the further ones.
    ///
    /// # Errors
    /// Those of [`push`](Self::push), with the further items counted too.
    pub fn push_with(
        &mut self,
        accesses: impl IntoIterator<Item = (u64, bool)>,
        further: impl IntoIterator<Item = (u64, bool)>,
    ) -> Result<(), TooMany> {
        let begin = self.items.len();
        let pushed = self
            .append(accesses, begin, Self::MAX_PER_STATEMENT)
            .and_then(|access_end| {
                let end = self.append(further, begin, Self::MAX_PER_STATEMENT)?;
                Ok((access_end, end))
            });
        match pushed {
            Ok((access_end, end)) => {
                self.access_ends.push(access_end);
                self.ends.push(end);
                Ok(())
            }
            Err(error) => {
                self.items.truncate(begin);
                self.written.truncate(begin);
                Err(error)
            }
        }
    }

    /// Appends items to a statement that begins at `begin`, and returns their end. Looks at the
    /// limits before each item, so that no more than `most` are ever stored.
    fn append(
        &mut self,
        items: impl IntoIterator<Item = (u64, bool)>,
        begin: usize,
        most: usize,
    ) -> Result<u32, TooMany> {
        for (item, written) in items {
            if self.items.len() - begin >= most {
                return Err(TooMany::InStatement);
            }
            if self.items.len() >= Self::MAX_IN_TOTAL {
                return Err(TooMany::InTotal);
            }
            self.items.push(item);
            self.written.push(written);
        }
        Ok(self.items.len() as u32)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    fn range(&self, statement: usize) -> Range<usize> {
        let begin = statement.checked_sub(1);
        let begin = begin.map_or(0, |before| self.ends[before] as usize);
        begin..self.ends[statement] as usize
    }

    /// The items that a statement accesses, in its order.
    pub fn accesses(&self, statement: usize) -> &[u64] {
        let begin = self.range(statement).start;
        &self.items[begin..self.access_ends[statement] as usize]
    }

    /// All items that a statement uses, each with whether it is written.
    fn uses(&self, statement: usize) -> impl Iterator<Item = (u64, bool)> + '_ {
        let range = self.range(statement);
        let written = &self.written[range.clone()];
        let items = self.items[range].iter();
        items.copied().zip(written.iter().copied())
    }
}

/// Lists of numbers, one after the other.
#[derive(Clone, Debug, Default)]
struct Lists {
    ends: Vec<u32>,
    numbers: Vec<u32>,
}

impl Lists {
    fn close(&mut self) {
        self.ends.push(self.numbers.len() as u32);
    }

    fn of(&self, index: u32) -> &[u32] {
        let begin = index
            .checked_sub(1)
            .map_or(0, |before| self.ends[before as usize]);
        &self.numbers[begin as usize..self.ends[index as usize] as usize]
    }
}

/// The accesses to an item so far.
#[derive(Clone, Debug, Default)]
struct Item {
    writer: Option<u32>,
    /// The statements that have read it since.
    readers: Vec<u32>,
    /// The last access to it.
    last: Option<u32>,
}

/// Statements that must come before each (flow, anti and output dependences), and the next ones
/// that use each of its data.
fn dependences(statements: &Statements) -> (Lists, Lists) {
    let mut items: HashMap<u64, Item> = HashMap::new();
    let (mut needs, mut next) = (Lists::default(), Lists::default());
    // Next uses, by access: filled in when they come.
    let mut uses: Vec<u32> = vec![u32::MAX; statements.items.len()];
    for statement in 0..statements.len() {
        let number = statement as u32;
        let first = needs.numbers.len();
        for (item, written) in statements.uses(statement) {
            let item = items.entry(item).or_default();
            needs.numbers.extend(item.writer);
            if written {
                needs.numbers.append(&mut item.readers);
                item.writer = Some(number);
            } else {
                item.readers.push(number);
            }
        }
        // A statement may read and write one item, and does not wait for itself.
        let mut mine = needs.numbers.split_off(first);
        mine.retain(|other| *other != number);
        mine.sort_unstable();
        mine.dedup();
        needs.numbers.append(&mut mine);
        needs.close();
        for at in statements.range(statement) {
            let item = items.entry(statements.items[at]).or_default();
            if let Some(last) = item.last.replace(at as u32) {
                uses[last as usize] = number;
            }
        }
    }
    for statement in 0..statements.len() {
        let number = statement as u32;
        let mine = uses[statements.range(statement)]
            .iter()
            .filter(|user| **user != u32::MAX && **user != number);
        next.numbers.extend(mine);
        next.close();
    }
    (needs, next)
}

/// The order of reuse-driven execution: a permutation of the statements that keeps every
/// dependence.
///
/// Statements are begun in the order of an ideal parallel execution (by the length of the longest
/// chain of dependences before them, then as they ran). When one runs, the next uses of its data
/// follow as soon as possible, each after all statements that it still depends on.
///
/// Cost: linear in the accesses and dependences, but for sorting; memory about 40 bytes per access.
///
/// Source: Ding & Kennedy 2001, as used by Ding & Zhong 2001, section 3.3.
pub fn reuse_driven(statements: &Statements) -> Vec<u32> {
    let (needs, next) = dependences(statements);
    let mut order = Vec::with_capacity(statements.len());
    let mut done = vec![false; statements.len()];
    let (mut queue, mut stack) = (VecDeque::new(), Vec::new());
    for first in parallel_order(&needs, statements.len()) {
        queue.push_back(first);
        while let Some(wanted) = queue.pop_front() {
            stack.push(wanted);
            while let Some(&statement) = stack.last() {
                if done[statement as usize] {
                    stack.pop();
                    continue;
                }
                let before = order.len();
                let waits = needs
                    .of(statement)
                    .iter()
                    .filter(|other| !done[**other as usize]);
                let count = stack.len();
                // The earliest on top.
                stack.extend(waits.rev());
                if stack.len() > count {
                    continue;
                }
                stack.pop();
                done[statement as usize] = true;
                order.push(statement);
                debug_assert!(order.len() == before + 1);
                queue.extend(
                    next.of(statement)
                        .iter()
                        .filter(|user| !done[**user as usize]),
                );
            }
        }
    }
    order
}

/// Statements by the longest chain of dependences before them.
fn parallel_order(needs: &Lists, count: usize) -> Vec<u32> {
    let mut depth = vec![0_u32; count];
    for statement in 0..count as u32 {
        let deepest = needs
            .of(statement)
            .iter()
            .map(|other| depth[*other as usize] + 1)
            .max();
        depth[statement as usize] = deepest.unwrap_or(0);
    }
    let mut order: Vec<u32> = (0..count as u32).collect();
    order.sort_by_key(|statement| depth[*statement as usize]);
    order
}

/// Whether an order runs every statement once and gives each the data that it had: every read comes
/// after the same write as in program order, and the writes of every item are in the same order.
///
/// Cost: linear in the accesses. Shares nothing with [`reuse_driven`].
pub fn keeps_dependences(statements: &Statements, order: &[u32]) -> bool {
    let mut seen = vec![false; statements.len()];
    let once = order.iter().all(|statement| {
        let seen = seen.get_mut(*statement as usize);
        seen.is_some_and(|seen| !std::mem::replace(seen, true))
    });
    let program: Vec<u32> = (0..statements.len() as u32).collect();
    once && order.len() == statements.len()
        && versions(statements, order) == versions(statements, &program)
}

/// For each access, in program order: which write of the item it comes after, or is.
fn versions(statements: &Statements, order: &[u32]) -> Vec<u32> {
    let mut version: HashMap<u64, u32> = HashMap::new();
    let mut found = vec![0; statements.items.len()];
    for statement in order {
        let statement = *statement as usize;
        for at in statements.range(statement) {
            let item = statements.items[at];
            found[at] = version.get(&item).copied().unwrap_or(0);
            if statements.written[at] {
                // The statement is compared too: two writers that change places would not be
                // noticed else.
                version.insert(item, statement as u32 + 1);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn uses<'a>(reads: &'a [u64], writes: &'a [u64]) -> impl Iterator<Item = (u64, bool)> + 'a {
        let reads = reads.iter().map(|item| (*item, false));
        reads.chain(writes.iter().map(|item| (*item, true)))
    }

    fn of(list: &[(&[u64], &[u64])]) -> Statements {
        let mut statements = Statements::new();
        for (reads, writes) in list {
            statements.push(uses(reads, writes)).unwrap();
        }
        statements
    }

    #[test]
    fn two_sweeps_become_one() {
        // b[i] = a[i] for all i, then c[i] = b[i] for all i.
        let list: Vec<([u64; 1], [u64; 1])> = (0..5)
            .map(|i| ([i], [10 + i]))
            .chain((0..5).map(|i| ([10 + i], [20 + i])))
            .collect();
        let list: Vec<(&[u64], &[u64])> = list.iter().map(|(r, w)| (&r[..], &w[..])).collect();
        let statements = of(&list);
        let order = reuse_driven(&statements);
        assert_eq!(order, [0, 5, 1, 6, 2, 7, 3, 8, 4, 9]);
        assert!(keeps_dependences(&statements, &order));
    }

    #[test]
    fn dependences_of_all_kinds_are_checked() {
        let statements = of(&[(&[], &[1]), (&[1], &[2]), (&[], &[1]), (&[1], &[3])]);
        assert!(keeps_dependences(&statements, &[0, 1, 2, 3]));
        for wrong in [
            &[1, 0, 2, 3][..], // Flow: 1 reads what 0 writes.
            &[0, 2, 1, 3],     // Anti: 2 writes what 1 still reads.
            &[2, 0, 1, 3],     // Output.
            &[0, 1, 3, 2],
            &[0, 1, 2],
            &[0, 1, 2, 2],
            &[0, 1, 2, 9],
        ] {
            assert!(!keeps_dependences(&statements, wrong), "{wrong:?}");
        }
    }

    #[test]
    fn further_items_have_dependences_and_are_not_accessed() {
        let mut statements = Statements::new();
        let further = uses(&[], &[2]);
        statements.push_with(uses(&[], &[1]), further).unwrap();
        statements.push(uses(&[2], &[])).unwrap();
        assert_eq!([0, 1].map(|at| statements.accesses(at)), [&[1], &[2]]);
        assert!(!keeps_dependences(&statements, &[1, 0]));
        assert_eq!(reuse_driven(&statements), [0, 1]);
    }

    #[test]
    fn oversized_statements_are_refused() {
        let mut statements = of(&[(&[1], &[2])]);
        let endless = (0..).map(|item| (item, false));
        let result = statements.append(endless, 2, 100);
        assert_eq!(result, Err(TooMany::InStatement));
        assert_eq!(statements.items.len(), 102);
    }

    proptest! {
        #[test]
        fn every_order_keeps_dependences(
            list in prop::collection::vec(prop::collection::vec((0..12_u64, any::<bool>()), 0..6), 0..60),
        ) {
            let mut statements = Statements::new();
            for accesses in &list {
                statements.push(accesses.iter().copied()).unwrap();
            }
            let order = reuse_driven(&statements);
            prop_assert!(keeps_dependences(&statements, &order));
        }
    }
}
