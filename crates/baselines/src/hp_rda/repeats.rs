//! [`ImmediateRepeats`]: step 1 of HP-RDA, which drops references whose distance is 0.

/// Drops references to the item of the reference before, from a stream that comes in pieces.
#[derive(Clone, Copy, Debug, Default)]
pub struct ImmediateRepeats {
    /// The last item of the stream.
    last: Option<u64>,
}

impl ImmediateRepeats {
    /// Takes in the next items of the stream. `kept` becomes the indices of those that are no
    /// immediate repeat, ascending.
    pub fn drop_from(&mut self, items: &[u64], kept: &mut Vec<usize>) {
        kept.clear();
        let Some(&last) = items.last() else {
            return;
        };
        kept.resize(items.len(), 0);
        let mut number = usize::from(self.last != Some(items[0]));
        for index in 1..items.len() {
            kept[number] = index;
            number += usize::from(items[index] != items[index - 1]);
        }
        kept.truncate(number);
        self.last = Some(last);
    }
}
