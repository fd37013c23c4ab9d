//! `reuselens run`: what programs it must leave as they are, and which systems refuse.

use std::process::Command;

use crate::common::{Done, Place, has, source};
use crate::run::{
    assert_placed, built, gcc, has_huge_pages, plan, planned, run, verified, verified_by_plan,
};

/// Programs of the system and of HMBench, by plans of their own with room for all.
#[test]
fn programs_print_the_same_with_all_pages_as_planned() {
    let place = Place::new();
    let text: String = (0..1000)
        .map(|line| format!("{} line {line}\n", line * 7919 % 1013))
        .collect();
    place.write("text", text);
    place.write("Makefile", "x: y\n\techo made\ny:\n\techo y\n");
    place.write("sort.cc", SORT);
    let options = ["-O1", "-g", "-pthread", "sort.cc", "-o", "sorted"];
    let mut programs: Vec<Vec<&str>> = Vec::new();
    if built(&place, "g++", &options) {
        programs.push(vec!["./sorted"]);
    }
    for (program, threads) in [("bfs", "2"), ("nw", "1"), ("mtrans", "2")] {
        let text = source(&format!("hmbench/{program}.c"));
        gcc(
            &place,
            &[
                "-std=c11", "-O2", "-g", "-fopenmp", &text, "-o", program, "-lm",
            ],
        );
        let path: &'static str = match program {
            "bfs" => "./bfs",
            "nw" => "./nw",
            _ => "./mtrans",
        };
        programs.push(vec![path, "--threads", threads]);
    }
    let of_system: [&[&str]; 16] = [
        &["gzip", "-kc", "text"],
        &["bzip2", "-kc", "text"],
        &["xz", "-kc", "-T2", "text"],
        &["sort", "--parallel=2", "-n", "text"],
        &[
            "awk",
            "{s[$1]+=$3} END {n=0; for (k in s) n+=s[k]; print n}",
            "text",
        ],
        &[
            "perl",
            "-ne",
            "$n{$1}++ if /^(\\d+)/; END { print scalar(keys %n), \"\\n\" }",
            "text",
        ],
        &["grep", "-c", "line 1", "text"],
        &["sed", "-n", "s/line/row/p", "text"],
        &["tar", "-cf", "-", "--mtime=@0", "text"],
        &["sha256sum", "text"],
        &["make", "-s", "x"],
        &["diff", "text", "Makefile"],
        &["tac", "text"],
        &["git", "hash-object", "text"],
        &[
            "bash",
            "-c",
            "for i in 1 2 3 4 5; do a[$i]=$((i*i)); done; echo ${a[@]} | cat",
        ],
        &["find", ".", "-name", "text"],
    ];
    let found = of_system.iter().filter(|program| has(program[0]));
    programs.extend(found.map(|program| program.to_vec()));
    let (all, mut plans) = (programs.len(), 0);
    for program in programs {
        let done = plan(&place, &program, "64M");
        if done.code != 0 {
            // Little programs have no data that are worth a place.
            done.says(&["nothing can be placed"]);
            continue;
        }
        plans += 1;
        let text = verified_by_plan(&place, &program);
        assert!(!text.contains("was not loaded"), "{program:?}: {text}");
        let is_judged = text.contains("verified  all ") || text.contains("skipped");
        assert!(is_judged, "{program:?}: {text}");
    }
    assert!(
        plans >= all * 3 / 4,
        "{plans} of {all} programs have a plan"
    );
}

const SORT: &str = "#include <algorithm>\n#include <cstdio>\n#include <map>\n#include <string>\n#include <thread>\n#include <vector>\n\
    static long work(unsigned seed) { std::vector<std::string> all; std::map<std::string, int> count;\n\
    for (int i = 0; i < 3000; i++) { seed = seed * 1664525 + 1013904223; all.push_back(std::to_string(seed % 977) + std::string(seed % 90, 'x')); count[all.back()]++; }\n\
    std::sort(all.begin(), all.end()); try { throw all[7]; } catch (std::string &s) { return (long)(s.size() + count.size()); } }\n\
    int main() { long r[3]; std::vector<std::thread> t; for (int i = 0; i < 3; i++) t.emplace_back([&r, i] { r[i] = work(i); });\n\
    for (auto &x : t) x.join(); std::printf(\"%ld %ld %ld\\n\", r[0], r[1], r[2]); }\n";

