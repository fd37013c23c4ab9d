//! The format of pprof (`proto/profile.proto` of <https://github.com/google/pprof>), packed with
//! gzip as its tools write it.
//!
//! A sample is a stack with its costs. Its data is a label, by which pprof filters and groups
//! (`-tagfocus`, `-tagleaf data`), so functions and lines stay what they are to it. A function is a
//! name and a file. There are no addresses: nothing is left to look up.

use std::collections::BTreeMap;
use std::io::Write as _;

use flate2::{Compression, GzBuilder};
use prost::Message;
use reuselens_profile::Profile;

use super::function_files::{FunctionFiles, places};
use super::{Cost, Costs, Stacks, add};

/// Numbers of strings are indices into the table of strings, in which 0 is the empty one. Other
/// numbers begin with 1.
#[derive(Clone, PartialEq, Message)]
pub(super) struct PprofFile {
    #[prost(message, repeated, tag = "1")]
    pub value_types: Vec<PprofValueType>,
    #[prost(message, repeated, tag = "2")]
    pub samples: Vec<PprofSample>,
    #[prost(message, repeated, tag = "3")]
    pub mappings: Vec<PprofMapping>,
    #[prost(message, repeated, tag = "4")]
    pub locations: Vec<PprofLocation>,
    #[prost(message, repeated, tag = "5")]
    pub functions: Vec<PprofFunction>,
    #[prost(string, repeated, tag = "6")]
    pub strings: Vec<String>,
    #[prost(int64, repeated, tag = "13")]
    pub comments: Vec<i64>,
    #[prost(int64, tag = "14")]
    pub default_type: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct PprofValueType {
    #[prost(int64, tag = "1")]
    pub name: i64,
    #[prost(int64, tag = "2")]
    pub unit: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct PprofSample {
    /// From the innermost out.
    #[prost(uint64, repeated, tag = "1")]
    pub locations: Vec<u64>,
    #[prost(int64, repeated, tag = "2")]
    pub values: Vec<i64>,
    #[prost(message, repeated, tag = "3")]
    pub labels: Vec<PprofLabel>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct PprofLabel {
    #[prost(int64, tag = "1")]
    pub key: i64,
    #[prost(int64, tag = "2")]
    pub text: i64,
}

/// The program. That it says to have names keeps pprof from looking for them in its file.
#[derive(Clone, PartialEq, Message)]
pub(super) struct PprofMapping {
    #[prost(uint64, tag = "1")]
    pub id: u64,
    #[prost(int64, tag = "5")]
    pub file: i64,
    #[prost(bool, tag = "7")]
    pub has_functions: bool,
    #[prost(bool, tag = "8")]
    pub has_files: bool,
    #[prost(bool, tag = "9")]
    pub has_lines: bool,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct PprofLocation {
    #[prost(uint64, tag = "1")]
    pub id: u64,
    #[prost(uint64, tag = "2")]
    pub mapping: u64,
    #[prost(message, repeated, tag = "4")]
    pub lines: Vec<PprofLine>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct PprofLine {
    #[prost(uint64, tag = "1")]
    pub function: u64,
    #[prost(int64, tag = "2")]
    pub line: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct PprofFunction {
    #[prost(uint64, tag = "1")]
    pub id: u64,
    #[prost(int64, tag = "2")]
    pub name: i64,
    #[prost(int64, tag = "4")]
    pub file: i64,
}

/// The costs of a profile.
pub(super) fn write(profile: &Profile, costs: &Costs) -> Vec<u8> {
    let file = file(profile, costs).encode_to_vec();
    // Without a time and a name in its head, equal profiles give equal bytes.
    let mut packed = GzBuilder::new().write(Vec::new(), Compression::default());
    // Memory takes all that is written.
    let written = packed.write_all(&file).and_then(|()| packed.finish());
    written.unwrap_or_default()
}

fn file(profile: &Profile, costs: &Costs) -> PprofFile {
    let stacks = Stacks::new(profile);
    let files = FunctionFiles::of(&stacks);
    let mut tables = PprofTables::default();
    tables.string("");
    // Equal stacks of several threads are one. In their order, so that equal profiles give equal
    // bytes.
    let mut sums: BTreeMap<(Vec<u64>, i64), Vec<u64>> = BTreeMap::new();
    for (stack, own) in stacks.iter(&costs.all) {
        let mut locations: Vec<u64> = places(&stack)
            .map(|(name, file, line)| tables.location(name, files.file(name, file), line))
            .collect();
        locations.reverse();
        let data = tables.string(stack.data);
        add(sums.entry((locations, data)).or_default(), &own);
    }
    let key = tables.string("data");
    let samples = sums
        .into_iter()
        .map(|((locations, text), costs)| PprofSample {
            locations,
            values: costs.into_iter().map(signed).collect(),
            labels: vec![PprofLabel { key, text }],
        });
    let samples = samples.collect();
    let unit = tables.string("count");
    let types: Vec<PprofValueType> = costs
        .all
        .iter()
        .map(|cost| PprofValueType {
            name: tables.string(&cost.word),
            unit,
        })
        .collect();
    let comment = |cost: &Cost| format!("{}: {}", cost.word, cost.about);
    let comments = costs.all.iter().map(comment);
    let comments: Vec<String> = comments.chain([profile.command_line()]).collect();
    PprofFile {
        samples,
        default_type: types.get(costs.chosen).map_or(0, |chosen| chosen.name),
        value_types: types,
        comments: comments.iter().map(|text| tables.string(text)).collect(),
        mappings: vec![PprofMapping {
            id: PROGRAM,
            file: tables.string(profile.command.first().map_or("", |program| program)),
            has_functions: true,
            has_files: true,
            has_lines: true,
        }],
        locations: tables.locations,
        functions: tables.functions,
        strings: tables.strings,
    }
}

/// The number of the one mapping.
const PROGRAM: u64 = 1;

fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// What numbers stand for, in the order in which it came up.
#[derive(Default)]
struct PprofTables {
    string_numbers: BTreeMap<String, i64>,
    strings: Vec<String>,
    /// By name and file.
    function_numbers: BTreeMap<(i64, i64), u64>,
    functions: Vec<PprofFunction>,
    /// By function and line.
    location_numbers: BTreeMap<(u64, u32), u64>,
    locations: Vec<PprofLocation>,
}

impl PprofTables {
    fn string(&mut self, text: &str) -> i64 {
        if let Some(number) = self.string_numbers.get(text) {
            return *number;
        }
        let number = self.strings.len() as i64;
        self.string_numbers.insert(text.to_owned(), number);
        self.strings.push(text.to_owned());
        number
    }

    fn location(&mut self, function: &str, file: &str, line: u32) -> u64 {
        let (name, file) = (self.string(function), self.string(file));
        let functions = &mut self.functions;
        let function = *self
            .function_numbers
            .entry((name, file))
            .or_insert_with(|| {
                let id = functions.len() as u64 + 1;
                functions.push(PprofFunction { id, name, file });
                id
            });
        let locations = &mut self.locations;
        *self
            .location_numbers
            .entry((function, line))
            .or_insert_with(|| {
                let id = locations.len() as u64 + 1;
                let line = PprofLine {
                    function,
                    line: line.into(),
                };
                locations.push(PprofLocation {
                    id,
                    mapping: PROGRAM,
                    lines: vec![line],
                });
                id
            })
    }
}
