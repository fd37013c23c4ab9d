//! What forged template blocks cost.

use super::*;
use crate::templates::FULL_TEMPLATES;
use reuselens_io::varint::Portable;
use reuselens_trace::{Block, Kind};
use reuselens_units::Granularity;

/// Bytes of memory that a decoder holds.
fn held(decoder: &TemplateDecoder) -> usize {
    decoder.templates.capacity() * size_of::<KnownTemplate>()
        + decoder.operands.bytes()
        + decoder.groups.capacity() * size_of::<RowGroup>()
        + decoder.access_groups.capacity() * size_of::<AccessGroup>()
        + decoder.own_operands.capacity() * size_of::<TemplateOperand>()
        + decoder.executions.capacity() * size_of::<Execution>()
        + decoder.plan.bytes()
        + decoder.values.capacity() * size_of::<u64>()
        + decoder.predictors.bytes()
        + decoder.last_addrs.capacity() * size_of::<u64>()
        + decoder.described.capacity() * size_of::<TemplateRow>()
}

/// Descriptions of templates with one row each, at a program counter of its own, which is relative
/// to the last of that many operands.
fn described(templates: usize, operands: usize) -> Vec<u8> {
    let row = [1, Kind::Load as u8, 8, 2, operands as u8, 0];
    row.repeat(templates)
}

/// Tokens as they are stored: a bit for each, then those that are not 0.
fn masked(tokens: &[u8]) -> Vec<u8> {
    let bits = |eight: &[u8]| {
        let bits = (0..).zip(eight);
        bits.fold(0, |all, (at, token)| all | u8::from(*token != 0) << at)
    };
    let mut stored: Vec<u8> = tokens.chunks(8).map(bits).collect();
    stored.extend(tokens.iter().filter(|&&token| token != 0));
    stored
}

/// Decodes one block of templates of one row each, with an address of one byte for each of
/// `operands` operands.
fn block(
    decoder: &mut TemplateDecoder,
    described: &[u8],
    tokens: &[u8],
    operands: usize,
) -> Result<(), Damage> {
    let addrs = vec![0; operands];
    let masked = masked(tokens);
    let mut streams = Streams {
        descriptions: Cursor::new(described, 0),
        tokens: Cursor::new(&masked, 0),
        addrs: Cursor::new(&addrs, 0),
    };
    let (executions, mut rows) = (tokens.len(), Block::new());
    let mut columns = rows.overwrite(executions + COLUMN_SLACK);
    let head = TemplateHead {
        executions,
        rows: executions,
    };
    decoder.rows_here(Portable, &mut streams, head, &mut columns)
}

#[test]
fn operands_without_addresses_take_no_memory() {
    let mut tokens = vec![SUCCESSOR as u8; MAX_TEMPLATE_BLOCK_ROWS];
    (tokens[0], tokens[1]) = (NEW_TEMPLATE as u8, 3);
    let mut decoder = TemplateDecoder::new(None);
    let damage = block(&mut decoder, &described(1, 64), &tokens, 1000).unwrap_err();
    assert_eq!(damage, END);
    assert!(held(&decoder) < 1 << 18, "{} bytes", held(&decoder));
}

#[test]
fn decoder_refuses_more_operands_in_a_block_than_a_writer_makes() {
    let mut tokens = vec![SUCCESSOR as u8; MAX_TEMPLATE_BLOCK_OPERANDS / 64 + 1];
    (tokens[0], tokens[1]) = (NEW_TEMPLATE as u8, 3);
    let (described, operands) = (described(1, 64), 64 * tokens.len());
    let mut decoder = TemplateDecoder::new(None);
    let most = tokens.len() - 1;
    block(&mut decoder, &described, &tokens[..most], operands).unwrap();
    decoder.clear();
    let damage = block(&mut decoder, &described, &tokens, operands).unwrap_err();
    assert_eq!(damage, END);
    assert!(held(&decoder) < 40 << 20, "{} bytes", held(&decoder));
}

/// Decodes blocks of new templates with that many operands each until they are refused. How many
/// templates there were.
fn most_templates(decoder: &mut TemplateDecoder, operands: usize) -> usize {
    let executions = MAX_TEMPLATE_BLOCK_ROWS.min(MAX_TEMPLATE_BLOCK_OPERANDS / operands) / 8;
    let tokens = vec![NEW_TEMPLATE as u8; executions];
    let described = described(executions, operands);
    let mut templates = 0;
    while let Ok(()) = block(decoder, &described, &tokens, operands * executions) {
        templates += executions;
        assert!(templates < 10 * MAX_CHUNK_TEMPLATE_ROWS);
    }
    templates
}

#[test]
fn decoder_refuses_more_templates_than_a_writer_makes() {
    let projection = ItemProjection::new(Granularity::LINE_64, |_| true);
    for (projection, most_held) in [(None, 120 << 20), (Some(projection), 190 << 20)] {
        for operands in [1, 2, 3, 8, 64] {
            let mut decoder = TemplateDecoder::new(projection);
            let templates = most_templates(&mut decoder, operands);
            assert!(
                templates <= MAX_CHUNK_TEMPLATE_ROWS && templates * operands <= MAX_CHUNK_OPERANDS
            );
            // What a writer could have made came through.
            assert!(templates >= FULL_TEMPLATES.min(MAX_CHUNK_OPERANDS / operands) / 2);
            // Twice what there is of anything, as that is how memory grows.
            let held = held(&decoder);
            assert!(held < most_held, "{held} bytes");
            println!(
                "{operands} operands: {templates} templates, {} MiB",
                held >> 20
            );
        }
    }
}

#[test]
fn template_rows_are_counted_without_slack() {
    let mut decoder = TemplateDecoder::new(None);
    let part = MAX_CHUNK_TEMPLATE_ROWS / 4;
    let tokens = vec![NEW_TEMPLATE as u8; part];
    for _ in 0..4 {
        block(&mut decoder, &described(part, 1), &tokens, part).unwrap();
    }
    assert_eq!(decoder.templates.len(), MAX_CHUNK_TEMPLATE_ROWS + 1);
    let damage = block(&mut decoder, &described(1, 1), &[NEW_TEMPLATE as u8], 1).unwrap_err();
    assert!(damage.0.contains("more sites"), "{}", damage.0);
}
