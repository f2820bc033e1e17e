//! The example, from `cargo build` to the result: with all compilers, with none for GPUs, with some.

use libtest_mimic::{Completion, Trial};
use offload_format::offload_binary::{OffloadBinaries, OffloadKind};
use offload_tests::package::{Package, printed};
use offload_tests::tools::{self, Tool, llvm, llvm_bin, stderr, stdout, succeed};
use offload_tests::{scratch, test};
use std::collections::BTreeMap;
use std::env::consts::ARCH;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Output};
use std::sync::LazyLock;

fn main() -> ExitCode {
    offload_tests::run(vec![
        test("everything_is_compiled_in_the_release_profile", COMPILERS, everything_is_compiled_in_release),
        test("everything_is_compiled_in_the_dev_profile", COMPILERS, everything_is_compiled_in_dev),
        test("a_stripped_program_keeps_its_images", COMPILERS, a_stripped_program_keeps_its_images),
        test("prebuilt_images_stand_in_for_all_gpu_compilers", &[Tool::Gcc], prebuilt_images_stand_in),
        test("only_cubins_are_prebuilt_without_ptxas", &[Tool::Llvm22, Tool::Gcc, Tool::HideablePtxas], without_ptxas),
        test("prebuilt_images_of_other_sources_are_refused", &[Tool::Gcc], prebuilt_images_of_other_sources),
        the_prebuilt_set_is_what_the_compilers_make(),
        test("devices_are_taken_by_name", &[Tool::Gcc], devices_are_taken_by_name),
        test("explain_tells_which_image_and_why_not_the_others", &[Tool::Gcc], explain),
        test("wrong_command_lines_end_with_2", &[Tool::Gcc], wrong_command_lines),
    ])
}

const COMPILERS: &[Tool] = &[Tool::Llvm22, Tool::Cuda, Tool::Gcc];

/// A target of the example's build script.
struct Target {
    name: &'static str,
    /// The image, in `OUT_DIR`; in the prebuilt set `saxpy.` comes before it.
    file: &'static str,
    /// What the example calls the image, and what LLVM calls it.
    kind: &'static str,
    llvm_kind: &'static str,
    /// The programming model, as LLVM names it.
    producer: &'static str,
}

const fn target(
    name: &'static str,
    file: &'static str,
    kind: &'static str,
    llvm_kind: &'static str,
    producer: &'static str,
) -> Target {
    Target { name, file, kind, llvm_kind, producer }
}

const TARGETS: [Target; 8] = [
    target("gfx90a", "gfx90a.hsaco", "code object", "elf", "hip"),
    target("gfx942", "gfx942.hsaco", "code object", "elf", "hip"),
    target("gfx1100", "gfx1100.hsaco", "code object", "elf", "hip"),
    target("gfx12-generic", "gfx12-generic.hsaco", "code object", "elf", "hip"),
    target("sm_80", "sm_80.cubin", "cubin", "cubin", "cuda"),
    target("sm_90", "sm_90.cubin", "cubin", "cubin", "cuda"),
    target("compute_80", "compute_80.ptx", "PTX", "ptx", "cuda"),
    target("cpu", "cpu.so", "shared object", "elf", "none"),
];

impl Target {
    fn triple(&self) -> String {
        match self.producer {
            "hip" => "amdgcn-amd-amdhsa".to_owned(),
            "cuda" => "nvptx64-nvidia-cuda".to_owned(),
            _ => format!("{ARCH}-unknown-linux-gnu"),
        }
    }

    /// The string `arch` of its offload binary.
    fn arch(&self) -> Option<&'static str> {
        (self.name != "cpu").then_some(self.name)
    }

    fn offload_kind(&self) -> OffloadKind {
        match self.producer {
            "hip" => OffloadKind::HIP,
            "cuda" => OffloadKind::CUDA,
            _ => OffloadKind::NONE,
        }
    }
}

/// A copy of the example that was built.
struct Built {
    package: Package,
    name: &'static str,
    profile: &'static str,
    program: PathBuf,
    /// What the build printed.
    said: String,
}

impl Built {
    fn new(name: &'static str, profile: &'static str, configure: impl FnOnce(&mut Command)) -> Self {
        let package = Package::copy_of("examples/saxpy", name);
        let mut build = package.cargo(&["build", "--profile", profile]);
        configure(&mut build);
        let said = stderr(&succeed(&mut build));
        // The profile `dev` has a folder by another name.
        let profile = if profile == "dev" { "debug" } else { profile };
        let program = package.program(profile, name);
        Self { package, name, profile, program, said }
    }

