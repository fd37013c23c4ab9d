//! [`SelectedLaunches`]: the options that choose which launches are analysed.

use reuselens::units::{counted, shown};
use reuselens_ptx::{LaunchNumbers, LaunchSelection, without_parameters};

use crate::say::tell;

/// Kernels that a warning lists, at most.
const LISTED: usize = 20;

/// Which launches of kernels are analysed.
#[derive(clap::Args, Clone, Debug)]
pub struct SelectedLaunches {
    /// Analyse only kernels whose name is NAME or has it as a part; several allowed
    #[arg(long, value_name = "NAME", help_heading = "CUDA programs")]
    kernel: Vec<String>,

    /// Analyse only these launches of each kernel, from 1, as in 1,10 or 5-9; the others run fast
    #[arg(long, value_name = "NUMBERS", help_heading = "CUDA programs")]
    launches: Option<LaunchNumbers>,
}

impl SelectedLaunches {
    /// What chooses among the launches of a run.
    pub fn selection(&self) -> LaunchSelection {
        LaunchSelection::new(self.kernel.clone(), self.launches.clone())
    }
}

/// Warns of names that no kernel had, if no launch was chosen, and of the accesses of lanes that
/// launches which were not chosen left out, because they were bad.
pub fn warn_of_selection(selection: &LaunchSelection, skipped: u64) {
    if selection.has_all() {
        return;
    }
    let launched = selection.launched().take(LISTED);
    let launched: Vec<String> = launched
        .map(|(name, count)| {
            let launches = counted(count, "launch", "launches");
            format!("{} ({launches})", shown(&without_parameters(name)))
        })
        .collect();
    let launched = if launched.is_empty() {
        "no kernel was launched".to_owned()
    } else {
        format!("there were {}", launched.join(", "))
    };
    for name in selection.not_found() {
        tell!(
            "reuselens: warning: no kernel with '{}' in its name was launched; {launched}",
            shown(name)
        );
    }
    let all: u64 = selection.launched().map(|(_, count)| count).sum();
    if selection.not_found().next().is_none() && all > 0 && selection.left_out() == all {
        tell!("reuselens: warning: --kernel and --launches leave out all launches; {launched}");
    }
    if skipped > 0 {
        tell!(
            "reuselens: warning: {} left out, for bad addresses, in launches that were not \
             analysed; to see where, analyse all launches",
            counted(skipped, "access of a lane was", "accesses of lanes were")
        );
    }
}
