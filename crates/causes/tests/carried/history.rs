//! The scopes of a thread with their complete history, and what carries a reuse by its definition.

use std::collections::HashSet;

use reuselens_profile::ScopeKind;

use crate::programs::Step;

/// A scope, by where its code begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HistoryScope {
    pub kind: ScopeKind,
    pub start: u64,
}

/// What carries a reuse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Carried {
    Threads,
    Scope(HistoryScope),
    Iteration(HistoryScope),
}

/// One execution of a scope.
struct Execution {
    scope: HistoryScope,
    entry: u64,
    /// When its iterations began, the first one included.
    iterations: Vec<u64>,
}

/// The executions of the scopes of a thread that have not ended, outermost first.
pub struct History {
    open: Vec<Execution>,
    /// Loops that were closed already.
    known: HashSet<u64>,
}

impl Default for History {
    fn default() -> Self {
        let mut history = History {
            open: Vec::new(),
            known: HashSet::new(),
        };
        history.enter(ScopeKind::Thread, 0, 0);
        history
    }
}

impl History {
    fn enter(&mut self, kind: ScopeKind, start: u64, entry: u64) {
        self.open.push(Execution {
            scope: HistoryScope { kind, start },
            entry,
            iterations: vec![entry],
        });
    }

    /// The thread goes on, after `time` accesses of all threads.
    pub fn step(&mut self, step: &Step, time: u64) {
        match *step {
            Step::Block(_) | Step::Access { .. } => {}
            Step::Call(start) => self.enter(ScopeKind::Function, start, time),
            Step::Loop(start) => self.enter(ScopeKind::Loop, start, time),
            Step::Iterate => {
                let innermost = self.open.last_mut().expect("a loop is open");
                innermost.iterations.push(time);
                self.known.insert(innermost.scope.start);
            }
            Step::Leave => {
                self.open.pop().expect("a scope is open");
            }
        }
    }

    /// What carries the reuse from access number `before` to the present one, `now`.
    pub fn carrier(&self, before: u64, now: u64) -> Carried {
        let active = |execution: &&Execution| {
            // That a loop is one is known when it is closed for the first time.
            let scope = execution.scope;
            let is_known = scope.kind != ScopeKind::Loop || self.known.contains(&scope.start);
            is_known && execution.entry <= before
        };
        // What is open now was active since its entry.
        let innermost = self.open.iter().rev().find(active);
        let innermost = innermost.expect("the thread is active");
        let iteration = |time: u64| {
            let begun = &innermost.iterations;
            begun.partition_point(|begin| *begin <= time)
        };
        let same = iteration(before) == iteration(now);
        if innermost.scope.kind == ScopeKind::Loop && same {
            Carried::Iteration(innermost.scope)
        } else {
            Carried::Scope(innermost.scope)
        }
    }
}
