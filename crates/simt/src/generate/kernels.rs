//! [`Kernel`]: the kernels whose streams can be generated, and what one thread of each accesses.
//!
//! The kernels are those of Garrido 2013, table 1, as far as its text and figure 28 show them;
//! arrays are in device memory one after the other, and parameters are read as compilers have them
//! read: once, at the start.

use reuselens_warp::{Space, WarpKind};

use crate::generate::ThreadAccess;
use crate::graph::Graph;

/// A kernel with a known access pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kernel {
    /// Static timing analysis: a gate's arrival time is the latest of its inputs'.
    Sta,
    /// Gate-level simulation: as `Sta`, and reads what the gate is.
    Gsim,
    /// Breadth-first search over the fan-in.
    Bfs,
    /// Sum of two vectors; the graph says only how long they are.
    VectorAdd,
    /// Non-bonded forces: one value of each neighbour.
    Nbf,
    /// Molecular dynamics: three coordinates of each neighbour, three forces.
    Moldyn,
    /// Differential equations on a mesh: a value of each neighbour, its result added to both ends.
    Irreg,
    /// Finite differences on a mesh: four values of each neighbour.
    Euler,
}

/// Arrays begin at multiples of this.
const ARRAY: u64 = 1 << 32;

impl Kernel {
    /// All of them.
    pub const ALL: [Kernel; 8] = [
        Kernel::Sta,
        Kernel::Gsim,
        Kernel::Bfs,
        Kernel::VectorAdd,
        Kernel::Nbf,
        Kernel::Moldyn,
        Kernel::Irreg,
        Kernel::Euler,
    ];

    /// What the literature calls it.
    pub const fn name(self) -> &'static str {
        match self {
            Kernel::Sta => "sta",
            Kernel::Gsim => "gsim",
            Kernel::Bfs => "bfs",
            Kernel::VectorAdd => "vectoradd",
            Kernel::Nbf => "nbf",
            Kernel::Moldyn => "moldyn",
            Kernel::Irreg => "irreg",
            Kernel::Euler => "euler",
        }
    }

    /// Its memory instructions.
    pub(super) const fn sites(self) -> &'static [&'static str] {
        match self {
            Kernel::VectorAdd => &[
                "param a", "param b", "param c", "param n", "a[i]", "b[i]", "c[i]",
            ],
            _ => &[
                "param 0",
                "param 1",
                "param 2",
                "param 3",
                "own 0",
                "own 1",
                "own 2",
                "own 3",
                "begins[i]",
                "ends[i]",
                "targets[k]",
                "of j 0",
                "of j 1",
                "of j 2",
                "of j 3",
                "result of j",
                "result 0",
                "result 1",
                "result 2",
                "result 3",
            ],
        }
    }

    /// How many threads it has.
    pub(super) fn threads(self, graph: &Graph) -> u32 {
        graph.nodes()
    }

    /// Values that are read of the node itself, of each neighbour, and written.
    const fn values(self) -> (u32, u32, u32) {
        match self {
            Kernel::Sta | Kernel::Bfs => (0, 1, 1),
            Kernel::Gsim | Kernel::Nbf | Kernel::Irreg => (1, 1, 1),
            Kernel::Moldyn => (3, 3, 3),
            Kernel::Euler => (4, 4, 4),
            Kernel::VectorAdd => (0, 0, 0),
        }
    }

    /// What thread `node` accesses, in order.
    pub(super) fn thread(self, graph: &Graph, node: u32, each: &mut dyn FnMut(ThreadAccess)) {
        for parameter in 0..4 {
            each(ThreadAccess {
                site: parameter,
                address: u64::from(parameter) * 8,
                space: Space::Parameter,
                kind: WarpKind::Load,
                bytes: 8,
            });
        }
        let mut global = |site: u32, kind: WarpKind, array: u64, index: u64| {
            each(ThreadAccess {
                site,
                address: array * ARRAY + index * 4,
                space: Space::Global,
                kind,
                bytes: 4,
            });
        };
        let own = u64::from(node);
        if self == Kernel::VectorAdd {
            global(4, WarpKind::Load, 1, own);
            global(5, WarpKind::Load, 2, own);
            global(6, WarpKind::Store, 3, own);
            return;
        }
        let (mine, theirs, results) = self.values();
        // `Gsim` reads a gate's kind from an array of its own. Other kernels read the same values
        // of the node as of its neighbours.
        let own_array = if self == Kernel::Gsim { 5 } else { 3 };
        for value in 0..mine {
            let index = own * u64::from(mine) + u64::from(value);
            global(4 + value, WarpKind::Load, own_array, index);
        }
        global(8, WarpKind::Load, 1, own);
        global(9, WarpKind::Load, 6, own);
        let start = graph.offsets[node as usize];
        for (at, &target) in graph.targets(node).iter().enumerate() {
            global(10, WarpKind::Load, 2, u64::from(start) + at as u64);
            for value in 0..theirs {
                let index = u64::from(target) * u64::from(theirs) + u64::from(value);
                global(11 + value, WarpKind::Load, 3, index);
            }
            if self == Kernel::Irreg {
                global(15, WarpKind::Atomic, 4, target.into());
            }
        }
        for value in 0..results {
            let index = own * u64::from(results) + u64::from(value);
            global(16 + value, WarpKind::Store, 4, index);
        }
    }
}
