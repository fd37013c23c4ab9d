//! Each kernel of the suite gives what the same calculation on the CPU gives, bit for bit unless it
//! says otherwise: as clang and as nvcc compiled it, on several threads, in order and in random
//! order.

#![allow(
    clippy::precedence,
    reason = "shifts of products, as the manual writes them"
)]

use crate::common::{Run, everywhere, floats, ints, noise};
use reuselens_ptx::{Argument, Device, Options, PtxModule};

const N: usize = 1000;

fn int(value: usize) -> Argument {
    Argument::Integer(value as i128)
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

fn wide_bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|value| value.to_bits()).collect()
}

#[test]
fn saxpy() {
    everywhere("arithmetic", |run| {
        let (x, y) = (floats(N, 1), floats(N, 2));
        let (dx, dy) = (run.put(&x), run.put(&y));
        run.line("saxpy", N, &[Argument::Float(1.5), dx, dy.clone()]);
        let expected: Vec<f32> = x
            .iter()
            .zip(&y)
            .map(|(x, y)| 1.5f32.mul_add(*x, *y))
            .collect();
        assert_eq!(bits(&run.get(&dy, N)), bits(&expected));
    });
}

#[test]
fn integers() {
    everywhere("arithmetic", |run| {
        let (a, b) = (ints(N, 3), ints(N, 4));
        let (da, db, out) = (run.put(&a), run.put(&b), run.put(&vec![0i32; 8 * N]));
        run.line("integers", N, &[da, db, out.clone()]);
        let expected: Vec<i32> = a
            .iter()
            .zip(&b)
            .flat_map(|(&x, &y)| {
                [
                    x.wrapping_mul(y).wrapping_add(x),
                    (x as u32).checked_div(y as u32).unwrap_or(0) as i32,
                    if y == 0 || y == -1 { 0 } else { x % y },
                    (x ^ y) & (x | !y),
                    x >> (y & 31),
                    (i64::from(x) * i64::from(y) >> 32) as i32,
                    x.min(y).wrapping_sub((x >> 1).max(y >> 1)),
                    (x.count_ones()
                        + 3 * y.leading_zeros()
                        + 5 * if x == 0 { 0 } else { x.trailing_zeros() + 1 }
                        + (x.reverse_bits() as u32 >> 16)) as i32,
                ]
            })
            .collect();
        assert_eq!(run.get::<i32>(&out, 8 * N), expected);
    });
}

#[test]
fn long_integers() {
    everywhere("arithmetic", |run| {
        let a: Vec<i64> = noise(N, 5).into_iter().map(|bits| bits as i64).collect();
        let b: Vec<i64> = noise(N, 6)
            .into_iter()
            .map(|bits| bits as i64 >> (bits & 63))
            .collect();
        let (da, db, out) = (run.put(&a), run.put(&b), run.put(&vec![0i64; 4 * N]));
        run.line("long_integers", N, &[da, db, out.clone()]);
        let expected: Vec<i64> = a
            .iter()
            .zip(&b)
            .flat_map(|(&x, &y)| {
                [
                    x.wrapping_mul(y),
                    if y == 0 || y == -1 { 0 } else { x / y },
                    (x << (y & 63)) ^ ((x as u64) >> (x & 63)) as i64,
                    if x < y {
                        i64::from(x.count_ones())
                    } else {
                        y.wrapping_sub(x)
                    },
                ]
            })
            .collect();
        assert_eq!(run.get::<i64>(&out, 4 * N), expected);
    });
}

#[test]
fn bytes() {
    everywhere("arithmetic", |run| {
        let a: Vec<u8> = noise(N, 7).into_iter().map(|bits| bits as u8).collect();
        let (da, out, sums) = (run.put(&a), run.put(&vec![0i8; N]), run.put(&vec![0u16; N]));
        run.line("bytes", N, &[da, out.clone(), sums.clone()]);
        let next = |i: usize| a[(i + 1) % N];
        let expected: Vec<i8> = (0..N).map(|i| a[i].wrapping_sub(next(i)) as i8).collect();
        let expected_sums: Vec<u16> = (0..N)
            .map(|i| (u32::from(a[i]) * u32::from(next(i)) + 7) as u16)
            .collect();
        assert_eq!(run.get::<i8>(&out, N), expected);
        assert_eq!(run.get::<u16>(&sums, N), expected_sums);
    });
}

