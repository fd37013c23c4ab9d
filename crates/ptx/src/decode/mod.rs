//! From a parsed function to a [`Kernel`]: [`decode`] turns names into numbered registers and
//! addresses, puts functions in the place of their calls, and notes at each branch where its lanes
//! meet again.

mod body;
mod call;
mod called;
mod callees;
mod cfg;
mod copy;
mod copy_op;
mod decoder;
mod flow;
mod instruction;
mod instruction_kind;
pub mod kernel;
mod lines;
mod matrix;
mod mbarrier;
mod mbarrier_op;
mod memory;
mod mov;
mod observed;
mod operands;
mod routine;
mod scope;
mod setp;
mod stack;
mod stack_op;
mod texture;
mod video;
mod video_op;
mod warp;

use std::collections::HashMap;
use std::sync::Arc;

use reuselens_warp::SharedArray;

pub use callees::Callees;
use decoder::KernelDecoder;
pub use kernel::{AccessSite, Kernel, KernelPlace, ObservedCalculation, Param, SourceLine};
use kernel::{Code, NamedSpace};
use scope::{Binding, BodyScope, Scope};

use crate::error::PtxError;
use crate::machine::Options;
use crate::syntax::ast::{Ast, FunctionAst};

/// Parameters of a kernel, in bytes.
const MOST_PARAM_BYTES: u64 = 32764;

/// What the names of a loaded file mean.
#[derive(Clone, Debug, Default)]
pub struct Symbols {
    /// Addresses of variables in global and constant memory.
    pub variables: HashMap<String, u64>,
    /// Addresses of functions, of those whose address something takes.
    pub functions: HashMap<String, u64>,
    pub callees: Arc<Callees>,
}

/// Makes a kernel ready.
///
/// # Errors
/// Instructions, types and modifiers outside the subset, and operands that do not fit.
pub fn decode(
    ast: &Ast,
    function: &FunctionAst,
    symbols: &Symbols,
    options: &Options,
) -> Result<Kernel, PtxError> {
    decode_body(ast, function, symbols, options).map_err(|error| ast.with_file(error))
}

fn decode_body(
    ast: &Ast,
    function: &FunctionAst,
    symbols: &Symbols,
    options: &Options,
) -> Result<Kernel, PtxError> {
    if let Some(error) = &function.refused {
        return Err(error.clone());
    }
    let mut decoder = KernelDecoder::new(ast, symbols, options, function);
    own_body(&mut decoder, function).map_err(|error| decoder.with_line(error))?;
    decoder.kernel.local_bytes = decoder.local_bytes;
    decoder.routines()?;
    let mut kernel = decoder.finish()?;
    let graph = cfg::reconverge(&mut kernel);
    if options.flow {
        flow::instrument(&mut kernel, &graph);
    }
    Ok(kernel)
}

/// The statements of the kernel itself, with functions that are put in the place of their calls.
fn own_body(decoder: &mut KernelDecoder<'_>, function: &FunctionAst) -> Result<(), PtxError> {
    decoder.frames.push(BodyScope {
        scopes: vec![Scope::default()],
        end: None,
    });
    parameters(decoder, function)?;
    decoder.body(function.body.as_deref().unwrap_or_default())?;
    let end = decoder.at;
    decoder.begin(end, "exit", || "exit;".to_owned());
    decoder.emit(Code::Exit, Default::default())
}

/// Where the parameters of a kernel are, one after the other, and the bytes of all of them.
///
/// # Errors
/// If they are more than a kernel can have.
pub fn layout(function: &FunctionAst) -> Result<(Vec<Param>, u64), PtxError> {
    let mut end = 0u64;
    let mut params = Vec::with_capacity(function.params.len());
    for param in &function.params {
        let size = param.size.unwrap_or(0);
        let offset = end.next_multiple_of(param.align);
        end = offset.saturating_add(size);
        if end > MOST_PARAM_BYTES {
            let what = format!("more than {MOST_PARAM_BYTES} bytes of parameters");
            return Err(PtxError::new(param.at, what));
        }
        params.push(Param {
            name: param.name.clone(),
            ty: param.ty,
            offset,
            size,
        });
    }
    Ok((params, end))
}

fn parameters(decoder: &mut KernelDecoder<'_>, function: &FunctionAst) -> Result<(), PtxError> {
    let (params, bytes) = layout(function)?;
    for (param, declared) in params.iter().zip(&function.params) {
        decoder.scope().bind(
            &param.name,
            Binding::Variable {
                space: NamedSpace::Param,
                address: param.offset,
                size: declared.size,
            },
        );
    }
    decoder.kernel.params = params;
    decoder.kernel.param_bytes = bytes;
    Ok(())
}

impl KernelDecoder<'_> {
    /// All places are known now: labels become operations, and dynamic shared memory has its
    /// address.
    fn finish(mut self) -> Result<Kernel, PtxError> {
        let dynamic = self.kernel.shared_bytes.next_multiple_of(16);
        if let Some(name) = self.dynamic_name.take() {
            self.kernel.shared_arrays.push(SharedArray {
                name,
                start: dynamic,
                bytes: None,
            });
        }
        for (wide, slot, offset) in std::mem::take(&mut self.dynamic) {
            let address = dynamic.wrapping_add_signed(offset);
            if wide {
                self.kernel.wide_constants.push((slot, address));
            } else {
                self.kernel.constants.push((slot, address as u32));
            }
        }
        let end = self.kernel.ops.len() as u32 - 1;
        let labels = &self.labels;
        let place = |label: &mut u32| *label = labels[*label as usize].unwrap_or(end);
        for op in &mut self.kernel.ops {
            if let Code::Branch { target, .. } = &mut op.code {
                place(target);
            }
        }
        for table in &mut self.kernel.tables {
            table.targets.iter_mut().for_each(place);
        }
        Ok(self.kernel)
    }
}