    fn compiled(name: &'static str, profile: &'static str) -> Self {
        Self::new(name, profile, |build| {
            build.env("OFFLOAD_CLANG", clang()).env("OFFLOAD_PREBUILT", "never");
        })
    }

    /// The image of a target, where the build has it: `compiled` or `prebuilt`.
    fn image(&self, target: &Target, origin: &str) -> Vec<u8> {
        match origin {
            "prebuilt" => prebuilt(target.file),
            _ => read(&self.package.output(self.profile, self.name, &format!("saxpy/{}", target.file))),
        }
    }

    /// Checks that this is embedded, byte for byte and in order, and that the program says where each image came from;
    /// then that it runs.
    fn check(&self, origin: impl Fn(&Target) -> &'static str) {
        let images: Vec<Vec<u8>> = TARGETS.iter().map(|target| self.image(target, origin(target))).collect();

        let section = section(&self.program, ".llvm.offloading");
        let embedded: Vec<_> =
            OffloadBinaries::new(&section).flat_map(|binary| binary.expect("it is sound").1.images()).collect();
        assert_eq!(embedded.len(), TARGETS.len());
        for ((target, image), embedded) in TARGETS.iter().zip(&images).zip(embedded) {
            assert_eq!(embedded.arch(), target.arch());
            assert_eq!(embedded.triple(), Some(&*target.triple()), "{}", target.name);
            assert_eq!(embedded.offload_kind(), target.offload_kind(), "{}", target.name);
            assert!(embedded.data() == image, "{}: the embedded image is not the file's", target.name);
        }

        let output = without_gpu(&self.program, &[]);
        let rows: Vec<String> = TARGETS
            .iter()
            .zip(&images)
            .map(|(target, image)| format!("{} {} {} {}", target.name, target.kind, image.len(), origin(target)))
            .collect();
        assert_eq!(rows_below(&stdout(&output), "target kind bytes origin"), rows);
        assert_runs_on_cpu(&output);
    }
}

fn clang() -> PathBuf {
    llvm_bin().join("clang")
}

