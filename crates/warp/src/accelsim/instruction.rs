//! [`parse`]: parses one instruction line of an Accel-Sim trace to a [`WarpAccess`] or a barrier.
//! `reader` calls it for each instruction of a warp, and fills in block, warp, phase and position.

use std::str::SplitAsciiWhitespace;

use crate::{LANES, Space, WarpAccess, WarpKind};

/// Values from a kernel's head that are needed to parse its lines.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Windows {
    /// Where shared memory begins among generic addresses.
    pub(super) shared: u64,
    /// Where local memory begins among generic addresses.
    pub(super) local: u64,
    /// Whether lines begin with the number of a source line.
    pub(super) lines: bool,
}

/// Bytes of a window of generic addresses.
const WINDOW: u64 = 16 << 20;
/// Instructions are 8 bytes long or 16.
const INSTRUCTION: u64 = 8;

/// An instruction of a trace, as far as it matters here.
#[derive(Debug, PartialEq)]
#[allow(
    clippy::large_enum_variant,
    reason = "it is taken apart where it was made, and most are accesses"
)]
pub(super) enum TracedInstruction {
    /// It accesses memory.
    Access(WarpAccess),
    /// These lanes wait at a barrier of the block.
    Barrier(u32),
    /// Any other.
    Other,
}

/// Reads an instruction.
pub(super) fn parse(line: &str, windows: Windows) -> Result<TracedInstruction, String> {
    let mut words = line.split_ascii_whitespace();
    if windows.lines {
        next(&mut words, "a source line")?;
    }
    let pc = hex(next(&mut words, "a program counter")?)?;
    let mask = u32::try_from(hex(next(&mut words, "a mask")?)?);
    let mask = mask.map_err(|_| "the mask has more than 32 lanes".to_owned())?;
    skip(&mut words)?;
    let opcode = next(&mut words, "an opcode")?;
    skip(&mut words)?;
    let width: u64 = number(next(&mut words, "a memory width")?)?;
    if mask == 0 {
        return Ok(TracedInstruction::Other);
    }
    if width == 0 {
        return Ok(if waits_at_barrier(opcode) {
            TracedInstruction::Barrier(mask)
        } else {
            TracedInstruction::Other
        });
    }
    let bytes = u8::try_from(width).map_err(|_| format!("{width} bytes for each thread"))?;
    let site = u32::try_from(pc / INSTRUCTION)
        .map_err(|_| format!("the program counter {pc:x} is no offset into a kernel"))?;
    let mut addresses = [0; LANES];
    expand(&mut words, mask, &mut addresses)?;
    let (kind, space) = meaning(opcode, addresses[mask.trailing_zeros() as usize], windows)?;
    let (phase, position, block, warp) = (0, 0, 0, 0);
    Ok(TracedInstruction::Access(WarpAccess {
        site,
        phase,
        position,
        block,
        warp,
        mask,
        space,
        kind,
        bytes,
        addresses,
    }))
}

/// Whether it is a barrier of the block at which threads wait. `BAR.ARV` arrives only.
fn waits_at_barrier(opcode: &str) -> bool {
    let mut words = opcode.split('.');
    words.next() == Some("BAR") && !words.any(|word| word == "ARV")
}

/// What an opcode does, and to which memory. For generic addresses that depends on the address.
fn meaning(opcode: &str, address: u64, windows: Windows) -> Result<(WarpKind, Space), String> {
    let base = opcode.split('.').next().unwrap_or(opcode);
    let generic = || {
        let within = |start: u64| start > 0 && address.wrapping_sub(start) < WINDOW;
        match address {
            _ if within(windows.shared) => Space::Shared,
            _ if within(windows.local) => Space::Local,
            _ => Space::Global,
        }
    };
    Ok(match base {
        "LDG" => (WarpKind::Load, Space::Global),
        "STG" => (WarpKind::Store, Space::Global),
        "ATOMG" | "RED" => (WarpKind::Atomic, Space::Global),
        "LDS" | "LDSM" => (WarpKind::Load, Space::Shared),
        "STS" | "STSM" => (WarpKind::Store, Space::Shared),
        "ATOMS" => (WarpKind::Atomic, Space::Shared),
        "LDL" => (WarpKind::Load, Space::Local),
        "STL" => (WarpKind::Store, Space::Local),
        "LDC" => (WarpKind::Load, Space::Constant),
        "LD" | "LDGSTS" => (WarpKind::Load, generic()),
        "ST" => (WarpKind::Store, generic()),
        "ATOM" => (WarpKind::Atomic, generic()),
        _ => {
            return Err(format!(
                "the memory instruction {opcode} is not known here (textures and surfaces are not read)"
            ));
        }
    })
}

