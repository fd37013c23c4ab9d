//! [`GroupChanges`]: how the misses of each group differ between two profiles. Groups are matched
//! by name.

use std::collections::BTreeMap;

use crate::{Dimension, Group, Profile};

/// What one group of accesses costs before and after.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupChange {
    /// Its name.
    pub name: String,
    /// The group before; `None` if there was none of this name.
    pub before: Option<Group>,
    /// The group after; `None` if there is none of this name.
    pub after: Option<Group>,
    /// Its misses before in the cache that was asked about; 0 without a group.
    pub before_misses: u64,
    /// Its misses after.
    pub after_misses: u64,
}

impl GroupChange {
    /// How many more misses there are after; negative if fewer.
    pub fn change(&self) -> i128 {
        i128::from(self.after_misses) - i128::from(self.before_misses)
    }

    /// Its misses before; `None` without a group.
    pub fn known_before(&self) -> Option<u64> {
        self.before.as_ref().map(|_| self.before_misses)
    }

    /// Its misses after; `None` without a group.
    pub fn known_after(&self) -> Option<u64> {
        self.after.as_ref().map(|_| self.after_misses)
    }
}

/// The changes of all groups of one dimension.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupChanges {
    /// What was grouped by.
    pub by: Dimension,
    /// Size of the fully associative LRU cache in items.
    pub items: u64,
    /// Groups that are in both, those that change most first, then by name.
    pub both: Vec<GroupChange>,
    /// Groups that are only before, most misses first.
    pub only_before: Vec<GroupChange>,
    /// Groups that are only after, most misses first.
    pub only_after: Vec<GroupChange>,
}

impl GroupChanges {
    /// Matches the groups of two profiles by name, and compares their misses in a cache of `items`
    /// items. A line that moved to another number counts as two groups.
    pub fn between(before: &Profile, after: &Profile, by: Dimension, items: u64) -> Self {
        let mut changes: BTreeMap<String, GroupChange> = BTreeMap::new();
        for group in before.groups(by) {
            let change = changes
                .entry(group.name.clone())
                .or_insert_with_key(|name| unmatched(name));
            change.before_misses = group.misses(items);
            change.before = Some(group);
        }
        for group in after.groups(by) {
            let change = changes
                .entry(group.name.clone())
                .or_insert_with_key(|name| unmatched(name));
            change.after_misses = group.misses(items);
            change.after = Some(group);
        }
        let mut sorted: Vec<GroupChange> = changes.into_values().collect();
        // Stable: those that change alike stay in the order of their names.
        sorted.sort_by_key(|change| std::cmp::Reverse(change.change().unsigned_abs()));
        let (both, single): (Vec<_>, Vec<_>) = sorted
            .into_iter()
            .partition(|change| change.before.is_some() && change.after.is_some());
        let (only_before, only_after) = single
            .into_iter()
            .partition(|change| change.before.is_some());
        GroupChanges {
            by,
            items,
            both,
            only_before,
            only_after,
        }
    }

    /// Replaces the misses of each group by what `misses` counts: those of a cache with sets, for
    /// instance. The lists keep their order.
    pub fn recount(&mut self, misses: impl Fn(&Group) -> u64) {
        let all = self.both.iter_mut();
        let all = all.chain(&mut self.only_before).chain(&mut self.only_after);
        for change in all {
            change.before_misses = change.before.as_ref().map_or(0, &misses);
            change.after_misses = change.after.as_ref().map_or(0, &misses);
        }
    }

    /// All groups: those in both profiles, those only before, those only after.
    pub fn into_groups(self) -> impl Iterator<Item = GroupChange> {
        let all = self.both.into_iter();
        all.chain(self.only_before).chain(self.only_after)
    }

    /// The groups whose misses change, the largest changes first. Groups that change alike keep
    /// the order of [`Self::into_groups`].
    pub fn by_size(self) -> Vec<GroupChange> {
        let changed = self.into_groups().filter(|group| group.change() != 0);
        let mut changed: Vec<GroupChange> = changed.collect();
        changed.sort_by_key(|group| std::cmp::Reverse(group.change().unsigned_abs()));
        changed
    }
}

fn unmatched(name: &str) -> GroupChange {
    GroupChange {
        name: name.to_owned(),
        before: None,
        after: None,
        before_misses: 0,
        after_misses: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn groups_match_by_name() {
        let (before, mut after) = (testing::profile(), testing::profile());
        after.objects[1].name = "table (new.c)".into();
        testing::add_cell(&mut after, [2, 2, 1, 0], [400, 500, 600, 70].into_iter());
        let changes = GroupChanges::between(&before, &after, Dimension::Object, 64);
        let names =
            |changes: &[GroupChange]| changes.iter().map(|c| c.name.clone()).collect::<Vec<_>>();
        assert_eq!(
            names(&changes.both),
            ["heap from solve (b.c:5)", "(unknown object)"]
        );
        assert_eq!((changes.both[0].change(), changes.both[1].change()), (4, 0));
        assert_eq!(names(&changes.only_before), ["table (a.c)"]);
        assert_eq!(names(&changes.only_after), ["table (new.c)"]);
        assert_eq!(
            changes.only_before[0].before_misses,
            changes.only_after[0].after_misses
        );
        let backward = GroupChanges::between(&after, &before, Dimension::Object, 64);
        assert_eq!(backward.both[0].change(), -4);
    }

    #[test]
    fn by_size_lists_changed_groups_of_all_three_lists() {
        let (before, mut after) = (testing::profile(), testing::profile());
        after.objects[1].name = "table (new.c)".into();
        testing::add_cell(&mut after, [2, 2, 1, 0], [400, 500, 600, 70].into_iter());
        let mut changes = GroupChanges::between(&before, &after, Dimension::Object, 64);
        let by_size = changes.clone().by_size();
        let changed = |group: &&GroupChange| group.change() != 0;
        assert!(by_size.iter().all(|group| changed(&group)));
        assert!(by_size.is_sorted_by_key(|group| std::cmp::Reverse(group.change().abs())));
        let all = [&changes.both, &changes.only_before, &changes.only_after];
        let expected = all.into_iter().flatten().filter(changed).count();
        assert_eq!(by_size.len(), expected);
        let of = |name: &str| by_size.iter().find(|group| group.name == name).unwrap();
        let gone = of("table (a.c)");
        assert_eq!(gone.known_before(), Some(gone.before_misses));
        assert_eq!(gone.known_after(), None);
        // Counted anew, the order is that of the new counts.
        changes.recount(|group| group.accesses);
        let by_accesses = changes.by_size();
        let first = by_accesses.first().unwrap();
        assert_eq!(
            first.before_misses,
            first.before.as_ref().map_or(0, |g| g.accesses)
        );
        assert!(by_accesses.is_sorted_by_key(|group| std::cmp::Reverse(group.change().abs())));
    }
}
