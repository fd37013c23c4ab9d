//! A folder of DynamoRIO's traces, a file for each thread, is one trace in the order of time.

use std::path::Path;

use crate::binary::{Pack, entries, gzip, snappy, zip};
use reuselens_formats::{open, open_part, survey};
use reuselens_testing::traces::{Piece, Random, drain, rows};
use reuselens_trace::{Event, Selection, ThreadId};

/// Accesses that a thread makes in a buffer, which begins at a time on a core.
struct Buffer {
    thread: u64,
    time: u64,
    core: u64,
    addrs: Vec<u64>,
}

/// The file of a thread, with these buffers.
fn file(thread: u64, buffers: &[Buffer]) -> Vec<u8> {
    let mut all = vec![(25, 0, 5), (28, 9, 0x48), (22, 4, thread), (24, 4, 70)];
    for buffer in buffers.iter().filter(|buffer| buffer.thread == thread) {
        all.extend([(28, 2, buffer.time), (28, 3, buffer.core)]);
        for (index, addr) in buffer.addrs.iter().enumerate() {
            if index % 5 == 2 {
                // A chunk begins here, and repeats the time.
                all.extend([(28, 2, buffer.time), (28, 3, buffer.core)]);
            }
            all.extend([(10, 3, 0x40_1000), (0, 8, *addr)]);
        }
    }
    all.extend([(23, 4, thread), (26, 0, 0)]);
    entries(&all)
}

/// Buffers of five threads at times that differ, as they follow each other.
fn buffers(seed: u64) -> Vec<Buffer> {
    let mut random = Random(seed);
    let buffer = |time: u64| Buffer {
        thread: 100 + random.next() % 5,
        time: 1000 + 7 * time,
        core: 1,
        addrs: (0..random.next() % 30).map(|_| random.next()).collect(),
    };
    (0..200).map(buffer).collect()
}

fn zipped(bytes: &[u8]) -> Vec<u8> {
    let (first, rest) = bytes.split_at(bytes.len() / 24 * 12);
    zip(&[("chunk.0000", first), ("chunk.0001", rest)])
}

fn plain(bytes: &[u8]) -> Vec<u8> {
    bytes.to_vec()
}

/// Writes the files of all threads and what DynamoRIO writes beside them.
fn write(folder: &Path, buffers: &[Buffer]) {
    std::fs::create_dir_all(folder).unwrap();
    let packings: [(&str, Pack); 4] = [
        ("", plain),
        (".gz", gzip),
        (".zip", zipped),
        (".sz", snappy),
    ];
    for thread in 100..105 {
        let (ending, pack) = packings[thread as usize % 4];
        let name = format!("drmemtrace.prog.70.{}.trace{ending}", 9 * thread % 11);
        std::fs::write(folder.join(name), pack(&file(thread, buffers))).unwrap();
    }
    std::fs::write(
        folder.join("cpu_schedule.bin.zip"),
        zip(&[("1", b"12345678")]),
    )
    .unwrap();
    std::fs::write(folder.join("modules.log"), "Module Table: version 5").unwrap();
}

/// The system's number of the thread of each access, and its address.
fn accesses(pieces: &[Piece]) -> Vec<(u64, u64)> {
    let mut tids = std::collections::BTreeMap::new();
    let mut all = Vec::new();
    for piece in pieces {
        match piece {
            Piece::Event(Event::Thread(thread)) => {
                assert_eq!(tids.insert(thread.id, u64::from(thread.tid)), None);
            }
            Piece::Event(_) => {}
            Piece::Block(block) => {
                let tid = tids[&block.thread];
                all.extend(block.addrs().iter().map(|&addr| (tid, addr)));
            }
        }
    }
    all
}

fn expected(buffers: &[Buffer]) -> Vec<(u64, u64)> {
    let each = |buffer: &Buffer| {
        let thread = buffer.thread;
        buffer
            .addrs
            .iter()
            .map(move |&addr| (thread, addr))
            .collect::<Vec<_>>()
    };
    buffers.iter().flat_map(each).collect()
}

#[test]
fn threads_of_a_folder_are_one_trace_in_the_order_of_time() {
    for seed in 1..6 {
        let folder = tempfile::tempdir().unwrap();
        let (top, buffers) = (folder.path(), buffers(seed));
        write(&top.join("trace"), &buffers);
        for path in [top.join("trace"), top.to_owned()] {
            let mut source = open(&path, None).unwrap();
            assert!(source.has_addresses() && !source.is_of_one_thread());
            assert!(
                source.describe().contains("5 threads"),
                "{}",
                source.describe()
            );
            let (pieces, error) = drain(&mut source);
            assert!(error.is_none(), "{error:?}");
            assert_eq!(accesses(&pieces), expected(&buffers), "{seed}");
            let ended = pieces
                .iter()
                .filter(|piece| matches!(piece, Piece::Event(Event::ThreadEnded(_))));
            assert_eq!(ended.count(), 5);
            let (taken, all) = source.progress().unwrap();
            assert_eq!(taken, all);
        }
        let held = survey(top, None, &Selection::default()).unwrap();
        assert_eq!(held.summary.threads.len(), 5);
        assert_eq!(held.format, "drmemtrace");
    }
}

