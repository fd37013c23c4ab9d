//! Which items an access touches, and which accesses count.

use reuselens_attribute::{
    Attributor, BlockTypes, Columns, DataFilter, FrameLayouts, Function, Kinds, Options,
    StaticSymbol, SymbolSource, Variable, Warning,
};
use reuselens_profile::Frame;
use reuselens_trace::{Block, Event, Kind, Module, Process, ProcessId, Row};
use reuselens_units::Granularity;

use crate::common::{BIAS, Run, STACK, at};

#[test]
fn an_access_touches_every_item_that_it_covers() {
    let mut run = Run::new(Options::default());
    run.row(Kind::Load, 8, at(0x100, 2), 60, &[]);
    run.row(Kind::Store, 16, at(0x100, 3), 64, &[]);
    run.row(Kind::Load, 0, at(0x100, 4), 63, &[]);
    let done = run.finish();
    assert_eq!(done.columns.items, [0, 1, 1, 0]);
    assert_eq!(done.references, 3);
    assert_eq!(done.columns.cells[0], done.columns.cells[1]);
    assert_eq!(done.tables.sites[0].kind, "", "the unknown site");
    let kinds: Vec<_> = done
        .tables
        .sites
        .iter()
        .skip(1)
        .map(|site| site.kind.as_str())
        .collect();
    assert_eq!(kinds, ["load", "store", "load"]);
    assert_eq!(
        (
            done.tables.sites[1].module.as_str(),
            done.tables.sites[1].offset
        ),
        ("prog", 0x102)
    );
}

#[test]
fn range_operations_touch_their_whole_range() {
    let mut run = Run::new(Options::default());
    run.row(Kind::RangeLoad, 0, at(0x100, 2), 0x1030, &[200]);
    run.row(Kind::RangeStore, 0, at(0x100, 2), 0x2000, &[0]);
    run.row(Kind::RangeStore, 0, at(0x100, 2), 0x3000, &[(1 << 36) + 1]);
    let done = run.finish();
    assert_eq!(done.columns.items, [0x40, 0x41, 0x42, 0x43, 0xc0]);
    assert_eq!(done.references, 2, "nothing was written by the empty one");
    assert_eq!(done.warnings(), ["range-too-long"]);
}

#[test]
fn long_ranges_come_in_pieces() {
    let mut run = Run::new(Options {
        granularity: Granularity::BYTE,
        ..Options::default()
    });
    run.row(Kind::RangeLoad, 0, at(0x100, 2), 0, &[1_000_000]);
    run.load(at(0x100, 3), 7);
    let block = std::mem::replace(&mut run.block, Block::new());
    let (mut next, mut pieces, mut columns) = (0, 0, Columns::new());
    run.attributor.pieces(&block, &mut columns, |piece| {
        pieces += 1;
        assert!(piece.len() <= (1 << 18) + 2 * block.len());
        for item in &piece.items {
            let want = if next < 1_000_000 {
                next
            } else {
                7 + next - 1_000_000
            };
            assert_eq!(*item, want);
            next += 1;
        }
    });
    assert_eq!((next, pieces), (1_000_008, 4));
}

#[test]
fn processes_do_not_share_items_and_threads_do() {
    let mut run = Run::new(Options::default());
    run.thread(0, 1, (0, 0));
    run.event(Event::Process(Process {
        id: ProcessId(3),
        ..Process::default()
    }));
    run.map_module(3);
    run.load(at(0x100, 2), 0x1000);
    run.on(0, 1);
    run.load(at(0x100, 2), 0x1000);
    run.on(3, 2);
    run.load(at(0x100, 2), 0x1000);
    let done = run.finish();
    assert_eq!(done.columns.items, [0x40, 0x40, 3 << 42 | 0x40]);
    assert_eq!(
        done.tables.sites.len(),
        2,
        "one instruction, whatever the process"
    );
    let names: Vec<_> = done
        .tables
        .threads
        .iter()
        .map(|t| (t.name.as_str(), t.process))
        .collect();
    assert_eq!(
        names,
        [
            ("thread 0 (main)", 0),
            ("thread 1", 0),
            ("thread 2 (main)", 3)
        ]
    );
}

#[test]
fn ids_are_items_as_they_are() {
    let mut run = Run::bare(Options {
        ids: true,
        ..Options::default()
    });
    run.on(2, 0);
    run.load(0, u64::MAX);
    run.load(77, 5);
    run.row(Kind::Enter, 0, 1, 2, &[3]);
    let done = run.finish();
    assert_eq!(done.columns.items, [u64::MAX, 5]);
    assert_eq!(done.columns.cells, [0, 0]);
    assert_eq!((done.tables.sites.len(), done.tables.objects.len()), (1, 1));
}