fn read(path: &Path) -> Vec<u8> {
    fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn prebuilt_folder() -> PathBuf {
    scratch::workspace().join("examples/saxpy/prebuilt")
}

/// An image of the set in the repository.
fn prebuilt(file: &str) -> Vec<u8> {
    read(&prebuilt_folder().join(format!("saxpy.{file}")))
}

/// The bytes of a section of a program.
fn section(program: &Path, name: &str) -> Vec<u8> {
    let (dump, rest) = (program.with_extension("section"), program.with_extension("rest"));
    let what = format!("{name}={}", dump.display());
    succeed(Command::new("objcopy").args(["--dump-section", &what]).arg(program).arg(rest));
    read(&dump)
}

/// Runs a program that finds no GPU, even if there is one.
fn without_gpu(program: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(program);
    command.args(args).env("CUDA_VISIBLE_DEVICES", "").env("HIP_VISIBLE_DEVICES", "-1");
    command.output().unwrap_or_else(|error| panic!("{} does not start: {error}", program.display()))
}

#[track_caller]
fn assert_runs_on_cpu(output: &Output) {
    assert!(output.status.success(), "{}\n{}", output.status, printed(output));
    let text = stdout(output);
    assert_eq!(rows_below(&text, "device product is image because")[0], cpu_row(), "{text}");
    assert!(text.contains("  no CUDA driver (") || text.contains("  no NVIDIA GPU ("), "{text}");
    assert!(text.contains("  no HIP runtime (") || text.contains("  no AMD GPU ("), "{text}");
    let last = "Ran the cpu shared object on cpu: all 1048576 elements are right.";
    assert_eq!(text.lines().last(), Some(last));
    assert_eq!(stderr(output), "");
}

fn cpu_row() -> String {
    format!("cpu linux {ARCH} the CPU cpu shared object made for this CPU")
}

/// The lines between a table's header and the next empty line, without what pads their columns.
fn rows_below(text: &str, header: &str) -> Vec<String> {
    let mut lines = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    assert!(lines.any(|line| line == header), "no table '{header}' in\n{text}");
    lines.take_while(|line| !line.is_empty()).collect()
}

/// What is in the lines by which a build says that images are prebuilt.
const PREBUILT_LINE: &str = " from prebuilt/, because ";

static RELEASE: LazyLock<Built> = LazyLock::new(|| Built::compiled("saxpy-compiled", "release"));

fn everything_is_compiled_in_release() {
    RELEASE.check(|_| "compiled");
    assert!(!RELEASE.said.contains(PREBUILT_LINE), "{}", RELEASE.said);
    assert_llvm_finds_the_images(&RELEASE, &RELEASE.program);
}

fn everything_is_compiled_in_dev() {
    let built = Built::compiled("saxpy-compiled-dev", "dev");
    built.check(|_| "compiled");
    assert!(!built.said.contains(PREBUILT_LINE), "{}", built.said);
    assert_llvm_finds_the_images(&built, &built.program);
}

fn a_stripped_program_keeps_its_images() {
    let stripped = RELEASE.package.folder.join("stripped");
    succeed(Command::new("strip").arg("-o").arg(&stripped).arg(&RELEASE.program));
    let symbols = stdout(&succeed(llvm("llvm-readelf").arg("-S").arg(&stripped)));
    assert!(!symbols.contains(".symtab"), "it is not stripped: {symbols}");
    assert_llvm_finds_the_images(&RELEASE, &stripped);
    assert_runs_on_cpu(&without_gpu(&stripped, &[]));
}

/// `llvm-objdump` lists all images of a finished program, in order, and `llvm-offload-binary` takes each out of it.
fn assert_llvm_finds_the_images(built: &Built, program: &Path) {
    // Into a folder of its own, since the tools write beside what they read.
    let name = program.file_name().expect("a program has a name").to_string_lossy();
    let folder = built.package.folder.join(format!("llvm-{name}"));
    fs::create_dir_all(&folder).expect("the scratch folder can be written");
    fs::copy(program, folder.join("program")).expect("the program can be copied");

    let listing = stdout(&succeed(llvm("llvm-objdump").args(["--offloading", "program"]).current_dir(&folder)));
    let listed: Vec<&str> = listing.lines().filter(|line| !line.is_empty()).map(str::trim_end).skip(1).collect();
    let mut expected = Vec::new();
    for (index, target) in TARGETS.iter().enumerate() {
        expected.push(format!("OFFLOADING IMAGE [{index}]:"));
        expected.push(format!("kind            {}", target.llvm_kind));
        expected.push(format!("arch            {}", target.arch().unwrap_or("")).trim_end().to_owned());
        expected.push(format!("triple          {}", target.triple()));
        expected.push(format!("producer        {}", target.producer));
    }
    assert_eq!(listed, expected);

    for target in &TARGETS {
        let which = target.arch().map_or_else(|| format!("triple={}", target.triple()), |arch| format!("arch={arch}"));
        let image = format!("--image=file={},{which}", target.file);
        succeed(llvm("llvm-offload-binary").args(["program", &image]).current_dir(&folder));
        let same = read(&folder.join(target.file)) == built.image(target, "compiled");
        assert!(same, "{}: what LLVM finds in the program is not what was compiled", target.name);
    }
}

/// A build that asks for no GPU compiler: those that the variables name do not exist.
static PREBUILT: LazyLock<Built> = LazyLock::new(|| {
    Built::new("saxpy-prebuilt", "release", |build| {
        build.env("OFFLOAD_PREBUILT", "only");
        build.env("OFFLOAD_CLANG", "/no/such/clang").env("OFFLOAD_PTXAS", "/no/such/ptxas");
    })
});

/// The set must be that of today's kernel and header: where it is not, this fails, and `cargo xtask prebuilt` remakes it.
fn prebuilt_images_stand_in() {
    PREBUILT.check(|target| if target.name == "cpu" { "compiled" } else { "prebuilt" });
    let warning = "warning: saxpy-prebuilt@0.1.0: pack \"saxpy\": gfx90a, gfx942, gfx1100, gfx12-generic, sm_80, sm_90, \
                   compute_80 from prebuilt/, because OFFLOAD_PREBUILT=only";
    assert!(PREBUILT.said.lines().any(|line| line == warning), "{}", PREBUILT.said);
    assert_eq!(PREBUILT.said.matches(PREBUILT_LINE).count(), 1, "{}", PREBUILT.said);
}

/// Cubins need ptxas; all else is made by clang and the C++ compiler.
fn without_ptxas() {
    let path = path_without("ptxas", "saxpy-path-without-ptxas");
    let built = Built::new("saxpy-without-ptxas", "release", |build| {
        for root in ["CUDA_HOME", "CUDA_PATH", "CUDA_ROOT", "CUDA_TOOLKIT_ROOT_DIR"] {
            build.env_remove(root);
        }
        build.env("OFFLOAD_CLANG", clang()).env("PATH", path);
    });
    built.check(|target| if target.file.ends_with(".cubin") { "prebuilt" } else { "compiled" });
    let warning = "warning: saxpy-without-ptxas@0.1.0: pack \"saxpy\": sm_80, sm_90 from prebuilt/, \
                       because no ptxas was found";
    assert!(built.said.lines().any(|line| line == warning), "{}", built.said);
    assert_eq!(built.said.matches(PREBUILT_LINE).count(), 1, "{}", built.said);
}

/// `PATH`, where a folder that has this program is replaced by one with links to all else in it.
fn path_without(program: &str, scratch_folder: &str) -> OsString {
    let links = scratch::folder(scratch_folder);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).enumerate().map(|(index, folder)| {
        if !folder.join(program).exists() {
            return folder;
        }
        let without = links.join(index.to_string());
        fs::create_dir_all(&without).expect("the target folder can be written");
        for entry in fs::read_dir(&folder).expect("a folder with a program can be read").flatten() {
            if entry.file_name() != OsStr::new(program) {
                std::os::unix::fs::symlink(entry.path(), without.join(entry.file_name())).expect("links can be made");
            }
        }
        without
    });
    std::env::join_paths(folders).expect("the folders came out of PATH")
}