/// `a + b` rounded towards zero or up, from the exact sum as a double with its error.
fn directed(a: f32, b: f32, up: bool) -> f32 {
    let nearest = a + b;
    let (a, b) = (f64::from(a), f64::from(b));
    let sum = a + b;
    let part = sum - a;
    let error = (a - (sum - part)) + (b - part);
    let above = (sum - f64::from(nearest)) + error;
    if up {
        if above > 0.0 {
            nearest.next_up()
        } else {
            nearest
        }
    } else if nearest > 0.0 && above < 0.0 {
        nearest.next_down()
    } else if nearest < 0.0 && above > 0.0 {
        nearest.next_up()
    } else {
        nearest
    }
}

#[test]
fn singles() {
    everywhere("arithmetic", |run| {
        let (a, b) = (floats(N, 8), floats(N, 9));
        let (da, db, out) = (run.put(&a), run.put(&b), run.put(&vec![0f32; 8 * N]));
        run.line("singles", N, &[da, db, out.clone()]);
        let expected: Vec<f32> = a
            .iter()
            .zip(&b)
            .flat_map(|(&x, &y)| {
                [
                    x + y,
                    x / y,
                    x.abs().sqrt(),
                    x.min(y),
                    x.max(y),
                    x.floor() + y.trunc(),
                    directed(x, y, false),
                    directed(x, y, true),
                ]
            })
            .collect();
        assert_eq!(bits(&run.get(&out, 8 * N)), bits(&expected));
    });
}

#[test]
fn doubles() {
    everywhere("arithmetic", |run| {
        let double = |bits: u64| (bits as i64 as f64) * 2f64.powi((bits & 63) as i32 - 80);
        let a: Vec<f64> = noise(N, 10).into_iter().map(double).collect();
        let b: Vec<f64> = noise(N, 11).into_iter().map(double).collect();
        let (da, db, out) = (run.put(&a), run.put(&b), run.put(&vec![0f64; 4 * N]));
        run.line("doubles", N, &[da, db, out.clone()]);
        let expected: Vec<f64> = a
            .iter()
            .zip(&b)
            .flat_map(|(&x, &y)| {
                [
                    x.mul_add(y, x),
                    x / y,
                    x.abs().sqrt(),
                    if x > y {
                        f64::from(x as f32)
                    } else {
                        f64::from((y * 100.0) as i32)
                    },
                ]
            })
            .collect();
        assert_eq!(wide_bits(&run.get(&out, 4 * N)), wide_bits(&expected));
    });
}

#[test]
fn conversions() {
    everywhere("arithmetic", |run| {
        let mut a = floats(N, 12);
        a[..4].copy_from_slice(&[0.5, 1.5, -2.5, 3e9]);
        let (da, out) = (run.put(&a), run.put(&vec![0i32; 6 * N]));
        run.line("conversions", N, &[da, out.clone()]);
        let expected: Vec<i32> = a
            .iter()
            .enumerate()
            .flat_map(|(i, &x)| {
                [
                    x.round_ties_even() as i32,
                    x as i32,
                    x.ceil() as i32,
                    x.floor() as i32,
                    ((i as i32).wrapping_mul(16777259) as f32).to_bits() as i32,
                    ((i as u64).wrapping_mul(1234567890123) as f32).to_bits() as i32,
                ]
            })
            .collect();
        assert_eq!(run.get::<i32>(&out, 6 * N), expected);
    });
}

#[test]
fn approximate_within_two_ulps() {
    everywhere("arithmetic", |run| {
        let a: Vec<f32> = (0..N).map(|i| 0.01 + i as f32 * 0.003).collect();
        let (da, out) = (run.put(&a), run.put(&vec![0f32; 3 * N]));
        run.line("approximate", N, &[da, out.clone()]);
        let found: Vec<f32> = run.get(&out, 3 * N);
        for (i, &x) in a.iter().enumerate() {
            let x = f64::from(x);
            for (found, exact) in found[3 * i..]
                .iter()
                .zip([1.0 / x.sqrt(), x.sin(), x.cos()])
            {
                let ulps = (found.to_bits() as i32 - (exact as f32).to_bits() as i32).abs();
                assert!(ulps <= 2, "{found} {exact} {ulps}");
            }
        }
    });
}

