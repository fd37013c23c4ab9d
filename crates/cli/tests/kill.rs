//! `kill -9` of the measured program, of reuselens, and of both, at moments of chance: what was
//! recorded can be read, and nothing is left behind.
//!
//! `REUSELENS_KILLS=100` kills at so many moments in each of the cases (a few without it);
//! `REUSELENS_SEED` draws other moments. `--nocapture` prints a line for each case. A case is a
//! test: `cargo test -p reuselens-cli --test commands kill::record_rewritten_3::program` runs one.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::{Json, Place, source};

/// Who is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Victim {
    Program,
    Analyser,
    Both,
}

/// A way of running and killing.
#[derive(Clone, Copy, Debug)]
struct Case {
    verb: &'static str,
    program: &'static str,
    threads: u32,
    victim: Victim,
}

/// What the kills of a case came to.
#[derive(Debug, Default)]
struct Tally {
    kills: u32,
    whole: u32,
    partial: u32,
    nothing: u32,
    /// The most rounds that a killed program had made and that its trace does not have.
    most_missing: u64,
}

const ROUNDS: u64 = 400_000;
const THREADS: usize = 8;
/// How often is looked whether something has ended that is to end by itself, for about a minute.
/// Looks, and not time: on a machine where all processes are stopped for a while nothing hangs.
const PATIENCE: u32 = 30_000;
/// How long is waited between looks.
const LOOK: Duration = Duration::from_millis(2);
/// Between looks at all processes, each of which holds up processes that end: several tests that
/// look every 2 ms kept each other's programs from ending for a minute.
const LOOK_AT_ALL: Duration = Duration::from_millis(20);

fn number(name: &str, default: u64) -> u64 {
    let given = std::env::var(name).ok().and_then(|text| text.parse().ok());
    given.unwrap_or(default)
}

/// Numbers of chance (splitmix64).
struct Chance(u64);

impl Chance {
    /// Each case draws moments of its own.
    fn of(case: &Case, seed: u64) -> Chance {
        let name = format!("{case:?}");
        let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        Chance(name.bytes().fold(seed ^ 0xcbf2_9ce4_8422_2325, step))
    }

    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (word ^ (word >> 31)) % end
    }
}

fn programs() -> Place {
    let place = Place::new();
    place.build("count/progress.c", &["-pthread"]);
    std::fs::rename(place.path("progress"), place.path("compiled-in")).unwrap();
    let plain = Command::new("gcc")
        .args(["-O1", "-pthread", "-o"])
        .arg(place.path("plain"))
        .arg(source("count/progress.c"))
        .status();
    assert!(plain.unwrap().success());
    place
}

/// Processes that run a program of this folder.
fn running(place: &Place, program: &str) -> Vec<u32> {
    let path = place.path(program).canonicalize().unwrap();
    let pids = std::fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let name = entry.ok()?.file_name();
        name.to_str()?.parse::<u32>().ok()
    });
    let of_it = |pid: &u32| {
        let exe = std::fs::read_link(format!("/proc/{pid}/exe"));
        exe.is_ok_and(|exe| exe == path)
    };
    pids.filter(of_it).collect()
}

fn kill(pid: u32) {
    // It may be gone by itself.
    let _ = Command::new("kill")
        .args(["-9", &pid.to_string()])
        .stderr(Stdio::null())
        .status();
}

/// Waits until it ends by itself.
fn wait(child: &mut Child, what: &Case) -> Option<i32> {
    for _ in 0..PATIENCE {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        std::thread::sleep(LOOK);
    }
    panic!("reuselens hangs: {what:?}");
}

/// Rounds that each thread has made, and whether all was done.
fn progress(place: &Place) -> ([u64; THREADS], bool) {
    let bytes = std::fs::read(place.path("made")).unwrap_or_default();
    let word = |index: usize| {
        let word = bytes.get(index * 8..index * 8 + 8);
        word.map_or(0, |word| u64::from_le_bytes(word.try_into().unwrap()))
    };
    (std::array::from_fn(word), word(THREADS) == 1)
}

/// Starts a run of a case.
fn start(place: &Place, case: &Case) -> Child {
    for file in ["made", "run", "run.partial", "run.rlprof", "run.html"] {
        let _ = std::fs::remove_file(place.path(file));
    }
    let (program, rounds) = (format!("./{}", case.program), ROUNDS.to_string());
    let threads = case.threads.to_string();
    let words = [
        case.verb, "-q", "-o", "run", "--", &program, "made", &rounds, &threads,
    ];
    let mut command = place.command(&words);
    let told = std::fs::File::create(place.path("told")).unwrap();
    command.stdout(Stdio::null()).stderr(told);
    command.spawn().unwrap()
}

