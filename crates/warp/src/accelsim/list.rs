//! [`KernelList`]: reads a list of kernels (`kernelslist.g`), and the trace of each kernel in it
//! with [`KernelReader`], one after the other, as one stream.

use std::path::PathBuf;

use crate::accelsim::KernelReader;
use crate::{WarpBatch, WarpSource, WarpStep};
use reuselens_io::Input;
use reuselens_trace::TraceError;

/// Reads a `kernelslist.g` and the kernels in it, in order. Copies between host and device
/// (`Memcpy…`) are skipped.
pub struct KernelList {
    input: Input,
    folder: PathBuf,
    kernel: Option<KernelReader>,
    over: bool,
}

impl KernelList {
    /// Reads the list in `input`; its kernels are in the same folder.
    ///
    /// # Errors
    /// [`TraceError`] if the list cannot be read.
    pub fn new(mut input: Input) -> Result<KernelList, TraceError> {
        input.head()?;
        let folder = input.path().parent().map(PathBuf::from);
        Ok(KernelList {
            folder: folder.unwrap_or_default(),
            input,
            kernel: None,
            over: false,
        })
    }

    fn step(&mut self, batch: &mut WarpBatch) -> Result<WarpStep, TraceError> {
        loop {
            if let Some(kernel) = &mut self.kernel {
                match kernel.next(batch)? {
                    WarpStep::End => self.kernel = None,
                    step => return Ok(step),
                }
            }
            let Some(line) = self.input.line()? else {
                return Ok(WarpStep::End);
            };
            let line = String::from_utf8_lossy(line).trim().to_owned();
            if line.is_empty() || line.starts_with("Memcpy") {
                continue;
            }
            if line.contains(['/', '\\', '\0']) {
                let what = format!(
                    "'{}' is no name of a file beside the list",
                    line.escape_debug()
                );
                return Err(self.input.bad_line(what).into());
            }
            let mut input = Input::open(&self.folder.join(&line))?;
            input.head()?;
            self.kernel = Some(KernelReader::new(input));
        }
    }
}

impl WarpSource for KernelList {
    fn next(&mut self, batch: &mut WarpBatch) -> Result<WarpStep, TraceError> {
        if self.over {
            return Ok(WarpStep::End);
        }
        let step = self.step(batch);
        self.over = matches!(step, Err(_) | Ok(WarpStep::End));
        step
    }

    fn describe(&self) -> String {
        "SASS instructions from Accel-Sim's tracer".to_owned()
    }
}
