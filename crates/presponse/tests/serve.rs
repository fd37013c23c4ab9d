//! `serve`: what clients get, and what a crash, a full disk and bad clients leave.

use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::model::Draws;
use crate::common::{Client, Place, Service};
use serde_json::{Value, json};

#[test]
fn clients_get_answers_of_the_last_batch_and_errors_for_the_rest() {
    let place = Place::new();
    place.write("graph", "1 2\n2 3\n");
    let graph = place.path("graph");
    let service = Service::start(&place.path("socket"), &[graph.to_str().unwrap()]);
    let mut client = service.client();
    let reply = client.ask("\n\napply 3\n+ 3 1 17\n- 7 8\na 9 9\n");
    assert_eq!(
        (&reply["batch"], &reply["inserted"], &reply["deleted"]),
        (&json!(1), &json!(1), &json!(0))
    );
    let reply = client.ask("query 3 9 1000\n");
    let vertex = |id, depth: Value, component: Value, triangles: Value| json!({"id": id, "depth": depth, "component": component, "triangles": triangles});
    let expected = [
        vertex(3, json!(1), json!(1), json!(1)),
        vertex(9, Value::Null, json!(9), json!(0)),
        vertex(1000, Value::Null, Value::Null, Value::Null),
    ];
    assert_eq!(reply["vertices"], json!(expected));
    for (text, wanted) in [
        ("hello\n", "'hello' is no request"),
        ("apply x\n", "'x' is no whole number"),
        (
            "apply 2\n+ 1\n+ 4 5\n",
            "change 1 of 2: '+ 1' has too few columns",
        ),
        (
            "apply 1\n+ 1 99999999999999999999\n",
            "ids are below 2^64; the batch is not applied",
        ),
        ("snapshot\n", "start it with --state FOLDER"),
    ] {
        let reply = client.ask(text);
        let error = reply["error"].as_str().unwrap();
        assert!(
            reply["ok"] == json!(false) && error.contains(wanted),
            "{reply}"
        );
    }
    let statistics = client.ask("statistics\n");
    assert_eq!(
        (&statistics["batch"], &statistics["refused"]),
        (&json!(1), &json!(5))
    );
    assert_eq!(
        (&statistics["vertices"], &statistics["edges"]),
        (&json!(6), &json!(3))
    );
    assert_eq!(client.ask("totals\n")["triangles"], 1);
    assert!(client.send(b"quit\n") && client.reply().is_none());
}

#[test]
fn statistics_count_each_batch_that_was_acknowledged() {
    let place = Place::new();
    let service = Service::start(&place.path("socket"), &[]);
    let mut client = service.client();
    for batch in 1..=200 {
        client.ask(&format!("apply 2\n+ 0 {batch}\n+ {batch} 1000\n"));
        let statistics = client.ask("statistics\n");
        assert_eq!(statistics["batches"], batch);
        assert_eq!(statistics["inserted"], 2 * batch);
        assert_eq!(statistics["latency_ns"]["acknowledged"]["count"], batch);
    }
}

#[test]
fn vanished_and_hostile_clients_change_nothing() {
    let place = Place::new();
    let arguments = ["--max-batch", "100", "--max-clients", "8"];
    let service = Service::start(&place.path("socket"), &arguments);
    assert_eq!(service.client().ask("apply 1\n+ 1 2\n")["batch"], 1);
    // Each vanishes in the middle of a batch or a line.
    for text in ["apply 3\n+ 5 6\n", "apply 1\n+ 5 6", "app", "apply 1", ""] {
        let mut client = service.client();
        assert!(client.send(text.as_bytes()));
    }
    // A browser's request is not obeyed, whatever follows.
    let mut client = service.client();
    client.send(b"POST / HTTP/1.1\r\nHost: x\r\n\r\napply 1\n+ 5 6\n");
    assert!(client.reply().is_none());
    let mut client = service.client();
    let reply = client.ask("apply 101\n");
    assert!(
        reply["error"]
            .as_str()
            .unwrap()
            .contains("at most 100 changes")
    );
    assert!(client.reply().is_none());
    let mut client = service.client();
    client.send(&vec![b'x'; 200 << 10]);
    // The rest of the line may meet a closed connection, which can cost the reply.
    if let Some(reply) = client.reply() {
        assert!(reply["error"].as_str().unwrap().contains("longer than"));
    }
    let mut client = service.client();
    client.send(&[0xff, 0, 0x1b, b'\n']);
    assert_eq!(client.reply().unwrap()["ok"], json!(false));

    let reply = service.client().ask("query 5 6\n");
    assert_eq!(
        (&reply["batch"], &reply["vertices"][0]["depth"]),
        (&json!(1), &Value::Null)
    );
}

