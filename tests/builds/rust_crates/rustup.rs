//! A kernel crate beside a package that also has C++ sources. A rustup toolchain compiles the
//! crate. Scripts replace rustup's `rustc` and `cargo`. If a file marks the toolchain as installed,
//! the scripts start the unpacked compiler as this toolchain.

use super::RUST;
use offload_tests::prelude::*;
use offload_tests::scenario::rust_compiler;
use std::time::SystemTime;

const CHANNEL: &str = "nightly-2026-05-25";

const KERNELS: &str = "#![no_std]
#![feature(abi_gpu_kernel)]

/// Writes a number.
#[unsafe(no_mangle)]
pub unsafe extern \"gpu-kernel\" fn fill(y: *mut u32) {
    // SAFETY: the launch passes a number.
    unsafe { *y = shared::NUMBER }
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    loop {}
}
";

const ADD: &str =
    "#include \"value.h\"\nextern \"C\" __global__ void add(float *y) { *y += VALUE; }\n";

const MAIN: &str = "use offload_gpu::run::{Buffer, Device};\n\nmod kernels {\n    \
                    offload_gpu::include_kernels!(\"pack\");\n}\n\n#[expect(dead_code)]\n\
                    fn launch(gpu: &Device, y: &mut Buffer<u32>, z: &mut Buffer<f32>) {\n    unsafe {\n        \
                    kernels::fill(y).launch(gpu, 1, 1).unwrap();\n        \
                    kernels::add(z).launch(gpu, 1, 1).unwrap();\n    }\n}\n\n\
                    fn main() {\n    for image in kernels::PACK.images() {\n        \
                    println!(\"{} {}\", image.target(), image.origin());\n    }\n}\n";

/// The package, with the folders that are beside it.
struct Package {
    scenario: Scenario,
    /// The scripts' folder, which is also rustup's.
    rustup: PathBuf,
}

impl Package {
    fn new(name: &str) -> Self {
        let scenario = Scenario::without_sources(name);
        let beside = |folder: &str| format!("../{name}_{folder}");
        for folder in ["kernels", "shared"] {
            let _ = fs::remove_dir_all(scenario.folder.join(beside(folder)));
        }
        let kernels = beside("kernels/gpu");
        scenario
            .manifest("package", "exclude = [\"rustup\"]")
            .write(
                "src/main.rs",
                MAIN,
            )
            .write("kernels/add.cu", ADD)
            .write("kernels/value.h", "#define VALUE 1\n")
            .pack(
                "pack",
                &format!(
                    ".file(Source::new(\"{kernels}/Cargo.toml\").supports([\"nvidia\"]))\
                     .file(Source::new(\"kernels/add.cu\").supports([\"amd\"]))\
                     .archs([\"compute_80\", \"gfx90a\"])"
                ),
            )
            .write(&format!("{kernels}/src/lib.rs"), KERNELS)
            .write(
                &format!("{kernels}/Cargo.toml"),
                format!(
                    "[package]\nname = \"kernels\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[workspace]\n\n\
                     [profile.release]\ndebug = true\n\n[dependencies]\nshared = {{ path = \"../{}\" }}\n",
                    beside("shared")
                ),
            )
            .write(
                &beside("kernels/rust-toolchain.toml"),
                format!("[toolchain]\nchannel = \"{CHANNEL}\"\n"),
            )
            .write(&format!("{}/src/lib.rs", beside("shared")), shared(1))
            .write(
                &format!("{}/Cargo.toml", beside("shared")),
                "[package]\nname = \"shared\"\nversion = \"0.1.0\"\nedition = \"2024\"\n",
            );
        let rustup = scenario.folder.join("rustup");
        let package = Self { scenario, rustup };
        package.write_scripts();
        package
    }

