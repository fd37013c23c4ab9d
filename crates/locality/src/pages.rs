//! A long array of counts of which only the pages exist that were counted in.

/// Counts in a page: 1 KiB. Small, since sampled distances lie far apart.
const LEN: usize = 128;

type Page = Box<[u64; LEN]>;

/// Counts by slot. A single far slot costs a page and 8 bytes for every page before it.
#[derive(Clone, Default)]
pub(crate) struct Pages {
    pages: Vec<Option<Page>>,
}

impl Pages {
    /// Makes the slots up to `top` countable.
    #[inline]
    pub(crate) fn reserve(&mut self, top: usize) {
        let page = top / LEN;
        if page >= self.pages.len() {
            self.pages
                .resize_with((page + 1).next_power_of_two(), || None);
        }
    }

    /// The count of a slot that was reserved.
    #[inline]
    pub(crate) fn count(&mut self, slot: usize) -> &mut u64 {
        let page = self.pages[slot / LEN].get_or_insert_with(zeros);
        &mut page[slot % LEN]
    }

    /// The count of a slot; 0 if it is not there.
    pub(crate) fn get(&self, slot: usize) -> u64 {
        self.pages
            .get(slot / LEN)
            .and_then(Option::as_ref)
            .map_or(0, |page| page[slot % LEN])
    }

    /// The slots from `first` on whose count is not 0, ascending, with their counts.
    pub(crate) fn iter_from(&self, first: usize) -> impl Iterator<Item = (usize, u64)> + '_ {
        let pages = self.pages.iter().enumerate().skip(first / LEN);
        pages
            .filter_map(|(number, page)| page.as_ref().map(|page| (number * LEN, page)))
            .flat_map(|(start, page)| (start..).zip(page.iter().copied()))
            .filter(move |(slot, count)| *count > 0 && *slot >= first)
    }

    /// The last slot whose count is not 0.
    pub(crate) fn last(&self) -> Option<usize> {
        let pages = self.pages.iter().enumerate().rev();
        pages
            .filter_map(|(number, page)| page.as_ref().map(|page| (number * LEN, page)))
            .find_map(|(start, page)| {
                page.iter()
                    .rposition(|count| *count > 0)
                    .map(|slot| start + slot)
            })
    }

    /// Adds all counts of other pages. Saturates.
    pub(crate) fn merge(&mut self, other: &Pages) {
        if other.pages.len() > self.pages.len() {
            self.pages.resize_with(other.pages.len(), || None);
        }
        for (page, other) in self.pages.iter_mut().zip(&other.pages) {
            let Some(other) = other else { continue };
            let page = page.get_or_insert_with(zeros);
            for (count, more) in page.iter_mut().zip(other.iter()) {
                *count = count.saturating_add(*more);
            }
        }
    }

    /// Bytes held.
    pub(crate) fn memory(&self) -> u64 {
        let made = self.pages.iter().flatten().count();
        (self.pages.capacity() * size_of::<Option<Page>>() + made * size_of::<[u64; LEN]>()) as u64
    }
}

#[cold]
fn zeros() -> Page {
    Box::new([0; LEN])
}
