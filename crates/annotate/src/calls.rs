//! The calls that may stand anywhere: their line is not recorded.

use core::ffi::CStr;

use crate::{Entry, RECORDING, raw};

/// The run time cuts names here.
const NAME_BYTES: usize = 64;

/// A data structure comes to be: `data` are its elements. It ends when its memory is given back.
///
/// Elements are what accesses are counted by. For a matrix in nested arrays, name the innermost:
/// `record_data(matrix.as_flattened())`.
#[inline]
pub fn record_data<T>(data: &[T]) {
    raw::data(data.address(), size_of_val(data), size_of::<T>());
}

/// The same, with a name for the reports.
#[inline]
pub fn record_named_data<T>(name: &str, data: &[T]) {
    if RECORDING {
        let name = ZeroTerminated::new(name);
        raw::named_data(name.get(), data);
    }
}

/// Another address from which the structure that is entered at `base` is entered: a slice of it
/// that is passed on or split off.
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
/// accesses within regions are recorded. It ends with [`region_end`]; regions may lie in each
/// other.
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

/// The region begun last on the calling thread ends.
#[inline]
pub fn region_end() {
    raw::region_end();
}

/// A name with a zero byte behind it, cut to what the run time takes, at a letter's border.
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
    fn names_are_cut_between_letters_and_at_a_zero() {
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
