//! [`DeletionAges`]: how old the edges are that a stream deletes.

use hashbrown::HashMap;
use reuselens_graph::{Edge, EdgeChange};

use super::TimedChange;

/// The share of the deletions that must have nearly one age for the stream to be a sliding window.
const OF_ONE_AGE: f64 = 0.8;
/// How far, as a share of the age, such deletions may be from it.
const TOLERANCE: f64 = 0.05;
/// The most ages that are kept: those of the first deletions.
const MOST_AGES: usize = 1 << 20;

/// Collects the ages of edges at their deletion, from their last insertion in the stream.
#[derive(Clone, Debug, Default)]
pub struct DeletionAges {
    last: HashMap<Edge, i64>,
    ages: Vec<u64>,
}

impl DeletionAges {
    /// Adds those of a batch.
    pub fn add(&mut self, batch: &[TimedChange]) {
        if self.ages.len() >= MOST_AGES {
            return;
        }
        for &TimedChange { change, time } in batch {
            match change {
                EdgeChange::Insert(edge) => {
                    self.last.insert(edge, time);
                }
                EdgeChange::Delete(edge) => {
                    let age = self.last.remove(&edge).map(|begun| time.abs_diff(begun));
                    self.ages.extend(age);
                }
            }
        }
    }

    /// The age at which nearly all edges are deleted: the length of the window, if the stream is
    /// one with times.
    pub fn window(&self) -> Option<u64> {
        let mut ages = self.ages.clone();
        let middle = ages.len() / 2;
        if ages.is_empty() {
            return None;
        }
        let median = *ages.select_nth_unstable(middle).1;
        let near = ages.iter().filter(|age| is_near(**age, median)).count();
        (median > 0 && near as f64 >= OF_ONE_AGE * ages.len() as f64).then_some(median)
    }

    /// What speaks against a window of this length, if something does, and what to do.
    pub fn doubt(&self, length: u64) -> Option<String> {
        if self.ages.is_empty() {
            return Some(format!(
                "the stream deletes no edge that it inserted, so --window {length} has nothing to \
                 predict; make a window with `presponse generate window`, or leave --window out"
            ));
        }
        match self.window() {
            Some(age) if is_near(age, length) => None,
            Some(age) => Some(format!(
                "the stream deletes edges at the age of {age}, not {length}; is --window {age} meant?"
            )),
            None => {
                let (least, most) = (self.ages.iter().min(), self.ages.iter().max());
                let [least, most] = [least, most].map(|age| age.copied().unwrap_or_default());
                Some(format!(
                    "the stream deletes edges at ages from {least} to {most}, so it is no sliding \
                     window, and --window {length} predicts wrong deletions; leave it out"
                ))
            }
        }
    }
}

fn is_near(age: u64, other: u64) -> bool {
    age.abs_diff(other) as f64 <= TOLERANCE * other as f64
}

#[cfg(test)]
mod tests {
    use reuselens_graph::EdgeKind;

    use super::*;

    /// A stream that inserts an edge each time, and deletes each after the age that `age` says.
    fn ages(age: impl Fn(i64) -> Option<i64>) -> DeletionAges {
        let mut ages = DeletionAges::default();
        for time in 0..100 {
            let edge = Edge::new(EdgeKind::Undirected, time as u32, time as u32 + 1);
            let timed = |change, time| TimedChange { change, time };
            ages.add(&[timed(EdgeChange::Insert(edge), time)]);
            if let Some(age) = age(time) {
                ages.add(&[timed(EdgeChange::Delete(edge), time + age)]);
            }
        }
        ages
    }

    #[test]
    fn wrong_window_is_noticed_and_the_right_one_named() {
        let regular = ages(|time| (time < 90).then_some(50 + time % 2));
        assert_eq!(regular.doubt(50), None);
        let doubt = regular.doubt(500).unwrap();
        assert!(doubt.contains("not 500; is --window 5"), "{doubt}");
        assert!(
            ages(|time| Some(1 + time))
                .doubt(50)
                .unwrap()
                .contains("from 1 to 100")
        );
        assert!(
            ages(|_| None)
                .doubt(50)
                .unwrap()
                .contains("deletes no edge")
        );
    }
}
