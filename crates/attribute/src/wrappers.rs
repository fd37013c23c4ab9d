//! Functions that allocate for their callers: a block belongs to the code that wanted it.
//!
//! Two kinds of evidence. Some have names that everybody gives them (`xmalloc`). Others show by
//! what they do: they allocate on one line, for two callers at least, and no instruction of theirs
//! accesses a block of the heap. A function that fills in what it allocates makes something of its
//! own.

use std::collections::{HashMap, HashSet};

use reuselens_profile::Frame;

use crate::known_names::{allocates_by_name, is_library_frame};
use crate::naming::Caller;
use crate::places::CodePlace;

/// A path is looked at for so many frames of the program's own: wrappers of wrappers are few.
const DEPTH: usize = 8;

/// A function: its name and its file.
type FunctionKey = (String, String);

fn function(frame: &Frame) -> FunctionKey {
    (frame.function.clone(), frame.file.clone())
}

/// Whether a frame is of the program's own code.
fn is_own(caller: &Caller) -> bool {
    !caller.system && !is_library_frame(&caller.frame)
}

/// The functions of a run that allocate for their callers.
#[derive(Debug, Default)]
pub(crate) struct Wrappers {
    found: HashSet<FunctionKey>,
}

impl Wrappers {
    fn holds(&self, function: &FunctionKey) -> bool {
        allocates_by_name(&function.0) || self.found.contains(function)
    }

    /// The frame that the blocks of an allocation are named by, from its call path, innermost
    /// first: the program's own innermost that does not allocate for its callers.
    pub(crate) fn wanting<'a>(&self, path: &'a [Caller]) -> Option<&'a Caller> {
        let mut own = path.iter().filter(|caller| is_own(caller));
        // The caller of a wrapper may be unknown.
        let innermost = own.clone().next();
        own.find(|caller| !self.holds(&function(&caller.frame)))
            .or(innermost)
            .or(path.first())
    }
}

/// A frame of a path: its function, and its line; where that is unknown, its place in the code.
#[derive(Clone, PartialEq, Eq, Hash)]
struct PathStep {
    function: FunctionKey,
    line: (u32, Option<CodePlace>),
}

/// What a run shows of the functions that allocate.
#[derive(Default)]
pub(crate) struct Evidence {
    /// The program's own innermost frames of each path.
    paths: HashSet<Vec<PathStep>>,
    /// The functions of instructions that accessed blocks of the heap.
    access: HashSet<FunctionKey>,
}

impl Evidence {
    /// Blocks were allocated by this call path, innermost first.
    pub(crate) fn add_allocation(&mut self, path: &[Caller]) {
        let own = path.iter().filter(|caller| is_own(caller)).take(DEPTH);
        let step = |caller: &Caller| PathStep {
            function: function(&caller.frame),
            line: (
                caller.frame.line,
                (caller.frame.line == 0).then_some(caller.place),
            ),
        };
        self.paths.insert(own.map(step).collect());
    }

    /// An instruction of this frame, into which its own function may be inlined, accessed blocks of
    /// the heap.
    pub(crate) fn add_access(&mut self, frame: &Frame) {
        self.access.insert(function(frame));
    }

    /// The functions that allocate for their callers: at first those that call an allocator, then
    /// those that call them, until there are no more.
    pub(crate) fn wrappers(&self) -> Wrappers {
        let mut wrappers = Wrappers::default();
        for _ in 0..DEPTH {
            let more = self.more(&wrappers);
            if more.is_empty() {
                break;
            }
            wrappers.found.extend(more);
        }
        wrappers
    }

