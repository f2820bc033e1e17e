//! `gpu`: builds the checks in `gpu/` for a machine with a GPU. Runs them on this machine, or packs
//! them into a folder for a different machine.

use crate::run::{self, Result, fail};
use crate::setup::{self, Scope};
use crate::{apt, files};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The script that starts the checks.
const SCRIPT: &str = include_str!("gpu.sh");

/// The maximum size of the folder in bytes, so that it can be copied easily.
const LARGEST: u64 = 45 << 20;

/// The Debian release whose C library the programs need, and the version of this library.
const OLDEST: (&str, u32) = ("bullseye", 31);

/// The Rust target of the programs. Passing `--target` makes Cargo link build scripts with this
/// machine's C library.
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// The manifest of README's package, which this command writes.
const README: &str = "target/gpu/readme/Cargo.toml";

/// The programs in the folder: the manifest of the package or workspace, the package, and the
/// program's name. In the folder, a program has the package's name. The first is `gpu-checks`,
/// which starts the others. Two examples are missing: hip-vector-add is linked with AMD's runtime,
/// and kernel-tests has no program.
const PROGRAMS: [(&str, &str, &str); 8] = [
    ("gpu/Cargo.toml", "gpu-checks", "gpu-checks"),
    (README, "readme", "readme"),
    ("Cargo.toml", "saxpy", "saxpy"),
    ("examples/Cargo.toml", "one-source", "one-source"),
    ("examples/Cargo.toml", "several-gpus", "several-gpus"),
    ("examples/Cargo.toml", "cuda-vector-add", "cuda-vector-add"),
    ("examples/Cargo.toml", "rust-kernels", "rust-kernels"),
    ("examples/Cargo.toml", "module-library", "compute"),
];

/// Runs `cargo xtask gpu`: runs the checks on this machine, or packs them into a folder for a
/// different one.
pub fn command(folder: Option<&str>) -> Result {
    let (root, travels) = (run::workspace().join("target/gpu"), folder.is_some());
    let programs = build(&root, travels)?;
    let folder = folder.map_or_else(|| root.join("pack"), PathBuf::from);
    let size = pack(&programs, &folder)?;
    println!("{}: {:.1} MB", folder.display(), size as f64 / 1e6);
    if travels {
        return programs.iter().try_for_each(|program| check_versions(program));
    }
    let status = run::status(Command::new("sh").arg(folder.join("run.sh")))?;
    match status.code() {
        // Status 3 means that no GPU ran the checks, but that the CPU passed them.
        Some(0 | 3) => Ok(()),
        _ => fail(format!("run.sh ended with {status}")),
    }
}

/// Builds the programs, and returns their paths. With `travel`, links them with an old C library.
fn build(root: &Path, travel: bool) -> Result<Vec<PathBuf>> {
    let setup = setup::prepare(Scope::All)?;
    let (target, sysroot) = (root.join("target"), root.join("sysroot"));
    if travel {
        fetch(&sysroot)?;
    }
    // In README, the package has the same name as the example saxpy.
    files::write_readme_package(&run::workspace().join(README).with_file_name(""), "readme")?;
    for (manifest, package, _) in PROGRAMS {
        let mut cargo =
            setup.cargo(&format!("build --release --quiet --target {TARGET} --package {package}"));
        cargo.arg("--manifest-path").arg(run::workspace().join(manifest));
        cargo.arg("--target-dir").arg(&target).env("CARGO_PROFILE_RELEASE_STRIP", "true");
        // For README's package, Cargo must be allowed to change the lock file: it removes the
        // crates that the package does not need.
        cargo.args((package != "readme").then_some("--locked"));
        if travel {
            link_with(&mut cargo, &sysroot);
        }
        run::check(&mut cargo)?;
    }
    let built = target.join(TARGET).join("release");
    Ok(PROGRAMS.iter().map(|(_, _, program)| built.join(program)).collect())
}

/// Unpacks an old C library into this folder, unless it is already there.
fn fetch(sysroot: &Path) -> Result {
    let loader = sysroot.join("lib64/ld-linux-x86-64.so.2");
    if loader.exists() {
        return Ok(());
    }
    if !apt::is_here() {
        return fail(format!(
            "a folder that travels is linked with the C library of Debian ({}), which apt-get downloads: make it on Debian",
            OLDEST.0
        ));
    }
    apt::unpack_of(OLDEST.0, &["libc6", "libc6-dev", "libgcc-s1"], sysroot)?;
    // The package's link points to this machine's loader.
    let own = format!("../lib/x86_64-linux-gnu/ld-2.{}.so", OLDEST.1);
    run::check(Command::new("ln").arg("-sf").arg(own).arg(loader))
}

/// Makes Cargo and the C++ compiler link the program and the images for the CPU with the libraries
/// in this folder.
fn link_with(cargo: &mut Command, sysroot: &Path) {
    let root = sysroot.display();
    let (old, new) =
        (format!("{root}/lib/x86_64-linux-gnu"), format!("{root}/usr/lib/x86_64-linux-gnu"));
    let search = format!("-B{new} -L{new} -L{old} -Wl,--sysroot={root}");
    // In this old C library, some functions are in other libraries than today, where rust-lld does
    // not find them.
    let link =
        format!("-fuse-ld=bfd {search} -Wl,--no-as-needed {old}/libdl.so.2 {old}/libpthread.so.0");
    let flags: Vec<String> = link.split(' ').map(|it| format!("-Clink-arg={it}")).collect();
    cargo.env("CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUSTFLAGS", flags.join(" "));
    cargo.env("CXXFLAGS", search);
}

/// Checks that neither a program nor the images in it need a newer C library.
fn check_versions(program: &Path) -> Result {
    let bytes = fs::read(program).map_err(|error| files::failed("read", program, &error))?;
    const START: &[u8] = b"GLIBC_2.";
    let needed = bytes.windows(START.len() + 2).filter(|part| part.starts_with(START));
    let needed = needed.filter_map(|part| std::str::from_utf8(&part[START.len()..]).ok());
    let newest = needed.filter_map(|number| number.parse::<u32>().ok()).max();
    let path = program.display();
    let newest = newest.ok_or_else(|| format!("{path} names no glibc"))?;
    if newest > OLDEST.1 {
        return fail(format!(
            "{path} needs glibc 2.{newest}, and the folder is for 2.{}",
            OLDEST.1
        ));
    }
    println!("{path} needs glibc 2.{newest}");
    Ok(())
}

/// Writes the folder, and returns its size in bytes.
fn pack(programs: &[PathBuf], folder: &Path) -> Result<u64> {
    files::write(&folder.join("run.sh"), SCRIPT)?;
    files::create(&folder.join("bin"))?;
    let mut size = SCRIPT.len() as u64;
    for (built, (_, package, _)) in programs.iter().zip(PROGRAMS) {
        size += files::copy(built, &folder.join("bin").join(package))?;
    }
    if size > LARGEST {
        return fail(format!("the folder has {size} bytes, and may have {LARGEST}"));
    }
    Ok(size)
}
