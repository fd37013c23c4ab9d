//! Native files of all sorts of rows, as rows, loops and templates, right and wrong.

use std::path::Path;

use reuselens_attribute::{Attributor, NoSymbols};
use reuselens_rltrace::{Header, Reader, Writer};
use reuselens_trace::{
    Block, Event, Kind, Process, ProcessEnd, ProcessId, Row, Source, Step, TemplateBlock,
    TemplateRow, Templates, ThreadId,
};

/// Has all that a reader delivers taken, each block as told; the error in words.
pub fn take_all(
    mut reader: Reader,
    attributor: &mut Attributor,
    mut take: impl FnMut(&mut Attributor, &mut Block),
) -> Option<String> {
    let mut block = Block::new();
    loop {
        match reader.next(&mut block) {
            Ok(Step::Block) => take(attributor, &mut block),
            Ok(Step::Event(event)) => attributor.event(&event, &mut NoSymbols),
            Ok(Step::End) => return None,
            Err(damage) => return Some(damage.to_string()),
        }
    }
}

pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let mixed = (self.0 ^ (self.0 >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed ^ (mixed >> 32)
    }

    pub fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    pub fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }
}

fn row(kind: Kind, size: u8, addr: u64) -> Row {
    let pc = 0x1000 + kind as u64 * 64 + u64::from(size);
    Row {
        kind,
        size,
        pc,
        addr,
    }
}

/// How likely rows of different sorts are.
#[derive(Clone, Copy)]
pub struct Mix {
    plain: usize,
    ranges: usize,
    named: usize,
    others: usize,
    /// Of a hundred operands, how many are missing.
    missing: usize,
}

/// Of ranges.
const LENGTHS: [u64; 12] = [8, 8, 16, 1, 0, 64, 65, 200, 300, 5000, 1 << 41, u64::MAX];

fn address(random: &mut Random) -> u64 {
    match random.below(40) {
        0 => random.next(),
        1 => u64::MAX - random.below(70) as u64,
        2 => (1 << 48) - 1 - random.below(70) as u64,
        3..12 => 0x7000 + random.below(4000) as u64,
        _ => 0x7000 + 8 * random.below(4000) as u64,
    }
}

fn operand(random: &mut Random, mix: Mix, rows: &mut Vec<Row>, number: u64) {
    if random.below(100) >= mix.missing {
        rows.push(row(Kind::Operand, 0, number));
    }
}

/// The rows of one access, or of something else.
fn some(random: &mut Random, mix: Mix) -> Vec<Row> {
    let mut rows = Vec::new();
    let addr = address(random);
    let mut at = random.below(mix.plain + mix.ranges + mix.named + mix.others);
    if at < mix.plain {
        let kind = random.one(&[Kind::Load, Kind::Load, Kind::Store, Kind::Atomic]);
        return vec![row(kind, random.one(&[8, 8, 8, 4, 1, 0, 64, 255]), addr)];
    }
    at -= mix.plain;
    if at < mix.ranges {
        let kind = random.one(&[Kind::RangeLoad, Kind::RangeStore]);
        rows.push(row(kind, 0, addr));
        let length = random.one(&LENGTHS);
        operand(random, mix, &mut rows, length);
        return rows;
    }
    at -= mix.ranges;
    if at < mix.named {
        rows.push(row(Kind::Named, 0, addr));
        let base = 0x7000 + 0x1000 * random.below(5) as u64;
        operand(random, mix, &mut rows, base);
        return rows;
    }
    other(random, mix, addr)
}

