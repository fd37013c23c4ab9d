//! Paths of real programs, however their basic blocks are captured, against a brute force.
//!
//! Programs are generated, compiled and run. Each of their branches depends on the next one of a
//! list of outcomes, so a brute force can follow the code of the program, instruction by
//! instruction: what a disassembler says of it, or what clang makes of the source. Others are
//! ordinary programs, of which the brute force follows what they run (`stepped`).

mod machine_code;
mod ordinary;
#[path = "../../predict/tests/reference/mod.rs"]
mod reference;
mod stepped;

use std::collections::{BTreeMap, HashSet};
use std::process::Command;

use machine_code::MachineCode;
use reference::programs::{FIRST_OUTCOMES, Op, Program};
use reference::{Instruction, Leads, Reference};
use reuselens::profile::{PathSite, Profile};

use crate::common::{Place, has};

/// Generated programs, which are functions of one file.
const PROGRAMS: usize = 50;
/// Instructions that run of each.
const STEPS: usize = 400;

/// How often each path led to each load: by the place of the load, then by the path.
type Counts = BTreeMap<u64, BTreeMap<u32, u64>>;

/// A generated program: its source in C, and what runs of it.
struct Generated {
    program: Program,
    source: String,
    /// The line of each operation.
    lines: Vec<u32>,
    ran: Vec<usize>,
}

impl Generated {
    fn new(seed: u64) -> Generated {
        let mut program = Program::new(seed, PROGRAMS, true);
        let ran = program.run(STEPS);
        let (source, lines) = source_of(&program);
        Generated {
            program,
            source,
            lines,
            ran,
        }
    }

    /// The outcomes of its branches, as they run.
    fn outcomes(&self) -> impl Iterator<Item = bool> {
        let pairs = self.ran.iter().zip(&self.ran[1..]);
        pairs.filter_map(|(at, next)| match self.program.ops[*at] {
            Op::Branch { to, .. } => Some(*next == self.program.labels[to]),
            _ => None,
        })
    }

    /// What the brute force finds, by line, for the code that clang gives its passes without
    /// optimisation.
    fn expected_of_clang(&self, keep: u32) -> Counts {
        let labels: HashSet<usize> = self.program.labels.iter().copied().collect();
        let mut reference = Reference::new(keep);
        let mut counts = Counts::new();
        let (mut outcomes, mut before) = (0, None);
        for (place, at) in self.ran.iter().enumerate() {
            let next = self.ran.get(place + 1).copied();
            let mut path = 0;
            for instruction in self.code_of_clang(before.replace(*at), *at, next, &labels) {
                path = reference.run(instruction).outcomes;
            }
            match self.program.ops[*at] {
                Op::Branch { .. } => outcomes += 1,
                Op::Load if outcomes >= FIRST_OUTCOMES => {
                    let paths = counts.entry(self.lines[*at].into()).or_default();
                    *paths.entry(path).or_default() += 1;
                }
                _ => {}
            }
        }
        counts
    }

    /// The instructions that run of an operation, after operation `before` and before operation
    /// `next`. A branch is one to a jump to its label, which comes next. What is before a label
    /// jumps to it, also after a call.
    fn code_of_clang(
        &self,
        before: Option<usize>,
        at: usize,
        next: Option<usize>,
        labels: &HashSet<usize>,
    ) -> Vec<Instruction> {
        const BYTES: u64 = 8;
        let ops = &self.program.ops;
        let place = |at: usize| BYTES * (1 + at as u64);
        let middle = |at: usize| place(at) + BYTES / 2;
        let label = |label: usize| place(self.program.labels[label]);
        let is_before_label = labels.contains(&(at + 1));
        let after = if is_before_label {
            middle(at)
        } else {
            place(at + 1)
        };
        let one = |leads| Instruction {
            address: place(at),
            after,
            leads,
        };
        let jump = |at: usize, to: u64| Instruction {
            address: middle(at),
            after: place(at + 1),
            leads: Leads::Jump(to),
        };
        let mut code = Vec::new();
        let is_back = before.is_some_and(|before| ops[before] == Op::Return);
        if is_back && labels.contains(&at) {
            code.push(jump(at - 1, place(at)));
        }
        match ops[at] {
            Op::Load => {
                code.push(one(Leads::On));
                code.extend(is_before_label.then(|| jump(at, place(at + 1))));
            }
            Op::Branch { to, .. } => {
                code.push(Instruction {
                    after: middle(at),
                    ..one(Leads::Branch(middle(at)))
                });
                let jumps = next == Some(self.program.labels[to]);
                code.extend(jumps.then(|| jump(at, label(to))));
            }
            Op::Jump(to) => code.push(one(Leads::Jump(label(to)))),
            Op::Switch(..) => code.push(one(Leads::Indirect)),
            Op::Call(_) => code.push(one(Leads::Call)),
            Op::Return => code.push(one(Leads::Return)),
        }
        code
    }
}