#[test]
fn permuted_bytes() {
    everywhere("arithmetic", |run| {
        let [a, b] = [13, 14].map(|seed| {
            noise(N, seed)
                .into_iter()
                .map(|bits| bits as u32)
                .collect::<Vec<u32>>()
        });
        let (da, db, out) = (run.put(&a), run.put(&b), run.put(&vec![0u32; N]));
        run.line("permuted_bytes", N, &[da, db, out.clone()]);
        let expected: Vec<u32> = a
            .iter()
            .zip(&b)
            .map(|(&a, &b)| {
                let all = [a.to_le_bytes(), b.to_le_bytes()].concat();
                let picked = u32::from_le_bytes([all[7], all[3], all[5], all[2]]);
                picked.wrapping_add((u64::from(a) * u64::from(b) >> 32) as u32)
            })
            .collect();
        assert_eq!(run.get::<u32>(&out, N), expected);
    });
}

#[test]
fn collatz() {
    everywhere("divergence", |run| {
        let a: Vec<u32> = noise(N, 15)
            .into_iter()
            .map(|bits| (bits & 0xffff) as u32 + 1)
            .collect();
        let (da, out) = (run.put(&a), run.put(&vec![0u32; N]));
        run.line("collatz", N, &[da, out.clone()]);
        let steps = |start: u32| {
            let (mut x, mut count) = (u64::from(start), 0);
            while x > 1 {
                x = if x & 1 == 1 { 3 * x + 1 } else { x / 2 };
                count += 1;
            }
            count
        };
        assert_eq!(
            run.get::<u32>(&out, N),
            a.iter().map(|&x| steps(x)).collect::<Vec<u32>>()
        );
        assert!(run.stats.thread_instructions < 32 * run.stats.warp_instructions);
    });
}

#[test]
fn branches() {
    everywhere("divergence", |run| {
        let a = ints(N, 16);
        let (da, out) = (run.put(&a), run.put(&vec![77i32; N]));
        run.line("branches", N, &[da, out.clone()]);
        let expected: Vec<i32> = a
            .iter()
            .map(|&x| {
                if x < -100 {
                    77
                } else if x < 0 {
                    if x % 3 == 0 { -1 } else { -2 }
                } else if x & 1 == 1 {
                    (0..(x & 15))
                        .take_while(|k| *k != 11)
                        .filter(|k| k % 3 != 1)
                        .fold(0i32, |r, k| r.wrapping_add(k.wrapping_mul(x)))
                } else {
                    x.wrapping_mul(7)
                }
            })
            .collect();
        assert_eq!(run.get::<i32>(&out, N), expected);
    });
}

#[test]
fn cases() {
    everywhere("divergence", |run| {
        let a = ints(N, 17);
        let (da, out) = (run.put(&a), run.put(&vec![0i32; N]));
        run.line("cases", N, &[da, out.clone()]);
        let expected: Vec<i32> = a
            .iter()
            .map(|&x| match x & 15 {
                0 => x.wrapping_add(1),
                1 => x.wrapping_mul(3),
                2 => x.wrapping_sub(a[0]),
                3 => x ^ 0x55,
                4 => !x,
                5 => x.wrapping_mul(x),
                6 => x / 7,
                7 | 8 => x | 12345,
                9 => x % 11,
                _ => x.wrapping_neg(),
            })
            .collect();
        assert_eq!(run.get::<i32>(&out, N), expected);
    });
}

#[test]
fn nested() {
    everywhere("divergence", |run| {
        let a = ints(N, 18);
        let (da, out) = (run.put(&a), run.put(&vec![0i32; N]));
        run.line("nested", N, &[da, out.clone()]);
        let expected: Vec<i32> = (0..N as i32)
            .map(|i| {
                let mut total = 0;
                for x in 0..(a[i as usize] & 7) {
                    for y in x..(i & 7) {
                        total += if (x + y + i) % 3 != 0 {
                            x * 10 + y
                        } else {
                            -(a[(i + y) as usize % N] & 3)
                        };
                    }
                }
                total
            })
            .collect();
        assert_eq!(run.get::<i32>(&out, N), expected);
    });
}

