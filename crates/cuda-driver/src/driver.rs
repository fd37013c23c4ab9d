//! [`Driver`]: the functions of CUDA's driver that a device needs, with a context of one GPU.
//!
//! All unsafe code of the crate is here. What the driver is given is right by construction: the
//! host's memory is slices, addresses of the GPU are inside of blocks that this context has
//! ([`Driver::check`]), and handles are those of modules that are loaded.

use std::collections::{BTreeMap, HashMap};
use std::ffi::{CStr, CString, OsStr, c_char, c_void};
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::call::{Failure, PreparedLaunch};
use crate::device::DriverDevice;
use crate::error::DriverError;

/// The driver's library, as the loader finds it.
const LIBRARY: &str = "libcuda.so.1";
/// CUDA 11.0, whose drivers take PTX 7.0.
const OLDEST: i32 = 11_000;

/// What functions return where all is well.
const SUCCESS: u32 = 0;
/// What a GPU returns while it works (`CUDA_ERROR_NOT_READY`).
pub const NOT_READY: u32 = 600;
/// More parameters than a kernel can have: they take 32,764 bytes at most.
const MOST_PARAMS: usize = 1 << 15;
/// Room for what the driver's compiler says of PTX.
const LOG_BYTES: usize = 4096;

/// A module that a [`Driver`] loaded, by a number that no other module of the process has. The
/// driver's own handles are addresses, which a later module may have again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ModuleHandle(u64);

impl ModuleHandle {
    fn next() -> ModuleHandle {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        ModuleHandle(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// A kernel of a module, which ends with the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelHandle {
    module: ModuleHandle,
    /// The driver's handle.
    function: usize,
    /// Bytes of the parameters.
    param_bytes: u64,
}

/// Memory that the driver gave.
#[derive(Clone, Copy, Debug)]
struct OwnedBlock {
    bytes: u64,
    owner: BlockOwner,
}

/// Who gives a block back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BlockOwner {
    /// [`Driver::free`], with the address that the driver gave.
    Caller { base: u64 },
    /// The module whose variable it is.
    Module(ModuleHandle),
}

/// The table of functions: field, name in the library, types of arguments.
macro_rules! functions {
    ($($field:ident $name:literal ($($argument:ty),*);)*) => {
        #[derive(Clone, Copy, Debug)]
        struct Functions {
            $($field: unsafe extern "C" fn($($argument),*) -> u32,)*
        }

        impl Functions {
            fn of(library: &Library) -> Result<Functions, DriverError> {
                Ok(Functions {
                    $($field: {
                        let found = library.symbol(concat!($name, "\0"));
                        let found = found.ok_or(DriverError::Missing { function: $name })?;
                        // SAFETY: the driver's function of this name has these arguments and
                        // returns a number of 32 bits, by its documentation. The library is never
                        // closed.
                        unsafe {
                            std::mem::transmute::<
                                *mut c_void,
                                unsafe extern "C" fn($($argument),*) -> u32,
                            >(found)
                        }
                    },)*
                })
            }
        }
    };
}

functions! {
    init "cuInit" (u32);
    error_name "cuGetErrorName" (u32, *mut *const c_char);
    error_text "cuGetErrorString" (u32, *mut *const c_char);
    device_count "cuDeviceGetCount" (*mut i32);
    device "cuDeviceGet" (*mut i32, i32);
    retain "cuDevicePrimaryCtxRetain" (*mut usize, i32);
    release "cuDevicePrimaryCtxRelease_v2" (i32);
    enter "cuCtxSetCurrent" (usize);
    set_limit "cuCtxSetLimit" (u32, usize);
    limit "cuCtxGetLimit" (*mut usize, u32);
    memory "cuMemGetInfo_v2" (*mut usize, *mut usize);
    allocate "cuMemAlloc_v2" (*mut u64, usize);
    free "cuMemFree_v2" (u64);
    to_device "cuMemcpyHtoD_v2" (u64, *const c_void, usize);
    to_host "cuMemcpyDtoH_v2" (*mut c_void, u64, usize);
    on_device "cuMemcpyDtoD_v2" (u64, u64, usize);
    fill_bytes "cuMemsetD8_v2" (u64, u8, usize);
    fill_halves "cuMemsetD16_v2" (u64, u16, usize);
    fill_words "cuMemsetD32_v2" (u64, u32, usize);
    load "cuModuleLoadDataEx" (*mut usize, *const c_void, u32, *const u32, *mut *mut c_void);
    unload "cuModuleUnload" (usize);
    kernel "cuModuleGetFunction" (*mut usize, usize, *const c_char);
    variable "cuModuleGetGlobal_v2" (*mut u64, *mut usize, usize, *const c_char);
    attribute "cuFuncGetAttribute" (*mut i32, u32, usize);
    set_attribute "cuFuncSetAttribute" (usize, u32, i32);
    launch "cuLaunchKernel"
        (usize, u32, u32, u32, u32, u32, u32, u32, usize, *const *mut c_void, *const *const c_void);
    launch_cooperative "cuLaunchCooperativeKernel"
        (usize, u32, u32, u32, u32, u32, u32, u32, usize, *const *mut c_void);
    query "cuStreamQuery" (usize);
    synchronize "cuStreamSynchronize" (usize);
}

/// `cuFuncGetParamInfo`: kernel, number of the parameter, its offset and bytes.
type ParamInfo = unsafe extern "C" fn(usize, usize, *mut usize, *mut usize) -> u32;

/// The driver's library, which stays open: code of it may run until the process ends.
struct Library(*mut c_void);

impl Library {
    /// Opens a library.
    ///
    /// # Safety
    /// The library's own code may run in this process.
    unsafe fn open(path: &OsStr) -> Result<Library, DriverError> {
        let refused = |why: String| DriverError::NoLibrary { why };
        let name = CString::new(path.as_bytes()).map_err(|error| refused(error.to_string()))?;
        // SAFETY: a string. What runs when the library is loaded is the caller's choice.
        let library = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW) };
        if library.is_null() {
            // SAFETY: no arguments. The text is this thread's until its next call of the loader.
            let why = unsafe { libc::dlerror() };
            // SAFETY: null, or a string of the loader.
            let why = unsafe { text_at(why) };
            return Err(refused(why.unwrap_or_else(|| "no reason".to_owned())));
        }
        Ok(Library(library))
    }

    /// The address of what has this name, which ends with a zero.
    fn symbol(&self, name: &str) -> Option<*mut c_void> {
        debug_assert!(name.ends_with('\0'));
        // SAFETY: a library that is open, and a string with its end.
        let found = unsafe { libc::dlsym(self.0, name.as_ptr().cast()) };
        (!found.is_null()).then_some(found)
    }
}

