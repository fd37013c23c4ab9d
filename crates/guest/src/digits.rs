//! Numbers as text, for paths in `/proc`.

/// Writes a number in decimal. Returns how many digits it has: ten at most.
pub fn decimal(number: u32, into: &mut [u8]) -> usize {
    // From the right.
    let mut digits = [0; 10];
    let (mut rest, mut first) = (number, digits.len());
    while rest > 0 || first == digits.len() {
        first -= 1;
        digits[first] = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    let count = digits.len() - first;
    into[..count].copy_from_slice(&digits[first..]);
    count
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;

    #[test]
    fn decimal_writes_what_formatting_does() {
        for number in [0, 7, 10, 4096, u32::MAX] {
            let mut digits = [0; 10];
            let count = decimal(number, &mut digits);
            assert_eq!(digits[..count], *std::format!("{number}").as_bytes());
        }
    }
}
