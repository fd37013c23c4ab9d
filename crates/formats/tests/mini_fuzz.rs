//! Thousands of damaged files through every reader: no panic, no hang, no endless output.
//!
//! The targets in `fuzz/` read more kinds of files. Here there are limits of time and rows, and
//! thousands of rounds for each.

use std::path::Path;
use std::time::{Duration, Instant};

use reuselens_io::Input;
use reuselens_rltrace::{Header, Reader, Writer};
use reuselens_testing::traces::damage::{LIKELY, damage, rows_of};
use reuselens_testing::traces::{Random, drain, native, open, sample};
use reuselens_trace::{
    Block, Kind, MAX_TEMPLATE_ROWS, TemplateBlock, TemplateRow, Templates, ThreadId,
};

const ROUNDS: u64 = 3000;

fn fuzz(seed: u64, valid: &[u8], format: Option<&str>) {
    fuzz_up_to(4, seed, valid, format);
}

/// Damages a file in which a byte stands for so many rows at most.
fn fuzz_up_to(most: usize, seed: u64, valid: &[u8], format: Option<&str>) {
    let mut random = Random(seed);
    for round in 0..ROUNDS {
        let mut bytes = valid.to_vec();
        damage(&mut random, &mut bytes, LIKELY);
        let began = Instant::now();
        let rows = rows_of(open(&bytes, format));
        assert!(
            began.elapsed() < Duration::from_secs(10),
            "{format:?} seed {seed} round {round}"
        );
        assert!(
            rows <= most * bytes.len() + 1,
            "more rows than the bytes can hold: {rows}"
        );
    }
}

#[test]
fn text() {
    fuzz(
        1,
        b"# ids\n1 2 0x10 name other\nname 3 # rest\n18446744073709551615\n",
        Some("text"),
    );
}

#[test]
fn u64() {
    fuzz(
        2,
        &(0..9_u64).flat_map(u64::to_le_bytes).collect::<Vec<_>>(),
        Some("u64"),
    );
}

#[test]
fn lackey() {
    let valid = b"==1== Command: x\nI  04001000,3\n L 1ffe,8\n S 1ffe,4\n M 0421,2\n S 1000,576\n";
    fuzz(3, valid, Some("lackey"));
}

#[test]
fn damaged_native_file_does_not_panic() {
    fuzz(4, &native(&sample(), 3), Some("native"));
}

#[test]
fn damaged_files_of_any_format_do_not_panic() {
    fuzz(5, &native(&sample(), 3), None);
    fuzz(6, b"I  04001000,3\n L 1ffe,8\n", None);
    fuzz(7, b"1 2 3\n", None);
}

/// Damage under good checksums: what a forger could send, and what only the decoder can refuse.
#[test]
fn damaged_native_chunks_with_correct_checksums_do_not_panic() {
    let bytes = native(&sample(), usize::MAX);
    let at = 16 + "a test".len() + 4;
    let stored = u32::from_le_bytes(bytes[at + 8..at + 12].try_into().unwrap()) as usize;
    let plain = zstd::bulk::decompress(&bytes[at + 24..at + 24 + stored], 1 << 20).unwrap();
    let mut random = Random(8);
    let mut read_some = 0;
    for _ in 0..2 * ROUNDS {
        let mut plain = plain.clone();
        damage(&mut random, &mut plain, LIKELY);
        let mut file = bytes[..at].to_vec();
        push_chunk(&mut file, &plain);
        read_some += usize::from(rows_of(open(&file, None)) > 0);
    }
    assert!(
        read_some > ROUNDS as usize / 10,
        "the damage should reach the rows: {read_some}"
    );
}

const KINDS: [Kind; 4] = [Kind::Load, Kind::Store, Kind::Enter, Kind::Operand];

/// Templates of a few rows that share operands, program counters and displacements.
fn templates(random: &mut Random) -> Templates {
    let mut templates = Templates::new();
    let row = |random: &mut Random| TemplateRow {
        kind: KINDS[random.below(KINDS.len())],
        size: 8,
        pc: 0x4000 + random.below(100) as u64,
        operand: (random.below(4) > 0).then(|| random.below(5) as u8),
        displacement: random.below(300) as u64,
    };
    for _ in 0..6 {
        let rows = 1 + random.below(9);
        let rows: Vec<TemplateRow> = (0..rows).map(|_| row(random)).collect();
        templates.add(&rows).unwrap();
    }
    templates
}

