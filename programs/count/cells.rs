//! Accesses of a Rust program that can be counted by hand.
//!
//! Built by rustc with the flags that `reuselens cc --rl-rustflags` prints. Each cell is read and written once a round, by
//! volatile accesses, which the compiler may neither drop nor join; two threads do so, each on a row of its own.

use std::ptr::addr_of_mut;

const CELLS: usize = 500;
const ROUNDS: usize = 40;

static mut CELLS_OF: [[u32; CELLS]; 2] = [[0; CELLS]; 2];

#[inline(never)]
fn work(row: *mut u32) -> u64 {
    let mut sum = 0;
    for _ in 0..ROUNDS {
        for index in 0..CELLS {
            // SAFETY: within the row, which is this thread's own.
            unsafe {
                let cell = row.add(index);
                let value = cell.read_volatile();
                sum += u64::from(value);
                cell.write_volatile(value + 1);
            }
        }
    }
    sum
}

fn main() {
    let threads = [0, 1].map(|row| {
        std::thread::spawn(move || {
            // SAFETY: each thread has its row.
            work(unsafe { addr_of_mut!(CELLS_OF[row]) }.cast())
        })
    });
    let sum: u64 = threads.map(|thread| thread.join().unwrap()).into_iter().sum();
    let each = 2 * CELLS * ROUNDS;
    println!("expect CELLS_OF loads {each} stores {each}");
    assert_eq!(sum, (2 * CELLS * ROUNDS * (ROUNDS - 1) / 2) as u64);
}
