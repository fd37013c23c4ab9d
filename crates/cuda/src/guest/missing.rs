//! Functions of CUDA's runtime that are not provided: they return CUDA's "operation not supported",
//! and the report names them. And functions that do what another does: by another name, or with
//! another stream as the default.

use super::errors::returned;
use super::modules::report_missing;
use crate::status::Status;

macro_rules! missing {
    ($($name:ident)*) => {
        $(
            #[unsafe(no_mangle)]
            extern "C" fn $name() -> u32 {
                refuse(stringify!($name))
            }
        )*
    };
}

fn refuse(name: &str) -> u32 {
    report_missing(name);
    returned(Err(Status::NOT_SUPPORTED))
}

/// Functions that do what another does. They pass on whatever they are given.
macro_rules! same {
    ($($name:ident = $function:path;)*) => {
        $(
            #[unsafe(no_mangle)]
            #[unsafe(naked)]
            extern "C" fn $name() {
                core::arch::naked_asm!("jmp {}", sym $function)
            }
        )*
    };
}

same! {
    cudaGraphInstantiateWithFlags = super::graphs::cudaGraphInstantiate;
    cudaEventElapsedTime_v2 = super::events::cudaEventElapsedTime;
    cudaMemAdvise_v2 = super::memory::cudaMemAdvise;
    cudaMemPrefetchAsync_v2 = super::memory::cudaMemPrefetchAsync;
    cudaMemPrefetchAsync_v2_ptsz = super::memory::cudaMemPrefetchAsync;
    cudaThreadExit = super::devices::cudaDeviceReset;
    cudaThreadGetLimit = super::devices::cudaDeviceGetLimit;
    cudaThreadSetCacheConfig = super::devices::cudaDeviceSetCacheConfig;
    cudaThreadSetLimit = super::devices::cudaDeviceSetLimit;
    cudaEventQuery = super::events::cudaEventSynchronize;
    cudaEventRecordWithFlags = super::events::cudaEventRecord;
    cudaStreamQuery = super::streams::cudaStreamSynchronize;
    cudaThreadSynchronize = super::devices::cudaDeviceSynchronize;
    cudaInitDevice = super::devices::cudaSetDevice;
    cudaHostAlloc = super::memory::cudaMallocHost;
    __cudaLaunchKernel = super::kernels::cudaLaunchKernel;
    __cudaLaunchKernel_ptsz = super::kernels::cudaLaunchKernel;
    cudaLaunchCooperativeKernel_ptsz = super::kernels::cudaLaunchCooperativeKernel;
    cudaGetFuncBySymbol = super::kernels::__cudaGetKernel;
    cudaGetKernel = super::kernels::__cudaGetKernel;
    cudaMemset3DAsync_ptsz = super::copies::cudaMemset3DAsync;
    cudaMemset3D_ptds = super::copies::cudaMemset3D;
    cudaStreamGetDevice_ptsz = super::streams::cudaStreamGetDevice;
    cudaStreamGetId_ptsz = super::streams::cudaStreamGetId;
    cudaEventRecordWithFlags_ptsz = super::events::cudaEventRecord;
    cudaEventRecord_ptsz = super::events::cudaEventRecord;
    cudaFreeAsync_ptsz = super::memory::cudaFreeAsync;
    cudaGraphLaunch_ptsz = super::graphs::cudaGraphLaunch;
    cudaGraphUpload_ptsz = super::graphs::cudaGraphUpload;
    cudaLaunchHostFunc_ptsz = super::kernels::cudaLaunchHostFunc;
    cudaLaunchKernelExC_ptsz = super::kernels::cudaLaunchKernelExC;
    cudaLaunchKernel_ptsz = super::kernels::cudaLaunchKernel;
    cudaMallocAsync_ptsz = super::pools::cudaMallocAsync;
    cudaMallocFromPoolAsync_ptsz = super::pools::cudaMallocFromPoolAsync;
    cudaMemPrefetchAsync_ptsz = super::memory::cudaMemPrefetchAsync;
    cudaMemcpy2DAsync_ptsz = super::copies::cudaMemcpy2DAsync;
    cudaMemcpy2D_ptds = super::copies::cudaMemcpy2D;
    cudaMemcpy3DAsync_ptsz = super::copies::cudaMemcpy3DAsync;
    cudaMemcpy3D_ptds = super::copies::cudaMemcpy3D;
    cudaMemcpy2DArrayToArray_ptds = super::arrays::cudaMemcpy2DArrayToArray;
    cudaMemcpy2DFromArrayAsync_ptsz = super::arrays::cudaMemcpy2DFromArrayAsync;
    cudaMemcpy2DFromArray_ptds = super::arrays::cudaMemcpy2DFromArray;
    cudaMemcpy2DToArrayAsync_ptsz = super::arrays::cudaMemcpy2DToArrayAsync;
    cudaMemcpy2DToArray_ptds = super::arrays::cudaMemcpy2DToArray;
    cudaMemcpyFromArrayAsync_ptsz = super::arrays::cudaMemcpyFromArrayAsync;
    cudaMemcpyFromArray_ptds = super::arrays::cudaMemcpyFromArray;
    cudaMemcpyToArrayAsync_ptsz = super::arrays::cudaMemcpyToArrayAsync;
    cudaMemcpyToArray_ptds = super::arrays::cudaMemcpyToArray;
    cudaMemcpyAsync_ptsz = super::copies::cudaMemcpyAsync;
    cudaMemcpyFromSymbolAsync_ptsz = super::copies::cudaMemcpyFromSymbolAsync;
    cudaMemcpyFromSymbol_ptds = super::copies::cudaMemcpyFromSymbol;
    cudaMemcpyToSymbolAsync_ptsz = super::copies::cudaMemcpyToSymbolAsync;
    cudaMemcpyToSymbol_ptds = super::copies::cudaMemcpyToSymbol;
    cudaMemcpy_ptds = super::copies::cudaMemcpy;
    cudaMemset2DAsync_ptsz = super::copies::cudaMemset2DAsync;
    cudaMemset2D_ptds = super::copies::cudaMemset2D;
    cudaMemsetAsync_ptsz = super::copies::cudaMemsetAsync;
    cudaMemset_ptds = super::copies::cudaMemset;
    cudaStreamAddCallback_ptsz = super::streams::cudaStreamAddCallback;
    cudaStreamBeginCapture_ptsz = super::streams::cudaStreamBeginCapture;
    cudaStreamEndCapture_ptsz = super::streams::cudaStreamEndCapture;
    cudaStreamGetFlags_ptsz = super::streams::cudaStreamGetFlags;
    cudaStreamGetPriority_ptsz = super::streams::cudaStreamGetPriority;
    cudaStreamIsCapturing_ptsz = super::streams::cudaStreamIsCapturing;
    cudaStreamQuery_ptsz = super::streams::cudaStreamSynchronize;
    cudaStreamSynchronize_ptsz = super::streams::cudaStreamSynchronize;
    cudaStreamWaitEvent_ptsz = super::streams::cudaStreamWaitEvent;
}

