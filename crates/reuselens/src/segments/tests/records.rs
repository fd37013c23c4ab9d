//! Traces of records: their profile is the one that their rows make, whatever counts them.

use reuselens_trace::Projection;
use std::io::Write as _;

use reuselens_attribute::Kinds;
use reuselens_formats::AnySource;

use super::*;
use crate::DeviceChoice;

/// A source of which nothing can be had but its rows, and nothing is known beforehand.
struct Rows(AnySource);

impl Source for Rows {
    fn next(&mut self, block: &mut Block) -> Result<Step, TraceError> {
        self.0.next(block)
    }

    fn has_addresses(&self) -> bool {
        self.0.has_addresses()
    }

    fn describe(&self) -> String {
        self.0.describe()
    }

    fn is_of_one_thread(&self) -> bool {
        false
    }

    fn progress(&self) -> Option<(u64, u64)> {
        None
    }

    fn memory(&self) -> Bytes {
        Bytes(0)
    }

    fn read_ahead_within(&mut self, _most: Bytes) {}

    fn project(&mut self, _projection: Projection) -> bool {
        false
    }
}

/// Some records of a format: few ids, among them large ones, and ever new ones.
fn records(format: &str, seed: u64, number: u64) -> Vec<u8> {
    let mut random = Random::new(seed);
    let mut record = |at: u64| {
        let few = random.below(2 + at / 4);
        let id = random.below(1 + few) | random.below(2) << 60;
        // Bytes of different lines.
        let line = (id << 6).to_le_bytes();
        let id = id.to_le_bytes();
        match format {
            "u64" => id.to_vec(),
            "oraclegeneral" => [&[0; 4][..], &id, &[0; 12]].concat(),
            "champsim" => [&[0; 24][..], &line, &line, &[0; 24]].concat(),
            _ => [&[0; 12][..], &[2, 0, 0, 1], &id, &[0; 8]].concat(),
        }
    };
    (0..number).flat_map(&mut record).collect()
}

fn source(format: &str, bytes: &[u8]) -> AnySource {
    let input = Input::seekable(Cursor::new(bytes.to_vec()), "t").unwrap();
    reuselens_formats::read(input, Some(format)).unwrap()
}

