//! Tests that a block's translation does the same as the program's code, and that its block record
//! has each access. Both run on the [`Machine`].

use std::vec::Vec;

use iced_x86::{Code, Encoder, MemoryOperand};

use super::machine::{self, Machine, get, put};
use super::*;
use crate::image::blocks::{CodePart, Position};
use crate::image::descriptor::NO_WORD;
use crate::image::x86_64::asm;
use crate::image::x86_64::registers::{BORROWED, RBX, register};
use reuselens_wire::{Record, WireKind};

/// Where the program's code is.
const PC: u64 = 0x40_0000;
/// Where block records go.
const BUFFER: u64 = 0x5a00_0000_0000;
/// Where the cache is: within reach of the ways out of it, and a megabyte from them.
fn cache() -> u64 {
    (asm::dispatch_address() & !0xfff) - (1 << 20) + 0x340
}

fn nowhere(_: u64) -> bool {
    false
}

fn input(code: &[u8]) -> Input<'_> {
    Input {
        pc: PC,
        code,
        allocator: None,
        results: false,
        stores: nowhere,
        blocks: false,
        ordered: false,
        shows_faults: false,
        lasting: true,
        begins: nowhere,
        function: false,
        at: cache(),
    }
}

/// A translated block with its descriptors; a descriptor's head is its index + 1.
struct Made {
    translated: Translated,
    descriptors: Vec<Descriptor>,
    exits: Exits,
}

fn made(input: &Input<'_>) -> Made {
    let (mut exits, mut descriptors) = (Exits::new(), Vec::new());
    let translated = translate(input, &mut exits, |descriptor, _| {
        descriptors.push(descriptor);
        descriptors.len() as u32
    });
    Made {
        translated,
        descriptors,
        exits,
    }
}

impl Made {
    /// Runs the block with an empty buffer. Returns where the program continues.
    fn run(&self, machine: &mut Machine) -> u64 {
        self.run_up_to(BUFFER + 4096, machine)
    }

    /// Runs the block with a buffer that is full from `limit` on. Returns where the program
    /// continues.
    fn run_up_to(&self, limit: u64, machine: &mut Machine) -> u64 {
        let (start, code) = (cache(), &self.translated.placed.bytes);
        machine.rip = start + self.translated.placed.head as u64;
        put(
            &mut machine.thread,
            offset_of!(Thread, cursor) as u64,
            BUFFER,
            8,
        );
        put(
            &mut machine.thread,
            offset_of!(Thread, limit) as u64,
            limit,
            8,
        );
        let mut steps = 0;
        while machine.step(code, start) {
            steps += 1;
            assert!(steps < 10_000, "a block that does not end");
        }
        if machine.rip == asm::missed_address() {
            // An indirect branch: its target is in rax, and both registers are spilled.
            let target = machine.registers[usize::from(RAX)];
            let spill = offset_of!(Thread, spill) as u64;
            machine.registers[usize::from(RAX)] = get(&machine.thread, spill, 8);
            machine.registers[usize::from(RCX)] = get(&machine.thread, spill + 8, 8);
            return target;
        }
        assert_eq!(machine.rip, asm::dispatch_address());
        let exit = get(&machine.thread, offset_of!(Thread, exit) as u64, 4);
        self.exits.get(exit as u32).target
    }

    /// The loads and stores in the block record in the buffer.
    fn recorded(&self, machine: &Machine) -> Vec<machine::Access> {
        let end = get(&machine.thread, offset_of!(Thread, cursor) as u64, 8);
        if end == BUFFER {
            return Vec::new();
        }
        let word = |number: u16| get(&machine.memory, BUFFER + 8 * u64::from(number), 8);
        let descriptor = &self.descriptors[word(NO_WORD) as usize - 1];
        assert_eq!(end - BUFFER, 8 * u64::from(descriptor.words));
        let plain = descriptor.accesses.iter().filter(|a| a.op == Op::Plain);
        plain
            .map(|access| {
                let known = access.word != NO_WORD;
                let base = if known { word(access.word) } else { 0 };
                let record = Record {
                    word0: base.wrapping_add(access.displacement),
                    word1: access.meta,
                };
                let stores = record.kind() == WireKind::Store as u8;
                assert!(stores || record.kind() == WireKind::Load as u8);
                (stores, record.size(), record.word0, record.pc())
            })
            .collect()
    }
}

