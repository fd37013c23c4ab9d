//! A stream in the making.

/// Bytes that are added at the end. What lies behind the end is memory that is written over: to
/// make it zeros first would take longer than most of what is written.
#[derive(Default)]
pub(super) struct Output {
    bytes: Vec<u8>,
    used: usize,
}

impl Output {
    /// How many bytes there are.
    pub(super) fn len(&self) -> usize {
        self.used
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.used]
    }

    /// Forgets everything and keeps the memory.
    pub(super) fn clear(&mut self) {
        self.used = 0;
    }

    /// Room for so many bytes behind the end. There is anything in it.
    #[inline]
    pub(super) fn room(&mut self, count: usize) -> &mut [u8] {
        let end = self.used + count;
        if end > self.bytes.len() {
            self.bytes.resize(end.next_power_of_two(), 0);
        }
        &mut self.bytes[self.used..end]
    }

    /// So many bytes of the room have been written.
    #[inline]
    pub(super) fn advance(&mut self, count: usize) {
        self.used += count;
    }
}
