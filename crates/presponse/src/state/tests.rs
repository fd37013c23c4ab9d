//! Logs and snapshots, cut and damaged at every byte.

use std::fs;

use reuselens_graph::{Edge, VertexNames};

use super::*;

/// What a folder gave.
#[derive(Default)]
struct Kept {
    snapshot: Option<Snapshot>,
    batches: Vec<(u64, Vec<StreamRecord>)>,
}

impl Recover for Kept {
    fn snapshot(&mut self, snapshot: Snapshot) -> anyhow::Result<()> {
        assert!(self.snapshot.is_none() && self.batches.is_empty());
        self.snapshot = Some(snapshot);
        Ok(())
    }

    fn batch(&mut self, batch: u64, changes: &[StreamRecord]) -> anyhow::Result<()> {
        self.batches.push((batch, changes.to_vec()));
        Ok(())
    }
}

impl RecoverOrBegin for Kept {
    fn first(&mut self, _: bool) -> anyhow::Result<Snapshot> {
        Ok(snapshot(0))
    }
}

const KIND: EdgeKind = EdgeKind::Undirected;

fn open(folder: &Path) -> anyhow::Result<(StateFolder, Recovered, Kept)> {
    let mut kept = Kept::default();
    let (folder, recovered) = StateFolder::open(folder, KIND, SyncPolicy::Never, &mut kept)?;
    Ok((folder, recovered, kept))
}

/// Some changes, with ids of all lengths.
fn changes(batch: u64) -> Vec<StreamRecord> {
    let change = |at: u64| StreamRecord {
        inserts: !at.is_multiple_of(3),
        from: at * batch,
        to: u64::MAX >> (at * 9 % 64),
        time: None,
    };
    (0..batch % 5).map(change).collect()
}

fn snapshot(batch: u64) -> Snapshot {
    let mut names = VertexNames::consecutive(1, 3);
    for id in [u64::MAX, 0, 77] {
        names.number(id).unwrap();
    }
    let edges = [(0, 1), (0, 5), (2, 3), (4, 5)].map(|(from, to)| Edge { from, to });
    Snapshot {
        batch,
        kind: KIND,
        root: 4,
        names,
        edges: edges.to_vec(),
    }
}

fn append(folder: &mut StateFolder, batches: std::ops::RangeInclusive<u64>) {
    for batch in batches {
        folder.log().append(batch, &changes(batch)).unwrap();
    }
}

fn numbers(kept: &Kept) -> Vec<u64> {
    for (batch, found) in &kept.batches {
        assert_eq!(*found, changes(*batch));
    }
    kept.batches.iter().map(|(batch, _)| *batch).collect()
}

#[test]
fn batches_come_back_in_order_and_more_follow() {
    let place = tempfile::tempdir().unwrap();
    let (mut folder, recovered, _) = open(place.path()).unwrap();
    assert_eq!((recovered.batch, recovered.replayed), (0, 0));
    append(&mut folder, 1..=7);
    drop(folder);
    let (mut folder, recovered, kept) = open(place.path()).unwrap();
    assert_eq!((recovered.batch, recovered.dropped), (7, 0));
    assert_eq!(numbers(&kept), [1, 2, 3, 4, 5, 6, 7]);
    append(&mut folder, 8..=9);
    drop(folder);
    assert_eq!(open(place.path()).unwrap().1.batch, 9);
}

#[test]
fn log_that_is_cut_anywhere_gives_the_batches_before() {
    let place = tempfile::tempdir().unwrap();
    let mut ends = vec![log::HEAD_LENGTH];
    let (mut folder, ..) = open(place.path()).unwrap();
    for batch in 1..=6 {
        append(&mut folder, batch..=batch);
        ends.push(folder.log().length());
    }
    drop(folder);
    let path = log_path(place.path(), 0);
    let whole = fs::read(&path).unwrap();
    for length in 0..whole.len() {
        fs::write(&path, &whole[..length]).unwrap();
        let intact = ends
            .iter()
            .rposition(|end| *end <= length as u64)
            .unwrap_or(0) as u64;
        let (mut folder, recovered, kept) = open(place.path()).unwrap();
        assert_eq!(
            (recovered.batch, numbers(&kept)),
            (intact, (1..=intact).collect())
        );
        let kept_bytes = if length < 16 {
            0
        } else {
            ends[intact as usize]
        };
        assert_eq!(recovered.dropped, length as u64 - kept_bytes);
        // The log goes on behind the intact part.
        append(&mut folder, intact + 1..=intact + 1);
        drop(folder);
        assert_eq!(open(place.path()).unwrap().1.batch, intact + 1);
    }
}

