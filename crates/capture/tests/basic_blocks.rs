//! Tests of basic blocks: they follow the program's branches, and leave other rows as they are.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use reuselens_capture::{Capture, Launch, Running};
use reuselens_trace::{BasicBlock, Block, BlockEnd, Kind, Row, Source, Step};

/// Builds `branches.c` so that its own code lies low, without blocks of ours.
fn build(folder: &Path) -> PathBuf {
    let source = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../programs/rewrite/branches.c"
    );
    let program = folder.join("branches");
    let built = Command::new("gcc")
        .args(["-O1", "-no-pie", "-o"])
        .arg(&program)
        .arg(source)
        .status()
        .unwrap();
    assert!(built.success());
    program
}

/// All rows of the program's own code.
fn run(program: &Path, basic_blocks: bool) -> Vec<Row> {
    let launch = Launch {
        command: vec![program.into()],
        capture: Capture::Rewriting,
        basic_blocks,
        ..Launch::default()
    };
    let mut running = Running::start(&launch).unwrap();
    let (mut rows, mut block) = (Vec::new(), Block::new());
    loop {
        match running.next(&mut block).unwrap() {
            Step::Block => rows.extend(block.rows().filter(|row| (1..1 << 24).contains(&row.pc))),
            Step::Event(_) => {}
            Step::End => return rows,
        }
    }
}

#[test]
fn basic_blocks_leave_other_rows_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let program = build(folder.path());
    let without = run(&program, false);
    let mut with = run(&program, true);
    assert!(without.iter().all(|row| row.kind != Kind::BasicBlock));
    with.retain(|row| row.kind != Kind::BasicBlock);
    assert!(without.len() > 4000);
    // Addresses of the stack depend on what lies above it. A function that does nothing but jump to
    // another shows itself by its block alone.
    let what = |row: &Row| {
        (
            row.kind,
            row.size,
            row.pc * u64::from(row.kind != Kind::Enter),
        )
    };
    let differs = |pair: &(&Row, &Row)| what(pair.0) != what(pair.1);
    assert_eq!(with.iter().zip(&without).find(differs), None);
    assert_eq!(with.len(), without.len());
}

#[test]
fn branches_lead_to_their_targets_as_often_as_taken() {
    let folder = tempfile::tempdir().unwrap();
    let rows = run(&build(folder.path()), true);
    let blocks: Vec<BasicBlock> = rows.iter().filter_map(BasicBlock::of).collect();
    let mut outcomes: BTreeMap<u64, [u64; 2]> = BTreeMap::new();
    for pair in blocks.windows(2) {
        let (block, next) = (pair[0], pair[1].start);
        let leads = match block.end {
            BlockEnd::Conditional => {
                outcomes.entry(block.start).or_default()[usize::from(next == block.taken)] += 1;
                next == block.taken || next == block.behind()
            }
            BlockEnd::Falls => next == block.behind(),
            // What is jumped to or called may be a library's.
            _ => true,
        };
        assert!(leads, "{block:x?} does not lead to {next:#x}");
    }
    let often = |low: u64, high: u64| {
        let mut counts = outcomes.values();
        counts.any(|counts| *counts == [low, high] || *counts == [high, low])
    };
    assert!(often(250, 750), "every fourth round: {outcomes:?}");
    assert!(often(1, 999), "the loop's end: {outcomes:?}");
}
