//! Follows addresses through the code of a function, along all paths.
//!
//! A forward data-flow analysis over basic blocks: what is known of a register where paths meet is
//! what holds on all of them. Blocks that no known path leads to (the cases of a `switch`) begin
//! with unknown registers. At each instruction, the [facts](Facts) of debug information about a
//! register replace what the analysis knows.

use std::collections::{BTreeMap, BTreeSet};

use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, OpKind};

use super::facts::{Facts, Statics};
use super::pointer::{Pointer, REGISTERS, RegisterStates, RegisterValue};
use super::step::{Accesses, Stepper, accesses, string_operands};
use crate::layouts::Layouts;

/// A function with more instructions is not followed.
const MAX_INSTRUCTIONS: usize = 1 << 16;
/// A function with more registers with facts, summed over its instructions, is not followed.
const MAX_ACTIVE: usize = 1 << 20;
/// A function with more stack slots to look at, summed over its instructions, is not followed: some
/// tenths of a second.
const MAX_LOOKED_AT: usize = 1 << 26;
/// How often a block is looked at on average, at most.
const ROUNDS: usize = 64;

/// What a function's instructions access, by the address of their last byte and whether it is a
/// store.
pub(super) type Accessed = BTreeMap<(u64, bool), PointerAccess>;

/// An access by an address within data of a type.
#[derive(Clone, Copy, Debug)]
pub(super) struct PointerAccess {
    pub pointer: Pointer,
    /// Bytes of the access; 0 if they are unknown.
    pub bytes: usize,
}

/// The instructions of a function, and its blocks.
struct FunctionCode {
    instructions: Vec<Instruction>,
    /// By instruction, the registers that debug information gives a value, with that.
    active: Vec<Vec<(usize, Pointer)>>,
    /// The first instruction of each block, and the first after it.
    blocks: Vec<(usize, usize)>,
    /// By the address of a first instruction, the block.
    starts: BTreeMap<u64, usize>,
}

/// What the instructions of a function access, as far as that is known. `code` are its ranges with
/// their bytes.
pub(super) fn accessed(
    layouts: &mut Layouts<'_>,
    facts: &Facts,
    statics: &Statics,
    code: &[(u64, Vec<u8>)],
) -> Accessed {
    let mut found = Accessed::new();
    let Some(function) = FunctionCode::decode(code, facts) else {
        return found;
    };
    let mut stepper = Stepper::new(layouts, facts, statics);
    let Some(begins) = function.solve(&mut stepper, code) else {
        return found;
    };
    for (&(first, after), begin) in function.blocks.iter().zip(begins) {
        let mut state = begin;
        for at in first..after {
            function.apply_facts(at, &mut state);
            let instruction = &function.instructions[at];
            record_accesses(instruction, &stepper, &state, &mut found);
            stepper.step(instruction, &mut state);
        }
    }
    found
}

/// Adds what an instruction accesses.
fn record_accesses(
    instruction: &Instruction,
    stepper: &Stepper<'_, '_>,
    state: &RegisterStates,
    into: &mut Accessed,
) {
    // Places of accesses are those of the last byte of an instruction.
    let address = instruction.next_ip().wrapping_sub(1);
    let bytes = instruction.memory_size().size();
    if let Some(which) = accesses(instruction)
        && let Some(pointer) = stepper.operand(instruction, state)
    {
        for writes in [false, true] {
            if which == Accesses::All || which == (Accesses::Only { writes }) {
                into.insert((address, writes), PointerAccess { pointer, bytes });
            }
        }
    }
    let operands = string_operands(instruction);
    for (register, writes) in operands.into_iter().zip([false, true]) {
        let pointer = register.and_then(|register| state[register].pointer());
        if let Some(mut pointer) = pointer {
            if instruction.has_rep_prefix() || instruction.has_repne_prefix() {
                pointer = pointer.indexed();
            }
            into.insert((address, writes), PointerAccess { pointer, bytes });
        }
    }
}

impl FunctionCode {
    /// `None` if it is too large.
    fn decode(code: &[(u64, Vec<u8>)], facts: &Facts) -> Option<FunctionCode> {
        let mut instructions = Vec::new();
        let mut leaders = BTreeSet::new();
        for (start, bytes) in code {
            leaders.insert(*start);
            let mut decoder = Decoder::with_ip(64, bytes, *start, DecoderOptions::NONE);
            while decoder.can_decode() {
                let instruction = decoder.decode();
                if instructions.len() >= MAX_INSTRUCTIONS {
                    return None;
                }
                if ends_block(&instruction) {
                    leaders.insert(instruction.next_ip());
                }
                leaders.extend(target(&instruction));
                instructions.push(instruction);
            }
        }
        if instructions.len().saturating_mul(facts.slots()) > MAX_LOOKED_AT {
            return None;
        }
        instructions.sort_by_key(Instruction::ip);
        let mut function = FunctionCode {
            active: vec![Vec::new(); instructions.len()],
            instructions,
            blocks: Vec::new(),
            starts: BTreeMap::new(),
        };
        function.find_blocks(&leaders);
        function.find_active(facts)?;
        Some(function)
    }

