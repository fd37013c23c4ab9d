//! [`ByKind`]: sums over requests, for loads, stores and atomic operations each.

use reuselens_warp::WarpKind;

/// Sums over requests, to which those of other requests can be added.
pub trait RequestSums: Clone {
    /// Adds the requests of another.
    fn merge(&mut self, other: &Self);
}

/// Sums over requests, for each kind of request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ByKind<T> {
    /// Of loads.
    pub loads: T,
    /// Of stores.
    pub stores: T,
    /// Of atomic operations.
    pub atomics: T,
}

impl<T: RequestSums> ByKind<T> {
    /// The sums of one kind.
    #[inline(always)]
    pub fn of(&mut self, kind: WarpKind) -> &mut T {
        match kind {
            WarpKind::Load => &mut self.loads,
            WarpKind::Store => &mut self.stores,
            WarpKind::Atomic => &mut self.atomics,
        }
    }

    /// Stores and atomic operations together.
    pub fn writes(&self) -> T {
        let mut writes = self.stores.clone();
        writes.merge(&self.atomics);
        writes
    }

    /// Loads, stores and atomic operations together.
    pub fn all(&self) -> T {
        let mut all = self.loads.clone();
        all.merge(&self.stores);
        all.merge(&self.atomics);
        all
    }

    /// Adds the requests of another, kind by kind.
    pub fn merge(&mut self, other: &ByKind<T>) {
        self.loads.merge(&other.loads);
        self.stores.merge(&other.stores);
        self.atomics.merge(&other.atomics);
    }
}
