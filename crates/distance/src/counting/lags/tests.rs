//! Lags of items whose keys are equal.

use super::super::compare::Portable;
use super::*;

#[test]
fn lags_of_items_with_equal_keys_are_right() {
    let other = |item: u64| item ^ (0x5555_5555 << 32 | 0x5555_5555);
    assert_eq!(key(3), key(other(3)));
    let twin = |i: u64| {
        if i.is_multiple_of(3) {
            other(i % 11)
        } else {
            i % 11
        }
    };
    let items: Vec<u64> = (0..CHUNK as u64 + 300).map(twin).collect();
    let mut recent = Recent::EMPTY;
    recent.clear();
    let (mut at, mut kept) = (0, Vec::new());
    while at < items.len() {
        let taken = recent.take(Portable, true, &items, at);
        recent.find(Portable);
        for (item, lag) in recent.items[BACK..]
            .iter()
            .zip(&recent.lags[BACK..])
            .take(recent.len)
        {
            let back = (1..=WINDOW).find(|back| kept.iter().nth_back(back - 1) == Some(item));
            assert_eq!(*lag, back.map_or(FAR, |back| back as u8), "{}", kept.len());
            kept.push(*item);
        }
        recent.pass();
        at += taken;
    }
    let mut expected = items;
    expected.dedup();
    assert_eq!(kept, expected);
}
