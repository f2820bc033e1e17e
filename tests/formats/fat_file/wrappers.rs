//! Wrappers in programs, for HIP and CUDA, on every system: each wrapper points to a container that
//! the search also finds.

use super::inputs::{INPUTS, LINKS, RUNTIME, a_bundle, copied, hip_object, in_folder, link};
use super::{LIMIT, containers, offset_in};
use offload_format::compressed::Bundles;
use offload_format::fat_file::{Container, Wrapper, WrapperKind, wrappers};
use offload_format::nv_fatbin::NvFatbins;
use offload_tests::data::{corpus, read};
use offload_tests::registry::{CLANG, LLVM};
use offload_tests::scratch;
use offload_tests::tools::{llvm, stdout, succeed};
use std::process::Command;

offload_tests::tests! {
    LLVM => [wrappers_on_windows, wrappers_on_macos],
    CLANG => [wrappers_of_programs, wrappers_of_the_linker_wrapper, wrappers_of_cuda],
}

/// Asserts that a file has this many wrappers of this kind, and that each points to a container
/// that [`find`] finds.
#[track_caller]
fn assert_wrappers(file: &[u8], kind: WrapperKind, count: usize, what: &str) {
    let mut starts = Vec::new();
    for (place, container) in containers(file) {
        match container {
            Container::Bundles(section) => {
                starts.extend(
                    Bundles::new(section, LIMIT)
                        .map(|bundle| place.offset + bundle.expect("a bundle").0),
                );
            }
            Container::NvFatbins(section) => {
                starts.extend(
                    NvFatbins::new(section)
                        .map(|fatbin| place.offset + fatbin.expect("a fatbin").0),
                );
            }
            _ => {}
        }
    }
    let mut images = Vec::new();
    wrappers(file, |wrapper: Wrapper<'_>| {
        assert_eq!((wrapper.kind(), wrapper.version()), (kind, 1), "{what}");
        assert_eq!(wrapper.offset(), 24 * images.len() as u64, "{what}");
        images.push(offset_in(
            file,
            wrapper.image().unwrap_or_else(|| panic!("{what}: a wrapper without an image")),
        ));
    });
    images.sort();
    assert_eq!((images.len(), &images), (count, &starts), "{what}");
}

fn wrappers_of_programs() {
    let folder = scratch::folder("fat-file-wrappers");
    for name in ["a.o", "c.o"] {
        assert_wrappers(&read(INPUTS.join(name)), WrapperKind::Hip, 1, name);
    }
    for path in
        corpus("fat_file").iter().filter(|path| path.display().to_string().contains("nordc"))
    {
        assert_wrappers(&read(path), WrapperKind::Hip, 1, &path.display().to_string());
    }
    for how in LINKS {
        let program = link(&folder, how, &["a.o", "c.o", "b.o"]);
        assert_wrappers(&read(program), WrapperKind::Hip, 3, &format!("{how:?}"));
    }
    for linker in ["lld", "bfd"] {
        let mut clang = in_folder(llvm("clang"), &INPUTS);
        clang.args([&format!("-fuse-ld={linker}"), "-r", "-nostdlib", "a.o", "c.o", "b.o", "-o"]);
        succeed(clang.arg(folder.join("r.o")));
        assert_wrappers(&read(folder.join("r.o")), WrapperKind::Hip, 3, linker);
    }

    // With relocatable device code, the driver writes the bundle into another object at link time,
    // so the wrapper in this object has no image.
    copied(&INPUTS, &folder, &["k.hip"]);
    hip_object(&folder, "rdc", &["-fgpu-rdc", "--no-offload-new-driver"]);
    let mut wrapper_without_image = 0;
    wrappers(&read(folder.join("rdc.o")), |wrapper| {
        assert!(wrapper.image().is_none());
        wrapper_without_image += 1;
    });
    assert_eq!(wrapper_without_image, 1);
    let symbols =
        stdout(&succeed(in_folder(llvm("llvm-nm"), &folder).args(["--undefined-only", "rdc.o"])));
    let symbol = symbols
        .split_whitespace()
        .find(|word| word.starts_with("__hip_fatbin"))
        .expect("the bundle's symbol");
    scratch::write(folder.join("bundle.bin"), a_bundle());
    let handle = symbol.replace("__hip_fatbin", "__hip_gpubin_handle");
    let text = format!(
        ".section .hip_fatbin,\"a\"\n.globl {symbol}\n.p2align 12\n{symbol}:\n.incbin \"bundle.bin\"\n.hidden {handle}\n.comm {handle},8\n"
    );
    scratch::write(folder.join("bundle.s"), text);
    succeed(in_folder(llvm("clang"), &folder).args(["-c", "bundle.s"]));
    for how in LINKS {
        let program = link(&folder, how, &["rdc.o", "bundle.o"]);
        assert_wrappers(
            &read(program),
            WrapperKind::Hip,
            1,
            &format!("relocatable device code, {how:?}"),
        );
    }
}

