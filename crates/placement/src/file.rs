//! Placement files, `NAME.rlplace`: which data of a program goes into which tier.
//!
//! The file is TOML, to be read and changed by people. Allocations and symbols are named by places
//! in files, `module+0x1234`, so that they mean the same wherever the program is loaded; build ids
//! say which files are meant.

use std::collections::BTreeMap;
use std::fmt;

use reuselens_profile::{ChunkedKey, FileOffset, Frame, ObjectKind, Profile};
use reuselens_units::Bytes;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thiserror::Error;

use crate::candidate::shares_pages;
use crate::machine::{MemoryMachine, TierKind};
use crate::plan::{PlacementPlan, Reason};

/// `run` takes memory of a tier in pieces of this many bytes, so a smaller tier holds nothing.
pub const PIECE_OF_TIER: u64 = 64 << 10;
/// Bytes of a huge page.
pub const HUGE_PAGE: u64 = 2 << 20;
/// Larger files are refused.
pub const MAX_FILE_BYTES: u64 = 64 << 20;
/// The version of the form that is written and read.
const VERSION: u32 = 1;
/// Stands in a path for calls that are unknown.
const UNKNOWN_CALLS: &str = "...";
/// Calls of one path, at most.
const MAX_CALLS: usize = 1024;

const HEAD: &str = "\
# Which data of a program goes into which memory: written by `reuselens place`, honoured by
# `reuselens run --placement`. Paths are calls as module+address, the innermost first; \"...\" is
# any number of other calls. docs/commands/place.md has all fields.

";

/// What sort of object is placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PlacedKind {
    /// Blocks from some allocation call paths.
    Heap,
    /// A symbol.
    Static,
}

/// A placement file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlacementFile {
    version: u32,
    /// The command that was profiled.
    #[serde(default)]
    pub command: Vec<String>,
    /// The tiers that hold objects, fastest first.
    #[serde(default, rename = "tier")]
    pub tiers: Vec<FileTier>,
    /// Build ids in hexadecimal, by the file names of modules. A module without one is missing.
    #[serde(default)]
    pub builds: BTreeMap<String, String>,
    /// The objects.
    #[serde(default, rename = "object")]
    pub objects: Vec<FileObject>,
}

/// A tier of a placement file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileTier {
    /// Its name.
    pub name: String,
    /// What sort of memory it is.
    pub kind: TierKind,
    /// How many bytes it holds.
    pub capacity_bytes: u64,
    /// How the tier is made on this machine, in the words of `run --as`; chosen by kind if missing.
    #[serde(default, rename = "as", skip_serializing_if = "Option::is_none")]
    pub way: Option<String>,
}

impl FileTier {
    /// The pieces in which `run` takes memory for this tier: huge pages, which tiers of DRAM are
    /// made of if the file says nothing else, or parts of ordinary memory.
    pub fn piece(&self) -> Bytes {
        let is_huge = match self.way.as_deref() {
            None => self.kind == TierKind::Dram,
            Some(way) => !way.starts_with("node:"),
        };
        Bytes(if is_huge { HUGE_PAGE } else { PIECE_OF_TIER })
    }
}

/// An object of a placement file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileObject {
    /// Its name as people read it.
    pub name: String,
    /// What sort.
    pub kind: PlacedKind,
    /// The name of its tier.
    pub tier: String,
    /// Its size: of the symbol, or the largest number of bytes that were live at one time.
    pub bytes: u64,
    /// The source of its first path, for people.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<String>,
    /// Where it comes from: paths of calls, innermost first; for a symbol its address.
    #[serde(serialize_with = "write_paths", deserialize_with = "read_paths")]
    pub paths: Vec<Vec<FileOffset>>,
    /// The parts of each block (or of the symbol) that are placed, as first byte and first byte
    /// after; all of it if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub chunks: Vec<(u64, u64)>,
}

