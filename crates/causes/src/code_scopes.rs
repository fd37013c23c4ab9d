//! [`CodeScopes`]: scopes by their code, numbered as they come.

use std::collections::HashMap;

use reuselens_locality::{CodeScope, ScopeKind};

use crate::scope_tracker::{ActiveScope, ScopeTracker};

/// The scopes of all threads.
#[derive(Debug, Default)]
pub(crate) struct CodeScopes {
    pub list: Vec<CodeScope>,
    numbers: HashMap<(ScopeKind, u16, u64), u32>,
}

/// The numbers of a thread's scopes, by kind and by first block.
#[derive(Debug, Default)]
pub(crate) struct ThreadScopes {
    loops: Vec<u32>,
    functions: Vec<u32>,
}

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
            });
        }
        number
    }

    /// Takes in by which branches the loops of a thread are named.
    pub fn end_loops(&mut self, tracker: &ScopeTracker, known: &ThreadScopes) {
        for (first, &number) in (0..).zip(&known.loops) {
            if let Some(scope) = self.list.get_mut(number as usize) {
                scope.end = scope.end.max(tracker.code(first).1);
            }
        }
    }

    /// Bytes held, about.
    pub fn memory(&self) -> usize {
        self.list.capacity() * 64
    }
}

impl ThreadScopes {
    /// Bytes held.
    pub fn memory(&self) -> usize {
        (self.loops.capacity() + self.functions.capacity()) * size_of::<u32>()
    }
}