fn touched(options: Options) -> Vec<u64> {
    let mut run = Run::new(Options {
        granularity: Granularity::BYTE,
        ..options
    });
    run.enter(0x100, STACK.1 - 0x1000, 0);
    run.alloc(at(0x100, 1), 0x1000, 64);
    for (kind, address) in [
        (Kind::Load, 0x1000),
        (Kind::Store, BIAS + 0x1_0000),
        (Kind::Atomic, STACK.1 - 0x800),
        (Kind::Load, 0x9000),
    ] {
        run.row(kind, 1, at(0x100, 2), address, &[]);
    }
    run.row(Kind::RangeStore, 0, at(0x100, 3), 0x1001, &[1]);
    run.row(Kind::Named, 0, at(0x100, 3), 0x1002, &[0x1000]);
    let done = run.finish();
    assert_eq!(done.references, done.columns.items.len() as u64);
    done.columns.items
}

#[test]
fn filters_choose_by_kind_and_by_place() {
    let (heap, table, stack, raw) = (0x1000, BIAS + 0x1_0000, STACK.1 - 0x800, 0x9000);
    let kinds = |kinds| {
        touched(Options {
            kinds,
            ..Options::default()
        })
    };
    assert_eq!(
        kinds(Kinds::All),
        [heap, table, stack, raw, heap + 1, heap + 2]
    );
    assert_eq!(kinds(Kinds::Loads), [heap, stack, raw]);
    assert_eq!(kinds(Kinds::Stores), [table, stack, heap + 1]);
    let data = |data| {
        touched(Options {
            data,
            ..Options::default()
        })
    };
    assert_eq!(data(DataFilter::Heap), [heap, heap + 1, heap + 2]);
    assert_eq!(data(DataFilter::Stack), [stack]);
    assert_eq!(data(DataFilter::Static), [table]);
}

#[test]
fn rows_without_their_operands_are_left_out() {
    let mut run = Run::new(Options::default());
    for kind in [
        Kind::Enter,
        Kind::Alloc,
        Kind::Free,
        Kind::RangeLoad,
        Kind::Named,
        Kind::PartialData,
    ] {
        run.block.push(Row {
            kind,
            size: 0,
            pc: 1,
            addr: 2,
        });
    }
    run.row(Kind::Data, 0, 0, 5, &[1, 1]);
    run.row(Kind::Data, 0, 0, 5, &[1, 1, u64::MAX]);
    run.load(at(0x100, 1), 9);
    let done = run.finish();
    assert_eq!(
        (done.references, done.warnings()),
        (1, vec!["malformed-rows"])
    );
}

#[test]
fn too_many_cells_fold_and_every_access_counts() {
    let mut run = Run::new(Options {
        max_cells: 2,
        ..Options::default()
    });
    let low = STACK.1 - 0x1000;
    for round in 0..40 {
        run.enter(0x100, low, BIAS + round);
        run.row(Kind::Load, 1, at(0x200, round + 1), 0x1000 + round, &[]);
        run.exit(low);
    }
    let done = run.finish();
    assert_eq!((done.columns.len(), done.references), (40, 40));
    assert!(done.tables.cells.len() <= 40);
    let expected = ["contexts-folded", "groups-folded", "lines-folded"];
    assert_eq!(done.warnings(), expected);
    // Lines keep their names longer than objects.
    let with_lines = done.tables.cells.iter().filter(|cell| cell.site != 0);
    assert!(with_lines.count() >= 32);
    let contexts = done.contexts();
    assert_eq!(
        (contexts[1].as_str(), contexts[2].as_str()),
        (">main", ">main>(other contexts)")
    );
}

/// To read a program's files takes as long as to count some million accesses.
#[test]
fn items_only_analysis_asks_for_no_symbols() {
    struct Unread;
    impl SymbolSource for Unread {
        fn statics(&mut self, module: &Module) -> Vec<StaticSymbol> {
            panic!("the symbols of {} were asked for", module.path)
        }
        fn frames(&mut self, _: &Module, _: u64) -> Vec<Frame> {
            panic!("lines were asked for")
        }
        fn function(&mut self, _: &Module, _: u64) -> Option<Function> {
            panic!("functions were asked for")
        }
        fn functions_without_lines(&mut self, _: &Module) -> Vec<(u64, u64)> {
            Vec::new()
        }

        fn variable(&mut self, _: &Module, _: u64) -> Variable {
            panic!("variables were asked for")
        }

        fn frame_layouts(&mut self, _: &Module) -> Option<Box<dyn FrameLayouts>> {
            None
        }

        fn block_types(&mut self) -> Option<Box<dyn BlockTypes>> {
            None
        }

        fn allocated_names(&mut self, _: &Module, _: &Frame, _: usize) -> Vec<String> {
            Vec::new()
        }

        fn is_wait(&mut self, _: &Module, _: u64, _: reuselens_trace::Kind) -> bool {
            false
        }

        fn is_rust(&mut self, _: &Module) -> bool {
            false
        }

        fn warnings(&mut self) -> Vec<Warning> {
            Vec::new()
        }
    }
    let module = Event::Module(Module {
        path: "prog".into(),
        low: BIAS,
        high: BIAS + 0x1000,
        ..Module::default()
    });
    let asked = |whole| {
        let options = Options {
            totals_only: whole,
            ..Options::default()
        };
        let mut attributor = Attributor::new(options);
        attributor.event(&module, &mut Unread);
    };
    asked(true);
    assert!(std::panic::catch_unwind(|| asked(false)).is_err());
}
