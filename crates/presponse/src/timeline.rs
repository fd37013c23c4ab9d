//! [`Timeline`]: sums of consecutive batches, in few windows however many batches there are.

/// The most windows.
pub const WINDOWS: usize = 128;

/// What a window keeps of its batches.
pub trait Merge: Default {
    /// Adds what another window has.
    fn merge(&mut self, other: &Self);
}

/// Sums of consecutive batches in at most [`WINDOWS`] windows of equally many batches; as more
/// come, windows are merged in pairs.
#[derive(Clone, Debug)]
pub struct Timeline<T> {
    windows: Vec<Window<T>>,
    /// Batches per window.
    length: u64,
}

/// Consecutive batches.
#[derive(Clone, Debug)]
pub struct Window<T> {
    /// Their count.
    pub batches: u64,
    /// Their sums.
    pub sums: T,
}

impl<T> Default for Timeline<T> {
    fn default() -> Self {
        Self {
            windows: Vec::new(),
            length: 1,
        }
    }
}

impl<T: Merge> Timeline<T> {
    /// Counts a batch: `add` adds it to the sums of its window.
    pub fn add(&mut self, add: impl FnOnce(&mut T)) {
        if self.is_full() && self.windows.len() == WINDOWS {
            self.halve();
        }
        if self.is_full() {
            let sums = T::default();
            self.windows.push(Window { batches: 0, sums });
        }
        if let Some(window) = self.windows.last_mut() {
            window.batches += 1;
            add(&mut window.sums);
        }
    }

    /// Whether the next batch begins a window.
    fn is_full(&self) -> bool {
        let last = self.windows.last();
        last.is_none_or(|last| last.batches >= self.length)
    }

    /// The windows, in order. All but the last have equally many batches.
    pub fn windows(&self) -> &[Window<T>] {
        &self.windows
    }

    fn halve(&mut self) {
        let mut merged: Vec<Window<T>> = Vec::with_capacity(WINDOWS);
        for (at, window) in std::mem::take(&mut self.windows).into_iter().enumerate() {
            match merged.last_mut().filter(|_| at % 2 == 1) {
                Some(last) => {
                    last.batches += window.batches;
                    last.sums.merge(&window.sums);
                }
                None => merged.push(window),
            }
        }
        self.windows = merged;
        self.length *= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Batches(Vec<u64>);

    impl Merge for Batches {
        fn merge(&mut self, other: &Self) {
            self.0.extend(&other.0);
        }
    }

    #[test]
    fn timeline_keeps_all_batches_in_few_windows() {
        let mut timeline = Timeline::<Batches>::default();
        for batch in 0..1000 {
            timeline.add(|sums| sums.0.push(batch));
        }
        let windows = timeline.windows();
        assert!(windows.len() <= WINDOWS && windows.len() > WINDOWS / 3);
        let all: Vec<u64> = windows
            .iter()
            .flat_map(|window| window.sums.0.clone())
            .collect();
        assert!(all.into_iter().eq(0..1000));
        let counts = windows.iter().map(|window| window.batches);
        assert_eq!(counts.sum::<u64>(), 1000);
        let lengths = windows.iter().map(|window| window.sums.0.len() as u64);
        assert!(windows.iter().map(|window| window.batches).eq(lengths));
    }
}
