//! Particles in memory that is allocated as bytes. Prints how often each field is accessed.

use std::alloc::{Layout, alloc};

#[repr(C)]
pub struct Particle {
    pub mass: f64,
    pub at: f64,
    pub kind: u32,
}

const COUNT: usize = 5000;
const ROUNDS: usize = 6;

#[inline(never)]
fn grab(bytes: usize) -> *mut u8 {
    unsafe { alloc(Layout::from_size_align(bytes, 8).unwrap()) }
}

#[inline(never)]
fn fill(particle: &mut Particle, number: usize) {
    particle.mass = number as f64;
    particle.at = 0.0;
    particle.kind = (number % 3) as u32;
}

#[inline(never)]
fn move_by(particle: &mut Particle, step: f64) {
    particle.at += step;
}

#[inline(never)]
fn mass(particle: &Particle) -> f64 {
    particle.mass
}

fn main() {
    let bytes = grab(COUNT * size_of::<Particle>());
    let particles = bytes.cast::<Particle>();
    let mut sum = 0.0;
    for number in 0..COUNT {
        fill(unsafe { &mut *particles.add(number) }, number);
    }
    for round in 0..ROUNDS {
        for number in 0..COUNT {
            let particle = unsafe { &mut *particles.add(number) };
            move_by(particle, round as f64);
            sum += mass(particle);
        }
    }
    let (masses, kinds) = (COUNT + ROUNDS * COUNT, COUNT);
    println!("expect mass accesses {masses}");
    println!("expect kind accesses {kinds}");
    println!("{sum}");
}
