//! [`ArithmeticSink`]: writes arithmetic operations with their operands as text, one line for each
//! warp that executes one.
//!
//! ```text
//! # reuselens arithmetic 1
//! # launch  block  warp  lanes  instruction  operands, each as many values as there are lanes
//! # launch  1  scale  grid  4,1,1  block  64,1,1
//! # instruction  0  k.cu:12:9  mul.f32 %f2, %f1, 0f40000000;  f32  f32
//! 1  0  0  0xffffffff  0  1,2,3,…  2,2,2,…
//! ```
//!
//! Fields have tabs between them. Floats are the shortest decimal numbers that round to them; pairs
//! of halves are hexadecimal. Source: Shen 2021 records operator and operands of each arithmetic
//! operation.

use std::io::{self, Write};
use std::sync::Arc;

use half::{bf16, f16};

use crate::decode::{Kernel, KernelPlace};
use crate::machine::LaunchConfig;
use crate::names;
use crate::sink::{BlockSink, Calculation, LaunchSink, WarpAccess};
use crate::syntax::types::Type;

/// Writes the arithmetic operations of kernels that were decoded with
/// [`Options::arithmetic`](crate::Options::arithmetic). The file is the same for any number of
/// threads.
///
/// Memory: the lines of the blocks that run at the same time, as long as blocks before them have
/// not ended. A line has about 10 bytes for each lane and operand.
#[derive(Debug)]
pub struct ArithmeticSink<W> {
    out: Option<W>,
    error: Option<io::Error>,
    launches: u32,
    /// The types of each instruction's operands, of the present kernel.
    types: Arc<[&'static [Type]]>,
    /// Lines so far.
    lines: u64,
}

impl<W: Write + Send> ArithmeticSink<W> {
    /// Writes to `out`; with none, nothing is taken.
    ///
    /// # Errors
    /// If the head cannot be written.
    pub fn new(mut out: Option<W>) -> io::Result<ArithmeticSink<W>> {
        if let Some(out) = &mut out {
            out.write_all(HEAD.as_bytes())?;
        }
        Ok(ArithmeticSink {
            out,
            error: None,
            launches: 0,
            types: Arc::default(),
            lines: 0,
        })
    }

    /// A kernel is launched; to be called before each launch.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn launch(&mut self, kernel: &Kernel, launch: &LaunchConfig) -> io::Result<()> {
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        let Some(out) = &mut self.out else {
            return Ok(());
        };
        self.launches += 1;
        let calculations = kernel.calculations();
        self.types = calculations.iter().map(|it| it.types).collect();
        let [grid, block] = [launch.grid, launch.block].map(|[x, y, z]| format!("{x},{y},{z}"));
        let name = names::readable(kernel.name());
        let number = self.launches;
        writeln!(
            out,
            "# launch\t{number}\t{name}\tgrid\t{grid}\tblock\t{block}"
        )?;
        for (number, it) in calculations.iter().enumerate() {
            let (place, text) = (place_text(&it.place), &it.text);
            write!(out, "# instruction\t{number}\t{place}\t{text}")?;
            for ty in it.types {
                write!(out, "\t{}", ty.name())?;
            }
            writeln!(out)?;
        }
        Ok(())
    }

    /// As [`launch`](Self::launch), for who goes on after an error: nothing is written then, and
    /// [`finish`](Self::finish) has the error.
    pub fn launch_or_stop(&mut self, kernel: &Kernel, launch: &LaunchConfig) {
        if self.error.is_none() {
            self.error = self.launch(kernel, launch).err();
        }
    }

    /// Gives back what was written to, and the number of lines of calculations.
    ///
    /// # Errors
    /// The first one while a kernel ran, and of the last bytes.
    pub fn finish(mut self) -> io::Result<(Option<W>, u64)> {
        if let Some(error) = self.error {
            return Err(error);
        }
        if let Some(out) = &mut self.out {
            out.flush()?;
        }
        Ok((self.out, self.lines))
    }