/// The text of a string in C; none for a null pointer.
///
/// # Safety
/// Null, or a string with its end that stays while this runs.
unsafe fn text_at(at: *const c_char) -> Option<String> {
    // SAFETY: the caller's.
    (!at.is_null()).then(|| unsafe { CStr::from_ptr(at) }.to_string_lossy().into_owned())
}

/// The version of the driver of a library, as CUDA has it: 11040 is 11.4. Asked for before all
/// else: an older driver may lack the other functions.
fn version(library: &Library) -> Result<i32, DriverError> {
    const CALL: &str = "cuDriverGetVersion";
    let found = library.symbol("cuDriverGetVersion\0");
    let found = found.ok_or(DriverError::Missing { function: CALL })?;
    // SAFETY: the type of the driver's function of this name, by its documentation.
    let function: unsafe extern "C" fn(*mut i32) -> u32 = unsafe { std::mem::transmute(found) };
    let mut version = 0;
    // SAFETY: room for a number.
    match unsafe { function(&raw mut version) } {
        SUCCESS => Ok(version),
        code => Err(DriverError::Start {
            call: CALL,
            code: code.to_string(),
        }),
    }
}

/// A context of one GPU, and the memory that it has.
#[derive(Debug)]
pub struct Driver {
    functions: Functions,
    /// Drivers from CUDA 12.4 on have it.
    param_info: Option<ParamInfo>,
    device: i32,
    context: usize,
    /// By their first addresses.
    blocks: BTreeMap<u64, OwnedBlock>,
    /// The driver's handles of the modules that are loaded.
    modules: HashMap<ModuleHandle, usize>,
    version: i32,
}

impl DriverDevice {
    /// As [`open`](Self::open), with another library than `libcuda.so.1`.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    ///
    /// # Safety
    /// The library's code runs in this process. Its functions must have the types and do what the
    /// functions of the same names in NVIDIA's driver do.
    pub unsafe fn open_library(library: &OsStr, number: u32) -> Result<DriverDevice, DriverError> {
        // SAFETY: the caller's library is a driver.
        unsafe { Driver::open_library(library, number) }.map(DriverDevice::new)
    }
}

