//! Memory pools. Memory is taken and freed at once, so a pool keeps none that nobody uses: what is
//! here are the books, by which programs ask what a pool has.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::Mutex;

use super::blocks::allocate_on_device;
use super::captures;
use super::connection::fatal;
use super::errors::returned;
use super::graph_memory::GraphBlock;
use super::lock;
use super::memory::store;
use super::modules::report_missing;
use crate::protocol::AllocationKind;
use crate::status::Status;

struct Pool {
    /// Bytes that are used, and the most since that was last reset.
    used: u64,
    high: u64,
    /// The same as the program sees it of memory that the pool has.
    reserved_high: u64,
    /// The most bytes of the pool.
    limit: u64,
    /// Bytes that the program allows the pool to keep.
    threshold: u64,
    /// When memory may be used again: three switches.
    reuse: [i32; 3],
}

impl Pool {
    const fn new(limit: u64) -> Pool {
        Pool {
            used: 0,
            high: 0,
            reserved_high: 0,
            limit,
            threshold: 0,
            reuse: [1; 3],
        }
    }

    /// Bytes that are used when the pool gives this many more.
    fn used_with(&self, bytes: u64) -> Result<u64, Status> {
        let used = self.used.checked_add(bytes);
        let used = used.filter(|&used| used <= self.limit);
        used.ok_or(Status::MEMORY_ALLOCATION)
    }

    fn takes(&mut self, bytes: u64) -> Result<(), Status> {
        self.used = self.used_with(bytes)?;
        self.high = self.high.max(self.used);
        self.reserved_high = self.reserved_high.max(self.used);
        Ok(())
    }

    /// It may have been emptied by a reset of the device since it gave the bytes.
    fn gets_back(&mut self, bytes: u64) {
        self.used = self.used.saturating_sub(bytes);
    }
}

struct Pools {
    pools: BTreeMap<usize, Pool>,
    /// The pool and the bytes of each block of a pool.
    blocks: BTreeMap<u64, (usize, u64)>,
    /// The pool that the device takes.
    current: usize,
    next: usize,
}

/// The handle of the pool that the device has from the beginning.
const DEFAULT: usize = 0x800;
const HANDLE_STEP: usize = 16;

static POOLS: Mutex<Pools> = Mutex::new(Pools {
    pools: BTreeMap::new(),
    blocks: BTreeMap::new(),
    current: DEFAULT,
    next: DEFAULT + HANDLE_STEP,
});

impl Pools {
    fn pool(&mut self, handle: usize) -> Result<&mut Pool, Status> {
        if handle == DEFAULT {
            return Ok(self.pools.entry(DEFAULT).or_insert(Pool::new(u64::MAX)));
        }
        let pool = self.pools.get_mut(&handle);
        pool.ok_or(Status::INVALID_VALUE)
    }
}

/// Takes memory from a pool; without one, from that of the device. What a graph takes while it is
/// captured is not of a pool, but has to fit in it.
fn allocate(pool: Option<usize>, bytes: u64, stream: usize) -> Result<u64, Status> {
    fatal()?;
    let is_captured = captures::is_captured(stream);
    let handle = {
        let mut pools = lock(&POOLS);
        let handle = pool.unwrap_or(pools.current);
        let pool = pools.pool(handle)?;
        if bytes == 0 {
            return Ok(0);
        }
        if is_captured {
            pool.used_with(bytes)?;
        } else {
            pool.takes(bytes)?;
        }
        handle
    };
    if is_captured {
        let (block, address) = GraphBlock::new(bytes)?;
        captures::keep_memory(stream, block);
        return Ok(address);
    }
    let address = allocate_on_device(bytes, 1, AllocationKind::StreamOrdered);
    let mut pools = lock(&POOLS);
    match address {
        Ok(address) => _ = pools.blocks.insert(address, (handle, bytes)),
        Err(_) => pools.pool(handle)?.gets_back(bytes),
    }
    address
}

/// Says that a block was freed, whether it is of a pool or not.
pub fn freed(address: u64) {
    let mut pools = lock(&POOLS);
    if let Some((handle, bytes)) = pools.blocks.remove(&address)
        && let Ok(pool) = pools.pool(handle)
    {
        pool.gets_back(bytes);
    }
}

