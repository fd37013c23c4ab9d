//! [`ShownProfile`]: a profile, and what several of its outputs share.

use std::sync::OnceLock;

use reuselens_advisor::MissAdvice;
use reuselens_profile::{Grouping, Profile};

/// A profile that is shown in several ways. Groups and findings are made with the first output
/// that needs them, and kept; outputs can be made at the same time.
pub struct ShownProfile<'a> {
    grouping: Grouping<'a>,
    advice: OnceLock<MissAdvice>,
}

impl<'a> ShownProfile<'a> {
    /// A profile of which nothing was shown yet. Costs nothing.
    pub fn new(profile: &'a Profile) -> Self {
        ShownProfile {
            grouping: profile.grouping(),
            advice: OnceLock::new(),
        }
    }

    /// The profile.
    pub fn profile(&self) -> &'a Profile {
        self.grouping.profile()
    }

    /// What to change, and what is not known. Cost of the first call: that of
    /// [`advise`](reuselens_advisor::advise).
    pub fn advice(&self) -> &MissAdvice {
        self.advice
            .get_or_init(|| reuselens_advisor::advise(self.profile()))
    }

    pub(crate) fn grouping(&self) -> &Grouping<'a> {
        &self.grouping
    }
}
