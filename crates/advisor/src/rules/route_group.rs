//! [`RouteGroup`]: reuses that one change would shorten. A loop that carries reuses of several
//! arrays is one finding, not one for each array and line.

use reuselens_advice::Finding;
use reuselens_units::{counted, grouped};

use super::list;
use crate::facts::{MissFacts, ReuseRoute, SinkSums, total};

/// Reuses that are described one by one; the others are summed up.
const MOST_DESCRIBED: usize = 4;

/// A route that a rule applies to, and the sums of its sinks.
pub(super) type MeantRoute<'f, 'a> = (&'f ReuseRoute<'a>, SinkSums);

/// Routes that one change is for, the most misses first.
pub(super) struct RouteGroup<'f, 'a>(Vec<MeantRoute<'f, 'a>>);

/// The findings of a rule on routes: one for each group of those that the rule applies to and that
/// have the same `key`. `applies` gives the sums of a route's sinks, or `None`.
pub(super) fn findings<'f, 'a, K: PartialEq>(
    facts: &'f MissFacts<'a>,
    applies: impl Fn(&ReuseRoute<'a>) -> Option<SinkSums>,
    key: impl Fn(&'f ReuseRoute<'a>) -> K,
    finding: impl Fn(&RouteGroup<'f, 'a>) -> Option<Finding>,
) -> Vec<Finding> {
    let routes = facts.routes.iter();
    let meant = routes.filter_map(|route| Some((route, applies(route)?)));
    let groups = RouteGroup::by_key(meant, key);
    groups.iter().filter_map(finding).collect()
}

impl<'f, 'a> RouteGroup<'f, 'a> {
    /// The routes in groups of those with the same `key`, in the order of the heaviest one of each.
    fn by_key<K: PartialEq>(
        routes: impl Iterator<Item = MeantRoute<'f, 'a>>,
        key: impl Fn(&'f ReuseRoute<'a>) -> K,
    ) -> Vec<Self> {
        let mut groups: Vec<Self> = Vec::new();
        for route in routes {
            let mut known = groups.iter_mut();
            match known.find(|group| key(group.heaviest().0) == key(route.0)) {
                Some(group) => group.0.push(route),
                None => groups.push(RouteGroup(vec![route])),
            }
        }
        groups
    }

    /// The route with the most misses.
    pub fn heaviest(&self) -> &MeantRoute<'f, 'a> {
        &self.0[0]
    }

    /// All routes, the most misses first.
    pub fn routes(&self) -> impl Iterator<Item = &MeantRoute<'f, 'a>> {
        self.0.iter()
    }

    /// The names of the objects, those of the heaviest routes first: `a, b and 2 more`.
    pub fn objects(&self, facts: &MissFacts<'_>) -> String {
        let mut names: Vec<&str> = Vec::new();
        for (route, _) in &self.0 {
            let name = facts.object(route.object).name.as_str();
            if !names.contains(&name) {
                names.push(name);
            }
        }
        list(&names, MOST_DESCRIBED)
    }

    /// A sentence for each of the heaviest routes, then one for the others together.
    pub fn evidence(&self, sentence: impl Fn(&MeantRoute<'f, 'a>) -> String) -> Vec<String> {
        let described = self.0.len().min(MOST_DESCRIBED);
        let (heaviest, others) = self.0.split_at(described);
        let mut sentences: Vec<String> = heaviest.iter().map(sentence).collect();
        if !others.is_empty() {
            let misses = total(others.iter().map(|(route, _)| route.misses));
            let more = counted(others.len() as u64, "more pair", "more pairs");
            sentences.push(format!(
                "{more} of a line and an object: {} such reuses.",
                grouped(misses)
            ));
        }
        sentences
    }
}
