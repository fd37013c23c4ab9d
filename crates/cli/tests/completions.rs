//! `reuselens completions`.

use crate::common::{self, COMMANDS, Place};

#[test]
fn every_shell_gets_every_command() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let done = Place::new().run(&["completions", shell]).succeeds();
        for command in COMMANDS {
            assert!(
                done.out.contains(command),
                "{command} is not in the completions of {shell}"
            );
        }
        assert!(done.out.contains("granularity"), "no options for {shell}");
    }
}

#[test]
fn bash_accepts_its_completions() {
    if !common::has("bash") {
        return;
    }
    let place = Place::new();
    place.write("words", place.run(&["completions", "bash"]).succeeds().out);
    let script = "source ./words && complete -p reuselens && COMP_WORDS=(reuselens for) COMP_CWORD=1 \
                  && _reuselens reuselens for reuselens && echo \"${COMPREPLY[@]}\"";
    let mut bash = std::process::Command::new("bash");
    bash.args(["-c", script]).current_dir(place.path(""));
    let done = common::Done::of(&mut bash).succeeds();
    done.prints(&["formats", "fortran"]);
}

#[test]
fn another_shell_is_wrong_usage() {
    Place::new()
        .run(&["completions", "cmd.exe"])
        .fails(2)
        .says(&["bash"]);
    Place::new().run(&["completions"]).fails(2);
}
