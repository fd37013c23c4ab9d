//! Profiles in the formats of programs that show where a program spends something: here its
//! accesses and its misses. [`Viewer`] is the list of formats, each in the file of its name, and
//! [`Stacks`] is what all of them write.

mod callgrind;
mod folded;
mod function_files;
mod pprof;
mod speedscope;

use std::path::Path;

use reuselens_profile::{CacheSize, Dimension, Frame, Profile, Site};

use crate::caches::{self, Level};

/// A format that other programs show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Viewer {
    /// Folded stacks, a line for each: `flamegraph.pl`, inferno, speedscope, flamelens.
    Folded,
    /// What valgrind's tool callgrind writes: `kcachegrind`, `callgrind_annotate`.
    Callgrind,
    /// The file of <https://www.speedscope.app>.
    Speedscope,
    /// What `pprof` opens, and what takes its files: packed protocol buffers.
    Pprof,
}

impl Viewer {
    /// The endings of all formats, for messages.
    pub const ENDINGS: &str =
        ".folded, .callgrind (or callgrind.out.NAME), .speedscope.json and .pb.gz (pprof)";

    /// The format of a file, by its name: `.folded`, `.callgrind` (or `callgrind.out…`),
    /// `.speedscope.json`, `.pb.gz` or `.pprof`. `None` for other names.
    pub fn of(path: &Path) -> Option<Viewer> {
        let name = path.file_name()?.to_string_lossy();
        if name.ends_with(".folded") {
            Some(Viewer::Folded)
        } else if name.ends_with(".callgrind") || name.starts_with("callgrind.out") {
            Some(Viewer::Callgrind)
        } else if name.ends_with(".speedscope.json") {
            Some(Viewer::Speedscope)
        } else if name.ends_with(".pb.gz") || name.ends_with(".pprof") {
            Some(Viewer::Pprof)
        } else {
            None
        }
    }

    /// The file of a profile. Folded stacks have one number: the misses of the cache that reports
    /// rank by, or of `cache`. The others have the accesses, and the misses of every cache of the
    /// machine and of `cache`. Misses are those of fully associative LRU caches.
    ///
    /// Cost: linear in the cells times the depth of their stacks.
    pub fn export(self, profile: &Profile, cache: Option<CacheSize>) -> Vec<u8> {
        let costs = || Costs::of(profile, cache);
        match self {
            Viewer::Folded => folded::write(profile, &caches::chosen(profile, cache)).into(),
            Viewer::Callgrind => callgrind::write(profile, &costs().all).into(),
            Viewer::Speedscope => speedscope::write(profile, &costs()).into(),
            Viewer::Pprof => pprof::write(profile, &costs()),
        }
    }
}

/// What a stack can cost: accesses, or the misses of a cache.
struct Cost {
    /// A word of letters and digits: `Accesses`, `L1d`.
    word: String,
    /// What it is: `misses in L1d (32 KiB)`.
    about: String,
    /// The items of the cache; `None` for accesses.
    items: Option<u64>,
}

impl Cost {
    fn of(level: &Level) -> Cost {
        Cost {
            word: level.name.clone().unwrap_or_else(|| "Misses".to_owned()),
            about: format!("misses in {}", level.label()),
            items: Some(level.items),
        }
    }
}

/// The costs that a file has.
struct Costs {
    /// The accesses, then the misses in the caches of the machine and in the one that was asked
    /// for, from the smallest on.
    all: Vec<Cost>,
    /// Which of them reports rank by.
    chosen: usize,
}

impl Costs {
    fn of(profile: &Profile, cache: Option<CacheSize>) -> Costs {
        let mut levels = caches::levels(profile);
        let chosen = caches::chosen(profile, cache);
        // By items, not by bytes: sizes that hold equally many have the same misses.
        if levels.iter().all(|level| level.items != chosen.items) {
            levels.push(chosen.clone());
            levels.sort_by_key(|level| level.items);
        }
        let accesses = Cost {
            word: "Accesses".to_owned(),
            about: "accesses".to_owned(),
            items: None,
        };
        let at = levels.iter().position(|level| level.items == chosen.items);
        Costs {
            all: std::iter::once(accesses)
                .chain(levels.iter().map(Cost::of))
                .collect(),
            chosen: at.map_or(0, |at| at + 1),
        }
    }
}

/// Adds costs to a sum. Beyond 64 bits, as in a damaged profile, it saturates.
fn add(sum: &mut Vec<u64>, costs: &[u64]) {
    sum.resize(costs.len(), 0);
    for (sum, cost) in sum.iter_mut().zip(costs) {
        *sum = sum.saturating_add(*cost);
    }
}

