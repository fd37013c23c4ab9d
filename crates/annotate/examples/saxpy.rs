//! y = a x + y, twice: names its data and its accesses, so that the distances are in elements.
//!
//! ```text
//! cargo build --release --example saxpy -p reuselens-annotate --features record
//! reuselens profile --granularity 8 -- target/release/examples/saxpy 1000
//! ```
//!
//! There are three groups of distances, and each has its line. `x[i]` and the first `y[i]` come
//! back a sweep later, when all 2 n elements were used. The second `y[i]` comes back at once.

use reuselens_annotate::{record_access, record_array, record_statement};

fn saxpy(a: f64, x: &[f64], y: &mut [f64]) {
    for i in 0..x.len().min(y.len()) {
        record_statement();
        record_access!(x[i]);
        record_access!(y[i]);
        let sum = a * x[i] + y[i];
        record_access!(y[i]);
        y[i] = sum;
    }
}

fn main() {
    let n = std::env::args()
        .nth(1)
        .and_then(|word| word.parse().ok())
        .unwrap_or(1000);
    let x = vec![1.0; n];
    let mut y = vec![0.5; n];
    record_array!(x);
    record_array!(y);
    for _ in 0..2 {
        saxpy(2.0, &x, &mut y);
    }
    println!("saxpy {n}: {}", y.iter().sum::<f64>());
}