/// Runs a program and its translation from the same state, and compares what they leave behind.
fn compare(code: &[u8], before: &Machine) {
    let made = made(&input(code));
    let (mut theirs, mut ours) = (before.clone(), before.clone());
    let target = made.run(&mut ours);
    let recorded = made.recorded(&ours);
    theirs.rip = PC;
    while (theirs.rip, theirs.accesses.len()) != (target, recorded.len()) {
        assert!(
            theirs.step(code, PC),
            "{target:#x} is not reached by {code:x?}"
        );
        assert!(
            theirs.accesses.len() <= recorded.len(),
            "{code:x?} records too little"
        );
    }
    assert_eq!(recorded, theirs.accesses, "{code:x?}");
    assert_eq!(ours.registers, theirs.registers, "{code:x?}");
    ours.memory
        .retain(|at, _| at.wrapping_sub(BUFFER) >= 1 << 20);
    assert!(ours.memory == theirs.memory, "{code:x?}");
}

/// A generator of pseudo-random numbers, the same in each run.
struct Numbers {
    state: u64,
    /// Registers that the program uses. If they are few, sums of registers repeat.
    palette: Vec<u8>,
}

impl Numbers {
    fn new(state: u64) -> Numbers {
        Numbers {
            state,
            palette: BORROWED.to_vec(),
        }
    }

    fn below(&mut self, most: u64) -> u64 {
        self.state = self
            .state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(99);
        (self.state >> 33) % most
    }

    /// The next program uses other registers.
    fn choose_registers(&mut self) {
        let count = 1 + self.below(15) as usize;
        self.palette = (0..count)
            .map(|_| BORROWED[self.below(15) as usize])
            .collect();
    }

    /// A register of the program, but for the stack pointer.
    fn register(&mut self) -> Register {
        let among = self.palette.len() as u64;
        let chosen = self.below(among) as usize;
        register(self.palette[chosen])
    }

    fn memory(&mut self) -> MemoryOperand {
        let displacement = self.below(400) as i64 - 200;
        match self.below(8) {
            // Relative to the instruction.
            0 => MemoryOperand::with_base_displ(Register::RIP, PC as i64 + 0x1000 + displacement),
            1 => MemoryOperand::with_base_displ(Register::RSP, displacement),
            2 | 3 => {
                let (base, index) = (self.register(), self.register());
                let scale = 1 << self.below(4);
                MemoryOperand::with_base_index_scale_displ_size(base, index, scale, displacement, 8)
            }
            _ => MemoryOperand::with_base_displ(self.register(), displacement),
        }
    }

    fn instruction(&mut self) -> Instruction {
        let (to, from) = (self.register(), self.register());
        let small = self.below(100) as i32 - 50;
        match self.below(12) {
            0 | 1 => Instruction::with2(Code::Mov_r64_rm64, to, self.memory()),
            2 | 3 => Instruction::with2(Code::Mov_rm64_r64, self.memory(), from),
            4 => Instruction::with2(Code::Lea_r64_m, to, self.memory()),
            5 => Instruction::with2(Code::Add_rm64_imm8, to, small),
            6 => Instruction::with2(Code::Sub_rm64_imm8, to, small),
            7 => Instruction::with2(Code::Mov_r64_rm64, to, from),
            8 => Instruction::with2(Code::Xor_r64_rm64, to, from),
            9 => Instruction::with2(Code::Add_rm64_r64, self.memory(), from),
            10 => Instruction::with1(Code::Push_r64, from),
            _ => Instruction::with1(Code::Pop_r64, to),
        }
        .unwrap()
    }
}

