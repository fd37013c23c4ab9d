//! `reuselens gpu diff` of two runs of a CUDA program, as `profile` wrote them (`.rlgpu`).

use std::path::Path;

use anyhow::Context as _;
use reuselens_report::{GpuRunSummary, GpuTextOptions, gpu_diff};

use crate::files::{is_gpu_run, read_gpu_run};
use crate::output::{color, terminal_width, write_text};

/// Rows of a table.
const ROWS: usize = 10;

/// The comparison of two runs, printed unless `quiet`; `None` if neither file is a run.
///
/// # Errors
/// If one of them is a run and the other is not, or cannot be read.
pub fn compare(before: &Path, after: &Path, quiet: bool) -> anyhow::Result<Option<()>> {
    let (first, second) = (is_gpu_run(before), is_gpu_run(after));
    if !first && !second {
        return Ok(None);
    }
    let (before, after) = (read(before)?, read(after)?);
    if !quiet {
        let options = GpuTextOptions {
            top: ROWS,
            width: terminal_width(),
            color: color(),
        };
        write_text(Path::new("-"), &gpu_diff(&before, &after, &options), false)?;
    }
    Ok(Some(()))
}

fn read(path: &Path) -> anyhow::Result<GpuRunSummary> {
    let text = read_gpu_run(path)?;
    GpuRunSummary::parse(&text).with_context(|| path.display().to_string())
}
