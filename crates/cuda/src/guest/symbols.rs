//! Variables of the device that the program's code names.

use super::errors::returned;
use super::memory::store;
use super::modules;
use crate::status::Status;

/// Address on the device and bytes of a variable.
pub fn place(symbol: usize) -> Result<(u64, u64), Status> {
    modules::variable(symbol)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGetSymbolAddress(to: *mut usize, symbol: usize) -> u32 {
    returned(place(symbol).and_then(|(address, _)| store(to, address as usize)))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGetSymbolSize(to: *mut usize, symbol: usize) -> u32 {
    returned(place(symbol).and_then(|(_, bytes)| store(to, bytes as usize)))
}
