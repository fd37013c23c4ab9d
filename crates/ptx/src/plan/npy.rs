//! Files of NumPy arrays (`.npy`), read and written. The format is described in NumPy's
//! `numpy.lib.format`.

use super::buffer::Element;
use crate::syntax::types::Type;

const MAGIC: &[u8] = b"\x93NUMPY";

/// What is wrong with an array.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NpyError {
    /// It does not begin as arrays do, or its head is cut off.
    #[error("this is no array of NumPy (.npy); for plain bytes write raw:FILE")]
    NoArray,
    /// Elements that kernels do not have.
    #[error("elements of type {0} are not supported; convert it, e.g. with `array.astype('<f4')`")]
    Element(String),
    /// Columns first.
    #[error("the array is in Fortran order; save it with `numpy.ascontiguousarray(array)`")]
    Order,
    /// Fewer bytes than the head says.
    #[error("{found} bytes of elements, but its head says {wanted}")]
    Length {
        /// What is there.
        found: usize,
        /// What should be.
        wanted: u64,
    },
}

/// An array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Array {
    /// The elements, one after the other, the last index fastest.
    pub bytes: Vec<u8>,
    /// Their type.
    pub element: Element,
    /// The lengths; none for a single number.
    pub shape: Vec<u64>,
}

impl Array {
    /// Elements in a line.
    pub(super) fn line(bytes: Vec<u8>, element: Element) -> Array {
        Array {
            shape: vec![bytes.len() as u64 / element.size()],
            bytes,
            element,
        }
    }
}

/// Reads a file.
///
/// # Errors
/// What is no array, or one that kernels cannot take.
pub fn read(bytes: &[u8]) -> Result<Array, NpyError> {
    let (head, data) = head(bytes).ok_or(NpyError::NoArray)?;
    let field = |name: &str| {
        let rest = &head[head.find(&format!("'{name}'"))? + name.len() + 2..];
        Some(rest.trim_start().strip_prefix(':')?.trim_start())
    };
    let descr = field("descr").ok_or(NpyError::NoArray)?;
    let descr = descr
        .strip_prefix('\'')
        .and_then(|rest| rest.split('\'').next());
    let descr = descr.ok_or_else(|| NpyError::Element("a structure".to_owned()))?;
    let element = element(descr).ok_or_else(|| NpyError::Element(descr.to_owned()))?;
    if field("fortran_order")
        .ok_or(NpyError::NoArray)?
        .starts_with("True")
    {
        return Err(NpyError::Order);
    }
    let shape = field("shape")
        .and_then(|text| text.strip_prefix('('))
        .ok_or(NpyError::NoArray)?;
    let shape = shape.split(')').next().unwrap_or_default();
    let sizes = shape
        .split(',')
        .map(str::trim)
        .filter(|size| !size.is_empty());
    let shape: Option<Vec<u64>> = sizes.map(|size| size.parse().ok()).collect();
    let shape = shape.ok_or(NpyError::NoArray)?;
    let count = shape
        .iter()
        .try_fold(1u64, |count, &size| count.checked_mul(size));
    let wanted = count
        .and_then(|count| count.checked_mul(element.size()))
        .ok_or(NpyError::NoArray)?;
    if data.len() as u64 != wanted {
        return Err(NpyError::Length {
            found: data.len(),
            wanted,
        });
    }
    Ok(Array {
        bytes: data.to_vec(),
        element,
        shape,
    })
}

fn head(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let rest = bytes.strip_prefix(MAGIC)?;
    let (&[major, _], rest) = rest.split_first_chunk::<2>()?;
    let (length, rest) = if major == 1 {
        let (length, rest) = rest.split_first_chunk::<2>()?;
        (usize::from(u16::from_le_bytes(*length)), rest)
    } else {
        let (length, rest) = rest.split_first_chunk::<4>()?;
        (u32::from_le_bytes(*length) as usize, rest)
    };
    let (head, data) = rest.split_at_checked(length)?;
    Some((std::str::from_utf8(head).ok()?, data))
}

fn element(descr: &str) -> Option<Element> {
    let (order, kind) = descr.split_at_checked(1)?;
    if !matches!(order, "<" | "|" | "=") {
        return None;
    }
    Some(Element(match kind {
        "u1" | "b1" => Type::U8,
        "i1" => Type::S8,
        "u2" => Type::U16,
        "i2" => Type::S16,
        "u4" => Type::U32,
        "i4" => Type::S32,
        "u8" => Type::U64,
        "i8" => Type::S64,
        "f4" => Type::F32,
        "f8" => Type::F64,
        _ => return None,
    }))
}

