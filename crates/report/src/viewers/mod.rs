//! Profiles in the formats of programs that show where a program spends something: here its
//! accesses and its misses. [`Viewer`] is the list of formats, each in the file of its name, and
//! [`Stacks`] is what all of them write.

mod callgrind;
mod folded;
mod speedscope;

use std::path::Path;

use reuselens_locality::{CacheSize, Dimension, Profile};

use crate::caches::{self, Level};

/// A format that other programs show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Viewer {
    /// Folded stacks, a line for each: `flamegraph.pl`, inferno, speedscope, flamelens.
    Folded,
    /// What cachegrind's sibling callgrind writes: `kcachegrind`, `callgrind_annotate`.
    Callgrind,
    /// The file of <https://www.speedscope.app>.
    Speedscope,
}

impl Viewer {
    /// The endings of all formats, for messages.
    pub const ENDINGS: &str = ".folded, .callgrind and .speedscope.json";

    /// The format of a file, by its name: `.folded`, `.callgrind` (or `callgrind.out…`),
    /// `.speedscope.json`. `None` for other names.
    pub fn of(path: &Path) -> Option<Viewer> {
        let name = path.file_name()?.to_string_lossy();
        if name.ends_with(".folded") {
            Some(Viewer::Folded)
        } else if name.ends_with(".callgrind") || name.starts_with("callgrind.out") {
            Some(Viewer::Callgrind)
        } else if name.ends_with(".speedscope.json") {
            Some(Viewer::Speedscope)
        } else {
            None
        }
    }

    /// The file of a profile. Folded stacks have one number: the misses of the cache that reports
    /// rank by, or of `cache`. The others have the accesses, and the misses of every cache of the
    /// machine and of `cache`. Misses are those of fully associative LRU caches.
    ///
    /// Cost: linear in the cells times the depth of their stacks.
    pub fn export(self, profile: &Profile, cache: Option<CacheSize>) -> String {
        match self {
            Viewer::Folded => folded::write(profile, &caches::chosen(profile, cache)),
            Viewer::Callgrind => callgrind::write(profile, &costs(profile, cache)),
            Viewer::Speedscope => speedscope::write(profile, &costs(profile, cache)),
        }
    }
}

/// What a stack can cost: accesses, or the misses of a cache.
struct Cost {
    /// A word: `Accesses`, `L1d`.
    word: String,
    /// What it is: `misses in L1d (32 KiB)`.
    about: String,
    /// The items of the cache; `None` for accesses.
    items: Option<u64>,
}

impl Cost {
    fn of(level: &Level) -> Cost {
        Cost {
            word: level.short().replace(' ', ""),
            about: format!("misses in {}", level.label()),
            items: Some(level.items),
        }
    }
}

/// The costs of all caches of the machine, ascending, with the one that was asked for; the
/// accesses first.
fn costs(profile: &Profile, cache: Option<CacheSize>) -> Vec<Cost> {
    let mut levels = caches::levels(profile);
    let chosen = caches::chosen(profile, cache);
    if levels.iter().all(|level| level.items != chosen.items) {
        levels.push(chosen);
        levels.sort_by_key(|level| level.items);
    }
    let accesses = Cost {
        word: "Accesses".to_owned(),
        about: "accesses".to_owned(),
        items: None,
    };
    std::iter::once(accesses)
        .chain(levels.iter().map(Cost::of))
        .collect()
}

/// A frame of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct StackFrame<'a> {
    name: &'a str,
    /// The source file; empty if it is not known.
    file: &'a str,
    /// The line in it; 0 if it is not known.
    line: u32,
}

/// The stacks of a profile's cells: functions from the outermost in, then the line, then the data.
/// Viewers thus show which data a function misses on above the function itself.
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

    /// Each cell's stack, and its costs in the order of `costs`; in the order of the cells. Stacks
    /// occur several times: cells are also of threads.
    fn iter<'b>(
        &'b self,
        costs: &'b [Cost],
    ) -> impl Iterator<Item = (Vec<StackFrame<'b>>, Vec<u64>)> {
        self.profile.cells.iter().map(|cell| {
            let mut stack = functions(self.profile, cell.context, cell.site);
            let site = self.profile.sites.get(cell.site as usize);
            let frame = site.and_then(|site| site.frames.first());
            let (file, line) = frame.map_or(("", 0), |frame| (&*frame.file, frame.line));
            for (names, index) in [(&self.lines, cell.site), (&self.objects, cell.object)] {
                let name = names.get(index as usize).map_or("", |name| &**name);
                stack.push(StackFrame { name, file, line });
            }
            let histogram = &cell.histogram;
            let costs = costs.iter().map(|cost| match cost.items {
                Some(items) => histogram.misses(items),
                None => histogram.accesses(),
            });
            (stack, costs.collect())
        })
    }
}

/// The functions of a calling context, the outermost first, and those that were inlined into the
/// last one at a site. Without contexts, those of the site alone.
fn functions(profile: &Profile, context: u32, site: u32) -> Vec<StackFrame<'_>> {
    let mut stack = Vec::new();
    let mut at = context as usize;
    // The root has no function. Parents come before children; what claims otherwise ends the stack.
    while let Some(node) = profile.contexts.get(at).filter(|_| at > 0) {
        let parent = node.parent as usize;
        let call = match profile.contexts.get(parent) {
            Some(_) if parent > 0 && parent < at => (&*node.call.file, node.call.line),
            _ => ("", 0),
        };
        stack.push((&*node.function, call));
        at = if parent < at { parent } else { 0 };
    }
    stack.reverse();
    // A frame shows where its function goes on: at the call of the next one.
    let calls = stack.iter().skip(1).map(|(_, call)| *call);
    let calls: Vec<_> = calls.chain([("", 0)]).collect();
    let named = stack.iter().zip(calls).map(|((name, _), (file, line))| {
        let name = shown_name(name);
        StackFrame { name, file, line }
    });
    let mut stack: Vec<StackFrame> = named.collect();
    let frames = profile.sites.get(site as usize).map(|site| &*site.frames);
    let frames = frames.unwrap_or_default();
    let innermost = frames.first().map(|frame| &*frame.function);
    let inlined = match stack.last() {
        // Contexts name the functions that are inlined, too.
        Some(last) if Some(last.name) == innermost => 0,
        Some(_) => frames.len().min(1),
        None => frames.len(),
    };
    for frame in frames[..inlined].iter().rev() {
        let (file, line) = (&*frame.file, frame.line);
        let name = shown_name(&frame.function);
        stack.push(StackFrame { name, file, line });
    }
    stack
}

/// A function's name, which may be unknown.
fn shown_name(name: &str) -> &str {
    match name {
        "" => "(unknown function)",
        name => name,
    }
}
