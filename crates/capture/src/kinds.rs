//! Which kinds of records are rows as they stand.

use reuselens_trace::Kind;
use reuselens_wire::WireKind;

/// The row kind of each record kind whose word 0 is the row's address as it stands.
pub(crate) const PLAIN: [Option<Kind>; 256] = {
    let mut table = [None; 256];
    let mut number = 0;
    while number < 32 {
        if number != WireKind::Enter as u8 {
            table[number as usize] = Kind::from_u8(number);
        }
        number += 1;
    }
    table
};
