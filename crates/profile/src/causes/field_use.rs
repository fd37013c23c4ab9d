//! [`FieldUse`]: [`ElementUse`](super::ElementUse) by field.

use super::{DataLayout, ElementUse, LayoutField};

/// What is accessed, brought in and used of a field of an object's elements.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldUse {
    /// The field, or a range of bytes without a name: padding of a type, or bytes of an unknown
    /// type from an offset where accesses begin up to the next such offset.
    pub field: LayoutField,
    /// Accesses that begin in it.
    pub accesses: u64,
    /// Of these, those that miss.
    pub misses: u64,
    /// Bytes of it that fills brought in.
    pub brought: u64,
    /// Of these, those that were read or written during the fill.
    pub used: u64,
}

impl FieldUse {
    /// Bytes that were used, of those that were brought in; `None` if none were.
    pub fn used_share(&self) -> Option<f64> {
        (self.brought > 0).then(|| self.used as f64 / self.brought as f64)
    }
}

impl ElementUse {
    /// The counts by field, in the order of the offsets, padding included: each byte of the element
    /// is in one row. `layout` is its type; without fields or a type of this size, rows begin at
    /// the offsets where accesses begin.
    pub fn by_field(&self, layout: Option<&DataLayout>) -> Vec<FieldUse> {
        let bytes = self.accesses.len() as u64;
        let layout = layout.filter(|layout| layout.bytes == bytes);
        let fields = match layout {
            Some(layout) if layout.fields.is_empty() => vec![LayoutField {
                type_name: layout.name.clone(),
                bytes,
                ..LayoutField::default()
            }],
            Some(layout) => with_padding(&layout.fields, bytes),
            None => self.accessed_ranges(),
        };
        fields
            .into_iter()
            .map(|field| self.field_use(field))
            .collect()
    }

    /// Ranges of bytes, each of which begins where accesses do.
    fn accessed_ranges(&self) -> Vec<LayoutField> {
        let bytes = self.accesses.len() as u64;
        let accessed = (0..).zip(&self.accesses).filter(|(_, count)| **count > 0);
        let mut begins: Vec<u64> = accessed.map(|(at, _)| at).collect();
        if bytes > 0 && begins.first() != Some(&0) {
            begins.insert(0, 0);
        }
        let ends = begins.iter().skip(1).copied().chain([bytes]);
        let range = |(offset, end): (&u64, u64)| LayoutField {
            offset: *offset,
            bytes: end - offset,
            ..LayoutField::default()
        };
        begins.iter().zip(ends).map(range).collect()
    }

    /// The counts of a field. Bytes of it beyond the element have none.
    pub fn field_use(&self, field: LayoutField) -> FieldUse {
        let sum = |counts: &[u64]| {
            let end = field
                .offset
                .saturating_add(field.bytes)
                .min(counts.len() as u64);
            let range = field.offset.min(end) as usize..end as usize;
            counts[range]
                .iter()
                .fold(0, |sum: u64, count| sum.saturating_add(*count))
        };
        FieldUse {
            accesses: sum(&self.accesses),
            misses: sum(&self.misses),
            brought: sum(&self.brought),
            used: sum(&self.used),
            field,
        }
    }
}

/// Fields with the bytes between them.
fn with_padding(fields: &[LayoutField], bytes: u64) -> Vec<LayoutField> {
    let mut all = Vec::with_capacity(fields.len());
    let mut end = 0;
    let mut pad = |all: &mut Vec<LayoutField>, up_to: u64, next: u64| {
        if end < up_to {
            all.push(LayoutField {
                offset: end,
                bytes: up_to - end,
                ..LayoutField::default()
            });
        }
        end = next.max(end);
    };
    for field in fields {
        pad(
            &mut all,
            field.offset,
            field.offset.saturating_add(field.bytes),
        );
        all.push(field.clone());
    }
    pad(&mut all, bytes, bytes);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn element() -> ElementUse {
        let mut element = ElementUse {
            accesses: vec![0; 16],
            misses: vec![0; 16],
            brought: vec![3; 16],
            used: vec![0; 16],
            ..ElementUse::default()
        };
        (element.accesses[0], element.accesses[10]) = (5, 7);
        element.misses[10] = 2;
        element.used[8..12].fill(3);
        element
    }

    fn field(name: &str, offset: u64, bytes: u64) -> LayoutField {
        LayoutField {
            name: name.into(),
            type_name: String::new(),
            offset,
            bytes,
        }
    }

    /// Name, offset, bytes, accesses, misses, brought, used.
    fn rows(fields: &[FieldUse]) -> Vec<(&str, [u64; 6])> {
        let row = |it: &'_ FieldUse| {
            let (at, bytes) = (it.field.offset, it.field.bytes);
            [at, bytes, it.accesses, it.misses, it.brought, it.used]
        };
        fields
            .iter()
            .map(|it| (it.field.name.as_str(), row(it)))
            .collect()
    }

    #[test]
    fn each_byte_of_an_element_is_in_one_field() {
        let layout = DataLayout {
            name: "A".into(),
            bytes: 16,
            fields: vec![field("a", 0, 4), field("b", 8, 4)],
        };
        let fields = element().by_field(Some(&layout));
        let expected = [
            ("a", [0, 4, 5, 0, 12, 0]),
            ("", [4, 4, 0, 0, 12, 0]),
            ("b", [8, 4, 7, 2, 12, 12]),
            ("", [12, 4, 0, 0, 12, 0]),
        ];
        assert_eq!(rows(&fields), expected);
        assert_eq!(fields[2].used_share(), Some(1.0));
    }

    #[test]
    fn without_a_type_rows_begin_where_accesses_do() {
        let expected = [("", [0, 10, 5, 0, 30, 6]), ("", [10, 6, 7, 2, 18, 6])];
        assert_eq!(rows(&element().by_field(None)), expected);
        let other = DataLayout {
            bytes: 24,
            ..DataLayout::default()
        };
        assert_eq!(rows(&element().by_field(Some(&other))), expected);
        assert_eq!(ElementUse::default().by_field(None), []);
    }
}
