//! The modules of the program, with their kernels and variables. Its start-up code registers them;
//! the analysing process gets a module when the program first uses something of it.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{CStr, CString, c_char, c_void};
use std::sync::Mutex;

use super::blocks;
use super::call_paths;
use super::connection::{ask, own_process};
use super::lock;
use super::machine_code;
use super::managed;
use super::properties::MAX_SHARED;
use crate::fatbin_head::{ELF, HEAD_BYTES, container_bytes};
use crate::protocol::{MAX_BYTES, Message, Operation};
use crate::status::Status;

/// The first word of what the start-up code registers.
const WRAPPER_MAGIC: u32 = 0x4662_43b1;

/// Bytes of the head of a file of machine code.
const ELF_HEAD_BYTES: usize = 64;

/// What the start-up code registers.
#[repr(C)]
struct Wrapper {
    magic: u32,
    version: u32,
    fat_binary: *const u8,
    files: *const c_void,
}

#[derive(Clone)]
struct RegisteredModule {
    fat_binary: usize,
    /// Those that it was linked of, for a GPU.
    parts: Vec<usize>,
    /// Its number in the analysing process, or why there is none; once it was asked for.
    loaded: Option<Result<u64, Status>>,
}

#[derive(Clone)]
struct Named {
    module: usize,
    name: Vec<u8>,
}

/// A kernel that is ready.
#[derive(Clone, Debug)]
pub struct ReadyKernel {
    pub number: u64,
    pub max_threads: u64,
    pub shared_bytes: u64,
    pub local_bytes: u64,
    pub param_bytes: usize,
    /// What its PTX was compiled for: 75 is compute capability 7.5.
    pub architecture: i32,
    /// Bytes of shared memory that a launch may add.
    pub permitted_bytes: u64,
    /// Offset and bytes of each parameter.
    pub params: Vec<(usize, usize)>,
}

struct Registry {
    modules: Vec<RegisteredModule>,
    /// By the address that the program's code has for them.
    kernels: BTreeMap<usize, Named>,
    variables: BTreeMap<usize, Named>,
    /// Variables of managed memory whose pointers the program does not have yet.
    managed: Vec<(usize, Named)>,
    ready: BTreeMap<usize, ReadyKernel>,
    places: BTreeMap<usize, (u64, u64)>,
}

static REGISTRY: Mutex<Registry> = Mutex::new(Registry {
    modules: Vec::new(),
    kernels: BTreeMap::new(),
    variables: BTreeMap::new(),
    managed: Vec::new(),
    ready: BTreeMap::new(),
    places: BTreeMap::new(),
});

#[unsafe(no_mangle)]
pub extern "C" fn __cudaRegisterFatBinary(wrapper: *const c_void) -> *mut *mut c_void {
    let wrapper = wrapper.cast::<Wrapper>();
    // SAFETY: the compiler's start-up code gives the address of what it registers.
    let wrapper = unsafe { &*wrapper };
    let fat_binary = match wrapper.magic {
        WRAPPER_MAGIC => wrapper.fat_binary as usize,
        _ => 0,
    };
    // What was linked has a list of what it was linked of, which ends with a null pointer.
    const LINKED: u32 = 2;
    let mut parts = Vec::new();
    if wrapper.version == LINKED && !wrapper.files.is_null() {
        let list = wrapper.files.cast::<usize>();
        // SAFETY: the compiler's start-up code makes such a list.
        parts.extend(
            (0..)
                .map(|at| unsafe { list.add(at).read() })
                .take_while(|&part| part != 0),
        );
    }
    let mut registry = lock(&REGISTRY);
    // Start-up code of a library may run twice: see `hook`.
    let mut known = registry.modules.iter();
    let known = known.position(|module| fat_binary != 0 && module.fat_binary == fat_binary);
    let number = known.unwrap_or_else(|| {
        registry.modules.push(RegisteredModule {
            fat_binary,
            parts,
            loaded: None,
        });
        registry.modules.len() - 1
    });
    // The start-up code passes this back, and nothing else reads it: the number, plus one.
    (number + 1) as *mut *mut c_void
}

#[unsafe(no_mangle)]
pub extern "C" fn __cudaRegisterFatBinaryEnd(_: *mut *mut c_void) {
    managed::begin();
}

