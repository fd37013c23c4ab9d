//! Template blocks in native files: readers get the rows that they stand for; damage is an error.

use std::path::Path;

use reuselens_rltrace::{Header, MAX_TEMPLATE_BLOCK_OPERANDS, MAX_TEMPLATE_BLOCK_ROWS, Writer};
use reuselens_testing::traces::{Piece, Random, drain, open};
use reuselens_trace::{
    Block, Event, Kind, MAX_TEMPLATE_OPERANDS, MAX_TEMPLATE_ROWS, Row, TemplateBlock, TemplateRow,
    Templates, ThreadId,
};

const KINDS: [Kind; 7] = [
    Kind::Load,
    Kind::Store,
    Kind::Atomic,
    Kind::RangeLoad,
    Kind::Enter,
    Kind::Exit,
    Kind::Operand,
];

/// Templates of all sizes; some have the same program counters, some have operands that no row has.
fn templates(random: &mut Random, count: usize) -> Templates {
    let mut templates = Templates::new();
    for _ in 0..count {
        let most = [4, 20, MAX_TEMPLATE_ROWS][random.below(3)];
        let rows = 1 + random.below(most);
        let most = [1, 4, MAX_TEMPLATE_OPERANDS][random.below(3)];
        let operands = random.below(1 + most);
        let row = |random: &mut Random| TemplateRow {
            kind: KINDS[random.below(KINDS.len())],
            size: random.below(256) as u8,
            pc: 0x40_0000 + random.below(300) as u64,
            operand: (operands > 0 && random.below(8) > 0).then(|| random.below(operands) as u8),
            displacement: random.next() >> random.below(64),
        };
        let rows: Vec<TemplateRow> = (0..rows).map(|_| row(random)).collect();
        assert!(templates.add(&rows).is_some());
    }
    templates
}

/// A block in which templates repeat, at addresses that often go on as before.
fn executions(random: &mut Random, templates: &Templates, executions: usize) -> TemplateBlock {
    let mut block = TemplateBlock::new();
    block.thread = ThreadId(random.below(3) as u32);
    block.first_stamp = random.next() >> 40;
    block.last_stamp = block.first_stamp + random.below(100) as u64;
    let (mut base, mut template) = (random.next(), 0);
    for execution in 0..executions {
        if random.below(4) == 0 {
            template = random.below(templates.len()) as u32;
        }
        if random.below(9) == 0 {
            base = random.next() >> random.below(64);
        }
        let operands = templates.operands(template) as u64;
        let operands: Vec<u64> = (0..operands)
            .map(|operand| base.wrapping_add(operand << 20) + 8 * execution as u64)
            .collect();
        block.push(template, templates.rows(template).len(), &operands);
    }
    block
}

/// A block in which each template mostly follows the same one: the writer joins them.
fn looping(random: &mut Random, templates: &Templates, executions: usize) -> TemplateBlock {
    let mut block = TemplateBlock::new();
    let mut template = 0;
    for execution in 0..executions {
        template = match random.below(12) {
            0 => random.below(templates.len()) as u32,
            1 => (template + 3) % templates.len() as u32,
            _ => (template + 1) % templates.len() as u32,
        };
        let operands: Vec<u64> = (0..templates.operands(template) as u64)
            .map(|operand| (operand << 20) + 8 * (execution as u64 % 999) + random.below(3) as u64)
            .collect();
        block.push(template, templates.rows(template).len(), &operands);
    }
    block
}

#[test]
fn joined_templates_give_the_same_rows() {
    let mut random = Random(9);
    for (count, rows) in [(1, 1), (2, 9), (7, 3), (9, 4)] {
        let mut templates = Templates::new();
        for _ in 0..count {
            let row = |row: usize| TemplateRow {
                kind: KINDS[random.below(3)],
                size: 8,
                pc: random.below(300) as u64,
                operand: Some(row as u8 / 2),
                displacement: random.next(),
            };
            let rows: Vec<TemplateRow> = (0..rows).map(row).collect();
            templates.add(&rows).unwrap();
        }
        let (mut writer, mut pieces) = (writer(), Vec::new());
        for _ in 0..30 {
            let block = looping(&mut random, &templates, 800);
            writer.template_block(&block, &templates).unwrap();
            pieces.push(Piece::Block(expanded(&block, &templates)));
        }
        let bytes = writer.finish().unwrap();
        let (read, error) = drain(&mut open(&bytes, None).unwrap());
        assert!(error.is_none(), "{error:?}");
        assert!(read == pieces, "{count} templates");
    }
}

