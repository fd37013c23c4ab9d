//! Which crate may use which.

use std::collections::BTreeSet;

use crate::{Finding, Workspace};

/// What this check is called.
pub const NAME: &str = "dependencies";
/// Why there is such a rule.
pub const WHY: &str = "data flows one way, so each crate knows only those to its left";

/// For each crate in `crates/`: the crates of the workspace that it may use. Left to right.
const MAY_USE: &[(&str, &[&str])] = &[
    ("units", &[]),
    ("document", &["units"]),
    ("hugepages", &[]),
    ("workers", &[]),
    ("simd", &[]),
    ("wire", &[]),
    ("guest", &["wire"]),
    ("runtime", &["wire", "guest"]),
    ("dbi", &["wire", "guest"]),
    ("annotate", &[]),
    ("io", &["units"]),
    ("trace", &["units", "io"]),
    ("warp", &["io", "trace"]),
    ("rltrace", &["units", "simd", "workers", "io", "trace"]),
    ("formats", &["units", "io", "trace", "warp", "rltrace"]),
    ("testing", &["units", "io", "trace", "rltrace", "formats"]),
    ("ptx", &["wire", "simd", "workers", "io", "trace", "warp"]),
    ("instrument", &["trace", "warp", "ptx"]),
    ("graph", &["workers"]),
    ("incremental", &["workers", "graph"]),
    (
        "link-prediction",
        &["hugepages", "simd", "workers", "graph"],
    ),
    ("simt", &["units", "workers", "io", "trace", "warp"]),
    ("advice", &[]),
    (
        "gpu-advisor",
        &[
            "units",
            "simd",
            "hugepages",
            "trace",
            "warp",
            "distance",
            "locality",
            "simt",
            "advice",
        ],
    ),
    (
        "cuda",
        &[
            "wire",
            "guest",
            "io",
            "trace",
            "warp",
            "ptx",
            "instrument",
            "gpu-advisor",
        ],
    ),
    ("cuda-driver", &["ptx", "gpu-advisor", "cuda"]),
    (
        "graph-gpu",
        &[
            "workers",
            "graph",
            "incremental",
            "ptx",
            "gpu-advisor",
            "cuda",
        ],
    ),
    (
        "distance-gpu",
        &[
            "units",
            "hugepages",
            "distance",
            "baselines",
            "locality",
            "ptx",
            "cuda",
        ],
    ),
    (
        "presponse",
        &[
            "units",
            "document",
            "workers",
            "io",
            "cuda",
            "cuda-driver",
            "graph",
            "graph-gpu",
            "incremental",
            "link-prediction",
        ],
    ),
    ("distance", &["units", "hugepages", "simd"]),
    (
        "baselines",
        &["units", "hugepages", "simd", "workers", "distance"],
    ),
    ("locality", &["units", "hugepages"]),
    ("profile", &["units", "locality"]),
    ("control-flow", &[]),
    (
        "causes",
        &["units", "hugepages", "distance", "profile", "control-flow"],
    ),
    ("advisor", &["units", "advice", "locality", "profile"]),
    (
        "attribute",
        &["units", "hugepages", "simd", "io", "trace", "profile"],
    ),
    (
        "symbols",
        &["units", "workers", "io", "trace", "profile", "attribute"],
    ),
    ("capture", &["units", "hugepages", "wire", "io", "trace"]),
    ("predict", &["units", "locality", "profile", "control-flow"]),
    ("placement", &["units", "locality", "profile"]),
    ("preload", &["units", "guest", "io", "profile", "placement"]),
    (
        "report",
        &[
            "units",
            "document",
            "warp",
            "locality",
            "profile",
            "advice",
            "advisor",
            "gpu-advisor",
            "placement",
            "preload",
            "predict",
        ],
    ),
    (
        "reuselens",
        &[
            "units",
            "hugepages",
            "io",
            "trace",
            "rltrace",
            "formats",
            "distance",
            "cuda",
            "cuda-driver",
            "distance-gpu",
            "baselines",
            "locality",
            "profile",
            "control-flow",
            "causes",
            "attribute",
            "symbols",
            "capture",
            "predict",
            "workers",
        ],
    ),
    (
        "cli",
        &[
            "units",
            "document",
            "warp",
            "locality",
            "profile",
            "capture",
            "placement",
            "preload",
            "predict",
            "simt",
            "ptx",
            "instrument",
            "advice",
            "advisor",
            "gpu-advisor",
            "cuda",
            "cuda-driver",
            "report",
            "reuselens",
        ],
    ),
];

