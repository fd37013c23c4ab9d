//! Blocks of shapes in native files: the rows that they stand for come out; what is damaged is an
//! error.

use std::path::Path;

use reuselens_rltrace::{Header, MAX_SHAPED_ROWS, MAX_SHAPED_WORDS, Writer};
use reuselens_testing::traces::{Piece, Random, drain, open};
use reuselens_trace::{
    Block, Event, Kind, Row, SHAPE_ROWS_MOST, SHAPE_WORDS_MOST, ShapeRow, ShapedBlock, Shapes,
    ThreadId,
};

const KINDS: [Kind; 7] = [
    Kind::Load,
    Kind::Store,
    Kind::Atomic,
    Kind::RangeLoad,
    Kind::Enter,
    Kind::Exit,
    Kind::Operand,
];

/// Shapes of all sizes; some have the same program counters, some have words that no row has.
fn shapes(random: &mut Random, count: usize) -> Shapes {
    let mut shapes = Shapes::new();
    for _ in 0..count {
        let most = [4, 20, SHAPE_ROWS_MOST][random.below(3)];
        let rows = 1 + random.below(most);
        let most = [1, 4, SHAPE_WORDS_MOST][random.below(3)];
        let words = random.below(1 + most);
        let row = |random: &mut Random| ShapeRow {
            kind: KINDS[random.below(KINDS.len())],
            size: random.below(256) as u8,
            pc: 0x40_0000 + random.below(300) as u64,
            word: (words > 0 && random.below(8) > 0).then(|| random.below(words) as u8),
            displacement: random.next() >> random.below(64),
        };
        let rows: Vec<ShapeRow> = (0..rows).map(|_| row(random)).collect();
        assert!(shapes.add(&rows).is_some());
    }
    shapes
}

/// A block in which shapes come again, at addresses that often go on as before.
fn shaped(random: &mut Random, shapes: &Shapes, notes: usize) -> ShapedBlock {
    let mut block = ShapedBlock::new();
    block.thread = ThreadId(random.below(3) as u32);
    block.first_stamp = random.next() >> 40;
    block.last_stamp = block.first_stamp + random.below(100) as u64;
    let (mut base, mut shape) = (random.next(), 0);
    for note in 0..notes {
        if random.below(4) == 0 {
            shape = random.below(shapes.len()) as u32;
        }
        if random.below(9) == 0 {
            base = random.next() >> random.below(64);
        }
        let words = shapes.words(shape) as u64;
        let words: Vec<u64> = (0..words)
            .map(|word| base.wrapping_add(word << 20) + 8 * note as u64)
            .collect();
        block.push(shape, shapes.rows(shape).len(), &words);
    }
    block
}

/// A block of which each shape mostly comes behind the same: the writer makes one of several.
fn looping(random: &mut Random, shapes: &Shapes, notes: usize) -> ShapedBlock {
    let mut block = ShapedBlock::new();
    let mut shape = 0;
    for note in 0..notes {
        shape = match random.below(12) {
            0 => random.below(shapes.len()) as u32,
            1 => (shape + 3) % shapes.len() as u32,
            _ => (shape + 1) % shapes.len() as u32,
        };
        let words: Vec<u64> = (0..shapes.words(shape) as u64)
            .map(|word| (word << 20) + 8 * (note as u64 % 999) + random.below(3) as u64)
            .collect();
        block.push(shape, shapes.rows(shape).len(), &words);
    }
    block
}

#[test]
fn shapes_that_follow_each_other_again_and_again_come_out() {
    let mut random = Random(9);
    for (count, rows) in [(1, 1), (2, 9), (7, 3), (9, 4)] {
        let mut shapes = Shapes::new();
        for _ in 0..count {
            let row = |row: usize| ShapeRow {
                kind: KINDS[random.below(3)],
                size: 8,
                pc: random.below(300) as u64,
                word: Some(row as u8 / 2),
                displacement: random.next(),
            };
            let rows: Vec<ShapeRow> = (0..rows).map(row).collect();
            shapes.add(&rows).unwrap();
        }
        let (mut writer, mut pieces) = (writer(), Vec::new());
        for _ in 0..30 {
            let shaped = looping(&mut random, &shapes, 800);
            writer.shaped(&shaped, &shapes).unwrap();
            pieces.push(Piece::Block(expanded(&shaped, &shapes)));
        }
        let bytes = writer.finish().unwrap();
        let (read, error) = drain(&mut open(&bytes, None).unwrap());
        assert!(error.is_none(), "{error:?}");
        assert!(read == pieces, "{count} shapes");
    }
}

