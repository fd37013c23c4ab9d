//! Comma-separated values (RFC 4180).

use reuselens_units::shown;

/// Appends a row, quoting what needs it; control characters are shown as escapes.
pub fn push(out: &mut String, row: &[String]) {
    for (index, field) in row.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        let field = shown(field);
        if field.contains(['"', ',']) {
            out.push_str(&format!("\"{}\"", field.replace('"', "\"\"")));
        } else {
            out.push_str(&field);
        }
    }
    out.push_str("\r\n");
}
