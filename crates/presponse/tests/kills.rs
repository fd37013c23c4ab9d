//! `serve`, killed at random moments: what was acknowledged is there after the next start.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::json;

use crate::common::model::{Draws, Model, draw_batch, request};
use crate::common::{Client, Place, Service, presponse};

#[test]
fn acknowledged_updates_outlast_kills_at_random_moments() {
    let found = kill_at_random_moments(20, &[]);
    assert_eq!(found.ahead, 0);
}

#[test]
fn acknowledged_updates_outlast_kills_while_work_is_ahead() {
    let ahead = ["--speculate", "gated", "--window", "3"];
    let found = kill_at_random_moments(10, &ahead);
    assert!(found.ahead > 0);
}

/// What a service did between its kills.
#[derive(Default)]
struct Survived {
    acknowledged: u64,
    /// Batches that were not acknowledged and are there after the kill.
    kept: u64,
    /// Changes that were made ahead of their batch, as far as the service was asked.
    ahead: u64,
}

/// Kills a service with these further arguments, and compares what it has at the next start with
/// what it acknowledged. `PRESPONSE_KILLS` says how often, instead of `kills`.
fn kill_at_random_moments(kills: u64, further: &[&str]) -> Survived {
    let kills = std::env::var("PRESPONSE_KILLS").map_or(kills, |text| text.parse().unwrap());
    let place = Place::new();
    let (socket, state) = (place.path("socket"), place.path("state"));
    let keep = ["--state", state.to_str().unwrap(), "--snapshot-every", "7"];
    let arguments = [&keep[..], further].concat();
    let (mut draws, mut model, mut batches) = (Draws(2026), Model::default(), 0);
    let mut found = Survived::default();
    for _ in 0..kills {
        let mut service = Service::start(&socket, &arguments);
        let mut client = service.client();
        let reply = client.ask("totals\n");
        assert_eq!(reply["batch"], batches);
        model.check(&mut client);

        let id = service.child.id().to_string();
        let wait = Duration::from_micros(draws.below(120_000));
        let killer = std::thread::spawn(move || {
            std::thread::sleep(wait);
            let killed = Command::new("kill").args(["-9", &id]).status();
            assert!(killed.unwrap().success());
        });
        let mut ahead = 0;
        let unanswered = loop {
            let changes = draw_batch(&mut draws);
            let sent = client.send(request(&changes, Some(batches)).as_bytes());
            let Some(reply) = sent.then(|| client.reply()).flatten() else {
                break changes;
            };
            batches += 1;
            found.acknowledged += 1;
            let (ok, batch) = (&reply["ok"], &reply["batch"]);
            assert_eq!((ok, batch), (&json!(true), &json!(batches)));
            model.apply(&changes);
            if batches.is_multiple_of(4) {
                ahead = changed_ahead(&mut client).unwrap_or(ahead);
            }
        };
        found.ahead += ahead;
        killer.join().unwrap();
        service.child.wait().unwrap();
        drop(service);
        // The batch that was not acknowledged may be in the log or not.
        let service = Service::start(&socket, &arguments);
        let there = service.client().ask("totals\n")["batch"].as_u64().unwrap();
        if there == batches + 1 {
            model.apply(&unanswered);
            batches += 1;
            found.kept += 1;
        }
        assert_eq!(there, batches);
    }
    let Survived {
        acknowledged,
        kept,
        ahead,
    } = found;
    println!(
        "{kills} kills, {acknowledged} batches acknowledged, {kept} kept that were not, {ahead} \
         changes made ahead"
    );
    assert!(acknowledged > kills);
    model.check(&mut Service::start(&socket, &arguments).client());
    found
}

/// How many changes a service made ahead; nothing if it has gone, or does no such thing.
fn changed_ahead(client: &mut Client) -> Option<u64> {
    let sent = client.send(b"statistics\n");
    let reply = sent.then(|| client.reply()).flatten()?;
    reply["speculation"]["ahead"].as_u64()
}

#[test]
fn service_killed_while_it_starts_has_its_graph_or_refuses_a_start_without() {
    let place = Place::new();
    place.write("graph", "1 2\n2 3\n");
    let mut draws = Draws(47);
    for round in 0..30 {
        let state = place.path(&format!("state{round}"));
        let (state, socket) = (state.to_str().unwrap(), place.path("socket"));
        let keep = ["--state", state, "--socket", socket.to_str().unwrap(), "-q"];
        let mut first =
            presponse(&[&["serve", place.path("graph").to_str().unwrap()], &keep[..]].concat())
                .stdout(Stdio::null())
                .spawn()
                .unwrap();
        std::thread::sleep(Duration::from_micros(draws.below(15_000)));
        first.kill().unwrap();
        first.wait().unwrap();
        let has = |name: &str| Path::new(state).join(name).exists();
        assert!(has("snapshot-0") || !has("log-0"), "round {round}");
        if has("snapshot-0") {
            let service = Service::start(&socket, &["--state", state]);
            let reply = service.client().ask("totals\n");
            assert_eq!(
                (&reply["batch"], &reply["reached"]),
                (&json!(0), &json!(3)),
                "{reply}"
            );
        } else if has("lock") {
            let (code, error) = place.fail(&[&["serve"], &keep[..]].concat());
            assert!(
                code == 1 && error.contains("name the graph again"),
                "{error}"
            );
        }
    }
}
