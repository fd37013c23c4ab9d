//! Loops in which a thread waits for another one.
//!
//! A load waits if it is in a loop that executes `pause`, writes no memory, and reads the same
//! places each time. The loop is all ways back to the load that neither write memory, call, return
//! nor jump to an address that only the run knows. On these ways no instruction writes a register
//! that a load on them takes its address from. What such a loop reads can only be changed by
//! others, so it learns nothing before another thread has written.
//!
//! Compilers never make `pause` by themselves, so code that was written without it has no such
//! load. A loop with `pause` that calculates reads other places from iteration to iteration, or
//! writes memory; its loads count as others do.
//!
//! The loops of libgomp (`do_spin`), of glibc's mutexes that adapt, and of spin locks by the book
//! are such.
//!
//! In a run-time library of threads ([`WaitRule::RunTime`]) all accesses of a short loop with
//! `pause` wait, whatever the loop writes and calls: such libraries calculate nothing for the
//! program. The loops of libomp (`__kmp_wait_template`) count, call functions and look for tasks in
//! between. What those functions access counts as work.

use std::collections::{BTreeMap, BTreeSet};

use iced_x86::{
    Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpAccess,
    OpKind, Register,
};

/// Which loops wait.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum WaitRule {
    /// Those that only read the same places again.
    Program,
    /// Those with `pause`: of libraries that run threads.
    RunTime,
}

impl WaitRule {
    /// Bytes of code that are looked at on each side of an access.
    pub(super) fn reach(self) -> u64 {
        match self {
            WaitRule::Program => 512,
            WaitRule::RunTime => 1536,
        }
    }

    /// A way back with more instructions is none.
    fn most_steps(self) -> usize {
        match self {
            WaitRule::Program => 64,
            // A turn of libomp's loop has up to 130.
            WaitRule::RunTime => 160,
        }
    }
}

/// Whether the access whose last byte is at `last` waits. `code` begins at `start`.
pub(super) fn waits(rule: WaitRule, start: u64, code: &[u8], last: u64) -> bool {
    // Most code has none, and is not decoded.
    if !code.windows(2).any(|bytes| bytes == [0xf3, 0x90]) {
        return false;
    }
    let ways = Ways::from(rule, start, code, last);
    ways.access.is_some_and(|access| match rule {
        WaitRule::Program => ways.is_wait(&access),
        WaitRule::RunTime => ways.has_pause(&access),
    })
}

/// An instruction on a way that may lead back to the access.
struct WayStep {
    next: Vec<u64>,
    is_pause: bool,
    /// The registers that it writes, and those that it takes addresses from, by their full names.
    writes: Vec<Register>,
    addresses: Vec<Register>,
}

/// What can run after an access, up to instructions that end a way.
struct Ways {
    steps: BTreeMap<u64, WayStep>,
    /// The first instruction after the access.
    first: u64,
    /// The access itself, if a way leads back to it.
    access: Option<Instruction>,
}

impl Ways {
    fn from(rule: WaitRule, start: u64, code: &[u8], last: u64) -> Ways {
        let mut ways = Ways {
            steps: BTreeMap::new(),
            first: last.wrapping_add(1),
            access: None,
        };
        let mut information = InstructionInfoFactory::new();
        let mut waiting = BTreeSet::from([ways.first]);
        for _ in 0..rule.most_steps() {
            let mut found = BTreeSet::new();
            for at in std::mem::take(&mut waiting) {
                let Some(instruction) = decoded(start, code, at) else {
                    continue;
                };
                if instruction.next_ip().wrapping_sub(1) == last {
                    ways.access = Some(instruction);
                    continue;
                }
                if let Some(step) = step(rule, &instruction, &mut information) {
                    found.extend(step.next.iter().filter(|it| !ways.steps.contains_key(it)));
                    ways.steps.insert(at, step);
                }
            }
            waiting = found;
        }
        ways
    }

    /// Whether a way that leads back to the load has a `pause`, and all of them leave the addresses
    /// of their loads as they are.
    fn is_wait(&self, load: &Instruction) -> bool {
        if load.op_count() < 2 || load.op0_kind() == OpKind::Memory {
            // A comparison with memory reads it as its first operand too.
            let compares = matches!(load.mnemonic(), Mnemonic::Cmp | Mnemonic::Test);
            if !compares {
                return false;
            }
        }
        let on_way = self.leading_to(load.ip());
        if !on_way.contains(&self.first) {
            return false;
        }
        let mut information = InstructionInfoFactory::new();
        let mut writes = written(load, &mut information);
        let mut addresses = addressing(load, &mut information);
        let mut has_pause = false;
        for step in on_way.iter().filter_map(|at| self.steps.get(at)) {
            has_pause |= step.is_pause;
            writes.extend(&step.writes);
            addresses.extend(&step.addresses);
        }
        has_pause && !addresses.iter().any(|register| writes.contains(register))
    }

