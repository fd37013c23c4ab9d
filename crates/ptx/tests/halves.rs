//! Instructions on floats of 16 bits and on `tf32`, against the crate `half` and known bits.

use crate::common::body::run;
use half::{bf16, f16};
use reuselens_ptx::Ignore;

/// What 32 lanes get of `text`, which has its sources in `%h1`, `%h2`, `%h3` (the halves of lane l
/// are those of `sources` at 3 l) and the same twice as pairs in `%r1`, `%r2`, `%r3`; the result is
/// in `%h4` or `%r4`.
fn results(text: &str, sources: &[u16]) -> Vec<u16> {
    let body = format!(
        ".reg .b16 %h<9>; .reg .f32 %f<9>;\n.reg.b32 unused;\n\
         mul.wide.u32 %x50, %r0, 6;\nadd.u64 %x50, %x50, %x1;\n\
         ld.global.b16 %h1, [%x50];\nld.global.b16 %h2, [%x50+2];\nld.global.b16 %h3, [%x50+4];\n\
         mov.b32 %r1, {{%h1, %h1}};\nmov.b32 %r2, {{%h2, %h2}};\nmov.b32 %r3, {{%h3, %h3}};\n\
         mov.u32 %r4, 0;\nmov.b32 {{%h4, %h5}}, %r4;\n{text}\n\
         mul.wide.u32 %x51, %r0, 2;\nadd.u64 %x51, %x51, %x2;\nst.global.b16 [%x51], %h4;\n"
    );
    let bytes = sources.iter().flat_map(|bits| bits.to_le_bytes()).collect();
    let (found, _) = run(&body, &[bytes, vec![0; 64]], 32, &mut Ignore).unwrap();
    let words = found[1].as_chunks::<2>().0;
    words.iter().map(|word| u16::from_le_bytes(*word)).collect()
}

/// Small whole numbers and quarters, whose sums and products are exact, three for each lane.
fn numbers() -> Vec<f32> {
    (0..96).map(|at| (at * 37 % 19 - 9) as f32 * 0.25).collect()
}

type Function = fn(f32, f32, f32) -> f32;

#[test]
fn arithmetic_of_single_halves_and_pairs() {
    let cases: [(&str, usize, Function); 10] = [
        ("add", 2, |a, b, _| a + b),
        ("sub", 2, |a, b, _| a - b),
        ("mul", 2, |a, b, _| a * b),
        ("fma.rn", 3, |a, b, c| a * b + c),
        ("min", 2, |a, b, _| a.min(b)),
        ("max", 2, |a, b, _| a.max(b)),
        ("max.NaN", 2, |a, b, _| a.max(b)),
        ("add.sat", 2, |a, b, _| (a + b).clamp(0.0, 1.0)),
        ("fma.rn.relu", 3, |a, b, c| (a * b + c).max(0.0)),
        ("neg", 1, |a, _, _| -a),
    ];
    let numbers = numbers();
    for (name, count, function) in cases {
        for (ty, is_brain) in [("f16", false), ("bf16", true)] {
            let bits = |number: f32| {
                if is_brain {
                    bf16::from_f32(number).to_bits()
                } else {
                    f16::from_f32(number).to_bits()
                }
            };
            let sources: Vec<u16> = numbers.iter().map(|&number| bits(number)).collect();
            let expected = numbers.as_chunks::<3>().0.iter();
            // The negative zero of a product or of `neg` stays.
            let expected: Vec<u16> = expected.map(|&[a, b, c]| bits(function(a, b, c))).collect();
            let list = |letter: &str| {
                let all: Vec<String> = (1..=count).map(|at| format!("%{letter}{at}")).collect();
                all.join(", ")
            };
            let same = |found: Vec<u16>| {
                let zero = |bits: &u16| if *bits == 0x8000 { 0 } else { *bits };
                found.iter().map(zero).collect::<Vec<_>>()
            };
            let alone = format!("{name}.{ty} %h4, {};", list("h"));
            assert_eq!(
                same(results(&alone, &sources)),
                same(expected.clone()),
                "{alone}"
            );
            for half in ["%h4, %h5", "%h5, %h4"] {
                let pair = format!(
                    "{name}.{ty}x2 %r4, {};\nmov.b32 {{{half}}}, %r4;",
                    list("r")
                );
                assert_eq!(
                    same(results(&pair, &sources)),
                    same(expected.clone()),
                    "{pair}"
                );
            }
        }
    }
}

#[test]
fn comparisons_give_one_or_a_mask() {
    let numbers = numbers();
    for (ty, one) in [("f16", 0x3c00), ("bf16", 0x3f80)] {
        let bits = |number: f32| match ty {
            "f16" => f16::from_f32(number).to_bits(),
            _ => bf16::from_f32(number).to_bits(),
        };
        let sources: Vec<u16> = numbers.iter().map(|&number| bits(number)).collect();
        let less = |yes: u16| -> Vec<u16> {
            let rows = numbers.as_chunks::<3>().0.iter();
            rows.map(|&[a, b, _]| if a < b { yes } else { 0 }).collect()
        };
        let text = format!("set.lt.{ty}.{ty} %h4, %h1, %h2;");
        assert_eq!(results(&text, &sources), less(one), "{text}");
        let text = format!("setp.lt.{ty} %p1, %h1, %h2;\nselp.u16 %h4, 7, 0, %p1;");
        assert_eq!(results(&text, &sources), less(7), "{text}");
        for (to, yes) in [(format!("{ty}x2"), one), ("u32".to_owned(), 0xffff)] {
            for half in ["%h4, %h5", "%h5, %h4"] {
                let text = format!("set.lt.{to}.{ty}x2 %r4, %r1, %r2;\nmov.b32 {{{half}}}, %r4;");
                assert_eq!(results(&text, &sources), less(yes), "{text}");
            }
        }
    }
}