#[test]
fn binary_search() {
    everywhere("divergence", |run| {
        let mut sorted = ints(500, 19);
        sorted.sort_unstable();
        let keys = ints(N, 20);
        let (ds, dk, out) = (run.put(&sorted), run.put(&keys), run.put(&vec![0i32; N]));
        run.launch(
            "binary_search",
            [16, 1, 1],
            [64, 1, 1],
            0,
            &[int(500), int(N), ds, dk, out.clone()],
        );
        let expected: Vec<i32> = keys
            .iter()
            .map(|key| sorted.partition_point(|x| x < key) as i32)
            .collect();
        assert_eq!(run.get::<i32>(&out, N), expected);
    });
}

#[test]
fn reverse_block() {
    everywhere("shared", |run| {
        let a = ints(1024, 21);
        let data = run.put(&a);
        run.launch(
            "reverse_block",
            [4, 1, 1],
            [256, 1, 1],
            0,
            std::slice::from_ref(&data),
        );
        let expected: Vec<i32> = a
            .chunks(256)
            .flat_map(|block| block.iter().rev().copied())
            .collect();
        assert_eq!(run.get::<i32>(&data, 1024), expected);
    });
}

#[test]
fn tree_sum() {
    everywhere("shared", |run| {
        let a = floats(N, 22);
        let (da, out) = (run.put(&a), run.put(&[0f32; 8]));
        run.launch(
            "tree_sum",
            [8, 1, 1],
            [128, 1, 1],
            512,
            &[int(N), da, out.clone()],
        );
        let expected: Vec<f32> = (0..8)
            .map(|block| {
                let mut part: Vec<f32> = (0..128)
                    .map(|t| a.get(block * 128 + t).copied().unwrap_or(0.0))
                    .collect();
                let mut half = 64;
                while half > 0 {
                    for t in 0..half {
                        part[t] += part[t + half];
                    }
                    half /= 2;
                }
                part[0]
            })
            .collect();
        assert_eq!(bits(&run.get(&out, 8)), bits(&expected));
    });
}

#[test]
fn transpose() {
    everywhere("shared", |run| {
        const S: usize = 50;
        let a = floats(S * S, 23);
        let (da, out) = (run.put(&a), run.put(&vec![0f32; S * S]));
        run.launch(
            "transpose",
            [4, 4, 1],
            [16, 16, 1],
            0,
            &[int(S), da, out.clone()],
        );
        let expected: Vec<f32> = (0..S * S).map(|i| a[i % S * S + i / S]).collect();
        assert_eq!(bits(&run.get(&out, S * S)), bits(&expected));
    });
}

#[test]
fn matmul() {
    everywhere("shared", |run| {
        const S: usize = 48;
        let (a, b) = (floats(S * S, 24), floats(S * S, 25));
        let (da, db, out) = (run.put(&a), run.put(&b), run.put(&vec![0f32; S * S]));
        run.launch(
            "matmul",
            [3, 3, 1],
            [16, 16, 1],
            0,
            &[int(S), da, db, out.clone()],
        );
        let expected: Vec<f32> = (0..S * S)
            .map(|i| {
                (0..S).fold(0f32, |sum, k| {
                    a[i / S * S + k].mul_add(b[k * S + i % S], sum)
                })
            })
            .collect();
        assert_eq!(bits(&run.get(&out, S * S)), bits(&expected));
    });
}

#[test]
fn scan_block() {
    everywhere("shared", |run| {
        let a = ints(768, 26);
        let (da, out) = (run.put(&a), run.put(&vec![0i32; 768]));
        run.launch("scan_block", [3, 1, 1], [256, 1, 1], 0, &[da, out.clone()]);
        let sums = |block: &[i32]| {
            block
                .iter()
                .scan(0i32, |sum, x| {
                    *sum = sum.wrapping_add(*x);
                    Some(*sum)
                })
                .collect::<Vec<i32>>()
        };
        assert_eq!(
            run.get::<i32>(&out, 768),
            a.chunks(256).flat_map(sums).collect::<Vec<i32>>()
        );
    });
}

