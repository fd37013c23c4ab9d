//! [`Rounding`]: whole counts of predicted ones.

/// Rounds counts so that none is lost over many: what one is rounded by, the next makes up for.
#[derive(Debug, Default)]
pub(crate) struct Rounding {
    owed: f64,
}

impl Rounding {
    /// A count as a whole number.
    pub fn whole(&mut self, count: f64) -> u64 {
        let with = count + self.owed;
        let whole = with.round().max(0.0);
        self.owed = with - whole;
        whole as u64
    }
}
