//! [`Plan`]: buffers, and kernels that are launched on them one after the other. [`Plan::prepare`]
//! makes a [`Session`] of it on a device, which runs the launches step by step.

mod buffer;
mod compile;
mod file;
mod headers;
mod npy;
mod spec;
mod vector_copies;

use std::collections::HashMap;
use std::io::Read;
use std::path::{Path, PathBuf};

pub use buffer::{Buffer, Content, Element};
pub use compile::{CompileError, Preprocessor, compile};
pub use headers::{FORCED_HEADER, SDK_VERSION, UNDEFINED_ARGUMENTS, write_cuda_headers};
pub use npy::{Array, NpyError, read as read_npy};
pub use spec::SpecError;
pub use vector_copies::{copies_as_vectors, from_ir};

use crate::arguments::{Argument, ArgumentError};
use crate::decode::Kernel;
use crate::device::{Device, DeviceError, Loaded, PtxModule};
use crate::error::PtxError;
use crate::machine::{InstructionFlow, LaunchConfig, LaunchError, Options, SkippedAccess, Stats};
use crate::names;
use crate::sink::LaunchSink;

/// What is to be run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// Memory, by name.
    pub buffers: Vec<Buffer>,
    /// Kernels, in order.
    pub steps: Vec<PlannedLaunch>,
    /// For kernels in CUDA C++.
    pub preprocessor: Preprocessor,
}

/// A kernel to be launched.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedLaunch {
    /// PTX or CUDA C++.
    pub kernel: PathBuf,
    /// Name of the kernel, or a part of it that no other has.
    pub entry: String,
    /// Blocks.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub block: [u32; 3],
    /// Bytes of shared memory that the kernel does not declare.
    pub shared: u64,
    /// One for each parameter.
    pub arguments: Vec<Given>,
    /// How often, at most. A description that says nothing of it means once, or with `while_set`
    /// ten thousand times.
    pub repeat: u32,
    /// Buffers that are set to zeros before each time.
    pub zero: Vec<String>,
    /// Again as long as this buffer is not all zeros.
    pub while_set: Option<String>,
}

/// An argument as it is described.
#[derive(Clone, Debug, PartialEq)]
pub enum Given {
    /// The address of a buffer.
    Buffer(String),
    /// A number.
    Integer(i128),
    /// A number with a point.
    Float(f64),
}

