//! [`HostAccesses`]: what the program's own code on the host accesses, in a report of a run of a
//! GPU program: which lines and data miss, and which memory of the device copies tie the data to.

use std::collections::{BTreeMap, BTreeSet};

use reuselens_document::numbers::{count, percent};
use reuselens_gpu_advisor::{Ledger, Origin};
use reuselens_profile::{CacheSize, Dimension, FileOffset, Group, Grouping, ObjectKind};
use serde_json::{Value, json};

use super::{GpuRun, ShortNames};
use crate::caches::{self, Level};

/// The most lines, and the most data objects, that are kept: those of the most misses.
const MOST_SUMS: usize = 50;

/// The file of the dynamic loader of the systems that CUDA programs run on.
const LOADER: &str = "ld-linux-x86-64.so.2";

/// The accesses of the host's code, as sums. Misses are those of a fully associative LRU cache, and
/// exact where the profile is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostAccesses {
    /// The cache whose misses are counted: `L2 (512 KiB)`.
    pub cache: String,
    /// Accesses.
    pub accesses: u64,
    /// Misses.
    pub misses: u64,
    /// Source lines by misses, without those of the library that stands in for CUDA's, and of the
    /// dynamic loader.
    pub lines: Vec<HostSum>,
    /// The accesses by those that are left out.
    pub lines_left_out: HostSum,
    /// Data objects by misses, without those of the same files.
    pub objects: Vec<HostSum>,
    /// The accesses to those that are left out.
    pub objects_left_out: HostSum,
    /// The file of the profile that has all else.
    pub profile: String,
}

/// The accesses by one line, or to one data object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostSum {
    /// The line or the object, as the profile calls it.
    pub name: String,
    /// Accesses.
    pub accesses: u64,
    /// Misses.
    pub misses: u64,
    /// For data: the object of the ledger that it is, as an index in [`Ledger::objects`], where
    /// that is one.
    pub object: Option<u32>,
    /// For data: the memory of the device that copies tie it to, as indices in
    /// [`Ledger::objects`], ascending.
    pub device: Vec<u32>,
}

impl HostAccesses {
    /// The sums of a profile of the same run that `ledger` is of, for the cache that was asked for
    /// or, without one, that in which misses cost the most time. `stand_in` is the file of the
    /// library in the program that stands in for CUDA's, and `profile` the name of the profile's
    /// file.
    pub fn new(
        grouping: &Grouping<'_>,
        cache: Option<CacheSize>,
        ledger: &Ledger,
        stand_in: &str,
        profile: String,
    ) -> HostAccesses {
        let whole = grouping.profile();
        let level = caches::chosen(whole, cache);
        let numbers = ledger_objects(grouping, ledger);
        let tie = |sum: HostSum| {
            let own = numbers.get(&sum.name).into_iter().flatten().copied();
            let device: BTreeSet<u32> = own.clone().flat_map(|it| ledger.tied_to(it)).collect();
            HostSum {
                object: own.clone().next().filter(|_| own.count() == 1),
                device: device.into_iter().collect(),
                ..sum
            }
        };
        let sums = |by| most_missing(grouping.groups(by), &level, stand_in);
        let (lines, lines_left_out) = sums(Dimension::Line);
        let (objects, objects_left_out) = sums(Dimension::Object);
        HostAccesses {
            cache: level.label(),
            accesses: whole.histogram.accesses(),
            misses: whole.histogram.misses(level.items),
            lines,
            lines_left_out,
            objects: objects.into_iter().map(tie).collect(),
            objects_left_out,
            profile,
        }
    }

    /// Heads of [`line_row`](Self::line_row).
    pub(super) fn line_heads(&self) -> [String; 4] {
        let misses = format!("misses in {}", self.cache);
        [
            "line".to_owned(),
            "accesses".to_owned(),
            misses,
            "share".to_owned(),
        ]
    }

    /// A line.
    pub(super) fn line_row(&self, sum: &HostSum) -> Vec<String> {
        self.row(sum, &self.lines_left_out)
    }

    /// A line or an object, with its share of what is not left out.
    fn row(&self, sum: &HostSum, left_out: &HostSum) -> Vec<String> {
        vec![
            sum.name.clone(),
            count(sum.accesses),
            count(sum.misses),
            percent(sum.misses, self.misses.saturating_sub(left_out.misses)),
        ]
    }

    /// What a table leaves out, as a sentence; `left_out` is the sum of the table's kind, which for
    /// lines is another than for objects.
    pub(super) fn left_out_text(&self, left_out: &HostSum) -> String {
        format!(
            "Left out are the library that stands in for CUDA's and the dynamic loader: {} of {} \
             accesses, and {} of {} misses.",
            count(left_out.accesses),
            count(self.accesses),
            count(left_out.misses),
            count(self.misses)
        )
    }

