//! Runs `cases/gpu/*.toml`.

use std::collections::HashSet;
use std::path::Path;

use reuselens_gpu_advisor::{
    Advisor, AdvisorOptions, BypassInputs, KernelReport, LaunchContext, wavefronts,
};
use reuselens_warp::{Launch, SharedArray, Space, WarpBatch, WarpKind, WarpSink};
use toml::Value;

use crate::support::{Record, analyse, launch, request};

/// The cases of one kind, whose names differ, and which say why their numbers are right.
fn cases(kind: &str) -> Vec<toml::Table> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cases/gpu");
    let files = std::fs::read_dir(folder).unwrap();
    let tables = files.map(|file| -> toml::Table {
        let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
        text.parse().unwrap()
    });
    let lists = tables.filter_map(|mut table| table.remove(kind));
    let cases: Vec<toml::Table> = lists
        .flat_map(|list| list.try_into::<Vec<toml::Table>>().unwrap())
        .collect();
    let mut names = HashSet::new();
    for case in &cases {
        assert!(names.insert(text(case, "name")) && !text(case, "source").is_empty());
    }
    assert!(cases.len() > 2, "{kind}");
    cases
}

fn text<'a>(case: &'a toml::Table, key: &str) -> &'a str {
    case[key].as_str().unwrap()
}

fn number(case: &toml::Table, key: &str) -> u64 {
    let number = case[key].as_integer();
    number
        .and_then(|it| u64::try_from(it).ok())
        .unwrap_or_else(|| panic!("{key}"))
}

/// A load of one warp: lane *n* of the mask has the address `first + n · stride`.
fn load(position: u64, mask: u32, bytes: u8, first: u64, stride: u64) -> Record {
    request(position, WarpKind::Load, mask, bytes, |lane| {
        first + lane * stride
    })
}

fn report(records: &[Record]) -> KernelReport {
    let context = LaunchContext::default();
    analyse(AdvisorOptions::default(), &launch(1, 32), &context, records)
}

/// Loads and stores of single elements, as `r` or `w` and a letter, each in a line of its own.
fn letters(stream: &str) -> Vec<Record> {
    let accesses = (1..).zip(stream.split_whitespace());
    let record = |(position, access): (u64, &str)| {
        let line = u64::from(access.as_bytes()[1] - b'a');
        Record {
            kind: if access.starts_with('r') {
                WarpKind::Load
            } else {
                WarpKind::Store
            },
            ..load(position, 1, 4, 0x1000 + 128 * line, 0)
        }
    };
    accesses.map(record).collect()
}

#[test]
fn writes_end_the_reuse_of_their_items() {
    for case in cases("write_evict") {
        let name = text(&case, "name");
        let bins = |key: &str| {
            case[key]
                .clone()
                .try_into::<Vec<(u64, u64, u64)>>()
                .unwrap()
        };
        let reuse = report(&letters(text(&case, "stream"))).reuse.unwrap();
        for counts in [&reuse.cta_elements, &reuse.cta_lines, &reuse.warp_elements] {
            let found = |histogram: &reuselens_locality::Log2Histogram| {
                (histogram.iter().collect::<Vec<_>>(), histogram.cold())
            };
            let expected = (bins("loads"), number(&case, "cold_loads"));
            assert_eq!(found(&counts.loads), expected, "{name}");
            let expected = (bins("stores"), number(&case, "cold_stores"));
            assert_eq!(found(&counts.stores), expected, "{name}");
            let expected = (number(&case, "streaming"), number(&case, "items"));
            assert_eq!((counts.streaming, counts.items), expected, "{name}");
        }
    }
}

#[test]
fn loads_access_the_lines_and_sectors_of_their_active_lanes() {
    for case in cases("divergence") {
        let name = text(&case, "name");
        let [mask, bytes, first, stride] =
            ["mask", "bytes", "first", "stride"].map(|key| number(&case, key));
        let report = report(&[load(1, mask as u32, bytes as u8, first, stride)]);
        let global = &report.global;
        let found = [
            global.lanes,
            global.lines,
            global.sectors,
            global.ideal_sectors,
        ];
        let expected = ["lanes", "lines", "sectors", "ideal_sectors"];
        assert_eq!(found, expected.map(|key| number(&case, key)), "{name}");
        let loads = &report.divergence.loads;
        assert_eq!(loads.lines[global.lines as usize], 1, "{name}");
        assert_eq!(loads.sectors[global.sectors as usize], 1, "{name}");
    }
}

#[test]
fn passes_of_shared_memory_follow_the_banks() {
    for case in cases("banks") {
        let [mask, bytes, stride] = ["mask", "bytes", "stride"].map(|key| number(&case, key));
        let record = load(1, mask as u32, bytes as u8, 0, stride);
        let found = wavefronts(record.mask, record.bytes, &record.addresses);
        let expected = ["wavefronts", "ideal_wavefronts"].map(|key| number(&case, key) as u32);
        assert_eq!([found.0, found.1], expected, "{}", text(&case, "name"));
    }
}

#[test]
fn bypass_advice_is_the_formula() {
    for case in cases("bypass") {
        let inputs = BypassInputs {
            l1_bytes: number(&case, "l1_bytes"),
            line_bytes: number(&case, "line_bytes"),
            reuse_distance: case.get("distance").map(|it| it.as_float().unwrap()),
            memory_divergence: case.get("divergence").and_then(Value::as_float).unwrap(),
            blocks_per_sm: number(&case, "blocks") as u32,
            warps_per_block: number(&case, "warps") as u32,
        };
        let expected = number(&case, "advice") as u32;
        assert_eq!(inputs.advice(), expected, "{}", text(&case, "name"));
    }
}

/// Launches of one name, as a stream may have them, with shared arrays at these addresses: the
/// numbers of the one's arrays do not mean the arrays of the other.
#[test]
fn launches_with_other_shared_arrays_are_another_kernel() {
    let array = |start: u64| SharedArray {
        name: format!("at{start}"),
        start,
        bytes: Some(128),
    };
    let record = |start: u64| Record {
        space: Space::Shared,
        ..load(1, u32::MAX, 4, start, 4)
    };
    let mut advisor = Advisor::new(AdvisorOptions::default());
    for starts in [&[][..], &[0, 128], &[], &[128]] {
        let launch = Launch {
            arrays: starts.iter().copied().map(array).collect(),
            ..launch(1, 32)
        };
        let mut batch = WarpBatch::new();
        batch.push_row(&record(128).row());
        advisor.launch(&launch).unwrap();
        advisor.batch(&batch).unwrap();
    }
    let reports = advisor.finish();
    let found = reports.iter().map(|report| {
        let arrays = report.shared_arrays.iter();
        let names = arrays.map(|it| it.array.as_ref().map(|array| array.name.as_str()));
        (names.collect::<Vec<_>>(), report.banks.all().requests)
    });
    let named = Some("at128");
    let expected = [(vec![None], 2), (vec![named], 1), (vec![named], 1)];
    assert_eq!(found.collect::<Vec<_>>(), expected);
}
