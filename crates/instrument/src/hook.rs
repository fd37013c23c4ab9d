//! The text of hooks: what is added to a module, to each body, and before each instruction that is
//! recorded.
//!
//! Registers of a body, all with the prefix: `r0` is the block, `r1` the warp, `r9` the warp's
//! threads (where hooks count); the others are used anew by each hook. `p0`: the lane that writes
//! for the warp; `p1`: the lane writes its own value.
//!
//! A record is `site, mask, block, warp` (32 bits each). Of a generic access then follow the lanes
//! that go to shared memory, those that go to local memory, and two zeros; of a branch or guard the
//! lanes that take it, and three zeros. Then follow, of accesses, an address of 64 bits for each
//! lane of the mask, lowest first; of an indirect branch or call, where each lane goes; and 8 bytes
//! more where that is no multiple of 16.

use std::fmt::Write as _;

use crate::body::{AddressText, Base};
use crate::counts::COUNT_BYTES;
use crate::ring::{LONG_HEAD, PLAIN_HEAD};

/// What the head of a kernel without limits gets: hooks take registers, and a launch of the largest
/// block must still find enough of them.
pub const LARGEST_BLOCK: &str = "\n.maxntid 1024, 1, 1\n";

/// The variable of the module: see [`RingControl`](crate::RingControl) and
/// [`SiteCounts`](crate::SiteCounts).
pub fn variable(prefix: &str, counts: bool) -> String {
    let what = if counts { "counts" } else { "ring" };
    format!("{prefix}_{what}")
}

/// The declaration of the variable of a module with `sites` hooks.
pub fn declaration(prefix: &str, counts: bool, sites: usize) -> String {
    let name = variable(prefix, counts);
    let numbers = if counts { COUNT_BYTES / 8 * sites } else { 5 };
    format!("\n.visible .global .align 16 .b64 {name}[{numbers}];")
}

/// The registers of a body.
pub fn registers(prefix: &str) -> String {
    format!(
        "\n\t.reg .pred %{prefix}_p<4>;\n\t.reg .b32 %{prefix}_r<10>;\n\t.reg .b64 %{prefix}_d<4>;"
    )
}

/// `r1`: the warp.
pub const WARP: &str = "\
    mov.u32 %@r1, %tid.z;
    mov.u32 %@r2, %ntid.y;
    mov.u32 %@r3, %tid.y;
    mad.lo.u32 %@r1, %@r1, %@r2, %@r3;
    mov.u32 %@r2, %ntid.x;
    mov.u32 %@r3, %tid.x;
    mad.lo.u32 %@r1, %@r1, %@r2, %@r3;
    shr.u32 %@r1, %@r1, 5;
";

/// The instructions before the first one of a body: which block and warp this is; where hooks
/// count, how many threads the warp has.
pub fn prologue(prefix: &str, counts: bool) -> String {
    const PLACE: &str = "\
        mov.u32 %@r0, %ctaid.z;
        mov.u32 %@r2, %nctaid.y;
        mov.u32 %@r3, %ctaid.y;
        mad.lo.u32 %@r0, %@r0, %@r2, %@r3;
        mov.u32 %@r2, %nctaid.x;
        mov.u32 %@r3, %ctaid.x;
        mad.lo.u32 %@r0, %@r0, %@r2, %@r3;
";
    const THREADS: &str = "\
        mov.u32 %@r3, %ntid.y;
        mul.lo.u32 %@r2, %@r2, %@r3;
        mov.u32 %@r3, %ntid.z;
        mul.lo.u32 %@r2, %@r2, %@r3;
        shl.b32 %@r3, %@r1, 5;
        sub.u32 %@r2, %@r2, %@r3;
        min.u32 %@r9, %@r2, 32;
";
    let body = if counts {
        [WARP, THREADS]
    } else {
        [PLACE, WARP]
    };
    named(&body.concat(), prefix)
}

