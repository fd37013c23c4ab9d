//! The memory of hash tables.

/// Bytes that the slots of a hash table of this capacity take, whose entries are of type `E`. Each
/// has a byte more than its entry, and the capacity is 7 of 8 slots.
pub(crate) fn table_memory<E>(capacity: usize) -> usize {
    (capacity * 8).div_ceil(7) * (size_of::<E>() + 1)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    /// A table that has just grown is a little less than half full.
    #[test]
    fn memory_is_that_of_one_to_two_slots_and_a_bit_for_each_entry() {
        let mut table = HashMap::new();
        let (mut least, mut most) = (f64::MAX, 0.0_f64);
        for entry in 0..20_000_u32 {
            table.insert((entry, entry), [0_u64; 2]);
            if entry >= 5_000 {
                let memory = table_memory::<((u32, u32), [u64; 2])>(table.capacity());
                let slots = memory as f64 / 25.0 / table.len() as f64;
                (least, most) = (least.min(slots), most.max(slots));
            }
        }
        assert!((1.14..1.15).contains(&least), "{least}");
        assert!((2.28..2.29).contains(&most), "{most}");
    }
}
