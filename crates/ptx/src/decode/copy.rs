//! Decoding of `cp.async`: copies from global to shared memory that a thread starts, and waits for
//! later.

use super::decoder::KernelDecoder;
use super::kernel::{BulkCopy, Code, CopyOp, CopySize, CopyStep, NamedSpace};
use crate::error::PtxError;
use crate::lanes::Slots;
use crate::ops::Opcode;
use crate::syntax::ast::Operand;
use crate::syntax::types::Type;

impl KernelDecoder<'_> {
    /// `cp.async` and the instructions that wait for it.
    pub fn copy(&mut self, opcode: &mut Opcode<'_>, operands: &[Operand]) -> Result<(), PtxError> {
        if !opcode.takes("async") {
            return Err(opcode.refused());
        }
        if opcode.takes("mbarrier") {
            return self.arrive_after_copies(opcode, operands);
        }
        if opcode.takes("bulk") {
            return self.bulk_copy(opcode, operands);
        }
        let step = if opcode.takes("commit_group") {
            self.count(operands, 0)?;
            CopyStep::Commit
        } else if opcode.takes("wait_all") {
            self.count(operands, 0)?;
            CopyStep::Wait { but: None }
        } else if opcode.takes("wait_group") {
            let [Operand::Integer(but)] = operands else {
                return Err(self.error("`cp.async.wait_group` takes a number"));
            };
            CopyStep::Wait {
                but: Some(u32::try_from(*but).unwrap_or(u32::MAX)),
            }
        } else {
            CopyStep::Start(self.one_copy(opcode, operands)?)
        };
        self.copy_step(step)
    }

    fn copy_step(&mut self, step: CopyStep) -> Result<(), PtxError> {
        self.kernel.copies.push(step);
        let index = self.kernel.copies.len() as u32 - 1;
        self.emit(Code::Copy(index), Slots::default())
    }

    /// `cp.async.bulk`: copies are done where they are started, so nobody waits for groups of them.
    fn bulk_copy(&mut self, opcode: &mut Opcode<'_>, operands: &[Operand]) -> Result<(), PtxError> {
        const MISSING: [&str; 3] = ["tensor", "multicast::cluster", "reduce"];
        if MISSING.iter().any(|what| opcode.has(what)) {
            return Err(opcode.refused());
        }
        if opcode.takes("commit_group") {
            return self.count(operands, 0);
        }
        if opcode.takes("wait_group") {
            opcode.takes("read");
            return self.count(operands, 1);
        }
        if opcode.takes("prefetch") {
            opcode.takes("global");
            opcode.takes_hints();
            return Ok(());
        }
        let loads = opcode.takes("mbarrier::complete_tx::bytes");
        let stores = opcode.takes("bulk_group");
        // A block alone is a cluster of one, whose shared memory is its own.
        let is_own = opcode.takes("shared::cta") || opcode.takes("shared::cluster");
        if loads == stores || !is_own || !opcode.takes("global") {
            return Err(opcode.refused());
        }
        opcode.takes_hints();
        let count = if loads { 4 } else { 3 };
        if operands.len() != count && operands.len() != count + 1 {
            return Err(self.error(format!("`{}` takes {count} operands", self.opcode)));
        }
        let (to, _) = self.address(&operands[0])?;
        let (from, _) = self.address(&operands[1])?;
        let bytes = self.source(&operands[2], Type::U32, false)?;
        let barrier = operands.get(3).filter(|_| loads);
        let barrier = barrier.map(|barrier| self.address(barrier)).transpose()?;
        let barrier = barrier.map(|(address, _)| address);
        let site = self.site();
        self.copy_step(CopyStep::Bulk(BulkCopy {
            to,
            from,
            bytes,
            barrier,
            site,
        }))
    }

    /// `cp.async.ca.shared.global [to], [from], bytes, from_bytes`
    fn one_copy(
        &mut self,
        opcode: &mut Opcode<'_>,
        operands: &[Operand],
    ) -> Result<CopyOp, PtxError> {
        let to = self.space(opcode)?;
        let from = self.space(opcode)?;
        let through_l1 = opcode.has("ca");
        opcode.takes_hints();
        opcode.takes("L2::cache_hint");
        let [target, source, Operand::Integer(bytes), rest @ ..] = operands else {
            return Err(self.error("`cp.async` takes two addresses and a number of bytes"));
        };
        let fits = *bytes == 16 || through_l1 && matches!(bytes, 4 | 8);
        if !fits || to != NamedSpace::Shared || from != NamedSpace::Global {
            return Err(
                self.error("`cp.async` copies 4, 8 or 16 bytes from global to shared memory")
            );
        }
        // A last operand may be a policy for caches, which changes nothing.
        let size = match rest {
            [] => CopySize::All,
            [Operand::Name(name, 0), ..] if self.is_predicate(name)? => {
                CopySize::Unless(self.source(&rest[0], Type::Pred, false)?)
            }
            [operand, ..] => CopySize::Register(self.source(operand, Type::U32, false)?),
        };
        let (to, _) = self.address(target)?;
        let (from, _) = self.address(source)?;
        Ok(CopyOp {
            to,
            from,
            bytes: *bytes as u8,
            size,
            site: self.site(),
        })
    }
}
