//! Traces to try, and a way to read sources to their end.

pub mod damage;
pub mod foreign;
pub mod segments;

use std::path::Path;

use proptest::prelude::*;
use reuselens_formats::AnySource;
use reuselens_io::Input;
use reuselens_rltrace::{Header, Writer};
use reuselens_trace::{
    Block, Event, Kind, Module, ModuleId, Note, Process, ProcessEnd, ProcessId, RepeatExpander,
    Row, Sampling, Selection, Source, Step, Summary, Thread, ThreadId, TraceError,
};

/// A block or an event.
#[derive(Clone, Debug, PartialEq)]
pub enum Piece {
    /// Rows of one thread.
    Block(Block),
    /// What is between blocks.
    Event(Event),
}

/// Everything a source delivers, and the error it ends with, if any. Checks the promises of
/// `Source`.
pub fn drain(source: &mut dyn Source) -> (Vec<Piece>, Option<TraceError>) {
    let mut pieces = Vec::new();
    let mut block = Block::new();
    let error = loop {
        match source.next(&mut block) {
            Ok(Step::Block) => pieces.push(Piece::Block(block.clone())),
            Ok(Step::Event(event)) => pieces.push(Piece::Event(event)),
            Ok(Step::End) => break None,
            Err(error) => break Some(error),
        }
    };
    let before = block.clone();
    assert_eq!(
        source.next(&mut block).unwrap(),
        Step::End,
        "after the end there is only the end"
    );
    assert_eq!(
        block, before,
        "without Step::Block the block stays as it was"
    );
    (pieces, error)
}

/// The pieces with all repeats of their blocks expanded to rows.
pub fn expanded(pieces: Vec<Piece>) -> Vec<Piece> {
    let mut expander = RepeatExpander::new();
    let all = |piece| match piece {
        Piece::Block(block) => Piece::Block(expander.expand(&block)),
        event => event,
    };
    pieces.into_iter().map(all).collect()
}

/// Opens bytes as a file called `trace`.
pub fn open(bytes: &[u8], format: Option<&str>) -> Result<AnySource, TraceError> {
    reuselens_formats::read(
        Input::new(std::io::Cursor::new(bytes.to_vec()), "trace"),
        format,
    )
}

/// The index of a native file of these pieces says what is in them.
pub fn index_says(bytes: &[u8], pieces: &[Piece]) {
    let mut all = Summary::default();
    for piece in pieces {
        if let Piece::Block(block) = piece {
            all.block(block);
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.rltrace");
    std::fs::write(&path, bytes).unwrap();
    let survey = reuselens_formats::survey(&path, None, &Selection::default()).unwrap();
    assert_eq!(survey.no_index, None);
    assert_eq!(survey.summary, all);
}

/// The rows of all blocks.
pub fn rows(pieces: &[Piece]) -> Vec<Row> {
    let blocks = pieces.iter().filter_map(|piece| match piece {
        Piece::Block(block) => Some(block),
        Piece::Event(_) => None,
    });
    blocks
        .flat_map(|block| block.rows().collect::<Vec<_>>())
        .collect()
}

/// The native file of some pieces; `flush_every` pieces a chunk is forced.
pub fn native(pieces: &[Piece], flush_every: usize) -> Vec<u8> {
    let header = Header {
        has_addresses: true,
        description: "a test".to_owned(),
    };
    let mut writer = Writer::new(Vec::new(), Path::new("trace"), &header).unwrap();
    for (index, piece) in pieces.iter().enumerate() {
        match piece {
            Piece::Block(block) => writer.block(block).unwrap(),
            Piece::Event(event) => writer.event(event).unwrap(),
        }
        if (index + 1) % flush_every == 0 {
            writer.flush().unwrap();
        }
    }
    writer.finish().unwrap()
}

/// Numbers as they occur: small, near each other, or anything.
pub fn number() -> impl Strategy<Value = u64> {
    prop_oneof![
        0..64_u64,
        0x7f00_0000_0000..0x7f00_0000_1000_u64,
        any::<u64>()
    ]
}

/// A row with the operand rows that belong to it.
pub fn group() -> impl Strategy<Value = Vec<Row>> {
    let name = prop::collection::vec(any::<u64>(), 0..4);
    (
        1_u8..=13,
        0..4_u8,
        prop_oneof![Just(0), 0x40_1000..0x40_1010_u64, any::<u64>()],
        number(),
        number(),
        name,
    )
        .prop_map(|(kind, size, pc, addr, operand, name)| {
            let kind = Kind::from_u8(kind).unwrap();
            let mut rows = vec![Row {
                kind,
                size: 1 << size,
                pc,
                addr,
            }];
            let mut operands = vec![operand; kind.operands()];
            if kind == Kind::Data {
                operands[2] = name.len() as u64 * 8;
                operands.extend(name);
            }
            rows.extend(operands.into_iter().map(|addr| Row {
                kind: Kind::Operand,
                size: 0,
                pc: 0,
                addr,
            }));
            rows
        })
}

/// A block of random rows.
pub fn block() -> impl Strategy<Value = Block> {
    (
        any::<u16>(),
        0..4_u32,
        number(),
        number(),
        prop::collection::vec(group(), 0..60),
    )
        .prop_map(|(process, thread, first, last, groups)| {
            let mut block = Block::new();
            block.process = ProcessId(process);
            block.thread = ThreadId(thread);
            (block.first_stamp, block.last_stamp) = (first, last);
            groups.into_iter().flatten().for_each(|row| block.push(row));
            block
        })
}

/// A text as names of files and threads are.
fn text() -> impl Strategy<Value = String> {
    "[a-z/é ]{0,12}"
}

/// Any event.
pub fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        process_event(),
        process_ended(),
        module_event(),
        thread_event(),
        any::<u32>().prop_map(|id| Event::ThreadEnded(ThreadId(id))),
        any::<u64>().prop_map(|first| Event::Sampling(Sampling::Filling { first })),
        any::<[u64; 2]>().prop_map(|[first, stands_for]| {
            Event::Sampling(Sampling::Measured { first, stands_for })
        }),
        any::<[u64; 2]>().prop_map(|[recorded, accesses]| {
            Event::Sampling(Sampling::Ended { recorded, accesses })
        }),
        (text(), text(), text()).prop_map(|(code, message, hint)| Event::Note(Note {
            code,
            message,
            hint
        })),
    ]
}