/// The program in C, and the line of each operation. The outcomes of its branches are in a file of
/// their own, so that no compiler knows them.
fn source_of(program: &Program) -> (String, Vec<u32>) {
    let mut text = vec![
        "extern const unsigned char *next;".to_owned(),
        format!("static volatile char data[{}];", program.ops.len()),
    ];
    let functions = &program.functions[1..];
    text.extend(functions.iter().map(|f| format!("static void f{f}(void);")));
    let mut labels: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (label, at) in program.labels.iter().enumerate() {
        labels.entry(*at).or_default().push(label);
    }
    let mut lines = Vec::new();
    for (at, op) in program.ops.iter().enumerate() {
        for label in labels.get(&at).into_iter().flatten() {
            text.push(match program.functions.iter().position(|f| f == label) {
                None => format!("l{label}:;"),
                Some(0) => "int main(void) {".to_owned(),
                Some(_) => format!("}} static void f{label}(void) {{"),
            });
        }
        text.push(match op {
            Op::Load => format!("data[{at}];"),
            Op::Branch { to, .. } => format!("if (*next++) goto l{to};"),
            Op::Jump(to) => format!("goto l{to};"),
            Op::Switch(..) => unreachable!("a plain program has no switches"),
            Op::Call(function) => format!("f{function}();"),
            Op::Return => "return;".to_owned(),
        });
        lines.push(text.len() as u32);
    }
    text.push("}\n".to_owned());
    // A main function may end without a value, but not return none.
    let source = text.join("\n").replacen("return;", "return 0;", 1);
    (source, lines)
}

/// The profile of `path.rltrace`, with paths.
fn analyze(place: &Place, granularity: u32) -> Profile {
    let words = "analyze -q -f path.rltrace -o path --by path,instruction --granularity";
    let words: Vec<&str> = words.split(' ').collect();
    place
        .run(&[&words[..], &[&granularity.to_string()]].concat())
        .succeeds();
    Profile::from_bytes(&place.read("path.rlprof")).unwrap()
}

/// The profile of a run of `program`, with paths.
fn analyze_profile(place: &Place, keep: u32) -> Profile {
    let granularity = (8 * keep).to_string();
    let words = "profile -q -f -o path --by path,instruction --granularity";
    let words: Vec<&str> = words
        .split(' ')
        .chain([&*granularity, "--", "./program"])
        .collect();
    place.run(&words).succeeds();
    Profile::from_bytes(&place.read("path.rlprof")).unwrap()
}

/// What was found of the loads that `place` knows.
fn counts(profile: &Profile, place: impl Fn(&PathSite) -> Option<u64>) -> Counts {
    let mut counts = Counts::new();
    for site in profile.paths.iter().flat_map(|paths| &paths.sites) {
        let Some(place) = place(site) else { continue };
        let paths = counts.entry(place).or_default();
        for path in &site.paths {
            assert_eq!(path.length, 32, "all paths are kept apart");
            let reuses: u64 = path.bins.iter().map(|bin| bin.accesses).sum();
            *paths.entry(path.outcomes).or_default() += reuses + path.bins.cold();
        }
    }
    counts
}

fn run(place: &Place, command: &str, arguments: &[&str]) {
    let mut command = Command::new(command);
    let done = command.args(arguments).current_dir(place.path("")).status();
    assert!(done.unwrap().success(), "{command:?}");
}

fn has_llvm() -> bool {
    has("clang-19") && has("llvm-config-19")
}

fn record(place: &Place, program: &str) {
    let words = "record -q -f -o path.rltrace --basic-blocks --";
    let words: Vec<&str> = words.split(' ').collect();
    place
        .run(&[&words[..], &[&format!("./{program}")]].concat())
        .succeeds();
}

/// Holds what was found against what a brute force did.
fn check(program: &str, found: &Counts, expected: &Counts) {
    let differs = |(place, paths): &(&u64, &BTreeMap<u32, u64>)| found.get(place) != Some(paths);
    let wrong: Vec<_> = expected.iter().filter(differs).collect();
    let digits = |paths: &BTreeMap<u32, u64>| -> Vec<String> {
        let digits = |(path, count)| format!("{path:032b}: {count}");
        paths.iter().map(digits).collect()
    };
    if let Some((place, paths)) = wrong.first() {
        panic!(
            "{program}, at {place:#x} and {} more of {}: {:#?} are {:#?}",
            wrong.len() - 1,
            expected.len(),
            digits(paths),
            found.get(place).map(digits),
        );
    }
}

