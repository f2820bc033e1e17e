//! `include_offload!` with its options, for files and packs that are there ready-made: what comes back, where it lies, what
//! stays, what it costs, and in which crates it works.

use offload_format::bundle::BundleBuilder;
use offload_format::offload_binary::{ImageKind, OffloadBinaryBuilder, OffloadKind, Version};
use offload_tests::data::read;
use offload_tests::package::{Package, printed};
use offload_tests::registry::{GCC, LLVM, NOTHING};
use offload_tests::scratch::workspace;
use offload_tests::tools::{llvm, llvm_bin, stdout, succeed};
use std::fs;
use std::path::Path;
use std::process::Command;

offload_tests::tests! {
    LLVM => [
        files_of_every_kind_are_embedded,
        section_and_alignment_of_a_file,
        what_is_retained_stays,
        retained_packs_of_all_crates_are_listed,
        for_development_packs_are_read_from_disk,
        clang_linker_wrapper_takes_images_of_a_file,
    ],
    NOTHING => [
        a_changed_file_is_embedded_anew,
        offload_format_under_another_name,
        without_std,
        checking_costs_no_more_for_a_larger_image,
    ],
    GCC => [every_kind_of_crate],
}

fn image(name: &str) -> Vec<u8> {
    read(workspace().join("tests/corpus/image").join(name))
}

/// A HIP bundle with one code object.
fn bundle(code_object: &[u8]) -> Vec<u8> {
    let mut builder = BundleBuilder::hip();
    builder.entry("hipv4-amdgcn-amd-amdhsa--gfx90a", code_object.len() as u64).expect("the name is right");
    builder.layout().to_vec(&[b"", code_object])
}

/// Offload binaries of a code object, a cubin and PTX.
fn offload_binaries() -> Vec<u8> {
    let parts = [
        (ImageKind::OBJECT, OffloadKind::HIP, "amdgcn-amd-amdhsa", "gfx90a", image("saxpy.gfx90a.hsaco")),
        (ImageKind::CUBIN, OffloadKind::CUDA, "nvptx64-nvidia-cuda", "sm_90a", image("saxpy.sm_90.cubin")),
        (ImageKind::PTX, OffloadKind::CUDA, "nvptx64-nvidia-cuda", "compute_80", ptx()),
    ];
    let mut builder = OffloadBinaryBuilder::new();
    for (kind, offload_kind, triple, arch, bytes) in &parts {
        builder.image(*kind, *offload_kind, bytes.len() as u64).string("triple", triple).string("arch", arch);
    }
    builder.layout(Version::V1).to_vec(&parts.each_ref().map(|(.., bytes)| &**bytes))
}

/// PTX of a size that leaves room for a NUL in a container.
fn ptx() -> Vec<u8> {
    let mut text = image("saxpy.compute_80.ptx");
    if text.len().is_multiple_of(8) {
        text.push(b'\n');
    }
    text
}

/// Lines of `llvm-readelf -S` by section name: type, flags, alignment.
fn section(program: &Path, name: &str) -> Vec<[String; 3]> {
    let listing = stdout(&succeed(llvm("llvm-readelf").arg("-SW").arg(program)));
    let rows = listing.lines().filter_map(|line| Some(line.split_once(']')?.1.split_whitespace().collect::<Vec<_>>()));
    rows.filter(|row| row.first() == Some(&name))
        .map(|row| [row[1], row[row.len() - 4], row[row.len() - 1]].map(str::to_owned))
        .collect()
}

const FORBID: &str = "#![forbid(unsafe_code)]\n";