fn expanded(block: &TemplateBlock, templates: &Templates) -> Block {
    let mut rows = Block::new();
    block.expand(templates, &mut rows);
    rows
}

fn writer() -> Writer<Vec<u8>> {
    let header = Header {
        has_addresses: true,
        description: String::new(),
    };
    Writer::new(Vec::new(), Path::new("trace"), &header).unwrap()
}

/// A file of blocks of templates and of rows, by turns and in several chunks, and its pieces.
fn file(random: &mut Random) -> (Vec<u8>, Vec<Piece>) {
    let count = 1 + random.below(300);
    let templates = templates(random, count);
    let (mut writer, mut pieces) = (writer(), Vec::new());
    for _ in 0..random.below(20) {
        let count = random.below(400);
        let block = executions(random, &templates, count);
        let rows = expanded(&block, &templates);
        assert_eq!(rows.len(), block.rows());
        if random.below(3) == 0 {
            writer.block(&rows).unwrap();
        } else {
            writer.template_block(&block, &templates).unwrap();
        }
        pieces.push(Piece::Block(rows));
        if random.below(5) == 0 {
            writer.flush().unwrap();
        }
    }
    (writer.finish().unwrap(), pieces)
}

#[test]
fn template_blocks_give_their_rows() {
    let mut random = Random(1);
    for _ in 0..200 {
        let (bytes, pieces) = file(&mut random);
        let (read, error) = drain(&mut open(&bytes, None).unwrap());
        assert!(error.is_none(), "{error:?}");
        assert_eq!(read, pieces);
    }
}

#[test]
fn index_matches_the_rows_of_template_blocks() {
    let mut random = Random(2);
    for _ in 0..50 {
        let (bytes, pieces) = file(&mut random);
        reuselens_testing::traces::index_says(&bytes, &pieces);
    }
}

#[test]
fn large_template_blocks_give_their_rows() {
    let mut random = Random(3);
    let templates = templates(&mut random, 40);
    let (mut writer, mut pieces) = (writer(), Vec::new());
    for _ in 0..30 {
        let block = executions(&mut random, &templates, 2000);
        writer.template_block(&block, &templates).unwrap();
        pieces.push(Piece::Block(expanded(&block, &templates)));
    }
    let (read, error) = drain(&mut open(&writer.finish().unwrap(), None).unwrap());
    assert!(error.is_none() && read == pieces);
}

/// `count` templates of one row, each with a program counter of its own, and blocks of 4096
/// executions that execute each once.
fn templates_of_one_row(count: usize, operands: usize) -> (Templates, Vec<TemplateBlock>) {
    let mut templates = Templates::new();
    let mut blocks = vec![TemplateBlock::new()];
    for pc in 0..count as u64 {
        let row = TemplateRow {
            kind: Kind::Load,
            size: 8,
            pc,
            operand: Some(operands as u8 - 1),
            displacement: 0,
        };
        let number = templates.add(&[row]).unwrap();
        if blocks.last().is_none_or(|block| block.rows() == 4096) {
            blocks.push(TemplateBlock::new());
        }
        let block = blocks.last_mut().unwrap();
        block.push(number, 1, &vec![8 * pc; operands]);
    }
    (templates, blocks)
}

#[test]
fn many_templates_are_written_as_several_chunks() {
    for (count, operands) in [(300_000, 1), (20_000, MAX_TEMPLATE_OPERANDS)] {
        let (templates, blocks) = templates_of_one_row(count, operands);
        let (mut writer, mut pieces) = (writer(), Vec::new());
        for block in &blocks {
            writer.template_block(block, &templates).unwrap();
            pieces.push(Piece::Block(expanded(block, &templates)));
        }
        assert!(writer.bytes_written() > 1000, "chunks were written");
        let (read, error) = drain(&mut open(&writer.finish().unwrap(), None).unwrap());
        assert!(error.is_none(), "{error:?}");
        assert!(read == pieces);
    }
}

/// Refuses everything after that many bytes.
struct Full(usize);

