//! Wrappers for HIP and CUDA in programs for every system. Each wrapper must point to a container
//! that the search also finds.

use super::inputs::{INPUTS, LINKS, RUNTIME, a_bundle, copied, hip_object, link, of_corpus};
use super::offset_in;
use offload_format::fat_file::{WrapperKind, wrappers};
use offload_tests::prelude::*;
use offload_tests::published::{bundles, fatbin_images};

/// Asserts that a file has this many wrappers of this kind, each of which points to a container
/// found by [`find`].
#[track_caller]
fn assert_wrappers(path: &Path, kind: WrapperKind, count: usize, what: &str) {
    let file = &read(path);
    let bundles = bundles(file).into_iter().map(|bundle| bundle.range.start as u64);
    let starts: Vec<u64> = bundles.chain(fatbin_images(file).1).collect();
    let mut images = Vec::new();
    wrappers(file, |wrapper| {
        let expected = (kind, 1, 24 * images.len() as u64);
        assert_eq!((wrapper.kind, wrapper.version, wrapper.offset), expected, "{what}");
        let image = wrapper.image.unwrap_or_else(|| panic!("{what}: a wrapper without an image"));
        images.push(offset_in(file, image));
    });
    images.sort();
    assert_eq!((images.len(), &images), (count, &starts), "{what}");
}

/// Asserts that each program or library linked from these files has this many wrappers.
fn assert_linked(folder: &Path, inputs: &[&str], kind: WrapperKind, count: usize) {
    for how in LINKS {
        assert_wrappers(&link(folder, how, inputs), kind, count, &format!("{inputs:?}, {how}"));
    }
}

#[test(CLANG.slow())]
fn wrappers_of_programs() {
    let folder = scratch::folder("fat-file-wrappers");
    for path in [INPUTS.join("a.o"), INPUTS.join("c.o")].into_iter().chain(of_corpus("nordc")) {
        assert_wrappers(&path, WrapperKind::Hip, 1, &path.display().to_string());
    }
    assert_linked(&folder, &["a.o", "c.o", "b.o"], WrapperKind::Hip, 3);
    for linker in ["lld", "bfd"] {
        let options = format!("-fuse-ld={linker} -r -nostdlib a.o c.o b.o -o");
        succeed(in_folder(llvm("clang"), &INPUTS, &options).arg(folder.join("r.o")));
        assert_wrappers(&folder.join("r.o"), WrapperKind::Hip, 3, linker);
    }

    // With relocatable device code, the bundle is added at link time, in a different object, so the
    // wrapper in this object has no image.
    copied(&INPUTS, &folder, &["k.hip"]);
    hip_object(&folder, "rdc", "-fgpu-rdc --no-offload-new-driver");
    let mut wrapper_without_image = 0;
    wrappers(&read(folder.join("rdc.o")), |wrapper| {
        assert!(wrapper.image.is_none());
        wrapper_without_image += 1;
    });
    assert_eq!(wrapper_without_image, 1);
    let symbols = run(llvm("llvm-nm"), &folder, "--undefined-only rdc.o");
    let symbol = symbols.split_whitespace().find(|word| word.starts_with("__hip_fatbin"));
    let symbol = symbol.expect("the bundle's symbol");
    scratch::write(folder.join("bundle.bin"), a_bundle());
    let handle = symbol.replace("__hip_fatbin", "__hip_gpubin_handle");
    let text = format!(
        ".section .hip_fatbin,\"a\"\n.globl {symbol}\n.p2align 12\n{symbol}:\n.incbin \"bundle.bin\"\n\
         .hidden {handle}\n.comm {handle},8\n"
    );
    scratch::write(folder.join("bundle.s"), text);
    run(llvm("clang"), &folder, "-c bundle.s");
    assert_linked(&folder, &["rdc.o", "bundle.o"], WrapperKind::Hip, 1);
}

#[test(CLANG.slow())]
fn wrappers_of_the_linker_wrapper() {
    let folder = scratch::folder("fat-file-offload-wrapper");
    scratch::write(folder.join("hip.bin"), a_bundle());
    scratch::write(folder.join("group.fatbin"), corpus_file("nv_fatbin/group.fatbin"));
    let cases = [("hip", "hip.bin", WrapperKind::Hip), ("cuda", "group.fatbin", WrapperKind::Cuda)];
    for (kind, image, expected) in cases {
        let options =
            format!("--triple=x86_64-unknown-linux-gnu --kind={kind} -o wrapper.bc {image}");
        run(llvm("llvm-offload-wrapper"), &folder, &options);
        run(llvm("clang"), &folder, "-w -fPIC -c wrapper.bc");
        assert_wrappers(&folder.join("wrapper.o"), expected, 1, kind);
        assert_linked(&folder, &["wrapper.o"], expected, 1);
    }
}

