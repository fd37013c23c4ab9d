//! Macros that make a [`Form`](super::Form) from an expression over the values of one lane:
//! `lanes!` for numbers, `test!` for a predicate of numbers, `predicates!` for predicates.

/// `lanes!(|a: u32, b: u32| -> u32 { a.wrapping_add(b) })`: up to three sources and, after `;`, a
/// predicate. The result is a lane type.
macro_rules! lanes {
    (|$a:ident: $A:ty $(, $b:ident: $B:ty $(, $c:ident: $C:ty)?)? $(; $p:ident)?| -> $R:ty $body:block) => {{
        struct Op;
        impl $crate::lanes::LaneOp for Op {
            #[inline(always)]
            fn run(r: &mut $crate::lanes::Registers, s: &$crate::lanes::Slots, mask: u32) {
                use $crate::lanes::Lane as _;
                let x = <$A>::row(r, s.a);
                $(let y = <$B>::row(r, s.b); $(let z = <$C>::row(r, s.c);)?)?
                $(let $p = r.predicates[s.p as usize];)?
                let mut out = [Default::default(); $crate::lanes::WARP];
                for lane in 0..$crate::lanes::WARP {
                    let $a = <$A>::load(x[lane]);
                    $(let $b = <$B>::load(y[lane]); $(let $c = <$C>::load(z[lane]);)?)?
                    $(let $p = $p >> lane & 1 != 0;)?
                    let value: $R = $body;
                    out[lane] = value.store();
                }
                <$R>::put(r, s.d, &out, mask);
            }
        }
        $crate::lanes::Form {
            exec: $crate::lanes::Exec::of::<Op>(),
            result: <$R as $crate::lanes::Lane>::TYPE,
            sources: &[
                <$A as $crate::lanes::Lane>::TYPE
                $(, <$B as $crate::lanes::Lane>::TYPE $(, <$C as $crate::lanes::Lane>::TYPE)?)?
            ],
        }
    }};
}

/// `test!(|a: u32, b: u32| a < b)`: the result is a predicate.
macro_rules! test {
    (|$a:ident: $A:ty $(, $b:ident: $B:ty $(, $c:ident: $C:ty)?)? $(; $p:ident)?| $body:expr) => {{
        struct Op;
        impl $crate::lanes::LaneOp for Op {
            #[inline(always)]
            fn run(r: &mut $crate::lanes::Registers, s: &$crate::lanes::Slots, mask: u32) {
                use $crate::lanes::Lane as _;
                let x = <$A>::row(r, s.a);
                $(let y = <$B>::row(r, s.b); $(let z = <$C>::row(r, s.c);)?)?
                $(let $p = r.predicates[s.p as usize];)?
                let mut bits = 0;
                for lane in 0..$crate::lanes::WARP {
                    let $a = <$A>::load(x[lane]);
                    $(let $b = <$B>::load(y[lane]); $(let $c = <$C>::load(z[lane]);)?)?
                    $(let $p = $p >> lane & 1 != 0;)?
                    let value: bool = $body;
                    bits |= u32::from(value) << lane;
                }
                $crate::lanes::Predicate::put(r, s.d, bits, mask);
            }
        }
        $crate::lanes::Form {
            exec: $crate::lanes::Exec::of::<Op>(),
            result: $crate::lanes::Predicate::TYPE,
            sources: &[
                <$A as $crate::lanes::Lane>::TYPE
                $(, <$B as $crate::lanes::Lane>::TYPE $(, <$C as $crate::lanes::Lane>::TYPE)?)?
            ],
        }
    }};
}

/// `predicates!(|a, b| a & b)`: predicates in, a predicate out, all lanes at once.
macro_rules! predicates {
    (@sources $a:ident) => { &[$crate::lanes::Type::Pred] };
    (@sources $a:ident, $b:ident) => { &[$crate::lanes::Type::Pred, $crate::lanes::Type::Pred] };
    (|$a:ident $(, $b:ident)?| $body:expr) => {{
        struct Op;
        impl $crate::lanes::LaneOp for Op {
            #[inline(always)]
            fn run(r: &mut $crate::lanes::Registers, s: &$crate::lanes::Slots, mask: u32) {
                let $a = r.predicates[s.a as usize];
                $(let $b = r.predicates[s.b as usize];)?
                $crate::lanes::Predicate::put(r, s.d, $body, mask);
            }
        }
        $crate::lanes::Form {
            exec: $crate::lanes::Exec::of::<Op>(),
            result: $crate::lanes::Type::Pred,
            sources: predicates!(@sources $a $(, $b)?),
        }
    }};
}