impl std::io::Write for Full {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let left = self.0.checked_sub(bytes.len());
        self.0 = left.ok_or_else(|| std::io::Error::other("no more room"))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn background_compression_writes_the_same_bytes() {
    let mut random = Random(6);
    let templates = templates(&mut random, 40);
    let (mut alone, mut two) = (writer(), writer());
    two.compress_in_background().unwrap();
    let header = Header {
        has_addresses: true,
        description: String::new(),
    };
    let mut refused = Writer::new(Full(100_000), Path::new("trace"), &header).unwrap();
    refused.compress_in_background().unwrap();
    let mut error = None;
    for number in 0..70 {
        let block = executions(&mut random, &templates, 2000);
        alone.template_block(&block, &templates).unwrap();
        two.template_block(&block, &templates).unwrap();
        // The index says which chunk each is in.
        alone.event(&Event::ThreadEnded(ThreadId(number))).unwrap();
        two.event(&Event::ThreadEnded(ThreadId(number))).unwrap();
        let again = refused.template_block(&block, &templates);
        error = error.or(again.err().map(|error| error.to_string()));
        if number % 30 == 7 {
            alone.flush().unwrap();
            two.flush().unwrap();
            assert_eq!(alone.bytes_written(), two.bytes_written());
        }
    }
    assert!(error.is_some_and(|error| error.contains("no more room")));
    assert!(refused.finish().is_err());
    assert!(alone.finish().unwrap() == two.finish().unwrap());
}

#[test]
fn loop_takes_few_bytes() {
    let mut templates = Templates::new();
    let row = |lane: u64| TemplateRow {
        kind: Kind::Load,
        size: 8,
        pc: 0x40,
        operand: Some((lane % 2) as u8),
        displacement: 8 * lane,
    };
    let number = templates.add(&[0, 1, 2, 3, 4, 5, 6, 7].map(row)).unwrap();
    let mut writer = writer();
    for turns in 0..100_u64 {
        let mut block = TemplateBlock::new();
        for turn in 0..1000 {
            let at = 0x7000_0000 + 64 * (turns * 1000 + turn);
            block.push(number, 8, &[at, at + (1 << 30)]);
        }
        writer.template_block(&block, &templates).unwrap();
    }
    let bytes = writer.finish().unwrap().len();
    assert!(bytes < 4000, "{bytes} bytes of 800,000 rows");
}

#[test]
fn writer_refuses_blocks_that_do_not_fit_their_templates() {
    let mut templates = Templates::new();
    let row = TemplateRow {
        kind: Kind::Load,
        size: 8,
        pc: 1,
        operand: Some(0),
        displacement: 0,
    };
    let number = templates.add(&[row]).unwrap();
    let block = |pushed: &[(u32, &[u64])]| {
        let mut block = TemplateBlock::new();
        for (template, operands) in pushed {
            block.push(*template, 1, operands);
        }
        block
    };
    let wrong = [
        block(&[(number, &[])]),
        block(&[(number, &[1, 2])]),
        block(&[(number + 1, &[1])]),
    ];
    for wrong in wrong {
        let mut writer = writer();
        writer
            .template_block(&block(&[(number, &[5])]), &templates)
            .unwrap();
        writer.flush().unwrap();
        let error = writer
            .template_block(&wrong, &templates)
            .unwrap_err()
            .to_string();
        assert!(error.contains("other words"), "{error}");
        assert!(writer.flush().is_err());
    }
    let mut large = TemplateBlock::new();
    for operand in 0..=MAX_TEMPLATE_BLOCK_ROWS as u64 {
        large.push(number, 1, &[operand]);
    }
    assert!(writer().template_block(&large, &templates).is_err());
    let wide = TemplateRow {
        operand: Some(MAX_TEMPLATE_OPERANDS as u8 - 1),
        ..row
    };
    let wide = templates.add(&[wide]).unwrap();
    let mut large = TemplateBlock::new();
    for _ in 0..MAX_TEMPLATE_BLOCK_OPERANDS / MAX_TEMPLATE_OPERANDS {
        large.push(wide, 1, &[5; MAX_TEMPLATE_OPERANDS]);
    }
    writer().template_block(&large, &templates).unwrap();
    large.push(number, 1, &[5]);
    assert!(writer().template_block(&large, &templates).is_err());
}

#[test]
fn changed_byte_is_an_error_and_never_other_rows() {
    let mut random = Random(4);
    let (bytes, pieces) = file(&mut random);
    let all: Vec<Row> = reuselens_testing::traces::rows(&pieces);
    for round in 0..1000 {
        let mut bytes = bytes.clone();
        // The last are few, and are checked in another way.
        let most = if round % 4 == 0 { 24 } else { bytes.len() };
        let at = bytes.len() - 1 - random.below(most);
        bytes[at] ^= 1 << random.below(8);
        let Ok(mut source) = open(&bytes, Some("native")) else {
            continue;
        };
        let (read, error) = drain(&mut source);
        let read = reuselens_testing::traces::rows(&read);
        // An index that is damaged is a remark: no row is missing.
        let is_complete = error.is_none() && read == all;
        assert!(
            is_complete || error.is_some(),
            "byte {at} of {}",
            bytes.len()
        );
        assert!(all.starts_with(&read));
    }
}
