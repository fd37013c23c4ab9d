//! Rust programs that use this crate, built by cargo as their authors would, with and without the
//! feature, run alone and profiled.

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use common::{
    alone, elements, items, line, object, profile, profile_with, source, touches, warnings,
};
use reuselens::attribute::NamesMode;
use reuselens::profile::{Dimension, ObjectKind, Outcome, Profile};

/// The folder of the programs, built with and without `record`.
fn programs(record: bool) -> PathBuf {
    static BUILT: [OnceLock<PathBuf>; 2] = [OnceLock::new(), OnceLock::new()];
    BUILT[usize::from(record)]
        .get_or_init(|| build(record))
        .clone()
}

/// A package of its own, outside of the workspace, that depends on this crate by its path.
fn build(record: bool) -> PathBuf {
    let home = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("names-record-{record}"));
    let binary = |name: &str, path: PathBuf| {
        format!(
            "[[bin]]\nname = \"{name}\"\npath = {:?}\n",
            path.to_str().unwrap()
        )
    };
    let manifest = [
        "[workspace]\n[package]\nname = \"programs\"\nversion = \"0.0.0\"\nedition = \"2024\"\n"
            .to_owned(),
        binary("saxpy", home.join("examples/saxpy.rs")),
        binary("kernels", source("kernels.rs")),
        binary("threads", source("threads.rs")),
        // With lines, as it would be measured, and optimised, so that wrappers are inlined.
        "[profile.dev]\nopt-level = 2\n[lints.rust]\nwarnings = \"deny\"\n".to_owned(),
        format!(
            "[dependencies.reuselens-annotate]\npath = {:?}\n",
            home.to_str().unwrap()
        ),
        if record {
            "features = [\"record\"]\n".to_owned()
        } else {
            String::new()
        },
    ];
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("Cargo.toml"), manifest.concat()).unwrap();
    let output = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--offline", "--target-dir", "target"])
        .current_dir(&folder)
        // Builds of this project may leave lines out; these programs need theirs.
        .env_remove("CARGO_PROFILE_DEV_DEBUG")
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    folder.join("target/debug")
}

fn kernels() -> &'static Profile {
    static PROFILE: OnceLock<Profile> = OnceLock::new();
    PROFILE.get_or_init(|| profile(&programs(true).join("kernels")).unwrap())
}

#[test]
fn annotated_program_runs_without_reuselens() {
    for record in [false, true] {
        let folder = programs(record);
        assert_eq!(alone(&folder.join("kernels")), "done\n");
        assert_eq!(alone(&folder.join("threads")), "Some(199980000)\n");
        assert_eq!(alone(&folder.join("saxpy")), "saxpy 1000: 4500\n");
    }
}

#[test]
fn program_without_the_feature_has_no_calls() {
    for name in ["kernels", "threads", "saxpy"] {
        for record in [false, true] {
            let program = programs(record).join(name);
            let bytes = std::fs::read(&program).unwrap();
            let has = |text: &[u8]| bytes.windows(text.len()).any(|window| window == text);
            assert_eq!(has(b"RecordAccess"), record, "{name}");
            assert_eq!(has(b"recordaccess_"), record, "{name}");
            assert_eq!(has(b"__tsan_"), record, "{name}");
        }
        assert!(profile(&programs(false).join(name)).is_none(), "{name}");
    }
}

