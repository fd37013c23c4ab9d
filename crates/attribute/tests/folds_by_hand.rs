//! Compressed rows, one case each: where a cached region or template ends, and what no reader
//! delivers.

use reuselens_attribute::{Attributor, Columns, NoSymbols, Options, Tables};
use reuselens_trace::{
    Block, Event, Kind, ProcessEnd, ProcessId, Repeat, RepeatExpander, RepeatOf, RepeatTemplate,
    Repeats, Row, Thread, ThreadId,
};

fn load(pc: u64, addr: u64) -> Row {
    Row {
        kind: Kind::Load,
        size: 8,
        pc,
        addr,
    }
}

/// A row with its operand.
fn with(kind: Kind, pc: u64, addr: u64, operand: u64) -> Block {
    let mut block = Block::new();
    block.push(Row {
        kind,
        size: 0,
        pc,
        addr,
    });
    block.push_operand(operand);
    block
}

fn thread(id: u32, low: u64, high: u64) -> Event {
    Event::Thread(Thread {
        id: ThreadId(id),
        stack_low: low,
        stack_high: high,
        ..Thread::default()
    })
}

/// What comes again at the end of a block so far.
fn again(block: &mut Block, what: RepeatOf, numbers: &[u64]) {
    let times = match what {
        RepeatOf::Template(_) => 1,
        RepeatOf::Loop { times, .. } => u64::from(times),
    };
    let (before, rows) = (block.len() as u32, numbers.len() as u32);
    let folds = &mut block.repeats;
    folds.entries.push(Repeat { before, rows, what });
    folds.numbers.extend_from_slice(numbers);
    folds.rows += times * numbers.len() as u64;
}

/// A block whose pattern 0 are these rows.
fn pattern(rows: &[Row]) -> Block {
    let mut block = Block::new();
    block.extend(rows.iter().copied());
    let rows = rows.len() as u32;
    block
        .repeats
        .templates
        .push(RepeatTemplate { first: 0, rows });
    block
}

/// What is delivered.
enum Given {
    Event(Event),
    Block(Block),
}

/// What all touch, and the accesses of the largest piece.
fn touched(all: &[Given], folded: bool) -> (Vec<u64>, Vec<u32>, Tables, usize) {
    let mut attributor = Attributor::new(Options::default());
    let (mut unfolder, mut columns) = (RepeatExpander::new(), Columns::new());
    let (mut items, mut cells, mut most) = (Vec::new(), Vec::new(), 0);
    for given in all {
        match given {
            Given::Event(event) => attributor.event(event, &mut NoSymbols),
            Given::Block(block) => {
                let whole = unfolder.expand(block);
                let block = if folded { block } else { &whole };
                attributor.pieces(block, &mut columns, |piece| {
                    most = most.max(piece.len());
                    items.extend(&piece.items);
                    cells.extend(&piece.cells);
                });
            }
        }
    }
    (items, cells, attributor.finish(&mut NoSymbols), most)
}

/// Compares with the rows; the accesses of the largest piece.
fn same(all: &[Given]) -> usize {
    let (rows, folds) = (touched(all, false), touched(all, true));
    assert_eq!((rows.0, rows.1), (folds.0, folds.1));
    assert!(rows.2 == folds.2);
    folds.3
}

#[test]
fn a_pattern_in_memory_that_is_freed_and_allocated_anew() {
    let mut first = pattern(&[load(0x10, 0x10_0100)]);
    let mut later = Block::new();
    later.repeats.known = 1;
    for block in [&mut first, &mut later] {
        for number in 0..6 {
            again(block, RepeatOf::Template(0), &[0x10_0100 + 8 * number]);
        }
    }
    let all = [
        with(Kind::Alloc, 0x50, 0xf_0000, 0x2_0000),
        first,
        with(Kind::Free, 0x51, 0xf_0000, 0),
        with(Kind::Alloc, 0x52, 0xf_0000, 0x2_0000),
        later,
    ];
    same(&all.map(Given::Block));
}

