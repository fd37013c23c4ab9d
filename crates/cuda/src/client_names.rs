//! [`ClientNames`]: what a program calls its modules and call paths, and the notes in which it uses
//! these numbers. All of it may be anything.

use std::collections::HashMap;
use std::hash::Hash;

use reuselens_gpu_advisor::{CallPath, Direction, HostFrame, HostModule, Origin};

use crate::accounts::{Accounts, CopyNote};
use crate::little_endian::u64_at;
use crate::protocol::{ALLOCATION_KINDS, AllocationKind, Message, Operation, SIDES, Side};

/// Calls of a path that are kept.
const MAX_FRAMES: usize = 64;
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

    /// Takes a note.
    pub fn note(&mut self, note: &Message, accounts: &mut Accounts) {
        match note.operation {
            Operation::Module => self.module(note, accounts),
            Operation::CallPath => self.describe_path(note, accounts),
            Operation::Copied => self.copied(note, accounts),
            Operation::Filled => {
                let object = accounts.object_at(note.field(0));
                accounts.filled(object, self.call_path(note.call_path), note.field(1));
            }
            _ => {}
        }
    }

    fn module(&mut self, note: &Message, accounts: &mut Accounts) {
        let bytes = usize::try_from(note.field(1)).unwrap_or(usize::MAX);
        let (build_id, path) = note.bytes.split_at(bytes.min(note.bytes.len()));
        let module = accounts.module(HostModule {
            path: String::from_utf8_lossy(path).into_owned(),
            build_id: build_id.to_vec(),
        });
        if let Some(module) = module {
            remember(&mut self.modules, note.field(0), module);
        }
    }

    fn describe_path(&mut self, note: &Message, accounts: &mut Accounts) {
        let frames = note.bytes.chunks_exact(16).filter_map(|frame| {
            Some(HostFrame {
                module: *self.modules.get(&u64_at(frame, 0)?)?,
                address: u64_at(frame, 8)?,
            })
        });
        let frames: Vec<HostFrame> = frames.take(MAX_FRAMES).collect();
        let path = accounts.call_path(CallPath {
            frames,
            is_cut: note.field(1) != 0,
        });
        remember(&mut self.call_paths, note.field(0), path);
    }

    fn copied(&mut self, note: &Message, accounts: &mut Accounts) {
        let (to, is_on_device) = self.side(note, 2, accounts);
        let (from, was_on_device) = self.side(note, 6, accounts);
        accounts.copied(CopyNote {
            from,
            to,
            direction: match (was_on_device, is_on_device) {
                (false, true) => Direction::HostToDevice,
                (true, false) => Direction::DeviceToHost,
                (true, true) => Direction::DeviceToDevice,
                (false, false) => Direction::HostToHost,
            },
            call_path: self.call_path(note.call_path),
            bytes: note.field(0),
            is_redundant: note.field(1) != 0,
        });
    }

    /// The object of one side of a copy, whose fields begin at an index; and whether it is the
    /// device's alone.
    fn side(&self, note: &Message, index: usize, accounts: &mut Accounts) -> (u32, bool) {
        let [kind, a, b, c] = [0, 1, 2, 3].map(|more| note.field(index + more));
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
                let origin = module(a).map(|module| Origin::Static { module, address: b });
                (accounts.variable(origin), false)
            }
            Side::Local => {
                let origin = module(a).map(|module| Origin::Local {
                    module,
                    function: b,
                    below: c,
                });
                (accounts.variable(origin), false)
            }
        }
    }
}

/// How memory came about whose kind has a number.
pub fn allocated_by(number: u64) -> Origin {
    let kind = usize::try_from(number)
        .ok()
        .and_then(|number| ALLOCATION_KINDS.get(number));
    match kind {
        None => Origin::Unknown,
        Some(AllocationKind::Malloc) => Origin::Malloc,
        Some(AllocationKind::Pitched) => Origin::Pitched,
        Some(AllocationKind::StreamOrdered) => Origin::StreamOrdered,
        Some(AllocationKind::Managed) => Origin::Managed,
        Some(AllocationKind::Pinned) => Origin::Pinned,
        Some(AllocationKind::Registered) => Origin::Registered,
    }
}
