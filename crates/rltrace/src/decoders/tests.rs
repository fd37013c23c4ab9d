use std::time::{Duration, Instant};

use super::*;
use crate::{Header, Reader, Writer};
use reuselens_io::Input;
use reuselens_io::chunk::{Chunks, Content};
use reuselens_trace::{Kind, Row, Source};

/// Twelve chunks of 40 blocks; a block decodes to about 74 KB.
fn file() -> Vec<u8> {
    let header = Header {
        has_addresses: true,
        description: String::new(),
    };
    let mut writer = Writer::new(Vec::new(), "t".as_ref(), &header).unwrap();
    for at in 0..12 * 40_u64 {
        let mut block = Block::new();
        block.extend((0..4096).map(|row| Row {
            kind: Kind::Load,
            size: 8,
            pc: row % 5,
            addr: at << 32 | (row * row) << 6,
        }));
        writer.block(&block).unwrap();
        if at % 40 == 39 {
            writer.flush().unwrap();
        }
    }
    writer.finish().unwrap()
}

/// The chunks of a file of rows.
fn chunks(bytes: &[u8]) -> Vec<Stored> {
    let input = || Input::seekable(std::io::Cursor::new(bytes.to_vec()), "t").unwrap();
    let start = Reader::new(input()).unwrap().progress().unwrap().0;
    let (mut input, mut chunks, mut found) = (input(), Chunks::from(0), Vec::new());
    input.jump(start).unwrap();
    loop {
        let chunk = chunks.next(&mut input).unwrap();
        if chunk.content != Content::Pieces {
            return found;
        }
        found.push(chunk);
    }
}

/// Whether `holds` is so at some time within a minute.
fn becomes(holds: impl Fn() -> bool) -> bool {
    let begin = Instant::now();
    while !holds() {
        if begin.elapsed() > Duration::from_secs(60) {
            return false;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    true
}

/// However slow the reader is: after each piece the decoders get the time to fill all they may.
#[test]
fn decoders_hold_no_more_bytes_than_they_may_of_large_parts() {
    let ahead = ReadAhead::new(Bytes(4 << 20));
    let form = BlockForm::Rows;
    let mut pool = DecoderPool::new(4, form, ahead).unwrap().unwrap();
    let mut chunks = chunks(&file()).into_iter().peekable();
    let (mut blocks, mut most) = (0, 0);
    // A part is full with the block after which it is as large as it may be.
    let part = ahead.part + (100 << 10);
    loop {
        while pool.has_room()
            && let Some(chunk) = chunks.next()
        {
            pool.begin(chunk);
        }
        if pool.is_idle() {
            break;
        }
        let waiting = || pool.shared.waiting.total();
        if chunks.peek().is_some() && blocks % 40 == 0 {
            assert!(becomes(|| waiting() + part > ahead.waiting), "{blocks}");
        }
        most = most.max(waiting());
        assert!(waiting() <= ahead.waiting + 4 * part, "{blocks}");
        let spare = lock(&pool.shared.spare).bytes;
        assert!(spare <= ahead.spare, "{blocks}: {spare}");
        match pool.next() {
            Taken::Piece(Decoded::Block(block)) => {
                assert_eq!(block.len(), 4096);
                blocks += 1;
                pool.give_back(block);
            }
            Taken::Piece(Decoded::Event(_)) | Taken::End => {}
            Taken::Damaged(..) => panic!("damaged"),
        }
    }
    assert_eq!((blocks, pool.shared.waiting.total()), (12 * 40, 0));
    assert!(most + part > ahead.waiting, "{most}");
}

#[test]
fn chunk_that_is_dropped_or_next_does_not_wait_for_room() {
    let waiting = WaitingBytes::new(100);
    let [first, second] = [(); 2].map(|()| ChunkBytes::default());
    assert!(waiting.add(&second, 90));
    // Nothing waits of this one.
    assert!(waiting.add(&first, 1000));
    std::thread::scope(|scope| {
        let blocked = scope.spawn(|| waiting.add(&second, 20));
        waiting.drop_chunk(&second);
        assert!(!blocked.join().unwrap());
        let blocked = scope.spawn(|| waiting.add(&first, 20));
        waiting.take(&first, 1000);
        assert!(blocked.join().unwrap());
    });
    assert_eq!(waiting.total(), 20);
}
