//! Decoding of `mbarrier`: barriers that are eight bytes of shared memory each, with arrivals and
//! waiting apart from each other, and with copies that count as bytes that are awaited.

use super::decoder::KernelDecoder;
use super::kernel::{Address, Code, Mbarrier, MbarrierOp, NamedSpace};
use crate::error::PtxError;
use crate::lanes::Slots;
use crate::ops::Opcode;
use crate::syntax::ast::Operand;
use crate::syntax::types::Type;

impl KernelDecoder<'_> {
    /// `mbarrier.…`
    pub fn mbarrier(
        &mut self,
        opcode: &mut Opcode<'_>,
        operands: &[Operand],
    ) -> Result<(), PtxError> {
        const STEPS: [&str; 9] = [
            "init",
            "inval",
            "expect_tx",
            "complete_tx",
            "arrive",
            "arrive_drop",
            "test_wait",
            "try_wait",
            "pending_count",
        ];
        let named = opcode.take(|word| STEPS.into_iter().find(|step| *step == word));
        let Some(named) = named.filter(|_| opcode.types == [Type::B64]) else {
            return Err(opcode.refused());
        };
        match (named, operands) {
            ("pending_count", [result, state]) => {
                let d = self.result(result, Type::U32)?;
                let a = self.source(state, Type::B64, false)?;
                // The lowest field of a state: see `machine::mbarrier`.
                let form = lanes!(|a: u64| -> u32 { (a & 0xf_ffff) as u32 });
                self.emit_form(
                    form,
                    Slots {
                        d,
                        a,
                        ..Slots::default()
                    },
                )
            }
            ("init", [place, count]) => {
                let count = self.source(count, Type::U32, false)?;
                self.mbarrier_step(opcode, place, Mbarrier::Init { count })
            }
            ("inval", [place]) => self.mbarrier_step(opcode, place, Mbarrier::Invalidate),
            ("expect_tx", [place, bytes]) => {
                let bytes = self.source(bytes, Type::U32, false)?;
                self.mbarrier_step(opcode, place, Mbarrier::Expect { bytes })
            }
            ("complete_tx", [place, bytes]) => {
                let bytes = self.source(bytes, Type::U32, false)?;
                self.mbarrier_step(opcode, place, Mbarrier::Complete { bytes })
            }
            ("arrive" | "arrive_drop", [state, place, rest @ ..]) if rest.len() < 2 => {
                let drops = named == "arrive_drop";
                self.arrive(opcode, (state, place, rest.first()), drops)
            }
            ("test_wait" | "try_wait", [result, place, phase, hint @ ..]) if hint.len() < 2 => {
                self.test(opcode, result, place, phase)
            }
            _ => Err(self.error(format!("`{}` has the wrong operands", self.opcode))),
        }
    }

    /// `cp.async.mbarrier.arrive{.noinc}.b64 [barrier]`: an arrival when the thread's copies are
    /// done. Without `.noinc`, the barrier waits for one arrival more.
    pub fn arrive_after_copies(
        &mut self,
        opcode: &mut Opcode<'_>,
        operands: &[Operand],
    ) -> Result<(), PtxError> {
        self.count(operands, 1)?;
        if !opcode.takes("arrive") || opcode.types != [Type::B64] {
            return Err(opcode.refused());
        }
        let counts = opcode.takes("noinc");
        self.mbarrier_step(opcode, &operands[0], Mbarrier::AfterCopies { counts })
    }

    /// The state before the arrival goes to the first operand; the last is how many arrive or, for
    /// `.expect_tx`, of how many bytes one that arrives makes the barrier wait for.
    fn arrive(
        &mut self,
        opcode: &mut Opcode<'_>,
        (state, place, last): (&Operand, &Operand, Option<&Operand>),
        drops: bool,
    ) -> Result<(), PtxError> {
        let expects = opcode.takes("expect_tx");
        let one = self.constant(Type::U32, 1)?;
        let last = match last {
            Some(operand) => Some(self.source(operand, Type::U32, false)?),
            None if expects => {
                return Err(self.error(format!("`{}` takes a number of bytes", self.opcode)));
            }
            None => None,
        };
        // That no phase ends by an arrival is what its writer has promised.
        opcode.takes("noComplete");
        let count = last.filter(|_| !expects).unwrap_or(one);
        let step = Mbarrier::Arrive {
            count,
            bytes: last.filter(|_| expects),
            drops,
            state: self.result(state, Type::B64)?,
        };
        self.mbarrier_step(opcode, place, step)
    }

    /// Whether a phase has ended: the one of a state that an arrival gave, or the one with a
    /// parity. A warp for which it has not lets others have their turn.
    fn test(
        &mut self,
        opcode: &mut Opcode<'_>,
        result: &Operand,
        place: &Operand,
        phase: &Operand,
    ) -> Result<(), PtxError> {
        let p = self.result(result, Type::Pred)?;
        let step = if opcode.takes("parity") {
            let parity = self.source(phase, Type::U32, false)?;
            Mbarrier::TestParity { parity, result: p }
        } else {
            let state = self.source(phase, Type::B64, false)?;
            Mbarrier::Test { state, result: p }
        };
        self.mbarrier_step(opcode, place, step)?;
        self.emit(
            Code::TurnUnless,
            Slots {
                p,
                ..Slots::default()
            },
        )
    }

    fn mbarrier_step(
        &mut self,
        opcode: &mut Opcode<'_>,
        place: &Operand,
        step: Mbarrier,
    ) -> Result<(), PtxError> {
        let named = self.space(opcode)?;
        opcode.takes_hints();
        let (address, found) = self.address(place)?;
        let space = match (named, found) {
            (NamedSpace::Generic, Some(found)) => found,
            _ => named,
        };
        self.mbarrier_at(space, address, step)
    }

    fn mbarrier_at(
        &mut self,
        space: NamedSpace,
        address: Address,
        step: Mbarrier,
    ) -> Result<(), PtxError> {
        if !matches!(space, NamedSpace::Shared | NamedSpace::Generic) {
            return Err(self.error("a barrier in memory is in shared memory"));
        }
        let site = self.site();
        self.kernel.mbarriers.push(MbarrierOp {
            space,
            address,
            step,
            site,
        });
        let index = self.kernel.mbarriers.len() as u32 - 1;
        self.emit(Code::Mbarrier(index), Slots::default())
    }
}
