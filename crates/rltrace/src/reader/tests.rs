use super::*;
use crate::Writer;
use reuselens_trace::{Kind, Row};

/// Twenty chunks of three blocks each.
fn file() -> Vec<u8> {
    let header = Header {
        has_addresses: true,
        description: String::new(),
    };
    let mut writer = Writer::new(Vec::new(), "t".as_ref(), &header).unwrap();
    for at in 0..60_u64 {
        let mut block = Block::new();
        for addr in 0..50 {
            let (kind, size, pc) = (Kind::Load, 8, at);
            let addr = addr * addr * at;
            block.push(Row {
                kind,
                size,
                pc,
                addr,
            });
        }
        writer.block(&block).unwrap();
        if at % 3 == 2 {
            writer.flush().unwrap();
        }
    }
    writer.finish().unwrap()
}

#[test]
fn progress_is_that_of_delivered_pieces_on_any_threads() {
    let bytes = file();
    let length = bytes.len() as u64;
    let places = |threads| {
        let input = Input::seekable(std::io::Cursor::new(bytes.clone()), "t").unwrap();
        let mut reader = Reader::with_threads(input, threads).unwrap();
        let mut places = vec![reader.progress().unwrap()];
        while reader.next(&mut Block::new()).unwrap() != Step::End {
            places.push(reader.progress().unwrap());
        }
        assert_eq!(reader.progress(), Some((length, length)));
        places
    };
    let serial = places(1);
    assert_eq!(serial.len(), 61);
    assert!(serial.is_sorted() && serial.iter().all(|place| place.1 == length));
    let mut starts: Vec<u64> = serial.iter().map(|place| place.0).collect();
    starts.dedup();
    assert_eq!(starts.len(), 20, "one for each chunk");
    for threads in [2, 5] {
        assert_eq!(places(threads), serial, "{threads} threads");
    }
}
