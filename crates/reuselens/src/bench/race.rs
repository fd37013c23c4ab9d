//! Contenders take turns on one stream.

use std::time::Duration;

use reuselens_distance::Simd;
use reuselens_locality::error::{average_bin_error, total_variation};
use reuselens_locality::{ExactHistogram, Log2Histogram};
use reuselens_profile::EngineStep;
use reuselens_units::Bytes;
use serde::Serialize;

use super::clock::Elapsed;
use super::contender::Run;
use super::{BenchError, Contender};

/// The name of the baseline.
const BASELINE: &str = "olken";

/// What one contender took for a stream.
#[derive(Clone, Debug, Serialize)]
pub struct Timing {
    /// Its name.
    pub name: String,
    /// How often it ran.
    pub runs: u32,
    /// Median processor time of a run, in seconds.
    pub seconds: f64,
    /// Whether there was a run for which the machine had a processor most of the time. If not, the
    /// other numbers say nothing.
    pub measurable: bool,
    /// References per second, in millions.
    pub mega_references_per_second: f64,
    /// How many times as fast as Olken's tree, if that took part and both are measurable.
    pub ratio_to_olken: Option<f64>,
    /// Its rate as a share of the bound's, if that took part and both are measurable.
    pub share_of_bound: Option<f64>,
    /// Bytes that the engine holds at the end, per distinct item.
    pub bytes_per_item: Option<f64>,
    /// Of an approximate engine: how far its histogram is from that of the exact ones, if one took
    /// part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ApproximationError>,
    /// How long each step took in the fastest run, if the engine has steps.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<EngineStep>,
}

/// How far the histogram of an approximate engine is from the exact one, over the log2 bins.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct ApproximationError {
    /// The factor of the last step: the distinct items by the sum of those of the chunks.
    pub factor: f64,
    /// The average error of a bin (Cui et al. 2012, section V-C).
    pub average_bin: f64,
    /// The same without the last step, which adjusts.
    pub average_bin_not_adjusted: f64,
    /// The share of the accesses that are in another bin.
    pub total_variation: f64,
    /// The same without the last step.
    pub total_variation_not_adjusted: f64,
}

/// The contenders on one stream.
#[derive(Clone, Debug, Serialize)]
pub struct Heat {
    /// What the stream is called.
    pub stream: String,
    /// Its length.
    pub references: u64,
    /// Its distinct items.
    pub distinct: u64,
    /// In the order of the contenders.
    pub timings: Vec<Timing>,
}

impl Heat {
    /// The timing of a contender.
    pub fn of(&self, name: &str) -> Option<&Timing> {
        self.timings.iter().find(|timing| timing.name == name)
    }

    /// The longest of the median times.
    pub(crate) fn slow(&self, name: &str, seconds: f64) -> bool {
        self.of(name).is_some_and(|timing| timing.seconds > seconds)
    }
}

/// How often each runs.
#[derive(Clone, Copy, Debug)]
pub struct Race {
    /// Runs of each contender.
    pub repetitions: u32,
    /// Whoever takes longer than this for one run does not run again: what takes that long varies
    /// little.
    pub patience: Duration,
    /// Vector instructions that they may use, at most.
    pub simd: Simd,
}

impl Race {
    /// `repetitions` runs of each (1 at least), one of those who take more than five seconds.
    pub fn new(repetitions: u32) -> Self {
        Race {
            repetitions: repetitions.max(1),
            patience: Duration::from_secs(5),
            simd: Simd::best(),
        }
    }

    /// Runs all contenders over the items. `tick` is told the references done, after each run.
    ///
    /// # Errors
    /// If exact engines count different distances, or there is no such engine.
    pub fn run(
        &self,
        stream: &str,
        items: &[u64],
        contenders: &[Contender],
        tick: &mut dyn FnMut(u64),
    ) -> Result<Heat, BenchError> {
        let mut tracks: Vec<Track> = contenders.iter().map(|_| Track::default()).collect();
        let mut expected: Option<(&Contender, ExactHistogram)> = None;
        for _ in 0..self.repetitions {
            for (contender, track) in contenders.iter().zip(&mut tracks) {
                if track.runs.iter().any(|run| run.time > self.patience) {
                    continue;
                }
                let run = contender.run(items, self.simd)?;
                tick(items.len() as u64);
                let histogram = track.take(run, contender.is_exact());
                let Some(histogram) = histogram else { continue };
                match &expected {
                    Some((_, expected)) if *expected == histogram => {}
                    None => expected = Some((contender, histogram)),
                    Some((other, _)) => {
                        return Err(BenchError::Disagree {
                            one: contender.name().to_owned(),
                            other: other.name().to_owned(),
                            stream: stream.to_owned(),
                        });
                    }
                }
            }
        }
        let exact = expected.map(|(_, histogram)| histogram);
        Ok(heat(
            stream,
            items.len() as u64,
            exact.as_ref(),
            contenders,
            &tracks,
        ))
    }
}