/// What a program prints of packs: name, section, size, alignment of what drivers get, images, kernels.
const REPORT: &str = r#"
fn report(pack: &offload_format::KernelPack) {
    let file = std::fs::read(format!("src/files/{}", std::env::args().nth(1).unwrap())).unwrap_or_default();
    println!("{} {} {:?}", pack.name(), pack.section(), pack.absent());
    for module in pack.modules() {
        println!("module {}", module.name());
        for image in module.images() {
            assert!(image.as_ptr().addr() % 8 == 0 || image.target().starts_with("compute"), "{image:?}");
            let text = image.target().starts_with("compute").then(|| pack.bytes()[image.offset() + image.bytes().len()]);
            let in_file = &file[image.offset()..][..image.bytes().len()];
            assert!(image.bytes() == in_file && image.origin() == offload_format::embedded::Origin::ReadyMade);
            println!("{} {} {:?} {:?} {:?}", image.target(), image.kind(), image.kernels(), image.has_kernel("saxpy"), text);
        }
    }
    assert!(pack.bytes().starts_with(&file) && !file.is_empty());
}
"#;

/// A program that reports of one file.
fn program_with(package: &Package, file: &str, options: &str) {
    package.write(
        "src/main.rs",
        format!(
            "{FORBID}{REPORT}static PACK: offload_format::KernelPack = \
             offload_embed_macro::include_offload!(path = \"files/{file}\"{options});\nfn main() {{ report(&PACK); }}\n"
        ),
    );
}

fn files_of_every_kind_are_embedded() {
    let package = Package::new("include_files");
    package.feature("offload-embed-macro", "containers");
    let two_bundles = {
        let mut bytes = bundle(&image("saxpy.gfx90a.hsaco"));
        bytes.resize(bytes.len().next_multiple_of(4096), 0);
        [bytes, bundle(&image("v3.hsaco"))].concat()
    };
    // The NUL is in the image, and nothing behind it.
    let ends_with_nul = {
        let mut text = image("saxpy.compute_80.ptx");
        text.resize(text.len().next_multiple_of(8) + 7, b'\n');
        text.push(0);
        let mut builder = OffloadBinaryBuilder::new();
        builder.image(ImageKind::PTX, OffloadKind::CUDA, text.len() as u64).string("arch", "compute_80");
        let bytes = builder.layout(Version::V1).to_vec(&[&text]);
        assert!(bytes.ends_with(b"\n\0"));
        bytes
    };
    let corpus = |path: &str| read(workspace().join("tests/corpus").join(path));
    let none_known = "Some(\"the file is compressed, and nothing of it is read when the program is compiled: PACK.bytes() has \
                      it whole\")";
    let saxpy = "Some([\"saxpy\"]) Some(true)";
    for (file, bytes, options, expected, listed) in [
        (
            "one.hipfb",
            bundle(&image("saxpy.gfx90a.hsaco")),
            "",
            format!("one .hip_fatbin None\nmodule one\ngfx90a code object {saxpy} None\n"),
            "hipv4-amdgcn-amd-amdhsa--gfx90a",
        ),
        (
            "two.hipfb",
            two_bundles,
            "",
            format!(
                "two .hip_fatbin None\nmodule two.0\ngfx90a code object {saxpy} None\n\
                 module two.1\ngfx906:sramecc+:xnack+ code object Some([\"one\", \"two\"]) Some(false) None\n"
            ),
            "hipv4-amdgcn-amd-amdhsa--gfx90a",
        ),
        (
            "mixed.offload",
            offload_binaries(),
            "",
            format!(
                "mixed .llvm.offloading None\nmodule mixed\ngfx90a code object {saxpy} None\nsm_90a cubin {saxpy} None\n\
                 compute_80 PTX {saxpy} Some(0)\n"
            ),
            "sm_90a",
        ),
        (
            "bare.hsaco",
            image("saxpy.gfx90a.hsaco"),
            "",
            format!("bare .rodata None\nmodule bare\ngfx90a code object {saxpy} None\n"),
            "",
        ),
        (
            "bare.cubin",
            image("saxpy.sm_90.cubin"),
            "",
            format!("bare .rodata None\nmodule bare\nsm_90 cubin {saxpy} None\n"),
            "",
        ),
        (
            "bare.ptx",
            image("saxpy.compute_80.ptx"),
            "",
            format!("bare .rodata None\nmodule bare\ncompute_80 PTX {saxpy} Some(0)\n"),
            "",
        ),
        // As `clang --cuda-device-only -S` calls it.
        (
            "clang.s",
            image("saxpy.compute_80.ptx"),
            "",
            format!("clang .rodata None\nmodule clang\ncompute_80 PTX {saxpy} Some(0)\n"),
            "",
        ),
        (
            "nul.offload",
            ends_with_nul,
            "",
            format!("nul .llvm.offloading None\nmodule nul\ncompute_80 PTX {saxpy} Some(0)\n"),
            "",
        ),
        (
            "small.ccob",
            corpus("compressed/v3_zstd.ccob"),
            "",
            format!("small .hip_fatbin {none_known}\nmodule small\n"),
            "",
        ),
        (
            "linux.fatbin",
            corpus("nv_fatbin/group.fatbin"),
            "",
            "linux .nv_fatbin Some(\"the file is a fatbin, of which the CUDA driver chooses: PACK.bytes() has it whole\")\n\
             module linux\n"
                .to_owned(),
            "",
        ),
    ] {
        package.write(&format!("src/files/{file}"), bytes);
        program_with(&package, file, options);
        let output = succeed(package.cargo(&["run", "--quiet", "--"]).arg(file));
        assert_eq!(stdout(&output), expected, "{file}");
        if !listed.is_empty() {
            // It writes files beside the program.
            let copy = package.folder.join("listed").join(file);
            fs::create_dir_all(package.folder.join("listed")).expect("the scratch folder can be written");
            fs::copy(package.program("debug", "include_files"), &copy).expect("the program can be copied");
            let listing = stdout(&succeed(llvm("llvm-objdump").arg("--offloading").arg(copy)));
            assert!(listing.contains(listed), "{file}:\n{listing}");
        }
    }
}