    /// Whether a way that leads back to the access has a `pause`.
    fn has_pause(&self, access: &Instruction) -> bool {
        let on_way = self.leading_to(access.ip());
        on_way.contains(&self.first)
            && on_way
                .iter()
                .filter_map(|at| self.steps.get(at))
                .any(|step| step.is_pause)
    }

    /// The instructions from which a way leads to an address.
    fn leading_to(&self, to: u64) -> BTreeSet<u64> {
        let mut found = BTreeSet::from([to]);
        loop {
            let leads = |(at, step): &(&u64, &WayStep)| {
                !found.contains(at) && step.next.iter().any(|next| found.contains(next))
            };
            let new: Vec<u64> = self.steps.iter().filter(leads).map(|(at, _)| *at).collect();
            if new.is_empty() {
                return found;
            }
            found.extend(new);
        }
    }
}

fn decoded(start: u64, code: &[u8], at: u64) -> Option<Instruction> {
    let bytes = code.get(usize::try_from(at.checked_sub(start)?).ok()?..)?;
    let mut decoder = Decoder::with_ip(64, bytes, at, DecoderOptions::NONE);
    let instruction = decoder.can_decode().then(|| decoder.decode())?;
    (!instruction.is_invalid()).then_some(instruction)
}

/// The step that an instruction is; `None` if a way ends with it.
fn step(
    rule: WaitRule,
    instruction: &Instruction,
    information: &mut InstructionInfoFactory,
) -> Option<WayStep> {
    let (next, target) = (instruction.next_ip(), instruction.near_branch_target());
    let next = match instruction.flow_control() {
        FlowControl::Next => vec![next],
        FlowControl::Call | FlowControl::IndirectCall if rule == WaitRule::RunTime => vec![next],
        FlowControl::ConditionalBranch => vec![next, target],
        FlowControl::UnconditionalBranch => vec![target],
        _ => return None,
    };
    let memory = information.info(instruction).used_memory().iter();
    let mut accesses = memory.map(|used| used.access());
    if rule == WaitRule::Program && accesses.any(is_write) {
        return None;
    }
    Some(WayStep {
        next,
        is_pause: instruction.mnemonic() == Mnemonic::Pause,
        writes: written(instruction, information),
        addresses: addressing(instruction, information),
    })
}

/// The registers that an instruction takes the addresses of its data from.
fn addressing(
    instruction: &Instruction,
    information: &mut InstructionInfoFactory,
) -> Vec<Register> {
    let memory = information.info(instruction).used_memory().iter();
    let registers = memory.flat_map(|used| [used.base(), used.index()]);
    let registers = registers.filter(|it| !matches!(it, Register::None | Register::RIP));
    registers.map(Register::full_register).collect()
}

/// The registers that an instruction writes.
fn written(instruction: &Instruction, information: &mut InstructionInfoFactory) -> Vec<Register> {
    let used = information.info(instruction).used_registers().iter();
    let written = used.filter(|it| is_write(it.access()));
    written.map(|it| it.register().full_register()).collect()
}

