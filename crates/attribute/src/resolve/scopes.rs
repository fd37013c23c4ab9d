//! Names of scopes: where loops and functions are in the source.

use reuselens_profile::{CodeScope, Frame, MissScope, ScopeKind};

use super::Resolver;
use crate::places::CodePlace;

/// Bytes of a loop's code whose frames are asked for, at least, if it has as many.
const MOST_SAMPLES: u64 = 256;

/// A scope, by its code.
#[derive(Clone, Debug)]
pub(crate) struct ScopePlace {
    kind: ScopeKind,
    /// Its first instruction.
    start: CodePlace,
    /// Of a loop, the last jump back to its header.
    latch: CodePlace,
    /// Of a loop, its code: where pieces begin, and their bytes. No two overlap.
    code: Vec<(CodePlace, u64)>,
}

impl ScopePlace {
    /// A scope whose addresses are in modules: `place` gives the place before an address.
    pub fn new(scope: &CodeScope, place: impl Fn(u64) -> CodePlace) -> Self {
        let mut code = Vec::with_capacity(scope.blocks.len());
        let mut end = 0;
        for &(first, after) in &scope.blocks {
            let begin = first.max(end);
            if begin < after {
                code.push((place(begin.saturating_add(1)), after - begin));
                end = after;
            }
        }
        ScopePlace {
            kind: scope.kind,
            start: place(scope.start.saturating_add(1)),
            latch: place(scope.end),
            code,
        }
    }
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
                let inlined = if is_in_each_call(&header, &latch) {
                    0
                } else {
                    most_code(&latch, &scope.code, |place| self.frames(place))
                };
                loop_frame(&header, &latch, inlined)
            }
        };
        MissScope {
            kind: scope.kind,
            place: self.offset(scope.start),
            frame,
        }
    }
}

/// How many of a jump's frames, from the outermost one on, more than half of a loop's code is in.
///
/// Cost: a look-up of the frames of up to 512 bytes of the code.
fn most_code(
    latch: &[Frame],
    code: &[(CodePlace, u64)],
    mut frames: impl FnMut(CodePlace) -> Vec<Frame>,
) -> usize {
    let all: u64 = code.iter().map(|(_, bytes)| bytes).sum();
    let step = (all / MOST_SAMPLES).max(1);
    // By number of the jump's frames, the samples that are in just as many of them.
    let mut samples = vec![0_usize; latch.len() + 1];
    let mut next = 0;
    for &(start, bytes) in code {
        while next < bytes {
            let address = start.address.saturating_add(next);
            let frames = frames(CodePlace { address, ..start });
            if has_line(&frames) {
                samples[common(&frames, latch).len()] += 1;
            }
            next += step;
        }
        next -= bytes;
    }
    let all: usize = samples.iter().sum();
    let mut within = 0;
    let deepest = (1..samples.len()).rev().find(|depth| {
        within += samples[*depth];
        2 * within > all
    });
    deepest.unwrap_or_default()
}

fn has_line(frames: &[Frame]) -> bool {
    frames.first().is_some_and(|frame| frame.line > 0)
}

/// Whether a loop's first instruction is in all inlined calls that the jump back to it is in.
fn is_in_each_call(header: &[Frame], latch: &[Frame]) -> bool {
    !has_line(header) || !has_line(latch) || common(header, latch).len() == latch.len()
}

/// Where a loop is in the source, from the frames of its first instruction and of the last jump
/// back to it, innermost first. `inlined`: how many of the jump's frames most of the loop's code is
/// in.
///
/// The function of the loop is the innermost one that both are in, or one further in that the jump
/// and most of the code are in: a compiler can put an instruction of the caller that it moved
/// before the first one of an inlined loop. The line is that of the jump, which compilers give the
/// line of the loop's condition: the `for` or `while`. In optimised code the first instruction can
/// be of any line of the body, or was moved there from before the loop. Loops of libraries that are
/// inlined are those of the program's line around them.
fn loop_frame(header: &[Frame], latch: &[Frame], inlined: usize) -> Frame {
    let frames: Vec<&Frame> = match (has_line(header), has_line(latch)) {
        (true, true) => {
            let common = common(header, latch).len().max(inlined);
            latch.iter().rev().take(common).collect()
        }
        (false, true) => latch.iter().rev().collect(),
        (_, false) => header.iter().rev().collect(),
    };
    let is_own = |frame: &&&Frame| !frame.is_library_source();
    let own = frames.iter().rev().find(is_own);
    let found = own.or(frames.last()).copied().or(latch.first());
    found.cloned().unwrap_or_default()
}

