//! What programs ask of addresses.

use super::super::blocks::{self, Mirrored, Place, place};
use super::super::memory::{store, store_if_wanted};
use super::super::modules::report_missing;
use super::contexts::current;
use super::{in_context, returned};
use crate::status::Status;

/// What is known of an address (`CUpointer_attribute`): a value, and its bytes.
enum PointerFact {
    Word(u32),
    Long(u64),
}

impl PointerFact {
    /// Writes the value where the program wants it.
    fn store(self, to: *mut u64) -> Result<(), Status> {
        match self {
            PointerFact::Word(value) => store(to.cast(), value),
            PointerFact::Long(value) => store(to, value),
        }
    }
}

const CONTEXT: u32 = 1;
const MEMORY_TYPE: u32 = 2;
const DEVICE_POINTER: u32 = 3;
const HOST_POINTER: u32 = 4;
const SYNCHRONOUS: u32 = 6;
const BLOCK_NUMBER: u32 = 7;
const IS_MANAGED: u32 = 8;
const DEVICE_ORDINAL: u32 = 9;
const CAN_BE_SHARED: u32 = 10;
const BLOCK_BEGIN: u32 = 11;
const BLOCK_BYTES: u32 = 12;
const IS_MAPPED: u32 = 13;
const SHARED_HANDLES: u32 = 14;
const IS_FOR_NETWORKS: u32 = 15;
const ACCESS: u32 = 16;
const POOL: u32 = 17;

/// An attribute of an address that is the device's or that kernels may access.
fn known(attribute: u32, address: u64) -> Result<PointerFact, Status> {
    const ON_HOST: u32 = 1;
    const ON_DEVICE: u32 = 2;
    const READ_AND_WRITE: u32 = 3;
    let place = place(address)?;
    let (Place::Device | Place::Host(Some(_))) = place else {
        return Err(Status::INVALID_VALUE);
    };
    let around = || blocks::block_around(address)?.ok_or(Status::INVALID_VALUE);
    let is_managed = place == Place::Host(Some(Mirrored::Managed));
    let is_on_device = place == Place::Device || is_managed;
    Ok(match attribute {
        CONTEXT => PointerFact::Long(current()? as u64),
        MEMORY_TYPE => PointerFact::Word(if is_on_device { ON_DEVICE } else { ON_HOST }),
        DEVICE_POINTER if place == Place::Device => PointerFact::Long(address),
        DEVICE_POINTER => PointerFact::Long(blocks::on_device(address as usize)? as u64),
        HOST_POINTER if place == Place::Device => return Err(Status::INVALID_VALUE),
        HOST_POINTER => PointerFact::Long(address),
        BLOCK_NUMBER => PointerFact::Long(around()?.number),
        BLOCK_BEGIN => PointerFact::Long(around()?.begin),
        BLOCK_BYTES => PointerFact::Long(around()?.bytes),
        IS_MANAGED => PointerFact::Word(is_managed.into()),
        IS_MAPPED => PointerFact::Word(1),
        ACCESS => PointerFact::Word(READ_AND_WRITE),
        SYNCHRONOUS | DEVICE_ORDINAL | CAN_BE_SHARED | IS_FOR_NETWORKS => PointerFact::Word(0),
        SHARED_HANDLES | POOL => PointerFact::Long(0),
        number => {
            report_missing(&format!("pointer attribute {number}"));
            return Err(Status::NOT_SUPPORTED);
        }
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuPointerGetAttribute(to: *mut u64, attribute: u32, address: u64) -> u32 {
    in_context(|| known(attribute, address)?.store(to))
}

/// Several attributes. What an address does not have is 0; it is -2 for the device of memory of the
/// program's own.
#[unsafe(no_mangle)]
pub extern "C" fn cuPointerGetAttributes(
    count: u32,
    attributes: *const u32,
    places: *const *mut u64,
    address: u64,
) -> u32 {
    const NO_DEVICE: u32 = -2_i32 as u32;
    in_context(|| {
        if attributes.is_null() || places.is_null() {
            return Err(Status::INVALID_VALUE);
        }
        for index in 0..count as usize {
            // SAFETY: the program passes that many attributes and places.
            let (attribute, to) = unsafe { (*attributes.add(index), *places.add(index)) };
            let known = known(attribute, address).or_else(|status| match (status, attribute) {
                (Status::INVALID_VALUE, DEVICE_ORDINAL) => Ok(PointerFact::Word(NO_DEVICE)),
                (Status::INVALID_VALUE, MEMORY_TYPE | SYNCHRONOUS | IS_MANAGED)
                | (Status::INVALID_VALUE, CAN_BE_SHARED | IS_MAPPED | IS_FOR_NETWORKS | ACCESS) => {
                    Ok(PointerFact::Word(0))
                }
                (Status::INVALID_VALUE, _) => Ok(PointerFact::Long(0)),
                (status, _) => Err(status),
            });
            known?.store(to)?;
        }
        Ok(())
    })
}

/// The block around an address: where it begins, and its bytes.
#[unsafe(no_mangle)]
pub extern "C" fn cuMemGetAddressRange_v2(begin: *mut u64, bytes: *mut usize, address: u64) -> u32 {
    returned(current().and_then(|_| {
        let around = blocks::block_around(address)?.ok_or(Status::NOT_FOUND)?;
        store_if_wanted(begin, around.begin);
        store_if_wanted(bytes, around.bytes as usize);
        Ok(())
    }))
}
