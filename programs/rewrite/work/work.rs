//! Work for Rust's compiler, and a program of four threads, a panic that is caught, memory that
//! grows.

fn collatz(mut n: u64) -> u64 {
    let mut steps = 0;
    while n != 1 {
        n = if n % 2 == 0 { n / 2 } else { 3 * n + 1 };
        steps += 1;
    }
    steps
}

fn work(thread: u64) -> u64 {
    let mut all = Vec::new();
    for i in 1..500 {
        all.push(Box::new(collatz(i + thread)));
    }
    all.len() as u64 + *all[7]
}

fn main() {
    let mut sum = 0;
    for threads in 0..4 {
        let one = std::thread::spawn(move || work(threads));
        let other = std::thread::spawn(move || work(threads + 9));
        sum += one.join().unwrap() + other.join().unwrap();
    }
    println!("{}", sum);
    std::panic::set_hook(Box::new(|_| ()));
    let caught = std::panic::catch_unwind(|| vec![1, 2, 3][sum as usize]);
    println!("{}", caught.is_err());
}