/// A folder with a generated program.
fn generated() -> (Place, Generated) {
    let generated = Generated::new(29);
    let outcomes: Vec<&str> = generated
        .outcomes()
        .map(|taken| if taken { "1" } else { "0" })
        .collect();
    let outcomes = format!(
        "static const unsigned char outcomes[] = {{{}}};\nconst unsigned char *next = outcomes;\n",
        outcomes.join(",")
    );
    let place = Place::new();
    place.write("generated.c", &generated.source);
    place.write("outcomes.c", outcomes);
    (place, generated)
}

#[test]
fn paths_of_unmodified_programs_are_those_of_their_machine_code() {
    if !cfg!(target_arch = "x86_64") || !has("objdump") {
        reuselens_testing::skip("no code for x86-64, or nothing to show it");
        return;
    }
    let (place, generated) = generated();
    for level in ["-O0", "-O2"] {
        let words = [
            "-w",
            "-g",
            level,
            "generated.c",
            "outcomes.c",
            "-o",
            "program",
        ];
        run(&place, "gcc", &words);
        record(&place, "program");
        let code = MachineCode::read(&place.path("program"));
        for keep in [1, 8] {
            let outcomes = generated.outcomes();
            let expected = code.expected(outcomes, FIRST_OUTCOMES, keep);
            let ours = |site: &PathSite| {
                let ours = site.module == "program";
                ours.then(|| code.instruction_at(site.offset)).flatten()
            };
            check(level, &counts(&analyze(&place, 8 * keep), ours), &expected);
        }
    }
}

#[test]
fn paths_of_programs_with_blocks_are_those_of_their_source() {
    if !has_llvm() {
        return;
    }
    let (place, generated) = generated();
    let words = "cc --llvm=blocks -w -g -O0 generated.c outcomes.c -o program";
    let words: Vec<&str> = words.split(' ').collect();
    place.run(&words).succeeds();
    record(&place, "program");
    for keep in [1, 8] {
        let ours = |site: &PathSite| {
            let ours = site.frame.file.ends_with("generated.c");
            ours.then_some(site.frame.line.into())
        };
        let expected = generated.expected_of_clang(keep);
        check(
            "blocks",
            &counts(&analyze(&place, 8 * keep), ours),
            &expected,
        );
    }
}

#[test]
fn small_loops_between_a_condition_and_a_load_leave_no_outcomes() {
    const SMALL_LOOPS: &str = "\
static volatile long small[8], even, odd;
static volatile long spread[65][8] __attribute__((aligned(64)));
#define SMALL i = 0; do small[i]; while (++i < n);
__attribute__((noinline)) static void turn(int round, int n, int row) {
    int i;
    if (round & 1) { odd = round; odd = round; } else even = round;
    SMALL SMALL SMALL SMALL SMALL SMALL SMALL SMALL
    spread[row][0];
}
int main(void) {
    for (int round = 0; round < 1280; round++)
        turn(round, 4, (round & 1) * (1 + (round >> 1 & 63)));
    return 0;
}
";
    let place = Place::new();
    place.write("small.c", SMALL_LOOPS);
    let words = ["-w", "-g", "-O1", "small.c", "-o"];
    run(&place, "gcc", &[&words[..], &["unmodified"]].concat());
    let mut programs = vec!["unmodified"];
    if has_llvm() {
        let words = [&["cc", "--llvm=blocks"], &words[..], &["blocks"]].concat();
        place.run(&words).succeeds();
        programs.push("blocks");
    }
    for program in programs {
        record(&place, program);
        let profile = analyze(&place, 64);
        let sites = profile.paths.unwrap().sites;
        let mut sites = sites.iter().filter(|site| site.frame.line == 8);
        let paths = &sites.next().expect("the load").paths;
        let [mut near, mut far] = [0, 0];
        for path in paths {
            let is_far = |mean: f64| mean > 32.0;
            let mut bins = path.bins.iter();
            let first = bins.next().map(|bin| is_far(bin.mean));
            let alike = bins.all(|bin| Some(is_far(bin.mean)) == first);
            assert!(alike, "{program}: {path:?} has near and far reuses");
            let reuses: u64 = path.bins.iter().map(|bin| bin.accesses).sum();
            *if first == Some(true) {
                &mut far
            } else {
                &mut near
            } += reuses;
        }
        assert_eq!((near, far), (639, 576), "{program}");
    }
}
