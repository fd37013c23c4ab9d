//! The file of speedscope (its wiki, "Importing from custom sources"): a table of frames, and for
//! each cost the stacks as indices into it, with their weights.

use std::collections::BTreeMap;

use reuselens_locality::Profile;
use serde::Serialize;

use super::{Cost, StackFrame, Stacks};

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

/// The costs of a profile, the last one in front.
pub(super) fn write(profile: &Profile, costs: &[Cost]) -> String {
    let stacks = Stacks::new(profile);
    let mut frames: BTreeMap<StackFrame<'_>, usize> = BTreeMap::new();
    let mut order = Vec::new();
    // Equal stacks of several threads are one.
    let mut sums: BTreeMap<Vec<usize>, Vec<u64>> = BTreeMap::new();
    for (stack, own) in stacks.iter(costs) {
        let numbers = stack.iter().map(|frame| {
            *frames.entry(*frame).or_insert_with(|| {
                order.push(*frame);
                order.len() - 1
            })
        });
        let sum = sums.entry(numbers.collect()).or_default();
        sum.resize(own.len(), 0);
        for (sum, cost) in sum.iter_mut().zip(own) {
            *sum += cost;
        }
    }
    let shared = order.iter().map(|frame| TableFrame {
        name: frame.name,
        file: frame.file,
        line: (frame.line > 0).then_some(frame.line),
    });
    let weights = costs.iter().enumerate().map(|(at, cost)| {
        let stacks = sums.iter().filter(|(_, costs)| costs[at] > 0);
        let (samples, weights): (Vec<_>, Vec<_>) =
            stacks.map(|(stack, costs)| (&stack[..], costs[at])).unzip();
        Weights {
            kind: "sampled",
            name: &cost.about,
            unit: "none",
            start: 0,
            end: weights.iter().sum(),
            samples,
            weights,
        }
    });
    let file = SpeedscopeFile {
        schema: "https://www.speedscope.app/file-format-schema.json",
        name: profile.command_line(),
        exporter: format!("reuselens {}", profile.version),
        active: costs.len() - 1,
        shared: FrameTable {
            frames: shared.collect(),
        },
        profiles: weights.collect(),
    };
    // It cannot fail: there are no maps with odd keys.
    serde_json::to_string(&file).unwrap_or_default()
}
