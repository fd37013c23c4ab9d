//! What growing tables take: for engines that report the most memory before the next look.

use std::hash::{BuildHasher, Hash};

use hashbrown::HashMap;

/// The most bytes that a hash table holds until `more` more entries are in it. A table that grows
/// is held beside its successor, which is twice as large.
pub fn map_ahead<K, V, S>(map: &HashMap<K, V, S>, more: usize) -> usize
where
    K: Eq + Hash,
    S: BuildHasher,
{
    if map.len().saturating_add(more) > map.capacity() {
        3 * map.allocation_size()
    } else {
        map.allocation_size()
    }
}

/// The most bytes that a vector holds until `more` more values are in it.
pub fn vec_ahead<T>(values: &Vec<T>, more: usize) -> usize {
    values.capacity() * size_of::<T>() + vec_growth(values, more)
}

/// Bytes that a vector takes beyond its room until `more` more values are in it. It grows to twice
/// its room or what is needed; of the new room only the copied part takes memory beside the old
/// one.
pub fn vec_growth<T>(values: &Vec<T>, more: usize) -> usize {
    let (needed, room) = (values.len().saturating_add(more), values.capacity());
    if needed > room {
        (needed.max(2 * room) - room) * size_of::<T>()
    } else {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The room that tables have reached is never more than what was predicted of it.
    #[test]
    fn growth_is_predicted_before_tables_grow() {
        let (mut map, mut values) = (HashMap::new(), Vec::new());
        for more in [1_usize, 10, 1000] {
            for _ in 0..20 {
                let (of_map, of_values) = (map_ahead(&map, more), vec_ahead(&values, more));
                let before = map.allocation_size();
                for _ in 0..more {
                    map.insert(map.len(), 0_u32);
                }
                values.extend(std::iter::repeat_n(0_u16, more));
                let grown = map.allocation_size() > before && before > 0;
                // Several doublings at once are those of small tables.
                if more < map.len() / 2 {
                    let held = map.allocation_size() + if grown { before } else { 0 };
                    // Small tables have buckets and control bytes of other shares than large ones.
                    let most = held + held / 4;
                    assert!((held..=most).contains(&of_map), "{of_map} of {held}");
                    assert!(of_values >= 2 * values.capacity());
                }
            }
        }
    }
}
