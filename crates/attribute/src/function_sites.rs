//! One site for each function and kind of access, in modules without line numbers.
//!
//! A *group* is the accesses of one site to one object in one context and thread; `folding.rs` says
//! which groups get a cell each. In a module without line numbers, reports show functions in place
//! of lines, so two sites of one function differ in nothing but their offsets. Once the first
//! [`max_cells`](crate::Options::max_cells) groups have cells, the accesses of such a module
//! whose group has none count for the place where their function begins. If all accesses of such
//! modules did so from the start, Python's start would have 301,000 groups in place of 995,000:
//! `record/2026-11-25-epyc-2c-folding`.
//!
//! Run-time libraries of threads keep their sites, by which waits are known (`resolve.rs`).

use reuselens_trace::{Kind, Module};

use crate::hash::FastMap;
use crate::intervals::range_of;
use crate::known_names::{file_name, run_time};
use crate::places::CodePlace;
use crate::shared::{MAX_SITES, Shared};
use crate::sites::SiteKey;
use crate::symbol_source::SymbolSource;

/// Functions of modules without lines, and their sites.
#[derive(Debug, Default)]
pub(crate) struct FunctionSites {
    /// By module, in the order of addresses: where functions begin and end. Empty for modules with
    /// lines, and for run-time libraries of threads.
    functions: FastMap<u32, Vec<(u64, u64)>>,
    /// The site of a function, by where the function begins and by the kind of access.
    sites: FastMap<(CodePlace, Kind), u32>,
    /// By the site of an instruction, the answer of [`Shared::function_site`]. 0 if it was not
    /// asked for yet, or if the instruction had no module when it was; no answer that is kept is 0.
    answers: Vec<u32>,
}

impl FunctionSites {
    /// Whether any instruction counts for its function.
    pub fn are_used(&self) -> bool {
        !self.sites.is_empty()
    }

    /// Memory held.
    pub fn memory(&self) -> u64 {
        let ranges: usize = self.functions.values().map(Vec::capacity).sum();
        let sites = self.sites.capacity() * size_of::<((CodePlace, Kind), u32)>();
        (ranges * size_of::<(u64, u64)>() + sites + self.answers.capacity() * size_of::<u32>())
            as u64
    }

    /// Where the function begins that an instruction is in; `None` if its module has lines, or if
    /// its function is unknown.
    fn start(&self, place: CodePlace) -> Option<CodePlace> {
        let functions = self.functions.get(&place.module)?;
        let (address, _) = range_of(functions, place.address)?;
        Some(CodePlace { address, ..place })
    }
}

impl Shared {
    /// Remembers where the functions of a module begin and end, if the module has no lines.
    pub fn keep_functions(&mut self, number: u32, module: &Module, symbols: &mut dyn SymbolSource) {
        if self.with_function_sites && !self.function_sites.functions.contains_key(&number) {
            let functions = match run_time(file_name(&module.path)) {
                Some(_) => Vec::new(),
                None => symbols.functions_without_lines(module),
            };
            self.function_sites.functions.insert(number, functions);
        }
    }

    /// The site that stands for an instruction's function; the instruction's own if its module has
    /// lines, its function is unknown, or no site is free.
    pub fn function_site(&mut self, site: u32) -> u32 {
        let answer = self.function_sites.answers.get(site as usize);
        if let Some(&answer) = answer.filter(|answer| **answer != 0) {
            return answer;
        }
        let SiteKey { place, kind } = self.sites[site as usize];
        if place.module == CodePlace::NO_MODULE {
            // The answer is not kept: the module may turn up later. Site 0, the unknown one, ends
            // here too.
            return site;
        }
        let number = match self.function_sites.start(place) {
            Some(start) => self.site_at(start, kind).unwrap_or(site),
            None => site,
        };
        let answers = &mut self.function_sites.answers;
        if answers.len() < self.sites.len() {
            answers.resize(self.sites.len(), 0);
        }
        answers[site as usize] = number;
        number
    }

    /// The site of a function and a kind of access, made if it is new; `None` if no site is free.
    /// An instruction at the function's first address may have an equal site: the names at the end
    /// make them one (`resolve.rs`).
    fn site_at(&mut self, start: CodePlace, kind: Kind) -> Option<u32> {
        let sites = &mut self.function_sites.sites;
        if let Some(&site) = sites.get(&(start, kind)) {
            return Some(site);
        }
        let next = u32::try_from(self.sites.len()).ok()?;
        if self.sites.len() >= MAX_SITES {
            return None;
        }
        sites.insert((start, kind), next);
        self.sites.push(SiteKey { place: start, kind });
        Some(next)
    }
}
