//! Types of blocks of the heap by the instructions that access them, on programs made by hand.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use reuselens_attribute::{AccessedType, Options};
use reuselens_profile::{DataLayout, LayoutField, NO_OFFSET, TypeOrigin};
use reuselens_trace::{Event, Process};

use crate::common::{Run, STACK, at};

const HEAP: u64 = 0x10_0000;
/// The call that allocates.
const CALL: u64 = 1;

/// Fields by name, type, offset and bytes.
fn layout(name: &str, bytes: u64, fields: &[(&str, &str, u64, u64)]) -> Arc<DataLayout> {
    let field = |&(name, kind, offset, bytes): &(&str, &str, u64, u64)| LayoutField {
        name: name.into(),
        type_name: kind.into(),
        offset,
        bytes,
    };
    Arc::new(DataLayout {
        name: name.into(),
        bytes,
        fields: fields.iter().map(field).collect(),
    })
}

fn node() -> Arc<DataLayout> {
    let fields = [
        ("next", "node*", 0, 8),
        ("key", "long", 8, 8),
        ("kind", "int", 16, 4),
    ];
    layout("node", 24, &fields)
}

fn entry() -> Arc<DataLayout> {
    let fields = [("text", "char[16]", 0, 16), ("id", "long", 16, 8)];
    layout("entry", 24, &fields)
}

fn edge() -> Arc<DataLayout> {
    let fields = [("weight", "float", 0, 4), ("to", "int", 4, 4)];
    layout("edge", 8, &fields)
}

/// Instructions by their lines in `main`, with what they access. Those of lines from 50 on show
/// nothing, and those from 60 on use indices. From 70 on, elements may go on behind their
/// type.
fn instructions() -> BTreeMap<u64, AccessedType> {
    let of = |(line, layout, offset): (u64, Arc<DataLayout>, Option<u32>)| {
        let is_indexed = line >= 60;
        let access = AccessedType {
            layout,
            offset,
            is_indexed,
            bytes: 0,
            has_tail: line >= 70,
        };
        (0x100 + line, access)
    };
    let link = layout("link", 8, &[("next", "link*", 0, 8)]);
    let chunk = layout(
        "chunk",
        16,
        &[("next", "chunk*", 0, 8), ("used", "long", 8, 8)],
    );
    let all = [
        (10, node(), Some(0)),
        (11, node(), Some(8)),
        (12, node(), Some(16)),
        (13, node(), None),
        (20, edge(), Some(0)),
        (21, edge(), Some(4)),
        (30, link, Some(0)),
        (31, layout("long", 8, &[]), Some(0)),
        (40, chunk.clone(), Some(0)),
        (41, chunk, Some(8)),
        (60, node(), Some(8)),
        (61, node(), Some(16)),
        (62, entry(), Some(0)),
        (63, entry(), Some(16)),
        (64, entry(), Some(16)),
        (70, layout("vec", 8, &[("len", "long", 0, 8)]), Some(0)),
    ];
    all.into_iter().map(of).collect()
}

fn run() -> Run {
    run_with(None)
}

/// A run in which all calls allocate a type.
fn run_with(allocated: Option<Arc<DataLayout>>) -> Run {
    let mut run = Run::bare(Options {
        offsets: true,
        ..Options::default()
    });
    run.symbols.accessed = instructions();
    run.symbols.allocated = allocated;
    run.event(Event::Process(Process::default()));
    run.map_module(0);
    run.thread(0, 0, STACK);
    run
}

/// What is known of the elements of the one object that was accessed.
#[derive(Debug, PartialEq)]
struct Found {
    name: Option<String>,
    bytes: u32,
    origin: TypeOrigin,
    offsets: Vec<u32>,
}

fn found(run: Run) -> Found {
    let finished = run.finish();
    let cell = finished.columns.cells[0] as usize;
    let object = finished.tables.cells[cell].object as usize;
    let types = finished.tables.element_types;
    let name = |number: u32| types.layouts[number as usize].name.clone();
    Found {
        name: types.objects[object].map(name),
        bytes: types.bytes[object],
        origin: types.origins[object],
        offsets: finished.columns.offsets,
    }
}

/// Accesses by lines of `main` to offsets of a block.
fn accesses(run: &mut Run, block: u64, accesses: &[(u64, u64)]) {
    for (line, offset) in accesses {
        run.load(at(0x100, *line), block + offset);
    }
}