/// Objects that belong in a fast memory and are not in the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// The names of those that cannot be found again in another run: structures that the program
    /// names itself, and blocks that code without a file allocates.
    pub names: Vec<String>,
    /// The names of objects with chunks in more than one fast tier; the chunks of one are in the
    /// file.
    pub other_tiers: Vec<String>,
    /// The names of tiers with objects that are smaller than what `run` takes memory in, and that.
    pub small_tiers: Vec<(String, Bytes)>,
    /// Number of static objects that share their pages with other data: smaller than a page, or in
    /// several places.
    pub small: u64,
}

/// Why there is no placement file, or why it cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PlacementFileError {
    /// The text is not TOML, or has a field that is not known.
    #[error("it cannot be read: {0}")]
    Syntax(String),
    /// A later version wrote it.
    #[error(
        "it has version {0}, and this reuselens reads version {VERSION}; write it again with `reuselens place`"
    )]
    Version(u32),
    /// A value cannot be.
    #[error("{of}: {what}")]
    Value {
        /// The object or tier.
        of: String,
        /// What is wrong with it, and what it must be.
        what: String,
    },
    /// The profile has no places.
    #[error(
        "the profile does not say which calls allocate its objects: an earlier version of reuselens made it; make it again with `reuselens profile`"
    )]
    OldProfile,
    /// Nothing is placed.
    #[error(
        "the plan puts no heap object or symbol into fast memory, so there is nothing to write; {0}"
    )]
    Empty(&'static str),
    /// TOML has no form for a value.
    #[error("the file cannot be written: {0}")]
    Unwritable(String),
}

impl PlacementFile {
    /// The file of a plan for `profile`, and what is not in it.
    ///
    /// # Errors
    /// If no object is left, or the profile is of a version that did not note where objects are.
    pub fn new(
        profile: &Profile,
        plan: &PlacementPlan,
    ) -> Result<(PlacementFile, LeftOut), PlacementFileError> {
        let (objects, mut left_out) = placed_objects(profile, plan);
        if objects.is_empty() {
            return Err(nothing(profile, &left_out));
        }
        let file = PlacementFile::of(profile, &plan.machine, objects);
        let small = file.tiers.iter();
        let small = small.filter(|tier| tier.capacity_bytes < tier.piece().get());
        left_out.small_tiers = small
            .map(|tier| (tier.name.clone(), tier.piece()))
            .collect();
        Ok((file, left_out))
    }

    /// The file of objects of `profile` in tiers of `machine`.
    pub(crate) fn of(
        profile: &Profile,
        machine: &MemoryMachine,
        objects: Vec<FileObject>,
    ) -> PlacementFile {
        let used = |name: &str| objects.iter().any(|object| object.tier == name);
        let tiers = machine.tiers.iter().filter(|tier| used(&tier.name));
        PlacementFile {
            version: VERSION,
            command: profile.command.clone(),
            tiers: tiers
                .map(|tier| FileTier {
                    name: tier.name.clone(),
                    kind: tier.kind,
                    capacity_bytes: tier.capacity.map_or(u64::MAX >> 1, |bytes| bytes.get()),
                    way: tier.way.clone(),
                })
                .collect(),
            builds: builds(profile, &objects),
            objects,
        }
    }

    /// The file as text.
    ///
    /// # Errors
    /// If TOML has no form for a value.
    pub fn to_toml(&self) -> Result<String, PlacementFileError> {
        let text = toml::to_string_pretty(self)
            .map_err(|error| PlacementFileError::Unwritable(error.to_string()))?;
        Ok(format!("{HEAD}{text}"))
    }

    /// A file from its text, which the caller bounds ([`MAX_FILE_BYTES`]).
    ///
    /// # Errors
    /// If the text is no such file, or if a value in it cannot be.
    pub fn from_toml(text: &str) -> Result<PlacementFile, PlacementFileError> {
        let file: PlacementFile =
            toml::from_str(text).map_err(|error| PlacementFileError::Syntax(error.to_string()))?;
        if file.version != VERSION {
            return Err(PlacementFileError::Version(file.version));
        }
        file.check()?;
        Ok(file)
    }

    /// The index of a tier by its name.
    pub fn tier(&self, name: &str) -> Option<usize> {
        self.tiers.iter().position(|tier| tier.name == name)
    }

