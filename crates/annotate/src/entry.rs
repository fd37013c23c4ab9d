//! [`Entry`]: the types by which a program can refer to a data structure in calls of this crate.

use alloc::boxed::Box;
use alloc::vec::Vec;

/// A reference to a data structure, as the address of its first element: a slice, an array, a
/// vector, or a pointer.
///
/// A pointer borrows nothing, so it can stand for a structure that is being changed:
///
/// ```
/// use reuselens_annotate::{record_access, record_named_data};
///
/// let mut a = [1.0; 100];
/// record_named_data("a", &a);
/// let base = a.as_ptr();
/// for x in &mut a {
///     record_access!(base, x);
///     *x *= 0.2;
/// }
/// ```
///
/// Implement it for types of your own that store their elements in one piece of memory. Only the
/// address is used; the memory is never read.
pub trait Entry {
    /// The address of the first element.
    fn address(&self) -> *const ();
}

impl<T> Entry for [T] {
    #[inline(always)]
    fn address(&self) -> *const () {
        self.as_ptr().cast()
    }
}

impl<T, const N: usize> Entry for [T; N] {
    #[inline(always)]
    fn address(&self) -> *const () {
        self.as_ptr().cast()
    }
}

impl<T> Entry for Vec<T> {
    #[inline(always)]
    fn address(&self) -> *const () {
        self.as_ptr().cast()
    }
}

impl<T> Entry for *const T {
    #[inline(always)]
    fn address(&self) -> *const () {
        self.cast()
    }
}

impl<T> Entry for *mut T {
    #[inline(always)]
    fn address(&self) -> *const () {
        self.cast_const().cast()
    }
}

impl<E: Entry + ?Sized> Entry for Box<E> {
    #[inline(always)]
    fn address(&self) -> *const () {
        (**self).address()
    }
}

impl<E: Entry + ?Sized> Entry for &E {
    #[inline(always)]
    fn address(&self) -> *const () {
        (**self).address()
    }
}

impl<E: Entry + ?Sized> Entry for &mut E {
    #[inline(always)]
    fn address(&self) -> *const () {
        (**self).address()
    }
}
