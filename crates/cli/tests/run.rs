//! `reuselens run`.

use std::process::Command;

use crate::common::{Done, Place, has};

/// Two arrays that one function allocates: one is read at random, the other once from end to end.
/// Exits with 7.
const TWO: &str = r#"
#include <stdio.h>
#include <stdlib.h>
enum { N = 1 << 20 };
static double *get(size_t count) { return malloc(count * sizeof(double)); }
int main(void) {
  double *hot = get(N);
  double *cold = get(N);
  unsigned long long x = 1;
  double sum = 0;
  for (int i = 0; i < N; i++) cold[i] = hot[i] = i;
  for (int i = 0; i < 200000; i++) {
    x = x * 6364136223846793005ull + 1;
    sum += hot[(x >> 33) % N];
  }
  printf("%f\n", sum + cold[N / 2]);
  FILE *maps = fopen("smaps.txt", "w"), *smaps = fopen("/proc/self/smaps", "r");
  fprintf(maps, "hot %p cold %p\n", (void *)hot, (void *)cold);
  for (int c; (c = getc(smaps)) != EOF;) putc(c, maps);
  fclose(maps);
  free(hot);
  free(cold);
  return 7;
}
"#;

pub fn gcc(place: &Place, options: &[&str]) {
    let done = Command::new("gcc")
        .args(options)
        .current_dir(place.path(""))
        .status();
    assert!(done.unwrap().success(), "{options:?}");
}

/// Profiles `program` and plans for a fast memory of `fast`.
pub fn planned(place: &Place, program: &[&str], fast: &str) {
    plan(place, program, fast).succeeds();
}

/// As [`planned`], for programs that may have nothing to place.
pub fn plan(place: &Place, program: &[&str], fast: &str) -> Done {
    let words = [&["profile", "-q", "-f", "-o", "p", "--"], program].concat();
    place.run(&words);
    let words = [
        "place",
        "p.rlprof",
        "--fast",
        fast,
        "--cache",
        "32K",
        "--objective",
        "f",
        "-q",
        "-f",
        "-o",
        "p.rlplace",
    ];
    place.run(&words)
}

fn two() -> Place {
    let place = Place::new();
    place.write("two.c", TWO);
    gcc(&place, &["-O1", "-g", "-fno-inline", "two.c", "-o", "two"]);
    planned(&place, &["./two"], "8M");
    place
}

pub fn run(place: &Place, options: &[&str], program: &[&str]) -> Done {
    place.run(
        &[
            &["run", "--placement", "p.rlplace"],
            options,
            &["--"],
            program,
        ]
        .concat(),
    )
}

/// Whether huge pages can be had by asking.
pub fn has_huge_pages() -> bool {
    let path = "/sys/kernel/mm/transparent_hugepage/enabled";
    let modes = std::fs::read_to_string(path).unwrap_or_default();
    let is_on = modes.contains("[madvise]") || modes.contains("[always]");
    if !is_on {
        reuselens_testing::skip("no transparent huge pages here");
    }
    is_on
}

/// `AnonHugePages` of the mapping around an address, in KiB.
fn huge_kib(smaps: &str, address: u64) -> u64 {
    let mut is_around = false;
    for line in smaps.lines() {
        let range = line
            .split(' ')
            .next()
            .and_then(|range| range.split_once('-'));
        let hex = |text| u64::from_str_radix(text, 16).ok();
        if let Some((Some(low), Some(high))) = range.map(|(low, high)| (hex(low), hex(high))) {
            is_around = (low..high).contains(&address);
        }
        if let Some(rest) = line.strip_prefix("AnonHugePages:").filter(|_| is_around) {
            return rest.trim().trim_end_matches(" kB").parse().unwrap();
        }
    }
    panic!("no mapping at {address:#x}")
}