/// A file with an array, whose lengths `shape` says.
pub fn write(data: &[u8], element: Element, shape: &[u64]) -> Vec<u8> {
    let kind = match element.0 {
        Type::F32 | Type::F64 => 'f',
        ty if ty.is_signed() => 'i',
        _ => 'u',
    };
    let order = if element.size() == 1 { '|' } else { '<' };
    let mut shape: String = shape.iter().map(|length| format!("{length}, ")).collect();
    // Python writes a tuple of one with a comma at its end, a longer one without.
    if shape.matches(',').count() > 1 {
        shape.truncate(shape.len() - 2);
    }
    let mut head = format!(
        "{{'descr': '{order}{kind}{}', 'fortran_order': False, 'shape': ({}), }}",
        element.size(),
        shape.trim_end()
    );
    // The head ends with a line feed, and the data begin at a multiple of 64 bytes.
    let unpadded = MAGIC.len() + 4 + head.len() + 1;
    head.push_str(&" ".repeat(unpadded.next_multiple_of(64) - unpadded));
    head.push('\n');
    let mut file = MAGIC.to_vec();
    file.extend_from_slice(&[1, 0]);
    file.extend_from_slice(&(head.len() as u16).to_le_bytes());
    file.extend_from_slice(head.as_bytes());
    file.extend_from_slice(data);
    file
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn npy_round_trips() {
        for (name, bytes) in [("f32", 4), ("u8", 1), ("i64", 8)] {
            let element = Element::named(name).unwrap();
            let data: Vec<u8> = (0..5 * bytes).collect();
            for (shape, written) in [
                (&[5][..], "(5,)"),
                (&[5, 1], "(5, 1)"),
                (&[1, 5, 1], "(1, 5, 1)"),
            ] {
                let file = write(&data, element, shape);
                assert_eq!((file.len() - data.len()) % 64, 0);
                assert!(String::from_utf8_lossy(&file).contains(written));
                let array = Array {
                    bytes: data.clone(),
                    element,
                    shape: shape.to_vec(),
                };
                assert_eq!(read(&file), Ok(array));
            }
            let one = write(&data[..usize::from(bytes)], element, &[]);
            assert_eq!(read(&one).map(|array| array.shape), Ok(Vec::new()));
        }
    }

    #[test]
    fn npy_reads_numpy_files_and_rejects_damage() {
        let file = |head: &str, data: &[u8]| {
            let mut file = b"\x93NUMPY\x01\x00".to_vec();
            file.extend_from_slice(&(head.len() as u16).to_le_bytes());
            file.extend_from_slice(head.as_bytes());
            file.extend_from_slice(data);
            file
        };
        let good = file(
            "{'descr': '<i2', 'fortran_order': False, 'shape': (2, 3), }\n",
            &[1; 12],
        );
        assert_eq!(read(&good).unwrap().bytes, [1; 12]);
        assert_eq!(read(&good).unwrap().shape, [2, 3]);
        let cut = file(
            "{'descr': '<i2', 'fortran_order': False, 'shape': (2, 3), }\n",
            &[1; 11],
        );
        assert_eq!(
            read(&cut),
            Err(NpyError::Length {
                found: 11,
                wanted: 12
            })
        );
        let scalar = file(
            "{'descr': '<f8', 'fortran_order': False, 'shape': (), }",
            &[0; 8],
        );
        assert!(read(&scalar).is_ok());
        let other = file(
            "{'descr': '>f8', 'fortran_order': False, 'shape': (), }",
            &[0; 8],
        );
        assert_eq!(read(&other), Err(NpyError::Element(">f8".to_owned())));
        let turned = file(
            "{'descr': '<f8', 'fortran_order': True, 'shape': (1,), }",
            &[0; 8],
        );
        assert_eq!(read(&turned), Err(NpyError::Order));
        let huge = file(
            "{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999, 99999999999), }",
            &[],
        );
        assert_eq!(read(&huge), Err(NpyError::NoArray));
        assert_eq!(read(b"\x93NUMPY\x01"), Err(NpyError::NoArray));
    }
}