#[test]
fn changed_byte_before_intact_records_is_never_dropped_silently() {
    let place = tempfile::tempdir().unwrap();
    let (mut folder, ..) = open(place.path()).unwrap();
    append(&mut folder, 1..=4);
    let before_last = folder.log().length();
    append(&mut folder, 5..=5);
    drop(folder);
    let path = log_path(place.path(), 0);
    let whole = fs::read(&path).unwrap();
    for at in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x10;
        fs::write(&path, &damaged).unwrap();
        match open(place.path()) {
            Err(error) => assert!(at < before_last as usize, "byte {at}: {error:#}"),
            Ok((_, recovered, kept)) => {
                assert!(at >= before_last as usize, "byte {at} is not noticed");
                assert_eq!((recovered.batch, numbers(&kept)), (4, vec![1, 2, 3, 4]));
            }
        }
        fs::write(&path, &whole).unwrap();
    }
}

#[test]
fn snapshot_replaces_what_is_before_it() {
    let place = tempfile::tempdir().unwrap();
    let (mut folder, ..) = open(place.path()).unwrap();
    append(&mut folder, 1..=3);
    folder.write_snapshot(&snapshot(3)).unwrap();
    append(&mut folder, 4..=5);
    drop(folder);
    let mut names: Vec<String> = fs::read_dir(place.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["lock", "log-3", "snapshot-3"]);
    let (mut folder, recovered, kept) = open(place.path()).unwrap();
    assert_eq!((recovered.batch, recovered.replayed), (5, 2));
    let (found, wanted) = (kept.snapshot.as_ref().unwrap(), snapshot(3));
    assert_eq!((found.batch, found.root), (3, 4));
    assert_eq!(found.edges, wanted.edges);
    assert!(found.names.ids().eq(wanted.names.ids()));
    assert_eq!(numbers(&kept), [4, 5]);
    // Twice at one batch is once.
    folder.write_snapshot(&snapshot(5)).unwrap();
    folder.write_snapshot(&snapshot(5)).unwrap();
}

#[test]
fn crash_between_new_log_and_snapshot_loses_nothing() {
    for head in [0, 5, log::HEAD_LENGTH] {
        let place = tempfile::tempdir().unwrap();
        let (mut folder, ..) = open(place.path()).unwrap();
        append(&mut folder, 1..=3);
        drop(folder);
        let begun = UpdateLog::create(&log_path(place.path(), 3), KIND, SyncPolicy::Never);
        drop(begun.unwrap());
        let file = File::options()
            .write(true)
            .open(log_path(place.path(), 3))
            .unwrap();
        file.set_len(head).unwrap();
        let (mut folder, recovered, kept) = open(place.path()).unwrap();
        assert_eq!((recovered.batch, numbers(&kept)), (3, vec![1, 2, 3]));
        append(&mut folder, 4..=4);
        drop(folder);
        assert_eq!(open(place.path()).unwrap().1.batch, 4);
    }
}

#[test]
fn missing_log_and_wrong_kind_are_refused() {
    let place = tempfile::tempdir().unwrap();
    let (mut folder, ..) = open(place.path()).unwrap();
    append(&mut folder, 1..=3);
    let error = open(place.path()).err().unwrap().to_string();
    assert!(error.contains("another process has"), "{error}");
    drop(folder);
    let directed = EdgeKind::Directed;
    let error = read_only(place.path(), directed, &mut Kept::default()).unwrap_err();
    assert!(
        error.to_string().contains("leave out --directed"),
        "{error}"
    );
    assert_eq!(kind_of(place.path()).unwrap(), Some(KIND));
    fs::rename(log_path(place.path(), 0), log_path(place.path(), 9)).unwrap();
    let error = open(place.path()).err().unwrap().to_string();
    assert!(
        error.contains("the log with batches 1 to 9 is missing"),
        "{error}"
    );
}

#[test]
fn snapshot_that_is_cut_or_changed_anywhere_is_refused() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("snapshot-3");
    snapshot(3).write(&path).unwrap();
    let whole = fs::read(&path).unwrap();
    assert_eq!(Snapshot::read(&path).unwrap().edges, snapshot(3).edges);
    for at in 0..whole.len() {
        fs::write(&path, &whole[..at]).unwrap();
        assert!(Snapshot::read(&path).is_err(), "cut at {at}");
        let mut damaged = whole.clone();
        damaged[at] ^= 1;
        fs::write(&path, &damaged).unwrap();
        assert!(Snapshot::read(&path).is_err(), "changed at {at}");
    }
    let mut longer = whole;
    longer.push(0);
    fs::write(&path, &longer).unwrap();
    assert!(Snapshot::read(&path).is_err());
}

#[test]
fn log_that_failed_to_sync_takes_no_batch_and_no_snapshot() {
    let place = tempfile::tempdir().unwrap();
    let (mut folder, ..) = open(place.path()).unwrap();
    append(&mut folder, 1..=3);
    folder.log().sync_now().unwrap();
    let length = folder.log().length();
    append(&mut folder, 4..=4);
    log::failing::NEXT.set(true);
    let error = folder.log().sync_now().unwrap_err().to_string();
    assert!(error.contains("look at the disk"), "{error}");
    folder.log().cut_back(length);
    for error in [
        folder.log().sync_now().unwrap_err(),
        folder.log().sync().unwrap_err(),
        folder.log().append(4, &changes(4)).unwrap_err(),
    ] {
        assert!(matches!(error, log::LogError::Broken { .. }), "{error}");
    }
    let error = format!("{:#}", folder.write_snapshot(&snapshot(3)).unwrap_err());
    assert!(error.contains("takes no more batches"), "{error}");
    drop(folder);
    // The refused batch is not there, and no log began after the broken one.
    let (mut folder, recovered, _) = open(place.path()).unwrap();
    assert_eq!((recovered.batch, recovered.dropped), (3, 0));
    assert!(!log_path(place.path(), 3).exists());
    append(&mut folder, 4..=4);
}

