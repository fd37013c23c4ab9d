//! Tables 1 and 2: the programs, and what analysing them takes.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;

use super::programs::{INPUTS, PROGRAMS, Run, TestedInput, TestedProgram, folder, json, text};
use crate::sources::ComparedTable;
use crate::sources::comparison::{Compared, grouped};
use crate::sources::printed::{InTests, Making, Printed};
use crate::sources::workshop::Workshop;

/// Table 1.
pub const TESTED: &[Printed] = &[Printed {
    id: "exact.table1",
    heading: "Table 1: Applications tested",
    making: Making::Runs {
        how: "Lines of the source, and of those the ones that the debug information has code for; \
              loops that ran more than one iteration (`profile --why`, with a cache of one line, so \
              that each such loop carries a reuse); arrays that were accessed.",
        make: applications,
        in_tests: InTests::LeftOut,
    },
}];

/// Table 2.
pub const COSTS: &[Printed] = &[Printed {
    id: "exact.table2",
    heading: "Table 2: Time needed for reuse distance analysis",
    making: Making::Runs {
        how: "`profile --granularity 8`, from the start of the program to the end of the analysis, by \
              the clock. ADI and FFT name their accesses, and an element counts once in a statement; \
              of the others each reference counts that the source names (compiled by gfortran -O0, \
              static data only).",
        make: costs,
        in_tests: InTests::SameRows,
    },
}];

/// A row of the report's table 1: lines, loops, arrays.
fn printed_application(program: &TestedProgram) -> [&'static str; 3] {
    match program.name {
        "ADI" => ["108", "8", "3"],
        "FFT" => ["92", "15", "4"],
        "Swim" => ["429", "8", "15"],
        "Tomcatv" => ["221", "18", "7"],
        "SP" => ["1141", "218", "15"],
        _ => ["2105", "67", "6"],
    }
}

fn applications(workshop: &Workshop) -> anyhow::Result<ComparedTable> {
    let mut table = ComparedTable::new(
        &["program"],
        &["lines", "lines with code", "loops", "arrays"],
    );
    for program in &PROGRAMS {
        let source = workshop.root.join("programs").join(program.source);
        let lines = fs::read_to_string(&source)?.lines().count();
        let binary = program.uninstrumented(workshop)?;
        let [in_print, loops_in_print, arrays_in_print] = printed_application(program);
        let profile = program.profile(workshop, Run::plain(TestedInput::Smaller))?;
        let groups = json(workshop, &profile.path, "object")?;
        let arrays = arrays(&groups);
        table.push(
            &[program.name],
            vec![
                Compared::both(lines, in_print),
                Compared::ours(lines_with_code(workshop, &binary, &source)?),
                Compared::both(loops(workshop, program, &binary)?, loops_in_print),
                Compared::both(arrays, arrays_in_print),
            ],
        );
    }
    table.note(
        "Sources in print were self-written (ADI, FFT), of SPEC95 (Swim, Tomcatv), of NASA (SP) and \
         of the DOE (Sweep3D). Ours are written anew and shorter: SP has one routine for each part \
         of a solver, which takes the direction as an argument and calls its body from three loops, \
         where the program of NASA has a nest of loops for each direction and part. Lines of ours \
         have comments among them.",
    );
    table.note(
        "Arrays are those with accesses. In SP one array has the three velocities, and lines of \
         coefficients are calculated where they are used; Sweep3D has its six large arrays and the \
         small ones with the directions, their weights and the line.",
    );
    Ok(table)
}

/// How many structures have accesses, but for what is unknown and for unnamed constants.
fn arrays(json: &Value) -> usize {
    let groups = json["groups"].as_array().into_iter().flatten();
    let names = groups.filter_map(|group| group["name"].as_str());
    names.filter(|name| !name.starts_with("un")).count()
}

