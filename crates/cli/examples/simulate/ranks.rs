//! Spearman's rank correlation.

/// Spearman's rank correlation; values within a millionth of each other are of one rank. 1 if all
/// values of a column are equal in both, 0 if only in one.
pub fn rank_correlation(a: &[f64], b: &[f64]) -> f64 {
    let (a, b) = (ranks(a), ranks(b));
    let mean = (a.len() as f64 + 1.0) / 2.0;
    let product = |x: &[f64], y: &[f64]| -> f64 {
        let pairs = x.iter().zip(y);
        pairs.map(|(x, y)| (x - mean) * (y - mean)).sum()
    };
    let (of_a, of_b) = (product(&a, &a), product(&b, &b));
    match (of_a > 0.0, of_b > 0.0) {
        (true, true) => product(&a, &b) / (of_a * of_b).sqrt(),
        (false, false) => 1.0,
        _ => 0.0,
    }
}

/// The rank of each value, from 1; equal ones share the mean of their ranks.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut ranks = vec![0.0; values.len()];
    let mut begin = 0;
    while begin < order.len() {
        let first = values[order[begin]];
        let same = |&&index: &&usize| values[index] - first <= 1e-6 * first.abs();
        let count = order[begin..].iter().take_while(same).count();
        let rank = (begin + 1 + begin + count) as f64 / 2.0;
        for &index in &order[begin..begin + count] {
            ranks[index] = rank;
        }
        begin += count;
    }
    ranks
}