#[test]
fn planned_array_is_huge_and_the_other_is_not() {
    if !has_huge_pages() {
        return;
    }
    let place = two();
    let done = run(&place, &["--verify"], &["./two"]).ends_with(7);
    assert!(
        done.err.contains("all 8 MiB of accessed pages"),
        "{}",
        done.err
    );
    let text = String::from_utf8(place.read("smaps.txt")).unwrap();
    let words: Vec<&str> = text.lines().next().unwrap().split(' ').collect();
    let address = |word: &str| u64::from_str_radix(word.trim_start_matches("0x"), 16).unwrap();
    assert!(huge_kib(&text, address(words[1])) >= 8 << 10, "{text}");
    let modes = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled").unwrap();
    if modes.contains("[madvise]") {
        assert_eq!(huge_kib(&text, address(words[3])), 0, "{text}");
    }
    // The same output as without.
    let native = Command::new(place.path("two"))
        .current_dir(place.path(""))
        .output()
        .unwrap();
    assert_eq!(done.out.as_bytes(), native.stdout);
}

#[test]
fn capacity_is_honoured_and_blocks_that_do_not_fit_are_reported() {
    if !has_huge_pages() {
        return;
    }
    let place = two();
    let text = String::from_utf8(place.read("p.rlplace")).unwrap();
    place.write(
        "p.rlplace",
        text.replace("capacity_bytes = 8388608", "capacity_bytes = 8388607"),
    );
    // Planned bytes that were not placed are a plan that does not hold.
    let done = run(&place, &["--verify"], &["./two"]).ends_with(3);
    for text in [
        "no room for 8 MiB of 'heap from get",
        "no: 8 MiB of 8 MiB that the file puts into fast memory had no room there",
    ] {
        assert!(done.err.contains(text), "{}", done.err);
    }
    run(&place, &[], &["./two"]).ends_with(7);
}

/// Of a block with chunks, those of the chunks count as placed.
#[test]
fn placed_bytes_are_those_of_the_chunks() {
    let place = two();
    let text = place.text("p.rlplace");
    let with = text.replacen("calls = [", "chunks = [[1048576, 3145728]]\ncalls = [", 1);
    assert_ne!(text, with);
    place.write("p.rlplace", with);
    let done = run(&place, &["--verify", "--as", "fast=node:0"], &["./two"]);
    let mut rows = done.err.lines().filter(|line| line.contains("heap from"));
    let row = rows.next().unwrap_or_else(|| panic!("{}", done.err));
    assert!(
        row.contains("  2 MiB  ") && !row.contains("8 MiB"),
        "{}",
        done.err
    );
}

#[test]
fn node_is_asked_page_by_page() {
    let place = two();
    let done = run(&place, &["--verify", "--as", "fast=node:0"], &["./two"]).ends_with(7);
    if done.err.contains("skipped: the system did not allow it") {
        reuselens_testing::skip("the system forbids mbind or move_pages here");
    } else {
        let is_verified = done.err.contains("all 8 MiB of accessed pages");
        assert!(is_verified, "{}", done.err);
    }
    let done = run(&place, &["--as", "node:999"], &["./two"]);
    done.fails(1).says(&["no memory node 999; it has 0"]);
}