/// How long it took if it ended by itself within a time.
fn ends_within(child: &mut Child, time: Duration) -> Option<Duration> {
    let begin = Instant::now();
    while let left = time.saturating_sub(begin.elapsed())
        && !left.is_zero()
    {
        if child.try_wait().unwrap().is_some() {
            return Some(begin.elapsed());
        }
        std::thread::sleep(left.min(LOOK));
    }
    None
}

/// Kills once, after a moment within `whole`, the time of a run. If there is nothing to kill any
/// more, that time was not the run's own (all was stopped for a while), and is corrected.
fn kill_once(
    place: &Place,
    case: &Case,
    whole: &mut Duration,
    chance: &mut Chance,
    tally: &mut Tally,
) -> bool {
    let moment = Duration::from_micros(chance.below(whole.as_micros() as u64 + 1));
    let mut child = start(place, case);
    if let Some(took) = ends_within(&mut child, moment) {
        *whole = took.min(*whole);
    }
    let pids = running(place, case.program);
    let gone = child.try_wait().unwrap().is_some();
    if gone || pids.is_empty() {
        wait(&mut child, case);
        return false;
    }
    if case.victim != Victim::Analyser {
        pids.iter().for_each(|pid| kill(*pid));
    }
    if case.victim != Victim::Program {
        child.kill().unwrap();
    }
    let code = wait(&mut child, case);
    let ended = (0..PATIENCE).any(|_| {
        let ended = running(place, case.program).is_empty();
        if !ended {
            std::thread::sleep(LOOK_AT_ALL);
        }
        ended
    });
    assert!(ended, "the program hangs: {case:?}");
    tally.kills += 1;
    let (made, done) = progress(place);
    if case.victim == Victim::Analyser && !done {
        // It had not run yet: a program that the rewriter is half put into does not run without us.
        assert_eq!(
            (case.program, made),
            ("plain", [0; THREADS]),
            "the program did not go on to its end: {case:?} at {moment:?}"
        );
    }
    if case.victim == Victim::Program {
        let told = place.text("told");
        if code == Some(1) && told.contains("ended before anything of it was seen") {
            assert_eq!(made, [0; THREADS], "{told}");
            tally.nothing += 1;
            return true;
        }
        // One that had come to its end before the signal ended with 0.
        assert!([Some(0), Some(128 + 9)].contains(&code), "{case:?}: {told}");
    }
    check(place, case, (made.iter().sum(), done), tally);
    true
}

/// Holds what is left of a run against what it had made.
fn check(place: &Place, case: &Case, (made, done): (u64, bool), tally: &mut Tally) {
    let allowed = [
        "compiled-in",
        "plain",
        "made",
        "run",
        "run.partial",
        "run.rlprof",
        "run.html",
        "a.json",
        "a.html",
        "a.rlprof",
        "told",
    ];
    let files = place.files();
    let strange = files.iter().find(|name| !allowed.contains(&name.as_str()));
    assert_eq!(strange, None, "{case:?}");
    let (trace, partial) = (
        place.path("run").exists(),
        place.path("run.partial").exists(),
    );
    let json = match (case.verb, trace, partial) {
        ("profile", ..) if place.path("run.rlprof").exists() => {
            let words = ["report", "-q", "run.rlprof", "--json", "a.json", "-f"];
            place.run(&words).succeeds();
            place.json("a.json")
        }
        (_, true, false) => analyzed(place, "run"),
        (_, false, true) => analyzed(place, "run.partial"),
        (_, false, false) => {
            // Killed before anything was on the disk.
            tally.nothing += 1;
            assert_ne!(case.victim, Victim::Program, "{case:?}");
            return;
        }
        _ => panic!("two traces: {files:?}"),
    };
    let found = json.object("cells") / 2;
    let warnings = json.warnings();
    if case.victim == Victim::Program && done && json.0["outcome"]["exit"] == 0 {
        // It had come to its end before the signal came.
        assert_eq!(found, made, "{case:?}");
        tally.whole += 1;
    } else if case.victim == Victim::Program {
        tally.whole += 1;
        // A record in the segment is never lost; what is noted and not a record yet is, and it is
        // said.
        let most = u64::from(case.threads) * if case.program == "plain" { 20_000 } else { 1 };
        assert!(
            found <= made + u64::from(case.threads),
            "{found} of {made}: {case:?}"
        );
        assert!(found + most >= made, "{found} of {made}: {case:?}");
        let said = warnings.iter().any(|code| code == "cut-short");
        assert_eq!(said, case.program == "plain", "{warnings:?}");
        tally.most_missing = tally.most_missing.max(made.saturating_sub(found));
        assert_eq!(json.0["outcome"]["signal"], 9, "{case:?}");
    } else if warnings.iter().any(|code| code == "truncated") {
        tally.partial += 1;
        assert!(
            partial && found <= made + u64::from(case.threads),
            "{case:?}"
        );
    } else {
        tally.whole += 1;
    }
}