/// Cargo builds again for it, in both profiles.
fn a_changed_file_is_embedded_anew() {
    let package = Package::new("include_changed_file");
    program_with(&package, "saxpy.hipfb", "");
    for (profile, name, arguments) in
        [("debug", "dev", &["run", "--quiet"][..]), ("release", "release", &["run", "--quiet", "--release"])]
    {
        for incremental in [true, false] {
            let option = format!("profile.{name}.package.include_changed_file.incremental={incremental}");
            for (file, target) in [
                ("saxpy.gfx90a.hsaco", "gfx90a"),
                ("v3.hsaco", "gfx906:sramecc+:xnack+"),
                ("saxpy.gfx90a.hsaco", "gfx90a"),
            ] {
                package.write("src/files/saxpy.hipfb", bundle(&image(file)));
                let mut cargo = package.cargo(arguments);
                let text = stdout(&succeed(cargo.args(["--config", &option, "--", "saxpy.hipfb"])));
                assert!(text.contains(&format!("\n{target} code object")), "{profile}: {text}");
            }
        }
    }
}

fn section_and_alignment_of_a_file() {
    let package = Package::new("include_section");
    package.write("src/files/saxpy.hsaco", image("saxpy.gfx90a.hsaco"));
    program_with(&package, "saxpy.hsaco", ", section = \".my_kernels\", align = 65536");
    for profile in ["debug", "release"] {
        let mut cargo = package.cargo(&["run", "--quiet"]);
        cargo.args((profile == "release").then_some("--release"));
        let text = stdout(&succeed(cargo.args(["--", "saxpy.hsaco"])));
        assert!(text.starts_with("saxpy .my_kernels None\n"), "{profile}: {text}");
        let sections = section(&package.program(profile, "include_section"), ".my_kernels");
        assert_eq!(sections, [["PROGBITS", "A", "65536"].map(str::to_owned)], "{profile}");
    }
}

/// A build script that makes packs of ready-made images.
const BUILD: &str = r#"fn main() {
    offload_build::Build::new().file("src/files/saxpy.gfx90a.hsaco").archs(["gfx90a"]).compile("amd");
    offload_build::Build::new()
        .files(["src/files/mixed.offload"])
        .archs(["gfx90a", "sm_90a", "compute_80"])
        .compile("mixed");
}
"#;

