//! Where the time of an engine on a device goes.

use std::ops::AddAssign;
use std::time::{Duration, Instant};

use reuselens_baselines::HpRdaTimes;

/// The time of each step of [`GpuExact`](crate::GpuExact), as a clock on the wall has it: a device
/// returns from a call when the work is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExactTimes {
    /// Bringing items to the device, and results back.
    pub transfer: Duration,
    /// Sorting references by item.
    pub sort: Duration,
    /// Finding the previous reference of each, and their order.
    pub previous: Duration,
    /// Dominance counting.
    pub dominance: Duration,
    /// Counting distances on the device, where a histogram is asked for.
    pub histogram: Duration,
    /// On the processor: first references of a chunk to items of earlier chunks.
    pub resolve: Duration,
}

impl ExactTimes {
    /// The steps by their names, the transfer first.
    pub fn steps(&self) -> [(&'static str, Duration); 6] {
        [
            ("transfer", self.transfer),
            ("sort", self.sort),
            ("previous", self.previous),
            ("dominance", self.dominance),
            ("histogram", self.histogram),
            ("resolve", self.resolve),
        ]
    }

    /// All steps together, transfers among them.
    pub fn total(&self) -> Duration {
        self.steps().iter().map(|(_, time)| time).sum()
    }
}

impl AddAssign for ExactTimes {
    fn add_assign(&mut self, other: Self) {
        self.transfer += other.transfer;
        self.sort += other.sort;
        self.previous += other.previous;
        self.dominance += other.dominance;
        self.histogram += other.histogram;
        self.resolve += other.resolve;
    }
}

/// The time of each step of [`HpRdaGpu`](crate::HpRdaGpu), as a clock on the wall has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HpRdaGpuTimes {
    /// Bringing items to the device, and distances back.
    pub transfer: Duration,
    /// The steps that the publication has.
    pub steps: HpRdaTimes,
}

impl HpRdaGpuTimes {
    /// The steps by their names, the transfer first.
    pub fn steps(&self) -> impl Iterator<Item = (&'static str, Duration)> {
        [("transfer", self.transfer)]
            .into_iter()
            .chain(self.steps.steps())
    }

    /// All steps together, transfers among them.
    pub fn total(&self) -> Duration {
        self.transfer + self.steps.total()
    }
}

/// Does something, and adds how long it takes.
pub(crate) fn timed<T>(total: &mut Duration, work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let done = work();
    *total += start.elapsed();
    done
}