#[test]
fn votes_of_block() {
    everywhere("shared", |run| {
        let a: Vec<i32> = (0..288)
            .map(|i| {
                if i < 96 {
                    i - 50
                } else if i < 192 {
                    -i
                } else {
                    42
                }
            })
            .collect();
        let (da, out) = (run.put(&a), run.put(&vec![0i32; 288]));
        run.launch(
            "votes_of_block",
            [3, 1, 1],
            [96, 1, 1],
            0,
            &[da, out.clone()],
        );
        let expected: Vec<i32> = a
            .chunks(96)
            .flat_map(|block| {
                let count = block.iter().filter(|&&x| x > 10).count() as i32;
                let all = i32::from(block.iter().all(|&x| x > -100));
                let any = i32::from(block.contains(&42));
                vec![count * 4 + all * 2 + any; 96]
            })
            .collect();
        assert_eq!(run.get::<i32>(&out, 288), expected);
    });
}

#[test]
fn stencil() {
    everywhere("shared", |run| {
        let a = floats(N, 27);
        let (da, out) = (run.put(&a), run.put(&vec![0f32; N]));
        run.launch(
            "stencil",
            [8, 1, 1],
            [128, 1, 1],
            0,
            &[int(N), da, out.clone()],
        );
        let at = |i: i64| {
            if i < 0 {
                0.0
            } else {
                a.get(i as usize).copied().unwrap_or(0.0)
            }
        };
        let expected: Vec<f32> = (0..N as i64)
            .map(|i| 0.25f32.mul_add(at(i - 1), 0.5f32.mul_add(at(i), 0.25 * at(i + 1))))
            .collect();
        assert_eq!(bits(&run.get(&out, N)), bits(&expected));
    });
}

#[test]
fn histogram() {
    everywhere("atomics", |run| {
        let a: Vec<u8> = noise(5000, 28)
            .into_iter()
            .map(|bits| (bits & bits >> 8) as u8)
            .collect();
        let (da, bins) = (run.put(&a), run.put(&[0u32; 256]));
        run.launch(
            "histogram",
            [4, 1, 1],
            [96, 1, 1],
            0,
            &[int(5000), da, bins.clone()],
        );
        let mut expected = vec![0u32; 256];
        a.iter().for_each(|&byte| expected[usize::from(byte)] += 1);
        assert_eq!(run.get::<u32>(&bins, 256), expected);
    });
}

#[test]
fn extremes() {
    everywhere("atomics", |run| {
        let a = ints(N, 29);
        let (da, out, set) = (
            run.put(&a),
            run.put(&[i32::MAX, i32::MIN, 0]),
            run.put(&[0u32, u32::MAX, 0, 0, 0]),
        );
        run.line("extremes", N, &[da, out.clone(), set.clone()]);
        let sum = a.iter().fold(0i32, |sum, x| sum.wrapping_add(*x));
        assert_eq!(
            run.get::<i32>(&out, 3),
            [*a.iter().min().unwrap(), *a.iter().max().unwrap(), sum]
        );
        let unsigned = || a.iter().map(|&x| x as u32);
        let expected = [
            unsigned().fold(0, |x, y| x | y),
            unsigned().fold(u32::MAX, |x, y| x & y),
            unsigned().fold(0, |x, y| x ^ y),
            N as u32 % 10,
            unsigned().max().unwrap(),
        ];
        assert_eq!(run.get::<u32>(&set, 5), expected);
    });
}

#[test]
fn compact() {
    everywhere("atomics", |run| {
        let a = ints(N, 30);
        let (da, out, count) = (run.put(&a), run.put(&vec![0i32; N]), run.put(&[0u32]));
        run.line("compact", N, &[da, out.clone(), count.clone()]);
        let expected: Vec<i32> = a.iter().copied().filter(|x| x % 3 == 0).collect();
        assert_eq!(run.get::<u32>(&count, 1), [expected.len() as u32]);
        let mut found: Vec<i32> = run.get(&out, expected.len());
        if run.options.seed.is_some() {
            // In another order, but the same.
            let mut expected = expected;
            assert_ne!(found, expected);
            found.sort_unstable();
            expected.sort_unstable();
            assert_eq!(found, expected);
        } else {
            assert_eq!(found, expected);
        }
    });
}

#[test]
fn swap_sum() {
    everywhere("atomics", |run| {
        let a: Vec<f32> = (0..300).map(|i| i as f32).collect();
        let (da, sum) = (run.put(&a), run.put(&[0u32]));
        run.line("swap_sum", 300, &[da, sum.clone()]);
        assert_eq!(run.get::<f32>(&sum, 1), [299.0 * 150.0]);
    });
}