fn with_packs(package: &Package) {
    package
        .feature("offload-build", "containers")
        .write("build.rs", BUILD)
        .write("src/files/saxpy.gfx90a.hsaco", image("saxpy.gfx90a.hsaco"))
        .write("src/files/saxpy.hipfb", bundle(&image("saxpy.gfx90a.hsaco")))
        .write("src/files/mixed.offload", offload_binaries());
}

/// In a library and in the program itself; a pack of the build script and a file. Without the word all of it is gone.
fn what_is_retained_stays() {
    let package = Package::new("include_retained");
    with_packs(&package);
    let packs = |retain: &str| {
        format!(
            "{FORBID}pub static A: offload_format::KernelPack = offload_embed_macro::include_offload!(\"mixed\"{retain});\n\
             pub static B: offload_format::KernelPack = \
             offload_embed_macro::include_offload!(path = \"files/saxpy.hipfb\"{retain});\n"
        )
    };
    for (place, retain, expected) in [("lib", ", retain", 1), ("main", ", retain", 1), ("lib", "", 0), ("main", "", 0)]
    {
        let only = |here: &str| if here == place { packs(retain) } else { FORBID.to_owned() };
        package
            .write("src/lib.rs", only("lib") + "pub fn used() -> u32 { 5 }\n")
            .write("src/main.rs", only("main") + "fn main() { println!(\"{}\", include_retained::used()); }\n");
        for profile in ["debug", "release"] {
            let mut cargo = package.cargo(&["build"]);
            succeed(cargo.args((profile == "release").then_some("--release")));
            let program = package.program(profile, "include_retained");
            for name in [".llvm.offloading", ".hip_fatbin"] {
                let found = section(&program, name);
                assert_eq!(found.len(), expected, "{name} in {place}, {profile}, {retain}: {found:?}");
            }
        }
    }
}

/// A crate that has offload-format under another name, or through another crate.
fn offload_format_under_another_name() {
    let package = Package::new("include_other_name");
    with_packs(&package);
    let manifest = fs::read_to_string(package.folder.join("Cargo.toml")).expect("a package has a manifest");
    let renamed = manifest.replace("offload-format = { path", "gpu_files = { package = \"offload-format\", path");
    assert_ne!(manifest, renamed);
    package.write("Cargo.toml", renamed).write(
        "src/main.rs",
        format!(
            "{FORBID}mod kit {{ pub use gpu_files as format; }}\n\
             static A: gpu_files::KernelPack = offload_embed_macro::include_offload!(\"amd\", crate = ::gpu_files);\n\
             static B: gpu_files::KernelPack = offload_embed_macro::include_offload!(\"mixed\", crate = crate::kit::format,);\n\
             static C: gpu_files::KernelPack = offload_embed_macro::include_offload!(\n    \
                 crate = gpu_files, path = \"$CARGO_MANIFEST_DIR/src/files/saxpy.hipfb\");\n\
             fn main() {{\n    println!(\"{{}} {{}} {{}}\", A.images().len(), B.images().len(), C.images().len());\n}}\n"
        ),
    );
    assert_eq!(stdout(&succeed(&mut package.cargo(&["run", "--quiet"]))), "1 3 1\n");
}

