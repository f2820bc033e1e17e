//! An image of 256 MiB in a library crate, and a program that uses it: whole runs of
//! `cargo build --release`.
//!
//! | workspace | how the image gets into the program |
//! |---|---|
//! | `ours` | offload-build in the library's build script, `include_offload!` |
//! | `include_bytes` | a `static` of the library in the same section with the same alignment, of `include_bytes!` |
//! | `plain` | an object file that is there already, which the program's link gets as one more argument: no copy of the bytes but the linker's own |
//!
//! Two kinds of runs are timed. *Cold*: Cargo's outputs for the two crates are removed, but all of
//! their dependencies are already built. Cargo compiles, links and runs our build script, and then
//! builds the library and the program. The time does not include offload-build, offload-format and
//! the macro, which are compiled once for a workspace; `cargo xtask bench build` measures their
//! compilation. *Edit*: a line of the library's `lib.rs` has changed. Memory is the peak of Cargo's
//! largest process in any of these runs.

use crate::data::{self, Generator};
use crate::measure::{self, Run, Summary};
use crate::package::Package;
use offload_format::host_object::{self, CargoTarget, Machine};
use offload_format::layout::Piece;
use offload_format::section::DeviceSection;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::process::Command;

const IMAGE_SIZE: usize = 256 << 20;

/// The file whose bytes start the image: a real code object. The rest of the image is generated,
/// and resembles code.
const CODE_OBJECT: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/saxpy/prebuilt/saxpy.gfx90a.hsaco");

const SYMBOL: &str = "plain_image";

/// The number of rounds for `include_bytes!`, the slowest workspace; the others have twice as many.
const ROUNDS: usize = 3;

/// Prints the times. With `json`, the last line is an object with the ratios.
pub fn bench(json: bool) {
    println!(
        "embed: an image of 256 MiB in a library crate, cargo build --release; least, median, greatest, peak"
    );
    let folder = data::folder().join("embed");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("the target folder can be written");
    let (image, object) = (folder.join("image.hsaco"), folder.join("image.o"));
    write_image(&image).expect("the target folder can be written");
    write_object(&image, &object).expect("the target folder can be written");

    let [ours, theirs, plain] =
        [ours(&folder, &image), include_bytes(&folder, &image), plain(&folder, &object)];
    let mut edits = [Vec::new(), Vec::new(), Vec::new()];
    let mut colds = [Vec::new(), Vec::new()];
    for workspace in [&ours, &theirs, &plain] {
        workspace.build();
    }
    // The runs take turns, so that other work of the machine affects all of them.
    for round in 0..2 * ROUNDS {
        for (workspace, edits) in [&ours, &theirs, &plain].into_iter().zip(&mut edits) {
            if round % 2 == 0 || workspace.name != theirs.name {
                workspace.edit(round);
                edits.push(workspace.build());
            }
        }
        for (workspace, colds) in [&ours, &theirs].into_iter().zip(&mut colds) {
            if round % 2 == 0 || workspace.name != theirs.name {
                workspace.forget();
                colds.push(workspace.build());
            }
        }
    }
    let [our_edit, their_edit, plain_edit] = edits.map(Summary::of);
    let [our_cold, their_cold] = colds.map(Summary::of);
    println!("  {:<44} {their_cold}", "include_bytes!, cold");
    println!("  {:<44} {our_cold}", "include_offload!, cold");
    println!("  {:<44} {their_edit}", "include_bytes!, after an edit of the library");
    println!("  {:<44} {our_edit}", "include_offload!, after an edit");
    println!("  {:<44} {plain_edit}", "an object given to the linker, after an edit");
    let ratio =
        |ours: &Summary, theirs: &Summary| ours.median.as_secs_f64() / theirs.median.as_secs_f64();
    let memory =
        our_cold.peak.max(our_edit.peak) as f64 / their_cold.peak.max(their_edit.peak) as f64;
    let ratios = [
        ("cold_ratio", ratio(&our_cold, &their_cold), "0.1"),
        ("edit_ratio", ratio(&our_edit, &their_edit), "0.05"),
        ("memory_ratio", memory, "0.25"),
        ("link_ratio", ratio(&our_edit, &plain_edit), "1.5"),
    ];
    for (name, value, most) in ratios {
        println!("  {name:<44} {value:>8.3}   (at most {most})");
    }
    if json {
        let fields = ratios.map(|(name, value, _)| format!("\"{name}\": {value:.4}"));
        println!("{{{}}}", fields.join(", "));
    }
    // The folder has more than 3 GB, so the bench removes it.
    let _ = fs::remove_dir_all(&folder);
}

/// A Cargo workspace of two packages: a library with the image, and a program that reads from the
/// image.
struct Workspace {
    name: &'static str,
    package: Package,
    /// The library's source, without the line that changes in each round.
    library: String,
}