/// The cells of a pattern's accesses in a process, and of the same later in another or the same,
/// with this between them.
fn around(between: Vec<Given>, process: u16) -> [Vec<u32>; 2] {
    let mut first = pattern(&[load(0x10, 0x10_0100)]);
    let mut later = Block::new();
    later.repeats.known = 1;
    later.process = ProcessId(process);
    for block in [&mut first, &mut later] {
        for number in 0..6 {
            again(block, RepeatOf::Template(0), &[0x10_0100 + 8 * number]);
        }
    }
    let block = with(Kind::Alloc, 0x50, 0xf_0000, 0x2_0000);
    let mut all: Vec<Given> = [block, first].map(Given::Block).into();
    all.extend(between);
    all.push(Given::Block(later));
    same(&all);
    let cells = touched(&all, true).1;
    let (before, behind) = cells.split_at(7);
    [before.to_vec(), behind.to_vec()]
}

#[test]
fn a_pattern_of_two_processes_whose_threads_have_one_number() {
    // The other process has not got the memory.
    let mut begun = with(Kind::Alloc, 0x51, 0x40_0000, 0x2_0000);
    begun.process = ProcessId(1);
    let [before, behind] = around(vec![Given::Block(begun)], 1);
    assert_ne!(before[0], behind[0]);
}

#[test]
fn a_pattern_of_a_process_that_has_the_number_of_one_that_ended() {
    let end = Event::ProcessEnded(ProcessId(0), ProcessEnd::Unknown);
    let block = with(Kind::Alloc, 0x51, 0xf_0000, 0x2_0000);
    let [before, behind] = around(vec![Given::Event(end), Given::Block(block)], 0);
    assert_ne!(before[0], behind[0]);
}

#[test]
fn a_pattern_where_a_stack_is_by_then() {
    let begun = thread(0, 0x10_0000, 0x10_1000);
    let [before, behind] = around(vec![Given::Event(begun)], 0);
    assert_ne!(before[0], behind[0]);
}

#[test]
fn cells_of_another_thread_are_made_in_the_order_of_its_accesses() {
    let addrs = [0x10_0040, 0x10_0000];
    let mut first = pattern(&[load(0x10, addrs[0]), load(0x20, addrs[1])]);
    let mut later = Block::new();
    later.repeats.known = 1;
    later.thread = ThreadId(1);
    for _ in 0..6 {
        again(&mut first, RepeatOf::Template(0), &addrs);
        // The first of them is in no object.
        again(&mut later, RepeatOf::Template(0), &[0x30_0000, addrs[1]]);
    }
    let block = with(Kind::Alloc, 0x51, 0xf_0000, 0x2_0000);
    same(&[block, first, later].map(Given::Block));
}

#[test]
fn laps_that_reach_into_two_items_now_and_then() {
    for (addr, step) in [
        (0xf_ffff, 1),
        (0xf_ffc1, 24),
        (0xf_ffff, 8_u64.wrapping_neg()),
    ] {
        let mut block = Block::new();
        block.push(load(0x10, addr));
        let laps = RepeatOf::Loop {
            first: 0,
            times: 300,
        };
        again(&mut block, laps, &[step]);
        let all = [with(Kind::Alloc, 0x50, 0xf_c000, 0x2_0000), block];
        same(&all.map(Given::Block));
    }
}

#[test]
fn a_piece_of_laps_has_a_bound() {
    let mut block = Block::new();
    block.extend((0..256).map(|row| load(0x10 + row, 0x10_0000 + 8 * row)));
    let laps = RepeatOf::Loop {
        first: 0,
        times: 16_000,
    };
    again(&mut block, laps, &[8; 256]);
    let all = [with(Kind::Alloc, 0x50, 0xf_0000, 0x2_0000), block];
    let most = same(&all.map(Given::Block));
    assert!(most <= (1 << 18) + (1 << 16) + 256, "{most} in a piece");
}

#[test]
fn patterns_that_are_forgotten_take_no_memory() {
    let rows: Vec<Row> = (0..1000).map(|row| load(0x10 + row, 0x1000)).collect();
    let mut block = pattern(&rows);
    again(&mut block, RepeatOf::Template(0), &[0x1008; 1000]);
    let mut attributor = Attributor::new(Options::default());
    let mut memory = Vec::new();
    for _ in 0..100 {
        attributor.block(&block, &mut Columns::new());
        memory.push(attributor.memory());
    }
    assert_eq!(memory[1], memory[99]);
}

