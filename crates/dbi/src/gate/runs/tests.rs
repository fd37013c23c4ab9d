//! Tests that runs of block records pass on and leave out what expanding each block record does:
//! random blocks in random orders of calls, under each kind of control, both ways.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

use reuselens_wire::{NO_WORD, Range, Recording, RecordingScope, Stratum, WireKind, head_word};

use super::*;
use crate::image::channel::Channel;
use crate::image::descriptor::{BlockAccess, Descriptor, Gather, Op};
use crate::image::expand::Pending;
use crate::image::{gate, segment};

/// First address above the stack.
const HIGH: u64 = 0x7fff_ffff_f000;
/// Words of a block record before those that only some accesses use.
const PLAIN_WORDS: u16 = 6;
/// Address of the first block; each has this many bytes.
const CODE: u64 = 0x40_0000;
const CODE_BYTES: u64 = 0x100;
const BLOCKS: u64 = 60;
/// Names of regions; the first is wanted.
const NAMES: [&[u8]; 2] = [b"solve", b"other"];

/// A random number generator (a linear congruence).
struct BlockDice(u64);

impl BlockDice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        (self.0 >> 33) % limit
    }

    fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }
}

/// How a block ends.
#[derive(Clone, Copy, PartialEq)]
enum Ends {
    On,
    Calls,
    Returns,
}

/// A block, and the head of its block records.
struct MadeBlock {
    head: u32,
    descriptor: &'static Descriptor,
    ends: Ends,
}

/// An access with word `word`, of the block at `pc`.
fn access(random: &mut BlockDice, pc: u64, kind: WireKind, word: u16, op: Op) -> BlockAccess {
    BlockAccess {
        meta: Record::meta(kind, 8) | pc,
        displacement: random.below(1 << 20),
        word,
        fs: op == Op::Plain && random.one_in(20),
        instruction: 0,
        op,
    }
}

/// A random access in the middle of a block, whose further words begin at [`PLAIN_WORDS`].
fn middle(random: &mut BlockDice, pc: u64) -> BlockAccess {
    let more = PLAIN_WORDS;
    let op = match random.below(24) {
        0 => Op::Range { end: more },
        1 => Op::Masked {
            mask: more,
            lanes: 8,
        },
        2 => Op::Signed {
            mask: more,
            lanes: 4,
        },
        3 => Op::Gather(Gather {
            indices: more,
            mask: more + 4,
            lanes: 4,
            wide: random.one_in(2),
            scale: 4,
            signed: false,
        }),
        _ => Op::Plain,
    };
    let kinds = [WireKind::Load, WireKind::Store, WireKind::Atomic];
    let kind = kinds[random.below(if op == Op::Plain { 3 } else { 2 }) as usize];
    let words = [0, 2, 3, NO_WORD];
    let word = words[random.below(if op == Op::Plain { 4 } else { 3 }) as usize];
    access(random, pc, kind, word, op)
}

/// A block with random accesses.
fn block(random: &mut BlockDice, number: u64) -> MadeBlock {
    let pc = CODE + number * CODE_BYTES;
    let mut accesses = Vec::new();
    let event = |op, word| BlockAccess {
        meta: Record::meta(WireKind::Exit, 0) | pc,
        displacement: 8,
        word,
        fs: false,
        instruction: 0,
        op,
    };
    match random.below(12) {
        0 => accesses.push(event(
            Op::Region {
                begins: random.one_in(2),
                words: PLAIN_WORDS + 6,
            },
            NO_WORD,
        )),
        1 => accesses.push(event(
            Op::Allocator {
                function: random.below(8) as u8,
                words: PLAIN_WORDS,
            },
            4,
        )),
        2 => accesses.push(event(Op::Function, 4)),
        _ => {}
    }
    for _ in 0..random.below(6) {
        accesses.push(middle(random, pc));
    }
    let ends = [Ends::On, Ends::Calls, Ends::Returns][random.below(3) as usize];
    match ends {
        Ends::On => {}
        Ends::Calls => accesses.push(event(Op::Enter { back: pc + 7 }, 4)),
        Ends::Returns => {
            if random.one_in(3) {
                let (pointer, delta) = (4, 8);
                let result = Op::Result {
                    pointer,
                    delta,
                    stored: None,
                };
                accesses.push(event(result, 5));
            }
            accesses.push(access(random, pc, WireKind::Load, 4, Op::Plain));
            accesses.push(event(Op::Exit, 4));
        }
    }
    if accesses.is_empty() {
        accesses.push(access(random, pc, WireKind::Load, 0, Op::Plain));
    }
    add(random, pc, accesses, ends)
}

