//! Binary traces to measure with, and ways to pack them.

use std::io::Write;
use std::path::Path;

use reuselens_rltrace::{Header, Writer};
use reuselens_trace::{Block, Kind, Row};

/// A format, and how a trace of some accesses is made in it.
pub struct Format {
    /// What it is called.
    pub name: &'static str,
    /// The bytes of a trace of about that many accesses.
    pub make: fn(usize) -> Vec<u8>,
}

/// The formats measured.
pub const FORMATS: &[Format] = &[
    Format {
        name: "native",
        make: native,
    },
    Format {
        name: "drmemtrace",
        make: drmemtrace,
    },
    Format {
        name: "champsim",
        make: champsim,
    },
    Format {
        name: "oraclegeneral",
        make: oraclegeneral,
    },
    Format {
        name: "vscsi",
        make: vscsi,
    },
    Format {
        name: "u64",
        make: raw,
    },
];

/// A way to pack bytes.
pub struct Packing {
    /// What it is called.
    pub name: &'static str,
    /// Packs.
    pub pack: fn(&[u8]) -> Vec<u8>,
}

/// The packings measured.
pub const PACKINGS: &[Packing] = &[
    Packing {
        name: "none",
        pack: <[u8]>::to_vec,
    },
    Packing {
        name: "gzip",
        pack: |bytes| {
            let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            packer.write_all(bytes).expect("memory takes all");
            packer.finish().expect("memory takes all")
        },
    },
    Packing {
        name: "zstd",
        pack: |bytes| zstd::encode_all(bytes, 3).expect("memory takes all"),
    },
    Packing {
        name: "xz",
        pack: |bytes| {
            let mut packer = liblzma::write::XzEncoder::new(Vec::new(), 1);
            packer.write_all(bytes).expect("memory takes all");
            packer.finish().expect("memory takes all")
        },
    },
];

/// An access: where in the program, what, and where in memory.
struct Access {
    pc: u64,
    kind: Kind,
    addr: u64,
}

/// Loops of 4 to 60 instructions over arrays, a third of them loading from anywhere in a table.
fn walk() -> impl Iterator<Item = Access> {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut left = 0;
    let (mut first, mut length, mut round) = (0, 1, 0);
    let mut at = 0;
    std::iter::repeat_with(move || {
        if left == 0 {
            first = 0x40_0000 + (random() % 200) * 256;
            length = 4 + random() % 57;
            round = random() % 4096;
            left = length * (1 + random() % 100);
            at = 0;
        }
        left -= 1;
        let place = at % length;
        let pc = first + 4 * place;
        let addr = if place % 3 == 2 {
            0x7f00_0000_0000 + 8 * (random() % (1 << 20))
        } else {
            0x5555_0000_0000 + (pc << 12) + 8 * (round + at / length)
        };
        at += 1;
        let kind = if place % 4 == 3 {
            Kind::Store
        } else {
            Kind::Load
        };
        Access { pc, kind, addr }
    })
}

fn native(accesses: usize) -> Vec<u8> {
    let header = Header {
        has_addresses: true,
        description: "bench".to_owned(),
    };
    let mut writer =
        Writer::new(Vec::new(), Path::new("bench"), &header).expect("memory takes all");
    let mut block = Block::new();
    for (index, access) in (1..).zip(walk().take(accesses)) {
        block.push(Row {
            kind: access.kind,
            size: 8,
            pc: access.pc + 1,
            addr: access.addr,
        });
        if block.len() == 32 << 10 || index == accesses {
            writer.block(&block).expect("memory takes all");
            block.clear();
        }
    }
    writer.finish().expect("memory takes all")
}

/// An instruction entry before each access, and one more without an access before every other.
fn drmemtrace(accesses: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(accesses * 30 + 100);
    let mut put = |kind: u16, size: u16, addr: u64| {
        bytes.extend_from_slice(&kind.to_le_bytes());
        bytes.extend_from_slice(&size.to_le_bytes());
        bytes.extend_from_slice(&addr.to_le_bytes());
    };
    for (kind, addr) in [(25, 5), (28, 5), (22, 1), (24, 1)] {
        put(kind, 0, addr);
    }
    for (index, access) in walk().take(accesses).enumerate() {
        if index % 2 == 0 {
            put(10, 4, access.pc - 2);
        }
        put(10, 4, access.pc);
        put(u16::from(access.kind == Kind::Store), 8, access.addr);
    }
    put(26, 0, 0);
    bytes
}

/// Three accesses in two instructions.
fn champsim(accesses: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(accesses * 43 + 64);
    let mut walk = walk();
    let mut next = || walk.next().expect("it has no end");
    for index in 0..accesses * 2 / 3 {
        let access = next();
        let second = if index % 2 == 0 { next().addr } else { 0 };
        let fields = [access.pc, 0, second, 0, access.addr, 0, 0, 0];
        for field in fields {
            bytes.extend_from_slice(&field.to_le_bytes());
        }
    }
    bytes
}

fn oraclegeneral(accesses: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(accesses * 24);
    for (time, access) in (0_u32..).zip(walk().take(accesses)) {
        bytes.extend_from_slice(&(time / 100).to_le_bytes());
        bytes.extend_from_slice(&access.addr.to_le_bytes());
        bytes.extend_from_slice(&4096_u32.to_le_bytes());
        bytes.extend_from_slice(&(i64::from(time) + 1000).to_le_bytes());
    }
    bytes
}

fn vscsi(accesses: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(accesses * 32);
    for (number, access) in (0_u32..).zip(walk().take(accesses)) {
        for word in [number, 4096, 1, 0x0100_0028] {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
        bytes.extend_from_slice(&access.addr.to_le_bytes());
        bytes.extend_from_slice(&u64::from(number * 7).to_le_bytes());
    }
    bytes
}

fn raw(accesses: usize) -> Vec<u8> {
    let addrs = walk().take(accesses);
    addrs.flat_map(|access| access.addr.to_le_bytes()).collect()
}