fn is_write(access: OpAccess) -> bool {
    matches!(
        access,
        OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: u64 = 0x1000;

    /// Whether the load that ends at byte `end` of the code waits.
    fn is_wait(code: &[u8], end: u64) -> bool {
        waits(WaitRule::Program, START, code, START + end - 1)
    }

    /// The same for code of a run-time library.
    fn is_run_times_wait(code: &[u8], end: u64) -> bool {
        waits(WaitRule::RunTime, START, code, START + end - 1)
    }

    /// `do_spin` of libgomp: load, compare, leave; pause, count, go on.
    const DO_SPIN: [u8; 18] = [
        0x8b, 0x17, // 0: mov (%rdi),%edx
        0x39, 0xf2, // 2: cmp %esi,%edx
        0x75, 0x0b, // 4: jne 17
        0xf3, 0x90, // 6: pause
        0x48, 0x83, 0xc0, 0x01, // 8: add $1,%rax
        0x48, 0x39, 0xc1, // 12: cmp %rax,%rcx
        0x75, 0xef, // 15: jne 0
        0xc3, // 17: ret
    ];

    #[test]
    fn loads_of_spin_loops_wait() {
        assert!(is_wait(&DO_SPIN, 2));
        // pause; mov (%rdi),%rdx; cmp %rdx,%rax; jae -10
        let doacross = [0xf3, 0x90, 0x48, 0x8b, 0x17, 0x48, 0x39, 0xd0, 0x73, 0xf6];
        assert!(is_wait(&doacross, 5));
        // What follows the loop looks once more and begins again, as `do_wait` does: pause; add
        // $1,%rax; mov (%rdi),%ecx; cmp %ecx,%edx; je 0; mov (%rdi),%eax; cmp %edx,%eax; je 6; ret
        let outer = [
            0xf3, 0x90, 0x48, 0x83, 0xc0, 0x01, 0x8b, 0x0f, 0x39, 0xca, 0x74, 0xf4, 0x8b, 0x07,
            0x39, 0xd0, 0x74, 0xf4, 0xc3,
        ];
        assert!(is_wait(&outer, 8));
        // cmpl $0,(%rdi); je to a pause that jumps back; ret
        let apart = [0x83, 0x3f, 0x00, 0x74, 0x01, 0xc3, 0xf3, 0x90, 0xeb, 0xf6];
        assert!(is_wait(&apart, 3));
    }

    #[test]
    fn loops_that_work_do_not_wait() {
        // Without pause.
        let mut plain = DO_SPIN;
        plain[6..8].copy_from_slice(&[0x66, 0x90]);
        assert!(!is_wait(&plain, 2));
        // A sum with a pause in each iteration: pause; add (%rdi),%rdx; add $8,%rdi; cmp; jne.
        let sum = [
            0xf3, 0x90, 0x48, 0x03, 0x17, 0x48, 0x83, 0xc7, 0x08, 0x48, 0x39, 0xf7, 0x75, 0xf2,
        ];
        assert!(!is_wait(&sum, 5));
        // A list: pause; mov (%rdi),%rdi; test %rdi,%rdi; jne.
        let list = [0xf3, 0x90, 0x48, 0x8b, 0x3f, 0x48, 0x85, 0xff, 0x75, 0xf6];
        assert!(!is_wait(&list, 5));
        // A sum that pauses when it is asked to: mov (%rdi),%edx; test %edx,%edx; jne 10 (pause);
        // add (%rsi),%rax; add $8,%rsi; jmp 0. The flag is no wait, nor is what is added.
        let asked = [
            0x8b, 0x17, 0x85, 0xd2, 0x75, 0x09, 0x48, 0x03, 0x06, 0x48, 0x83, 0xc6, 0x08, 0xeb,
            0xf1, 0xf3, 0x90, 0xeb, 0xed,
        ];
        assert!(!is_wait(&asked, 2) && !is_wait(&asked, 9));
        // What it reads is stored: mov (%rdi),%edx; mov %edx,(%rsi); pause; jmp 0.
        let stores = [0x8b, 0x17, 0x89, 0x16, 0xf3, 0x90, 0xeb, 0xf8];
        assert!(!is_wait(&stores, 2));
        // It calls: mov (%rdi),%edx; pause; call; jmp 0.
        let calls = [
            0x8b, 0x17, 0xf3, 0x90, 0xe8, 0x10, 0x00, 0x00, 0x00, 0xeb, 0xf5,
        ];
        assert!(!is_wait(&calls, 2));
        assert!(is_run_times_wait(&calls, 2) && is_run_times_wait(&stores, 4));
        // The pause is after the loop.
        let after = [0x8b, 0x17, 0x39, 0xf2, 0x75, 0xfa, 0xf3, 0x90, 0xc3];
        assert!(!is_wait(&after, 2) && !is_run_times_wait(&after, 2));
        assert!(!is_run_times_wait(&plain, 2));
    }

    #[test]
    fn any_bytes_are_decoded_to_an_end() {
        let mut bytes = vec![0_u8; 64];
        let mut state = 1_u64;
        for _ in 0..2000 {
            for byte in &mut bytes {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                *byte = (state >> 56) as u8;
            }
            bytes[20..22].copy_from_slice(&[0xf3, 0x90]);
            for end in 1..64 {
                is_wait(&bytes, end);
                is_run_times_wait(&bytes, end);
            }
        }
    }
}
