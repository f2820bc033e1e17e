//! Packs in programs: where `include_offload!` may stand, what the linker makes of it, what a program sees of it.

use offload_tests::package::{Package, printed};
use offload_tests::registry::CLANG;
use offload_tests::scratch;
use offload_tests::tools::{llvm, llvm_bin, stdout, succeed};
use std::fs;
use std::path::Path;
use std::process::Command;

offload_tests::tests! {
    CLANG => [
        every_kind_of_target_embeds,
        edition_2021_embeds,
        an_unused_pack_is_not_in_the_program,
        a_changed_kernel_is_embedded_anew,
        packs_whose_names_begin_alike,
        a_pack_that_is_no_longer_made_is_gone,
        packs_of_two_dependencies,
        nothing_is_compiled_when_told_to_skip,
    ],
}

fn every_kind_of_target_embeds() {
    every_place("embed_places", "2024", &PROFILES, &[MIXED, AMD]);
}

fn edition_2021_embeds() {
    every_place("embed_places_2021", "2021", &["debug"], &[MIXED]);
}

const MIXED: &str = "gfx90a compute_80 cpu";
const AMD: &str = "gfx90a gfx1100";
const PROFILES: [&str; 2] = ["debug", "release"];

const BUILD: &str = r#"fn main() {
    offload_build::Build::new().file("kernels/add.cu").archs(["gfx90a", "compute_80", "cpu"]).compile("kernels");
}
"#;

/// A kernel that is different for each `what`.
fn kernel(what: &str) -> String {
    format!(
        "extern \"C\" __global__ void add(int n, const float *x, float *y) {{\n  \
           int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n)\n    y[i] = x[i] + {what};\n}}\n"
    )
}

/// A function for a library crate: panics unless a pack in memory is what the build script of that crate left in
/// files, and is in the section that the test named.
const CHECK: &str = r#"
pub fn check(pack: &offload_format::KernelPack) {
    let folder = std::path::Path::new(env!("OUT_DIR")).join("offload");
    let file = std::fs::read(folder.join(format!("{}.pack", pack.name()))).unwrap();
    assert!(!file.is_empty() && pack.bytes() == file, "the pack in memory is not that in the file");
    assert_eq!(pack.section(), std::env::var("SECTION").unwrap());
    let align = if pack.section() == ".hip_fatbin" { 4096 } else { 8 };
    assert_eq!(pack.bytes().as_ptr().addr() % align, 0, "the pack is not aligned to {align}");
    for image in pack.images() {
        let extension = match image.target() {
            name if name.starts_with("gfx") => "hsaco",
            name if name.starts_with("compute_") => "ptx",
            _ => "so",
        };
        let file = std::fs::read(folder.join(pack.name()).join(format!("{}.{extension}", image.target()))).unwrap();
        assert!(image.bytes() == file, "the image for {} is not that in the file", image.target());
        assert_eq!(image.as_ptr().addr(), pack.bytes().as_ptr().addr() + image.offset());
    }
    println!("checked {} images", pack.images().len());
}
"#;

/// `cargo` in a package with LLVM 22's clang, for a profile. The targets and the section that they make are for
/// [`CHECK`] and for the build script.
fn cargo(package: &Package, profile: &str, archs: &str, args: &[&str]) -> Command {
    let mut command = package.cargo(&args[..1]);
    if profile == "release" {
        command.arg("--release");
    }
    let section = if archs == AMD { ".hip_fatbin" } else { ".llvm.offloading" };
    command
        .args(&args[1..])
        .env("OFFLOAD_CLANG", llvm_bin().join("clang"))
        .env("OFFLOAD_ARCH", archs)
        .env("SECTION", section);
    command
}

/// Adds lines to a section of the package's manifest, right under its header.
fn manifest(package: &Package, section: &str, lines: &str) {
    let text = fs::read_to_string(package.folder.join("Cargo.toml")).expect("the package has a manifest");
    let header = format!("[{section}]\n");
    assert!(text.contains(&header), "no {header} in\n{text}");
    package.write("Cargo.toml", text.replace(&header, &format!("{header}{lines}\n")));
}

/// The lines of `llvm-readelf -S` for the sections that packs lie in: name, type, alignment.
fn sections(program: &Path) -> Vec<[String; 3]> {
    let listing = stdout(&succeed(llvm("llvm-readelf").arg("-SW").arg(program)));
    let rows = listing.lines().filter_map(|line| Some(line.split_once(']')?.1.split_whitespace().collect::<Vec<_>>()));
    rows.filter(|row| row.first().is_some_and(|name| [".hip_fatbin", ".llvm.offloading"].contains(name)))
        .map(|row| [row[0], row[1], row[row.len() - 1]].map(str::to_owned))
        .collect()
}

