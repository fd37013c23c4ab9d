//! [`instrument`]: the text with hooks, and the list of the sites that have one.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use reuselens_ptx::tokens;
use reuselens_warp::{KernelSite, Space, WarpKind};

use crate::access::{AccessForm, Opcode, classify};
use crate::body::{Base, InstructionText, Item};
use crate::edit::with_replaced;
use crate::error::InstrumentError;
use crate::hook::{self, Hook, HookContent};
use crate::left_out::{LeftOut, LeftOutReason};
use crate::names;
use crate::scan::{ScannedBody, ScannedModule, scan};
use crate::steps::{CodeStep, StepAct};

/// What gets hooks beside memory instructions and barriers, and what hooks do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InstrumentOptions {
    /// Beginnings of basic blocks too.
    pub blocks: bool,
    /// Branches too: those that lanes may leave differently.
    pub branches: bool,
    /// Hooks count on the device, and write no records.
    pub counts: bool,
    /// Instead of all these what a replay ([`RecordReplay`](crate::RecordReplay)) needs: beginnings
    /// of basic blocks, for which lanes guards hold, and where lanes go by registers. Barriers have
    /// no hooks then: where they are is known.
    pub flow: bool,
}

/// What a hook records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookKind {
    /// A memory instruction.
    Access {
        /// The memory; none if the address says which it is.
        space: Option<Space>,
        /// Load, store or atomic.
        kind: WarpKind,
        /// Bytes that each thread accesses.
        bytes: u8,
    },
    /// The beginning of a basic block: a label, or what follows a branch that may not be taken. A
    /// block that only returns has no hook, but for [`InstrumentOptions::flow`].
    Block,
    /// A branch, return, exit or trap under a guard, which lanes may leave differently.
    Branch,
    /// A branch by a table, or a call through a pointer: lanes may go to different places.
    IndirectBranch,
    /// A barrier of all warps of a block, from which a phase begins.
    Barrier,
    /// For which lanes the guard of an instruction holds that has no other hook.
    Guard,
}

/// A place with a hook. Records name it by its index in [`Instrumented::sites`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookedSite {
    /// Line of the opcode in the PTX that was given, from 1; of a block, of its first instruction.
    /// Of several hooks with one first instruction, the last one sees all that come to it.
    pub line: u32,
    /// Column of the opcode, from 1; 0 of a block without an instruction.
    pub column: u32,
    /// The kernel or function that it is in.
    pub function: String,
    /// The opcode with its modifiers; `block` for a block.
    pub opcode: String,
    /// Its line of the source, as `file:line`; empty if it is not known.
    pub place: String,
    /// What is recorded.
    pub kind: HookKind,
}

/// PTX with hooks.
#[derive(Clone, Debug)]
pub struct Instrumented {
    /// The PTX.
    pub text: String,
    /// The variable of the module that names the buffer; see [`RingControl`](crate::RingControl).
    /// Where hooks count, the variable that has the counts; see
    /// [`read_counts`](crate::read_counts).
    pub variable: String,
    /// What got hooks, and what they do.
    pub options: InstrumentOptions,
    /// The architecture that the PTX is for, as `sm_80`; empty if it does not say.
    pub target: String,
    /// The places that have hooks, in the order of the text. Those of functions are once in it,
    /// whatever calls them.
    pub sites: Vec<HookedSite>,
    /// What has no hook and accesses memory, or may, in the order of the text. Accesses of
    /// parameters are not recorded, and are not in it.
    pub left_out: Vec<LeftOut>,
    /// The instructions of all bodies, in the order of the text; none unless
    /// [`InstrumentOptions::flow`] asked for them.
    pub(crate) steps: Vec<CodeStep>,
}

impl Instrumented {
    /// The sites as streams of warps have them.
    pub fn kernel_sites(&self) -> Arc<[KernelSite]> {
        let site = |site: &HookedSite| KernelSite {
            place: site.place.clone(),
            text: format!("{} (PTX line {})", site.opcode, site.line),
            calls: Arc::default(),
        };
        self.sites.iter().map(site).collect()
    }
}

