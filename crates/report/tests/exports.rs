//! JSON, CSV and Parquet: what other programs read.

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::RowAccessor;
use reuselens_profile::{Dimension, Profile};
use reuselens_report::{
    Bins, JsonOptions, curve_svg, groups_csv, groups_parquet, histogram_csv, json,
};
use reuselens_units::{Bytes, Distance, Granularity};
use serde_json::Value;

use crate::common;

fn all(bins: Bins) -> JsonOptions {
    JsonOptions {
        bins,
        by: Dimension::ALL.to_vec(),
        cache: Some(Bytes(4096).into()),
    }
}

/// The sum of the counts of a histogram, cold ones included; checks that its bins ascend.
fn sum(histogram: &Value) -> u64 {
    let bins = histogram["counts"].as_array().unwrap();
    let number = |bin: &Value, index: usize| bin[index].as_u64().unwrap();
    for bin in bins {
        assert!(
            number(bin, 0) <= number(bin, 1) && number(bin, 2) > 0,
            "{bin}"
        );
    }
    for pair in bins.windows(2) {
        assert!(number(&pair[0], 1) < number(&pair[1], 0), "{pair:?}");
    }
    bins.iter().map(|bin| number(bin, 2)).sum::<u64>() + histogram["cold"].as_u64().unwrap()
}

fn check(profile: &Profile, bins: Bins) -> Value {
    let text = json(profile, &all(bins));
    assert!(text.ends_with("}\n") && !text.contains("NaN") && !text.contains(" \n"));
    assert_eq!(text, json(profile, &all(bins)));
    let value: Value = serde_json::from_str(&text).unwrap();
    let accesses = profile.histogram.accesses();
    assert_eq!(value["schema"], "reuselens/1");
    assert_eq!(value["accesses"], accesses);
    assert_eq!(value["distinct"], profile.histogram.cold());
    assert_eq!(sum(&value["histogram"]), accesses);
    let groups = value["groups"].as_array().unwrap();
    for by in Dimension::ALL {
        let of: Vec<_> = groups
            .iter()
            .filter(|group| group["by"] == by.name())
            .collect();
        assert_eq!(
            of.iter()
                .map(|group| group["accesses"].as_u64().unwrap())
                .sum::<u64>(),
            accesses,
            "{by}"
        );
        for group in of {
            assert_eq!(sum(&group["histogram"]), group["accesses"], "{group}");
            assert!(group["mean"].is_number() && group["max"].is_u64());
        }
    }
    for pair in value["miss_ratio_curve"].as_array().unwrap().windows(2) {
        assert!(pair[0][0].as_u64() < pair[1][0].as_u64());
        assert!(pair[0][2].as_f64() >= pair[1][2].as_f64());
        assert_eq!(
            pair[0][1].as_u64().unwrap(),
            pair[0][0].as_u64().unwrap() * profile.granularity.bytes()
        );
    }
    value
}

#[test]
fn json_follows_the_schema_and_counts_add_up() {
    for bins in [Bins::Log2, Bins::Exact] {
        for profile in [common::tiny(), common::matmul(24, false), common::wide(50)] {
            check(&profile, bins);
        }
    }
    let exact = check(&common::matmul(24, false), Bins::Exact);
    for bin in exact["histogram"]["counts"].as_array().unwrap() {
        assert_eq!(bin[0], bin[1]);
    }
}

#[test]
fn the_keys_come_in_the_order_of_the_schema() {
    insta::assert_snapshot!(
        "json",
        json(
            &common::tiny(),
            &JsonOptions {
                bins: Bins::Exact,
                ..all(Bins::Exact)
            }
        )
    );
}

#[test]
fn objects_have_their_elements() {
    let profile = common::matmul_by_element(12);
    let value = check(&profile, Bins::Log2);
    let groups = value["groups"].as_array().unwrap();
    let of = |by: &'static str| groups.iter().filter(move |group| group["by"] == by);
    for object in of("object").filter(|object| object["name"] != "unknown memory") {
        let elements = object["elements"].as_array().unwrap();
        assert_eq!(elements.len(), 144, "{object}");
        let accesses = |element: &Value| element[1].as_u64().unwrap();
        assert_eq!(
            elements.iter().map(accesses).sum::<u64>(),
            object["accesses"]
        );
        let (matrix, _) = object["name"].as_str().unwrap().split_once(' ').unwrap();
        for element in elements.iter().filter(|element| !element[2].is_null()) {
            let name = format!("{matrix}[{}] (matmul.c)", element[0]);
            let group = of("element").find(|group| group["name"] == *name).unwrap();
            assert_eq!(
                (&group["accesses"], &group["cold"]),
                (&element[1], &element[2])
            );
            assert_eq!(
                group["mean"].as_f64().unwrap(),
                element[3].as_f64().unwrap_or(0.0)
            );
        }
    }
    let rest = of("element").find(|group| group["name"] == "(no element)");
    assert_eq!(rest.unwrap()["accesses"], 13, "the last of c");
    assert!(of("line").all(|group| group.get("elements").is_none()));
}

#[test]
fn json_of_no_accesses_has_zeros() {
    let value = check(&common::empty(), Bins::Log2);
    assert_eq!(value["histogram"]["counts"], Value::Array(Vec::new()));
    assert_eq!(value["mean"], 0.0);
    assert_eq!(value["caches"][0]["miss_ratio"], 0.0);
}

