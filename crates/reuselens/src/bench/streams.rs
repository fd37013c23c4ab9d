//! What the contenders run over.

use reuselens_attribute::{Attributor, Columns, Options};
use reuselens_distance::generate::{Generator, Uniform, yardstick};
use reuselens_symbols::Loader;
use reuselens_trace::{Block, Source, Step};
use reuselens_units::{Bytes, Granularity};

use super::{BenchError, Contender, Heat, Race, Series};
use crate::{Error, available_memory};

/// Bytes per distinct item of the largest engine, and of the histogram, for an estimate.
const BYTES_PER_ITEM: u64 = 110;
/// Distinct items that the streams of the yardstick have at most.
const YARDSTICK_ITEMS: u64 = 4_000_000;
/// References per distinct item at least, so that an engine is more than filled.
const REUSE: u64 = 4;
/// Whoever took more seconds than this at one size is left out at ten times that size.
const GIVE_UP: f64 = 60.0;

/// Whether so many references and items can be measured in the memory that is free.
///
/// # Errors
/// If not.
pub fn room(references: u64, distinct: u64) -> Result<(), BenchError> {
    let items = references.saturating_mul(8);
    let needed = Bytes(items.saturating_add(distinct.saturating_mul(BYTES_PER_ITEM)));
    let free = available_memory().map_or(Bytes(u64::MAX), |free| Bytes(free.get() / 4 * 3));
    if needed <= free {
        return Ok(());
    }
    Err(BenchError::Memory {
        references,
        distinct,
        needed,
        free,
    })
}

/// The first items of a generator.
pub fn items_of(generator: &mut dyn Generator, references: usize) -> Vec<u64> {
    let mut items = vec![0; references];
    generator.fill(&mut items);
    items
}

/// The first items of a stream of the yardstick; `None` if there is none of this name.
///
/// # Errors
/// If they would not fit into memory.
pub fn yardstick_items(name: &str, references: u64) -> Result<Option<Vec<u64>>, BenchError> {
    room(references, YARDSTICK_ITEMS.min(references))?;
    Ok(yardstick(name).map(|mut stream| items_of(&mut *stream, references as usize)))
}

/// The items of a trace, `most` at most.
///
/// # Errors
/// If the trace cannot be read. What comes before damage is taken.
pub fn items(
    source: &mut dyn Source,
    granularity: Granularity,
    most: usize,
) -> Result<Vec<u64>, Error> {
    let mut attributor = Attributor::new(Options {
        granularity,
        contexts: false,
        ids: !source.has_addresses(),
        ..Options::default()
    });
    let (mut loader, mut block, mut columns) = (Loader::new(), Block::new(), Columns::new());
    let mut items = Vec::new();
    while items.len() < most {
        match source.next(&mut block) {
            Ok(Step::Block) => attributor.pieces(&block, &mut columns, |piece| {
                let room = most - items.len();
                items.extend(piece.items.iter().take(room));
            }),
            Ok(Step::Event(event)) => attributor.event(&event, &mut loader),
            Ok(Step::End) => break,
            Err(error) if error.is_partial() && !items.is_empty() => break,
            Err(error) => return Err(error.into()),
        }
    }
    Ok(items)
}

/// Two series: over 10³, 10⁴, … distinct items up to `most_items`, drawn uniformly, `references`
/// long and at least four times the items; and over the length of the zipf stream, 10⁶, 10⁷, … up
/// to `references`. Sizes for which there is no memory are left out, and contenders that take too
/// long at smaller ones.
///
/// # Errors
/// As [`Race::run`].
pub fn scaling(
    race: &Race,
    contenders: &[Contender],
    references: u64,
    most_items: u64,
    tick: &mut dyn FnMut(u64),
) -> Result<Vec<Series>, BenchError> {
    let uniform = |distinct: u64| {
        let references = references.max(distinct * REUSE);
        room(references, distinct).ok()?;
        Some(items_of(
            &mut Uniform::new(distinct, 1),
            references as usize,
        ))
    };
    let zipf = |references: u64| yardstick_items("zipf", references).ok().flatten();
    Ok(vec![
        Series {
            over: "distinct items",
            stream: "uniform".to_owned(),
            heats: heats(race, contenders, &powers(1_000, most_items), &uniform, tick)?,
        },
        Series {
            over: "references",
            stream: "zipf".to_owned(),
            heats: heats(
                race,
                contenders,
                &powers(1_000_000, references),
                &zipf,
                tick,
            )?,
        },
    ])
}

/// `first`, ten times as many, and so on, and `last`.
fn powers(first: u64, last: u64) -> Vec<u64> {
    let powers = std::iter::successors(Some(first), |power| power.checked_mul(10));
    powers
        .take_while(|power| *power < last)
        .chain([last])
        .collect()
}

fn heats(
    race: &Race,
    contenders: &[Contender],
    sizes: &[u64],
    stream: &dyn Fn(u64) -> Option<Vec<u64>>,
    tick: &mut dyn FnMut(u64),
) -> Result<Vec<Heat>, BenchError> {
    let mut contenders = contenders.to_vec();
    let mut heats = Vec::new();
    for &size in sizes {
        let Some(items) = stream(size) else { break };
        let heat = race.run(&size.to_string(), &items, &contenders, tick)?;
        contenders.retain(|contender| !heat.slow(&contender.name(), GIVE_UP));
        heats.push(heat);
    }
    Ok(heats)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_powers_and_the_last() {
        assert_eq!(powers(1_000, 1_000), [1_000]);
        assert_eq!(powers(1_000, 20), [20]);
        assert_eq!(powers(1_000, 50_000), [1_000, 10_000, 50_000]);
        assert_eq!(powers(10, u64::MAX).len(), 20);
    }

    #[test]
    fn what_does_not_fit_is_refused_before_it_is_made() {
        let error = room(u64::MAX, u64::MAX).unwrap_err().to_string();
        assert!(error.contains("--references"), "{error}");
        assert!(yardstick_items("zipf", u64::MAX / 8).is_err());
        assert_eq!(
            yardstick_items("loop", 3).unwrap().map(|items| items.len()),
            Some(3)
        );
        assert_eq!(yardstick_items("steps", 3).unwrap(), None);
    }

    #[test]
    fn series_grow_and_every_size_agrees() {
        let contenders = Contender::exact();
        let series = scaling(&Race::new(1), &contenders, 5_000, 2_000, &mut |_| {}).unwrap();
        let sizes = |series: &Series| -> Vec<(u64, u64)> {
            let heats = series.heats.iter();
            heats.map(|heat| (heat.references, heat.distinct)).collect()
        };
        assert_eq!(series[0].over, "distinct items");
        let [(5_000, 900..=1_000), (8_000, 1_900..=2_000)] = sizes(&series[0])[..] else {
            panic!("{:?}", sizes(&series[0]))
        };
        assert_eq!(sizes(&series[1]).len(), 1);
        assert_eq!(sizes(&series[1])[0].0, 5_000);
    }
}