/// Bytes of instructions that follow one another from [`PC`] on.
fn encoded(instructions: &[Instruction]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for instruction in instructions {
        let mut encoder = Encoder::new(64);
        encoder
            .encode(instruction, PC + bytes.len() as u64)
            .unwrap();
        bytes.extend(encoder.take_buffer());
    }
    bytes
}

fn branch(code: Code, target: u64) -> Instruction {
    Instruction::with_branch(code, target).unwrap()
}

fn random_state(numbers: &mut Numbers) -> Machine {
    let mut machine = Machine::default();
    for register in &mut machine.registers {
        *register = numbers.below(1 << 30);
    }
    machine
}

#[test]
fn translation_keeps_registers_and_memory_and_records_each_access() {
    let mut numbers = Numbers::new(11);
    for round in 0..4000 {
        numbers.choose_registers();
        let count = 1 + numbers.below(12);
        let mut program: Vec<Instruction> = (0..count).map(|_| numbers.instruction()).collect();
        // Branches in between that lead out of the block, some of them taken.
        if round % 3 == 0 {
            let at = numbers.below(count + 1) as usize;
            let condition = [Code::Je_rel32_64, Code::Jb_rel32_64, Code::Jl_rel32_64];
            let condition = condition[numbers.below(3) as usize];
            let limit = numbers.below(100) as i32;
            let compare = Instruction::with2(Code::Cmp_rm64_imm8, numbers.register(), limit);
            program.insert(at, compare.unwrap());
            program.insert(at + 1, branch(condition, PC + 0x500));
        }
        match round % 4 {
            0 => program.push(Instruction::with(Code::Retnq)),
            1 => program.push(branch(Code::Jmp_rel32_64, PC - 0x300)),
            2 => program.push(branch(Code::Call_rel32_64, PC - 0x300)),
            _ => {}
        }
        let code = encoded(&program);
        for _ in 0..3 {
            compare(&code, &random_state(&mut numbers));
        }
    }
}

#[test]
fn loop_runs_several_rounds_in_one_block() {
    // add rdi, 8; mov rax, [rdi + rsi * 2]; cmp rdi, rbx; jb PC
    let [rdi, rax, rsi, rbx] = [Register::RDI, Register::RAX, Register::RSI, Register::RBX];
    let place = MemoryOperand::with_base_index_scale(rdi, rsi, 2);
    let code = encoded(&[
        Instruction::with2(Code::Add_rm64_imm8, rdi, 8).unwrap(),
        Instruction::with2(Code::Mov_r64_rm64, rax, place).unwrap(),
        Instruction::with2(Code::Cmp_r64_rm64, rdi, rbx).unwrap(),
        branch(Code::Jb_rel32_64, PC),
    ]);
    let made = made(&input(&code));
    let most = made.descriptors[0].accesses.len();
    assert!(most > 2, "{most} rounds");
    for rounds in 1..=most as u64 + 2 {
        let mut machine = Machine::default();
        machine.registers[usize::from(RDI)] = 0x1000;
        machine.registers[3] = 0x1000 + 8 * rounds;
        compare(&code, &machine);
        let next = made.run(&mut machine);
        let expected = if rounds > most as u64 {
            PC
        } else {
            PC + code.len() as u64
        };
        assert_eq!(next, expected, "{rounds} rounds");
        // One word is enough: the address moves by what is known.
        assert!(made.descriptors[0].words <= 4);
    }
}

#[test]
fn code_that_may_change_has_one_branch_per_block() {
    let code = encoded(&[
        branch(Code::Je_rel32_64, PC + 0x500),
        Instruction::with1(Code::Push_r64, Register::RAX).unwrap(),
    ]);
    let of = |lasting| {
        let input = Input {
            lasting,
            ..input(&code)
        };
        made(&input).translated.bytes
    };
    assert_eq!(of(true), code.len() as u64);
    assert_eq!(of(false), 6);
}

