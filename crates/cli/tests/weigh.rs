//! `reuselens analyze --weigh bytes`: distances of objects in bytes, against the definition.

use std::collections::BTreeMap;

use crate::common::{self, Place};

/// Requests for objects: id, and bytes, of which some change.
fn requests() -> Vec<(u64, u64)> {
    let mut state = 88_172_645_463_325_252_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let request = |step: u64| {
        let id = next() % (step % 300 + 1);
        let changes = u64::from(next() % 20 == 0);
        (id, id * id * 37 % 10_000 + changes * 300)
    };
    (0..4_000).map(request).collect()
}

/// By distance in units of `unit` bytes (`None` for first requests): requests, and bytes requested.
fn by_definition(requests: &[(u64, u64)], unit: u64) -> BTreeMap<Option<u64>, (u64, u64)> {
    let (mut stack, mut counts) = (Vec::<(u64, u64)>::new(), BTreeMap::new());
    for &(id, bytes) in requests {
        let bytes = bytes.max(1);
        let place = stack.iter().position(|&(other, _)| other == id);
        let distance = place.map(|place| {
            let sum: u64 = stack[..=place].iter().map(|(_, bytes)| bytes).sum();
            stack.remove(place);
            (sum - 1) / unit
        });
        stack.insert(0, (id, bytes));
        let count = counts.entry(distance).or_insert((0, 0));
        *count = (count.0 + 1, count.1 + bytes);
    }
    counts
}

fn oraclegeneral(requests: &[(u64, u64)]) -> Vec<u8> {
    let record = |&(id, bytes): &(u64, u64)| {
        let bytes = u32::try_from(bytes).unwrap().to_le_bytes();
        [&[1; 4][..], &id.to_le_bytes(), &bytes, &[255; 8]].concat()
    };
    requests.iter().flat_map(record).collect()
}

/// Of version 1.
fn vscsi(requests: &[(u64, u64)]) -> Vec<u8> {
    let record = |&(id, bytes): &(u64, u64)| {
        let bytes = u32::try_from(bytes).unwrap().to_le_bytes();
        let version = 0x0100_u16.to_le_bytes();
        [
            &[7; 4][..],
            &bytes,
            &[0; 4],
            &[42, 0],
            &version,
            &id.to_le_bytes(),
            &[0; 8],
        ]
        .concat()
    };
    requests.iter().flat_map(record).collect()
}

fn csv(requests: &[(u64, u64)]) -> Vec<u8> {
    let lines = requests
        .iter()
        .map(|(id, bytes)| format!("5,{id},{bytes}\n"));
    let lines: String = lines.collect();
    format!("time,obj_id,obj_size\n{lines}").into_bytes()
}

#[test]
fn distances_in_bytes_are_those_of_the_definition() {
    let requests = requests();
    let place = Place::new();
    let unit = 64;
    let expected = by_definition(&requests, unit);
    let of = |count: fn(&(u64, u64)) -> u64| {
        let reuses = expected.iter().filter_map(|(distance, counts)| {
            let distance = (*distance)?;
            Some([distance, distance, count(counts)])
        });
        (reuses.collect::<Vec<_>>(), count(&expected[&None]))
    };
    let files = [
        ("t.oracleGeneral", "oraclegeneral", oraclegeneral(&requests)),
        ("t.vscsi", "vscsi", vscsi(&requests)),
        ("t.csv", "csv", csv(&requests)),
    ];
    for (name, format, bytes) in files {
        place.write(name, bytes);
        let options = [
            "--format",
            format,
            "--granularity",
            "64",
            "--bins",
            "exact",
            "-f",
        ];
        let command = ["analyze", name, "--weigh", "bytes", "--json", "out.json"];
        let done = place.run(&[&command[..], &options].concat()).succeeds();
        done.prints(&[
            "4,000 requests",
            "of the bytes",
            "a tenth of the bytes of all objects",
        ]);
        let json = place.json("out.json");
        for (field, (counts, cold)) in [
            ("histogram", of(|counts| counts.0)),
            ("requested_bytes", of(|counts| counts.1)),
        ] {
            let histogram = &json.0[field];
            assert_eq!(common::triples(histogram), counts, "{name}: {field}");
            assert_eq!(histogram["cold"], cold, "{name}: {field}");
        }
        assert_eq!(json.number("granularity_bytes"), unit);
        common::is_offline_page(&place.read("t.html"));
    }
}

#[test]
fn exports_have_shares_of_bytes() {
    let place = Place::new();
    place.write("t.oracleGeneral", oraclegeneral(&requests()));
    let command = ["analyze", "t.oracleGeneral", "--weigh", "bytes", "-q"];
    place
        .run(
            &[
                &command[..],
                &["--csv-curve", "curve.csv", "--svg", "curve.svg"],
            ]
            .concat(),
        )
        .succeeds();
    let curve = place.text("curve.csv");
    let mut rows = curve.lines();
    let head = "items,bytes,misses,miss_ratio,missed_bytes,byte_miss_ratio";
    assert_eq!(rows.next(), Some(head));
    let last: Vec<&str> = rows.last().unwrap().split(',').collect();
    let first_requests = by_definition(&requests(), 512)[&None];
    assert_eq!(last[2], first_requests.0.to_string());
    assert_eq!(last[4], first_requests.1.to_string());
    assert!(place.text("curve.svg").contains("of the bytes"));
}

#[test]
fn weigh_rejects_traces_without_sizes() {
    let place = Place::new();
    place.write("t.txt", "a b a\n");
    place
        .run(&["analyze", "t.txt", "--weigh", "bytes"])
        .fails(2)
        .says(&["no sizes of objects", "oraclegeneral"]);
    place.write("t.csv", "id\n1\n2\n1\n");
    place
        .run(&["analyze", "t.csv", "--format", "csv", "--weigh", "bytes"])
        .fails(2)
        .says(&["no sizes of objects"]);
    place
        .run(&["analyze", "t.csv", "--weigh", "bytes", "--times"])
        .fails(2)
        .says(&["--weigh bytes and --times"]);
}