/// Crates that build scripts compile with plain `rustc`: nothing from elsewhere can be in them.
const CLOSED: [&str; 3] = ["wire", "guest", "runtime"];

/// Development dependencies that point elsewhere, and why: user, used, reason.
const FOR_TESTS: &[(&str, &str, &str)] = &[
    (
        "annotate",
        "reuselens",
        "what a program says of its data is seen by profiling it",
    ),
    ("annotate", "testing", MISSING_TOOLS),
    (
        "report",
        "warp",
        "what is shown of a run is made from records of warps",
    ),
    ("rltrace", "testing", TRACES),
    ("formats", "testing", TRACES),
    ("reuselens", "testing", TRACES),
    (
        "attribute",
        "rltrace",
        "what a compressed row is attributed to is what its rows are",
    ),
    (
        "capture",
        "rltrace",
        "an example measures how fast captured blocks are written",
    ),
    (
        "distance",
        "baselines",
        "the counting tree is held to engines of another make, and measured beside them",
    ),
    ("capture", "testing", MISSING_TOOLS),
    ("ptx", "testing", MISSING_TOOLS),
    ("cuda", "testing", MISSING_TOOLS),
    ("cuda-driver", "testing", MISSING_TOOLS),
    ("distance-gpu", "testing", MISSING_TOOLS),
    ("instrument", "testing", MISSING_TOOLS),
    (
        "instrument",
        "gpu-advisor",
        "loads that pass the L1 by are held to what the model of caches predicts",
    ),
    (
        "distance-gpu",
        "cuda-driver",
        "distances by a driver are held to those of the interpreter",
    ),
    (
        "graph-gpu",
        "cuda-driver",
        "answers by a driver are held to those of the interpreter",
    ),
    ("symbols", "testing", MISSING_TOOLS),
    ("report", "testing", MISSING_TOOLS),
    ("cli", "testing", MISSING_TOOLS),
    ("presponse", "testing", MISSING_TOOLS),
];

const TRACES: &str = "both are tried with the same traces";
const MISSING_TOOLS: &str = "tests fail in CI where a tool is missing";

/// Finds dependencies that the table does not have.
pub fn check(workspace: &Workspace) -> Vec<Finding> {
    workspace
        .crates()
        .into_iter()
        .flat_map(|name| check_crate(workspace, name))
        .collect()
}

fn check_crate(workspace: &Workspace, name: &str) -> Vec<Finding> {
    let file = format!("crates/{name}/Cargo.toml");
    let text = workspace.get(&file).unwrap_or_default();
    let finding = |word: &str, what: String, fix: &str| Finding {
        file: file.clone(),
        line: 1 + text
            .lines()
            .position(|line| line.starts_with(word))
            .unwrap_or(0),
        what,
        why: WHY,
        fix: fix.to_owned(),
    };
    let Some((_, allowed)) = MAY_USE.iter().find(|(known, _)| *known == name) else {
        let fix = "add it to MAY_USE in xtask/src/checks/dependencies.rs and to ARCHITECTURE.md";
        return vec![finding(
            "name",
            format!("the crate '{name}' has no place in the order"),
            fix,
        )];
    };
    let Ok(manifest) = text.parse::<toml::Table>() else {
        return vec![finding("", "this is not TOML".to_owned(), "repair it")];
    };
    let reachable = reachable(name);
    let mut findings = Vec::new();
    for (section, used) in used(&manifest) {
        let Some(ours) = workspace_crate(&used) else {
            if CLOSED.contains(&name) {
                let what = format!("{name} uses {used}, which `rustc` alone cannot find");
                findings.push(finding(&used, what, "do without it"));
            }
            continue;
        };
        let for_tests = section == "dev-dependencies"
            && (reachable.contains(ours)
                || FOR_TESTS
                    .iter()
                    .any(|(user, used, _)| (*user, *used) == (name, ours)));
        if !allowed.contains(&ours) && !for_tests {
            let what = format!("{name} may not use {ours} ([{section}])");
            let fix = "move the code to the crate that may, or take a type from the left";
            findings.push(finding(&used, what, fix));
        }
    }
    findings
}

