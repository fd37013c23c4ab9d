//! `bar.warp.sync` whose lanes are on several paths: those that wait let the others run, as on GPUs
//! since Volta; random programs are held to a calculation without warps.

use std::fmt::Write as _;

use crate::common::body;

use reuselens_ptx::{FaultKind, Ignore, LaunchError, SplitMix64};

/// Runs a body for one warp: `%r1` is where the lane's word of shared memory is, and what it leaves
/// in `%r2` is the lane's result.
fn results(text: &str) -> Result<Vec<u32>, LaunchError> {
    let text = format!(
        "mov.u32 %r1, room;\nmad.lo.u32 %r1, %r0, 4, %r1;\nmov.u32 %r2, 0;\n{text}\n\
         mul.wide.u32 %x9, %r0, 4;\nadd.u64 %x1, %x1, %x9;\nst.global.u32 [%x1], %r2;"
    );
    let (left, _) = body::run(&text, &[vec![0; 128]], 32, &mut Ignore)?;
    let words = left[0].as_chunks::<4>().0;
    Ok(words
        .iter()
        .map(|&bytes| u32::from_le_bytes(bytes))
        .collect())
}

/// The message of the fault that ends a launch.
fn fault(result: Result<Vec<u32>, LaunchError>) -> (FaultKind, String) {
    match result {
        Err(LaunchError::Stopped(error)) => (error.kind(), error.to_string()),
        other => panic!("{other:?}"),
    }
}

/// What lanes below 16 do is in `less`, the others do `more`.
fn sides(less: &str, more: &str) -> String {
    format!("setp.ge.u32 %p1, %r0, 16;\n@%p1 bra MORE;\n{less}\nbra MEET;\nMORE:\n{more}\nMEET:\n")
}

/// Both lanes read what the other wrote before it waited.
const EXCHANGE: &str = "st.shared.u32 [%r1], %r0;\nbar.warp.sync -1;\n\
    xor.b32 %r3, %r0, 16;\nmov.u32 %r4, room;\nmad.lo.u32 %r4, %r3, 4, %r4;\n\
    ld.shared.u32 %r2, [%r4];";

#[test]
fn both_sides_of_a_branch_wait_for_each_other() {
    let found = results(&sides(EXCHANGE, EXCHANGE)).unwrap();
    assert_eq!(found, (0..32).map(|lane| lane ^ 16).collect::<Vec<_>>());
}

#[test]
fn lanes_meet_again_after_they_waited_on_two_sides() {
    let text = sides(EXCHANGE, EXCHANGE) + "activemask.b32 %r2;";
    assert_eq!(results(&text).unwrap(), [u32::MAX; 32]);
    // Nothing but the barrier is on one side.
    let text = sides("bar.warp.sync -1;", "bar.warp.sync -1;") + "activemask.b32 %r2;";
    assert_eq!(results(&text).unwrap(), [u32::MAX; 32]);
}

#[test]
fn lanes_that_have_ended_are_not_waited_for() {
    let written = "st.shared.u32 [%r1], %r0;\nmul.wide.u32 %x8, %r0, 4;\nadd.u64 %x7, %x1, %x8;\n\
        mov.u32 %r5, 7;\nst.global.u32 [%x7], %r5;\nexit;";
    let found = results(&sides(EXCHANGE, written)).unwrap();
    let expected = (0..32).map(|lane| if lane < 16 { lane + 16 } else { 7 });
    assert_eq!(found, expected.collect::<Vec<_>>());
}

/// What `cuda.reduce` of Numba does: those that the branch leaves out go on to the end.
#[test]
fn lanes_beside_a_branch_run_to_their_end_while_others_wait_in_it() {
    let text = "setp.ge.u32 %p1, %r0, 2;\n@%p1 bra BESIDE;\n\
        mov.u32 %r2, 5;\nbar.warp.sync -1;\nadd.u32 %r2, %r2, %r0;\nBESIDE:\n\
        setp.eq.u32 %p2, %r0, 0;\n@!%p2 bra LAST;\nadd.u32 %r2, %r2, 100;\nLAST:\n";
    let found = results(text).unwrap();
    let expected = (0..32).map(|lane| [105, 6].get(lane).copied().unwrap_or(0));
    assert_eq!(found, expected.collect::<Vec<_>>());
}

#[test]
fn barrier_after_the_branch_is_as_good_as_one_in_it() {
    let text = "setp.ge.u32 %p1, %r0, 16;\nst.shared.u32 [%r1], %r0;\n@%p1 bra BESIDE;\n\
        bar.warp.sync -1;\nld.shared.u32 %r2, [%r1+64];\nbra LAST;\nBESIDE:\n\
        bar.warp.sync -1;\nld.shared.u32 %r2, [%r1-64];\nLAST:\n";
    let found = results(text).unwrap();
    assert_eq!(found, (0..32).map(|lane| lane ^ 16).collect::<Vec<_>>());
}

#[test]
fn masks_that_never_agree_are_a_deadlock_with_its_line() {
    let text = sides("bar.warp.sync -1;", "bar.warp.sync 0xfffffffe;");
    let (kind, text) = fault(results(&text));
    assert_eq!(kind, FaultKind::Convergence);
    assert!(
        text.contains("lane 16 by 0xfffffffe, lane 0 by 0xffffffff"),
        "{text}"
    );
    assert!(text.contains("PTX line"), "{text}");
}

