//! [`Ledger`]: what the host side of a run did with a device: who called, which memory there was,
//! and what was copied, filled and launched. All of it as sums, so its size does not grow with the
//! number of calls.
//!
//! Addresses of code and of static variables are left as they are in the program's files: naming
//! them needs debug information, which is not read here.

/// A file that was mapped into the program as code and data.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostModule {
    /// Its path.
    pub path: String,
    /// Its GNU build id; empty if it has none.
    pub build_id: Vec<u8>,
    /// The function, of a file that an interpreter runs, such as Python's: each function is a
    /// module, and the addresses in it are lines. Else empty.
    pub function: String,
}

/// A call on the way from `main` to a function of CUDA.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostFrame {
    /// The module, as an index in [`Ledger::modules`].
    pub module: u32,
    /// The last byte of the call instruction, as an address in the module's file: debug information
    /// has the line of the call there.
    pub address: u64,
}

/// The calls that lead to a function of CUDA, the outermost first. The last one is the call of that
/// function. Empty if it is unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallPath {
    /// The calls.
    pub frames: Vec<HostFrame>,
    /// Whether there were more calls around them.
    pub is_cut: bool,
}

/// Where a variable of device code is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum VariableSpace {
    /// `__device__` or `__managed__`.
    Global,
    /// `__constant__`.
    Constant,
}

/// How an object came about.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Origin {
    /// Memory that is not known: of the host, not by `malloc`, no variable.
    #[default]
    Unknown,
    /// `cudaMalloc`.
    Malloc,
    /// `cudaMallocPitch`, `cudaMalloc3D`.
    Pitched,
    /// `cudaMallocArray`, `cudaMalloc3DArray`.
    Array,
    /// `cudaMallocAsync`.
    StreamOrdered,
    /// `cudaMallocManaged`.
    Managed,
    /// `cudaMallocHost`, `cudaHostAlloc`.
    Pinned,
    /// `cudaHostRegister`: memory of the host that kernels access too.
    Registered,
    /// An array of the process that launches kernels, which they access in place or by copies that
    /// the process does not make itself: of NumPy or the like.
    Lent,
    /// A variable of device code.
    Variable {
        /// Its name, mangled.
        name: String,
        /// Where it is.
        space: VariableSpace,
    },
    /// Memory of the host by `malloc` and its like.
    Heap,
    /// A static variable of the host.
    Static {
        /// The module, as an index in [`Ledger::modules`].
        module: u32,
        /// The variable's first byte, as an address in the module's file; without a symbol table,
        /// where it was accessed.
        address: u64,
    },
    /// A local variable of the host.
    Local {
        /// The module of its function, as an index in [`Ledger::modules`].
        module: u32,
        /// The function's first instruction, as an address in the module's file.
        function: u64,
        /// How many bytes below the canonical frame address (the stack pointer before the call of
        /// the function) the byte is that was accessed.
        below: u64,
    },
}

impl Origin {
    /// Whether it is memory of the host that kernels do not access.
    pub fn is_host_only(&self) -> bool {
        matches!(
            self,
            Origin::Unknown | Origin::Heap | Origin::Static { .. } | Origin::Local { .. }
        )
    }

    /// Whether it is memory of the device that the host cannot access and that the program asked
    /// for. Compilers make variables of their own: nvcc's `$str` (clang's `_$_str`) are the strings
    /// that `printf` and `assert` read, and names with `__` are reserved for the compiler and its
    /// libraries.
    pub fn is_device_only(&self) -> bool {
        match self {
            Origin::Malloc | Origin::Pitched | Origin::Array | Origin::StreamOrdered => true,
            Origin::Variable { name, .. } => !name.contains('$') && !name.starts_with("__"),
            Origin::Managed | Origin::Pinned | Origin::Registered | Origin::Lent => false,
            Origin::Unknown | Origin::Heap | Origin::Static { .. } | Origin::Local { .. } => false,
        }
    }

