use super::fragments::MAX_FRAGMENTS;
use super::*;
use reuselens_trace::Row;

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let mixed = (self.0 ^ (self.0 >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed ^ (mixed >> 32)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }
}

/// A piece of code: rows, each with the register that its address is relative to.
type Code = Vec<(Row, usize)>;

/// Code of all sorts of rows, also such as have operands that are missing, or too many.
fn code(random: &mut Random) -> Code {
    let mut code = Vec::new();
    for pc in 0..1 + random.below(30) as u64 {
        let kind = match random.below(4) {
            0 => Kind::from_u8(1 + random.below(14) as u8).unwrap_or(Kind::Operand),
            1 => Kind::Store,
            _ => Kind::Load,
        };
        let row = Row {
            kind,
            size: [8, 4][random.below(2)],
            pc: 0x40_0000 + 4 * pc + random.below(100) as u64,
            addr: 8 * random.below(50) as u64,
        };
        code.push((row, random.below(6)));
        let operands = match random.below(60) {
            0 => 70,
            1..10 => random.below(5),
            _ => row.kind.operands(),
        };
        let operand = Row {
            kind: Kind::Operand,
            size: 0,
            pc: 0,
            addr: 8,
        };
        code.extend(vec![(operand, random.below(9)); operands]);
    }
    code
}

/// What some code did that ran in any order, in blocks of any size.
fn blocks(random: &mut Random) -> Vec<Block> {
    let codes: Vec<Code> = (0..1 + random.below(12)).map(|_| code(random)).collect();
    let mut registers = [0x7000_0000_0000, 0x10_0000, 0x20_0000, 0, 77, u64::MAX];
    let (mut blocks, most) = (Vec::new(), [40, 3000][random.below(2)]);
    for _ in 0..12 {
        let mut block = Block::new();
        let rows = random.below(most);
        while block.len() < rows {
            let code = &codes[random.below(codes.len())];
            for _ in 0..1 + random.below(9) {
                let moved = random.below(registers.len());
                registers[moved] = match random.below(3) {
                    0 => random.next(),
                    1 => registers[moved],
                    _ => registers[moved].wrapping_add(8 * random.below(9) as u64),
                };
                block.extend(code.iter().map(|(row, register)| {
                    Row {
                        addr: row
                            .addr
                            .wrapping_add(registers.get(*register).copied().unwrap_or(0)),
                        ..*row
                    }
                }));
            }
        }
        blocks.push(block);
    }
    blocks
}

/// The rows that the last block stands for.
fn rows(inference: &TemplateInference) -> Block {
    let (made, templates) = inference.made();
    let mut block = Block::new();
    made.expand(templates, &mut block);
    block
}

#[test]
fn inferred_blocks_expand_to_their_rows() {
    let mut executions = 0;
    let mut all = 0;
    for seed in 0..300 {
        let random = &mut Random(seed);
        let mut inference = TemplateInference::new();
        for block in blocks(random) {
            let (counts, _) = inference.infer(&block, usize::MAX);
            assert!(!counts.is_full);
            assert!(rows(&inference) == block, "seed {seed}");
            executions += inference.made().0.templates().len();
            all += block.len();
            if random.below(5) == 0 {
                inference.chunk_ended();
            }
        }
    }
    assert!(
        3 * executions < 2 * all,
        "{executions} executions of {all} rows"
    );
}

/// Rows that are different, and the same to [`RowKey::mix`].
#[test]
fn fragments_with_equal_hashes_differ() {
    let row = |at: u64, size: u8| Row {
        kind: Kind::Load,
        size,
        pc: (0x40_0000 + 4 * (at % 20)) ^ u64::from(size) << 48,
        addr: at.wrapping_mul(0x9E37_79B9_7F4A_7C15),
    };
    let key = |row: Row| RowKey {
        pc: row.pc,
        kind: row.kind,
        size: row.size,
    };
    assert_eq!(key(row(1, 4)).mix(5), key(row(1, 8)).mix(5));
    let (mut inference, mut random) = (TemplateInference::new(), Random(1));
    for _ in 0..50 {
        let mut block = Block::new();
        for _ in 0..50 {
            let size = [1, 2, 4, 8][random.below(4)];
            let iteration = 20 * random.below(90) as u64;
            block.extend((iteration..iteration + 20).map(|at| row(at, size)));
        }
        inference.infer(&block, usize::MAX);
        assert!(rows(&inference) == block);
    }
    assert!(inference.fragments.count() > 4);
}

/// Fragments of 13 rows, from number `first` on, each twice.
fn fragments(first: u64) -> Block {
    let mut block = Block::new();
    for fragment in first..first + 100 {
        for at in 0..39 {
            block.push(Row {
                kind: Kind::Load,
                size: 8,
                pc: (fragment << 8) + at % 13,
                addr: (at * fragment * fragment) << 20,
            });
        }
    }
    block
}

