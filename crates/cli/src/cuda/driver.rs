//! `profile --device cuda`: the kernels of a program run on a GPU, with hooks that record what they
//! access.

use std::collections::BTreeMap;
use std::path::Path;

use reuselens::capture::process_end;
use reuselens::units::{counted, shown};
use reuselens_cuda::{AdvisedKernels, ReplayedDevice, ReplayedRun};
use reuselens_cuda_driver::DriverDevice;
use reuselens_instrument::LeftOutReason;
use reuselens_ptx::without_parameters;
use reuselens_report::{GpuRun, UnrecordedAccesses, UnseenLaunches};

use super::{CudaAnalysis, CudaProgram, GpuResults, ServedRun, results, warn, warn_of_selection};
use crate::commands::profile::program_name;
use crate::exit::Outcome;
use crate::output::Show;
use crate::say::tell;

impl CudaProgram<'_> {
    /// Runs the program on a GPU, analyses what its kernels do, and shows it.
    pub fn profile_on(
        &self,
        device: DriverDevice,
        show: &Show,
        output: Option<&Path>,
        arguments: &CudaAnalysis,
    ) -> Outcome {
        let results = GpuResults::begin(output, &program_name(self.command), show)?;
        let watch = AdvisedKernels::new(arguments.model.advisor());
        let selection = arguments.run.selected.selection();
        let device = ReplayedDevice::new(device, watch, selection);
        let ServedRun {
            ended,
            refused,
            ledger,
            device,
        } = self.serve(device, show.standard_output_is_taken())?;
        let hooked = device.finish();
        still_works(&hooked.device)?;
        warn(&refused);
        warn_of_selection(&hooked.selection, 0);
        let unseen = unseen(&hooked);
        for launches in &unseen {
            tell!(
                "reuselens: warning: nothing is known of {} of {}: {}",
                counted(launches.launches, "launch", "launches"),
                shown(&launches.kernel),
                shown(&launches.why)
            );
        }
        let run = GpuRun {
            unanalysed_launches: hooked.selection.left_out(),
            unseen,
            unrecorded: unrecorded(&hooked),
            ..results::named(self.line(), hooked.watch.finish(), ledger)
        };
        self.end(results.finish(run, show), process_end(ended))
    }
}

/// That the GPU was there to the end. What the program's own kernels do wrong ends its work on the
/// GPU too, and is in the report.
fn still_works(device: &DriverDevice) -> anyhow::Result<()> {
    match device.lost().filter(|fault| !fault.status.is_fatal()) {
        None => Ok(()),
        Some(fault) => anyhow::bail!(
            "{}; no report is written. Without --device the kernels run on the interpreter",
            fault.message
        ),
    }
}

/// What a run on a GPU leaves.
type GpuLeft = ReplayedRun<DriverDevice, AdvisedKernels>;

/// The launches that the report is not about.
fn unseen(run: &GpuLeft) -> Vec<UnseenLaunches> {
    let unseen = run.unseen.iter();
    let launches = unseen.map(|unseen| UnseenLaunches {
        kernel: without_parameters(&unseen.kernel),
        launches: unseen.launches,
        why: unseen.why.clone(),
    });
    launches.collect()
}

/// The accesses that it lacks of others.
fn unrecorded(run: &GpuLeft) -> Vec<UnrecordedAccesses> {
    let mut found: BTreeMap<&str, BTreeMap<LeftOutReason, u64>> = BTreeMap::new();
    for (kernel, left_out) in &run.left_out {
        for instruction in left_out {
            let reasons = found.entry(kernel).or_default();
            *reasons.entry(instruction.reason).or_default() += 1;
        }
    }
    let kernels = found.into_iter().map(|(kernel, reasons)| {
        let instructions = reasons.iter().map(|(reason, count)| {
            let count = counted(*count, "instruction", "instructions");
            format!("{reason} ({count})")
        });
        UnrecordedAccesses {
            kernel: without_parameters(kernel),
            instructions: instructions.collect::<Vec<_>>().join(", "),
        }
    });
    kernels.collect()
}