#[test]
fn a_small_block_has_the_type_of_its_accesses() {
    let mut run = run();
    run.alloc(at(0x400, CALL), HEAP, 24);
    accesses(&mut run, HEAP, &[(50, 8), (11, 8), (10, 0), (12, 16)]);
    accesses(&mut run, HEAP, &[(11, 8); 7]);
    let found = found(run);
    assert_eq!((found.name.as_deref(), found.bytes), (Some("node"), 24));
    let origin = TypeOrigin::Accesses { agree: 10, all: 11 };
    assert_eq!(found.origin, origin);
    assert_eq!(found.offsets[..5], [8, 8, 0, 16, 8]);
}

#[test]
fn a_pool_has_elements_from_the_first_access_that_shows_a_type() {
    let mut run = run();
    run.alloc(at(0x400, CALL), HEAP, 10_000);
    accesses(
        &mut run,
        HEAP,
        &[(50, 80), (11, 8), (10, 24), (12, 64), (50, 80)],
    );
    accesses(&mut run, HEAP, &[(11, 9 * 24 + 8), (13, 7)]);
    accesses(&mut run, HEAP, &[(11, 8); 14]);
    let found = found(run);
    assert_eq!((found.name.as_deref(), found.bytes), (Some("node"), 24));
    assert_eq!(found.offsets[..7], [NO_OFFSET, 8, 0, 16, 8, 8, 7]);
}

#[test]
fn blocks_of_several_sizes_are_arrays() {
    let mut run = run();
    for (number, elements) in [2, 4, 8].into_iter().enumerate() {
        let block = HEAP + 0x1000 * number as u64;
        run.alloc(at(0x400, CALL), block, 24 * elements);
        accesses(&mut run, block, &[(11, 24 * (elements - 1) + 8)]);
    }
    let found = found(run);
    assert_eq!((found.name.as_deref(), found.bytes), (Some("node"), 24));
    // Of the first block, offsets are those in the block: it has two elements.
    assert_eq!(found.offsets, [32, 8, 8]);
}

/// The name of the type after accesses to a block of some bytes.
fn name(bytes: u64, list: &[(u64, u64)]) -> Option<String> {
    let mut run = run();
    run.alloc(at(0x400, CALL), HEAP, bytes);
    accesses(&mut run, HEAP, list);
    found(run).name
}

#[test]
fn a_block_with_two_types_has_none() {
    for bytes in [240, 10_000] {
        let nodes = [(11, 8), (10, 24), (12, 64)];
        assert_eq!(name(bytes, &nodes).as_deref(), Some("node"));
        for (line, offset) in [(20, 72), (21, 76), (21, 12), (31, 88), (11, 96)] {
            let mut both = nodes.to_vec();
            both.push((line, offset));
            assert_eq!(name(bytes, &both), None, "{line} {offset}");
            both.rotate_right(1);
            assert_eq!(name(bytes, &both), None, "{line} {offset} first");
        }
    }
}

#[test]
fn numbers_and_links_where_the_type_has_them_say_nothing() {
    for (line, offset) in [(30, 72), (31, 80), (31, 72)] {
        let list = [(11, 8), (10, 24), (12, 64), (line, offset)];
        assert_eq!(name(240, &list).as_deref(), Some("node"), "{line} {offset}");
    }
}

#[test]
fn a_head_is_no_element() {
    // Only the first bytes of a larger block are accessed as a node.
    assert_eq!(name(240, &[(11, 8), (10, 0), (12, 16)]), None);
    assert_eq!(name(10_000, &[(11, 8), (10, 0), (12, 16)]), None);
    assert_eq!(name(100, &[(11, 8), (10, 24)]), None, "no multiple");
}

#[test]
fn elements_after_the_head_of_a_chunk_are_found() {
    // The head is two numbers of 8 bytes; nodes follow, the third one first.
    let mut run = run();
    run.alloc(at(0x400, CALL), HEAP, 10_000);
    accesses(
        &mut run,
        HEAP,
        &[(40, 0), (41, 8), (11, 72), (40, 0), (10, 16), (12, 56)],
    );
    let found = found(run);
    assert_eq!((found.name.as_deref(), found.bytes), (Some("node"), 24));
    assert_eq!(found.offsets, [0, 8, 8, NO_OFFSET, 0, 16]);
    // A second chunk, in which a node is not where the first chunk says.
    let heads = [(40, 0), (41, 8), (11, 72), (10, 16)];
    for (second, expected) in [(11, None), (12, Some("node"))] {
        let mut run = run_with(None);
        for (block, more) in [(HEAP, (12, 32)), (HEAP + 0x4000, (second, 56))] {
            run.alloc(at(0x400, CALL), block, 10_000);
            accesses(&mut run, block, &heads);
            accesses(&mut run, block, &[more]);
        }
        assert_eq!(self::found(run).name.as_deref(), expected);
    }
}