impl Workspace {
    fn new(folder: &Path, name: &'static str, manifest: &str, library: String) -> Self {
        let package = Package::at(folder.join(name));
        package.write(
            "Cargo.toml",
            "[workspace]\nresolver = \"3\"\nmembers = [\"images\", \"app\"]\n",
        );
        let header = |name| {
            format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n")
        };
        package.write("images/Cargo.toml", &(header("images") + manifest));
        package.write(
            "app/Cargo.toml",
            &(header("app") + "[dependencies]\nimages = { path = \"../images\" }\n"),
        );
        package.write(
            "app/src/main.rs",
            "fn main() {\n    let at = std::env::args().count() << 20;\n    \
             println!(\"{} {:?}\", images::edits(), &images::image()[at..at + 8]);\n}\n",
        );
        // With the versions of this lock file, Cargo needs no network.
        let lock = concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.lock");
        fs::copy(lock, package.folder.join("Cargo.lock")).expect("the lock file can be copied");
        let workspace = Self { name, package, library };
        workspace.edit(usize::MAX);
        workspace
    }

    /// Changes a line of the library.
    fn edit(&self, round: usize) {
        let line = format!("pub fn edits() -> usize {{ {round} }}\n");
        self.package.write("images/src/lib.rs", &(line + &self.library));
    }

    /// Removes Cargo's outputs for the two crates.
    fn forget(&self) {
        measure::succeed(&mut self.package.cargo(&[
            "clean",
            "--quiet",
            "--release",
            "-p",
            "images",
            "-p",
            "app",
        ]));
    }

    fn build(&self) -> Run {
        // `sync` writes the output of the previous run to the disk now, so that this does not
        // happen during the timed run.
        measure::succeed(&mut Command::new("sync"));
        let run = measure::process(&mut self.package.cargo(&[
            "build",
            "--quiet",
            "--release",
            "--offline",
        ]));
        measure::succeed(&mut Command::new(self.package.folder.join("target/release/app")));
        run
    }
}

fn ours(folder: &Path, image: &Path) -> Workspace {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("");
    let dependency = |name: &str| format!("{name} = {{ path = {:?} }}\n", crates.join(name));
    let manifest = format!(
        "[dependencies]\n{}\n[build-dependencies]\n{}",
        dependency("offload-gpu"),
        dependency("offload-build")
    );
    let library = "pub static IMAGES: offload_gpu::KernelPack = offload_gpu::include_offload!(\"images\");\n\
                   pub fn image() -> &'static [u8] { IMAGES.images().next().unwrap().bytes() }\n";
    let workspace = Workspace::new(folder, "ours", &manifest, library.to_owned());
    let script = format!(
        "fn main() {{ offload_build::Build::new().file({image:?}).archs([\"gfx90a\"]).compile(\"images\"); }}\n"
    );
    workspace.package.write("images/build.rs", &script);
    workspace
}

fn include_bytes(folder: &Path, image: &Path) -> Workspace {
    let library = format!(
        "#[repr(C, align(4096))]\nstruct Aligned([u8; {IMAGE_SIZE}]);\n\
         #[unsafe(link_section = \".hip_fatbin\")]\nstatic IMAGE: Aligned = Aligned(*include_bytes!({image:?}));\n\
         pub fn image() -> &'static [u8] {{ &IMAGE.0 }}\n"
    );
    Workspace::new(folder, "include_bytes", "", library)
}

fn plain(folder: &Path, object: &Path) -> Workspace {
    let library = format!(
        "unsafe extern \"C\" {{ safe static {SYMBOL}: [u8; {IMAGE_SIZE}]; }}\n\
         pub fn image() -> &'static [u8] {{ &{SYMBOL} }}\n"
    );
    let workspace = Workspace::new(folder, "plain", "", library);
    let script = format!("fn main() {{ println!(\"cargo::rustc-link-arg={{}}\", {object:?}); }}\n");
    workspace.package.write("app/build.rs", &script);
    workspace
}

fn write_image(path: &Path) -> io::Result<()> {
    let code_object = fs::read(CODE_OBJECT)?;
    let mut file = BufWriter::new(File::create(path)?);
    file.write_all(&code_object)?;
    let stretch = Generator(2).code(1 << 20, 30);
    let mut left = IMAGE_SIZE - code_object.len();
    while left > 0 {
        let size = left.min(stretch.len());
        file.write_all(&stretch[..size])?;
        left -= size;
    }
    file.flush()
}

fn write_object(image: &Path, path: &Path) -> io::Result<()> {
    let target = CargoTarget {
        arch: std::env::consts::ARCH,
        os: std::env::consts::OS,
        pointer_width: "64",
        endian: "little",
    };
    let machine = Machine::of(&target).expect("packs can be embedded in this machine's programs");
    let object = host_object::write(machine, DeviceSection::HipFatbin, SYMBOL, IMAGE_SIZE as u64);
    let mut file = File::create(path)?;
    for piece in object.expect("ELF objects have room").pieces() {
        match piece {
            Piece::Bytes(bytes) => file.write_all(bytes)?,
            Piece::Zeros(size) => {
                io::copy(&mut io::Read::take(io::repeat(0), *size), &mut file).map(drop)?
            }
            Piece::Payload { .. } => io::copy(&mut File::open(image)?, &mut file).map(drop)?,
        }
    }
    Ok(())
}