/// A place in a source file: the file, empty if it is not known, and the line, 0 if it is not.
type SourcePlace<'a> = (&'a str, u32);

/// A function of a stack, and where it calls the next one.
#[derive(Clone, Copy, Debug)]
struct StackFunction<'a> {
    name: &'a str,
    call: SourcePlace<'a>,
}

impl<'a> StackFunction<'a> {
    /// One that calls none.
    fn named(name: &'a str) -> Self {
        StackFunction {
            name,
            call: ("", 0),
        }
    }
}

/// Where a cell's accesses are made, and to what.
struct CellStack<'a> {
    /// From the outermost in; at least one.
    functions: Vec<StackFunction<'a>>,
    /// The line as reports name it, and its place.
    line: &'a str,
    place: SourcePlace<'a>,
    /// The object as reports name it.
    data: &'a str,
}

impl<'a> CellStack<'a> {
    /// All names: those of the functions, then the line, then the data. Viewers thus show above a
    /// function which data it misses on.
    fn names(&self) -> impl Iterator<Item = &'a str> {
        let functions = self.functions.iter().map(|function| function.name);
        functions.chain([self.line, self.data])
    }
}

/// A profile with the names of its lines and data.
struct Stacks<'a> {
    profile: &'a Profile,
    lines: Vec<String>,
    objects: Vec<String>,
}

impl<'a> Stacks<'a> {
    fn new(profile: &'a Profile) -> Self {
        Stacks {
            profile,
            lines: profile.entry_names(Dimension::Line),
            objects: profile.entry_names(Dimension::Object),
        }
    }

    /// Each cell's stack, and its costs in the order of `costs`. Stacks occur several times: there
    /// are cells for each thread.
    fn iter<'b>(&'b self, costs: &'b [Cost]) -> impl Iterator<Item = (CellStack<'b>, Vec<u64>)> {
        let name = |names: &'b [String], at: u32| names.get(at as usize).map_or("", |name| name);
        self.profile.cells.iter().map(move |cell| {
            let site = self.profile.sites.get(cell.site as usize);
            let frame = site.and_then(|site| site.frames.first());
            let stack = CellStack {
                functions: functions(self.profile, cell.context, site),
                line: name(&self.lines, cell.site),
                place: frame.map_or(("", 0), place),
                data: name(&self.objects, cell.object),
            };
            let costs = costs.iter().map(|cost| match cost.items {
                Some(items) => cell.histogram.misses(items),
                None => cell.histogram.accesses(),
            });
            (stack, costs.collect())
        })
    }
}

fn place(frame: &Frame) -> SourcePlace<'_> {
    (&frame.file, frame.line)
}

/// The functions of a calling context, and that of the site where the context does not end in it:
/// contexts can be unknown, or stand for several. Without contexts, the site's own functions.
fn functions<'a>(
    profile: &'a Profile,
    context: u32,
    site: Option<&'a Site>,
) -> Vec<StackFunction<'a>> {
    let mut stack = callers(profile, context);
    let symbol = site.map_or("", Site::symbol);
    let frames = site.map_or(&[][..], |site| &site.frames);
    // Names are compared before the unknown ones get a name, which would equal no symbol.
    match stack.last() {
        // Contexts name the functions that were inlined, too: nothing is missing.
        Some(last) if last.name == symbol || symbol.is_empty() => {}
        Some(_) => stack.push(StackFunction::named(symbol)),
        None => {
            // Those that were inlined at the site: the innermost comes first.
            let outer = frames.iter().skip(1).rev();
            stack.extend(outer.map(|frame| StackFunction {
                name: &frame.function,
                call: place(frame),
            }));
            stack.push(StackFunction::named(symbol));
        }
    }
    for function in &mut stack {
        if function.name.is_empty() {
            function.name = "(unknown function)";
        }
    }
    stack
}

/// The functions of a calling context, each with the place of its call of the next one.
fn callers(profile: &Profile, context: u32) -> Vec<StackFunction<'_>> {
    let mut stack = Vec::new();
    let (mut at, mut call) = (context as usize, ("", 0));
    // A node knows where its caller called it, and a stack shows that with the caller: each call is
    // carried one node up. The root, which is no function, ends the stack.
    while let Some(node) = profile.contexts.get(at).filter(|_| at > 0) {
        let name = &*node.function;
        stack.push(StackFunction { name, call });
        call = place(&node.call);
        // Parents come before children, so this ends; what claims otherwise has none.
        at = Some(node.parent as usize)
            .filter(|parent| *parent < at)
            .unwrap_or(0);
    }
    stack.reverse();
    stack
}
