//! The text of hooks: what is added to a module, to each body, and before each access.
//!
//! Registers of a body, all with the prefix: `r0` is the block, `r1` the warp; the others are used
//! anew by each hook. `p0`: the lane that writes for the warp; `p1`: the lane writes its address.
//!
//! A record is `site, mask, block, warp` (32 bits each); of a generic access then the lanes that go
//! to shared memory, those that go to local memory, and two zeros; then an address of 64 bits for
//! each lane of the mask, lowest first; and 8 bytes more where that is no multiple of 16.

use std::fmt::Write as _;

use crate::body::{AddressText, Base};
use crate::ring::{GENERIC_HEAD, PLAIN_HEAD};

/// The variable of the module: see [`RingControl`](crate::RingControl).
pub fn variable(prefix: &str) -> String {
    format!("{prefix}_ring")
}

/// The declaration of the variable.
pub fn declaration(prefix: &str) -> String {
    let name = variable(prefix);
    format!("\n.visible .global .align 16 .b64 {name}[5];")
}

/// The registers of a body.
pub fn registers(prefix: &str) -> String {
    format!(
        "\n\t.reg .pred %{prefix}_p<4>;\n\t.reg .b32 %{prefix}_r<9>;\n\t.reg .b64 %{prefix}_d<4>;"
    )
}

/// The instructions before the first one of a body: which block and warp this is.
pub fn prologue(prefix: &str) -> String {
    let body = "\
        mov.u32 %@r0, %ctaid.z;
        mov.u32 %@r2, %nctaid.y;
        mov.u32 %@r3, %ctaid.y;
        mad.lo.u32 %@r0, %@r0, %@r2, %@r3;
        mov.u32 %@r2, %nctaid.x;
        mov.u32 %@r3, %ctaid.x;
        mad.lo.u32 %@r0, %@r0, %@r2, %@r3;
        mov.u32 %@r1, %tid.z;
        mov.u32 %@r2, %ntid.y;
        mov.u32 %@r3, %tid.y;
        mad.lo.u32 %@r1, %@r1, %@r2, %@r3;
        mov.u32 %@r2, %ntid.x;
        mov.u32 %@r3, %tid.x;
        mad.lo.u32 %@r1, %@r1, %@r2, %@r3;
        shr.u32 %@r1, %@r1, 5;
";
    named(body, prefix)
}

/// `@` stands for the prefix and a line underneath; lines begin with one tab.
fn named(body: &str, prefix: &str) -> String {
    let mut text = String::new();
    for line in body.lines() {
        let line = line.trim_start();
        // A guard of PTX is an `@` too: it is written `?` in these texts.
        let line = line.replace('@', &format!("{prefix}_")).replace('?', "@");
        let _ = writeln!(text, "\t{line}");
    }
    text
}

/// What a hook records.
#[derive(Clone, Copy, Debug)]
pub struct Hook<'a> {
    pub site: usize,
    /// Of the instruction that is recorded.
    pub guard: Option<(&'a str, bool)>,
    /// None for a basic block.
    pub address: Option<AddressText<'a>>,
    /// The space is known by the address only.
    pub is_generic: bool,
}

impl Hook<'_> {
    /// The instructions.
    pub fn text(&self, prefix: &str) -> String {
        let mut body = self.lanes();
        body.push_str(&self.reservation());
        if let Some(address) = &self.address {
            body.push_str(&self.addresses(address));
        }
        named(&body, prefix)
    }

    /// `r2`: the active lanes; `r3`: those of the record; `r4`: the lane; `r5`: the lowest active
    /// one, which is `p0`, if there is anything to record.
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
        if self.guard.is_some() {
            body.push_str("setp.ne.and.u32 %@p0, %@r3, 0, %@p0;\n");
        }
        body
    }

    fn head(&self) -> u64 {
        if self.is_generic {
            GENERIC_HEAD
        } else {
            PLAIN_HEAD
        }
    }

    /// `d1`: the address of the record; `p1`: there is room; `p0`: there is, and this is the lane
    /// that writes the head.
    fn reservation(&self) -> String {
        let head = self.head();
        let bytes = if self.address.is_some() {
            format!(
                "popc.b32 %@r6, %@r3;
                mad.lo.u32 %@r6, %@r6, 8, 15;
                and.b32 %@r6, %@r6, 4294967280;
                add.u32 %@r6, %@r6, {head};\n"
            )
        } else {
            format!("mov.u32 %@r6, {head};\n")
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
        let mut body = self.own_address(address);
        if self.is_generic {
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
        let head = self.head();
        let _ = writeln!(
            body,
            "mov.u32 %@r6, %lanemask_lt;
            and.b32 %@r6, %@r6, %@r3;
            popc.b32 %@r6, %@r6;
            mul.wide.u32 %@d3, %@r6, 8;
            add.u64 %@d1, %@d1, %@d3;
            ?%@p1 st.global.u64 [%@d1+{head}], %@d2;"
        );
        body
    }

    /// `d2`: the address of the access.
    fn own_address(&self, address: &AddressText<'_>) -> String {
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
}
