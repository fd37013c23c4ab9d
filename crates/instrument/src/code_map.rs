//! [`CodeMap`]: where the instructions of a file with hooks are in a kernel that the interpreter
//! has decoded. A function that a kernel calls in several places is in the kernel once for each.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use reuselens_ptx::Kernel;

use crate::site::{HookKind, Instrumented};
use crate::steps::{CodeStep, StepAct};

/// Chains of calls that have a number of their own.
const MOST_CONTEXTS: usize = 1 << 12;

/// A chain of calls that leads from a kernel to a function.
#[derive(Clone, Debug)]
struct CallChain {
    /// Its number among those that lead to the same function, in the order of the code.
    rank: u32,
    /// Those that go on from here, by the step that calls.
    calls: HashMap<u32, u32>,
}

/// Where the instructions of a file are in a kernel.
#[derive(Clone, Debug)]
pub struct CodeMap {
    steps: Vec<CodeStep>,
    /// By the site: its step.
    of_site: HashMap<u32, u32>,
    /// By the site of a basic block: its steps.
    blocks: HashMap<u32, Range<u32>>,
    /// By the site of a basic block: its function.
    functions: HashMap<u32, String>,
    /// By the name of a function: the site of its first basic block.
    entries: HashMap<String, u32>,
    /// By line and column: the sites of the kernel, in its order.
    numbers: HashMap<(u32, u32), Vec<u32>>,
    /// By line and column: the step.
    places: BTreeMap<(u32, u32), u32>,
    contexts: Vec<CallChain>,
}

impl CodeMap {
    /// Of a file with hooks for its flow, and a kernel that was decoded of the same file.
    ///
    /// Cost: linear in the instructions, and in the chains of calls.
    pub fn new(instrumented: &Instrumented, kernel: &Kernel) -> CodeMap {
        let steps = instrumented.steps.clone();
        let mut map = CodeMap {
            of_site: HashMap::new(),
            blocks: HashMap::new(),
            functions: HashMap::new(),
            entries: HashMap::new(),
            numbers: HashMap::new(),
            places: BTreeMap::new(),
            contexts: Vec::new(),
            steps,
        };
        for (number, site) in (0..).zip(&instrumented.sites) {
            if site.kind == HookKind::Block {
                let function = &site.function;
                map.entries.entry(function.clone()).or_insert(number);
                map.functions.insert(number, function.clone());
            }
        }
        for (number, step) in (0..).zip(&map.steps) {
            map.places.insert((step.line, step.column), number);
            map.of_site.extend(step.site.map(|site| (site, number)));
            let steps = map.blocks.entry(step.block).or_insert(number..number);
            steps.end = number + 1;
        }
        for (number, site) in (0..).zip(kernel.sites()) {
            let place = (site.position.line, site.position.column);
            map.numbers.entry(place).or_default().push(number);
        }
        map.find_contexts(kernel.name());
        map
    }

    /// Follows calls in the order of the code, as the interpreter puts functions into kernels.
    fn find_contexts(&mut self, kernel: &str) {
        let mut ranks: HashMap<&str, u32> = HashMap::new();
        let mut by_function: HashMap<&str, Vec<u32>> = HashMap::new();
        for (number, step) in (0..).zip(&self.steps) {
            if let (StepAct::Call(_), Some(function)) = (&step.act, self.functions.get(&step.block))
            {
                by_function.entry(function).or_default().push(number);
            }
        }
        let mut contexts = vec![CallChain {
            rank: 0,
            calls: HashMap::new(),
        }];
        // A chain of calls, and which calls of its last function come next.
        let mut chain: Vec<(&str, u32, usize)> = vec![(kernel, 0, 0)];
        while let Some((function, context, next)) = chain.last_mut() {
            let calls = by_function.get(function).map_or(&[][..], Vec::as_slice);
            let Some(&step) = calls.get(*next) else {
                chain.pop();
                continue;
            };
            *next += 1;
            let (parent, StepAct::Call(callee)) = (*context, &self.steps[step as usize].act) else {
                continue;
            };
            // Of functions that call themselves there is one.
            let is_again = chain.iter().any(|(function, ..)| function == callee);
            let has_body = self.entries.contains_key(callee);
            if is_again || !has_body || contexts.len() >= MOST_CONTEXTS {
                continue;
            }
            let rank = ranks.entry(callee).or_insert(0);
            let number = contexts.len() as u32;
            contexts[parent as usize].calls.insert(step, number);
            contexts.push(CallChain {
                rank: *rank,
                calls: HashMap::new(),
            });
            *rank += 1;
            chain.push((callee, number, 0));
        }
        self.contexts = contexts;
    }

    /// The step of a site that is no basic block.
    pub fn step_of_site(&self, site: u32) -> Option<u32> {
        self.of_site.get(&site).copied()
    }

    /// A step.
    pub fn step(&self, step: u32) -> &CodeStep {
        &self.steps[step as usize]
    }

    /// The steps of a basic block.
    pub fn steps_of(&self, block: u32) -> Range<u32> {
        self.blocks.get(&block).cloned().unwrap_or_default()
    }

    /// The step of the instruction at a place, or of the one before it: the interpreter has some
    /// operations more than there are instructions.
    pub fn step_at(&self, line: u32, column: u32) -> Option<&CodeStep> {
        let (_, step) = self.places.range(..=(line, column)).next_back()?;
        Some(self.step(*step))
    }

    /// The function that a basic block is in.
    pub fn function(&self, block: u32) -> Option<&str> {
        self.functions.get(&block).map(String::as_str)
    }

    /// Whether a step calls the function that begins with this basic block.
    pub fn calls(&self, step: u32, block: u32) -> bool {
        match &self.step(step).act {
            StepAct::Call(callee) => match self.entries.get(callee) {
                Some(&entry) => entry == block,
                // A register has the address of some function.
                None => self.entries.values().any(|&entry| entry == block),
            },
            _ => false,
        }
    }

    /// Whether a step calls the function of an address in a register.
    pub fn is_indirect(&self, step: u32) -> bool {
        match &self.step(step).act {
            StepAct::Call(callee) => !self.entries.contains_key(callee),
            _ => false,
        }
    }

    /// The chain of calls that a call of another chain leads to.
    pub fn called(&self, context: u32, step: u32) -> u32 {
        let calls = &self.contexts[context as usize].calls;
        calls.get(&step).copied().unwrap_or(context)
    }

    /// Whether lanes that are done with a basic block return from its function.
    pub fn returns(&self, block: u32) -> bool {
        let last = self.steps_of(block).next_back();
        last.is_some_and(|step| self.step(step).act == StepAct::Return)
    }

    /// Which of several copies of its function a chain of calls leads to.
    pub fn rank(&self, context: u32) -> u32 {
        self.contexts[context as usize].rank
    }

    /// The kernel's site of a step in a chain of calls; none if the interpreter has none.
    pub fn number(&self, step: u32, context: u32) -> Option<u32> {
        let step = self.step(step);
        let numbers = self.numbers.get(&(step.line, step.column))?;
        let copy = numbers.get(self.rank(context) as usize);
        copy.or(numbers.first()).copied()
    }
}