/// Unit tests, benches, a shared library that is loaded, a static one in a C program; with `panic = "abort"` and stripped.
fn every_kind_of_crate() {
    for edition in ["2021", "2024"] {
        let name = format!("include_kinds_{edition}");
        let package = Package::new(&name);
        with_packs(&package);
        let manifest = fs::read_to_string(package.folder.join("Cargo.toml")).expect("a package has a manifest");
        package.write(
            "Cargo.toml",
            manifest.replace("edition = \"2024\"", &format!("edition = \"{edition}\""))
                + "\n[lib]\ncrate-type = [\"rlib\", \"cdylib\", \"staticlib\"]\n\n[[bench]]\nname = \"b\"\nharness = false\n\n\
                   [profile.release]\npanic = \"abort\"\nstrip = true\n",
        );
        let packs = "static A: offload_format::KernelPack = offload_embed_macro::include_offload!(\"mixed\");\n\
                     static B: offload_format::KernelPack = offload_embed_macro::include_offload!(\"amd\");\n\
                     static C: offload_format::KernelPack = \
                     offload_embed_macro::include_offload!(path = \"$CARGO_MANIFEST_DIR/src/files/saxpy.hipfb\");\n\
                     fn sum() -> u32 {\n    \
                     [&A, &B, &C].iter().flat_map(|pack| pack.bytes()).fold(0, |sum, byte| sum * 31 % 65521 + u32::from(*byte))\n}\n";
        // What is exported has an attribute that is unsafe.
        let exported = match edition {
            "2021" => "#[no_mangle]\npub extern \"C\" fn sum_of_packs() -> u32 { sum() }\n",
            _ => "#[unsafe(no_mangle)]\npub extern \"C\" fn sum_of_packs() -> u32 { sum() }\n",
        };
        package
            .write("src/lib.rs", format!("{packs}{exported}#[test]\nfn unit() {{ assert_ne!(sum(), 0); }}\n"))
            .write("benches/b.rs", format!("{FORBID}{packs}fn main() {{ println!(\"{{}}\", sum()); }}\n"))
            .write("main.c", "#include <stdio.h>\nunsigned sum_of_packs(void);\nint main(void) { printf(\"%u\\n\", sum_of_packs()); }\n");
        let tested = succeed(&mut package.cargo(&["test", "--lib"]));
        assert!(stdout(&tested).contains("1 passed"), "{}", printed(&tested));
        let sum = stdout(&succeed(&mut package.cargo(&["bench", "--quiet", "--bench", "b"])));
        for profile in ["debug", "release"] {
            succeed(package.cargo(&["build", "--lib"]).args((profile == "release").then_some("--release")));
            let library = package.target.join(profile).join(format!("lib{name}"));
            let program = package.folder.join("program");
            for extension in ["so", "a"] {
                let mut gcc = Command::new("gcc");
                gcc.current_dir(&package.folder).arg("main.c").arg(library.with_extension(extension));
                succeed(gcc.args(["-lm", "-lpthread", "-ldl", "-Wl,--gc-sections", "-o"]).arg(&program));
                assert_eq!(stdout(&succeed(&mut Command::new(&program))), sum, "{edition}, {profile}, {extension}");
            }
        }
    }
}

/// A crate without std, with all that the macro can be asked for but what runs on Linux alone.
fn without_std() {
    let package = Package::new("include_no_std");
    with_packs(&package);
    package
        .write(
            "src/lib.rs",
            "#![no_std]\n#![forbid(unsafe_code)]\n\
             pub static A: offload_format::KernelPack = offload_embed_macro::include_offload!(\"mixed\", retain);\n\
             pub static B: offload_format::KernelPack = \
             offload_embed_macro::include_offload!(path = \"files/saxpy.hipfb\", retain, align = 8192);\n\
             pub const SAXPY: offload_format::embedded::Kernel = A.kernel(\"saxpy\");\n",
        )
        .write(
            "src/main.rs",
            format!("{FORBID}fn main() {{ println!(\"{{}}\", include_no_std::SAXPY.module().images().len()); }}\n"),
        );
    assert_eq!(stdout(&succeed(&mut package.cargo(&["run", "--quiet"]))), "3\n");
}