#[test]
fn what_may_be_beyond_its_first_element_is_no_head() {
    // A node at 0, of which nothing is known where; edges behind it.
    let behind = [(20, 52), (21, 64)];
    let of = |node: u64| name(10_000, &[&[(13, node)], &behind[..]].concat());
    assert_eq!(of(4).as_deref(), Some("edge"));
    assert_eq!(of(28), None);
    // The second node is not seen, as accesses to first ones are only counted after some time.
    let mut list = vec![(13, 4); 2000];
    list.push((13, 28));
    list.extend(behind.repeat(2000));
    assert_eq!(name(10_000, &list), None);
}

#[test]
fn an_index_may_hide_a_constant() {
    // The code has 16 for the field at 8, and adds 24 * i - 8.
    let list = [(60, 8), (61, 32), (60, 56), (61, 80)];
    assert_eq!(name(240, &list).as_deref(), Some("node"));
    assert_eq!(name(10_000, &list).as_deref(), Some("node"));
    // No field was where the code says.
    assert_eq!(name(240, &[(61, 32), (61, 80)]), None);
}

#[test]
fn two_structures_in_turn_are_no_type() {
    let list = [
        (40, 0),
        (11, 24),
        (40, 40),
        (11, 64),
        (40, 80),
        (11, 104),
        (10, 120),
    ];
    assert_eq!(name(10_000, &list), None);
    assert_eq!(
        name(10_000, &[(11, 8), (40, 24), (11, 48), (40, 64), (11, 88)]),
        None
    );
}

#[test]
fn elements_may_be_further_apart_than_their_bytes() {
    let mut run = run();
    run.alloc(at(0x400, CALL), HEAP, 10_000);
    accesses(
        &mut run,
        HEAP,
        &[(11, 8), (10, 32), (12, 80), (50, 31), (11, 104)],
    );
    accesses(&mut run, HEAP, &[(11, 40); 6]);
    let found = found(run);
    assert_eq!((found.name.as_deref(), found.bytes), (Some("node"), 32));
    assert_eq!(found.offsets[..5], [8, 0, 16, 31, 8]);
}

#[test]
fn a_type_that_few_accesses_show_is_none() {
    // Half of the accesses say where it is; the others could be to it, or to its number.
    for (line, offset) in [(13, 40), (31, 32), (61, 8)] {
        let mut list = vec![(11, 8), (10, 24), (line, offset), (line, offset)];
        let of = |list: &[(u64, u64)]| name(240, list);
        assert_eq!(of(&list).as_deref(), Some("node"), "{line}");
        list.push((line, offset));
        assert_eq!(of(&list), None, "{line}");
    }
}

#[test]
fn there_is_no_type_if_a_tenth_of_the_accesses_shows_none() {
    for bytes in [240, 10_000] {
        let mut list = vec![(11, 8), (50, 32)];
        list.extend([(10, 24); 9]);
        assert_eq!(name(bytes, &list).as_deref(), Some("node"));
        list.push((50, 32));
        assert_eq!(name(bytes, &list), None);
    }
}

#[test]
fn indexed_accesses_to_a_pool_with_a_head_show_no_place() {
    // Entries begin at 8, so their identifiers are where an array from 0 on has its texts.
    let list = (0..20).flat_map(|i| [(62, 8 + 24 * i), (63, 24 + 24 * i)]);
    let list = list.collect::<Vec<_>>();
    assert_eq!(name(10_000, &list), None);
    let from_zero: Vec<_> = list.iter().map(|(line, at)| (*line, at - 8)).collect();
    assert_eq!(name(10_000, &from_zero).as_deref(), Some("entry"));
}

#[test]
fn an_index_may_hide_where_an_array_begins() {
    // The code has 16 for the array at 0, and adds 24 * i + j - 16.
    let mut list = vec![(63, 16), (63, 40)];
    assert_eq!(name(240, &list).as_deref(), Some("entry"));
    list.extend([(63, 64), (63, 88), (64, 24), (64, 27), (64, 51)]);
    list.push((63, 112));
    assert_eq!(name(240, &list).as_deref(), Some("entry"));
    list.push((64, 64));
    assert_eq!(name(240, &list), None);
}

#[test]
fn an_index_moves_by_whole_elements() {
    // Numbers behind a head, by an address in the head: each third is where a node has its key.
    for bytes in [240, 10_000] {
        let mut list = vec![(11, 8), (10, 0), (12, 16)];
        list.extend([(10, 24); 20]);
        list.extend([(60, 32), (60, 56)]);
        assert_eq!(name(bytes, &list).as_deref(), Some("node"));
        list.push((60, 64));
        assert_eq!(name(bytes, &list), None, "{bytes}");
    }
}

