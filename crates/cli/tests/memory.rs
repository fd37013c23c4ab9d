//! Limits on memory are kept, and where the system refuses memory there is a message.
#![cfg(target_os = "linux")]

use std::fmt::Write;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use reuselens_simt::generate::{self, Kernel};
use reuselens_simt::graph::Graph;
use reuselens_warp::file::WarpWriter;
use reuselens_warp::{Extent, Launch, Space, WarpAccess, WarpBatch, WarpKind, WarpSink};

use crate::common::{self, Done, Place};

/// What the program takes beside the analysis: its own pages, buffers, what the allocator keeps,
/// and what grows between two looks at the memory. Some 20 MiB; more where threads come late on a
/// busy machine. Without the limit each of these runs takes a third more than this allows, or many
/// times as much.
const BESIDE: u64 = 56 << 20;

/// The most memory that a run of the command holds, in bytes, looked at again and again, and the
/// exit code.
fn peak(mut command: Command) -> (u64, Option<i32>) {
    let mut child = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    loop {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        peak = kibibytes(&text, "VmHWM:").unwrap_or(peak);
        if let Some(status) = child.try_wait().unwrap() {
            return (peak << 10, status.code());
        }
        sleep(Duration::from_millis(1));
    }
}

/// The number after a name in the text of `/proc/PID/status`.
fn kibibytes(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    Some(line.trim().strip_suffix(" kB")?.parse().unwrap())
}

/// Runs a command with this many MiB, and holds what it took, and its exit code, against that.
#[track_caller]
fn holds(place: &Place, limit: u64, arguments: &[&str], code: i32) {
    let size = format!("{limit}M");
    let words = [arguments, &["-q", "-f", "--memory-limit", &size]].concat();
    let (peak, ended) = peak(place.command(&words));
    assert_eq!(ended, Some(code), "{arguments:?}");
    assert!(peak > 0, "nothing is known of {arguments:?}");
    let most = (limit << 20) + BESIDE;
    assert!(peak <= most, "{} MiB: {arguments:?}", peak >> 20);
}

/// Analyses a file with this many MiB, and holds what it took against that.
#[track_caller]
fn keeps(place: &Place, limit: u64, arguments: &[&str]) {
    holds(place, limit, &[&["analyze"], arguments].concat(), 0);
}

/// Runs the shell's words after `ulimit -v` with this many MiB.
fn limited(place: &Place, mebibytes: u64, words: &str) -> Done {
    let line = format!(
        "ulimit -v {}; exec {} {words}",
        mebibytes << 10,
        env!("CARGO_BIN_EXE_reuselens")
    );
    let mut shell = Command::new("timeout");
    shell.args(["100", "sh", "-c", &line]);
    Done::of(shell.current_dir(place.path("")).stdin(Stdio::null()))
}

/// Whether a command did its work; else there must be a message.
#[track_caller]
fn ends_in_order(place: &Place, mebibytes: u64, words: &str) -> bool {
    let done = limited(place, mebibytes, words);
    let orderly = [0, 1].contains(&done.code) && !done.err.contains("panicked");
    assert!(orderly, "{mebibytes} MiB, {words}: {done:?}");
    let says = done.code == 0 || done.err.contains("reuselens: ");
    assert!(says, "{mebibytes} MiB, {words}: {done:?}");
    done.code == 0
}

