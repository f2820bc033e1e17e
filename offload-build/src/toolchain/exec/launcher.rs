//! The compiler launcher, a program that starts compilers. It may get their output from a cache
//! (`sccache`, `ccache`) or run them on other machines (`icecc`, `distcc`).
//!
//! The launcher does not affect the output, so it is not part of the rebuild keys. Only steps that
//! read one source and write one object run through the launcher, because no launcher splits larger
//! steps. Links, and steps that generate code for all sources of an image, run directly.

use super::find::named;
use super::step::{DepfileBy, Step, StepKind};
use crate::toolchain::cargo::Cargo;
use crate::toolchain::error::{Error, ErrorKind};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// A compiler launcher: the program, and the arguments that precede the compiler's command.
pub struct Launcher {
    program: PathBuf,
    args: Vec<OsString>,
    /// The value of `OFFLOAD_COMPILER_LAUNCHER`, for messages.
    text: String,
}

const VARIABLE: &str = "OFFLOAD_COMPILER_LAUNCHER";

impl Launcher {
    /// The variable that names the launcher.
    pub const PLACES: &'static str = VARIABLE;

    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Returns the launcher in `OFFLOAD_COMPILER_LAUNCHER`: a program and its arguments, separated
    /// by `;`.
    ///
    /// Returns an error if the program does not exist.
    pub fn from_env(cargo: &Cargo) -> Result<Option<Self>, Error> {
        let Some(text) = cargo.untracked_var(VARIABLE) else { return Ok(None) };
        let mut words = text.split(';').map(str::trim).filter(|word| !word.is_empty());
        let Some(name) = words.next() else { return Ok(None) };
        let program = named(Path::new(name), cargo).ok_or_else(|| {
            let place = if name.contains(['/', '\\']) {
                "there is no such file"
            } else {
                "PATH has no such program"
            };
            let message = format!(
                "{VARIABLE} is '{text}', but {place}: {name}\nInstall the launcher, give its full \
                 path, or unset {VARIABLE} to start compilers directly."
            );
            Error::new(ErrorKind::ToolNotFound, message)
        })?;
        let args = words.map(OsString::from).collect();
        Ok(Some(Self { program, args, text }))
    }

    /// Whether any word of the launcher's command has this name. The first word may be `env`.
    fn is(&self, name: &str) -> bool {
        let is_name = |word: &Path| word.file_stem().is_some_and(|stem| stem == name);
        is_name(&self.program) || self.args.iter().any(|arg| is_name(Path::new(arg)))
    }

    /// Returns an error if the launcher would break one of these steps.
    pub fn check(&self, steps: &[Step]) -> Result<(), Error> {
        if self.is("sccache") && steps.iter().any(|step| step.kind == StepKind::Nvcc) {
            return Err(Error::config(format!(
                "{VARIABLE} is '{}', which breaks nvcc: sccache 0.16 reports success for \
                 'nvcc -cubin' but writes no file, and fails for 'nvcc -c'.\n\
                 Unset the variable for this build, or have clang compile these sources.",
                self.text
            )));
        }
        Ok(())
    }

