//! Names of scopes: where loops and functions are in the source.

use reuselens_locality::{Frame, MissScope, ScopeKind};

use super::Resolver;
use crate::places::CodePlace;

/// A scope, by its code.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ScopePlace {
    pub kind: ScopeKind,
    /// Its first instruction.
    pub start: CodePlace,
    /// Of a loop, the last jump back to its header.
    pub latch: CodePlace,
}

impl Resolver<'_> {
    /// A scope with its place in the source.
    pub(super) fn scope(&mut self, scope: &ScopePlace) -> MissScope {
        let frame = match scope.kind {
            ScopeKind::Thread => return MissScope::default(),
            ScopeKind::Function => {
                // The function itself, not what is inlined at its begin.
                let function = self.function_name(scope.start);
                let outermost = self.frames(scope.start).pop().unwrap_or_default();
                Frame {
                    function,
                    ..outermost
                }
            }
            ScopeKind::Loop => {
                let (header, latch) = (self.frames(scope.start), self.frames(scope.latch));
                loop_frame(&header, &latch)
            }
        };
        MissScope {
            kind: scope.kind,
            place: self.offset(scope.start),
            frame,
        }
    }
}

/// Where a loop is in the source, from the frames of its first instruction and of the last jump
/// back to it, innermost first.
///
/// The function of the loop is the innermost one that both are in. The line is that of the jump,
/// which compilers give the line of the loop's condition: the `for` or `while`. In optimised code
/// the first instruction can be of any line of the body, or was moved there from before the loop.
/// Loops of libraries that are inlined are those of the program's line around them.
fn loop_frame(header: &[Frame], latch: &[Frame]) -> Frame {
    let has_line = |frames: &[Frame]| frames.first().is_some_and(|frame| frame.line > 0);
    let common = match (has_line(header), has_line(latch)) {
        (true, true) => common(header, latch),
        (false, true) => latch.iter().rev().collect(),
        (_, false) => header.iter().rev().collect(),
    };
    let is_own = |frame: &&&Frame| !frame.is_library_source();
    let own = common.iter().rev().find(is_own);
    let found = own.or(common.last()).copied().or(latch.first());
    found.cloned().unwrap_or_default()
}

/// The frames of the jump that the first instruction is in as well, outermost first.
fn common<'a>(header: &[Frame], latch: &'a [Frame]) -> Vec<&'a Frame> {
    let mut common = Vec::new();
    for (first, last) in header.iter().rev().zip(latch.iter().rev()) {
        if (&first.function, &first.file) != (&last.function, &last.file) {
            break;
        }
        common.push(last);
        // Further in, these are two inlined calls.
        if first.line != last.line {
            break;
        }
    }
    common
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(function: &str, file: &str, line: u32) -> Frame {
        Frame {
            function: function.into(),
            file: file.into(),
            line,
        }
    }

    #[test]
    fn line_of_a_loop_is_that_of_the_jump_back() {
        let at = |line| vec![frame("main", "a.c", line)];
        assert_eq!(loop_frame(&at(12), &at(10)).line, 10);
        // What clears a register before the loop can be of the function's first line.
        assert_eq!(loop_frame(&at(3), &at(10)).line, 10);
        // Some instructions have no line.
        assert_eq!(loop_frame(&at(7), &[]).line, 7);
        assert_eq!(loop_frame(&at(7), &at(0)).line, 7);
        let inlined = [frame("sum", "a.c", 4), frame("main", "a.c", 20)];
        assert_eq!(loop_frame(&at(0), &inlined), inlined[0]);
    }

    #[test]
    fn loop_is_in_the_innermost_function_of_header_and_jump() {
        let inlined = |line, call| vec![frame("sum", "a.c", line), frame("main", "a.c", call)];
        assert_eq!(loop_frame(&inlined(5, 20), &inlined(4, 20)).line, 4);
        // Two calls, of a loop in main.
        let found = loop_frame(&inlined(5, 21), &inlined(5, 22));
        assert_eq!(found, frame("main", "a.c", 22));
        let jump = [frame("main", "a.c", 19)];
        let found = loop_frame(&inlined(5, 21), &jump);
        assert_eq!(found, frame("main", "a.c", 19));
    }

    #[test]
    fn loop_of_an_iterator_is_that_of_its_caller() {
        let next = |line| {
            let library = "/rustc/1/library/core/src/iter/range.rs";
            vec![frame("next", library, line), frame("main", "a.rs", 8)]
        };
        assert_eq!(loop_frame(&next(900), &next(880)), frame("main", "a.rs", 8));
    }
}
