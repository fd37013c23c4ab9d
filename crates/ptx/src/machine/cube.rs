//! Cube maps: which face a direction leads to, and where on it.
//!
//! Source: NVIDIA, *CUDA C++ Programming Guide*, "Cubemap Textures", whose table gives the face and
//! the place on it by the coordinate of the largest magnitude. Which of equal magnitudes counts is
//! not documented there; here it is z before y before x, as in *Vulkan*, "Cube Map Face Selection".

use super::texture::split;

/// Faces of a cube, in the order in which they are in memory: +x, -x, +y, -y, +z, -z.
pub const FACES: u32 = 6;

/// The face that a direction from the middle of the cube leads to, and the place on it: across and
/// down, from 0 to 1. A direction that is none leads to the middle of a face.
pub fn face_of([x, y, z]: [f64; 3]) -> (usize, [f64; 2]) {
    let [wide, high, deep] = [x, y, z].map(f64::abs);
    let (axis, along, most, across, down) = if deep >= wide && deep >= high {
        (4, z, deep, if z < 0.0 { -x } else { x }, -y)
    } else if high >= wide {
        (2, y, high, x, if y < 0.0 { -z } else { z })
    } else {
        (0, x, wide, if x < 0.0 { z } else { -z }, -y)
    };
    let share = |part: f64| {
        let share = f64::midpoint(part / most, 1.0);
        if share.is_finite() { share } else { 0.5 }
    };
    let face = axis + usize::from(along < 0.0);
    (face, [share(across), share(down)])
}

/// A direction that leads to a place on a face, or beside it: the reverse of [`face_of`].
fn direction([across, down]: [f64; 2], face: usize) -> [f64; 3] {
    let (s, t) = (2.0 * across - 1.0, 2.0 * down - 1.0);
    match face {
        0 => [1.0, -t, -s],
        1 => [-1.0, -t, s],
        2 => [s, 1.0, t],
        3 => [s, -1.0, -t],
        4 => [s, -t, 1.0],
        _ => [-s, -t, -1.0],
    }
}

/// The face and the indices of a texel that is one beside a face, across an edge of it. Faces have
/// `size` texels in both directions.
pub fn beyond(face: usize, indices: [i64; 2], size: u32) -> (usize, [i64; 2]) {
    let size = f64::from(size);
    let middle = indices.map(|index| (index as f64 + 0.5) / size);
    let (face, place) = face_of(direction(middle, face));
    // The middle of a texel beside the edge leads to the same row or column of the next face, never
    // to a border between texels.
    (
        face,
        place.map(|share| (share * size).floor().clamp(0.0, size - 1.0) as i64),
    )
}

/// A texel of a cube map, and how much of it is mixed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CubeTexel {
    pub face: usize,
    /// Across and down.
    pub index: [i64; 2],
    pub weight: f64,
}

/// Texels that are mixed, at most: where three faces meet, three take the place of one.
pub const MOST_TEXELS: usize = 6;

/// The texel that a direction leads to. Faces have `size` texels in both directions.
pub fn nearest(vector: [f64; 3], size: u32) -> [Option<CubeTexel>; MOST_TEXELS] {
    let (face, place) = face_of(vector);
    let index = place.map(|share| on_face((share * f64::from(size)).floor() as i64, size));
    let mut texels = [None; MOST_TEXELS];
    texels[0] = Some(CubeTexel {
        face,
        index,
        weight: 1.0,
    });
    texels
}

/// The four texels around where a direction leads to, by rows. Beside a face, that is the nearest
/// texel of the face, or, if the map is seamless, that of the next face; beside a corner, where
/// there is none, it is the face's own, and the last two are those of the other faces, each with a
/// third of the weight.
pub fn around(vector: [f64; 3], size: u32, is_seamless: bool) -> [Option<CubeTexel>; MOST_TEXELS] {
    let (face, place) = face_of(vector);
    let [(left, right_share), (top, low_share)] =
        place.map(|share| split(share * f64::from(size) - 0.5));
    let mut texels = [None; MOST_TEXELS];
    for number in 0..4 {
        let (right, low) = (number & 1, number >> 1);
        let part = |step, share| if step == 0 { 1.0 - share } else { share };
        let weight = part(right, right_share) * part(low, low_share);
        let index = [left + right as i64, top + low as i64];
        let own = index.map(|index| on_face(index, size));
        let at = |(face, index), weight| {
            Some(CubeTexel {
                face,
                index,
                weight,
            })
        };
        texels[number] = match (is_seamless, index[0] != own[0], index[1] != own[1]) {
            (true, true, true) => {
                let third = weight / 3.0;
                texels[4] = at(beyond(face, [index[0], own[1]], size), third);
                texels[5] = at(beyond(face, [own[0], index[1]], size), third);
                at((face, own), third)
            }
            (true, true, false) | (true, false, true) => at(beyond(face, index, size), weight),
            _ => at((face, own), weight),
        };
    }
    texels
}

/// The nearest index that a face has.
fn on_face(index: i64, size: u32) -> i64 {
    index.clamp(0, i64::from(size) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The edges are those of a cube: whoever goes across one and back is where they came from.
    #[test]
    fn texels_beside_an_edge_are_each_others_neighbours() {
        for size in [1, 2, 3, 7, 64, 4096] {
            let last = i64::from(size) - 1;
            for face in 0..6 {
                for along in [0, last / 3, last] {
                    let edges = [
                        ([-1, along], [0, along]),
                        ([last + 1, along], [last, along]),
                        ([along, -1], [along, 0]),
                        ([along, last + 1], [along, last]),
                    ];
                    for (beside, own) in edges {
                        let (next, there) = beyond(face, beside, size);
                        assert_ne!(next, face);
                        assert_ne!(next / 2, face / 2, "the opposite face");
                        assert!(there.iter().any(|index| [0, last].contains(index)));
                        let steps = [[-1, 0], [1, 0], [0, -1], [0, 1]];
                        let back = steps.map(|[x, y]| [there[0] + x, there[1] + y]);
                        let outside = |at: &&[i64; 2]| at.iter().any(|i| !(0..=last).contains(i));
                        let back = back.iter().filter(outside);
                        let mut back = back.map(|&beside| beyond(next, beside, size));
                        assert!(back.any(|found| found == (face, own)), "{face} {beside:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn directions_lead_back_to_their_places() {
        for face in 0..6 {
            for place in [[0.25, 0.5], [0.75, 0.125], [0.5, 0.9375]] {
                assert_eq!(face_of(direction(place, face)), (face, place));
            }
        }
    }

    #[test]
    fn directions_that_are_none_lead_to_the_middle() {
        assert_eq!(face_of([0.0; 3]), (4, [0.5, 0.5]));
        for wrong in [f64::NAN, f64::INFINITY] {
            let (face, place) = face_of([wrong; 3]);
            assert!(face < 6);
            assert_eq!(place, [0.5, 0.5]);
        }
    }
}
