//! [`refuse_unused`]: refuses options of `profile` and `record` that would have no effect on the
//! program that is named.

use std::ffi::OsString;

use reuselens::capture::find_program;

use crate::commands::profile::program_name;
use crate::exit::Usage;
use crate::typed::TypedOptions;

/// Options that only CUDA programs have a use for: those of
/// [`CudaAnalysis`](super::CudaAnalysis).
const ONLY_CUDA: [&str; 9] = [
    "host",
    "max_instructions",
    "on_fault",
    "no_cache_model",
    "cache_distances",
    "arithmetic",
    "gpu_model",
    "kernel",
    "launches",
];

/// Options about accesses of the host's code, which of a CUDA program only `--host` analyses: which
/// are seen, which count, how they are analysed, and how they are shown.
const HOST: [&str; 40] = [
    // How accesses are seen.
    "randomise",
    "capture",
    "basic_blocks",
    // What is recorded.
    "regions",
    "region",
    "function",
    "after",
    "span",
    "burst",
    "quick",
    "max_accesses",
    "max_time",
    "then_stop",
    "max_size",
    "data",
    // Analysis.
    "granularity",
    "kind",
    "engine",
    "threads",
    "disable_adjusting",
    "chunk",
    "block_threads",
    "blocks",
    "engine_times",
    "names",
    "no_contexts",
    "elements",
    "placement",
    "sharing",
    "max_distance",
    "times",
    "forward",
    "most_paths",
    "why",
    "memory_limit",
    "sample",
    "seed",
    // Output.
    "by",
    "cache",
    "bins",
];

/// Exports of the profile of a program that does not use CUDA.
const HOST_EXPORTS: [&str; 6] = [
    "parquet",
    "csv_curve",
    "csv_histogram",
    "svg",
    "png",
    "export",
];

/// Refuses options that are typed and would have no effect, since their user expects one. A program
/// that does not exist is not refused here.
///
/// # Errors
/// Names the first such option.
pub fn refuse_unused(
    typed: &TypedOptions,
    command: &[OsString],
    is_cuda: bool,
) -> Result<(), Usage> {
    let name = program_name(command);
    if !is_cuda {
        let is_known = command.first().is_some_and(|it| find_program(it).is_some());
        let option = typed.first_of(&ONLY_CUDA).filter(|_| is_known);
        return option.map_or(Ok(()), |option| {
            Err(Usage(format!(
                "{option} is for programs that use CUDA, and {name} is not known to; leave it out, or add --cuda"
            )))
        });
    }
    if let Some(option) = typed.first_of(&HOST_EXPORTS) {
        return Err(Usage(format!(
            "{option} exports a profile of accesses of the host's code; of {name}, which uses CUDA, \
             leave it out, write one with --host, then: reuselens report {name}.host.rlprof {option} FILE"
        )));
    }
    let analyses_host = typed.first_of(&["host"]).is_some();
    match typed.first_of(&HOST).filter(|_| !analyses_host) {
        Some(option) => Err(Usage(format!(
            "{option} is about accesses of the host's code, and of {name}, which uses CUDA, only \
             kernels are analysed; leave it out, or add --host (profile)"
        ))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::commands::Cli;

    /// Options that both kinds of programs have.
    const BOTH: [&str; 16] = [
        "command",
        "device",
        "cuda",
        "output",
        "ignore_status",
        "pass_status",
        "json",
        "csv",
        "embed_source",
        "no_embed_source",
        "source_folder",
        "top",
        "force",
        "quiet",
        "verbose",
        "help",
    ];

    #[test]
    fn every_option_of_profile_and_record_is_in_one_list() {
        let cli = Cli::command();
        for name in ["profile", "record"] {
            let command = cli.find_subcommand(name).unwrap();
            for argument in command.get_arguments() {
                let id = argument.get_id().as_str();
                let lists = [&HOST[..], &HOST_EXPORTS, &ONLY_CUDA, &BOTH];
                let count = lists.iter().filter(|list| list.contains(&id)).count();
                assert_eq!(count, 1, "{name}: {id}");
            }
        }
    }

    #[test]
    fn typed_options_have_the_names_that_clap_reads() {
        let cli = Cli::command();
        for id in HOST.iter().chain(&HOST_EXPORTS).chain(&ONLY_CUDA) {
            let mut commands = ["profile", "record"].into_iter();
            let found = commands.find_map(|name| {
                let command = cli.find_subcommand(name).unwrap();
                let mut arguments = command.get_arguments();
                arguments.find(|argument| argument.get_id() == id)
            });
            let long = found.and_then(|argument| argument.get_long()).unwrap();
            let typed = TypedOptions::of(&[id]);
            assert_eq!(typed.first_of(&[id]), Some(format!("--{long}")));
        }
    }
}