#[test]
fn wide_sum() {
    everywhere("atomics", |run| {
        let a = noise(N, 31);
        let (da, sum) = (run.put(&a), run.put(&[5u64]));
        run.line("wide_sum", N, &[da, sum.clone()]);
        assert_eq!(
            run.get::<u64>(&sum, 1),
            [a.iter().fold(5u64, |sum, x| sum.wrapping_add(*x))]
        );
    });
}

#[test]
fn last_block() {
    everywhere("atomics", |run| {
        let a: Vec<i32> = (0..N as i32).collect();
        let (da, parts, ended, total) = (
            run.put(&a),
            run.put(&[0i32; 16]),
            run.put(&[0u32]),
            run.put(&[0i32]),
        );
        run.line("last_block", N, &[da, parts, ended, total.clone()]);
        assert_eq!(run.get::<i32>(&total, 1), [a.iter().sum::<i32>()]);
    });
}

#[test]
fn warp_sum_and_scan() {
    everywhere("warp", |run| {
        let a = ints(256, 32);
        let (da, out, scan) = (run.put(&a), run.put(&[0i32; 8]), run.put(&[0i32; 256]));
        run.launch(
            "warp_sum",
            [2, 1, 1],
            [128, 1, 1],
            0,
            &[da.clone(), out.clone()],
        );
        run.launch("warp_scan", [2, 1, 1], [128, 1, 1], 0, &[da, scan.clone()]);
        let sums: Vec<i32> = a
            .chunks(32)
            .flat_map(|warp| {
                warp.iter().scan(0i32, |sum, x| {
                    *sum = sum.wrapping_add(*x);
                    Some(*sum)
                })
            })
            .collect();
        assert_eq!(run.get::<i32>(&scan, 256), sums);
        assert_eq!(
            run.get::<i32>(&out, 8),
            sums.chunks(32).map(|warp| warp[31]).collect::<Vec<i32>>()
        );
    });
}

#[test]
fn shuffles() {
    everywhere("warp", |run| {
        let a = ints(128, 33);
        let (da, out) = (run.put(&a), run.put(&[0i32; 512]));
        run.launch("shuffles", [1, 1, 1], [128, 1, 1], 0, &[da, out.clone()]);
        let expected: Vec<i32> = (0..128)
            .flat_map(|i| {
                let (warp, lane) = (i / 32 * 32, i % 32);
                let down = if lane % 16 + 3 < 16 { lane + 3 } else { lane };
                [
                    a[warp + (lane ^ 5)],
                    a[warp + (a[i] & 31) as usize],
                    a[warp + lane / 8 * 8 + 3],
                    a[warp + down],
                ]
            })
            .collect();
        assert_eq!(run.get::<i32>(&out, 512), expected);
    });
}

#[test]
fn ballots() {
    everywhere("warp", |run| {
        let a = ints(128, 34);
        let (da, out) = (run.put(&a), run.put(&[0u32; 512]));
        run.launch("ballots", [2, 1, 1], [64, 1, 1], 0, &[da, out.clone()]);
        let expected: Vec<u32> = (0..128)
            .flat_map(|i| {
                let warp = &a[i / 32 * 32..][..32];
                let mask = |test: &dyn Fn(i32) -> bool| {
                    (0..32).fold(0u32, |mask, lane| {
                        mask | u32::from(test(warp[lane])) << lane
                    })
                };
                let thirds = mask(&|x| x % 3 == 0);
                [
                    mask(&|x| x % 2 == 0),
                    u32::from(warp.iter().all(|&x| x > -1000)) | u32::from(warp.contains(&7)) * 2,
                    if a[i] % 3 == 0 { thirds } else { 0 },
                    mask(&|x| x & 3 == a[i] & 3),
                ]
            })
            .collect();
        assert_eq!(run.get::<u32>(&out, 512), expected);
    });
}

#[test]
fn filter() {
    everywhere("warp", |run| {
        let a = ints(N, 35);
        let (da, out, count) = (run.put(&a), run.put(&vec![0i32; N]), run.put(&[0u32]));
        run.line("filter", N, &[da, out.clone(), count.clone()]);
        let mut expected: Vec<i32> = a.iter().copied().filter(|x| x & 4 != 0).collect();
        assert_eq!(run.get::<u32>(&count, 1), [expected.len() as u32]);
        let mut found: Vec<i32> = run.get(&out, expected.len());
        if run.options.seed.is_some() {
            found.sort_unstable();
            expected.sort_unstable();
        }
        assert_eq!(found, expected);
    });
}