/// What is wrong with a plan, or went wrong with it.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// A file that cannot be read or written.
    #[error("cannot {what} {path}: {error}")]
    File {
        /// What was tried.
        what: &'static str,
        /// With which file.
        path: PathBuf,
        /// Why not.
        error: std::io::Error,
    },
    /// PTX that cannot be read or run.
    #[error("{path}, {error}{excerpt}")]
    Ptx {
        /// The file.
        path: PathBuf,
        /// Where and what.
        error: PtxError,
        /// The line, see [`PtxError::excerpt`]: of a source that was compiled, the PTX is not there
        /// to be looked at.
        excerpt: String,
    },
    /// A kernel's file that is no text.
    #[error(
        "{path} is no PTX: it is no text; give the PTX (`nvcc -ptx`, not -cubin or -fatbin) or the source, .cu"
    )]
    NoText {
        /// The file.
        path: PathBuf,
    },
    /// CUDA C++ that cannot be compiled here.
    #[error(transparent)]
    Compile(#[from] CompileError),
    /// A name that no buffer has.
    #[error("there is no buffer '{name}'; there are: {known}")]
    NoBuffer {
        /// The name.
        name: String,
        /// Those that there are.
        known: String,
    },
    /// Two buffers of a name.
    #[error("there are two buffers '{0}'; give each a name of its own")]
    Twice(String),
    /// The device refuses.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// Arguments that do not fit.
    #[error(transparent)]
    Argument(#[from] ArgumentError),
    /// The launch was refused or stopped.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// A file that is no array.
    #[error("{path}: {error}")]
    Npy {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        error: NpyError,
    },
    /// The stream of memory instructions cannot be written.
    #[error(transparent)]
    Trace(#[from] reuselens_trace::TraceError),
    /// A description that cannot be read.
    #[error("{path}: {what}")]
    Description {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
}

/// A step that has been done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Done {
    /// The kernel's name, as its source has it.
    pub kernel: String,
    /// How often it ran.
    pub times: u32,
    /// The buffer that was to become zeros and has not: `repeat` ended it.
    pub not_zero: Option<String>,
    /// All times together.
    pub stats: Stats,
    /// The instructions of all times, by line and class; empty unless [`Options::flow`] asked for
    /// them when the plan was prepared.
    pub instructions: Vec<InstructionFlow>,
}

impl Done {
    /// Adds the instructions of another time.
    fn count(&mut self, instructions: Vec<InstructionFlow>) {
        if self.instructions.is_empty() {
            self.instructions = instructions;
            return;
        }
        // It is the same kernel.
        for (sum, more) in self.instructions.iter_mut().zip(instructions) {
            sum.warps += more.warps;
            sum.threads += more.threads;
            sum.float_operations += more.float_operations;
        }
    }
}

/// A plan on a device.
#[derive(Debug)]
pub struct Session {
    device: Device,
    buffers: HashMap<String, PlacedBuffer>,
    kernels: Vec<Kernel>,
}

#[derive(Clone, Debug)]
struct PlacedBuffer {
    address: u64,
    size: u64,
    element: Element,
    /// As the file says that it was read from; of others, one length.
    shape: Vec<u64>,
}

impl Plan {
    /// Puts the buffers onto a device and makes all kernels ready.
    ///
    /// # Errors
    /// Files that cannot be read, kernels outside the subset, names that do not exist.
    pub fn prepare(&self, memory_limit: u64, options: &Options) -> Result<Session, PlanError> {
        self.prepare_rewritten(memory_limit, options, &|text| text)
    }

    /// The same, with the PTX of each file after `rewrite`.
    ///
    /// # Errors
    /// As [`prepare`](Self::prepare).
    pub fn prepare_rewritten(
        &self,
        memory_limit: u64,
        options: &Options,
        rewrite: &dyn Fn(String) -> String,
    ) -> Result<Session, PlanError> {
        let mut session = Session {
            device: Device::with_limit(memory_limit),
            buffers: HashMap::new(),
            kernels: Vec::new(),
        };
        for buffer in &self.buffers {
            session.place(buffer)?;
        }
        let mut modules: HashMap<&Path, (Loaded, String)> = HashMap::new();
        for step in &self.steps {
            let path = step.kernel.as_path();
            let (loaded, text) = match modules.entry(path) {
                std::collections::hash_map::Entry::Occupied(known) => known.into_mut(),
                std::collections::hash_map::Entry::Vacant(place) => {
                    let text = rewrite(ptx_of(path, &self.preprocessor)?);
                    let module = PtxModule::parse(&text);
                    let module = module.map_err(|error| wrong_ptx(path, &text, error))?;
                    place.insert((session.device.load(module)?, text))
                }
            };
            let kernel = session.device.kernel(loaded, &step.entry, options);
            session.kernels.push(kernel.map_err(|error| match error {
                DeviceError::Ptx(error) => wrong_ptx(path, text, error),
                other => other.into(),
            })?);
        }
        Ok(session)
    }
}

fn wrong_ptx(path: &Path, text: &str, error: PtxError) -> PlanError {
    PlanError::Ptx {
        path: path.to_owned(),
        excerpt: error.excerpt(text),
        error,
    }
}

/// The most bytes of a file with kernels that is read, 256 MiB.
const MOST_SOURCE: u64 = 256 << 20;

/// The PTX of a file, compiled if it is CUDA C++.
fn ptx_of(path: &Path, preprocessor: &Preprocessor) -> Result<String, PlanError> {
    let (file, size) = buffer::regular(path)?;
    let failed = |error| buffer::cannot_read(path, error);
    if size > MOST_SOURCE {
        let error = std::io::Error::other(format!("it has more than {MOST_SOURCE} bytes"));
        return Err(failed(error));
    }
    let mut bytes = Vec::new();
    let mut file = file.take(MOST_SOURCE);
    file.read_to_end(&mut bytes).map_err(failed)?;
    if path.extension().is_some_and(|ending| ending == "cu") {
        return Ok(compile(path, preprocessor)?);
    }
    String::from_utf8(bytes).map_err(|_| PlanError::NoText {
        path: path.to_owned(),
    })
}

impl Session {
    fn place(&mut self, buffer: &Buffer) -> Result<(), PlanError> {
        if self.buffers.contains_key(&buffer.name) {
            return Err(PlanError::Twice(buffer.name.clone()));
        }
        let limit = self.device.left();
        let Array {
            bytes,
            element,
            shape,
        } = buffer.array(limit)?;
        let address = self.device.allocate(&buffer.name, bytes.len() as u64)?;
        self.device.write(address, &bytes)?;
        let size = bytes.len() as u64;
        self.buffers.insert(
            buffer.name.clone(),
            PlacedBuffer {
                address,
                size,
                element,
                shape,
            },
        );
        Ok(())
    }

    /// The kernels of the steps, in order.
    pub fn kernels(&self) -> &[Kernel] {
        &self.kernels
    }

    /// Does a step of the plan that was prepared. `before` is called before each launch.
    ///
    /// # Errors
    /// Arguments that do not fit, and whatever the kernel does that it must not.
    pub fn step<S: LaunchSink + Send>(
        &mut self,
        plan: &Plan,
        index: usize,
        options: &Options,
        sink: &mut S,
        before: &mut dyn FnMut(&mut S, &Kernel, &LaunchConfig) -> Result<(), PlanError>,
    ) -> Result<Done, PlanError> {
        let (step, kernel) = (&plan.steps[index], &self.kernels[index]);
        let mut arguments = Vec::new();
        for given in &step.arguments {
            arguments.push(match given {
                Given::Buffer(name) => Argument::Pointer(self.buffer(name)?.address),
                Given::Integer(value) => Argument::Integer(*value),
                Given::Float(value) => Argument::Float(*value),
            });
        }
        let launch = kernel.launch(step.grid, step.block, step.shared, &arguments)?;
        let kernel = kernel.clone();
        let mut done = Done {
            kernel: names::readable(kernel.name()),
            times: 0,
            not_zero: step.while_set.clone(),
            stats: Stats::default(),
            instructions: Vec::new(),
        };
        while done.times < step.repeat {
            for name in &step.zero {
                let PlacedBuffer { address, size, .. } = *self.buffer(name)?;
                self.device.write(address, &vec![0; size as usize])?;
            }
            before(sink, &kernel, &launch)?;
            done.stats += self.device.launch(&kernel, &launch, options, sink)?;
            done.times += 1;
            if let Some(flow) = self.device.take_flow() {
                done.count(flow.instructions);
            }
            if let Some(name) = &step.while_set
                && self.bytes(name)?.iter().all(|&byte| byte == 0)
            {
                done.not_zero = None;
                break;
            }
        }
        Ok(done)
    }

    fn buffer(&self, name: &str) -> Result<&PlacedBuffer, PlanError> {
        self.buffers.get(name).ok_or_else(|| {
            let mut known: Vec<&str> = self.buffers.keys().map(String::as_str).collect();
            known.sort_unstable();
            PlanError::NoBuffer {
                name: name.to_owned(),
                known: known.join(", "),
            }
        })
    }

    /// Takes what kernels have printed since this was last called.
    pub fn take_printed(&mut self) -> Vec<u8> {
        self.device.take_printed()
    }

    /// Takes the accesses that kernels left out since this was last called
    /// ([`OnFault::Continue`](crate::OnFault::Continue)).
    pub fn take_skipped(&mut self) -> Vec<SkippedAccess> {
        self.device.take_skipped()
    }

    /// What is in a buffer now.
    ///
    /// # Errors
    /// If there is none of that name.
    pub fn bytes(&self, name: &str) -> Result<&[u8], PlanError> {
        let placed = self.buffer(name)?;
        Ok(self.device.read(placed.address, placed.size)?)
    }

    /// A buffer as a file's bytes: `.npy` where the name ends so, else as they are.
    ///
    /// # Errors
    /// If there is none of that name.
    pub fn file(&self, name: &str, path: &Path) -> Result<Vec<u8>, PlanError> {
        let bytes = self.bytes(name)?;
        if path.extension().is_some_and(|ending| ending == "npy") {
            let PlacedBuffer { element, shape, .. } = self.buffer(name)?;
            return Ok(npy::write(bytes, *element, shape));
        }
        Ok(bytes.to_vec())
    }
}
