//! `reuselens nvcc`: compiles CUDA programs, with CUDA's nvcc or without.
//!
//! All arguments are nvcc's, so they are taken before the command line is parsed. The program may
//! also be called by the name `reuselens-nvcc` (a link to it).

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::ExitCode;

use clap::Parser as _;
use reuselens_cuda::nvcc;

use super::{Cli, cc};
use crate::exit::{Outcome, usage};

/// Compile a CUDA program, with CUDA's nvcc or without CUDA
///
/// Use it as nvcc, alone or in a makefile: make NVCC="reuselens nvcc".
/// Where nvcc is installed, it is called with line information. Else clang 19 compiles, with
/// headers of ours, and the program runs without a GPU: reuselens profile -- ./program.
/// All arguments are nvcc's own, and these are ours:
///
///   --rl-toolkit DIR  alone: write a folder that makefiles and CMake take for an installation of
///                     CUDA: bin/nvcc, include, lib64
///   --rl-bypass N     with clang: the loads of all but the first N warps of each block pass the
///                     L1 cache by, as `reuselens gpu bypass` has it
///   --help            alone: print this
///
/// REUSELENS_NVCC names another compiler: the path of an nvcc or of a clang.
#[derive(clap::Args, Debug)]
#[command(disable_help_flag = true, verbatim_doc_comment)]
pub struct Args {
    /// nvcc's arguments
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "NVCC ARGS"
    )]
    arguments: Vec<OsString>,
}

impl Args {
    /// Runs the compiler.
    pub fn run(self) -> Outcome {
        let words: Vec<&OsStr> = self.arguments.iter().map(OsString::as_os_str).collect();
        match words[..] {
            [] => anyhow::bail!(
                "no arguments; use it as nvcc, for instance: reuselens nvcc -o program program.cu"
            ),
            [word] if word == "--help" || word == "-h" => {
                return Ok(match Cli::try_parse_from(["reuselens", "help", "nvcc"]) {
                    Err(help) => usage(help),
                    Ok(_) => ExitCode::SUCCESS,
                });
            }
            [word, folder] if word == "--rl-toolkit" => {
                nvcc::write_toolkit(Path::new(folder))?;
                return Ok(ExitCode::SUCCESS);
            }
            _ => {}
        }
        Ok(cc::code_of(nvcc::compile(&self.arguments)?))
    }
}

/// The call of nvcc that a command line is, if it is one.
pub fn asked_for(mut words: impl Iterator<Item = OsString>) -> Option<Args> {
    let program = words.next()?;
    if Path::new(&program).file_name()? != "reuselens-nvcc" && words.next()? != "nvcc" {
        return None;
    }
    Some(Args {
        arguments: words.collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nvcc_is_asked_for_by_command_or_link_name() {
        let call = |line: &str| asked_for(line.split(' ').map(OsString::from));
        let found = call("/usr/bin/reuselens nvcc -c a.cu --help").unwrap();
        assert_eq!(found.arguments, ["-c", "a.cu", "--help"]);
        let linked = call("reuselens-nvcc a.cu").unwrap();
        assert_eq!(linked.arguments, ["a.cu"]);
        assert!(call("reuselens profile -- nvcc").is_none());
        assert!(call("reuselens").is_none());
    }
}