/// What the allocator must survive; each step prints what it found.
const FAULTS: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
static char *early;
__attribute__((constructor)) static void before_main(void) { early = malloc(3000); strcpy(early, "early"); }
static void fill(char *at, size_t n, int with) { for (size_t i = 0; i < n; i += 61) at[i] = with; }
static int same(char *at, size_t n, int with) { for (size_t i = 0; i < n; i += 61) if (at[i] != (char)with) return 0; return 1; }
static char *shared[64];
static void *make(void *arg) { for (int i = 0; i < 64; i++) { shared[i] = malloc(1000 * i + 1); fill(shared[i], 1000 * i + 1, i); } return arg; }
static void *drop(void *arg) { int ok = 1; for (int i = 0; i < 64; i++) { ok &= same(shared[i], 1000 * i + 1, i); free(shared[i]); } printf("other thread %d\n", ok); return arg; }
static void *churn(void *arg) {
  unsigned seed = (unsigned)(uintptr_t)arg; char *held[32] = {0}; size_t size[32] = {0}; int ok = 1;
  for (int i = 0; i < 4000; i++) {
    int at = rand_r(&seed) % 32; size_t n = 1 + rand_r(&seed) % (i % 50 ? 5000 : 3000000);
    if (held[at]) ok &= same(held[at], size[at], at);
    if (i % 16 == 0) { char *pages = mmap(NULL, 5 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); pages[i] = 1; munmap(pages, 5 << 20); }
    held[at] = realloc(held[at], n); size[at] = n; fill(held[at], n, at);
  }
  for (int i = 0; i < 32; i++) free(held[i]);
  if (!ok) printf("churn broke\n");
  return arg;
}
int main(void) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  printf("%s\n", early);
  early = realloc(early, 5000000); printf("%.5s\n", early); early = realloc(early, 10); printf("%.5s\n", early); free(early);
  for (size_t align = 8; align <= 4u << 20; align *= 2) {
    void *at; int e = posix_memalign(&at, align, align + 5); fill(at, align + 5, 3);
    void *b = aligned_alloc(align, align); void *c = memalign(align, 77);
    printf("%zu %d %d %d %d\n", align, e, (int)((uintptr_t)at % align), (int)((uintptr_t)b % align), (int)((uintptr_t)c % align));
    free(at); free(b); free(c);
  }
  void *v = valloc(10), *w = pvalloc(5000); printf("%d %d\n", (int)((uintptr_t)v % 4096), (int)((uintptr_t)w % 4096)); free(v); free(w);
  void *odd; printf("%d\n", posix_memalign(&odd, 24, 100) == EINVAL);
  volatile size_t huge = SIZE_MAX; errno = 0; void *none = malloc(huge); printf("%d %d\n", none == NULL, errno == ENOMEM);
  errno = 0; none = calloc(huge / 2, 4); printf("%d %d\n", none == NULL, errno == ENOMEM);
  none = malloc(1ul << 46); printf("%d\n", none == NULL);
  char *zero = malloc(0); printf("%d\n", zero != NULL); zero = realloc(zero, 100); fill(zero, 100, 1); printf("%d\n", realloc(zero, 0) == NULL);
  for (int i = 0; i < 50; i++) {
    size_t n = 1 + i * 90001; char *dirty = malloc(n); fill(dirty, n, 255); free(dirty);
    char *clear = calloc(1, n); if (!same(clear, n, 0)) printf("not zero %zu\n", n); free(clear);
  }
  char *usable = malloc(1000); printf("%d\n", malloc_usable_size(usable) >= 1000); memset(usable, 1, malloc_usable_size(usable)); free(usable);
  char *mapped = mmap(NULL, 5 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); fill(mapped, 5 << 20, 9); printf("%d\n", munmap(mapped, 5 << 20));
  errno = 0; printf("%d %d\n", mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED, errno == EINVAL);
  pthread_t one, two; pthread_create(&one, NULL, make, NULL); pthread_join(one, NULL); pthread_create(&two, NULL, drop, NULL); pthread_join(two, NULL);
  pthread_t many[4]; for (uintptr_t i = 0; i < 4; i++) pthread_create(&many[i], NULL, churn, (void *)(i + 1));
  for (int i = 0; i < 20; i++) {
    char *before = malloc(100000); fill(before, 100000, i);
    pid_t child = fork();
    if (child == 0) { int ok = same(before, 100000, i); free(before); char *more = malloc(3000000); fill(more, 3000000, 1); free(more); char *pages = mmap(NULL, 5 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); pages[i] = 1; munmap(pages, 5 << 20); _exit(ok ? 3 : 4); }
    int status; waitpid(child, &status, 0); if (WEXITSTATUS(status) != 3) printf("fork broke\n"); free(before);
  }
  for (int i = 0; i < 4; i++) pthread_join(many[i], NULL);
  for (int i = 0; i < 3; i++) {
    void *library = dlopen("./later.so", RTLD_NOW); if (!library) { printf("%s\n", dlerror()); return 1; }
    char *(*later)(int) = (char *(*)(int))dlsym(library, "later");
    for (int n = 0; n < 100; n++) { char *at = later(n); if (at[n] != 'l') printf("dlopen broke\n"); free(at); }
    dlclose(library);
  }
  char *copy = strdup("copied by the library"); puts(copy); free(copy);
  return 0;
}
"#;
const LATER: &str = "#include <stdlib.h>\n#include <string.h>\n\
    char *later(int n) { char *at = malloc(200000 + n); memset(at, 'l', 200000); return at; }\n";