/// Says that the device was reset.
pub fn clear() {
    let mut pools = lock(&POOLS);
    pools.blocks.clear();
    pools.pools.clear();
    pools.current = DEFAULT;
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMallocAsync(to: *mut usize, bytes: usize, stream: usize) -> u32 {
    let address = allocate(None, bytes as u64, stream);
    returned(address.and_then(|address| store(to, address as usize)))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMallocFromPoolAsync(
    to: *mut usize,
    bytes: usize,
    pool: usize,
    stream: usize,
) -> u32 {
    let address = allocate(Some(pool), bytes as u64, stream);
    returned(address.and_then(|address| store(to, address as usize)))
}

/// Where memory is (`cudaMemLocation`).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Location {
    kind: u32,
    number: i32,
}

/// The kind of a location that is a device.
const ON_DEVICE: u32 = 1;
/// The kind of allocation of memory that stays on the device.
const PINNED: u32 = 1;

/// That memory of a kind is of the device.
fn of_device(location: Location, kind: u32) -> Result<(), Status> {
    match (location.kind, location.number, kind) {
        (ON_DEVICE, 0, PINNED) => Ok(()),
        (ON_DEVICE, 0, _) | (2.., ..) => {
            report_missing("memory pool of the host or of managed memory");
            Err(Status::NOT_SUPPORTED)
        }
        _ => Err(Status::INVALID_VALUE),
    }
}

/// What a pool is made by (`cudaMemPoolProps`).
#[repr(C)]
pub struct PoolProperties {
    kind: u32,
    exports: u32,
    location: Location,
    _security: usize,
    limit: usize,
    _reserved: [u8; 56],
}

fn create(properties: &PoolProperties) -> Result<usize, Status> {
    fatal()?;
    of_device(properties.location, properties.kind)?;
    if properties.exports != 0 {
        report_missing("memory pool for several processes");
        return Err(Status::NOT_SUPPORTED);
    }
    let limit = match properties.limit {
        0 => u64::MAX,
        limit => limit as u64,
    };
    let mut pools = lock(&POOLS);
    let handle = pools.next;
    pools.next += HANDLE_STEP;
    pools.pools.insert(handle, Pool::new(limit));
    Ok(handle)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemPoolCreate(to: *mut usize, properties: *const PoolProperties) -> u32 {
    if properties.is_null() {
        return returned(Err(Status::INVALID_VALUE));
    }
    // SAFETY: the program passes them.
    let handle = create(unsafe { &*properties });
    returned(handle.and_then(|handle| store(to, handle)))
}

/// Blocks of the pool stay until they are freed.
#[unsafe(no_mangle)]
pub extern "C" fn cudaMemPoolDestroy(pool: usize) -> u32 {
    let mut pools = lock(&POOLS);
    if pool == DEFAULT || pools.pools.remove(&pool).is_none() {
        return returned(Err(Status::INVALID_VALUE));
    }
    if pools.current == pool {
        pools.current = DEFAULT;
    }
    0
}

/// What is not used was given back already.
#[unsafe(no_mangle)]
pub extern "C" fn cudaMemPoolTrimTo(pool: usize, _kept: usize) -> u32 {
    returned(lock(&POOLS).pool(pool).map(drop))
}

/// Attributes (`cudaMemPoolAttr`): the switches are 1 to 3.
const THRESHOLD: u32 = 4;
const RESERVED: u32 = 5;
const RESERVED_HIGH: u32 = 6;
const USED: u32 = 7;
const USED_HIGH: u32 = 8;

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemPoolGetAttribute(pool: usize, attribute: u32, to: *mut c_void) -> u32 {
    returned(lock(&POOLS).pool(pool).and_then(|pool| {
        let number = match attribute {
            1..=3 => return store(to.cast(), pool.reuse[attribute as usize - 1]),
            THRESHOLD => pool.threshold,
            RESERVED | USED => pool.used,
            RESERVED_HIGH => pool.reserved_high,
            USED_HIGH => pool.high,
            _ => return Err(Status::INVALID_VALUE),
        };
        store(to.cast(), number)
    }))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemPoolSetAttribute(
    pool: usize,
    attribute: u32,
    value: *const c_void,
) -> u32 {
    if value.is_null() {
        return returned(Err(Status::INVALID_VALUE));
    }
    returned(lock(&POOLS).pool(pool).and_then(|pool| {
        if let 1..=3 = attribute {
            // SAFETY: these attributes are of that type.
            pool.reuse[attribute as usize - 1] = unsafe { value.cast::<i32>().read() };
            return Ok(());
        }
        // SAFETY: all others are of that type.
        let value = unsafe { value.cast::<u64>().read() };
        match (attribute, value) {
            (THRESHOLD, _) => pool.threshold = value,
            (RESERVED_HIGH, 0) => pool.reserved_high = pool.used,
            (USED_HIGH, 0) => pool.high = pool.used,
            _ => return Err(Status::INVALID_VALUE),
        }
        Ok(())
    }))
}

/// Access to the memory of a pool (`cudaMemAccessFlags`).
const READ_AND_WRITE: u32 = 3;

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemPoolGetAccess(
    to: *mut u32,
    pool: usize,
    location: *const Location,
) -> u32 {
    if location.is_null() {
        return returned(Err(Status::INVALID_VALUE));
    }
    // SAFETY: the program passes it.
    let location = unsafe { location.read() };
    returned(lock(&POOLS).pool(pool).and_then(|_| match location {
        Location {
            kind: ON_DEVICE,
            number: 0,
        } => store(to, READ_AND_WRITE),
        _ => Err(Status::INVALID_DEVICE),
    }))
}

/// Who may access a pool (`cudaMemAccessDesc`).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct PoolAccess {
    location: Location,
    flags: u32,
}

/// The only device has access already, which cannot be taken from it.
#[unsafe(no_mangle)]
pub extern "C" fn cudaMemPoolSetAccess(pool: usize, list: *const PoolAccess, count: usize) -> u32 {
    if list.is_null() && count > 0 {
        return returned(Err(Status::INVALID_VALUE));
    }
    returned(lock(&POOLS).pool(pool).and_then(|_| {
        for index in 0..count {
            // SAFETY: the program passes that many.
            let access = unsafe { list.add(index).read() };
            if access.location.kind != ON_DEVICE || access.location.number != 0 {
                return Err(Status::INVALID_DEVICE);
            }
            if access.flags != READ_AND_WRITE {
                return Err(Status::INVALID_VALUE);
            }
        }
        Ok(())
    }))
}

fn only(device: i32) -> Result<(), Status> {
    match device {
        0 => fatal(),
        _ => Err(Status::INVALID_DEVICE),
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaDeviceGetDefaultMemPool(to: *mut usize, device: i32) -> u32 {
    returned(only(device).and_then(|()| store(to, DEFAULT)))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaDeviceGetMemPool(to: *mut usize, device: i32) -> u32 {
    returned(only(device).and_then(|()| store(to, lock(&POOLS).current)))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaDeviceSetMemPool(device: i32, pool: usize) -> u32 {
    returned(only(device).and_then(|()| {
        let mut pools = lock(&POOLS);
        pools.pool(pool)?;
        pools.current = pool;
        Ok(())
    }))
}

/// The number of the device that a program names by a location.
fn device_at(location: *const Location, kind: u32) -> Result<i32, Status> {
    if location.is_null() {
        return Err(Status::INVALID_VALUE);
    }
    // SAFETY: the program passes it.
    let location = unsafe { location.read() };
    of_device(location, kind).map(|()| location.number)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemGetDefaultMemPool(
    to: *mut usize,
    location: *const Location,
    kind: u32,
) -> u32 {
    match device_at(location, kind) {
        Ok(device) => cudaDeviceGetDefaultMemPool(to, device),
        Err(status) => returned(Err(status)),
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemGetMemPool(to: *mut usize, location: *const Location, kind: u32) -> u32 {
    match device_at(location, kind) {
        Ok(device) => cudaDeviceGetMemPool(to, device),
        Err(status) => returned(Err(status)),
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemSetMemPool(location: *const Location, kind: u32, pool: usize) -> u32 {
    match device_at(location, kind) {
        Ok(device) => cudaDeviceSetMemPool(device, pool),
        Err(status) => returned(Err(status)),
    }
}