/// Reads a table by the rules of RFC 4180.
fn parse(csv: &str) -> Vec<Vec<String>> {
    let mut rows = vec![vec![String::new()]];
    let mut quoted = false;
    let mut letters = csv.chars().peekable();
    while let Some(letter) = letters.next() {
        let row = rows.last_mut().unwrap();
        match letter {
            '"' if quoted && letters.peek() == Some(&'"') => {
                letters.next();
                row.last_mut().unwrap().push('"');
            }
            '"' => quoted = !quoted,
            ',' if !quoted => row.push(String::new()),
            '\r' if !quoted => {}
            '\n' if !quoted => rows.push(vec![String::new()]),
            _ => row.last_mut().unwrap().push(letter),
        }
    }
    rows.pop();
    rows
}

#[test]
fn csv_keeps_every_name() {
    let profile = common::tiny();
    let csv = groups_csv(&profile, &Dimension::ALL);
    insta::assert_snapshot!("csv", csv);
    let rows = parse(&csv);
    let names = Dimension::ALL
        .iter()
        .flat_map(|by| profile.groups(*by))
        .map(|group| group.name);
    assert_eq!(
        rows[1..]
            .iter()
            .map(|row| row[1].clone())
            .collect::<Vec<_>>(),
        names.collect::<Vec<_>>()
    );
    assert!(rows.iter().all(|row| row.len() == rows[0].len()));
}

#[test]
fn the_histogram_as_csv_adds_up() {
    let profile = common::matmul(24, false);
    for bins in [Bins::Log2, Bins::Exact] {
        let rows = parse(&histogram_csv(&profile, bins));
        let sum: u64 = rows[1..]
            .iter()
            .map(|row| row[4].parse::<u64>().unwrap())
            .sum();
        assert_eq!(sum, profile.histogram.accesses());
    }
    assert_eq!(parse(&histogram_csv(&common::empty(), Bins::Log2)).len(), 2);
}

#[test]
fn parquet_table_equals_the_csv_table() {
    for profile in [common::tiny(), common::matmul(24, false), common::empty()] {
        let bytes = groups_parquet(&profile, &Dimension::ALL).unwrap();
        let path =
            std::env::temp_dir().join(format!("reuselens-report-{}.parquet", std::process::id()));
        std::fs::write(&path, bytes).unwrap();
        let reader = SerializedFileReader::new(std::fs::File::open(&path).unwrap()).unwrap();
        let expected = parse(&groups_csv(&profile, &Dimension::ALL));
        let fields = reader.metadata().file_metadata().schema().get_fields();
        assert_eq!(
            fields.iter().map(|field| field.name()).collect::<Vec<_>>(),
            expected[0]
        );
        let rows: Vec<_> = reader
            .get_row_iter(None)
            .unwrap()
            .map(Result::unwrap)
            .collect();
        assert_eq!(rows.len(), expected.len() - 1);
        for (row, expected) in rows.iter().zip(&expected[1..]) {
            assert_eq!(row.get_string(1).unwrap(), &expected[1]);
            assert_eq!(row.get_ulong(2).unwrap().to_string(), expected[2]);
            assert_eq!(row.get_double(4).unwrap().to_string(), expected[4]);
            assert_eq!(row.get_ulong(6).unwrap().to_string(), expected[6]);
        }
        std::fs::remove_file(&path).unwrap();
    }
}

/// The curve goes across and down only, over ticks of bytes, and says whose it is.
#[test]
fn the_picture_of_the_curve_is_of_steps_over_powers_of_two() {
    let svg = curve_svg(&common::matmul(24, false));
    for part in [
        ">./matmul 24: misses by size of the cache<",
        ">64 B<",
        ">16 KiB<",
        ">L1d<",
    ] {
        assert!(svg.contains(part), "{part}: {svg}");
    }
    let path = svg.split("class=\"l c0 strong\" d=\"M").nth(1).unwrap();
    let path = path.split('"').next().unwrap();
    let places: Vec<(&str, &str)> = path
        .split('L')
        .map(|place| place.split_once(' ').unwrap())
        .collect();
    assert!(places.len() > 8, "{path}");
    for pair in places.windows(2) {
        assert!(pair[0].0 == pair[1].0 || pair[0].1 == pair[1].1, "{pair:?}");
    }
    // Its only step is where it belongs, and not at the next sixteenth of an octave.
    let mut one = common::empty();
    one.granularity = Granularity::BYTE;
    one.method.ids = true;
    one.histogram.add(Distance::new(996), 2);
    one.histogram.add(Distance::COLD, 1);
    let svg = curve_svg(&one);
    let (from, to) = (1_f64.log10(), 1e4_f64.log10());
    let x = 150.0 + (997_f64.log10() - from) / (to - from) * (736.0 - 150.0);
    assert!(svg.contains(&format!("L{x:.1} 58.0L{x:.1} ")), "{x}: {svg}");
    // A long command is cut in its middle.
    let long = Profile {
        command: vec!["a".repeat(100)],
        ..common::matmul(4, false)
    };
    assert!(curve_svg(&long).contains("a…a"));
}
