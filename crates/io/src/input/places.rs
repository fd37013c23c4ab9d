//! [`Places`]: from which offsets an input can be read by another reader at the same time, and
//! [`Input::another_at`], which returns such a reader. Parallel analyses of one file use this.
//! Plain files can be read from any byte, zip archives from the beginning of each member.

use std::io::{ErrorKind, Seek, SeekFrom};
use std::sync::Arc;

use reuselens_units::Bytes;

use super::{CAPACITY, Input, Packed};
use crate::FileError;
use crate::unpack::{MEMORY, Members, Packing, Raw};

/// The offsets at which another reader of an input can begin.
#[derive(Clone)]
pub struct Places(Begin);

#[derive(Clone)]
enum Begin {
    /// At any byte of a file of this length.
    Any(u64),
    /// At the members of an archive; elsewhere only by decompressing a member from its beginning.
    Members(Arc<Members>),
}

impl Places {
    /// Any byte of `length` bytes.
    pub fn any(length: u64) -> Places {
        Places(Begin::Any(length))
    }

    /// Decompressed bytes of the input; of an archive, by its list of members.
    pub fn length(&self) -> u64 {
        match &self.0 {
            Begin::Any(length) => *length,
            Begin::Members(members) => members.length(),
        }
    }

    /// The offset nearest to `offset` at which a reader can begin at no additional cost.
    pub fn nearest(&self, offset: u64) -> u64 {
        match &self.0 {
            Begin::Any(_) => offset,
            Begin::Members(members) => members.nearest(offset),
        }
    }
}

impl Input {
    /// Where other readers of the input can begin; `None` if there can be none: that is possible
    /// for plain files and archives.
    pub fn places(&self) -> Option<Places> {
        match &self.packed {
            None => self.reach().map(Places::any),
            Some(packed) => {
                let members = Members::of(packed.archive.as_ref()?.another())?;
                Some(Places(Begin::Members(Arc::new(members))))
            }
        }
    }

    /// Another reader of the same bytes, from byte `offset` on; `places` are those of
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

    /// The length of the input, if any byte of it can be jumped to: that of a file that is not
    /// compressed.
    pub fn reach(&self) -> Option<u64> {
        let reaches = self.packed.is_none() && matches!(self.reader, Raw::File(_));
        self.total.filter(|_| reaches)
    }

    /// Continues at byte `offset`, if [`Input::reach`] returns a length.
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

    /// Another reader of the same bytes, from the beginning, if [`Input::reach`] returns a length.
    pub fn another(&self) -> Option<Input> {
        let Raw::File(file) = &self.reader else {
            return None;
        };
        let mut input = Input::from(Raw::File(file.another()), self.path.clone());
        input.total = self.reach();
        input.total.is_some().then_some(input)
    }

    /// Bytes of memory in use to read it.
    pub fn memory(&self) -> Bytes {
        let unpacking = if self.is_packed() { MEMORY } else { 0 };
        Bytes(CAPACITY as u64 + unpacking)
    }
}
