//! The fuzz targets, one for each reader ([`targets`]), and what they share.

#[cfg(test)]
mod replay;
pub mod targets;

use std::path::Path;

use reuselens::attribute::{Attributor, Columns, NoSymbols, Options, Tables};
use reuselens::units::Accesses;
use reuselens_graph::EdgeKind;
use reuselens_graph::formats::LoadedGraph;
use reuselens_io::Input;
use reuselens_rltrace::{Header, Reader, Writer};
use reuselens_trace::{
    Block, Event, Kind, Projection, RepeatExpander, Row, Segmented, Selection, Source, Step,
    ThreadId, TraceSegment,
};
use reuselens_warp::{WarpBatch, WarpSource, WarpStep};

/// Reads `bytes` to the end: nothing may panic, hang, or take memory beyond what the bytes call
/// for.
pub fn read(bytes: &[u8], format: Option<&str>) {
    let input = Input::new(std::io::Cursor::new(bytes.to_vec()), "fuzz");
    let Ok(mut source) = reuselens_formats::read(input, format) else {
        return;
    };
    let mut block = Block::new();
    while let Ok(Step::Block | Step::Event(_)) = source.next(&mut block) {}
}

/// Reads `bytes` as requests for blocks in a format. The first bytes are also the unit, so that any
/// number may be one, also one that is refused.
pub fn read_blocks(bytes: &[u8], format: &str) {
    let mut unit = [0; 8];
    for (to, from) in unit.iter_mut().zip(bytes) {
        *to = *from;
    }
    // As often one of a few bytes as a large one.
    let unit = u64::from_le_bytes(unit) >> (unit[0] % 64);
    read(bytes, Some(&format!("{format}:unit={unit}")));
}

/// Counts what a graph has: each pair is at most two edges, and each end is a vertex.
pub fn check_graph(graph: &LoadedGraph) {
    let census = graph.census(EdgeKind::Directed);
    let pairs = graph.pairs.len() as u64;
    assert!(census.edges.len() as u64 + census.loops <= 2 * pairs);
    let mut ends = census.edges.iter().map(|edge| u64::from(edge.to));
    assert!(ends.all(|end| end < graph.names.len()));
}

/// Unpacks `bytes` as a file in this packing. The first bytes are replaced by the packing's magic
/// number, so that every input is such a file. What a second reader unpacks from the middle of an
/// archive on equals what the first one unpacks there.
pub fn read_packed(packing: &str, bytes: &[u8]) {
    let magic: &[u8] = match packing {
        "gzip" => b"\x1f\x8b\x08\0\0\0\0\0\0\x03",
        "zstd" => b"\x28\xb5\x2f\xfd",
        "xz" => b"\xfd7zXZ\0",
        "snappy" => b"\xff\x06\0\0sNaPpY",
        _ => b"PK\x03\x04\x14\0\0\0\x08\0",
    };
    let mut file = magic.to_vec();
    file.extend_from_slice(bytes.get(magic.len()..).unwrap_or_default());
    let Ok(mut input) = Input::seekable(std::io::Cursor::new(file), "fuzz") else {
        return;
    };
    let Some(all) = unpacked(&mut input) else {
        return;
    };
    let Some(places) = input.places() else {
        return;
    };
    let at = places.nearest(places.length() / 2);
    let Ok(Some(mut another)) = input.another_at(&places, at) else {
        return;
    };
    if let Some(rest) = unpacked(&mut another) {
        let expected = all.get(at as usize..).unwrap_or_default();
        let compared = expected.len().min(rest.len());
        assert_eq!(expected[..compared], rest[..compared]);
        let both_ended = all.len().max(rest.len()) < MOST_UNPACKED;
        assert!(!both_ended || expected.len() == rest.len());
    }
}

/// How much of a packed file is unpacked at least: a few bytes can unpack to terabytes.
const MOST_UNPACKED: usize = 1 << 19;

/// The unpacked bytes to the end, or [`MOST_UNPACKED`] and some more; `None` if they are damaged.
fn unpacked(input: &mut Input) -> Option<Vec<u8>> {
    input.head().ok()?;
    let mut unpacked = Vec::new();
    while unpacked.len() < MOST_UNPACKED {
        let bytes = input.at_least(1).ok()?;
        if bytes.is_empty() {
            break;
        }
        unpacked.extend_from_slice(bytes);
        let taken = bytes.len();
        input.consume(taken);
    }
    Some(unpacked)
}