/// The packs of two libraries and a file of the program; two are the same, one is not retained.
fn retained_packs_of_all_crates_are_listed() {
    let [left, right, app] = ["include_list_left", "include_list_right", "include_list_app"].map(Package::new);
    for library in [&left, &right, &app] {
        with_packs(library);
    }
    // One is the same as in the other library, under another name.
    let other = [("\"amd\"", "\"amd-too\""), ("\"mixed\"", "\"other\""), ("\"gfx90a\", \"sm_90a\"", "\"sm_90a\"")];
    right.write("build.rs", other.iter().fold(BUILD.to_owned(), |text, (from, to)| text.replace(from, to)));
    let packs = |[a, b]: [&str; 2], other: &str| {
        format!(
            "{FORBID}pub static A: offload_format::KernelPack = offload_embed_macro::include_offload!(\"{a}\", retain);\n\
             pub static B: offload_format::KernelPack = offload_embed_macro::include_offload!(\"{b}\"{other});\n\
             pub fn used() -> usize {{ A.images().len() + B.images().len() }}\n"
        )
    };
    left.write("src/lib.rs", packs(["amd", "mixed"], ", retain"));
    right.write("src/lib.rs", packs(["amd-too", "other"], ""));
    let manifest = fs::read_to_string(app.folder.join("Cargo.toml")).expect("a package has a manifest");
    let libraries = "[dependencies]\ninclude_list_left = { path = \"../include_list_left\" }\n\
                     include_list_right = { path = \"../include_list_right\" }\n";
    app.write("Cargo.toml", manifest.replace("[dependencies]\n", libraries));
    let main = |listed: &str| {
        format!(
            "{FORBID}static FILE: offload_format::KernelPack = \
             offload_embed_macro::include_offload!(path = \"files/saxpy.hipfb\", retain);\n\
             fn main() {{\n    let used = include_list_left::used() + include_list_right::used();\n    \
             println!(\"{{used}} {{}}\", FILE.images().len());\n    {listed}\n}}\n"
        )
    };
    let list = "let mut packs: Vec<_> = offload_format::embedded::linked_packs().collect();\n    \
                packs.sort_by_key(|pack| pack.name());\n    \
                for pack in packs {\n        \
                let known = [&include_list_left::A, &include_list_left::B, &FILE];\n        \
                assert!(known.iter().any(|known| std::ptr::eq(known.bytes(), pack.bytes())), \"{pack:?}\");\n        \
                println!(\"{}\", pack.name());\n    }";
    for (profile, linker, lto) in
        [("debug", "", "false"), ("release", "-Clinker-features=-lld", "false"), ("release", "", "fat")]
    {
        let run = |text: &str| {
            app.write("src/main.rs", text);
            let mut cargo = app.cargo(&["rustc", "--quiet", "--bin", "include_list_app"]);
            cargo.args((profile == "release").then_some("--release")).env("CARGO_PROFILE_RELEASE_LTO", lto);
            succeed(cargo.arg("--").args((!linker.is_empty()).then_some(linker)));
            stdout(&succeed(&mut Command::new(app.program(profile, "include_list_app"))))
        };
        assert_eq!(run(&main("")), "7 1\n", "{profile} {linker} {lto}");
        let names = run(&main(list));
        assert_eq!(names, "7 1\namd\namd-too\nmixed\nsaxpy\n", "{profile} {linker} {lto}");
    }
    // A program without packs has an empty list.
    let none = "fn main() { println!(\"{}\", offload_format::embedded::linked_packs().count()); }\n";
    app.write("src/main.rs", none);
    assert_eq!(stdout(&succeed(&mut app.cargo(&["run", "--quiet"]))), "0\n");
}

