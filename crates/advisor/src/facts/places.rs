//! Where a finding is: the line of the user's own code that misses most, and how it is called.

use std::borrow::Cow;
use std::collections::BTreeMap;

use reuselens_advice::FindingPlace;
use reuselens_profile::{Cell, Context, Frame, Site};

use super::MissFacts;

/// Calls of a call path that are kept: those next to the place.
const CALLS: usize = 12;

/// Functions of the C library that call a program's or a thread's first function.
const STARTS: [&str; 5] = [
    "_start",
    "__libc_start_main",
    "__libc_start_main_impl",
    "__libc_start_call_main",
    "start_thread",
];

/// Beginnings of the names of Rust's functions between `main` of C and that of the program.
const RUST_START: &str = "std::rt::lang_start";

/// A function of Rust's library that has no source.
const RUST_TRY: &str = "__rust_try";

/// Libraries of the system, by the beginnings of their files' names.
const SYSTEM: [&str; 9] = [
    "libc.so",
    "libm.so",
    "libpthread",
    "libstdc++",
    "libgcc_s",
    "libgomp",
    "libomp",
    "ld-linux",
    "linux-vdso",
];

/// The cells of a line.
#[derive(Default)]
struct LineCells<'a> {
    /// Misses of all of them.
    misses: u64,
    /// The one that misses most, with its misses.
    worst: Option<(&'a Cell, u64)>,
}

impl<'a> LineCells<'a> {
    fn add(&mut self, cell: &'a Cell, misses: u64) {
        self.misses = self.misses.saturating_add(misses);
        if self.worst.is_none_or(|(_, most)| most < misses) {
            self.worst = Some((cell, misses));
        }
    }
}

impl MissFacts<'_> {
    /// The line with the most misses among those of the cells that `is_meant` chooses, called as by
    /// the cell of it that misses most. `object` is the object that the finding is about, if it is
    /// about one.
    pub fn place(&self, object: Option<u32>, is_meant: impl Fn(&Cell) -> bool) -> FindingPlace {
        // A loop that the compiler unrolled has several instructions of one line.
        let mut lines: BTreeMap<(Option<String>, Option<String>), LineCells<'_>> = BTreeMap::new();
        for cell in self.profile.cells.iter().filter(|cell| is_meant(cell)) {
            let frame = self.shown_frame(cell);
            let line = lines.entry((source_of(&frame), function_of(&frame)));
            line.or_default().add(cell, self.misses_of(cell));
        }
        // Of equal ones the first.
        let worst = lines.into_values().rev().max_by_key(|line| line.misses);
        let worst = worst.and_then(|line| line.worst);
        let object = object.map(|object| self.object(object).name.clone());
        match worst {
            Some((cell, _)) => FindingPlace {
                object,
                ..self.cell_place(cell)
            },
            None => FindingPlace {
                object,
                ..FindingPlace::default()
            },
        }
    }

    /// The place of an object: where it misses most.
    pub fn object_place(&self, object: u32) -> FindingPlace {
        self.place(Some(object), |cell| self.object_of(cell.object) == object)
    }

    /// The line of a site for people: that of the user's code which it is in or was inlined into.
    pub fn site_line(&self, site: u32) -> Option<String> {
        self.line_name(own_frame(self.profile.sites.get(site as usize)?)?)
    }

    /// A place in the source for people: `matmul.c:35`, with folders where files of other folders
    /// have that name; the function without a line, or nothing.
    pub fn line_name(&self, frame: &Frame) -> Option<String> {
        let file = self.paths.shorten(&frame.file);
        match (file, frame.line) {
            ("", _) | (_, 0) => (!frame.function.is_empty()).then(|| frame.function.clone()),
            (file, line) => Some(format!("{file}:{line}")),
        }
    }

    /// Whether a site is code that the user can change: no code of the system's libraries, nor
    /// code of unknown place.
    pub fn is_own(&self, site: u32) -> bool {
        let Some(site) = self.profile.sites.get(site as usize) else {
            return false;
        };
        !is_system(site) && own_frame(site).is_some_and(|frame| !frame.is_library_source())
    }

    /// Whether a site is code of the system's libraries.
    pub fn is_system(&self, site: u32) -> bool {
        let site = self.profile.sites.get(site as usize);
        site.is_some_and(is_system)
    }

    /// The code of a cell that is shown: the innermost line of the user's own code. Code of a
    /// library, and code without lines, as `memcpy` has none, is named by the call of it, which is
    /// not borrowed. Where there is no such call, it is shown itself.
    fn shown_frame(&self, cell: &Cell) -> Cow<'_, Frame> {
        let site = self.profile.sites.get(cell.site as usize);
        let own = site.and_then(own_frame);
        let is_users = |frame: &&Frame| frame.line > 0 && !frame.is_library_source();
        if let Some(frame) = own.filter(is_users) {
            return Cow::Borrowed(frame);
        }
        let mut callers = self.callers(cell.context).into_iter();
        let caller = callers.rfind(|frame| frame.line > 0).map(Cow::Owned);
        caller
            .or(own.map(Cow::Borrowed))
            .unwrap_or_else(|| Cow::Owned(Frame::default()))
    }

    fn cell_place(&self, cell: &Cell) -> FindingPlace {
        let frame = self.shown_frame(cell);
        let mut path = self.callers(cell.context);
        // What is called within the place is not what calls it: the path ends at a call that is
        // shown for library code.
        if let Some(at) = path.iter().rposition(|caller| caller == &*frame) {
            path.truncate(at);
        }
        FindingPlace {
            source: source_of(&frame),
            function: function_of(&frame),
            call_path: path.iter().map(call_words).collect(),
            object: None,
        }
    }

    /// The calls that lead to a context, from `main` inwards: each a function of the user's, and
    /// the line in it that calls the next. The function of the context itself is not among them.
    fn callers(&self, context: u32) -> Vec<Frame> {
        let contexts = &self.profile.contexts;
        let mut path = Vec::new();
        let mut at = context as usize;
        // Parents come first; a context that claims otherwise ends the path.
        while let Some(node) = contexts.get(at).filter(|_| at > 0) {
            let parent = node.parent as usize;
            // What the C library does before `main` and before a thread's function is not the
            // user's.
            let is_first = parent == 0 || node.function == "main" || is_start(&contexts[parent]);
            if is_first || parent >= at || path.len() == CALLS {
                break;
            }
            let call = call_of(&contexts[parent], node);
            if !is_of_library(&call) {
                path.push(call);
            }
            at = parent;
        }
        path.reverse();
        path
    }
}

