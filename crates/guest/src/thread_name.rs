//! [`ThreadName`]: the name that the system has for a thread.

use core::ffi::CStr;

use reuselens_wire::THREAD_NAME_BYTES;

use crate::digits::decimal;
use crate::sys::{self, File};

/// A thread's name; empty by default.
#[derive(Clone, Copy, Default)]
pub struct ThreadName {
    bytes: [u8; THREAD_NAME_BYTES],
    length: usize,
}

impl ThreadName {
    /// That of the calling thread: one system call.
    pub fn own() -> ThreadName {
        const GET_NAME: u64 = 16;
        let mut bytes = [0; THREAD_NAME_BYTES];
        let to = bytes.as_mut_ptr() as u64;
        // SAFETY: the kernel writes sixteen bytes.
        unsafe { sys::call(sys::PRCTL, [GET_NAME, to, 0, 0, 0, 0]) };
        let end = bytes.iter().position(|byte| *byte == 0);
        ThreadName {
            bytes,
            length: end.unwrap_or(bytes.len()),
        }
    }

    /// That of a thread of this process. `None` if it is another thread's and cannot be read from
    /// `/proc`.
    pub fn of(tid: u32) -> Option<ThreadName> {
        if tid == sys::tid() {
            return Some(ThreadName::own());
        }
        let mut path = *b"/proc/self/task/          /comm\0";
        const TASK: usize = 16;
        let end = TASK + decimal(tid, &mut path[TASK..]);
        path[end..end + 6].copy_from_slice(b"/comm\0");
        let file = File::open(CStr::from_bytes_until_nul(&path).ok()?, 0)?;
        let mut bytes = [0; THREAD_NAME_BYTES];
        let length = file.read(&mut bytes);
        // The file has one line; its end is cut off.
        let length = bytes[..length].trim_ascii_end().len();
        Some(ThreadName { bytes, length })
    }

    /// The name, without a zero byte.
    pub fn text(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::sync::mpsc::channel;
    use std::thread::Builder;

    use super::*;

    #[test]
    fn a_thread_has_the_same_name_for_itself_and_for_others() {
        let (tell, told) = channel();
        let (end, ended) = channel::<()>();
        let thread = Builder::new()
            .name("fifteen letters".into())
            .spawn(move || {
                tell.send((sys::tid(), ThreadName::own()))
                    .expect("is heard");
                let _ = ended.recv();
            });
        let (tid, own) = told.recv().expect("is said");
        assert_eq!(own.text(), b"fifteen letters");
        let seen = ThreadName::of(tid).expect("it lives");
        assert_eq!(seen.text(), own.text());
        drop(end);
        thread.expect("starts").join().expect("ends");
        assert!(ThreadName::of(u32::MAX).is_none());
    }
}
