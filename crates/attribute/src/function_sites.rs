//! One site for each function and kind of access, in modules without line numbers.
//!
//! In a module without line numbers, lines show as functions, so the groups of its instructions
//! differ in nothing but offsets. Once the first [`max_cells`](crate::Options::max_cells) groups
//! have cells, the other accesses of such a module count for the place where their function begins.
//! If they did so from the start, Python's start would have 301,000 groups in place of 995,000:
//! `record/2026-11-25-epyc-2c-folding`.

use reuselens_trace::{Kind, Module};

use crate::hash::FastMap;
use crate::intervals::range_of;
use crate::places::CodePlace;
use crate::shared::{MAX_SITES, Shared};
use crate::sites::SiteKey;
use crate::symbols::SymbolSource;

/// Functions of modules without lines, and their sites.
#[derive(Debug, Default)]
pub(crate) struct FunctionSites {
    /// By module, in the order of addresses: where functions begin and end.
    functions: FastMap<u32, Vec<(u64, u64)>>,
    /// By what an instruction does, and where its function begins.
    sites: FastMap<(CodePlace, Kind), u32>,
    /// By the site of an instruction, the site of its function; 0 for those that were not asked
    /// for.
    known: Vec<u32>,
}

impl FunctionSites {
    /// Whether instructions count for their function.
    pub fn are_used(&self) -> bool {
        !self.sites.is_empty()
    }

    /// Memory held.
    pub fn memory(&self) -> u64 {
        let ranges: usize = self.functions.values().map(Vec::capacity).sum();
        let sites = self.sites.capacity() * size_of::<((CodePlace, Kind), u32)>();
        (ranges * size_of::<(u64, u64)>() + sites + self.known.capacity() * size_of::<u32>()) as u64
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
    /// Remembers the functions of a module without lines.
    pub fn keep_functions(&mut self, number: u32, module: &Module, symbols: &mut dyn SymbolSource) {
        if self.with_function_sites && !self.function_sites.functions.contains_key(&number) {
            let functions = symbols.functions_without_lines(module);
            self.function_sites.functions.insert(number, functions);
        }
    }

    /// The site that stands for an instruction's function; the instruction's own if its module has
    /// lines, its function is unknown, or no site is free.
    pub fn function_site(&mut self, site: u32) -> u32 {
        let known = self.function_sites.known.get(site as usize);
        if let Some(&known) = known.filter(|known| **known != 0) {
            return known;
        }
        let SiteKey { place, kind } = self.sites[site as usize];
        if place.module == CodePlace::NO_MODULE {
            // Its module may turn up later.
            return site;
        }
        let number = match self.function_sites.start(place) {
            Some(start) => self.site_at(start, kind).unwrap_or(site),
            None => site,
        };
        let known = &mut self.function_sites.known;
        if known.len() < self.sites.len() {
            known.resize(self.sites.len(), 0);
        }
        known[site as usize] = number;
        number
    }

    /// The site of what the instructions of a function do, made where there is room.
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
