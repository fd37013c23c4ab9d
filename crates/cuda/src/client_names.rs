//! [`ClientNames`]: what a program calls its modules and call paths, and the reports in which it
//! uses these numbers. All of it may be anything.

use std::collections::HashMap;
use std::hash::Hash;

use reuselens_gpu_advisor::{CallPath, Direction, HostFrame, HostModule, Origin};
use reuselens_io::text_of_bytes;

use crate::accounts::{Accounts, CopyRecord};
use crate::little_endian::u64_at;
use crate::protocol::{ALLOCATION_KINDS, AllocationKind, Message, Operation, SIDES, Side};

/// Calls of a path that are kept.
const MAX_FRAMES: usize = 64;
/// Bytes of a build id and of a path; Linux has no longer ones.
const MAX_BUILD_ID: usize = 64;
const MAX_PATH: usize = 4096;
/// Numbers of a program that are remembered.
const MAX_NUMBERS: usize = 1 << 16;

/// The numbers that one program gave, and those of the ledger for them.
#[derive(Debug, Default)]
pub struct ClientNames {
    modules: HashMap<u64, u32>,
    call_paths: HashMap<u64, u32>,
}

fn remember<K: Hash + Eq>(numbers: &mut HashMap<K, u32>, own: K, number: u32) {
    if numbers.len() < MAX_NUMBERS || numbers.contains_key(&own) {
        numbers.insert(own, number);
    }
}

impl ClientNames {
    /// The ledger's number of a call path; 0 for one that was never described.
    pub fn call_path(&self, own: u32) -> u32 {
        self.path(own.into())
    }

    fn path(&self, own: u64) -> u32 {
        self.call_paths.get(&own).copied().unwrap_or_default()
    }

    /// Takes a report.
    pub fn receive(&mut self, report: &Message, accounts: &mut Accounts) {
        match report.operation {
            Operation::Module => self.module(report, accounts),
            Operation::CallPath => self.describe_path(report, accounts),
            Operation::Copied => self.copied(report, accounts),
            Operation::Filled => {
                let object = accounts.object_at(report.field(0));
                accounts.filled(object, self.call_path(report.call_path), report.field(1));
            }
            _ => {}
        }
    }

    fn module(&mut self, report: &Message, accounts: &mut Accounts) {
        let split = |bytes: &'_ [u8], field: usize| {
            let most = usize::try_from(report.field(field)).unwrap_or(usize::MAX);
            let (before, after) = bytes.split_at(most.min(bytes.len()));
            (before.to_vec(), after.to_vec())
        };
        let (build_id, rest) = split(&report.bytes, 1);
        let (function, path) = split(&rest, 2);
        if build_id.len() > MAX_BUILD_ID || function.len() > MAX_PATH || path.len() > MAX_PATH {
            return;
        }
        let module = accounts.module(HostModule {
            path: text_of_bytes(&path).into_owned(),
            build_id,
            function: text_of_bytes(&function).into_owned(),
        });
        if let Some(module) = module {
            remember(&mut self.modules, report.field(0), module);
        }
    }

    fn describe_path(&mut self, report: &Message, accounts: &mut Accounts) {
        let frames = report.bytes.chunks_exact(16).filter_map(|frame| {
            Some(HostFrame {
                module: *self.modules.get(&u64_at(frame, 0)?)?,
                address: u64_at(frame, 8)?,
            })
        });
        let frames: Vec<HostFrame> = frames.take(MAX_FRAMES).collect();
        let path = accounts.call_path(CallPath {
            frames,
            is_cut: report.field(1) != 0,
        });
        remember(&mut self.call_paths, report.field(0), path);
    }

    fn copied(&mut self, report: &Message, accounts: &mut Accounts) {
        let (to, is_on_device) = self.side(report, 2, accounts);
        let (from, was_on_device) = self.side(report, 6, accounts);
        accounts.copied(CopyRecord {
            from,
            to,
            direction: match (was_on_device, is_on_device) {
                (false, true) => Direction::HostToDevice,
                (true, false) => Direction::DeviceToHost,
                (true, true) => Direction::DeviceToDevice,
                (false, false) => Direction::HostToHost,
            },
            call_path: self.call_path(report.call_path),
            bytes: report.field(0),
            is_redundant: report.field(1) != 0,
        });
    }

    /// The object of one side of a copy, whose fields begin at an index; and whether it is the
    /// device's alone.
    fn side(&self, report: &Message, index: usize, accounts: &mut Accounts) -> (u32, bool) {
        let [kind, a, b, c] = [0, 1, 2, 3].map(|more| report.field(index + more));
        let kind = usize::try_from(kind)
            .ok()
            .and_then(|kind| SIDES.get(kind).copied());
        let module = |own| self.modules.get(&own).copied();
        match kind.unwrap_or(Side::Unknown) {
            Side::Unknown => (0, false),
            Side::Device => (accounts.object_at(a), b == 0),
            Side::Heap => {
                let bytes = (c != 0).then_some(b);
                (
                    accounts.host_object(Origin::Heap, self.path(a), bytes),
                    false,
                )
            }
            Side::Static => {
                let object = module(a).map(|module| accounts.static_variable(module, b));
                (object.unwrap_or_default(), false)
            }
            Side::Local => {
                let object = module(a).map(|module| {
                    let (function, below) = (b, c);
                    let origin = Origin::Local {
                        module,
                        function,
                        below,
                    };
                    accounts.host_variable(origin, 0)
                });
                (object.unwrap_or_default(), false)
            }
        }
    }
}

