//! Decoding of instructions on textures and surfaces: `tex`, `tld4`, `suld` and `sust`. Their first
//! operand is a handle, and coordinates.

use super::decoder::KernelDecoder;
use super::kernel::{Code, SurfaceOp, SurfaceOutside, TextureFetch, TextureOp, TexturePlace};
use crate::error::PtxError;
use crate::lanes::Slots;
use crate::ops::Opcode;
use crate::syntax::ast::Operand;
use crate::syntax::types::Type;

impl KernelDecoder<'_> {
    /// An instruction on a texture or surface.
    pub fn texture(
        &mut self,
        opcode: &mut Opcode<'_>,
        operands: &[Operand],
    ) -> Result<(), PtxError> {
        let op = match opcode.base {
            "tex" | "tld4" => TextureOp::Fetch(self.fetch(opcode, operands)?),
            _ => TextureOp::Surface(self.surface(opcode, operands)?),
        };
        self.kernel.textures.push(op);
        let index = self.kernel.textures.len() as u32 - 1;
        self.emit(Code::Texture(index), Slots::default())
    }

    /// `tex.2d.v4.f32.f32 {a, b, c, d}, [texture, {x, y}]`, `tex.level.…` with a level after that,
    /// `tld4.r.2d.v4.f32.f32`
    fn fetch(
        &mut self,
        opcode: &mut Opcode<'_>,
        operands: &[Operand],
    ) -> Result<TextureFetch, PtxError> {
        let channel = match opcode.base {
            "tld4" => Some(opcode.take(channel).ok_or_else(|| opcode.refused())?),
            _ => None,
        };
        // There are no smaller copies of a texture, so each level is the only one.
        let has_level = channel.is_none() && opcode.takes("level");
        self.count(operands, 2 + usize::from(has_level))?;
        opcode.takes("unified");
        let (result, coordinate) = match (opcode.takes("v4"), &opcode.types[..]) {
            (true, &[result, coordinate]) => (result, coordinate),
            _ => return Err(opcode.refused()),
        };
        let is_known = matches!(result, Type::F32 | Type::S32 | Type::U32)
            && matches!(coordinate, Type::F32 | Type::S32);
        if !is_known || channel.is_some() && coordinate != Type::F32 {
            return Err(opcode.refused());
        }
        let place = self.texture_place(opcode, &operands[1], coordinate)?;
        if channel.is_some() && place.coordinates.len() != 2 && !place.is_cube {
            return Err(opcode.refused());
        }
        let results = self.parts(&operands[0], Type::B32, true)?;
        let results = <[u32; 4]>::try_from(results)
            .map_err(|_| self.error(format!("`{}` gives four values", self.opcode)))?;
        Ok(TextureFetch {
            place,
            takes_index: coordinate == Type::S32,
            channel,
            results,
            site: self.site(),
        })
    }

    /// `suld.b.2d.v2.b32.trap {a, b}, [surface, {x, y}]`, `sust.b.2d.b32.trap [surface, {x, y}], a`
    fn surface(
        &mut self,
        opcode: &mut Opcode<'_>,
        operands: &[Operand],
    ) -> Result<SurfaceOp, PtxError> {
        self.count(operands, 2)?;
        let is_store = opcode.base == "sust";
        let count = opcode.take(|word| match word {
            "v2" => Some(2),
            "v4" => Some(4),
            _ => None,
        });
        let outside = opcode.take(|word| match word {
            "trap" => Some(SurfaceOutside::Trap),
            "clamp" => Some(SurfaceOutside::Clamp),
            "zero" => Some(SurfaceOutside::Zero),
            _ => None,
        });
        opcode.takes_hints();
        let ty = opcode.ty();
        let is_known = opcode.takes("b")
            && opcode.types.len() == 1
            && matches!(ty, Type::B8 | Type::B16 | Type::B32 | Type::B64);
        let (true, Some(outside)) = (is_known, outside) else {
            return Err(opcode.refused());
        };
        let (value, place) = if is_store { (1, 0) } else { (0, 1) };
        let place = self.texture_place(opcode, &operands[place], Type::S32)?;
        let parts = match &operands[value] {
            Operand::Vector(parts) => &parts[..],
            one => std::slice::from_ref(one),
        };
        if parts.len() != count.unwrap_or(1) || parts.len() * usize::from(ty.size()) > 16 {
            return Err(self.error(format!(
                "`{}` has the wrong number of registers",
                self.opcode
            )));
        }
        let registers = parts.iter().map(|part| self.element(part, ty, is_store));
        let registers = registers.collect::<Result<Vec<_>, _>>()?;
        Ok(SurfaceOp {
            place,
            is_store,
            outside,
            width: ty.size(),
            registers,
            site: self.site(),
        })
    }

    /// The handle and the coordinates, by the modifier for the directions.
    fn texture_place(
        &mut self,
        opcode: &mut Opcode<'_>,
        operand: &Operand,
        coordinate: Type,
    ) -> Result<TexturePlace, PtxError> {
        let directions = opcode.take(|word| match word {
            "1d" => Some((1, false, false)),
            "2d" => Some((2, false, false)),
            "3d" => Some((3, false, false)),
            "a1d" => Some((1, true, false)),
            "a2d" => Some((2, true, false)),
            // Faces of a cube have no indices: surfaces count them as layers.
            "cube" if coordinate == Type::F32 => Some((3, false, true)),
            "acube" if coordinate == Type::F32 => Some((3, true, true)),
            _ => None,
        });
        let (directions, has_layers, is_cube) = directions.ok_or_else(|| opcode.refused())?;
        let Operand::Texture(handle, coordinates) = operand else {
            return Err(self.error(format!(
                "`{}` takes a handle and coordinates in brackets",
                self.opcode
            )));
        };
        // Vectors of three are filled up to four.
        let wanted = directions + usize::from(has_layers);
        if coordinates.len() < wanted {
            return Err(self.error(format!("`{}` takes {wanted} coordinates", self.opcode)));
        }
        let handle = self.source(handle, Type::B64, false)?;
        let (layer, rest) = if has_layers {
            (Some(self.source(&coordinates[0], Type::U32, false)?), 1)
        } else {
            (None, 0)
        };
        let along = coordinates[rest..wanted].iter();
        let coordinates = along.map(|operand| self.source(operand, coordinate, false));
        Ok(TexturePlace {
            handle,
            layer,
            is_cube,
            coordinates: coordinates.collect::<Result<Vec<_>, _>>()?,
        })
    }
}

/// The channel that `tld4` gathers.
fn channel(word: &str) -> Option<u8> {
    let letters = ["r", "g", "b", "a"];
    letters
        .iter()
        .position(|letter| *letter == word)
        .map(|at| at as u8)
}