#[test]
fn elements_that_go_on_behind_their_type_are_none() {
    for bytes in [240, 10_000] {
        let list: Vec<_> = (0..30).map(|i| (70, 8 * i)).collect();
        assert_eq!(name(bytes, &list), None);
        // They also contradict another type.
        let nodes = [(11, 8), (10, 24), (12, 64)];
        assert_eq!(name(bytes, &[&nodes[..], &[(70, 12)]].concat()), None);
    }
}

#[test]
fn a_type_of_a_block_of_one_size_leaves_its_cells() {
    let mut run = run();
    run.alloc(at(0x400, CALL), HEAP, 240);
    accesses(
        &mut run,
        HEAP,
        &[(50, 8), (11, 8), (50, 8), (10, 24), (50, 8)],
    );
    let cells = run.finish().columns.cells;
    assert_eq!([cells[2], cells[4]], [cells[0]; 2]);
}

#[test]
fn a_type_whose_fields_are_not_known_where_is_none() {
    assert_eq!(name(240, &[(13, 8), (13, 24), (13, 100)]), None);
}

#[test]
fn accesses_check_the_type_of_the_allocating_call() {
    for (line, expected) in [(20, None), (50, Some("node")), (30, Some("node"))] {
        let mut run = run_with(Some(node()));
        run.alloc(at(0x400, CALL), HEAP, 240);
        accesses(&mut run, HEAP, &[(11, 8), (line, 48), (12, 16)]);
        let found = found(run);
        assert_eq!(found.name.as_deref(), expected, "{line}");
        assert_eq!(found.origin, TypeOrigin::Allocation);
    }
}

#[test]
fn one_of_a_hundred_accesses_contradicts_the_allocating_call() {
    for (agree, expected) in [(99, None), (149, Some("node"))] {
        let mut run = run_with(Some(node()));
        run.alloc(at(0x400, CALL), HEAP, 240);
        accesses(&mut run, HEAP, &vec![(11, 8); agree]);
        accesses(&mut run, HEAP, &[(20, 48)]);
        assert_eq!(found(run).name.as_deref(), expected, "{agree}");
    }
}

#[test]
fn types_of_more_than_4_gib_are_left_alone() {
    let edge = (1 << 32) - 8;
    let large = layout("large", 1 << 33, &[("text", "char[16]", edge, 16)]);
    let mut run = run_with(Some(large));
    run.alloc(at(0x400, CALL), 1 << 40, 1 << 33);
    accesses(&mut run, 1 << 40, &[(31, edge), (13, edge), (11, 0)]);
    assert_ne!(found(run).name.as_deref(), Some("node"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// What is known of an instruction is remembered: that must not show, however rows are cut.
    #[test]
    fn cuts_between_blocks_of_rows_do_not_show(
        bytes in prop_oneof![Just(48_u64), Just(240), Just(4800)],
        list in prop::collection::vec((0..10_usize, prop_oneof![0..6_u64, 0..200_u64]), 1..60),
    ) {
        let access = |(which, element): &(usize, u64)| {
            let (line, offset) = [
                (10, 0), (11, 8), (12, 16), (13, 4), (30, 0), (31, 8), (50, 3), (10, 0), (11, 8),
                (20, 4),
            ][*which];
            // Another type is rare.
            let line = if line == 20 && *element > 20 { 50 } else { line };
            (line, (24 * element + offset) % bytes)
        };
        let accesses: Vec<(u64, u64)> = list.iter().map(access).collect();
        let found_with = |is_cut: bool| {
            let mut run = run();
            run.alloc(at(0x400, CALL), HEAP, bytes);
            for (line, offset) in &accesses {
                run.load(at(0x100, *line), HEAP + offset);
                if is_cut {
                    run.flush();
                }
            }
            found(run)
        };
        let (one, cut) = (found_with(false), found_with(true));
        prop_assert_eq!(&one, &cut);
        // Edges are the elements if a node is at most the head of the block.
        let (edges, others): (Vec<_>, Vec<_>) = accesses
            .iter()
            .filter(|(line, _)| *line != 50)
            .partition(|(line, _)| *line == 20);
        let end_of_head = others.iter().map(|(_, at)| at + 1).max().unwrap_or(0);
        let has_only_edges = end_of_head <= 24 && edges.iter().all(|(_, at)| *at >= end_of_head);
        match one.name.as_deref() {
            None => {}
            Some("node") => prop_assert_eq!(one.bytes, 24),
            Some("edge") => prop_assert!(one.bytes == 8 && has_only_edges, "{:?}", one),
            Some(_) => prop_assert!(false, "{:?}", one),
        }
    }
}