/// Whether a context is what a library does before a program's or a thread's first function.
fn is_start(context: &Context) -> bool {
    let name = context.function.as_str();
    STARTS.contains(&name) || name.starts_with(RUST_START)
}

/// Whether a call is in the code of a library, as the path of its file or the name that it has
/// instead of one shows: `libstdc++.so.6!fn@d4490`.
fn is_of_library(call: &Frame) -> bool {
    let mut libraries = SYSTEM.iter().chain([&RUST_TRY]);
    let is_named = libraries.any(|name| call.function.starts_with(name));
    call.is_library_source() || call.file.is_empty() && is_named
}

/// Whether a site is code of the system's libraries.
fn is_system(site: &Site) -> bool {
    SYSTEM.iter().any(|name| site.module.starts_with(name))
}

/// The line of a frame: `/src/a.c:12`; `None` if it is not known.
fn source_of(frame: &Frame) -> Option<String> {
    let is_known = frame.line > 0 && !frame.file.is_empty();
    is_known.then(|| format!("{}:{}", frame.file, frame.line))
}

/// The function of a frame; `None` if it has no name.
fn function_of(frame: &Frame) -> Option<String> {
    (!frame.function.is_empty()).then(|| frame.function.clone())
}

/// A function, and the line in it that calls another.
fn call_of(caller: &Context, called: &Context) -> Frame {
    Frame {
        function: caller.function.clone(),
        file: called.call.file.clone(),
        line: called.call.line,
    }
}

/// A call of a call path for people: `solve (a.c:12)`.
fn call_words(call: &Frame) -> String {
    let function = match call.function.as_str() {
        "" => "(unknown function)",
        function => function,
    };
    let file = call.file.rsplit('/').next().unwrap_or_default();
    match (file, call.line) {
        ("", _) | (_, 0) => function.to_owned(),
        (file, line) => format!("{function} ({file}:{line})"),
    }
}

/// The innermost frame of the user's own code; the innermost one at all where none is.
fn own_frame(site: &Site) -> Option<&Frame> {
    let is_own = |frame: &&Frame| frame.line > 0 && !frame.is_library_source();
    site.frames.iter().find(is_own).or(site.frames.first())
}
