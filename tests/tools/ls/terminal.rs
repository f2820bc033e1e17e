//! Tests of colours, line width, the help, and shell completions.

use super::hostile::hostile_files;
use super::offload;
use crate::{assert_prints, text};
use offload_tests::own::{in_terminal, run};
use offload_tests::prelude::*;

#[test(needs(&[Tool::Terminal]))]
fn colour_is_for_terminals() {
    let line = "ls bundle/basic.bc";
    let plain = offload(line).stdout;
    let has_colour = |text: &str| text.contains('\x1b');
    assert!(!has_colour(&plain));
    for (name, value, expected) in [("CLICOLOR_FORCE", "1", true), ("NO_COLOR", "1", false)] {
        let run = run(own::offload(&["ls", "bundle/basic.bc"]).env(name, value));
        assert_eq!(has_colour(&run.stdout), expected, "{name}");
    }
    assert!(has_colour(&offload("--color always ls bundle/basic.bc").stdout));
    assert!(has_colour(&in_terminal(80, "", line)));
    for environment in ["NO_COLOR=1", "CLICOLOR=0"] {
        assert!(!has_colour(&in_terminal(80, environment, line)), "{environment}");
    }
    assert!(!has_colour(&in_terminal(80, "", "--color never ls bundle/basic.bc")));
    assert_eq!(in_terminal(80, "NO_COLOR=1", line), plain);
    // Errors must be coloured if standard error is a terminal.
    assert!(!has_colour(&offload("ls malformed/wrap.bc").stderr));
}

#[test(needs(&[Tool::Terminal]))]
fn lines_fit_the_terminal() {
    let folder = scratch::folder("ls-width");
    let mut files: Vec<_> = hostile_files(&folder).iter().map(|it| text(it).to_owned()).collect();
    files.extend(
        ["image/saxpy.gfx90a.hsaco", "nv_fatbin/lto.fatbin", "archive/lib.a"].map(str::to_owned),
    );
    for file in files {
        for columns in [80, 100] {
            let text = in_terminal(columns, "NO_COLOR=1", &format!("ls --kernels {file}"));
            // The first line contains the user's path, which may be wider than the terminal.
            for line in text.lines().skip(1).filter(|line| !line.starts_with("warning: ")) {
                assert!(line.chars().count() <= columns, "{columns} columns: {line:?}");
            }
        }
    }
    // Without a terminal, names must be printed in full.
    assert_prints(&crate::offload(&folder, "ls bad.bin"), &[&"x".repeat(10_000)]);
}

#[test]
fn help_fits_a_screen() {
    for command in [
        "",
        "ls",
        "extract",
        "pack",
        "bundle",
        "select",
        "reach",
        "verify",
        "size",
        "doctor",
        "completions",
    ] {
        let run = offload(&format!("{command} --help"));
        assert_eq!(run.code, 0);
        let count = run.stdout.lines().count();
        assert!(count <= 24, "{command}: {count} lines");
        let wide = run.stdout.lines().find(|line| line.chars().count() > 80);
        assert_eq!(wide, None, "{command}");
    }
}

#[test]
fn completions_are_shell_scripts() {
    let folder = scratch::folder("ls-completions");
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let run = offload(&format!("completions {shell}"));
        assert_eq!(run.code, 0);
        assert_prints(&run, &["extract", "verify", "max-size"]);
        scratch::write(folder.join(shell), &run.stdout);
    }
    let script = "source ./bash; COMP_WORDS=(cargo-offload ex); COMP_CWORD=1; \
                  _cargo__offload cargo-offload ex cargo-offload; echo ${COMPREPLY[@]}";
    let mut bash = Command::new("bash");
    let output = succeed(bash.current_dir(&folder).args(["--norc", "-c", script]));
    assert_eq!(stdout(&output).trim(), "extract");
    assert_eq!(offload("completions tcsh").code, 2);
}
