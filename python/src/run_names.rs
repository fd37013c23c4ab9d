//! [`RunNames`]: the arrays, call paths and launches of a run, with their names in Python.

use std::collections::HashMap;
use std::ops::Range;

use reuselens_gpu_advisor::{
    CallPath, KernelNames, KernelReport, LaunchFault, LaunchSum, Ledger, MemoryObject, ObjectRange,
    Origin, RunFacts, findings,
};
use reuselens_ptx::without_parameters;
use reuselens_report::{GpuRun, HostCall, RunOrigin};
use reuselens_warp::DeviceCall;

/// Call paths, arrays and launches that are kept separately; further ones count together.
const MAX_ENTRIES: usize = 1 << 16;
/// An array further from an address than this is not the one that was meant.
const NEAR: u64 = 1 << 20;

/// What is known of the Python side of a run.
#[derive(Debug)]
pub struct RunNames {
    ledger: Ledger,
    /// By number; 0 is the unknown one.
    call_paths: Vec<Vec<HostCall>>,
    path_numbers: HashMap<Vec<(String, String)>, u32>,
    objects: Vec<String>,
    object_numbers: HashMap<String, u32>,
    launches: HashMap<(String, u32), usize>,
}

impl Default for RunNames {
    fn default() -> RunNames {
        RunNames {
            ledger: Ledger::default(),
            call_paths: vec![Vec::new()],
            path_numbers: HashMap::new(),
            objects: vec!["(unknown memory)".to_owned()],
            object_numbers: HashMap::new(),
            launches: HashMap::new(),
        }
    }
}

impl RunNames {
    /// The number of a call path: functions and places, the outermost first.
    pub fn call_path(&mut self, calls: Vec<(String, String)>) -> u32 {
        if calls.is_empty() {
            return 0;
        }
        if let Some(&number) = self.path_numbers.get(&calls) {
            return number;
        }
        if self.call_paths.len() >= MAX_ENTRIES {
            self.ledger.is_cut = true;
            return 0;
        }
        let number = self.call_paths.len() as u32;
        let named = calls.iter().map(|(function, place)| HostCall {
            function: function.clone(),
            place: place.clone(),
        });
        self.call_paths.push(named.collect());
        self.ledger.call_paths.push(CallPath::default());
        self.path_numbers.insert(calls, number);
        number
    }

    /// The calls of a call path.
    pub fn calls(&self, number: u32) -> &[HostCall] {
        let calls = self.call_paths.get(number as usize);
        calls.map_or(&[], Vec::as_slice)
    }

    /// The number of an array with this label.
    pub fn object(&mut self, label: &str, call_path: u32, bytes: u64) -> u32 {
        let known = self.object_numbers.get(label).copied();
        let number = known.unwrap_or_else(|| {
            if self.objects.len() >= MAX_ENTRIES {
                self.ledger.is_cut = true;
                return 0;
            }
            self.objects.push(label.to_owned());
            self.ledger.objects.push(MemoryObject {
                origin: Origin::Lent,
                call_path,
                instances: 1,
                ..MemoryObject::default()
            });
            let number = self.objects.len() as u32 - 1;
            self.object_numbers.insert(label.to_owned(), number);
            number
        });
        if number > 0 {
            let object = &mut self.ledger.objects[number as usize];
            object.bytes = object.bytes.max(bytes);
            object.largest = object.bytes;
            object.peak_bytes = object.bytes;
        }
        number
    }

    /// A kernel ran to its end, or why it did not; `address` is what it accessed wrongly.
    pub fn launched(
        &mut self,
        kernel: &str,
        call_path: u32,
        objects: &[ObjectRange],
        outcome: Result<(), (String, Option<u64>)>,
    ) {
        let sums = &mut self.ledger.launches;
        let key = (kernel.to_owned(), call_path);
        let index = *self.launches.entry(key).or_insert_with(|| {
            sums.push(LaunchSum {
                kernel: kernel.to_owned(),
                call_path,
                launches: 0,
                failed: 0,
            });
            sums.len() - 1
        });
        match outcome {
            Ok(()) => sums[index].launches += 1,
            Err((message, address)) => {
                sums[index].failed += 1;
                let fault = LaunchFault {
                    kernel: kernel.to_owned(),
                    call_path,
                    message,
                    object: address.and_then(|address| near(objects, address)),
                    is_refused: false,
                    count: 1,
                };
                self.ledger.count_fault(fault);
            }
        }
    }

    /// The run so far, with names and what to change.
    pub fn run(&self, command: &str, mut kernels: Vec<KernelReport>) -> GpuRun {
        kernels.iter_mut().for_each(in_own_lines);
        let found = findings(&RunFacts {
            kernels: &kernels,
            ledger: &self.ledger,
            names: self,
        });
        for kernel in &mut kernels {
            kernel.name_functions(|function| self.kernel(function));
        }
        GpuRun {
            command: command.to_owned(),
            origin: RunOrigin::Program,
            kernels,
            ledger: self.ledger.clone(),
            call_paths: self.call_paths.clone(),
            objects: self.objects.clone(),
            findings: found,
            host: None,
            unanalysed_launches: 0,
            unseen: Vec::new(),
            unrecorded: Vec::new(),
        }
    }
}

impl KernelNames for RunNames {
    fn kernel(&self, kernel: &str) -> String {
        without_parameters(kernel)
    }

    fn call_path(&self, number: u32) -> Vec<String> {
        self.calls(number).iter().map(HostCall::to_string).collect()
    }

    fn object(&self, number: u32) -> Option<String> {
        let name = self.objects.get(number as usize)?;
        (number > 0).then(|| name.clone())
    }
}

/// The array at an address, or before it, or after it.
fn near(objects: &[ObjectRange], address: u64) -> Option<u32> {
    let after = objects.partition_point(|range| range.start <= address);
    let before = objects[..after].last();
    let before = before.filter(|range| address < range.end.saturating_add(NEAR));
    let next = || {
        let next = objects.get(after);
        next.filter(|range| range.start - address < NEAR)
    };
    Some(before.or_else(next)?.object)
}

/// The parts of the device's memory that arrays are at; `parts` has range and number of each.
/// Where arrays overlap, the one that comes first keeps what both have.
pub fn object_ranges(mut parts: Vec<(Range<u64>, u32)>) -> Vec<ObjectRange> {
    parts.sort_by_key(|(range, _)| (range.start, range.end));
    let mut ranges: Vec<ObjectRange> = Vec::new();
    for (range, object) in parts {
        let start = ranges.last().map_or(0, |last| last.end).max(range.start);
        if start < range.end {
            ranges.push(ObjectRange {
                start,
                end: range.end,
                object,
            });
        }
    }
    ranges
}

/// Gives instructions that Triton's own functions were compiled to (`tl.sum`, `tl.sort`) the line
/// of the kernel that calls them.
fn in_own_lines(kernel: &mut KernelReport) {
    kernel.move_places(own);
}

/// The place of the innermost call that is in no file of Triton's language, with the calls that
/// lead there; none if the place itself is in no such file, or there is no such call.
fn own<'c>(place: &str, calls: &'c [DeviceCall]) -> Option<(String, &'c [DeviceCall])> {
    if !is_of_triton(place) {
        return None;
    }
    let index = calls
        .iter()
        .rposition(|call| !call.place.is_empty() && !is_of_triton(&call.place))?;
    let is_inlined = calls[index..].iter().all(|call| call.is_inlined);
    is_inlined.then(|| (calls[index].place.clone(), &calls[..index]))
}

fn is_of_triton(place: &str) -> bool {
    place.contains("/triton/language/")
}
