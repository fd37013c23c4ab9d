//! What holds for every trace.

use std::collections::BTreeMap;

use crate::common::{self, BIAS, Run, at};
use proptest::prelude::*;
use reuselens_attribute::{Kinds, NamesMode, Options};
use reuselens_trace::Kind;
use reuselens_units::Granularity;

/// Where the blocks of the oracle test lie: a few pages, from the statics on.
const ARENA: u64 = BIAS + 0x1_3f00;
const ARENA_BYTES: u64 = 10 * 4096;

#[derive(Clone, Debug)]
enum Action {
    Alloc { offset: u64, bytes: u64, site: u64 },
    Free { offset: u64, bytes: u64 },
    FreeLive { which: usize },
    Name { offset: u64, bytes: u64, name: u8 },
    Load { offset: u64, site: u64 },
}

fn action() -> impl Strategy<Value = Action> {
    let offset = || {
        prop_oneof![
            0..ARENA_BYTES,
            (0..ARENA_BYTES / 16).prop_map(|granule| granule * 16)
        ]
    };
    let bytes = || prop_oneof![1..64_u64, 1..20_000_u64];
    prop_oneof![
        3 => (offset(), bytes(), 0..4_u64)
            .prop_map(|(offset, bytes, site)| Action::Alloc { offset, bytes, site }),
        1 => (offset(), bytes()).prop_map(|(offset, bytes)| Action::Free { offset, bytes }),
        2 => any::<usize>().prop_map(|which| Action::FreeLive { which }),
        1 => (offset(), bytes(), 0..3_u8)
            .prop_map(|(offset, bytes, name)| Action::Name { offset, bytes, name }),
        12 => (offset(), 0..3_u64).prop_map(|(offset, site)| Action::Load { offset, site }),
    ]
}

/// The owner of each byte, one by one: what the maps must agree with.
struct Oracle {
    /// By address: the block's first byte, its number, its name.
    heap: BTreeMap<u64, (u64, u64, String)>,
    /// Blocks so far: one may begin where another began that was never freed.
    blocks: u64,
    named: BTreeMap<u64, String>,
    statics: Vec<(u64, u64, &'static str)>,
}

impl Oracle {
    fn clear(&mut self, low: u64, high: u64) {
        for address in low..high {
            self.heap.remove(&address);
            self.named.remove(&address);
        }
    }

    fn owner(&self, address: u64) -> String {
        let inside = |(low, high, _): &&(u64, u64, &str)| (*low..*high).contains(&(address - BIAS));
        let named = self.named.get(&address).cloned();
        let heap = self.heap.get(&address).map(|(_, _, name)| name.clone());
        let fixed = self
            .statics
            .iter()
            .find(inside)
            .map(|(_, _, name)| format!("{name} (prog.c)"));
        named.or(heap).or(fixed).unwrap_or_else(|| "unknown".into())
    }

