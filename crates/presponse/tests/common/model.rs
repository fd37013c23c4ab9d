//! The graph that a service should have, and random batches for it.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::Client;

/// Random numbers of the test.
pub struct Draws(pub u64);

impl Draws {
    pub fn below(&mut self, end: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (self.0 >> 33) % end
    }
}

/// The graph that acknowledged updates give, and answers by other code than that of presponse.
#[derive(Clone, Default)]
pub struct Model {
    pub edges: BTreeSet<(u64, u64)>,
    /// Ids in the order of their first appearance: the first one is the root.
    pub ids: Vec<u64>,
}

impl Model {
    pub fn apply(&mut self, changes: &[(bool, u64, u64)]) {
        for &(inserts, u, v) in changes {
            for id in [u, v] {
                if !self.ids.contains(&id) {
                    self.ids.push(id);
                }
            }
            let edge = (u.min(v), u.max(v));
            if inserts && u != v {
                self.edges.insert(edge)
            } else {
                self.edges.remove(&edge)
            };
        }
    }

    fn neighbors(&self, id: u64) -> Vec<u64> {
        let ends = self.edges.iter().filter_map(|&(u, v)| match id {
            _ if u == id => Some(v),
            _ if v == id => Some(u),
            _ => None,
        });
        ends.collect()
    }

    /// Distances from a vertex by relaxing all edges until nothing changes.
    fn depths(&self, from: u64) -> Vec<Option<u64>> {
        let mut depths: Vec<Option<u64>> = self
            .ids
            .iter()
            .map(|id| (*id == from).then_some(0))
            .collect();
        let place = |id: u64| self.ids.iter().position(|it| *it == id).unwrap();
        loop {
            let before = depths.clone();
            for &(u, v) in &self.edges {
                for (u, v) in [(place(u), place(v)), (place(v), place(u))] {
                    if let Some(next) = depths[u].map(|depth| depth + 1) {
                        depths[v] = Some(depths[v].map_or(next, |depth| depth.min(next)));
                    }
                }
            }
            if depths == before {
                return depths;
            }
        }
    }

    /// The reply to a query for all vertices.
    fn answers(&self) -> Vec<Value> {
        let from_root = self.depths(self.ids[0]);
        let reaches: Vec<_> = self.ids.iter().map(|id| self.depths(*id)).collect();
        let answer = |(at, id): (usize, &u64)| {
            let component = (0..self.ids.len()).find(|first| reaches[*first][at].is_some());
            let near = self.neighbors(*id);
            let pairs = near.iter().flat_map(|u| near.iter().map(move |v| (*u, *v)));
            let triangles = pairs.filter(|pair| self.edges.contains(pair)).count();
            json!({
                "id": id, "depth": from_root[at], "component": self.ids[component.unwrap()],
                "triangles": triangles,
            })
        };
        self.ids.iter().enumerate().map(answer).collect()
    }

    fn query(&self) -> String {
        let ids: Vec<String> = self.ids.iter().map(u64::to_string).collect();
        format!("query {}\n", ids.join(" "))
    }

    /// Compares all answers and all neighbours with those of a service.
    pub fn check(&self, client: &mut Client) {
        if self.ids.is_empty() {
            return;
        }
        let reply = client.ask(&self.query());
        assert_eq!(reply["vertices"], json!(self.answers()));
        for id in &self.ids {
            let reply = client.ask(&format!("neighbors {id}\n"));
            let mut found: Vec<u64> = serde_json::from_value(reply["neighbors"].clone()).unwrap();
            found.sort_unstable();
            let mut wanted = self.neighbors(*id);
            wanted.sort_unstable();
            assert_eq!(found, wanted);
        }
    }
}

/// A batch of up to 12 changes.
pub fn draw_batch(draws: &mut Draws) -> Vec<(bool, u64, u64)> {
    let count = 1 + draws.below(12);
    // Few vertices, so that edges come back, and ids of all lengths.
    let id = |draws: &mut Draws| match draws.below(24) {
        at @ 0..20 => at,
        at => u64::MAX >> at,
    };
    (0..count)
        .map(|_| (draws.below(5) < 3, id(draws), id(draws)))
        .collect()
}

/// The text of a request that applies changes, at a time if there is one.
pub fn request(changes: &[(bool, u64, u64)], time: Option<u64>) -> String {
    let mut text = format!("apply {}\n", changes.len());
    for (inserts, u, v) in changes {
        let sign = if *inserts { '+' } else { '-' };
        let time = time.map_or_else(String::new, |time| format!(" {time}"));
        text += &format!("{sign} {u} {v}{time}\n");
    }
    text
}
