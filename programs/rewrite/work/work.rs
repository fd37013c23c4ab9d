//! Work for Rust's compiler, and a program of four threads, a panic that is caught, collections.
use std::collections::{BTreeMap, HashMap};
use std::sync::{mpsc, Arc, Mutex};

fn collatz(mut n: u64) -> u64 {
    let mut steps = 0;
    while n != 1 {
        n = if n % 2 == 0 { n / 2 } else { 3 * n + 1 };
        steps += 1;
    }
    steps
}

fn main() {
    let (sender, receiver) = mpsc::channel();
    let names = Arc::new(Mutex::new(HashMap::new()));
    let threads: Vec<_> = (0..4_u64)
        .map(|thread| {
            let (sender, names) = (sender.clone(), Arc::clone(&names));
            std::thread::spawn(move || {
                for i in 1..500 {
                    names.lock().unwrap().insert(format!("k{}", i % 97), i % 97);
                    sender.send(collatz(i + thread)).unwrap();
                }
            })
        })
        .collect();
    drop(sender);
    let sum: u64 = receiver.iter().sum();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    let sorted: BTreeMap<_, _> = names.lock().unwrap().clone().into_iter().collect();
    println!("{sum} {} {:?}", sorted.len(), sorted.iter().next());
    std::panic::set_hook(Box::new(|_| ()));
    let caught = std::panic::catch_unwind(|| vec![1, 2, 3][sum as usize]);
    println!("{}", caught.is_err());
}
