//! Streams, events and graphs: as those of the runtime.

use super::super::{events, graphs, streams};
use super::as_runtime;

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
}
