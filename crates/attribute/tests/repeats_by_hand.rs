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

/// Appends a repeat after the rows of a block so far.
fn repeat(block: &mut Block, what: RepeatOf, numbers: &[u64]) {
    let times = match what {
        RepeatOf::Template(_) => 1,
        RepeatOf::Loop { times, .. } => u64::from(times),
    };
    let (before, rows) = (block.len() as u32, numbers.len() as u32);
    let repeats = &mut block.repeats;
    repeats.entries.push(Repeat { before, rows, what });
    repeats.numbers.extend_from_slice(numbers);
    repeats.rows += times * numbers.len() as u64;
}

/// A block whose template 0 has these rows.
fn template(rows: &[Row]) -> Block {
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
fn accessed(all: &[Given], with_repeats: bool) -> (Vec<u64>, Vec<u32>, Tables, usize) {
    let mut attributor = Attributor::new(Options::default());
    let (mut unfolder, mut columns) = (RepeatExpander::new(), Columns::new());
    let (mut items, mut cells, mut most) = (Vec::new(), Vec::new(), 0);
    for given in all {
        match given {
            Given::Event(event) => attributor.event(event, &mut NoSymbols),
            Given::Block(block) => {
                let whole = unfolder.expand(block);
                let block = if with_repeats { block } else { &whole };
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
    let (rows, repeats) = (accessed(all, false), accessed(all, true));
    assert_eq!((rows.0, rows.1), (repeats.0, repeats.1));
    assert!(rows.2 == repeats.2);
    repeats.3
}

#[test]
fn repeats_in_reallocated_memory_count_for_the_new_block() {
    let mut first = template(&[load(0x10, 0x10_0100)]);
    let mut later = Block::new();
    later.repeats.known = 1;
    for block in [&mut first, &mut later] {
        for number in 0..6 {
            repeat(block, RepeatOf::Template(0), &[0x10_0100 + 8 * number]);
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

/// The cells of a template's accesses in a process, and of the same later in another or the same,
/// with this between them.
fn around(between: Vec<Given>, process: u16) -> [Vec<u32>; 2] {
    let mut first = template(&[load(0x10, 0x10_0100)]);
    let mut later = Block::new();
    later.repeats.known = 1;
    later.process = ProcessId(process);
    for block in [&mut first, &mut later] {
        for number in 0..6 {
            repeat(block, RepeatOf::Template(0), &[0x10_0100 + 8 * number]);
        }
    }
    let block = with(Kind::Alloc, 0x50, 0xf_0000, 0x2_0000);
    let mut all: Vec<Given> = [block, first].map(Given::Block).into();
    all.extend(between);
    all.push(Given::Block(later));
    same(&all);
    let cells = accessed(&all, true).1;
    let (before, behind) = cells.split_at(7);
    [before.to_vec(), behind.to_vec()]
}

#[test]
fn repeats_of_two_processes_keep_threads_of_equal_number_apart() {
    // The other process has not got the memory.
    let mut begun = with(Kind::Alloc, 0x51, 0x40_0000, 0x2_0000);
    begun.process = ProcessId(1);
    let [before, behind] = around(vec![Given::Block(begun)], 1);
    assert_ne!(before[0], behind[0]);
}

#[test]
fn repeats_of_a_new_process_with_a_reused_number_get_own_cells() {
    let end = Event::ProcessEnded(ProcessId(0), ProcessEnd::Unknown);
    let block = with(Kind::Alloc, 0x51, 0xf_0000, 0x2_0000);
    let [before, behind] = around(vec![Given::Event(end), Given::Block(block)], 0);
    assert_ne!(before[0], behind[0]);
}

#[test]
fn repeats_count_for_a_stack_that_appeared_later() {
    let begun = thread(0, 0x10_0000, 0x10_1000);
    let [before, behind] = around(vec![Given::Event(begun)], 0);
    assert_ne!(before[0], behind[0]);
}

#[test]
fn repeats_number_cells_of_another_thread_in_access_order() {
    let addrs = [0x10_0040, 0x10_0000];
    let mut first = template(&[load(0x10, addrs[0]), load(0x20, addrs[1])]);
    let mut later = Block::new();
    later.repeats.known = 1;
    later.thread = ThreadId(1);
    for _ in 0..6 {
        repeat(&mut first, RepeatOf::Template(0), &addrs);
        // The first of them is in no object.
        repeat(&mut later, RepeatOf::Template(0), &[0x30_0000, addrs[1]]);
    }
    let block = with(Kind::Alloc, 0x51, 0xf_0000, 0x2_0000);
    same(&[block, first, later].map(Given::Block));
}

#[test]
fn iterations_that_straddle_items_count_both() {
    for (addr, step) in [
        (0xf_ffff, 1),
        (0xf_ffc1, 24),
        (0xf_ffff, 8_u64.wrapping_neg()),
    ] {
        let mut block = Block::new();
        block.push(load(0x10, addr));
        let iterations = RepeatOf::Loop {
            first: 0,
            times: 300,
        };
        repeat(&mut block, iterations, &[step]);
        let all = [with(Kind::Alloc, 0x50, 0xf_c000, 0x2_0000), block];
        same(&all.map(Given::Block));
    }
}

#[test]
fn piece_of_iterations_is_bounded() {
    let mut block = Block::new();
    block.extend((0..256).map(|row| load(0x10 + row, 0x10_0000 + 8 * row)));
    let iterations = RepeatOf::Loop {
        first: 0,
        times: 16_000,
    };
    repeat(&mut block, iterations, &[8; 256]);
    let all = [with(Kind::Alloc, 0x50, 0xf_0000, 0x2_0000), block];
    let most = same(&all.map(Given::Block));
    assert!(most <= (1 << 18) + (1 << 16) + 256, "{most} in a piece");
}

#[test]
fn forgotten_templates_free_their_memory() {
    let rows: Vec<Row> = (0..1000).map(|row| load(0x10 + row, 0x1000)).collect();
    let mut block = template(&rows);
    repeat(&mut block, RepeatOf::Template(0), &[0x1008; 1000]);
    let mut attributor = Attributor::new(Options::default());
    let mut memory = Vec::new();
    for _ in 0..100 {
        attributor.block(&block, &mut Columns::new());
        memory.push(attributor.memory());
    }
    assert_eq!(memory[1], memory[99]);
}

#[test]
fn repeats_follow_a_stack_in_memory_of_another_thread() {
    let mut all = vec![
        Given::Event(thread(0, 0x10_0000, 0x11_0000)),
        Given::Event(thread(1, 0x20_0000, 0x21_0000)),
        Given::Block(with(Kind::Alloc, 0x50, 0x1f_0000, 0x3_0000)),
        Given::Block(with(Kind::Alloc, 0x60, 0x40_0000, 0x2_0000)),
    ];
    // One instruction in two templates, one for each block of the heap.
    let mut block = template(&[load(0x10, 0x1f_4000), load(0x20, 0x1f_4040)]);
    let other = [load(0x10, 0x40_4000), load(0x30, 0x40_4040)];
    block.extend(other.into_iter());
    block
        .repeats
        .templates
        .push(RepeatTemplate { first: 2, rows: 2 });
    for number in [0, 1, 0, 1, 0, 0, 1, 0, 1, 1, 1, 0, 0, 0, 1, 0] {
        let at = if number == 0 { 0x1f_4000 } else { 0x40_4000 };
        repeat(&mut block, RepeatOf::Template(number), &[at, at + 64]);
    }
    all.push(Given::Block(block));
    let mut own = Block::new();
    own.thread = ThreadId(1);
    own.push(load(0x10, 0x20_5000));
    all.push(Given::Block(own));
    same(&all);
    let (_, cells, tables, _) = accessed(&all, true);
    let object = tables.cells[*cells.last().unwrap() as usize].object;
    let name = &tables.objects[object as usize].name;
    assert!(name.contains("stack"), "{name}");
}

#[test]
fn repeats_follow_neighbouring_stacks_of_unknown_bounds() {
    let mut all = vec![Given::Event(thread(0, 0x1_0000, 0x2_0000))];
    for (id, pointer, pc) in [(1, 0x50_0000, 0x900), (2, 0x48_0000, 0x950)] {
        let mut enter = with(Kind::Enter, pc, pointer, 5);
        enter.thread = ThreadId(id);
        all.extend([Given::Event(thread(id, 0, 0)), Given::Block(enter)]);
    }
    let of = |row: u64| [0x45_0000 + 8 * (row * 7 % 11), 0x39_0000 + 8 * row];
    let [both, second] = of(0);
    let mut block = template(&[load(0x10, both), load(0x20, second)]);
    for row in 1..20 {
        // An access that can only be in the first thread's.
        if row % 3 == 0 {
            block.push(load(0x30, 0x4f_0000 + 8 * row));
        }
        repeat(&mut block, RepeatOf::Template(0), &of(row));
    }
    all.push(Given::Block(block));
    same(&all);
}

#[test]
fn template_of_many_rows_repeats() {
    let rows: Vec<Row> = (0..70_000)
        .map(|row| load(0x10 + row % 5, 0x1000 + 8 * row))
        .collect();
    let mut block = template(&rows);
    let addrs: Vec<u64> = rows.iter().map(|row| row.addr + 8).collect();
    for _ in 0..3 {
        repeat(&mut block, RepeatOf::Template(0), &addrs);
    }
    same(&[Given::Block(block)]);
}

#[test]
fn repeats_without_matching_rows_are_left_out_with_a_warning() {
    let iterations = |first, times| RepeatOf::Loop { first, times };
    let wrong: [fn(&mut Repeats); 6] = [
        |repeats| repeats.entries[0].before = 9,
        |repeats| repeats.entries[1].before = 1,
        |repeats| repeats.entries[0].what = RepeatOf::Template(1),
        |repeats| repeats.entries[0].rows = 1,
        |repeats| repeats.numbers.truncate(3),
        |repeats| repeats.templates[0].first = 2,
    ];
    let wrong_iterations = |repeats: &mut Repeats| repeats.entries[1].what = iterations(1, 2);
    for (case, spoil) in (0..).zip(
        wrong
            .iter()
            .map(|one| one as &dyn Fn(&mut Repeats))
            .chain([&wrong_iterations as _]),
    ) {
        let mut block = template(&[load(0x10, 0x1000), load(0x20, 0x2000)]);
        repeat(&mut block, RepeatOf::Template(0), &[0x1008, 0x2008]);
        repeat(&mut block, iterations(0, 2), &[8, 8]);
        spoil(&mut block.repeats);
        let (_, _, tables, _) = accessed(&[Given::Block(block)], true);
        let said = tables
            .warnings
            .iter()
            .any(|one| one.code == "malformed-rows");
        assert!(said, "case {case}: {:?}", tables.warnings);
    }
}