/// The frames of the jump that another instruction is in as well, outermost first.
fn common<'a>(other: &[Frame], latch: &'a [Frame]) -> Vec<&'a Frame> {
    let mut common = Vec::new();
    for (first, last) in other.iter().rev().zip(latch.iter().rev()) {
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
    use crate::testing::frame;

    #[test]
    fn line_of_a_loop_is_that_of_the_jump_back() {
        let at = |line| vec![frame("main", "a.c", line)];
        assert_eq!(loop_frame(&at(12), &at(10), 0).line, 10);
        // What clears a register before the loop can be of the function's first line.
        assert_eq!(loop_frame(&at(3), &at(10), 0).line, 10);
        // Some instructions have no line.
        assert_eq!(loop_frame(&at(7), &[], 0).line, 7);
        assert_eq!(loop_frame(&at(7), &at(0), 0).line, 7);
        let inlined = [frame("sum", "a.c", 4), frame("main", "a.c", 20)];
        assert_eq!(loop_frame(&at(0), &inlined, 0), inlined[0]);
    }

    #[test]
    fn loop_is_in_the_innermost_function_of_header_and_jump() {
        let inlined = |line, call| vec![frame("sum", "a.c", line), frame("main", "a.c", call)];
        assert_eq!(loop_frame(&inlined(5, 20), &inlined(4, 20), 0).line, 4);
        // Two calls, of a loop in main.
        let found = loop_frame(&inlined(5, 21), &inlined(5, 22), 0);
        assert_eq!(found, frame("main", "a.c", 22));
        let jump = [frame("main", "a.c", 19)];
        let found = loop_frame(&inlined(5, 21), &jump, 0);
        assert_eq!(found, frame("main", "a.c", 19));
    }

    /// The first five bytes are of an instruction that was moved before the loop of a function that
    /// is called at line 25.
    #[test]
    fn moved_instruction_does_not_name_an_inlined_loop_by_its_call() {
        let code = CodePlace {
            module: 0,
            address: 100,
        };
        let moved = [frame("main", "a.c", 23)];
        let inlined = |line| vec![frame("sum", "a.c", line), frame("main", "a.c", 25)];
        let frames = |of_call: u64| {
            move |place: CodePlace| match place.address {
                100..105 => vec![frame("main", "a.c", 23)],
                address if address < 105 + of_call => inlined(13),
                _ => vec![frame("main", "a.c", 24)],
            }
        };
        assert_eq!(most_code(&inlined(13), &[(code, 20)], frames(15)), 2);
        assert_eq!(loop_frame(&moved, &inlined(13), 2), inlined(13)[0]);
        // A loop of `main` that calls a function as its condition.
        assert_eq!(most_code(&inlined(13), &[(code, 30)], frames(15)), 1);
        assert_eq!(
            loop_frame(&moved, &inlined(13), 1),
            frame("main", "a.c", 25)
        );
        // Of large code not each byte is asked for.
        let large = [(code, 100_000)];
        assert_eq!(most_code(&inlined(13), &large, frames(60_000)), 2);
        assert_eq!(most_code(&inlined(13), &large, frames(40_000)), 1);
    }

    #[test]
    fn blocks_that_overlap_count_once() {
        let scope = CodeScope {
            kind: ScopeKind::Loop,
            blocks: vec![(100, 120), (110, 120), (115, 130)],
            ..CodeScope::default()
        };
        let place = |after: u64| CodePlace {
            module: 0,
            address: after - 1,
        };
        let scope = ScopePlace::new(&scope, |after| place(after.max(1)));
        assert_eq!(scope.code, [(place(101), 20), (place(121), 10)]);
    }

    #[test]
    fn loop_of_an_iterator_is_that_of_its_caller() {
        let next = |line| {
            let library = "/rustc/1/library/core/src/iter/range.rs";
            vec![frame("next", library, line), frame("main", "a.rs", 8)]
        };
        assert_eq!(
            loop_frame(&next(900), &next(880), 0),
            frame("main", "a.rs", 8)
        );
    }
}
