//! Nodes that a program adds to a graph one by one. What a node does is checked as if it were
//! submitted to a stream.

use std::ffi::c_void;

use super::Dim3;
use super::copies::{self, Copy3D};
use super::errors::returned;
use super::graphs::{self, NodeKind};
use super::hook;
use super::kernels::{self, Configuration};
use super::memory::store;
use super::modules::report_missing;
use super::streams::collected;
use super::work::{Filling, Rows, Work};
use crate::status::Status;

/// A launch (`cudaKernelNodeParams`).
#[repr(C)]
pub struct KernelNode {
    kernel: usize,
    grid: Dim3,
    block: Dim3,
    shared_bytes: u32,
    arguments: *const *const u8,
    extra: *const usize,
}

/// A fill (`cudaMemsetParams`).
#[repr(C)]
pub struct FillNode {
    pub address: u64,
    pub pitch: usize,
    pub value: u32,
    pub element: u32,
    pub width: usize,
    pub height: usize,
}

/// A call of a function of the program (`cudaHostNodeParams`).
#[repr(C)]
pub struct CallNode {
    function: Option<extern "C" fn(*mut c_void)>,
    argument: usize,
}

/// What the program passes by its address.
///
/// # Safety
/// There is such a structure at the address, and nobody writes it while the reference is used; or
/// the address is null.
unsafe fn given<'a, T>(at: *const T) -> Result<&'a T, Status> {
    // SAFETY: the caller's.
    unsafe { at.as_ref() }.ok_or(Status::INVALID_VALUE)
}

/// A list of the program.
///
/// # Safety
/// It has as many entries as the program says.
pub unsafe fn list<'a, T>(at: *const T, count: usize) -> Result<&'a [T], Status> {
    match (count, at.is_null()) {
        (0, _) => Ok(&[]),
        (_, true) => Err(Status::INVALID_VALUE),
        // SAFETY: the caller's.
        _ => Ok(unsafe { std::slice::from_raw_parts(at, count) }),
    }
}

fn launch(node: *const KernelNode) -> Result<Vec<Work>, Status> {
    // SAFETY: the program passes a structure, or null, and does not change it during the call.
    let node = unsafe { given(node) }?;
    if !node.extra.is_null() {
        report_missing("cudaKernelNodeParams with extra");
        return Err(Status::NOT_SUPPORTED);
    }
    let shared = node.shared_bytes as usize;
    collected(|stream| {
        let configuration = Configuration::plain(node.grid, node.block, shared, stream);
        kernels::launch(node.kernel, configuration, node.arguments)
    })
}

fn copy(what: *const Copy3D) -> Result<Vec<Work>, Status> {
    collected(|stream| copies::copy_3d(what, stream))
}

fn copy_row(to: u64, from: u64, bytes: u64, direction: u32) -> Result<Vec<Work>, Status> {
    collected(|stream| copies::copy(Rows::plain(to, from, bytes), direction, stream))
}

/// The work of a fill.
pub fn fill(node: *const FillNode) -> Result<Vec<Work>, Status> {
    // SAFETY: the program passes a structure, or null, and does not change it during the call.
    let node = unsafe { given(node) }?;
    let bytes = node.width.checked_mul(node.element as usize);
    let bytes = bytes.filter(|_| matches!(node.element, 1 | 2 | 4));
    let filling = Filling {
        value: node.value,
        element: node.element.into(),
        rows: node.height as u64,
        pitch: node.pitch as u64,
        ..copies::row(node.address, 0, bytes.ok_or(Status::INVALID_VALUE)? as u64)
    };
    collected(|stream| copies::fill(filling, stream))
}

/// The work of a call.
pub fn call(node: *const CallNode) -> Result<Vec<Work>, Status> {
    // SAFETY: the program passes a structure, or null, and does not change it during the call.
    let node = unsafe { given(node) }?;
    let function = node.function.ok_or(Status::INVALID_VALUE)?;
    Ok(vec![Work::Call(function, node.argument)])
}

/// Adds a node after others; its handle goes to `to`.
///
/// # Safety
/// There are as many others as `count` says.
pub unsafe fn add(
    to: *mut usize,
    graph: usize,
    (after, count): (*const usize, usize),
    kind: NodeKind,
    work: Result<Vec<Work>, Status>,
) -> Result<(), Status> {
    // SAFETY: the caller's.
    let after = unsafe { list(after, count) }?;
    store(to, graphs::add_node(graph, after, kind, work?)?)
}

/// Functions that add a node: name, what else they get, kind, work.
macro_rules! adding {
    ($($name:ident($($argument:ident: $type:ty),*) = $kind:ident $work:expr;)*) => { $(
        #[unsafe(no_mangle)]
        #[allow(clippy::too_many_arguments, reason = "CUDA's")]
        pub extern "C" fn $name(
            to: *mut usize,
            graph: usize,
            after: *const usize,
            count: usize,
            $($argument: $type),*
        ) -> u32 {
            // SAFETY: the program says how many it passes.
            returned(unsafe { add(to, graph, (after, count), NodeKind::$kind, $work) })
        }
    )* };
}