    /// Returns the step with its command run through the launcher. If the launcher cannot run this
    /// kind of step, returns the step unchanged.
    pub fn launch(&self, step: &Step) -> Step {
        let is_assembled = step.kind == StepKind::Assemble && self.is("sccache");
        if step.kind != StepKind::Compile && !is_assembled {
            return step.clone();
        }
        let mut args = self.args.clone();
        args.push(step.program.clone().into());
        args.extend(step.args.iter().cloned());
        let mut depfile = step.depfile.clone();
        if let Some(depfile) = &mut depfile {
            match depfile.by {
                DepfileBy::Driver | DepfileBy::Cargo => {}
                // A launcher that uses another machine needs the dependency file's path to copy the
                // file back, so the driver's options (`-MD`, `-MF`) name the file. The compiler
                // proper could not write the file, because its folder does not exist on the other
                // machine.
                DepfileBy::CompilerProper { driver_ignores: false, .. } => {
                    depfile.by = DepfileBy::Driver
                }
                DepfileBy::CompilerProper { driver_ignores: true, .. } => {
                    // sccache 0.16 does not recognize the option for system headers, and would
                    // cache nothing.
                    depfile.by = DepfileBy::CompilerProper { driver_ignores: true, system: false };
                    args.extend(depfile.driver_args());
                    // Without this option, the driver warns that it ignores the options for the
                    // dependency file.
                    args.push("-Wno-unused-command-line-argument".into());
                }
            }
        }
        Step { program: self.program.clone(), args, depfile, ..step.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(kind: StepKind, line: &str) -> Step {
        let mut words = line.split(' ');
        let program = words.next().unwrap();
        Step::new(kind, Path::new(program), words.map(OsString::from).collect())
    }

    fn launched(launcher: &str, step: &Step) -> String {
        let mut words = launcher.split(';');
        let program = words.next().unwrap().into();
        let launcher = Launcher {
            program,
            args: words.map(OsString::from).collect(),
            text: launcher.to_owned(),
        };
        launcher.launch(step).to_string()
    }

    #[test]
    fn only_what_reads_a_source_and_writes_an_object() {
        let launched = |launcher: &str, kind, line: &str| launched(launcher, &step(kind, line));
        assert_eq!(
            launched("ccache", StepKind::Compile, "clang -c a.c -o a.o"),
            "ccache clang -c a.c -o a.o"
        );
        let line = "g++ -c a.c -o a.o";
        assert_eq!(
            launched("env;A=b;ccache", StepKind::Compile, line),
            "env A=b ccache g++ -c a.c -o a.o"
        );
        assert_eq!(
            launched("ccache", StepKind::Link, "clang a.bc -o a.hsaco"),
            "clang a.bc -o a.hsaco"
        );
        assert_eq!(
            launched("ccache", StepKind::Generate, "clang -S a.bc -o a.ptx"),
            "clang -S a.bc -o a.ptx"
        );
        assert_eq!(launched("ccache", StepKind::Scan, "clang -E a.cu"), "clang -E a.cu");
        let line = "ptxas a.ptx -o a.cubin";
        assert_eq!(launched("ccache", StepKind::Assemble, line), line);
        assert_eq!(
            launched("/bin/sccache", StepKind::Assemble, line),
            format!("/bin/sccache {line}")
        );
    }

    #[test]
    fn it_is_told_of_the_dependency_file() {
        let compile = |mode: &str, by| {
            let step = step(StepKind::Compile, &format!("clang -x {mode} -c a.cu"));
            step.output(Path::new("a.bc")).depfile("a.d".into(), by)
        };
        let hip = compile("hip", DepfileBy::CompilerProper { driver_ignores: true, system: true });
        let proper = "-Xclang -dependency-file -Xclang a.d -Xclang -MT -Xclang image";
        assert_eq!(
            hip.to_string(),
            format!("clang -x hip -c a.cu -o a.bc {proper} -Xclang -sys-header-deps")
        );
        assert_eq!(
            launched("ccache", &hip),
            format!(
                "ccache clang -x hip -c a.cu -o a.bc -MD -MT image -MF a.d -Wno-unused-command-line-argument {proper}"
            )
        );
        // Options go to clang's compiler proper only if the driver ignores its own options for the
        // dependency file.
        let expected = "env A=b icecc clang -x cuda -c a.cu -o a.bc -MD -MT image -MF a.d";
        for by in
            [DepfileBy::CompilerProper { driver_ignores: false, system: true }, DepfileBy::Driver]
        {
            assert_eq!(launched("env;A=b;icecc", &compile("cuda", by)), expected);
        }
    }

    #[test]
    fn nvcc_and_sccache() {
        let launcher =
            Launcher { program: "/bin/sccache".into(), args: vec![], text: "sccache".into() };
        assert!(launcher.check(&[step(StepKind::Compile, "clang -c a.cu -o a.bc")]).is_ok());
        let nvcc = step(StepKind::Nvcc, "/cuda/bin/nvcc -cubin a.cu -o a.cubin");
        let error = launcher.check(&[nvcc]).unwrap_err().to_string();
        assert!(
            error.starts_with("OFFLOAD_COMPILER_LAUNCHER is 'sccache', which breaks nvcc: "),
            "{error}"
        );
    }
}