fn analyzed(place: &Place, trace: &str) -> Json {
    let words = [
        "analyze", "-q", "-f", "-o", "a", trace, "--json", "a.json", "--by", "object",
    ];
    let done = place.run(&words);
    // With 4 it holds what was recorded before a cut.
    if ![0, 4].contains(&done.code) {
        // Nothing was in it yet, and that is said.
        let done = done.fails(1);
        let said = ["cut off", "is empty"]
            .iter()
            .any(|words| done.err.contains(words));
        assert!(said, "{done:?}");
        place.write(
            "a.json",
            r#"{"accesses": 0, "groups": [], "warnings": [{"code": "truncated"}]}"#,
        );
    }
    place.json("a.json")
}

fn kills(case: Case) {
    let place = programs();
    let moments = number("REUSELENS_KILLS", 3);
    let mut chance = Chance::of(&case, number("REUSELENS_SEED", 1));
    // How long a run takes that nobody kills.
    let begin = Instant::now();
    let mut child = start(&place, &case);
    assert_eq!(wait(&mut child, &case), Some(0));
    let mut whole = begin.elapsed();
    let mut tally = Tally::default();
    let mut tries = 0;
    while u64::from(tally.kills) < moments {
        kill_once(&place, &case, &mut whole, &mut chance, &mut tally);
        tries += 1;
        assert!(tries < 20 * moments + 100, "{case:?}: {tally:?}");
    }
    println!("{case:?}: {tally:?}");
}

/// A module for each run, program and number of threads, with a test for each victim.
macro_rules! cases {
    ($($name:ident: $verb:literal, $program:literal, $threads:literal;)*) => {$(
        mod $name {
            use super::{Case, Victim, kills};

            fn killed(victim: Victim) {
                kills(Case { verb: $verb, program: $program, threads: $threads, victim });
            }

            #[test]
            fn program() {
                killed(Victim::Program);
            }

            #[test]
            fn reuselens() {
                killed(Victim::Analyser);
            }

            #[test]
            fn both() {
                killed(Victim::Both);
            }
        }
    )*};
}

cases! {
    record_compiled_in_1: "record", "compiled-in", 1;
    record_compiled_in_3: "record", "compiled-in", 3;
    record_rewritten_1: "record", "plain", 1;
    record_rewritten_3: "record", "plain", 3;
    profile_compiled_in_1: "profile", "compiled-in", 1;
    profile_compiled_in_3: "profile", "compiled-in", 3;
    profile_rewritten_1: "profile", "plain", 1;
    profile_rewritten_3: "profile", "plain", 3;
}

#[test]
fn killed_start_leaves_no_program_running() {
    let tries = number("REUSELENS_KILLS", 3) * 8;
    let script = source("hostile/kill_at_start");
    let words = [env!("CARGO_BIN_EXE_reuselens"), &tries.to_string(), "12"];
    let done = Command::new(script).args(words).output().unwrap();
    let said = String::from_utf8(done.stdout).unwrap();
    assert!(
        done.status.success() && said.contains("0 left behind"),
        "{said}"
    );
}

#[test]
fn cases_draw_moments_of_their_own() {
    let case = |victim| Case {
        verb: "record",
        program: "plain",
        threads: 1,
        victim,
    };
    let draw = |victim, seed| Chance::of(&case(victim), seed).below(1 << 40);
    assert_eq!(draw(Victim::Both, 1), draw(Victim::Both, 1));
    assert_ne!(draw(Victim::Both, 1), draw(Victim::Program, 1));
    assert_ne!(draw(Victim::Both, 1), draw(Victim::Both, 2));
}
