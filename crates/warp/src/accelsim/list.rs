//! Reads the kernels of a list, one after the other.

use std::path::PathBuf;

use crate::accelsim::Reader;
use crate::{WarpBatch, WarpSource, WarpStep};
use reuselens_io::Input;
use reuselens_trace::TraceError;

/// Reads a `kernelslist.g` and the kernels in it, in order. Copies between host and device are
/// passed over.
pub struct List {
    input: Input,
    folder: PathBuf,
    kernel: Option<Reader>,
    over: bool,
}

impl List {
    /// Reads the list in `input`; its kernels lie in the same folder.
    ///
    /// # Errors
    /// [`TraceError`] if the list cannot be read.
    pub fn new(mut input: Input) -> Result<List, TraceError> {
        input.head()?;
        let folder = input.path().parent().map(PathBuf::from);
        Ok(List {
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
            self.kernel = Some(Reader::new(input));
        }
    }
}

impl WarpSource for List {
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