impl Driver {
    /// Opens the driver of this machine, starts it, and enters the context of a GPU that all of
    /// this process share (the primary one).
    pub fn open(number: u32) -> Result<Driver, DriverError> {
        // SAFETY: the library that the machine has under the name of NVIDIA's driver.
        unsafe { Driver::open_library(LIBRARY.as_ref(), number) }
    }

    /// The same with another library.
    ///
    /// # Safety
    /// The library is a driver: its functions do what those of `libcuda.so.1` do.
    unsafe fn open_library(library: &OsStr, number: u32) -> Result<Driver, DriverError> {
        // SAFETY: a driver, whose code is to run.
        let library = unsafe { Library::open(library) }?;
        let version = version(&library)?;
        if version < OLDEST {
            let oldest = OLDEST;
            return Err(DriverError::Old { version, oldest });
        }
        let functions = Functions::of(&library)?;
        let param_info = library.symbol("cuFuncGetParamInfo\0");
        let mut driver = Driver {
            functions,
            // SAFETY: the type of the driver's function of this name, by its documentation. The
            // library is never closed.
            param_info: param_info
                .map(|found| unsafe { std::mem::transmute::<*mut c_void, ParamInfo>(found) }),
            device: 0,
            context: 0,
            blocks: BTreeMap::new(),
            modules: HashMap::new(),
            version,
        };
        let start = |driver: &Driver, failure: Failure| DriverError::Start {
            call: failure.call,
            code: driver.name(failure.code),
        };
        let (mut count, mut device, mut context) = (0, 0, 0);
        // SAFETY: a number.
        done("cuInit", unsafe { (functions.init)(0) }).map_err(|it| start(&driver, it))?;
        // SAFETY: room for a number.
        let counted = unsafe { (functions.device_count)(&raw mut count) };
        done("cuDeviceGetCount", counted).map_err(|it| start(&driver, it))?;
        let place = i32::try_from(number).ok().filter(|&place| place < count);
        let place = place.ok_or(DriverError::NoDevice { number, count })?;
        // SAFETY: room for a number.
        let found = unsafe { (functions.device)(&raw mut device, place) };
        done("cuDeviceGet", found).map_err(|it| start(&driver, it))?;
        // SAFETY: room for a handle, and a device of the driver.
        let retained = unsafe { (functions.retain)(&raw mut context, device) };
        done("cuDevicePrimaryCtxRetain", retained).map_err(|it| start(&driver, it))?;
        (driver.device, driver.context) = (device, context);
        driver.enter().map_err(|it| start(&driver, it))?;
        Ok(driver)
    }

    /// The version of CUDA that the driver is for: 11040 is 11.4.
    pub fn version(&self) -> i32 {
        self.version
    }

    /// The name and text of a code.
    pub fn name(&self, code: u32) -> String {
        let ask = |function: unsafe extern "C" fn(u32, *mut *const c_char) -> u32| {
            let mut text = std::ptr::null();
            // SAFETY: room for a pointer.
            let found = unsafe { function(code, &raw mut text) } == SUCCESS;
            // SAFETY: a string of the driver, which stays, or null.
            unsafe { text_at(text) }.filter(|_| found)
        };
        let name = ask(self.functions.error_name);
        let name = name.unwrap_or_else(|| format!("error {code}"));
        match ask(self.functions.error_text) {
            Some(text) => format!("{name} ({text})"),
            None => name,
        }
    }

    /// Enters the context: calls may come from any thread, and each has its own.
    pub fn enter(&self) -> Result<(), Failure> {
        // SAFETY: the context is retained until `drop`.
        done("cuCtxSetCurrent", unsafe {
            (self.functions.enter)(self.context)
        })
    }

    /// Bytes of memory that are free, and all.
    pub fn memory(&self) -> Result<(u64, u64), Failure> {
        self.enter()?;
        let (mut free, mut all) = (0, 0);
        // SAFETY: room for two numbers.
        done("cuMemGetInfo", unsafe {
            (self.functions.memory)(&raw mut free, &raw mut all)
        })?;
        Ok((free as u64, all as u64))
    }