/// The program stays as it is when the pack changes, and says so when the pack is gone. Release builds embed.
fn for_development_packs_are_read_from_disk() {
    let package = Package::new("include_from_disk");
    with_packs(&package);
    package
        .write(
            "src/lib.rs",
            format!(
                "{FORBID}use offload_format::{{KernelPack, embedded::Kernel}};\n\
                 pub static PACK: KernelPack = offload_embed_macro::include_offload!(\"amd\", retain);\n\
                 pub const SAXPY: Kernel = PACK.kernel(\"saxpy\");\n"
            ),
        )
        .write(
            "src/main.rs",
            format!("{FORBID}use include_from_disk::{{PACK, SAXPY}};\n")
                + "fn main() {\n    \
                     match SAXPY.module().select(&offload_format::Device::parse(\"gfx90a\").unwrap()) {\n        \
                         Ok(image) => println!(\"{} bytes, aligned {}\", image.bytes().len(), \
                             image.as_ptr().addr() % 4096 == 0),\n        \
                         Err(error) => println!(\"{error}\"),\n    \
                     }\n    \
                     assert_eq!(PACK.absent().is_some(), PACK.bytes().is_empty() && PACK.images().len() == 0);\n\
                   }\n",
        );
    let cargo = |what: &str, profile: &str, from_disk: &str| {
        let mut cargo = package.cargo(&["build", "--quiet", what]);
        succeed(cargo.args((profile == "release").then_some("--release")).env("OFFLOAD_FROM_DISK", from_disk));
    };
    let run = |profile: &str| stdout(&succeed(&mut Command::new(package.program(profile, "include_from_disk"))));
    let program = || read(package.program("debug", "include_from_disk"));
    let (old, new) = (image("saxpy.gfx90a.hsaco"), [image("saxpy.gfx90a.hsaco"), vec![0; 40]].concat());
    let says = |image: &[u8]| format!("{} bytes, aligned true\n", image.len());
    let write = |image: &[u8]| package.write("src/files/saxpy.gfx90a.hsaco", image);

    cargo("--bins", "debug", "1");
    assert!(section(&package.program("debug", "include_from_disk"), ".hip_fatbin").is_empty());
    assert_eq!(run("debug"), says(&old));
    let before = program();
    // It runs the build script, and nothing is linked.
    write(&new);
    cargo("--lib", "debug", "1");
    assert_eq!(run("debug"), says(&new));
    assert!(before == program());
    // The pack is gone.
    fs::remove_file(package.own_output("debug", "amd.index")).expect("the index is there");
    let text = run("debug");
    assert!(
        text.starts_with("no image for gfx90a: could not read ") && text.contains("amd.index: No such file"),
        "{text}"
    );
    assert!(text.contains("OFFLOAD_FROM_DISK was set when the program was compiled"), "{text}");

    for (profile, from_disk) in [("release", "1"), ("debug", "0")] {
        write(&old);
        cargo("--bins", profile, from_disk);
        assert_eq!(run(profile), says(&old), "{profile}");
        write(&new);
        cargo("--lib", profile, from_disk);
        assert_eq!(run(profile), says(&old), "{profile}: {from_disk}");
        let sections = section(&package.program(profile, "include_from_disk"), ".hip_fatbin");
        assert_eq!(sections.len(), 1, "{profile}: {from_disk}");
    }
    let mut wrong = package.cargo(&["check"]);
    let output = wrong.env("OFFLOAD_FROM_DISK", "yes").output().expect("cargo starts");
    assert!(printed(&output).contains("error: OFFLOAD_FROM_DISK is 'yes'; it can be 1 or 0"), "{}", printed(&output));
}

/// The bytes that `cargo check` reads and writes for a pack of the build script do not grow with the image. What counts
/// them is the system, for the compiler and all that it starts.
fn checking_costs_no_more_for_a_larger_image() {
    let package = Package::new("include_cost");
    package.write(
        "build.rs",
        BUILD.replace("mixed.offload", "large.hsaco").replace("\"gfx90a\", \"sm_90a\", \"compute_80\"", "\"gfx90a\""),
    );
    package.write("src/files/saxpy.gfx90a.hsaco", image("saxpy.gfx90a.hsaco")).write(
        "wrapper",
        "#!/bin/sh\n\"$@\" || exit\ncase \" $* \" in *' --crate-name include_cost '*) cat /proc/$$/io > io ;; esac\n",
    );
    succeed(Command::new("chmod").arg("+x").arg(package.folder.join("wrapper")));
    package.write(
        "src/lib.rs",
        "#![forbid(unsafe_code)]\n\
         pub static A: offload_format::KernelPack = offload_embed_macro::include_offload!(\"mixed\");\n",
    );
    const LARGE: usize = 64 << 20;
    let cost = |size: usize| {
        let mut bytes = image("saxpy.gfx90a.hsaco");
        bytes.resize(bytes.len() + size, 1);
        package.write("src/files/large.hsaco", bytes);
        succeed(package.cargo(&["check", "--lib"]).env("RUSTC_WRAPPER", package.folder.join("wrapper")));
        let io = fs::read_to_string(package.folder.join("io")).expect("the wrapper has written it");
        let number = |name: &str| {
            let line = io.lines().find_map(|line| line.strip_prefix(name)).expect("Linux counts");
            line.trim_start_matches(':').trim().parse::<usize>().expect("a number")
        };
        number("rchar") + number("wchar")
    };
    let (small, large) = (cost(0), cost(LARGE));
    assert!(small > 0 && large < small + (1 << 20), "{small} bytes for a small image, {large} for one of {LARGE} more");
}

