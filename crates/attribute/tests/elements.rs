//! The elements of structures.

use crate::common::{Run, at, counts};
use reuselens_attribute::{Attributor, Columns, Options};
use reuselens_trace::{Block, Kind, Row};
use reuselens_units::Granularity;

fn words() -> Options {
    Options {
        granularity: Granularity::new(8).unwrap(),
        ..Options::default()
    }
}

#[test]
fn touches_before_the_first_element_have_none() {
    let mut run = Run::new(words());
    run.load(at(0x100, 1), 0x1008);
    run.flush();
    assert!(run.columns.elements.is_empty(), "nothing is attributed yet");
    run.load(at(0x100, 1), 0x1008);
    run.data(0x1000, 80, 8, "A");
    run.load(at(0x100, 1), 0x1048);
    run.load(at(0x100, 1), 0x1048);
    run.load(at(0x100, 1), 0x2000);
    run.load(at(0x100, 2), 0x1000);
    run.load(at(0x100, 2), 0x3000);
    run.flush();
    assert_eq!(run.columns.elements, [0, 1, 1, 0, 2, 0]);
    let done = run.finish();
    assert_eq!(done.elements(), ["", "", "A[9]", "A[9]", "", "A[0]", ""]);
    assert_eq!(done.tables.elements.len(), 3);
}

#[test]
fn each_touch_is_of_one_element() {
    let mut run = Run::new(words());
    run.data(0x1000, 48, 16, "pairs");
    run.row(Kind::Load, 16, at(0x100, 1), 0x1008, &[]);
    run.row(Kind::Load, 16, at(0x100, 1), 0x1028, &[]);
    run.row(Kind::Store, 8, at(0x100, 1), 0x1004, &[]);
    let done = run.finish();
    assert_eq!(
        done.elements(),
        [
            "pairs[0]", "pairs[1]", "pairs[2]", "", "pairs[0]", "pairs[0]"
        ]
    );
    assert_eq!(done.objects(), ["pairs"; 6]);
    assert_eq!(counts(done.object("pairs")), [(0, 3), (1, 1), (2, 1)]);
    assert!(done.warnings().is_empty());
}

#[test]
fn warning_reports_elements_that_share_an_item() {
    let options = Options {
        granularity: Granularity::LINE_64,
        ..Options::default()
    };
    let mut run = Run::new(options);
    run.data(0x1000, 80, 8, "A");
    run.load(at(0x100, 1), 0x1008);
    run.row(Kind::RangeStore, 0, at(0x100, 2), 0x1038, &[24]);
    let done = run.finish();
    assert_eq!(done.elements(), ["A[1]", "A[7]", "A[8]"]);
    assert_eq!(done.warnings(), ["elements-share-items"]);
}

#[test]
fn elements_past_the_last_number_are_counted() {
    let mut run = Run::new(words());
    let elements = (1 << 17) + 3;
    run.data(0x1000, 8 * elements, 8, "A");
    for element in (0..elements).chain([0, elements - 1]) {
        run.load(at(0x100, 1), 0x1000 + 8 * element);
    }
    let done = run.finish();
    assert_eq!(done.tables.elements.len(), (1 << 17) + 1);
    let told_apart = done.columns.elements.iter().filter(|element| **element > 0);
    assert_eq!(told_apart.count(), (1 << 17) + 1);
    let a = done.object("A");
    assert_eq!(a.elements.len() as u64, elements);
    assert_eq!((a.elements[0].accesses, a.elements[5].accesses), (2, 1));
    assert_eq!(a.elements.last().unwrap().accesses, 2);
    assert_eq!(done.warnings(), ["elements-without-distances"]);
}

#[test]
fn pieces_are_whole() {
    let mut run = Run::new(words());
    run.data(0x10_0000, 8 << 20, 8, "A");
    run.flush();
    let mut attributor: Attributor = run.attributor;
    let mut block = Block::new();
    for addr in [0x100, 0x10_0000, 0x80_0000] {
        block.push(Row {
            kind: Kind::RangeLoad,
            size: 0,
            pc: at(0x100, 1),
            addr,
        });
        block.push_operand(1 << 22);
    }
    let (mut pieces, mut touches, mut of_a) = (0, 0, 0);
    attributor.pieces(&block, &mut Columns::new(), |piece| {
        pieces += 1;
        touches += piece.items.len();
        of_a += piece
            .elements
            .iter()
            .filter(|element| **element > 0)
            .count();
        assert!([0, piece.items.len()].contains(&piece.elements.len()));
    });
    assert!(pieces > 3, "{pieces}");
    assert_eq!(touches, 3 << 19);
    // The first range reaches into `A`, and gives all numbers; the second accesses these again.
    assert_eq!(of_a, 2 << 17);
}
