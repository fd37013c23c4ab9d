//! The places in the source that a [`KernelReport`] has, with the calls that lead there: of memory
//! instructions, basic blocks, branches, guarded and all instructions, and accesses that were left
//! out.

use std::sync::Arc;

use reuselens_warp::DeviceCall;

use crate::KernelReport;

impl KernelReport {
    /// Puts another place, and the calls that lead there, in for each one for which `moved` has
    /// one. It is asked with a place (`file:line` or `file:line:column`) and its calls, the
    /// outermost first, and returns those that lead to the other place.
    pub fn move_places(
        &mut self,
        moved: impl for<'c> Fn(&str, &'c [DeviceCall]) -> Option<(String, &'c [DeviceCall])>,
    ) {
        for site in &mut self.by_site {
            if let Some((place, calls)) = moved(&site.code.place, &site.code.calls) {
                (site.code.place, site.code.calls) = (place, calls.into());
            }
        }
        for executed in &mut self.branches.instructions {
            // The place that is put in has no column.
            if moved(&executed.place, &executed.calls).is_some() {
                executed.column = 0;
            }
        }
        for (place, calls) in self.places_of_flow() {
            if let Some((other, leading)) = moved(place, calls) {
                (*place, *calls) = (other.into(), leading.into());
            }
        }
    }

    /// Gives the kernel, and the functions in all calls, the names that `named` makes of theirs.
    pub fn name_functions(&mut self, named: impl Fn(&str) -> String) {
        let renamed = |calls: &mut Arc<[DeviceCall]>| {
            if calls.is_empty() {
                return;
            }
            let calls_of = calls.iter().map(|call| DeviceCall {
                function: named(&call.function),
                ..call.clone()
            });
            *calls = calls_of.collect();
        };
        self.kernel = named(&self.kernel);
        let sites = self.by_site.iter_mut();
        sites.for_each(|site| renamed(&mut site.code.calls));
        self.places_of_flow().for_each(|(_, calls)| renamed(calls));
    }

    /// The places of all but memory instructions that were executed.
    fn places_of_flow(&mut self) -> impl Iterator<Item = (&mut Arc<str>, &mut Arc<[DeviceCall]>)> {
        let branches = &mut self.branches;
        let blocks = branches.basic_blocks.iter_mut();
        let splits = branches.branches.iter_mut();
        let guarded = branches.guarded.iter_mut();
        let instructions = branches.instructions.iter_mut();
        let left_out = self.left_out.iter_mut();
        blocks
            .map(|it| (&mut it.place, &mut it.calls))
            .chain(splits.map(|it| (&mut it.place, &mut it.calls)))
            .chain(guarded.map(|it| (&mut it.place, &mut it.calls)))
            .chain(instructions.map(|it| (&mut it.place, &mut it.calls)))
            .chain(left_out.map(|it| (&mut it.place, &mut it.calls)))
    }
}
