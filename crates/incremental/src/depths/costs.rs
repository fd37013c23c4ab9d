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
/// What is left of the experience after a batch that was recomputed. Without that, one bad batch
/// would rule out repairs for ever.
const FORGOTTEN: f64 = 15.0 / 16.0;
/// The mean of what fewer causes affect says little.
const ENOUGH: f64 = 1024.0;

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
    /// The share that an orphan takes along.
    loss: CauseShare,
    /// The share that each level gains by which an inserted edge lowers one of its ends.
    gain: CauseShare,
}

impl Experience {
    /// What these causes are predicted to affect among `reached` vertices.
    pub fn predict(self, causes: BatchCauses, reached: u32) -> Affected {
        Affected {
            lost: self.loss.predict(causes.orphans, reached),
            gained: self.gain.predict(causes.offered, reached),
        }
    }

    /// Takes what these causes affected into account.
    pub fn learn(&mut self, causes: BatchCauses, affected: Affected, reached: u32) {
        self.loss.learn(causes.orphans, affected.lost, reached);
        self.gain.learn(causes.offered, affected.gained, reached);
    }

    /// Takes the losses into account that were predicted when a repair was given up, and then
    /// forgets a little of all: such a batch shows nothing of what inserted edges lead to, and a
    /// repair is given up where its prediction is high, so the losses are predicted too high more
    /// often than too low. (Without that, n15 in batches of 10,000 has 1 or 2 of 24 more
    /// recomputed, and 1 to 3 % more regret.)
    pub fn learn_losses(&mut self, causes: BatchCauses, lost: u64, reached: u32) {
        self.loss.learn(causes.orphans, lost, reached);
        self.forget();
    }

    /// Forgets a little, after a batch of which nothing is learned.
    pub fn forget(&mut self) {
        self.loss.forget();
        self.gain.forget();
    }
}

/// The share of the reached vertices that a cause affects: the mean of the last batches.
///
/// A few causes affect a thousand times as much as the others: the loss of a vertex beside the
/// root takes most others along. So a mean counts causes rather than batches, and at least
/// [`ENOUGH`] of them. Otherwise one batch of two such orphans would rule out the repair of later
/// batches for a long time.
#[derive(Clone, Copy, Debug, Default)]
struct CauseShare {
    /// The mean, as the exponent of a decay; nothing before the first repair with such causes.
    each: Option<f64>,
    /// The causes that the mean is of.
    causes: f64,
}

impl CauseShare {
    /// What a cause affects before anything is known: a vertex.
    fn unknown(reached: u32) -> f64 {
        1.0 / f64::from(reached.max(1))
    }

    /// How many of `reached` vertices so many causes are predicted to affect.
    fn predict(self, causes: f64, reached: u32) -> u64 {
        let all = self.each.unwrap_or(Self::unknown(reached)) * causes;
        ((1.0 - (-all).exp()) * f64::from(reached.max(1))) as u64
    }

    /// Takes into account that so many causes affected so many of `reached` vertices. What was
    /// known before counts as much as this batch, and more where that is needed for [`ENOUGH`].
    fn learn(&mut self, causes: f64, vertices: u64, reached: u32) {
        if causes > 0.0 {
            let share = (vertices as f64 / f64::from(reached.max(1))).min(0.999);
            let missing = (ENOUGH - causes).max(0.0);
            let before = self.causes.min(causes).max(missing);
            let known = self.each.unwrap_or(Self::unknown(reached));
            self.causes = before + causes;
            self.each = Some((known * before - (1.0 - share).ln()) / self.causes);
        }
    }

    fn forget(&mut self) {
        self.each = self.each.map(|each| each * FORGOTTEN);
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
///
/// The orphans that a lost vertex leaves are those of the last level, or of all levels so far where
/// these are fewer: a level of some tens of vertices leaves a fifth more than the others by chance,
/// which would grow to twenty times as many in twenty levels.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outlook {
    /// The vertices that lost their depth so far.
    lost: u64,
    /// The orphans that these left to the next levels.
    left: u64,
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
            left: 0,
            orphans: 16,
            lost_orphans: 4,
            due: 1 + u64::from(reached) / 64,
        }
    }

    /// Takes into account that so many of the orphans of a level were lost, and how many orphans
    /// these left to the next level. Returns whether a prediction is due: when a 64th of the
    /// vertices is lost, and an eighth more each time.
    pub fn is_due(&mut self, depth: u32, orphans: usize, lost: u32, left: usize) -> bool {
        self.left += left as u64;
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
        let per_lost = orphans as f64 / f64::from(lost.max(1));
        let growth = share * per_lost.min(self.left as f64 / self.lost.max(1) as f64);
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
        let causes = |orphans| BatchCauses {
            orphans,
            offered: 2.0 * orphans,
        };
        let mut experience = Experience::default();
        let unknown = experience.predict(causes(10.0), 10_000);
        assert_eq!((unknown.lost, unknown.gained), (9, 19));
        let affected = Affected {
            lost: 3000,
            gained: 6000,
        };
        experience.learn(causes(ENOUGH), affected, 10_000);
        let same = experience.predict(causes(ENOUGH), 10_000);
        assert!(same.lost.abs_diff(3000) <= 1 && same.gained.abs_diff(6000) <= 1);
        // Causes reach the same vertices, so twice as many affect less than twice as much.
        let twice = experience.predict(causes(2.0 * ENOUGH), 10_000);
        assert!((5050..=5150).contains(&twice.lost) && (8350..=8450).contains(&twice.gained));
        experience.forget();
        let faded = experience.predict(causes(ENOUGH), 10_000);
        assert!(faded.lost < same.lost && faded.gained < same.gained);
    }

    /// Two orphans beside the root of ca-HepPh took 84 % of the vertices along; then three batches
    /// of 100 changes were recomputed that a repair does in a hundredth of the time.
    #[test]
    fn one_large_loss_among_many_small_ones_does_not_rule_out_repairs() {
        let causes = |orphans| BatchCauses {
            orphans,
            offered: 0.0,
        };
        let lost = |lost| Affected { lost, gained: 0 };
        let mut experience = Experience::default();
        (0..20).for_each(|_| experience.learn(causes(5.0), lost(6), 10_000));
        experience.learn_losses(causes(2.0), 8_400, 10_000);
        let few = experience.predict(causes(5.0), 10_000).lost;
        assert!((50..150).contains(&few), "{few}");
        // Many causes are known from one batch.
        experience.learn(causes(4096.0), lost(6_000), 10_000);
        experience.learn(causes(4096.0), lost(6_000), 10_000);
        let many = experience.predict(causes(4096.0), 10_000).lost;
        assert!((5_500..8_500).contains(&many), "{many}");
    }

    #[test]
    fn outlook_does_not_carry_the_growth_of_one_level_on() {
        let mut outlook = Outlook::new(64_000);
        for depth in 10..42 {
            assert!(!outlook.is_due(depth, 30, 30, 30));
        }
        outlook.is_due(42, 30, 30, 40);
        let below = [1000; 30];
        // About 30 in each of 30 levels, of which half is expected.
        let predicted = outlook.predict(30, 40, 0, &below);
        assert!(
            (33 * 30 + 400..33 * 30 + 900).contains(&predicted),
            "{predicted}"
        );
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