#[test]
fn batch_of_a_client_that_does_not_wait_is_applied_once() {
    let place = Place::new();
    let service = Service::start(&place.path("socket"), &[]);
    for id in 1..=50 {
        let mut client = service.client();
        assert!(client.send(format!("apply 2\n+ 0 {id}\n+ {id} 1000\n").as_bytes()));
        // It goes before the batch is applied, or while it is.
        drop(client);
    }
    let begun = Instant::now();
    while service.client().ask("totals\n")["batch"] != 50 {
        assert!(begun.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(5));
    }
    let statistics = service.client().ask("statistics\n");
    assert_eq!(
        (&statistics["edges"], &statistics["refused"]),
        (&json!(100), &json!(0))
    );
}

#[test]
fn client_that_reads_no_reply_delays_nobody() {
    let place = Place::new();
    let service = Service::start(&place.path("socket"), &[]);
    // The reply takes more than a megabyte, several times what a socket holds.
    let question = format!("query{}\n", " 1".repeat(30_000));
    let mut silent = service.client();
    assert!(silent.send(format!("{question}apply 1\n+ 1 1000\n").as_bytes()));
    silent.wait_for_reply();
    let mut client = service.client();
    for batch in 1..=20 {
        let reply = client.ask(&format!("apply 1\n+ 1 {}\n", batch + 1));
        assert_eq!(reply["batch"], batch);
    }
    // The batch of the silent client waits: the service cannot finish the reply before it.
    let totals = client.ask("totals\n");
    assert_eq!(
        (&totals["batch"], &totals["reached"]),
        (&json!(20), &json!(21))
    );
    let reply = silent
        .reply()
        .expect("the reply within the patience of the service");
    assert_eq!(reply["batch"], 0);
    assert_eq!(reply["vertices"].as_array().unwrap().len(), 30_000);
    assert_eq!(silent.reply().unwrap()["batch"], 21);
}

#[test]
fn too_many_clients_are_refused_until_one_leaves() {
    let place = Place::new();
    let service = Service::start(&place.path("socket"), &["--max-clients", "2"]);
    let (mut one, mut two) = (service.client(), service.client());
    assert!(one.ask("totals\n")["ok"] == json!(true) && two.ask("totals\n")["ok"] == json!(true));
    let reply = service.client().reply().unwrap();
    assert!(
        reply["error"]
            .as_str()
            .unwrap()
            .contains("there are 2 clients already")
    );
    drop(one);
    let begun = Instant::now();
    loop {
        let mut client = service.client();
        client.send(b"totals\n");
        if client
            .reply()
            .is_some_and(|reply| reply["ok"] == json!(true))
        {
            break;
        }
        assert!(begun.elapsed() < Duration::from_secs(30));
    }
}

