//! What a repair of depths is predicted to cost, and whether recomputing costs less.
//!
//! A repair reads the lists of each vertex that loses its depth three times, in no order;
//! recomputing reads one list of each vertex in the order of the search. The constants below weigh
//! these; `costs.rs` beside this folder has the others, and how they are checked.
//!
//! Three predictions are made, each with more knowledge than the one before:
//! 1. From a sample of a large batch, before all of its changes are looked at, which costs a tenth
//!    of recomputing or more. [`Experience`] has what parents that were lost and levels that
//!    inserted edges offered led to in earlier repairs.
//! 2. From all changes, in the same way.
//! 3. While vertices are lost, from how many of the orphans of each level are ([`Outlook`]).

use reuselens_graph::{EdgeKind, StoredGraph};

use crate::costs;

/// How often a repair reads the lists of a vertex that loses its depth: for a parent, for
/// children, for offers and to offer on; the first is often cut short.
const READS: u64 = 3;
/// An id that a repair reads costs as much as this many that a search reads in order.
const REPAIR_ID: u64 = 3;
/// A vertex that a repair loses or gives a depth costs as much as this many of these.
const REPAIR_VERTEX: u64 = 12;
/// What is left of the experience after a batch that was recomputed, of which nothing is learned.
/// Without that, one bad batch would rule out repairs for ever.
const FORGOTTEN: f64 = 15.0 / 16.0;

/// What a batch offers a repair.
#[derive(Clone, Copy, Debug)]
pub(super) struct BatchCauses {
    /// Vertices that lost their parent by a deletion.
    pub orphans: f64,
    /// By how many levels inserted edges lower their ends, in total.
    pub offered: f64,
}

/// The vertices that a batch affects.
#[derive(Clone, Copy, Debug)]
pub(super) struct Affected {
    /// Those that lose their depth, and get one again if they can still be reached.
    pub lost: u64,
    /// Those that get a lower depth.
    pub gained: u64,
}

/// What earlier batches affected, as shares of the reached vertices.
///
/// A cause affects as large a share as in the last repairs, independently of the others: many
/// causes reach the same vertices.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Experience {
    /// The share that an orphan takes along; nothing before the first repair with orphans.
    loss: Option<f64>,
    /// The share that each level gains by which an inserted edge lowers one of its ends; nothing
    /// before the first repair with offers.
    gain: Option<f64>,
}

impl Experience {
    /// What these causes are predicted to affect among `reached` vertices. Before anything is
    /// known: a vertex for each.
    pub fn predict(self, causes: BatchCauses, reached: u32) -> Affected {
        let reached = f64::from(reached.max(1));
        let share = |each: Option<f64>, causes: f64| {
            let all = each.unwrap_or(1.0 / reached) * causes;
            ((1.0 - (-all).exp()) * reached) as u64
        };
        Affected {
            lost: share(self.loss, causes.orphans),
            gained: share(self.gain, causes.offered),
        }
    }

    /// Takes what these causes affected into account.
    pub fn learn(&mut self, causes: BatchCauses, affected: Affected, reached: u32) {
        self.learn_losses(causes, affected, reached);
        learn(&mut self.gain, causes.offered, affected.gained, reached);
    }

    /// Takes the losses into account, also if they are those that were predicted when a repair was
    /// given up.
    pub fn learn_losses(&mut self, causes: BatchCauses, affected: Affected, reached: u32) {
        learn(&mut self.loss, causes.orphans, affected.lost, reached);
    }

    /// Forgets a little, after a batch of which nothing is learned.
    pub fn forget(&mut self) {
        for each in [&mut self.loss, &mut self.gain] {
            *each = each.map(|each| each * FORGOTTEN);
        }
    }
}

/// Takes into account that so many vertices of `reached` were affected: the mean of the share that
/// each cause affected, and of what was known.
fn learn(each: &mut Option<f64>, causes: f64, vertices: u64, reached: u32) {
    if causes > 0.0 {
        let share = (vertices as f64 / f64::from(reached.max(1))).min(0.999);
        costs::learn(each, -(1.0 - share).ln() / causes);
    }
}

/// What recomputing costs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Recomputing {
    /// The ids that a search reads in which all vertices are reached.
    ids: u64,
    /// The vertices that had a depth before the batch.
    reached: u64,
}

impl Recomputing {
    pub fn new<G: StoredGraph>(graph: &G, reached: u32) -> Self {
        let ids = match graph.kind() {
            EdgeKind::Undirected => 2 * graph.edges(),
            EdgeKind::Directed => graph.edges(),
        };
        Self {
            ids,
            reached: u64::from(reached).max(1),
        }
    }