fn add(random: &mut BlockDice, pc: u64, accesses: Vec<BlockAccess>, ends: Ends) -> MadeBlock {
    let accesses: &'static [BlockAccess] = Box::leak(accesses.into_boxed_slice());
    let hits = accesses.iter().filter(|access| access.op == Op::Plain);
    let hits = hits.count() as u16;
    let described = Descriptor {
        pc: pc + 4,
        // Some are too long to be sent.
        words: if random.one_in(10) { 66 } else { 14 },
        plain: accesses.iter().all(BlockAccess::is_row),
        stub: random.one_in(8),
        accesses,
        hits,
        exit: accesses.iter().find(|access| access.op == Op::Exit),
        summary: EventSummary::of(hits, accesses),
    };
    let head = codes::add_descriptor(described, None);
    MadeBlock {
        head,
        descriptor: codes::descriptor(head),
        ends,
    }
}

/// Block records as a thread might write them: calls and returns mostly match, blocks repeat.
/// `functions`: whether some are wanted; else no block has an event for them.
fn execution(
    random: &mut BlockDice,
    blocks: &[MadeBlock],
    functions: bool,
    count: usize,
) -> Vec<Vec<u64>> {
    let is_function = |access: &BlockAccess| access.op == Op::Function;
    let mut stack = vec![HIGH - 64];
    let mut records = Vec::new();
    while records.len() < count {
        let block = &blocks[random.below(blocks.len() as u64) as usize];
        let for_functions = block.descriptor.accesses.iter().any(is_function);
        if (block.ends == Ends::Returns && stack.len() < 2) || (for_functions && !functions) {
            continue;
        }
        let again = match block.ends {
            Ends::On if random.one_in(4) => 1 + random.below(40),
            _ => 1,
        };
        let pointer = match block.ends {
            Ends::On => stack[stack.len() - 1],
            Ends::Calls => {
                let next = stack[stack.len() - 1] - 8 * (1 + random.below(3));
                stack.push(next);
                next
            }
            Ends::Returns => stack.pop().unwrap_or(HIGH),
        };
        if random.one_in(100) {
            // An exception: returns are missing.
            stack.truncate(1 + random.below(stack.len() as u64) as usize);
        }
        for _ in 0..again {
            records.push(words(random, block, pointer));
        }
    }
    records
}

/// The words of a block record.
fn words(random: &mut BlockDice, block: &MadeBlock, pointer: u64) -> Vec<u64> {
    let mut words: Vec<u64> = (0..block.descriptor.words)
        .map(|_| random.below(256))
        .collect();
    words[usize::from(NO_WORD)] = head_word(block.head);
    words[4] = pointer - 8;
    // Some masks have no lane, some ranges no element.
    if random.one_in(3) {
        words[usize::from(PLAIN_WORDS)] = words[0];
        words[usize::from(PLAIN_WORDS) + 4] = 0;
    }
    let name = NAMES[random.below(2) as usize];
    words[usize::from(PLAIN_WORDS) + 6] = name.as_ptr() as u64;
    words[usize::from(PLAIN_WORDS) + 7] = name.len() as u64;
    words
}

/// Sets what is recorded. Each condition is there or not.
fn limit(random: &mut BlockDice, control: &Control) {
    let order = Ordering::Relaxed;
    control.active.store(1, order);
    let after = [0, 0, 7, 900, 9000][random.below(5) as usize];
    control.after.store(after, order);
    let bursts = [(0, 0), (0, 0), (3, 5), (100, 900), (5000, 70), (1, 0)];
    let (on, off) = bursts[random.below(6) as usize];
    control.on.store(on, order);
    control.off.store(off, order);
    control.strata.store(random.below(4) as u32 / 3, order);
    control.seed.store(random.below(50), order);
    control.regions.store(random.below(2) as u32, order);
    control
        .region_bytes
        .store(5 * random.below(2) as u32, order);
    for (to, from) in control.region.iter().zip(NAMES[0]) {
        to.store(*from, order);
    }
    control.functions.store(random.below(2) as u32, order);
}

/// What one way of emptying the buffer has passed on.
#[derive(Debug, PartialEq)]
struct Outcome {
    records: Vec<Record>,
    left_out: u64,
    entered: u32,
}

