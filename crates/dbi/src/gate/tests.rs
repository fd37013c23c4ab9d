//! Tests of names of regions and of what is left out, with this process's own memory as the
//! program's, and a segment without a reader.

use alloc::vec;
use alloc::vec::Vec;

use reuselens_guest::sys;
use reuselens_wire::WireKind;

use super::*;

/// Two pages, the second of which cannot be read; the end of the first.
fn end_of_readable() -> u64 {
    // SAFETY: fresh memory; a page of it is closed again.
    unsafe {
        let at = sys::map(0, 8192, sys::PROT_READ_WRITE, 0).expect("there is room") as u64;
        assert_eq!(sys::call(sys::MPROTECT, [at + 4096, 4096, 0, 0, 0, 0]), 0);
        at + 4096
    }
}

/// Puts a name in front of an address; where it begins.
fn put_before(end: u64, name: &[u8]) -> u64 {
    let at = end - name.len() as u64;
    // SAFETY: fresh memory of the tests, which nobody refers to.
    assert!(unsafe { sys::poke(at, name) });
    at
}

fn read(at: u64, length: u64) -> Vec<u8> {
    let mut bytes = [0; REGION_BYTES];
    let found = text(at, length, &mut bytes);
    bytes[..found].to_vec()
}

#[test]
fn name_at_the_end_of_readable_memory_is_read() {
    let end = end_of_readable();
    assert_eq!(read(put_before(end, b"solve\0"), 0), b"solve");
    assert_eq!(read(put_before(end, b"solve"), 5), b"solve");
    // Without an end, what can be read is the name.
    assert_eq!(read(put_before(end, b"solve"), 0), b"solve");
    assert_eq!(read(put_before(end, b"solve"), 9), b"solve");
}

#[test]
fn name_in_unreadable_memory_is_empty() {
    assert_eq!(read(0, 0), b"");
    assert_eq!(read(end_of_readable(), 0), b"");
    assert_eq!(read(end_of_readable(), 7), b"");
}

#[test]
fn name_across_two_pages_is_read_from_both() {
    let mut memory = vec![b'x'; 3 * 4096];
    let border = (memory.as_mut_ptr() as u64).next_multiple_of(4096) + 4096;
    // SAFETY: within the vector, whose bytes nobody refers to.
    assert!(unsafe { sys::poke(border - 3, b"solver\0") });
    assert_eq!(read(border - 3, 0), b"solver");
    assert_eq!(read(border - 3, 5), b"solve");
}

#[test]
fn long_name_is_cut() {
    let name = [b'n'; 3 * REGION_BYTES];
    assert_eq!(read(name.as_ptr() as u64, 0), [b'n'; REGION_BYTES]);
    let length = name.len() as u64;
    assert_eq!(read(name.as_ptr() as u64, length), [b'n'; REGION_BYTES]);
}

#[test]
fn put_counts_accesses_outside_of_regions_as_left_out() {
    let _segment = segment::use_for_tests();
    let control = control().unwrap();
    for word in [&control.active, &control.regions] {
        word.store(1, Ordering::Relaxed);
    }
    let name = b"solve";
    control
        .region_bytes
        .store(name.len() as u32, Ordering::Relaxed);
    for (to, from) in control.region.iter().zip(name) {
        to.store(*from, Ordering::Relaxed);
    }
    let thread = Thread::create().unwrap();
    begin(thread);
    assert!(thread.gated && wants_regions());
    let load = Record::new(WireKind::Load, 8, 1, 0x1000);
    let left_out = |thread: &mut Thread| {
        put(thread, &[load, load]);
        report(thread);
        control.left_out.load(Ordering::Relaxed)
    };
    assert_eq!(left_out(thread), 2);
    begin_region(thread, c"other".as_ptr() as u64, 0);
    assert_eq!(left_out(thread), 4);
    begin_region(thread, name.as_ptr() as u64, name.len() as u64);
    assert_eq!(left_out(thread), 4, "within the region");
    end_region(thread);
    assert_eq!(left_out(thread), 6);
    // The child of a fork is where its parent was.
    begin_region(thread, name.as_ptr() as u64, name.len() as u64);
    fork(thread);
    assert_eq!(left_out(thread), 6, "within the region");
}
