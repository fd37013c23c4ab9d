//! The findings of Garrido 2013 on generated streams of its kernels.
//! `record/2026-11-22-xeon-2c-simt` has those of kernels that are run.
//!
//! `cargo run --release -p reuselens-simt --example thesis -- NETLIST.bench`

use std::time::Instant;

use reuselens_simt::characteristic::{Limits, characteristic};
use reuselens_simt::generate::{self, Kernel};
use reuselens_simt::graph::Graph;
use reuselens_simt::mapping::{Common, Mapping, MappingDepth, map};
use reuselens_simt::netlist::Netlist;
use reuselens_simt::scenario::{RoundRobin, Sequential};
use reuselens_simt::transactions::{DataLayout, Transactions};
use reuselens_simt::{Characteristic, Difference, Grain, KernelRun, Loading, Scenario, Spaces};
use reuselens_units::Granularity;
use reuselens_warp::{Space, WarpStream};

type Failure = Box<dyn std::error::Error>;

const THREADS: u32 = 256;
/// Blocks that are looked at by themselves: the first two, and one of the middle.
const SHOWN: [u32; 3] = [0, 1, 60];

fn main() -> Result<(), Failure> {
    let path = std::env::args()
        .nth(1)
        .ok_or("name a netlist in .bench format")?;
    let netlist = Netlist::read(&std::fs::read_to_string(&path)?, &path)?.fanin;
    let mesh = Graph::mesh(144_649, 1_074_393, 1)?;
    println!(
        "| kernel | all at once | K = 2, 4, 8, 16: domains | peak with 16, 32, 64 units | largest after distance 32 |"
    );
    println!("|---|---|---|---|---|");
    for kernel in Kernel::ALL {
        let graph = if matches!(kernel, Kernel::Sta | Kernel::Bfs | Kernel::Gsim) {
            &netlist
        } else {
            &mesh
        };
        let begun = Instant::now();
        let run = load(kernel, graph, Grain::Element, Spaces::of(&[Space::Global]))?;
        let merged = sum(&run, Scenario::Merged)?;
        let domains = [2, 4, 8, 16]
            .map(|blocks| sum(&run, Scenario::Concurrent { blocks }).map(|c| c.domain()));
        let domains: Vec<u64> = domains.into_iter().collect::<Result<_, _>>()?;
        let units = [16, 32, 64].map(|units| {
            sum(
                &run,
                Scenario::Collective {
                    clusters: 16,
                    units,
                },
            )
        });
        let units: Vec<Characteristic> = units.into_iter().collect::<Result<_, _>>()?;
        let peaks: Vec<_> = units.iter().map(|c| c.peak().unwrap_or_default()).collect();
        let far: Vec<_> = units
            .iter()
            .map(|c| {
                c.entries()
                    .filter(|e| e.0 > 32)
                    .map(|e| e.1)
                    .max()
                    .unwrap_or(0)
            })
            .collect();
        println!(
            "| {} | {} | {domains:?} | {peaks:?} | {far:?} | {:.1?}",
            kernel.name(),
            words(&merged),
            begun.elapsed()
        );
        for block in SHOWN {
            println!(
                "|   block {block} | {} |",
                words(&sum(&run.only(block), Scenario::Each)?)
            );
        }
        mapped(kernel, &run)?;
    }
    vectors()
}

/// Vectors with their parameters, which is what the published trace has.
fn vectors() -> Result<(), Failure> {
    let lines = Grain::Lines(Granularity::new(32)?);
    let run = load(
        Kernel::VectorAdd,
        &Graph::mesh(50_000, 100_000, 1)?,
        lines,
        Spaces::ALL,
    )?;
    println!("vectoradd of 50000, with parameters, sectors:");
    println!("  block 0 {}", words(&sum(&run.only(0), Scenario::Each)?));
    println!("  serialised {}", words(&sum(&run, Scenario::Serialised)?));
    Ok(())
}