/// An archive of these bytes in members of some length, which cuts records in two.
fn archive(bytes: &[u8], length: usize) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (number, member) in bytes.chunks(length).enumerate() {
        let options = zip::write::SimpleFileOptions::default();
        archive.start_file(format!("{number}"), options).unwrap();
        archive.write_all(member).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

fn profile(source: &mut dyn Source, options: &AnalysisOptions) -> Profile {
    crate::analyze(source, Vec::new(), options, &mut |_| {}).unwrap()
}

#[test]
fn segments_make_the_profile_that_rows_make() {
    for (format, seed) in [
        ("u64", 1),
        ("oraclegeneral", 2),
        ("vscsi", 3),
        ("champsim", 4),
    ] {
        let bytes = records(format, seed, 9_000);
        for whole in [true, false] {
            let options = |threads| AnalysisOptions {
                totals_only: whole,
                ..super::options(threads)
            };
            let expected = profile(&mut Rows(source(format, &bytes)), &options(1));
            assert!(expected.histogram.cold() > 100 && expected.cells.len() == 1 || !whole);
            for threads in [1, 2, 3, 7] {
                let mut source = source(format, &bytes);
                let options = options(threads);
                let (machine, to_count) = (this_machine(), options.to_count(&source));
                let one = Accesses(1);
                let pass = count_long(&mut source, &machine, &to_count, one, &mut |_| {});
                let found = pass.unwrap().map(|pass| {
                    crate::analysis::profile(pass, &source, Vec::new(), machine, &options)
                });
                let in_segments = threads > 1 && (whole || format != "champsim");
                assert_eq!(found.is_some(), in_segments, "{format}, {threads} threads");
                let found = found.unwrap_or_else(|| profile(&mut source, &options));
                assert_eq!(
                    found, expected,
                    "{format}, {threads} threads, whole: {whole}"
                );
            }
        }
    }
}

#[test]
fn members_of_an_archive_make_the_profile_that_their_rows_make() {
    let bytes = archive(&records("u64", 7, 9_000), 5_003);
    let expected = profile(&mut Rows(source("u64", &bytes)), &options(1));
    for threads in [1, 2, 3] {
        let mut source = source("u64", &bytes);
        let found = segments(&mut source, &options(threads));
        assert_eq!(found.is_some(), threads > 1);
        let found = found.unwrap_or_else(|| profile(&mut source, &options(threads)));
        assert_eq!(found, expected, "{threads} threads");
    }
}

/// Entries of one thread, with accesses of no size in the middle; and the same items as text.
fn rows_of(format: &str) -> Vec<u8> {
    let mut random = Random::new(11);
    let entry = |kind: u16, size: u16, addr: u64| {
        [
            &kind.to_le_bytes()[..],
            &size.to_le_bytes(),
            &addr.to_le_bytes(),
        ]
        .concat()
    };
    let mut bytes = match format {
        "text" => b"# items\n".to_vec(),
        _ => [entry(25, 0, 5), entry(22, 4, 71), entry(24, 4, 70)].concat(),
    };
    for at in 0..9_000 {
        let addr = 64 * random.below(2 + at / 4) + 60 * random.below(2);
        bytes.extend(match format {
            "text" => format!("{addr}\n").into_bytes(),
            _ => {
                let size = if at == 4_000 { 0 } else { 8 };
                [entry(10, 3, at), entry(at as u16 % 2, size, addr)].concat()
            }
        });
    }
    bytes
}

#[test]
fn rows_in_segments_make_the_profile_that_one_reader_makes() {
    for format in ["drmemtrace", "text"] {
        let plain = rows_of(format);
        let expected = profile(&mut Rows(source(format, &plain)), &options(1));
        assert_eq!(expected.warnings.len(), usize::from(format == "drmemtrace"));
        for bytes in [archive(&plain, 5_003), plain] {
            for threads in [1, 2, 3, 8] {
                let mut source = source(format, &bytes);
                let found = segments(&mut source, &options(threads));
                assert_eq!(found.is_some(), threads > 2, "{format}, {threads} threads");
                let found = found.unwrap_or_else(|| profile(&mut source, &options(threads)));
                assert_eq!(found, expected, "{format}, {threads} threads");
            }
        }
    }
}

/// Another thread, or a name, in the middle: what segments counted until then is forgotten.
#[test]
fn what_segments_cannot_know_is_read_from_the_beginning() {
    for (format, more) in [
        ("text", &b"ten\n"[..]),
        ("drmemtrace", &[22, 0, 4, 0, 9, 0, 0, 0, 0, 0, 0, 0]),
    ] {
        let mut bytes = rows_of(format);
        let middle = match format {
            "text" => 1 + bytes.iter().rposition(|&byte| byte == b'\n').unwrap(),
            _ => bytes.len() / 24 * 12,
        };
        bytes.splice(middle..middle, more.iter().copied());
        let expected = profile(&mut Rows(source(format, &bytes)), &options(1));
        let mut source = source(format, &bytes);
        assert!(segments(&mut source, &options(3)).is_none(), "{format}");
        assert_eq!(profile(&mut source, &options(3)), expected, "{format}");
    }
}

/// The message says where the reader of the whole archive met the damage.
#[test]
fn damage_in_a_member_is_told_as_by_one_thread() {
    let mut bytes = archive(&records("u64", 8, 20_000), 20_003);
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x55;
    let expected = profile(&mut Rows(source("u64", &bytes)), &options(1));
    assert!(matches!(expected.outcome, Outcome::Incomplete(_)));
    for threads in [2, 3] {
        let mut source = source("u64", &bytes);
        assert!(segments(&mut source, &options(threads)).is_none());
        assert_eq!(profile(&mut source, &options(threads)), expected);
    }
}

/// With options that segments, or items without rows, cannot do too.
#[test]
fn options_do_the_same_with_items_as_with_rows() {
    let changes: [&dyn Fn(&mut AnalysisOptions); 12] = [
        &|options| options.engine = "olken".to_owned(),
        &|options| options.engine = "brute".to_owned(),
        &|options| options.engine = "sampled".to_owned(),
        &|options| options.engine = "hp-rda".to_owned(),
        &|options| {
            options.engine = "gpu".to_owned();
            options.device = DeviceChoice::Interpreter;
        },
        &|options| options.kinds = Kinds::Loads,
        &|options| options.kinds = Kinds::Stores,
        &|options| options.max_distance = Some(40),
        &|options| options.reuse_times = true,
        &|options| options.forward = true,
        &|options| options.elements = true,
        &|options| options.sharing = Sharing::Private,
    ];
    let bytes = records("u64", 5, 3_000);
    for (number, change) in changes.iter().enumerate() {
        for (threads, whole) in [(1, true), (1, false), (2, false)] {
            let mut options = AnalysisOptions {
                totals_only: whole,
                ..options(threads)
            };
            change(&mut options);
            let expected = profile(&mut Rows(source("u64", &bytes)), &options);
            let found = profile(&mut source("u64", &bytes), &options);
            assert_eq!(
                found, expected,
                "{number}, {threads} threads, whole: {whole}"
            );
        }
    }
}

#[test]
fn a_file_that_is_cut_off_is_counted_as_its_rows_are() {
    let mut bytes = records("u64", 6, 5_000);
    bytes.pop();
    let (mut one, options) = (source("u64", &bytes), options(2));
    let passed = count_long(
        &mut one,
        &this_machine(),
        &options,
        Accesses(1),
        &mut |_| {},
    );
    assert!(passed.unwrap().is_none(), "it is read from the beginning");
    let expected = profile(&mut Rows(source("u64", &bytes)), &options);
    assert!(matches!(expected.outcome, Outcome::Incomplete(_)));
    assert_eq!(profile(&mut one, &options), expected);
}
