//! Names and accesses of known numbers, one kernel for each way of saying them.
#![forbid(unsafe_code)]

use reuselens_annotate::{
    record_access, record_array, record_data, record_named_data, record_partial_data,
    record_statement,
};

#[derive(Clone, Copy, Default)]
struct Particle {
    x: f64,
    v: f64,
    id: u64,
}

fn main() {
    // First: names on the stack last longer than what they name, where functions have no hooks.
    unnamed();
    scale();
    let name = "a name that is much longer than the sixty-four bytes that the run time keeps of it";
    record_named_data(name, &[0_u8; 16]);
    particles();
    matrix();
    halves();
    iterator();
    freed();
    println!("done");
}

fn scale() {
    let mut a = vec![1.0_f64; 10];
    record_array!(a);
    for i in 0..a.len() {
        record_statement();
        record_access!(a[i]); // line: read
        record_access!(a[i]); // line: write
        a[i] *= 0.2;
    }
}

fn particles() {
    let list = vec![Particle::default(); 4];
    record_named_data("particles", &list);
    for _ in 0..3 {
        record_access!(list[2].v);
    }
    record_access!(list, &list[3].id);
    record_access!(list, &list[0]);
    assert_eq!(list[2].v + list[3].x, 0.0);
}

fn matrix() {
    let m = [[0_f32; 8]; 4];
    record_named_data("matrix", m.as_flattened());
    record_access!(m, &m[2][3]);
    record_access!(m, &m[0][0]);
}

fn halves() {
    let mut whole = vec![0_u32; 8];
    record_data(&whole[..0]); // nothing
    record_named_data("whole", &whole);
    let base = whole.as_ptr();
    let (left, right) = whole.split_at_mut(5);
    record_partial_data(&base, &right);
    record_access!(left[1]);
    record_access!(right[0]);
    record_access!(right[2]);
    right[2] = left[1];
}

fn iterator() {
    let mut list: Box<[u16]> = vec![0; 6].into();
    record_named_data("list", &list);
    let base = list.as_ptr();
    for x in &mut list {
        record_access!(base, x);
        *x += 1;
    }
}

fn unnamed() {
    let local = [0_u8; 16];
    record_access!(local[3]); // line: unnamed
    record_access!(local[3]);
    assert_eq!(local[3], 0);
}

/// The block of `old` is most likely given out again; its name must not be.
fn freed() {
    let old = vec![0_u64; 1000];
    record_named_data("old", &old);
    record_access!(old[7]);
    drop(old);
    for _ in 0..3 {
        let new = vec![0_u64; 1000];
        record_access!(new[7]); // line: new
    }
}