fn shaped(random: &mut Random, templates: &Templates, number: u32) -> TemplateBlock {
    let mut block = TemplateBlock::new();
    block.thread = ThreadId(number % 2);
    block.first_stamp = 100 * u64::from(number);
    block.last_stamp = block.first_stamp + 50;
    for _ in 0..8 {
        let template = random.below(templates.len()) as u32;
        let words = 0..templates.operands(template);
        let words: Vec<u64> = words.map(|_| random.next() >> random.below(64)).collect();
        block.push(template, templates.rows(template).len(), &words);
    }
    block
}

/// A file without a description: a chunk of two blocks of templates with one of rows between, and
/// one of another two.
fn shaped_file(random: &mut Random) -> Vec<u8> {
    let header = Header {
        has_addresses: true,
        description: String::new(),
    };
    let mut writer = Writer::new(Vec::new(), Path::new("trace"), &header).unwrap();
    let (templates, mut rows) = (templates(random), Block::new());
    for number in 0..4 {
        let block = shaped(random, &templates, number);
        writer.template_block(&block, &templates).unwrap();
        match number {
            0 => {
                block.expand(&templates, &mut rows);
                writer.block(&rows).unwrap();
            }
            1 => writer.flush().unwrap(),
            _ => {}
        }
    }
    writer.finish().unwrap()
}

/// The same of blocks of templates. An execution is a byte or more, and has no more rows than a
/// template.
#[test]
fn damaged_templates_with_correct_checksums_do_not_panic() {
    let (mut read_some, mut refused) = (0, 0);
    for seed in 0..ROUNDS / 10 {
        let mut random = Random(seed);
        let bytes = shaped_file(&mut random);
        let stored = u32::from_le_bytes(bytes[28..32].try_into().unwrap()) as usize;
        let plain = zstd::bulk::decompress(&bytes[44..44 + stored], 1 << 20).unwrap();
        for round in 0..30 {
            let mut plain = plain.clone();
            damage(&mut random, &mut plain, LIKELY);
            let mut file = bytes[..20].to_vec();
            push_chunk(&mut file, &plain);
            let began = Instant::now();
            let rows = rows_of(open(&file, Some("native")));
            assert!(began.elapsed() < Duration::from_secs(10), "seed {seed}");
            assert!(rows <= MAX_TEMPLATE_ROWS * plain.len(), "seed {seed}");
            if round == 0 {
                assert_eq!(with_threads(&file, 1), with_threads(&file, 3));
            }
            read_some += usize::from(rows > 0);
            refused += usize::from(rows == 0);
        }
    }
    let least = ROUNDS as usize / 10;
    assert!(
        read_some > least && refused > least,
        "{read_some} {refused}"
    );
}

/// What that many threads read of a native file, and the error in words.
fn with_threads(
    bytes: &[u8],
    threads: usize,
) -> (Vec<reuselens_testing::traces::Piece>, Option<String>) {
    let input = Input::new(std::io::Cursor::new(bytes.to_vec()), "trace");
    let mut reader = Reader::with_threads(input, threads).unwrap();
    let (pieces, error) = drain(&mut reader);
    (pieces, error.map(|error| error.to_string()))
}

#[test]
fn damaged_native_file_of_templates_does_not_panic() {
    let bytes = shaped_file(&mut Random(9));
    fuzz_up_to(MAX_TEMPLATE_ROWS, 9, &bytes, Some("native"));
}

fn push_chunk(file: &mut Vec<u8>, plain: &[u8]) {
    let stored = zstd::bulk::compress(plain, 1).unwrap();
    let mut head = Vec::new();
    let words = [
        1,
        0,
        stored.len() as u32,
        plain.len() as u32,
        crc32fast::hash(&stored),
    ];
    words
        .iter()
        .for_each(|word: &u32| head.extend_from_slice(&word.to_le_bytes()));
    head.extend_from_slice(&crc32fast::hash(&head).to_le_bytes());
    file.extend_from_slice(&head);
    file.extend_from_slice(&stored);
}
