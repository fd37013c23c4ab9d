//! [`ElementTypes`]: what the elements of objects are.

use serde::{Deserialize, Serialize};

use super::{Causes, DataLayout, ElementUse};

/// Where the type of an object's elements is from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TypeOrigin {
    /// The declaration of a variable.
    #[default]
    Declaration,
    /// The call that allocates the blocks.
    Allocation,
    /// The instructions that access the blocks.
    Accesses {
        /// Accesses whose instructions show the type.
        agree: u64,
        /// These, and those of the program's own code that show no type.
        all: u64,
    },
}

impl TypeOrigin {
    /// That of an object that has parts with these two. What accesses show adds up.
    pub fn and(self, other: TypeOrigin) -> TypeOrigin {
        use TypeOrigin::Accesses;
        match (self, other) {
            (
                Accesses { agree, all },
                Accesses {
                    agree: more,
                    all: more_all,
                },
            ) => Accesses {
                agree: agree.saturating_add(more),
                all: all.saturating_add(more_all),
            },
            (Accesses { .. }, other) => other,
            (own, _) => own,
        }
    }
}

/// Sizes and types of the elements of objects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ElementTypes {
    /// By object, the bytes of an element, of which offsets are counted; 0 if they are unknown or
    /// too many ([`ElementUse::MOST_BYTES`](super::ElementUse::MOST_BYTES)). An object of unknown
    /// type is one element if all of its blocks have one size.
    pub bytes: Vec<u32>,
    /// By object, the type of an element: an index into `layouts`. `None` if it is unknown.
    pub objects: Vec<Option<u32>>,
    /// By object, where its type is from.
    pub origins: Vec<TypeOrigin>,
    /// By object, other sizes of elements in which offsets were counted before the type was known.
    /// Larger ones, which are multiples, are several elements, and smaller ones are the first bytes
    /// of one.
    pub counted: Vec<Vec<u32>>,
    /// The types, each once.
    pub layouts: Vec<DataLayout>,
}

impl Causes {
    /// Names the types of [`Causes::elements`], and keeps the types that these have. Elements of
    /// another size than the types say, which turned out later, become those if
    /// [`ElementTypes::counted`] has that size, and are left out if not.
    pub fn set_types(&mut self, types: &ElementTypes) {
        let bytes = |object: u32| types.bytes.get(object as usize).copied().unwrap_or(0);
        for element in &mut self.elements {
            let counted = types.counted.get(element.object as usize);
            let own = element.accesses.len() as u32;
            if counted.is_some_and(|counted| counted.contains(&own)) {
                element.resize(bytes(element.object) as usize);
            }
        }
        self.elements
            .retain(|element| element.accesses.len() == bytes(element.object) as usize);
        self.elements.sort_by_key(ElementUse::key);
        super::unite(&mut self.elements, ElementUse::key, ElementUse::merge);
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
            element.origin = types.origins.get(element.object as usize).copied();
        }
    }
}

#[cfg(test)]
mod tests {
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
            ..ElementTypes::default()
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

    #[test]
    fn elements_counted_in_other_sizes_become_those_of_the_type() {
        let element = |object, accesses: Vec<u64>| ElementUse {
            object,
            accesses,
            ..ElementUse::default()
        };
        let mut causes = Causes {
            elements: vec![
                element(1, vec![1, 2, 3, 4]),
                element(1, vec![10, 20]),
                element(1, vec![5]),
                element(2, vec![1, 2, 3, 4]),
            ],
            ..Causes::default()
        };
        causes.set_types(&ElementTypes {
            bytes: vec![0, 2, 2],
            counted: vec![vec![], vec![4, 1], vec![]],
            ..ElementTypes::default()
        });
        let sums = vec![1 + 3 + 10 + 5, 2 + 4 + 20];
        assert_eq!(causes.elements, [element(1, sums)]);
    }
}
