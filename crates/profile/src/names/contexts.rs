//! Names of calling contexts: the functions on the way, as `main > solve > sweep`.

use super::known::known;
use crate::Context;

/// Levels of a calling context that are named at each end; more in between are only counted.
const SHOWN: usize = 16;
/// The function of the GNU C library's dynamic loader that does all it does before the program
/// begins.
const LOADER_START: &str = "_dl_start";
/// The name of a function without one.
const UNKNOWN: &str = "(unknown function)";

/// `main > solve > sweep`, for each context. Cost: linear in the contexts, however deep they are.
///
/// What the dynamic loader does before the program's first instruction is one name.
pub(super) fn contexts(contexts: &[Context]) -> Vec<String> {
    // Calls on the path to each context, itself among them, and the context where the path has
    // `SHOWN` of them.
    let mut depths = vec![0_usize; contexts.len()];
    let mut tops = vec![0_usize; contexts.len()];
    // Contexts in which the dynamic loader prepares the program.
    let mut starts = vec![false; contexts.len()];
    let mut names: Vec<String> = Vec::with_capacity(contexts.len());
    for at in 0..contexts.len() {
        // Parents come first; what claims otherwise has none.
        let parent = contexts[at].parent as usize;
        let parent = if parent < at { parent } else { 0 };
        if at > 0 {
            depths[at] = depths[parent] + 1;
            tops[at] = match depths[at] {
                SHOWN => at,
                _ => tops[parent],
            };
            let begins = depths[at] == 1 && contexts[at].function == LOADER_START;
            starts[at] = starts[parent] || begins;
        }
        let skipped = depths[at].saturating_sub(2 * SHOWN);
        let function = known(&contexts[at].function, UNKNOWN);
        let name = match (depths[at], skipped) {
            _ if starts[at] => "start-up: dynamic loader".to_owned(),
            (0, _) => "(root)".to_owned(),
            (1, _) => function.to_owned(),
            // The name of the caller has all functions of its path.
            (_, 0) => [&names[parent], function].join(" > "),
            _ => format!(
                "{} > ({skipped} more) > {}",
                names[tops[at]],
                path(contexts, at, SHOWN)
            ),
        };
        names.push(name);
    }
    names
}

/// The last `calls` functions on the path to a context that has as many.
fn path(contexts: &[Context], node: usize, calls: usize) -> String {
    let caller = |node: &usize| {
        #[cfg(test)]
        tests::STEPS.set(tests::STEPS.get() + 1);
        Some(contexts[*node].parent as usize)
    };
    let path = std::iter::successors(Some(node), caller).take(calls);
    let mut path: Vec<&str> = path
        .map(|node| known(&contexts[node].function, UNKNOWN))
        .collect();
    path.reverse();
    path.join(" > ")
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use crate::names::names;
    use crate::{Context, Dimension, testing};

    thread_local! {
        /// Steps to callers that this thread took.
        pub(super) static STEPS: Cell<usize> = const { Cell::new(0) };
    }

    #[test]
    fn context_names_take_linear_time_however_deep() {
        const DEEP: u32 = 300_000;
        let mut profile = testing::profile();
        profile.contexts = (0..DEEP)
            .map(|at| Context {
                parent: at.saturating_sub(1),
                function: format!("f{at}"),
                ..Context::default()
            })
            .collect();
        STEPS.set(0);
        let all = names(&profile, Dimension::Context);
        // What is named before is used again: only the lower end of each path is walked.
        assert!(STEPS.get() <= 16 * DEEP as usize, "{}", STEPS.get());
        let last = &all[DEEP as usize - 1];
        assert!(
            last.starts_with("f1 > f2 > ") && last.ends_with(" > f299998 > f299999"),
            "{last}"
        );
        assert!(last.contains("(299967 more)"), "{last}");
        // The tree has all of them too, each at the depth of the one before and one.
        let tree = profile.context_tree(64);
        assert_eq!(tree[DEEP as usize - 1].depth, DEEP as usize - 1);
        let accesses = profile.histogram.accesses();
        assert_eq!(tree[0].inclusive.accesses, accesses);
    }

    #[test]
    fn dynamic_loader_start_is_one_context() {
        let mut profile = testing::profile();
        let context = |parent, function: &str| Context {
            parent,
            function: function.into(),
            ..Context::default()
        };
        profile.contexts = vec![
            context(0, "(root)"),
            context(0, "_dl_start"),
            context(1, "dl_main"),
            context(0, "main"),
            context(3, "_dl_start"),
        ];
        let start = "start-up: dynamic loader";
        assert_eq!(
            names(&profile, Dimension::Context),
            ["(root)", start, start, "main", "main > _dl_start"]
        );
    }
}
