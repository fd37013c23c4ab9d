//! Threads that allocate, name and access a structure each.
#![forbid(unsafe_code)]

use reuselens_annotate::{record_access, record_array};

const THREADS: usize = 4;
const EACH: usize = 10_000;

fn work() -> u64 {
    let mut part = vec![0_u64; EACH];
    record_array!(part);
    for i in 0..part.len() {
        record_access!(part[i]);
        part[i] += i as u64;
    }
    part.iter().sum()
}

fn main() {
    let threads: Vec<_> = (0..THREADS).map(|_| std::thread::spawn(work)).collect();
    let sums: Option<Vec<u64>> = threads
        .into_iter()
        .map(|thread| thread.join().ok())
        .collect();
    println!("{:?}", sums.map(|sums| sums.iter().sum::<u64>()));
}
