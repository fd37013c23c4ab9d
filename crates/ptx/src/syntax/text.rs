//! Instructions as text, in the form of PTX: `@%p1 ld.global.v2.f32 {%f1, %f2}, [%rd4+8];`. Names
//! are those of the file, numbers are written anew.

use std::fmt;

use super::ast::{Instruction, Operand};

impl fmt::Display for Instruction {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((name, is_negated)) = &self.guard {
            let sign = if *is_negated { "!" } else { "" };
            write!(out, "@{sign}{name} ")?;
        }
        out.write_str(&self.opcode)?;
        let before = if self.operands.is_empty() { "" } else { " " };
        write!(out, "{before}{};", Listed(&self.operands))
    }
}

impl fmt::Display for Operand {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Operand::Name(name, offset) => write!(out, "{name}{}", Offset(*offset)),
            // Two's complement: what PTX calls -1 has all bits.
            Operand::Integer(bits) => write!(out, "{}", *bits as i64),
            Operand::Single(bits) => write!(out, "0f{bits:08X}"),
            Operand::Double(bits) => write!(out, "0d{bits:016X}"),
            Operand::Vector(parts) => write!(out, "{{{}}}", Listed(parts)),
            Operand::Address(base, offset) => write!(out, "[{base}{}]", Offset(*offset)),
            Operand::Texture(object, place) => {
                write!(out, "[{object}, {{{}}}]", Listed(place))
            }
            Operand::List(parts) => write!(out, "({})", Listed(parts)),
            Operand::Pair(first, second) => write!(out, "{first}|{second}"),
            Operand::Not(operand) => write!(out, "!{operand}"),
        }
    }
}

/// Operands with commas between them.
struct Listed<'o>(&'o [Operand]);

impl fmt::Display for Listed<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, operand) in self.0.iter().enumerate() {
            let before = if index == 0 { "" } else { ", " };
            write!(out, "{before}{operand}")?;
        }
        Ok(())
    }
}

/// An offset in bytes; nothing if it is 0.
struct Offset(i64);

impl fmt::Display for Offset {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => Ok(()),
            offset => write!(out, "{offset:+}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::syntax::ast::Statement;
    use crate::syntax::parse;

    /// What is written is what was read.
    #[test]
    fn instructions_are_written_as_ptx_has_them() {
        let texts = [
            "@%p1 add.u32 %r1, %r2, 4;",
            "@!%p1 bra $L_1;",
            "ld.global.v2.f32 {%f1, %f2}, [%rd1+8];",
            "st.shared.u32 [%rd1+-4], -1;",
            "st.shared.u32 [tile+16], %r1;",
            "fma.rn.f32 %f1, %f2, 0f3F800000, %f1;",
            "fma.rn.f64 %fd1, %fd2, 0d3FF0000000000000, %fd1;",
            "tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd1, {%f5, %f6}];",
            "shfl.sync.down.b32 %r1|%p1, %r2, 16, 31, -1;",
            "call.uni (%r1), helper, (%r2, %r3);",
            "setp.lt.and.u32 %p1, %r1, %r2, !%p2;",
            "ret;",
        ];
        let body = texts.join("\n").replace("[%rd1+-4]", "[%rd1-4]");
        let ptx = format!(
            ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() {{\n{body}\n}}\n"
        );
        let ast = parse(&ptx).unwrap();
        let body = ast.functions[0].body.as_deref().unwrap();
        let written = body.iter().filter_map(|statement| match statement {
            Statement::Instruction(instruction) => Some(instruction.to_string()),
            _ => None,
        });
        let expected = texts.map(|text| text.replace("+-4", "-4"));
        assert_eq!(written.collect::<Vec<_>>(), expected);
    }
}