/// `@` stands for the prefix and a line underneath; lines begin with one tab.
pub fn named(body: &str, prefix: &str) -> String {
    let mut text = String::new();
    for line in body.lines() {
        let line = line.trim_start();
        // A guard of PTX is an `@` too: it is written `?` in these texts.
        let line = line.replace('@', &format!("{prefix}_")).replace('?', "@");
        let _ = writeln!(text, "\t{line}");
    }
    text
}

/// What a hook records beside the lanes that come to it.
#[derive(Clone, Debug)]
pub enum HookContent<'a> {
    /// Nothing: a basic block or a barrier.
    Arrival,
    /// The address of each lane whose guard holds. The space of a generic one is known by the
    /// address only.
    Address {
        address: AddressText<'a>,
        is_generic: bool,
    },
    /// The lanes whose guard holds.
    Taken,
    /// These, and where each lane goes: the value of a register. Values that are one place are made
    /// equal: the first of each pair becomes the second.
    Target {
        register: Base<'a>,
        equal: Vec<(usize, usize)>,
    },
}

/// A hook.
#[derive(Clone, Debug)]
pub struct Hook<'a> {
    pub site: usize,
    /// Of the instruction that is recorded.
    pub guard: Option<(&'a str, bool)>,
    pub content: HookContent<'a>,
    /// Counts, and writes no record.
    pub counts: bool,
}

