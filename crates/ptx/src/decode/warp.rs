//! Decoding of what threads do together: barriers, votes, shuffles, matches and reductions over a
//! warp.

use super::decoder::KernelDecoder;
use super::kernel::{Atomic, Barrier, Code, Collective, CollectiveKind, Reduction, ReductionKind};
use super::memory::atomic_named;
use crate::error::PtxError;
use crate::lanes::Slots;
use crate::ops::Opcode;
use crate::syntax::ast::Operand;
use crate::syntax::types::Type;

impl KernelDecoder<'_> {
    /// An instruction of several threads.
    pub fn together(
        &mut self,
        opcode: &mut Opcode<'_>,
        operands: &[Operand],
    ) -> Result<(), PtxError> {
        let within_warp = opcode.takes("warp");
        match opcode.base {
            "bar" if within_warp => {
                opcode.takes("sync");
                self.count(operands, 1)?;
                let members = Some(self.source(&operands[0], Type::B32, false)?);
                self.collective(Collective {
                    members,
                    ..plain(CollectiveKind::Sync)
                })
            }
            "bar" | "barrier" => self.barrier(opcode, operands),
            "vote" => self.vote(opcode, operands),
            "shfl" => self.shuffle(opcode, operands),
            "match" => self.find_equal(opcode, operands),
            "activemask" => {
                self.count(operands, 1)?;
                let result = self.result(&operands[0], Type::B32)?;
                self.collective(Collective {
                    result,
                    ..plain(CollectiveKind::ActiveMask)
                })
            }
            "redux" => self.reduce(opcode, operands),
            _ => {
                opcode.takes("sync");
                self.count(operands, 2)?;
                let (first, second) = self.pair(&operands[0])?;
                let result = self.result(first, Type::B32)?;
                let predicate = self.optional_predicate(second)?;
                let members = Some(self.source(&operands[1], Type::B32, false)?);
                self.collective(Collective {
                    members,
                    result,
                    predicate,
                    ..plain(CollectiveKind::Elect)
                })
            }
        }
    }

    fn collective(&mut self, collective: Collective) -> Result<(), PtxError> {
        self.kernel.collectives.push(collective);
        self.emit(
            Code::Collective(self.kernel.collectives.len() as u32 - 1),
            Slots::default(),
        )
    }

    /// `d|p`, or `d` alone.
    fn pair<'o>(
        &self,
        operand: &'o Operand,
    ) -> Result<(&'o Operand, Option<&'o Operand>), PtxError> {
        Ok(match operand {
            Operand::Pair(first, second) => (first, Some(second)),
            one => (one, None),
        })
    }

    fn optional_predicate(&mut self, operand: Option<&Operand>) -> Result<Option<u32>, PtxError> {
        operand
            .map(|operand| self.result(operand, Type::Pred))
            .transpose()
    }

    fn barrier(&mut self, opcode: &mut Opcode<'_>, operands: &[Operand]) -> Result<(), PtxError> {
        opcode.takes("cta");
        let aligned = opcode.base == "bar" || opcode.takes("aligned");
        let arrives = opcode.takes("arrive");
        let reduces = opcode.takes("red");
        if !opcode.takes("sync") && !arrives && !reduces || opcode.has("cluster") {
            return Err(opcode.refused());
        }
        let (result, rest) = operands.split_at(usize::from(reduces).min(operands.len()));
        let (reduction, rest) = match (result.first(), rest.split_last()) {
            (Some(result), Some((source, rest))) => {
                let kind = opcode
                    .take(|word| match word {
                        "and" => Some(ReductionKind::And),
                        "or" => Some(ReductionKind::Or),
                        "popc" => Some(ReductionKind::Count),
                        _ => None,
                    })
                    .ok_or_else(|| opcode.refused())?;
                let ty = if kind == ReductionKind::Count {
                    Type::U32
                } else {
                    Type::Pred
                };
                let source = self.source(source, Type::Pred, false)?;
                (
                    Some(Reduction {
                        kind,
                        source,
                        result: self.result(result, ty)?,
                    }),
                    rest,
                )
            }
            _ => (None, rest),
        };
        let [id, threads @ ..] = rest else {
            return Err(self.error("a barrier takes its number"));
        };
        let id = self.source(id, Type::U32, false)?;
        let threads = match threads {
            [] => None,
            [threads] => Some(self.source(threads, Type::U32, false)?),
            _ => return Err(self.error("a barrier takes its number and a number of threads")),
        };
        self.kernel.barriers.push(Barrier {
            id,
            threads,
            arrives,
            aligned,
            reduction,
        });
        self.emit(
            Code::Barrier(self.kernel.barriers.len() as u32 - 1),
            Slots::default(),
        )
    }

    fn vote(&mut self, opcode: &mut Opcode<'_>, operands: &[Operand]) -> Result<(), PtxError> {
        let syncs = opcode.takes("sync");
        self.count(operands, 2 + usize::from(syncs))?;
        let kind = opcode
            .take(|word| match word {
                "all" => Some(CollectiveKind::VoteAll),
                "any" => Some(CollectiveKind::VoteAny),
                "uni" => Some(CollectiveKind::VoteUniform),
                "ballot" => Some(CollectiveKind::Ballot),
                _ => None,
            })
            .ok_or_else(|| opcode.refused())?;
        let ty = if kind == CollectiveKind::Ballot {
            Type::B32
        } else {
            Type::Pred
        };
        let a = self.truth(&operands[1])?;
        let members = operands
            .get(2)
            .map(|mask| self.source(mask, Type::B32, false))
            .transpose()?;
        let result = self.result(&operands[0], ty)?;
        self.collective(Collective {
            members,
            result,
            a,
            ..plain(kind)
        })
    }

    /// A predicate, which may be a number.
    fn truth(&mut self, operand: &Operand) -> Result<u32, PtxError> {
        let Operand::Integer(bits) = operand else {
            return self.source(operand, Type::Pred, false);
        };
        let d = self.fresh_slot(Type::Pred)?;
        self.set_predicate(d, *bits != 0)?;
        Ok(d)
    }

    /// Gives a predicate the same value in all lanes.
    pub(super) fn set_predicate(&mut self, d: u32, value: bool) -> Result<(), PtxError> {
        let form = if value {
            predicates!(|_a| u32::MAX)
        } else {
            predicates!(|_a| 0)
        };
        self.emit_form(
            form,
            Slots {
                d,
                a: d,
                ..Slots::default()
            },
        )
    }

    fn shuffle(&mut self, opcode: &mut Opcode<'_>, operands: &[Operand]) -> Result<(), PtxError> {
        let syncs = opcode.takes("sync");
        self.count(operands, 4 + usize::from(syncs))?;
        let kind = opcode
            .take(|word| match word {
                "up" => Some(CollectiveKind::ShuffleUp),
                "down" => Some(CollectiveKind::ShuffleDown),
                "bfly" => Some(CollectiveKind::ShuffleXor),
                "idx" => Some(CollectiveKind::ShuffleIndex),
                _ => None,
            })
            .ok_or_else(|| opcode.refused())?;
        let (first, second) = self.pair(&operands[0])?;
        let a = self.source(&operands[1], Type::B32, false)?;
        let b = self.source(&operands[2], Type::B32, false)?;
        let c = self.source(&operands[3], Type::B32, false)?;
        let members = operands
            .get(4)
            .map(|mask| self.source(mask, Type::B32, false))
            .transpose()?;
        let result = self.result(first, Type::B32)?;
        let predicate = self.optional_predicate(second)?;
        self.collective(Collective {
            members,
            result,
            predicate,
            a,
            b,
            c,
            ..plain(kind)
        })
    }

    fn find_equal(
        &mut self,
        opcode: &mut Opcode<'_>,
        operands: &[Operand],
    ) -> Result<(), PtxError> {
        opcode.takes("sync");
        self.count(operands, 3)?;
        let kind = if opcode.takes("all") {
            CollectiveKind::MatchAll
        } else {
            CollectiveKind::MatchAny
        };
        opcode.takes("any");
        let ty = opcode.ty();
        let (first, second) = self.pair(&operands[0])?;
        let a = self.source(&operands[1], ty, false)?;
        let members = Some(self.source(&operands[2], Type::B32, false)?);
        let result = self.result(first, Type::B32)?;
        let predicate = self.optional_predicate(second)?;
        self.collective(Collective {
            members,
            result,
            predicate,
            a,
            wide: ty.size() == 8,
            ..plain(kind)
        })
    }

    fn reduce(&mut self, opcode: &mut Opcode<'_>, operands: &[Operand]) -> Result<(), PtxError> {
        opcode.takes("sync");
        self.count(operands, 3)?;
        let function = opcode.take(atomic_named).ok_or_else(|| opcode.refused())?;
        let ty = opcode.ty();
        let known = matches!(
            function,
            Atomic::Add | Atomic::Min | Atomic::Max | Atomic::And | Atomic::Or | Atomic::Xor
        );
        if !known || !matches!(ty, Type::U32 | Type::S32 | Type::B32) {
            return Err(opcode.refused());
        }
        let a = self.source(&operands[1], ty, false)?;
        let members = Some(self.source(&operands[2], Type::B32, false)?);
        let result = self.result(&operands[0], ty)?;
        self.collective(Collective {
            members,
            result,
            a,
            ..plain(CollectiveKind::Reduce(function, ty))
        })
    }
}

fn plain(kind: CollectiveKind) -> Collective {
    Collective {
        kind,
        members: None,
        result: 0,
        wide: false,
        predicate: None,
        a: 0,
        b: 0,
        c: 0,
    }
}