/// The runs of one contender.
#[derive(Default)]
struct Track {
    runs: Vec<Elapsed>,
    memory: Option<Bytes>,
    /// Those of the fastest run.
    steps: Vec<EngineStep>,
    /// What an approximate engine counted.
    approximate: Option<ApproximateTrack>,
}

/// The histograms of an approximate engine.
struct ApproximateTrack {
    adjusted: Log2Histogram,
    /// Before the last step.
    merged: Log2Histogram,
    /// That of the last step.
    factor: f64,
}

impl Track {
    /// Keeps what is to be said of a run. Returns the histogram of an exact engine.
    fn take(&mut self, run: Run, is_exact: bool) -> Option<ExactHistogram> {
        if self.runs.iter().all(|other| run.elapsed.time < other.time) {
            self.steps = run.steps;
        }
        self.runs.push(run.elapsed);
        self.memory = run.memory;
        let histogram = run.histogram?;
        if is_exact {
            return Some(histogram);
        }
        self.approximate = run.merged.map(|merged| ApproximateTrack {
            adjusted: histogram.log2(),
            merged: merged.histogram.log2(),
            factor: merged.factor,
        });
        None
    }

    /// How far an approximate histogram is from the exact one.
    fn error(&self, exact: &ExactHistogram) -> Option<ApproximationError> {
        let found = self.approximate.as_ref()?;
        let exact = exact.log2();
        Some(ApproximationError {
            factor: found.factor,
            average_bin: average_bin_error(&exact, &found.adjusted),
            average_bin_not_adjusted: average_bin_error(&exact, &found.merged),
            total_variation: total_variation(&exact, &found.adjusted),
            total_variation_not_adjusted: total_variation(&exact, &found.merged),
        })
    }

    /// Whether any of them says something.
    fn measurable(&self) -> bool {
        self.runs.iter().any(|run| run.measurable)
    }

    /// The median time of those that say something, of all if none does; of an even number the mean
    /// of the two in the middle. Never zero.
    fn seconds(&self) -> f64 {
        let runs = self.runs.iter();
        let runs = runs.filter(|run| run.measurable == self.measurable());
        let mut times: Vec<f64> = runs.map(|run| run.time.as_secs_f64()).collect();
        times.sort_by(f64::total_cmp);
        let middle = times.len() / 2;
        let median = match times.len() {
            0 => 0.0,
            odd if odd % 2 == 1 => times[middle],
            _ => (times[middle - 1] + times[middle]) / 2.0,
        };
        median.max(1e-9)
    }
}

