//! Prepares what is needed to build and run a host's programs: Debian's Rust compiler, the standard
//! library, and files that no package provides.

use super::host::{Host, MUSL_CXX, Runner, musl_folder, wine_prefix};
use crate::run::{self, Result, fail};
use crate::tools::{self, Need};
use crate::{apt, files, setup};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Makes Cargo use Debian's compiler. The project itself is built with rustup's compiler, but on a
/// machine that can reach only package registries, rustup cannot download standard libraries for
/// other targets.
pub fn lead(cargo: &mut Command) {
    let root = tools::RUST_GPU.folder();
    cargo
        .env("RUSTC", root.join("usr/bin/rustc"))
        .env("RUSTDOC", root.join("usr/bin/rustdoc"))
        .env("LD_LIBRARY_PATH", root.join("usr/lib/x86_64-linux-gnu"));
}

/// Adds a host's standard library to the compiler's. Uses Debian's library if there is one;
/// otherwise Cargo builds it from the compiler's sources, in one to two minutes.
///
/// Cargo could build the library as a part of each build, but then every build inside a test would
/// build it again. An installed library is built once and kept.
pub fn make_std(host: &Host) -> Result {
    let target = host.target;
    // rustc searches this folder for the target's libraries.
    let library = tools::RUST_GPU.folder().join("usr/lib/rustlib").join(target).join("lib");
    let is_std = |path: &PathBuf| files::name(path).starts_with("libstd-");
    if files::list(&library).is_ok_and(|paths| paths.iter().any(is_std)) {
        return Ok(());
    }
    if let Some(architecture) = host.debian
        && apt::is_here()
    {
        match fetch_std(target, architecture, &library) {
            Ok(()) => return Ok(()),
            Err(why) => eprintln!("xtask elsewhere: Debian's library: {}", why.text()),
        }
    }
    eprintln!("xtask elsewhere: building the standard library for {target}");
    let folder = run::workspace().join("target/elsewhere/std");
    // With an empty package, Cargo builds only the standard library.
    let empty = "[package]\nname = \"empty\"\nedition = \"2024\"\n\n[workspace]\n";
    files::write(&folder.join("src/lib.rs"), "#![no_std]\n")?;
    files::write(&folder.join("Cargo.toml"), empty)?;
    let mut cargo = run::cargo(
        "build --quiet --release -Z build-std=std,panic_unwind,panic_abort,test,proc_macro \
         --target-dir target --target",
    );
    lead(&mut cargo);
    run::check(cargo.arg(target).current_dir(&folder).env("RUSTC_BOOTSTRAP", "1"))?;
    let built = folder.join("target").join(target).join("release/deps");
    files::make(&library, |new| {
        for file in files::list(&built)? {
            let name = files::name(&file);
            if name.ends_with(".rlib") && !name.starts_with("libempty-") {
                files::copy(&file, &new.join(&*name))?;
            }
        }
        Ok(())
    })?;
    files::remove(&folder.join("target"))
}

/// Unpacks Debian's standard library for a different architecture. apt uses separate lists, so that
/// the system's lists and architectures stay unchanged.
fn fetch_std(target: &str, architecture: &str, library: &Path) -> Result {
    let new = tools::RUST_GPU.folder().join(format!("std-{architecture}"));
    let architectures = format!("APT::Architectures={architecture}");
    let package = format!("{}:{architecture}", tools::RUST_STD);
    apt::unpack_with(&[&architectures], &[package], &new)?;
    files::put(&new.join("usr/lib/rustlib").join(target).join("lib"), library)?;
    files::remove(&new)
}

/// Installs the programs that run and link a host's programs, and makes the files that no package
/// provides.
pub fn make_tools(host: &Host) -> Result {
    let missing = setup::missing(std::slice::from_ref(host.need))?;
    if !missing.is_empty() {
        let Need { what, elsewhere, .. } = host.need;
        if !apt::is_here() {
            return fail(format!("{what} is missing on this machine; {elsewhere}"));
        }
        apt::install(&missing)?;
    }
    match host.runner {
        Runner::Wine => make_wine(host),
        Runner::Qemu(_) => Ok(()),
        Runner::Musl | Runner::StaticMusl => make_musl(host),
    }
}

/// The source of a library that Wine 8 lacks. Rust's hash tables get random keys from this library.
/// Without it, programs end silently (exit status 53).
const RANDOM: &str = "\
#include <windows.h>
BOOLEAN WINAPI SystemFunction036(PVOID buffer, ULONG size);
__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE buffer, SIZE_T size) {
  return SystemFunction036(buffer, (ULONG)size);
}
";

fn make_wine(host: &Host) -> Result {
    let prefix = wine_prefix();
    let library = prefix.join("drive_c/windows/system32/bcryptprimitives.dll");
    if library.is_file() {
        return Ok(());
    }
    files::create(&prefix)?;
    let mut boot = run::command(tools::WINE_PROGRAM, "wineboot -i");
    run::check(boot.envs(host.environment()).env_remove("DISPLAY"))?;
    let source = tools::folder("elsewhere/bcryptprimitives.c");
    files::write(&source, RANDOM)?;
    let mut compile = run::command(host.compiler(), "-shared -O1 -o");
    run::check(compile.arg(&library).arg(&source).arg("-ladvapi32"))
}

/// The only glibc function that LLVM's unwinder calls but musl lacks.
const FPRINTF_CHK: &str = "\
#include <stdarg.h>
#include <stdio.h>
int __fprintf_chk(FILE *file, int flag, const char *format, ...) {
  va_list list;
  va_start(list, format);
  int written = vfprintf(file, format, list);
  va_end(list);
  return written;
}
";

/// Makes the parts that Debian's musl lacks: an unwinder and a C++ compiler. The unwinder is LLVM's
/// with [`FPRINTF_CHK`]. The compiler is g++, because kernels need no C++ library.
fn make_musl(host: &Host) -> Result {
    let musl = musl_folder();
    let (script, source) = (musl.join(MUSL_CXX), musl.join("fprintf_chk.c"));
    if script.is_file() && fs::read(&source).is_ok_and(|old| old == FPRINTF_CHK.as_bytes()) {
        return Ok(());
    }
    let _ = fs::remove_file(&script);
    files::write(&source, FPRINTF_CHK)?;
    let unpacked = musl.join("unwinder");
    apt::unpack(&[tools::UNWINDER], &unpacked)?;
    let unwind = musl.join("libunwind.a");
    files::copy(&unpacked.join("usr/lib/x86_64-linux-gnu/libunwind.a"), &unwind)?;
    let object = musl.join("fprintf_chk.o");
    let mut compile = run::command(host.compiler(), "-O1 -fPIC -c -o");
    run::check(compile.arg(&object).arg(&source))?;
    run::check(Command::new("ar").arg("rs").arg(&unwind).arg(&object))?;
    // Dynamic programs are linked with this file, which refers to the archive with the unwinder.
    files::write(&musl.join("libgcc_s.so"), "INPUT(-l:libunwind.a -l:libgcc.a)\n")?;
    files::write_script(
        &script,
        "exec g++ -specs=/usr/lib/x86_64-linux-musl/musl-gcc.specs -nostdinc++ \"$@\"\n",
    )
}
