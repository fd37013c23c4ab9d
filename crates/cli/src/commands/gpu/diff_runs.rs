//! `reuselens gpu diff` of two runs of a CUDA program, as `profile` wrote them (`.rlgpu`).

use std::path::Path;

use reuselens_report::{GpuTextOptions, gpu_diff};

use super::input::Output;
use crate::exit::Usage;
use crate::files::{is_gpu_run, read_gpu_run};
use crate::output::{color, terminal_width, write_text};

/// Rows of a table.
const ROWS: usize = 10;

/// The comparison of two runs, printed unless that is not wanted; `None` if neither file is a run.
///
/// # Errors
/// If one of them is a run and the other is not, or cannot be read; files that are asked for.
pub fn compare(before: &Path, after: &Path, output: &Output) -> anyhow::Result<Option<()>> {
    let (first, second) = (is_gpu_run(before), is_gpu_run(after));
    if !first && !second {
        return Ok(None);
    }
    if output.html.is_some() || output.csv.is_some() {
        let text = "--html and --csv are about streams of a kernel (.rlwarp); the comparison of two \
                    runs of a CUDA program is text";
        return Err(Usage(text.to_owned()).into());
    }
    let (before, after) = (read_gpu_run(before)?, read_gpu_run(after)?);
    before.unlike(&after)?;
    if !output.quiet {
        let options = GpuTextOptions {
            top: ROWS,
            width: terminal_width(),
            color: color(),
        };
        write_text(Path::new("-"), &gpu_diff(&before, &after, &options), false)?;
    }
    Ok(Some(()))
}
