//! Tests of the buffer under every reader.

use super::*;

#[test]
fn lines_come_one_by_one_with_any_ending() {
    let mut input = Input::new(&b"a\r\n\nbc"[..], "t");
    assert_eq!(input.line().unwrap(), Some(&b"a"[..]));
    assert_eq!(input.line().unwrap(), Some(&b""[..]));
    assert_eq!(input.line().unwrap(), Some(&b"bc"[..]));
    assert_eq!(input.line().unwrap(), None);
    assert_eq!(input.offset(), 6);
}

#[test]
fn an_endless_line_is_an_error_and_not_memory() {
    let mut input = Input::new(std::io::repeat(b'x'), "t");
    let error = input.line().unwrap_err();
    assert!(error.to_string().contains("line 1"), "{error}");
    assert_eq!(input.buffer.len(), CAPACITY);
}

#[test]
fn a_line_of_the_longest_length_is_read() {
    let mut bytes = vec![b'x'; MAX_LINE];
    bytes.extend_from_slice(b"\ny");
    let mut input = Input::new(std::io::Cursor::new(bytes), "t");
    assert_eq!(input.line().unwrap().map(<[u8]>::len), Some(MAX_LINE));
    assert_eq!(input.line().unwrap(), Some(&b"y"[..]));
}

#[test]
fn a_promise_of_bytes_takes_no_memory_before_they_come() {
    let mut input = Input::new(&b"abc"[..], "t");
    let mut target = Vec::new();
    input.take(usize::MAX, &mut target).unwrap();
    assert_eq!(target, b"abc");
    assert!(target.capacity() < 1024);
}