fn wrappers_of_the_linker_wrapper() {
    let folder = scratch::folder("fat-file-offload-wrapper");
    scratch::write(folder.join("hip.bin"), a_bundle());
    copied(&scratch::workspace().join("tests/corpus/nv_fatbin"), &folder, &["group.fatbin"]);
    for (kind, image, expected) in
        [("hip", "hip.bin", WrapperKind::Hip), ("cuda", "group.fatbin", WrapperKind::Cuda)]
    {
        let mut wrapper = in_folder(llvm("llvm-offload-wrapper"), &folder);
        wrapper.args([
            "--triple=x86_64-unknown-linux-gnu",
            &format!("--kind={kind}"),
            "-o",
            "wrapper.bc",
            image,
        ]);
        succeed(&mut wrapper);
        succeed(in_folder(llvm("clang"), &folder).args(["-w", "-fPIC", "-c", "wrapper.bc"]));
        assert_wrappers(&read(folder.join("wrapper.o")), expected, 1, kind);
        for how in LINKS {
            let program = link(&folder, how, &["wrapper.o"]);
            assert_wrappers(&read(program), expected, 1, &format!("{kind}, {how:?}"));
        }
    }
}

/// Adds options with which clang compiles only for the host, and uses a file in place of the device
/// code.
fn with_image(command: &mut Command, language: &str, file: &str) {
    command.args([
        "-x",
        language,
        "--cuda-host-only",
        "-O1",
        "-Xclang",
        "-fcuda-include-gpubinary",
        "-Xclang",
        file,
    ]);
}

fn wrappers_on_windows() {
    let folder = scratch::folder("fat-file-wrappers-windows");
    copied(&INPUTS, &folder, &["k.hip"]);
    scratch::write(folder.join("hip.bin"), a_bundle());
    scratch::write(folder.join("runtime.c"), RUNTIME.replace("F(main)", "F(atexit)"));
    let target = "--target=x86_64-pc-windows-msvc";
    succeed(in_folder(llvm("clang"), &folder).args([
        target,
        "-w",
        "-ffreestanding",
        "-c",
        "runtime.c",
        "-o",
        "runtime.obj",
    ]));
    for kernel in ["a", "b"] {
        let mut clang = in_folder(llvm("clang"), &folder);
        with_image(clang.args([target, "-nogpuinc", "--hip-path=/nonexistent"]), "hip", "hip.bin");
        succeed(clang.args([
            "-c",
            "k.hip",
            &format!("-DKERNEL={kernel}"),
            "-o",
            &format!("{kernel}.obj"),
        ]));
        assert_wrappers(&read(folder.join(format!("{kernel}.obj"))), WrapperKind::Hip, 1, kernel);
    }
    for options in [&[][..], &["/dynamicbase:no"]] {
        let mut lld = in_folder(llvm("lld-link"), &folder);
        lld.args(["/dll", "/noentry", "/nodefaultlib", "/out:image.dll"]).args(options);
        succeed(lld.args(["a.obj", "b.obj", "runtime.obj"]));
        assert_wrappers(&read(folder.join("image.dll")), WrapperKind::Hip, 2, "image.dll");
    }
}

fn wrappers_on_macos() {
    let folder = scratch::folder("fat-file-wrappers-macos");
    scratch::write(folder.join("hip.bin"), a_bundle());
    // The section names come from LLVM's main branch; clang 22 has no such names.
    let text = |name: &str| {
        format!(
            ".section __HIP,__hip_fatbin\n.p2align 12\nL_image:\n.incbin \"hip.bin\"\n.section __HIP,__fatbin\n\
             .p2align 3\n.globl {name}\n{name}:\n.long 0x48495046, 1\n.quad L_image\n.quad 0\n"
        )
    };
    for (arch, version) in
        [("x86_64", "10.12"), ("x86_64", "13.0"), ("arm64", "11.0"), ("arm64", "13.0")]
    {
        for name in ["_a", "_b"] {
            scratch::write(folder.join("w.s"), text(name));
            let mut clang = in_folder(llvm("clang"), &folder);
            clang.arg(format!("--target={arch}-apple-macosx{version}"));
            succeed(clang.args(["-c", "w.s", "-o", &format!("{name}.o")]));
            assert_wrappers(&read(folder.join(format!("{name}.o"))), WrapperKind::Hip, 1, name);
        }
        for (fixups, dylib) in
            [("-no_fixup_chains", true), ("-fixup_chains", true), ("-fixup_chains", false)]
        {
            let mut lld = in_folder(llvm("ld64.lld"), &folder);
            lld.args([
                "-arch",
                arch,
                "-platform_version",
                "macos",
                version,
                version,
                fixups,
                "-o",
                "image",
            ]);
            // This test never runs the program's entry.
            succeed(
                lld.args(if dylib { &["-dylib"][..] } else { &["-e", "_a"] })
                    .args(["_a.o", "_b.o"]),
            );
            let what = format!("{arch} {version} {fixups}, dylib: {dylib}");
            assert_wrappers(&read(folder.join("image")), WrapperKind::Hip, 2, &what);
        }
    }
}

fn wrappers_of_cuda() {
    let folder = scratch::folder("fat-file-wrappers-cuda");
    copied(&INPUTS, &folder, &["k.cu"]);
    copied(&scratch::workspace().join("tests/corpus/nv_fatbin"), &folder, &["group.fatbin"]);
    for kernel in ["a", "b"] {
        let mut clang = in_folder(llvm("clang"), &folder);
        with_image(clang.args(["-nocudainc", "-nocudalib", "-fPIC"]), "cuda", "group.fatbin");
        succeed(clang.args([
            "-c",
            "k.cu",
            &format!("-DKERNEL={kernel}"),
            "-o",
            &format!("{kernel}.o"),
        ]));
        assert_wrappers(&read(folder.join(format!("{kernel}.o"))), WrapperKind::Cuda, 1, kernel);
    }
    for how in LINKS {
        let program = link(&folder, how, &["a.o", "b.o"]);
        assert_wrappers(&read(program), WrapperKind::Cuda, 2, &format!("{how:?}"));
    }
}
