//! Reuse-driven execution: statements in the order that brings uses of the same data together.

use std::collections::HashMap;
use std::collections::VecDeque;

/// Instances of statements, in the order in which they ran: which items each read, and which it wrote.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Statements {
    items: Vec<u64>,
    /// Per statement: the end of what it read in `items`, and of what it wrote.
    ends: Vec<(u32, u32)>,
}

/// More statements or items than can be numbered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("more than two thousand million accesses in the statements; record a smaller input")]
pub struct TooMany;

impl Statements {
    /// None.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the next statement.
    ///
    /// # Errors
    /// If there are more than 2³¹ accesses.
    pub fn push(&mut self, reads: &[u64], writes: &[u64]) -> Result<(), TooMany> {
        self.items.extend_from_slice(reads);
        let read = u32::try_from(self.items.len()).map_err(|_| TooMany)?;
        self.items.extend_from_slice(writes);
        let written = u32::try_from(self.items.len()).map_err(|_| TooMany)?;
        if written > u32::MAX / 2 {
            return Err(TooMany);
        }
        self.ends.push((read, written));
        Ok(())
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    fn begin(&self, statement: usize) -> usize {
        statement
            .checked_sub(1)
            .map_or(0, |before| self.ends[before].1 as usize)
    }

    /// What a statement reads.
    pub fn reads(&self, statement: usize) -> &[u64] {
        &self.items[self.begin(statement)..self.ends[statement].0 as usize]
    }

    /// What it writes.
    pub fn writes(&self, statement: usize) -> &[u64] {
        let (read, written) = self.ends[statement];
        &self.items[read as usize..written as usize]
    }

    /// What it accesses, in its order: reads, then writes.
    pub fn accesses(&self, statement: usize) -> &[u64] {
        &self.items[self.begin(statement)..self.ends[statement].1 as usize]
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

/// What became of an item so far.
#[derive(Clone, Debug, Default)]
struct Item {
    writer: Option<u32>,
    /// Who read it since.
    readers: Vec<u32>,
    /// The last access to it.
    last: Option<u32>,
}

/// Statements that must come before each (flow, anti and output dependences), and the next ones that use each of its
/// data.
fn dependences(statements: &Statements) -> (Lists, Lists) {
    let mut items: HashMap<u64, Item> = HashMap::new();
    let (mut needs, mut next) = (Lists::default(), Lists::default());
    // Next uses, by access: filled in when they come.
    let mut uses: Vec<u32> = vec![u32::MAX; statements.items.len()];
    for statement in 0..statements.len() {
        let number = statement as u32;
        let first = needs.numbers.len();
        for read in statements.reads(statement) {
            let item = items.entry(*read).or_default();
            needs.numbers.extend(item.writer);
            item.readers.push(number);
        }
        for written in statements.writes(statement) {
            let item = items.entry(*written).or_default();
            needs.numbers.extend(item.writer);
            needs.numbers.append(&mut item.readers);
            item.writer = Some(number);
        }
        // A statement may read and write one item, and does not wait for itself.
        let mut mine = needs.numbers.split_off(first);
        mine.retain(|other| *other != number);
        mine.sort_unstable();
        mine.dedup();
        needs.numbers.append(&mut mine);
        needs.close();
        let begin = statements.begin(statement);
        for (at, item) in statements.accesses(statement).iter().enumerate() {
            let item = items.entry(*item).or_default();
            if let Some(last) = item.last.replace((begin + at) as u32) {
                uses[last as usize] = number;
            }
        }
    }
    for statement in 0..statements.len() {
        let number = statement as u32;
        let range = statements.begin(statement)..statements.ends[statement].1 as usize;
        let mine = uses[range]
            .iter()
            .filter(|user| **user != u32::MAX && **user != number);
        next.numbers.extend(mine);
        next.close();
    }
    (needs, next)
}

/// The order of reuse-driven execution: a permutation of the statements that keeps every dependence.
///
/// Statements are begun in the order of an ideal parallel execution (by the length of the longest chain of dependences
/// before them, then as they ran). When one runs, the next uses of its data follow as soon as they can: each with
/// all that it still waits for before it.
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

/// Whether an order runs every statement once and gives each the data that it had: every read comes after the same
/// write as in program order, and the writes of every item are in the same order.
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
        let mut at = statements.begin(statement);
        for read in statements.reads(statement) {
            found[at] = version.get(read).copied().unwrap_or(0);
            at += 1;
        }
        for written in statements.writes(statement) {
            // Which statement it was: two writers that change places would else not show.
            let writer = statement as u32 + 1;
            let before = version.insert(*written, writer).unwrap_or(0);
            found[at] = before;
            at += 1;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(list: &[(&[u64], &[u64])]) -> Statements {
        let mut statements = Statements::new();
        for (reads, writes) in list {
            statements.push(reads, writes).unwrap();
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

    proptest! {
        #[test]
        fn every_order_keeps_dependences(
            list in prop::collection::vec((prop::collection::vec(0..12_u64, 0..4), prop::collection::vec(0..12_u64, 0..3)), 0..60),
        ) {
            let mut statements = Statements::new();
            for (reads, writes) in &list {
                statements.push(reads, writes).unwrap();
            }
            let order = reuse_driven(&statements);
            prop_assert!(keeps_dependences(&statements, &order));
        }
    }
}