#[test]
fn blocks_of_omp_alloc_are_placed() {
    let place = Place::new();
    let program = "#include <omp.h>\n#include <stdio.h>\nenum { N = 1 << 18 };\nint main(void) {\n\
        double *a = omp_alloc(N * sizeof *a, omp_high_bw_mem_alloc);\n\
        double s = 0;\n\
        for (int k = 0; k < 3; k++)\n\
        for (int i = 0; i < N; i++) { if (k == 0) a[i] = i; s += a[i]; }\n\
        printf(\"%.0f\\n\", s); omp_free(a, omp_high_bw_mem_alloc); }\n";
    place.write("omp.c", program);
    let options = ["-O1", "-g", "-fopenmp", "omp.c", "-o", "omp"];
    let library = "/usr/lib/llvm-19/lib";
    for compiler in ["gcc", "clang-19"] {
        if compiler != "gcc" && !has(&format!("{library}/libomp.so")) {
            continue;
        }
        let path = format!("-Wl,-rpath,{library}");
        if built(&place, compiler, &[&options[..], &[&path]].concat()) {
            let table = verified(&place, &["./omp"]);
            // libgomp has no lines, and the table shortens names.
            let is_array = |row: &&str| {
                let is_named = row.contains("omp.c:5)") || row.contains("mp_alloc");
                is_named && row.contains("  2 MiB  ")
            };
            let row = table.lines().find(is_array).unwrap_or_default();
            let is_placed = row.ends_with(" yes") || row.ends_with(" skipped");
            assert!(is_placed, "{table}");
        }
    }
}

#[test]
fn programs_of_musl_are_placed() {
    let place = Place::new();
    let program = "#include <stdlib.h>\nint main(void) { double s = 0;\n\
        volatile double *a = malloc(1 << 21);\n\
        for (int k = 0; k < 3; k++) for (int i = 0; i < 1 << 18; i++) s += a[i] = i;\n\
        char *b = realloc(malloc(100), 200000); b[199999] = 1; free(b);\n\
        return s > 0 ? 6 : 5; }\n";
    place.write("musl.c", program);
    let options = ["-O1", "-g", "-Wl,--build-id", "musl.c", "-o", "musl"];
    if built(&place, "musl-gcc", &options) {
        assert_placed(&verified(&place, &["./musl"]), "musl.c:3)");
    }
}

/// Forbids `mbind`, and runs the rest of the line.
const NO_MBIND: &str = r#"
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int argc, char **argv) {
  struct sock_filter code[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_mbind, 0, 1),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog filter = { sizeof code / sizeof *code, code };
  if (argc < 2 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) return 99;
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter)) return 97;
  execvp(argv[1], argv + 1);
  return 98;
}
"#;

#[test]
fn forbidden_mbind_is_skipped() {
    let place = Place::new();
    place.write("no_mbind.c", NO_MBIND);
    gcc(&place, &["-O1", "no_mbind.c", "-o", "no_mbind"]);
    planned(&place, &["sort", "no_mbind.c"], "8M");
    let mut command = Command::new(place.path("no_mbind"));
    let words = [
        "run",
        "--placement",
        "p.rlplace",
        "--as",
        "node:0",
        "--verify",
        "--",
    ];
    command
        .arg(env!("CARGO_BIN_EXE_reuselens"))
        .args(words)
        .args(["sort", "no_mbind.c"])
        .current_dir(place.path(""));
    let done = Done::of(&mut command);
    if done.code == 97 {
        reuselens_testing::skip("no seccomp filters here");
        return;
    }
    done.succeeds().says(&[
        "the system forbids node:0 here",
        "verified  skipped: the system did not allow it",
    ]);
}

/// A plan from a small run holds for the larger blocks of another.
#[test]
fn plan_of_a_small_run_places_all_of_larger_blocks() {
    if !has_huge_pages() {
        return;
    }
    let place = Place::new();
    place.write("grow.c", GROW);
    gcc(&place, &["-O1", "-g", "grow.c", "-o", "grow"]);
    let words = "profile --placement --granularity 64 -q -o g -- ./grow 4";
    place.run(&words.split(' ').collect::<Vec<_>>()).succeeds();
    let words = ["--fast", "16M", "--cache", "32K", "-q", "-o", "p.rlplace"];
    place
        .run(&[&["place", "g.rlprof"][..], &words].concat())
        .succeeds();
    let text = place.text("p.rlplace");
    assert!(!text.contains("chunks"), "{text}");
    let done = run(&place, &["--verify"], &["./grow", "8"]).ends_with(0);
    let all = "all 10 MiB of accessed pages are where the file puts them";
    assert!(done.err.contains(all), "{}", done.err);
    // As far as the tier has room.
    let done = run(&place, &["--verify"], &["./grow", "16"]).ends_with(3);
    assert!(done.err.contains("no: 4 MiB of 20 MiB"), "{}", done.err);
}

/// Two blocks of different sizes by two calls on one line: as many MiB as the argument, and a
/// quarter of that.
const GROW: &str = r#"
#include <stdio.h>
#include <stdlib.h>
int main(int count, char **words) {
  size_t n = (size_t)atol(words[1]) << 17, m = n / 4; double s = 0;
  double *a = malloc(n * 8), *b = malloc(m * 8);
  for (size_t i = 0; i < n; i++) a[i] = i; for (size_t i = 0; i < m; i++) b[i] = i;
  for (size_t i = 0; i < n; i++) s += a[i];
  printf("%.0f\n", s + b[5]); return 0; }
"#;
