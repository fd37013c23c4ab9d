//! Requests whose ids are numbers of blocks: `--format vscsi:unit=512`, `oraclegeneral:unit=BYTES`.
//!
//! Used by `records` and `choices`. With a unit, a request accesses its bytes from its id times the
//! unit on, so that requests for parts of each other's blocks share items; without one, an id is an
//! item, whatever its size.

use crate::delivery::ObjectRequest;
use crate::extent;

/// The most bytes of a unit: blocks of disks and pages have less.
const MOST_UNIT: u64 = 1 << 30;

/// Bytes of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unit(u64);

impl Unit {
    /// Reads what is after `unit=`.
    ///
    /// # Errors
    /// That it is no number of bytes of a block, with an example of one.
    pub(super) fn read(value: &str) -> Result<Unit, String> {
        let unit = value.parse().ok();
        let unit = unit.filter(|unit| (1..=MOST_UNIT).contains(unit));
        unit.map(Unit).ok_or_else(|| {
            format!(
                "'{}' is no unit; say the bytes of a block, from 1 to {MOST_UNIT}, as in unit=512",
                value.escape_debug()
            )
        })
    }

    /// Reads the choice after the name of a format: `unit=512`.
    ///
    /// # Errors
    /// What cannot be understood, with what can.
    pub(super) fn chosen(format: &str, choice: &str) -> Result<Unit, String> {
        let value = choice.trim().strip_prefix("unit=").ok_or_else(|| {
            format!(
                "'{}' is no choice for {format}; say `--format {format}:unit=512` if its ids are \
                 numbers of blocks of 512 bytes",
                choice.escape_debug()
            )
        })?;
        Unit::read(value.trim())
    }

    /// Its bytes.
    pub(super) fn bytes(self) -> u64 {
        self.0
    }

    /// A request for a block, with the address of its first byte for its id.
    ///
    /// # Errors
    /// What is wrong with a request of more than 1 GiB, or beyond the end of the address space.
    pub(super) fn placed(self, request: ObjectRequest) -> Result<ObjectRequest, String> {
        let ObjectRequest { id, bytes, .. } = request;
        let Some(address) = id.checked_mul(self.0) else {
            return Err(format!(
                "the block {id}, in units of {} bytes, is beyond the end of the address space: is \
                 the unit right, and are ids numbers of blocks?",
                self.0
            ));
        };
        if bytes > extent::REQUEST {
            return Err(format!(
                "a request has {bytes} bytes, and none for blocks has more than {}: is the format \
                 right?",
                extent::REQUEST
            ));
        }
        if address.checked_add(bytes.saturating_sub(1)).is_none() {
            return Err(format!(
                "a request of {bytes} bytes from block {id} on, in units of {} bytes, reaches \
                 beyond the end of the address space",
                self.0
            ));
        }
        Ok(ObjectRequest {
            id: address,
            ..request
        })
    }
}

#[cfg(test)]
mod tests {
    use reuselens_trace::Kind;

    use super::*;

    #[test]
    fn units_are_bytes_from_1_to_a_gibibyte() {
        assert_eq!(Unit::read("512"), Ok(Unit(512)));
        assert_eq!(Unit::chosen("vscsi", " unit= 4096 "), Ok(Unit(4096)));
        let largest = MOST_UNIT.to_string();
        assert_eq!(Unit::read(&largest), Ok(Unit(MOST_UNIT)));
        for wrong in [
            "0",
            "",
            "-1",
            "x",
            "512B",
            "1073741825",
            "18446744073709551616",
        ] {
            let said = Unit::read(wrong).unwrap_err();
            assert!(said.contains(&format!("'{wrong}' is no unit")), "{said}");
        }
        for wrong in ["", "512", "size=3", "unit", "unit=1,unit=2"] {
            assert!(Unit::chosen("vscsi", wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn requests_beyond_the_address_space_are_refused() {
        let placed = |unit, id, bytes| {
            let kind = Kind::Load;
            let placed = Unit(unit).placed(ObjectRequest { kind, id, bytes });
            placed.map(|request| (request.id, request.bytes))
        };
        assert_eq!(placed(512, 3, 4096), Ok((1536, 4096)));
        assert_eq!(placed(1, u64::MAX, 1), Ok((u64::MAX, 1)));
        assert_eq!(placed(512, (1 << 55) - 1, 512), Ok((u64::MAX - 511, 512)));
        for (request, said) in [
            (placed(512, 1 << 55, 1), "the block 36028797018963968"),
            (placed(512, (1 << 55) - 1, 513), "reaches beyond the end"),
            (placed(1, 0, (1 << 30) + 1), "none for blocks has more"),
        ] {
            assert!(request.as_ref().unwrap_err().contains(said), "{request:?}");
        }
    }
}