/// Reads the halves of `bytes` as the files of two threads in a folder of drmemtrace.
pub fn read_folder(bytes: &[u8]) {
    let folder = std::env::temp_dir().join(format!("reuselens-fuzz-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (one, other) = bytes.split_at(bytes.len() / 24 * 12);
    std::fs::write(folder.join("a.trace"), one).unwrap();
    std::fs::write(folder.join("b.trace"), other).unwrap();
    if let Ok(mut source) = reuselens_formats::open(&folder, None) {
        let mut block = Block::new();
        while let Ok(Step::Block | Step::Event(_)) = source.next(&mut block) {}
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Reads a native file with one thread and with three, and compares.
pub fn compare_threads(bytes: &[u8]) {
    assert_eq!(all(bytes, 1), all(bytes, 3));
}

/// Reads a native file with repeats instead of repeated rows, by one thread and by three: the
/// expanded blocks equal the rows, and both readers report the same error at the same place.
pub fn compare_repeats(bytes: &[u8]) {
    let rows = all(bytes, 1);
    for threads in [1, 3] {
        let mut found = all_of(bytes, threads, true);
        let mut expander = RepeatExpander::new();
        found
            .0
            .iter_mut()
            .for_each(|block| *block = expander.expand(block));
        assert_eq!(rows, found);
    }
}

/// Attributes the accesses of a native file, read as rows and with repeats: items, cells and tables
/// are equal.
pub fn compare_attribution(bytes: &[u8]) {
    if covered(bytes) <= MOST_COVERED {
        assert_eq!(attributed(bytes, false), attributed(bytes, true));
    }
}

/// The items and cells of a native file, its number of accesses, and the attributor's tables.
fn attributed(bytes: &[u8], repeats: bool) -> (Vec<u64>, Vec<u32>, u64, Tables) {
    let mut attributor = Attributor::new(Options::default());
    let (mut items, mut cells) = (Vec::new(), Vec::new());
    let input = Input::new(std::io::Cursor::new(bytes.to_vec()), "fuzz");
    if let Ok(mut reader) = Reader::with_threads(input, 1) {
        if repeats {
            reader.project(Projection::Repeats);
        }
        let mut columns = Columns::new();
        take_all(reader, &mut attributor, |attributor, block| {
            attributor.pieces(block, &mut columns, |piece| {
                let room = room(&items);
                items.extend(piece.items.iter().take(room));
                cells.extend(piece.cells.iter().take(room));
            });
        });
    }
    let references = attributor.references();
    (items, cells, references, attributor.finish(&mut NoSymbols))
}

/// Reads a native file as rows, and as item accesses by one thread and by three: all give the same
/// items. Files whose ranges cover more than [`MOST_COVERED`] bytes take too long and are skipped.
pub fn compare_item_accesses(bytes: &[u8]) {
    if covered(bytes) > MOST_COVERED {
        return;
    }
    let rows = item_accesses(bytes, 1, false);
    assert_eq!(rows, item_accesses(bytes, 1, true));
    assert_eq!(rows, item_accesses(bytes, 3, true));
}

/// Reads a native file as item accesses, by one reader and in segments that are split while they
/// are read: up to the first error both give the same items. Files with named elements that
/// straddle items are skipped.
pub fn compare_segments(bytes: &[u8]) {
    if covered(bytes) > MOST_COVERED {
        return;
    }
    let (items, references, tables, error) = item_accesses(bytes, 1, true);
    let Some((found, attributor, broken)) = in_segments(bytes) else {
        return;
    };
    if broken {
        assert!(items.starts_with(&found));
        return;
    }
    assert_eq!((error, items), (None, found));
    assert_eq!(references, attributor.references());
    let mut warnings = attributor.finish(&mut NoSymbols).warnings;
    let mut expected = tables.warnings;
    warnings.sort_by(|one, other| one.message.cmp(&other.message));
    expected.sort_by(|one, other| one.message.cmp(&other.message));
    assert_eq!(warnings, expected);
}

/// The items that the segments access, the attributor after the last one, and whether a segment
/// ended with an error; `None` if the file has no segments or elements that straddle items.
fn in_segments(bytes: &[u8]) -> Option<(Vec<u64>, Attributor, bool)> {
    let attributor = || {
        Attributor::new(Options {
            totals_only: true,
            ..Options::default()
        })
    };
    let projection = attributor().projection()?;
    let input = Input::seekable(std::io::Cursor::new(bytes.to_vec()), "fuzz").ok()?;
    let mut reader = Reader::with_threads(input, 1).ok()?;
    let mut segments = reader.segments(projection, 2, Accesses(1)).ok()?;
    let (mut items, mut before) = (Vec::new(), None::<Attributor>);
    while !segments.is_empty() {
        let mut segment = segments.remove(0);
        let mut attributor = attributor();
        let (mut block, mut columns, mut steps) = (Block::new(), Columns::new(), 0);
        let broken = loop {
            steps += 1;
            if steps % 2 == 0
                && let Ok(Some(half)) = segment.split_off(Accesses(1))
            {
                segments.insert(0, half);
            }
            match segment.next(&mut block) {
                Ok(Step::Block) if block.item_batch.elements_straddle => return None,
                Ok(Step::Block) => {
                    attributor.gather(&mut block, &mut columns, |piece| keep(&mut items, piece));
                }
                Ok(Step::Event(event)) => attributor.event(&event, &mut NoSymbols),
                Ok(Step::End) => break false,
                Err(_) => break true,
            }
            keep(&mut items, &columns);
            columns.clear();
        };
        if let Some(before) = before.take() {
            attributor.put_behind(before);
        }
        if broken {
            return Some((items, attributor, true));
        }
        before = Some(attributor);
    }
    before.map(|attributor| (items, attributor, false))
}

/// Bytes of ranges in the files that are compared: four million cache lines.
const MOST_COVERED: u64 = 1 << 28;

/// The bytes of all ranges in a native file, as far as it can be read.
fn covered(bytes: &[u8]) -> u64 {
    let input = Input::new(std::io::Cursor::new(bytes.to_vec()), "fuzz");
    let Ok(mut reader) = Reader::with_threads(input, 1) else {
        return 0;
    };
    let (mut block, mut covered) = (Block::new(), 0_u64);
    loop {
        match reader.next(&mut block) {
            Ok(Step::Block) => {
                let kinds = block.kinds().windows(2).zip(block.addrs().iter().skip(1));
                for (kinds, bytes) in kinds {
                    if matches!(kinds, [Kind::RangeLoad | Kind::RangeStore, Kind::Operand]) {
                        covered = covered.saturating_add(*bytes);
                    }
                }
            }
            Ok(Step::Event(_)) => {}
            Ok(Step::End) | Err(_) => return covered,
        }
    }
}

/// The items of a native file, its number of accesses, the attributor's tables, and the message of
/// the error.
fn item_accesses(
    bytes: &[u8],
    threads: usize,
    project: bool,
) -> (Vec<u64>, u64, Tables, Option<String>) {
    let options = Options {
        totals_only: true,
        ..Options::default()
    };
    let mut attributor = Attributor::new(options);
    let input = Input::new(std::io::Cursor::new(bytes.to_vec()), "fuzz");
    let mut items = Vec::new();
    let error = match Reader::with_threads(input, threads) {
        Ok(mut reader) => {
            if let Some(projection) = attributor.projection().filter(|_| project) {
                reader.project(Projection::Items(projection));
            }
            let mut columns = Columns::new();
            take_all(reader, &mut attributor, |attributor, block| {
                attributor.gather(block, &mut columns, |piece| keep(&mut items, piece));
                keep(&mut items, &columns);
                columns.clear();
            })
        }
        Err(damage) => Some(damage.to_string()),
    };
    let references = attributor.references();
    (items, references, attributor.finish(&mut NoSymbols), error)
}

/// Calls `take` for each block of a reader and gives the events to the attributor; returns the
/// message of the error.
fn take_all(
    mut reader: Reader,
    attributor: &mut Attributor,
    mut take: impl FnMut(&mut Attributor, &mut Block),
) -> Option<String> {
    let mut block = Block::new();
    loop {
        match reader.next(&mut block) {
            Ok(Step::Block) => take(attributor, &mut block),
            Ok(Step::Event(event)) => attributor.event(&event, &mut NoSymbols),
            Ok(Step::End) => return None,
            Err(damage) => return Some(damage.to_string()),
        }
    }
}

/// How many more items are kept: a few bytes of a file can be a range of millions of items.
fn room(items: &[u64]) -> usize {
    (1_usize << 22).saturating_sub(items.len())
}

/// Keeps as many of the items as there is room for.
fn keep(items: &mut Vec<u64>, columns: &Columns) {
    let room = room(items);
    items.extend(columns.items.iter().take(room));
}

/// The blocks and events of a native file, and the message of the error.
fn all(bytes: &[u8], threads: usize) -> (Vec<Block>, Vec<Event>, Option<String>) {
    all_of(bytes, threads, false)
}

/// As [`all`], with repeats in the place of repeated rows if `repeats`.
fn all_of(bytes: &[u8], threads: usize, repeats: bool) -> (Vec<Block>, Vec<Event>, Option<String>) {
    let input = Input::new(std::io::Cursor::new(bytes.to_vec()), "fuzz");
    let mut found = (Vec::new(), Vec::new(), None);
    let mut reader = match Reader::with_threads(input, threads) {
        Ok(reader) => reader,
        Err(error) => {
            found.2 = Some(error.to_string());
            return found;
        }
    };
    if repeats {
        reader.project(Projection::Repeats);
    }
    let mut block = Block::new();
    loop {
        match reader.next(&mut block) {
            Ok(Step::Block) => found.0.push(block.clone()),
            Ok(Step::Event(event)) => found.1.push(event),
            Ok(Step::End) => return found,
            Err(error) => {
                found.2 = Some(error.to_string());
                return found;
            }
        }
    }
}

/// Any bytes as a native file of which a part is selected, by its index if it has one.
pub fn select(bytes: &[u8]) {
    let input = Input::seekable(std::io::Cursor::new(bytes.to_vec()), "fuzz");
    let Ok(mut reader) = input
        .map_err(Into::into)
        .and_then(|input| Reader::with_threads(input, 1))
    else {
        return;
    };
    // The bytes of the file draw the part.
    let byte = |at: usize| u64::from(bytes.get(at).copied().unwrap_or(0));
    let (from, threads) = (byte(40) % 64, byte(41) % 3);
    let selection = Selection {
        rows: from..from + 1 + byte(42) % 64,
        threads: (0..threads).map(|thread| ThreadId(thread as u32)).collect(),
        state: byte(43) % 2 == 1,
        ..Selection::default()
    };
    if reader.select(selection).is_err() {
        return;
    }
    let mut block = Block::new();
    while let Ok(Step::Block | Step::Event(_)) = reader.next(&mut block) {}
}

/// Any bytes as the inside of the index of a native file that is sound but for it, with good
/// checksums.
pub fn read_index(plain: &[u8]) {
    let header = Header {
        has_addresses: true,
        description: String::new(),
    };
    let Ok(mut writer) = Writer::new(Vec::new(), Path::new("fuzz"), &header) else {
        return;
    };
    for thread in 0..3 {
        let mut block = Block::new();
        block.thread = ThreadId(thread);
        for addr in 0..20 {
            let (kind, size, pc, addr) = (Kind::Load, 8, 1, addr * 40);
            block.push(Row {
                kind,
                size,
                pc,
                addr,
            });
        }
        let note = Event::ThreadEnded(ThreadId(thread));
        let written = writer.block(&block).and_then(|()| writer.event(&note));
        if written.and_then(|()| writer.flush()).is_err() {
            return;
        }
    }
    let Ok(whole) = writer.finish() else {
        return;
    };
    // The trailer's second field is where the index is.
    let at = whole.len() - 16;
    let offset = u64::from_le_bytes([0, 1, 2, 3, 4, 5, 6, 7].map(|byte| whole[at + byte])) as usize;
    let Ok(stored) = zstd::bulk::compress(plain, 1) else {
        return;
    };
    let mut file = whole[..offset].to_vec();
    file.extend_from_slice(&chunk(3, 3, plain, &stored));
    let length = u32::from_le_bytes([8, 9, 10, 11].map(|byte| whole[offset + byte])) as usize;
    file.extend_from_slice(&whole[offset + 24 + length..]);
    read(&file, Some("native"));
    select(&file);
    compare_segments(&file);
}

/// A chunk with good checksums.
fn chunk(kind: u32, number: u32, plain: &[u8], stored: &[u8]) -> Vec<u8> {
    let (plain, length) = (plain.len() as u32, stored.len() as u32);
    let mut chunk = Vec::new();
    for word in [kind, number, length, plain, crc32fast::hash(stored)] {
        chunk.extend_from_slice(&word.to_le_bytes());
    }
    chunk.extend_from_slice(&crc32fast::hash(&chunk).to_le_bytes());
    chunk.extend_from_slice(stored);
    chunk
}

/// Reads a native file of one chunk that decodes to `plain`.
pub fn read_chunk(plain: &[u8]) {
    let header = Header {
        has_addresses: true,
        description: String::new(),
    };
    let Ok(whole) = Writer::new(Vec::new(), Path::new("fuzz"), &header).and_then(Writer::finish)
    else {
        return;
    };
    let file = with_chunk(whole, plain);
    read(&file, Some("native"));
    compare_item_accesses(&file);
    compare_repeats(&file);
    compare_attribution(&file);
}

/// A file without a description, with one chunk that decodes to `plain` in the place of its ending.
pub fn with_chunk(mut file: Vec<u8>, plain: &[u8]) -> Vec<u8> {
    file.truncate(20);
    let Ok(stored) = zstd::bulk::compress(plain, 1) else {
        return file;
    };
    file.extend_from_slice(&chunk(1, 0, plain, &stored));
    file
}

/// Reads a stream of warp instructions to the end.
pub fn read_warps(source: &mut dyn WarpSource) {
    let mut batch = WarpBatch::new();
    loop {
        match source.next(&mut batch) {
            Ok(WarpStep::Batch) => {
                for row in batch.rows() {
                    assert_eq!(row.lanes().count(), row.addresses.len());
                }
            }
            Ok(WarpStep::Launch(_)) => {}
            Ok(WarpStep::End) | Err(_) => return,
        }
    }
}