/// The address of each active lane.
fn expand(
    words: &mut SplitAsciiWhitespace<'_>,
    mask: u32,
    addresses: &mut [u64; LANES],
) -> Result<(), String> {
    let mode = next(words, "how addresses are compressed")?;
    let mut stride = 0;
    let (mut address, mut last) = (None::<u64>, 0);
    for lane in (0..LANES).filter(|lane| mask >> lane & 1 != 0) {
        let value = match (mode, address) {
            ("0", _) => hex(next(words, "an address")?)?,
            ("1" | "2", None) => {
                let first = hex(next(words, "an address")?)?;
                if mode == "1" {
                    stride = number::<i64>(next(words, "a stride")?)?;
                }
                first
            }
            ("1", Some(_)) if lane != last + 1 => {
                return Err("there is a stride, and active lanes have gaps".to_owned());
            }
            ("1", Some(before)) => before.wrapping_add_signed(stride),
            ("2", Some(before)) => {
                before.wrapping_add_signed(number(next(words, "a difference")?)?)
            }
            _ => {
                return Err(format!(
                    "'{mode}' is no way of compressing addresses: 0, 1, 2 are"
                ));
            }
        };
        addresses[lane] = value;
        (address, last) = (Some(value), lane);
    }
    Ok(())
}

/// A count and that many registers.
fn skip(words: &mut SplitAsciiWhitespace<'_>) -> Result<(), String> {
    let count: u8 = number(next(words, "a number of registers")?)?;
    for _ in 0..count {
        next(words, "a register")?;
    }
    Ok(())
}

fn next<'a>(words: &mut SplitAsciiWhitespace<'a>, what: &str) -> Result<&'a str, String> {
    words
        .next()
        .ok_or_else(|| format!("the line ends where {what} should be"))
}

fn number<T: std::str::FromStr>(word: &str) -> Result<T, String> {
    word.parse()
        .map_err(|_| format!("'{}' is no number that fits", word.escape_debug()))
}

fn hex(word: &str) -> Result<u64, String> {
    let digits = word.strip_prefix("0x").unwrap_or(word);
    u64::from_str_radix(digits, 16)
        .map_err(|_| format!("'{}' is no hexadecimal number", word.escape_debug()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_in(line: &str, windows: Windows) -> WarpAccess {
        match parse(line, windows) {
            Ok(TracedInstruction::Access(access)) => access,
            other => panic!("{other:?}"),
        }
    }

    fn read(line: &str) -> WarpAccess {
        read_in(line, Windows::default())
    }

    #[test]
    fn parse_reads_all_three_modes_of_addresses() {
        let listed = read("0090 00000005 1 R4 LDG.E.SYS 1 R4 4 0 0x100 0x204");
        assert_eq!((listed.site, listed.mask, listed.bytes), (0x12, 5, 4));
        assert_eq!((listed.addresses[0], listed.addresses[2]), (0x100, 0x204));
        let even = read("0010 0000000e 0 STG.E 2 R2 R4 8 1 0x1000 -8");
        assert_eq!(even.addresses[1..4], [0x1000, 0xff8, 0xff0]);
        assert_eq!((even.kind, even.space), (WarpKind::Store, Space::Global));
        let steps = read("0010 0000000b 1 R0 LDS 1 R4 4 2 0x40 16 -4 7");
        assert_eq!(steps.addresses[..4], [0x40, 0x50, 0, 0x4c]);
        assert_eq!(steps.space, Space::Shared);
    }

    #[test]
    fn space_of_a_generic_address_depends_on_its_window() {
        let windows = Windows {
            shared: 0x7000_0000,
            local: 0x8000_0000,
            lines: true,
        };
        let space = |address: &str| {
            let line = format!("12 0 1 1 R4 LD.E 1 R4 4 0 {address}");
            read_in(&line, windows).space
        };
        assert_eq!(space("0x70000010"), Space::Shared);
        assert_eq!(space("0x80000010"), Space::Local);
        assert_eq!(space("0x90000010"), Space::Global);
    }

    #[test]
    fn parse_errors_name_the_wrong_word() {
        let wrong = |line: &str| parse(line, Windows::default()).unwrap_err();
        assert!(wrong("0 f").contains("number of registers"));
        assert!(wrong("0 f 0 LDG 0 4 1 0x10").contains("a stride"));
        assert!(wrong("0 5 0 LDG 0 4 1 0x10 4").contains("gaps"));
        assert!(wrong("0 1 0 TEX 0 4 0 0x10").contains("TEX"));
        assert!(wrong("0 1 0 LDG 0 4 9 0x10").contains("'9'"));
        assert!(wrong("0 1ffffffff 0 LDG 0 4 0 0x10").contains("32 lanes"));
    }

    #[test]
    fn barriers_are_those_at_which_threads_wait() {
        let parsed = |line: &str| parse(line, Windows::default()).unwrap();
        assert_eq!(parsed("0 1 1 R1 MOV 1 R2 0"), TracedInstruction::Other);
        let wait = TracedInstruction::Barrier(0xff);
        assert_eq!(parsed("0 ff 0 BAR.SYNC.DEFER_BLOCKING 0 0"), wait);
        assert_eq!(parsed("0 ff 0 BAR.RED.POPC.DEFER_BLOCKING 1 R3 0"), wait);
        assert_eq!(parsed("0 ff 0 BAR.ARV 1 R2 0"), TracedInstruction::Other);
        assert_eq!(parsed("0 0 0 BAR.SYNC 0 0"), TracedInstruction::Other);
    }
}
