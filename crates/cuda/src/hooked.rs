//! [`HookedModule`] and [`RecordBuffer`]: kernels with hooks on any [`Device`], and the records
//! that their launches leave.
//!
//! A launch with hooks has three steps: the host writes the variable that names the buffer, the
//! kernel runs, and the host reads the variable and as much of the buffer as was written
//! ([`RecordBuffer::launch`]).
//!
//! # Lost records
//! A kernel is not run once more for the records that the buffer had no room for: nothing here
//! knows which memory it has changed. ([`ReplayedDevice`](crate::ReplayedDevice) knows, restores it
//! and runs the kernel again.) So the records of that launch end where the buffer was full.
//! [`HookedLaunch::lost`] is the number of those that are missing, and the buffer of the next
//! launch is as large as this one's records would have been, up to a limit.

use std::collections::HashMap;
use std::sync::Arc;

use reuselens_gpu_advisor::LaunchContext;
use reuselens_instrument::{
    COUNT_BYTES, InstrumentOptions, Instrumented, RingControl, RingError, RingStream, SiteCounts,
    instrument, read_counts, read_ring,
};
use reuselens_ptx::{LaunchConfig, Loaded, Options, PtxModule, launch_record};
use reuselens_warp::{Extent, KernelSite, Launch};

use crate::device::{CudaFault, Device, DeviceVariable, FillValue, KernelLaunch};
use crate::fatbin::DeviceCode;
use crate::ring::launch_recorded;
use crate::status::Status;

/// Alignment of the buffer. Records begin at multiples of 16.
const ALIGNMENT: u64 = 256;
/// The least bytes of a buffer: a record of all lanes.
const LEAST_BYTES: u64 = 512;

/// A module with hooks on a device.
#[derive(Debug)]
pub struct HookedModule {
    instrumented: Instrumented,
    number: u64,
    /// Address of the variable that names the buffer; none if the module has no hook.
    variable: Option<u64>,
    /// The module without hooks, which is asked for what streams have beside records. None if the
    /// interpreter does not read it.
    plain: Option<(reuselens_ptx::Device, Loaded)>,
    /// Of kernels that were launched, what their streams begin with.
    launches: HashMap<String, Launch>,
}

impl HookedModule {
    /// Puts hooks into the PTX of a fat binary, or into PTX, and loads it.
    ///
    /// # Errors
    /// What has no PTX, is to be linked of several files, or can have no hooks; and what the device
    /// refuses.
    pub fn load<D: Device>(
        device: &mut D,
        code: &[u8],
        options: &InstrumentOptions,
    ) -> Result<HookedModule, CudaFault> {
        let text = match DeviceCode::read(code)? {
            DeviceCode::Single(text) => text,
            DeviceCode::Linked(parts) => {
                let what = format!(
                    "the device code is to be linked of {} files, and hooks can be put into one \
                     only; compile it without -rdc=true",
                    parts.len()
                );
                return Err(CudaFault::new(Status::INVALID_PTX, what));
            }
        };
        let instrumented = instrument(&text, options)
            .map_err(|error| CudaFault::new(Status::INVALID_PTX, error.to_string()))?;
        let number = device.load(instrumented.text.as_bytes())?;
        let variable = if instrumented.sites.is_empty() {
            None
        } else {
            Some(device.variable(number, &instrumented.variable)?.0)
        };
        Ok(HookedModule {
            plain: plain(&text),
            instrumented,
            number,
            variable,
            launches: HashMap::new(),
        })
    }

    /// Its number on the device.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Its sites, and what has no hook.
    pub fn instrumented(&self) -> &Instrumented {
        &self.instrumented
    }

    /// Address of the variable of the hooks; none if the module has no hook.
    pub fn ring(&self) -> Option<u64> {
        self.variable
    }

    /// Sets the counts of all sites to 0, before a launch or before the first of several that are
    /// counted together. Without hooks that count there is nothing to do.
    ///
    /// # Errors
    /// If the device refuses.
    pub fn clear_counts<D: Device>(&self, device: &mut D) -> Result<(), CudaFault> {
        match self.variable.filter(|_| self.instrumented.options.counts) {
            Some(address) => device.fill(address, FillValue::Byte(0), self.count_bytes()),
            None => Ok(()),
        }
    }