    /// The function or keyword that made it, for people.
    pub fn word(&self) -> &'static str {
        match self {
            Origin::Unknown => "memory of the host",
            Origin::Malloc => "cudaMalloc",
            Origin::Pitched => "cudaMallocPitch",
            Origin::Array => "cudaMallocArray",
            Origin::StreamOrdered => "cudaMallocAsync",
            Origin::Managed => "cudaMallocManaged",
            Origin::Pinned => "cudaMallocHost",
            Origin::Registered => "cudaHostRegister",
            Origin::Lent => "array",
            Origin::Variable {
                space: VariableSpace::Global,
                ..
            } => "__device__",
            Origin::Variable {
                space: VariableSpace::Constant,
                ..
            } => "__constant__",
            Origin::Heap => "malloc",
            Origin::Static { .. } => "static variable",
            Origin::Local { .. } => "local variable",
        }
    }
}

/// All memory that one place in the program took in one way: a variable, or the allocations of
/// one call path. Of the host there is only what took part in copies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemoryObject {
    /// How it came about.
    pub origin: Origin,
    /// The call path that allocated it; 0 for variables, and where it is unknown.
    pub call_path: u32,
    /// Allocations; 1 for a variable.
    pub instances: u64,
    /// Bytes of all its allocations together. 0 for local variables, whose size is not known.
    pub bytes: u64,
    /// Bytes of its largest allocation.
    pub largest: u64,
    /// The most bytes that were live at one time. Of memory of the host, as `bytes`.
    pub peak_bytes: u64,
    /// Who freed allocations, ascending: call path, number of allocations. Of memory of the host,
    /// nothing.
    pub freed: Vec<(u32, u64)>,
}

impl MemoryObject {
    /// Allocations that nobody freed. Variables are never freed, and host memory is not watched.
    pub fn unfreed(&self) -> u64 {
        if self.origin.is_host_only() || matches!(self.origin, Origin::Variable { .. }) {
            return 0;
        }
        let freed = saturating_sum(self.freed.iter().map(|&(_, allocations)| allocations));
        self.instances.saturating_sub(freed)
    }
}

/// From where to where a copy goes. Managed and pinned memory counts as the host's, as copies of it
/// by `cudaMemcpy` are made there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// To the device.
    HostToDevice,
    /// From the device.
    DeviceToHost,
    /// On the device.
    DeviceToDevice,
    /// On the host.
    HostToHost,
}

impl Direction {
    /// As CUDA names it.
    pub fn name(self) -> &'static str {
        match self {
            Direction::HostToDevice => "host to device",
            Direction::DeviceToHost => "device to host",
            Direction::DeviceToDevice => "device to device",
            Direction::HostToHost => "host to host",
        }
    }
}

/// The copies from one object to another by one call path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopySum {
    /// Where from, as an index in [`Ledger::objects`].
    pub from: u32,
    /// Where to.
    pub to: u32,
    /// The direction.
    pub direction: Direction,
    /// Who copied.
    pub call_path: u32,
    /// Copies, those of several rows as one.
    pub count: u64,
    /// Bytes of all copies.
    pub bytes: u64,
    /// Copies whose destination held exactly these bytes before. Copies of nothing but zeros count
    /// only where earlier copies or fills wrote the destination: new memory of the interpreter has
    /// zeros, that of a GPU anything. Copies of nothing but zeros to the host never count, as the
    /// host's own writes are not seen.
    pub redundant: u64,
    /// Their bytes.
    pub redundant_bytes: u64,
}

/// The fills (`cudaMemset` and its like) of one object by one call path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FillSum {
    /// What is filled, as an index in [`Ledger::objects`].
    pub object: u32,
    /// Who fills.
    pub call_path: u32,
    /// Fills.
    pub count: u64,
    /// Bytes of all fills.
    pub bytes: u64,
}

/// The launches of one kernel by one call path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaunchSum {
    /// The kernel's name, mangled.
    pub kernel: String,
    /// Who launched.
    pub call_path: u32,
    /// Launches that ended well.
    pub launches: u64,
    /// Launches that did not.
    pub failed: u64,
}

