//! [`GroupSums`]: what the groups of a prediction sum to, beside the prediction of the program; a
//! warning if the two contradict each other.

use reuselens_profile::Warning;
use serde::Serialize;

use crate::group::GroupForecast;
use crate::prediction::{CacheForecast, GroupMisses};
use crate::program::By;

/// The sums of all groups, beside the prediction of the program.
///
/// Accesses of all groups are those of the program. Misses need not be equal: the program is
/// predicted by thousandths of its reuses, each group by its own patterns. How much they differ is
/// a test of both that needs no other run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct GroupSums {
    /// Accesses of the groups that can be predicted.
    pub accesses: f64,
    /// Of the accesses of the largest training run, the share in groups of which nothing can be
    /// predicted.
    pub unpredictable: f64,
    /// The share in groups that are predicted from the larger ones of the training runs, since they
    /// have other patterns in a smaller one. No confidence can be stated of their distances if
    /// those are two.
    pub fewer: f64,
    /// By cache.
    pub caches: Vec<CacheSums>,
}

/// If the misses of the groups sum to this many times those of the program, the two contradict each
/// other.
const TOO_MUCH: f64 = 2.0;

/// Misses of fewer than this share of the accesses contradict nothing: one of the thousand parts of
/// a program.
const TOO_FEW: f64 = 1e-3;

/// Groups that cannot be predicted are worth a warning from this share of the accesses on.
const MUCH: f64 = 0.1;

/// Misses in one cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct CacheSums {
    /// Of all groups, if it is fully associative. Those that cannot be predicted have their cold
    /// accesses.
    pub misses: u64,
    /// With its sets and ways, where they are known.
    pub with_sets: Option<f64>,
    /// Of the program, if it is fully associative.
    #[serde(rename = "whole")]
    pub program: f64,
}

impl GroupSums {
    /// Sums groups that were predicted from `runs` training runs, beside a program of the expected
    /// accesses. Cost: linear in groups and caches.
    pub(crate) fn of(
        groups: &[(GroupForecast, Vec<GroupMisses>)],
        accesses: f64,
        caches: &[CacheForecast],
        training: usize,
    ) -> Self {
        // An empty sum of floating-point numbers is -0, which would be printed.
        let sum = |numbers: &mut dyn Iterator<Item = f64>| numbers.fold(0.0, |a, b| a + b);
        let ok = groups.iter().filter(|(group, _)| group.patterns.is_ok());
        let failed = groups.iter().filter(|(group, _)| group.patterns.is_err());
        let failed = sum(&mut failed.map(|(group, _)| group.trained as f64));
        let fewer = ok.clone().filter(|(group, _)| group.runs < training);
        let fewer = sum(&mut fewer.map(|(group, _)| group.trained as f64));
        let all = sum(&mut groups.iter().map(|(group, _)| group.trained as f64));
        let of = |(at, cache): (usize, &CacheForecast)| {
            let here = || groups.iter().filter_map(|(_, misses)| misses.get(at));
            CacheSums {
                misses: here()
                    .map(|misses| misses.misses)
                    .fold(0, u64::saturating_add),
                with_sets: here()
                    .map(|misses| misses.with_sets)
                    .try_fold(0.0, |a, b| Some(a + b?)),
                program: cache.miss_ratio.value * accesses,
            }
        };
        GroupSums {
            accesses: sum(&mut ok.map(|(group, _)| group.accesses.value)),
            unpredictable: if all > 0.0 { failed / all } else { 0.0 },
            fewer: if all > 0.0 { fewer / all } else { 0.0 },
            caches: caches.iter().enumerate().map(of).collect(),
        }
    }

    /// The warning that much of the program is in groups that cannot be predicted.
    pub(crate) fn unpredictable(&self, by: By) -> Option<Warning> {
        let (what, hint) = match by {
            By::Line => (
                "lines",
                "--by instruction: a line whose patterns differ from run to run has instructions of which most do not",
            ),
            By::Instruction => (
                "instructions",
                "believe the whole program; or profile with --by path and ask for it here: on each path to it an instruction does one thing",
            ),
            By::Path(_) => (
                "paths",
                "believe the whole program; or profile larger inputs",
            ),
        };
        (self.unpredictable > MUCH).then(|| Warning {
            code: "unpredictable".to_owned(),
            message: format!(
                "{:.1} % of the accesses of the largest training run are of {what} whose distances cannot be predicted; their misses, with a \
                 question mark, are as if they missed as often as there",
                100.0 * self.unpredictable
            ),
            hint: hint.to_owned(),
        })
    }

