//! What all devices do. A case has a device of its own.

use std::sync::atomic::Ordering;

use reuselens_cuda::{CudaFault, Device, FillValue, KernelInfo, KernelLaunch, Status};
use reuselens_gpu_advisor::{LaunchContext, VariableSpace};
use reuselens_ptx::SplitMix64;

/// Kernels of the cases.
pub const PTX: &str = include_str!("kernels.ptx");
/// A kernel that allocates. It is in a file of its own, as a driver makes the heap for the first
/// module that needs it.
const HEAP_PTX: &str = include_str!("heap.ptx");

/// A case with its name.
pub type Case<D> = (&'static str, fn(&mut D));

/// All cases.
pub fn all<D: Device>() -> [Case<D>; 10] {
    [
        ("memory_is_copied_in_and_out", memory_is_copied_in_and_out),
        ("memory_equals_a_model", memory_equals_a_model),
        ("memory_is_bounded", memory_is_bounded),
        (
            "modules_have_kernels_and_variables",
            modules_have_kernels_and_variables,
        ),
        ("kernels_get_their_parameters", kernels_get_their_parameters),
        (
            "blocks_of_a_cooperative_launch_meet",
            blocks_of_a_cooperative_launch_meet,
        ),
        ("bad_launches_are_refused", bad_launches_are_refused),
        ("kernels_stop_by_the_flag", kernels_stop_by_the_flag),
        (
            "heap_is_set_before_kernels_allocate",
            heap_is_set_before_kernels_allocate,
        ),
        ("bad_accesses_end_a_kernel", bad_accesses_end_a_kernel),
    ]
}

/// The status of what must fail, after a look at its message.
fn refused<T: std::fmt::Debug>(result: Result<T, CudaFault>) -> Status {
    let fault = result.unwrap_err();
    assert!(!fault.message.is_empty());
    fault.status
}

fn bytes_at(device: &impl Device, address: u64, count: u64) -> Vec<u8> {
    let mut bytes = vec![0x5a; count as usize];
    device.read_into(address, &mut bytes).unwrap();
    bytes
}

fn memory_is_copied_in_and_out<D: Device>(device: &mut D) {
    let block = device.allocate(1000, 256).unwrap();
    assert_eq!(block % 256, 0);
    assert!(device.addresses().contains(&block));
    assert_eq!(bytes_at(device, block, 1000), [0; 1000]);
    device.write(block + 3, b"words").unwrap();
    assert_eq!(bytes_at(device, block + 2, 7), b"\0words\0");
    device.fill(block + 16, FillValue::Byte(7), 3).unwrap();
    device.fill(block + 20, FillValue::Half(0x0102), 2).unwrap();
    device
        .fill(block + 24, FillValue::Word(0x0304_0506), 2)
        .unwrap();
    let filled = [7, 7, 7, 0, 2, 1, 2, 1, 6, 5, 4, 3, 6, 5, 4, 3];
    assert_eq!(bytes_at(device, block + 16, 16), filled);
    // To other memory, and to a place that overlaps, in both directions.
    let other = device.allocate(64, 4096).unwrap();
    assert_eq!(other % 4096, 0);
    device.copy(other, block + 16, 16).unwrap();
    device.copy(other + 4, other, 16).unwrap();
    assert_eq!(bytes_at(device, other + 4, 16), filled);
    device.copy(other + 1, other + 4, 16).unwrap();
    assert_eq!(bytes_at(device, other + 1, 16), filled);
    long_copies_may_overlap(device);
    device.free(block).unwrap();
    assert_eq!(refused(device.free(block)), Status::INVALID_VALUE);
    assert_eq!(refused(device.free(other + 16)), Status::INVALID_VALUE);
    assert_eq!(refused(device.write(block, &[1])), Status::INVALID_VALUE);
    device.free(other).unwrap();
}

fn long_copies_may_overlap<D: Device>(device: &mut D) {
    const BYTES: usize = 200_000;
    let block = device.allocate(BYTES as u64, 1).unwrap();
    let mut expected: Vec<u8> = (0..BYTES).map(|at| (at % 251) as u8).collect();
    device.write(block, &expected).unwrap();
    for (to, from) in [(3, 0), (0, 70_000), (90_000, 1)] {
        let bytes = BYTES - to.max(from);
        let [to_address, from_address] = [to, from].map(|at| block + at as u64);
        device.copy(to_address, from_address, bytes as u64).unwrap();
        expected.copy_within(from..from + bytes, to);
        assert_eq!(bytes_at(device, block, BYTES as u64), expected);
    }
    device.free(block).unwrap();
}

/// What a device must hold.
struct Model {
    blocks: Vec<(u64, Vec<u8>)>,
    random: SplitMix64,
}

impl Model {
    fn below(&mut self, bound: u64) -> u64 {
        self.random.below(bound)
    }

    /// A place in a block: its number, offset and bytes. One of eight reaches past the end.
    fn place(&mut self) -> (usize, usize, u64) {
        let number = self.below(self.blocks.len() as u64) as usize;
        let size = self.blocks[number].1.len() as u64;
        let offset = self.below(size);
        let reach = if self.below(8) == 0 { 300 } else { 0 };
        let bytes = 1 + self.below(size - offset + reach);
        (number, offset as usize, bytes)
    }

    /// The bytes of a place, unless it reaches past the end of its block.
    fn at(&mut self, (number, offset, bytes): (usize, usize, u64)) -> Option<&mut [u8]> {
        self.blocks[number]
            .1
            .get_mut(offset..offset + bytes as usize)
    }

    fn address(&self, (number, offset, _): (usize, usize, u64)) -> u64 {
        self.blocks[number].0 + offset as u64
    }
}

/// Writes, fills and copies in random places leave what the same on plain memory leaves.
fn memory_equals_a_model<D: Device>(device: &mut D) {
    let mut model = Model {
        blocks: Vec::new(),
        random: SplitMix64::new(11),
    };
    for step in 0..1500 {
        if model.blocks.len() < 3 {
            let bytes = 1 + model.below(3000);
            let address = device.allocate(bytes, 1 << model.below(11)).unwrap();
            model.blocks.push((address, vec![0; bytes as usize]));
        }
        let place = model.place();
        let (address, bytes) = (model.address(place), place.2);
        let done = match model.below(5) {
            0 => {
                let values: Vec<u8> = (0..bytes).map(|_| model.below(256) as u8).collect();
                let written = device.write(address, &values);
                model
                    .at(place)
                    .map(|to| to.copy_from_slice(&values))
                    .ok_or(written)
            }
            1 => {
                let filled = device.fill(address, FillValue::Byte(step as u8), bytes);
                model.at(place).map(|to| to.fill(step as u8)).ok_or(filled)
            }
            2 => {
                let to = (place.0, 0, bytes);
                let copied = device.copy(model.address(to), address, bytes);
                let from = model.at(place).map(|from| from.to_vec());
                let moved = from.zip(model.at(to));
                moved
                    .map(|(from, to)| to.copy_from_slice(&from))
                    .ok_or(copied)
            }
            3 => {
                let mut found = vec![0; bytes as usize];
                let read = device.read_into(address, &mut found);
                let expected = model.at(place).map(|expected| assert_eq!(found, expected));
                expected.ok_or(read)
            }
            _ => {
                let (address, expected) = model.blocks.swap_remove(place.0);
                assert_eq!(bytes_at(device, address, expected.len() as u64), expected);
                device.free(address).unwrap();
                Ok(())
            }
        };
        if let Err(result) = done {
            assert_eq!(refused(result), Status::INVALID_VALUE, "step {step}");
        }
    }
}

fn memory_is_bounded<D: Device>(device: &mut D) {
    let (free, all) = device.memory();
    assert!(free <= all && free > 1 << 20);
    let fault = device.allocate(all + 1, 1).unwrap_err();
    assert_eq!(fault.status, Status::MEMORY_ALLOCATION);
    assert!(
        fault.message.contains(&(all + 1).to_string()),
        "{}",
        fault.message
    );
    assert_eq!(
        refused(device.allocate(u64::MAX, 1 << 20)),
        Status::MEMORY_ALLOCATION
    );
    for alignment in [0, 3, 257, 4097, u64::MAX] {
        let fault = device.allocate(16, alignment).unwrap_err();
        assert_eq!(fault.status, Status::INVALID_VALUE);
        let words = [&alignment.to_string(), "power of two"];
        let has = words.map(|word| fault.message.contains(word));
        assert_eq!(has, [true; 2], "{}", fault.message);
    }
    assert_eq!(
        refused(device.allocate(16, 1 << 63)),
        Status::MEMORY_ALLOCATION
    );
    let block = device.allocate(1 << 20, 1).unwrap();
    let (less, same) = device.memory();
    assert!(less <= free && same == all);
    // The last byte has a place, and the next one none.
    device.write(block + (1 << 20) - 1, &[1]).unwrap();
    assert_eq!(
        refused(device.write(block + (1 << 20), &[1])),
        Status::INVALID_VALUE
    );
    let word = FillValue::Word(1);
    assert_eq!(
        refused(device.fill(block + 2, word, 1)),
        Status::INVALID_VALUE
    );
    assert_eq!(
        refused(device.fill(block, word, 1 << 18 | 1)),
        Status::INVALID_VALUE
    );
    assert_eq!(
        refused(device.fill(block, word, u64::MAX / 2)),
        Status::INVALID_VALUE
    );
    assert_eq!(
        refused(device.copy(block + 1, block, 1 << 20)),
        Status::INVALID_VALUE
    );
    assert_eq!(
        refused(device.read_into(u64::MAX, &mut [0; 2])),
        Status::INVALID_VALUE
    );
    device.free(block).unwrap();
}

fn modules_have_kernels_and_variables<D: Device>(device: &mut D) {
    let module = device.load(PTX.as_bytes()).unwrap();
    let mut variables = device.variables(module);
    variables.sort_by(|one, other| one.name.cmp(&other.name));
    let described: Vec<_> = variables
        .iter()
        .map(|it| (&*it.name, it.bytes, it.space))
        .collect();
    assert_eq!(
        described,
        [
            ("table", 16, VariableSpace::Constant),
            ("total", 4, VariableSpace::Global),
        ]
    );
    let table = (variables[0].address, variables[0].bytes);
    assert_eq!(device.variable(module, "table").unwrap(), table);
    assert_eq!(bytes_at(device, table.0, 4), [1, 2, 3, 0]);
    device
        .write(variables[1].address, &9_u32.to_le_bytes())
        .unwrap();
    assert_eq!(bytes_at(device, variables[1].address, 4), [9, 0, 0, 0]);
    assert_eq!(
        refused(device.variable(module, "no such")),
        Status::INVALID_SYMBOL
    );
    assert_eq!(
        refused(device.kernel(module, "no such")),
        Status::INVALID_FUNCTION
    );
    assert_eq!(
        refused(device.kernel(module, "no\0such")),
        Status::INVALID_FUNCTION
    );
    let (number, info) = device.kernel(module, "sum").unwrap();
    assert_eq!(
        device.kernel(module, "sum").unwrap(),
        (number, info.clone())
    );
    let expected = KernelInfo {
        max_threads: 64,
        shared_bytes: 128,
        local_bytes: 0,
        param_bytes: 20,
        architecture: 80,
        params: vec![(0, 1), (8, 8), (16, 4)],
    };
    assert_eq!(info, expected);
    // A second module of the same code has its own variables.
    let other = device.load(PTX.as_bytes()).unwrap();
    let total = device.variable(other, "total").unwrap().0;
    assert_eq!(bytes_at(device, total, 4), [7, 0, 0, 0]);
    let mut freed = device.unload(module).unwrap();
    freed.sort_unstable();
    let mut addresses: Vec<u64> = variables.iter().map(|it| it.address).collect();
    addresses.sort_unstable();
    assert_eq!(freed, addresses);
    assert_eq!(refused(device.kernel(module, "sum")), Status::INVALID_IMAGE);
    assert_eq!(
        refused(device.variable(module, "total")),
        Status::INVALID_IMAGE
    );
    assert_eq!(refused(device.unload(module)), Status::INVALID_IMAGE);
    assert!(device.variables(module).is_empty());
    assert_eq!(
        refused(device.read_into(freed[0], &mut [0])),
        Status::INVALID_VALUE
    );
    assert_eq!(bytes_at(device, total, 4), [7, 0, 0, 0]);
    code_that_cannot_be_loaded(device);
}

/// The head of a file of machine code for sm_80, as nvcc 13.0 makes it.
fn machine_code() -> Vec<u8> {
    let mut head = vec![0; 64];
    head[..9].copy_from_slice(&[0x7f, b'E', b'L', b'F', 2, 1, 1, 0x41, 8]);
    head[18] = 190;
    head[48..52].copy_from_slice(&u32::to_le_bytes(0x0600_5004));
    head
}

fn code_that_cannot_be_loaded<D: Device>(device: &mut D) {
    let fault = device.load(&machine_code()).unwrap_err();
    assert_eq!(fault.status, Status::INVALID_IMAGE);
    assert!(fault.message.contains("sm_80"), "{}", fault.message);
    assert_eq!(refused(device.load(b"")), Status::INVALID_IMAGE);
    assert_eq!(refused(device.load(b"neither")), Status::INVALID_IMAGE);
    assert_eq!(
        refused(device.load(b".version 7.0\n.entry {")),
        Status::INVALID_PTX
    );
}

/// A kernel of the cases, launched with parameters.
fn launch<D: Device>(device: &mut D, kernel: u64, with: KernelLaunch) -> Result<(), CudaFault> {
    let launch = KernelLaunch { kernel, ..with };
    device.launch(&launch, &LaunchContext::default())
}

fn kernels_get_their_parameters<D: Device>(device: &mut D) {
    let module = device.load(PTX.as_bytes()).unwrap();
    let kernel = device.kernel(module, "sum").unwrap().0;
    let [x, y, z] = [3_u64, 2, 4];
    let (grid, block) = ([2, 1, 3], [x as u32, y as u32, z as u32]);
    let threads = 6 * x * y * z;
    let to = device.allocate(4 * threads, 4).unwrap();
    // A byte, an address and a number, laid out as the kernel declares them.
    let mut params = vec![0; 20];
    params[0] = 5;
    params[8..16].copy_from_slice(&to.to_le_bytes());
    params[16..].copy_from_slice(&1000_u32.to_le_bytes());
    let mut with = KernelLaunch {
        grid,
        block,
        params,
        ..KernelLaunch::default()
    };
    launch(device, kernel, with.clone()).unwrap();
    let words = |device: &D| -> Vec<u32> {
        let bytes = bytes_at(device, to, 4 * threads);
        let words = bytes
            .chunks(4)
            .map(|word| u32::from_le_bytes(word.try_into().unwrap()));
        words.collect()
    };
    // Each thread writes its number, plus the byte, plus the number, plus `total`, which is 7.
    let expected = |total: u32| -> Vec<u32> {
        (0..threads as u32)
            .map(|thread| thread + 5 + 1000 + total)
            .collect()
    };
    assert_eq!(words(device), expected(7));
    let total = device.variable(module, "total").unwrap().0;
    device.write(total, &100_u32.to_le_bytes()).unwrap();
    with.stack_bytes = Some(2048);
    launch(device, kernel, with).unwrap();
    assert_eq!(words(device), expected(100));
    // With shared memory that the launch adds, also more than all GPUs give without being asked.
    let reverse = device.kernel(module, "reverse").unwrap().0;
    for shared_bytes in [4 * 32, 64 << 10] {
        let with = KernelLaunch {
            grid: [1; 3],
            block: [32, 1, 1],
            shared_bytes,
            params: to.to_le_bytes().to_vec(),
            ..KernelLaunch::default()
        };
        let mut expected = words(device);
        expected[..32].reverse();
        launch(device, reverse, with).unwrap();
        assert_eq!(words(device), expected);
    }
}

fn blocks_of_a_cooperative_launch_meet<D: Device>(device: &mut D) {
    let module = device.load(PTX.as_bytes()).unwrap();
    let kernel = device.kernel(module, "meet").unwrap().0;
    let counter = device.allocate(8, 4).unwrap();
    let with = KernelLaunch {
        grid: [4, 1, 1],
        block: [1; 3],
        params: [counter.to_le_bytes(), 3_u64.to_le_bytes()].concat(),
        is_cooperative: true,
        ..KernelLaunch::default()
    };
    launch(device, kernel, with).unwrap();
    // All have seen all others, and each has added 3 then.
    assert_eq!(bytes_at(device, counter, 8), [4, 0, 0, 0, 12, 0, 0, 0]);
}

fn bad_launches_are_refused<D: Device>(device: &mut D) {
    let module = device.load(PTX.as_bytes()).unwrap();
    let kernel = device.kernel(module, "reverse").unwrap().0;
    let to = device.allocate(128, 4).unwrap();
    let good = KernelLaunch {
        grid: [1; 3],
        block: [32, 1, 1],
        shared_bytes: 128,
        params: to.to_le_bytes().to_vec(),
        ..KernelLaunch::default()
    };
    let bad = [
        KernelLaunch {
            grid: [0, 1, 1],
            ..good.clone()
        },
        KernelLaunch {
            block: [64, 64, 1],
            ..good.clone()
        },
        KernelLaunch {
            params: vec![0; 7],
            ..good.clone()
        },
        KernelLaunch {
            params: vec![0; 16],
            ..good.clone()
        },
        KernelLaunch {
            shared_bytes: 1 << 40,
            ..good.clone()
        },
        KernelLaunch {
            shared_bytes: 1 << 30,
            ..good.clone()
        },
    ];
    for launched in bad {
        let text = format!("{launched:?}");
        let refused = refused(launch(device, kernel, launched));
        assert_eq!(refused, Status::INVALID_CONFIGURATION, "{text}");
    }
    let unknown = launch(device, kernel + 100, good.clone());
    assert_eq!(refused(unknown), Status::INVALID_FUNCTION);
    // None of that ends the device.
    device.write(to, &[1]).unwrap();
    launch(device, kernel, good).unwrap();
    assert_eq!(bytes_at(device, to + 124, 4), [1, 0, 0, 0]);
}

fn kernels_stop_by_the_flag<D: Device>(device: &mut D) {
    let module = device.load(PTX.as_bytes()).unwrap();
    let kernel = device.kernel(module, "reverse").unwrap().0;
    let to = device.allocate(128, 4).unwrap();
    let with = KernelLaunch {
        grid: [1; 3],
        block: [32, 1, 1],
        shared_bytes: 128,
        params: to.to_le_bytes().to_vec(),
        ..KernelLaunch::default()
    };
    device.stop().store(true, Ordering::Relaxed);
    assert_eq!(
        refused(launch(device, kernel, with.clone())),
        Status::TIMEOUT
    );
    device.stop().store(false, Ordering::Relaxed);
    launch(device, kernel, with).unwrap();
}

fn heap_is_set_before_kernels_allocate<D: Device>(device: &mut D) {
    /// More than the 8 MiB of the heap that CUDA has by itself.
    const BYTES: u64 = 12 << 20;
    device.set_heap(2 * BYTES).unwrap();
    let module = device.load(HEAP_PTX.as_bytes()).unwrap();
    let kernel = device.kernel(module, "allocate").unwrap().0;
    let to = device.allocate(16, 8).unwrap();
    let with = KernelLaunch {
        grid: [1; 3],
        block: [1; 3],
        params: [to.to_le_bytes(), BYTES.to_le_bytes()].concat(),
        ..KernelLaunch::default()
    };
    launch(device, kernel, with).unwrap();
    let found = bytes_at(device, to, 16);
    assert_ne!(found[..8], [0; 8], "the address of what was allocated");
    assert_eq!(found[8..], 7_u64.to_le_bytes(), "its last bytes");
    let fault = device.set_heap(BYTES).unwrap_err();
    assert_eq!(fault.status, Status::INVALID_VALUE);
    assert!(fault.message.contains("heap"), "{}", fault.message);
}

fn bad_accesses_end_a_kernel<D: Device>(device: &mut D) {
    let module = device.load(PTX.as_bytes()).unwrap();
    let kernel = device.kernel(module, "outside").unwrap().0;
    let with = KernelLaunch {
        grid: [1; 3],
        block: [1; 3],
        ..KernelLaunch::default()
    };
    let fault = launch(device, kernel, with).unwrap_err();
    assert_eq!(fault.status, Status::ILLEGAL_ADDRESS);
    assert!(fault.message.contains("outside"), "{}", fault.message);
}