    fn write(&mut self, block: &mut ArithmeticBlock) {
        if let (Some(out), None) = (&mut self.out, &self.error) {
            self.error = out.write_all(&block.text).err();
            self.lines += block.lines;
        }
        block.text.clear();
        block.lines = 0;
    }
}

/// The first lines of a file.
const HEAD: &str =
    "# reuselens arithmetic 1\n# launch\tblock\twarp\tlanes\tinstruction\toperands\n";

/// Where an instruction is in the source, or else in the PTX.
fn place_text(place: &KernelPlace) -> String {
    match (place.line(), place.column()) {
        (line, _) if line.is_empty() => format!("PTX line {}", place.position.line),
        (line, 0) => line.to_string(),
        (line, column) => format!("{line}:{column}"),
    }
}

/// The lines of a block that have not been written.
#[derive(Debug, Default)]
pub struct ArithmeticBlock {
    launch: u32,
    types: Arc<[&'static [Type]]>,
    text: Vec<u8>,
    lines: u64,
}

impl BlockSink for ArithmeticBlock {
    #[inline(always)]
    fn accept(&mut self, _: &WarpAccess<'_>) {}

    fn calculate(&mut self, calculation: &Calculation<'_>) {
        let types = self.types[calculation.instruction as usize];
        let Calculation {
            block, warp, mask, ..
        } = calculation;
        let out = &mut self.text;
        // Writing into memory does not fail.
        let _ = write!(
            out,
            "{}\t{block}\t{warp}\t{mask:#x}\t{}",
            self.launch, calculation.instruction
        );
        for (values, &ty) in calculation.operands.iter().zip(types) {
            let mut before = '\t';
            for lane in (0..32).filter(|lane| mask >> lane & 1 != 0) {
                let _ = write!(out, "{before}");
                write_value(out, ty, values.bits(lane));
                before = ',';
            }
        }
        out.push(b'\n');
        self.lines += 1;
    }

    fn finish(&mut self) {}
}

/// Writes the value that these bits are.
fn write_value(out: &mut Vec<u8>, ty: Type, bits: u64) {
    use Type::*;
    let _ = match ty {
        F32 => write_float(out, format_args!("{:?}", f32::from_bits(bits as u32))),
        F64 => write_float(out, format_args!("{:?}", f64::from_bits(bits))),
        F16 => write_float(
            out,
            format_args!("{:?}", f16::from_bits(bits as u16).to_f32()),
        ),
        Bf16 => write_float(
            out,
            format_args!("{:?}", bf16::from_bits(bits as u16).to_f32()),
        ),
        S8 => write!(out, "{}", bits as i8),
        S16 => write!(out, "{}", bits as i16),
        S32 => write!(out, "{}", bits as i32),
        S64 => write!(out, "{}", bits as i64),
        U8 | B8 | Pred => write!(out, "{}", bits as u8),
        U16 | B16 => write!(out, "{}", bits as u16),
        U32 | B32 => write!(out, "{}", bits as u32),
        U64 | B64 => write!(out, "{bits}"),
        F16x2 | Bf16x2 => write!(out, "{:#x}", bits as u32),
    };
}

/// Writes a float as `{:?}` has it, with an exponent where it is very large or small, and without
/// the `.0` of whole numbers.
fn write_float(out: &mut Vec<u8>, float: std::fmt::Arguments<'_>) -> io::Result<()> {
    write!(out, "{float}")?;
    if out.ends_with(b".0") {
        out.truncate(out.len() - 2);
    }
    Ok(())
}

impl<W: Write + Send> LaunchSink for ArithmeticSink<W> {
    type Block = ArithmeticBlock;

    fn open(&mut self, _: u32) -> ArithmeticBlock {
        ArithmeticBlock {
            launch: self.launches,
            types: Arc::clone(&self.types),
            ..ArithmeticBlock::default()
        }
    }

    fn drain(&mut self, _: u32, block: &mut ArithmeticBlock) {
        self.write(block);
    }

    fn close(&mut self, _: u32, mut block: ArithmeticBlock) {
        self.write(&mut block);
    }
}
