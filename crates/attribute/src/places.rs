//! Code, found again after the program has gone: a module and an offset in it.

use reuselens_trace::Module;

/// An instruction (the one before a return address) in a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct CodePlace {
    /// Index among all modules; [`CodePlace::NO_MODULE`] where there was none.
    pub module: u32,
    /// Address as in the module's file; without a module, the address in memory.
    pub address: u64,
}

impl CodePlace {
    pub const NO_MODULE: u32 = u32::MAX;
    /// No place at all.
    pub const UNKNOWN: CodePlace = CodePlace {
        module: Self::NO_MODULE,
        address: 0,
    };
}

/// The modules that a process has mapped now.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mappings {
    /// First address, first after, bias, index among all modules.
    list: Vec<(u64, u64, u64, u32)>,
}

impl Mappings {
    /// Adds a module in place of those that it overlaps; whether there were any.
    pub fn add(&mut self, module: &Module, index: u32) -> bool {
        let before = self.list.len();
        self.list
            .retain(|(low, high, _, _)| module.high <= *low || *high <= module.low);
        let replaced = self.list.len() < before;
        self.list
            .push((module.low, module.high, module.bias, index));
        replaced
    }

    /// Where the instruction before a return address is. 0 is nowhere.
    pub fn place(&self, return_address: u64) -> CodePlace {
        if return_address == 0 {
            return CodePlace::UNKNOWN;
        }
        let address = return_address - 1;
        let found = self
            .list
            .iter()
            .find(|(low, high, _, _)| (*low..*high).contains(&address));
        match found {
            Some(&(_, _, bias, module)) => CodePlace {
                module,
                address: address.wrapping_sub(bias),
            },
            None => CodePlace {
                module: CodePlace::NO_MODULE,
                address,
            },
        }
    }
}