    /// Heads of [`object_row`](Self::object_row).
    pub(super) fn object_heads(&self) -> [String; 5] {
        let [_, accesses, misses, share] = self.line_heads();
        [
            "object".to_owned(),
            "on the device".to_owned(),
            accesses,
            misses,
            share,
        ]
    }

    /// An object, with the names of the memory of the device that it is copied to or from.
    pub(super) fn object_row(&self, sum: &HostSum, short: &ShortNames<'_>) -> Vec<String> {
        let device: Vec<&str> = sum.device.iter().map(|&it| short.name(Some(it))).collect();
        let mut cells = self.row(sum, &self.objects_left_out);
        if sum.object.is_some() {
            cells[0] = short.name(sum.object).to_owned();
        }
        cells.insert(1, device.join(", "));
        cells
    }

    /// As JSON.
    pub(super) fn json(&self, run: &GpuRun) -> Value {
        let line = |sum: &HostSum| {
            json!({
                "line": sum.name,
                "accesses": sum.accesses,
                "misses": sum.misses,
            })
        };
        let object = |sum: &HostSum| {
            let device = sum.device.iter();
            let device = device.map(|&it| json!({"object": it, "name": run.object_name(Some(it))}));
            json!({
                "object": sum.name,
                "name": sum.object.map(|_| run.object_name(sum.object)),
                "accesses": sum.accesses,
                "misses": sum.misses,
                "device": device.collect::<Vec<_>>(),
            })
        };
        let left_out = |sum: &HostSum| json!({ "accesses": sum.accesses, "misses": sum.misses });
        json!({
            "profile": self.profile,
            "cache": self.cache,
            "accesses": self.accesses,
            "misses": self.misses,
            "by_line": self.lines.iter().map(line).collect::<Vec<_>>(),
            "lines_left_out": left_out(&self.lines_left_out),
            "objects_left_out": left_out(&self.objects_left_out),
            "by_object": self.objects.iter().map(object).collect::<Vec<_>>(),
        })
    }
}

/// The sums of the groups with the most misses; equal ones by accesses, then by name. Groups whose
/// name names the file `stand_in`, or that of the dynamic loader, are one, and come second.
fn most_missing(groups: &[Group], level: &Level, stand_in: &str) -> (Vec<HostSum>, HostSum) {
    let mut sums = Vec::with_capacity(groups.len());
    let mut left_out = HostSum::default();
    for group in groups {
        let misses = group.misses(level.items);
        if is_left_out(&group.name, stand_in) {
            left_out.accesses += group.accesses;
            left_out.misses += misses;
            continue;
        }
        sums.push(HostSum {
            name: group.name.clone(),
            accesses: group.accesses,
            misses,
            ..HostSum::default()
        });
    }
    sums.sort_by(|a, b| {
        let [by_a, by_b] = [a, b].map(|sum| (sum.misses, sum.accesses));
        by_b.cmp(&by_a).then_with(|| a.name.cmp(&b.name))
    });
    sums.truncate(MOST_SUMS);
    (sums, left_out)
}

/// Whether a line or an object is one of the library that stands in for CUDA's, or of the dynamic
/// loader: it says nothing about the program.
fn is_left_out(name: &str, stand_in: &str) -> bool {
    names_file(name, stand_in) || names_file(name, LOADER)
}

