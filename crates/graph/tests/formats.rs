//! Readers of graphs and streams: what they read, and what they say of what they cannot read.

use std::io::BufReader;

use proptest::prelude::*;
use reuselens_graph::formats::{
    GRAPH_FORMATS, LoadedGraph, TextError, by_name, detect, dimacs, edge_list, matrix_market,
    metis, stream,
};
use reuselens_graph::{Edge, EdgeKind};

type Read = fn(&mut dyn std::io::BufRead) -> Result<LoadedGraph, TextError>;

fn load(read: Read, text: &str) -> LoadedGraph {
    let whole = read(&mut text.as_bytes()).unwrap();
    // Lines that cross the border of a buffer are read as any others.
    let mut small = BufReader::with_capacity(3, text.as_bytes());
    assert_eq!(read(&mut small).unwrap().pairs, whole.pairs);
    whole
}

fn error(read: Read, text: &str) -> String {
    read(&mut text.as_bytes()).unwrap_err().to_string()
}

#[test]
fn edge_lists_number_ids_by_first_appearance() {
    let text = "# SNAP\n% KONECT\n\n30\t10 5.5 9\n10,20\n 30 10 \r\n20;20\n18446744073709551615 20";
    let graph = load(edge_list::read, text);
    assert_eq!(
        graph.names.ids().collect::<Vec<_>>(),
        [30, 10, 20, u64::MAX]
    );
    assert_eq!(graph.pairs, [(0, 1), (1, 2), (0, 1), (2, 2), (3, 2)]);
    let census = graph.census(EdgeKind::Undirected);
    assert_eq!(
        (census.loops, census.repeats, census.edges.len()),
        (1, 1, 3)
    );
}

#[test]
fn edge_lists_leave_a_header_out_only_if_it_fits() {
    let graph = load(edge_list::read, "4 3\n1 2\n2 3\n3 4\n");
    assert!(graph.has_header && graph.names.len() == 4 && graph.pairs.len() == 3);
    // Fewer vertices than there are, another count of lines, or nothing after it: an edge.
    for text in [
        "3 3\n1 2\n2 3\n3 4\n",
        "4 2\n1 2\n2 3\n3 4\n",
        "4 0\n",
        "9 1\n",
    ] {
        let graph = load(edge_list::read, text);
        let lines = text.lines().count();
        assert!(!graph.has_header && graph.pairs.len() == lines, "{text}");
    }
}

#[test]
fn edge_lists_say_what_is_wrong_with_a_line() {
    for (text, wanted) in [
        (
            "1 2\n3\n",
            "line 2: '3' has one column, and an edge has two ids",
        ),
        (
            "1 -2\n",
            "line 1: '-2' is no id of a vertex: ids are not negative",
        ),
        ("1 18446744073709551616\n", "ids are below 2^64"),
        (
            "anna ben\n",
            "'anna' is no id of a vertex: ids are whole numbers; give names numbers",
        ),
        ("1 2.5\n", "'2.5' is no id"),
        ("1 2\n- 1 2\n", "line 2: '- 1 2' begins a change"),
        ("\u{1} 2\n", "'\\u{1}' is no id"),
        (
            "\u{7f}ELF\u{0}\u{1} 2\n",
            "line 1: the file is binary or UTF-16; graphs and streams are text",
        ),
    ] {
        let message = error(edge_list::read, text);
        assert!(message.contains(wanted), "{message}");
    }
}

#[test]
fn matrices_are_read_with_their_symmetry() {
    let text = "%%MatrixMarket matrix coordinate real general\n% c\n3 3 3\n1 2 0.5\n2 1 1\n3 3 7\n";
    let graph = load(matrix_market::read, text);
    assert_eq!(
        (graph.pairs.len(), graph.names.len(), graph.symmetric),
        (3, 3, false)
    );
    assert_eq!(graph.census(EdgeKind::Directed).edges.len(), 2);
    assert_eq!(graph.census(EdgeKind::Undirected).edges.len(), 1);
    assert_eq!(graph.names.id(0), Some(1));

    let text = "%%matrixmarket MATRIX Coordinate Pattern Symmetric\n4 4 1\n4 2\n";
    let graph = load(matrix_market::read, text);
    let edges = [Edge { from: 1, to: 3 }, Edge { from: 3, to: 1 }];
    assert_eq!(graph.census(EdgeKind::Directed).edges, edges);
    assert_eq!(graph.census(EdgeKind::Undirected).edges, [edges[0]]);
}

