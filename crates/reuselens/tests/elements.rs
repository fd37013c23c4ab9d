//! Elements of the program's data structures, from accesses to groups.

mod common;

use common::{Made, What};
use reuselens::profile::{Dimension, Profile};
use reuselens::trace::{Block, Kind, Row};
use reuselens::units::Granularity;
use reuselens::{AnalysisOptions, analyze};

/// Two structures of eight words each, entered `rounds` times from end to end, and one word of
/// neither in each round.
fn rounds(rounds: u64) -> Profile {
    let mut block = Block::new();
    let mut row = |kind, addr, operands: &[u64]| {
        let (size, pc) = (8, 0x400);
        block.push(Row {
            kind,
            size,
            pc,
            addr,
        });
        operands.iter().for_each(|each| block.push_operand(*each));
    };
    for (base, name) in [(0x1000, b'A'), (0x2000, b'B')] {
        row(Kind::Data, base, &[64, 8, 1, u64::from(name)]);
    }
    for _ in 0..rounds {
        for address in (0x1000..0x1040).chain(0x2000..0x2040).step_by(8) {
            row(Kind::Load, address, &[]);
        }
        row(Kind::Load, 0x3000, &[]);
    }
    let options = AnalysisOptions {
        granularity: Granularity::new(8).ok(),
        ..AnalysisOptions::default()
    };
    let mut trace = Made {
        steps: vec![((0, 0), What::Block(block))],
        at: 0,
    };
    analyze(&mut trace, Vec::new(), &options, &mut |_| {}).unwrap()
}

#[test]
fn every_element_has_its_histogram() {
    let profile = rounds(5);
    let groups = profile.groups(Dimension::Element);
    assert_eq!((groups.len(), profile.histogram.accesses()), (17, 85));
    let names: Vec<_> = groups.iter().map(|group| group.name.as_str()).collect();
    assert_eq!(names[..3], ["A[0]", "A[1]", "A[2]"]);
    assert_eq!(names[15..], ["B[7]", "(no element)"]);
    for group in &groups {
        // Its own round: the other sixteen words lie between any two uses of one.
        assert_eq!((group.accesses, group.cold), (5, 1), "{}", group.name);
        assert_eq!((group.mean, group.max), (16.0, 16), "{}", group.name);
    }
    let read = Profile::from_bytes(&profile.to_bytes()).unwrap();
    assert_eq!(read.groups(Dimension::Element), groups);
}

#[test]
fn elements_of_several_runs_add_up() {
    let (one, other) = (rounds(2), rounds(3));
    let merged = Profile::merge(&[one.clone(), other.clone()]).unwrap();
    assert_eq!(merged, Profile::merge(&[other, one]).unwrap());
    for group in merged.groups(Dimension::Element) {
        assert_eq!((group.accesses, group.cold), (5, 2), "{}", group.name);
        assert_eq!(group.mean, 16.0);
    }
}
