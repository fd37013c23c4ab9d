//! What an attributor has to say at the end.

use reuselens_profile::{Context, ElementTypes, MissScope, Object, ProfiledThread, Site, Warning};

use crate::cells::CellKey;
use crate::elements::ElementKey;

/// The tables that the numbers of cells refer to. Only what was accessed is in them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tables {
    /// The instructions; 0 is the unknown one.
    pub sites: Vec<Site>,
    /// The objects; 0 is the unknown one.
    pub objects: Vec<Object>,
    /// What the elements of objects are: [`Columns::offsets`](crate::Columns::offsets) are within
    /// them. Their sizes are known where offsets are.
    pub element_types: ElementTypes,
    /// The calling context tree; 0 is the root, parents come before children.
    pub contexts: Vec<Context>,
    /// The threads, in the order in which they turned up.
    pub threads: Vec<ProfiledThread>,
    /// By the numbers in [`Columns::cells`](crate::Columns::cells). Two cells can have equal keys
    /// (their parts turned out to be the same only when they were named): add such cells up.
    pub cells: Vec<CellKey>,
    /// By the numbers in [`Columns::elements`](crate::Columns::elements); the first is none. Two
    /// can have equal keys, as cells can.
    pub elements: Vec<ElementKey>,
    /// The scopes that names were asked for, in their order.
    pub scopes: Vec<MissScope>,
    /// By site, whether it is a load in a loop in which a thread waits for another. All are false
    /// in a trace of one thread.
    pub waiting: Vec<bool>,
    /// What the reader must know.
    pub warnings: Vec<Warning>,
}