    /// What hooks have counted since then, for each site; none if hooks do not count.
    ///
    /// # Errors
    /// If the device refuses.
    pub fn counts<D: Device>(&self, device: &D) -> Result<Vec<SiteCounts>, CudaFault> {
        let Some(address) = self.variable.filter(|_| self.instrumented.options.counts) else {
            return Ok(Vec::new());
        };
        let mut bytes = vec![0; self.count_bytes() as usize];
        device.read_into(address, &mut bytes)?;
        Ok(read_counts(&bytes))
    }

    fn count_bytes(&self) -> u64 {
        (COUNT_BYTES * self.instrumented.sites.len()) as u64
    }

    /// The variables that the program has in it: all but that of the hooks.
    pub fn variables<D: Device>(&self, device: &D) -> Vec<DeviceVariable> {
        let mut variables = device.variables(self.number);
        variables.retain(|variable| variable.name != self.instrumented.variable);
        variables
    }

    /// A launch as streams of warps have it. Sites are those of the hooks; a site that the kernel's
    /// code has once has its place and calls as the interpreter names them.
    ///
    /// Cost: the first time for each kernel, its code is decoded.
    pub fn launch_record(&mut self, kernel: &str, launch: &KernelLaunch) -> Launch {
        let extent = |[x, y, z]: [u32; 3]| Extent { x, y, z };
        if !self.launches.contains_key(kernel) {
            let first = self.first_record(kernel);
            self.launches.insert(kernel.to_owned(), first);
        }
        let known = &self.launches[kernel];
        let used = known.used.map(|used| reuselens_warp::BlockUse {
            dynamic_shared: launch.shared_bytes,
            ..used
        });
        Launch {
            grid: extent(launch.grid),
            block: extent(launch.block),
            used,
            ..known.clone()
        }
    }

    /// What is equal for all launches of a kernel.
    fn first_record(&self, name: &str) -> Launch {
        let unknown = Launch {
            kernel: name.to_owned(),
            grid: Extent::line(1),
            block: Extent::line(1),
            used: None,
            arrays: Arc::default(),
            sites: self.instrumented.kernel_sites(),
        };
        let Some((device, module)) = &self.plain else {
            return unknown;
        };
        let Ok(kernel) = device.kernel(module, name, &Options::default()) else {
            return unknown;
        };
        let record = launch_record(&kernel, &LaunchConfig::default());
        let mut places: HashMap<(u32, u32), Vec<usize>> = HashMap::new();
        for (at, site) in kernel.sites().iter().enumerate() {
            let place = (site.position.line, site.position.column);
            places.entry(place).or_default().push(at);
        }
        let hooked = self.instrumented.sites.iter().zip(unknown.sites.iter());
        let sites = hooked.map(|(hooked, own)| -> KernelSite {
            match places.get(&(hooked.line, hooked.column)).map(Vec::as_slice) {
                Some(&[at]) => record.sites[at].clone(),
                _ => own.clone(),
            }
        });
        Launch {
            sites: sites.collect(),
            ..record
        }
    }
}

/// The module without hooks on a device of its own, where it can be read.
fn plain(text: &str) -> Option<(reuselens_ptx::Device, Loaded)> {
    let module = PtxModule::parse(text).ok()?;
    let mut device = reuselens_ptx::Device::new();
    let loaded = device.load(module).ok()?;
    Some((device, loaded))
}

/// A buffer on a device that kernels with hooks write their records into, one launch at a time.
#[derive(Debug)]
pub struct RecordBuffer {
    address: u64,
    bytes: u64,
    /// Bytes of the buffer at most.
    limit: u64,
    /// Bytes that the next launch should have, if the last one had too few.
    wanted: u64,
    /// What was read of the last launch.
    read: Vec<u8>,
}

