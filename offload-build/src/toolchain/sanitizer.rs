//! The sanitizers of the C++ compiler, for images of the CPU that check kernels
//! (`OFFLOAD_CPU_CHECK`).

use super::cxx::Cxx;
use super::probe_cache::ProbeCache;
use crate::cargo::Cargo;
use crate::error::{Error, ErrorKind};
use std::fs;
use std::path::{Path, PathBuf};

/// The checks that an image for the CPU makes while its kernels run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Check {
    /// AddressSanitizer, and UndefinedBehaviorSanitizer's checks of indices and alignment.
    Memory,
    /// ThreadSanitizer.
    Races,
    /// UndefinedBehaviorSanitizer.
    Undefined,
    /// Memory and undefined behaviour, checked by one image.
    MemoryAndUndefined,
}

impl Check {
    const VARIABLE: &'static str = "OFFLOAD_CPU_CHECK";

    /// Returns the checks that the environment requests. Each check needs an image of its own.
    fn asked(cargo: &Cargo) -> Result<&'static [Self], Error> {
        let Some(word) = cargo.user_var(Self::VARIABLE) else { return Ok(&[]) };
        Self::parse(&word).ok_or_else(|| {
            Error::config(format!(
                "{} is '{word}'; it can be memory, races, undefined, `memory,undefined`, or all (an image that contains \
                 another one for races)",
                Self::VARIABLE
            ))
        })
    }

    fn parse(word: &str) -> Option<&'static [Self]> {
        Some(match word {
            "memory" => &[Self::Memory],
            "races" => &[Self::Races],
            "undefined" => &[Self::Undefined],
            "memory,undefined" => &[Self::MemoryAndUndefined],
            // ThreadSanitizer cannot be in one image with AddressSanitizer.
            "all" => &[Self::MemoryAndUndefined, Self::Races],
            _ => return None,
        })
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Races => "races",
            Self::Undefined => "undefined",
            Self::MemoryAndUndefined => "memory,undefined",
        }
    }

    /// Returns the checks that this check consists of; each has a macro in `offload/cpu.h`.
    pub(crate) fn parts(self) -> &'static [Self] {
        match self {
            Self::Memory => &[Self::Memory],
            Self::Races => &[Self::Races],
            Self::Undefined => &[Self::Undefined],
            Self::MemoryAndUndefined => &[Self::Memory, Self::Undefined],
        }
    }

    /// Returns the compiler option that turns this check on.
    fn option(self, is_clang: bool) -> &'static str {
        match self {
            // clang's `bounds` includes a check that ends the program without a report;
            // `array-bounds` does not.
            Self::Memory if is_clang => "-fsanitize=address,array-bounds,alignment",
            Self::Memory => "-fsanitize=address,bounds,alignment",
            Self::Races => "-fsanitize=thread",
            Self::Undefined => "-fsanitize=undefined",
            Self::MemoryAndUndefined => "-fsanitize=address,undefined",
        }
    }

    /// Returns the name of the sanitizer's library in GCC and in LLVM.
    fn runtime(self) -> (&'static str, &'static str) {
        match self {
            Self::Memory | Self::MemoryAndUndefined => ("asan", "asan"),
            Self::Races => ("tsan", "tsan"),
            Self::Undefined => ("ubsan", "ubsan_standalone"),
        }
    }
}

/// A sanitizer that the compiler has.
#[derive(Debug)]
pub(crate) struct Sanitizer {
    pub(crate) check: Check,
    pub(crate) is_clang: bool,
    /// The libraries that a program must load before all others.
    pub(crate) libraries: Vec<PathBuf>,
    /// The program with which LLVM's runtimes find source lines. GCC's runtimes find source lines
    /// themselves.
    pub(crate) symbolizer: Option<PathBuf>,
}

