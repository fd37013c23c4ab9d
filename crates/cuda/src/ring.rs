//! [`Ring`]: the buffer that hooks write into, which grows to what launches need.
//!
//! How much a launch writes is known when it has ended. One that wrote more than there is room for
//! is run once more: the memory that it may have changed is restored, and the buffer gets the room.

use std::collections::BTreeMap;

use reuselens_gpu_advisor::LaunchContext;
use reuselens_instrument::{CONTROL_BYTES, RingControl};

use crate::device::{CudaFault, Device, KernelLaunch};
use crate::kept_memory::KeptMemory;

/// Bytes of the first buffer.
const FIRST_BYTES: u64 = 16 << 20;
/// Records begin at multiples of this.
const ALIGNMENT: u64 = 16;

/// The buffer of a device.
#[derive(Debug, Default)]
pub struct Ring {
    address: u64,
    /// 0 before there is one.
    capacity: u64,
    kept: KeptMemory,
}

/// What a launch wrote.
#[derive(Debug)]
pub struct RingOutcome {
    pub control: RingControl,
    pub bytes: Vec<u8>,
    /// Why records are missing, if some are.
    pub lost: Option<String>,
}

impl Ring {
    /// Runs a launch with the buffer, whose name is at `control`. If the launch can be repeated,
    /// `repeats` is the memory that it may change.
    ///
    /// # Errors
    /// Those of the launch, and of a device that does not work.
    pub fn run<D: Device>(
        &mut self,
        device: &mut D,
        control: Option<u64>,
        repeats: Option<&BTreeMap<u64, u64>>,
        launch: &KernelLaunch,
        context: &LaunchContext,
    ) -> Result<RingOutcome, CudaFault> {
        let Some(control) = control else {
            device.launch(launch, context)?;
            return Ok(RingOutcome {
                control: RingControl::default(),
                bytes: Vec::new(),
                lost: None,
            });
        };
        if self.capacity == 0
            && let Err(fault) = self.grow(device, FIRST_BYTES)
        {
            let used = launch_recorded(device, control, self.empty(), launch, context)?;
            return Ok(RingOutcome {
                control: used,
                bytes: Vec::new(),
                lost: Some(format!(
                    "there is no memory for its records: {}",
                    fault.message
                )),
            });
        }
        if let Some(blocks) = repeats {
            self.kept.keep(device, blocks)?;
        }
        let mut used = launch_recorded(device, control, self.empty(), launch, context)?;
        if used.lost > 0 && repeats.is_some() && self.grow(device, used.reserved).is_ok() {
            self.kept.restore(device)?;
            used = launch_recorded(device, control, self.empty(), launch, context)?;
        }
        let lost = (used.lost > 0).then(|| self.why_lost(device, used, repeats.is_some()));
        if used.lost > 0 && repeats.is_none() {
            // The next launch has room; without memory for it, it is as this one.
            let _ = self.grow(device, used.reserved);
        }
        let mut bytes = Vec::new();
        if lost.is_none() {
            bytes.resize(used.reserved.min(self.capacity) as usize, 0);
            device.read_into(self.address, &mut bytes)?;
        }
        Ok(RingOutcome {
            control: used,
            bytes,
            lost,
        })
    }

    /// Why records of a launch are missing.
    fn why_lost<D: Device>(&self, device: &D, used: RingControl, is_repeated: bool) -> String {
        let (free, _) = device.memory();
        let (needs, has) = (used.reserved, self.capacity);
        if is_repeated {
            format!(
                "its records take {needs} bytes, and the buffer for them has {has} (the device has \
                 {free} bytes left); analyse a smaller input, or fewer launches (--launches)"
            )
        } else {
            format!(
                "its records take {needs} bytes, the buffer for them has {has}, and a kernel that \
                 prints or allocates is not run again; analyse a smaller input"
            )
        }
    }

    /// Gives back memory of the device that is taken beside the buffer; whether there was some.
    pub fn give_back<D: Device>(&mut self, device: &mut D) -> bool {
        self.kept.give_back(device)
    }

    fn empty(&self) -> RingControl {
        RingControl::empty(self.address, self.capacity)
    }

    /// Takes a buffer with room for these bytes in the place of the one that there is.
    fn grow<D: Device>(&mut self, device: &mut D, bytes: u64) -> Result<(), CudaFault> {
        // A kernel that writes to wild addresses may have changed the number.
        let bytes = bytes.saturating_add(bytes / 4 + ALIGNMENT) / ALIGNMENT * ALIGNMENT;
        let address = device.allocate(bytes, ALIGNMENT)?;
        let (old, had) = (self.address, self.capacity);
        (self.address, self.capacity) = (address, bytes);
        if had > 0 {
            device.free(old)?;
        }
        Ok(())
    }
}

/// Runs a kernel whose hooks write into the buffer that `empty` names. The variable of its module
/// is at `variable`. Returns what the variable has afterwards.
///
/// # Errors
/// Those of the launch, and of a device that does not work.
pub fn launch_recorded<D: Device>(
    device: &mut D,
    variable: u64,
    empty: RingControl,
    launch: &KernelLaunch,
    context: &LaunchContext,
) -> Result<RingControl, CudaFault> {
    device.write(variable, &empty.to_bytes())?;
    device.launch(launch, context)?;
    let mut used = [0; CONTROL_BYTES];
    device.read_into(variable, &mut used)?;
    Ok(RingControl::from_bytes(&used))
}