/// Different items, no two near each other.
fn scattered(count: u64) -> impl Iterator<Item = u64> {
    (0..count).map(|item| item.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// A Lackey trace in which each instruction runs once.
fn lackey(instructions: u64) -> String {
    let mut trace = String::new();
    for (at, address) in (0..).zip(scattered(instructions)) {
        let (pc, address) = (0x40_0000 + 4 * at, address >> 34);
        writeln!(trace, "I  {pc:08x},4\n L {address:08x},8").unwrap();
    }
    trace
}

#[test]
fn memory_limit_counts_names_of_a_text() {
    let place = Place::new();
    let mut text = String::new();
    (0..1_500_000).for_each(|name| writeln!(text, "name{name}").unwrap());
    place.write("names.txt", text);
    keeps(&place, 32, &["names.txt"]);
    keeps(&place, 32, &["names.txt", "--engine", "hp-rda"]);
}

#[test]
fn memory_limit_counts_tables_of_hp_rda() {
    let place = Place::new();
    let items = (0..3_000_000_u64).map(|item| item * 3);
    place.write_items("new.u64", items);
    keeps(&place, 32, &["new.u64", "--engine", "hp-rda"]);
}

#[test]
fn memory_limit_counts_engines_of_program_threads() {
    let place = Place::new();
    let mut table = String::from("thread,address,kind\n");
    for thread in 0..20_000 {
        for access in 0..4 {
            writeln!(
                table,
                "{thread},{},r",
                (thread * 37 + access * 64) % 100_000
            )
            .unwrap();
        }
    }
    place.write("threads.csv", table);
    for sharing in ["private", "coherent"] {
        let words = ["threads.csv", "--by", "program", "--sharing", sharing];
        keeps(&place, 32, &words);
    }
}

/// Tables that double are held twice for a moment: an engine reports that before it happens.
#[test]
fn memory_limit_counts_tables_while_they_grow() {
    let place = Place::new();
    place.write_items("new.u64", scattered(4_000_000));
    // 1.3 times the limit and 20 MiB. Without that these took 100 and 150 MiB.
    let most = 64 * 13 / 10 + 20;
    for option in [&["--engine", "fenwick"][..], &["--times"], &["--forward"]] {
        let words = ["analyze", "new.u64", "-q", "-f", "--memory-limit", "64M"];
        let (peak, ended) = peak(place.command(&[&words, option].concat()));
        assert_eq!(ended, Some(0), "{option:?}");
        assert!(peak >> 20 <= most, "{} MiB: {option:?}", peak >> 20);
    }
}

#[test]
fn memory_limit_counts_the_profile_at_the_end() {
    let place = Place::new();
    place.write("t.lackey", lackey(200_000));
    keeps(&place, 64, &["t.lackey"]);
}

/// Names that are longer than all that is counted between two looks at the memory.
#[test]
fn memory_limit_counts_names_of_weighed_objects() {
    let place = Place::new();
    let mut table = String::from("key,size\n");
    let name = "n".repeat(60_000);
    (0..1_600).for_each(|number| writeln!(table, "{name}{number},7").unwrap());
    place.write("named.csv", table);
    keeps(&place, 16, &["named.csv", "--weigh", "bytes"]);
    let limit = ["analyze", "named.csv", "--weigh", "bytes", "-f"];
    let limit = [&limit[..], &["--memory-limit", "16M"]].concat();
    let done = place.run(&limit).succeeds();
    done.prints(&["incomplete: the analysis reached its memory limit"]);
}

#[test]
fn memory_limit_counts_the_file_of_a_part() {
    let place = Place::new();
    place.write_items("new.u64", scattered(3_000_000));
    // Where the counts fit, and the file with them does not, the piece is none.
    holds(&place, 120, &["shard", "1/1", "new.u64"], 1);
    holds(&place, 220, &["shard", "1/1", "new.u64"], 0);
}

/// Writes the stream of a kernel of 64 blocks of 8 warps, whose threads load this many times, from
/// where `address` says for the number of the warp's load and a lane.
fn kernel(place: &Place, name: &str, loads: u64, address: impl Fn(u64, u64) -> u64) {
    let path = place.path(name);
    let mut writer = WarpWriter::new(Vec::new(), &path, "generated").unwrap();
    let launch = Launch {
        kernel: "k".into(),
        grid: Extent::line(64),
        block: Extent::line(256),
        used: None,
        arrays: [].into(),
        sites: [].into(),
    };
    writer.launch(&launch).unwrap();
    let mut number = 0;
    for (block, warp) in (0..64).flat_map(|block| (0..8).map(move |warp| (block, warp))) {
        let mut batch = WarpBatch::new();
        for position in 1..=loads {
            number += 1;
            batch.push(&WarpAccess {
                site: (position % 9) as u32,
                phase: 0,
                position,
                block,
                warp,
                mask: u32::MAX,
                space: Space::Global,
                kind: WarpKind::Load,
                bytes: 4,
                addresses: std::array::from_fn(|lane| address(number, lane as u64)),
            });
        }
        writer.batch(&batch).unwrap();
    }
    place.write(name, writer.finish().unwrap());
}

/// Holds `gpu analyze` to 16 MiB, and what it finds to what it finds with more.
#[track_caller]
fn analysis_holds(place: &Place, stream: &str, scenario: &str) {
    let words = ["gpu", "analyze", stream, "--scenario", scenario];
    holds(place, 16, &words, 0);
    let with = |limit| {
        let csv = ["--csv", "-", "--memory-limit", limit];
        place.run(&[&words[..], &csv].concat()).succeeds().out
    };
    assert_eq!(with("16M"), with("1G"), "{words:?}");
}

/// Eight million accesses: neighbours, and others that have no order.
#[test]
fn analysis_of_a_kernel_holds_its_limit() {
    let place = Place::new();
    kernel(&place, "even.rlwarp", 500, |number, lane| {
        4 * (number % 1000 * 32 + lane)
    });
    kernel(&place, "scattered.rlwarp", 500, |number, lane| {
        let hash = (number * 32 + lane).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        4 * (hash >> 48)
    });
    analysis_holds(&place, "even.rlwarp", "3");
    analysis_holds(&place, "scattered.rlwarp", "3");
    analysis_holds(&place, "scattered.rlwarp", "5");
}

/// Two and a half million accesses, each of other data, but for the last ones.
#[test]
fn analysis_of_a_kernel_counts_its_items() {
    let place = Place::new();
    kernel(&place, "new.rlwarp", 150, |number, lane| {
        4 * (number.min(70_000) * 32 + lane)
    });
    analysis_holds(&place, "new.rlwarp", "3");
    let pipe = "reuselens gpu analyze - --memory-limit 16M < new.rlwarp";
    let pipe = pipe.replace("reuselens", env!("CARGO_BIN_EXE_reuselens"));
    let mut shell = Command::new("sh");
    shell.args(["-c", &pipe]).current_dir(place.path(""));
    Done::of(&mut shell)
        .fails(2)
        .says(&["standard input cannot be read again"]);
    let sharing = ["--scenario", "4", "--block-scheduler", "sharing"];
    let words = ["gpu", "analyze", "new.rlwarp", "--memory-limit", "16M"];
    let refused = place.run(&[&words[..], &sharing].concat()).fails(2);
    refused.says(&["the scheduler 'sharing' looks at all of them"]);
}

/// `ulimit -v`, at any of these: a report, or a message.
#[test]
fn refused_memory_leaves_no_partial_files() {
    let place = Place::new();
    place.write_items("new.u64", scattered(3_000_000));
    let mut text = String::new();
    (0..600_000).for_each(|name| writeln!(text, "name{name}").unwrap());
    place.write("names.txt", text);
    let mut reports = 0;
    for mebibytes in [60, 90, 130, 180, 260, 400] {
        for file in ["new.u64 --engine counting", "names.txt"] {
            let words = format!("analyze -f --memory-limit 8G {file}");
            reports += usize::from(ends_in_order(&place, mebibytes, &words));
        }
    }
    // At least those with the most room; how many others depends on the system's libraries.
    assert!(reports >= 4, "{reports}");
    let left = place.files();
    assert!(left.iter().all(|name| !name.contains(".part")), "{left:?}");
}

#[test]
fn refused_memory_ends_a_merge_in_order() {
    let place = Place::new();
    place.write_items("new.u64", scattered(1_000_000));
    for piece in ["1/4", "2/4", "3/4", "4/4"] {
        place.run(&["shard", piece, "new.u64", "-q"]).succeeds();
    }
    let merge =
        "merge -f -q new.1-of-4.rlpart new.2-of-4.rlpart new.3-of-4.rlpart new.4-of-4.rlpart";
    for mebibytes in (60..200).step_by(20) {
        ends_in_order(&place, mebibytes, merge);
    }
    assert!(ends_in_order(&place, 2_000, merge));
}

/// The message names the limit, and what else helps.
#[test]
fn refused_memory_is_explained_for_each_command() {
    let place = Place::new();
    place.write("small.lackey", lackey(60_000));
    place.write("large.lackey", lackey(120_000));
    for name in ["small.lackey", "large.lackey"] {
        place.run(&["analyze", name, "-q"]).succeeds();
    }
    let mesh = Graph::mesh(200_000, 800_000, 1).unwrap();
    let path = place.path("mesh.rlwarp");
    let mut writer = WarpWriter::new(Vec::new(), &path, "generated").unwrap();
    generate::stream(Kernel::Euler, &mesh, 128, &mut writer).unwrap();
    place.write("mesh.rlwarp", writer.finish().unwrap());
    for (words, helps) in [
        (
            "predict small.rlprof large.rlprof --size 64M",
            "smaller profiles",
        ),
        ("gpu analyze mesh.rlwarp", "--memory-limit"),
        ("report large.rlprof", "smaller files"),
    ] {
        let done = limited(&place, 60, words).fails(1);
        done.says(&["refuse", "`ulimit -v 61440` allows 60 MiB", helps]);
    }
}

/// Waits until the program that `child` runs has made the file `begun`, for at least a minute.
#[track_caller]
fn wait_until_begun(place: &Place, child: &mut Child) {
    for _ in 0..3000 {
        if place.path("begun").exists() {
            return;
        }
        let ended = child.try_wait().unwrap();
        assert!(ended.is_none(), "ended before its program began: {ended:?}");
        sleep(Duration::from_millis(20));
    }
    child.kill().unwrap();
    panic!("the program has not begun within a minute");
}

/// A recording ends where memory does, with what there is of it, and the program goes on.
#[test]
fn recording_whose_memory_is_refused_is_a_trace() {
    if !common::has("prlimit") || !common::has("gzip") {
        return;
    }
    let place = Place::new();
    let bytes: Vec<u8> = scattered(100_000).flat_map(u64::to_le_bytes).collect();
    place.write("bytes", bytes);
    let program = "touch begun; while [ ! -e go ]; do sleep 0.05; done; gzip -1 bytes; echo over";
    let words = ["record", "-o", "run.rltrace", "--", "sh", "-c", program];
    let mut command = place.command(&words);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    wait_until_begun(&place, &mut child);
    // From here on it gets none: what it has is all that it may have.
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let limit = format!("--as={}", kibibytes(&status, "VmSize:").unwrap() << 10);
    let limit = ["--pid", &child.id().to_string(), &limit];
    let limited = Command::new("prlimit").args(limit).status().unwrap();
    assert!(limited.success());
    place.write("go", "");
    let done = child.wait_with_output().unwrap();
    let said = String::from_utf8(done.stdout).unwrap();
    assert!(done.status.success(), "{said}");
    assert!(
        said.contains("recording stopped when the system refused"),
        "{said}"
    );
    assert!(
        said.contains("over") && place.path("bytes.gz").exists(),
        "{said}"
    );
    place.run(&["info", "run.rltrace"]).succeeds();
}
