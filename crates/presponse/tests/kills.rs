//! `serve`, killed at random moments: what was acknowledged is there after the next start.

use std::process::Command;
use std::time::Duration;

use serde_json::json;

use crate::common::model::{Draws, Model, draw_batch, request};
use crate::common::{Client, Place, Service};

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