/// Puts hooks into PTX. What is not in a hook is the given text, byte for byte.
///
/// # Errors
/// Text that is no PTX, and PTX for which there can be no hooks. An instruction for which there is
/// none is no error: it is in [`Instrumented::left_out`].
///
/// Cost: one pass over the text, and about 1,200 bytes of text for each site.
pub fn instrument(
    text: &str,
    options: &InstrumentOptions,
) -> Result<Instrumented, InstrumentError> {
    let tokens = tokens(text)?;
    let module = scan(&tokens)?;
    module.check_hooks()?;
    let mut options = *options;
    if options.flow {
        options = InstrumentOptions {
            flow: true,
            ..InstrumentOptions::default()
        };
    }
    let mut writer = HookWriter {
        prefix: names::free_prefix(&tokens),
        options,
        module: &module,
        added: Vec::new(),
        sites: Vec::new(),
        left_out: Vec::new(),
        steps: Vec::new(),
        block: 0,
    };
    for &(name, line) in &module.declared {
        // A declaration of a function that has a body here says nothing.
        if !module.bodies.iter().any(|body| body.function == name) {
            writer.leave_out(line, "", name, LeftOutReason::NoBody);
        }
    }
    for body in &module.bodies {
        writer.body(body);
    }
    writer.left_out.sort_by_key(|left| left.line);
    if !writer.sites.is_empty() {
        let declaration = writer.declaration();
        writer
            .added
            .insert(0, (module.head..module.head, declaration));
    }
    Ok(Instrumented {
        text: with_replaced(text, &writer.added),
        variable: hook::variable(&writer.prefix, options.counts),
        options,
        target: module.target.to_owned(),
        sites: writer.sites,
        left_out: writer.left_out,
        steps: writer.steps,
    })
}

struct HookWriter<'a, 't> {
    prefix: String,
    options: InstrumentOptions,
    module: &'t ScannedModule<'a>,
    /// What is added, and before which byte.
    added: Vec<(Range<usize>, String)>,
    sites: Vec<HookedSite>,
    left_out: Vec<LeftOut>,
    steps: Vec<CodeStep>,
    /// The site of the basic block that comes now.
    block: u32,
}

impl HookWriter<'_, '_> {
    fn declaration(&self) -> String {
        hook::declaration(&self.prefix, self.options.counts, self.sites.len())
    }

    fn leave_out(&mut self, line: u32, function: &str, opcode: &str, reason: LeftOutReason) {
        self.left_out.push(LeftOut {
            line,
            function: function.to_owned(),
            opcode: opcode.to_owned(),
            reason,
        });
    }

    fn body(&mut self, scanned: &ScannedBody<'_>) {
        let (sites, added) = (self.sites.len(), self.added.len());
        let body = &scanned.body;
        let blocks = self.options.blocks || self.options.flow;
        if blocks && !matches!(body.items.first(), None | Some(Item::Label { .. })) {
            self.block(scanned.function, body.first, &body.items);
        }
        for (at, item) in body.items.iter().enumerate() {
            let rest = &body.items[at..];
            match item {
                Item::Label { after, .. } if blocks => {
                    self.block(scanned.function, *after, rest);
                }
                Item::Label { .. } => {}
                Item::Instruction(instruction) if self.options.flow => {
                    self.step(scanned, instruction, rest);
                }
                Item::Instruction(instruction) => self.instruction(scanned, instruction, rest),
            }
        }
        if self.sites.len() > sites {
            let prologue = hook::prologue(&self.prefix, self.options.counts);
            let limit = self.options.flow && scanned.is_kernel && !scanned.has_limits;
            let head = body.open - 1;
            let limit = limit.then(|| (head..head, hook::LARGEST_BLOCK.to_owned()));
            let start = [
                (body.open..body.open, hook::registers(&self.prefix)),
                (body.first..body.first, format!("\n{prologue}")),
            ];
            let start = limit.into_iter().chain(start);
            self.added.splice(added..added, start);
        }
    }