/// How many lines of a source have code, by the line table of a program.
fn lines_with_code(workshop: &Workshop, binary: &Path, source: &Path) -> anyhow::Result<usize> {
    let words = ["--dwarf=decodedline", &text(binary)];
    let printed = workshop.output(Path::new("objdump"), &words)?;
    let name = source.file_name().unwrap_or_default().to_string_lossy();
    let line = |row: &str| {
        let mut words = row.split_whitespace();
        (words.next()? == name).then_some(())?;
        words.next()?.parse::<u32>().ok()
    };
    let lines: BTreeSet<u32> = printed.lines().filter_map(line).collect();
    Ok(lines.len())
}

/// How many loops of the program's source carry a reuse: all that run more than one iteration, as
/// their variables are in memory.
fn loops(workshop: &Workshop, program: &TestedProgram, binary: &Path) -> anyhow::Result<usize> {
    let output = text(&folder(workshop)?.join(format!("{}.loops", program.name)));
    let words = ["profile", "-q", "-f", "--why=64", "-o", &output, "--json"];
    let report = format!("{output}.json");
    let command = [report.as_str(), "--", &text(binary), program.short_run()];
    workshop.output(&workshop.reuselens()?, &[&words[..], &command].concat())?;
    let json: Value = serde_json::from_str(&fs::read_to_string(&report)?)?;
    let name = program.source.rsplit('/').next().unwrap_or_default();
    let carried = json["causes"]["carried"].as_array().into_iter().flatten();
    let carriers = carried.filter_map(|reuse| reuse["carrier"].as_str());
    let places = carriers.filter_map(|carrier| carrier.split_once("loop at "));
    let places = places
        .map(|(_, place)| place)
        .filter(|place| place.starts_with(name));
    let places: BTreeSet<&str> = places.collect();
    Ok(places.len())
}

/// The report's table 2 of a program, for the smaller and the larger input: seconds, references and
/// elements.
fn printed_costs(program: &TestedProgram) -> [[&'static str; 3]; 2] {
    match program.name {
        "ADI" => [["0.38", "64.3K", "7.5K"], ["0.53", "258K", "30K"]],
        "FFT" => [["0.99", "697K", "16.5K"], ["4.29", "2.85M", "65.7K"]],
        "Swim" => [["82.2", "10.9M", "464K"], ["342", "24.5M", "1.04M"]],
        "Tomcatv" => [["25.7", "6.76M", "155K"], ["168", "19.0M", "433K"]],
        "SP" => [["19.8", "5.50M", "212K"], ["243", "23.3M", "811K"]],
        _ => [["4.45", "2.89M", "11.1K"], ["59.5", "21.9M", "79.6K"]],
    }
}

fn costs(workshop: &Workshop) -> anyhow::Result<ComparedTable> {
    let mut table = ComparedTable::new(
        &["program", "input size"],
        &["time (sec.)", "total refs", "total elems"],
    );
    for program in &PROGRAMS {
        for (input, printed) in INPUTS.into_iter().zip(printed_costs(program)) {
            let profile = program.profile(workshop, Run::plain(input))?;
            let json = json(workshop, &profile.path, "program")?;
            let count = |name: &str| grouped(json[name].as_u64().unwrap_or_default());
            let ours = [profile.seconds, count("accesses"), count("cold")];
            let values = ours.into_iter().zip(printed);
            table.push(
                &[program.name, &program.shown(input)],
                values
                    .map(|(ours, printed)| Compared::both(ours, printed))
                    .collect(),
            );
        }
    }
    table.note(
        "The times in print are of a processor of 250 MHz, a simulator of its time and inputs that \
         were instrumented by a compiler; only their order can be compared.",
    );
    table.note(
        "SP has a tenth more references than in print, as it keeps the reciprocals of diagonals in \
         their arrays and not in scalars; Sweep3D has 4 to 8 % less, as ours has no fix-up of \
         negative fluxes. FFT has 4 % less and 6 % more, as ours has other passes.",
    );
    Ok(table)
}
