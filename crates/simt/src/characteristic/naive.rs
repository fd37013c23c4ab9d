//! [`naive`]: the characteristic by its definition, all pairs of memory instructions. An oracle for
//! tests, and a baseline.

use std::collections::HashMap;

use crate::characteristic::Characteristic;
use crate::scenario::ReferenceStream;

/// Garrido's Algorithm 1: the items of each pair of memory instructions are compared. The time is
/// quadratic in the length of the stream; the memory is a map for each instruction.
pub fn naive(stream: &(impl ReferenceStream + ?Sized)) -> Characteristic {
    let mut instructions: Vec<HashMap<u32, u64>> = Vec::new();
    let mut touches = 0;
    stream.visit(&mut |position, items| {
        let position = position as usize;
        if instructions.len() <= position {
            instructions.resize_with(position + 1, HashMap::new);
        }
        for &item in items {
            *instructions[position].entry(item).or_default() += 1;
        }
        touches += items.len() as u64;
    });
    let length = stream.instructions();
    let mut degrees = vec![0; length as usize + 1];
    let mut distinct = HashMap::new();
    for (at, before) in instructions.iter().enumerate() {
        distinct.extend(before.keys().map(|item| (*item, ())));
        for (distance, after) in instructions[at + 1..].iter().enumerate() {
            let shared = before.keys().filter_map(|item| after.get(item));
            degrees[distance + 1] += shared.sum::<u64>();
        }
    }
    Characteristic::new(degrees, length, touches, distinct.len() as u64)
}
