//! Item accesses gathered into longer columns, for work that goes on elsewhere.

use reuselens_attribute::Columns;

/// Appends touches. Cost: a copy.
pub(super) fn append(to: &mut Columns, more: &Columns) {
    // Either there is no column of elements, or it is as long as the others.
    if !more.elements.is_empty() {
        to.elements.resize(to.items.len(), 0);
        to.elements.extend_from_slice(&more.elements);
    }
    to.stores.extend_from_slice(&more.stores);
    to.bytes.extend_from_slice(&more.bytes);
    to.offsets.extend_from_slice(&more.offsets);
    let before = to.items.len() as u32;
    let blocks = more.basic_blocks.iter();
    to.basic_blocks
        .extend(blocks.map(|(touches, block)| (before + touches, *block)));
    // Columns that are used again know those that came first.
    let known = to.sites.len().min(more.sites.len());
    to.sites.extend_from_slice(&more.sites[known..]);
    let known = to.objects.len().min(more.objects.len());
    to.objects.extend_from_slice(&more.objects[known..]);
    // Cells are merged before the accesses: whoever appends such columns has sent what came before.
    debug_assert!(more.merged.is_empty() || to.has_nothing());
    to.merged.extend_from_slice(&more.merged);
    to.items.extend_from_slice(&more.items);
    to.cells.extend_from_slice(&more.cells);
    if !to.elements.is_empty() {
        to.elements.resize(to.items.len(), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reuselens_trace::{BasicBlock, BlockEnd};

    #[test]
    fn elements_are_made_up_for_where_there_are_none() {
        let plain = Columns {
            items: vec![1, 2],
            cells: vec![3, 4],
            ..Columns::default()
        };
        let with = Columns {
            elements: vec![0, 9],
            ..plain.clone()
        };
        let mut all = Columns::new();
        append(&mut all, &plain);
        assert_eq!(all, plain);
        append(&mut all, &with);
        append(&mut all, &plain);
        assert_eq!(all.items, [1, 2, 1, 2, 1, 2]);
        assert_eq!(all.cells, [3, 4, 3, 4, 3, 4]);
        assert_eq!(all.elements, [0, 0, 0, 9, 0, 0]);
    }

    #[test]
    fn blocks_and_instructions_come_along() {
        let block = BasicBlock {
            start: 7,
            end: BlockEnd::Falls,
            taken: 0,
            bytes: 1,
            taken_loops: false,
            falls_loops: false,
        };
        let mut more = Columns {
            items: vec![1, 2],
            cells: vec![0, 1],
            basic_blocks: vec![(0, block), (1, block)],
            sites: vec![5, 6],
            ..Columns::default()
        };
        let mut all = Columns::new();
        append(&mut all, &more);
        more.sites.push(9);
        append(&mut all, &more);
        let touches: Vec<u32> = all
            .basic_blocks
            .iter()
            .map(|(touches, _)| *touches)
            .collect();
        assert_eq!(touches, [0, 1, 2, 3]);
        assert_eq!(all.sites, [5, 6, 9]);
    }
}