    /// Takes memory at a multiple of `alignment`, which is a power of two; its address.
    pub fn allocate(&mut self, bytes: u64, alignment: u64) -> Result<u64, Failure> {
        /// Multiples of this are all addresses that the driver gives.
        const ALIGNMENT: u64 = 256;
        assert!(alignment.is_power_of_two());
        self.enter()?;
        let spare = if alignment > ALIGNMENT { alignment } else { 0 };
        let size = bytes.max(1).checked_add(spare);
        // More than there can be: the driver says so.
        let size = usize::try_from(size.unwrap_or(u64::MAX)).unwrap_or(usize::MAX);
        let mut base = 0;
        // SAFETY: room for an address.
        done("cuMemAlloc", unsafe {
            (self.functions.allocate)(&raw mut base, size)
        })?;
        let address = base.next_multiple_of(alignment);
        let owner = BlockOwner::Caller { base };
        self.blocks.insert(address, OwnedBlock { bytes, owner });
        Ok(address)
    }

    /// Gives memory back; none if no block that was taken begins there.
    pub fn free(&mut self, address: u64) -> Option<Result<(), Failure>> {
        let BlockOwner::Caller { base } = self.blocks.get(&address)?.owner else {
            return None;
        };
        self.blocks.remove(&address);
        // SAFETY: memory of this context that nothing names any more.
        Some(
            self.enter()
                .and_then(|()| done("cuMemFree", unsafe { (self.functions.free)(base) })),
        )
    }

    /// Whether bytes are all in one block.
    pub fn check(&self, address: u64, bytes: u64) -> bool {
        let before = self.blocks.range(..=address).next_back();
        before.is_some_and(|(&first, block)| {
            let end = address.checked_add(bytes);
            end.is_some_and(|end| end - first <= block.bytes)
        })
    }

    /// Waits until all that was begun is done: copies to and on the GPU and fills may return
    /// earlier. `call` is the function that returned `code`; a later error of its work is reported
    /// as the function's.
    fn finish(&self, call: &'static str, code: u32) -> Result<(), Failure> {
        done(call, code)?;
        // SAFETY: the stream that is always there.
        done(call, unsafe { (self.functions.synchronize)(NO_STREAM) })
    }