impl Hook<'_> {
    /// The instructions.
    pub fn text(&self, prefix: &str) -> String {
        let mut body = self.lanes();
        if self.counts {
            body.push_str(&self.additions());
            return named(&body, prefix);
        }
        if self.keeps_all_lanes() {
            // The lanes that come are recorded, and those of the guard beside them.
            body.push_str("mov.b32 %@r8, %@r3;\nmov.b32 %@r3, %@r2;\n");
        }
        body.push_str(&self.reservation());
        match &self.content {
            HookContent::Arrival => {}
            HookContent::Address { address, .. } => body.push_str(&self.addresses(address)),
            HookContent::Taken => body.push_str(TAKEN),
            HookContent::Target { register, equal } => {
                body.push_str(TAKEN);
                body.push_str(&target(*register, equal));
                body.push_str(&self.own_values());
            }
        }
        named(&body, prefix)
    }

    /// Whether the mask of a record has lanes whose guard does not hold.
    fn keeps_all_lanes(&self) -> bool {
        matches!(
            self.content,
            HookContent::Taken | HookContent::Target { .. }
        )
    }

    /// `r2`: the active lanes; `r3`: those whose guard holds; `r4`: the lane; `r5`: the lowest
    /// active one, which is `p0`, if there is anything to record.
    fn lanes(&self) -> String {
        let mut body = "activemask.b32 %@r2;\n".to_owned();
        body.push_str(&match self.guard {
            Some((name, is_negated)) => {
                let sign = if is_negated { "!" } else { "" };
                format!("vote.sync.ballot.b32 %@r3, {sign}{name}, %@r2;\n")
            }
            None => "mov.b32 %@r3, %@r2;\n".to_owned(),
        });
        body.push_str(
            "mov.u32 %@r4, %laneid;
            brev.b32 %@r5, %@r2;
            bfind.shiftamt.u32 %@r5, %@r5;
            setp.eq.u32 %@p0, %@r4, %@r5;\n",
        );
        if self.guard.is_some() && !self.counts && !self.keeps_all_lanes() {
            body.push_str("setp.ne.and.u32 %@p0, %@r3, 0, %@p0;\n");
        }
        body
    }

    fn head(&self) -> u64 {
        match self.content {
            HookContent::Arrival
            | HookContent::Address {
                is_generic: false, ..
            } => PLAIN_HEAD,
            _ => LONG_HEAD,
        }
    }

    /// `d1`: the address of the record; `p1`: there is room; `p0`: there is, and this is the lane
    /// that writes the head.
    fn reservation(&self) -> String {
        let head = self.head();
        let bytes = match self.content {
            HookContent::Address { .. } | HookContent::Target { .. } => format!(
                "popc.b32 %@r6, %@r3;
                mad.lo.u32 %@r6, %@r6, 8, 15;
                and.b32 %@r6, %@r6, 4294967280;
                add.u32 %@r6, %@r6, {head};\n"
            ),
            HookContent::Arrival | HookContent::Taken => format!("mov.u32 %@r6, {head};\n"),
        };
        let site = self.site;
        format!(
            "{bytes}cvt.u64.u32 %@d2, %@r6;
            mov.u64 %@d0, @ring;
            mov.u64 %@d1, 0;
            ?%@p0 atom.global.add.u64 %@d1, [%@d0+16], %@d2;
            mov.b64 {{%@r6, %@r7}}, %@d1;
            shfl.sync.idx.b32 %@r6, %@r6, %@r5, 31, %@r2;
            shfl.sync.idx.b32 %@r7, %@r7, %@r5, 31, %@r2;
            mov.b64 %@d1, {{%@r6, %@r7}};
            add.u64 %@d2, %@d1, %@d2;
            ld.global.u64 %@d3, [%@d0+8];
            setp.le.u64 %@p1, %@d2, %@d3;
            setp.gt.and.u64 %@p2, %@d2, %@d3, %@p0;
            ?%@p2 red.global.add.u64 [%@d0+24], 1;
            ?%@p2 red.global.min.u64 [%@d0+32], %@d1;
            ld.global.u64 %@d3, [%@d0];
            add.u64 %@d1, %@d1, %@d3;
            and.pred %@p0, %@p0, %@p1;
            mov.u32 %@r6, {site};
            ?%@p0 st.global.v4.u32 [%@d1], {{%@r6, %@r3, %@r0, %@r1}};\n"
        )
    }

    /// Each lane of the record writes its address.
    fn addresses(&self, address: &AddressText<'_>) -> String {
        let mut body = own_address(address);
        if matches!(
            self.content,
            HookContent::Address {
                is_generic: true,
                ..
            }
        ) {
            body.push_str(
                "isspacep.shared %@p2, %@d2;
                isspacep.local %@p3, %@d2;
                ?%@p2 cvta.to.shared.u64 %@d2, %@d2;
                ?%@p3 cvta.to.local.u64 %@d2, %@d2;
                vote.sync.ballot.b32 %@r6, %@p2, %@r2;
                vote.sync.ballot.b32 %@r7, %@p3, %@r2;
                and.b32 %@r6, %@r6, %@r3;
                and.b32 %@r7, %@r7, %@r3;
                mov.u32 %@r8, 0;
                ?%@p0 st.global.v4.u32 [%@d1+16], {%@r6, %@r7, %@r8, %@r8};\n",
            );
        }
        if self.guard.is_some() {
            body.push_str(
                "shr.u32 %@r6, %@r3, %@r4;
                and.b32 %@r6, %@r6, 1;
                setp.eq.and.u32 %@p1, %@r6, 1, %@p1;\n",
            );
        }
        body.push_str(&self.own_values());
        body
    }

    /// Each lane of the record writes `d2`, lowest first.
    fn own_values(&self) -> String {
        let head = self.head();
        format!(
            "mov.u32 %@r6, %lanemask_lt;
            and.b32 %@r6, %@r6, %@r3;
            popc.b32 %@r6, %@r6;
            mul.wide.u32 %@d3, %@r6, 8;
            add.u64 %@d1, %@d1, %@d3;
            ?%@p1 st.global.u64 [%@d1+{head}], %@d2;\n"
        )
    }

    /// Adds to the four numbers of the site: warps, those that are mixed, threads, and those whose
    /// guard holds ([`SiteCounts`](crate::SiteCounts)).
    fn additions(&self) -> String {
        let mut body = "popc.b32 %@r6, %@r2;\npopc.b32 %@r7, %@r3;\n".to_owned();
        body.push_str(&match &self.content {
            HookContent::Arrival => "setp.ne.and.u32 %@p1, %@r6, %@r9, %@p0;\n".to_owned(),
            HookContent::Address { .. } | HookContent::Taken => SPLIT.to_owned(),
            HookContent::Target { register, equal } => {
                SPLIT.to_owned() + &goes_apart(*register, equal)
            }
        });
        let at = COUNT_BYTES * self.site;
        let _ = writeln!(
            body,
            "mov.u64 %@d0, @counts;
            ?%@p0 red.global.add.u64 [%@d0+{at}], 1;
            ?%@p1 red.global.add.u64 [%@d0+{}], 1;
            cvt.u64.u32 %@d2, %@r6;
            ?%@p0 red.global.add.u64 [%@d0+{}], %@d2;
            cvt.u64.u32 %@d2, %@r7;
            ?%@p0 red.global.add.u64 [%@d0+{}], %@d2;",
            at + 8,
            at + 16,
            at + 24
        );
        body
    }
}

