//! The compiler launcher: a program that compilers are started through, which answers from a cache (`sccache`,
//! `ccache`) or from other machines (`icecc`, `distcc`).
//!
//! It makes no difference to what comes out, so it is in no rebuild key. It is given what reads one source and writes
//! one object: more than that, no launcher takes apart. Links and what generates code for all sources of an image run
//! as they are.

use crate::cargo::Cargo;
use crate::error::{Error, ErrorKind};
use crate::jobs::Step;
use crate::toolchain::named;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The program, and what comes between it and the compiler.
#[derive(Debug)]
pub(crate) struct Launcher {
    program: PathBuf,
    args: Vec<OsString>,
    /// As the variable has it.
    text: String,
}

const VARIABLE: &str = "OFFLOAD_COMPILER_LAUNCHER";

/// What is known to go wrong: launcher, compiler, and what happens.
const BROKEN: [(&str, &str, &str); 1] = [(
    "sccache",
    "nvcc",
    "sccache 0.16 ends 'nvcc -cubin' as if all were well and writes no file, and fails for 'nvcc -c'",
)];

impl Launcher {
    /// Where it is named, in words.
    pub(crate) const PLACES: &'static str = VARIABLE;

    pub(crate) fn program(&self) -> &Path {
        &self.program
    }

    /// The one that the environment names: a program, behind it arguments, with `;` between them.
    ///
    /// Returns an error if the program is not there.
    pub(crate) fn from_env(cargo: &Cargo) -> Result<Option<Self>, Error> {
        let Some(text) = cargo.untracked_var(VARIABLE) else { return Ok(None) };
        let mut words = text.split(';').map(str::trim).filter(|word| !word.is_empty());
        let Some(name) = words.next() else { return Ok(None) };
        let program = named(Path::new(name), cargo).ok_or_else(|| {
            let place = if name.contains(['/', '\\']) { "there is no such file" } else { "PATH has no such program" };
            let message = format!(
                "{VARIABLE} is '{text}', and {place}: {name}\n\
                 Install it, give its full path, or unset {VARIABLE}: compilers are then started directly."
            );
            Error::new(ErrorKind::ToolNotFound, message)
        })?;
        let args = words.map(OsString::from).collect();
        Ok(Some(Self { program, args, text }))
    }

    /// Whether it goes by this name. What comes first may be `env`.
    fn is(&self, name: &str) -> bool {
        let words = [self.program.as_os_str()].into_iter().chain(self.args.iter().map(|arg| &**arg));
        words.into_iter().any(|word| Path::new(word).file_stem().is_some_and(|stem| stem == name))
    }

    /// Looks for a step that it would break.
    ///
    /// Returns an error with the reason for the first one.
    pub(crate) fn check<'a>(&self, mut steps: impl Iterator<Item = &'a Step>) -> Result<(), Error> {
        let broken = |step: &Step| {
            let known = BROKEN.iter().find(|(launcher, compiler, _)| self.is(launcher) && is_program(step, compiler));
            known.map(|(_, compiler, why)| {
                Error::config(format!(
                    "{VARIABLE} is '{}', which breaks {compiler}: {why}.\n\
                     Unset it for this build, or have clang compile these sources.",
                    self.text
                ))
            })
        };
        steps.find_map(broken).map_or(Ok(()), Err)
    }

    /// The step, started through the launcher if that can help with it.
    pub(crate) fn launch(&self, step: &Step) -> Step {
        let is_cached = step.is_compilation() || (self.is("sccache") && is_program(step, "ptxas"));
        if !is_cached {
            return step.clone();
        }
        let mut args = self.args.clone();
        args.push(step.program.clone().into());
        args.extend(step.args.iter().cloned());
        if let Some((place, depfile)) = step.compiler_proper_depfile() {
            // The launcher has to know of the file that it is to bring back.
            args.extend(["-MMD".into(), "-MF".into(), depfile.clone(), "-MT".into(), "image".into()]);
            if step.args.iter().any(|arg| arg == "hip") {
                // In this mode the driver forgets -MF, and says so.
                args.push("-Wno-unused-command-line-argument".into());
            } else {
                // On another machine the compiler proper has no such folder.
                let first = self.args.len() + 1;
                args.drain(first + place.start..first + place.end);
            }
        }
        Step { program: self.program.clone(), args, env: step.env.clone(), after: step.after.clone() }
    }
}

fn is_program(step: &Step, name: &str) -> bool {
    step.program.file_stem().is_some_and(|stem| stem == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(line: &str) -> Step {
        let mut words = line.split(' ');
        let program = words.next().unwrap().into();
        Step { program, args: words.map(OsString::from).collect(), env: vec![], after: vec![] }
    }

    fn launched(launcher: &str, line: &str) -> String {
        let mut words = launcher.split(';');
        let program = words.next().unwrap().into();
        let launcher = Launcher { program, args: words.map(OsString::from).collect(), text: launcher.to_owned() };
        launcher.launch(&step(line)).to_string()
    }

    #[test]
    fn only_what_reads_a_source_and_writes_an_object() {
        assert_eq!(launched("ccache", "clang -c a.c -o a.o"), "ccache clang -c a.c -o a.o");
        assert_eq!(launched("env;A=b;ccache", "g++ -c a.c -o a.o"), "env A=b ccache g++ -c a.c -o a.o");
        assert_eq!(launched("ccache", "clang a.bc -o a.hsaco"), "clang a.bc -o a.hsaco");
        assert_eq!(launched("ccache", "clang -S a.bc -o a.ptx"), "clang -S a.bc -o a.ptx");
        assert_eq!(launched("ccache", "ptxas a.ptx -o a.cubin"), "ptxas a.ptx -o a.cubin");
        assert_eq!(launched("/bin/sccache", "ptxas a.ptx -o a.cubin"), "/bin/sccache ptxas a.ptx -o a.cubin");
    }

    #[test]
    fn it_is_told_of_the_dependency_file() {
        let line = "clang -x hip -c a.cu -Xclang -dependency-file -Xclang a.d -Xclang -MT -Xclang image -o a.bc";
        let expected = format!("ccache {line} -MMD -MF a.d -MT image -Wno-unused-command-line-argument");
        assert_eq!(launched("ccache", line), expected);
        // The compiler proper is asked where the driver will not do.
        let expected = "env A=b icecc clang -x cuda -c a.cu -o a.bc -MMD -MF a.d -MT image";
        assert_eq!(launched("env;A=b;icecc", &line.replace("hip", "cuda")), expected);
    }

    #[test]
    fn nvcc_and_sccache() {
        let launcher = Launcher { program: "/bin/sccache".into(), args: vec![], text: "sccache".into() };
        assert!(launcher.check([step("clang -c a.cu -o a.bc")].iter()).is_ok());
        let error = launcher.check([step("/cuda/bin/nvcc -cubin a.cu -o a.cubin")].iter()).unwrap_err().to_string();
        assert!(error.starts_with("OFFLOAD_COMPILER_LAUNCHER is 'sccache', which breaks nvcc: "), "{error}");
    }
}