#[test]
fn logs_without_a_head_are_skipped_wherever_they_are() {
    for length in [0, 5, 15] {
        let place = tempfile::tempdir().unwrap();
        let (mut folder, ..) = open(place.path()).unwrap();
        append(&mut folder, 1..=5);
        drop(folder);
        let headless = |batch| {
            fs::write(log_path(place.path(), batch), &[7; 16][..length]).unwrap();
        };
        headless(3);
        // Readers that write nothing skip them, too.
        let found = read_only(place.path(), KIND, &mut Kept::default()).unwrap();
        assert_eq!((found.batch, found.dropped), (5, length as u64));
        for batch in 6..9 {
            let (mut folder, recovered, _) = open(place.path()).unwrap();
            assert_eq!(recovered.batch, batch - 1);
            append(&mut folder, batch..=batch);
            drop(folder);
            headless(batch - 3);
        }
        fs::remove_file(log_path(place.path(), 0)).unwrap();
        fs::remove_file(snapshot_path(place.path(), 0)).unwrap();
        assert_eq!(kind_of(place.path()).unwrap(), None);
    }
}

#[test]
fn log_without_a_snapshot_is_refused() {
    for batches in [0, 3] {
        let place = tempfile::tempdir().unwrap();
        let (mut folder, ..) = open(place.path()).unwrap();
        append(&mut folder, 1..=batches);
        drop(folder);
        fs::remove_file(snapshot_path(place.path(), 0)).unwrap();
        let read = read_only(place.path(), KIND, &mut Kept::default());
        for error in [open(place.path()).err().unwrap(), read.unwrap_err()] {
            let error = error.to_string();
            assert!(
                error.contains("log-0 is there without a snapshot"),
                "{error}"
            );
        }
        assert!(!snapshot_path(place.path(), 0).exists());
    }
}

#[test]
fn folder_that_was_left_before_its_first_log_is_continued() {
    let place = tempfile::tempdir().unwrap();
    let (folder, recovered, _) = open(place.path()).unwrap();
    assert_eq!(recovered.snapshot, None);
    drop(folder);
    let log = log_path(place.path(), 0);
    for length in [None, Some(0), Some(log::HEAD_LENGTH - 1)] {
        fs::remove_file(&log).unwrap();
        if let Some(length) = length {
            fs::write(&log, vec![0; length as usize]).unwrap();
        }
        let (_folder, recovered, kept) = open(place.path()).unwrap();
        assert_eq!((recovered.snapshot, recovered.batch), (Some(0), 0));
        assert_eq!(kept.snapshot.unwrap().edges, snapshot(0).edges);
        assert!(log.exists());
    }
}

#[test]
fn graph_that_cannot_be_read_leaves_a_folder_to_begin_in() {
    struct Fails;
    impl Recover for Fails {
        fn snapshot(&mut self, _: Snapshot) -> anyhow::Result<()> {
            unreachable!("the folder is empty")
        }
        fn batch(&mut self, _: u64, _: &[StreamRecord]) -> anyhow::Result<()> {
            unreachable!("the folder is empty")
        }
    }
    impl RecoverOrBegin for Fails {
        fn first(&mut self, _: bool) -> anyhow::Result<Snapshot> {
            anyhow::bail!("no graph")
        }
    }
    let place = tempfile::tempdir().unwrap();
    assert!(StateFolder::open(place.path(), KIND, SyncPolicy::Always, &mut Fails).is_err());
    let (_, recovered, _) = open(place.path()).unwrap();
    assert_eq!(recovered.snapshot, None);
}

#[test]
fn log_that_cannot_be_begun_leaves_no_file() {
    let place = tempfile::tempdir().unwrap();
    let path = log_path(place.path(), 3);
    log::failing::NEXT.set(true);
    assert!(UpdateLog::create(&path, KIND, SyncPolicy::Always).is_err());
    assert!(!path.exists());
    assert!(UpdateLog::create(&path, KIND, SyncPolicy::Always).is_ok());
    assert!(path.exists());
}

#[test]
fn new_folders_are_known_with_the_folders_that_name_them() {
    let place = tempfile::tempdir().unwrap();
    let base = place.path();
    let deep = base.join("a/b/c");
    let wanted = [base.join("a/b"), base.join("a"), base.to_owned()];
    assert_eq!(create_folder(&deep).unwrap(), wanted);
    assert!(deep.is_dir());
    assert!(create_folder(&deep).unwrap().is_empty());
}
