//! [`CarriedReuse`]: the loop or the function that carries a reuse.
//!
//! Source: Marin and Mellor-Crummey, *Pinpointing and exploiting opportunities for enhancing data
//! reuse*, ISPASS 2008, section 2: the scope that carries a reuse is the innermost one that was
//! active at both accesses.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

use crate::{FileOffset, Frame, ShortPaths};

/// What a scope is.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum ScopeKind {
    /// The thread from its beginning to its end.
    #[default]
    Thread,
    /// A call of a function.
    Function,
    /// A loop.
    Loop,
}

/// A piece of code that is active from its entry to its exit.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct MissScope {
    /// What it is.
    pub kind: ScopeKind,
    /// Where it begins: the loop's header, the function's entry.
    pub place: FileOffset,
    /// Where that is in the source; of a loop the line that it begins on, as far as that is known.
    pub frame: Frame,
}

impl MissScope {
    /// The scope for people, with the names that `paths` gives to files: `the loop at matmul.c:35`,
    /// `the function solve`. A loop without a line has its function and its place in the module:
    /// `a loop of solve (matmul+0x1234)`.
    pub fn words(&self, paths: &ShortPaths<'_>) -> String {
        let Frame {
            function,
            file,
            line,
        } = &self.frame;
        let has_line = *line > 0 && !file.is_empty();
        let place = if has_line {
            format!("{}:{line}", paths.shorten(file))
        } else {
            format!("{}+{:#x}", self.place.module, self.place.offset)
        };
        match (self.kind, function.as_str()) {
            (ScopeKind::Thread, _) => "the thread".to_owned(),
            (ScopeKind::Function, "") => format!("the function at {place}"),
            (ScopeKind::Function, name) => format!("the function {name}"),
            (ScopeKind::Loop, name) if !has_line && !name.is_empty() => {
                format!("a loop of {name} ({place})")
            }
            (ScopeKind::Loop, _) => format!("the loop at {place}"),
        }
    }
}

/// A scope, by addresses of the process that runs it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CodeScope {
    /// What it is.
    pub kind: ScopeKind,
    /// The process; 0 for a thread.
    pub process: u16,
    /// Where it begins: the loop's header, the function's entry; 0 for a thread.
    pub start: u64,
    /// Of a loop, the address after a branch that has the loop's line: the last one back to its
    /// header, or the condition in its header; else 0.
    pub end: u64,
    /// Of a loop, its blocks that ran: the first address of each, in ascending order, and the
    /// address after it. Blocks can overlap. In a large loop these are the first ones.
    pub blocks: Vec<(u64, u64)>,
}

/// What carries a reuse.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Carrier {
    /// The two accesses are of different threads.
    #[default]
    Threads,
    /// Different iterations of this loop, or different calls that this function or thread makes:
    /// index into [`Causes::scopes`](super::Causes::scopes).
    Scope(u32),
    /// One iteration of this loop: the accesses are in different loops or calls within it.
    Iteration(u32),
    /// Several of these: rarer reuses that were not counted by themselves.
    Others,
}

/// Reuses of one pair of instructions, of one object, with one carrier, that miss.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CarriedReuse {
    /// The access before: index into [`Profile::sites`](crate::Profile::sites). The unknown site
    /// (0) with [`Carrier::Others`].
    pub source: u32,
    /// The access that misses: index into [`Profile::sites`](crate::Profile::sites).
    pub sink: u32,
    /// What is accessed: index into [`Profile::objects`](crate::Profile::objects).
    pub object: u32,
    /// What carries the reuse.
    pub carrier: Carrier,
    /// Reuses that miss in [`Causes::cache`](super::Causes::cache).
    pub misses: u64,
    /// Sum of their distances in items.
    pub distance_sum: u64,
}

impl CarriedReuse {
    /// What it is of.
    pub(crate) fn key(&self) -> (u32, u32, u32, Carrier) {
        (self.source, self.sink, self.object, self.carrier)
    }

    /// Adds the counts of another with the same key.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.misses = self.misses.saturating_add(other.misses);
        self.distance_sum = self.distance_sum.saturating_add(other.distance_sum);
    }

    /// The most misses first; equal ones by what they are of.
    pub(crate) fn order(&self, other: &Self) -> Ordering {
        (other.misses.cmp(&self.misses)).then_with(|| self.key().cmp(&other.key()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Profile;

    #[test]
    fn scopes_without_lines_are_named_by_function_and_offset() {
        let profile = Profile::empty(reuselens_units::Granularity::LINE_64);
        let paths = ShortPaths::new(&profile);
        let words = |kind, function: &str, file: &str, line| {
            let scope = MissScope {
                kind,
                place: FileOffset {
                    module: "prog".into(),
                    offset: 0x12,
                },
                frame: Frame {
                    function: function.into(),
                    file: file.into(),
                    line,
                },
            };
            scope.words(&paths)
        };
        use ScopeKind::{Function, Loop, Thread};
        assert_eq!(words(Loop, "f", "a.c", 3), "the loop at a.c:3");
        assert_eq!(words(Loop, "f", "a.c", 0), "a loop of f (prog+0x12)");
        assert_eq!(words(Loop, "f", "", 3), "a loop of f (prog+0x12)");
        assert_eq!(words(Loop, "", "", 0), "the loop at prog+0x12");
        assert_eq!(words(Function, "f", "a.c", 3), "the function f");
        assert_eq!(words(Function, "", "a.c", 3), "the function at a.c:3");
        assert_eq!(words(Function, "", "", 0), "the function at prog+0x12");
        assert_eq!(words(Thread, "f", "a.c", 3), "the thread");
    }
}
