//! The complete history of a thread's scopes, and what carries a reuse by its definition.

use std::collections::HashSet;

use reuselens_locality::ScopeKind;

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
    /// Scopes around it.
    depth: usize,
    entry: u64,
    exit: Option<u64>,
    /// When its iterations began, the first one included.
    iterations: Vec<u64>,
}

/// All executions of the scopes of a thread.
pub struct History {
    executions: Vec<Execution>,
    /// Those that have not ended, outermost first.
    open: Vec<usize>,
    /// Loops that were closed already.
    known: HashSet<u64>,
    /// When the block that runs began.
    block: u64,
}

impl Default for History {
    fn default() -> Self {
        let mut history = History {
            executions: Vec::new(),
            open: Vec::new(),
            known: HashSet::new(),
            block: 0,
        };
        history.enter(ScopeKind::Thread, 0, 0);
        history
    }
}

impl History {
    fn enter(&mut self, kind: ScopeKind, start: u64, entry: u64) {
        self.open.push(self.executions.len());
        self.executions.push(Execution {
            scope: HistoryScope { kind, start },
            depth: self.open.len(),
            entry,
            exit: None,
            iterations: vec![entry],
        });
    }

    /// The thread goes on, after `time` accesses of all threads.
    pub fn step(&mut self, step: &Step, time: u64) {
        match *step {
            Step::Block(_) => self.block = time,
            Step::Access { .. } => {}
            Step::Call(start) => self.enter(ScopeKind::Function, start, time),
            Step::Loop(start) => self.enter(ScopeKind::Loop, start, time),
            // The condition at its end ran first, in the block before.
            Step::LoopFromBelow(start) => self.enter(ScopeKind::Loop, start, self.block),
            Step::Iterate => {
                let innermost = *self.open.last().expect("a loop is open");
                let execution = &mut self.executions[innermost];
                execution.iterations.push(time);
                self.known.insert(execution.scope.start);
            }
            Step::Leave => {
                let left = self.open.pop().expect("a scope is open");
                self.executions[left].exit = Some(time);
            }
        }
    }

    /// What carries the reuse from access number `before` to the present one, `now`.
    pub fn carrier(&self, before: u64, now: u64) -> Carried {
        let active = |execution: &&Execution| {
            let at = |time: u64| {
                let left = execution.exit.is_some_and(|exit| exit <= time);
                execution.entry <= time && !left
            };
            // That a loop is one is known when it is closed for the first time.
            let scope = execution.scope;
            let is_known = scope.kind != ScopeKind::Loop || self.known.contains(&scope.start);
            is_known && at(before) && at(now)
        };
        let active = self.executions.iter().filter(active);
        let innermost = active.max_by_key(|execution| execution.depth);
        let innermost = innermost.expect("the thread is active");
        let iteration = |time: u64| {
            let begun = innermost.iterations.iter().filter(|begin| **begin <= time);
            begun.count()
        };
        let same = iteration(before) == iteration(now);
        match innermost.scope.kind == ScopeKind::Loop && same {
            true => Carried::Iteration(innermost.scope),
            false => Carried::Scope(innermost.scope),
        }
    }
}
