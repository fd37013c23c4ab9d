//! Random streams: few items and many, in order and not, with 32 bits and 64.

use reuselens_distance::generate::Random;

/// Lengths around those of warps, rounds, blocks and tiles.
const BORDERS: [u64; 9] = [1, 2, 31, 32, 33, 255, 256, 257, 512];

/// A stream of 0 to some hundred items.
pub fn random_items(random: &mut Random) -> Vec<u64> {
    let length = match random.below(3) {
        0 => BORDERS[random.below(BORDERS.len() as u64) as usize],
        _ => {
            let most = [20, 150, 400][random.below(3) as usize];
            random.below(most)
        }
    };
    items_of(length, random)
}

/// A stream of this length.
pub fn items_of(length: u64, random: &mut Random) -> Vec<u64> {
    let most = [1, 2, 5, 40, 300][random.below(5) as usize];
    let items = 1 + random.below(most);
    // Half of the streams differ in more than 32 bits.
    let stride = 1 << random.below(64);
    let kind = random.below(6);
    let item = |at: u64, random: &mut Random| {
        let number = match kind {
            0 => random.below(items),
            1 => random.below(items) * random.below(items) / items,
            2 => at % items,
            3 => at / 2 + random.below(3),
            4 => at,
            _ => 7,
        };
        // Around both ends of the numbers: 0 and the largest are items too.
        number.wrapping_sub(items / 2).wrapping_mul(stride)
    };
    (0..length).map(|at| item(at, random)).collect()
}
