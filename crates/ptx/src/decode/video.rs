//! Decoding of scalar video instructions: `vadd.s32.u32.s32.sat.add d, a.b1, b.h0, c` and its like.

use super::decoder::KernelDecoder;
use super::kernel::{Code, VideoFunction, VideoLast, VideoOp, VideoPart, VideoSource};
use crate::error::PtxError;
use crate::lanes::Slots;
use crate::ops::{Comparison, Opcode};
use crate::syntax::ast::Operand;
use crate::syntax::types::Type;

/// All of a register.
const WHOLE: VideoPart = VideoPart { first: 0, bits: 32 };

impl KernelDecoder<'_> {
    /// An instruction whose operands may be parts of registers.
    pub fn video(&mut self, opcode: &mut Opcode<'_>, operands: &[Operand]) -> Result<(), PtxError> {
        let function = function(opcode).ok_or_else(|| opcode.refused())?;
        // A comparison names no type of its result: 0 or 1.
        let types = match (function, &opcode.types[..]) {
            (VideoFunction::Compare(_), &[a, b]) => [Type::U32, a, b],
            (VideoFunction::Compare(_), _) => return Err(opcode.refused()),
            (_, &[d, a, b]) => [d, a, b],
            _ => return Err(opcode.refused()),
        };
        if types.iter().any(|ty| !matches!(ty, Type::U32 | Type::S32)) {
            return Err(opcode.refused());
        }
        let is_sum = matches!(function, VideoFunction::MultiplyAdd { .. });
        let saturates = opcode.takes("sat");
        let second = opcode.take(|word| match word {
            "add" => Some(VideoLast::Add),
            "min" => Some(VideoLast::Min),
            "max" => Some(VideoLast::Max),
            _ => None,
        });
        let [target, a, b, rest @ ..] = operands else {
            return Err(self.error(format!("`{}` takes three operands or four", self.opcode)));
        };
        let (target, part) = split(target);
        let last = match (second, part) {
            (_, Some(_)) if is_sum => return Err(opcode.refused()),
            (Some(second), None) => second,
            (None, Some(part)) => VideoLast::Merge(part),
            (None, None) => VideoLast::Nothing,
            (Some(_), Some(_)) => return Err(opcode.refused()),
        };
        let takes_third = is_sum || last != VideoLast::Nothing;
        self.count(operands, 3 + usize::from(takes_third))?;
        let [_, a_type, b_type] = types;
        let c = match rest {
            [third] => self.source(third, Type::B32, false)?,
            _ => self.constant(Type::B32, 0)?,
        };
        let op = VideoOp {
            function,
            result: self.result(&target, Type::B32)?,
            a: self.video_source(a, a_type)?,
            b: self.video_source(b, b_type)?,
            c,
            is_signed: types[0] == Type::S32,
            saturates,
            last,
        };
        self.kernel.videos.push(op);
        let index = self.kernel.videos.len() as u32 - 1;
        self.emit(Code::Video(index), Slots::default())
    }

    fn video_source(&mut self, operand: &Operand, ty: Type) -> Result<VideoSource, PtxError> {
        let (operand, part) = split(operand);
        Ok(VideoSource {
            slot: self.source(&operand, Type::B32, false)?,
            part: part.unwrap_or(WHOLE),
            is_signed: ty == Type::S32,
        })
    }
}

/// A register's name, and which part of it is meant: `%r1.b2`.
fn split(operand: &Operand) -> (Operand, Option<VideoPart>) {
    if let Operand::Name(name, 0) = operand
        && let Some((register, part)) = name.rsplit_once('.')
        && let Some(part) = part_named(part)
    {
        return (Operand::Name(register.to_owned(), 0), Some(part));
    }
    (operand.clone(), None)
}

fn part_named(name: &str) -> Option<VideoPart> {
    let (bits, number) = match name.as_bytes() {
        [b'b', number @ b'0'..=b'3'] => (8, number - b'0'),
        [b'h', number @ b'0'..=b'1'] => (16, number - b'0'),
        _ => return None,
    };
    Some(VideoPart {
        first: bits * u32::from(number),
        bits,
    })
}

fn function(opcode: &mut Opcode<'_>) -> Option<VideoFunction> {
    Some(match opcode.base {
        "vadd" => VideoFunction::Add,
        "vsub" => VideoFunction::Subtract,
        "vabsdiff" => VideoFunction::Difference,
        "vmin" => VideoFunction::Min,
        "vmax" => VideoFunction::Max,
        "vshl" => VideoFunction::ShiftLeft {
            wraps: wraps(opcode)?,
        },
        "vshr" => VideoFunction::ShiftRight {
            wraps: wraps(opcode)?,
        },
        "vmad" => VideoFunction::MultiplyAdd {
            one_more: opcode.takes("po"),
            shift: opcode
                .take(|word| match word {
                    "shr7" => Some(7),
                    "shr15" => Some(15),
                    _ => None,
                })
                .unwrap_or(0),
        },
        "vset" => VideoFunction::Compare(opcode.take(|word| {
            ["eq", "ne", "lt", "le", "gt", "ge"]
                .contains(&word)
                .then(|| Comparison::named(word))
                .flatten()
        })?),
        _ => return None,
    })
}

/// What becomes of shifts by more than 31 bits.
fn wraps(opcode: &mut Opcode<'_>) -> Option<bool> {
    opcode.take(|word| match word {
        "wrap" => Some(true),
        "clamp" => Some(false),
        _ => None,
    })
}
