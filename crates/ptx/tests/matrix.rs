//! Instructions on matrices against a calculation on the CPU. Where an element of `mma` and
//! `ldmatrix` is, is written here as *PTX ISA* has it, case by case.

use crate::common::body::{Watch, run};
use half::{bf16, f16};
use reuselens_ptx::{FaultKind, Ignore, LaunchError, Space, SplitMix64};

/// The type of a matrix's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Of {
    F16,
    Bf16,
    Tf32,
    F32,
    F64,
    S8,
    U8,
    S32,
    E4m3,
    E5m2,
}

impl Of {
    fn name(self) -> &'static str {
        match self {
            Of::F16 => "f16",
            Of::Bf16 => "bf16",
            Of::Tf32 => "tf32",
            Of::F32 => "f32",
            Of::F64 => "f64",
            Of::S8 => "s8",
            Of::U8 => "u8",
            Of::S32 => "s32",
            Of::E4m3 => "e4m3",
            Of::E5m2 => "e5m2",
        }
    }

    fn bytes(self, number: f64) -> Vec<u8> {
        match self {
            Of::F16 => f16::from_f64(number).to_le_bytes().to_vec(),
            Of::Bf16 => bf16::from_f64(number).to_le_bytes().to_vec(),
            Of::Tf32 | Of::F32 => (number as f32).to_le_bytes().to_vec(),
            Of::F64 => number.to_le_bytes().to_vec(),
            Of::S8 => (number as i8).to_le_bytes().to_vec(),
            Of::U8 => vec![number as u8],
            Of::S32 => (number as i32).to_le_bytes().to_vec(),
            // Those of the whole numbers from 0 to 4.
            Of::E4m3 => {
                let size = [0, 0x38, 0x40, 0x44, 0x48][number.abs() as usize];
                vec![size | if number < 0.0 { 0x80 } else { 0 }]
            }
            Of::E5m2 => vec![f16::from_f64(number).to_le_bytes()[1]],
        }
    }

    fn size(self) -> usize {
        self.bytes(0.0).len()
    }

    /// A small whole number: all sums are exact.
    fn any(self, random: &mut SplitMix64) -> f64 {
        let least = if self == Of::U8 { 0.0 } else { -4.0 };
        random.below(9) as f64 + least
    }
}

/// A matrix by rows.
#[derive(Clone, Debug, PartialEq)]
struct Matrix {
    columns: usize,
    cells: Vec<f64>,
}

impl Matrix {
    fn any(rows: usize, columns: usize, of: Of, random: &mut SplitMix64) -> Matrix {
        let cells = (0..rows * columns).map(|_| of.any(random)).collect();
        Matrix { columns, cells }
    }

    fn at(&self, row: usize, column: usize) -> f64 {
        self.cells[row * self.columns + column]
    }

    /// `a * b + self`
    fn plus(&self, a: &Matrix, b: &Matrix) -> Matrix {
        let cell = |place: usize| {
            let (row, column) = (place / self.columns, place % self.columns);
            let products = (0..a.columns).map(|k| a.at(row, k) * b.at(k, column));
            products.sum::<f64>() + self.cells[place]
        };
        Matrix {
            columns: self.columns,
            cells: (0..self.cells.len()).map(cell).collect(),
        }
    }
}

/// Row and column of an element of a lane, of the first factor of `mma`.
fn place_of_a(m: usize, k: usize, of: Of, lane: usize, i: usize) -> (usize, usize) {
    let (group, thread) = (lane >> 2, lane % 4);
    match (m, k, of.size()) {
        (16, 8, 2) => (if i < 2 { group } else { group + 8 }, thread * 2 + (i & 1)),
        (16, 16, 2) => (
            if i < 2 || (4..6).contains(&i) {
                group
            } else {
                group + 8
            },
            thread * 2 + (i & 1) + if i < 4 { 0 } else { 8 },
        ),
        (16, 4, 4) => (if i == 0 { group } else { group + 8 }, thread),
        (16, 8, 4) => (
            if i == 0 || i == 2 { group } else { group + 8 },
            if i < 2 { thread } else { thread + 4 },
        ),
        (8, 16, 1) => (group, thread * 4 + i),
        (16, 16, 1) => (if i < 4 { group } else { group + 8 }, thread * 4 + (i & 3)),
        (16, 32, 1) => (
            if i < 4 || (8..12).contains(&i) {
                group
            } else {
                group + 8
            },
            thread * 4 + (i & 3) + if i < 8 { 0 } else { 16 },
        ),
        (8, 4, 8) => (group, thread),
        other => panic!("{other:?}"),
    }
}

