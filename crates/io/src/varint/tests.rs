//! Numbers that come back.

use super::*;

#[test]
fn numbers_come_back() {
    let numbers = [
        0,
        1,
        127,
        128,
        16383,
        16384,
        u64::MAX >> 1,
        u64::MAX - 1,
        u64::MAX,
    ];
    let mut bytes = Vec::new();
    for number in numbers {
        put(&mut bytes, number);
        put_signed(&mut bytes, number);
    }
    let mut cursor = Cursor::new(&bytes, 0);
    for number in numbers {
        assert_eq!(cursor.number(), Ok(number));
        assert_eq!(cursor.signed(), Ok(number));
    }
    assert!(cursor.is_at_end());
}

#[test]
fn numbers_of_every_length_come_back_before_any_bytes() {
    for bits in 0..=64 {
        for number in [
            (1_u128 << bits) - 1,
            1_u128 << bits,
            (1_u128 << bits) * 2 / 3,
        ] {
            let number = number as u64;
            for after in [&[][..], &[0; 9], &[0xff; 9], &[0x7f, 0x80]] {
                let mut bytes = Vec::new();
                put(&mut bytes, number);
                let length = bytes.len();
                bytes.extend_from_slice(after);
                let mut cursor = Cursor::new(&bytes, 0);
                assert_eq!(cursor.number(), Ok(number), "{number:#x}");
                assert_eq!(cursor.at(), length, "{number:#x}");
                let mut cursor = Cursor::new(&bytes, 0);
                assert_eq!(cursor.any_number(Portable), Ok(number), "{number:#x}");
                assert_eq!(cursor.at(), length, "{number:#x}");
            }
        }
    }
}

#[test]
fn both_ways_to_write_a_number_write_the_same() {
    for bits in 0..64 {
        for number in [(1_u64 << bits) - 1, 1 << bits, (1 << bits) | 1, u64::MAX] {
            let (mut one, mut other) = ([0; 20], [0xff; 20]);
            let (mut one_at, mut other_at) = (0, 0);
            put_at(&mut one, &mut one_at, number);
            put_any(Portable, &mut other, &mut other_at, number);
            assert_eq!(one[..one_at], other[..other_at], "{number:#x}");
        }
    }
}

#[test]
fn small_steps_back_are_one_byte() {
    let mut bytes = Vec::new();
    put_signed(&mut bytes, 8_u64.wrapping_neg());
    assert_eq!(bytes.len(), 1);
}

#[test]
fn what_is_cut_or_too_long_is_damage() {
    assert!(Cursor::new(&[0x80; 3], 0).number().is_err());
    assert!(Cursor::new(&[0xff; 11], 0).number().is_err());
    let too_large = [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x02];
    assert!(Cursor::new(&too_large, 0).number().is_err());
    assert!(Cursor::new(&[5, b'a'], 0).bytes().is_err());
    assert!(Cursor::new(&[1, 0xff], 0).text().is_err());
}