adding! {
    cudaGraphAddKernelNode(node: *const KernelNode) = Kernel launch(node);
    cudaGraphAddMemcpyNode(node: *const Copy3D) = Copy copy(node);
    cudaGraphAddMemcpyNode1D(target: u64, from: u64, bytes: u64, direction: u32) =
        Copy copy_row(target, from, bytes, direction);
    cudaGraphAddMemsetNode(node: *const FillNode) = Fill fill(node);
    cudaGraphAddHostNode(node: *const CallNode) = Call call(node);
    cudaGraphAddEmptyNode() = Empty Ok(Vec::new());
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGraphAddChildGraphNode(
    to: *mut usize,
    graph: usize,
    after: *const usize,
    count: usize,
    child: usize,
) -> u32 {
    // SAFETY: the program says how many it passes.
    let after = unsafe { list(after, count) };
    let handle = after.and_then(|after| graphs::add_child(graph, after, child));
    returned(handle.and_then(|handle| store(to, handle)))
}

/// Functions that give a node other work, in its graph and in what was made ready of that: names,
/// what they get, kind, work.
macro_rules! changing {
    ($($name:ident $ready:ident($($argument:ident: $type:ty),*) = $kind:ident $work:expr;)*) => { $(
        #[unsafe(no_mangle)]
        pub extern "C" fn $name(node: usize, $($argument: $type),*) -> u32 {
            let work: Result<Vec<Work>, Status> = $work;
            returned(work.and_then(|work| graphs::set_work(None, node, NodeKind::$kind, work)))
        }

        #[unsafe(no_mangle)]
        pub extern "C" fn $ready(ready: usize, node: usize, $($argument: $type),*) -> u32 {
            let work: Result<Vec<Work>, Status> = $work;
            returned(work.and_then(|work| {
                graphs::set_work(Some(ready), node, NodeKind::$kind, work)
            }))
        }
    )* };
}

changing! {
    cudaGraphKernelNodeSetParams cudaGraphExecKernelNodeSetParams(what: *const KernelNode) =
        Kernel launch(what);
    cudaGraphMemcpyNodeSetParams cudaGraphExecMemcpyNodeSetParams(what: *const Copy3D) =
        Copy copy(what);
    cudaGraphMemcpyNodeSetParams1D cudaGraphExecMemcpyNodeSetParams1D(
        to: u64, from: u64, bytes: u64, direction: u32
    ) = Copy copy_row(to, from, bytes, direction);
    cudaGraphMemsetNodeSetParams cudaGraphExecMemsetNodeSetParams(what: *const FillNode) =
        Fill fill(what);
    cudaGraphHostNodeSetParams cudaGraphExecHostNodeSetParams(what: *const CallNode) =
        Call call(what);
}

/// Adds or takes away edges between nodes of two lists.
///
/// # Safety
/// The lists are as long as `count` says.
pub unsafe fn change_edges(
    graph: usize,
    (from, to): (*const usize, *const usize),
    count: usize,
    is_added: bool,
) -> Result<(), Status> {
    // SAFETY: the caller's.
    let (from, to) = unsafe { (list(from, count)?, list(to, count)?) };
    let edges: Vec<_> = from.iter().copied().zip(to.iter().copied()).collect();
    graphs::change_edges(graph, &edges, is_added)
}

/// Functions with a list for the data of edges before their last argument from CUDA 13 on, and in
/// CUDA 12 by the name that ends with `_v2`. In CUDA 12 the last argument is in the list's place.
macro_rules! with_edge_data {
    ($($name:ident $second:ident(
        $first:ident: $first_type:ty, $next:ident: $next_type:ty $(, $more:ident: $more_type:ty)?
    ; $last:ident: $last_type:ty) = $work:expr;)*) => { $(
        #[unsafe(no_mangle)]
        pub extern "C" fn $name(
            $first: $first_type,
            $next: $next_type,
            $($more: $more_type,)?
            data_or_last: $last_type,
            $last: $last_type,
        ) -> u32 {
            let $last = if hook::is_cuda_12() { data_or_last } else { $last };
            $work
        }

        #[unsafe(no_mangle)]
        pub extern "C" fn $second(
            $first: $first_type,
            $next: $next_type,
            $($more: $more_type,)?
            _data: usize,
            $last: $last_type,
        ) -> u32 {
            $work
        }
    )* };
}

with_edge_data! {
    cudaGraphAddDependencies cudaGraphAddDependencies_v2(
        graph: usize, from: *const usize, to: *const usize; count: usize
    ) = {
        // SAFETY: the program says how long its lists are.
        returned(unsafe { change_edges(graph, (from, to), count, true) })
    };
    cudaGraphRemoveDependencies cudaGraphRemoveDependencies_v2(
        graph: usize, from: *const usize, to: *const usize; count: usize
    ) = {
        // SAFETY: as above.
        returned(unsafe { change_edges(graph, (from, to), count, false) })
    };
    cudaGraphNodeGetDependencies cudaGraphNodeGetDependencies_v2(
        node: usize, room: *mut usize; count: *mut usize
    ) = graphs::give_before(node, room, count);
    cudaGraphNodeGetDependentNodes cudaGraphNodeGetDependentNodes_v2(
        node: usize, room: *mut usize; count: *mut usize
    ) = graphs::give_after(node, room, count);
}