/// The lanes whose guard holds, `r8`, in the second half of the head.
const TAKEN: &str = "mov.u32 %@r6, 0;
    ?%@p0 st.global.v4.u32 [%@d1+16], {%@r8, %@r6, %@r6, %@r6};\n";

/// `p1`: the lane that counts, if the guard holds for some lanes and not for others.
const SPLIT: &str = "setp.ne.and.u32 %@p1, %@r3, %@r2, %@p0;
    setp.ne.and.u32 %@p1, %@r3, 0, %@p1;\n";

/// `d2`: where the lane goes.
fn target(register: Base<'_>, equal: &[(usize, usize)]) -> String {
    let mut body = match register {
        Base::Narrow(name) => format!("cvt.u64.u32 %@d2, {name};\n"),
        Base::Wide(name) | Base::Variable(name) | Base::Number(name) => {
            format!("mov.b64 %@d2, {name};\n")
        }
    };
    for (from, to) in equal {
        let _ = writeln!(
            body,
            "setp.eq.u64 %@p2, %@d2, {from};
            ?%@p2 mov.u64 %@d2, {to};"
        );
    }
    body
}

/// `p1` is set, too, if not all lanes whose guard holds go to one place: that of the lowest.
fn goes_apart(register: Base<'_>, equal: &[(usize, usize)]) -> String {
    format!(
        "{}brev.b32 %@r8, %@r3;
        bfind.shiftamt.u32 %@r8, %@r8;
        setp.eq.u32 %@p2, %@r3, 0;
        selp.b32 %@r8, %@r5, %@r8, %@p2;
        mov.b32 %@r4, %@r2;
        mov.b64 {{%@r2, %@r5}}, %@d2;
        shfl.sync.idx.b32 %@r2, %@r2, %@r8, 31, %@r4;
        shfl.sync.idx.b32 %@r5, %@r5, %@r8, 31, %@r4;
        mov.b64 %@d3, {{%@r2, %@r5}};
        setp.ne.u64 %@p2, %@d2, %@d3;
        vote.sync.ballot.b32 %@r2, %@p2, %@r4;
        and.b32 %@r2, %@r2, %@r3;
        setp.ne.and.u32 %@p2, %@r2, 0, %@p0;
        or.pred %@p1, %@p1, %@p2;\n",
        target(register, equal)
    )
}

/// `d2`: the address of the access.
fn own_address(address: &AddressText<'_>) -> String {
    let offset = address.offset.map_or_else(
        || "0".to_owned(),
        |(is_negative, bytes)| format!("{}{bytes}", if is_negative { "-" } else { "" }),
    );
    match address.base {
        // Addresses in a register of 32 bits wrap there.
        Base::Narrow(name) => format!(
            "add.s32 %@r6, {name}, {offset};
            cvt.u64.u32 %@d2, %@r6;\n"
        ),
        Base::Wide(name) => format!("add.s64 %@d2, {name}, {offset};\n"),
        Base::Variable(name) | Base::Number(name) => format!(
            "mov.u64 %@d2, {name};
            add.s64 %@d2, %@d2, {offset};\n"
        ),
    }
}
