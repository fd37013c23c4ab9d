//! The machine code of a generated program, as a disassembler shows it, and what runs of it.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::process::Command;

use super::Counts;
use super::reference::{Instruction, Leads, Reference};

/// What an instruction does.
#[derive(Clone, Copy)]
enum What {
    /// Nothing that matters here.
    Other,
    /// Loads from the program's data.
    Load,
    /// Goes to an address if the outcome is this one.
    Branch(u64, bool),
    Jump(u64),
    Call(u64),
    Return,
}

/// The instructions of a program, by address.
pub struct MachineCode {
    code: BTreeMap<u64, What>,
    main: u64,
}

impl MachineCode {
    /// What `objdump` shows of a program.
    pub fn read(program: &Path) -> MachineCode {
        let mut command = Command::new("objdump");
        let command = command.args(["-d", "--no-show-raw-insn"]).arg(program);
        let text = String::from_utf8(command.output().unwrap().stdout).unwrap();
        let number = |text: &str| u64::from_str_radix(text, 16).unwrap();
        let main = text.lines().find_map(|line| line.strip_suffix(" <main>:"));
        let lines = text.lines().filter_map(|line| line.split_once(":\t"));
        let code = lines.map(|(address, text)| (number(address.trim()), what(text)));
        MachineCode {
            code: code.collect(),
            main: number(main.expect("a function main")),
        }
    }

    /// The load from the program's data that holds an address.
    pub fn instruction_at(&self, address: u64) -> Option<u64> {
        let (at, what) = self.code.range(..=address).next_back()?;
        matches!(what, What::Load).then_some(*at)
    }

    /// What the brute force finds, by the addresses of loads from the program's data, after so many
    /// outcomes.
    pub fn expected(
        &self,
        mut outcomes: impl Iterator<Item = bool>,
        first: usize,
        keep: u32,
    ) -> Counts {
        let mut reference = Reference::new(keep);
        let mut counts: HashMap<u64, BTreeMap<u32, u64>> = HashMap::new();
        let (mut at, mut calls, mut branches) = (self.main, Vec::new(), 0);
        loop {
            let mut range = self.code.range(at..);
            let (_, what) = range.next().filter(|(address, _)| **address == at).unwrap();
            let (after, _) = range.next().unwrap();
            let (leads, next) = match *what {
                What::Other | What::Load => (Leads::On, *after),
                What::Jump(to) => (Leads::Jump(to), to),
                What::Branch(to, outcome) => {
                    branches += 1;
                    let taken = outcomes.next().expect("an outcome") == outcome;
                    (Leads::Branch(to), if taken { to } else { *after })
                }
                What::Call(to) => {
                    calls.push(*after);
                    (Leads::Call, to)
                }
                What::Return => match calls.pop() {
                    Some(back) => (Leads::Return, back),
                    None => break,
                },
            };
            let path = reference.run(Instruction {
                address: at,
                after: *after,
                leads,
            });
            if matches!(what, What::Load) && branches >= first {
                let paths = counts.entry(at).or_default();
                *paths.entry(path.outcomes).or_default() += 1;
            }
            at = next;
        }
        assert!(outcomes.next().is_none(), "all branches ran");
        counts.into_iter().collect()
    }
}

/// What an instruction does, by its text.
fn what(text: &str) -> What {
    let mut words = text.split_whitespace();
    let name = words.next().unwrap_or_default();
    let to = words.next().unwrap_or_default();
    let to = || u64::from_str_radix(to, 16).unwrap_or(0);
    match name {
        "je" => What::Branch(to(), false),
        "jne" => What::Branch(to(), true),
        "jmp" => What::Jump(to()),
        "call" => What::Call(to()),
        "ret" => What::Return,
        _ if text.contains("<data") => What::Load,
        _ => What::Other,
    }
}
