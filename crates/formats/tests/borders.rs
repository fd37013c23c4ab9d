//! Blocks and events of foreign formats are the same however few bytes a read gives.

use std::io::Read;

use crate::binary::{entries, instruction, request, vscsi1, vscsi2};
use reuselens_io::Input;
use reuselens_testing::traces::{Piece, Random, drain};

/// Gives from one to `most` bytes a time.
struct Unsteady {
    bytes: Vec<u8>,
    at: usize,
    most: usize,
    random: Random,
}

impl Read for Unsteady {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let left = buffer.len().min(self.bytes.len() - self.at);
        let count = left.min(1 + self.random.below(self.most));
        buffer[..count].copy_from_slice(&self.bytes[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}

/// Everything that comes: events as words, blocks as their rows.
fn pieces(bytes: &[u8], format: &str, most: usize) -> Vec<String> {
    let reader = Unsteady {
        bytes: bytes.to_vec(),
        at: 0,
        most,
        random: Random(most as u64),
    };
    let mut source = reuselens_formats::read(Input::new(reader, "trace"), Some(format)).unwrap();
    let (pieces, error) = drain(&mut source);
    let pieces = pieces.into_iter().map(|piece| match piece {
        Piece::Block(block) => format!("{:?}", (block.thread, block.len(), checksum(&block))),
        Piece::Event(event) => format!("{event:?}"),
    });
    pieces.chain(error.map(|error| error.to_string())).collect()
}

fn checksum(block: &reuselens_trace::Block) -> u64 {
    block.rows().fold(0, |sum: u64, row| {
        let sum = sum.rotate_left(5) ^ row.addr ^ row.pc.rotate_left(32);
        sum ^ u64::from(row.size) << 8 ^ row.kind as u64
    })
}

/// What one line or record looks like.
fn record(format: &str, at: u64, random: &mut Random) -> Vec<u8> {
    let pick = random.below(9);
    match format {
        "text" => [format!("{at}\n"), format!("n{at} # x\n"), format!("{at} ")][pick % 3].clone(),
        "lackey" => [
            format!("I  {at:x},3\n"),
            format!(" L {at:x},8\n"),
            format!(" M {at:x},400\n"),
        ][pick % 3]
            .clone(),
        "din" => format!("{} {at:x}\n", pick % 5),
        "csv" if at == 0 => "thread,addr,op,size\n".to_owned(),
        "csv" => {
            let size = [1, 255, 256][pick % 3];
            format!("{},{at},{},{size}\n", at / 50_000, ["R", "cas"][pick % 2])
        }
        "msr" => format!("1,h,{},Read,{at},{},7\n", pick % 2, pick * 100),
        "u64" => return at.to_le_bytes().to_vec(),
        "u32" => return (at as u32).to_le_bytes().to_vec(),
        "drmemtrace" => {
            return entries(&[
                (10, 4, at * 4),
                (at as u16 & 1, [8, 300][pick % 2], at * 8 + 1),
            ]);
        }
        "champsim" => return instruction(at, [at & 1, 0], [0, at + 1, pick as u64, 0]),
        "oraclegeneral" => return request(at as u32, at * at, 1, -1),
        "vscsi1" => return vscsi1(at as u32, at ^ 0xff),
        _ => return vscsi2(at as u32, at ^ 0xff),
    }
    .into_bytes()
}

#[test]
fn blocks_do_not_depend_on_the_sizes_of_reads() {
    for (format, name) in [
        ("text", "text"),
        ("lackey", "lackey"),
        ("din", "din"),
        ("csv", "csv"),
        ("msr", "msr"),
        ("u64", "u64"),
        ("u32", "u32"),
        ("drmemtrace", "drmemtrace"),
        ("champsim", "champsim"),
        ("oraclegeneral", "oraclegeneral"),
        ("vscsi1", "vscsi"),
        ("vscsi2", "vscsi"),
    ] {
        let mut random = Random(5);
        let mut bytes = Vec::new();
        for at in 0..80_000 {
            bytes.extend(record(format, at, &mut random));
        }
        // Ends with damage, at a place where the formats notice it.
        bytes.extend(b"\0?");
        let expected = pieces(&bytes, name, usize::MAX >> 1);
        assert!(expected.len() >= 2 + 3, "{format}: {expected:?}");
        for most in [1, 7, 1000, 70_000] {
            let found = pieces(&bytes, name, most);
            assert_eq!(found, expected, "{format}, up to {most} bytes a time");
        }
    }
}