/// The same of the second factor.
fn place_of_b(k: usize, of: Of, lane: usize, i: usize) -> (usize, usize) {
    let (group, thread) = (lane >> 2, lane % 4);
    let row = match (k, of.size()) {
        (8, 2) => thread * 2 + i,
        (16, 2) => thread * 2 + (i & 1) + if i < 2 { 0 } else { 8 },
        (4, 4 | 8) => thread,
        (8, 4) => {
            if i == 0 {
                thread
            } else {
                thread + 4
            }
        }
        (16, 1) => thread * 4 + i,
        (32, 1) => thread * 4 + (i & 3) + if i < 4 { 0 } else { 16 },
        other => panic!("{other:?}"),
    };
    (row, group)
}

/// The same of the sum.
fn place_of_sum(lane: usize, i: usize) -> (usize, usize) {
    let row = if i < 2 { lane >> 2 } else { (lane >> 2) + 8 };
    (row, lane % 4 * 2 + (i & 1))
}

/// Registers of all lanes, one lane after the other.
fn spread(matrix: &Matrix, of: Of, place: impl Fn(usize, usize) -> (usize, usize)) -> Vec<u8> {
    let own = matrix.cells.len() / 32;
    let mut bytes = Vec::new();
    for lane in 0..32 {
        for i in 0..own {
            let (row, column) = place(lane, i);
            bytes.extend(of.bytes(matrix.at(row, column)));
        }
    }
    bytes
}

/// Text that loads or stores a lane's registers of a buffer.
fn registers(kind: &str, name: &str, buffer: usize, bytes: usize, wide: bool) -> (String, String) {
    let width = if wide { 8 } else { 4 };
    let (count, ty) = (bytes / 32 / width, 8 * width);
    let mut text = format!(
        "mul.wide.u32 %x50, %r0, {};\nadd.u64 %x50, %x50, %x{buffer};\n",
        count * width
    );
    let names: Vec<String> = (0..count).map(|at| format!("%{name}{at}")).collect();
    for (at, name) in names.iter().enumerate() {
        let place = at * width;
        text += &match kind {
            "ld" => format!("ld.global.b{ty} {name}, [%x50+{place}];\n"),
            _ => format!("st.global.b{ty} [%x50+{place}], {name};\n"),
        };
    }
    (text, format!("{{{}}}", names.join(", ")))
}

