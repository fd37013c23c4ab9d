//! Long inputs take no more memory than short ones. One test, as it watches its whole process.

use std::io::Read;

use reuselens_formats::Target;
use reuselens_io::Input;
use reuselens_testing::traces::Random;
use reuselens_trace::{Block, Source, Step};

/// Lines of lackey, words or raw items, made as they are read.
struct Generator {
    random: Random,
    left: u64,
    make: Make,
    ready: Vec<u8>,
}

impl Read for Generator {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        while self.ready.len() < buffer.len() && self.left > 0 {
            self.left -= 1;
            self.ready.extend((self.make)(self.random.next() % 100_000));
        }
        let count = buffer.len().min(self.ready.len());
        buffer[..count].copy_from_slice(&self.ready[..count]);
        self.ready.drain(..count);
        Ok(count)
    }
}

const ITEMS: u64 = 1_500_000;

/// How a generator writes an item.
type Make = fn(u64) -> Vec<u8>;

fn generated(format: &str, make: Make) -> impl Source {
    let reader = Generator {
        random: Random(1),
        left: ITEMS,
        make,
        ready: Vec::new(),
    };
    reuselens_formats::read(Input::new(reader, "generated"), Some(format)).unwrap()
}

/// The most memory that this process ever had, in KiB; `None` where the system does not say.
fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// Reads 225 MiB that come from a few KiB.
fn read_bomb(bomb: Vec<u8>) {
    let input = Input::new(std::io::Cursor::new(bomb), "bomb");
    let mut source = reuselens_formats::read(input, Some("oraclegeneral")).unwrap();
    let (mut block, mut rows) = (Block::new(), 0);
    loop {
        match source.next(&mut block).unwrap() {
            Step::Block => rows += block.len(),
            Step::Event(_) => {}
            Step::End => break,
        }
    }
    assert_eq!(rows, (96 * FRAMES) << 10);
}

/// Frames of a bomb, of 24 × 96 KiB each.
const FRAMES: usize = 100;

#[test]
fn long_inputs_take_no_more_memory() {
    let inputs: [(&str, Make); 3] = [
        ("text", |item| format!("{item}\n").into_bytes()),
        ("u64", |item| item.to_le_bytes().to_vec()),
        ("lackey", |item| format!(" L {item:x},8\n").into_bytes()),
    ];
    let frame = zstd::encode_all(&vec![0; (24 * 96) << 10][..], 3).unwrap();
    let before = peak();
    read_bomb(frame.repeat(FRAMES));
    for (format, make) in inputs {
        let mut source = generated(format, make);
        let mut block = Block::new();
        let mut rows = 0;
        loop {
            match source.next(&mut block).unwrap() {
                Step::Block => {
                    assert!(block.len() <= 64 << 10, "{format}: {} rows", block.len());
                    rows += block.len() as u64;
                }
                Step::Event(_) => {}
                Step::End => break,
            }
        }
        assert_eq!(rows, ITEMS, "{format}");
    }
    let after_reading = peak();
    let path = std::path::Path::new("out");
    for target in ["native", "text"] {
        let mut source = generated("u64", |item| item.to_le_bytes().to_vec());
        let target = Target::named(target).unwrap();
        let done = reuselens_formats::convert(&mut source, target, std::io::sink(), path).unwrap();
        assert_eq!(done.rows, ITEMS);
    }
    if let (Some(before), Some(read), Some(after)) = (before, after_reading, peak()) {
        assert!(
            read - before < 16 << 10,
            "reading took {} KiB",
            read - before
        );
        assert!(
            after - before < 64 << 10,
            "copying took {} KiB",
            after - before
        );
    }
}