/// Called when a library is unloaded, and at the end of the program. Another library may have its
/// addresses later.
#[unsafe(no_mangle)]
pub extern "C" fn __cudaUnregisterFatBinary(module: *mut *mut c_void) {
    let module = (module as usize).wrapping_sub(1);
    let mut registry = lock(&REGISTRY);
    if let Some(known) = registry.modules.get_mut(module) {
        known.fat_binary = 0;
        registry.forget(module);
        let is_of = |named: &Named| named.module == module;
        registry.kernels.retain(|_, named| !is_of(named));
        registry.variables.retain(|_, named| !is_of(named));
        registry.managed.retain(|(_, named)| !is_of(named));
    }
}

/// Called before the program first uses a managed variable: gives it the pointers.
#[unsafe(no_mangle)]
pub extern "C" fn __cudaInitModule(_: *mut *mut c_void) -> c_char {
    let waiting = std::mem::take(&mut lock(&REGISTRY).managed);
    for (pointer, _) in waiting {
        let shared = variable(pointer).and_then(|(address, bytes)| {
            blocks::mirror(address as usize, bytes as usize)?;
            Ok(address)
        });
        match shared {
            // SAFETY: the start-up code gave the address of the variable's pointer.
            Ok(address) => unsafe { (pointer as *mut u64).write(address) },
            Err(_) => report_missing("__managed__ variable"),
        }
    }
    1
}

#[unsafe(no_mangle)]
pub extern "C" fn __cudaRegisterManagedVar(
    module: *mut *mut c_void,
    pointer: *mut *mut c_void,
    _device: *mut c_char,
    name: *const c_char,
) {
    let named = named(module, name);
    let mut registry = lock(&REGISTRY);
    let before = registry.variables.insert(pointer as usize, named.clone());
    if before.is_none() {
        registry.managed.push((pointer as usize, named));
    }
}

/// The start-up code passes more, and nobody needs that, here and below.
#[unsafe(no_mangle)]
pub extern "C" fn __cudaRegisterFunction(
    module: *mut *mut c_void,
    host: *const c_void,
    _device: *mut c_char,
    name: *const c_char,
) {
    let named = named(module, name);
    lock(&REGISTRY).kernels.insert(host as usize, named);
}

#[unsafe(no_mangle)]
pub extern "C" fn __cudaRegisterVar(
    module: *mut *mut c_void,
    host: *const c_void,
    _device: *mut c_char,
    name: *const c_char,
) {
    let named = named(module, name);
    let before = lock(&REGISTRY).variables.insert(host as usize, named);
    if before.is_none() {
        managed::registered(host as usize);
    }
}

fn named(module: *mut *mut c_void, name: *const c_char) -> Named {
    // SAFETY: the start-up code passes a string.
    let name = unsafe { CStr::from_ptr(name) };
    Named {
        module: (module as usize).wrapping_sub(1),
        name: name.to_bytes().to_vec(),
    }
}

/// Whether the program's code has a kernel at an address.
pub fn is_kernel(host: usize) -> bool {
    lock(&REGISTRY).kernels.contains_key(&host)
}

/// The kernel that the program's code has at an address, ready to be launched.
pub fn kernel(host: usize) -> Result<ReadyKernel, Status> {
    own_process()?;
    let mut registry = lock(&REGISTRY);
    if let Some(ready) = registry.ready.get(&host) {
        return Ok(ready.clone());
    }
    let named = registry.kernels.get(&host).cloned();
    let named = named.ok_or(Status::INVALID_FUNCTION)?;
    let module = registry.load(named.module)?;
    let request = Message::with_bytes(Operation::Kernel, &[module], named.name);
    let answer = match ask(&request) {
        Ok(answer) => answer,
        Err(status) => {
            // Nobody may ask for the call path with a lock held.
            drop(registry);
            report_refused(request, status);
            return Err(status);
        }
    };
    let numbers: Vec<usize> = answer
        .bytes
        .chunks_exact(8)
        .filter_map(|bytes| Some(u64::from_le_bytes(*bytes.first_chunk()?) as usize))
        .collect();
    let ready = ReadyKernel {
        number: answer.field(0),
        max_threads: answer.field(1),
        shared_bytes: answer.field(2),
        local_bytes: answer.field(3),
        param_bytes: answer.field(4) as usize,
        architecture: answer.field(5) as i32,
        permitted_bytes: (MAX_SHARED as u64).saturating_sub(answer.field(2)),
        params: numbers
            .chunks_exact(2)
            .map(|pair| (pair[0], pair[1]))
            .collect(),
    };
    registry.ready.insert(host, ready.clone());
    Ok(ready)
}