#[test]
fn a_stack_in_memory_that_another_thread_accesses() {
    let mut all = vec![
        Given::Event(thread(0, 0x10_0000, 0x11_0000)),
        Given::Event(thread(1, 0x20_0000, 0x21_0000)),
        Given::Block(with(Kind::Alloc, 0x50, 0x1f_0000, 0x3_0000)),
        Given::Block(with(Kind::Alloc, 0x60, 0x40_0000, 0x2_0000)),
    ];
    // One instruction in two patterns, one for each block of the heap.
    let mut block = pattern(&[load(0x10, 0x1f_4000), load(0x20, 0x1f_4040)]);
    let other = [load(0x10, 0x40_4000), load(0x30, 0x40_4040)];
    block.extend(other.into_iter());
    block
        .repeats
        .templates
        .push(RepeatTemplate { first: 2, rows: 2 });
    for number in [0, 1, 0, 1, 0, 0, 1, 0, 1, 1, 1, 0, 0, 0, 1, 0] {
        let at = if number == 0 { 0x1f_4000 } else { 0x40_4000 };
        again(&mut block, RepeatOf::Template(number), &[at, at + 64]);
    }
    all.push(Given::Block(block));
    let mut own = Block::new();
    own.thread = ThreadId(1);
    own.push(load(0x10, 0x20_5000));
    all.push(Given::Block(own));
    same(&all);
    let (_, cells, tables, _) = touched(&all, true);
    let object = tables.cells[*cells.last().unwrap() as usize].object;
    let name = &tables.objects[object as usize].name;
    assert!(name.contains("stack"), "{name}");
}

#[test]
fn stacks_of_unknown_bounds_near_each_other() {
    let mut all = vec![Given::Event(thread(0, 0x1_0000, 0x2_0000))];
    for (id, pointer, pc) in [(1, 0x50_0000, 0x900), (2, 0x48_0000, 0x950)] {
        let mut enter = with(Kind::Enter, pc, pointer, 5);
        enter.thread = ThreadId(id);
        all.extend([Given::Event(thread(id, 0, 0)), Given::Block(enter)]);
    }
    let of = |row: u64| [0x45_0000 + 8 * (row * 7 % 11), 0x39_0000 + 8 * row];
    let [both, second] = of(0);
    let mut block = pattern(&[load(0x10, both), load(0x20, second)]);
    for row in 1..20 {
        // An access that can only be in the first thread's.
        if row % 3 == 0 {
            block.push(load(0x30, 0x4f_0000 + 8 * row));
        }
        again(&mut block, RepeatOf::Template(0), &of(row));
    }
    all.push(Given::Block(block));
    same(&all);
}

#[test]
fn a_pattern_of_many_rows() {
    let rows: Vec<Row> = (0..70_000)
        .map(|row| load(0x10 + row % 5, 0x1000 + 8 * row))
        .collect();
    let mut block = pattern(&rows);
    let addrs: Vec<u64> = rows.iter().map(|row| row.addr + 8).collect();
    for _ in 0..3 {
        again(&mut block, RepeatOf::Template(0), &addrs);
    }
    same(&[Given::Block(block)]);
}

#[test]
fn repeats_without_matching_rows_are_left_out_with_a_warning() {
    let laps = |first, times| RepeatOf::Loop { first, times };
    let wrong: [fn(&mut Repeats); 6] = [
        |folds| folds.entries[0].before = 9,
        |folds| folds.entries[1].before = 1,
        |folds| folds.entries[0].what = RepeatOf::Template(1),
        |folds| folds.entries[0].rows = 1,
        |folds| folds.numbers.truncate(3),
        |folds| folds.templates[0].first = 2,
    ];
    let wrong_laps = |folds: &mut Repeats| folds.entries[1].what = laps(1, 2);
    for (case, spoil) in (0..).zip(
        wrong
            .iter()
            .map(|one| one as &dyn Fn(&mut Repeats))
            .chain([&wrong_laps as _]),
    ) {
        let mut block = pattern(&[load(0x10, 0x1000), load(0x20, 0x2000)]);
        again(&mut block, RepeatOf::Template(0), &[0x1008, 0x2008]);
        again(&mut block, laps(0, 2), &[8, 8]);
        spoil(&mut block.repeats);
        let (_, _, tables, _) = touched(&[Given::Block(block)], true);
        let said = tables
            .warnings
            .iter()
            .any(|one| one.code == "malformed-rows");
        assert!(said, "case {case}: {:?}", tables.warnings);
    }
}
