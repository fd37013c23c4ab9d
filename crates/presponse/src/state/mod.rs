//! What keeps updates over a crash: a folder with snapshots and update logs.
//!
//! | file | what |
//! |---|---|
//! | `snapshot-B` | the graph after batch B: ids and edges ([`snapshot`]) |
//! | `log-B` | the batches after B, in order ([`log`]) |
//! | `lock` | locked by the process that writes the folder |
//!
//! The state is the newest snapshot and all batches after it. The first file of a folder is the
//! snapshot of the graph to begin with; its log follows. A later snapshot begins with a new log, is
//! written beside and renamed, and only then the files before it are removed: a crash at any moment
//! leaves nothing, or a snapshot and all logs that follow it. Logs without a snapshot are refused:
//! the graph that they change is missing.
//!
//! A log may end in a record that was cut off, and a log may have no complete head: both are
//! dropped. Their batches were not acknowledged, or the policy let that be before they were on the
//! disk. A damaged record with intact ones after it is not dropped: opening fails.

pub mod log;
pub mod snapshot;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use reuselens_graph::EdgeKind;
use reuselens_graph::formats::stream::StreamRecord;
use reuselens_io::{lock_file, read_folder};

pub use log::{SyncPolicy, UpdateLog};
pub use snapshot::Snapshot;

/// A folder that is open for writing.
pub struct StateFolder {
    folder: PathBuf,
    kind: EdgeKind,
    policy: SyncPolicy,
    log: UpdateLog,
    /// Keeps other processes out.
    _lock: File,
}

/// What is known after the files of a folder were read.
#[derive(Debug, Default)]
pub struct Recovered {
    /// The last batch.
    pub batch: u64,
    /// The batch of the snapshot; `None` if there is none, and so nothing at all.
    pub snapshot: Option<u64>,
    /// Batches that were read from logs.
    pub replayed: u64,
    /// Bytes that were dropped: those at the end of the last log, and of logs without a head.
    pub dropped: u64,
}

/// Takes what a folder has.
pub trait Recover {
    /// The graph of the newest snapshot. Called at most once, before all batches.
    fn snapshot(&mut self, snapshot: Snapshot) -> anyhow::Result<()>;

    /// A batch, in order.
    fn batch(&mut self, batch: u64, changes: &[StreamRecord]) -> anyhow::Result<()>;
}

/// Takes what a folder has, and knows what to begin with if it has nothing.
pub trait RecoverOrBegin: Recover {
    /// The graph of batch 0. Called for a folder without a state, and then nothing else is.
    /// `was_begun` says that an earlier process ended before it had written its own.
    fn first(&mut self, was_begun: bool) -> anyhow::Result<Snapshot>;
}

impl StateFolder {
    /// Opens a folder, or makes it, and gives `recover` what is in it. A record that was cut off at
    /// the end is removed. A folder without a state gets the graph that `recover` begins with: it
    /// is on the disk when this function returns.
    ///
    /// # Errors
    /// If the folder cannot be read or written, another process has it open, it is of a graph of
    /// the other kind, or something in it is damaged or missing.
    pub fn open(
        folder: &Path,
        kind: EdgeKind,
        policy: SyncPolicy,
        recover: &mut dyn RecoverOrBegin,
    ) -> anyhow::Result<(Self, Recovered)> {
        let shown = folder.display();
        let parents = create_folder(folder);
        let parents = parents.with_context(|| format!("cannot create the folder {shown}"))?;
        for parent in parents {
            sync_folder(&parent)?;
        }
        let was_begun = folder.join(LOCK).exists();
        let lock = lock(folder)?;
        let (recovered, last) = read(folder, kind, recover)?;
        for (_, path) in files(folder)? {
            if is_log(&path) && !has_head(&path)? {
                // What stays is skipped again.
                let _ = fs::remove_file(path);
            }
        }
        if recovered.snapshot.is_none() {
            // Before its log: a log alone does not say what graph it changes.
            recover.first(was_begun)?.write(&snapshot_path(folder, 0))?;
            sync_folder(folder)?;
        }
        let log = match last {
            Some((path, length)) => UpdateLog::reopen(&path, length, policy),
            None => UpdateLog::create(&log_path(folder, recovered.batch), kind, policy),
        };
        let log = log.with_context(|| format!("cannot write an update log in {shown}"))?;
        sync_folder(folder)?;
        let folder = Self {
            folder: folder.to_owned(),
            kind,
            policy,
            log,
            _lock: lock,
        };
        Ok((folder, recovered))
    }