fn process_event() -> impl Strategy<Value = Event> {
    let fields = (
        any::<u16>(),
        any::<u32>(),
        any::<Option<u16>>(),
        text(),
        any::<bool>(),
    );
    fields.prop_map(|(id, pid, parent, executable, instrumented)| {
        Event::Process(Process {
            id: ProcessId(id),
            pid,
            parent: parent.map(ProcessId),
            executable,
            instrumented,
        })
    })
}

fn process_ended() -> impl Strategy<Value = Event> {
    (any::<u16>(), 0..3_u8, any::<i32>()).prop_map(|(id, how, number)| {
        let end = match how {
            0 => ProcessEnd::Exit(number),
            1 => ProcessEnd::Signal(number),
            _ => ProcessEnd::Unknown,
        };
        Event::ProcessEnded(ProcessId(id), end)
    })
}

fn module_event() -> impl Strategy<Value = Event> {
    let fields = (
        any::<(u16, u16)>(),
        text(),
        any::<[u64; 3]>(),
        any::<Vec<u8>>(),
    );
    fields.prop_map(|((process, id), path, [bias, low, high], build_id)| {
        Event::Module(Module {
            process: ProcessId(process),
            id: ModuleId(id),
            path,
            bias,
            low,
            high,
            build_id,
        })
    })
}

fn thread_event() -> impl Strategy<Value = Event> {
    let fields = (
        any::<u32>(),
        any::<u16>(),
        any::<u32>(),
        any::<[u64; 2]>(),
        text(),
    );
    fields.prop_map(|(id, process, tid, [stack_low, stack_high], name)| {
        Event::Thread(Thread {
            id: ThreadId(id),
            process: ProcessId(process),
            tid,
            stack_low,
            stack_high,
            name,
        })
    })
}

/// Blocks and events in any order.
pub fn pieces() -> impl Strategy<Value = Vec<Piece>> {
    let piece =
        prop_oneof![3 => block().prop_map(Piece::Block), 1 => event().prop_map(Piece::Event)];
    prop::collection::vec(piece, 0..12)
}

/// A small trace with every kind of event, operands and a name; always the same.
pub fn sample() -> Vec<Piece> {
    let module = Module {
        path: "/bin/x".into(),
        high: 1 << 20,
        build_id: vec![1, 2],
        ..Module::default()
    };
    let note = Note {
        code: "lost".into(),
        message: "rows were lost".into(),
        hint: String::new(),
    };
    vec![
        Piece::Event(Event::Process(Process {
            pid: 7,
            executable: "x".into(),
            ..Process::default()
        })),
        Piece::Event(Event::Module(module)),
        Piece::Event(Event::Thread(Thread {
            name: "main".into(),
            ..Thread::default()
        })),
        Piece::Block(sample_of_accesses()),
        Piece::Event(Event::Thread(Thread {
            id: ThreadId(1),
            ..Thread::default()
        })),
        Piece::Block(sample_of_names()),
        Piece::Event(Event::ThreadEnded(ThreadId(1))),
        Piece::Event(Event::Note(note)),
        Piece::Event(Event::ProcessEnded(ProcessId(0), ProcessEnd::Exit(-3))),
    ]
}

/// Accesses, and memory that is allocated.
fn sample_of_accesses() -> Block {
    let mut first = Block::new();
    (first.first_stamp, first.last_stamp) = (10, 20);
    for index in 0..40 {
        first.push(Row {
            kind: Kind::Load,
            size: 8,
            pc: 0x401_000,
            addr: 0x7f00_0000 + 8 * index,
        });
        first.push(Row {
            kind: Kind::Store,
            size: 4,
            pc: 0x401_008,
            addr: 0x6f00_0000 + 400 * index,
        });
    }
    first.push(Row {
        kind: Kind::Alloc,
        size: 0,
        pc: 0x401_010,
        addr: 0x5000,
    });
    first.push_operand(4096);
    first
}

/// A name for that memory, given by another thread.
fn sample_of_names() -> Block {
    let mut second = Block::new();
    second.thread = ThreadId(1);
    (second.first_stamp, second.last_stamp) = (15, 30);
    second.push(Row {
        kind: Kind::Data,
        size: 0,
        pc: 0x401_020,
        addr: 0x5000,
    });
    for operand in [4096, 8, 5, u64::from_le_bytes(*b"array\0\0\0")] {
        second.push_operand(operand);
    }
    second
}

/// Numbers that are always the same for a seed (splitmix64).
pub struct Random(pub u64);

impl Random {
    /// The next number, any of 64 bits.
    #[expect(
        clippy::should_implement_trait,
        reason = "there is always a number, so it needs no `Option`"
    )]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// The next number below `limit`.
    pub fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }
}