#[test]
fn mma_multiplies_fragments_that_are_spread_as_documented() {
    let cases = [
        ((16, 8, 8), Of::F16, Of::F16, Of::F32),
        ((16, 8, 16), Of::F16, Of::F16, Of::F32),
        ((16, 8, 16), Of::F16, Of::F16, Of::F16),
        ((16, 8, 8), Of::Bf16, Of::Bf16, Of::F32),
        ((16, 8, 16), Of::Bf16, Of::Bf16, Of::F32),
        ((16, 8, 4), Of::Tf32, Of::Tf32, Of::F32),
        ((16, 8, 8), Of::Tf32, Of::Tf32, Of::F32),
        ((8, 8, 16), Of::S8, Of::S8, Of::S32),
        ((16, 8, 16), Of::S8, Of::U8, Of::S32),
        ((16, 8, 32), Of::U8, Of::S8, Of::S32),
        ((16, 8, 32), Of::E4m3, Of::E4m3, Of::F32),
        ((16, 8, 32), Of::E5m2, Of::E4m3, Of::F32),
        ((16, 8, 16), Of::E4m3, Of::E5m2, Of::F16),
        ((8, 8, 4), Of::F64, Of::F64, Of::F64),
    ];
    let mut random = SplitMix64::new(1);
    for ((m, n, k), a_of, b_of, sum_of) in cases {
        let a = Matrix::any(m, k, a_of, &mut random);
        let b = Matrix::any(k, n, b_of, &mut random);
        let c = Matrix::any(m, n, sum_of, &mut random);
        let wide = sum_of == Of::F64;
        let name = |letter: &str| {
            if wide {
                format!("f{letter}")
            } else {
                letter.to_owned()
            }
        };
        let buffers = [
            spread(&a, a_of, |lane, i| place_of_a(m, k, a_of, lane, i)),
            spread(&b, b_of, |lane, i| place_of_b(k, b_of, lane, i)),
            spread(&c, sum_of, place_of_sum),
            vec![0; m * n * sum_of.size()],
        ];
        let (load_a, a_names) = registers("ld", &name("a"), 1, buffers[0].len(), wide);
        let (load_b, b_names) = registers("ld", &name("b"), 2, buffers[1].len(), wide);
        let (load_c, c_names) = registers("ld", &name("c"), 3, buffers[2].len(), wide);
        let (store, d_names) = registers("st", &name("d"), 4, buffers[3].len(), wide);
        let (sum, left, right) = (sum_of.name(), a_of.name(), b_of.name());
        let mma = format!(
            "mma.sync.aligned.m{m}n{n}k{k}.row.col.{sum}.{left}.{right}.{sum} \
             {d_names}, {a_names}, {b_names}, {c_names};\n"
        );
        let body = load_a + &load_b + &load_c + &mma + &store;
        let (found, _) = run(&body, &buffers, 32, &mut Ignore).unwrap();
        let expected = spread(&c.plus(&a, &b), sum_of, place_of_sum);
        assert_eq!(found[3], expected, "{mma}");
    }
}

/// A matrix in memory, with rows or columns `stride` elements apart.
fn laid_out(matrix: &Matrix, of: Of, by_rows: bool, stride: usize) -> Vec<u8> {
    let rows = matrix.cells.len() / matrix.columns;
    let major = if by_rows { rows } else { matrix.columns };
    let mut bytes = vec![0xee; major * stride * of.size()];
    for row in 0..rows {
        for column in 0..matrix.columns {
            let place = of.size()
                * if by_rows {
                    row * stride + column
                } else {
                    column * stride + row
                };
            bytes[place..place + of.size()].copy_from_slice(&of.bytes(matrix.at(row, column)));
        }
    }
    bytes
}

