//! Tests of entries of the dictionary, also of ones that make no sense.

use super::*;
use reuselens_wire::{
    DICTIONARY_OFFSET, ENTRY_UNIT, Record, WireKind, block_record_head, head_word,
};
use std::os::unix::fs::FileExt as _;
use std::sync::atomic::Ordering;

fn entry(words: u32, rows: usize) -> DictionaryEntry {
    DictionaryEntry {
        rows: rows as u32,
        words,
        ..DictionaryEntry::default()
    }
}

fn load(word: u64) -> EntryRow {
    EntryRow {
        meta: Record::new(WireKind::Load, 8, 0x4000, 0).word1,
        displacement: 0,
        word,
    }
}

#[test]
fn refused_entry_leaves_nothing_in_the_tables() {
    let mut dictionary = Dictionary::default();
    assert!(dictionary.add(3, &entry(2, 2), &[load(0); 2]).is_some());
    let sizes = |dictionary: &Dictionary| {
        let found = &dictionary.descriptors;
        (found.groups.len(), found.conditions.len(), dictionary.bytes)
    };
    let before = sizes(&dictionary);
    let mut late = vec![load(0).masked(0, 4); 255];
    late.push(load(9));
    for (words, rows) in [
        (0, &[][..]),
        (0, &[load(0)]),
        (3, &[load(0)]),
        (2, &late[..]),
        (2, &[load(0); 257]),
    ] {
        let added = dictionary.add(4, &entry(words, rows.len()), rows);
        assert_eq!(added, None, "{words} words, {} rows", rows.len());
        assert_eq!(sizes(&dictionary), before);
    }
    assert!(dictionary.add(4, &entry(2, 1), &[load(0)]).is_some());
}

#[test]
fn overlapping_entries_are_bounded_by_the_dictionary() {
    let mut dictionary = Dictionary::default();
    let rows = [load(0); 256];
    dictionary.bytes = DICTIONARY_BYTES - 3 * entry_bytes(256);
    let added = (0..9).filter(|&number| dictionary.add(number, &entry(2, 256), &rows).is_some());
    assert_eq!(added.count(), 3);
}

#[test]
fn entry_is_unknown_until_it_is_written() {
    let segment = Arc::new(Segment::create(0).unwrap());
    let mut dictionary = Dictionary::new(Arc::clone(&segment));
    let file = std::fs::File::options()
        .write(true)
        .open(segment.path())
        .unwrap();
    let number = 6_u32;
    let head = head_word(block_record_head(number, 4));
    let used = |units: u32| {
        let used = &segment.header().dictionary_used;
        used.store(units, Ordering::Relaxed);
    };
    // A block record with an entry that is not reserved yet, and then with one that is reserved but
    // not written.
    assert!(dictionary.find(head).is_none());
    used(number + 4);
    assert!(dictionary.find(head).is_none());
    let row = load(2);
    let words = [0, 0, 4 << 32 | 1, 0, row.meta, row.displacement, row.word];
    let at = (DICTIONARY_OFFSET + number as usize * ENTRY_UNIT) as u64;
    file.write_all_at(words.map(u64::to_le_bytes).as_flattened(), at)
        .unwrap();
    // Its end is not within the used part.
    used(number + 3);
    assert!(dictionary.find(head).is_none());
    used(number + 4);
    let found = dictionary.find(head).unwrap().descriptor;
    assert_eq!((found.rows, found.length), (1, 2));
    assert!(
        dictionary
            .find(head_word(block_record_head(number, 2)))
            .is_none()
    );
    assert!(
        dictionary
            .find(head_word(block_record_head(number + 4, 4)))
            .is_none()
    );
}

#[test]
fn part_with_more_rows_than_its_entry_is_refused() {
    let mut dictionary = Dictionary::default();
    let rows = [load(0), load(2).masked(3, 4), load(5)];
    assert!(dictionary.add(9, &entry(6, 3), &rows).is_some());
    let part = |words, rows, of| DictionaryEntry {
        of,
        ..entry(words, rows)
    };
    let mut none = Vec::new();
    let mut add = |number, entry: &DictionaryEntry| {
        let of = entry.of - 1;
        dictionary.add_part(number, entry, of, &mut none)
    };
    assert!(add(20, &part(2, 1, 10)).is_some());
    assert!(add(21, &part(4, 2, 10)).is_some());
    // More rows than there are, operands and masks that the block record lacks, an unknown entry.
    for (words, rows, of) in [(6, 4, 10), (4, 3, 10), (2, 2, 10), (3, 1, 10), (6, 1, 11)] {
        let added = add(22, &part(words, rows, of));
        assert_eq!(added, None, "{rows} rows of {of}, {words} words");
    }
    let mut found = |number, words| {
        let found = dictionary
            .find(head_word(block_record_head(number, words)))?
            .descriptor;
        Some((found.rows, found.conditions.is_some()))
    };
    assert_eq!(found(20, 2), Some((1, false)));
    assert_eq!(found(21, 4), Some((2, true)));
    assert_eq!(found(22, 6), None);
}

#[test]
fn entry_without_template_is_looked_up_once() {
    let mut dictionary = Dictionary::default();
    let rows = [load(0).masked(3, 4), load(2)];
    assert!(dictionary.add(3, &entry(4, 2), &rows).is_some());
    let many = [load(0); 256];
    assert!(dictionary.add(300, &entry(2, 256), &many).is_some());
    let (mut builder, mut into) = (TemplateBuilder::default(), TemplateBlock::new());
    let mut template = |dictionary: &mut Dictionary, number, words: u32| {
        let mut record = vec![7; words as usize];
        record[1] = head_word(block_record_head(number, words));
        let mut position = 0;
        dictionary.append_templates(&mut record, &mut position, 100, &mut builder, &mut into);
        position
    };
    assert_eq!(template(&mut dictionary, 3, 4), 0);
    let known = dictionary.templates[3];
    assert!(known.none && known.records == 2 && dictionary.places.is_empty());
    // It stays so, and others are not touched by it.
    assert_eq!(template(&mut dictionary, 3, 4), 0);
    assert_eq!(template(&mut dictionary, 300, 2), 1);
    assert!(!dictionary.templates[300].none);
    // An entry that is not known may be written later.
    assert_eq!(template(&mut dictionary, 5, 2), 0);
    assert!(!dictionary.templates[5].none && dictionary.templates[5].records == 0);
}
