//! Finds the C++ compiler's sanitizers, for CPU images that check kernels (`OFFLOAD_CPU_CHECK`).

use crate::toolchain::compilers::{Cxx, Tools};
use crate::toolchain::{Error, ErrorKind};
use offload_pack::checks::{Check, CheckedImage, variables};
use std::fs;
use std::path::{Path, PathBuf};

/// A sanitizer that the compiler supports.
pub(crate) struct Sanitizer {
    pub(crate) check: Check,
    pub(crate) is_clang: bool,
    /// The libraries that a program must load before all other libraries.
    pub(crate) libraries: Vec<PathBuf>,
    /// The program that LLVM's runtimes start to find source lines. GCC's runtimes need none.
    pub(crate) symbolizer: Option<PathBuf>,
}

impl Sanitizer {
    pub(crate) fn option(&self) -> &'static str {
        match self.check {
            // Unlike `array-bounds`, clang's `bounds` includes a check that ends the program
            // without a report.
            Check::Memory if self.is_clang => "-fsanitize=address,array-bounds,alignment",
            Check::Memory => "-fsanitize=address,bounds,alignment",
            Check::Races => "-fsanitize=thread",
            Check::Undefined => "-fsanitize=undefined",
            Check::MemoryAndUndefined => "-fsanitize=address,undefined",
        }
    }

    /// Returns the sanitizer's description, which the image contains as text.
    pub(crate) fn description(&self) -> CheckedImage {
        let mut libraries = Vec::new();
        for path in &self.libraries {
            libraries.push(path.display().to_string());
        }
        let symbolizer = self.symbolizer.as_ref().map(|path| path.display().to_string());
        CheckedImage {
            check: self.check,
            libraries: libraries.join(":"),
            symbolizer: symbolizer.unwrap_or_default(),
        }
    }

    /// Returns the sanitizers that `OFFLOAD_CPU_CHECK` requests for CPU images.
    ///
    /// Returns an error if the compiler lacks a sanitizer, or the program's target does not support
    /// it.
    pub(crate) fn find(cxx: &Cxx, tools: &Tools<'_>) -> Result<Vec<Self>, Error> {
        let Some(word) = tools.cargo.user_var(variables::CHECK) else { return Ok(Vec::new()) };
        let checks = Check::requested(&word).ok_or_else(|| {
            Error::config(format!(
                "{} is '{word}', but must be 'memory', 'races', 'undefined', 'memory,undefined' or \
                 'all' (which adds a second image for races)",
                variables::CHECK
            ))
        })?;
        let mut sanitizers = Vec::new();
        for check in checks {
            sanitizers.push(Self::of(*check, cxx, tools)?);
        }
        Ok(sanitizers)
    }

    fn of(check: Check, cxx: &Cxx, tools: &Tools<'_>) -> Result<Self, Error> {
        let (cargo, probes) = (tools.cargo, tools.probes());
        let needs = format!("{}={}", variables::CHECK, check.name());
        if cargo.target_arch != "x86_64" || !cargo.target.ends_with("-linux-gnu") {
            return Err(Error::config(format!(
                "{needs} builds the image for the CPU with a sanitizer, which works only on \
                 x86-64 Linux with glibc, not for {}: unset the variable",
                cargo.target
            )));
        }
        let version =
            cxx.identity.version_text.lines().find_map(|line| line.split_once("clang version "));
        let is_clang = version.is_some();
        let (gcc, llvm) = match check {
            Check::Memory | Check::MemoryAndUndefined => ("asan", "asan"),
            Check::Races => ("tsan", "tsan"),
            Check::Undefined => ("ubsan", "ubsan_standalone"),
        };
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
        // If a library is missing, the compiler prints only its name. The library may have been
        // installed since the last probe, so probe again.
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
                "{needs} needs a library that {} does not have: {}\nInstall it ({help}), or name \
                 a different compiler in CXX.",
                cxx.path.display(),
                names.join(", ")
            );
            Error::new(ErrorKind::ToolNotFound, message)
        })?;
        let mut libraries = vec![runtime];
        if !is_clang && check.parts().contains(&Check::Memory) {
            // GCC's AddressSanitizer does not find the exception functions of a C++ library that is
            // loaded after it.
            libraries.extend(ask("-print-file-name=libstdc++.so").and_then(library));
        }
        let symbolizer = is_clang.then(|| ask("-print-prog-name=llvm-symbolizer")).flatten();
        let symbolizer = symbolizer.filter(|path| path.is_absolute());
        Ok(Self { check, is_clang, libraries, symbolizer })
    }
}

/// Returns the library that a linker's input file refers to: the file itself or, for a GNU ld
/// script, the library that the script names.
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