/// Whether a name has that of a file in it, as a word: `cuda.so!fn@10` and `malloc in cuda.so` have
/// `cuda.so`, `libtorch_cuda.so` has not.
fn names_file(name: &str, file: &str) -> bool {
    let is_part = |letter: char| letter.is_alphanumeric() || "_-.+".contains(letter);
    name.match_indices(file).any(|(at, _)| {
        let before = name[..at].chars().next_back();
        let after = name[at + file.len()..].chars().next();
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}

/// By name of an object of the profile: the objects of the ledger that it is. Local variables are
/// none: a profile has the frames of a function as one object.
fn ledger_objects(grouping: &Grouping<'_>, ledger: &Ledger) -> BTreeMap<String, BTreeSet<u32>> {
    let origins = HostOrigins::new(ledger);
    let mut by_name: BTreeMap<String, BTreeSet<u32>> = BTreeMap::new();
    for object in &grouping.profile().objects {
        if !matches!(object.kind, ObjectKind::Heap | ObjectKind::Static) {
            continue;
        }
        let numbers = object.origins.iter().flat_map(|it| origins.objects(it));
        let sum = by_name.entry(object.name.clone()).or_default();
        sum.extend(numbers);
    }
    by_name
}

/// Finds the objects of a ledger by their origins in a profile.
struct HostOrigins {
    /// Origin and number of each object of the host.
    objects: Vec<(Vec<FileOffset>, u32)>,
    /// By one of the innermost calls of an origin: indices in `objects`, and of the call.
    by_call: BTreeMap<FileOffset, Vec<(usize, usize)>>,
}

/// Calls within allocators, such as that of `malloc` in `operator new`, which a ledger has and a
/// profile leaves out.
const MOST_ALLOCATOR_CALLS: usize = 3;

impl HostOrigins {
    fn new(ledger: &Ledger) -> HostOrigins {
        let numbers = (1..).take(ledger.objects.len().saturating_sub(1));
        let objects: Vec<_> = numbers
            .filter_map(|number| Some((origin(ledger, number)?, number)))
            .collect();
        let mut by_call: BTreeMap<FileOffset, Vec<(usize, usize)>> = BTreeMap::new();
        for (index, (origin, _)) in objects.iter().enumerate() {
            for (at, call) in origin.iter().take(MOST_ALLOCATOR_CALLS + 1).enumerate() {
                by_call.entry(call.clone()).or_default().push((index, at));
            }
        }
        HostOrigins { objects, by_call }
    }

    /// The numbers of the objects that the same calls allocated, or of the same variable. The calls
    /// of one may go on further out than those of the other: a profile ends at `main`, a ledger at
    /// the start of the program or of the thread.
    fn objects(&self, origin: &[FileOffset]) -> impl Iterator<Item = u32> {
        let places = origin.first().and_then(|first| self.by_call.get(first));
        places
            .into_iter()
            .flatten()
            .filter_map(move |&(index, at)| {
                let (calls, number) = &self.objects[index];
                let is_same = origin.iter().zip(&calls[at..]).all(|(a, b)| a == b);
                is_same.then_some(*number)
            })
    }
}

/// Where an object of the host is from, as [`Object::origins`](reuselens_profile::Object) has it.
fn origin(ledger: &Ledger, number: u32) -> Option<Vec<FileOffset>> {
    let object = ledger.objects.get(number as usize)?;
    let place = |module: u32, address: u64| {
        let path = ledger.modules.get(module as usize)?.path.as_str();
        Some(FileOffset {
            module: path.rsplit('/').next().unwrap_or(path).to_owned(),
            offset: address,
        })
    };
    match object.origin {
        Origin::Static { module, address } => Some(vec![place(module, address)?]),
        Origin::Heap => {
            let frames = ledger.call_path(object.call_path).frames.iter().rev();
            frames
                .map(|frame| place(frame.module, frame.address))
                .collect()
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::tests::{OPTIONS, run};
    use crate::gpu::{GpuPageOptions, SummedRun, gpu_page, gpu_text};

    #[test]
    fn lines_and_objects_state_their_own_sums_of_what_is_left_out() {
        let left_out = |accesses, misses| HostSum {
            accesses,
            misses,
            ..HostSum::default()
        };
        let run = GpuRun {
            host: Some(HostAccesses {
                accesses: 900,
                misses: 80,
                lines_left_out: left_out(31, 17),
                objects_left_out: left_out(22, 13),
                ..HostAccesses::default()
            }),
            ..run(&[128])
        };
        let run = SummedRun::of(&run);
        let page = gpu_page(&run, &GpuPageOptions::default());
        for shown in [gpu_text(&run, &OPTIONS), page] {
            let words: Vec<&str> = shown.split_whitespace().collect();
            let shown = words.join(" ");
            let place = |text: &str| {
                shown
                    .find(text)
                    .unwrap_or_else(|| panic!("{text}: {shown}"))
            };
            let lines = place("31 of 900 accesses, and 17 of 80 misses");
            let objects = place("22 of 900 accesses, and 13 of 80 misses");
            let (of_lines, of_objects) = (
                place("Source lines of the host"),
                place("Data objects of the host"),
            );
            assert_eq!(lines < objects, of_lines < of_objects);
        }
    }

    #[test]
    fn loader_and_stand_in_are_left_out() {
        for name in [
            "dynamic loader (ld-linux-x86-64.so.2)",
            "unnamed variables (ld-linux-x86-64.so.2)",
            "libcuda.so!fn@10 (unknown line)",
        ] {
            assert!(is_left_out(name, "libcuda.so"), "{name}");
        }
        for name in ["k.cu:7", "loader.cu:3", "unnamed variables (libc.so.6)"] {
            assert!(!is_left_out(name, "libcuda.so"), "{name}");
        }
    }

    #[test]
    fn files_are_found_as_words() {
        for name in [
            "cuda.so!fn@10 (unknown line)",
            "malloc in cuda.so (unknown line)",
            "stack of f (cuda.so)",
        ] {
            assert!(names_file(name, "cuda.so"), "{name}");
        }
        for name in [
            "libtorch_cuda.so!f",
            "f in libggml-cuda.so.1",
            "cuda.so.13",
            "f (a.c)",
        ] {
            assert!(!names_file(name, "cuda.so"), "{name}");
        }
    }
}