#[test]
fn memory_is_bounded_and_cleared_when_full() {
    let mut inference = TemplateInference::new();
    let mut first = 1;
    while !inference.fragments.is_full() {
        let block = fragments(first);
        let (counts, _) = inference.infer(&block, usize::MAX);
        assert!(counts.is_full || rows(&inference) == block);
        first += 100;
    }
    let templates = inference.templates.len();
    for _ in 0..50 {
        inference.infer(&fragments(first), usize::MAX);
        first += 100;
    }
    assert!(inference.fragments.count() <= MAX_FRAGMENTS + 1);
    assert!(inference.templates.len() < templates + 2 * (1 << 14));
    assert!(inference.variants.rows() <= MAX_VARIANT_ROWS + MAX_FRAGMENT_ROWS);
    inference.chunk_ended();
    assert!(!inference.fragments.is_full() && inference.templates.is_empty());
    let block = fragments(7);
    for _ in 0..5 {
        inference.infer(&block, usize::MAX);
        assert!(rows(&inference) == block);
    }
    assert!(inference.infer(&block, usize::MAX).0.unmatched < 100);
}

/// How many of the second half of some blocks became templates.
fn good(blocks: usize, row: impl Fn(u64) -> Row) -> usize {
    let mut inference = TemplateInference::new();
    let mut good = 0;
    for number in 0..blocks as u64 {
        let mut block = Block::new();
        (number * 4000..(number + 1) * 4000).for_each(|at| block.push(row(at)));
        let taken = inference.block(&block);
        good += usize::from(taken && number >= blocks as u64 / 2);
    }
    good
}

#[test]
fn block_takes_only_what_is_cheaper_as_templates() {
    let row = |pc, addr| Row {
        kind: Kind::Load,
        size: 8,
        pc,
        addr,
    };
    let scattered = |at: u64| Random(at).next() >> 20;
    assert_eq!(
        good(100, |at| row(at % 5, scattered(at / 5) + 8 * (at % 5))),
        50
    );
    // Runs of zeros, and rows that never repeat.
    assert_eq!(good(100, |at| row(at % 5, 8 * at)), 0);
    assert_eq!(good(100, |at| row(scattered(at), 8 * at)), 0);
    // Each row is a fragment of its own.
    let blocks = |at: u64| Row {
        kind: Kind::Free,
        ..row(at % 5, scattered(at))
    };
    assert_eq!(good(100, blocks), 0);
}

#[test]
fn small_and_huge_blocks_stay_rows() {
    let mut inference = TemplateInference::new();
    for rows in [0, 1, MIN_BLOCK_ROWS - 1, MAX_TEMPLATE_BLOCK_ROWS + 1] {
        for _ in 0..20 {
            let mut block = Block::new();
            (0..rows as u64).for_each(|at| {
                block.push(Row {
                    kind: Kind::Load,
                    size: 8,
                    pc: at % 9,
                    addr: Random(at / 9).next(),
                });
            });
            assert!(!inference.block(&block));
        }
    }
}

#[test]
fn pause_of_one_thread_stops_no_other() {
    let mut inference = TemplateInference::new();
    let mut good = 0;
    for number in 0..200_u64 {
        let mut block = Block::new();
        block.thread = reuselens_trace::ThreadId(number as u32 % 2);
        for at in number * 4000..(number + 1) * 4000 {
            let scattered = Random(at / 5).next() >> 20;
            block.push(Row {
                kind: Kind::Load,
                size: 8,
                pc: if number % 2 == 0 {
                    at % 5
                } else {
                    scattered ^ at
                },
                addr: scattered + 8 * (at % 5),
            });
        }
        let taken = inference.block(&block);
        assert!(!taken || number % 2 == 0);
        good += usize::from(taken);
    }
    assert!(good > 90, "{good}");
}

/// A row of which [`RowKey::mix`] makes a number near the end of all.
fn near_the_end(last: u64) -> Row {
    const CONSTANT: u64 = 0x9E37_79B9_7F4A_7C15;
    let target = u64::MAX - last;
    let mut mixed = target;
    for _ in 0..3 {
        mixed = target ^ mixed >> 29;
    }
    // Each round of Newton's method doubles the bits that are right.
    let mut inverse = CONSTANT;
    for _ in 0..6 {
        let off = 2_u64.wrapping_sub(CONSTANT.wrapping_mul(inverse));
        inverse = inverse.wrapping_mul(off);
    }
    let rest = (Kind::Load as u64) << 56 ^ 8 << 48;
    Row {
        kind: Kind::Load,
        size: 8,
        pc: mixed.wrapping_mul(inverse) ^ rest,
        addr: 64,
    }
}

#[test]
fn probes_wrap_round_the_table() {
    let mut inference = TemplateInference::new();
    for last in 0..20 {
        let row = near_the_end(last);
        let mut block = Block::new();
        block.push(row);
        assert_eq!(RowKey::of(&block, 0).mix(0), u64::MAX - last);
        (0..40).for_each(|_| block.push(row));
        for _ in 0..4 {
            inference.infer(&block, usize::MAX);
            assert!(rows(&inference) == block);
        }
    }
}