/// What `llvm-objdump --offloading` finds in a program. It writes files beside it, so it gets a copy.
fn listed(package: &Package, program: &Path) -> String {
    let copy = package.folder.join("listed").join("program");
    fs::create_dir_all(package.folder.join("listed")).expect("the scratch folder can be written");
    fs::copy(program, &copy).expect("the program can be copied");
    stdout(&succeed(llvm("llvm-objdump").arg("--offloading").arg(&copy)))
}

/// Whether `word` is a whole word of `text`.
fn has_word(text: &str, word: &str) -> bool {
    text.split_whitespace().any(|it| it == word)
}

/// Lets only one of a package's targets expand the macro, each in turn: they link alone, in each of the profiles and for
/// each of the lists of targets.
fn every_place(name: &str, edition: &str, profiles: &[&str], lists: &[&str]) {
    let package = Package::new(name);
    let text = fs::read_to_string(package.folder.join("Cargo.toml")).expect("the package has a manifest");
    package.write("Cargo.toml", text.replace("edition = \"2024\"", &format!("edition = \"{edition}\"")));
    package.write("build.rs", BUILD).write("kernels/add.cu", kernel("1.0f"));

    const PACK: &str =
        "static KERNELS: offload_format::KernelPack =\n    offload_embed_macro::include_offload!(\"kernels\");\n";
    let places: [(&str, &[&str], &str); 5] = [
        ("lib", &["run"], "checked"),
        ("main", &["run"], "checked"),
        ("example", &["run", "--example", "e"], "checked"),
        ("test", &["test", "--test", "it"], "test result: ok. 1 passed"),
        ("doc", &["test", "--doc"], "test result: ok. 1 passed"),
    ];
    for (place, args, proof) in places {
        let only = |here: &str, text: &str| if here == place { text.to_owned() } else { String::new() };
        let call = format!("{name}::check(&KERNELS);");
        let documented = format!("#![forbid(unsafe_code)]\n{PACK}{call}");
        let documented: String = documented.lines().map(|line| format!("//! {line}\n")).collect();
        let main_call = if place == "lib" { format!("{name}::check(&{name}::KERNELS);") } else { only("main", &call) };
        let documented = format!("//! A library.\n//! ```\n{documented}//! ```\n");
        package
            .write("src/lib.rs", only("doc", &documented) + FORBID + &only("lib", &format!("pub {PACK}")) + CHECK)
            .write("src/main.rs", format!("{FORBID}{}fn main() {{ {main_call} }}\n", only("main", PACK)))
            .write(
                "examples/e.rs",
                format!("{FORBID}{}fn main() {{ {} }}\n", only("example", PACK), only("example", &call)),
            )
            .write(
                "tests/it.rs",
                format!("{FORBID}{}#[test]\nfn the_pack() {{ {} }}\n", only("test", PACK), only("test", &call)),
            );
        for profile in profiles {
            for archs in lists {
                let output = succeed(&mut cargo(&package, profile, archs, args));
                assert!(stdout(&output).contains(proof), "{place}, {profile}, {archs}:\n{}", printed(&output));
                if place == "main" {
                    judge_program(&package, &package.program(profile, name), archs);
                }
            }
        }
    }
}

const FORBID: &str = "#![forbid(unsafe_code)]\n";

/// What LLVM's tools say of a program with one pack.
fn judge_program(package: &Package, program: &Path, archs: &str) {
    let (section, align) = if archs == AMD {
        ([".hip_fatbin", "PROGBITS"], "4096")
    } else {
        ([".llvm.offloading", "LLVM_OFFLOADING"], "8")
    };
    assert_eq!(sections(program), [[section[0], section[1], align].map(str::to_owned)], "{}", program.display());
    let listing = listed(package, program);
    if archs == AMD {
        for arch in AMD.split(' ') {
            assert!(listing.contains(&format!("hipv4-amdgcn-amd-amdhsa--{arch}\n")), "no {arch} in\n{listing}");
        }
    } else {
        assert_eq!(listing.matches("OFFLOADING IMAGE").count(), 3, "{listing}");
        for word in ["gfx90a", "amdgcn-amd-amdhsa", "hip", "compute_80", "ptx", "nvptx64-nvidia-cuda", "cuda"] {
            assert!(has_word(&listing, word), "no {word} in\n{listing}");
        }
        let triple = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
        assert!(has_word(&listing, &triple), "no {triple} in\n{listing}");
    }
}