fn load(kernel: Kernel, graph: &Graph, grain: Grain, spaces: Spaces) -> Result<KernelRun, Failure> {
    let mut stream = WarpStream::new();
    generate::stream(
        kernel,
        graph,
        if kernel == Kernel::VectorAdd {
            128
        } else {
            THREADS
        },
        &mut stream,
    )?;
    let loading = Loading {
        grain,
        spaces,
        ..Loading::default()
    };
    Ok(KernelRun::read(&mut stream.source(), loading)?)
}

fn sum(run: &KernelRun, scenario: Scenario) -> Result<Characteristic, Failure> {
    let mut sum = Characteristic::default();
    for stream in scenario.streams(run, &Sequential, &RoundRobin) {
        sum.add(&characteristic(&stream, Limits::default())?);
    }
    Ok(sum)
}

fn words(one: &Characteristic) -> String {
    let near: Vec<u64> = (1..=6).map(|at| one.degree(at)).collect();
    format!(
        "{} instr., total {}, peak {:?}, domain {}, {} ({}), near {near:?}",
        one.instructions(),
        one.total(),
        one.peak().unwrap_or_default(),
        one.domain(),
        one.shape().abbreviation(),
        one.shape()
    )
}

/// Transactions and one block after each stage of thread mapping.
fn mapped(kernel: Kernel, run: &KernelRun) -> Result<(), Failure> {
    let merged = |run: &KernelRun| sum(run, Scenario::Merged);
    let before = Mapping::identity(run)?.apply(run)?;
    let stages: &[MappingDepth] = match kernel {
        Kernel::Sta | Kernel::Gsim | Kernel::Bfs => &[
            MappingDepth::Threads,
            MappingDepth::Warps,
            MappingDepth::Blocks,
        ],
        _ => &[MappingDepth::Blocks],
    };
    for &stage in stages {
        let begun = Instant::now();
        let mapping = map(run, DataLayout::Moved, Common::Data, 32, stage, 1)?;
        let took = begun.elapsed();
        let after = mapping.apply(run)?;
        let all = Difference::between(&merged(&before)?, &merged(&after)?);
        println!(
            "|   {stage:?} | in place {} | own data moved {} | all blocks {:+}, domain {:?} | {took:.1?}",
            change(
                Transactions::of(&before, DataLayout::Kept)?,
                Transactions::of(&after, DataLayout::Kept)?
            ),
            change(
                Transactions::of(&before, DataLayout::Moved)?,
                Transactions::of(&after, DataLayout::Moved)?
            ),
            all.sum,
            all.domain
        );
        let [each, each_after] = [&before, &after].map(|run| sum(run, Scenario::Each));
        println!(
            "|     all by themselves | {} -> {}",
            each?.total(),
            each_after?.total()
        );
        println!(
            "|     domains added up | {} -> {}",
            domains(&before)?,
            domains(&after)?
        );
        for block in SHOWN {
            let [before, after] =
                [&before, &after].map(|run| sum(&run.only(block), Scenario::Each));
            let block_change = Difference::between(&before?, &after?);
            println!(
                "|     block {block} | {:+}, domain {:?}",
                block_change.sum, block_change.domain
            );
        }
    }
    Ok(())
}

fn change(before: Transactions, after: Transactions) -> String {
    let percent = 100.0 * (after.sectors as f64 / before.sectors as f64 - 1.0);
    format!("{} -> {} ({percent:+.1} %)", before.sectors, after.sectors)
}

/// The domains of all blocks, each by itself, added up.
fn domains(run: &KernelRun) -> Result<u64, Failure> {
    let streams = Scenario::Each.streams(run, &Sequential, &RoundRobin);
    let each = streams
        .iter()
        .map(|stream| characteristic(stream, Limits::default()).map(|one| one.domain()));
    Ok(each.collect::<Result<Vec<_>, _>>()?.iter().sum())
}