    /// The warning that the groups have far more misses than the program, of which they are parts:
    /// the distances of one or the other grow out of proportion.
    pub(crate) fn warning(&self, program: f64, caches: &[CacheForecast]) -> Option<Warning> {
        let mut found = Vec::new();
        for (sum, cache) in self.caches.iter().zip(caches) {
            let misses = sum.misses as f64;
            if misses > TOO_MUCH * sum.program.max(TOO_FEW * program) {
                let times = misses / sum.program.max(1.0);
                found.push(format!("{times:.1} times its misses in {}", cache.name));
            }
        }
        (!found.is_empty()).then(|| Warning {
            code: "parts-exceed-whole".to_owned(),
            message: format!(
                "the parts of the program were predicted to have {}: distances of some grow out of proportion",
                found.join(", ")
            ),
            hint: "believe the whole program, and of parts which misses most; or profile larger inputs".to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Unpredictable;
    use crate::estimate::Estimate;
    use crate::group::GroupRun;

    fn group(trained: u64, accesses: f64, predictable: bool) -> GroupForecast {
        GroupForecast {
            name: String::new(),
            trained,
            runs: 2,
            accesses: Estimate {
                value: accesses,
                ..Estimate::default()
            },
            cold: Estimate::default(),
            patterns: if predictable {
                Ok(Vec::new())
            } else {
                Err(Unpredictable::Missing(vec![0]))
            },
            below_zero: false,
            rare: Vec::new(),
            trained_run: GroupRun::default(),
        }
    }

    #[test]
    fn sums_leave_out_and_report_unpredictable_lines() {
        let misses = |misses, with_sets| GroupMisses {
            misses,
            with_sets,
            misses_from: None,
            as_trained: None,
        };
        let groups = [
            (group(30, 300.0, true), vec![misses(7, Some(7.5))]),
            (group(40, 400.0, true), vec![misses(5, Some(1.0))]),
            (group(30, 0.0, false), Vec::new()),
        ];
        let cache = || CacheForecast {
            name: "L1d".to_owned(),
            items: 8,
            miss_ratio: Estimate {
                value: 0.02,
                ..Estimate::default()
            },
            with_sets: None,
        };
        let sums = GroupSums::of(&groups, 1000.0, &[cache()], 2);
        assert_eq!((sums.accesses, sums.unpredictable), (700.0, 0.3));
        let expected = CacheSums {
            misses: 12,
            with_sets: Some(8.5),
            program: 20.0,
        };
        assert_eq!(sums.caches, [expected]);
        let nothing = GroupSums::of(&groups[..1], 1000.0, &[], 2).unpredictable;
        assert_eq!(nothing.to_string(), "0");
        assert_eq!(GroupSums::of(&[], 0.0, &[], 2).accesses.to_string(), "0");
        assert_eq!(sums.warning(1000.0, &[cache()]), None);
        let told = |by| sums.unpredictable(by).map(|warning| warning.hint);
        assert!(told(By::Line).is_some_and(|hint| hint.contains("--by instruction")));
        assert!(told(By::Instruction).is_some_and(|hint| hint.contains("--by path")));
        let few = GroupSums::default();
        assert_eq!(few.unpredictable(By::Line), None);
        // All are from two of three runs: none from all.
        let fewer = |training| GroupSums::of(&groups, 1000.0, &[], training).fewer;
        assert_eq!((fewer(2), fewer(3)), (0.0, 0.7));
        let more = GroupSums {
            caches: vec![CacheSums {
                misses: 60,
                ..expected
            }],
            ..sums
        };
        let warning = more.warning(1000.0, &[cache()]).unwrap();
        let said = "predicted to have 3.0 times its misses in L1d";
        assert!(warning.message.contains(said), "{}", warning.message);
    }
}