#[test]
fn readers_see_whole_batches_only() {
    let place = Place::new();
    let service = Service::start(&place.path("socket"), &[]);
    // Each batch deletes one star and inserts another one, so any confirmed state has one star.
    let star = |center: u64, sign: char| -> String {
        (0..200)
            .map(|leaf| format!("{sign} {center} {}\n", 1000 + leaf))
            .collect()
    };
    service
        .client()
        .ask(&format!("apply 200\n{}", star(0, '+')));
    std::thread::scope(|scope| {
        let reader = || {
            let (mut client, mut last) = (service.client(), 0);
            while last < 60 {
                let reply = client.ask("totals\n");
                let batch = reply["batch"].as_u64().unwrap();
                assert!(batch >= last, "{batch} follows {last}");
                last = batch;
                // A star of all leaves, and from the second batch on the other centre alone.
                assert_eq!(
                    reply["components"].as_u64().unwrap(),
                    batch.min(2),
                    "{reply}"
                );
            }
        };
        let readers = [scope.spawn(reader), scope.spawn(reader)];
        let mut client = service.client();
        for batch in 1..=60 {
            let (old, new) = (star((batch - 1) % 2, '-'), star(batch % 2, '+'));
            let reply = client.ask(&format!("apply 400\n{old}{new}"));
            assert_eq!(reply["batch"], batch + 1);
        }
        for reader in readers {
            reader.join().unwrap();
        }
    });
}

#[test]
fn questions_are_answered_while_a_batch_is_applied() {
    let place = Place::new();
    let service = Service::start(&place.path("socket"), &["--threads", "1"]);
    service.client().ask("apply 1\n+ 0 1\n");
    let (mut draws, mut text) = (Draws(3), String::from("apply 200000\n"));
    for _ in 0..200_000 {
        text += &format!("+ {} {}\n", draws.below(50_000), draws.below(50_000));
    }
    std::thread::scope(|scope| {
        let mut client = service.client();
        let large = scope.spawn(move || client.ask(&text)["microseconds"].as_u64().unwrap());
        // The first question that sees the large batch is after those that saw the one before.
        let (mut client, mut before, mut longest) = (service.client(), 0, Duration::ZERO);
        loop {
            let begun = Instant::now();
            let reply = client.ask("query 0\n");
            if reply["batch"] == json!(1) {
                before += 1;
                longest = longest.max(begun.elapsed());
            } else {
                break;
            }
        }
        let applied = Duration::from_micros(large.join().unwrap());
        assert!(before > 10, "{before} questions were answered");
        assert!(
            longest < applied,
            "a question took {longest:?}, the batch {applied:?}"
        );
    });
}

#[test]
fn service_goes_on_after_a_snapshot_and_a_signal() {
    let place = Place::new();
    let (socket, state) = (place.path("socket"), place.path("state"));
    place.write("graph", "1 2\n2 3\n");
    let graph = place.path("graph");
    let keep = ["--state", state.to_str().unwrap(), "--sync", "50"];
    let mut service = Service::start(&socket, &[&[graph.to_str().unwrap()], &keep[..]].concat());
    let mut client = service.client();
    client.ask("apply 1\n+ 3 1\n");
    let reply = client.ask("snapshot\n");
    assert!(
        reply["file"].as_str().unwrap().ends_with("snapshot-1"),
        "{reply}"
    );
    client.ask("apply 1\n- 1 2\n");
    let id = service.child.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-TERM", &id])
            .status()
            .unwrap()
            .success()
    );
    assert!(service.child.wait().unwrap().success());
    assert!(!socket.exists());
    let service = Service::start(&socket, &keep);
    let reply = service.client().ask("query 1 2 3\n");
    let depths = [0, 1, 2].map(|at| reply["vertices"][at]["depth"].clone());
    assert_eq!(
        (&reply["batch"], depths),
        (&json!(2), [json!(0), json!(2), json!(1)])
    );
    drop(service);
    let (code, error) = place.fail(&["serve", "graph", "--state", "state", "--socket", "other"]);
    assert!(
        code == 2 && error.contains("leave the graph out to go on"),
        "{error}"
    );
    let (_, error) = place.fail(&[
        "serve",
        "--directed",
        "--state",
        "state",
        "--socket",
        "other",
    ]);
    assert!(error.contains("leave out --directed"), "{error}");
}