#[test]
fn wmma_multiplies_matrices_of_any_layout() {
    let shapes = [(16, 16, 16), (32, 8, 16), (8, 32, 16)];
    let mut cases = vec![
        ((16, 16, 8), Of::Tf32, Of::F32, (4, 4)),
        ((8, 8, 4), Of::F64, Of::F64, (1, 1)),
    ];
    for (m, n, k) in shapes {
        cases.push(((m, n, k), Of::F16, Of::F32, (8, 8)));
        cases.push(((m, n, k), Of::F16, Of::F16, (8, 8)));
        cases.push(((m, n, k), Of::Bf16, Of::F32, (m * k / 64, n * k / 64)));
        cases.push(((m, n, k), Of::S8, Of::S32, (m * k / 128, n * k / 128)));
        cases.push(((m, n, k), Of::U8, Of::S32, (m * k / 128, n * k / 128)));
    }
    let mut random = SplitMix64::new(2);
    for (round, ((m, n, k), of, sum_of, (own_a, own_b))) in cases
        .iter()
        .cycle()
        .take(4 * cases.len())
        .copied()
        .enumerate()
    {
        let layout = |bit: usize| (round / cases.len()) >> bit & 1 == 0;
        let (a_rows, b_rows, sum_rows) = (layout(0), layout(1), layout(0) != layout(1));
        let a = Matrix::any(m, k, of, &mut random);
        let b = Matrix::any(k, n, of, &mut random);
        let c = Matrix::any(m, n, sum_of, &mut random);
        let stride = |by_rows: bool, rows: usize, columns: usize| {
            (if by_rows { columns } else { rows }) + 16
        };
        let (lda, ldb, ldc) = (
            stride(a_rows, m, k),
            stride(b_rows, k, n),
            stride(sum_rows, m, n),
        );
        let buffers = [
            laid_out(&a, of, a_rows, lda),
            laid_out(&b, of, b_rows, ldb),
            laid_out(&c, sum_of, sum_rows, ldc),
        ];
        let wide = of == Of::F64;
        let names = |letter: &str, count: usize| {
            let prefix = if wide { "%f" } else { "%" };
            let all: Vec<String> = (0..count)
                .map(|at| format!("{prefix}{letter}{at}"))
                .collect();
            format!("{{{}}}", all.join(", "))
        };
        let own_sum = m * n * sum_of.size() / 32 / if wide { 8 } else { 4 };
        let (a_names, b_names) = (names("a", own_a), names("b", own_b));
        let (c_names, d_names) = (names("c", own_sum), names("d", own_sum));
        let word = |by_rows: bool| if by_rows { "row" } else { "col" };
        let (sum, ty, shape) = (sum_of.name(), of.name(), format!("m{m}n{n}k{k}"));
        let types = match of {
            Of::F16 => format!("{sum}.{sum}"),
            _ => format!("{sum}.{ty}.{ty}.{sum}"),
        };
        let (a_word, b_word, sum_word) = (word(a_rows), word(b_rows), word(sum_rows));
        let body = format!(
            "wmma.load.a.sync.aligned.{a_word}.{shape}.global.{ty} {a_names}, [%x1], {lda};\n\
             wmma.load.b.sync.aligned.{b_word}.{shape}.{ty} {b_names}, [%x2], {ldb};\n\
             wmma.load.c.sync.aligned.{sum_word}.{shape}.global.{sum} {c_names}, [%x3], {ldc};\n\
             wmma.mma.sync.aligned.{a_word}.{b_word}.{shape}.{types} {d_names}, {a_names}, {b_names}, {c_names};\n\
             wmma.store.d.sync.aligned.{sum_word}.{shape}.global.{sum} [%x3], {d_names}, {ldc};\n"
        );
        let mut watch = Watch::default();
        let (found, addresses) = run(&body, &buffers, 32, &mut watch).unwrap();
        let expected = laid_out(&c.plus(&a, &b), sum_of, sum_rows, ldc);
        assert_eq!(found[2], expected, "{body}");
        // The sink sees each byte of the matrices, and none between rows.
        for (index, buffer) in buffers.iter().enumerate() {
            let mut seen = vec![false; buffer.len()];
            let begin = addresses[index];
            let range = begin..begin + buffer.len() as u64;
            for &(space, _, address, bytes) in watch.0.iter().filter(|one| range.contains(&one.2)) {
                assert_eq!(space, Space::Global);
                let place = (address - begin) as usize;
                seen[place..place + usize::from(bytes)].fill(true);
            }
            let own: Vec<bool> = buffer.iter().map(|&byte| byte != 0xee).collect();
            let missed = own
                .iter()
                .zip(&seen)
                .filter(|(own, seen)| **own && !**seen)
                .count();
            let beyond = own
                .iter()
                .zip(&seen)
                .filter(|(own, seen)| !**own && **seen)
                .count();
            // Numbers with bytes of 0xee do not occur: all are small and whole.
            assert_eq!((missed, beyond), (0, 0), "matrix {index}: {body}");
        }
        let stores = watch
            .0
            .iter()
            .filter(|one| one.1)
            .map(|one| usize::from(one.3));
        assert_eq!(stores.sum::<usize>(), m * n * sum_of.size(), "{body}");
    }
}