    fn write_scripts(&self) {
        let real = rust_compiler(&self.scenario);
        let path = env::var_os("PATH").expect("PATH is set");
        let found = env::split_paths(&path).map(|folder| folder.join("rustc"));
        let host = found.into_iter().find(|path| path.is_file()).expect("rustc is in PATH");
        let home = env::var_os("RUSTUP_HOME").map_or_else(
            || PathBuf::from(env::var_os("HOME").expect("HOME is set")).join(".rustup"),
            PathBuf::from,
        );
        let cargo = env::var("CARGO").expect("Cargo runs the tests");
        let (toolchain, installed) = (self.toolchain(), self.toolchain().join("bin/rustc"));
        let library = PathBuf::from(env::var_os("OFFLOAD_TEST_RUST_GPU").expect("it was checked"));
        fs::create_dir_all(&toolchain).expect("the scratch folder can be written");
        scratch::symlink(library.join("usr/lib"), toolchain.join("lib")).expect("it is empty");
        let log = self.log();
        scratch::write(&log, "");
        scratch::write(self.rustup.join("update-hashes/stable"), "");
        // Cargo reads this file, because it is in Cargo's working folder.
        scratch::write(
            self.rustup.join("configured/.cargo/config.toml"),
            "[build]\nbuild-dir = \"elsewhere\"\n",
        );
        let (real, host, home) = (real.display(), host.display(), home.display());
        let (toolchain, installed, log) = (toolchain.display(), installed.display(), log.display());
        self.scenario.script(
            "rustup/bin/rustc",
            &format!(
                "if [ \"$RUSTUP_TOOLCHAIN\" != {CHANNEL} ]; then RUSTUP_HOME='{home}' exec '{host}' \"$@\"; fi\n\
                 if [ ! -f '{installed}' ]; then echo \"error: toolchain '{CHANNEL}' is not installed\" >&2; exit 1; fi\n\
                 echo \"rustc $*\" >> '{log}'\n\
                 export RUSTC_BOOTSTRAP=1\n\
                 case \"$*\" in '--print sysroot') echo '{toolchain}';; -vV) '{real}' -vV | sed \"s/^release: .*/&-nightly/; s/1[.]96[.]0/$(cat '{installed}')/\";; \
                 *) exec '{real}' \"$@\";; esac"
            ),
        );
        self.scenario.script(
            "rustup/bin/cargo",
            &format!(
                "[ \"$RUSTUP_TOOLCHAIN\" = {CHANNEL} ] || exit 9\n\
                 echo \"cargo $1\" >> '{log}'\n\
                 cd '{}' && RUSTC_BOOTSTRAP=1 exec '{cargo}' \"$@\"",
                self.rustup.join("configured").display()
            ),
        );
    }

    fn log(&self) -> PathBuf {
        self.rustup.join("log")
    }

    /// Returns the commands that the scripts have logged since the last call.
    fn started(&self) -> String {
        let text = fs::read_to_string(self.log()).expect("the log is there");
        scratch::write(self.log(), "");
        text
    }

    fn toolchain(&self) -> PathBuf {
        self.rustup.join("toolchains").join(CHANNEL)
    }

    /// Acts like rustup when it installs a version of the toolchain.
    fn install(&self, version: &str) {
        scratch::write(self.toolchain().join("bin/rustc"), version);
        scratch::write(self.rustup.join("update-hashes").join(CHANNEL), version);
    }

    fn uninstall(&self) {
        fs::remove_file(self.toolchain().join("bin/rustc")).expect("it was installed");
        fs::remove_file(self.rustup.join("update-hashes").join(CHANNEL)).expect("it was installed");
    }

    fn build(&self) -> Run<'_> {
        let build = self.scenario.build().release().without(&["OFFLOAD_RUSTC"]);
        build.path([self.rustup.join("bin")]).env("RUSTUP_HOME", &self.rustup)
    }

    fn beside(&self, path: &str) -> String {
        format!("../{}_{path}", self.scenario.name())
    }

    fn times(&self) -> [SystemTime; 2] {
        ["compute_80.ptx", "gfx90a.hsaco"]
            .map(|file| self.scenario.output_time("release", &format!("pack/{file}")))
    }

    /// Makes a change and builds. Returns whether the build recompiled the crate's image, and
    /// whether it recompiled the C++ source's image.
    fn made_again(&self, change: impl FnOnce()) -> [bool; 2] {
        let before = self.times();
        self.scenario.touch_build_script();
        change();
        self.build().passes();
        let after = self.times();
        [before[0] != after[0], before[1] != after[1]]
    }
}

fn shared(number: u32) -> String {
    format!("#![no_std]\npub const NUMBER: u32 = {number};\n")
}

#[test(RUST.slow())]
fn a_crate_beside_the_package() {
    let package = Package::new("rust_beside");
    let scenario = &package.scenario;
    package
        .build()
        .fails()
        .has(&format!("rustup toolchain install {CHANNEL} --component rust-src"));
    package.install("1.96.0");
    package.build().passes();
    assert!(scenario.folder.join(package.beside("kernels/gpu/Cargo.lock")).is_file());
    let started = package.started();
    assert_eq!(started.matches("cargo generate-lockfile").count(), 1, "{started}");

    // ptxas accepts only line tables, and refuses other debug information.
    let ptx = scenario.output("release", "pack/compute_80.ptx");
    assert!(read(&ptx).windows(4).any(|it| it == b".loc"), "{}", ptx.display());
    let cubin = scenario.folder.join("judged.cubin");
    succeed(cuda("ptxas").arg("-arch=sm_80").arg(ptx).arg("-o").arg(cubin));

    // Without a change, the build script must not start the toolchain.
    assert_eq!(package.made_again(|| {}), [false, false], "nothing changed");
    assert_eq!(package.started(), "");
    // The signatures must not contain absolute paths.
    let signatures = scenario.output_text("release", "pack/compute_80.signatures");
    let place =
        format!("place {}:6\ncomment Writes a number.\n", package.beside("kernels/gpu/src/lib.rs"));
    assert!(signatures.contains(&place), "no {place} in\n{signatures}");
    let edited = KERNELS.replace("NUMBER", "NUMBER + 1");
    let kernels = package.beside("kernels/gpu/src/lib.rs");
    let edit = || _ = scenario.write(&kernels, &edited);
    assert_eq!(package.made_again(edit), [true, false], "a kernel in Rust");
    let edit = || _ = scenario.write("kernels/value.h", "#define VALUE 2\n");
    assert_eq!(package.made_again(edit), [false, true], "a kernel in C++");
    package.started();

    // Cargo never removes its records itself. `OFFLOAD_REBUILD` must remove them, wherever Cargo's
    // configuration would put them.
    scenario.touch_build_script();
    package.build().env("OFFLOAD_REBUILD", "1").passes();
    assert!(package.started().contains("cargo rustc"), "all is made again");
    assert!(!package.rustup.join("configured/elsewhere").exists());
    // The variable may also name rustup's `rustc`.
    let proxy = package.rustup.join("bin/rustc");
    package.build().env("OFFLOAD_RUSTC", proxy).passes();

    the_set_has_what_is_beside(&package);
    toolchains_that_come_and_change(&package);
    a_package_of_it(&package);
}