    /// The first bytes of blocks that are whole from their beginning on, with their lengths.
    fn blocks(&self) -> Vec<(u64, u64)> {
        let starts = self
            .heap
            .iter()
            .filter(|(address, (start, _, _))| *address == start);
        let length = |start: u64, number: u64| {
            let same = |address: &u64| {
                self.heap
                    .get(address)
                    .is_some_and(|(_, of, _)| *of == number)
            };
            (start..).take_while(same).count() as u64
        };
        starts
            .map(|(start, (_, number, _))| (*start, length(*start, *number)))
            .collect()
    }
}

fn perform(run: &mut Run, oracle: &mut Oracle, action: &Action, expected: &mut Vec<String>) {
    match *action {
        Action::Alloc {
            offset,
            bytes,
            site,
        } => {
            let low = ARENA + offset;
            run.alloc(at(0x400, site + 1), low, bytes);
            oracle.clear(low, low + bytes);
            let name = format!("heap from make (prog.c:{})", site + 1);
            oracle.blocks += 1;
            let number = oracle.blocks;
            oracle
                .heap
                .extend((low..low + bytes).map(|address| (address, (low, number, name.clone()))));
        }
        Action::Free { offset, bytes } => {
            let low = ARENA + offset;
            run.free(low, bytes);
            oracle.clear(low, low + bytes);
        }
        Action::FreeLive { which } => {
            let blocks = oracle.blocks();
            if let Some((low, bytes)) = blocks.get(which % blocks.len().max(1)).copied() {
                run.free(low, 0);
                oracle.clear(low, low + bytes);
            }
        }
        Action::Name {
            offset,
            bytes,
            name,
        } => {
            let (low, name) = (ARENA + offset, format!("named {name}"));
            run.data(low, bytes, 8, &name);
            oracle
                .named
                .extend((low..low + bytes).map(|address| (address, name.clone())));
        }
        Action::Load { offset, site } => {
            run.row(Kind::Load, 1, at(0x100, site), ARENA + offset, &[]);
            expected.push(oracle.owner(ARENA + offset));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn look_up_agrees_with_an_owner_per_byte(actions in prop::collection::vec(action(), 1..300)) {
        let mut run = Run::new(Options { granularity: Granularity::BYTE, ..Options::default() });
        let statics = run.symbols.statics.clone();
        let mut oracle = Oracle { heap: BTreeMap::new(), blocks: 0, named: BTreeMap::new(), statics };
        let mut expected = Vec::new();
        for action in &actions {
            perform(&mut run, &mut oracle, action, &mut expected);
        }
        let done = run.finish();
        prop_assert_eq!(done.objects(), expected);
    }

    #[test]
    fn touches_are_the_sum_of_the_covers(
        rows in prop::collection::vec((0..5_u8, any::<u64>(), 0..20_u8, 0..5000_u64), 0..200),
        shift in 0..13_u32,
    ) {
        let granularity = Granularity::new(1 << shift).unwrap();
        let mut run = Run::new(Options { granularity, ..Options::default() });
        let (mut touches, mut references) = (0, 0);
        for (kind, addr, size, bytes) in rows {
            let size = if kind < 3 { u64::from(size) } else { bytes };
            match kind {
                0 => run.row(Kind::Load, size as u8, addr, addr, &[]),
                1 => run.row(Kind::Store, size as u8, addr, addr, &[]),
                2 => run.row(Kind::Atomic, size as u8, addr, addr, &[]),
                3 => run.row(Kind::RangeLoad, 0, addr, addr, &[bytes]),
                _ => run.row(Kind::RangeStore, 0, addr, addr, &[bytes]),
            }
            if kind < 3 || size > 0 {
                let (first, last) = granularity.cover(addr, size);
                touches += last - first + 1;
                references += 1;
            }
        }
        let done = run.finish();
        prop_assert_eq!(done.columns.items.len() as u64, touches);
        prop_assert_eq!(done.columns.cells.len() as u64, touches);
        prop_assert_eq!(done.references, references);
        prop_assert!(done.columns.cells.iter().all(|cell| (*cell as usize) < done.tables.cells.len()));
    }

    #[test]
    fn whole_programs_have_the_same_items(
        rows in prop::collection::vec((1..15_u8, 0..9_u64, 0..9_u64, 0..3_u8, any::<u64>()), 0..1500),
        kinds in prop::sample::select(vec![Kinds::All, Kinds::Loads, Kinds::Stores]),
    ) {
        let [apart, whole] = [false, true].map(|whole| {
            let mut run = Run::new(Options { totals_only: whole, kinds, ..Options::default() });
            for &(kind, pc, addr, plain, wild) in &rows {
                // Most rows of a program are plain accesses.
                let kind = if plain > 0 { Kind::Load } else { Kind::from_u8(kind).unwrap() };
                let count = kind.operands() + usize::from(kind == Kind::Data);
                let operands = [wild % 5000, wild % 1000, 3, wild];
                run.row(kind, (wild % 30) as u8, pc, 0x1000 + addr * 0x31, &operands[..count]);
            }
            run.finish()
        });
        prop_assert_eq!(&apart.columns.items, &whole.columns.items);
        prop_assert_eq!(apart.references, whole.references);
        prop_assert!(whole.columns.cells.iter().all(|cell| *cell == 0));
        prop_assert_eq!(whole.columns.cells.len(), whole.columns.items.len());
        // The one cell is made with the first block: no rows, no cell.
        let cells = usize::from(!rows.is_empty());
        prop_assert_eq!((whole.tables.cells.len(), whole.tables.sites.len()), (cells, 1));
    }

    #[test]
    fn rows_of_any_sort_do_no_harm(
        rows in prop::collection::vec((1..15_u8, 0..9_u64, 0..9_u64, any::<u64>()), 0..300),
        statement in any::<bool>(),
    ) {
        let names = if statement { NamesMode::Statement } else { NamesMode::Instruction };
        let mut run = Run::new(Options { names, max_cells: 20, elements: true, ..Options::default() });
        for (kind, pc, addr, wild) in rows {
            let kind = Kind::from_u8(kind).unwrap();
            let addr = if addr == 8 { wild } else { common::STACK.1 - 0x1000 + addr * 0x100 };
            let range = matches!(kind, Kind::RangeLoad | Kind::RangeStore);
            let first = if range { wild % 5000 } else { wild };
            let operands = [first, wild % 1000, 3, wild];
            let count = kind.operands() + usize::from(kind == Kind::Data);
            run.row(kind, 8, pc, addr, &operands[..count]);
        }
        let done = run.finish();
        prop_assert_eq!(done.columns.items.len(), done.columns.cells.len());
        prop_assert_eq!(done.elements().len(), done.columns.items.len());
        let tables = done.tables;
        for object in &tables.objects {
            let elements = object.elements.iter().map(|element| element.accesses).sum::<u64>();
            prop_assert!(elements <= done.columns.items.len() as u64);
        }
        for cell in tables.cells {
            prop_assert!((cell.site as usize) < tables.sites.len());
            prop_assert!((cell.object as usize) < tables.objects.len());
            prop_assert!((cell.context as usize) < tables.contexts.len());
            prop_assert!((cell.thread as usize) < tables.threads.len());
        }
        for (index, context) in tables.contexts.iter().enumerate().skip(1) {
            prop_assert!((context.parent as usize) < index);
        }
    }
}