    /// Wrappers that show when these are known.
    fn more(&self, known: &Wrappers) -> Vec<FunctionKey> {
        let mut allocates: HashMap<&FunctionKey, (HashSet<_>, HashSet<_>)> = HashMap::new();
        for path in &self.paths {
            let inner = path.iter().take_while(|step| known.holds(&step.function));
            if let [step, caller, ..] = &path[inner.count()..] {
                let (lines, callers) = allocates.entry(&step.function).or_default();
                lines.insert(&step.line);
                if caller.function != step.function {
                    callers.insert(&caller.function);
                }
            }
        }
        let forwards = |(function, (lines, callers)): (&FunctionKey, (HashSet<_>, HashSet<_>))| {
            let is_wrapper =
                lines.len() == 1 && callers.len() >= 2 && !self.access.contains(function);
            is_wrapper.then(|| function.clone())
        };
        allocates.into_iter().filter_map(forwards).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::naming::heap_name;

    fn path(frames: &[(&str, u32)]) -> Vec<Caller> {
        let caller = |&(name, line): &(&str, u32)| Caller {
            frame: Frame {
                function: name.into(),
                file: "src/a.c".into(),
                line,
            },
            place: CodePlace::UNKNOWN,
            system: name == "malloc",
        };
        frames.iter().map(caller).collect()
    }

    fn name(wrappers: &Wrappers, frames: &[(&str, u32)]) -> String {
        heap_name(wrappers.wanting(&path(frames)))
    }

    #[test]
    fn a_heap_object_is_named_by_the_code_that_wanted_it() {
        let mut frames = path(&[("operator new(unsigned long)", 0), ("reserve", 70)]);
        frames[1].frame.file = "/usr/include/c++/12/vector".into();
        frames.extend(path(&[("read_all", 12), ("main", 5)]));
        let named = |frames: &[Caller]| heap_name(Wrappers::default().wanting(frames));
        assert_eq!(named(&frames), "heap from read_all (a.c:12)");
        assert_eq!(
            named(&frames[..1]),
            "heap from operator new(unsigned long) (a.c)"
        );
        assert_eq!(named(&[]), "heap from an unknown call");
    }

    #[test]
    fn a_wrapper_with_a_known_name_does_not_name_blocks() {
        let none = Wrappers::default();
        let all = [("malloc", 0), ("xmalloc", 5), ("xstrdup", 9), ("read", 12)];
        assert_eq!(name(&none, &all), "heap from read (a.c:12)");
        assert_eq!(name(&none, &all[..3]), "heap from xmalloc (a.c:5)");
    }

    /// `get` allocates for two functions, `get_text` through it for two others.
    fn evidence() -> Evidence {
        let mut evidence = Evidence::default();
        for outer in [("one", 20), ("two", 30)] {
            evidence.add_allocation(&path(&[("malloc", 0), ("get", 5), outer, ("main", 90)]));
            let text = [("get", 5), ("get_text", 9), outer, ("main", 91)];
            evidence.add_allocation(&path(&text));
        }
        evidence
    }

    const TEXT: [(&str, u32); 3] = [("get", 5), ("get_text", 9), ("two", 30)];

    #[test]
    fn functions_that_forward_show_by_what_they_do() {
        let wrappers = evidence().wrappers();
        assert_eq!(name(&wrappers, &TEXT), "heap from two (a.c:30)");
    }

    #[test]
    fn a_function_that_accesses_blocks_wants_them_itself() {
        let mut evidence = evidence();
        evidence.add_access(&path(&[("get_text", 10)])[0].frame);
        let wrappers = evidence.wrappers();
        assert_eq!(name(&wrappers, &TEXT), "heap from get_text (a.c:9)");
    }

    #[test]
    fn a_function_that_allocates_on_two_lines_wants_blocks_itself() {
        let mut evidence = evidence();
        evidence.add_allocation(&path(&[("get", 6), ("one", 21), ("main", 92)]));
        let wrappers = evidence.wrappers();
        assert_eq!(name(&wrappers, &TEXT), "heap from get (a.c:5)");
    }

    #[test]
    fn a_function_with_one_caller_wants_blocks_itself() {
        let mut evidence = Evidence::default();
        for line in [20, 21] {
            evidence.add_allocation(&path(&[("get", 5), ("one", line), ("main", 90)]));
        }
        let name = name(&evidence.wrappers(), &[("get", 5), ("one", 20)]);
        assert_eq!(name, "heap from get (a.c:5)");
    }
}
