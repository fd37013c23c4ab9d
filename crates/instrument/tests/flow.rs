//! Control flow that only the run decides: branches by tables, calls through pointers, recursion.
//! `Run` holds what hooks record and count there to what the interpreter counts.

use reuselens_instrument::{HookKind, InstrumentOptions, instrument};
use reuselens_ptx::{Argument, Options};

use crate::common::{Run, everywhere, ints};

const N: usize = 200;

#[test]
fn calls_through_pointers_are_counted_as_by_the_interpreter() {
    everywhere("calls", |run| {
        run.set_stack(1 << 14);
        let (a, b) = (run.put(&ints(N, 3)), run.put(&[0i32; N]));
        run.line("table", N, &[a.clone(), b.clone()]);
        for which in 0..2 {
            let which = Argument::Integer(which);
            run.line("pointer", N, &[a.clone(), b.clone(), which]);
        }
        run.line("shapes", N, &[a.clone(), b.clone()]);
        run.line("recursion", N, &[a, b]);
    });
}

/// Threads go by the lowest bits of their numbers to four places, of which two are one.
const TABLE: &str = ".version 7.0
.target sm_75
.address_size 64
.visible .entry k(.param .u64 a) {
.reg .b64 %x<3>; .reg .b32 %r<5>; .reg .pred %p<3>;
ld.param.u64 %x1, [a];
mov.u32 %r1, %tid.x;
mul.wide.u32 %x2, %r1, 4;
add.u64 %x1, %x1, %x2;
ld.global.u32 %r2, [%x1];
and.b32 %r3, %r2, 3;
and.b32 %r4, %r2, 4;
setp.ne.u32 %p1, %r4, 0;
list: .branchtargets ONE, TWO, ONE, END;
brx.idx %r3, list;
ONE: st.global.u32 [%x1], 1;
setp.lt.u32 %p2, %r1, 40;
@!%p2 bra END;
st.global.u32 [%x1], 5;
bra END;
TWO: @%p1 st.global.u32 [%x1], 2;
END: ret;
}
";

#[test]
fn branches_by_tables_are_counted_as_by_the_interpreter() {
    let options = InstrumentOptions {
        branches: true,
        ..InstrumentOptions::default()
    };
    let found = instrument(TABLE, &options).unwrap();
    let kinds: Vec<_> = found.sites.iter().map(|site| site.kind).collect();
    assert!(kinds.contains(&HookKind::IndirectBranch), "{kinds:?}");
    for values in [
        // All to one place, by two entries of the table; to all places; to none but the end.
        |thread: u32| 2 * (thread & 1),
        |thread| thread,
        |_| 3,
        |thread| thread / 32,
    ] {
        let options = Options {
            threads: 1,
            ..Options::default()
        };
        let mut run = Run::new(TABLE, options);
        let values: Vec<u32> = (0..90).map(values).collect();
        let a = run.put(&values);
        run.launch("k", [1; 3], [90, 1, 1], 0, &[a]);
    }
}