    /// An instruction for a replay, which follows jumps, calls and barriers by what is known of
    /// them.
    fn step(
        &mut self,
        scanned: &ScannedBody<'_>,
        instruction: &InstructionText<'_>,
        rest: &[Item<'_>],
    ) {
        let (function, before) = (scanned.function, self.sites.len());
        let class = classify(instruction.opcode);
        match class {
            // It orders nothing that a replay shows.
            Opcode::LeftOut(LeftOutReason::PartialBarrier) => {}
            Opcode::LeftOut(reason) => {
                self.leave_out(instruction.line, function, instruction.opcode, reason);
            }
            Opcode::Access(form) => self.access(function, instruction, form),
            // Where each lane goes is known by the record only.
            Opcode::Jump | Opcode::Call if is_indirect(instruction) => {
                self.branch(scanned, instruction);
            }
            _ => {}
        }
        if self.sites.len() == before && instruction.guard.is_some() {
            self.before(function, instruction, HookKind::Guard, HookContent::Taken);
        }
        self.steps.push(CodeStep {
            line: instruction.line,
            column: instruction.column,
            block: self.block,
            site: (self.sites.len() > before).then_some(before as u32),
            act: act(scanned, instruction, class),
        });
        // A trap ends the launch: no block begins after it.
        let jumps = class == Opcode::Jump && instruction.opcode != "trap";
        if jumps && instruction.guard.is_some() {
            self.block(function, instruction.after, &rest[1..]);
        }
    }

    /// `rest` are the statements of the body from this one on.
    fn instruction(
        &mut self,
        scanned: &ScannedBody<'_>,
        instruction: &InstructionText<'_>,
        rest: &[Item<'_>],
    ) {
        let function = scanned.function;
        match classify(instruction.opcode) {
            Opcode::Plain | Opcode::Passed(_) => {}
            Opcode::Jump => {
                if self.options.branches {
                    self.branch(scanned, instruction);
                }
                if self.options.blocks && instruction.guard.is_some() {
                    self.block(function, instruction.after, &rest[1..]);
                }
            }
            Opcode::Call => {
                if self.options.branches && is_indirect(instruction) {
                    self.branch(scanned, instruction);
                }
            }
            Opcode::Barrier => self.barrier(function, instruction),
            Opcode::LeftOut(reason) => {
                self.leave_out(instruction.line, function, instruction.opcode, reason);
            }
            Opcode::Access(form) => self.access(function, instruction, form),
        }
    }

    fn access(&mut self, function: &str, instruction: &InstructionText<'_>, form: AccessForm) {
        let address = instruction.address.filter(|address| {
            // A variable's address is one of its space, which a generic access does not name.
            form.space.is_some() || !matches!(address.base, Base::Variable(_))
        });
        let Some(address) = address else {
            let reason = LeftOutReason::Address;
            return self.leave_out(instruction.line, function, instruction.opcode, reason);
        };
        let content = HookContent::Address {
            address,
            is_generic: form.space.is_none(),
        };
        let AccessForm { space, kind, bytes } = form;
        let kind = HookKind::Access { space, kind, bytes };
        self.before(function, instruction, kind, content);
    }

    /// A branch that lanes may leave differently; others have no hook.
    fn branch(&mut self, scanned: &ScannedBody<'_>, instruction: &InstructionText<'_>) {
        let function = scanned.function;
        let is_table = instruction.opcode.starts_with("brx");
        if !is_table && !instruction.opcode.starts_with("call") {
            if instruction.guard.is_some() {
                self.before(function, instruction, HookKind::Branch, HookContent::Taken);
            }
            return;
        }
        let labels = instruction.last.and_then(|it| scanned.body.tables.get(it));
        let Some(register) = instruction.target.filter(|_| labels.is_some() || !is_table) else {
            let reason = LeftOutReason::Form;
            return self.leave_out(instruction.line, function, instruction.opcode, reason);
        };
        let equal = if is_table {
            equal_entries(labels.map_or(&[], Vec::as_slice))
        } else {
            Vec::new()
        };
        let content = HookContent::Target { register, equal };
        self.before(function, instruction, HookKind::IndirectBranch, content);
    }

    fn barrier(&mut self, function: &str, instruction: &InstructionText<'_>) {
        // A barrier with a reduction has a result and a source, too.
        let is_reduction = instruction.opcode.contains(".red");
        if instruction.operands != if is_reduction { 3 } else { 1 } {
            let reason = LeftOutReason::PartialBarrier;
            return self.leave_out(instruction.line, function, instruction.opcode, reason);
        }
        self.before(
            function,
            instruction,
            HookKind::Barrier,
            HookContent::Arrival,
        );
    }

    /// Puts a hook before an instruction.
    fn before(
        &mut self,
        function: &str,
        instruction: &InstructionText<'_>,
        kind: HookKind,
        content: HookContent<'_>,
    ) {
        let hook = Hook {
            site: self.sites.len(),
            guard: instruction.guard,
            content,
            counts: self.options.counts,
        };
        let text = format!("\n{}", hook.text(&self.prefix));
        self.added
            .push((instruction.start..instruction.start, text));
        self.sites.push(HookedSite {
            line: instruction.line,
            column: instruction.column,
            function: function.to_owned(),
            opcode: instruction.opcode.to_owned(),
            place: self.place(instruction.source),
            kind,
        });
    }

    /// Puts a hook at the beginning of a block; `statements` has its first instruction. A block
    /// that only returns has none: compilers make exits of branches to it, after which lanes do not
    /// meet.
    fn block(&mut self, function: &str, at: usize, statements: &[Item<'_>]) {
        if !self.options.flow && returns(statements) {
            return;
        }
        self.block = self.sites.len() as u32;
        let (line, column) = first_place(statements);
        let hook = Hook {
            site: self.sites.len(),
            guard: None,
            content: HookContent::Arrival,
            counts: self.options.counts,
        };
        let text = format!("\n{}", hook.text(&self.prefix));
        self.added.push((at..at, text));
        self.sites.push(HookedSite {
            line,
            column,
            function: function.to_owned(),
            opcode: "block".to_owned(),
            place: String::new(),
            kind: HookKind::Block,
        });
    }

    fn place(&self, source: Option<(u64, u64)>) -> String {
        let named = source.and_then(|(file, line)| Some((self.module.files.get(&file)?, line)));
        named.map_or_else(String::new, |(file, line)| format!("{file}:{line}"))
    }
}

/// Whether a register says where an instruction goes.
fn is_indirect(instruction: &InstructionText<'_>) -> bool {
    !matches!(instruction.target, None | Some(Base::Variable(_)))
}

/// What a replay has to know of an instruction.
fn act(scanned: &ScannedBody<'_>, instruction: &InstructionText<'_>, class: Opcode) -> StepAct {
    let base = instruction.opcode.split('.').next();
    match class {
        Opcode::Barrier => StepAct::Wait,
        // What a function is given and returns is in variables that the body declares.
        Opcode::Passed(form) => {
            let is_own = instruction
                .address
                .is_none_or(|address| match address.base {
                    Base::Variable(name) => scanned.body.passed.contains(&name),
                    // The address of a parameter.
                    _ => false,
                });
            let space = if scanned.is_kernel && !is_own {
                Space::Parameter
            } else {
                Space::Local
            };
            let AccessForm { kind, bytes, .. } = form;
            StepAct::Pass { space, kind, bytes }
        }
        _ => match instruction.callee {
            Some(callee) => StepAct::Call(callee.to_owned()),
            None if instruction.guard.is_none() && base == Some("ret") => StepAct::Return,
            None => StepAct::Other,
        },
    }
}

/// Line and column of the first instruction; the line of a label, and 0, where none follows.
fn first_place(statements: &[Item<'_>]) -> (u32, u32) {
    let instruction = statements.iter().find_map(|item| match item {
        Item::Label { .. } => None,
        Item::Instruction(instruction) => Some((instruction.line, instruction.column)),
    });
    let label = statements.iter().find_map(|item| match item {
        Item::Label { line, .. } => Some((*line, 0)),
        Item::Instruction(_) => None,
    });
    instruction.or(label).unwrap_or_default()
}

/// Whether the first instruction is a return or an exit of all lanes.
fn returns(statements: &[Item<'_>]) -> bool {
    let first = statements.iter().find_map(|item| match item {
        Item::Label { .. } => None,
        Item::Instruction(instruction) => Some(instruction),
    });
    first.is_some_and(|first| {
        let base = first.opcode.split('.').next();
        first.guard.is_none() && matches!(base, Some("ret" | "exit"))
    })
}

/// Entries of a table of branches that have the label of an earlier entry, each with the first one.
fn equal_entries(labels: &[&str]) -> Vec<(usize, usize)> {
    let mut firsts = HashMap::new();
    let entries = labels.iter().enumerate().filter_map(|(at, label)| {
        let first = *firsts.entry(*label).or_insert(at);
        (first < at).then_some((at, first))
    });
    entries.collect()
}