#[test]
fn function_of_its_own_ends_the_block_before_it() {
    let code = encoded(&[
        branch(Code::Je_rel32_64, PC + 0x500),
        Instruction::with1(Code::Push_r64, Register::RAX).unwrap(),
    ]);
    let input = Input {
        begins: |pc| pc == PC + 6,
        ..input(&code)
    };
    assert_eq!(made(&input).translated.bytes, 6);
}

#[test]
fn call_and_return_are_recorded() {
    let call = encoded(&[branch(Code::Call_rel32_64, PC - 0x300)]);
    let made_call = made(&input(&call));
    let ops: Vec<Op> = made_call.descriptors[0]
        .accesses
        .iter()
        .map(|a| a.op)
        .collect();
    assert_eq!(ops, [Op::Plain, Op::Enter { back: PC + 5 }]);
    let ret = encoded(&[Instruction::with(Code::Retnq)]);
    let made_return = made(&input(&ret));
    let ops: Vec<Op> = made_return.descriptors[0]
        .accesses
        .iter()
        .map(|a| a.op)
        .collect();
    assert_eq!(ops, [Op::Plain, Op::Exit]);
    let exit = |made: &Made| made.descriptors[0].exit.map(|exit| exit.op);
    assert_eq!(
        [exit(&made_return), exit(&made_call)],
        [Some(Op::Exit), None]
    );
}

#[test]
fn code_that_sets_gs_leaves_the_cache() {
    // wrgsbase rax; mov gs, eax; pop gs
    let codes: [&[u8]; 3] = [
        &[0xf3, 0x48, 0x0f, 0xae, 0xd8],
        &[0x8e, 0xe8],
        &[0x0f, 0xa9],
    ];
    for code in codes {
        let made = made(&input(code));
        assert!(made.translated.head.is_none());
        let mut machine = Machine::default();
        machine.rip = cache() + made.translated.placed.head as u64;
        while machine.step(&made.translated.placed.bytes, cache()) {}
        assert_eq!(machine.rip, asm::native_address());
        assert_eq!(made.exits.get(0).target, PC);
    }
}

#[test]
fn gs_of_the_program_has_the_base_zero() {
    // mov rax, gs:[rbx]; mov gs:[rbx + 8], rcx; rdgsbase rdx
    let code = [
        0x65, 0x48, 0x8b, 0x03, 0x65, 0x48, 0x89, 0x4b, 0x08, 0xf3, 0x48, 0x0f, 0xae, 0xca,
    ];
    let made = made(&input(&code));
    let mut machine = random_state(&mut Numbers::new(5));
    let [place, stored] = [RBX, RCX].map(|register| machine.registers[usize::from(register)]);
    let before = machine.thread.clone();
    made.run(&mut machine);
    assert_eq!(
        machine.registers[usize::from(RAX)],
        get(&before, place, 8),
        "what was not written depends on the address alone"
    );
    assert_eq!(get(&machine.memory, place + 8, 8), stored);
    assert_eq!(machine.registers[usize::from(RDX)], 0);
    assert_eq!(made.recorded(&machine).len(), 2);
}

