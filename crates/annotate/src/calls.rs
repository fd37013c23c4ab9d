//! The functions by which a program names its data and marks statements and regions. They are plain
//! functions, because the line of the call is not recorded;
//! [`record_access!`](crate::record_access), whose line is, is a macro.

use core::ffi::CStr;

use crate::{Entry, RECORDING, raw};

/// The run time cuts names here.
const NAME_BYTES: usize = 64;

/// Announces a data structure, whose elements are `data`. It ends when its memory is freed.
///
/// Accesses are counted by elements. For a matrix in nested arrays, flatten it:
/// `record_data(matrix.as_flattened())`.
#[inline]
pub fn record_data<T>(data: &[T]) {
    raw::data(data.address(), size_of_val(data), size_of::<T>());
}

/// As [`record_data`], with a name for reports.
#[inline]
pub fn record_named_data<T>(name: &str, data: &[T]) {
    if RECORDING {
        let name = ZeroTerminated::new(name);
        raw::named_data(name.get(), data);
    }
}

/// Announces another address of the structure at `base`: that of a slice of it, so that accesses to
/// the slice are accesses to the structure.
///
/// ```
/// use reuselens_annotate::{record_access, record_named_data, record_partial_data};
///
/// let mut a = vec![0_u32; 8];
/// record_named_data("a", &a);
/// let base = a.as_ptr();
/// let (left, right) = a.split_at_mut(4);
/// record_partial_data(&base, &right);
/// record_access!(right[1]); // element 5 of a
/// right[1] = left[0];
/// ```
#[inline]
pub fn record_partial_data(base: &(impl Entry + ?Sized), entry: &(impl Entry + ?Sized)) {
    raw::partial_data(base.address(), entry.address());
}

/// A statement begins: in statement mode (`--names statement`) its accesses to one element count
/// once.
#[inline]
pub fn record_statement() {
    raw::statement();
}

/// A region begins on the calling thread: with `--regions`, or `--region` and this name, only
/// accesses within regions are recorded. It ends with [`region_end`]; regions may be nested.
///
/// ```
/// use reuselens_annotate::{region_begin, region_end};
///
/// region_begin("solve");
/// let sum: u64 = (0..10).sum();
/// region_end();
/// # assert_eq!(sum, 45);
/// ```
#[inline]
pub fn region_begin(name: &'static str) {
    raw::region_begin(name);
}

/// Ends the innermost region of the calling thread.
#[inline]
pub fn region_end() {
    raw::region_end();
}

/// A name with a zero byte at its end, cut to the run time's limit between two characters.
struct ZeroTerminated([u8; NAME_BYTES + 1]);

impl ZeroTerminated {
    fn new(name: &str) -> Self {
        let ends = (0..=NAME_BYTES.min(name.len())).rev();
        let end = ends
            .into_iter()
            .find(|&end| name.is_char_boundary(end))
            .unwrap_or(0);
        let mut bytes = [0; NAME_BYTES + 1];
        bytes[..end].copy_from_slice(&name.as_bytes()[..end]);
        ZeroTerminated(bytes)
    }

    fn get(&self) -> &CStr {
        CStr::from_bytes_until_nul(&self.0).unwrap_or(c"")
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::string::String;

    #[test]
    fn names_are_cut_between_characters_and_at_a_zero() {
        let long = "ä".repeat(40);
        let cut =
            |name: &str| -> String { ZeroTerminated::new(name).get().to_str().unwrap().into() };
        assert_eq!(cut(&long), long[..64]);
        assert_eq!(
            cut(&long[2..].replacen('ä', "xä", 1)),
            std::format!("x{}", &long[..62])
        );
        assert_eq!(cut("grid"), "grid");
        assert_eq!(cut("a\0b"), "a");
        assert_eq!(cut(""), "");
    }
}
