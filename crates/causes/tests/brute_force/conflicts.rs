//! Misses of caches with sets: a list of items for each set.

use crate::{cases, count};

#[test]
fn set_misses_are_those_of_a_list_for_each_set() {
    let mut with_several = 0;
    for (trace, options) in cases() {
        let (cells, causes) = count(&trace, &options, 1);
        with_several += u64::from(causes.set_caches.len() > 2);
        for (number, cache) in options.set_caches.iter().enumerate() {
            let mut sets = vec![Vec::new(); cache.sets as usize];
            let mut right = vec![0; cells.len()];
            for (item, cell) in trace.items.iter().zip(&trace.in_cells) {
                let set = &mut sets[(item % cache.sets) as usize];
                match set.iter().position(|other| other == item) {
                    Some(at) => drop(set.remove(at)),
                    None => right[*cell as usize] += 1,
                }
                set.insert(0, *item);
                set.truncate(cache.ways as usize);
            }
            let counted = &causes.set_caches[number];
            let lines = cache.sets * cache.ways;
            let distances = trace.distances.iter();
            let associative = distances.filter(|it| it.items().is_none_or(|items| items >= lines));
            assert_eq!(counted.misses, right.iter().sum::<u64>());
            assert_eq!(counted.associative_misses, associative.count() as u64);
            let by_cell = cells.iter().map(|cell| cell.set_misses[number]);
            assert_eq!(by_cell.collect::<Vec<_>>(), right, "{cache:?}");
        }
    }
    assert!(with_several > 100, "{with_several}");
}