#[test]
fn matrices_that_are_no_graphs_or_cut_off_are_refused() {
    let head = "%%MatrixMarket matrix coordinate real general\n";
    for (text, wanted) in [
        ("".to_owned(), "line 1: '' should be `%%MatrixMarket"),
        ("1 2\n".to_owned(), "should be `%%MatrixMarket"),
        (
            "%%MatrixMarket matrix array real general\n".to_owned(),
            "a dense matrix is no graph",
        ),
        (head.to_owned(), "the file is cut off"),
        (
            format!("{head}2 3 1\n1 1 1\n"),
            "2 rows and 3 columns: a graph needs a square matrix",
        ),
        (
            format!("{head}2 2 2\n1 1 1\n"),
            "the file ends after 1 of 2 entries; it is cut off",
        ),
        (
            format!("{head}2 2 0\n1 1 1\n"),
            "the file announces 0 entries and has more",
        ),
        (
            format!("{head}2 2 1\n1 3 1\n"),
            "line 3: '3' is not in 1 to 2",
        ),
        (format!("{head}2 2 1\n0 1 1\n"), "'0' is not in 1 to 2"),
        (
            format!("{head}9999999999 9999999999 1\n"),
            "more than a graph can have",
        ),
        (
            format!("{head}4294967295 4294967295 0\n"),
            "at most 4294967294 vertices",
        ),
    ] {
        let message = error(matrix_market::read, &text);
        assert!(message.contains(wanted), "{message}");
    }
}

#[test]
fn metis_files_are_read_with_and_without_weights() {
    let plain = "% c\n4 3\n2 3\n1\n1 3\n\n";
    let graph = load(metis::read, plain);
    assert_eq!(graph.names.len(), 4);
    // Vertex 3 is its own neighbour, which counts as one of the three edges.
    assert_eq!(graph.pairs, [(0, 1), (0, 2), (2, 2)]);
}

#[test]
fn metis_weights_are_read_over() {
    let weighted = "3 2 111 2\n9 5 5 2 7\n9 5 5 1 7 3 8\n9 5 5 2 8\n";
    let graph = load(metis::read, weighted);
    assert_eq!(graph.pairs, [(0, 1), (1, 2)]);
    let message = error(metis::read, "2 1 1\n2 7\n1\n");
    assert!(
        message.contains("line 3: the last edge has no weight"),
        "{message}"
    );
}

#[test]
fn metis_files_that_contradict_themselves_are_refused() {
    for (text, wanted) in [
        ("", "line 1: the file is empty"),
        ("x\n", "'x' should be `vertices edges`"),
        ("2 1 2\n", "format of up to three digits 0 and 1"),
        (
            "3 2\n2\n1 3\n",
            "the file ends after 2 of 3 vertices; it is cut off",
        ),
        ("2 1\n2\n1\n1\n", "there are more lines"),
        (
            "2 2\n2\n\n",
            "2 edges should be 4 entries, two each, and there are 1",
        ),
        (
            "3 2\n2\n3\n1 2\n",
            "some edge is in the line of one of its ends only",
        ),
        ("2 1\n3\n1\n", "line 2: '3' is not in 1 to 2"),
        ("5000000000 1\n", "at most 4294967294 vertices"),
    ] {
        let message = error(metis::read, text);
        assert!(message.contains(wanted), "{text:?}: {message}");
    }
}