fn expanded(shaped: &ShapedBlock, shapes: &Shapes) -> Block {
    let mut block = Block::new();
    shaped.expand(shapes, &mut block);
    block
}

fn writer() -> Writer<Vec<u8>> {
    let header = Header {
        has_addresses: true,
        description: String::new(),
    };
    Writer::new(Vec::new(), Path::new("trace"), &header).unwrap()
}

/// A file of blocks of shapes and of rows, by turns and in several chunks, and what is in it.
fn file(random: &mut Random) -> (Vec<u8>, Vec<Piece>) {
    let count = 1 + random.below(300);
    let shapes = shapes(random, count);
    let (mut writer, mut pieces) = (writer(), Vec::new());
    for _ in 0..random.below(20) {
        let notes = random.below(400);
        let shaped = shaped(random, &shapes, notes);
        let block = expanded(&shaped, &shapes);
        assert_eq!(block.len(), shaped.rows());
        if random.below(3) == 0 {
            writer.block(&block).unwrap();
        } else {
            writer.shaped(&shaped, &shapes).unwrap();
        }
        pieces.push(Piece::Block(block));
        if random.below(5) == 0 {
            writer.flush().unwrap();
        }
    }
    (writer.finish().unwrap(), pieces)
}

#[test]
fn the_rows_that_shapes_stand_for_come_out() {
    let mut random = Random(1);
    for _ in 0..200 {
        let (bytes, pieces) = file(&mut random);
        let (read, error) = drain(&mut open(&bytes, None).unwrap());
        assert!(error.is_none(), "{error:?}");
        assert_eq!(read, pieces);
    }
}

#[test]
fn what_the_index_says_is_what_is_read() {
    let mut random = Random(2);
    for _ in 0..50 {
        let (bytes, pieces) = file(&mut random);
        reuselens_testing::traces::index_says(&bytes, &pieces);
    }
}

#[test]
fn large_blocks_and_many_chunks_come_out() {
    let mut random = Random(3);
    let shapes = shapes(&mut random, 40);
    let (mut writer, mut pieces) = (writer(), Vec::new());
    for _ in 0..30 {
        let shaped = shaped(&mut random, &shapes, 2000);
        writer.shaped(&shaped, &shapes).unwrap();
        pieces.push(Piece::Block(expanded(&shaped, &shapes)));
    }
    let (read, error) = drain(&mut open(&writer.finish().unwrap(), None).unwrap());
    assert!(error.is_none() && read == pieces);
}

/// As many shapes of one row as there are blocks of 4096 notes, each with a program counter of its
/// own.
fn shapes_of_one_row(count: usize, words: usize) -> (Shapes, Vec<ShapedBlock>) {
    let mut shapes = Shapes::new();
    let mut blocks = vec![ShapedBlock::new()];
    for pc in 0..count as u64 {
        let row = ShapeRow {
            kind: Kind::Load,
            size: 8,
            pc,
            word: Some(words as u8 - 1),
            displacement: 0,
        };
        let number = shapes.add(&[row]).unwrap();
        if blocks.last().is_none_or(|block| block.rows() == 4096) {
            blocks.push(ShapedBlock::new());
        }
        let block = blocks.last_mut().unwrap();
        block.push(number, 1, &vec![8 * pc; words]);
    }
    (shapes, blocks)
}

#[test]
fn what_describes_much_is_written_as_several_chunks() {
    for (count, words) in [(300_000, 1), (20_000, SHAPE_WORDS_MOST)] {
        let (shapes, blocks) = shapes_of_one_row(count, words);
        let (mut writer, mut pieces) = (writer(), Vec::new());
        for block in &blocks {
            writer.shaped(block, &shapes).unwrap();
            pieces.push(Piece::Block(expanded(block, &shapes)));
        }
        assert!(writer.bytes_written() > 1000, "chunks were written");
        let (read, error) = drain(&mut open(&writer.finish().unwrap(), None).unwrap());
        assert!(error.is_none(), "{error:?}");
        assert!(read == pieces);
    }
}

/// Refuses everything after so many bytes.
struct Full(usize);

