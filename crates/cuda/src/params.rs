//! [`Params`]: parameters of a kernel, laid out as it declares them.

use crate::gpu::DeviceArray;

/// Parameters, in their order.
#[derive(Clone, Debug, Default)]
pub struct Params(Vec<u8>);

impl Params {
    /// A number of 32 bits.
    pub fn word(mut self, word: u32) -> Self {
        self.0.extend(word.to_le_bytes());
        self
    }

    /// A number of 64 bits, or an address.
    pub fn long(mut self, long: u64) -> Self {
        self.0.resize(self.0.len().next_multiple_of(8), 0);
        self.0.extend(long.to_le_bytes());
        self
    }

    /// The address of an array.
    pub fn array<T>(self, array: &DeviceArray<T>) -> Self {
        self.long(array.address())
    }

    /// The addresses of several arrays of one type.
    pub fn arrays<T, const N: usize>(self, arrays: [&DeviceArray<T>; N]) -> Self {
        arrays.into_iter().fold(self, Params::array)
    }

    /// The bytes.
    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}
