//! Tests of the fast parsers of numbers against the slow one, for every byte and every length.

use proptest::prelude::*;

use super::*;

#[test]
fn number_accepts_only_numbers_of_64_bits() {
    for (word, expected) in [
        ("12", Some(12)),
        ("007", Some(7)),
        ("0xFf", Some(255)),
        ("18446744073709551615", Some(u64::MAX)),
        ("18446744073709551616", None),
        ("0x", None),
        ("-1", None),
        ("+1", None),
        ("1.5", None),
        ("ff", None),
    ] {
        assert_eq!(number(word.as_bytes()), expected, "{word}");
    }
}

#[test]
fn digits_end_at_any_other_byte_in_every_place() {
    for byte in 0..=u8::MAX {
        for place in 0..8 {
            let mut bytes = *b"99999999";
            bytes[place] = byte;
            let word = u64::from_le_bytes(bytes);
            let expected = if byte.is_ascii_digit() { 8 } else { place };
            assert_eq!(decimal_part(word).1, expected, "{byte:#x} at {place}");
            let expected = if byte.is_ascii_hexdigit() { 8 } else { place };
            assert_eq!(hex_part(word).1, expected, "{byte:#x} at {place}");
        }
    }
}

#[test]
fn find_control_finds_only_control_characters_in_every_place() {
    for byte in 0..=u8::MAX {
        for place in 0..8 {
            let mut bytes = *b"a\xffz!~\x80\xa0AA\x7f       ";
            bytes[place] = byte;
            let control = byte.is_ascii_control() || byte == b' ';
            let expected = if control { place } else { 9 };
            assert_eq!(
                find_control(&bytes, 0),
                Some(expected),
                "{byte:#x} at {place}"
            );
        }
    }
}

#[test]
fn the_largest_numbers_are_read_and_larger_ones_refused() {
    let quick = |word: &str| decimal(format!("{word}\n       ").as_bytes(), 0);
    assert_eq!(quick("18446744073709551615"), Some((u64::MAX, 20)));
    assert_eq!(quick("18446744073709551616"), None);
    assert_eq!(quick("99999999999999999999"), None);
    assert_eq!(quick("000000000000000000001"), None, "left to the slow way");
    let quick = |word: &str| hexadecimal(format!("{word}\n       ").as_bytes(), 0);
    assert_eq!(quick("ffffffffffffffff"), Some((u64::MAX, 16)));
    assert_eq!(quick("10000000000000000"), None);
    assert_eq!(either(b"0X1F\n       ", 0), Some((31, 4)));
    assert_eq!(either(b"0\n         ", 0), Some((0, 1)));
    assert_eq!(either(b"00x1       ", 0), Some((0, 2)));
}

proptest! {
    #[test]
    fn decimal_reads_back_written_numbers(value: u64, shift in 0_u32..64, before in 0_usize..9) {
        let value = value >> shift;
        let text = format!("{}{value},{}", "x".repeat(before), "9".repeat(8));
        let end = text.find(',').unwrap();
        prop_assert_eq!(decimal(text.as_bytes(), before), Some((value, end)));
        prop_assert_eq!(either(text.as_bytes(), before), Some((value, end)));
    }

    #[test]
    fn hexadecimal_reads_back_written_numbers(value: u64, shift in 0_u32..64, upper: bool) {
        let value = value >> shift;
        let text = if upper { format!("{value:X} ,,,,,,,,") } else { format!("{value:x} ,,,,,,,,") };
        let end = text.find(' ').unwrap();
        prop_assert_eq!(hexadecimal(text.as_bytes(), 0), Some((value, end)));
    }

    #[test]
    fn fast_parsers_agree_with_the_slow_one(bytes in "[0-9a-gA-G@/:`\u{7f}x\u{80}]{0,24}") {
        let bytes = [bytes.as_bytes(), b"        "].concat();
        for (quick, radix) in [(decimal(&bytes, 0), 10), (hexadecimal(&bytes, 0), 16)] {
            let length = bytes.iter().take_while(|&&byte| char::from(byte).is_digit(radix)).count();
            let slow = digits(&bytes[..length], radix).map(|value| (value, length));
            prop_assert!(quick == slow || (quick.is_none() && length > 16), "{quick:?} {slow:?}");
        }
    }

    #[test]
    fn find3_finds_the_first_of_three_bytes(bytes in "[,\"\n\u{1}-/a!#]{0,30}", at in 0_usize..30) {
        let bytes = bytes.as_bytes();
        let found = bytes.iter().skip(at).position(|byte| b",\"\n".contains(byte)).map(|place| at + place);
        let quick = find3(bytes, at, *b",\"\n");
        prop_assert!(quick == found || (quick.is_none() && found.is_none_or(|found| found + 8 > bytes.len())));
    }
}