/// Rows of 16 bytes in shared memory, in an order that is not that of the matrices.
fn stage(count: usize) -> String {
    format!(
        "mul.wide.u32 %x50, %r0, 16;\nadd.u64 %x51, %x50, %x1;\n\
         ld.global.v4.u32 {{%r1, %r2, %r3, %r4}}, [%x51];\n\
         mov.u64 %x52, room;\nadd.u64 %x53, %x52, %x50;\n\
         st.shared.v4.u32 [%x53], {{%r1, %r2, %r3, %r4}};\nbar.sync 0;\n\
         mul.lo.u32 %r5, %r0, 5;\nrem.u32 %r5, %r5, {};\nmul.wide.u32 %x54, %r5, 16;\n\
         add.u64 %x55, %x54, %x52;\n",
        8 * count
    )
}

#[test]
fn ldmatrix_gives_each_lane_two_neighbours() {
    let rows: Vec<u8> = (0..32 * 8u16).flat_map(u16::to_le_bytes).collect();
    for (count, transposed, generic) in [
        (1, false, false),
        (2, true, false),
        (4, false, true),
        (4, true, false),
    ] {
        let trans = if transposed { ".trans" } else { "" };
        let names: Vec<String> = (0..count).map(|at| format!("%a{at}")).collect();
        let (names, out) = (names.join(", "), 4 * count);
        let (space, place) = if generic {
            ("", "cvta.shared.u64 %x55, %x55;\n")
        } else {
            (".shared", "")
        };
        let mut body = stage(count) + place;
        body += &format!(
            "ldmatrix.sync.aligned.m8n8.x{count}{trans}{space}.b16 {{{names}}}, [%x55];\n\
             mul.wide.u32 %x56, %r0, {out};\nadd.u64 %x56, %x56, %x2;\n"
        );
        for at in 0..count {
            body += &format!("st.global.u32 [%x56+{}], %a{at};\n", 4 * at);
        }
        let buffers = [rows.clone(), vec![0; 32 * out]];
        let mut watch = Watch::default();
        let (found, _) = run(&body, &buffers, 32, &mut watch).unwrap();
        let mut expected = Vec::new();
        for lane in 0..32 {
            for matrix in 0..count {
                for half in 0..2 {
                    let (row, column) = if transposed {
                        (lane % 4 * 2 + half, lane / 4)
                    } else {
                        (lane / 4, lane % 4 * 2 + half)
                    };
                    // Lane 8 * matrix + row names the row of memory.
                    let named = (8 * matrix + row) * 5 % (8 * count);
                    expected.extend(((named * 8 + column) as u16).to_le_bytes());
                }
            }
        }
        assert_eq!(found[1], expected, "{count} {trans}");
        let mut reads: Vec<u64> = watch
            .0
            .iter()
            .filter(|one| one.0 == Space::Shared && !one.1 && one.3 == 16)
            .map(|one| one.2)
            .collect();
        reads.sort_unstable();
        assert_eq!(
            reads,
            (0..8 * count as u64)
                .map(|row| 16 * row)
                .collect::<Vec<_>>()
        );
    }
}

#[test]
fn stmatrix_undoes_ldmatrix() {
    let rows: Vec<u8> = (0..32 * 8u16).flat_map(u16::to_le_bytes).collect();
    for trans in ["", ".trans"] {
        let body = stage(4)
            + &format!(
                "ldmatrix.sync.aligned.m8n8.x4{trans}.shared.b16 {{%a0, %a1, %a2, %a3}}, [%x55];\n\
                 add.u64 %x55, %x55, 1024;\n\
                 stmatrix.sync.aligned.m8n8.x4{trans}.shared.b16 [%x55], {{%a0, %a1, %a2, %a3}};\n\
                 bar.sync 0;\nld.shared.v4.u32 {{%r1, %r2, %r3, %r4}}, [%x53+1024];\n\
                 add.u64 %x57, %x50, %x2;\nst.global.v4.u32 [%x57], {{%r1, %r2, %r3, %r4}};\n"
            );
        let (found, _) = run(&body, &[rows.clone(), vec![0; 512]], 32, &mut Ignore).unwrap();
        assert_eq!(found[1], rows, "{trans}");
    }
}