#[test]
fn full_disk_refuses_batches_and_loses_none() {
    let place = Place::new();
    let (socket, state) = (place.path("socket"), place.path("state"));
    // A limit on the size of files stands for a full disk; the shell ignores its signal.
    let binary = env!("CARGO_BIN_EXE_presponse");
    let script = format!(
        "trap '' XFSZ; ulimit -f 16; exec {binary} serve --quiet --socket {} --state {}",
        socket.display(),
        state.display()
    );
    let mut child = Command::new("bash")
        .args(["-c", &script])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    use std::io::{BufRead as _, BufReader};
    BufReader::new(child.stdout.as_mut().unwrap())
        .read_line(&mut line)
        .unwrap();
    let stream = std::os::unix::net::UnixStream::connect(&socket).unwrap();
    let (mut client, mut applied, mut refused) = (Client::new(stream), 0_u64, 0);
    let mut draws = Draws(7);
    for batch in 0..200 {
        // Large batches at first, then small ones that fill what is left.
        let count = if batch < 20 { 300 } else { 1 };
        let mut text = format!("apply {count}\n");
        for _ in 0..count {
            text += &format!("+ {} {}\n", draws.below(1000), draws.below(1000));
        }
        let reply = client.ask(&text);
        if reply["ok"] == json!(true) {
            applied += 1;
            assert_eq!(reply["batch"], applied);
        } else {
            refused += 1;
            let error = reply["error"].as_str().unwrap();
            assert!(
                error.contains("free some space; the batch is not applied"),
                "{error}"
            );
        }
    }
    assert!(applied > 0 && refused > 0, "{applied} {refused}");
    let totals = client.ask("totals\n");
    assert_eq!(totals["batch"], applied);
    child.kill().unwrap();
    child.wait().unwrap();
    let again = Service::start(&socket, &["--state", state.to_str().unwrap()]);
    assert_eq!(again.client().ask("totals\n"), totals);
}

#[test]
fn tcp_is_for_this_machine_only() {
    use std::io::{BufRead as _, BufReader, Write as _};

    let place = Place::new();
    let (code, error) = place.fail(&["serve", "--listen", "0.0.0.0:0"]);
    assert!(
        code == 2 && error.contains("is no loopback address"),
        "{error}"
    );
    place.write("file", "");
    let (_, error) = place.fail(&["serve", "--socket", "file"]);
    assert!(error.contains("exists and is no socket"), "{error}");

    let mut command = crate::common::presponse(&["serve", "--listen", "127.0.0.1:0", "--quiet"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap())
        .read_line(&mut line)
        .unwrap();
    let address = line.trim().strip_prefix("Listening at ").unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(b"apply 1\n+ 1 2\n").unwrap();
    let mut reply = String::new();
    BufReader::new(stream).read_line(&mut reply).unwrap();
    assert!(reply.contains("\"inserted\":1"), "{reply}");
    let (_, error) = place.fail(&["serve", "--listen", address]);
    assert!(error.contains("choose another port"), "{error}");
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn root_is_kept_with_the_folder() {
    let place = Place::new();
    let (socket, state) = (place.path("socket"), place.path("state"));
    let keep = ["--state", state.to_str().unwrap()];
    let with_root = [&keep[..], &["--root", "99"]].concat();
    let mut service = Service::start(&socket, &with_root);
    let mut client = service.client();
    client.ask("apply 2\n+ 1 2\n+ 2 99\n");
    let wanted = client.ask("query 1 2 99\n");
    assert_eq!(wanted["vertices"][0]["depth"], json!(2));
    for arguments in [&keep[..], &with_root, &keep] {
        service.child.kill().unwrap();
        service.child.wait().unwrap();
        service = Service::start(&socket, arguments);
        assert_eq!(service.client().ask("query 1 2 99\n"), wanted);
        // Later snapshots have it, too.
        service.client().ask("snapshot\n");
    }
    drop(service);
    let serve = [
        "serve", "--state", "state", "--socket", "other", "--root", "1",
    ];
    let (code, error) = place.fail(&serve);
    assert!(
        code == 2 && error.contains("counts depths from vertex 99; leave out --root to go on"),
        "{error}"
    );
}
