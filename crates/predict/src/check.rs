//! How good predicted patterns are.

use reuselens_locality::Pattern;

/// The part that two patterns must share.
const ENOUGH: f64 = 0.9;

/// Whether a predicted pattern is right: it reaches over the same bins as the observed one, or the two overlap by nine
/// tenths of the wider one. Two patterns of no width are right if they are equal.
///
/// Source: Fang et al. 2006, section 3.3.
pub fn is_right(predicted: &Pattern, observed: &Pattern) -> bool {
    predicted.bins() == observed.bins() || overlap(predicted, observed) >= ENOUGH
}

/// The part of the wider of two patterns that both have, in one direction: 1 if they are equal, 0 if they are apart.
pub fn overlap(a: &Pattern, b: &Pattern) -> f64 {
    let (a, b) = if a.max <= b.max { (a, b) } else { (b, a) };
    let wider = (b.max - b.min).max(a.max - a.min);
    if wider == 0 {
        return f64::from(u8::from(a.min == b.min));
    }
    if b.min >= a.max {
        return 0.0;
    }
    (a.max - a.min.max(b.min)) as f64 / wider as f64
}

/// Whether a prediction of all patterns is right: there are as many as observed, and each is right.
pub fn are_right(predicted: &[Pattern], observed: &[Pattern]) -> bool {
    let mut pairs = predicted.iter().zip(observed);
    predicted.len() == observed.len()
        && pairs.all(|(predicted, observed)| is_right(predicted, observed))
}