fn an_unused_pack_is_not_in_the_program() {
    let package = Package::new("embed_unused");
    package
        .write("build.rs", BUILD)
        .write("kernels/add.cu", kernel("1.0f"))
        .write(
            "src/lib.rs",
            "pub static KERNELS: offload_format::KernelPack = offload_embed_macro::include_offload!(\"kernels\");\n\
             pub fn used() -> u32 { 5 }\n",
        )
        .write("src/main.rs", "fn main() { println!(\"{}\", embed_unused::used()); }\n");
    for profile in PROFILES {
        for archs in [MIXED, AMD] {
            succeed(&mut cargo(&package, profile, archs, &["build"]));
            let program = package.program(profile, "embed_unused");
            assert!(sections(&program).is_empty(), "{profile}, {archs}: {:?}", sections(&program));
            let symbols = stdout(&succeed(llvm("llvm-nm").arg(&program)));
            assert!(!symbols.contains("offload_pack_"), "{profile}, {archs}:\n{symbols}");
        }
    }
}

/// A program whose only crate embeds the pack and checks it.
fn program_with_pack(package: &Package, build: &str, packs: &[&str]) {
    let mut main = FORBID.to_owned() + CHECK + "fn main() {\n";
    for pack in packs {
        main += &format!(
            "    static P_{0}: offload_format::KernelPack = offload_embed_macro::include_offload!(\"{pack}\");\n    \
             check(&P_{0});\n",
            pack.replace('-', "__").to_uppercase()
        );
    }
    package.write("build.rs", build).write("src/main.rs", main + "}\n");
}

fn a_changed_kernel_is_embedded_anew() {
    let package = Package::new("embed_change");
    program_with_pack(&package, BUILD, &["kernels"]);
    let runs = PROFILES.map(|profile| [(profile, "true"), (profile, "false")]);
    for (profile, incremental) in runs.into_iter().flatten() {
        // What rustc keeps for the next time.
        let caches = || {
            let caches = fs::read_dir(package.target.join(profile).join("incremental")).into_iter().flatten().flatten();
            caches.map(|cache| cache.path()).filter(|path| path.to_string_lossy().contains("/embed_change-"))
        };
        caches().for_each(|cache| fs::remove_dir_all(cache).expect("rustc's folders can be removed"));
        let name = if profile == "debug" { "dev" } else { profile };
        let option = format!("profile.{name}.package.embed_change.incremental={incremental}");
        for archs in [MIXED, AMD] {
            let pack = |what: &str| {
                package.write("kernels/add.cu", kernel(what));
                succeed(&mut cargo(&package, profile, archs, &["build", "--config", &option]));
                // The program compares the pack in memory with this file.
                succeed(
                    Command::new(package.program(profile, "embed_change"))
                        .env("SECTION", if archs == AMD { ".hip_fatbin" } else { ".llvm.offloading" }),
                );
                fs::read(package.output(profile, "embed_change", "kernels.pack")).expect("the pack can be read")
            };
            let (one, two, again) = (pack("1.0f"), pack("2.0f"), pack("1.0f"));
            assert!(one != two, "{profile}, {archs}: a change of the kernel does not reach the program");
            assert!(one == again, "{profile}, {archs}: the same source does not give the same pack");
        }
        assert_eq!(caches().count() > 0, incremental == "true", "{profile}");
    }
}

/// What belongs to one pack of a package is not mistaken for a part of another's.
fn packs_whose_names_begin_alike() {
    let package = Package::new("embed_alike");
    let build = r#"fn main() {
    for (name, value) in [("add_fast", "2.0f"), ("add-faster", "3.0f"), ("add", "1.0f"), ("add_", "4.0f")] {
        offload_build::Build::new().file("kernels/add.cu").define("VALUE", value).archs(["gfx90a"]).compile(name);
    }
}
"#;
    program_with_pack(&package, build, &["add", "add_fast", "add-faster", "add_"]);
    package.write("kernels/add.cu", kernel("VALUE"));
    let output = succeed(&mut cargo(&package, "debug", AMD, &["run"]));
    assert_eq!(stdout(&output), "checked 2 images\n".repeat(4));
}

/// Once build.rs calls a pack by another name, the old name is an error, as it is in a fresh checkout.
fn a_pack_that_is_no_longer_made_is_gone() {
    let package = Package::new("embed_renamed");
    program_with_pack(&package, BUILD, &["kernels"]);
    package.write("kernels/add.cu", kernel("1.0f"));
    succeed(&mut cargo(&package, "debug", AMD, &["build"]));
    package.write("build.rs", BUILD.replace("\"kernels\"", "\"other\""));
    let output = cargo(&package, "debug", AMD, &["build"]).output().expect("cargo starts");
    assert!(!output.status.success(), "the pack of an earlier build.rs was embedded");
    let text = printed(&output);
    assert!(text.contains("there is no pack \"kernels\"") && text.contains("it has made \"other\""), "{text}");
}