impl RecordBuffer {
    /// Takes a buffer of `bytes` bytes, which may grow up to `limit`.
    ///
    /// # Errors
    /// If the device has less memory left.
    pub fn new<D: Device>(
        device: &mut D,
        bytes: u64,
        limit: u64,
    ) -> Result<RecordBuffer, CudaFault> {
        let bytes = bytes.max(LEAST_BYTES);
        Ok(RecordBuffer {
            address: device.allocate(bytes, ALIGNMENT)?,
            bytes,
            limit,
            wanted: bytes,
            read: Vec::new(),
        })
    }

    /// Bytes of the buffer.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Where it is on the device.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Gives the buffer back.
    ///
    /// # Errors
    /// If the device refuses.
    pub fn free<D: Device>(self, device: &mut D) -> Result<(), CudaFault> {
        device.free(self.address)
    }

    /// Runs a kernel of a module to its end, and reads what its hooks have written. `launch` is
    /// its launch, and `kernel` its name. Hooks that count write no records.
    ///
    /// # Errors
    /// As [`Device::launch`]; there are no records of a kernel that was stopped.
    pub fn launch<'a, D: Device>(
        &'a mut self,
        device: &mut D,
        module: &'a mut HookedModule,
        kernel: &str,
        launch: &KernelLaunch,
        context: &LaunchContext,
    ) -> Result<HookedLaunch<'a>, CudaFault> {
        let record = module.launch_record(kernel, launch);
        self.read.clear();
        let records = module
            .variable
            .filter(|_| !module.instrumented.options.counts);
        let Some(variable) = records else {
            device.launch(launch, context)?;
            let control = RingControl::empty(self.address, self.bytes);
            return Ok(self.launched(module, record, control));
        };
        self.grow(device);
        let empty = RingControl::empty(self.address, self.bytes);
        let control = launch_recorded(device, variable, empty, launch, context)?;
        if control.lost > 0 {
            self.wanted = control.reserved.min(self.limit);
        }
        // A kernel that writes to wild addresses may have changed the variable.
        let written = control.written().min(self.bytes);
        self.read.resize(written as usize, 0);
        device.read_into(self.address, &mut self.read)?;
        Ok(self.launched(module, record, control))
    }

    fn launched<'a>(
        &'a self,
        module: &'a HookedModule,
        launch: Launch,
        control: RingControl,
    ) -> HookedLaunch<'a> {
        HookedLaunch {
            instrumented: &module.instrumented,
            launch,
            control,
            bytes: &self.read,
        }
    }

    /// Takes a larger buffer if the last launch had too small a one and the device has the memory.
    fn grow<D: Device>(&mut self, device: &mut D) {
        if self.wanted <= self.bytes {
            return;
        }
        // The old one is given back only when there is a new one.
        let bytes = std::mem::replace(&mut self.wanted, self.bytes);
        if let Ok(address) = device.allocate(bytes, ALIGNMENT) {
            let before = std::mem::replace(&mut self.address, address);
            (self.bytes, self.wanted) = (bytes, bytes);
            // A buffer that is not given back is the device's loss only.
            let _ = device.free(before);
        }
    }
}

/// A launch of a kernel with hooks that has ended.
#[derive(Clone, Debug)]
pub struct HookedLaunch<'a> {
    instrumented: &'a Instrumented,
    launch: Launch,
    control: RingControl,
    bytes: &'a [u8],
}

impl HookedLaunch<'_> {
    /// The launch, as the stream begins with it.
    pub fn launch(&self) -> &Launch {
        &self.launch
    }

    /// Records that there was no room for. All that warps wrote before the first of them is here.
    pub fn lost(&self) -> u64 {
        self.control.lost
    }

    /// Bytes that the buffer would have needed for all records.
    pub fn needed_bytes(&self) -> u64 {
        self.control.reserved
    }

    /// Bytes of the records that are here.
    pub fn bytes(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// The records as a stream of warps: the launch, then its memory instructions by block, warp
    /// and position.
    ///
    /// # Errors
    /// If the buffer has what no hook writes: the kernel has written there itself.
    pub fn stream(&self) -> Result<RingStream<'_>, RingError> {
        read_ring(
            self.instrumented,
            self.launch.clone(),
            self.control,
            self.bytes,
        )
    }
}