/// Whatever the set was made from, if it is not the same any more, nothing is taken from it.
fn prebuilt_images_of_other_sources() {
    let name = "saxpy-other-sources";
    let package = Package::copy_of("examples/saxpy", name);
    let original = |path: &str| fs::read_to_string(package.folder.join(path)).expect("the copy is complete");
    let kernel = "kernels/saxpy.cu";
    let manifest = "prebuilt/saxpy.manifest";
    let script = "build.rs";
    let image = "prebuilt/saxpy.sm_90.cubin";
    let bytes = read(&package.folder.join(image));

    let all = "no image for gfx90a, gfx942, gfx1100, gfx12-generic, sm_80, sm_90, compute_80: OFFLOAD_PREBUILT=only";
    let remake = "OFFLOAD_PREBUILT=update cargo build --release remakes it";
    let header = |line: &str| line.ends_with(" <offload/kernel.h>");
    let cases: [(&str, Vec<u8>, [&str; 3]); 4] = [
        (
            kernel,
            format!("{}// A comment.\n", original(kernel)).into(),
            [all, "kernels/saxpy.cu has changed since prebuilt/saxpy.manifest was made", remake],
        ),
        (
            // A set made with a header that is not today's.
            manifest,
            changed_line(&original(manifest), header, |_| format!("input {:032x} <offload/kernel.h>", 1)).into(),
            [all, "<offload/kernel.h> has changed since prebuilt/saxpy.manifest was made", remake],
        ),
        (
            script,
            original(script).replace(".compile(", ".define(\"N\", \"1\").compile(").into(),
            [all, "prebuilt/saxpy.manifest was made with other options (kernels/saxpy.cu)", remake],
        ),
        (
            image,
            bytes.iter().enumerate().map(|(at, byte)| if at == 1000 { !byte } else { *byte }).collect(),
            [
                "no image for sm_90: OFFLOAD_PREBUILT=only",
                "prebuilt/saxpy.sm_90.cubin is not the file that prebuilt/saxpy.manifest speaks of",
                remake,
            ],
        ),
    ];
    for (path, changed, messages) in cases {
        let unchanged = read(&package.folder.join(path));
        assert!(changed != unchanged, "{path}");
        package.write(path, changed);
        let output = package.cargo(&["build"]).env("OFFLOAD_PREBUILT", "only").output().expect("cargo starts");
        assert_eq!(output.status.code(), Some(101), "{path}: {}", printed(&output));
        for message in messages {
            assert!(stderr(&output).contains(message), "{path}: no '{message}' in\n{}", stderr(&output));
        }
        package.write(path, unchanged);
    }
    // Nothing but the changes stood in the way.
    succeed(package.cargo(&["build"]).env("OFFLOAD_PREBUILT", "only"));
}