#[test]
fn conversions_round_as_asked() {
    // 2049.9 is between 2048 and 2050; 1 + 2^-11 is a tie of a short float.
    let one = |text: &str| results(text, &[0; 96])[0];
    let f16_of = |text: &str| f16::from_bits(one(text)).to_f32();
    let number = "mov.f32 %f1, 0f45001E66;\n";
    assert_eq!(f16_of(&format!("{number}cvt.rz.f16.f32 %h4, %f1;")), 2048.0);
    assert_eq!(f16_of(&format!("{number}cvt.rn.f16.f32 %h4, %f1;")), 2050.0);
    let brain = format!("{number}cvt.rz.bf16.f32 %h4, %f1;");
    assert_eq!(bf16::from_bits(one(&brain)).to_f32(), 2048.0);
    let whole = "mov.u32 %r5, 259;\ncvt.rn.bf16.u32 %h4, %r5;";
    assert_eq!(bf16::from_bits(one(whole)).to_f32(), 260.0);
    let short = |rounding: &str| {
        one(&format!(
            "mov.b32 %r5, 0x3f801000;\nmov.b32 %f1, %r5;\ncvt.{rounding}.tf32.f32 %r6, %f1;\n\
             shr.u32 %r6, %r6, 8;\ncvt.u16.u32 %h4, %r6;"
        ))
    };
    assert_eq!((short("rna"), short("rn")), (0x8020, 0x8000));
}

/// The first and the second half of `cvt` of a pair of singles, by their bits.
fn pair_of(modifiers: &str, first: u32, second: u32) -> (u16, u16) {
    let one = |halves: &str| {
        let text = format!(
            "mov.b32 %f1, 0x{first:08x};\nmov.b32 %f2, 0x{second:08x};\n\
             cvt.{modifiers}.f32 %r4, %f1, %f2;\nmov.b32 {{{halves}}}, %r4;"
        );
        results(&text, &[0; 96])[0]
    };
    (one("%h5, %h4"), one("%h4, %h5"))
}

#[test]
fn pairs_round_and_saturate_as_asked() {
    let (between, large) = (2049.9f32.to_bits(), 1e30f32.to_bits());
    let (below, nan) = ((-2049.9f32).to_bits(), 0x7fa0_0001);
    let half = |number: f32| f16::from_f32(number).to_bits();
    let brain = |number: f32| bf16::from_f32(number).to_bits();
    let cases = [
        ("rn.f16x2", between, below, (half(2050.0), half(-2050.0))),
        ("rz.f16x2", between, below, (half(2048.0), half(-2048.0))),
        ("rz.f16x2", large, nan, (0x7bff, 0x7fff)),
        ("rn.f16x2", large, nan, (0x7c00, 0x7fff)),
        ("rn.satfinite.f16x2", large, nan, (0x7bff, 0x7fff)),
        ("rn.relu.f16x2", below, between, (0, half(2050.0))),
        ("rz.relu.f16x2", below, nan, (0, 0x7fff)),
        ("rz.bf16x2", 0x4300_ffff, 0xc300_ffff, (0x4300, 0xc300)),
        ("rn.bf16x2", 0x4300_ffff, 0xc300_ffff, (0x4301, 0xc301)),
        ("rn.bf16x2", large, nan, (brain(1e30), 0x7fff)),
        (
            "rn.satfinite.relu.bf16x2",
            0x7f80_0000,
            0xff80_0000,
            (0x7f7f, 0),
        ),
    ];
    for (modifiers, first, second, expected) in cases {
        assert_eq!(pair_of(modifiers, first, second), expected, "{modifiers}");
    }
}

#[test]
fn pairs_of_eight_bits_are_converted_there_and_back() {
    let one = |text: &str| results(text, &[0; 96])[0];
    let narrow = |modifiers: &str, high: f32, low: f32| {
        let (high, low) = (high.to_bits(), low.to_bits());
        one(&format!(
            "mov.b32 %f1, 0x{high:08x};\nmov.b32 %f2, 0x{low:08x};\n\
             cvt.rn.satfinite.{modifiers}.f32 %h4, %f1, %f2;"
        ))
    };
    assert_eq!(narrow("e4m3x2", 1.5, -1e30), 0x3cfe);
    assert_eq!(narrow("e5m2x2", 1.5, f32::INFINITY), 0x3e7b);
    assert_eq!(narrow("relu.e5m2x2", -1.5, f32::NAN), 0x007f);
    // The same of a pair of halves, 1.5 above -448 and 1.5 above -1.5.
    let of_halves = |format: &str, pair: u32| {
        one(&format!(
            "mov.b32 %r5, 0x{pair:08x};\ncvt.rn.satfinite.{format}.f16x2 %h4, %r5;"
        ))
    };
    assert_eq!(of_halves("e4m3x2", 0x3e00_df00), 0x3cfe);
    assert_eq!(of_halves("relu.e5m2x2", 0x3e00_be00), 0x3e00);
    let widened = |format: &str, pair: u16, halves: &str| {
        one(&format!(
            "mov.b16 %h6, 0x{pair:04x};\ncvt.rn.f16x2.{format} %r4, %h6;\n\
             mov.b32 {{{halves}}}, %r4;"
        ))
    };
    for (format, pair, wanted) in [
        ("e4m3x2", 0x3cfe, (0xdf00, 0x3e00)),
        ("e5m2x2", 0x3e7c, (0x7c00, 0x3e00)),
    ] {
        let found = (
            widened(format, pair, "%h4, %h5"),
            widened(format, pair, "%h5, %h4"),
        );
        assert_eq!(found, wanted, "{format}");
    }
}
