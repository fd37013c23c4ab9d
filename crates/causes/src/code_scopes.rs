//! [`CodeScopes`]: scopes by their code, numbered as they come.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use reuselens_profile::{Carrier, CodeScope, ScopeKind};

use crate::scope_tracker::{ActiveScope, ScopeTracker};

/// The scopes of all threads.
#[derive(Debug, Default)]
pub(crate) struct CodeScopes {
    pub list: Vec<CodeScope>,
    numbers: HashMap<(ScopeKind, u16, u64), u32>,
    /// The carriers of [`Self::provisional`], as far as they are settled.
    settled: Vec<Carrier>,
}

/// The scopes that can carry a reuse, innermost first, each with the loop's first block: the first
/// one whose loop holds a place does. The last one is certain and has block 0.
type Candidates = Vec<(u32, Carrier)>;

/// The numbers of a thread's scopes, by kind and by first block.
#[derive(Debug, Default)]
pub(crate) struct ThreadScopes {
    loops: Vec<u32>,
    functions: Vec<u32>,
    /// The numbers of carriers that are not settled, by the place of the thread.
    provisional: HashMap<(u32, Candidates), u32>,
}

/// Blocks that are kept of a loop.
const MOST_BLOCKS: usize = 1024;

/// From this number on, a scope is one that is not settled.
const PROVISIONAL: u32 = 1 << 31;
/// Carriers that can wait to be settled. Then loops that the thread is taken to be in carry reuses.
const MOST_PROVISIONAL: usize = 1 << 16;

/// The number of a scope that has none yet.
const NONE: u32 = u32::MAX;

impl CodeScopes {
    /// The number of a scope that a thread is in.
    #[inline]
    pub fn number(
        &mut self,
        scope: &ActiveScope,
        (process, tracker): (u16, &ScopeTracker),
        known: &mut ThreadScopes,
    ) -> u32 {
        let numbers = match scope.kind {
            ScopeKind::Loop => &mut known.loops,
            ScopeKind::Function | ScopeKind::Thread => &mut known.functions,
        };
        let first = scope.first as usize;
        match numbers.get(first) {
            Some(&number) if number != NONE => number,
            _ => {
                let number = self.add(scope, process, tracker);
                if first >= numbers.len() {
                    numbers.resize(first + 1, NONE);
                }
                numbers[first] = number;
                number
            }
        }
    }

    /// What carries a reuse from the access number `time` on, if the thread is at a place that may
    /// be in a loop or not: a carrier that [`Self::settled`] knows when the thread has ended.
    #[cold]
    pub fn provisional(
        &mut self,
        time: u64,
        (process, tracker): (u16, &ScopeTracker),
        known: &mut ThreadScopes,
    ) -> Carrier {
        let scopes = tracker.innermost_certain(time);
        let candidates = scopes.iter().map(|scope| {
            let carrier = scope.carrier(self.number(scope, (process, tracker), known));
            let header = if scope.is_certain { 0 } else { scope.first };
            (header, carrier)
        });
        let candidates: Candidates = candidates.collect();
        let (at, first) = (scopes[0].at, candidates[0].1);
        let number = match known.provisional.entry((at, candidates)) {
            Entry::Occupied(entry) => *entry.get(),
            Entry::Vacant(_) if self.settled.len() >= MOST_PROVISIONAL => return first,
            Entry::Vacant(entry) => {
                let next = self.settled.len() as u32;
                self.settled.push(first);
                *entry.insert(next)
            }
        };
        Carrier::Scope(PROVISIONAL | number)
    }

    /// The carrier that a provisional one turned out to be; another one itself.
    pub fn settled(&self, carrier: Carrier) -> Carrier {
        match carrier {
            Carrier::Scope(number) if number >= PROVISIONAL => {
                let settled = self.settled.get((number - PROVISIONAL) as usize);
                settled.copied().unwrap_or(carrier)
            }
            other => other,
        }
    }

    #[cold]
    fn add(&mut self, scope: &ActiveScope, process: u16, tracker: &ScopeTracker) -> u32 {
        let (process, start) = match scope.kind {
            ScopeKind::Thread => (0, 0),
            _ => (process, tracker.code(scope.first).0),
        };
        let next = self.list.len() as u32;
        let key = (scope.kind, process, start);
        let number = *self.numbers.entry(key).or_insert(next);
        if number == next {
            self.list.push(CodeScope {
                kind: scope.kind,
                process,
                start,
                end: 0,
                blocks: Vec::new(),
            });
        }
        number
    }

    /// Takes in by which branches the loops of a thread are named, and their blocks; settles what
    /// carries its reuses.
    pub fn end_loops(&mut self, tracker: &ScopeTracker, known: &ThreadScopes) {
        for ((at, candidates), &number) in &known.provisional {
            let mut candidates = candidates.iter();
            let is_in =
                |(header, _): &&(u32, Carrier)| *header == 0 || tracker.is_in_loop(*header, *at);
            if let Some((_, carrier)) = candidates.find(is_in) {
                self.settled[number as usize] = *carrier;
            }
        }
        for (first, &number) in (0..).zip(&known.loops) {
            if let Some(scope) = self.list.get_mut(number as usize) {
                scope.end = scope.end.max(tracker.code(first).1);
            }
        }
        tracker.for_each_loop_block(|first, block| {
            let number = known.loops.get(first as usize);
            if let Some(scope) = number.and_then(|number| self.list.get_mut(*number as usize)) {
                scope.blocks.push(block);
            }
        });
        for &number in &known.loops {
            if let Some(scope) = self.list.get_mut(number as usize) {
                keep_first_blocks(&mut scope.blocks);
            }
        }
    }

    /// Bytes held, about.
    pub fn memory(&self) -> usize {
        let blocks = self.list.iter().map(|scope| scope.blocks.capacity());
        self.list.capacity() * 96 + blocks.sum::<usize>() * size_of::<(u64, u64)>()
    }
}

/// Sorts blocks, and keeps the longest one from each address and the first ones of all: these are
/// the same whichever thread ends first.
fn keep_first_blocks(blocks: &mut Vec<(u64, u64)>) {
    blocks.sort_unstable_by_key(|(start, end)| (*start, std::cmp::Reverse(*end)));
    blocks.dedup_by_key(|(start, _)| *start);
    blocks.truncate(MOST_BLOCKS);
}

impl ThreadScopes {
    /// Bytes held.
    pub fn memory(&self) -> usize {
        (self.loops.capacity() + self.functions.capacity()) * size_of::<u32>()
            + self.provisional.capacity() * 96
    }
}