#[test]
fn wide_shuffle() {
    everywhere("warp", |run| {
        let a: Vec<f64> = floats(64, 36).into_iter().map(f64::from).collect();
        let (da, out) = (run.put(&a), run.put(&[0f64; 64]));
        run.launch("wide_shuffle", [1, 1, 1], [64, 1, 1], 0, &[da, out.clone()]);
        let expected: Vec<f64> = a
            .chunks(32)
            .flat_map(|warp| {
                let mut sums = warp.to_vec();
                for step in [16, 8, 4, 2, 1] {
                    sums = (0..32).map(|lane| sums[lane] + sums[lane ^ step]).collect();
                }
                sums
            })
            .collect();
        assert_eq!(wide_bits(&run.get(&out, 64)), wide_bits(&expected));
    });
}

#[test]
fn structure() {
    everywhere("spaces", |run| {
        let mut one = [1f32, 2.0, 3.0]
            .iter()
            .flat_map(|x| x.to_le_bytes())
            .collect::<Vec<u8>>();
        one.extend(40i32.to_le_bytes());
        one.extend(2.5f64.to_le_bytes());
        let out = run.put(&vec![0u8; 24 * 100]);
        run.line("structure", 100, &[Argument::Bytes(one), out.clone()]);
        let expected: Vec<u8> = (0..100)
            .flat_map(|i| {
                let mut position = [1f32, 2.0, 3.0];
                position[i % 3] += i as f32;
                let mut bytes: Vec<u8> = position.iter().flat_map(|x| x.to_le_bytes()).collect();
                bytes.extend((40 + i as i32).to_le_bytes());
                bytes.extend((2.5 * i as f64).to_le_bytes());
                bytes
            })
            .collect();
        assert_eq!(run.get::<u8>(&out, 24 * 100), expected);
    });
}

#[test]
fn constants_and_module_variables() {
    const TABLE: [i32; 16] = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3];
    everywhere("spaces", |run| {
        let a = ints(N, 37);
        let (da, out, kept) = (run.put(&a), run.put(&vec![0i32; N]), run.put(&[0i32; 64]));
        run.line("constants", N, &[da, out.clone()]);
        run.launch(
            "read_scratch",
            [1, 1, 1],
            [64, 1, 1],
            0,
            std::slice::from_ref(&kept),
        );
        let expected: Vec<i32> = (0..N)
            .map(|i| TABLE[(a[i] & 15) as usize] * 100 + TABLE[i & 15] + 7)
            .collect();
        assert_eq!(run.get::<i32>(&out, N), expected);
        assert_eq!(
            run.get::<i32>(&kept, 64),
            a[..64]
                .iter()
                .map(|x| x.wrapping_mul(2))
                .collect::<Vec<i32>>()
        );
    });
}

#[test]
fn local_array() {
    everywhere("spaces", |run| {
        let a = ints(N, 38);
        let (da, out) = (run.put(&a), run.put(&vec![0i32; N]));
        run.line("local_array", N, &[da, out.clone()]);
        // The numbers from 0 to 15 in some order, sorted.
        let expected: Vec<i32> = a.iter().map(|x| (x & 15) * 16 + 15 - (x & 15)).collect();
        assert_eq!(run.get::<i32>(&out, N), expected);
    });
}

#[test]
fn calls() {
    fn mix(mut a: i32, b: i32) -> i32 {
        for k in 0..(b & 3) {
            a = a.wrapping_mul(31).wrapping_add(k);
        }
        a ^ b
    }
    everywhere("spaces", |run| {
        let (a, points) = (ints(N, 39), floats(2 * N, 40));
        let (da, out, dp) = (run.put(&a), run.put(&vec![0i32; N]), run.put(&points));
        run.line("calls", N, &[da, out.clone(), dp.clone()]);
        let expected: Vec<i32> = a
            .iter()
            .enumerate()
            .map(|(i, &x)| {
                let r = mix(x, i as i32);
                if r & 1 == 1 {
                    mix(r, x.wrapping_add(1))
                } else {
                    r
                }
            })
            .collect();
        assert_eq!(run.get::<i32>(&out, N), expected);
        let moved: Vec<f32> = points
            .chunks(2)
            .enumerate()
            .flat_map(|(i, p)| [p[1] * i as f32, p[0] + i as f32])
            .collect();
        assert_eq!(bits(&run.get(&dp, 2 * N)), bits(&moved));
    });
}

