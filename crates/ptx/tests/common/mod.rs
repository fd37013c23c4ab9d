//! Kernels of the suite on a device, as both compilers made them, in every way of running them.

pub mod body;

use std::path::Path;

use reuselens_ptx::{Argument, Count, Device, Kernel, Loaded, Options, PtxModule, Stats};

/// A module on a device.
pub struct Run {
    pub device: Device,
    module: Loaded,
    pub options: Options,
    pub stats: Stats,
    pub count: Count,
}

/// PTX of a file of the suite.
#[allow(dead_code, reason = "not every test needs it")]
pub fn ptx(compiler: &str, file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join(format!("../../kernels/ptx/{compiler}/{file}.ptx"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Calls `test` for both compilers, with one thread and with three, in order and in random order.
#[allow(dead_code, reason = "not every test needs it")]
pub fn everywhere(file: &str, test: impl Fn(&mut Run)) {
    for compiler in ["clang", "nvcc"] {
        for (threads, seed) in [(1, None), (3, None), (2, Some(7))] {
            let options = Options {
                threads,
                seed,
                // Results are the same where sinks are shown what is calculated.
                arithmetic: threads == 3,
                ..Options::default()
            };
            test(&mut Run::new(&ptx(compiler, file), options));
        }
    }
}

impl Run {
    pub fn new(text: &str, options: Options) -> Run {
        let mut device = Device::new();
        let module = PtxModule::parse(text).unwrap_or_else(|error| panic!("{error}"));
        let module = device
            .load(module)
            .unwrap_or_else(|error| panic!("{error}"));
        Run {
            device,
            module,
            options,
            stats: Stats::default(),
            count: Count::default(),
        }
    }

    #[allow(dead_code, reason = "not every test needs it")]
    pub fn module(&self) -> &Loaded {
        &self.module
    }

    pub fn kernel(&self, name: &str) -> Kernel {
        self.device
            .kernel(&self.module, name, &self.options)
            .unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// Puts numbers on the device.
    pub fn put<T: Number>(&mut self, values: &[T]) -> Argument {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.bytes()).collect();
        let address = self.device.allocate("buffer", bytes.len() as u64).unwrap();
        self.device.write(address, &bytes).unwrap();
        Argument::Pointer(address)
    }

    /// Gets them back.
    #[allow(dead_code, reason = "not every test needs it")]
    pub fn get<T: Number>(&self, buffer: &Argument, count: usize) -> Vec<T> {
        let Argument::Pointer(address) = buffer else {
            panic!("no buffer")
        };
        let size = std::mem::size_of::<T>();
        let bytes = self.device.read(*address, (count * size) as u64).unwrap();
        bytes.chunks_exact(size).map(T::from_bytes).collect()
    }

    pub fn launch(
        &mut self,
        name: &str,
        grid: [u32; 3],
        block: [u32; 3],
        shared: u64,
        arguments: &[Argument],
    ) {
        let kernel = self.kernel(name);
        let launch = kernel
            .launch(grid, block, shared, arguments)
            .unwrap_or_else(|error| panic!("{error}"));
        let stats = self
            .device
            .launch(&kernel, &launch, &self.options, &mut self.count);
        self.stats = stats.unwrap_or_else(|error| panic!("{error}"));
    }

    /// Enough blocks of 64 threads for `n`, in a line.
    #[allow(dead_code, reason = "not every test needs it")]
    pub fn line(&mut self, name: &str, n: usize, arguments: &[Argument]) {
        let mut all = vec![Argument::Integer(n as i128)];
        all.extend_from_slice(arguments);
        self.launch(name, [(n as u32).div_ceil(64), 1, 1], [64, 1, 1], 0, &all);
    }
}

/// A number as bytes.
pub trait Number: Copy {
    fn bytes(self) -> Vec<u8>;
    #[allow(dead_code, reason = "not every test needs it")]
    fn from_bytes(bytes: &[u8]) -> Self;
}

macro_rules! number {
    ($($type:ty),*) => {
        $(impl Number for $type {
            fn bytes(self) -> Vec<u8> {
                self.to_le_bytes().to_vec()
            }
            fn from_bytes(bytes: &[u8]) -> $type {
                <$type>::from_le_bytes(bytes.try_into().unwrap())
            }
        })*
    };
}

number!(u8, i8, u16, i16, u32, i32, u64, i64, f32, f64);

/// Numbers that look random and are the same each time.
pub fn noise(count: usize, seed: u64) -> Vec<u64> {
    let mut random = reuselens_ptx::SplitMix64::new(seed);
    (0..count).map(|_| random.bits()).collect()
}

/// Whole numbers of both signs, small ones among them.
#[allow(dead_code, reason = "not every test needs it")]
pub fn ints(count: usize, seed: u64) -> Vec<i32> {
    noise(count, seed)
        .into_iter()
        .map(|bits| (bits as i32) >> (bits >> 32 & 31))
        .collect()
}

/// Singles of both signs and many sizes.
#[allow(dead_code, reason = "not every test needs it")]
pub fn floats(count: usize, seed: u64) -> Vec<f32> {
    let float = |bits: u64| (bits as i32 as f32) * 2f32.powi((bits >> 32 & 31) as i32 - 40);
    noise(count, seed).into_iter().map(float).collect()
}
