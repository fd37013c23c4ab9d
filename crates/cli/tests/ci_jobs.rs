//! The jobs of `docs/ci.md`, run as they stand there: without a base, with one, and with a change
//! that breaks a limit.

use std::path::Path;
use std::process::Command;

use crate::common::{Done, Place, source};

/// The page, from the checkout.
fn page() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/ci.md");
    std::fs::read_to_string(root).unwrap()
}

/// The block of code that begins with this comment, without it.
fn block<'a>(page: &'a str, name: &str) -> &'a str {
    let (_, rest) = page.split_once(&format!("\n# {name}\n")).unwrap();
    rest.split_once("\n```").unwrap().0
}

/// The scripts of a job for GitHub, one for each step with `run`.
fn github(page: &str) -> Vec<String> {
    let mut scripts = Vec::new();
    let mut lines = block(page, ".github/workflows/locality.yml")
        .lines()
        .peekable();
    while let Some(line) = lines.next() {
        if line.trim() == "run: |" {
            let mut script = String::new();
            while let Some(line) = lines.next_if(|line| line.starts_with("          ")) {
                script.push_str(line.trim_start());
                script.push('\n');
            }
            scripts.push(script);
        }
    }
    scripts
}

/// The lines of `script` of a job for GitLab, which one shell runs.
fn gitlab(page: &str) -> Vec<String> {
    let job = block(page, ".gitlab-ci.yml");
    let (_, script) = job.split_once("\n  script:\n").unwrap();
    let lines = script.lines().map_while(|line| line.strip_prefix("    - "));
    vec![lines.collect::<Vec<_>>().join("\n")]
}

/// A checkout in which jobs find what they name, and the base, if there is one.
fn checkout(page: &str, base: Option<&[u8]>) -> Place {
    let place = Place::new();
    place.write(
        "multiply.c",
        std::fs::read(source("matmul/matmul.c")).unwrap(),
    );
    for name in ["limits.toml", "changes.toml"] {
        place.write(name, block(page, name));
    }
    if let Some(base) = base {
        place.write("base.rlprof", base);
    }
    place
}

/// Runs the scripts until one fails, as a runner does.
fn run(place: &Place, scripts: &[String]) -> Done {
    let command = Path::new(env!("CARGO_BIN_EXE_reuselens")).parent().unwrap();
    let path = format!("{}:{}", command.display(), std::env::var("PATH").unwrap());
    let mut last = None;
    for script in scripts {
        let mut bash = Command::new("bash");
        bash.args(["-e", "-o", "pipefail", "-c", script])
            .current_dir(place.path("."))
            .env("PATH", &path)
            .env("GITHUB_STEP_SUMMARY", place.path("summary.md"))
            .envs([("CI_COMMIT_BRANCH", "main"), ("CI_DEFAULT_BRANCH", "main")]);
        let done = Done::of(&mut bash);
        if done.code != 0 {
            return done;
        }
        last = Some(done);
    }
    last.unwrap()
}

#[test]
fn the_jobs_of_the_page_run() {
    let page = page();
    for (name, scripts, steps) in [("github", github(&page), 6), ("gitlab", gitlab(&page), 1)] {
        assert_eq!(scripts.len(), steps, "{name}: {scripts:?}");
        let first = checkout(&page, None);
        run(&first, &scripts).succeeds();
        let base = first.read("base.rlprof");
        let second = checkout(&page, Some(&base));
        run(&second, &scripts).succeeds();
        // A larger product has more data.
        let changed: Vec<String> = scripts
            .iter()
            .map(|script| script.replace("naive 60", "naive 80"))
            .collect();
        let third = checkout(&page, Some(&base));
        run(&third, &changed)
            .ends_with(3)
            .says(&["limit broken: distinct > +5 %"]);
        let shown = match name {
            "github" => ["summary.md", "locality.sarif"],
            _ => ["limits.xml", "gl-code-quality-report.json"],
        };
        for file in shown {
            assert!(!third.text(file).is_empty(), "{name}: {file}");
        }
        if name == "github" {
            let summary = third.text("summary.md");
            for words in [
                "### Locality: `base.rlprof` → `now.rlprof`",
                "| distinct data |",
                "**broken**",
            ] {
                assert!(summary.contains(words), "{words}: {summary}");
            }
        } else {
            assert!(third.text("limits.xml").contains("<failure message="));
        }
    }
}