    fn check(&self) -> Result<(), PlacementFileError> {
        for (index, tier) in self.tiers.iter().enumerate() {
            let wrong = |what: &str| PlacementFileError::Value {
                of: format!("tier '{}'", tier.name),
                what: what.to_owned(),
            };
            if tier.capacity_bytes == 0 {
                return Err(wrong("capacity_bytes is 0; it must be above 0"));
            }
            if self.tier(&tier.name) != Some(index) {
                return Err(wrong(
                    "two tiers have this name; give each a name of its own",
                ));
            }
        }
        for (name, build) in &self.builds {
            if build.is_empty() || !build.bytes().all(|digit| digit.is_ascii_hexdigit()) {
                return Err(PlacementFileError::Value {
                    of: format!("build '{name}'"),
                    what: format!("{build:?} is no build id in hexadecimal"),
                });
            }
        }
        self.objects
            .iter()
            .try_for_each(|object| self.check_object(object))
    }

    fn check_object(&self, object: &FileObject) -> Result<(), PlacementFileError> {
        let wrong = |what: String| PlacementFileError::Value {
            of: format!("object '{}'", object.name),
            what,
        };
        if self.tier(&object.tier).is_none() {
            return Err(wrong(format!("there is no tier '{}'", object.tier)));
        }
        if object.paths.is_empty() {
            return Err(wrong(
                "paths has no path; it must have one at least".to_owned(),
            ));
        }
        for path in &object.paths {
            if path.len() > MAX_CALLS {
                return Err(wrong(format!("a path has more than {MAX_CALLS} calls")));
            }
            if path.first().is_none_or(|first| first.module.is_empty()) {
                let what = "a path must begin with the call of the allocator, module+0x1234";
                return Err(wrong(what.to_owned()));
            }
            if object.kind == PlacedKind::Static && path.len() != 1 {
                return Err(wrong(
                    "a path of a static object is its address alone".to_owned(),
                ));
            }
        }
        let order = |chunks: &[(u64, u64)]| chunks[0].1 <= chunks[1].0;
        let ascending = object.chunks.windows(2).all(order);
        if !ascending || object.chunks.iter().any(|(low, high)| low >= high) {
            let what = "chunks must be pairs of first byte and first byte after, ascending";
            return Err(wrong(what.to_owned()));
        }
        Ok(())
    }
}

/// The objects in fast memory that can be placed in another run, and the others.
fn placed_objects(profile: &Profile, plan: &PlacementPlan) -> (Vec<FileObject>, LeftOut) {
    let placed = plan.objects.iter();
    let placed = placed.filter(|placed| placed.reason == Reason::Placed);
    let (mut objects, mut left_out) = (Vec::new(), LeftOut::default());
    let lengths = chunked_lengths(profile);
    for placed in placed {
        let object = &profile.objects[placed.candidate.object];
        if object.kind == ObjectKind::Static && shares_pages(object) {
            left_out.small += 1;
            continue;
        }
        let kind = match object.kind {
            _ if object.origins.is_empty() => None,
            ObjectKind::Heap => Some(PlacedKind::Heap),
            ObjectKind::Static => Some(PlacedKind::Static),
            _ => None,
        };
        let Some(kind) = kind else {
            left_out.names.push(object.name.clone());
            continue;
        };
        let file_object = FileObject {
            name: object.name.clone(),
            kind,
            tier: plan.machine.tiers[placed.tier].name.clone(),
            bytes: placed.candidate.bytes,
            calls: object.path.iter().map(call).collect(),
            paths: object.origins.clone(),
            chunks: placed.candidate.parts.clone(),
        };
        let longest = object.chunked_key().and_then(|key| lengths.get(&key));
        let longest = longest.copied().unwrap_or(0);
        add(&mut objects, (file_object, longest), &mut left_out);
    }
    let whole = |(mut object, longest): (FileObject, u64)| {
        // A block may be longer in another run, and all of it belongs there.
        if object.chunks == [(0, longest)] {
            object.chunks.clear();
        }
        object
    };
    (objects.into_iter().map(whole).collect(), left_out)
}

