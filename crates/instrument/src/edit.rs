//! Changes of a text by the places of its bytes: [`with_replaced`].

use std::ops::Range;

/// The text with others in the place of ranges of its bytes, which are in order and do not overlap.
pub fn with_replaced(text: &str, replaced: &[(Range<usize>, String)]) -> String {
    let more: usize = replaced.iter().map(|(_, new)| new.len()).sum();
    let mut whole = String::with_capacity(text.len() + more);
    let mut done = 0;
    for (place, new) in replaced {
        whole.push_str(&text[done..place.start]);
        whole.push_str(new);
        done = place.end;
    }
    whole.push_str(&text[done..]);
    whole
}