#[test]
fn vectors() {
    everywhere("spaces", |run| {
        let (a, d) = (
            floats(4 * N, 41),
            floats(2 * N, 42)
                .into_iter()
                .map(f64::from)
                .collect::<Vec<f64>>(),
        );
        let (da, out, dd, sums) = (
            run.put(&a),
            run.put(&vec![0f32; 4 * N]),
            run.put(&d),
            run.put(&vec![0f64; N]),
        );
        run.line("vectors", N, &[da, out.clone(), dd, sums.clone()]);
        let expected: Vec<f32> = a
            .chunks(4)
            .flat_map(|v| [v[3], v[2], v[0] + v[1], v[0]])
            .collect();
        assert_eq!(bits(&run.get(&out, 4 * N)), bits(&expected));
        let expected: Vec<f64> = d.chunks(2).map(|d| d[0] + d[1]).collect();
        assert_eq!(wide_bits(&run.get(&sums, N)), wide_bits(&expected));
    });
}

#[test]
fn cube() {
    everywhere("spaces", |run| {
        let out = run.put(&[0i32; 10 * 7 * 5]);
        run.launch(
            "cube",
            [3, 2, 3],
            [4, 4, 2],
            0,
            &[int(10), int(7), int(5), out.clone()],
        );
        let expected: Vec<i32> = (0..350)
            .map(|i| i % 10 + 10 * (i / 10 % 7) + 100 * (i / 70) + 2000)
            .collect();
        assert_eq!(run.get::<i32>(&out, 350), expected);
    });
}

fn bfs(run: &mut Run) {
    let n = 2000;
    let targets: Vec<i32> = noise(4 * n, 43)
        .into_iter()
        .map(|bits| (bits % n as u64) as i32)
        .collect();
    let begins: Vec<i32> = (0..=n as i32).map(|i| 4 * i).collect();
    let mut expected = vec![-1i32; n];
    expected[0] = 0;
    let mut queue = std::collections::VecDeque::from([0]);
    while let Some(v) = queue.pop_front() {
        for &u in &targets[4 * v..4 * v + 4] {
            if expected[u as usize] < 0 {
                expected[u as usize] = expected[v] + 1;
                queue.push_back(u as usize);
            }
        }
    }
    let mut start = vec![-1i32; n];
    start[0] = 0;
    let (begin, edges, levels) = (run.put(&begins), run.put(&targets), run.put(&start));
    for level in 0.. {
        let changed = run.put(&[0i32]);
        run.line(
            "bfs_level",
            n,
            &[
                int(level),
                begin.clone(),
                edges.clone(),
                levels.clone(),
                changed.clone(),
            ],
        );
        if run.get::<i32>(&changed, 1) == [0] {
            break;
        }
    }
    assert_eq!(run.get::<i32>(&levels, n), expected);
}

#[test]
fn breadth_first_search() {
    everywhere("spaces", bfs);
}

/// What a module says before it is loaded is what a device makes of it, for each kept file.
#[test]
fn modules_name_the_parameters_and_variables_that_devices_give_them() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels/ptx");
    let mut kernels = 0;
    for compiler in ["clang", "nvcc"] {
        for file in std::fs::read_dir(folder.join(compiler)).unwrap() {
            let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
            let module = PtxModule::parse(&text).unwrap();
            let mut device = Device::new();
            let loaded = device.load(module.clone()).unwrap();
            let variables: Vec<_> = module.variables().collect();
            let placed: Vec<_> = loaded.variables().collect();
            let placed: Vec<_> = placed.iter().map(|it| (it.0, it.2)).collect();
            assert_eq!(variables, placed);
            for name in module.kernels() {
                let kernel = device.kernel(&loaded, name, &Options::default()).unwrap();
                let (params, bytes) = module.params(name).unwrap().unwrap();
                assert_eq!(
                    (&params[..], bytes),
                    (kernel.params(), kernel.param_bytes())
                );
                assert_eq!(module.architecture(), kernel.architecture());
                kernels += 1;
            }
            assert!(module.params("no such kernel").is_none());
        }
    }
    assert!(kernels > 20, "{kernels} kernels");
}