/// A kernel that was stopped, or a launch that was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaunchFault {
    /// The kernel's name, mangled.
    pub kernel: String,
    /// Who launched it.
    pub call_path: u32,
    /// What it did, and where, for people.
    pub message: String,
    /// The object that it missed or misused, as an index in [`Ledger::objects`], if it was an
    /// access to global memory and an object is near.
    pub object: Option<u32>,
    /// It was refused: no instruction of the kernel ran.
    pub is_refused: bool,
    /// How often that happened.
    pub count: u64,
}

/// The most different faults of a run that are kept.
const MOST_FAULTS: usize = 1000;

impl LaunchFault {
    /// Whether the same happened once more, and not only as often.
    fn is_as(&self, other: &LaunchFault) -> bool {
        let key = |it: &LaunchFault| (it.call_path, it.object, it.is_refused);
        key(self) == key(other) && self.kernel == other.kernel && self.message == other.message
    }
}

impl Ledger {
    /// Counts a fault: once more if it is known, else as a new one, as long as there are fewer than
    /// 1000. Cost: a comparison with each that is known.
    pub fn count_fault(&mut self, fault: LaunchFault) {
        if let Some(known) = self.faults.iter_mut().find(|known| known.is_as(&fault)) {
            known.count += fault.count;
        } else if self.faults.len() < MOST_FAULTS {
            self.faults.push(fault);
        } else {
            self.is_cut = true;
        }
    }
}

/// What the host side of a run did with a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ledger {
    /// The files with the program's code.
    pub modules: Vec<HostModule>,
    /// Call paths by number. Number 0 is the unknown one.
    pub call_paths: Vec<CallPath>,
    /// Objects by number. Number 0 is all memory that is not known.
    pub objects: Vec<MemoryObject>,
    /// Copies, in the order of the first of each.
    pub copies: Vec<CopySum>,
    /// Fills, in the order of the first of each.
    pub fills: Vec<FillSum>,
    /// Launches, in the order of the first of each.
    pub launches: Vec<LaunchSum>,
    /// What stopped kernels, and launches that were refused, each message once.
    pub faults: Vec<LaunchFault>,
    /// Whether there were more call paths, objects or sums than are kept. What is beyond counts for
    /// number 0, or not at all.
    pub is_cut: bool,
}

impl Default for Ledger {
    fn default() -> Ledger {
        Ledger {
            modules: Vec::new(),
            call_paths: vec![CallPath::default()],
            objects: vec![MemoryObject::default()],
            copies: Vec::new(),
            fills: Vec::new(),
            launches: Vec::new(),
            faults: Vec::new(),
            is_cut: false,
        }
    }
}

impl Ledger {
    /// A call path; the unknown one for a number that there is not.
    pub fn call_path(&self, number: u32) -> &CallPath {
        const UNKNOWN: &CallPath = &CallPath {
            frames: Vec::new(),
            is_cut: false,
        };
        self.call_paths.get(number as usize).unwrap_or(UNKNOWN)
    }

    /// The copies to and from an object.
    pub fn copies_of(&self, object: u32) -> impl Iterator<Item = &CopySum> {
        let copies = self.copies.iter();
        copies.filter(move |copy| copy.from == object || copy.to == object)
    }

    /// The objects of the host that copies tie to one of the device, or the other way round;
    /// ascending.
    pub fn tied_to(&self, object: u32) -> Vec<u32> {
        let copies = self.copies_of(object);
        let mut tied: Vec<u32> = copies
            .map(|copy| {
                if copy.from == object {
                    copy.to
                } else {
                    copy.from
                }
            })
            .filter(|&other| other != object)
            .collect();
        tied.sort_unstable();
        tied.dedup();
        tied
    }

    /// Bytes of all copies.
    pub fn copied_bytes(&self) -> u64 {
        saturating_sum(self.copies.iter().map(|copy| copy.bytes))
    }

    /// Bytes of all memory that kernels can access.
    pub fn device_bytes(&self) -> u64 {
        let objects = self.objects.iter();
        let of_device = objects.filter(|object| !object.origin.is_host_only());
        saturating_sum(of_device.map(|object| object.bytes))
    }

