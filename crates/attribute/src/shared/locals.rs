//! Makes objects of local variables with a fixed place in their function's frame.
//!
//! Variables that overlap become one object. The loader leaves out small ones: arrays below 16
//! bytes and structures below 32. [`crate::locals`] has the layouts.

use std::fmt::Write;

use reuselens_trace::Module;

use super::Shared;
use crate::locals::{Local, LocalLayout};
use crate::objects::{ObjectKey, Where};
use crate::places::CodePlace;
use crate::shadow::NO_STRUCTURE;
use crate::symbol_source::{FrameLayout, LocalVariable, SymbolSource};

/// Names of variables in one place that are spelled out.
const NAMES: usize = 3;

impl Shared {
    /// Keeps what knows the frames of a module's functions.
    pub fn keep_frame_layouts(
        &mut self,
        number: u32,
        module: &Module,
        symbols: &mut dyn SymbolSource,
    ) {
        if self.is_totals_only || self.frame_layouts.contains_key(&number) {
            return;
        }
        if let Some(layouts) = symbols.frame_layouts(module) {
            self.frame_layouts.insert(number, layouts);
        }
    }

    /// Finds the variables in the frames of a function. `frames` is the object of those frames,
    /// `place` an instruction of the function.
    #[cold]
    pub(super) fn find_layout(&mut self, frames: u32, place: CodePlace) {
        let source = self.frame_layouts.get_mut(&place.module);
        let Some(layout) = source.and_then(|source| source.at(place.address)) else {
            return;
        };
        let FrameLayout { code, locals } = layout;
        let locals: Vec<Local> = together(locals)
            .into_iter()
            .map(|local| self.local(local, place.module))
            .collect();
        if locals.is_empty() {
            return;
        }
        let part = |(low, high): (u64, u64)| (low.wrapping_sub(place.address), high - low);
        let code = code.into_iter().filter(|(low, high)| low < high).map(part);
        let layout = self.layouts.add(LocalLayout {
            code: code.collect(),
            locals,
        });
        self.objects.set_layout(frames, layout);
    }

    /// A variable as an object.
    fn local(&mut self, variable: LocalVariable, module: u32) -> Local {
        let LocalVariable {
            below,
            bytes,
            name,
            file,
            element_bytes,
            layout,
        } = variable;
        let key = ObjectKey::Local { module, file, name };
        let object = self.objects.get_or_add(key, Where::Stack);
        let raw = self.objects.get_mut(object);
        // Variables of one name in one file are one object, and may have several types.
        let is_other = raw.layout.is_some() && raw.layout != layout;
        raw.layout = layout.filter(|_| !is_other);
        raw.element_bytes = element_bytes;
        if self.with_offsets {
            self.objects.spans.agree(object, element_bytes);
        }
        Local {
            below,
            bytes,
            object,
            element_bytes,
        }
    }

    /// A frame with the variables of a layout begins.
    pub fn begin_locals(&mut self, layout: u32) {
        for local in &self.layouts.get(layout).locals {
            self.objects.begin(local.object, local.bytes);
        }
    }

    /// A frame with the variables of a layout ends.
    pub fn end_locals(&mut self, layout: u32) {
        for local in &self.layouts.get(layout).locals {
            self.objects.end(local.object, local.bytes);
        }
    }

    /// The structure that counts the elements of a variable that begins at an address, if it has
    /// elements and they count.
    pub fn local_structure(&mut self, low: u64, local: &Local) -> u32 {
        let element = local.element_bytes;
        if !self.with_elements || element == 0 || element >= local.bytes {
            return NO_STRUCTURE;
        }
        self.structure(low, local.bytes, element, local.object)
    }
}

/// Variables in the order of their addresses, with those that overlap as one: compilers give one
/// place to variables of blocks that do not run at the same time. Those that are not all below the
/// canonical frame address are left out: they are arguments in the caller's frame.
fn together(mut variables: Vec<LocalVariable>) -> Vec<LocalVariable> {
    variables.retain(|local| 0 < local.bytes && local.bytes <= local.below);
    variables.sort_by(|a, b| (b.below, b.bytes, &a.name).cmp(&(a.below, a.bytes, &b.name)));
    let mut groups: Vec<Vec<LocalVariable>> = Vec::new();
    // How far below the canonical frame address the last group ends.
    let mut end = 0;
    for local in variables {
        let own_end = local.below - local.bytes;
        match groups.last_mut() {
            Some(group) if local.below > end => {
                end = own_end.min(end);
                group.push(local);
            }
            _ => {
                end = own_end;
                groups.push(vec![local]);
            }
        }
    }
    groups.into_iter().filter_map(one_of).collect()
}

/// Variables that share a place as one, `a/b in main`. They come in the order of their addresses.
fn one_of(group: Vec<LocalVariable>) -> Option<LocalVariable> {
    let end = group.iter().map(|local| local.below - local.bytes).min()?;
    let first = group.first()?.clone();
    let mut names: Vec<&str> = group.iter().map(|local| local.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let same_elements = |local: &LocalVariable| local.element_bytes == first.element_bytes;
    let are_alike = group.iter().all(same_elements);
    let is_one_type = group.iter().all(|local| local.layout == first.layout);
    Some(LocalVariable {
        bytes: first.below - end,
        name: joined(&names),
        element_bytes: if are_alike { first.element_bytes } else { 0 },
        layout: first.layout.filter(|_| is_one_type),
        ..first
    })
}

/// The names of variables that share a place: `a/b in main`, or `a in f/b in main` where functions
/// differ.
fn joined(names: &[&str]) -> String {
    let functions = names.iter().map(|name| name.split_once(" in "));
    let one = |function: &str| names.iter().all(|name| name.ends_with(function));
    let function = functions.flatten().map(|(_, function)| function).next();
    let common = function
        .map(|function| format!(" in {function}"))
        .filter(|end| one(end));
    let common = common.unwrap_or_default();
    let mut text = String::new();
    for (index, name) in names.iter().take(NAMES).enumerate() {
        let own = name.strip_suffix(common.as_str()).unwrap_or(name);
        text.push_str(if index == 0 { "" } else { "/" });
        text.push_str(own);
    }
    if names.len() > NAMES {
        // Writing to a string cannot fail.
        let _ = write!(text, "/{} more", names.len() - NAMES);
    }
    text + &common
}