    /// Copies to the GPU; `address` is checked.
    pub fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), Failure> {
        assert!(self.check(address, bytes.len() as u64));
        self.enter()?;
        let from = bytes.as_ptr().cast();
        // SAFETY: as many bytes in this process and in a block of the GPU.
        self.finish("cuMemcpyHtoD", unsafe {
            (self.functions.to_device)(address, from, bytes.len())
        })
    }

    /// Copies from the GPU; `address` is checked.
    pub fn read(&self, address: u64, to: &mut [u8]) -> Result<(), Failure> {
        assert!(self.check(address, to.len() as u64));
        self.enter()?;
        let room = to.as_mut_ptr().cast();
        // SAFETY: as `write`. The copy has ended when the function returns.
        done("cuMemcpyDtoH", unsafe {
            (self.functions.to_host)(room, address, to.len())
        })
    }

    /// Copies on the GPU; both places are checked and do not overlap.
    pub fn copy(&mut self, to: u64, from: u64, bytes: u64) -> Result<(), Failure> {
        assert!(self.check(to, bytes) && self.check(from, bytes));
        assert!(to.abs_diff(from) >= bytes);
        self.enter()?;
        // SAFETY: as many bytes in blocks of the GPU.
        self.finish("cuMemcpyDtoD", unsafe {
            (self.functions.on_device)(to, from, bytes as usize)
        })
    }

    /// Fills with bytes; the place is checked.
    pub fn fill_bytes(&mut self, address: u64, value: u8, count: u64) -> Result<(), Failure> {
        assert!(self.check(address, count));
        self.enter()?;
        // SAFETY: as many bytes in a block of the GPU.
        self.finish("cuMemsetD8", unsafe {
            (self.functions.fill_bytes)(address, value, count as usize)
        })
    }

    /// Fills with halves of words; the place is checked.
    pub fn fill_halves(&mut self, address: u64, value: u16, count: u64) -> Result<(), Failure> {
        assert!(self.check(address, count.saturating_mul(2)));
        self.enter()?;
        // SAFETY: as `fill_bytes`.
        self.finish("cuMemsetD16", unsafe {
            (self.functions.fill_halves)(address, value, count as usize)
        })
    }

    /// Fills with words; the place is checked.
    pub fn fill_words(&mut self, address: u64, value: u32, count: u64) -> Result<(), Failure> {
        assert!(self.check(address, count.saturating_mul(4)));
        self.enter()?;
        // SAFETY: as `fill_bytes`.
        self.finish("cuMemsetD32", unsafe {
            (self.functions.fill_words)(address, value, count as usize)
        })
    }

    /// Loads a module from PTX. After an error also what the driver's compiler says.
    pub fn load(&mut self, ptx: &CStr) -> Result<ModuleHandle, (Failure, String)> {
        // SAFETY: a string with its end.
        unsafe { self.load_image(ptx.as_ptr().cast()) }
    }

    /// Loads a module from a fat binary or a file of machine code. After an error also what the
    /// driver says. The bytes are copied to a multiple of 8, followed by zeros.
    pub fn load_machine_code(&mut self, code: &[u8]) -> Result<ModuleHandle, (Failure, String)> {
        let mut words = vec![0_u64; code.len().div_ceil(8) + 8];
        for (word, bytes) in words.iter_mut().zip(code.chunks(8)) {
            let mut whole = [0; 8];
            whole[..bytes.len()].copy_from_slice(bytes);
            *word = u64::from_le_bytes(whole);
        }
        // SAFETY: an image whose head says how long it is. It is the program's own, which CUDA
        // would get as it is.
        unsafe { self.load_image(words.as_ptr().cast()) }
    }

    /// Loads a module.
    ///
    /// # Safety
    /// PTX with its end, a fat binary, or a file of machine code.
    unsafe fn load_image(
        &mut self,
        image: *const c_void,
    ) -> Result<ModuleHandle, (Failure, String)> {
        const LOG: u32 = 5;
        const LOG_SIZE: u32 = 6;
        self.enter().map_err(|failure| (failure, String::new()))?;
        let mut log = vec![0_u8; LOG_BYTES];
        let options = [LOG, LOG_SIZE];
        let size = std::ptr::without_provenance_mut(LOG_BYTES - 1);
        let mut values: [*mut c_void; 2] = [log.as_mut_ptr().cast(), size];
        let mut handle = 0;
        // SAFETY: room for a handle, the caller's image, and two options with a value each. The
        // first value is room for as many bytes as the second says. The driver replaces the second
        // value by the bytes that it wrote.
        let loaded = unsafe {
            (self.functions.load)(
                &raw mut handle,
                image,
                options.len() as u32,
                options.as_ptr(),
                values.as_mut_ptr(),
            )
        };
        done("cuModuleLoadDataEx", loaded).map_err(|failure| {
            let text = log.split(|&byte| byte == 0).next().unwrap_or_default();
            let text = String::from_utf8_lossy(text);
            (failure, text.trim().to_owned())
        })?;
        let module = ModuleHandle::next();
        self.modules.insert(module, handle);
        Ok(module)
    }

    /// The driver's handle of a module.
    ///
    /// # Panics
    /// If the module is not loaded, or another `Driver` loaded it.
    fn loaded(&self, module: ModuleHandle) -> usize {
        let handle = self.modules.get(&module);
        *handle.expect("a module that is loaded")
    }

    /// The driver's handle of a kernel.
    ///
    /// # Panics
    /// As [`loaded`](Self::loaded) for its module.
    fn function(&self, kernel: KernelHandle) -> usize {
        self.loaded(kernel.module);
        kernel.function
    }

    /// Ends a module that is loaded, with its kernels and variables.
    pub fn unload(&mut self, module: ModuleHandle) -> Result<(), Failure> {
        let handle = self.loaded(module);
        self.modules.remove(&module);
        self.blocks
            .retain(|_, block| block.owner != BlockOwner::Module(module));
        self.enter()?;
        // SAFETY: a module that was loaded, and that nothing names any more.
        done("cuModuleUnload", unsafe { (self.functions.unload)(handle) })
    }

    /// A kernel of a module that is loaded. `param_bytes` are those of the parameters that the PTX
    /// of the kernel declares.
    pub fn kernel(
        &self,
        module: ModuleHandle,
        name: &CStr,
        param_bytes: u64,
    ) -> Result<KernelHandle, Failure> {
        let loaded = self.loaded(module);
        self.enter()?;
        let mut function = 0;
        // SAFETY: room for a handle, a module that is loaded, a string.
        done("cuModuleGetFunction", unsafe {
            (self.functions.kernel)(&raw mut function, loaded, name.as_ptr())
        })?;
        Ok(KernelHandle {
            module,
            function,
            param_bytes,
        })
    }

    /// Offset and bytes of each parameter of a kernel of machine code that is loaded; none if the
    /// driver does not report them.
    pub fn params(
        &self,
        module: ModuleHandle,
        name: &CStr,
    ) -> Result<Option<Vec<(u64, u64)>>, Failure> {
        let kernel = self.kernel(module, name, 0)?;
        let Some(param_info) = self.param_info else {
            return Ok(None);
        };
        let mut params = Vec::new();
        loop {
            let (mut offset, mut bytes) = (0, 0);
            // SAFETY: a kernel of a module that is loaded, and room for two numbers. A number that
            // no parameter has is an error.
            let found = unsafe {
                param_info(
                    self.function(kernel),
                    params.len(),
                    &raw mut offset,
                    &raw mut bytes,
                )
            };
            if found != SUCCESS || params.len() >= MOST_PARAMS {
                return Ok(Some(params));
            }
            params.push((offset as u64, bytes as u64));
        }
    }

    /// Address and bytes of a variable of a module that is loaded.
    pub fn variable(&mut self, module: ModuleHandle, name: &CStr) -> Result<(u64, u64), Failure> {
        let loaded = self.loaded(module);
        self.enter()?;
        let (mut address, mut bytes) = (0, 0);
        // SAFETY: room for two numbers, a module that is loaded, a string.
        done("cuModuleGetGlobal", unsafe {
            (self.functions.variable)(&raw mut address, &raw mut bytes, loaded, name.as_ptr())
        })?;
        let bytes = bytes as u64;
        let owner = BlockOwner::Module(module);
        self.blocks.insert(address, OwnedBlock { bytes, owner });
        Ok((address, bytes))
    }

    /// A property of a kernel, by its number (`CUfunction_attribute`).
    pub fn attribute(&self, kernel: KernelHandle, number: u32) -> Result<u64, Failure> {
        let function = self.function(kernel);
        self.enter()?;
        let mut value = 0;
        // SAFETY: room for a number, and a kernel of a module that is loaded.
        done("cuFuncGetAttribute", unsafe {
            (self.functions.attribute)(&raw mut value, number, function)
        })?;
        Ok(value.max(0) as u64)
    }

    /// Permits launches of a kernel that add this much shared memory.
    pub fn permit_shared(&mut self, kernel: KernelHandle, bytes: u32) -> Result<(), Failure> {
        const MAX_DYNAMIC_SHARED: u32 = 8;
        let function = self.function(kernel);
        self.enter()?;
        let bytes = i32::try_from(bytes).unwrap_or(i32::MAX);
        // SAFETY: a kernel of a module that is loaded.
        done("cuFuncSetAttribute", unsafe {
            (self.functions.set_attribute)(function, MAX_DYNAMIC_SHARED, bytes)
        })
    }

    /// Bytes of a thread's stack.
    pub fn stack(&self) -> Result<u64, Failure> {
        let mut bytes = 0;
        self.enter()?;
        // SAFETY: room for a number.
        done("cuCtxGetLimit", unsafe {
            (self.functions.limit)(&raw mut bytes, STACK)
        })?;
        Ok(bytes as u64)
    }

    /// Sets the bytes of a thread's stack.
    pub fn set_stack(&mut self, bytes: u64) -> Result<(), Failure> {
        self.set_limit(STACK, bytes)
    }

    /// Sets the bytes of the heap that kernels allocate from.
    pub fn set_heap(&mut self, bytes: u64) -> Result<(), Failure> {
        self.set_limit(HEAP, bytes)
    }

    fn set_limit(&mut self, limit: u32, bytes: u64) -> Result<(), Failure> {
        self.enter()?;
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        // SAFETY: two numbers.
        done("cuCtxSetLimit", unsafe {
            (self.functions.set_limit)(limit, bytes)
        })
    }

    /// Begins a kernel of a module that is loaded, after all that was begun before.
    pub fn launch(
        &mut self,
        kernel: KernelHandle,
        launch: PreparedLaunch<'_>,
    ) -> Result<(), Failure> {
        let function = self.function(kernel);
        assert_eq!(launch.params.len() as u64, kernel.param_bytes);
        self.enter()?;
        if let Some(params) = launch.cooperative_params {
            return self.launch_cooperative(function, launch, params);
        }
        let ([a, b, c], [x, y, z]) = (launch.grid, launch.block);
        let (shared, first) = (launch.shared_bytes, launch.params.as_mut_ptr());
        let bytes = launch.params.len();
        let extra: [*const c_void; 5] = [
            BUFFER,
            first.cast_const().cast(),
            BUFFER_BYTES,
            (&raw const bytes).cast(),
            END,
        ];
        // A kernel without parameters takes no buffer.
        let extra = if bytes == 0 {
            std::ptr::null()
        } else {
            extra.as_ptr()
        };
        // SAFETY: a kernel and a list with its end, of a buffer with as many bytes as the kernel
        // declares, which the driver copies. What a kernel does is bounded by what the GPU lets it
        // reach.
        done("cuLaunchKernel", unsafe {
            (self.functions.launch)(
                function,
                a,
                b,
                c,
                x,
                y,
                z,
                shared,
                NO_STREAM,
                std::ptr::null(),
                extra,
            )
        })
    }

    /// Begins a kernel whose blocks all run at the same time, in the context. `function` is the
    /// driver's handle of a kernel that is loaded, `params` are offset and bytes of each parameter.
    fn launch_cooperative(
        &self,
        function: usize,
        launch: PreparedLaunch<'_>,
        params: &[(u64, u64)],
    ) -> Result<(), Failure> {
        let ([a, b, c], [x, y, z]) = (launch.grid, launch.block);
        let (shared, first) = (launch.shared_bytes, launch.params.as_mut_ptr());
        let is_inside = |&(at, bytes): &(u64, u64)| {
            let end = at.checked_add(bytes);
            end.is_some_and(|end| end <= launch.params.len() as u64)
        };
        assert!(params.iter().all(is_inside));
        let params: Vec<*mut c_void> = params
            .iter()
            .map(|&(at, _)| first.wrapping_add(at as usize).cast())
            .collect();
        // SAFETY: a kernel and an address of each of its parameters, whose bytes are all in the
        // buffer, and which the driver copies. What a kernel does is bounded by what the GPU lets
        // it reach.
        done("cuLaunchCooperativeKernel", unsafe {
            (self.functions.launch_cooperative)(
                function,
                a,
                b,
                c,
                x,
                y,
                z,
                shared,
                NO_STREAM,
                params.as_ptr(),
            )
        })
    }

    /// Whether all that was begun has ended.
    pub fn is_ready(&self) -> Result<bool, Failure> {
        // SAFETY: the stream that is always there.
        match unsafe { (self.functions.query)(NO_STREAM) } {
            NOT_READY => Ok(false),
            code => done("cuStreamQuery", code).map(|()| true),
        }
    }
}

