//! Places in an input from which others can read beside it.

use std::io::{ErrorKind, Seek, SeekFrom};
use std::sync::Arc;

use reuselens_units::Bytes;

use super::{CAPACITY, Input, Packed};
use crate::FileError;
use crate::unpack::{MEMORY, Members, Packing, Raw};

/// Where the reading of an input can begin.
#[derive(Clone)]
pub struct Places(Begin);

#[derive(Clone)]
enum Begin {
    /// At any byte of so many.
    Any(u64),
    /// At the members of an archive; elsewhere at the cost of unpacking a member from its
    /// beginning.
    Members(Arc<Members>),
}

impl Places {
    /// Any byte of `length` bytes.
    pub fn any(length: u64) -> Places {
        Places(Begin::Any(length))
    }

    /// Bytes of the input, unpacked: of an archive, what its list says.
    pub fn length(&self) -> u64 {
        match &self.0 {
            Begin::Any(length) => *length,
            Begin::Members(members) => members.length(),
        }
    }

    /// The byte nearest to `offset` from which reading costs nothing more.
    pub fn nearest(&self, offset: u64) -> u64 {
        match &self.0 {
            Begin::Any(_) => offset,
            Begin::Members(members) => members.nearest(offset),
        }
    }
}

impl Input {
    /// Where it can be read beside this, if it can be: plain files, and archives.
    pub fn places(&self) -> Option<Places> {
        match &self.packed {
            None => self.reach().map(Places::any),
            Some(packed) => {
                let members = Members::of(packed.archive.as_ref()?.another())?;
                Some(Places(Begin::Members(Arc::new(members))))
            }
        }
    }

    /// What comes from byte `offset` on, to be read beside this; `places` are those of
    /// [`Input::places`].
    ///
    /// # Errors
    /// [`FileError::Io`] if the file cannot be sought in, or there can be no thread to unpack it.
    pub fn another_at(&self, places: &Places, offset: u64) -> Result<Option<Input>, FileError> {
        let archive = self
            .packed
            .as_ref()
            .and_then(|packed| packed.archive.as_ref());
        let (Begin::Members(members), Some(archive)) = (&places.0, archive) else {
            let mut another = self.another();
            if let Some(input) = &mut another {
                input.jump(offset)?;
            }
            return Ok(another);
        };
        let unpacked = Packing::unpack_members(archive.another(), Arc::clone(members), offset);
        let (reader, taken) =
            unpacked.map_err(|error| FileError::io("unpack", &self.path, error))?;
        let mut input = Input::from(Raw::Stream(reader), self.path.clone());
        (input.total, input.offset, input.looked) = (self.total, offset, true);
        input.packed = Some(Packed {
            packing: Packing::Zip,
            taken,
            archive: Some(archive.another()),
        });
        Ok(Some(input))
    }

    /// The length of what is read, if any place in it can be reached: of a file that is not packed.
    pub fn reach(&self) -> Option<u64> {
        let reaches = self.packed.is_none() && matches!(self.reader, Raw::File(_));
        self.total.filter(|_| reaches)
    }

    /// Goes on at byte `offset`, if [`Input::reach`] says that it can.
    pub fn jump(&mut self, offset: u64) -> Result<(), FileError> {
        let moved = match &mut self.reader {
            Raw::File(file) => file.seek(SeekFrom::Start(offset)),
            Raw::Stream(_) => Err(ErrorKind::NotSeekable.into()),
        };
        moved.map_err(|error| self.unreadable(error))?;
        (self.start, self.end, self.offset) = (0, 0, offset);
        self.failed = None;
        Ok(())
    }

    /// The same bytes from the beginning once more, to be read beside this, if [`Input::reach`]
    /// says that any place can be reached.
    pub fn another(&self) -> Option<Input> {
        let Raw::File(file) = &self.reader else {
            return None;
        };
        let mut input = Input::from(Raw::File(file.another()), self.path.clone());
        input.total = self.reach();
        input.total.is_some().then_some(input)
    }

    /// Bytes held to read it.
    pub fn memory(&self) -> Bytes {
        let unpacking = if self.is_packed() { MEMORY } else { 0 };
        Bytes(CAPACITY as u64 + unpacking)
    }
}