#[test]
fn block_barrier_of_lanes_that_others_wait_for_is_an_error() {
    let (kind, _) = fault(results(&sides("bar.warp.sync -1;", "bar.sync 0;")));
    assert_eq!(kind, FaultKind::Barrier);
}

#[test]
fn lanes_that_waited_for_ended_ones_come_to_a_block_barrier_with_the_rest() {
    // Lanes 0 to 15 wait; 24 to 31 end; 16 to 23 come to the barrier of all.
    let text = "setp.ge.u32 %p1, %r0, 24;\n@%p1 exit;\nsetp.ge.u32 %p1, %r0, 16;\n@%p1 bra BESIDE;\n\
        bar.warp.sync 0xff00ffff;\nBESIDE:\nbar.sync 0;\nmov.u32 %r2, 1;";
    let found = results(text).unwrap();
    assert_eq!(found[..24], [1; 24]);
}

#[test]
fn shuffle_of_lanes_that_wait_is_an_error() {
    let shuffle = "shfl.sync.idx.b32 %r2, %r0, 0, 31, -1;";
    let (kind, text) = fault(results(&sides("bar.warp.sync -1;", shuffle)));
    assert_eq!(kind, FaultKind::Convergence);
    assert!(
        text.contains("names lane 0, which is on another path"),
        "{text}"
    );
}

/// Writes programs in which each lane exchanges words with a neighbour `rounds` times, on paths
/// that depend on the lane.
struct Programs {
    random: SplitMix64,
    labels: u32,
    text: String,
}

impl Programs {
    fn write(&mut self, rounds: u64, depth: u32) {
        let is_leaf = depth > 6;
        match self.random.below(4) {
            0 | 1 if !is_leaf => self.branch(rounds, depth),
            2 if rounds > 1 => {
                let first = 1 + self.random.below(rounds - 1);
                self.write(first, depth + 1);
                self.write(rounds - first, depth + 1);
            }
            3 if rounds.is_multiple_of(2) && !is_leaf => {
                let (label, count) = (self.label(), 20 + depth);
                writeln!(self.text, "mov.u32 %r{count}, 0;\nL{label}:").unwrap();
                self.write(rounds / 2, depth + 1);
                writeln!(
                    self.text,
                    "add.u32 %r{count}, %r{count}, 1;\nsetp.lt.u32 %p1, %r{count}, 2;\n\
                     @%p1 bra L{label};"
                )
                .unwrap();
            }
            _ => (0..rounds).for_each(|_| self.round()),
        }
    }

    fn branch(&mut self, rounds: u64, depth: u32) {
        let (other, meet) = (self.label(), self.label());
        let bits = self.random.below(32);
        writeln!(
            self.text,
            "and.b32 %r9, %r0, {bits};\nsetp.eq.u32 %p1, %r9, 0;\n@%p1 bra L{other};"
        )
        .unwrap();
        self.write(rounds, depth + 1);
        writeln!(self.text, "bra L{meet};\nL{other}:").unwrap();
        self.write(rounds, depth + 1);
        writeln!(self.text, "L{meet}:").unwrap();
    }

    /// `sum = sum * 3 + lane` for the neighbour, then `sum = sum * 5 + the neighbour's`.
    fn round(&mut self) {
        self.text.push_str(
            "mad.lo.u32 %r2, %r2, 3, %r0;\nst.shared.u32 [%r1], %r2;\nbar.warp.sync -1;\n\
             add.u32 %r3, %r0, 5;\nand.b32 %r3, %r3, 31;\nmov.u32 %r4, room;\n\
             mad.lo.u32 %r4, %r3, 4, %r4;\nld.shared.u32 %r5, [%r4];\n\
             mad.lo.u32 %r2, %r2, 5, %r5;\nbar.warp.sync -1;\n",
        );
    }

    fn label(&mut self) -> u32 {
        self.labels += 1;
        self.labels
    }
}

#[test]
fn random_paths_exchange_what_lanes_without_paths_do() {
    for seed in 0..200 {
        let mut programs = Programs {
            random: SplitMix64::new(seed),
            labels: 0,
            text: String::new(),
        };
        let rounds = 1 + programs.random.below(8);
        programs.write(rounds, 0);
        let text =
            programs.text + "activemask.b32 %r6;\npopc.b32 %r6, %r6;\nadd.u32 %r2, %r2, %r6;";
        let mut sums = [0u32; 32];
        for _ in 0..rounds {
            let given: [u32; 32] =
                std::array::from_fn(|lane| sums[lane].wrapping_mul(3).wrapping_add(lane as u32));
            sums = std::array::from_fn(|lane| {
                given[lane]
                    .wrapping_mul(5)
                    .wrapping_add(given[(lane + 5) % 32])
            });
        }
        // In the end, all lanes are together again.
        let sums = sums.map(|sum| sum.wrapping_add(32));
        let found = results(&text).unwrap_or_else(|error| panic!("{seed}: {error}\n{text}"));
        assert_eq!(found, sums, "{seed}\n{text}");
    }
}