/// The file with another tier, into which every second object goes.
fn with_two_tiers(file: &str) -> String {
    let tier = "[[tier]]\nname = \"other\"\nkind = \"DRAM\"\ncapacity_bytes = 536870912\n\n";
    let mut text = file.replacen("[builds]", &format!("{tier}[builds]"), 1);
    let fast = "tier = \"fast\"";
    let objects: Vec<usize> = text.match_indices(fast).map(|(at, _)| at).collect();
    for at in objects.into_iter().step_by(2).rev() {
        text.replace_range(at..at + fast.len(), "tier = \"other\"");
    }
    text
}

#[test]
fn allocator_survives_hostile_programs() {
    let place = Place::new();
    place.write("faults.c", FAULTS);
    place.write("later.c", LATER);
    gcc(
        &place,
        &[
            "-O1",
            "-g",
            "-fno-builtin",
            "-pthread",
            "faults.c",
            "-o",
            "faults",
            "-ldl",
        ],
    );
    gcc(
        &place,
        &[
            "-O1",
            "-g",
            "-fno-builtin",
            "-shared",
            "-fPIC",
            "later.c",
            "-o",
            "later.so",
        ],
    );
    let native = Command::new(place.path("faults"))
        .current_dir(place.path(""))
        .output()
        .unwrap();
    assert!(native.status.success());
    let native = String::from_utf8(native.stdout).unwrap();
    assert!(!native.contains("broke"), "{native}");
    planned(&place, &["./faults"], "512M");
    let file = String::from_utf8(place.read("p.rlplace")).unwrap();
    assert!(file.contains("later.so+0x"), "{file}");
    // With room, almost without, and on a node.
    let small = file.replace("capacity_bytes = 536870912", "capacity_bytes = 4194304");
    assert_ne!(file, small);
    let two = with_two_tiers(&file);
    for (file, options) in [
        (
            &two,
            &["--as", "fast=node:0", "--as", "other=madvise", "--verify"][..],
        ),
        (&file, &["--as", "madvise"]),
        (&file, &["--as", "node:0"]),
        (&file, &["--as", "node:0", "--verify"]),
        (&small, &["--as", "madvise", "-q"]),
    ] {
        place.write("p.rlplace", file);
        let done = run(&place, options, &["./faults"]);
        // The program frees and allocates more than its plan knows of: not all has room.
        let has_room = !done.err.contains("had no room there");
        let code = if has_room { 0 } else { 3 };
        assert_eq!(done.code, code, "{options:?}: {} {}", done.out, done.err);
        assert_eq!(done.out, native, "{options:?}");
    }
}

#[test]
fn blocks_of_a_library_that_is_loaded_later_are_placed() {
    if !has_huge_pages() {
        return;
    }
    let place = Place::new();
    place.write("later.c", LATER);
    let main = "#include <dlfcn.h>\nint main(void) {\n\
        char *(*later)(int) = (char *(*)(int))dlsym(dlopen(\"./later.so\", RTLD_NOW), \"later\");\n\
        char *at = later(1); int sum = 0;\n\
        for (int k = 0; k < 50; k++) for (int i = 0; i < 200000; i++) sum += at[i];\n\
        return sum == 200000 * 50 * 'l' ? 5 : 6; }\n";
    place.write("main.c", main);
    gcc(&place, &["-O1", "-g", "main.c", "-o", "main", "-ldl"]);
    gcc(
        &place,
        &["-O1", "-g", "-shared", "-fPIC", "later.c", "-o", "later.so"],
    );
    planned(&place, &["./main"], "2M");
    let done = run(&place, &["--verify"], &["./main"]).ends_with(5);
    let mut rows = done.err.lines().filter(|row| row.contains("later.c:3"));
    assert!(rows.next().unwrap().ends_with(" yes"), "{}", done.err);
}

