//! [`Pointer`]: an address within data of a known type; and [`RegisterValue`], what is known of a
//! register: such an address, or nothing.

use gimli::UnitOffset;

/// General-purpose registers, by the numbers that instructions have for them.
pub(super) const REGISTERS: usize = 16;

/// The number of a register in instructions, by its number in DWARF.
///
/// Source: System V ABI for AMD64, figure 3.36.
pub(super) fn register(dwarf: u16) -> Option<usize> {
    const NUMBERS: [usize; REGISTERS] = [0, 2, 1, 3, 6, 7, 5, 4, 8, 9, 10, 11, 12, 13, 14, 15];
    NUMBERS.get(usize::from(dwarf)).copied()
}

/// An address within data of a type: within an array of elements of this type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pointer {
    /// The type of an element, without names and qualifiers.
    pub kind: UnitOffset,
    /// Bytes of an element.
    pub bytes: u64,
    /// How far the address is from the begin of an element; `None` if that is unknown.
    pub offset: Option<i64>,
    /// Whether a number was added that only the run knows.
    pub is_indexed: bool,
    /// Whether all that was added is known to be whole elements, as a loop does that advances it.
    pub is_strided: bool,
}

impl Pointer {
    /// The address that many bytes further.
    pub fn plus(self, bytes: i64) -> Pointer {
        let offset = self.offset.and_then(|offset| offset.checked_add(bytes));
        Pointer { offset, ..self }.reduced()
    }

    /// The address plus a number that only the run knows: whole elements, elements of an inner
    /// array, or the distance to other data that begin after these.
    pub fn indexed(self) -> Pointer {
        Pointer {
            is_indexed: true,
            is_strided: false,
            ..self
        }
        .reduced()
    }

    /// Brings the offset of an address in any element into the first one. After an element comes
    /// the next one if whole elements were added; else it may be anything, and the offset is
    /// unknown.
    fn reduced(self) -> Pointer {
        let Some(bytes) = i64::try_from(self.bytes).ok().filter(|bytes| *bytes > 0) else {
            return self;
        };
        if !self.is_indexed {
            return self;
        }
        let is_element = |offset: &i64| self.is_strided || *offset < bytes;
        let offset = self.offset.filter(is_element);
        Pointer {
            offset: offset.map(|offset| offset.rem_euclid(bytes)),
            ..self
        }
    }

    /// What is known of an address that is one of these two.
    fn or(self, other: Pointer) -> Option<Pointer> {
        if self.kind != other.kind {
            return None;
        }
        if self == other {
            return Some(self);
        }
        let (one, other) = (self.strided(), other.strided());
        let offset = one.offset.filter(|_| one.offset == other.offset);
        let is_strided = one.is_strided && other.is_strided;
        Some(Pointer {
            offset,
            is_strided,
            ..one
        })
    }

    /// The address in any element that a loop advances it to.
    fn strided(self) -> Pointer {
        Pointer {
            is_strided: self.is_strided || !self.is_indexed,
            is_indexed: true,
            ..self
        }
        .reduced()
    }
}

/// What is known of the value of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RegisterValue {
    /// No path to here was looked at yet.
    Unreached,
    Unknown,
    Pointer(Pointer),
}

impl RegisterValue {
    pub fn of(pointer: Option<Pointer>) -> RegisterValue {
        pointer.map_or(RegisterValue::Unknown, RegisterValue::Pointer)
    }

    /// The address that the value is, if it is known.
    pub fn pointer(self) -> Option<Pointer> {
        match self {
            RegisterValue::Pointer(pointer) => Some(pointer),
            _ => None,
        }
    }

    /// What is known where paths with these values meet.
    pub fn or(self, other: RegisterValue) -> RegisterValue {
        match (self, other) {
            (RegisterValue::Unreached, value) | (value, RegisterValue::Unreached) => value,
            (RegisterValue::Pointer(one), RegisterValue::Pointer(other)) => {
                RegisterValue::of(one.or(other))
            }
            _ => RegisterValue::Unknown,
        }
    }
}

/// The values of all registers.
pub(super) type RegisterStates = [RegisterValue; REGISTERS];

#[cfg(test)]
mod tests {
    use super::*;

    fn pointer(offset: i64) -> Pointer {
        Pointer {
            kind: UnitOffset(7),
            bytes: 24,
            offset: Some(offset),
            is_indexed: false,
            is_strided: false,
        }
    }

    #[test]
    fn data_after_a_structure_are_not_the_next_element() {
        assert_eq!(pointer(24).indexed().offset, None);
        assert_eq!(pointer(8).indexed().plus(24).offset, None);
        assert_eq!(pointer(-8).indexed().offset, Some(16));
        // A loop advances by whole elements.
        let Some(any) = pointer(8).or(pointer(32)) else {
            panic!("it is a pointer on both ways");
        };
        assert_eq!(any.plus(24).offset, Some(8));
        assert_eq!(any.indexed().plus(24).offset, None);
    }

    #[test]
    fn a_pointer_that_a_loop_advances_keeps_its_field() {
        let first = RegisterValue::Pointer(pointer(8));
        let next = RegisterValue::Pointer(pointer(8).plus(24));
        let RegisterValue::Pointer(both) = first.or(next) else {
            panic!("it is a pointer on both ways");
        };
        assert_eq!((both.offset, both.is_indexed), (Some(8), true));
        let again = RegisterValue::Pointer(both).or(RegisterValue::Pointer(both.plus(24)));
        assert_eq!(again, RegisterValue::Pointer(both));
    }

    #[test]
    fn pointers_to_different_things_are_unknown_where_they_meet() {
        let one = RegisterValue::Pointer(pointer(0));
        let other = Pointer {
            kind: UnitOffset(9),
            ..pointer(0)
        };
        assert_eq!(
            one.or(RegisterValue::Pointer(other)),
            RegisterValue::Unknown
        );
        assert_eq!(one.or(RegisterValue::Unknown), RegisterValue::Unknown);
        let elsewhere = one.or(RegisterValue::Pointer(pointer(4)));
        assert_eq!(elsewhere.pointer().map(|it| it.offset), Some(None));
    }
}
