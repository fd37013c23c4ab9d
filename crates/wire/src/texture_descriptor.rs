//! [`TextureDescriptor`]: what a texture or surface is of, and how it is read. Its bytes are in the
//! device's memory, and their address is the handle that a kernel gets.
//!
//! The texels are in plain memory, row after row and layer after layer, not in the order of a GPU.
//!
//! The program's side of the crate `cuda` writes them, and the interpreter of the crate `ptx` reads
//! them. Both come from one build, so [`VERSION`](crate::VERSION) does not count changes of it.

/// How an index outside a direction becomes one inside. The numbers are CUDA's
/// (`cudaTextureAddressMode`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum AddressMode {
    /// Begins again.
    Wrap,
    /// Takes the nearest.
    Clamp,
    /// Goes back.
    Mirror,
    /// Takes a colour instead.
    Border,
}

/// What a channel of a texel is. The numbers are CUDA's (`cudaChannelFormatKind`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum ChannelKind {
    /// A signed integer.
    Signed,
    /// An unsigned integer.
    Unsigned,
    /// A float.
    Float,
}

/// A texture or surface.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TextureDescriptor {
    /// Where the first texel is.
    pub address: u64,
    /// Texels in each direction; 1 in those that there are not.
    pub size: [u32; 3],
    /// Layers; 0 if it has none. Where it has them, there is no third direction.
    pub layers: u32,
    /// It has six faces of rows, or six in each layer, in CUDA's order.
    pub is_cube: bool,
    /// Of a cube map: filters across the edges of faces.
    pub is_seamless: bool,
    /// Bytes from a row to the next.
    pub row_bytes: u64,
    /// Bytes from a layer of rows, or from a face, to the next.
    pub layer_bytes: u64,
    /// Channels of a texel: 1, 2 or 4.
    pub channels: u32,
    /// Bytes of a channel: 1, 2 or 4.
    pub channel_bytes: u32,
    /// What a channel is.
    pub kind: ChannelKind,
    /// Of each direction.
    pub modes: [AddressMode; 3],
    /// Mixes the texels around a place; else the nearest is taken.
    pub is_filtered: bool,
    /// Integers are read as floats from 0 or -1 to 1.
    pub reads_unit: bool,
    /// Coordinates count from 0 to 1 over the direction; else texels.
    pub takes_unit: bool,
    /// What is outside, for [`AddressMode::Border`].
    pub border: [f32; 4],
}

/// The first word of a descriptor.
const MAGIC: u32 = 0x7265_7854;
/// Words of a descriptor.
const WORDS: usize = 24;

impl TextureDescriptor {
    /// Bytes of a descriptor.
    pub const BYTES: usize = 4 * WORDS;

    /// Bytes of a texel.
    pub fn texel_bytes(&self) -> u64 {
        u64::from(self.channels) * u64::from(self.channel_bytes)
    }

    /// As bytes for the device's memory.
    pub fn to_bytes(self) -> [u8; TextureDescriptor::BYTES] {
        let halves = |wide: u64| [wide as u32, (wide >> 32) as u32];
        let ([a, b], [c, d], [e, f]) = (
            halves(self.address),
            halves(self.row_bytes),
            halves(self.layer_bytes),
        );
        let [x, y, z] = self.size;
        let [mode_x, mode_y, mode_z] = self.modes.map(|mode| mode as u32);
        let [red, green, blue, alpha] = self.border.map(f32::to_bits);
        let flags = u32::from(self.is_filtered)
            | u32::from(self.reads_unit) << 1
            | u32::from(self.takes_unit) << 2
            | u32::from(self.is_cube) << 3
            | u32::from(self.is_seamless) << 4;
        let kind = self.kind as u32;
        let words: [u32; WORDS] = [
            MAGIC,
            flags,
            a,
            b,
            c,
            d,
            e,
            f,
            x,
            y,
            z,
            self.layers,
            self.channels,
            self.channel_bytes,
            kind,
            mode_x,
            mode_y,
            mode_z,
            red,
            green,
            blue,
            alpha,
            0,
            0,
        ];
        let mut bytes = [0; TextureDescriptor::BYTES];
        for (place, word) in bytes.chunks_exact_mut(4).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    /// From its bytes; `None` if they are something else.
    pub fn from_bytes(bytes: &[u8; TextureDescriptor::BYTES]) -> Option<TextureDescriptor> {
        let word = |at: usize| u32::from_le_bytes([0, 1, 2, 3].map(|byte| bytes[4 * at + byte]));
        let wide = |at: usize| u64::from(word(at)) | u64::from(word(at + 1)) << 32;
        let mode = |at: usize| {
            Some(match word(at) {
                0 => AddressMode::Wrap,
                1 => AddressMode::Clamp,
                2 => AddressMode::Mirror,
                3 => AddressMode::Border,
                _ => return None,
            })
        };
        let kind = match word(14) {
            0 => ChannelKind::Signed,
            1 => ChannelKind::Unsigned,
            2 => ChannelKind::Float,
            _ => return None,
        };
        let descriptor = TextureDescriptor {
            address: wide(2),
            size: [word(8), word(9), word(10)],
            layers: word(11),
            is_cube: word(1) & 8 != 0,
            is_seamless: word(1) & 16 != 0,
            row_bytes: wide(4),
            layer_bytes: wide(6),
            channels: word(12),
            channel_bytes: word(13),
            kind,
            modes: [mode(15)?, mode(16)?, mode(17)?],
            is_filtered: word(1) & 1 != 0,
            reads_unit: word(1) & 2 != 0,
            takes_unit: word(1) & 4 != 0,
            border: [18, 19, 20, 21].map(|at| f32::from_bits(word(at))),
        };
        let is_whole = word(0) == MAGIC
            && matches!(descriptor.channels, 1 | 2 | 4)
            && matches!(descriptor.channel_bytes, 1 | 2 | 4)
            && !descriptor.size.contains(&0);
        is_whole.then_some(descriptor)
    }
}