impl Drop for Driver {
    /// Gives back what the context has. After an error of the GPU nothing of this works, and beside
    /// a kernel that still runs it would wait: the driver does it at the end of the process then.
    fn drop(&mut self) {
        if self.context == 0 || self.enter().is_err() || self.is_ready() != Ok(true) {
            return;
        }
        let blocks = std::mem::take(&mut self.blocks);
        for block in blocks.values() {
            let BlockOwner::Caller { base } = block.owner else {
                continue;
            };
            // SAFETY: memory of this context that nothing names any more.
            unsafe { (self.functions.free)(base) };
        }
        for module in std::mem::take(&mut self.modules).into_values() {
            // SAFETY: a module that is loaded, whose kernels have ended.
            unsafe { (self.functions.unload)(module) };
        }
        // SAFETY: the device whose context was retained, once.
        unsafe { (self.functions.release)(self.device) };
    }
}

/// The stream that all work goes to, in order (`NULL`).
const NO_STREAM: usize = 0;
/// The limit of a thread's stack (`CU_LIMIT_STACK_SIZE`).
const STACK: u32 = 0;
const HEAP: u32 = 2;
/// What comes before the buffer of parameters, before its size, and what ends the list.
const BUFFER: *const c_void = std::ptr::without_provenance(1);
const BUFFER_BYTES: *const c_void = std::ptr::without_provenance(2);
const END: *const c_void = std::ptr::null();

/// What a function returned, as a result.
fn done(call: &'static str, code: u32) -> Result<(), Failure> {
    match code {
        SUCCESS => Ok(()),
        code => Err(Failure { call, code }),
    }
}
