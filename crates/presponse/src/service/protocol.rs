//! Requests of clients.
//!
//! | request | fields of the reply besides `ok` and `batch` |
//! |---|---|
//! | `apply N`, then N lines `+ u v` or `- u v` | `inserted`, `deleted`, `microseconds` |
//! | `query ID…` | `vertices`: a list of `id`, `depth`, `component`, `triangles` |
//! | `neighbors ID` | `neighbors` |
//! | `totals` | `reached`, `depth_sum`, `components`, `triangles` |
//! | `snapshot` | `file` |
//! | `statistics` | `vertices`, `edges`, `latency_ns`, … |
//! | `quit` | none: closes the connection |
//!
//! `apply` is answered after the batch is in the log and its answers are published, `snapshot`
//! after the snapshot is on the disk.
//!
//! A request that cannot be answered gets `{"ok":false,"error":…}`, and the connection stays. A
//! batch with a line that is no change, or that ends early, is not applied at all. Empty lines are
//! no requests. The depth of a vertex without a path is `null`; a vertex that the graph does not
//! have gives an entry with `null` for all but its id.

use reuselens_graph::formats::stream::{self, StreamRecord};

/// The longest line in bytes, without its end.
pub const MAX_REQUEST: usize = 64 << 10;

/// A request, without the changes that follow `apply`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientRequest {
    /// This many lines with changes follow.
    Apply(u64),
    /// Answers for these vertices.
    Query(Vec<u64>),
    /// The vertices that edges lead to.
    Neighbors(u64),
    /// Sums of the answers.
    Totals,
    /// A snapshot to the disk.
    Snapshot,
    /// How the service does.
    Statistics,
    /// The end of the connection.
    Quit,
}

/// A request from a line.
///
/// # Errors
/// What is wrong and what to send, as a sentence without its full stop.
pub fn parse(line: &[u8]) -> Result<ClientRequest, String> {
    let text = String::from_utf8_lossy(line);
    let mut words = text.split_ascii_whitespace();
    let verb = words.next().unwrap_or_default();
    let mut numbers = Vec::new();
    for word in words {
        let number = word.parse::<u64>();
        numbers.push(number.map_err(|_| format!("'{}' is no whole number", shortened(word)))?);
    }
    let request = match (verb, &numbers[..]) {
        ("apply", &[count]) => ClientRequest::Apply(count),
        ("query", [_, ..]) => ClientRequest::Query(numbers),
        ("neighbors", &[id]) => ClientRequest::Neighbors(id),
        ("totals", []) => ClientRequest::Totals,
        ("snapshot", []) => ClientRequest::Snapshot,
        ("statistics", []) => ClientRequest::Statistics,
        ("quit", []) => ClientRequest::Quit,
        ("apply", _) => {
            return Err("apply takes the count of changes that follow: `apply 2`".to_owned());
        }
        ("query", _) => return Err("query takes ids of vertices: `query 1 2`".to_owned()),
        ("neighbors", _) => {
            return Err("neighbors takes the id of a vertex: `neighbors 1`".to_owned());
        }
        ("totals" | "snapshot" | "statistics" | "quit", _) => {
            return Err(format!("{verb} takes nothing after it"));
        }
        _ => {
            return Err(format!(
                "'{}' is no request; requests are apply, query, neighbors, totals, snapshot, statistics and quit",
                shortened(verb)
            ));
        }
    };
    Ok(request)
}

/// Whether a line is the first one of an HTTP request. A page in a browser can send such lines to
/// any port of its machine, so nothing that follows is obeyed.
pub fn is_http(line: &[u8]) -> bool {
    let end = line.trim_ascii_end();
    end.len() > 9 && end[..end.len() - 1].ends_with(b" HTTP/1.")
}

/// A change from a line after `apply`.
///
/// # Errors
/// As [`stream::parse`].
pub fn parse_change(line: &[u8]) -> Result<StreamRecord, String> {
    stream::parse(line)
}

fn shortened(word: &str) -> String {
    const MOST: usize = 40;
    match word.char_indices().nth(MOST) {
        Some((at, _)) => format!("{}…", &word[..at]),
        None => word.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_read_and_others_refused_with_what_to_send() {
        assert_eq!(parse(b"apply 3"), Ok(ClientRequest::Apply(3)));
        assert_eq!(
            parse(b" query 1  18446744073709551615 "),
            Ok(ClientRequest::Query(vec![1, u64::MAX]))
        );
        assert_eq!(parse(b"neighbors 4"), Ok(ClientRequest::Neighbors(4)));
        assert_eq!(parse(b"totals"), Ok(ClientRequest::Totals));
        for (line, wanted) in [
            (&b"apply"[..], "`apply 2`"),
            (b"apply 1 2", "`apply 2`"),
            (b"apply -1", "'-1' is no whole number"),
            (b"query", "`query 1 2`"),
            (b"quit now", "'now' is no whole number"),
            (b"quit 1", "quit takes nothing after it"),
            (b"APPLY 1", "'APPLY' is no request"),
            (b"\xff\xfe", "is no request"),
        ] {
            let message = parse(line).unwrap_err();
            assert!(message.contains(wanted), "{message}");
        }
        let long = parse(&[b'x'; 5000]).unwrap_err();
        assert!(long.len() < 250, "{long}");
    }

    #[test]
    fn lines_of_browsers_are_recognised() {
        assert!(is_http(b"POST /x HTTP/1.1\r"));
        assert!(is_http(b"GET / HTTP/1.0"));
        assert!(!is_http(b"apply 1") && !is_http(b" HTTP/1."));
    }
}