impl std::io::Write for Full {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let left = self.0.checked_sub(bytes.len());
        self.0 = left.ok_or_else(|| std::io::Error::other("no more room"))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn who_packs_makes_no_difference() {
    let mut random = Random(6);
    let shapes = shapes(&mut random, 40);
    let (mut alone, mut two) = (writer(), writer());
    two.pack_aside().unwrap();
    let header = Header {
        has_addresses: true,
        description: String::new(),
    };
    let mut refused = Writer::new(Full(100_000), Path::new("trace"), &header).unwrap();
    refused.pack_aside().unwrap();
    let mut error = None;
    for number in 0..70 {
        let shaped = shaped(&mut random, &shapes, 2000);
        alone.shaped(&shaped, &shapes).unwrap();
        two.shaped(&shaped, &shapes).unwrap();
        // The index says which chunk each is in.
        alone.event(&Event::ThreadEnded(ThreadId(number))).unwrap();
        two.event(&Event::ThreadEnded(ThreadId(number))).unwrap();
        let again = refused.shaped(&shaped, &shapes);
        error = error.or(again.err().map(|error| error.to_string()));
        if number % 30 == 7 {
            alone.flush().unwrap();
            two.flush().unwrap();
            assert_eq!(alone.bytes_written(), two.bytes_written());
        }
    }
    assert!(error.is_some_and(|error| error.contains("no more room")));
    assert!(refused.finish().is_err());
    assert!(alone.finish().unwrap() == two.finish().unwrap());
}

#[test]
fn a_loop_takes_next_to_nothing() {
    let mut shapes = Shapes::new();
    let row = |lane: u64| ShapeRow {
        kind: Kind::Load,
        size: 8,
        pc: 0x40,
        word: Some((lane % 2) as u8),
        displacement: 8 * lane,
    };
    let number = shapes.add(&[0, 1, 2, 3, 4, 5, 6, 7].map(row)).unwrap();
    let mut writer = writer();
    for turns in 0..100_u64 {
        let mut block = ShapedBlock::new();
        for turn in 0..1000 {
            let at = 0x7000_0000 + 64 * (turns * 1000 + turn);
            block.push(number, 8, &[at, at + (1 << 30)]);
        }
        writer.shaped(&block, &shapes).unwrap();
    }
    let bytes = writer.finish().unwrap().len();
    assert!(bytes < 4000, "{bytes} bytes of 800,000 rows");
}

#[test]
fn what_does_not_fit_its_shapes_is_refused() {
    let mut shapes = Shapes::new();
    let row = ShapeRow {
        kind: Kind::Load,
        size: 8,
        pc: 1,
        word: Some(0),
        displacement: 0,
    };
    let number = shapes.add(&[row]).unwrap();
    let block = |pushed: &[(u32, &[u64])]| {
        let mut block = ShapedBlock::new();
        for (shape, words) in pushed {
            block.push(*shape, 1, words);
        }
        block
    };
    let wrong = [
        block(&[(number, &[])]),
        block(&[(number, &[1, 2])]),
        block(&[(number + 1, &[1])]),
    ];
    for wrong in wrong {
        let mut writer = writer();
        writer.shaped(&block(&[(number, &[5])]), &shapes).unwrap();
        writer.flush().unwrap();
        let error = writer.shaped(&wrong, &shapes).unwrap_err().to_string();
        assert!(error.contains("other words"), "{error}");
        assert!(writer.flush().is_err());
    }
    let mut large = ShapedBlock::new();
    for word in 0..=MAX_SHAPED_ROWS as u64 {
        large.push(number, 1, &[word]);
    }
    assert!(writer().shaped(&large, &shapes).is_err());
    let wide = ShapeRow {
        word: Some(SHAPE_WORDS_MOST as u8 - 1),
        ..row
    };
    let wide = shapes.add(&[wide]).unwrap();
    let mut large = ShapedBlock::new();
    for _ in 0..MAX_SHAPED_WORDS / SHAPE_WORDS_MOST {
        large.push(wide, 1, &[5; SHAPE_WORDS_MOST]);
    }
    writer().shaped(&large, &shapes).unwrap();
    large.push(number, 1, &[5]);
    assert!(writer().shaped(&large, &shapes).is_err());
}

#[test]
fn a_changed_byte_is_an_error_and_never_other_rows() {
    let mut random = Random(4);
    let (bytes, pieces) = file(&mut random);
    let all: Vec<Row> = reuselens_testing::traces::rows(&pieces);
    for round in 0..1000 {
        let mut bytes = bytes.clone();
        // The last are few, and are checked in another way.
        let most = if round % 4 == 0 { 24 } else { bytes.len() };
        let at = bytes.len() - 1 - random.below(most);
        bytes[at] ^= 1 << random.below(8);
        let Ok(mut source) = open(&bytes, Some("native")) else {
            continue;
        };
        let (read, error) = drain(&mut source);
        let read = reuselens_testing::traces::rows(&read);
        // An index that is damaged is a remark: no row is missing.
        let is_complete = error.is_none() && read == all;
        assert!(
            is_complete || error.is_some(),
            "byte {at} of {}",
            bytes.len()
        );
        assert!(all.starts_with(&read));
    }
}