#[test]
fn numbers_are_rounded_once() {
    // 1 + 2^-13 as tf32 is 1, and 2048 + 1 + 1 as a half is 2050, where two roundings give 2048.
    let one: Vec<u8> = (0..32 * 4)
        .flat_map(|_| (1.0f32 + 2f32.powi(-13)).to_le_bytes())
        .collect();
    let body = "mov.u32 %r1, 0f3F801000;\nmov.u32 %r2, 0f3F800000;\nmov.u32 %r3, 0;\n\
         mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 {%d0, %d1, %d2, %d3}, {%r1, %r1}, {%r2}, {%r3, %r3, %r3, %r3};\n\
         st.global.u32 [%x1], %d0;\n\
         mov.u32 %r4, 0x3c003c00;\nmov.u32 %r5, 0x68006800;\nmov.u32 %r6, 0x00003c00;\nmov.u32 %r7, 0;\n\
         setp.ne.u32 %p1, %r0, 0;\nselp.b32 %r8, 0, %r4, %p1;\nselp.b32 %r9, 0, %r4, %p1;\n\
         mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%d0, %d1}, {%r8, %r7}, {%r9}, {%r5, %r5};\n\
         @!%p1 st.global.u32 [%x1+4], %d0;\n";
    let (found, _) = run(body, &[one], 32, &mut Ignore).unwrap();
    let word = |at: usize| u32::from_le_bytes(found[0][at..at + 4].try_into().unwrap());
    assert_eq!(f32::from_bits(word(0)), 4.0);
    assert_eq!(f16::from_bits(word(4) as u16).to_f32(), 2050.0);
}

#[test]
fn integers_saturate_if_asked_for() {
    let mma = |modifier: &str| {
        format!(
            "mov.u32 %r1, 0x7f7f7f7f;\nmov.u32 %r2, 0x7fffffff;\n\
             mma.sync.aligned.m8n8k16.row.col{modifier}.s32.s8.s8.s32 {{%d0, %d1}}, {{%r1}}, {{%r1}}, {{%r2, %r2}};\n\
             st.global.u32 [%x1], %d0;\n"
        )
    };
    let result = |modifier: &str| {
        let (found, _) = run(&mma(modifier), &[vec![0; 4]], 32, &mut Ignore).unwrap();
        i32::from_le_bytes(found[0][..].try_into().unwrap())
    };
    assert_eq!(result(".satfinite"), i32::MAX);
    assert_eq!(result(""), i32::MAX.wrapping_add(16 * 127 * 127));
}

#[test]
fn any_number_of_registers_is_loaded_or_refused() {
    // No compiler writes these, and none may stop the interpreter.
    for shape in ["m4n4k4", "m8n8k4", "m16n16k16", "m8n32k16"] {
        for ty in ["f16", "tf32", "s8"] {
            for count in 1..=8 {
                let names: Vec<String> = (0..count).map(|at| format!("%a{at}")).collect();
                let names = names.join(", ");
                let body = format!(
                    "wmma.load.a.sync.aligned.row.{shape}.global.{ty} {{{names}}}, [%x1], 32;\n"
                );
                let outcome = std::panic::catch_unwind(|| {
                    let found = run(&body, &[vec![0; 1 << 14]], 32, &mut Ignore);
                    found.unwrap();
                });
                let message = match outcome {
                    Ok(()) => continue,
                    Err(panic) => *panic.downcast::<String>().unwrap(),
                };
                assert!(
                    message.contains("wrong number of registers"),
                    "{body}: {message}"
                );
            }
        }
    }
}

#[test]
fn a_part_of_a_warp_is_an_error() {
    let body = "mov.u32 %r1, 0;\n\
         mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%d0, %d1}, {%r1}, {%r1}, {%r1, %r1};\n";
    match run(body, &[vec![0; 4]], 16, &mut Ignore) {
        Err(LaunchError::Stopped(error)) => {
            assert_eq!(error.kind(), FaultKind::Convergence);
            assert!(error.to_string().contains("16 lanes"), "{error}");
        }
        other => panic!("{other:?}"),
    }
}