#[test]
fn flags_at_a_fault_are_those_of_the_program() {
    let place = |displacement| MemoryOperand::with_base_displ(Register::RBX, displacement);
    // All flags are written by `add`, and by the check for room before that.
    let program = [
        Instruction::with2(Code::Mov_r64_rm64, Register::RDX, place(8)).unwrap(),
        Instruction::with2(Code::Mov_r64_rm64, Register::RSI, place(16)).unwrap(),
        Instruction::with2(Code::Add_r64_rm64, Register::RSI, Register::RDX).unwrap(),
        Instruction::with2(Code::Mov_rm64_r64, place(24), Register::RSI).unwrap(),
    ];
    let code = encoded(&program);
    let mut input = input(&code);
    assert!(made(&input).translated.blurs_faults);
    input.shows_faults = true;
    let made = made(&input);
    assert!(!made.translated.blurs_faults);
    let placed = &made.translated.placed;
    let processor = |[zero, carry, sign, overflow]: [bool; 4]| {
        u64::from(carry) | u64::from(zero) << 6 | u64::from(sign) << 7 | u64::from(overflow) << 11
    };
    for (carry, other) in [(0, 1), (1, 0), (1, 1), (1 << 63, 1)] {
        let mut native = random_state(&mut Numbers::new(3));
        (
            native.registers[usize::from(RAX)],
            native.registers[usize::from(RCX)],
        ) = (carry, other);
        let compare = Instruction::with2(Code::Cmp_r64_rm64, Register::RAX, Register::RCX);
        native.rip = PC;
        assert!(native.step(&encoded(&[compare.unwrap()]), PC));
        let mut machine = native.clone();
        for (offset, value) in [
            (offset_of!(Thread, cursor), BUFFER),
            (offset_of!(Thread, limit), !0),
        ] {
            put(&mut machine.thread, offset as u64, value, 8);
        }
        let head = cache() + placed.head as u64;
        (native.rip, machine.rip) = (PC, head);
        for (index, part) in placed.parts[..program.len()].iter().enumerate() {
            // The first part begins before the check.
            while machine.rip < head + u64::from(part.offset) {
                assert!(machine.step(&placed.bytes, cache()));
            }
            let saved = get(&machine.thread, offset_of!(Thread, saved_flags) as u64, 2) as u16;
            let position = position_of(part);
            let shown = position.flags(saved, processor(machine.flags()));
            assert_eq!(
                shown,
                processor(native.flags()),
                "before instruction {index}"
            );
            assert!(native.step(&code, PC));
        }
    }
}

fn position_of(part: &CodePart) -> Position {
    Position {
        pc: PC,
        instruction: 0,
        spilled: part.spilled,
        stale: if part.offset == 0 { 0 } else { part.stale },
        begins: true,
        descriptor: None,
    }
}

#[test]
fn instruction_that_reaches_beyond_the_code_is_cut() {
    let long = [0x48, 0xc7, 0xc0, 42, 0, 0, 0];
    assert!((1..long.len()).all(|bytes| is_cut(PC, &long[..bytes])));
    assert!(!is_cut(PC, &long));
    // Invalid before its end.
    assert!(!is_cut(PC, &[0x06]));
    assert!(is_too_long(&[0x2e; 16]));
    assert!(!is_too_long(&[0x06; 16]));
}

#[test]
fn bytes_that_are_no_instruction_fault_where_they_are_run() {
    let code = [0x06, 0x90];
    let placed = made(&input(&code)).translated.placed;
    // nop for the head; ud2
    assert_eq!(placed.bytes[placed.head + 5..], [0x0f, 0x0b]);
}

#[test]
fn heads_are_aligned_and_entered_through_both_registers() {
    for shift in 0..40 {
        let code = encoded(&[Instruction::with1(Code::Push_r64, Register::RAX).unwrap()]);
        let input = Input {
            at: cache() + shift,
            ..input(&code)
        };
        let placed = made(&input).translated.placed;
        assert!((input.at + placed.head as u64).is_multiple_of(16));
        let entry = &placed.bytes[placed.head - crate::image::x86_64::ENTRY as usize..placed.head];
        let mut decoder = Decoder::new(64, entry, DecoderOptions::NONE);
        let loads: Vec<Register> = decoder.iter().map(|load| load.op0_register()).collect();
        assert_eq!(loads, [Register::RCX, Register::RAX]);
    }
}

