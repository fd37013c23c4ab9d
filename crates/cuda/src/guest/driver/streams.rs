//! Streams, events and graphs: as those of the runtime.

use std::ffi::c_void;

use super::super::graph_nodes::{self, CallNode, FillNode, KernelNode};
use super::super::graphs::{Instantiation, NodeKind};
use super::super::{events, graphs, streams, user_objects};
use super::memory::{DriverCopy3D, copy_3d};
use super::{as_runtime, in_context, runtime_in_context};

/// What a stream calls when it gets there: stream, result, argument.
type Callback = Option<extern "C" fn(usize, u32, usize)>;

as_runtime! {
    cuStreamCreate(to: *mut usize, flags: u32) = streams::cudaStreamCreateWithFlags;
    cuStreamCreateWithPriority(to: *mut usize, flags: u32, priority: i32) =
        streams::cudaStreamCreateWithPriority;
    cuStreamDestroy_v2(stream: usize) = streams::cudaStreamDestroy;
    cuStreamSynchronize(stream: usize) = streams::cudaStreamSynchronize;
    cuStreamQuery(stream: usize) = streams::cudaStreamSynchronize;
    cuStreamWaitEvent(stream: usize, event: usize, flags: u32) = streams::cudaStreamWaitEvent;
    cuStreamGetFlags(stream: usize, to: *mut u32) = streams::cudaStreamGetFlags;
    cuStreamGetPriority(stream: usize, to: *mut i32) = streams::cudaStreamGetPriority;
    cuStreamGetId(stream: usize, to: *mut u64) = streams::cudaStreamGetId;
    cuStreamGetDevice(stream: usize, to: *mut i32) = streams::cudaStreamGetDevice;
    cuStreamAddCallback(stream: usize, call: Callback, argument: usize, flags: u32) =
        streams::cudaStreamAddCallback;
    cuStreamBeginCapture_v2(stream: usize, mode: u32) = streams::cudaStreamBeginCapture;
    cuStreamGetCaptureInfo(stream: usize, status: *mut u32, number: *mut u64) = capture_info;
    cuStreamGetCaptureInfo_v2(
        stream: usize, status: *mut u32, number: *mut u64, graph: *mut usize,
        nodes: *mut *const usize, count: *mut usize
    ) = streams::cudaStreamGetCaptureInfo_v2;
    cuStreamGetCaptureInfo_v3(
        stream: usize, status: *mut u32, number: *mut u64, graph: *mut usize,
        nodes: *mut *const usize, edges: *mut *const u64, count: *mut usize
    ) = streams::cudaStreamGetCaptureInfo_v3;
    cuThreadExchangeStreamCaptureMode(mode: *mut u32) =
        streams::cudaThreadExchangeStreamCaptureMode;
    cuUserObjectCreate(
        to: *mut usize, address: usize, destroy: Option<extern "C" fn(*mut c_void)>, held: u32,
        flags: u32
    ) = user_objects::cudaUserObjectCreate;
    cuUserObjectRetain(object: usize, count: u32) = user_objects::cudaUserObjectRetain;
    cuUserObjectRelease(object: usize, count: u32) = user_objects::cudaUserObjectRelease;
    cuGraphRetainUserObject(graph: usize, object: usize, count: u32, flags: u32) =
        user_objects::cudaGraphRetainUserObject;
    cuGraphReleaseUserObject(graph: usize, object: usize, count: u32) =
        user_objects::cudaGraphReleaseUserObject;
    cuGraphInstantiateWithParams(to: *mut usize, graph: usize, how: *mut Instantiation) =
        graphs::cudaGraphInstantiateWithParams;
    cuStreamEndCapture(stream: usize, to: *mut usize) = streams::cudaStreamEndCapture;
    cuStreamIsCapturing(stream: usize, to: *mut u32) = streams::cudaStreamIsCapturing;
    cuEventCreate(to: *mut usize, flags: u32) = events::cudaEventCreateWithFlags;
    cuEventDestroy_v2(event: usize) = events::cudaEventDestroy;
    cuEventRecord(event: usize, stream: usize) = events::cudaEventRecord;
    cuEventSynchronize(event: usize) = events::cudaEventSynchronize;
    cuEventQuery(event: usize) = events::cudaEventSynchronize;
    cuEventElapsedTime(to: *mut f32, from: usize, until: usize) = events::cudaEventElapsedTime;
    cuEventElapsedTime_v2(to: *mut f32, from: usize, until: usize) = events::cudaEventElapsedTime;
    cuGraphInstantiateWithFlags(to: *mut usize, graph: usize) = graphs::cudaGraphInstantiate;
    cuGraphLaunch(ready: usize, stream: usize) = graphs::cudaGraphLaunch;
    cuGraphUpload(ready: usize, stream: usize) = graphs::cudaGraphUpload;
    cuGraphDestroy(graph: usize) = graphs::cudaGraphDestroy;
    cuGraphExecDestroy(ready: usize) = graphs::cudaGraphExecDestroy;
    cuGraphCreate(to: *mut usize, flags: u32) = graphs::cudaGraphCreate;
    cuGraphClone(to: *mut usize, graph: usize) = graphs::cudaGraphClone;
    cuGraphDestroyNode(node: usize) = graphs::cudaGraphDestroyNode;
    cuGraphExecUpdate_v2(ready: usize, graph: usize, result: *mut [usize; 3]) =
        graphs::cudaGraphExecUpdate;
    cuGraphGetNodes(graph: usize, room: *mut usize, count: *mut usize) = graphs::cudaGraphGetNodes;
    cuGraphGetRootNodes(graph: usize, room: *mut usize, count: *mut usize) =
        graphs::cudaGraphGetRootNodes;
    cuGraphGetEdges_v2(
        graph: usize, from: *mut usize, to: *mut usize, data: *mut usize, count: *mut usize
    ) = graphs::cudaGraphGetEdges_v2;
    cuGraphNodeGetType(node: usize, to: *mut u32) = graphs::cudaGraphNodeGetType;
    cuGraphAddKernelNode(
        to: *mut usize, graph: usize, after: *const usize, count: usize, node: *const KernelNode
    ) = graph_nodes::cudaGraphAddKernelNode;
    cuGraphAddKernelNode_v2(
        to: *mut usize, graph: usize, after: *const usize, count: usize, node: *const KernelNode
    ) = graph_nodes::cudaGraphAddKernelNode;
    cuGraphAddHostNode(
        to: *mut usize, graph: usize, after: *const usize, count: usize, node: *const CallNode
    ) = graph_nodes::cudaGraphAddHostNode;
    cuGraphAddEmptyNode(to: *mut usize, graph: usize, after: *const usize, count: usize) =
        graph_nodes::cudaGraphAddEmptyNode;
    cuGraphAddChildGraphNode(
        to: *mut usize, graph: usize, after: *const usize, count: usize, child: usize
    ) = graph_nodes::cudaGraphAddChildGraphNode;
    cuGraphAddDependencies_v2(
        graph: usize, from: *const usize, to: *const usize, data: usize, count: usize
    ) = graph_nodes::cudaGraphAddDependencies_v2;
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGraphAddMemcpyNode(
    to: *mut usize,
    graph: usize,
    after: *const usize,
    count: usize,
    what: *const DriverCopy3D,
    _context: usize,
) -> u32 {
    in_context(|| {
        let work = streams::collected(|stream| copy_3d(what, stream));
        // SAFETY: the program says how many it passes.
        unsafe { graph_nodes::add(to, graph, (after, count), NodeKind::Copy, work) }
    })
}

/// That of a stream without what later versions of the function say.
extern "C" fn capture_info(stream: usize, status: *mut u32, number: *mut u64) -> u32 {
    let (none, nodes) = (std::ptr::null_mut(), std::ptr::null_mut());
    streams::cudaStreamGetCaptureInfo_v2(stream, status, number, none, nodes, none)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGraphAddMemsetNode(
    to: *mut usize,
    graph: usize,
    after: *const usize,
    count: usize,
    node: *const FillNode,
    _context: usize,
) -> u32 {
    runtime_in_context(|| graph_nodes::cudaGraphAddMemsetNode(to, graph, after, count, node))
}