#[test]
fn static_array_gets_huge_pages() {
    if !has_huge_pages() {
        return;
    }
    let place = Place::new();
    let program = "static long table[1 << 20];\n\
        int main(void) { long sum = 0; for (int k = 0; k < 3; k++)\n\
        for (int i = 0; i < 1 << 20; i++) sum += table[i]++;\n\
        return sum == 3l << 20 ? 4 : 5; }\n";
    place.write("table.c", program);
    gcc(&place, &["-O1", "-g", "table.c", "-o", "table"]);
    planned(&place, &["./table"], "16M");
    let done = run(&place, &["--verify"], &["./table"]).ends_with(4);
    assert!(done.err.contains("table (table.c)"), "{}", done.err);
    assert!(
        done.err
            .contains("accessed pages are where the file puts them"),
        "{}",
        done.err
    );
}

#[test]
fn other_builds_are_refused_unless_loosely() {
    let place = two();
    place.write("two.c", TWO.replace("return 7", "return 8"));
    gcc(&place, &["-O1", "-g", "-fno-inline", "two.c", "-o", "two"]);
    run(&place, &[], &["./two"])
        .fails(1)
        .says(&["not the build that was profiled", "--loosely"]);
    run(&place, &["--loosely", "--as", "node:0"], &["./two"]).ends_with(8);
}

#[test]
fn programs_that_nothing_is_loaded_into_are_refused() {
    let place = two();
    gcc(&place, &["-O1", "-static", "two.c", "-o", "fixed"]);
    run(&place, &[], &["./fixed"])
        .fails(1)
        .says(&["linked statically"]);
    std::fs::copy(place.path("two"), place.path("other-user")).unwrap();
    let mode = Command::new("chmod")
        .args(["u+s", "other-user"])
        .current_dir(place.path(""))
        .status();
    assert!(mode.unwrap().success());
    run(&place, &[], &["./other-user"])
        .fails(1)
        .says(&["setuid"]);
    run(&place, &[], &["./missing"])
        .fails(1)
        .says(&["there is no program './missing'"]);
    let done = place.run(&["run", "--placement", "none.rlplace", "--", "./two"]);
    done.fails(1)
        .says(&["none.rlplace", "there is no such file", "reuselens place"]);
    place.write("p.rlplace", "version = 1\n[[tier]]\nname = \"t\"\n");
    run(&place, &[], &["./two"])
        .fails(1)
        .says(&["p.rlplace", "missing field"]);
    let done = run(&place, &["--as", "quick"], &["./two"]);
    assert!(done.err.contains("p.rlplace"), "{}", done.err);
}

#[test]
fn program_with_its_own_allocator_is_reported() {
    let place = Place::new();
    // An allocator that hands out and never takes back.
    let own = "#include <stddef.h>\nstatic char heap[1 << 22]; static size_t used;\n\
        void *malloc(size_t n) { char *at = heap + used; used += (n + 31) & ~15ul; *(size_t *)at = n; return at + 16; }\n\
        void free(void *at) { (void)at; }\n\
        void *calloc(size_t a, size_t b) { return malloc(a * b); }\n\
        void *realloc(void *at, size_t n) { char *to = malloc(n); if (at) for (size_t i = 0; i < n && i < ((size_t *)at)[-2]; i++) to[i] = ((char *)at)[i]; return to; }\n\
        int main(void) { volatile char *at = malloc(100000); for (int i = 0; i < 100000; i++) at[i] = i; return 9; }\n";
    place.write("own.c", own);
    gcc(&place, &["-O1", "-g", "-fno-builtin", "own.c", "-o", "own"]);
    planned(&place, &["./own"], "8M");
    let done = run(&place, &["--as", "node:0"], &["./own"]).ends_with(9);
    assert!(
        done.err.contains("has an allocator built in"),
        "{}",
        done.err
    );
}