/// The bytes of the longest block of each object that has chunks.
fn chunked_lengths(profile: &Profile) -> BTreeMap<ChunkedKey<'_>, u64> {
    let mut lengths = BTreeMap::new();
    for object in &profile.objects {
        if let (Some(part), Some(key)) = (object.part, object.chunked_key()) {
            let longest: &mut u64 = lengths.entry(key).or_default();
            *longest = part.longest.max(*longest);
        }
    }
    lengths
}

/// Whether two objects of a plan are chunks of one. Chunks may come from other paths, where blocks
/// of one path are shorter than those of another.
fn are_chunks_of_one(one: &FileObject, other: &FileObject) -> bool {
    let has_chunks = !one.chunks.is_empty() && !other.chunks.is_empty();
    has_chunks && one.paths.iter().any(|path| other.paths.contains(path))
}

/// Adds an object with the bytes of its longest block, or its chunks to those of the same object.
/// `run` finds an object by its paths, so all its chunks must be in one tier: those in others are
/// left out.
fn add(
    objects: &mut Vec<(FileObject, u64)>,
    (object, longest): (FileObject, u64),
    left_out: &mut LeftOut,
) {
    let mut all = objects.iter_mut().map(|(known, _)| known);
    let same = all.find(|known| are_chunks_of_one(known, &object));
    match same {
        None => objects.push((object, longest)),
        Some(known) if known.tier == object.tier => {
            known.bytes = known.bytes.saturating_add(object.bytes);
            for path in object.paths {
                if !known.paths.contains(&path) {
                    known.paths.push(path);
                }
            }
            for chunk in object.chunks {
                let at = known.chunks.partition_point(|other| *other < chunk);
                known.chunks.insert(at, chunk);
            }
            known.chunks.dedup_by(|next, before| {
                let is_beside = before.1 == next.0;
                before.1 = if is_beside { next.1 } else { before.1 };
                is_beside
            });
        }
        Some(known) => left_out.other_tiers.push(known.name.clone()),
    }
}

/// Why a file would have no objects.
fn nothing(profile: &Profile, left_out: &LeftOut) -> PlacementFileError {
    let mut known = profile.objects.iter();
    match (
        left_out.names.is_empty(),
        known.any(|it| !it.origins.is_empty()),
    ) {
        (false, false) => PlacementFileError::OldProfile,
        (true, _) if left_out.small > 0 => PlacementFileError::Empty(
            "what belongs there are static objects that share their pages with other data, and \
             cannot be placed alone",
        ),
        (true, _) => PlacementFileError::Empty("take a larger --fast or another --objective"),
        (false, true) => PlacementFileError::Empty(
            "what belongs there is named by the program or allocated by generated code",
        ),
    }
}

/// The build ids of the modules of some objects.
fn builds(profile: &Profile, objects: &[FileObject]) -> BTreeMap<String, String> {
    let places = objects
        .iter()
        .flat_map(|object| object.paths.iter().flatten());
    let known = places.filter_map(|place| profile.builds.get_key_value(&place.module));
    known
        .map(|(name, build)| (name.clone(), build.clone()))
        .collect()
}

/// `make (a.c:12)`.
pub(crate) fn call(frame: &Frame) -> String {
    match (frame.file.as_str(), frame.line) {
        ("", _) => frame.function.clone(),
        (file, 0) => format!("{} ({file})", frame.function),
        (file, line) => format!("{} ({file}:{line})", frame.function),
    }
}

/// A call of a path as text.
struct CallText<'a>(&'a FileOffset);

impl fmt::Display for CallText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.module.as_str() {
            "" => f.write_str(UNKNOWN_CALLS),
            module => write!(f, "{module}+{:#x}", self.0.offset),
        }
    }
}

fn write_paths<S: Serializer>(paths: &[Vec<FileOffset>], to: S) -> Result<S::Ok, S::Error> {
    let text = |path: &Vec<FileOffset>| -> Vec<String> {
        path.iter().map(|call| CallText(call).to_string()).collect()
    };
    to.collect_seq(paths.iter().map(text))
}

