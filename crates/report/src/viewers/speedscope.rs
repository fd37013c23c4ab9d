//! The file of speedscope (its wiki, "Importing from custom sources"): a table of frames, and for
//! each cost the stacks as indices into it, with their weights.

use std::collections::BTreeMap;

use reuselens_locality::total;
use reuselens_profile::Profile;
use reuselens_units::shown_json;
use serde::Serialize;

use super::{Costs, SourcePlace, Stacks, add};
use crate::json::to_text;

#[derive(Serialize)]
struct SpeedscopeFile<'a> {
    #[serde(rename = "$schema")]
    schema: &'static str,
    name: String,
    exporter: String,
    #[serde(rename = "activeProfileIndex")]
    active: usize,
    shared: FrameTable<'a>,
    profiles: Vec<Weights<'a>>,
}

#[derive(Serialize)]
struct FrameTable<'a> {
    frames: Vec<TableFrame<'a>>,
}

#[derive(Serialize)]
struct TableFrame<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    file: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
}

#[derive(Serialize)]
struct Weights<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    name: &'a str,
    unit: &'static str,
    #[serde(rename = "startValue")]
    start: u64,
    #[serde(rename = "endValue")]
    end: u64,
    samples: Vec<&'a [usize]>,
    weights: Vec<u64>,
}

/// The costs of a profile, with that in front which reports rank by.
pub(super) fn write(profile: &Profile, costs: &Costs) -> String {
    let stacks = Stacks::new(profile);
    let mut table = NumberedFrames::default();
    // Equal stacks of several threads are one. In their order, so that equal profiles give equal
    // bytes.
    let mut sums: BTreeMap<Vec<usize>, Vec<u64>> = BTreeMap::new();
    for (stack, own) in stacks.iter(&costs.all) {
        let last = stack.functions.len();
        let frames = stack.names().enumerate().map(|(at, name)| {
            // Only the frame of a line has a place. The viewer sums by frame, and with the places
            // of their calls `sort` had 14,202 frames for 4,149 names.
            table.number(name, if at == last { stack.place } else { ("", 0) })
        });
        add(sums.entry(frames.collect()).or_default(), &own);
    }
    let weights = costs.all.iter().enumerate().map(|(at, cost)| {
        // A stack without this cost would be a box without width.
        let stacks = sums.iter().filter(|(_, costs)| costs[at] > 0);
        let (samples, weights): (Vec<_>, Vec<_>) =
            stacks.map(|(stack, costs)| (&stack[..], costs[at])).unzip();
        Weights {
            kind: "sampled",
            name: &cost.about,
            unit: "none",
            start: 0,
            end: total(weights.iter().copied()),
            samples,
            weights,
        }
    });
    let text = to_text(&SpeedscopeFile {
        schema: "https://www.speedscope.app/file-format-schema.json",
        name: profile.command_line(),
        exporter: format!("reuselens {}", profile.version),
        active: costs.chosen,
        profiles: weights.collect(),
        shared: FrameTable {
            frames: table.frames,
        },
    });
    shown_json(&text).into_owned()
}

/// The frames so far, and their numbers.
#[derive(Default)]
struct NumberedFrames<'a> {
    numbers: BTreeMap<(&'a str, SourcePlace<'a>), usize>,
    frames: Vec<TableFrame<'a>>,
}

impl<'a> NumberedFrames<'a> {
    fn number(&mut self, name: &'a str, place: SourcePlace<'a>) -> usize {
        *self.numbers.entry((name, place)).or_insert_with(|| {
            let (file, line) = place;
            self.frames.push(TableFrame {
                name,
                file,
                line: (line > 0).then_some(line),
            });
            self.frames.len() - 1
        })
    }
}
