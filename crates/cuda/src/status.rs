//! [`Status`]: the results of CUDA's functions, as numbers that programs know.

/// What a function of CUDA returned. The numbers are those of `cudaError_t`, equal in CUDA 11 to
/// 13.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Status(pub u32);

/// One line of the table below: a constant, CUDA's name, and what CUDA says of it.
macro_rules! statuses {
    ($($constant:ident $number:literal $name:literal $text:literal;)*) => {
        impl Status {
            $(#[doc = $text] pub const $constant: Status = Status($number);)*
        }

        /// Number, name and words, the last two with a zero at their ends.
        const NAMES: &[(u32, &str, &str)] = &[
            $(($number, concat!($name, "\0"), concat!($text, "\0")),)*
        ];
    };
}

statuses! {
    SUCCESS 0 "cudaSuccess" "no error";
    INVALID_VALUE 1 "cudaErrorInvalidValue" "invalid argument";
    MEMORY_ALLOCATION 2 "cudaErrorMemoryAllocation" "out of memory";
    INITIALIZATION 3 "cudaErrorInitializationError" "initialization error";
    INVALID_CONFIGURATION 9 "cudaErrorInvalidConfiguration" "invalid configuration argument";
    INVALID_PITCH 12 "cudaErrorInvalidPitchValue" "invalid pitch argument";
    INVALID_SYMBOL 13 "cudaErrorInvalidSymbol" "invalid device symbol";
    INVALID_CHANNELS 20 "cudaErrorInvalidChannelDescriptor" "invalid channel descriptor";
    INVALID_DIRECTION 21 "cudaErrorInvalidMemcpyDirection" "invalid copy direction for memcpy";
    INVALID_FILTER 26 "cudaErrorInvalidFilterSetting"
        "linear filtering not supported for non-float type";
    INVALID_NORMALIZED 27 "cudaErrorInvalidNormSetting"
        "read as normalized float not supported for 32-bit non float type";
    INVALID_FUNCTION 98 "cudaErrorInvalidDeviceFunction" "invalid device function";
    INVALID_DEVICE 101 "cudaErrorInvalidDevice" "invalid device ordinal";
    INVALID_IMAGE 200 "cudaErrorInvalidKernelImage" "device kernel image is invalid";
    INVALID_CONTEXT 201 "cudaErrorDeviceUninitialized" "invalid device context";
    NO_IMAGE 209 "cudaErrorNoKernelImageForDevice"
        "no kernel image is available for execution on the device";
    INVALID_PTX 218 "cudaErrorInvalidPtx" "a PTX JIT compilation failed";
    FILE_NOT_FOUND 301 "cudaErrorFileNotFound" "file not found";
    INVALID_HANDLE 400 "cudaErrorInvalidResourceHandle" "invalid resource handle";
    NOT_FOUND 500 "cudaErrorSymbolNotFound" "named symbol not found";
    ILLEGAL_ADDRESS 700 "cudaErrorIllegalAddress" "an illegal memory access was encountered";
    OUT_OF_RESOURCES 701 "cudaErrorLaunchOutOfResources"
        "too many resources requested for launch";
    TIMEOUT 702 "cudaErrorLaunchTimeout" "the launch timed out and was terminated";
    ASSERT 710 "cudaErrorAssert" "device-side assert triggered";
    HARDWARE_STACK 714 "cudaErrorHardwareStackError" "hardware stack error";
    HOST_NOT_REGISTERED 713 "cudaErrorHostMemoryNotRegistered"
        "pointer does not correspond to a registered memory region";
    HOST_REGISTERED 712 "cudaErrorHostMemoryAlreadyRegistered"
        "part or all of the requested memory range is already mapped";
    ILLEGAL_INSTRUCTION 715 "cudaErrorIllegalInstruction"
        "an illegal instruction was encountered";
    MISALIGNED 716 "cudaErrorMisalignedAddress" "misaligned address";
    INVALID_PC 718 "cudaErrorInvalidPc" "invalid program counter";
    LAUNCH_FAILURE 719 "cudaErrorLaunchFailure" "unspecified launch failure";
    COOPERATIVE_TOO_LARGE 720 "cudaErrorCooperativeLaunchTooLarge"
        "too many blocks in cooperative launch";
    NOT_SUPPORTED 801 "cudaErrorNotSupported" "operation not supported";
    GRAPH_UPDATE 910 "cudaErrorGraphExecUpdateFailure"
        "the graph update was not performed because it included changes which violated constraints specific to instantiated graph update";
    CAPTURE_UNSUPPORTED 900 "cudaErrorStreamCaptureUnsupported"
        "operation not permitted when stream is capturing";
    CAPTURE_INVALIDATED 901 "cudaErrorStreamCaptureInvalidated"
        "operation failed due to a previous error during capture";
    UNKNOWN 999 "cudaErrorUnknown" "unknown error";
}

impl Status {
    /// Whether a kernel that did this ends all work of its program on the device.
    pub fn is_fatal(self) -> bool {
        matches!(
            self,
            Status::ILLEGAL_ADDRESS
                | Status::TIMEOUT
                | Status::ASSERT
                | Status::ILLEGAL_INSTRUCTION
                | Status::MISALIGNED
                | Status::HARDWARE_STACK
                | Status::INVALID_PC
                | Status::LAUNCH_FAILURE
        )
    }

    /// Its name as C reads it.
    pub fn c_name(self) -> &'static str {
        self.known()
            .map_or("unrecognized error code\0", |known| known.1)
    }

    /// What CUDA says of it, as C reads it.
    pub fn c_text(self) -> &'static str {
        self.known()
            .map_or("unrecognized error code\0", |known| known.2)
    }

    fn known(self) -> Option<&'static (u32, &'static str, &'static str)> {
        NAMES.iter().find(|known| known.0 == self.0)
    }
}