/// Rows that are no accesses.
fn other(random: &mut Random, mix: Mix, addr: u64) -> Vec<Row> {
    let mut rows = Vec::new();
    match random.below(9) {
        0 => rows.push(row(Kind::Statement, 0, 0)),
        1 => {
            rows.push(row(Kind::Enter, random.below(2) as u8, addr));
            operand(random, mix, &mut rows, 5);
        }
        2 => rows.push(row(Kind::Exit, 0, addr)),
        3 => rows.push(row(Kind::BasicBlock, 9, addr)),
        4 => {
            rows.push(row(random.one(&[Kind::Alloc, Kind::Free]), 0, addr));
            operand(random, mix, &mut rows, 64);
        }
        5 => {
            let base = 0x7000 + 0x1000 * random.below(5) as u64;
            rows.push(row(Kind::PartialData, 0, addr));
            operand(random, mix, &mut rows, base);
        }
        6 => {
            let base = 0x7000 + 0x1000 * random.below(5) as u64 + random.one(&[0, 0, 0, 4]);
            rows.push(row(Kind::Data, 0, base));
            let element = match random.below(4) {
                0 => random.one(&[24, 128, 0, 7]),
                _ => random.one(&[8, 8, 16, 64]),
            };
            for number in [0x900, element, 2, 0x6161] {
                operand(random, mix, &mut rows, number);
            }
        }
        7 => rows.push(row(Kind::Operand, 0, addr)),
        _ => {}
    }
    rows
}

/// A block; parts of it are loops, whose accesses go on in steps.
fn block(random: &mut Random, mix: Mix) -> Vec<Row> {
    let mut rows = Vec::new();
    for _ in 0..1 + random.below(12) {
        if random.below(3) > 0 {
            for _ in 0..random.below(40) {
                rows.extend(some(random, mix));
            }
            continue;
        }
        let body: Vec<Row> = (0..1 + random.below(5))
            .flat_map(|_| some(random, mix))
            .collect();
        let steps: Vec<u64> = body
            .iter()
            .map(|row| match row.kind {
                Kind::Operand => random.one(&[0, 0, 0, 8]),
                _ => random.one(&[0, 8, 64, 1, 24_u64.wrapping_neg()]),
            })
            .collect();
        for lap in 0..random.below(300) as u64 {
            let again = body.iter().zip(&steps);
            rows.extend(again.map(|(row, step)| Row {
                addr: row.addr.wrapping_add(lap.wrapping_mul(*step)),
                ..*row
            }));
        }
    }
    rows
}

/// Much of the same code, run at places that nothing foretells: the writer makes templates of such
/// rows.
fn scattered(random: &mut Random, mix: Mix) -> Vec<Row> {
    let mut code = || -> Vec<Row> {
        let rows = (0..1 + random.below(9)).flat_map(|_| some(random, mix));
        rows.collect()
    };
    let codes = [code(), code(), code()];
    let mut rows = Vec::new();
    for _ in 0..200 {
        let further = 8 * random.below(1000) as u64;
        let mut before = Kind::Load;
        let code = codes[random.below(3)].iter().enumerate();
        rows.extend(code.map(|(at, row)| {
            let is_length = matches!(before, Kind::RangeLoad | Kind::RangeStore);
            before = row.kind;
            let addr = match row.kind {
                Kind::Operand if is_length && at % 2 == 0 => random.one(&LENGTHS),
                Kind::Operand => row.addr,
                _ => row.addr.wrapping_add(further),
            };
            let pc = row.pc + 300 * at as u64;
            Row { addr, pc, ..*row }
        }));
    }
    rows
}

/// The same rows as templates of a few rows each, cut anywhere: an operand can come first.
fn shaped(random: &mut Random, rows: &[Row], templates: &mut Templates) -> TemplateBlock {
    let mut block = TemplateBlock::new();
    let mut from = 0;
    while from < rows.len() {
        let part = &rows[from..rows.len().min(from + 1 + random.below(30))];
        from += part.len();
        let mut operands = vec![part[0].addr];
        let apart = random.one(&[0, 30, 100]);
        let template: Vec<TemplateRow> = part
            .iter()
            .map(|row| {
                let (word, displacement) = if random.below(100) < apart {
                    operands.push(row.addr);
                    (Some(operands.len() as u8 - 1), 0)
                } else if row.kind == Kind::Operand {
                    (None, row.addr)
                } else {
                    (Some(0), row.addr.wrapping_sub(operands[0]))
                };
                TemplateRow {
                    kind: row.kind,
                    size: row.size,
                    pc: row.pc,
                    operand: word,
                    displacement,
                }
            })
            .collect();
        let used = template.iter().filter_map(|row| row.operand).max();
        operands.truncate(used.map_or(0, |operand| usize::from(operand) + 1));
        let number = templates.add(&template).unwrap();
        block.push(number, part.len(), &operands);
    }
    block
}

