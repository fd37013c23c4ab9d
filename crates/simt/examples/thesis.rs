//! The findings of Garrido 2013 on generated streams of its kernels: what `record/` compares.
//!
//! `cargo run --release -p reuselens-simt --example thesis -- NETLIST.bench`

use std::time::Instant;

use reuselens_simt::characteristic::{Limits, characteristic};
use reuselens_simt::generate::{self, Kernel};
use reuselens_simt::graph::Graph;
use reuselens_simt::mapping::{Mapping, Stage, map};
use reuselens_simt::netlist::Netlist;
use reuselens_simt::scenario::{RoundRobin, Sequential};
use reuselens_simt::transactions::Transactions;
use reuselens_simt::{Characteristic, Difference, Grain, Loading, Run, Scenario, Spaces};
use reuselens_trace::warp::{Space, WarpStream};
use reuselens_units::Granularity;

type Failure = Box<dyn std::error::Error>;

const THREADS: u32 = 256;

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
        for block in 0..2 {
            println!(
                "|   block {block} | {} |",
                words(&sum(&run.only(block), Scenario::Each)?)
            );
        }
        mapped(kernel, graph, &run)?;
    }
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

fn load(kernel: Kernel, graph: &Graph, grain: Grain, spaces: Spaces) -> Result<Run, Failure> {
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
    Ok(Run::read(&mut stream.source(), loading)?)
}

fn sum(run: &Run, scenario: Scenario) -> Result<Characteristic, Failure> {
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

/// Transactions and block 0 after each stage of thread mapping.
fn mapped(kernel: Kernel, graph: &Graph, run: &Run) -> Result<(), Failure> {
    let sectors = load(
        kernel,
        graph,
        Grain::Lines(Granularity::new(32)?),
        Spaces::of(&[Space::Global]),
    )?;
    let before = Transactions::of(&sectors)?;
    let merged = |run: &Run| sum(run, Scenario::Merged);
    let first = sum(&Mapping::identity(run)?.apply(run)?.only(0), Scenario::Each)?;
    for stage in [Stage::Threads, Stage::Warps, Stage::Blocks] {
        let begun = Instant::now();
        let mapping = map(&sectors, 32, stage, 1)?;
        let took = begun.elapsed();
        let after = Transactions::of(&mapping.apply(&sectors)?)?;
        let moved = mapping.apply(run)?;
        let block = Difference::between(&first, &sum(&moved.only(0), Scenario::Each)?);
        let all = Difference::between(&merged(run)?, &merged(&moved)?);
        println!(
            "|   {stage:?} | transactions {} -> {} ({:+.1} %) | block 0 {:+}, domain {:?} | all {:+}, domain {:?} | {took:.1?}",
            before.sectors,
            after.sectors,
            100.0 * (after.sectors as f64 / before.sectors as f64 - 1.0),
            block.sum,
            block.domain,
            all.sum,
            all.domain
        );
    }
    Ok(())
}
