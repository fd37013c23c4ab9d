//! [`Opcode`]: an opcode with its modifiers. Whoever understands a modifier takes it; one that is
//! left over makes the instruction an error, so nothing is silently ignored.

use crate::error::{Position, PtxError};
use crate::syntax::types::Type;

/// How a result that does not fit is rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// To the nearest, ties to even.
    Nearest,
    /// Towards zero.
    Zero,
    /// Towards minus infinity.
    Down,
    /// Towards plus infinity.
    Up,
}

/// `ld.global.nc.f32`: the word before the first dot, modifiers, and types in their order.
#[derive(Debug)]
pub struct Opcode<'a> {
    pub whole: &'a str,
    pub base: &'a str,
    pub at: Position,
    pub types: Vec<Type>,
    /// Modifiers that nobody has taken yet.
    left: Vec<&'a str>,
}

impl<'a> Opcode<'a> {
    pub fn new(whole: &'a str, at: Position) -> Opcode<'a> {
        let mut parts = whole.split('.');
        let base = parts.next().unwrap_or_default();
        let mut opcode = Opcode {
            whole,
            base,
            at,
            types: Vec::new(),
            left: Vec::new(),
        };
        for part in parts {
            match Type::named(part) {
                Some(ty) => opcode.types.push(ty),
                None => opcode.left.push(part),
            }
        }
        opcode
    }

    /// The first type.
    pub fn ty(&self) -> Type {
        self.types.first().copied().unwrap_or(Type::B32)
    }

    /// Takes a modifier if it is there.
    pub fn takes(&mut self, modifier: &str) -> bool {
        let place = self.left.iter().position(|left| *left == modifier);
        place.map(|index| self.left.remove(index)).is_some()
    }

    /// Takes the first modifier for which there is a meaning.
    pub fn take<M>(&mut self, meaning: impl Fn(&str) -> Option<M>) -> Option<M> {
        let (index, found) = self
            .left
            .iter()
            .enumerate()
            .find_map(|(index, left)| Some((index, meaning(left)?)))?;
        self.left.remove(index);
        Some(found)
    }

    /// Takes modifiers that change nothing here: hints for caches, and which order others see.
    pub fn takes_hints(&mut self) {
        const HINTS: [&str; 18] = [
            "ca", "cg", "cs", "cv", "lu", "wb", "wt", "nc", "relaxed", "weak", "cta", "gpu", "sys",
            "cluster", "acquire", "release", "acq_rel", "volatile",
        ];
        self.left.retain(|left| {
            !HINTS.contains(left) && !left.starts_with("L1::") && !left.starts_with("L2::")
        });
    }

    /// Whether a modifier is there.
    pub fn has(&self, modifier: &str) -> bool {
        self.left.contains(&modifier)
    }

    /// Takes how a result is rounded, if a modifier gives it.
    pub fn rounding(&mut self) -> Option<Rounding> {
        self.take(|word| match word {
            "rn" => Some(Rounding::Nearest),
            "rz" => Some(Rounding::Zero),
            "rm" => Some(Rounding::Down),
            "rp" => Some(Rounding::Up),
            _ => None,
        })
    }

    /// Takes how a float is rounded to an integer, if a modifier gives it.
    pub fn integer_rounding(&mut self) -> Option<Rounding> {
        self.take(|word| match word {
            "rni" => Some(Rounding::Nearest),
            "rzi" => Some(Rounding::Zero),
            "rmi" => Some(Rounding::Down),
            "rpi" => Some(Rounding::Up),
            _ => None,
        })
    }

    /// Refuses what nobody has taken.
    pub fn finish(&self) -> Result<(), PtxError> {
        match self.left.first() {
            None => Ok(()),
            Some(left) => {
                let what = format!("the modifier .{left} of `{}` is not supported", self.whole);
                Err(PtxError::unsupported(self.at, what))
            }
        }
    }

    /// The error of an instruction outside the subset.
    pub fn refused(&self) -> PtxError {
        let why = match self.base {
            "tex" | "tld4" | "txq" | "suld" | "sust" | "sured" | "suq" | "istypep" => {
                "this use of textures and surfaces is not supported: mipmaps, gradients, \
                 queries and formatted stores are among what is missing"
            }
            "wgmma" | "tcgen05" | "movmatrix" => {
                "these instructions of tensor cores are not supported; compile for sm_80"
            }
            "mma" | "wmma" | "ldmatrix" | "stmatrix" => {
                "this shape, type or layout of matrices is not supported"
            }
            "cp" => {
                "copies by tensor maps, to other blocks of a cluster and with reductions are not \
                 supported; compile for sm_80"
            }
            "mapa" | "getctarank" | "clusterlaunchcontrol" => "clusters are not supported",
            "barrier" if self.has("cluster") => "clusters are not supported",
            _ => "it is not among the instructions that are run here (docs: `reuselens gpu run`)",
        };
        PtxError::unsupported(self.at, format!("`{}`: {why}", self.whole))
    }
}
