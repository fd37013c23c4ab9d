//! [`instrument`]: the text with hooks, and the list of the sites that have one.

use std::sync::Arc;

use reuselens_ptx::tokens;
use reuselens_warp::{KernelSite, Space, WarpKind};

use crate::access::{AccessForm, Opcode, classify};
use crate::body::{Base, InstructionText, Item};
use crate::error::InstrumentError;
use crate::hook::{self, Hook};
use crate::left_out::{LeftOut, LeftOutReason};
use crate::names;
use crate::scan::{ScannedBody, ScannedModule, scan};

/// What gets hooks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InstrumentOptions {
    /// Beginnings of basic blocks too.
    pub blocks: bool,
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
    /// The beginning of a basic block: a label, or what follows a branch that may not be taken.
    Block,
}

/// A place with a hook. Records name it by its index in [`Instrumented::sites`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookedSite {
    /// Line of the opcode in the PTX that was given, from 1; of a block, of its label or of the
    /// branch before it.
    pub line: u32,
    /// Column of the opcode, from 1; 0 for a block.
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
    pub variable: String,
    /// The architecture that the PTX is for, as `sm_80`; empty if it does not say.
    pub target: String,
    /// The places that have hooks, in the order of the text. Those of functions are once in it,
    /// whatever calls them.
    pub sites: Vec<HookedSite>,
    /// What has no hook and accesses memory, or may, in the order of the text. Accesses of
    /// parameters are not recorded, and are not in it.
    pub left_out: Vec<LeftOut>,
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
    let mut writer = HookWriter {
        prefix: names::free_prefix(&tokens),
        options: *options,
        module: &module,
        added: Vec::new(),
        sites: Vec::new(),
        left_out: Vec::new(),
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
        writer
            .added
            .insert(0, (module.head, hook::declaration(&writer.prefix)));
    }
    Ok(Instrumented {
        text: with_added(text, &writer.added),
        variable: hook::variable(&writer.prefix),
        target: module.target.to_owned(),
        sites: writer.sites,
        left_out: writer.left_out,
    })
}

/// The text with others at their places, which are in order.
fn with_added(text: &str, added: &[(usize, String)]) -> String {
    let more: usize = added.iter().map(|(_, added)| added.len()).sum();
    let mut whole = String::with_capacity(text.len() + more);
    let mut done = 0;
    for (at, added) in added {
        whole.push_str(&text[done..*at]);
        whole.push_str(added);
        done = *at;
    }
    whole.push_str(&text[done..]);
    whole
}

struct HookWriter<'a, 't> {
    prefix: String,
    options: InstrumentOptions,
    module: &'t ScannedModule<'a>,
    /// What is added, and before which byte.
    added: Vec<(usize, String)>,
    sites: Vec<HookedSite>,
    left_out: Vec<LeftOut>,
}

impl HookWriter<'_, '_> {
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
        if self.options.blocks && !matches!(body.items.first(), None | Some(Item::Label { .. })) {
            self.block(scanned.function, body.first, first_line(&body.items));
        }
        for item in &body.items {
            match item {
                Item::Label { after, line } if self.options.blocks => {
                    self.block(scanned.function, *after, *line);
                }
                Item::Label { .. } => {}
                Item::Instruction(instruction) => {
                    self.instruction(scanned.function, instruction);
                }
            }
        }
        if self.sites.len() > sites {
            let start = [
                (body.open, hook::registers(&self.prefix)),
                (body.first, format!("\n{}", hook::prologue(&self.prefix))),
            ];
            self.added.splice(added..added, start);
        }
    }

    fn instruction(&mut self, function: &str, instruction: &InstructionText<'_>) {
        match classify(instruction.opcode) {
            Opcode::Plain => {}
            Opcode::Jump => {
                if self.options.blocks && instruction.guard.is_some() {
                    self.block(function, instruction.after, instruction.line);
                }
            }
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
        let hook = Hook {
            site: self.sites.len(),
            guard: instruction.guard,
            address: Some(address),
            is_generic: form.space.is_none(),
        };
        let text = format!("\n{}", hook.text(&self.prefix));
        self.added.push((instruction.start, text));
        let AccessForm { space, kind, bytes } = form;
        self.sites.push(HookedSite {
            line: instruction.line,
            column: instruction.column,
            function: function.to_owned(),
            opcode: instruction.opcode.to_owned(),
            place: self.place(instruction.source),
            kind: HookKind::Access { space, kind, bytes },
        });
    }

    fn block(&mut self, function: &str, at: usize, line: u32) {
        let hook = Hook {
            site: self.sites.len(),
            guard: None,
            address: None,
            is_generic: false,
        };
        let text = format!("\n{}", hook.text(&self.prefix));
        self.added.push((at, text));
        self.sites.push(HookedSite {
            line,
            column: 0,
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

fn first_line(items: &[Item<'_>]) -> u32 {
    items.first().map_or(0, |item| match item {
        Item::Label { line, .. } => *line,
        Item::Instruction(instruction) => instruction.line,
    })
}