    /// The log that takes batches now.
    pub fn log(&mut self) -> &mut UpdateLog {
        &mut self.log
    }

    /// Writes a snapshot, and removes the files before it. Returns the snapshot's path.
    ///
    /// # Errors
    /// If it cannot be written: the folder has the same state as before then.
    pub fn write_snapshot(&mut self, snapshot: &Snapshot) -> anyhow::Result<PathBuf> {
        let path = snapshot_path(&self.folder, snapshot.batch);
        if path.exists() {
            return Ok(path);
        }
        let log = log_path(&self.folder, snapshot.batch);
        if self.log.path() != log {
            // The end of a log that another one follows must not be lost.
            self.log.sync_now()?;
            let log = UpdateLog::create(&log, self.kind, self.policy);
            self.log = log.context("cannot begin a new update log")?;
            sync_folder(&self.folder)?;
        }
        snapshot.write(&path)?;
        sync_folder(&self.folder)?;
        for (batch, file) in files(&self.folder)? {
            if batch < snapshot.batch {
                // What stays is read over when the folder is opened.
                let _ = fs::remove_file(file);
            }
        }
        Ok(path)
    }
}

/// Gives `recover` what a folder has, without writing anything. For readers of folders that no
/// process writes.
///
/// # Errors
/// Those of [`StateFolder::open`], except for writing.
pub fn read_only(
    folder: &Path,
    kind: EdgeKind,
    recover: &mut dyn Recover,
) -> anyhow::Result<Recovered> {
    if !folder.is_dir() {
        let shown = folder.display();
        anyhow::bail!("{shown} is no folder of `presponse serve --state`; name one");
    }
    Ok(read(folder, kind, recover)?.0)
}

/// The kind of the graph that a folder is of, if anything is in it.
///
/// # Errors
/// If a file in it cannot be read.
pub fn kind_of(folder: &Path) -> anyhow::Result<Option<EdgeKind>> {
    for (_, file) in files(folder)? {
        if is_log(&file) && !has_head(&file)? {
            continue;
        }
        let head = log::read_head(&mut File::open(&file)?);
        return Ok(Some(head.with_context(|| file.display().to_string())?.kind));
    }
    Ok(None)
}

/// The result of reading, and the path and intact length of the last log.
type LastLog = Option<(PathBuf, u64)>;

fn read(
    folder: &Path,
    kind: EdgeKind,
    recover: &mut dyn Recover,
) -> anyhow::Result<(Recovered, LastLog)> {
    let mut recovered = Recovered::default();
    let all = files(folder)?;
    if let Some((batch, path)) = all.iter().rev().find(|(_, path)| !is_log(path)) {
        let snapshot = Snapshot::read(path)?;
        check_kind(path, snapshot.kind, kind)?;
        (recovered.batch, recovered.snapshot) = (*batch, Some(*batch));
        recover.snapshot(snapshot)?;
    }
    let (mut logs, mut headless) = (Vec::new(), 0);
    for (_, path) in all {
        // The head is written first: without it, there is no batch.
        if is_log(&path) {
            if has_head(&path)? {
                logs.push(path)
            } else {
                headless += length_of(&path)?
            }
        }
    }
    if recovered.snapshot.is_none()
        && let Some(log) = logs.first()
    {
        anyhow::bail!(
            "{} is there without a snapshot, so the graph that it changes is missing: restore the newest snapshot-N \
             of {} from a copy, or remove the folder to begin again",
            log.display(),
            folder.display()
        );
    }
    let mut last = None;
    for (at, path) in logs.iter().enumerate() {
        let is_last = at + 1 == logs.len();
        let (end, length) = read_log(path, kind, &mut recovered, recover)?;
        let shown = path.display();
        if end < length && !is_last {
            anyhow::bail!(
                "{shown} is cut off after {end} bytes, and another log follows it; restore it from a copy"
            );
        }
        recovered.dropped = length - end;
        last = Some((path.clone(), end));
    }
    recovered.dropped += headless;
    Ok((recovered, last))
}