    /// Objects that only the device can access ([`Origin::is_device_only`]) and that no copy, fill
    /// or kernel ever used; `used` are those that kernels used. Nothing if the ledger is cut: the
    /// copies that it lacks may use any object.
    pub fn unused(&self, used: &[u32]) -> Vec<u32> {
        if self.is_cut {
            return Vec::new();
        }
        let mut accessed = used.to_vec();
        accessed.extend(self.copies.iter().flat_map(|copy| [copy.from, copy.to]));
        accessed.extend(self.fills.iter().map(|fill| fill.object));
        accessed.sort_unstable();
        accessed.dedup();
        let numbers = 1..u32::try_from(self.objects.len()).unwrap_or(u32::MAX);
        numbers
            .filter(|&number| {
                let origin = &self.objects[number as usize].origin;
                origin.is_device_only() && accessed.binary_search(&number).is_err()
            })
            .collect()
    }
}

/// A sum of numbers that a program sent: any of them may be as large as there are.
fn saturating_sum(numbers: impl Iterator<Item = u64>) -> u64 {
    numbers.fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(origin: Origin) -> MemoryObject {
        MemoryObject {
            origin,
            instances: 3,
            ..MemoryObject::default()
        }
    }

    /// Objects: 1 of the heap, 2 to 4 of the device. 1 is copied to 2, 3 is filled.
    fn ledger() -> Ledger {
        let mut ledger = Ledger::default();
        let origins = [
            Origin::Heap,
            Origin::Malloc,
            Origin::Malloc,
            Origin::Pitched,
        ];
        ledger.objects.extend(origins.map(object));
        ledger.copies.push(CopySum {
            from: 1,
            to: 2,
            direction: Direction::HostToDevice,
            call_path: 0,
            count: 1,
            bytes: 4,
            redundant: 0,
            redundant_bytes: 0,
        });
        ledger.fills.push(FillSum {
            object: 3,
            call_path: 0,
            count: 1,
            bytes: 4,
        });
        ledger
    }

    #[test]
    fn copies_tie_objects_both_ways() {
        let ledger = ledger();
        assert_eq!(ledger.tied_to(1), [2]);
        assert_eq!(ledger.tied_to(2), [1]);
        assert!(ledger.tied_to(3).is_empty());
    }

    #[test]
    fn memory_of_the_device_that_nothing_accesses_is_unused() {
        let ledger = ledger();
        assert_eq!(ledger.unused(&[]), [4]);
        assert!(ledger.unused(&[4]).is_empty());
    }

    #[test]
    fn memory_that_the_host_can_access_and_variables_of_compilers_are_never_unused() {
        let variable = |name: &str| Origin::Variable {
            name: name.to_owned(),
            space: VariableSpace::Global,
        };
        let mut ledger = Ledger::default();
        let origins = [
            Origin::Managed,
            Origin::Pinned,
            Origin::Registered,
            variable("$str"),
            variable("_$_str"),
            variable("__unnamed_1"),
            variable("_ZN5table4dataE"),
        ];
        ledger.objects.extend(origins.map(object));
        assert_eq!(ledger.unused(&[]), [7]);
    }

    #[test]
    fn a_ledger_that_lacks_copies_knows_nothing_unused() {
        let ledger = Ledger {
            is_cut: true,
            ..ledger()
        };
        assert!(ledger.unused(&[]).is_empty());
    }

    #[test]
    fn only_allocations_of_the_device_can_be_left_unfreed() {
        let mut ledger = ledger();
        ledger.objects[2].freed = vec![(0, 1), (4, 1)];
        let unfreed: Vec<u64> = ledger.objects.iter().map(MemoryObject::unfreed).collect();
        assert_eq!(unfreed, [0, 0, 1, 3, 3]);
    }

    #[test]
    fn a_number_without_a_call_path_is_unknown() {
        assert_eq!(ledger().call_path(7), &CallPath::default());
    }
}
