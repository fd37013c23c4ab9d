//! Offsets of accesses in the elements of objects.

use std::collections::BTreeMap;

use proptest::prelude::*;
use reuselens_attribute::Options;
use reuselens_profile::NO_OFFSET;
use reuselens_trace::Kind;
use reuselens_units::Granularity;

use crate::common::{BIAS, Run, STACK, at};

const HEAP: u64 = 0x10_0000;
/// Bytes of a block of the heap, and from one to the next.
const BLOCK: u64 = 48;
const PITCH: u64 = 64;
/// Bytes of an element that the program names within a block.
const NAMED: u64 = 12;

fn options() -> Options {
    Options {
        offsets: true,
        ..Options::default()
    }
}

#[derive(Clone, Debug)]
enum Step {
    Access {
        kind: Kind,
        address: u64,
        bytes: u64,
        site: u64,
    },
    Allocate(u64),
    Free(u64),
    /// Names the bytes of a block after the first 24.
    Name(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let kind = prop_oneof![Just(Kind::Load), Just(Kind::Store), Just(Kind::RangeLoad)];
    let address = prop_oneof![
        HEAP..HEAP + 16 * PITCH,
        BIAS + 0x1_0000..BIAS + 0x1_0100,
        0x10_u64..0x20,
    ];
    let access = (kind, address, 1..60_u64, 0..6_u64).prop_map(|(kind, address, bytes, site)| {
        // One instruction does one kind of thing.
        let kind = if site < 5 { kind } else { Kind::RangeLoad };
        Step::Access {
            kind,
            address,
            bytes,
            site,
        }
    });
    prop_oneof![
        20 => access,
        2 => (0..16_u64).prop_map(Step::Allocate),
        1 => (0..16_u64).prop_map(Step::Free),
        1 => (0..16_u64).prop_map(Step::Name),
    ]
}

/// What is known of memory, byte by byte: the first byte of the object, and the bytes of an
/// element.
#[derive(Default)]
struct Memory {
    bytes: BTreeMap<u64, (u64, u64)>,
}

impl Memory {
    fn own(&mut self, range: std::ops::Range<u64>, element: u64) {
        let low = range.start;
        self.bytes.extend(range.map(|byte| (byte, (low, element))));
    }

    /// The offset of a byte of the object that has the byte `owned`.
    fn offset(&self, owned: u64, byte: u64) -> u32 {
        let found = self.bytes.get(&owned);
        found.map_or(NO_OFFSET, |(low, element)| ((byte - low) % element) as u32)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn offsets_are_those_of_each_byte(
        steps in prop::collection::vec(step(), 1..300),
        shift in 0..8_u32,
        placed in any::<bool>(),
    ) {
        let granularity = Granularity::new(1 << shift).unwrap();
        let placement = reuselens_attribute::PlacementOptions {
            chunk_bytes: Some(32),
            max_footprint_entries: 1 << 10,
        };
        let mut run = Run::new(Options {
            granularity,
            placement: placed.then_some(placement),
            ..options()
        });
        let mut memory = Memory::default();
        // As far as accesses that begin below 0x100 reach.
        memory.own(BIAS + 0x1_0000..BIAS + 0x1_0200, 8);
        let mut expected = Vec::new();
        for step in steps {
            match step {
                Step::Access { kind, address, bytes, site } => {
                    match kind {
                        Kind::RangeLoad => run.row(kind, 0, at(0x100, site), address, &[bytes]),
                        kind => run.row(kind, bytes as u8, at(0x100, site), address, &[]),
                    }
                    let items = address >> shift..=(address + bytes - 1) >> shift;
                    let first = |item: u64| address.max(item << shift);
                    // Each item access of a block operation is of its own first byte's object.
                    let owned = |item| match kind {
                        Kind::RangeLoad => first(item),
                        _ => address,
                    };
                    expected.extend(items.map(|item| memory.offset(owned(item), first(item))));
                }
                Step::Allocate(slot) => {
                    let low = HEAP + slot * PITCH;
                    run.alloc(at(0x400, 1), low, BLOCK);
                    memory.own(low..low + BLOCK, BLOCK);
                }
                Step::Free(slot) => {
                    let low = HEAP + slot * PITCH;
                    // A block that was not allocated has no names either.
                    if memory.bytes.contains_key(&low) {
                        run.free(low, 0);
                        (low..low + BLOCK).for_each(|byte| { memory.bytes.remove(&byte); });
                    }
                }
                Step::Name(slot) => {
                    let low = HEAP + slot * PITCH;
                    if memory.bytes.contains_key(&low) {
                        run.data(low + 24, BLOCK - 24, NAMED, "A");
                        memory.own(low + 24..low + BLOCK, NAMED);
                    }
                }
            }
        }
        let finished = run.finish();
        prop_assert_eq!(finished.columns.items.len(), finished.columns.offsets.len());
        prop_assert_eq!(finished.columns.offsets, expected);
    }
}

/// The bytes of an element of the object of each access, and the offsets.
fn found(run: Run) -> (Vec<u32>, Vec<u32>) {
    let finished = run.finish();
    let tables = &finished.tables;
    let cells = finished.columns.cells.iter();
    let objects = cells.map(|cell| tables.cells[*cell as usize].object as usize);
    let bytes = objects
        .map(|object| tables.element_types.bytes[object])
        .collect();
    let types = &tables.element_types;
    assert_eq!(types.bytes.len(), tables.objects.len());
    assert_eq!(types.objects.len(), tables.objects.len());
    (bytes, finished.columns.offsets)
}

#[test]
fn blocks_of_several_sizes_are_no_elements() {
    let mut run = Run::new(options());
    run.alloc(at(0x400, 1), 0x9000, 40);
    run.load(at(0x100, 2), 0x9008);
    run.alloc(at(0x400, 1), 0x9100, 80);
    run.load(at(0x100, 2), 0x9108);
    run.alloc(at(0x400, 2), 0x9200, 40);
    run.load(at(0x100, 2), 0x9210);
    run.alloc(at(0x400, 3), 0xa000, 4096);
    run.load(at(0x100, 2), 0xa010);
    let (bytes, offsets) = found(run);
    assert_eq!(bytes, [0, 0, 40, 0]);
    assert_eq!(offsets[1..], [NO_OFFSET, 16, NO_OFFSET]);
}

#[test]
fn local_variables_of_other_threads_have_offsets_too() {
    let mut run = Run::bare(options());
    run.symbols.locals = [(0x200, vec![(0x100, 0x80, "values in f")])].into();
    run.event(reuselens_trace::Event::Process(Default::default()));
    run.map_module(0);
    run.thread(0, 0, STACK);
    run.thread(0, 1, (STACK.0 - 0x10_0000, STACK.0));
    let frame = STACK.1 - 0x100;
    run.on(0, 0);
    run.call(0x200, frame, at(0x100, 3));
    let values = frame + 8 - 0x100;
    for site in [3, 3, 4] {
        run.load(at(0x200, site), values + 8 * site + 3);
    }
    run.on(0, 1);
    run.load(at(0x300, 5), values + 0x10 + 6);
    let (bytes, offsets) = found(run);
    assert_eq!(bytes, [8; 4]);
    assert_eq!(offsets, [3, 3, 3, 6]);
}
