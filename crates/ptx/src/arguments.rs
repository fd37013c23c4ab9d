//! Arguments of a launch: [`Kernel::launch`] checks them against the kernel's parameters, and lays
//! their bytes out as the kernel declares them. The result is a [`LaunchConfig`].

use crate::decode::Kernel;
use crate::machine::LaunchConfig;
use crate::syntax::types::Type;

/// An argument.
#[derive(Clone, Debug, PartialEq)]
pub enum Argument {
    /// The address of a buffer.
    Pointer(u64),
    /// An integer, for a parameter of any integer type that it fits into, or a float.
    Integer(i128),
    /// A float, rounded to the parameter's type.
    Float(f64),
    /// The bytes of a structure, or of anything else.
    Bytes(Vec<u8>),
}

/// Arguments that do not fit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ArgumentError(String);

impl Kernel {
    /// A launch with these arguments, one for each parameter.
    ///
    /// # Errors
    /// A wrong number of arguments, or one that does not fit its parameter.
    pub fn launch(
        &self,
        grid: [u32; 3],
        block: [u32; 3],
        shared: u64,
        arguments: &[Argument],
    ) -> Result<LaunchConfig, ArgumentError> {
        let wanted = self.params().len();
        if arguments.len() != wanted {
            let types: Vec<String> = self
                .params()
                .iter()
                .map(|param| described(param.ty, param.size))
                .collect();
            let what = format!(
                "{} takes {wanted} arguments ({}), not {}",
                self.name(),
                types.join(", "),
                arguments.len()
            );
            return Err(ArgumentError(what));
        }
        let mut params = vec![0; self.param_bytes as usize];
        for (index, (param, argument)) in self.params().iter().zip(arguments).enumerate() {
            let bytes = bytes(argument, param.ty, param.size).ok_or_else(|| {
                let what = format!(
                    "argument {} of {}: {} does not fit its type, {}",
                    index + 1,
                    self.name(),
                    shown(argument),
                    described(param.ty, param.size)
                );
                ArgumentError(what)
            })?;
            params[param.offset as usize..][..bytes.len()].copy_from_slice(&bytes);
        }
        Ok(LaunchConfig {
            cooperative: false,
            grid,
            block,
            shared,
            params,
        })
    }
}

fn described(ty: Type, size: u64) -> String {
    if size == u64::from(ty.size()) {
        ty.name().to_owned()
    } else {
        format!("{size} bytes")
    }
}

fn shown(argument: &Argument) -> String {
    match argument {
        Argument::Pointer(address) => format!("the buffer at {address:#x}"),
        Argument::Integer(value) => value.to_string(),
        Argument::Float(value) => value.to_string(),
        Argument::Bytes(bytes) => format!("{} bytes", bytes.len()),
    }
}

/// The bytes of an argument, if it fits.
fn bytes(argument: &Argument, ty: Type, size: u64) -> Option<Vec<u8>> {
    if let Argument::Bytes(bytes) = argument {
        return (bytes.len() as u64 == size).then(|| bytes.clone());
    }
    if size != u64::from(ty.size()) {
        return None;
    }
    match (argument, ty) {
        (Argument::Pointer(address), Type::U64 | Type::B64 | Type::S64) => {
            Some(address.to_le_bytes().to_vec())
        }
        (Argument::Integer(value), Type::F32) => Some((*value as f32).to_le_bytes().to_vec()),
        (Argument::Integer(value), Type::F64) => Some((*value as f64).to_le_bytes().to_vec()),
        (Argument::Integer(value), ty) if !ty.is_float() && ty != Type::Pred => {
            let bits = 8 * u32::from(ty.size());
            // Signs are not in the type: `.u32` is what compilers write for `int` too.
            let fits = *value >= -(1i128 << (bits - 1)) && *value < 1i128 << bits;
            fits.then(|| value.to_le_bytes()[..usize::from(ty.size())].to_vec())
        }
        (Argument::Float(value), Type::F32 | Type::B32) => {
            Some((*value as f32).to_le_bytes().to_vec())
        }
        (Argument::Float(value), Type::F64 | Type::B64) => Some(value.to_le_bytes().to_vec()),
        _ => None,
    }
}