/// How memory came about whose kind has a number.
pub fn allocated_by(number: u64) -> Option<Origin> {
    let kind = usize::try_from(number)
        .ok()
        .and_then(|number| ALLOCATION_KINDS.get(number));
    Some(match kind {
        None => Origin::Unknown,
        Some(AllocationKind::Malloc) => Origin::Malloc,
        Some(AllocationKind::Pitched) => Origin::Pitched,
        Some(AllocationKind::StreamOrdered) => Origin::StreamOrdered,
        Some(AllocationKind::Managed) => Origin::Managed,
        Some(AllocationKind::Pinned) => Origin::Pinned,
        Some(AllocationKind::Registered) => Origin::Registered,
        Some(AllocationKind::Array) => Origin::Array,
        Some(AllocationKind::Descriptor) => return None,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const REPORTS: [Operation; 4] = [
        Operation::Module,
        Operation::CallPath,
        Operation::Copied,
        Operation::Filled,
    ];

    fn report(operation: Operation, call_path: u32, fields: &[u64], bytes: Vec<u8>) -> Message {
        Message {
            call_path,
            ..Message::with_bytes(operation, fields, bytes)
        }
    }

    fn frames(frames: &[(u64, u64)]) -> Vec<u8> {
        let numbers = frames
            .iter()
            .flat_map(|(module, address)| [module, address]);
        numbers.flat_map(|number| number.to_le_bytes()).collect()
    }

    #[test]
    fn equal_paths_of_two_programs_are_one() {
        let mut accounts = Accounts::default();
        let mut programs = [ClientNames::default(), ClientNames::default()];
        for (index, names) in programs.iter_mut().enumerate() {
            // Each program has numbers of its own.
            let own = 7 + index as u64;
            let module = report(Operation::Module, 0, &[own, 2], b"id/bin/program".to_vec());
            names.receive(&module, &mut accounts);
            let path = frames(&[(own, 0x10), (own, 0x20), (99, 0x30)]);
            let path = report(Operation::CallPath, 0, &[3 * own, 0], path);
            names.receive(&path, &mut accounts);
            assert_eq!(names.call_path(3 * own as u32), 1);
            assert_eq!(names.call_path(12), 0);
        }
        let ledger = accounts.into_ledger();
        assert_eq!(ledger.modules.len(), 1);
        assert_eq!(ledger.modules[0].path, "/bin/program");
        assert_eq!(ledger.modules[0].build_id, b"id");
        // The call in a module that was never described is left out.
        let addresses = ledger.call_paths[1].frames.iter();
        let addresses: Vec<u64> = addresses.map(|frame| frame.address).collect();
        assert_eq!(addresses, [0x10, 0x20]);
    }

    #[test]
    fn functions_of_one_file_are_modules_whose_addresses_are_lines() {
        let (mut accounts, mut names) = (Accounts::default(), ClientNames::default());
        for (number, function) in ["main", "inner"].iter().enumerate() {
            let bytes = format!("{function}/x.py").into_bytes();
            let fields = [number as u64, 0, function.len() as u64];
            names.receive(&report(Operation::Module, 0, &fields, bytes), &mut accounts);
        }
        let path = report(Operation::CallPath, 0, &[1, 0], frames(&[(0, 12), (1, 3)]));
        names.receive(&path, &mut accounts);
        let ledger = accounts.into_ledger();
        let calls = ledger.call_paths[1].frames.iter().map(|frame| {
            let module = &ledger.modules[frame.module as usize];
            (&*module.path, &*module.function, frame.address)
        });
        let calls: Vec<_> = calls.collect();
        assert_eq!(calls, [("/x.py", "main", 12), ("/x.py", "inner", 3)]);
    }

    fn number() -> impl Strategy<Value = u64> {
        prop_oneof![
            0..6_u64,
            (0..64_u32).prop_map(|bits| 1 << bits),
            any::<u64>()
        ]
    }

    proptest! {
        /// Notes may say anything: the ledger stays whole.
        #[test]
        fn all_numbers_of_a_ledger_are_those_of_its_entries(
            reports in prop::collection::vec(
                (
                    prop::sample::select(&REPORTS[..]),
                    0..6_u32,
                    prop::collection::vec(number(), 0..11),
                    prop::collection::vec((number(), number()), 0..70),
                ),
                0..40,
            ),
        ) {
            let (mut accounts, mut names) = (Accounts::default(), ClientNames::default());
            accounts.allocated(Origin::Malloc, 0, 1, 3);
            for (operation, path, fields, bytes) in reports {
                names.receive(&report(operation, path, &fields, frames(&bytes)), &mut accounts);
            }
            let ledger = accounts.into_ledger();
            let is_path = |number: u32| (number as usize) < ledger.call_paths.len();
            let is_object = |number: u32| (number as usize) < ledger.objects.len();
            for path in &ledger.call_paths {
                prop_assert!(path.frames.len() <= MAX_FRAMES);
                prop_assert!(path.frames.iter().all(|frame| (frame.module as usize) < ledger.modules.len()));
            }
            for copy in &ledger.copies {
                prop_assert!(is_object(copy.from) && is_object(copy.to) && is_path(copy.call_path));
                prop_assert!(copy.redundant <= copy.count);
            }
            for fill in &ledger.fills {
                prop_assert!(is_object(fill.object) && is_path(fill.call_path));
            }
            for object in &ledger.objects {
                prop_assert!(is_path(object.call_path));
            }
        }
    }
}