#[test]
fn part_of_a_folder_is_cut_from_the_order_of_time() {
    let folder = tempfile::tempdir().unwrap();
    let buffers = buffers(9);
    write(folder.path(), &buffers);
    let part = Selection {
        rows: 100..900,
        ..Selection::default()
    };
    let mut source = open_part(folder.path(), None, part).unwrap();
    let (pieces, _) = drain(&mut source);
    assert_eq!(accesses(&pieces), expected(&buffers)[100..900]);
    let one = Selection {
        threads: [ThreadId(0)].into(),
        ..Selection::default()
    };
    let mut source = open_part(folder.path(), None, one).unwrap();
    let first = buffers
        .iter()
        .find(|buffer| !buffer.addrs.is_empty())
        .unwrap()
        .thread;
    let of_first = buffers.iter().filter(|buffer| buffer.thread == first);
    let count: usize = of_first.map(|buffer| buffer.addrs.len()).sum();
    assert_eq!(rows(&drain(&mut source).0).len(), count);
}

/// Buffers of five threads on three cores, several of which begin at the same time; as raw2trace
/// has them: a thread is on one core at a time.
fn equal_times(seed: u64) -> Vec<Buffer> {
    let mut random = Random(seed);
    let mut cores = std::collections::BTreeMap::new();
    let mut all: Vec<Buffer> = Vec::new();
    for step in 0..300 {
        let (thread, time) = (100 + random.next() % 5, 1000 + step / 9);
        let core = *cores.entry((thread, time)).or_insert(random.next() % 3);
        let addrs = (0..random.next() % 12).map(|_| random.next()).collect();
        all.push(Buffer {
            thread,
            time,
            core,
            addrs,
        });
    }
    all
}

/// An entry of a schedule: thread, time, core, and the number of instructions of the thread before.
type ScheduleEntry = [u64; 4];

/// The file of a serial schedule, by the rules of raw2trace: an entry for each buffer, ordered by
/// time, core, thread and instruction; of those of a thread that follow each other, the first.
fn serial_schedule(buffers: &[Buffer]) -> Vec<u8> {
    let mut before = std::collections::BTreeMap::<u64, u64>::new();
    let mut entries: Vec<ScheduleEntry> = Vec::new();
    for buffer in buffers {
        let count = before.entry(buffer.thread).or_default();
        entries.push([buffer.thread, buffer.time, buffer.core, *count]);
        *count += buffer.addrs.len() as u64;
    }
    entries.sort_by_key(|&[thread, time, core, instruction]| (time, core, thread, instruction));
    entries.dedup_by_key(|entry| entry[0]);
    entries
        .as_flattened()
        .iter()
        .flat_map(|word| word.to_le_bytes())
        .collect()
}

/// The accesses of threads as a serial schedule has them: each entry runs its thread up to the
/// instruction of that thread's next entry.
fn scheduled(buffers: &[Buffer], schedule: &[u8]) -> Vec<(u64, u64)> {
    let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap());
    let entries: Vec<ScheduleEntry> = schedule
        .chunks_exact(32)
        .map(|entry| [0, 8, 16, 24].map(|at| word(&entry[at..at + 8])))
        .collect();
    let mut all = Vec::new();
    for (index, &[thread, _, _, from]) in entries.iter().enumerate() {
        let mut later = entries[index + 1..].iter();
        let next = later.find(|entry| entry[0] == thread);
        let own = buffers.iter().filter(|buffer| buffer.thread == thread);
        let addrs: Vec<u64> = own.flat_map(|buffer| buffer.addrs.clone()).collect();
        let to = next.map_or(addrs.len(), |next| next[3] as usize);
        all.extend(addrs[from as usize..to].iter().map(|&addr| (thread, addr)));
    }
    all
}

#[test]
fn order_of_a_folder_is_that_of_its_serial_schedule() {
    for seed in 1..21 {
        let folder = tempfile::tempdir().unwrap();
        let buffers = equal_times(seed);
        write(folder.path(), &buffers);
        let schedule = serial_schedule(&buffers);
        let path = folder.path().join("serial_schedule.bin.gz");
        std::fs::write(path, gzip(&schedule)).unwrap();
        let mut source = open(folder.path(), None).unwrap();
        let (pieces, error) = drain(&mut source);
        assert!(error.is_none(), "{error:?}");
        assert_eq!(accesses(&pieces), scheduled(&buffers, &schedule), "{seed}");
    }
}

#[test]
fn damage_of_one_file_leaves_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let buffers = buffers(3);
    write(folder.path(), &buffers);
    let name = "drmemtrace.prog.70.9.trace";
    let path = folder.path().join(name);
    let whole = std::fs::read(&path).unwrap();
    std::fs::write(&path, &whole[..whole.len() / 2 / 12 * 12 + 5]).unwrap();
    let mut source = open(folder.path(), None).unwrap();
    let (pieces, error) = drain(&mut source);
    let error = error.unwrap();
    assert!(
        error.is_partial() && error.to_string().contains(name),
        "{error}"
    );
    let others = |all: Vec<(u64, u64)>| -> Vec<_> {
        all.into_iter()
            .filter(|(thread, _)| *thread != 100)
            .collect()
    };
    let found = accesses(&pieces);
    assert!(found.iter().any(|(thread, _)| *thread == 100));
    assert_eq!(others(found), others(expected(&buffers)));
}

#[test]
fn a_folder_without_traces_is_refused_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |format| open(folder.path(), format).err().unwrap().to_string();
    assert!(refused(None).contains("has no traces of DynamoRIO"));
    std::fs::create_dir(folder.path().join("raw")).unwrap();
    assert!(refused(None).contains("convert them first"));
    write(folder.path(), &buffers(1));
    assert!(refused(Some("u64")).contains("only --format drmemtrace reads folders"));
}
