//! Links of the driver: pieces of PTX and fat binaries become one image. A piece is checked when
//! the link is completed.

use std::ffi::c_char;
use std::os::unix::ffi::OsStrExt;

use super::super::handles::Handles;
use super::super::linking::{LinkedPart, is_device_runtime, linked_image};
use super::super::memory::{store, store_if_wanted, text_at};
use super::super::modules;
use super::in_context;
use super::jit_options::JitOptions;
use crate::status::Status;

/// A link that the program has begun.
struct DriverLink {
    parts: Vec<LinkedPart>,
    /// The image, which stays until the link is destroyed.
    image: Vec<u8>,
    options: JitOptions,
}

static LINKS: Handles<DriverLink> = Handles::new();

/// What goes into a link (`CUjitInputType`): an archive of device code.
const LIBRARY: u32 = 4;

#[unsafe(no_mangle)]
pub extern "C" fn cuLinkCreate_v2(
    count: u32,
    options: *const u32,
    values: *mut usize,
    to: *mut usize,
) -> u32 {
    in_context(|| {
        let options = JitOptions::new(count, options, values);
        options.clear_logs();
        let link = DriverLink {
            parts: Vec::new(),
            image: Vec::new(),
            options,
        };
        store(to, LINKS.add(link))
    })
}

/// Adds a piece; `name` says what it is to the program.
fn add(link: usize, kind: u32, data: &[u8], name: &[u8]) -> Result<(), Status> {
    let parts = match kind {
        LIBRARY if is_device_runtime(name) => vec![LinkedPart::device_runtime()],
        _ => LinkedPart::all_of(data),
    };
    LINKS.with(link, |link| {
        if parts.is_empty() {
            // Its head says what it is, and the analysing process names it.
            let refused = modules::check(data.to_vec());
            return refused.and(Err(Status::INVALID_IMAGE));
        }
        link.parts.extend(parts);
        Ok(())
    })?
}

#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments, reason = "CUDA's")]
pub extern "C" fn cuLinkAddData_v2(
    link: usize,
    kind: u32,
    data: *const u8,
    bytes: usize,
    name: *const c_char,
    count: u32,
    options: *const u32,
    values: *mut usize,
) -> u32 {
    in_context(|| {
        JitOptions::new(count, options, values).clear_logs();
        if data.is_null() {
            return Err(Status::INVALID_VALUE);
        }
        // SAFETY: the program passes that many bytes.
        let data = unsafe { std::slice::from_raw_parts(data, bytes) };
        // SAFETY: the program passes a string, or null.
        let name = unsafe { text_at(name) }.unwrap_or_default();
        add(link, kind, data, name.to_bytes())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuLinkAddFile_v2(
    link: usize,
    kind: u32,
    path: *const c_char,
    count: u32,
    options: *const u32,
    values: *mut usize,
) -> u32 {
    in_context(|| {
        JitOptions::new(count, options, values).clear_logs();
        // SAFETY: the program passes a string, or null.
        let path = unsafe { text_at(path) }.ok_or(Status::INVALID_VALUE)?;
        let path = path.to_bytes();
        let data = std::fs::read(std::ffi::OsStr::from_bytes(path));
        let data = data.map_err(|_| Status::FILE_NOT_FOUND)?;
        add(link, kind, &data, path)
    })
}

/// The image is checked as if it were loaded, so that a program hears of errors from the link.
#[unsafe(no_mangle)]
pub extern "C" fn cuLinkComplete(link: usize, to: *mut *const u8, bytes: *mut usize) -> u32 {
    in_context(|| {
        let image = LINKS.with(link, |link| linked_image(&link.parts))?;
        if image.is_empty() {
            return Err(Status::INVALID_VALUE);
        }
        let checked = modules::check(image.clone());
        LINKS.with(link, |link| {
            link.options.log(checked);
            checked?;
            link.image = image;
            store(to, link.image.as_ptr())?;
            store_if_wanted(bytes, link.image.len());
            Ok(())
        })?
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuLinkDestroy(link: usize) -> u32 {
    in_context(|| LINKS.remove(link).map(drop))
}
