//! Runs `cases/*.toml` through every exact engine, cut into blocks in several ways.

#[path = "../../cuda-driver/tests/inside/mod.rs"]
mod inside;

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use reuselens::distance::generate::{Generator, Jacobi, Loop, Uniform};
use reuselens::distance_gpu::{ExactSettings, GpuExact, interpreter};
use reuselens::engines::{ENGINES, EngineError, by_name};
use reuselens_cuda::Device;
use reuselens_cuda_driver::DriverDevice;
use reuselens_units::Distance;
use serde::Deserialize;

use inside::inside;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    case: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    source: String,
    trace: Option<String>,
    items: Option<Vec<Number>>,
    generator: Option<Recipe>,
    distances: Option<Vec<Expected>>,
    histogram: Vec<(u64, u64)>,
    cold: u64,
    distinct: u64,
}

/// TOML has no numbers beyond 2^63 - 1: those are strings.
#[derive(Deserialize)]
#[serde(untagged)]
enum Number {
    Number(u64),
    Text(String),
}

impl Number {
    fn get(&self) -> u64 {
        match self {
            Number::Number(number) => *number,
            Number::Text(text) => text.parse().unwrap(),
        }
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Expected {
    Items(u64),
    Word(String),
}

#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
enum Recipe {
    Loop {
        start: Number,
        stride: u64,
        items: u64,
        length: usize,
    },
    Sweep {
        items: usize,
        length: usize,
    },
    Uniform {
        items: u64,
        seed: u64,
        length: usize,
    },
    Jacobi {
        side: u64,
        length: usize,
    },
}

impl Recipe {
    fn items(&self) -> Vec<u64> {
        let (mut generator, length): (Box<dyn Generator>, usize) = match self {
            Recipe::Loop {
                start,
                stride,
                items,
                length,
            } => (Box::new(Loop::new(start.get(), *stride, *items)), *length),
            Recipe::Uniform {
                items,
                seed,
                length,
            } => (Box::new(Uniform::new(*items, *seed)), *length),
            Recipe::Jacobi { side, length } => (Box::new(Jacobi::new(*side)), *length),
            Recipe::Sweep { items, length } => {
                let there_and_back = (0..*items).chain((0..*items).rev());
                return there_and_back
                    .cycle()
                    .take(*length)
                    .map(|item| item as u64)
                    .collect();
            }
        };
        let mut items = vec![0; length];
        generator.fill(&mut items);
        items
    }
}

impl Case {
    fn items(&self) -> Vec<u64> {
        match (&self.trace, &self.items, &self.generator) {
            (Some(words), None, None) => {
                let mut names = BTreeMap::new();
                let number = |word| {
                    let next = names.len() as u64;
                    *names.entry(word).or_insert(next)
                };
                words.split_whitespace().map(number).collect()
            }
            (None, Some(items), None) => items.iter().map(Number::get).collect(),
            (None, None, Some(recipe)) => recipe.items(),
            _ => panic!("{}: needs one of trace, items and generator", self.name),
        }
    }

    fn check(&self, engine: &str, items: &[u64], block: usize) {
        let at = format!("{} / {engine} / blocks of {block}", self.name);
        let mut distances = vec![Distance::ZERO; items.len()];
        let mut running = by_name(engine).unwrap();
        for (items, distances) in items.chunks(block).zip(distances.chunks_mut(block)) {
            running.process(items, distances);
        }
        self.check_distances(&distances, running.distinct().get(), &at);
    }

    fn check_distances(&self, distances: &[Distance], distinct: u64, at: &str) {
        if let Some(expected) = &self.distances {
            let expected: Vec<Distance> = expected.iter().map(Expected::distance).collect();
            assert_eq!(distances, expected, "{at}");
        }
        let mut histogram = BTreeMap::new();
        for items in distances.iter().filter_map(|distance| distance.items()) {
            *histogram.entry(items).or_insert(0) += 1;
        }
        let cold = distances
            .iter()
            .filter(|distance| distance.is_cold())
            .count() as u64;
        assert_eq!(
            histogram.into_iter().collect::<Vec<(u64, u64)>>(),
            self.histogram,
            "{at}"
        );
        assert_eq!((cold, distinct), (self.cold, self.distinct), "{at}");
    }
}

impl Expected {
    fn distance(&self) -> Distance {
        match self {
            Expected::Items(items) => Distance::new(*items),
            Expected::Word(word) => {
                assert_eq!(word, "cold");
                Distance::COLD
            }
        }
    }
}

fn cases() -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cases");
    let mut paths: Vec<_> = folder
        .read_dir()
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.retain(|path| {
        path.extension()
            .is_some_and(|extension| extension == "toml")
    });
    paths.sort();
    let read = |path: &_| std::fs::read_to_string(path).unwrap();
    paths
        .iter()
        .flat_map(|path| match toml::from_str::<File>(&read(path)) {
            Ok(file) => file.case,
            Err(error) => panic!("{}: {error}", path.display()),
        })
        .collect()
}

/// The engine `gpu` takes whole analyses: here it is run by itself, with chunks of several sizes.
fn every_case_on<D: Device>(device: impl Fn() -> D) {
    for case in &cases() {
        let items = case.items();
        let length = items.len().max(1) as u64;
        // Each chunk takes some thirty launches.
        let chunks = [length, length / 2 + 1, length / 3 + 7];
        for &chunk in &chunks[..if length > 20_000 { 1 } else { 3 }] {
            let at = format!("{} / gpu / chunks of {chunk}", case.name);
            let settings = ExactSettings { chunk: Some(chunk) };
            let mut engine = GpuExact::new(device(), settings).unwrap();
            engine.feed(&items);
            let finished = engine.finish().unwrap();
            case.check_distances(&finished.distances, finished.distinct.get(), &at);
        }
    }
}

#[test]
fn every_case_on_the_interpreter() {
    every_case_on(|| interpreter(1 << 28, 2));
}

/// The driver is that of the stand-in, which a process of its own finds.
#[test]
fn every_case_by_a_driver() {
    inside("cases_inside_of_the_stand_in", "").passes("cases/");
}

#[test]
#[ignore = "runs in a process with the stand-in, which another test starts"]
fn cases_inside_of_the_stand_in() {
    every_case_on(|| DriverDevice::open(0).unwrap());
}

#[test]
fn every_case_on_every_engine() {
    let cases = cases();
    assert!(cases.len() >= 25, "{} cases", cases.len());
    let mut names = HashSet::new();
    for case in &cases {
        assert!(
            names.insert(&case.name),
            "two cases are named '{}'",
            case.name
        );
        assert!(!case.source.is_empty(), "{}: where is it from?", case.name);
        let items = case.items();
        // Those that take whole analyses only are held to the others there.
        let whole = |name| matches!(by_name(name), Err(EngineError::Whole { .. }));
        let exact = ENGINES.iter().filter(|engine| engine.exact);
        for engine in exact.filter(|engine| !whole(engine.name)) {
            // The list takes accesses times items: minutes on the longest.
            if engine.name == "brute" && items.len() as u64 * case.distinct > 50_000_000 {
                continue;
            }
            for block in [1, 7, 64, 1000, items.len().max(1)] {
                case.check(engine.name, &items, block);
            }
        }
    }
}
