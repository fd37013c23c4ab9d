//! Serves one client: reads its requests and writes the replies.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{SyncSender, sync_channel};

use reuselens_graph::StoredGraph;
use reuselens_graph::formats::stream::StreamRecord;
use serde_json::{Value, json};

use super::Confirmed;
use super::listener::Connection;
use super::protocol::{self, ClientRequest, MAX_REQUEST};
use super::statistics::ServiceStatistics;
use super::writer::{ApplyRequest, Reply, WriterRequest};

/// What threads of clients share.
pub struct ClientContext {
    /// The answers.
    pub confirmed: Confirmed,
    /// The counts.
    pub statistics: ServiceStatistics,
    /// The most changes of a batch.
    pub max_batch: u64,
}

/// Serves a client until it quits or vanishes. What it has not sent completely is not applied.
pub fn serve(connection: &Connection, context: &ClientContext, writer: &SyncSender<WriterRequest>) {
    let mut input = BufReader::with_capacity(64 << 10, connection);
    let mut line = Vec::new();
    loop {
        let reply = match next_line(&mut input, &mut line) {
            Ok(true) if line.is_empty() => continue,
            Ok(true) if protocol::is_http(&line) => return,
            Ok(true) => answer(&line, &mut input, context, writer),
            Ok(false) | Err(LineError::Closed) => return,
            Err(LineError::TooLong) => Err(Refusal::last(format!(
                "a line is longer than {MAX_REQUEST} bytes; the connection is closed"
            ))),
        };
        let (value, stays) = match reply {
            Ok(Some(value)) => (value, true),
            Ok(None) => return,
            Err(Refusal { error, stays }) => {
                context.statistics.refused.fetch_add(1, Relaxed);
                (json!({"ok": false, "error": error}), stays)
            }
        };
        let mut text = value.to_string();
        text.push('\n');
        let mut output = connection;
        if output.write_all(text.as_bytes()).is_err() || !stays {
            return;
        }
    }
}

/// Why there is no answer.
struct Refusal {
    error: String,
    /// Whether further requests can be read.
    stays: bool,
}

impl Refusal {
    fn new(error: impl Into<String>) -> Self {
        Self {
            error: error.into(),
            stays: true,
        }
    }

    fn last(error: impl Into<String>) -> Self {
        Self {
            error: error.into(),
            stays: false,
        }
    }
}

/// The reply to a request; `None` if the client quits or has vanished.
fn answer(
    line: &[u8],
    input: &mut impl BufRead,
    context: &ClientContext,
    writer: &SyncSender<WriterRequest>,
) -> Result<Option<Value>, Refusal> {
    match protocol::parse(line).map_err(Refusal::new)? {
        ClientRequest::Quit => Ok(None),
        ClientRequest::Query(ids) => {
            context.statistics.questions.fetch_add(1, Relaxed);
            let state = context.confirmed.read();
            let vertices: Vec<Value> = ids.iter().map(|id| state.vertex(*id)).collect();
            Ok(Some(
                json!({"ok": true, "batch": state.batch, "vertices": vertices}),
            ))
        }
        ClientRequest::Totals => {
            context.statistics.questions.fetch_add(1, Relaxed);
            let state = context.confirmed.read();
            let mut value = json!(state.totals());
            value["batch"] = json!(state.batch);
            value["ok"] = json!(true);
            Ok(Some(value))
        }
        ClientRequest::Statistics => {
            let mut value = context.statistics.json();
            let state = context.confirmed.read();
            value["batch"] = json!(state.batch);
            value["vertices"] = json!(state.names.len());
            value["edges"] = json!(state.answers().graph().edges());
            value["ok"] = json!(true);
            Ok(Some(value))
        }
        ClientRequest::Neighbors(id) => {
            context.statistics.questions.fetch_add(1, Relaxed);
            let state = context.confirmed.read();
            let neighbors = state.neighbors(id);
            Ok(Some(
                json!({"ok": true, "batch": state.batch, "neighbors": neighbors}),
            ))
        }
        ClientRequest::Snapshot => ask(writer, WriterRequest::Snapshot),
        ClientRequest::Apply(count) => match read_changes(count, input, context.max_batch)? {
            Some(changes) => ask(writer, |reply| {
                WriterRequest::Apply(ApplyRequest::new(changes, reply))
            }),
            None => Ok(None),
        },
    }
}

/// Sends the writer a request, and waits for the reply.
fn ask(
    writer: &SyncSender<WriterRequest>,
    request: impl FnOnce(Reply) -> WriterRequest,
) -> Result<Option<Value>, Refusal> {
    let (reply, replies) = sync_channel(1);
    let ends = || Refusal::last("the service ends; the request was not done");
    writer.send(request(reply)).map_err(|_| ends())?;
    match replies.recv().map_err(|_| ends())? {
        Ok(value) => Ok(Some(value)),
        Err(error) => Err(Refusal::new(error)),
    }
}

/// The changes after `apply`; `None` if the client vanishes before the last one. All lines are read
/// even if one of them is no change, so that the next request is found.
fn read_changes(
    count: u64,
    input: &mut impl BufRead,
    most: u64,
) -> Result<Option<Vec<StreamRecord>>, Refusal> {
    if count > most {
        return Err(Refusal::last(format!(
            "a batch has at most {most} changes, and {count} were announced; send several batches, \
             or start with a larger --max-batch; the connection is closed"
        )));
    }
    let (mut changes, mut wrong, mut line) = (Vec::new(), None, Vec::new());
    for at in 1..=count {
        match next_line(input, &mut line) {
            Ok(true) => {}
            Ok(false) | Err(LineError::Closed) => return Ok(None),
            Err(LineError::TooLong) => {
                let what = "is too long; the batch is not applied, and the connection is closed";
                return Err(Refusal::last(format!("change {at} {what}")));
            }
        }
        match protocol::parse_change(&line) {
            Ok(change) => changes.push(change),
            Err(what) if wrong.is_none() => wrong = Some((at, what)),
            Err(_) => {}
        }
    }
    match wrong {
        None => Ok(Some(changes)),
        Some((at, what)) => Err(Refusal::new(format!(
            "change {at} of {count}: {what}; the batch is not applied"
        ))),
    }
}

/// Why there is no line.
enum LineError {
    /// The client has vanished.
    Closed,
    /// It sent more than a line may have.
    TooLong,
}

/// Reads a line without its end; false if the client has closed the connection, even in the middle
/// of a line.
fn next_line(input: &mut impl BufRead, line: &mut Vec<u8>) -> Result<bool, LineError> {
    line.clear();
    let mut bounded = input.take(MAX_REQUEST as u64 + 1);
    let read = loop {
        match bounded.read_until(b'\n', line) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            read => break read,
        }
    };
    read.map_err(|_| LineError::Closed)?;
    if line.last() != Some(&b'\n') {
        return if line.len() > MAX_REQUEST {
            Err(LineError::TooLong)
        } else {
            Ok(false)
        };
    }
    let length = line.trim_ascii_end().len();
    line.truncate(length);
    Ok(true)
}