#[test]
fn dimacs_files_are_read_with_edges_or_arcs() {
    let arcs = load(dimacs::read, "c x\np sp 3 2\na 1 2 5\na 2 1 5\n");
    assert!(!arcs.symmetric && arcs.census(EdgeKind::Directed).edges.len() == 2);
    let edges = load(dimacs::read, "p edge 3 1\nn 1 4\ne 3 1\ne 1 3\n");
    assert!(edges.symmetric && edges.census(EdgeKind::Undirected).edges.len() == 1);
    for (text, wanted) in [
        ("", "the line `p KIND vertices edges` is missing"),
        ("e 1 2\n", "line 1: an edge before the line"),
        ("p edge 2 1\np edge 2 1\n", "line 2: a second line `p`"),
        ("p tree 2 1\n", "'tree' is no kind of graph"),
        (
            "p edge 2 3\ne 1 2\n",
            "announces 3 edges and has 1; is it cut off?",
        ),
        ("p edge 2 1\ne 1\n", "line 2: 'e 1' should have two ids"),
        ("p edge 2 1\ne 1 3\n", "'3' is not in 1 to 2"),
        ("p edge 2 1\n1 2\n", "'1 2' is no line of a DIMACS file"),
    ] {
        let message = error(dimacs::read, text);
        assert!(message.contains(wanted), "{message}");
    }
}

#[test]
fn streams_take_all_forms_and_go_on_after_a_bad_line() {
    let text = "# c\n1 2\n+ 1 2 7\na 3 4\n- 1 2 -5\nd,3,4\nx y\n5 6 99\n";
    let mut reader = stream::read(text.as_bytes());
    let mut found = Vec::new();
    loop {
        match reader.next_record() {
            Ok(Some(it)) => found.push((it.inserts, it.from, it.to, it.time)),
            Ok(None) => break,
            Err(error) => assert!(error.to_string().starts_with("line 7: 'x' is no id")),
        }
    }
    let expected = [
        (true, 1, 2, None),
        (true, 1, 2, Some(7)),
        (true, 3, 4, None),
        (false, 1, 2, Some(-5)),
        (false, 3, 4, None),
        (true, 5, 6, Some(99)),
    ];
    assert_eq!(found, expected);
}

#[test]
fn streams_say_what_is_wrong_with_a_line() {
    for (line, wanted) in [
        ("+1 2", "put a space after the sign"),
        ("- 1", "too few columns"),
        ("1 2 1.5", "'1.5' is no time; times are whole numbers"),
        ("1 2 3 4", "too many columns"),
        ("1 2 9223372036854775808", "is no time"),
        ("", "too few columns"),
    ] {
        let message = stream::parse(line.as_bytes()).unwrap_err();
        assert!(message.contains(wanted), "{line}: {message}");
    }
}

#[test]
fn formats_are_recognised_by_content_or_name() {
    for (head, name, wanted) in [
        ("%%MatrixMarket matrix", "a.txt", matrix_market::NAME),
        ("3 2\n", "a.graph", metis::NAME),
        ("c hello\nc\np sp 3 2\n", "-", dimacs::NAME),
        ("# SNAP\n1 2\n", "a.txt", edge_list::NAME),
        ("3 2\n", "graph", edge_list::NAME),
        ("", "", edge_list::NAME),
    ] {
        assert_eq!(detect(head.as_bytes(), name).name, wanted);
    }
    for format in GRAPH_FORMATS {
        assert_eq!(by_name(format.name).unwrap().summary, format.summary);
    }
    assert!(by_name("x").is_none());
}

proptest! {
    #[test]
    fn no_bytes_panic_a_reader(bytes in prop::collection::vec(
        prop::sample::select(b"0123 \n%#pcae+-sp.MatrixMarket\xff\0".to_vec()), 0..200)
    ) {
        for format in GRAPH_FORMATS {
            if let Ok(graph) = (format.read)(&mut &bytes[..]) {
                let vertices = graph.names.len();
                let known = |number: u32| u64::from(number) < vertices;
                let all_known = graph.pairs.iter().all(|(u, v)| known(*u) && known(*v));
                prop_assert!(all_known);
            }
        }
        let mut reader = stream::read(&bytes[..]);
        for _ in 0..bytes.len() + 1 {
            if let Ok(None) = reader.next_record() {
                return Ok(());
            }
        }
        prop_assert!(false, "the stream does not end");
    }
}
