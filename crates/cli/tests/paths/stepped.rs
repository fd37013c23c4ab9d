//! Paths of ordinary programs, however compilers lay them out, against the addresses of all
//! instructions that they run, one after the other.

use std::collections::BTreeMap;
use std::ops::Range;
use std::process::Command;

use super::reference::{Instruction, Leads, Reference};
use super::{Counts, Place, analyze_profile, has, ordinary, run};

/// Generated programs; the environment's `REUSELENS_PATH_PROGRAMS` has another number, or seeds as
/// `FROM..TO`.
const PROGRAMS: u64 = 2;

/// The seeds of the programs that are checked.
fn seeds() -> Range<u64> {
    let Ok(given) = std::env::var("REUSELENS_PATH_PROGRAMS") else {
        return 0..PROGRAMS;
    };
    let (from, to) = given.split_once("..").unwrap_or(("0", &given));
    from.parse().unwrap()..to.parse().unwrap()
}

/// An instruction, as a disassembler shows it.
struct Shown {
    after: u64,
    leads: Leads,
    text: String,
}

impl Shown {
    fn new(after: u64, text: &str) -> Shown {
        let mut words = text.split_whitespace();
        let mut name = words.next().unwrap_or_default();
        if ["bnd", "notrack"].contains(&name) {
            name = words.next().unwrap_or_default();
        }
        let to = words.next().unwrap_or_default();
        let fixed = u64::from_str_radix(to, 16);
        let leads = match name {
            "call" => Leads::Call,
            "ret" => Leads::Return,
            "jmp" => fixed.map_or(Leads::Indirect, Leads::Jump),
            _ if name.starts_with('j') => Leads::Branch(fixed.unwrap()),
            _ => Leads::On,
        };
        Shown {
            after,
            leads,
            text: text.to_owned(),
        }
    }

    /// Whether it accesses the memory of its operand.
    fn accesses(&self) -> bool {
        let is_address = ["lea", "nop"].iter().any(|name| self.text.contains(name));
        self.text.contains('(') && !is_address
    }

    /// Whether how many items it accesses depends on addresses, or on a count.
    fn varies(&self) -> bool {
        ["mm", "rep"].iter().any(|word| self.text.contains(word))
    }
}

/// The instructions of a program, by address.
fn code(place: &Place) -> BTreeMap<u64, Shown> {
    let mut command = Command::new("objdump");
    let command = command.args(["-d", "-w", "--no-show-raw-insn"]);
    let output = command.arg(place.path("program")).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let lines = text.lines().filter_map(|line| line.split_once(":\t"));
    let address = |text: &str| u64::from_str_radix(text.trim(), 16).unwrap();
    let lines: Vec<(u64, &str)> = lines.map(|(at, text)| (address(at), text)).collect();
    let after = |at: usize| lines.get(at + 1).map_or(u64::MAX, |(after, _)| *after);
    let shown = lines.iter().enumerate();
    shown
        .map(|(at, (address, text))| (*address, Shown::new(after(at), text)))
        .collect()
}

/// How often each path led to each instruction, by the definition; `None` if the compiler made a
/// loop that is entered at several places.
fn expected(place: &Place, code: &BTreeMap<u64, Shown>, keep: u32) -> Option<Counts> {
    let output = Command::new(place.path("step"))
        .arg(place.path("program"))
        .output();
    let output = output.unwrap();
    assert!(output.status.success(), "{:?}", output.status);
    let words = output.stdout.chunks_exact(8);
    let ran = words.map(|word| u64::from_ne_bytes(word.try_into().unwrap()));
    let mut reference = Reference::new(keep);
    let mut counts = Counts::new();
    let mut last = 0;
    for address in ran {
        let shown = code.get(&address).expect("an instruction of the program");
        // The processor stops after each round of a repeated one.
        if std::mem::replace(&mut last, address) == address && shown.leads == Leads::On {
            continue;
        }
        let path = reference.run(Instruction {
            address,
            after: shown.after,
            leads: shown.leads,
        });
        let paths = counts.entry(address).or_default();
        *paths.entry(path.outcomes).or_default() += 1;
    }
    reference.is_reducible().then_some(counts)
}

/// What differs between what was found of an instruction and what it did.
fn difference(shown: &Shown, found: &BTreeMap<u32, u64>, ran: &BTreeMap<u32, u64>) -> bool {
    let sum = |paths: &BTreeMap<u32, u64>| paths.values().sum::<u64>();
    let (accesses, runs) = (sum(found), sum(ran));
    if shown.varies() {
        return !found.keys().eq(ran.keys());
    }
    let each = accesses / runs;
    each * runs != accesses
        || !found.keys().eq(ran.keys())
        || ran.iter().any(|(path, runs)| found[path] != each * runs)
}

/// Holds the paths of one program, compiled in one way, against its instructions. Whether they are
/// defined.
fn check_program(place: &Place, way: &str, keep: u32) -> bool {
    let code = code(place);
    let Some(expected) = expected(place, &code, keep) else {
        return false;
    };
    let profile = analyze_profile(place, keep);
    let found = super::counts(&profile, |site| {
        let (address, _) = code.range(..=site.offset).next_back()?;
        (site.module == "program").then_some(*address)
    });
    let digits = |paths: Option<&BTreeMap<u32, u64>>| -> Vec<String> {
        let paths = paths.into_iter().flatten();
        paths
            .map(|(path, count)| format!("{path:032b}: {count}"))
            .collect()
    };
    for (address, ran) in &expected {
        let shown = &code[address];
        let of = found.get(address);
        assert!(
            of.is_some() || !shown.accesses(),
            "{way}: {address:x} {} is missing",
            shown.text
        );
        assert!(
            of.is_none_or(|of| !difference(shown, of, ran)),
            "{way}: {address:x} {}: {:#?} are {:#?}",
            shown.text,
            digits(Some(ran)),
            digits(of),
        );
    }
    assert!(!found.is_empty(), "{way}: no paths");
    true
}

#[test]
fn paths_of_optimised_programs_are_those_of_the_instructions_that_they_run() {
    if !cfg!(target_arch = "x86_64") || !has("objdump") || !has("gcc") {
        reuselens_testing::skip("no code for x86-64, or nothing to show it");
        return;
    }
    let place = Place::new();
    place.write("step.c", include_str!("step.c"));
    run(&place, "gcc", &["-O1", "step.c", "-o", "step"]);
    let compilers: Vec<&str> = ["gcc", "clang"]
        .into_iter()
        .filter(|name| has(name))
        .collect();
    let (mut checked, mut undefined) = (0, 0);
    for seed in seeds() {
        place.write("program.c", ordinary::source(seed));
        for compiler in &compilers {
            for level in ["-O0", "-O1", "-O2", "-O3"] {
                let words = "-w -g -static -nostdlib -ffreestanding -fno-pie -no-pie \
                             -fno-stack-protector -fcf-protection=none program.c -o program";
                let words: Vec<&str> = [level]
                    .into_iter()
                    .chain(words.split_whitespace())
                    .collect();
                run(&place, compiler, &words);
                let keep = [4, 8][seed as usize % 2];
                if check_program(&place, &format!("{seed} {compiler} {level}"), keep) {
                    checked += 1;
                } else {
                    undefined += 1;
                }
            }
        }
    }
    println!(
        "{checked} programs have their paths; of {undefined} others a loop has several begins"
    );
    assert!(undefined * 20 <= checked, "{undefined} and {checked}");
}
