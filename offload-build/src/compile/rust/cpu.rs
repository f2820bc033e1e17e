//! Builds the command lines that compile a kernel crate for the CPU. Using the program's toolchain,
//! Cargo builds one object from the crate and its dependencies.
//!
//! A stable rustc contains LLVM's sanitizers, but allows their options only with `RUSTC_BOOTSTRAP`.
//! `core` itself is compiled without sanitizers, so only accesses in its generic or inlined
//! functions are checked.

use super::super::sanitizer::Sanitizer;
use super::super::{Compilation, Compilations};
use super::{Crate, Recipe};
use crate::toolchain::exec::Step;
use offload_pack::checks::Check;
use std::path::{Path, PathBuf};

/// The option that selects the CPU in offload-kernel and its macros.
const CFG: &str = "--cfg=offload_cpu";

impl Compilations<'_> {
    /// Returns the step in which Cargo compiles the crate to an object for a CPU image. `folder`
    /// becomes Cargo's target folder.
    pub(in super::super) fn crate_for_cpu(
        &self,
        to: &mut Compilation,
        of: Crate<'_>,
        sanitizer: Option<&Sanitizer>,
        folder: PathBuf,
        object: &Path,
    ) -> Step {
        let mut recipe = self.recipe_for_cpu(folder);
        let mut rust = of.rust.clone();
        if let Some(sanitizer) = sanitizer {
            recipe.flags.extend(sanitizer.of_rust().map(str::to_owned));
            // Since Rust 1.91, rustc refuses to link crates built with ThreadSanitizer to a `core`
            // built without it.
            if sanitizer.check == Check::Races && rust.minor().is_none_or(|minor| minor >= 91) {
                recipe.flags.push("-Cunsafe-allow-abi-mismatch=sanitizer".to_owned());
            }
            rust.env.push(("RUSTC_BOOTSTRAP".into(), "1".into()));
        }
        self.compiling(to, Crate { rust: &rust, ..of }, &recipe, "obj", object)
    }

    /// Adds the step in which the program's toolchain describes a crate's kernels.
    pub(in super::super) fn describe_for_cpu(&self, to: &mut Compilation, of: Crate<'_>) {
        self.describe(to, of, &self.recipe_for_cpu(self.work("target")));
    }

    fn recipe_for_cpu(&self, folder: PathBuf) -> Recipe<'_> {
        let flags = vec![CFG.to_owned(), "-Crelocation-model=pic".to_owned()];
        Recipe { triple: &self.cargo.target, folder, flags, builds_core: false }
    }
}

impl Sanitizer {
    /// Returns rustc's options for kernels, which match the C++ options in `compile/cpu.rs`.
    fn of_rust(&self) -> impl Iterator<Item = &'static str> {
        let own: &[&str] = match self.check {
            Check::Memory | Check::MemoryAndUndefined => {
                &["-Zsanitizer=address", "-Zsanitizer-recover=address"]
            }
            Check::Races => &["-Zsanitizer=thread", "-Cllvm-args=-tsan-distinguish-volatile"],
            Check::Undefined => &[],
        };
        let all: &[&str] = &[
            // The C++ compiler links the sanitizer's library, so rustc must not.
            "-Zexternal-clangrt",
            // These options make overflows panic, as well as unsafe functions in `core` whose
            // preconditions are violated, such as `get_unchecked` beyond the end of a slice.
            "-Cdebug-assertions=on",
            "-Coverflow-checks=on",
            "-Copt-level=1",
            "-Cdebuginfo=1",
            "-Cforce-frame-pointers=yes",
            // This is the pass that clang runs for `-fsanitize-coverage=trace-pc`.
            "-Cpasses=sancov-module",
            "-Cllvm-args=-sanitizer-coverage-level=3 -sanitizer-coverage-trace-pc",
        ];
        own.iter().chain(all).copied()
    }
}