/// The prebuilt set must list the files of crates beside the package, and all compilers.
fn the_set_has_what_is_beside(package: &Package) {
    let scenario = &package.scenario;
    package.build().env("OFFLOAD_PREBUILT", "update").passes();
    let manifest = scenario.text("prebuilt/pack.manifest");
    let files = [
        "kernels/gpu/Cargo.toml",
        "kernels/gpu/Cargo.lock",
        "kernels/gpu/src/lib.rs",
        "shared/Cargo.toml",
        "shared/src/lib.rs",
    ];
    for line in ["compiler ", "rust rustc 1.96.0", " kernels/value.h"]
        .map(str::to_owned)
        .into_iter()
        .chain(files.map(|file| format!(" {}", package.beside(file))))
    {
        assert!(manifest.contains(&line), "no {line} in\n{manifest}");
    }
    let folder = scenario.folder.parent().expect("a scratch folder").display().to_string();
    assert!(!manifest.contains(&folder), "paths of this machine in\n{manifest}");
    let only = || package.build().env("OFFLOAD_PREBUILT", "only");
    only().passes();
    let file = package.beside("shared/src/lib.rs");
    scenario.write(&file, shared(2));
    only().fails().has(&format!("{file} has changed since prebuilt/pack.manifest was made"));
    scenario.write(&file, shared(1));
    // A file outside all packages cannot be an input of a prebuilt set, because other machines lack
    // it.
    let kernels = package.beside("kernels/gpu/src/lib.rs");
    let text = scenario.text(&kernels);
    scenario.write(&kernels, format!("{text}const _: &[u8] = include_bytes!(\"/etc/passwd\");\n"));
    let update = package.build().env("OFFLOAD_PREBUILT", "update").fails();
    update.has("a prebuilt set must work on every machine, but /etc/passwd is an absolute path");
    scenario.write(&kernels, text);
}

/// A build without a toolchain uses the prebuilt set. Once rustup has installed the toolchain, the
/// next build must compile the crate.
fn toolchains_that_come_and_change(package: &Package) {
    let scenario = &package.scenario;
    package.uninstall();
    scenario.touch_build_script();
    let prebuilt = format!("because no Rust toolchain {CHANNEL} was found");
    package.build().passes().has(&prebuilt);
    package.started();
    package.build().arg("-v").passes().found_fresh(scenario.name());
    assert_eq!(package.started(), "", "nothing has changed");
    // This new file names a different toolchain. It has rustup's older file name, which takes
    // precedence.
    let file = package.beside("kernels/rust-toolchain");
    scenario.write(&file, "nightly-2000-01-01\n");
    package.build().passes().has("because no Rust toolchain nightly-2000-01-01 was found");
    package.build().arg("-v").passes().found_fresh(scenario.name());
    fs::remove_file(scenario.folder.join(file)).expect("it was written");
    package.build().passes().has(&prebuilt);
    package.install("1.96.0");
    package.build().arg("-v").passes().lacks(&prebuilt).ran_the_build_script();
    // A different nightly is installed under the same name.
    assert_eq!(package.made_again(|| package.install("1.99.0")), [true, false], "another nightly");
}

/// `cargo package` must leave out the crates beside the package, without reporting them as missing.
fn a_package_of_it(package: &Package) {
    let scenario = &package.scenario;
    let pack = || scenario.package().without(&["OFFLOAD_RUSTC"]);
    let manifest = scenario.text("Cargo.toml");
    let excluded = manifest.replace("\"rustup\"", "\"rustup\", \"kernels/value.h\"");
    scenario.write("Cargo.toml", excluded);
    pack().fails().has("kernels/value.h, an input of prebuilt/pack.manifest, cannot be read");
    scenario.write("Cargo.toml", manifest);
    // The folder beside the unpacked package now contains a different crate.
    let folder = scenario.packaged();
    let kernels = package.beside("kernels");
    let beside = folder.with_file_name(kernels.trim_start_matches("../"));
    scratch::write(beside.join("gpu/Cargo.toml"), "[package]\nname = \"other\"\n");
    pack().passes().has("because this package does not contain");
    fs::remove_dir_all(beside).expect("it was written");
}