#[test]
fn distances_of_jumps_are_in_one_cache_line() {
    let mut numbers = Numbers::new(5);
    for _ in 0..300 {
        let count = 1 + numbers.below(9);
        let mut program: Vec<Instruction> = (0..count).map(|_| numbers.instruction()).collect();
        program.push(branch(Code::Jne_rel32_64, PC + 0x700));
        let code = encoded(&program);
        let input = Input {
            at: cache() + numbers.below(64),
            ..input(&code)
        };
        let mut made = made(&input);
        let count = made.exits.add(0, 0);
        let exits: Vec<_> = (0..count).map(|number| made.exits.get(number)).collect();
        for exit in exits.iter().filter(|exit| exit.at != 0) {
            assert!(exit.at % 64 <= 60, "{:#x}", exit.at);
        }
        let targets: Vec<u64> = exits[exits.len() - 2..].iter().map(|e| e.target).collect();
        assert_eq!(targets, [PC + 0x700, PC + code.len() as u64]);
    }
}

#[test]
fn full_buffer_asks_for_the_same_block_again() {
    // Flags are dead where the block begins: cmp writes them all.
    let code = encoded(&[
        Instruction::with2(Code::Cmp_rm64_imm8, Register::RBX, 1).unwrap(),
        Instruction::with1(Code::Push_r64, Register::RAX).unwrap(),
    ]);
    let made = made(&input(&code));
    let before = random_state(&mut Numbers::new(3));
    let mut machine = before.clone();
    assert_eq!(made.run_up_to(BUFFER - 1, &mut machine), PC);
    assert_eq!(machine.registers, before.registers);
    assert!(machine.memory.is_empty());
}

#[test]
fn flags_that_are_read_survive_the_check_for_room() {
    // mov [rbx], rax; jb: reads what was there before the block.
    let place = MemoryOperand::with_base(Register::RBX);
    let code = encoded(&[
        Instruction::with2(Code::Mov_rm64_r64, place, Register::RAX).unwrap(),
        branch(Code::Jb_rel32_64, PC + 0x500),
    ]);
    let mut numbers = Numbers::new(9);
    for limit in [0, 1 << 29, u64::MAX >> 1] {
        let mut machine = random_state(&mut numbers);
        // Sets flags, and changes nothing else.
        let set = encoded(&[
            Instruction::with2(Code::Cmp_r64_rm64, Register::RAX, Register::RCX).unwrap(),
        ]);
        machine.registers[usize::from(RCX)] = limit;
        machine.rip = PC;
        assert!(machine.step(&set, PC));
        let flags = machine.flags();
        let mut after = machine.clone();
        made(&input(&code)).run(&mut after);
        assert_eq!(after.flags(), flags);
        compare(&code, &machine);
    }
}

#[test]
fn each_part_of_a_block_contains_its_instruction() {
    let mut numbers = Numbers::new(21);
    for _ in 0..300 {
        let count = 1 + numbers.below(9);
        let program: Vec<Instruction> = (0..count).map(|_| numbers.instruction()).collect();
        let code = encoded(&program);
        let placed = made(&input(&code)).translated.placed;
        let parts = &placed.parts[..];
        let mut found = 0;
        for (part, next) in parts.iter().zip(&parts[1..]) {
            let start = usize::from(part.pc);
            let mut decoder = Decoder::with_ip(64, &code[start..], 0, DecoderOptions::NONE);
            let instruction = decoder.decode();
            let range = usize::from(part.offset)..usize::from(next.offset);
            let bytes = &placed.bytes[placed.head..][range];
            let own = &code[start..start + instruction.len()];
            // An address relative to the instruction is another one in the cache.
            let kept = bytes.windows(own.len()).any(|window| window == own);
            assert!(kept || instruction.is_ip_rel_memory_operand(), "{code:x?}");
            found += instruction.len();
        }
        assert!(found > 0 && found <= code.len());
    }
}