    fn find_blocks(&mut self, leaders: &BTreeSet<u64>) {
        let mut first = 0;
        for at in 1..=self.instructions.len() {
            let is_end = self.instructions.get(at).is_none_or(|next| {
                leaders.contains(&next.ip()) || next.ip() != self.instructions[at - 1].next_ip()
            });
            if is_end {
                let address = self.instructions[first].ip();
                self.starts.insert(address, self.blocks.len());
                self.blocks.push((first, at));
                first = at;
            }
        }
    }

    fn find_active(&mut self, facts: &Facts) -> Option<()> {
        let mut left = MAX_ACTIVE;
        for fact in &facts.registers {
            let place = |address| self.instructions.partition_point(|it| it.ip() < address);
            let (first, after) = (place(fact.code.start), place(fact.code.end));
            left = left.checked_sub(after.saturating_sub(first))?;
            for active in self.active.get_mut(first..after).into_iter().flatten() {
                active.push((fact.register, fact.pointer));
            }
        }
        Some(())
    }

    /// Sets the registers to which debug information gives a value before an instruction. Of
    /// several addresses for one register, the one in the largest data counts; the register is
    /// unknown if two of these are in data of different types.
    fn apply_facts(&self, at: usize, state: &mut RegisterStates) {
        let active = &self.active[at];
        for register in active.iter().map(|(register, _)| *register) {
            let all = active.iter().filter(|(it, _)| *it == register);
            let all = all.map(|(_, pointer)| *pointer);
            let most = all.clone().map(|pointer| pointer.bytes).max();
            let mut largest = all.filter(|pointer| Some(pointer.bytes) == most);
            let first = largest.next();
            let is_one = largest.all(|other| Some(other.kind) == first.map(|it| it.kind));
            state[register] = RegisterValue::of(first.filter(|_| is_one));
        }
    }

    /// What is known at the begin of each block. `None` if that is not found in time.
    fn solve(
        &self,
        stepper: &mut Stepper<'_, '_>,
        code: &[(u64, Vec<u8>)],
    ) -> Option<Vec<RegisterStates>> {
        let mut begins = vec![[RegisterValue::Unreached; REGISTERS]; self.blocks.len()];
        let mut is_reached = vec![false; self.blocks.len()];
        let entries = code.iter().filter_map(|(start, _)| self.starts.get(start));
        let mut waiting: BTreeSet<usize> = entries.copied().collect();
        let mut left = ROUNDS * self.blocks.len();
        let mut unseen = 0..self.blocks.len();
        for &entry in &waiting {
            begins[entry] = [RegisterValue::Unknown; REGISTERS];
        }
        loop {
            while let Some(block) = waiting.pop_first() {
                left = left.checked_sub(1)?;
                is_reached[block] = true;
                let end = self.run(block, begins[block], stepper);
                for next in self.successors(block) {
                    let met = meet(begins[next], end);
                    if met != begins[next] || !is_reached[next] {
                        begins[next] = met;
                        waiting.insert(next);
                    }
                }
            }
            let Some(block) = unseen.find(|block| !is_reached[*block]) else {
                return Some(begins);
            };
            begins[block] = [RegisterValue::Unknown; REGISTERS];
            waiting.insert(block);
        }
    }

    /// What is known at the end of a block.
    fn run(
        &self,
        block: usize,
        begin: RegisterStates,
        stepper: &mut Stepper<'_, '_>,
    ) -> RegisterStates {
        let (first, after) = self.blocks[block];
        let mut state = begin;
        for at in first..after {
            self.apply_facts(at, &mut state);
            stepper.step(&self.instructions[at], &mut state);
        }
        state
    }

    fn successors(&self, block: usize) -> impl Iterator<Item = usize> {
        let last = &self.instructions[self.blocks[block].1 - 1];
        let goes_on = !matches!(
            last.flow_control(),
            FlowControl::UnconditionalBranch
                | FlowControl::IndirectBranch
                | FlowControl::Return
                | FlowControl::Exception
        );
        let next = goes_on.then(|| last.next_ip());
        let all = next.into_iter().chain(target(last));
        all.filter_map(|address| self.starts.get(&address).copied())
    }
}

fn meet(one: RegisterStates, other: RegisterStates) -> RegisterStates {
    std::array::from_fn(|register| one[register].or(other[register]))
}

/// Whether a block ends with this instruction. Calls return.
fn ends_block(instruction: &Instruction) -> bool {
    !matches!(
        instruction.flow_control(),
        FlowControl::Next | FlowControl::Call | FlowControl::IndirectCall | FlowControl::Interrupt
    )
}

/// Where an instruction jumps to, if that is fixed.
fn target(instruction: &Instruction) -> Option<u64> {
    let is_jump = matches!(
        instruction.flow_control(),
        FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch
    );
    (is_jump && instruction.op0_kind() == OpKind::NearBranch64)
        .then(|| instruction.near_branch_target())
}