/// Images that are to be linked, in an offload binary that clang's linker wrapper finds in the program's object.
fn clang_linker_wrapper_takes_images_of_a_file() {
    let package = Package::new("include_offload_link");
    let folder = package.folder.join("src/files");
    package.write("src/files/add.hip", "extern \"C\" __attribute__((amdgpu_kernel)) void add(float *y) { *y += 1; }\n");
    let clang = || {
        let mut clang = llvm("clang");
        clang.current_dir(&folder).args(["--target=amdgcn-amd-amdhsa", "-nogpulib", "-O2", "-c", "-x", "c++"]);
        clang
    };
    for gpu in ["gfx90a", "gfx1030"] {
        succeed(clang().arg(format!("-mcpu={gpu}")).args(["add.hip", "-o"]).arg(format!("{gpu}.o")));
    }
    let mut pack = llvm("llvm-offload-binary");
    pack.current_dir(&folder).args(["-o", "add.ob"]);
    for gpu in ["gfx90a", "gfx1030"] {
        pack.arg(format!("--image=file={gpu}.o,triple=amdgcn-amd-amdhsa,arch={gpu},kind=hip"));
    }
    succeed(&mut pack);
    package.write(
        "src/main.rs",
        format!(
            "{FORBID}static ADD: offload_format::KernelPack = \
             offload_embed_macro::include_offload!(path = \"files/add.ob\", retain);\n\
             fn main() {{ println!(\"{{}}\", ADD.images().len()); }}\n"
        ),
    );
    // In place of AMD's runtime: what the wrapper's constructor calls.
    package.write(
        "hip.c",
        "#include <stdio.h>\n\
         void **__hipRegisterFatBinary(const unsigned *wrapper) { printf(\"registered %#x\\n\", wrapper[0]); return 0; }\n\
         void __hipUnregisterFatBinary(void **handle) {}\nvoid __hipRegisterFunction(void) {}\n\
         void __hipRegisterVar(void) {}\nvoid __hipRegisterManagedVar(void) {}\nvoid __hipRegisterSurface(void) {}\n\
         void __hipRegisterTexture(void) {}\n",
    );
    succeed(llvm("clang").current_dir(&package.folder).args(["-shared", "-fPIC", "hip.c", "-o", "libhip.so"]));
    let mut build = package.cargo(&["build", "--quiet"]);
    let link =
        ["--offload-link", &format!("-L{}", package.folder.display()), "-lhip"].map(|arg| format!("-C link-arg={arg}"));
    build.env("RUSTFLAGS", format!("-C linker={} {}", llvm_bin().join("clang").display(), link.join(" ")));
    succeed(build.env("CARGO_TARGET_DIR", package.folder.join("target")));
    let program = package.folder.join("target/debug/include_offload_link");
    let output = succeed(Command::new(&program).env("LD_LIBRARY_PATH", &package.folder));
    // The C library prints what it has when the program ends.
    assert_eq!(stdout(&output), "0\nregistered 0x48495046\n");
    let bundle = package.folder.join("bundle");
    let dump = format!("--dump-section=.hip_fatbin={}", bundle.display());
    succeed(llvm("llvm-objcopy").arg(dump).arg(&program).arg(package.folder.join("rest")));
    let list = succeed(llvm("clang-offload-bundler").args(["-list", "-type=o", "-input"]).arg(&bundle));
    let list = stdout(&list);
    assert!(list.contains("gfx90a") && list.contains("gfx1030"), "{list}");
}