/// All dependencies, those of targets too, as section and name.
fn used(manifest: &toml::Table) -> Vec<(&'static str, String)> {
    const SECTIONS: [&str; 3] = ["dependencies", "build-dependencies", "dev-dependencies"];
    let targets = manifest.get("target").and_then(toml::Value::as_table);
    let targets = targets.into_iter().flat_map(toml::Table::values);
    let tables = targets.filter_map(toml::Value::as_table).chain([manifest]);
    let mut used = Vec::new();
    for table in tables {
        for section in SECTIONS {
            let names = table.get(section).and_then(toml::Value::as_table);
            used.extend(
                names
                    .into_iter()
                    .flat_map(toml::Table::keys)
                    .map(|n| (section, n.clone())),
            );
        }
    }
    used
}

/// The folder of a crate of this workspace.
fn workspace_crate(package: &str) -> Option<&str> {
    if package == "reuselens" {
        Some(package)
    } else {
        package.strip_prefix("reuselens-")
    }
}

/// Everything to the left of a crate.
fn reachable(name: &str) -> BTreeSet<&'static str> {
    let direct = MAY_USE
        .iter()
        .find(|(known, _)| *known == name)
        .map_or(&[][..], |(_, to)| to);
    direct
        .iter()
        .flat_map(|to| reachable(to).into_iter().chain([*to]))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(name: &str, manifest: &str) -> Vec<String> {
        let file = format!("crates/{name}/Cargo.toml");
        let workspace = Workspace::of(&[(&file, manifest)]);
        check(&workspace)
            .into_iter()
            .map(|finding| finding.what)
            .collect()
    }

    #[test]
    fn the_way_of_the_data_is_allowed_and_the_way_back_is_not() {
        assert_eq!(
            found("trace", "[dependencies]\nreuselens-units.workspace = true"),
            [""; 0]
        );
        let back = "[dependencies]\nreuselens-report.workspace = true";
        assert_eq!(
            found("trace", back),
            ["trace may not use report ([dependencies])"]
        );
        let hidden = "[target.'cfg(unix)'.build-dependencies]\nreuselens = { workspace = true }";
        assert_eq!(
            found("distance", hidden),
            ["distance may not use reuselens ([build-dependencies])"]
        );
    }

    #[test]
    fn tests_may_use_what_is_further_left() {
        assert_eq!(
            found(
                "cli",
                "[dev-dependencies]\nreuselens-distance.workspace = true"
            ),
            [""; 0]
        );
        assert_eq!(
            found(
                "units",
                "[dev-dependencies]\nreuselens-trace.workspace = true"
            )
            .len(),
            1
        );
    }

    #[test]
    fn the_run_time_is_closed_and_new_crates_need_a_place() {
        assert_eq!(
            found("runtime", "[dependencies]\nlibc.workspace = true").len(),
            1
        );
        assert_eq!(found("novel", "[package]\nname = \"x\"").len(), 1);
    }

    #[test]
    fn nothing_is_to_the_left_of_itself() {
        for (name, _) in MAY_USE {
            assert!(!reachable(name).contains(name), "{name}");
        }
    }
}
