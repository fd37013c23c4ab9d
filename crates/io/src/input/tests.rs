//! Tests of the buffer under every reader.

use super::*;

#[test]
fn lines_with_any_ending_are_read() {
    let mut input = Input::new(&b"a\r\n\nbc"[..], "t");
    assert_eq!(input.line().unwrap(), Some(&b"a"[..]));
    assert_eq!(input.line().unwrap(), Some(&b""[..]));
    assert_eq!(input.line().unwrap(), Some(&b"bc"[..]));
    assert_eq!(input.line().unwrap(), None);
    assert_eq!(input.offset(), 6);
}

#[test]
fn endless_line_is_refused_without_growing_the_buffer() {
    let mut input = Input::new(std::io::repeat(b'x'), "t");
    let error = input.line().unwrap_err();
    assert!(error.to_string().contains("line 1"), "{error}");
    assert_eq!(input.buffer.len(), CAPACITY);
}

#[test]
fn line_of_the_longest_length_is_read() {
    let mut bytes = vec![b'x'; MAX_LINE];
    bytes.extend_from_slice(b"\ny");
    let mut input = Input::new(std::io::Cursor::new(bytes), "t");
    assert_eq!(input.line().unwrap().map(<[u8]>::len), Some(MAX_LINE));
    assert_eq!(input.line().unwrap(), Some(&b"y"[..]));
}

#[test]
fn take_allocates_only_for_bytes_that_are_read() {
    let mut input = Input::new(&b"abc"[..], "t");
    let mut target = Vec::new();
    input.take(usize::MAX, &mut target).unwrap();
    assert_eq!(target, b"abc");
    assert!(target.capacity() < 1024);
}