/// Lets the report have a kernel that cannot run here, and who asked for it.
fn report_refused(mut request: Message, status: Status) {
    if status == Status::INVALID_PTX {
        request.fields.push(1);
        request.call_path = call_paths::here();
        // The answer is the one that the program gets already.
        let _ = ask(&request);
    }
}

/// The module of a kernel.
pub fn module_of(host: usize) -> Result<usize, Status> {
    let registry = lock(&REGISTRY);
    let named = registry.kernels.get(&host);
    Ok(named.ok_or(Status::INVALID_FUNCTION)?.module)
}

/// The name of a kernel, as a string that stays for as long as the process.
pub fn kernel_name(host: usize) -> Result<*const c_char, Status> {
    /// All names that were asked for: kernels of the same name have one string.
    static NAMES: Mutex<BTreeSet<CString>> = Mutex::new(BTreeSet::new());
    let name = {
        let registry = lock(&REGISTRY);
        let named = registry.kernels.get(&host);
        named.ok_or(Status::INVALID_FUNCTION)?.name.clone()
    };
    let name = CString::new(name).map_err(|_| Status::UNKNOWN)?;
    let mut names = lock(&NAMES);
    names.insert(name.clone());
    let kept = names.get(&name).ok_or(Status::UNKNOWN)?;
    Ok(kept.as_ptr())
}

/// Permits launches of a kernel to add `bytes` of shared memory.
pub fn permit(host: usize, bytes: u64) -> Result<(), Status> {
    let mut registry = lock(&REGISTRY);
    let ready = registry.ready.get_mut(&host);
    ready.ok_or(Status::INVALID_FUNCTION)?.permitted_bytes = bytes;
    Ok(())
}

/// Address on the device and bytes of the variable that the program's code has at an address.
pub fn variable(host: usize) -> Result<(u64, u64), Status> {
    own_process()?;
    let mut registry = lock(&REGISTRY);
    if let Some(&place) = registry.places.get(&host) {
        return Ok(place);
    }
    let named = registry.variables.get(&host).cloned();
    let named = named.ok_or(Status::INVALID_SYMBOL)?;
    let module = registry.load(named.module)?;
    let answer = ask(&Message::with_bytes(
        Operation::Variable,
        &[module],
        named.name,
    ))?;
    let place = (answer.field(0), answer.field(1));
    registry.places.insert(host, place);
    Ok(place)
}

/// Where the kernels begin that have no address in the program's code.
const LOADED_KERNELS: usize = 1 << 62;

/// Loads a module that the program has in memory: a fat binary or text; its number. The memory may
/// change afterwards.
pub fn load_at(address: usize) -> Result<usize, Status> {
    load_image(image_at(address)?)
}

/// Loads a module from the bytes of a fat binary or text; its number.
///
/// # Errors
/// [`Status::INVALID_IMAGE`] where a fat binary is longer than the bytes, among others.
pub fn load_image(image: Vec<u8>) -> Result<usize, Status> {
    own_process()?;
    let number = send_image(image)?;
    let mut registry = lock(&REGISTRY);
    registry.modules.push(RegisteredModule {
        fat_binary: 0,
        parts: Vec::new(),
        loaded: Some(Ok(number)),
    });
    Ok(registry.modules.len() - 1)
}

/// Loads a module and ends it: what is wrong with it.
pub fn check(image: Vec<u8>) -> Result<(), Status> {
    own_process()?;
    let number = send_image(image)?;
    ask(&Message::new(Operation::Unload, &[number])).map(drop)
}

/// Ends a module that the program loaded, and frees its variables. Its kernels and variables are
/// not found any more.
pub fn unload(module: usize) -> Result<(), Status> {
    let mut registry = lock(&REGISTRY);
    let number = registry.load(module)?;
    ask(&Message::new(Operation::Unload, &[number]))?;
    registry.modules[module].loaded = Some(Err(Status::INVALID_HANDLE));
    registry.forget(module);
    Ok(())
}