pub fn file(seed: u64, mix: Mix) -> Vec<u8> {
    let random = &mut Random(seed);
    let header = Header {
        has_addresses: true,
        description: String::new(),
    };
    let mut writer = Writer::new(Vec::new(), Path::new("t"), &header).unwrap();
    for id in 0..2 {
        let process = Process {
            id: ProcessId(id),
            instrumented: random.below(3) == 0,
            ..Process::default()
        };
        writer.event(&Event::Process(process)).unwrap();
    }
    let mut templates = Templates::new();
    for number in 0..2 + random.below(30) {
        let rows = match random.below(3) {
            0 => scattered(random, mix),
            _ => block(random, mix),
        };
        let (process, thread) = match random.below(4) {
            0 => (1, random.one(&[7, 7, 7, 0])),
            other => (0, other as u32 / 3),
        };
        if random.below(3) == 0 && !rows.is_empty() {
            let mut block = shaped(random, &rows, &mut templates);
            (block.process, block.thread) = (ProcessId(process), ThreadId(thread));
            writer.template_block(&block, &templates).unwrap();
        } else {
            let mut block = Block::new();
            (block.process, block.thread) = (ProcessId(process), ThreadId(thread));
            block.extend(rows.iter().copied());
            writer.block(&block).unwrap();
        }
        if random.below(4) == 0 {
            writer.flush().unwrap();
        }
        let event = match random.below(18) {
            0 | 1 => Event::ThreadEnded(ThreadId(number as u32)),
            2 => Event::ProcessEnded(ProcessId(1), ProcessEnd::Unknown),
            _ => continue,
        };
        writer.event(&event).unwrap();
    }
    writer.finish().unwrap()
}

pub const MIXES: [Mix; 5] = [
    mix(20, 0, 0, 1, 0),
    mix(10, 5, 0, 3, 0),
    mix(0, 0, 20, 3, 0),
    mix(10, 4, 10, 4, 3),
    mix(5, 5, 5, 20, 20),
];

const fn mix(plain: usize, ranges: usize, named: usize, others: usize, missing: usize) -> Mix {
    Mix {
        plain,
        ranges,
        named,
        others,
        missing,
    }
}

/// Few templates, most of them behind the same each time: so often that the writer makes one of
/// several. Some begin with what is the operand of a row before them.
pub fn repeated(seed: u64) -> Vec<u8> {
    let random = &mut Random(seed);
    let (mut templates, mut rows) = (Templates::new(), Vec::new());
    let kinds = [
        Kind::Load,
        Kind::Load,
        Kind::Store,
        Kind::Enter,
        Kind::Operand,
        Kind::Exit,
    ];
    for _ in 0..6 {
        let row = |number: usize, random: &mut Random| TemplateRow {
            operand: (random.below(4) > 0).then_some(number as u8 / 2),
            displacement: 8 * random.below(20) as u64,
            kind: random.one(&kinds),
            size: random.one(&[8, 8, 4, 64]),
            pc: random.below(1000) as u64,
        };
        let template: Vec<TemplateRow> = (0..1 + random.below(5))
            .map(|word| row(word, random))
            .collect();
        rows.push(template.len());
        templates.add(&template).unwrap();
    }
    let header = Header {
        has_addresses: true,
        description: String::new(),
    };
    let mut writer = Writer::new(Vec::new(), Path::new("t"), &header).unwrap();
    for _ in 0..20 {
        let (mut block, mut template) = (TemplateBlock::new(), random.below(6));
        for _ in 0..600 {
            let operands = templates.operands(template as u32);
            let operands: Vec<u64> = (0..operands).map(|_| address(random)).collect();
            block.push(template as u32, rows[template], &operands);
            template = match random.below(20) {
                0 => random.below(6),
                _ => (template + 1) % 6,
            };
        }
        writer.template_block(&block, &templates).unwrap();
    }
    writer.finish().unwrap()
}
