//! [`ElementTypes`]: what the elements of objects are.

use super::{Causes, DataLayout};

/// Sizes and types of the elements of objects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ElementTypes {
    /// By object, the bytes of an element, of which offsets are counted; 0 if they are unknown or
    /// too many ([`ElementUse::MOST_BYTES`](super::ElementUse::MOST_BYTES)). An object of unknown
    /// type is one element if all of its blocks have one size.
    pub bytes: Vec<u32>,
    /// By object, the type of an element: an index into `layouts`. `None` if it is unknown.
    pub objects: Vec<Option<u32>>,
    /// The types, each once.
    pub layouts: Vec<DataLayout>,
}

impl Causes {
    /// Names the types of [`Causes::elements`], and keeps the types that these have. Elements of
    /// another size than the types say are left out: that their sizes differ turned out later.
    pub fn set_types(&mut self, types: &ElementTypes) {
        let bytes = |object: u32| types.bytes.get(object as usize).copied().unwrap_or(0);
        self.elements
            .retain(|element| element.accesses.len() == bytes(element.object) as usize);
        self.layouts.clear();
        // By type, its number among those that are kept.
        let mut numbers: Vec<Option<u32>> = vec![None; types.layouts.len()];
        for element in &mut self.elements {
            let kind = types.objects.get(element.object as usize).copied();
            let Some(kind) = kind.flatten().map(|kind| kind as usize) else {
                continue;
            };
            let Some(layout) = types.layouts.get(kind) else {
                continue;
            };
            if layout.bytes != element.accesses.len() as u64 {
                continue;
            }
            let next = self.layouts.len() as u32;
            let number = *numbers[kind].get_or_insert(next);
            if number == next {
                self.layouts.push(layout.clone());
            }
            element.layout = Some(number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::ElementUse;
    use super::*;

    #[test]
    fn elements_have_types_of_their_size_or_none() {
        let element = |object, bytes: usize, layout| ElementUse {
            object,
            layout,
            accesses: vec![1; bytes],
            ..ElementUse::default()
        };
        let layout = |name: &str, bytes| DataLayout {
            name: name.into(),
            bytes,
            fields: Vec::new(),
        };
        let mut causes = Causes {
            elements: vec![
                element(1, 8, None),
                element(2, 8, None),
                element(3, 24, None),
                element(4, 24, None),
                element(5, 24, None),
            ],
            ..Causes::default()
        };
        causes.set_types(&ElementTypes {
            bytes: vec![0, 8, 16, 24, 24, 24],
            objects: vec![None, Some(2), Some(0), Some(1), Some(0), Some(1)],
            layouts: vec![layout("A", 16), layout("B", 24), layout("int", 8)],
        });
        let expected = [
            element(1, 8, Some(0)),
            element(3, 24, Some(1)),
            element(4, 24, None),
            element(5, 24, Some(1)),
        ];
        assert_eq!(causes.elements, expected);
        assert_eq!(causes.layouts, [layout("int", 8), layout("B", 24)]);
    }
}