// The functions that the runtimes of CUDA 12.9 and 13.0 export, without those of the other files.
missing! {
    __cudaGetProcAddress __cudaRegisterHostVar __cudaRegisterUnifiedTable
    cudaArrayGetMemoryRequirements cudaArrayGetPlane cudaArrayGetSparseProperties
    cudaCtxResetPersistingL2Cache cudaDestroyExternalMemory cudaDestroyExternalSemaphore
    cudaDeviceDisablePeerAccess cudaDeviceEnablePeerAccess cudaDeviceFlushGPUDirectRDMAWrites
    cudaDeviceGetCacheConfig cudaDeviceGetGraphMemAttribute cudaDeviceGetHostAtomicCapabilities
    cudaDeviceGetNvSciSyncAttributes cudaDeviceGetP2PAtomicCapabilities cudaDeviceGetP2PAttribute
    cudaDeviceGetSharedMemConfig cudaDeviceGetTexture1DLinearMaxWidth cudaDeviceGraphMemTrim
    cudaDeviceRegisterAsyncNotification cudaDeviceSetGraphMemAttribute
    cudaDeviceUnregisterAsyncNotification cudaEGLStreamConsumerAcquireFrame
    cudaEGLStreamConsumerConnect cudaEGLStreamConsumerConnectWithFlags
    cudaEGLStreamConsumerDisconnect cudaEGLStreamConsumerReleaseFrame cudaEGLStreamProducerConnect
    cudaEGLStreamProducerDisconnect cudaEGLStreamProducerPresentFrame
    cudaEGLStreamProducerReturnFrame cudaEventCreateFromEGLSync cudaExternalMemoryGetMappedBuffer
    cudaExternalMemoryGetMappedMipmappedArray cudaFreeMipmappedArray cudaFuncGetName
    cudaFuncGetParamInfo cudaGLGetDevices cudaGLMapBufferObject cudaGLMapBufferObjectAsync
    cudaGLRegisterBufferObject cudaGLSetBufferObjectMapFlags cudaGLSetGLDevice
    cudaGLUnmapBufferObject cudaGLUnmapBufferObjectAsync cudaGLUnregisterBufferObject
    cudaGetDriverEntryPoint cudaGetDriverEntryPointByVersion cudaGetDriverEntryPointByVersion_ptsz
    cudaGetDriverEntryPoint_ptsz cudaGetExportTable cudaGetMipmappedArrayLevel
    cudaGetTextureObjectResourceViewDesc cudaGraphAddEventRecordNode cudaGraphAddEventWaitNode
    cudaGraphAddExternalSemaphoresSignalNode cudaGraphAddExternalSemaphoresWaitNode
    cudaGraphAddMemAllocNode cudaGraphAddMemFreeNode cudaGraphAddMemcpyNodeFromSymbol
    cudaGraphAddMemcpyNodeToSymbol cudaGraphAddNode cudaGraphAddNode_v2
    cudaGraphChildGraphNodeGetGraph cudaGraphConditionalHandleCreate cudaGraphDebugDotPrint
    cudaGraphEventRecordNodeGetEvent cudaGraphEventRecordNodeSetEvent cudaGraphEventWaitNodeGetEvent
    cudaGraphEventWaitNodeSetEvent cudaGraphExecChildGraphNodeSetParams
    cudaGraphExecEventRecordNodeSetEvent cudaGraphExecEventWaitNodeSetEvent
    cudaGraphExecExternalSemaphoresSignalNodeSetParams
    cudaGraphExecExternalSemaphoresWaitNodeSetParams cudaGraphExecGetFlags
    cudaGraphExecMemcpyNodeSetParamsFromSymbol cudaGraphExecMemcpyNodeSetParamsToSymbol
    cudaGraphExecNodeSetParams cudaGraphExternalSemaphoresSignalNodeGetParams
    cudaGraphExternalSemaphoresSignalNodeSetParams cudaGraphExternalSemaphoresWaitNodeGetParams
    cudaGraphExternalSemaphoresWaitNodeSetParams cudaGraphHostNodeGetParams
    cudaGraphInstantiateWithParams_ptsz cudaGraphKernelNodeCopyAttributes
    cudaGraphKernelNodeGetAttribute cudaGraphKernelNodeGetParams cudaGraphKernelNodeSetAttribute
    cudaGraphMemAllocNodeGetParams cudaGraphMemFreeNodeGetParams cudaGraphMemcpyNodeGetParams
    cudaGraphMemcpyNodeSetParamsFromSymbol cudaGraphMemcpyNodeSetParamsToSymbol
    cudaGraphMemsetNodeGetParams cudaGraphNodeGetEnabled cudaGraphNodeSetEnabled
    cudaGraphNodeSetParams cudaGraphicsEGLRegisterImage cudaGraphicsGLRegisterBuffer
    cudaGraphicsGLRegisterImage cudaGraphicsMapResources cudaGraphicsResourceGetMappedEglFrame
    cudaGraphicsResourceGetMappedMipmappedArray cudaGraphicsResourceGetMappedPointer
    cudaGraphicsResourceSetMapFlags cudaGraphicsSubResourceGetMappedArray cudaGraphicsUnmapResources
    cudaGraphicsUnregisterResource cudaGraphicsVDPAURegisterOutputSurface
    cudaGraphicsVDPAURegisterVideoSurface cudaImportExternalMemory cudaImportExternalSemaphore
    cudaIpcCloseMemHandle cudaIpcGetEventHandle cudaIpcGetMemHandle cudaIpcOpenEventHandle
    cudaIpcOpenMemHandle cudaKernelSetAttributeForDevice cudaLaunchCooperativeKernelMultiDevice
    cudaLibraryEnumerateKernels cudaLibraryGetGlobal cudaLibraryGetKernel cudaLibraryGetKernelCount
    cudaLibraryGetManaged cudaLibraryGetUnifiedFunction cudaLibraryLoadData cudaLibraryLoadFromFile
    cudaLibraryUnload cudaLogsCurrent cudaLogsDumpToFile cudaLogsDumpToMemory
    cudaLogsRegisterCallback cudaLogsUnregisterCallback cudaMallocMipmappedArray
    cudaMemDiscardAndPrefetchBatchAsync cudaMemDiscardAndPrefetchBatchAsync_ptsz
    cudaMemDiscardBatchAsync cudaMemDiscardBatchAsync_ptsz cudaMemPoolExportPointer
    cudaMemPoolExportToShareableHandle cudaMemPoolImportFromShareableHandle cudaMemPoolImportPointer
    cudaMemPrefetchBatchAsync cudaMemPrefetchBatchAsync_ptsz cudaMemRangeGetAttribute
    cudaMemRangeGetAttributes cudaMemcpy3DBatchAsync cudaMemcpy3DBatchAsync_ptsz cudaMemcpy3DPeer
    cudaMemcpy3DPeerAsync cudaMemcpy3DPeerAsync_ptsz cudaMemcpy3DPeer_ptds cudaMemcpyArrayToArray
    cudaMemcpyArrayToArray_ptds cudaMemcpyBatchAsync cudaMemcpyBatchAsync_ptsz cudaMemcpyPeerAsync
    cudaMipmappedArrayGetMemoryRequirements cudaMipmappedArrayGetSparseProperties
    cudaOccupancyMaxActiveClusters cudaOccupancyMaxPotentialClusterSize cudaSetDoubleForDevice
    cudaSetDoubleForHost cudaSetValidDevices cudaSignalExternalSemaphoresAsync
    cudaSignalExternalSemaphoresAsync_ptsz cudaSignalExternalSemaphoresAsync_v2
    cudaSignalExternalSemaphoresAsync_v2_ptsz cudaStreamAttachMemAsync cudaStreamAttachMemAsync_ptsz
    cudaStreamBeginCaptureToGraph cudaStreamBeginCaptureToGraph_ptsz cudaStreamCopyAttributes
    cudaStreamCopyAttributes_ptsz cudaStreamGetAttribute cudaStreamGetAttribute_ptsz
    cudaStreamGetCaptureInfo_ptsz cudaStreamGetCaptureInfo_v2_ptsz cudaStreamGetCaptureInfo_v3_ptsz
    cudaStreamSetAttribute cudaStreamSetAttribute_ptsz cudaStreamUpdateCaptureDependencies
    cudaStreamUpdateCaptureDependencies_ptsz cudaStreamUpdateCaptureDependencies_v2
    cudaStreamUpdateCaptureDependencies_v2_ptsz cudaThreadGetCacheConfig cudaVDPAUGetDevice
    cudaVDPAUSetVDPAUDevice cudaWaitExternalSemaphoresAsync cudaWaitExternalSemaphoresAsync_ptsz
    cudaWaitExternalSemaphoresAsync_v2 cudaWaitExternalSemaphoresAsync_v2_ptsz
}
