//! `serve --speculate`: clients see the last batch, whatever is done ahead of the next one.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::common::model::{Draws, Model, draw_batch, request};
use crate::common::{Client, Place, Service};

/// The answers are those of a model after each batch, and the counts of the batch too. Returns the
/// statistics of the work ahead at the end.
fn exact_answers(further: &[&str]) -> Value {
    let place = Place::new();
    let service = Service::start(&place.path("socket"), further);
    let mut client = service.client();
    let (mut draws, mut model, mut was_ahead) = (Draws(33), Model::default(), 0);
    for batch in 1..=60 {
        let before = model.edges.clone();
        let changes = draw_batch(&mut draws);
        model.apply(&changes);
        let reply = client.ask(&request(&changes, Some(batch)));
        let count = |one: &BTreeSet<_>, other| one.difference(other).count();
        let wanted = [count(&model.edges, &before), count(&before, &model.edges)];
        assert_eq!(json!([reply["inserted"], reply["deleted"]]), json!(wanted));
        // Many requests, so there is time to work ahead.
        model.check(&mut client);
        was_ahead += u64::from(speculation(&mut client)["ahead_now"] != 0);
        model.check(&mut client);
    }
    assert!(was_ahead > 0, "nothing was ahead when answers were checked");
    speculation(&mut client)
}

fn speculation(client: &mut Client) -> Value {
    client.ask("statistics\n")["speculation"].take()
}

#[test]
fn readers_see_the_last_batch_while_insertions_are_ahead() {
    let found = exact_answers(&["--speculate", "edgebank"]);
    assert!(found["taken_back"].as_u64().unwrap() > 0, "{found}");
    assert_eq!(found["gates"], json!({}), "a kind by itself has no gate");
}

#[test]
fn readers_see_the_last_batch_while_expiries_are_ahead() {
    let found = exact_answers(&["--speculate", "expiries", "--window", "4"]);
    assert!(found["ahead"].as_u64().unwrap() > 0, "{found}");
}

#[test]
fn gates_decide_for_each_batch_that_left_time() {
    let found = exact_answers(&["--speculate", "gated", "--window", "4"]);
    for kind in ["expiries", "EdgeBank", "warm"] {
        let gate = &found["gates"][kind];
        let decided = gate["on"].as_u64().unwrap() + gate["off"].as_u64().unwrap();
        assert_eq!(decided, found["batches"], "{found}");
        assert!(gate["on"].as_u64().unwrap() >= 8, "{found}");
    }
}

/// The window of the service is that of the stream, so what it deletes ahead is what comes.
#[test]
fn expiries_that_come_are_not_taken_back() {
    let place = Place::new();
    let expiries = ["--speculate", "expiries", "--window", "10"];
    let service = Service::start(&place.path("socket"), &expiries);
    let mut client = service.client();
    for time in 0..50_u64 {
        let mut changes = vec![(true, time, time + 1)];
        changes.extend(time.checked_sub(10).map(|old| (false, old, old + 1)));
        let reply = client.ask(&request(&changes, Some(time)));
        assert_eq!(reply["deleted"], json!(changes.len() - 1), "{reply}");
        let answers = client.ask(&format!("query {} {}\n", time, time + 1));
        assert_eq!(
            answers["vertices"][0]["component"],
            answers["vertices"][1]["component"]
        );
        // The service works ahead once it has acknowledged the batch, so wait for that.
        let mut is_ahead = || speculation(&mut client)["ahead_now"] != 0;
        assert!(time < 15 || (0..100_000).any(|_| is_ahead()));
    }
    let found = speculation(&mut client);
    assert_eq!(found["taken_back"], 0, "{found}");
    assert!(found["ahead"].as_u64().unwrap() > 30, "{found}");
}

#[test]
fn speculation_without_its_window_is_refused() {
    let place = Place::new();
    let fail = |further: &[&str]| place.fail(&[&["serve", "--socket", "s"], further].concat());
    let (code, error) = fail(&["--speculate", "expiries"]);
    assert!(
        code == 2 && error.contains("needs the length of the window: --window LENGTH"),
        "{error}"
    );
    let (code, error) = fail(&["--speculate", "warm", "--window", "4"]);
    assert!(
        code == 2 && error.contains("--window has no effect here"),
        "{error}"
    );
    let (_, error) = fail(&["--speculate", "oracle"]);
    assert!(
        error.contains("off, expiries, edgebank, warm, gated"),
        "{error}"
    );
}