/// Arrays of `new` in all its forms; a `new` that fails, with and without an exception.
const NEW: &str = r#"
#include <cstdio>
#include <map>
#include <new>
#include <vector>
struct alignas(64) Line { double v[8]; };
static double sweep(double *at, int n) { double s = 0; for (int k = 0; k < 3; k++) for (int i = 0; i < n; i++) s += at[i]++; return s; }
int main() {
  std::vector<double> v(1 << 18);
  std::map<int, long> m;
  for (int i = 0; i < 20000; i++) m[i * 7919 % 20011] = i;
  double *a = new double[1 << 18]();
  Line *l = new Line[4096]();
  double *n = new (std::nothrow) double[1 << 17]();
  double s = sweep(v.data(), 1 << 18) + sweep(a, 1 << 18) + sweep(l->v, 4096 * 8) + sweep(n, 1 << 17);
  for (auto &e : m) s += e.second;
  volatile std::size_t huge = std::size_t(1) << 60;
  for (int i = 0; i < 3; i++) try { char *none = new char[huge]; std::printf("%p\n", (void *)none); } catch (std::bad_alloc &) { std::puts("bad_alloc"); }
  volatile char *none = new (std::nothrow) char[huge]; std::printf("%d %f\n", none == nullptr, s);
  delete[] a; delete[] l; delete[] n;
}
"#;
/// A program with its own `operator new`, which counts.
const OWN_NEW: &str = "#include <cstdio>\n#include <cstdlib>\n#include <new>\n#include <vector>\n\
    static long count;\n\
    void *operator new(std::size_t n) { count++; void *at = std::malloc(n); if (!at) throw std::bad_alloc(); return at; }\n\
    void operator delete(void *at) noexcept { std::free(at); }\n\
    int main() { std::vector<double> v(1 << 18); double s = 0; for (int k = 0; k < 3; k++) for (auto &x : v) s += x += k; std::printf(\"%f %ld\\n\", s, count); }\n";

/// Compiles a program with a compiler that may be missing, and says whether it could.
pub fn built(place: &Place, compiler: &str, options: &[&str]) -> bool {
    if !has(compiler) {
        return false;
    }
    let mut command = Command::new(compiler);
    let done = command.args(options).current_dir(place.path("")).status();
    assert!(done.unwrap().success(), "{compiler} {options:?}");
    true
}

/// Plans for a program, runs it by the plan, compares what it prints, and returns the table with a
/// row for each object.
pub fn verified(place: &Place, program: &[&str]) -> String {
    planned(place, program, "64M");
    verified_by_plan(place, program)
}

/// As [`verified`], by the plan that is there.
pub fn verified_by_plan(place: &Place, program: &[&str]) -> String {
    // A path is looked up from here, a name as ever.
    let path = if program[0].contains('/') {
        place.path(program[0])
    } else {
        program[0].into()
    };
    let mut native = Command::new(path);
    let native = native.args(&program[1..]).current_dir(place.path(""));
    let native = native.output().unwrap();
    let options = ["--verify", "--top", "100", "--as", "node:0", "--"];
    let done = Command::new(env!("CARGO_BIN_EXE_reuselens"))
        .args(["run", "--placement", "p.rlplace"])
        .args(options)
        .args(program)
        .current_dir(place.path(""))
        .output()
        .unwrap();
    let err = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(done.stdout == native.stdout, "{program:?}: {err}");
    assert_eq!(
        done.status.code(),
        native.status.code(),
        "{program:?}: {err}"
    );
    err
}

/// Checks that blocks of a line of the source were placed.
pub fn assert_placed(table: &str, line: &str) {
    let mut rows = table.lines().filter(|row| row.contains(line));
    let is_placed = |row: &str| row.ends_with(" yes") || row.ends_with(" skipped");
    assert!(rows.next().is_some_and(is_placed), "{line}: {table}");
}

#[test]
fn blocks_of_operator_new_are_placed() {
    let place = Place::new();
    place.write("new.cc", NEW);
    place.write("own.cc", OWN_NEW);
    let options = ["-std=c++17", "-O1", "-g", "new.cc", "-o", "new"];
    if !built(&place, "g++", &options) {
        return;
    }
    let lines = [
        "new.cc:9)",
        "new.cc:11)",
        "new.cc:12)",
        "new.cc:13)",
        "new.cc:14)",
    ];
    let table = verified(&place, &["./new"]);
    lines.iter().for_each(|line| assert_placed(&table, line));
    // Not exported, so that only the program's symbols say where `operator new` is.
    built(
        &place,
        "g++",
        &[&["-static-libstdc++"][..], &options].concat(),
    );
    let table = verified(&place, &["./new"]);
    lines.iter().for_each(|line| assert_placed(&table, line));
    built(&place, "g++", &["-O1", "-g", "own.cc", "-o", "own"]);
    assert_placed(&verified(&place, &["./own"]), "own.cc:8)");
}

