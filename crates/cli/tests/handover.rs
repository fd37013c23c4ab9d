//! Threads that hand over to each other: what is ordered by synchronisation is read in that order,
//! in all ways of capture.

use crate::common::{Json, Place, has};

/// Two threads that take turns: each stores to 100 lines of its own, then lets the other go on.
/// Between two stores to a line are the other 99, 100 of the other thread, and the lines of the
/// synchronisation itself.
const PROGRAM: &str = r#"
#include <pthread.h>
#include <sched.h>
enum { LINES = 100, ROUNDS = 300 };
static volatile char data[2][LINES][64] __attribute__((aligned(64)));
#ifdef SPIN
static int gate[2][16] __attribute__((aligned(64))) = {{1}};
static void wait_for(int me) {
  for (int n = 1; !__atomic_exchange_n(&gate[me][0], 0, __ATOMIC_ACQ_REL); n++)
    if (n % 64 == 0)
      sched_yield();
}
static void pass_on(int me) { __atomic_exchange_n(&gate[1 - me][0], 1, __ATOMIC_ACQ_REL); }
#else
static struct { pthread_mutex_t lock; pthread_cond_t changed; int turn; } shared
    __attribute__((aligned(64))) = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0};
static void wait_for(int me) {
  pthread_mutex_lock(&shared.lock);
  while (shared.turn != me)
    pthread_cond_wait(&shared.changed, &shared.lock);
  pthread_mutex_unlock(&shared.lock);
}
static void pass_on(int me) {
  pthread_mutex_lock(&shared.lock);
  shared.turn = 1 - me;
  pthread_cond_signal(&shared.changed);
  pthread_mutex_unlock(&shared.lock);
}
#endif
static void *run(void *argument) {
  int me = argument != 0;
  for (int round = 0; round < ROUNDS; round++) {
    wait_for(me);
    for (int line = 0; line < LINES; line++)
      data[me][line][0] = 1;
    pass_on(me);
  }
  return 0;
}
int main(void) {
  pthread_t other;
  pthread_create(&other, 0, run, &other);
  run(0);
  return pthread_join(other, 0);
}
"#;

/// The share of the distances of the lines that are what the turns make them. The lines of the
/// synchronisation are used once or more in each turn, so theirs are about half as large at most.
fn share_in_turn(json: &Json) -> f64 {
    let counts = json.counts();
    let sum = |low: u64, high: u64| -> u64 {
        let within = counts.iter().filter(|bin| bin[0] >= low && bin[1] <= high);
        within.map(|bin| bin[2]).sum()
    };
    let far = sum(150, u64::MAX);
    // Nearly all; block by block one in a hundred was.
    assert!((54_000..65_000).contains(&far), "{far} of 59,800");
    sum(199, 210) as f64 / far as f64
}

/// Builds the program with the words of a command and measures it.
fn share(place: &Place, build: &[&str], name: &str) -> f64 {
    let words = [build, &["-O1", "-pthread", "turns.c", "-o", name]].concat();
    match build[0] {
        "gcc" => {
            let mut command = std::process::Command::new("gcc");
            command.args(&words[1..]).current_dir(place.path(""));
            assert!(command.status().unwrap().success());
        }
        _ => {
            place.run(&words).succeeds();
        }
    }
    let program = format!("./{name}");
    let words = [
        "profile",
        "-q",
        "-f",
        "--bins",
        "exact",
        "--json",
        "-",
        "--data",
        "static",
        "--granularity",
        "64",
        "--",
        &program,
    ];
    let json = Json::parse(&place.run(&words).succeeds().out);
    // A thread that waits without sleeping makes accesses whose order is a guess.
    let guessed = guessed_below(&json).unwrap_or(0);
    assert!(name == "spin" || guessed <= 1024, "{build:?}: {guessed}");
    share_in_turn(&json)
}

/// Below which distance the order between threads is a guess.
fn guessed_below(json: &Json) -> Option<u64> {
    json.0["order_guessed_below"].as_u64()
}

fn hand_over(build: &[&str]) {
    let place = Place::new();
    place.write("turns.c", PROGRAM);
    for (mode, name) in [("-DSPIN", "spin"), ("-DSLEEP", "sleep")] {
        let build = [build, &[mode]].concat();
        let share = share(&place, &build, name);
        // A busy machine interrupts threads between a mark and what it marks; block by block it was
        // next to none.
        assert!(share >= 0.9, "{build:?}: {share}");
    }
}