fn heat(
    stream: &str,
    references: u64,
    exact: Option<&ExactHistogram>,
    contenders: &[Contender],
    tracks: &[Track],
) -> Heat {
    let distinct = exact.map_or(0, ExactHistogram::cold);
    let seconds_of = |name: &str| {
        let at = contenders.iter().position(|one| one.name() == name)?;
        tracks[at].measurable().then(|| tracks[at].seconds())
    };
    let (olken, bound) = (seconds_of(BASELINE), seconds_of(&Contender::Bound.name()));
    let of = |track: &Track, ratio: Option<f64>| ratio.filter(|_| track.measurable());
    let timing = |(contender, track): (&Contender, &Track)| {
        let seconds = track.seconds();
        Timing {
            name: contender.name(),
            runs: track.runs.len() as u32,
            seconds,
            measurable: track.measurable(),
            mega_references_per_second: references as f64 / seconds / 1e6,
            ratio_to_olken: of(track, olken.map(|olken| olken / seconds)),
            share_of_bound: of(track, bound.map(|bound| bound / seconds)),
            bytes_per_item: track
                .memory
                .map(|memory| memory.get() as f64 / distinct.max(1) as f64),
            error: exact.and_then(|exact| track.error(exact)),
            steps: track.steps.clone(),
        }
    };
    Heat {
        stream: stream.to_owned(),
        references,
        distinct,
        timings: contenders.iter().zip(tracks).map(timing).collect(),
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;

    use reuselens_units::Distance;

    use super::*;
    use crate::{DeviceChoice, EngineChunks};

    fn track(seconds: &[u64]) -> Track {
        let runs = seconds.iter().map(|s| Elapsed {
            time: Duration::from_secs(*s),
            measurable: true,
        });
        Track {
            runs: runs.collect(),
            memory: Some(Bytes(700)),
            ..Track::default()
        }
    }

    /// The histogram of a stream of seven items.
    fn seven_items() -> ExactHistogram {
        let mut histogram = ExactHistogram::new();
        histogram.add(Distance::COLD, 7);
        histogram
    }

    #[test]
    fn medians_become_ratios() {
        let contenders = ["counting", "olken", "bound"].map(|name| Contender::named(name).unwrap());
        let tracks = [track(&[5, 2, 3]), track(&[30]), track(&[1, 2])];
        let heat = heat("s", 6_000_000, Some(&seven_items()), &contenders, &tracks);
        let counting = heat.of("counting").unwrap();
        assert_eq!((counting.runs, counting.seconds), (3, 3.0));
        assert_eq!(counting.mega_references_per_second, 2.0);
        assert_eq!(counting.ratio_to_olken, Some(10.0));
        assert_eq!(counting.share_of_bound, Some(0.5));
        assert_eq!(counting.bytes_per_item, Some(100.0));
        assert!(heat.slow("olken", 29.0) && !heat.slow("olken", 31.0));
    }

    #[test]
    fn runs_that_say_nothing_count_only_where_there_are_no_others() {
        let mut busy = track(&[1, 4]);
        busy.runs[0].measurable = false;
        assert!(busy.measurable());
        assert_eq!(busy.seconds(), 4.0);
        busy.runs[1].measurable = false;
        assert!(!busy.measurable());
        assert_eq!(busy.seconds(), 2.5);
    }

    #[test]
    fn what_is_not_measurable_has_no_ratio() {
        let contenders = ["counting", "olken", "bound"].map(|name| Contender::named(name).unwrap());
        let mut tracks = [track(&[2]), track(&[30]), track(&[1])];
        let ratios = |tracks: &[Track]| {
            let heat = heat("s", 100, Some(&seven_items()), &contenders, tracks);
            let timings = heat.timings.into_iter();
            let ratios = timings.map(|one| (one.ratio_to_olken, one.share_of_bound));
            ratios.collect::<Vec<_>>()
        };
        tracks[1].runs[0].measurable = false;
        assert_eq!(ratios(&tracks)[0], (None, Some(0.5)));
        assert_eq!(ratios(&tracks)[1], (None, None));
        tracks[0].runs[0].measurable = false;
        assert_eq!(ratios(&tracks)[0], (None, None));
        assert_eq!(ratios(&tracks)[2], (None, Some(1.0)));
    }

    #[test]
    fn without_a_baseline_there_is_no_ratio() {
        let contenders = [Contender::named("counting").unwrap()];
        let items = [1, 2, 1, 1];
        let heat = Race::new(1).run("s", &items, &contenders, &mut |_| {});
        let heat = heat.unwrap();
        assert_eq!((heat.references, heat.distinct), (4, 2));
        assert_eq!(heat.timings[0].ratio_to_olken, None);
        assert_eq!(heat.timings[0].share_of_bound, None);
    }

    #[test]
    fn engines_in_chunks_have_an_error_and_steps() {
        let items: Vec<u64> = (0..20_000_u64).map(|at| at * at % 1009).collect();
        let chunks = [10, 5_000].map(|accesses| EngineChunks {
            accesses: Some(accesses),
            ..EngineChunks::default()
        });
        let mut contenders = vec![Contender::named("counting").unwrap()];
        for name in ["hp-rda", "hp-rda-gpu", "gpu"] {
            let contender = Contender::named(name).unwrap();
            contenders.extend(contender.in_chunks(
                &chunks,
                &[NonZeroUsize::MIN],
                DeviceChoice::Interpreter,
            ));
        }
        let heat = Race::new(1).run("s", &items, &contenders, &mut |_| {});
        let heat = heat.unwrap();
        let of = |name: &str, chunk: u32| heat.of(&format!("{name}, chunks of {chunk}")).unwrap();
        assert!(heat.of("counting").unwrap().error.is_none());
        for name in ["hp-rda", "hp-rda-gpu"] {
            let [small, large] = [10, 5_000].map(|chunk| of(name, chunk).error.unwrap());
            assert!(small.average_bin_not_adjusted > large.average_bin_not_adjusted);
            assert_eq!(
                small.average_bin,
                of("hp-rda", 10).error.unwrap().average_bin
            );
            let steps: Vec<&str> = of(name, 10).steps.iter().map(|step| &*step.step).collect();
            assert!(steps.ends_with(&["thread merge", "block merge", "adjust"]));
        }
        // The race has compared its histogram with that of the other.
        assert!(of("gpu", 10).error.is_none());
        assert_eq!(of("gpu", 10).steps[0].step, "transfer");
    }

    #[test]
    fn whoever_is_slow_runs_once_and_the_others_go_on() {
        let race = Race {
            repetitions: 3,
            patience: Duration::ZERO,
            simd: Simd::best(),
        };
        let mut ticks = 0;
        let heat = race.run("s", &[1; 100], &Contender::exact(), &mut |done| {
            ticks += done
        });
        let heat = heat.unwrap();
        assert!(heat.timings.iter().all(|timing| timing.runs == 1));
        assert_eq!(ticks, 100 * heat.timings.len() as u64);
    }
}