    /// The ids that a repair reads.
    pub fn reads(self, affected: Affected) -> u64 {
        (READS * affected.lost + affected.gained) * self.ids / self.reached
    }

    /// Whether to look at so many changes costs enough to judge them by a sample first: more than a
    /// 32nd of recomputing.
    pub fn wants_sample(self, changes: usize) -> bool {
        32 * costs::looking(changes) > costs::recomputing(self.ids, self.reached)
    }

    /// Whether recomputing is less work than to look at so many changes that were not looked at so
    /// far, and to repair what is affected.
    pub fn is_less(self, changes: usize, affected: Affected) -> bool {
        // A vertex that is lost is given a depth again; one that gains reads its list once.
        let vertices = 2 * affected.lost + affected.gained;
        let repair = self.reads(affected) * REPAIR_ID + vertices * REPAIR_VERTEX;
        costs::looking(changes) + repair > costs::recomputing(self.ids, self.reached)
    }
}

/// How many vertices a repair will lose, from what it lost so far. Each level leaves orphans to the
/// next one, of which as large a share would be lost as so far, up to the size of each level. The
/// deeper a vertex is, the more other parents it has, so about half of that comes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outlook {
    /// The vertices that lost their depth so far.
    lost: u64,
    /// The orphans below the first level, and those of them that were lost. (The first level has
    /// no other parents than the root.) At the beginning it is assumed that a quarter is lost.
    orphans: u64,
    lost_orphans: u64,
    /// The number of lost vertices from which on a prediction is made anew.
    due: u64,
}

impl Outlook {
    pub fn new(reached: u32) -> Self {
        Self {
            lost: 0,
            orphans: 16,
            lost_orphans: 4,
            due: 1 + u64::from(reached) / 64,
        }
    }

    /// Takes the orphans of a level and those that it lost into account. Returns whether a
    /// prediction is due: when a 64th of the vertices is lost, and an eighth more each time.
    pub fn is_due(&mut self, depth: u32, orphans: usize, lost: u32) -> bool {
        self.lost += u64::from(lost);
        if depth > 1 {
            self.orphans += orphans as u64;
            self.lost_orphans += u64::from(lost);
        }
        let due = self.lost >= self.due;
        if due {
            self.due = self.lost + self.lost / 8;
        }
        due
    }

    /// The vertices that will be lost in all. The last level lost `lost` and left `orphans` to the
    /// levels below, whose sizes are `below`; there are `pending` more orphans there.
    pub fn predict(&self, lost: u32, orphans: usize, pending: usize, below: &[u32]) -> u64 {
        let share = self.lost_orphans as f64 / self.orphans as f64;
        let growth = share * orphans as f64 / f64::from(lost.max(1));
        let mut further = share * pending as f64;
        let mut expected = share * orphans as f64;
        for &size in below {
            expected = expected.min(f64::from(size));
            if expected < 1.0 {
                break;
            }
            further += expected;
            expected *= growth;
        }
        self.lost + further as u64 / 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn experience_predicts_what_it_learned_and_fades() {
        let causes = BatchCauses {
            orphans: 10.0,
            offered: 20.0,
        };
        let mut experience = Experience::default();
        let unknown = experience.predict(causes, 1000);
        assert_eq!((unknown.lost, unknown.gained), (9, 19));
        let affected = Affected {
            lost: 300,
            gained: 600,
        };
        experience.learn(causes, affected, 1000);
        let same = experience.predict(causes, 1000);
        assert!(same.lost.abs_diff(300) <= 1 && same.gained.abs_diff(600) <= 1);
        // Causes reach the same vertices, so twice as many affect less than twice as much.
        let twice = BatchCauses {
            orphans: 20.0,
            offered: 40.0,
        };
        let twice = experience.predict(twice, 1000);
        assert!((505..=515).contains(&twice.lost) && (835..=845).contains(&twice.gained));
        experience.forget();
        let faded = experience.predict(causes, 1000);
        assert!(faded.lost < same.lost && faded.gained < same.gained);
    }

    #[test]
    fn large_changes_cost_a_look() {
        let recomputing = Recomputing {
            ids: 1000,
            reached: 100,
        };
        let nothing = Affected { lost: 0, gained: 0 };
        assert!(!recomputing.is_less(0, nothing) && recomputing.is_less(1000, nothing));
        assert!(!recomputing.wants_sample(10) && recomputing.wants_sample(100));
    }
}
