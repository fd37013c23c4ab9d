//! The engines by name.

use thiserror::Error;

use crate::{BruteForce, CountingTree, Engine, OlkenTree};

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

/// All engines, the best first.
pub const ENGINES: &[EngineInfo] = &[
    EngineInfo {
        name: "counting",
        summary: "counting tree on compacted time: the fastest exact engine, 33 to 66 bytes per distinct item",
        exact: true,
        source: "Bennett & Kruskal 1975; Ding & Zhong 2001, section 2.1",
    },
    EngineInfo {
        name: "parallel",
        summary: "counting trees on chunks of the trace, one for each thread, put together exactly",
        exact: true,
        source: "Niu, Dinan, Lu & Sadayappan 2012 (PARDA)",
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
    /// The engine takes whole analyses, not columns of items.
    #[error(
        "the engine '{name}' is no engine for items alone: it takes whole analyses; use --engine {name}, or the function `analyze` of the crate reuselens"
    )]
    Whole {
        /// What was asked for.
        name: String,
    },
}

/// Engines of [`ENGINES`] that are more than a stream of items through one [`Engine`].
const WHOLE: &[&str] = &["parallel"];

fn names() -> String {
    let names: Vec<&str> = ENGINES.iter().map(|engine| engine.name).collect();
    names.join(", ")
}

/// A new engine of this name; `auto` is the best for a stream of which nothing is known: `counting`.
///
/// # Errors
/// [`EngineError::Unknown`], which lists the names, if there is no such engine; [`EngineError::Whole`] if it
/// takes whole analyses only.
///
/// ```
/// assert_eq!(reuselens_distance::by_name("auto").unwrap().name(), "counting");
/// assert!(reuselens_distance::by_name("quick").is_err());
/// ```
pub fn by_name(name: &str) -> Result<Box<dyn Engine>, EngineError> {
    match name {
        "auto" | "counting" => Ok(Box::new(CountingTree::new())),
        "olken" => Ok(Box::new(OlkenTree::new())),
        "brute" => Ok(Box::new(BruteForce::new())),
        _ if WHOLE.contains(&name) => Err(EngineError::Whole {
            name: name.to_owned(),
        }),
        _ => Err(EngineError::Unknown {
            name: name.to_owned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_listed_engine_exists_under_its_name() {
        for info in ENGINES {
            let whole = Err(EngineError::Whole {
                name: info.name.to_owned(),
            });
            let found = by_name(info.name).map(|engine| engine.name());
            let expected = if WHOLE.contains(&info.name) {
                whole
            } else {
                Ok(info.name)
            };
            assert_eq!(found, expected);
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