#[test]
fn rewritten_threads_are_read_in_the_order_in_which_they_hand_over() {
    if has("gcc") {
        hand_over(&["gcc"]);
    }
}

#[test]
fn recompiled_threads_are_read_in_the_order_in_which_they_hand_over() {
    if has("gcc") {
        hand_over(&["cc"]);
    }
}

#[test]
fn threads_with_block_records_are_read_in_the_order_in_which_they_hand_over() {
    if has("clang-19") && has("llvm-config-19") {
        hand_over(&["cc", "--llvm"]);
    }
}

#[test]
fn trace_keeps_the_order_between_threads() {
    if !has("gcc") {
        return;
    }
    let place = Place::new();
    place.write("turns.c", PROGRAM);
    let build = ["cc", "-O1", "-pthread", "-DSPIN", "turns.c", "-o", "turns"];
    place.run(&build).succeeds();
    place.run(&["record", "-q", "--", "./turns"]).succeeds();
    let words = [
        "analyze",
        "-q",
        "-f",
        "--bins",
        "exact",
        "--json",
        "-",
        "turns.rltrace",
        "--data",
        "static",
        "--granularity",
        "64",
    ];
    let json = Json::parse(&place.run(&words).succeeds().out);
    assert!(share_in_turn(&json) >= 0.9);
    let order = json.0["order"].as_str().unwrap();
    assert!(order.contains("in which they synchronised"), "{order}");
}

/// The order between the threads of a trace in the file.
fn order_of(place: &Place, file: &str) -> String {
    let json = ["analyze", "-q", "-f", "--json", "-", file];
    let json = Json::parse(&place.run(&json).succeeds().out);
    assert_eq!(guessed_below(&json), None);
    json.0["order"].as_str().unwrap().to_owned()
}

#[test]
fn traces_without_thread_order_are_not_reported_as_synchronised() {
    let place = Place::new();
    place.write("two.csv", "address,thread\n64,1\n128,2\n64,1\n128,2\n");
    let right = "threads interleaved in the order of the trace";
    assert_eq!(order_of(&place, "two.csv"), right);
    // A copy in the native format says no more.
    place.run(&["convert", "two.csv", "two.rltrace"]).succeeds();
    assert_eq!(order_of(&place, "two.rltrace"), right);
}

/// Two threads that run beside each other after they have met once.
const BESIDE: &str = r#"
#include <pthread.h>
enum { NUMBERS = 20000 };
static volatile int numbers[2][NUMBERS];
static pthread_barrier_t meeting;
static void *run(void *argument) {
  pthread_barrier_wait(&meeting);
  for (int round = 0; round < 60; round++)
    for (int number = 0; number < NUMBERS; number++)
      numbers[argument != 0][number]++;
  return 0;
}
int main(void) {
  pthread_t other;
  pthread_barrier_init(&meeting, 0, 2);
  pthread_create(&other, 0, run, &other);
  run(0);
  return pthread_join(other, 0);
}
"#;

#[test]
fn reports_name_the_distance_below_which_thread_order_is_uncertain() {
    if !has("gcc") {
        return;
    }
    let place = Place::new();
    place.write("beside.c", BESIDE);
    let build = ["cc", "-O1", "-pthread", "beside.c", "-o", "beside"];
    place.run(&build).succeeds();
    let record = place.run(&["record", "-q", "--", "./beside"]).succeeds();
    assert!(!record.err.contains("order"), "{}", record.err);
    let json = ["analyze", "-q", "-f", "--json", "-", "beside.rltrace"];
    let json = Json::parse(&place.run(&json).succeeds().out);
    let guessed = guessed_below(&json).expect("the order is a guess");
    assert!((1024..=65_536).contains(&guessed), "{guessed}");
    let no_codes: [&str; 0] = [];
    assert_eq!(json.warnings(), no_codes, "it is no warning");
    let words = ["analyze", "-f", "beside.rltrace"];
    let guess = "Between threads that did not synchronise, distances below";
    place.run(&words).succeeds().prints(&[guess, "are a guess"]);
    let page = String::from_utf8_lossy(&place.read("beside.html")).into_owned();
    assert!(page.contains(guess));
    // Each thread by itself does not depend on the order.
    let words = [&words[..], &["--sharing", "private"]].concat();
    assert!(!place.run(&words).succeeds().out.contains("are a guess"));
}
