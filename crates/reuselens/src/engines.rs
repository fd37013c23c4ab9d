//! The engines by name: what `--engine` takes.
//!
//! They are of three kinds: exact engines that take items alone, which [`by_name`] makes (of crate
//! `distance` the one that is used, of crate `baselines` those of the literature); `gpu`, whose
//! distances come by the chunk; and the approximate ones.

use reuselens_baselines::{BruteForce, FenwickTree, OlkenTree};
use reuselens_distance::{CountingTree, Engine};
use thiserror::Error;

/// What there is to say about an engine in a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EngineInfo {
    /// The name that `--engine` takes.
    pub name: &'static str,
    /// One line: what it is and when to use it.
    pub summary: &'static str,
    /// Whether its distances are exact.
    pub exact: bool,
    /// Where it is published.
    pub source: &'static str,
}

impl EngineInfo {
    /// Whether [`by_name`] makes it: exact, and fed with items alone.
    pub fn takes_items(&self) -> bool {
        self.exact && !WHOLE.contains(&self.name)
    }
}

/// All engines: the exact ones, the best first, then the approximate ones, which give no distance
/// for each access as they go, so that [`by_name`] does not make them.
pub const ENGINES: &[EngineInfo] = &[
    EngineInfo {
        name: "counting",
        summary: "counting tree on compacted time: the fastest exact engine, 4 to 28 bytes per distinct item",
        exact: true,
        source: "Bennett & Kruskal 1975; Ding & Zhong 2001, section 2.1; on several threads Niu, Dinan, Lu & Sadayappan 2012",
    },
    EngineInfo {
        name: "fenwick",
        summary: "hash map and Fenwick tree on compacted time: what most tools have, a second baseline",
        exact: true,
        source: "Fenwick 1994; Bennett & Kruskal 1975",
    },
    EngineInfo {
        name: "olken",
        summary: "balanced tree by last access time: the sequential baseline of the literature",
        exact: true,
        source: "Olken 1981",
    },
    EngineInfo {
        name: "brute",
        summary: "the LRU stack as a list: an oracle for short traces, slow on all others",
        exact: true,
        source: "Mattson, Gecsei, Slutz & Traiger 1970",
    },
    EngineInfo {
        name: "gpu",
        summary: "dominance counting by CUDA kernels, in chunks that a device has memory for: a GPU, or the interpreter if --device names it",
        exact: true,
        source: "Bennett & Kruskal 1975; Bentley 1980, section 2",
    },
    EngineInfo {
        name: "sampled",
        summary: "a sample of the items and bursts of time: any trace in little memory, with a bound on the error",
        exact: false,
        source: "Waldspurger, Park, Garthwaite & Ahmad 2015 (SHARDS)",
    },
    EngineInfo {
        name: "hp-rda",
        summary: "chunks on several threads, distances between them as sums: to compare with the literature",
        exact: false,
        source: "Cui, Yi, Xue, Wang, Yang & Feng 2012",
    },
    EngineInfo {
        name: "hp-rda-gpu",
        summary: "hp-rda by CUDA kernels, as it was published: the same distances",
        exact: false,
        source: "Cui, Yi, Xue, Wang, Yang & Feng 2012",
    },
];

/// An engine that there is not.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum EngineError {
    /// No engine has this name.
    #[error(
        "there is no engine '{name}'; the engines are auto, {}: use for instance --engine auto",
        names()
    )]
    Unknown {
        /// What was asked for.
        name: String,
    },
    /// No engine has this name any more.
    #[error(
        "the engine '{name}' is called {now} now, which does the same on all threads; use --engine {now}, or leave --engine out"
    )]
    Renamed {
        /// What was asked for.
        name: String,
        /// What does the same.
        now: &'static str,
    },
    /// The engine takes whole analyses, not columns of items.
    #[error(
        "the engine '{name}' is no engine for items alone: it takes whole analyses, as `reuselens analyze --engine {name}` or the function `analyze` of the crate reuselens does"
    )]
    Whole {
        /// What was asked for.
        name: String,
    },
    /// The engine gives its results late, and is not made by [`by_name`].
    #[error(
        "the engine '{name}' is approximate and gives no distance per access as it goes; use for instance --engine auto"
    )]
    NotExact {
        /// What was asked for.
        name: String,
    },
    /// A rate was given to an engine that does not sample.
    #[error(
        "the engine '{name}' looks at every access, so there is no rate to sample at; use --engine sampled, or leave --sample out"
    )]
    NotSampled {
        /// What was asked for.
        name: String,
    },
}

/// Engines of [`ENGINES`] that are more than a stream of items through one [`Engine`].
const WHOLE: &[&str] = &["gpu"];
/// A name that there was, and the one that it has now.
const RENAMED: (&str, &str) = ("parallel", "counting");

fn names() -> String {
    let names: Vec<&str> = ENGINES.iter().map(|engine| engine.name).collect();
    names.join(", ")
}

/// What the list says of an engine; `auto` is its first.
///
/// # Errors
/// [`EngineError::Unknown`], which lists the names, if there is no such engine;
/// [`EngineError::Renamed`] if there was one.
pub fn find(name: &str) -> Result<&'static EngineInfo, EngineError> {
    let (old, now) = RENAMED;
    if name == old {
        let name = name.to_owned();
        return Err(EngineError::Renamed { name, now });
    }
    let found = ENGINES
        .iter()
        .find(|engine| name == "auto" || engine.name == name);
    found.ok_or_else(|| EngineError::Unknown {
        name: name.to_owned(),
    })
}

/// A new exact engine of this name; `auto` is the best for a stream of which nothing is known:
/// `counting`.
///
/// # Errors
/// As [`find`]; [`EngineError::NotExact`] for the approximate ones, which have types of their own;
/// [`EngineError::Whole`] for what takes whole analyses only.
///
/// ```
/// assert_eq!(reuselens::engines::by_name("auto").unwrap().name(), "counting");
/// assert!(reuselens::engines::by_name("quick").is_err());
/// ```
pub fn by_name(name: &str) -> Result<Box<dyn Engine>, EngineError> {
    match name {
        "auto" | "counting" => Ok(Box::new(CountingTree::new())),
        "fenwick" => Ok(Box::new(FenwickTree::new())),
        "olken" => Ok(Box::new(OlkenTree::new())),
        "brute" => Ok(Box::new(BruteForce::new())),
        _ if WHOLE.contains(&name) => Err(EngineError::Whole {
            name: name.to_owned(),
        }),
        _ => Err(EngineError::NotExact {
            name: find(name)?.name.to_owned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_engine_for_items_exists_under_its_name() {
        for info in ENGINES {
            let name = info.name.to_owned();
            let expected = match (WHOLE.contains(&info.name), info.exact) {
                (true, _) => Err(EngineError::Whole { name }),
                (false, false) => Err(EngineError::NotExact { name }),
                (false, true) => Ok(info.name),
            };
            assert_eq!(find(info.name), Ok(info));
            assert_eq!(info.takes_items(), expected.is_ok(), "{}", info.name);
            assert_eq!(by_name(info.name).map(|engine| engine.name()), expected);
        }
    }

    #[test]
    fn an_old_name_is_refused_with_the_new_one() {
        let message = by_name(RENAMED.0).err().unwrap().to_string();
        assert!(message.contains("--engine counting"), "{message}");
    }

    #[test]
    fn an_unknown_name_lists_the_known_ones() {
        let message = by_name("splay").err().unwrap().to_string();
        for info in ENGINES {
            assert!(message.contains(info.name), "{message}");
        }
    }
}