/// A text with the lines that are meant replaced.
fn changed_line(text: &str, meant: impl Fn(&str) -> bool, change: impl Fn(&str) -> String) -> String {
    text.lines().map(|line| (if meant(line) { change(line) } else { line.to_owned() }) + "\n").collect()
}

/// The set in the repository is what `OFFLOAD_PREBUILT=update` writes, where the compilers are those it was made with.
fn the_prebuilt_set_is_what_the_compilers_make() -> Trial {
    let name = "the_prebuilt_set_is_what_the_compilers_make";
    match other_compilers() {
        Some(why) => Trial::ignorable_test(name, move || Ok(Completion::ignored_with(why))),
        None => test(name, COMPILERS, || {
            let name = "saxpy-update";
            let package = Package::copy_of("examples/saxpy", name);
            let folder = package.folder.join("prebuilt");
            fs::remove_dir_all(&folder).expect("the copy has a prebuilt set");
            let mut build = package.cargo(&["build", "--release"]);
            succeed(build.env("OFFLOAD_PREBUILT", "update").env("OFFLOAD_CLANG", clang()));
            let (made, kept) = (files(&folder), files(&prebuilt_folder()));
            assert_eq!(made.keys().collect::<Vec<_>>(), kept.keys().collect::<Vec<_>>());
            for (file, bytes) in made {
                assert!(bytes == kept[&file], "{file} is not what is made today: run `cargo xtask prebuilt`");
            }
        }),
    }
}

/// How the compilers here differ from those that the set's manifest names; `None` if they do not, or are not there.
fn other_compilers() -> Option<String> {
    if COMPILERS.iter().any(|tool| tool.check().is_err()) {
        return None;
    }
    let manifest = fs::read_to_string(prebuilt_folder().join("saxpy.manifest")).ok()?;
    let recorded = |key: &str| manifest.lines().find_map(|line| line.strip_prefix(key)).unwrap_or("").trim().to_owned();
    let first_line_with = |command: &mut Command, word: &str| {
        let text = stdout(&succeed(command.arg("--version")));
        text.lines().find(|line| line.contains(word)).unwrap_or("").trim().to_owned()
    };
    let made_by = (recorded("compiler "), recorded("ptxas "));
    let here = (
        first_line_with(&mut Command::new(clang()), "clang version"),
        first_line_with(&mut tools::cuda("ptxas"), "release"),
    );
    (made_by != here).then(|| {
        format!("the prebuilt set was made by {} and {}; here are {} and {}", made_by.0, made_by.1, here.0, here.1)
    })
}

/// The files of a folder.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    entries.flatten().map(|entry| (entry.file_name().to_string_lossy().into_owned(), read(&entry.path()))).collect()
}

fn devices_are_taken_by_name() {
    for args in [&["--device", "cpu"][..], &["--device=cpu"]] {
        assert_runs_on_cpu(&without_gpu(&PREBUILT.program, args));
    }
    for absent in ["cuda:0", "hip:0", "cuda:1", "cpu:0", "gfx90a"] {
        let output = without_gpu(&PREBUILT.program, &["--device", absent]);
        assert_eq!(output.status.code(), Some(1), "{absent}");
        let errors = stderr(&output);
        let first = format!("error: no device `{absent}` in this machine; found: cpu\n  no ");
        assert!(errors.starts_with(&first), "{errors}");
        // The table is there all the same, and nothing ran.
        let text = stdout(&output);
        assert_eq!(rows_below(&text, "device product is image because")[0], cpu_row(), "{text}");
        assert!(!text.contains("Ran "), "{text}");
    }
}

