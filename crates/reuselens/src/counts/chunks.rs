//! Into which chunks and blocks engines cut a trace: what is asked for, and what they can have.

use reuselens_baselines::HpRdaSettings;

use super::late::HP_RDA;
use super::on_device::{GPU, HP_RDA_GPU};
use crate::{AnalysisOptions, EngineChunks, Error};

/// Accesses of a chunk of the engine `gpu`, at most: their numbers have 32 bits.
const MOST_ON_GPU: u64 = 1 << 31;

/// The settings of HP-RDA that are asked for; where no number of blocks is, `blocks`.
pub(crate) fn hp_rda_settings(chunks: EngineChunks, blocks: usize) -> HpRdaSettings {
    let published = HpRdaSettings::default();
    let or = |asked: Option<u64>, or: usize| asked.map_or(or, |asked| asked as usize);
    HpRdaSettings {
        chunk: or(chunks.accesses, published.chunk),
        chunks_per_block: or(chunks.per_block, published.chunks_per_block),
        blocks: or(chunks.blocks, blocks),
        ..published
    }
}

/// Refuses numbers that the engine does not have, or cannot have.
pub(crate) fn check(options: &AnalysisOptions) -> Result<(), Error> {
    let engine = options.engine.as_str();
    let (is_hp_rda, is_gpu) = ([HP_RDA, HP_RDA_GPU].contains(&engine), engine == GPU);
    let refused = |option, engines| Error::NoChunks {
        option,
        engines,
        engine: engine.to_owned(),
    };
    if options.engine_times && !is_hp_rda && !is_gpu {
        return Err(refused("--engine-times", "hp-rda, hp-rda-gpu and gpu"));
    }
    let EngineChunks {
        accesses,
        per_block,
        blocks,
    } = options.chunks;
    if accesses.is_some() && !is_hp_rda && !is_gpu {
        return Err(refused("--chunk", "hp-rda, hp-rda-gpu and gpu"));
    }
    let most = if is_gpu {
        MOST_ON_GPU
    } else {
        HpRdaSettings::MOST_IN_CHUNK as u64
    };
    check_number("--chunk", accesses, most)?;
    let of_blocks = [
        (
            "--block-threads",
            per_block,
            HpRdaSettings::MOST_CHUNKS_IN_BLOCK,
        ),
        ("--blocks", blocks, HpRdaSettings::MOST_BLOCKS),
    ];
    for (option, number, most) in of_blocks {
        if number.is_some() && !is_hp_rda {
            return Err(refused(option, "hp-rda and hp-rda-gpu"));
        }
        check_number(option, number, most as u64)?;
    }
    Ok(())
}

fn check_number(option: &'static str, number: Option<u64>, most: u64) -> Result<(), Error> {
    match number.filter(|number| !(1..=most).contains(number)) {
        Some(number) => Err(Error::Chunks {
            option,
            number,
            most,
        }),
        None => Ok(()),
    }
}
