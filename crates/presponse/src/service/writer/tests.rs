//! The limit of vertices, and a disk that fails to sync.

use std::path::Path;

use reuselens_graph::{EdgeKind, SortedGraph, VERTEX_LIMIT, VertexNames};

use super::*;
use crate::answers::{Answers, Rules};
use crate::service::Confirmed;
use crate::service::confirmed::Replica;
use crate::service::statistics::ServiceStatistics;
use crate::state::{Recover, RecoverOrBegin, SyncPolicy};

/// Takes batches and forgets them.
struct Forget;

impl Recover for Forget {
    fn snapshot(&mut self, _: Snapshot) -> anyhow::Result<()> {
        Ok(())
    }

    fn batch(&mut self, _: u64, _: &[StreamRecord]) -> anyhow::Result<()> {
        Ok(())
    }
}

impl RecoverOrBegin for Forget {
    fn first(&mut self, _: bool) -> anyhow::Result<Snapshot> {
        Ok(Snapshot {
            batch: 0,
            kind: KIND,
            root: 0,
            names: VertexNames::new(),
            edges: Vec::new(),
        })
    }
}

const KIND: EdgeKind = EdgeKind::Undirected;

fn open(folder: &Path) -> (StateFolder, u64) {
    let opened = StateFolder::open(folder, KIND, SyncPolicy::Always, &mut Forget);
    let (folder, recovered) = opened.unwrap();
    (folder, recovered.batch)
}

fn writer(names: &VertexNames, folder: Option<StateFolder>) -> BatchWriter {
    let replica = || {
        let graph = SortedGraph::new(KIND, 0);
        Replica::new(0, names.clone(), Answers::new(graph, 0, Rules::Ours, 1))
    };
    BatchWriter {
        batch: 0,
        folder,
        last_snapshot: 0,
        root: 0,
        snapshot_every: 0,
        speculator: None,
        context: Arc::new(ClientContext {
            confirmed: Confirmed::new(replica(), replica()),
            statistics: ServiceStatistics::new(),
            max_batch: 10,
        }),
    }
}

fn insert(from: u64, to: u64) -> Vec<StreamRecord> {
    vec![StreamRecord {
        inserts: true,
        from,
        to,
        time: None,
    }]
}

/// A request that a client makes once it knows where the reply is to go.
type Ask = Box<dyn FnOnce(Reply) -> WriterRequest>;

fn apply(from: u64, to: u64) -> Ask {
    let records = insert(from, to);
    Box::new(|reply| WriterRequest::Apply(ApplyRequest::new(records, reply)))
}

/// What the clients of a group get.
fn ask(writer: &mut BatchWriter, group: Vec<Ask>) -> Vec<Result<Value, String>> {
    let (requests, replies): (Vec<_>, Vec<_>) = group
        .into_iter()
        .map(|ask| {
            let (reply, replies) = std::sync::mpsc::sync_channel(1);
            (ask(reply), replies)
        })
        .unzip();
    writer.handle(requests);
    replies.iter().map(|reply| reply.recv().unwrap()).collect()
}

#[test]
fn batches_of_a_group_share_the_room_that_is_left() {
    // Ids 0 and on; the graph does not get the vertices, since nothing is applied.
    let names = VertexNames::consecutive(0, VERTEX_LIMIT - 3);
    let writer = writer(&names, None);
    let new = u64::from(VERTEX_LIMIT);
    let mut room = writer.room();
    assert_eq!(room, 3);
    assert!(writer.admit(&insert(new, new + 1), &mut room));
    // It would fit alone.
    assert!(!writer.admit(&insert(new + 2, new + 3), &mut room));
    assert!(writer.admit(&insert(new + 2, 5), &mut room));
    assert!(writer.admit(&insert(6, 5), &mut room));
    assert!(!writer.admit(&insert(new + 4, 5), &mut room));
}

#[test]
fn refused_batches_of_a_failed_sync_do_not_come_back() {
    let place = tempfile::tempdir().unwrap();
    let mut writer = writer(&VertexNames::new(), Some(open(place.path()).0));
    let replies = ask(&mut writer, vec![apply(1, 2)]);
    assert_eq!(replies[0].as_ref().unwrap()["batch"], 1);
    crate::state::log::failing::NEXT.set(true);
    let snapshot: Ask = Box::new(WriterRequest::Snapshot);
    let group = vec![apply(2, 3), apply(3, 4), snapshot, apply(4, 5)];
    for reply in ask(&mut writer, group) {
        let error = reply.unwrap_err();
        assert!(error.contains("cannot write the update log") || error.contains("takes no more"));
    }
    assert_eq!(writer.context.confirmed.read().batch, 1);
    // The end of the process does not hide it.
    let (_, nothing) = std::sync::mpsc::sync_channel(1);
    assert!(writer.run(&nothing, || true).is_err());
    assert_eq!(open(place.path()).1, 1);
}
