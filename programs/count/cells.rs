//! Accesses of a Rust program that can be counted by hand.
//!
//! Built by rustc with the flags that `reuselens cc --rl-rustflags` prints. Each cell is read and written once a round, through
//! references of which the compiler may know nothing, so that it can neither drop nor join accesses; two threads do so, each on
//! a row of its own.

use std::hint::black_box;

const CELLS: usize = 500;
const ROUNDS: usize = 40;

#[inline(never)]
fn row() -> Vec<u32> {
    vec![0; CELLS]
}

#[inline(never)]
fn work(row: &mut [u32]) -> u64 {
    let mut sum = 0;
    for _ in 0..ROUNDS {
        for cell in &mut *row {
            let value = *black_box(&*cell);
            sum += u64::from(value);
            *black_box(cell) = value + 1;
        }
    }
    sum
}

fn main() {
    let rows = [row(), row()];
    let threads = rows.map(|mut row| std::thread::spawn(move || work(&mut row)));
    let sum: u64 = threads.map(|thread| thread.join().unwrap()).into_iter().sum();
    let each = 2 * CELLS * ROUNDS;
    println!("expect zeroed loads {each} stores {each}");
    assert_eq!(sum, (2 * CELLS * ROUNDS * (ROUNDS - 1) / 2) as u64);
}
