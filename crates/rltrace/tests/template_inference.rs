//! Rows that a native file stores as templates: readers get the same rows in the same blocks.

use std::path::Path;

use reuselens_io::Input;
use reuselens_rltrace::{Header, Reader, Writer};
use reuselens_testing::traces::{Piece, Random, drain, expanded, rows};
use reuselens_trace::{Block, Kind, ProcessId, Projection, Row, Source, ThreadId};

/// Walks over records that lie anywhere, in functions that are called by turns; every so often
/// something that never repeats.
fn block(random: &mut Random, functions: u64) -> Block {
    let mut block = Block::new();
    block.process = ProcessId(random.below(2) as u16);
    block.thread = ThreadId(random.below(3) as u32);
    block.first_stamp = random.next() >> 40;
    block.last_stamp = block.first_stamp + random.below(100) as u64;
    let rows = random.below(6000);
    let mut function = 0;
    while block.len() < rows {
        function = match random.below(10) {
            0 => random.next(),
            _ => function + 1,
        } % functions;
        let stack = 0x7fff_0000_u64.wrapping_sub(function.wrapping_mul(64));
        let base = random.next() >> 20;
        let mut push = |kind, pc, addr| {
            block.push(Row {
                kind,
                size: 8 * u8::from(kind == Kind::Load),
                pc: function.wrapping_mul(0x1000).wrapping_add(pc),
                addr,
            });
        };
        push(Kind::Enter, 1, stack);
        push(Kind::Operand, 0, 0x1234);
        for step in 0..2 + function % 7 {
            push(Kind::Load, 4 + 4 * step, base + 16 * step);
            push(Kind::Store, 6 + 4 * step, stack.wrapping_add(8 * step));
        }
        if function % 3 == 0 {
            push(Kind::RangeStore, 90, base);
            push(Kind::Operand, 0, random.next() % 300);
        }
        if random.below(100) == 0 {
            push(
                Kind::from_u8(1 + random.below(15) as u8).unwrap(),
                base,
                base,
            );
        }
        push(Kind::Exit, 99, stack);
    }
    block
}

fn write(pieces: &[Piece], in_background: bool) -> Vec<u8> {
    let header = Header {
        has_addresses: true,
        description: String::new(),
    };
    let mut writer = Writer::new(Vec::new(), Path::new("trace"), &header).unwrap();
    if in_background {
        writer.compress_in_background().unwrap();
    }
    for (number, piece) in pieces.iter().enumerate() {
        if let Piece::Block(block) = piece {
            writer.block(block).unwrap();
        }
        if number % 50 == 9 {
            writer.flush().unwrap();
        }
    }
    writer.finish().unwrap()
}

fn pieces(random: &mut Random, functions: u64) -> Vec<Piece> {
    (0..60)
        .map(|_| Piece::Block(block(random, functions)))
        .collect()
}

#[test]
fn inferred_templates_give_the_same_rows() {
    let random = &mut Random(1);
    let (mut repeated, mut all) = (0, 0);
    for functions in [1, 3, 20, 400, 1 << 40] {
        let pieces = pieces(random, functions);
        let bytes = write(&pieces, false);
        assert!(bytes == write(&pieces, true));
        for threads in [1, 3] {
            let input = Input::new(std::io::Cursor::new(bytes.clone()), "trace");
            let mut reader = Reader::with_threads(input, threads).unwrap();
            let (read, error) = drain(&mut reader);
            assert!(error.is_none(), "{error:?}");
            assert!(read == pieces, "{functions} functions");
            let input = Input::new(std::io::Cursor::new(bytes.clone()), "trace");
            let mut reader = Reader::with_threads(input, threads).unwrap();
            assert!(reader.project(Projection::Repeats));
            let (read, error) = drain(&mut reader);
            assert!(error.is_none(), "{error:?}");
            repeated += rows(&read).len();
            assert!(expanded(read) == pieces, "{functions} functions, repeated");
        }
        all += 2 * rows(&pieces).len();
    }
    assert!(
        repeated < all * 3 / 4,
        "{repeated} of {all} rows are not repeats"
    );
}

#[test]
fn index_and_parts_are_as_of_rows() {
    let random = &mut Random(2);
    let pieces = pieces(random, 20);
    reuselens_testing::traces::index_says(&write(&pieces, false), &pieces);
}

#[test]
fn scattered_records_take_fewer_bytes_than_their_addresses() {
    let pieces = pieces(&mut Random(3), 20);
    let rows: usize = reuselens_testing::traces::rows(&pieces).len();
    let bytes = write(&pieces, false).len();
    // As rows they would take a byte each.
    assert!(bytes < rows - rows / 16, "{bytes} bytes of {rows} rows");
}
