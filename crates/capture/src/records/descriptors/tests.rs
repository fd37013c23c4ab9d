//! Tests of reading sections as the LLVM pass makes them, and damaged ones.

use super::*;

const TIMES: u8 = 0x42;
const STEP: u8 = 0x43;

/// A descriptor's bytes: place of the first access, words, entries (kind, size, word,
/// displacement).
pub fn bytes(sites: i32, words: u16, entries: &[(u8, u8, u16, i32)]) -> Vec<u8> {
    let mut bytes = sites.to_le_bytes().to_vec();
    bytes.extend(words.to_le_bytes());
    bytes.extend((entries.len() as u16).to_le_bytes());
    for (kind, size, word, displacement) in entries {
        bytes.extend([*kind, *size]);
        bytes.extend(word.to_le_bytes());
        bytes.extend(displacement.to_le_bytes());
    }
    bytes
}

pub fn descriptors(descriptors: &[Vec<u8>], low: u64) -> Descriptors {
    Descriptors::of(&descriptors.concat(), low, true)
}

#[test]
fn descriptor_is_found_only_at_its_address() {
    let table = descriptors(
        &[
            bytes(0x100, 1, &[(1, 8, 0, 16), (2, 4, FROM_HERE, -8)]),
            vec![0; 8],
            bytes(0, 3, &[(1, 1, 2, 0)]),
        ],
        0x5000,
    );
    let first = table.find(0x5000).unwrap();
    assert_eq!((first.rows, first.length), (2, 1));
    let group = &table.groups[first.group as usize];
    assert_eq!(group.pcs[..2], [0x5101, 0x5102]);
    assert_eq!(group.displacements[..2], [16, 0x5000 + 8 + 8 + 4 - 8]);
    assert_eq!(group.operands[..2], [0, NO_WORD]);
    let third = table.find(0x5020).unwrap();
    assert_eq!((third.rows, third.length), (1, 2));
    for unknown in [0x4ff8, 0x5008, 0x5018, 0x5028, 0x9000, 0] {
        assert!(table.find(unknown).is_none(), "{unknown:#x}");
    }
}

#[test]
fn damaged_descriptor_does_not_hide_others() {
    let good = bytes(0, 1, &[(1, 8, 0, 0)]);
    for bad in [
        bytes(0, 1, &[(1, 8, 1, 0)]),
        bytes(0, 1, &[(99, 8, 0, 0)]),
        bytes(0, 1, &[(ONE_LANE, 0, 0, 0)]),
        bytes(0, 1, &vec![(1, 8, 0, 0); 300]),
        // A step before all rows, a step without a number of iterations; a number that is no
        // operand, or one that the block record lacks; iterations without rows, with too many rows,
        // with a conditional row.
        bytes(0, 1, &[(STEP, 0, 0, 8), (1, 8, 0, 0)]),
        bytes(0, 1, &[(1, 8, 0, 0), (STEP, 0, 0, 8)]),
        bytes(0, 1, &[(TIMES, 0, FROM_ZERO, 0), (1, 8, 0, 0)]),
        bytes(0, 1, &[(TIMES, 0, 1, 0), (1, 8, 0, 0)]),
        bytes(0, 2, &[(TIMES, 0, 1, 0)]),
        bytes(
            0,
            2,
            &[
                &[(TIMES, 0, 1, 0)][..],
                &vec![(1, 8, 0, 0); REPEATED_EACH + 1],
            ]
            .concat(),
        ),
        bytes(0, 2, &[(TIMES, 0, 1, 0), (1, 8, 0, 0), (LANES, 0, 1, 8)]),
        // More words than a block record may have.
        bytes(0, 64, &[(1, 8, 0, 0)]),
        bytes(0, 0xffff, &[(1, 8, 0, 0)]),
    ] {
        let after = 0x50 + bad.len() as u64;
        let table = descriptors(&[good.clone(), bad, good.clone()], 0x40);
        assert_eq!(table.find(0x40).unwrap().rows, 1);
        assert!(table.find(0x50).is_none());
        let last = table.find(after).unwrap();
        assert_eq!((last.rows, table.groups_of(last)[0].sizes[0]), (1, 8));
    }
    let cut = good[..12].to_vec();
    let table = descriptors(&[good, cut], 0x40);
    assert!(table.find(0x40).is_some() && table.find(0x50).is_none());
}

/// A loop without accesses, in a program that records basic blocks, wanted or not.
#[test]
fn repeated_basic_block_without_accesses_is_a_descriptor() {
    let good = bytes(0, 1, &[(1, 8, 0, 0)]);
    let alone = bytes(0, 2, &[(TIMES, 0, 1, 0), (Kind::BasicBlock as u8, 4, 0, 0)]);
    let all = [good.clone(), alone, good].concat();
    for (basic_blocks, rows) in [(false, 0), (true, 1)] {
        let table = Descriptors::of(&all, 0x40, basic_blocks);
        let found = table.find(0x50).unwrap();
        assert_eq!((found.rows, found.length), (rows, 2), "{basic_blocks}");
        assert_eq!(table.repeats_of(found).is_some(), basic_blocks);
        assert_eq!(table.find(0x68).unwrap().rows, 1);
    }
}
