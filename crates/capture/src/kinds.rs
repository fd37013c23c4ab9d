//! [`PLAIN`]: which kinds of records are simply rows, and of which row kind. `decode` and `records`
//! use it for each record.

use reuselens_trace::Kind;
use reuselens_wire::WireKind;

/// By record kind the row kind, if the record is a row: word 0 is its address.
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