/// The number that a kernel of a module has in place of an address in the program.
pub fn loaded_kernel(module: usize, name: &[u8]) -> Result<usize, Status> {
    let key = {
        let mut registry = lock(&REGISTRY);
        registry.load(module)?;
        let mut loaded = registry.kernels.range(LOADED_KERNELS..);
        let known = loaded.find(|(_, named)| named.module == module && named.name == name);
        let last = registry.kernels.range(LOADED_KERNELS..).next_back();
        let next = last.map_or(LOADED_KERNELS, |(last, _)| last + 16);
        let key = known.map_or(next, |(key, _)| *key);
        let name = name.to_vec();
        registry
            .kernels
            .entry(key)
            .or_insert(Named { module, name });
        key
    };
    kernel(key).map(|_| key)
}

/// Address on the device and bytes of a variable of a module.
pub fn loaded_variable(module: usize, name: &[u8]) -> Result<(u64, u64), Status> {
    let module = lock(&REGISTRY).load(module)?;
    let request = Message::with_bytes(Operation::Variable, &[module], name.to_vec());
    let answer = ask(&request)?;
    Ok((answer.field(0), answer.field(1)))
}

impl Registry {
    /// Forgets what is ready of a module.
    fn forget(&mut self, module: usize) {
        let Registry {
            kernels,
            variables,
            ready,
            places,
            ..
        } = self;
        let is_of = |named: Option<&Named>| named.is_some_and(|named| named.module == module);
        ready.retain(|host, _| !is_of(kernels.get(host)));
        places.retain(|host, _| !is_of(variables.get(host)));
    }

    /// The number of a module in the analysing process.
    fn load(&mut self, module: usize) -> Result<u64, Status> {
        let known = self.modules.get_mut(module).ok_or(Status::INVALID_IMAGE)?;
        if known.loaded.is_none() {
            let mut image = image_at(known.fat_binary);
            for &part in &known.parts {
                image = image.and_then(|image| Ok([image, image_at(part)?].concat()));
            }
            known.loaded = Some(image.and_then(send_image));
        }
        known.loaded.unwrap_or(Err(Status::INVALID_IMAGE))
    }
}

/// The bytes of a fat binary, or of text, that the program has at an address.
fn image_at(address: usize) -> Result<Vec<u8>, Status> {
    if address == 0 {
        return Err(Status::INVALID_IMAGE);
    }
    let begin = address as *const u8;
    // SAFETY: a fat binary has at least a head, and PTX in its place has more.
    let head = unsafe { &*begin.cast::<[u8; HEAD_BYTES]>() };
    let bytes = match container_bytes(head) {
        // Machine code is refused by its head, which says what it is for.
        _ if head.starts_with(ELF) => ELF_HEAD_BYTES,
        Some(bytes) if bytes > MAX_BYTES => return Err(Status::INVALID_IMAGE),
        Some(bytes) => bytes as usize,
        // SAFETY: what is no container is text, which ends with a zero.
        None => unsafe { CStr::from_ptr(begin.cast()) }.to_bytes().len(),
    };
    // SAFETY: its head gives that length.
    Ok(unsafe { std::slice::from_raw_parts(begin, bytes) }.to_vec())
}

/// Loads a module in the analysing process, which checks the image; its number there.
fn send_image(image: Vec<u8>) -> Result<u64, Status> {
    if image.len() as u64 > MAX_BYTES {
        return Err(Status::INVALID_IMAGE);
    }
    let request = Message::with_bytes(Operation::Load, &[], image);
    Ok(ask(&request)?.field(0))
}

/// Says that the program called a function that is not provided.
pub fn report_missing(name: &str) {
    let name = machine_code::with_library(name).into_bytes();
    let _ = ask(&Message::with_bytes(Operation::Missing, &[], name));
}

/// Free and all bytes of the device.
pub fn memory_info() -> Result<(u64, u64), Status> {
    let answer = ask(&Message::new(Operation::MemoryInfo, &[]))?;
    Ok((answer.field(0), answer.field(1)))
}