/// Devices with the image that each gets and why, or with why one image does not do.
const EXPLAINED: [(&str, Option<&str>, &str); 20] = [
    ("gfx90a:xnack-", Some("gfx90a"), "made for this processor, in any mode"),
    ("gfx90a:sramecc+:xnack+", Some("gfx90a"), "made for this processor, in any mode"),
    ("gfx942:sramecc+:xnack-", Some("gfx942"), "made for this processor, in any mode"),
    ("gfx1100", Some("gfx1100"), "made for this processor, in any mode"),
    ("gfx1200", Some("gfx12-generic"), "made for the family that this processor belongs to"),
    ("gfx1201", Some("gfx12-generic"), "made for the family that this processor belongs to"),
    ("sm_80", Some("sm_80"), "machine code for 8.0: same major, minor not higher"),
    ("sm_86", Some("sm_80"), "machine code for 8.0: same major, minor not higher"),
    ("sm_89", Some("sm_80"), "machine code for 8.0: same major, minor not higher"),
    ("sm_80@driver10.0", Some("sm_80"), "machine code for 8.0: same major, minor not higher"),
    ("sm_90", Some("sm_90"), "machine code for 9.0: same major, minor not higher"),
    ("sm_100", Some("compute_80"), "PTX for 8.0 and up, compiled by the driver"),
    ("sm_100@driver11.0", Some("compute_80"), "PTX for 8.0 and up, compiled by the driver"),
    ("cpu", Some("cpu"), "made for this CPU"),
    ("gfx1151", None, "gfx1100 code for another processor"),
    ("gfx1030", None, "gfx12-generic code for another family of processors"),
    ("gfx950", None, "gfx942 code for another processor"),
    ("sm_75", None, "compute_80 needs compute capability 8.0"),
    ("sm_72", None, "sm_80 machine code for compute capability 8.x, from 8.0 on"),
    ("sm_100@driver10.0", None, "compute_80 PTX ISA 7.0 needs a driver for CUDA 11.0 or later, this one is for 10.0"),
];

fn explain() {
    for (device, image, reason) in EXPLAINED {
        let output = without_gpu(&PREBUILT.program, &["--explain", device]);
        let (text, errors) = (stdout(&output), stderr(&output));
        // As the program calls it.
        let called = match device.split_once("@driver") {
            Some((name, driver)) => format!("{name} (CUDA driver {driver})"),
            None if device == "cpu" => "the CPU".to_owned(),
            None => device.to_owned(),
        };
        match image {
            Some(image) => {
                assert_eq!((output.status.code(), &*errors), (Some(0), ""), "{device}: {text}");
                let kind = TARGETS.iter().find(|target| target.name == image).map_or("", |target| target.kind);
                let first = format!("{called} gets the {image} {kind} ({reason}).");
                assert_eq!(text.lines().next(), Some(&*first));
                assert_names(&rows_below(&text, "not chosen kind because"), |target| target.name != image);
            }
            None => {
                assert_eq!((output.status.code(), &*text), (Some(1), ""), "{device}: {errors}");
                let rows = rows_below(&errors, &format!("error: no image for {called}"));
                let (advice, rows) = rows.split_last().expect("there are lines");
                assert_names(rows, |_| true);
                assert!(rows.iter().any(|row| row == reason), "{device}: {errors}");
                assert!(advice.starts_with("to run on this device, add \""), "{device}: {errors}");
            }
        }
    }
}

/// Each row begins with a target of those that are meant, in order.
#[track_caller]
fn assert_names(rows: &[String], meant: impl Fn(&Target) -> bool) {
    let named: Vec<&str> = rows.iter().filter_map(|row| row.split(' ').next()).collect();
    let meant: Vec<&str> = TARGETS.iter().filter(|target| meant(target)).map(|target| target.name).collect();
    assert_eq!(named, meant);
}

fn wrong_command_lines() {
    for (args, error) in [
        (&["--nonsense"][..], "error: unknown argument `--nonsense`\n"),
        (&["saxpy.cu"], "error: unknown argument `saxpy.cu`\n"),
        (&["--device"], "error: --device needs a value\n"),
        (&["--explain", "no gpu"], "error: --explain: "),
        (&["--explain", "sm_90a"], "error: --explain: "),
        (&["--explain", "sm_90@driver"], "error: --explain: "),
    ] {
        let output = without_gpu(&PREBUILT.program, args);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", printed(&output));
        assert_eq!(stdout(&output), "", "{args:?}");
        let errors = stderr(&output);
        assert!(errors.starts_with(error), "{args:?}: {errors}");
        assert!(errors.ends_with("\n\nUsage: saxpy [--device NAME | --explain DEVICE]\nTry --help.\n"), "{errors}");
    }
    let help = without_gpu(&PREBUILT.program, &["--help"]);
    assert_eq!(help.status.code(), Some(0));
    assert!(stdout(&help).contains("\nUsage: saxpy "), "{}", stdout(&help));
}
