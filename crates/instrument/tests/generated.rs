//! Kernels that are made of random statements: guards, all spaces, generic addresses, vectors,
//! atomic operations, branches, functions.

use reuselens_instrument::{InstrumentOptions, instrument};
use reuselens_ptx::{Options, SplitMix64};

use crate::common::Run;

/// A call of the function `f`.
const CALL: &str = "{ .param .b64 a0; .param .b32 a1; .param .b32 r0;
st.param.b64 [a0], %x1;
st.param.b32 [a1], %r1;
call.uni (r0), f, (a0, a1);
ld.param.b32 %r1, [r0]; }
";

/// Statements up to the given depth of branches. `%x1` is an address of global memory, `%s1` and
/// `%q1` of shared memory, `%l1` of local memory, `%g1` to `%g3` generic ones of these three, and
/// `%g4` is of one or the other by thread. All are aligned to 16.
fn statements(random: &mut SplitMix64, depth: u32, labels: &mut u32) -> String {
    let mut text = String::new();
    for _ in 0..3 + random.bits() % 4 {
        let guard = ["", "@%p1 ", "@!%p2 ", "@%p3 "][random.bits() as usize % 4];
        let offset = 16 * (random.bits() % 3);
        let sign = ["+", "+-"][random.bits() as usize % 2];
        let [space, base] = [
            [".global", "%x1"],
            [".shared", "%s1"],
            [".shared", "%q1"],
            [".shared::cta", "%q1"],
            [".local", "%l1"],
            ["", "%g1"],
            ["", "%g2"],
            ["", "%g3"],
            ["", "%g4"],
        ][random.bits() as usize % 9];
        let [space, base] = match offset {
            0 => [space, base].map(str::to_owned),
            _ => [space.to_owned(), format!("{base}{sign}{offset}")],
        };
        let volatile = if space.contains("local") {
            ""
        } else {
            ".volatile"
        };
        let can_add = !space.contains("local") && !base.contains("%g3") && !base.contains("%g4");
        text.push_str(&match random.bits() % 8 {
            0 => format!("{guard}ld{space}.u32 %r1, [{base}];\n"),
            1 => format!("{guard}st{space}.v2.u32 [{base}], {{%r1, %r2}};\n"),
            2 => {
                format!("{guard}ld{volatile}{space}.v4.f32 {{%f1, %f2, %f3, %f4}}, [ {base} ] ;\n")
            }
            3 => format!("{guard}st{space}.u8 [{base}], %r1;\n"),
            4 if can_add => format!("{guard}atom{space}.add.u32 %r2, [{base}], %r1;\n"),
            5 if can_add => format!("{guard}red{space}.max.u32 [{base}], 7;\n"),
            6 if depth > 0 => {
                *labels += 1;
                let label = *labels;
                let inside = statements(random, depth - 1, labels);
                format!("{guard}bra L{label};\n{inside}L{label}:\n")
            }
            7 if depth == 2 => CALL.to_owned(),
            _ => "{ .reg .b64 %s1; mov.u64 %s1, %x1; ld.global.u64 %s1, [%s1]; }\n".to_owned(),
        });
    }
    text
}

/// A file with a kernel `k` of the address of a buffer.
pub fn kernel(seed: u64) -> String {
    let mut random = SplitMix64::new(seed);
    let body = statements(&mut random, 2, &mut 0);
    format!(
        ".version 7.8
.target sm_80
.address_size 64
.const .align 4 .b32 table[4] = {{1, 2, 3, 4}};
.func (.param .b32 out) f(.param .b64 a, .param .b32 b) {{
.reg .pred %p;
.local .align 4 .b32 own[4];
.reg .u32 %t, %out, %b;
.reg .u64 %a;
ld.param.u64 %a, [a];
ld.param.u32 %b, [b];
st.local.u32 [own+4], %b;
setp.lt.u32 %p, %b, 9;
@%p ld.global.u32 %t, [%a+8];
ld.local.u32 %out, [own+4];
ld.const.u32 %t, [table+8];
add.u32 %out, %out, %t;
@%p bra END;
ld.v2.u32 {{%out, %t}}, [%a];
END: st.param.b32 [out], %out;
ret;
}}
.visible .entry k(.param .u64 a) {{
.reg .b64 %x<2>, %s<2>, %l<2>, %g<5>, %t<4>;
.reg .b32 %r<4>, %q<2>, %u<4>;
.reg .f32 %f<5>;
.reg .pred %p<4>;
.shared .align 16 .b8 tile[6400];
.local .align 16 .b8 mine[128];
ld.param.u64 %x1, [a];
mov.u32 %u1, %tid.x;
mov.u32 %u2, %tid.y;
mad.lo.u32 %u1, %u2, 16, %u1;
mul.lo.u32 %u2, %u1, 64;
cvt.u64.u32 %t1, %u2;
add.u64 %x1, %x1, %t1;
add.u64 %x1, %x1, 128;
mov.u64 %s1, tile;
add.u64 %s1, %s1, %t1;
add.u64 %s1, %s1, 128;
mov.u32 %q1, tile;
add.u32 %q1, %q1, %u2;
add.u32 %q1, %q1, 128;
mov.u64 %l1, mine;
add.u64 %l1, %l1, 64;
cvta.global.u64 %g1, %x1;
cvta.shared.u64 %g2, %s1;
cvta.local.u64 %g3, %l1;
and.b32 %u3, %u1, 1;
setp.eq.u32 %p1, %u3, 0;
selp.b64 %g4, %g3, %g2, %p1;
and.b32 %u3, %u1, 3;
setp.eq.u32 %p2, %u3, 1;
setp.gt.u32 %p3, %u1, 1000;
@%p2 selp.b64 %g4, %g1, %g4, %p2;
mov.u32 %r1, %u1;
mov.u32 %r2, 1;
{body}
st.global.u32 [%x1], %r1;
st.global.u32 [%x1+4], %r2;
ret;
}}
"
    )
}

#[test]
fn records_of_generated_kernels_are_those_of_the_interpreter() {
    for seed in 0..150 {
        let options = Options {
            threads: 1,
            ..Options::default()
        };
        let text = kernel(seed);
        let mut run = Run::new(&text, options);
        let a = run.put(&vec![3u32; 1600]);
        // 90 threads: the last warp is not full. Warps are of threads of several rows.
        run.launch("k", [2, 1, 2], [15, 6, 1], 0, &[a]);
    }
}

#[test]
fn all_but_hooks_stays_as_it_is() {
    for seed in 0..20 {
        // Each line of a hook has a name that no line of the file has.
        let text = kernel(seed);
        for (blocks, counts, flow) in [
            (false, false, false),
            (true, false, false),
            (true, true, false),
            (false, false, true),
        ] {
            let options = InstrumentOptions {
                blocks,
                branches: blocks,
                counts,
                flow,
            };
            let found = instrument(&text, &options).unwrap();
            let is_hook = |line: &&str| line.contains("reuselens_") || line.contains(".maxntid");
            let kept: String = found.text.lines().filter(|line| !is_hook(line)).collect();
            assert_eq!(kept, text.lines().collect::<String>());
            let hooks = found.text.lines().filter(is_hook).count();
            assert!(hooks > 10 * found.sites.len());
        }
    }
}