impl Sanitizer {
    /// Returns the compiler option that turns the sanitizer on.
    pub(crate) fn option(&self) -> &'static str {
        self.check.option(self.is_clang)
    }

    /// Returns the sanitizers that the environment requests.
    ///
    /// Returns an error if the compiler or the host program's system lacks a sanitizer.
    pub(super) fn find(cxx: &Cxx, probes: &ProbeCache, cargo: &Cargo) -> Result<Vec<Self>, Error> {
        Check::asked(cargo)?.iter().map(|check| Self::of(*check, cxx, probes, cargo)).collect()
    }

    fn of(check: Check, cxx: &Cxx, probes: &ProbeCache, cargo: &Cargo) -> Result<Self, Error> {
        let needs = format!("{}={}", Check::VARIABLE, check.name());
        if cargo.target_arch != "x86_64" || !cargo.target.ends_with("-linux-gnu") {
            return Err(Error::config(format!(
                "{needs} builds the image for the CPU with a sanitizer, which works on x86-64 Linux with glibc and not for \
                 {}: unset it",
                cargo.target
            )));
        }
        let version = cxx.identity.said.lines().find_map(|line| line.split_once("clang version "));
        let is_clang = version.is_some();
        let (gcc, llvm) = check.runtime();
        let names = if is_clang {
            vec![format!("libclang_rt.{llvm}-x86_64.so"), format!("libclang_rt.{llvm}.so")]
        } else {
            vec![format!("lib{gcc}.so")]
        };
        let ask = |option: &str| {
            probes.ask(&cxx.path, &[option]).ok().map(|text| PathBuf::from(text.trim()))
        };
        let anew = |option: &str| {
            probes.ask_anew(&cxx.path, &[option]).ok().map(|text| PathBuf::from(text.trim()))
        };
        let options: Vec<String> =
            names.iter().map(|name| format!("-print-file-name={name}")).collect();
        // If a library is missing, the compiler prints its name without a folder. The package may
        // have been installed since the last probe.
        let found = options.iter().find_map(|option| library(ask(option)?));
        let found = found.or_else(|| options.iter().find_map(|option| library(anew(option)?)));
        let runtime = found.ok_or_else(|| {
            let major = version.and_then(|(_, version)| version.split('.').next()).unwrap_or("22");
            let help = if is_clang {
format!("Debian, Ubuntu: apt install libclang-rt-{major}-dev; Fedora: dnf install compiler-rt")
} else {
format!("Fedora: dnf install lib{gcc}; Debian, Ubuntu: apt install --reinstall g++")
};
            let message = format!(
                "{needs} needs a library of {}, which it does not have: {}\nInstall it ({help}), or name another compiler in \
                 CXX.",
                cxx.path.display(),
                names.join(", ")
            );
            Error::new(ErrorKind::ToolNotFound, message)
        })?;
        let mut libraries = vec![runtime];
        if !is_clang && check.parts().contains(&Check::Memory) {
            // GCC's AddressSanitizer does not find the functions for exceptions in a C++ library
            // that is loaded later.
            libraries.extend(ask("-print-file-name=libstdc++.so").and_then(library));
        }
        let symbolizer = is_clang.then(|| ask("-print-prog-name=llvm-symbolizer")).flatten();
        let symbolizer = symbolizer.filter(|path| path.is_absolute());
        Ok(Self { check, is_clang, libraries, symbolizer })
    }
}

/// Returns the library in a file for the linker: the file itself, or the library that it names if
/// it is a script of GNU ld.
fn library(path: PathBuf) -> Option<PathBuf> {
    let path = fs::canonicalize(path).ok()?;
    let bytes = fs::read(&path).ok()?;
    if bytes.starts_with(b"\x7fELF") {
        return Some(path);
    }
    let text = String::from_utf8(bytes).ok()?;
    let named = text
        .split([' ', '(', ')'])
        .map(Path::new)
        .find(|word| word.is_absolute() && word.is_file())?;
    Some(named.to_owned())
}

#[cfg(test)]
mod tests {
    use super::Check;

    #[test]
    fn each_check_is_asked_for_by_its_name() {
        for check in [Check::Memory, Check::Races, Check::Undefined, Check::MemoryAndUndefined] {
            assert_eq!(Check::parse(check.name()), Some(&[check][..]));
        }
        assert_eq!(Check::parse("race"), None);
    }
}
