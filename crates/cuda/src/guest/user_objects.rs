//! Objects of the program that graphs keep: when nobody holds one any more, the program's function
//! ends it. A graph, its copies and what was made ready of it hold an object together.

use std::ffi::c_void;
use std::sync::Arc;

use super::errors::returned;
use super::graphs;
use super::handles::Handles;
use super::memory::store;
use crate::status::Status;

/// An object.
struct UserObject {
    address: usize,
    destroy: extern "C" fn(*mut c_void),
    /// How often it is held.
    held: u32,
}

static OBJECTS: Handles<UserObject> = Handles::new();

/// An object that a graph holds some times.
pub struct HeldObject {
    object: usize,
    count: u32,
}

impl Drop for HeldObject {
    fn drop(&mut self) {
        // An object that the program has released too often is gone.
        let _ = release(self.object, self.count);
    }
}

/// Holds an object so many times more.
fn retain(object: usize, count: u32) -> Result<(), Status> {
    OBJECTS.with(object, |object| {
        let held = object.held.checked_add(count).filter(|_| count > 0);
        object.held = held.ok_or(Status::INVALID_VALUE)?;
        Ok(())
    })?
}

/// Holds it so many times less. The last ends it.
fn release(object: usize, count: u32) -> Result<(), Status> {
    let is_last = OBJECTS.with(object, |object| {
        let held = object.held.checked_sub(count).filter(|_| count > 0);
        object.held = held.ok_or(Status::INVALID_VALUE)?;
        Ok(object.held == 0)
    })??;
    if is_last {
        let object = OBJECTS.remove(object)?;
        (object.destroy)(object.address as *mut c_void);
    }
    Ok(())
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaUserObjectCreate(
    to: *mut usize,
    address: usize,
    destroy: Option<extern "C" fn(*mut c_void)>,
    held: u32,
    _flags: u32,
) -> u32 {
    returned(match destroy {
        Some(destroy) if held > 0 => store(
            to,
            OBJECTS.add(UserObject {
                address,
                destroy,
                held,
            }),
        ),
        _ => Err(Status::INVALID_VALUE),
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaUserObjectRetain(object: usize, count: u32) -> u32 {
    returned(retain(object, count))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaUserObjectRelease(object: usize, count: u32) -> u32 {
    returned(release(object, count))
}

/// A graph holds an object from now on; in place of the program, if the flags say so.
#[unsafe(no_mangle)]
pub extern "C" fn cudaGraphRetainUserObject(
    graph: usize,
    object: usize,
    count: u32,
    flags: u32,
) -> u32 {
    const MOVE: u32 = 1;
    let held = graphs::exists(graph).and_then(|()| match flags {
        MOVE => OBJECTS.with(object, |_| ()),
        0 => retain(object, count),
        _ => Err(Status::INVALID_VALUE),
    });
    returned(held.and_then(|()| graphs::hold(graph, Arc::new(HeldObject { object, count }))))
}

/// A graph does not hold an object any more.
#[unsafe(no_mangle)]
pub extern "C" fn cudaGraphReleaseUserObject(graph: usize, object: usize, count: u32) -> u32 {
    let is_it = |held: &HeldObject| held.object == object && held.count == count;
    returned(graphs::let_go(graph, is_it).map(drop))
}