/// Puts the block records into a thread's buffer, a part at a time, and empties it with `drain`.
/// `states`: the control's state in each part.
fn run(
    thread: &mut Thread,
    records: &[Vec<u64>],
    states: &[Recording],
    drain: fn(&mut Thread),
) -> Outcome {
    let control = gate::control().unwrap();
    // Bursts of strata come late.
    let seed = control.seed.load(Ordering::Relaxed);
    let burst = Stratum::of(8 << 18).map(|stratum| stratum.burst(seed));
    let burst = burst.filter(|_| control.strata.load(Ordering::Relaxed) != 0);
    let first = burst.map_or(0, |burst| burst.begin.saturating_sub(seed * 100));
    control.position.store(first, Ordering::Relaxed);
    thread.waiting = Pending::default();
    gate::begin(thread);
    assert!(thread.gated);
    thread.gate = gate::new(RecordingScope::default());
    let wanted = Range {
        low: CODE,
        high: CODE + 4 * CODE_BYTES,
    };
    if control.functions.load(Ordering::Relaxed) != 0 {
        thread.gate.set_ranges(&[wanted]);
    }
    let mut passed_on = Vec::new();
    for (part, state) in records.chunks(200).zip(states.iter().cycle()) {
        control.state.store(*state as u32, Ordering::Relaxed);
        let mut at = thread.buffer;
        for word in part.iter().flatten() {
            // SAFETY: in the thread's buffer, which a part does not fill.
            unsafe { (at as *mut u64).write(*word) };
            at += 8;
        }
        thread.cursor = at;
        drain(thread);
        passed_on.extend(rows(thread, &thread.channel.take_written()));
    }
    Outcome {
        records: passed_on,
        left_out: control.left_out.swap(0, Ordering::Relaxed),
        entered: control.entered.swap(0, Ordering::Relaxed),
    }
}

/// Empties a thread's buffer by expanding each block record.
fn expand_each(thread: &mut Thread) {
    let mut at = thread.buffer;
    while at < thread.cursor {
        let descriptor = codes::descriptor(expand::head(at));
        expand::expand(thread, descriptor, at, u16::MAX);
        at += 8 * u64::from(descriptor.words);
    }
    gate::report(thread);
}

/// The records for which these stand, as the analysing side reads them.
fn rows(thread: &Thread, sent: &[Record]) -> Vec<Record> {
    let mut rows = Vec::new();
    let mut at = 0;
    while at < sent.len() {
        let record = sent[at];
        if record.kind() != reuselens_wire::REWRITTEN_BLOCK_RECORD {
            rows.push(record);
            at += 1;
            continue;
        }
        let start = (&raw const sent[at]) as u64;
        let descriptor = codes::descriptor(record.word1 as u32);
        for access in descriptor.accesses {
            match access.op {
                Op::Plain | Op::Exit => rows.push(expand::record(thread, access, start)),
                Op::Masked { mask, lanes } => {
                    // SAFETY: the block record is whole.
                    let word = unsafe { *(start as *const u64).add(usize::from(mask)) };
                    let bits = word & ((1 << lanes) - 1);
                    if bits != 0 {
                        let (first, last) = (bits.trailing_zeros(), bits.ilog2());
                        let one = expand::record(thread, access, start);
                        let bytes = u64::from(last - first + 1) * 8;
                        rows.push(Record {
                            word0: one.word0 + u64::from(first) * 8,
                            word1: one.word1 & !(0xff << 48) | bytes << 48,
                        });
                    }
                }
                _ => {}
            }
        }
        at += usize::from(descriptor.words) / 2;
    }
    rows
}

#[test]
fn runs_pass_on_what_single_records_do() {
    let _segment = segment::use_for_tests();
    assert!(codes::begin());
    let control = gate::control().unwrap();
    let mut random = BlockDice(1);
    let blocks: Vec<MadeBlock> = (0..BLOCKS).map(|n| block(&mut random, n)).collect();
    let thread = Thread::create().unwrap();
    thread.channel = Channel::claim(0, HIGH);
    assert!(!thread.channel.is_closed());
    let (mut recorded, mut left_out) = (0, 0);
    for case in 0..300 {
        limit(&mut random, control);
        let functions = control.functions.load(Ordering::Relaxed) != 0;
        let records = execution(&mut random, &blocks, functions, 2000);
        let states: &[Recording] = match random.below(4) {
            0 => &[Recording::Waiting, Recording::Open, Recording::Open],
            1 => &[Recording::Open, Recording::Open, Recording::Stopped],
            _ => &[Recording::Open],
        };
        let each = run(thread, &records, states, expand_each);
        let runs = run(thread, &records, states, expand::drain);
        assert!(each == runs, "case {case}: {}", difference(&each, &runs));
        recorded += u64::from(!each.records.is_empty());
        left_out += u64::from(each.left_out > 0);
    }
    assert!(recorded > 100 && left_out > 100, "{recorded}, {left_out}");
}

/// Where two outcomes differ first.
fn difference(one: &Outcome, other: &Outcome) -> alloc::string::String {
    let both = one.records.iter().zip(&other.records);
    let same = both.take_while(|(one, other)| one == other).count();
    alloc::format!(
        "after {same} records: {:?}, {:?}; {:?}, {:?}",
        one.records.get(same),
        other.records.get(same),
        (one.records.len(), one.left_out, one.entered),
        (other.records.len(), other.left_out, other.entered),
    )
}
