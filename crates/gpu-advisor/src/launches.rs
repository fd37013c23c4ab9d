//! Statistics over the launches of one kernel in one call path.
//!
//! Memory: the same for any number of launches. Values are added in the order of launches, so equal
//! runs give equal results to the last bit.

/// Count, sum, mean, extremes and deviation of one value per launch, by Welford's method.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Statistic {
    count: u64,
    mean: f64,
    /// Sum of squared differences from the mean.
    squares: f64,
    sum: f64,
    min: f64,
    max: f64,
}

impl Statistic {
    /// Adds the value of a launch.
    pub fn add(&mut self, value: f64) {
        (self.min, self.max) = match self.count {
            0 => (value, value),
            _ => (self.min.min(value), self.max.max(value)),
        };
        self.count += 1;
        self.sum += value;
        let before = value - self.mean;
        self.mean += before / self.count as f64;
        self.squares += before * (value - self.mean);
    }

    /// Adds the launches of another, which come after.
    ///
    /// Source: Chan, Golub & LeVeque 1979.
    pub fn merge(&mut self, other: &Statistic) {
        if self.count == 0 {
            *self = *other;
            return;
        }
        if other.count == 0 {
            return;
        }
        let (mine, theirs) = (self.count as f64, other.count as f64);
        let apart = other.mean - self.mean;
        self.squares += other.squares + apart * apart * mine * theirs / (mine + theirs);
        self.mean += apart * theirs / (mine + theirs);
        self.count += other.count;
        self.sum += other.sum;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// Number of launches.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Sum of the values.
    pub fn sum(&self) -> f64 {
        self.sum
    }

    /// Mean; 0 without launches.
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// The least value; 0 without launches.
    pub fn min(&self) -> f64 {
        self.min
    }

    /// The greatest value; 0 without launches.
    pub fn max(&self) -> f64 {
        self.max
    }

    /// Standard deviation of the launches, as they are (divided by their number). 0 without any.
    pub fn deviation(&self) -> f64 {
        match self.count {
            0 => 0.0,
            count => (self.squares / count as f64).max(0.0).sqrt(),
        }
    }
}

/// What is counted of each launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LaunchMetric {
    /// Instructions that warps executed; only of launches where that is known.
    WarpInstructions,
    /// Instructions of threads for each instruction of a warp; 32 if no warp diverges.
    LanesPerInstruction,
    /// Requests of global memory.
    GlobalRequests,
    /// Sectors of global memory.
    Sectors,
    /// Sectors above the ideal.
    ExcessiveSectors,
    /// Sectors for each request.
    SectorsPerRequest,
    /// Requests of shared memory.
    SharedRequests,
    /// Wavefronts of shared memory above the ideal.
    BankConflicts,
    /// Share of the loads' sectors that the modelled L1 had, in percent.
    L1HitRate,
    /// Share of the sectors that the modelled L2 had, in percent.
    L2HitRate,
    /// Mean finite reuse distance of loads in a block, in lines.
    ReuseDistance,
    /// Divergent executions of basic blocks, in percent.
    BranchDivergence,
}

impl LaunchMetric {
    /// All of them, in the order of reports.
    pub const ALL: [LaunchMetric; 12] = [
        LaunchMetric::WarpInstructions,
        LaunchMetric::LanesPerInstruction,
        LaunchMetric::GlobalRequests,
        LaunchMetric::Sectors,
        LaunchMetric::ExcessiveSectors,
        LaunchMetric::SectorsPerRequest,
        LaunchMetric::SharedRequests,
        LaunchMetric::BankConflicts,
        LaunchMetric::L1HitRate,
        LaunchMetric::L2HitRate,
        LaunchMetric::ReuseDistance,
        LaunchMetric::BranchDivergence,
    ];

    /// Its name in reports and files.
    pub const fn name(self) -> &'static str {
        match self {
            LaunchMetric::WarpInstructions => "warp instructions",
            LaunchMetric::LanesPerInstruction => "active lanes",
            LaunchMetric::GlobalRequests => "global requests",
            LaunchMetric::Sectors => "sectors",
            LaunchMetric::ExcessiveSectors => "excessive sectors",
            LaunchMetric::SectorsPerRequest => "sectors/request",
            LaunchMetric::SharedRequests => "shared requests",
            LaunchMetric::BankConflicts => "bank conflicts",
            LaunchMetric::L1HitRate => "L1 hit rate %",
            LaunchMetric::L2HitRate => "L2 hit rate %",
            LaunchMetric::ReuseDistance => "reuse distance",
            LaunchMetric::BranchDivergence => "branch divergence %",
        }
    }
}

/// Statistics of all metrics. A launch that has no value of one (a hit rate without loads) is
/// missing from that metric's count.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LaunchStatistics {
    /// Launches.
    pub launches: u64,
    rows: [Statistic; LaunchMetric::ALL.len()],
}

impl LaunchStatistics {
    /// The statistic of a metric.
    pub fn of(&self, metric: LaunchMetric) -> &Statistic {
        &self.rows[metric as usize]
    }

    /// Adds a launch with the value of each metric, where it has one.
    pub(crate) fn add(&mut self, value: impl Fn(LaunchMetric) -> Option<f64>) {
        self.launches += 1;
        for metric in LaunchMetric::ALL {
            if let Some(value) = value(metric) {
                self.rows[metric as usize].add(value);
            }
        }
    }

    /// Adds the launches of another, which come after.
    pub fn merge(&mut self, other: &LaunchStatistics) {
        self.launches += other.launches;
        for (row, more) in self.rows.iter_mut().zip(&other.rows) {
            row.merge(more);
        }
    }
}