/// Compiles two kernels to `a.o` and `b.o`, only for the host, with a file in place of the device
/// code.
fn objects_with_image(folder: &Path, kind: WrapperKind, options: &str) {
    let (source, image) = match kind {
        WrapperKind::Hip => ("-x hip k.hip", "hip.bin"),
        _ => ("-x cuda k.cu", "group.fatbin"),
    };
    for kernel in ["a", "b"] {
        let options = format!(
            "{options} --cuda-host-only -O1 -Xclang -fcuda-include-gpubinary -Xclang {image} \
             -c {source} -DKERNEL={kernel} -o {kernel}.o"
        );
        run(llvm("clang"), folder, &options);
        assert_wrappers(&folder.join(format!("{kernel}.o")), kind, 1, kernel);
    }
}

#[test(LLVM)]
fn wrappers_on_windows() {
    let folder = scratch::folder("fat-file-wrappers-windows");
    copied(&INPUTS, &folder, &["k.hip"]);
    scratch::write(folder.join("hip.bin"), a_bundle());
    scratch::write(folder.join("runtime.c"), RUNTIME.replace("F(main)", "F(atexit)"));
    let target = "--target=x86_64-pc-windows-msvc";
    run(llvm("clang"), &folder, &format!("{target} -w -ffreestanding -c runtime.c"));
    let options = format!("{target} -nogpuinc --hip-path=/nonexistent");
    objects_with_image(&folder, WrapperKind::Hip, &options);
    for option in ["", "/dynamicbase:no"] {
        let options = format!("/dll /noentry /nodefaultlib /out:image.dll {option}");
        run(llvm("lld-link"), &folder, &format!("{options} a.o b.o runtime.o"));
        assert_wrappers(&folder.join("image.dll"), WrapperKind::Hip, 2, "image.dll");
    }
}

#[test(LLVM)]
fn wrappers_on_macos() {
    let folder = scratch::folder("fat-file-wrappers-macos");
    scratch::write(folder.join("hip.bin"), a_bundle());
    let cases = [("x86_64", "10.12"), ("x86_64", "13.0"), ("arm64", "11.0"), ("arm64", "13.0")];
    for (arch, version) in cases {
        for name in ["_a", "_b"] {
            // The section names come from LLVM's main branch. clang 22 lacks them.
            let text = format!(
                ".section __HIP,__hip_fatbin\n.p2align 12\nL_image:\n.incbin \"hip.bin\"\n\
                 .section __HIP,__fatbin\n.p2align 3\n.globl {name}\n{name}:\n\
                 .long 0x48495046, 1\n.quad L_image\n.quad 0\n"
            );
            scratch::write(folder.join("w.s"), text);
            let options = format!("--target={arch}-apple-macosx{version} -c w.s -o {name}.o");
            run(llvm("clang"), &folder, &options);
            assert_wrappers(&folder.join(format!("{name}.o")), WrapperKind::Hip, 1, name);
        }
        // No test runs the program's entry `_a`.
        for how in ["-no_fixup_chains -dylib", "-fixup_chains -dylib", "-fixup_chains -e _a"] {
            let options = format!("-arch {arch} -platform_version macos {version} {version} {how}");
            run(llvm("ld64.lld"), &folder, &format!("{options} -o image _a.o _b.o"));
            let what = format!("{arch} {version} {how}");
            assert_wrappers(&folder.join("image"), WrapperKind::Hip, 2, &what);
        }
    }
}

#[test(CLANG)]
fn wrappers_of_cuda() {
    let folder = scratch::folder("fat-file-wrappers-cuda");
    copied(&INPUTS, &folder, &["k.cu"]);
    scratch::write(folder.join("group.fatbin"), corpus_file("nv_fatbin/group.fatbin"));
    objects_with_image(&folder, WrapperKind::Cuda, "-nocudainc -nocudalib -fPIC");
    assert_linked(&folder, &["a.o", "b.o"], WrapperKind::Cuda, 2);
}