/// Gives `recover` the batches of a log that follow those before. Returns the length up to which it
/// is intact, and that of the file.
fn read_log(
    path: &Path,
    kind: EdgeKind,
    recovered: &mut Recovered,
    recover: &mut dyn Recover,
) -> anyhow::Result<(u64, u64)> {
    let shown = path.display();
    if begins(path) > recovered.batch {
        let (from, to) = (recovered.batch + 1, begins(path));
        anyhow::bail!(
            "the log with batches {from} to {to} is missing before {shown}; restore it from a copy"
        );
    }
    let mut file = File::open(path).with_context(|| format!("cannot read {shown}"))?;
    let length = file.metadata()?.len();
    let head = log::read_head(&mut file).with_context(|| shown.to_string())?;
    check_kind(path, head.kind, kind)?;
    let end = log::replay(file, length, |batch, changes| {
        if batch <= recovered.batch {
            return Ok(());
        }
        if batch != recovered.batch + 1 {
            let before = recovered.batch;
            anyhow::bail!("batch {batch} follows batch {before}; a log is missing in the folder");
        }
        recover.batch(batch, changes)?;
        recovered.batch = batch;
        recovered.replayed += 1;
        Ok(())
    });
    let end = end.with_context(|| format!("cannot replay {shown}"))?;
    Ok((end, length))
}

fn check_kind(path: &Path, found: EdgeKind, wanted: EdgeKind) -> anyhow::Result<()> {
    if found == wanted {
        return Ok(());
    }
    let (is, option) = match found {
        EdgeKind::Directed => ("directed", "add --directed"),
        EdgeKind::Undirected => ("undirected", "leave out --directed"),
    };
    anyhow::bail!("{} is of a graph that is {is}; {option}", path.display())
}

const SNAPSHOT: &str = "snapshot-";
const LOG: &str = "log-";
const LOCK: &str = "lock";

fn snapshot_path(folder: &Path, batch: u64) -> PathBuf {
    folder.join(format!("{SNAPSHOT}{batch}"))
}

fn log_path(folder: &Path, batch: u64) -> PathBuf {
    folder.join(format!("{LOG}{batch}"))
}

fn name(path: &Path) -> &str {
    path.file_name()
        .and_then(|name| name.to_str())
        .unwrap_or_default()
}

fn is_log(path: &Path) -> bool {
    name(path).starts_with(LOG)
}

/// Whether a log is long enough for its head. A full disk or a crash may leave one that is not.
fn has_head(log: &Path) -> anyhow::Result<bool> {
    Ok(length_of(log)? >= log::HEAD_LENGTH)
}

fn length_of(path: &Path) -> anyhow::Result<u64> {
    let about = fs::metadata(path);
    let about = about.with_context(|| format!("cannot read {}", path.display()))?;
    Ok(about.len())
}

/// The batch in the name of a file.
fn begins(path: &Path) -> u64 {
    let number = name(path).strip_prefix(LOG);
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// The snapshots and logs of a folder, by batch; of the same batch, the log first.
fn files(folder: &Path) -> anyhow::Result<Vec<(u64, PathBuf)>> {
    let shown = folder.display();
    let entries = read_folder(folder).with_context(|| format!("cannot read the folder {shown}"))?;
    let mut found = Vec::new();
    for entry in entries {
        let path = entry?.path();
        let number = [SNAPSHOT, LOG]
            .iter()
            .find_map(|begin| name(&path).strip_prefix(begin));
        if let Some(batch) = number.and_then(|number| number.parse().ok()) {
            found.push((batch, path));
        }
    }
    found.sort();
    Ok(found)
}

fn lock(folder: &Path) -> anyhow::Result<File> {
    let path = folder.join(LOCK);
    let shown = path.display();
    let file = File::options().create(true).append(true).open(&path);
    let file = file.with_context(|| format!("cannot create {shown}"))?;
    if !lock_file(&file).with_context(|| format!("cannot lock {shown}"))? {
        anyhow::bail!(
            "another process has {} open; end it first, or name another folder",
            folder.display()
        );
    }
    Ok(file)
}

/// Makes a folder and those that it is in. Returns the folders that have a new name in them.
fn create_folder(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let missing = folder.ancestors().take_while(|folder| {
        // The ancestors of a relative path end in an empty one, the current folder.
        !folder.as_os_str().is_empty() && !folder.exists()
    });
    let parents = missing.map(|folder| match folder.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    });
    let parents = parents.collect();
    fs::create_dir_all(folder)?;
    Ok(parents)
}

/// Makes names in a folder last.
fn sync_folder(folder: &Path) -> anyhow::Result<()> {
    let synced = File::open(folder).and_then(|folder| folder.sync_all());
    synced.with_context(|| format!("cannot write the folder {}", folder.display()))
}

#[cfg(test)]
mod tests;