#[test]
fn blocks_of_rust_and_fortran_are_placed() {
    let place = Place::new();
    let rust = "fn main() { let n = 1 << 18; let mut all: Vec<f64> = vec![1.0; n];\n\
        let mut sum = 0.0; for k in 0..3 { for i in 0..n { all[i] += k as f64; sum += all[i]; } }\n\
        println!(\"{sum}\"); }\n";
    place.write("all.rs", rust);
    if built(&place, "rustc", &["-O", "-g", "all.rs", "-o", "all"]) {
        assert_placed(&verified(&place, &["./all"]), "all.rs:1)");
    }
    let fortran = "program p\nreal(8), allocatable :: a(:)\ninteger :: i, k\nreal(8) :: s\n\
        allocate(a(300000))\ns = 0\ndo k = 1, 3\ndo i = 1, 300000\na(i) = i * k\ns = s + a(i)\n\
        end do\nend do\nprint *, s\nend program\n";
    place.write("p.f90", fortran);
    if built(&place, "gfortran", &["-O1", "-g", "p.f90", "-o", "p"]) {
        assert_placed(&verified(&place, &["./p"]), "p.f90:5)");
    }
}

/// gcc makes two calls of the only `malloc`.
const COPIED: &str = "#include <stdio.h>\n#include <stdlib.h>\n\
    int main(int argc, char **argv) {\n\
    int n = 1 << 18; double s = 0;\n\
    for (int r = 0; r < 6; r++) {\n\
    double *a = malloc(8 * (n + (r & 1 ? argc : 3 * argc)));\n\
    if ((r + argc) & 1) for (int i = 0; i < n; i++) a[i] = i; else for (int i = 0; i < n; i++) a[i] = 2 * i;\n\
    for (int k = 0; k < 3; k++) for (int i = 0; i < n; i++) s += a[i];\n\
    free(a); }\n\
    printf(\"%f\\n\", s); return argv[0] == 0; }\n";

#[test]
fn all_copies_of_a_call_are_placed() {
    let place = Place::new();
    place.write("copied.c", COPIED);
    gcc(&place, &["-O3", "-g", "copied.c", "-o", "copied"]);
    let table = verified(&place, &["./copied"]);
    let row = table.lines().find(|row| row.contains("copied.c:6)"));
    let words: Vec<&str> = row.unwrap().split_whitespace().collect();
    assert!(words.contains(&"6"), "{table}");
}

#[test]
fn address_of_malloc_is_no_allocator_of_the_program() {
    let place = Place::new();
    let program = "#include <stdlib.h>\nvoid *(*volatile make)(size_t) = malloc;\n\
        int main(void) { volatile double *a = malloc(1 << 21); double s = make == malloc;\n\
        for (int k = 0; k < 4; k++) for (int i = 0; i < 1 << 18; i++) s += a[i] = i + k;\n\
        return s < 0; }\n";
    place.write("address.c", program);
    gcc(
        &place,
        &[
            "-O1",
            "-g",
            "-no-pie",
            "-fno-pie",
            "address.c",
            "-o",
            "address",
        ],
    );
    let table = verified(&place, &["./address"]);
    assert_placed(&table, "address.c:3)");
    assert!(!table.contains("allocator built in"), "{table}");
}

#[test]
fn heap_of_programs_with_hooks_is_placed() {
    let place = two();
    place
        .run(&["cc", "-O1", "-g", "-fno-inline", "two.c", "-o", "two"])
        .succeeds();
    let table = verified(&place, &["./two"]);
    assert_placed(&table, "two.c:5)");
    assert!(!table.contains("allocator built in"), "{table}");
    place.write("new.cc", NEW);
    if has("g++") {
        place
            .run(&["c++", "-std=c++17", "-O1", "-g", "new.cc", "-o", "new"])
            .succeeds();
        let table = verified(&place, &["./new"]);
        for line in ["new.cc:9)", "new.cc:11)", "new.cc:12)", "new.cc:14)"] {
            assert_placed(&table, line);
        }
    }
}