fn read_paths<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Vec<FileOffset>>, D::Error> {
    let paths: Vec<Vec<String>> = Deserialize::deserialize(from)?;
    let path = |path: Vec<String>| path.iter().map(|call| read_call(call)).collect();
    let paths: Result<_, String> = paths.into_iter().map(path).collect();
    paths.map_err(serde::de::Error::custom)
}

/// Reads `module+0x1234` or `...`.
fn read_call(text: &str) -> Result<FileOffset, String> {
    if text == UNKNOWN_CALLS {
        return Ok(FileOffset::default());
    }
    let parts = text
        .rsplit_once("+0x")
        .filter(|(module, _)| !module.is_empty());
    let read = |(module, digits): (&str, &str)| {
        let offset = u64::from_str_radix(digits, 16).ok()?;
        let module = module.to_owned();
        (!digits.starts_with('+')).then_some(FileOffset { module, offset })
    };
    parts.and_then(read).ok_or_else(|| {
        format!(
            "{text:?} is no place in a file; write it as module+0x1234, or \"...\" for any calls"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"
version = 1
command = ["./prog"]

[[tier]]
name = "fast"
kind = "DRAM"
capacity_bytes = 4194304

[builds]
prog = "00ff"

[[object]]
name = "heap from f (a.c:3)"
kind = "heap"
tier = "fast"
bytes = 100
paths = [["libstdc++.so.6+0x10", "...", "prog+0x1189"], ["prog+0x7"]]
"#;

    #[test]
    fn a_file_is_read_as_it_is_written() {
        let file = PlacementFile::from_toml(FILE).unwrap();
        let path = &file.objects[0].paths[0];
        assert_eq!(
            (path[0].module.as_str(), path[0].offset),
            ("libstdc++.so.6", 16)
        );
        assert_eq!(path[1], FileOffset::default());
        let text = file.to_toml().unwrap();
        assert!(text.starts_with("# Which data"), "{text}");
        assert_eq!(PlacementFile::from_toml(&text).unwrap(), file);
    }

    #[test]
    fn the_largest_numbers_are_read_as_they_are_written() {
        let mut file = PlacementFile::from_toml(FILE).unwrap();
        file.objects[0].bytes = u64::MAX;
        let text = file.to_toml().unwrap();
        assert_eq!(PlacementFile::from_toml(&text).unwrap(), file);
    }

    #[test]
    fn impossible_values_are_named() {
        let cases = [
            ("version = 1", "version = 2", "it has version 2"),
            ("4194304", "0", "tier 'fast': capacity_bytes is 0"),
            ("4194304", "-1", "capacity_bytes"),
            ("\"00ff\"", "\"no\"", "build 'prog': \"no\""),
            (
                "tier = \"fast\"",
                "tier = \"slow\"",
                "there is no tier 'slow'",
            ),
            ("prog+0x7", "prog", "\"prog\" is no place"),
            ("prog+0x7", "prog+0x", "\"prog+0x\" is no place"),
            ("prog+0x7", "+0x7", "\"+0x7\" is no place"),
            ("prog+0x7", "prog+0x+7", "\"prog+0x+7\" is no place"),
            ("\"prog+0x7\"", "\"...\"", "a path must begin with"),
            ("\"prog+0x7\"", "", "a path must begin with"),
            ("kind = \"heap\"", "kind = \"static\"", "its address alone"),
            (
                "bytes = 100",
                "bytes = 100\nchunks = [[5, 5]]",
                "chunks must be",
            ),
            (
                "bytes = 100",
                "bytes = 100\nchunks = [[0, 9], [8, 10]]",
                "chunks must be",
            ),
            (
                "bytes = 100",
                "bytes = 100\nspeed = 1",
                "unknown field `speed`",
            ),
        ];
        for (from, to, expected) in cases {
            assert!(FILE.contains(from), "{from}");
            let error = PlacementFile::from_toml(&FILE.replacen(from, to, 1));
            let error = error.unwrap_err().to_string();
            assert!(error.contains(expected), "{to}: {error}");
        }
    }
}
