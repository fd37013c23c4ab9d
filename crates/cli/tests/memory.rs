//! Limits on memory are kept, and where the system refuses memory there is a message.
#![cfg(target_os = "linux")]

mod common;

use std::fmt::Write;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use common::{Done, Place};

/// What the program takes beside the analysis: its own pages, buffers, what the allocator keeps,
/// and what grows between two looks at the memory. Some 20 MiB; more where threads come late on a
/// busy machine. Without the limit each of these runs takes a third more than this allows, or many
/// times as much.
const BESIDE: u64 = 56 << 20;

/// The most memory that a run of the command holds, in bytes, looked at again and again.
fn peak(mut command: Command) -> u64 {
    let mut child = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    loop {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.trim().strip_suffix(" kB"));
        peak = kib.map_or(peak, |kib| kib.trim().parse().unwrap());
        if let Some(status) = child.try_wait().unwrap() {
            assert!(status.success(), "{status}");
            return peak << 10;
        }
        sleep(Duration::from_millis(1));
    }
}

/// Analyses a file with this many MiB, and holds what it took against that.
#[track_caller]
fn keeps(place: &Place, limit: u64, arguments: &[&str]) {
    let size = format!("{limit}M");
    let mut words = vec!["analyze", "-q", "-f", "--memory-limit", &size];
    words.extend(arguments);
    let peak = peak(place.command(&words));
    assert!(peak > 0, "nothing is known of {arguments:?}");
    let most = (limit << 20) + BESIDE;
    assert!(peak <= most, "{} MiB: {arguments:?}", peak >> 20);
}

#[test]
fn names_in_a_text_count() {
    let place = Place::new();
    let mut text = String::new();
    (0..1_500_000).for_each(|name| writeln!(text, "name{name}").unwrap());
    place.write("names.txt", text);
    keeps(&place, 32, &["names.txt"]);
    keeps(&place, 32, &["names.txt", "--engine", "hp-rda"]);
}

#[test]
fn tables_of_hp_rda_count() {
    let place = Place::new();
    let items = (0..3_000_000_u64).map(|item| item * 3);
    place.write_items("new.u64", items);
    keeps(&place, 32, &["new.u64", "--engine", "hp-rda"]);
}

#[test]
fn program_threads_with_an_engine_each_count() {
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

#[test]
fn the_profile_at_the_end_counts() {
    let place = Place::new();
    let mut trace = String::new();
    for at in 0..200_000_u64 {
        let address = at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 34;
        writeln!(trace, "I  {:08x},4\n L {address:08x},8", 0x40_0000 + 4 * at).unwrap();
    }
    place.write("t.lackey", trace);
    keeps(&place, 64, &["t.lackey"]);
}

/// `ulimit -v`, at any of these: a report, or a message.
#[test]
fn refused_memory_ends_in_order() {
    let place = Place::new();
    let items = (0..3_000_000_u64).map(|item| item.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    place.write_items("new.u64", items);
    let mut text = String::new();
    (0..600_000).for_each(|name| writeln!(text, "name{name}").unwrap());
    place.write("names.txt", text);
    let mut reports = 0;
    for mebibytes in [60, 90, 130, 180, 260, 400] {
        for file in ["new.u64 --engine counting", "names.txt"] {
            let line = format!(
                "ulimit -v {}; exec {} analyze -f --memory-limit 8G {file}",
                mebibytes << 10,
                env!("CARGO_BIN_EXE_reuselens")
            );
            let mut shell = Command::new("timeout");
            shell.args(["100", "sh", "-c", &line]);
            let done = Done::of(shell.current_dir(place.path("")).stdin(Stdio::null()));
            let orderly = [0, 1].contains(&done.code) && !done.err.contains("panicked");
            assert!(orderly, "{mebibytes} MiB, {file}: {done:?}");
            let says = done.code == 0 || done.err.contains("reuselens: ");
            assert!(says, "{mebibytes} MiB, {file}: {done:?}");
            reports += usize::from(done.code == 0);
        }
    }
    // At least those with the most room; how many others depends on the system's libraries.
    assert!(reports >= 4, "{reports}");
    let left = place.files();
    assert!(left.iter().all(|name| !name.contains(".part")), "{left:?}");
}