/// Two libraries that know nothing of each other call their packs alike; a third package's program uses both.
fn packs_of_two_dependencies() {
    let [left, right, app] = ["embed_left", "embed_right", "embed_app"].map(Package::new);
    for library in [&left, &right] {
        library.write("build.rs", BUILD).write("kernels/add.cu", kernel("1.0f")).write(
            "src/lib.rs",
            FORBID.to_owned()
                + CHECK
                + "pub static KERNELS: offload_format::KernelPack = offload_embed_macro::include_offload!(\"kernels\");\n",
        );
    }
    for name in ["embed_left", "embed_right"] {
        manifest(&app, "dependencies", &format!("{name} = {{ path = \"../{name}\" }}"));
    }
    app.write(
        "src/main.rs",
        FORBID.to_owned()
            + "fn main() {\n    embed_left::check(&embed_left::KERNELS);\n    \
               embed_right::check(&embed_right::KERNELS);\n    \
               println!(\"same: {}\", embed_left::KERNELS.bytes() == embed_right::KERNELS.bytes());\n}\n",
    );
    for profile in PROFILES {
        for archs in [MIXED, AMD] {
            let count = archs.split(' ').count();
            for (what, same) in [("2.0f", false), ("1.0f", true)] {
                right.write("kernels/add.cu", kernel(what));
                let output = succeed(&mut cargo(&app, profile, archs, &["run"]));
                let expected = format!("checked {count} images\nchecked {count} images\nsame: {same}\n");
                assert_eq!(stdout(&output), expected, "{profile}, {archs}");
                let program = app.program(profile, "embed_app");
                assert_eq!(sections(&program).len(), 1, "{profile}, {archs}: {:?}", sections(&program));
                if archs == MIXED {
                    // Without gaps, so that LLVM's tools see both.
                    let listing = listed(&app, &program);
                    let images = if same { count } else { 2 * count };
                    assert_eq!(listing.matches("OFFLOADING IMAGE").count(), images, "{profile}, {archs}:\n{listing}");
                }
            }
        }
    }
}

/// `OFFLOAD_SKIP=1` and docs.rs: no compiler starts, the program builds, `select` says that the pack was not built.
fn nothing_is_compiled_when_told_to_skip() {
    let package = Package::new("embed_skip");
    package.write("build.rs", BUILD).write("kernels/add.cu", kernel("1.0f")).write(
        "src/main.rs",
        r#"#![forbid(unsafe_code)]
use offload_format::{Device, KernelPack};
static KERNELS: KernelPack = offload_embed_macro::include_offload!("kernels");
fn main() {
    println!("{} images in {} bytes, {:?}", KERNELS.images().len(), KERNELS.bytes().len(), KERNELS.absent());
    for device in [Device::parse("gfx90a").unwrap(), Device::cuda(8, 0, 12080), Device::cpu()] {
        println!("{}", KERNELS.select(&device).unwrap_err());
    }
}
"#,
    );
    let (log, script) = (package.folder.join("calls"), package.folder.join("compiler"));
    scratch::write(&script, format!("#!/bin/sh\necho \"$0 $*\" >> '{}'\nexit 1\n", log.display()));
    succeed(Command::new("chmod").arg("+x").arg(&script));
    let build = |variable: Option<(&str, &str)>| {
        let mut command = cargo(&package, "debug", MIXED, &["run"]);
        for compiler in ["OFFLOAD_CLANG", "OFFLOAD_PTXAS", "CXX"] {
            command.env(compiler, &script);
        }
        command.env_remove("DOCS_RS").envs(variable).output().expect("cargo starts")
    };
    for (variable, why) in [("OFFLOAD_SKIP", "OFFLOAD_SKIP was set"), ("DOCS_RS", "docs.rs has no GPU compilers")] {
        let output = build(Some((variable, "1")));
        assert!(output.status.success(), "{variable}:\n{}", printed(&output));
        assert_eq!(fs::read_to_string(&log).unwrap_or_default(), "", "{variable}: a compiler was started");
        let mut expected = format!("0 images in 0 bytes, Some({why:?})\n");
        for device in ["gfx90a", "sm_80 (CUDA driver 12.8)", "the CPU"] {
            expected += &format!("no image for {device}: the pack was not built: {why}\n");
        }
        assert_eq!(stdout(&output), expected, "{variable}");
    }
    // 0 is not set; and the script does stand in the compilers' place.
    let output = build(Some(("OFFLOAD_SKIP", "0")));
    assert!(!output.status.success() && log.exists(), "{}", printed(&output));
}
