//! Counting of control flow: [`instrument`] puts probes into a decoded kernel, one before each
//! basic block, and one before each branch and instruction that lanes do under a guard. How often
//! each instruction is executed follows from these, so that nothing is counted at the others. A
//! kernel without probes runs as fast as if this did not exist.

use super::cfg::{self, Graph};
use super::kernel::{Callee, Code, CountedInstruction, Kernel, NONE, Op, Probe, ProbeKind};
use crate::lanes::Slots;

/// Puts probes into a kernel whose branches are complete. Blocks that nothing leads to have none.
pub fn instrument(kernel: &mut Kernel, graph: &Graph) {
    let reached = graph.is_reached(kernel);
    let resumes = ends_in_routines(kernel);
    let old = std::mem::take(&mut kernel.ops);
    let mut moved = vec![NONE; old.len()];
    let mut ops = Vec::with_capacity(old.len() + 2 * graph.starts.len());
    let mut blocks = 0;
    for (block, &start) in graph.starts.iter().enumerate() {
        moved[start] = ops.len() as u32;
        let end = graph.starts.get(block + 1).copied().unwrap_or(old.len());
        let own = &old[start..end];
        if !reached[block] {
            ops.extend_from_slice(own);
            continue;
        }
        let instructions = own.iter().filter(|op| op.counts).count() as u32;
        let place = own.iter().find(|op| op.counts).unwrap_or(&own[0]).place;
        ops.push(probe(kernel, ProbeKind::Block, place, blocks, instructions));
        let mut comes = kernel.probes.len() as u32 - 1;
        for op in own {
            let mut guard = NONE;
            if let Some(kind) = kind(kernel, op) {
                let counted = guarding(kernel, op, kind, blocks);
                guard = kernel.probes.len() as u32 - 1;
                ops.push(counted);
            }
            if op.counts {
                kernel.counted.push(CountedInstruction {
                    place: op.place,
                    probe: comes,
                    guard,
                });
            }
            ops.push(*op);
            if resumes && matches!(op.code, Code::Call(_)) {
                ops.push(probe(kernel, ProbeKind::Resume, op.place, blocks, 0));
                comes = kernel.probes.len() as u32 - 1;
            }
        }
        blocks += 1;
    }
    kernel.ops = ops;
    lead_to(kernel, &moved);
}

/// Whether threads may end in a routine, so that fewer lanes come back from a call than went there.
fn ends_in_routines(kernel: &Kernel) -> bool {
    let entries = kernel.routines.iter().map(|routine| routine.entry as usize);
    let Some(first) = entries.min() else {
        return false;
    };
    let mut ops = kernel.ops[first..].iter();
    ops.any(|op| matches!(op.code, Code::Exit))
}

/// The probe of an operation that lanes may leave differently, under the same guard.
fn guarding(kernel: &mut Kernel, op: &Op, kind: ProbeKind, block: u32) -> Op {
    let mut counted = probe(kernel, kind, op.place, block, 0);
    (counted.guard, counted.negated) = (op.guard, op.negated);
    if let Code::Table(table) = op.code {
        (counted.slots.a, counted.slots.b) = (op.slots.a, table);
    }
    if let Some(address) = pointer(kernel, op) {
        counted.slots.a = address;
    }
    counted
}

/// Lets branches lead to the new places of what they led to: all are beginnings of blocks.
fn lead_to(kernel: &mut Kernel, moved: &[u32]) {
    let place = |op: &mut u32| {
        if *op != NONE {
            *op = moved[*op as usize];
        }
    };
    for op in &mut kernel.ops {
        if let Code::Branch { target, meet } = &mut op.code {
            place(target);
            place(meet);
        }
    }
    for routine in &mut kernel.routines {
        place(&mut routine.entry);
    }
    for table in &mut kernel.tables {
        table.targets.iter_mut().for_each(place);
        place(&mut table.meet);
    }
}

/// What is counted of an operation; none if all lanes that come to it do the same.
fn kind(kernel: &Kernel, op: &Op) -> Option<ProbeKind> {
    match op.code {
        Code::Table(_) => Some(ProbeKind::Table),
        Code::Call(_) if pointer(kernel, op).is_some() => Some(ProbeKind::Call),
        _ if op.guard == NONE || !op.counts => None,
        _ if cfg::ends(kernel, op).is_some() => Some(ProbeKind::Branch),
        _ => Some(ProbeKind::Predicated),
    }
}

/// The register with the address of the function that an operation calls.
fn pointer(kernel: &Kernel, op: &Op) -> Option<u32> {
    match op.code {
        Code::Call(index) => match kernel.calls[index as usize].callee {
            Callee::Register(address) => Some(address),
            Callee::Routine(_) => None,
        },
        _ => None,
    }
}

fn probe(kernel: &mut Kernel, kind: ProbeKind, place: u32, block: u32, instructions: u32) -> Op {
    kernel.probes.push(Probe {
        kind,
        place,
        block,
        instructions,
    });
    Op {
        code: Code::Probe(kernel.probes.len() as u32 - 1, kind),
        slots: Slots::default(),
        guard: NONE,
        negated: false,
        counts: false,
        place,
    }
}
