//! The engines by name.

use thiserror::Error;

use crate::{BruteForce, CountingTree, Engine, FenwickTree, OlkenTree};

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

/// All engines, the best first; those that are not exact give no distance for each access, so that
/// [`by_name`] does not make them.
pub const ENGINES: &[EngineInfo] = &[
    EngineInfo {
        name: "counting",
        summary: "counting tree on compacted time: the fastest exact engine, 5 to 25 bytes per distinct item",
        exact: true,
        source: "Bennett & Kruskal 1975; Ding & Zhong 2001, section 2.1",
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
        name: "sampled",
        summary: "a sample of the items and bursts of time: any trace in little memory, with a bound on the error",
        exact: false,
        source: "Waldspurger, Park, Garthwaite & Ahmad 2015 (SHARDS)",
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
    /// The engine of this name gives no distance for each access.
    #[error(
        "the engine '{name}' estimates and gives no distance for each access; use an exact one, for instance --engine counting"
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

fn names() -> String {
    let names: Vec<&str> = ENGINES.iter().map(|engine| engine.name).collect();
    names.join(", ")
}

/// A new exact engine of this name; `auto` is the best for a stream of which nothing is known: `counting`.
///
/// # Errors
/// [`EngineError::Unknown`], which lists the names, if there is no such engine; [`EngineError::NotExact`] if
/// it only estimates.
///
/// ```
/// assert_eq!(reuselens_distance::by_name("auto").unwrap().name(), "counting");
/// assert!(reuselens_distance::by_name("quick").is_err());
/// ```
pub fn by_name(name: &str) -> Result<Box<dyn Engine>, EngineError> {
    match name {
        "auto" | "counting" => Ok(Box::new(CountingTree::new())),
        "fenwick" => Ok(Box::new(FenwickTree::new())),
        "olken" => Ok(Box::new(OlkenTree::new())),
        "brute" => Ok(Box::new(BruteForce::new())),
        _ => {
            check_name(name)?;
            Err(EngineError::NotExact {
                name: name.to_owned(),
            })
        }
    }
}

/// Whether there is an engine of this name, exact or not; `auto` is one.
///
/// # Errors
/// [`EngineError::Unknown`], which lists the names, if there is none.
pub fn check_name(name: &str) -> Result<(), EngineError> {
    if name == "auto" || ENGINES.iter().any(|engine| engine.name == name) {
        return Ok(());
    }
    Err(EngineError::Unknown {
        name: name.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_listed_engine_exists_under_its_name() {
        for info in ENGINES {
            assert_eq!(check_name(info.name), Ok(()));
            if !info.exact {
                let message = by_name(info.name).err().unwrap().to_string();
                assert!(message.contains("--engine counting"), "{message}");
                continue;
            }
            assert_eq!(
                by_name(info.name).map(|engine| engine.name()),
                Ok(info.name)
            );
        }
    }

    #[test]
    fn an_unknown_name_lists_the_known_ones() {
        let message = by_name("splay").err().unwrap().to_string();
        for info in ENGINES {
            assert!(message.contains(info.name), "{message}");
        }
    }
}