#[test]
fn each_element_is_counted() {
    let profile = kernels();
    assert_eq!(profile.outcome, Outcome::Exit(0));
    assert_eq!(warnings(profile), [""; 0]);
    let all = |range: std::ops::Range<u64>, count| range.map(|i| (i, count)).collect::<Vec<_>>();
    assert_eq!(elements(profile, "a"), all(0..10, 2));
    assert_eq!(elements(profile, "particles"), [(0, 1), (2, 3), (3, 1)]);
    assert_eq!(elements(profile, "matrix"), [(0, 1), (19, 1)]);
    assert_eq!(elements(profile, "whole"), [(1, 1), (5, 1), (7, 1)]);
    assert_eq!(elements(profile, "list"), all(0..6, 1));
    assert_eq!(elements(profile, "old"), [(7, 1)]);
    for (name, bytes, element) in [
        ("a", 80, 8),
        ("particles", 96, 24),
        ("matrix", 128, 4),
        ("whole", 32, 4),
        ("list", 12, 2),
        ("old", 8000, 8),
    ] {
        let object = object(profile, name);
        assert_eq!(
            (object.kind, object.blocks),
            (ObjectKind::Named, 1),
            "{name}"
        );
        assert_eq!(
            (object.bytes, object.element_bytes),
            (bytes, element),
            "{name}"
        );
    }
    assert_eq!(profile.references, 20 + 5 + 2 + 3 + 6 + 2 + 1 + 3);
}

#[test]
fn access_to_a_part_counts_as_the_element() {
    let touches = |name| touches(kernels(), Dimension::Object, name);
    assert_eq!(touches("a"), 20 * 8);
    assert_eq!(touches("particles"), 5 * 24);
    assert_eq!(touches("matrix"), 2 * 4);
}

#[test]
fn accesses_have_the_line_of_the_call() {
    let profile = kernels();
    let touches = |mark| {
        let name = format!("kernels.rs:{}", line(&source("kernels.rs"), mark));
        touches(profile, Dimension::Line, &name)
    };
    assert_eq!(touches("// line: read"), 80);
    assert_eq!(touches("// line: write"), 80);
    assert_eq!(touches("// line: unnamed"), 1);
    assert_eq!(touches("// line: new"), 3);
    for site in &profile.sites[1..] {
        assert!(site.frames[0].file.ends_with("kernels.rs"), "{site:?}");
        assert_eq!(site.kind, "named");
    }
}

#[test]
fn accesses_to_unnamed_data_are_counted() {
    let profile = kernels();
    let of = |kind: ObjectKind| -> u64 {
        let counted = profile.cells.iter();
        let of_kind = counted.filter(|cell| profile.objects[cell.object as usize].kind == kind);
        of_kind.map(|cell| cell.histogram.accesses()).sum()
    };
    // A byte each: of `local` on the stack, and of three blocks that came after `old`.
    assert_eq!(of(ObjectKind::Stack), 2);
    assert_eq!(of(ObjectKind::Heap), 3);
    assert_eq!(of(ObjectKind::Unknown), 0);
}

#[test]
fn statement_mode_counts_an_element_once() {
    let options = items(8, NamesMode::Statement);
    let profile = profile_with(&programs(true).join("kernels"), &options).unwrap();
    assert_eq!(
        elements(&profile, "a"),
        (0..10).map(|i| (i, 1)).collect::<Vec<_>>()
    );
    assert_eq!(touches(&profile, Dimension::Object, "a"), 10);
}

#[test]
fn accesses_of_all_threads_are_counted() {
    let profile = profile(&programs(true).join("threads")).unwrap();
    assert_eq!(profile.references, 40_000);
    let threads = profile.groups(Dimension::Thread);
    let touches: Vec<_> = threads.iter().map(|thread| thread.accesses).collect();
    assert_eq!(touches, [80_000; 4]);
    let expected: Vec<_> = (0..10_000).map(|i| (i, 4)).collect();
    assert_eq!(elements(&profile, "part"), expected);
    let part = object(&profile, "part");
    assert_eq!(part.blocks, 4);
    assert_eq!(warnings(&profile), [""; 0]);
}

#[test]
fn example_has_its_documented_distances() {
    let options = items(8, NamesMode::Instruction);
    let profile = profile_with(&programs(true).join("saxpy"), &options).unwrap();
    assert_eq!((profile.references, profile.histogram.cold()), (6000, 2000));
    // A sweep touches 2000 elements; x[i] and y[i] come back after the 1999 others.
    assert_eq!(
        profile.histogram.iter().collect::<Vec<_>>(),
        [(0, 2000), (1999, 2000)]
    );
    assert_eq!(profile.groups(Dimension::Line).len(), 3);
}