/// A thread forks while it holds the loader's lock, which another one waits for.
const FORK_IN_LOADER: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static atomic_int step;
static void *other(void *arg) { dlclose(dlopen("libm.so.6", RTLD_NOW)); step = 1; while (step < 2) usleep(100); for (int i = 0; i < 10; i++) { char *volatile at = malloc(5000); free(at); } return arg; }
static int visit(struct dl_phdr_info *info, size_t n, void *arg) {
  (void)info; (void)n; (void)arg; step = 2; usleep(200000);
  pid_t child = fork();
  if (child == 0) { char *at = malloc(1 << 20); memset(at, 1, 1 << 20); free(at); _exit(3); }
  int status; waitpid(child, &status, 0);
  _exit(WEXITSTATUS(status) == 3 ? 9 : 8);
}
int main(void) {
  alarm(60); char *at = malloc(1 << 20); for (int k = 0; k < 5; k++) for (int i = 0; i < 1 << 20; i++) at[i]++;
  pthread_t thread; pthread_create(&thread, NULL, other, NULL); while (step < 1) usleep(100);
  dl_iterate_phdr(visit, NULL); return 7;
}
"#;

#[test]
fn fork_waits_for_no_thread_that_waits_for_the_loader() {
    let place = Place::new();
    place.write("fork.c", FORK_IN_LOADER);
    gcc(
        &place,
        &["-O1", "-g", "-pthread", "fork.c", "-o", "fork", "-ldl"],
    );
    let words = ["profile", "-q", "-f", "-o", "p", "--", "./fork"];
    place.run(&words).ends_with(9);
    let words = [
        "place",
        "p.rlprof",
        "--fast",
        "8M",
        "--objective",
        "f",
        "-q",
        "-o",
        "p.rlplace",
    ];
    place.run(&words).succeeds();
    run(&place, &["--as", "node:0"], &["./fork"]).ends_with(9);
}

#[test]
fn what_cannot_be_run_or_placed_is_said() {
    let place = two();
    let file = String::from_utf8(place.read("p.rlplace")).unwrap();
    place
        .run(&["run", "--placement", "p.rlprof", "--", "./two"])
        .fails(1)
        .says(&[
            "p.rlprof is a profile and no placement file",
            "reuselens place p.rlprof",
        ]);
    place.write("script", "echo\n");
    let done = Command::new("chmod")
        .args(["+x", "script"])
        .current_dir(place.path(""))
        .status();
    assert!(done.unwrap().success());
    run(&place, &["--as", "node:0"], &["./script"])
        .fails(1)
        .says(&["nor a script whose first line", "sh ./script"]);
    for (capacity, way, expected) in [
        ("0", "huge", "capacity_bytes is 0"),
        ("65536", "huge", "--fast 2M or more"),
        ("65535", "node:0", "--fast 64K or more"),
    ] {
        let line = format!("capacity_bytes = {capacity}");
        place.write("p.rlplace", file.replace("capacity_bytes = 8388608", &line));
        run(&place, &["--as", way], &["./two"])
            .fails(1)
            .says(&[expected]);
    }
    // A call that the program does not make.
    place.write("p.rlplace", file.replace("two+0x", "two+0x1"));
    let done = run(&place, &["--verify", "--as", "node:0"], &["./two"]).ends_with(7);
    let lines: Vec<&str> = done.err.lines().collect();
    assert!(
        done.err.contains("warning: nothing was placed"),
        "{}",
        done.err
    );
    assert!(
        lines
            .last()
            .unwrap()
            .contains("nothing: no object of the file was placed"),
        "{lines:?}"
    );
    place.write("p.rlplace", &file);
    place.write(
        "stuck.c",
        TWO.replace("return 7", "raise(9)")
            .replace(
                "#include <stdio.h>",
                "#include <signal.h>\n#include <stdio.h>",
            )
            .replace("free(hot);", ""),
    );
    gcc(
        &place,
        &["-O1", "-g", "-fno-inline", "stuck.c", "-o", "stuck"],
    );
    planned(&place, &["./stuck"], "8M");
    let done = run(&place, &["--verify", "--as", "node:0"], &["./stuck"]);
    assert_eq!(done.code, 128 + 9, "{}", done.err);
    let is_said = done
        .err
        .contains("a signal ended the program before the kernel was asked");
    assert!(is_said || done.err.contains("skipped"), "{}", done.err);
}
