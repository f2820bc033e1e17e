//! Tests of `cargo offload pack` and `cargo offload bundle`. If LLVM's tools can write the same
//! file, the bytes must be equal. Otherwise, LLVM's readers check the file.

use crate::{assert_ends, assert_fails, assert_session, assert_transcript, offload};
use offload_format::bundle::Bundle;
use offload_format::compressed::CompressedBundle;
use offload_format::offload_binary::{OffloadBinary, Version};
use offload_tests::prelude::*;

/// Creates a folder with images: `g.o` for gfx90a, `h.o` for gfx1100, `c.cubin` for sm_90, `p.s`
/// for compute_80.
fn folder(test: &str) -> PathBuf {
    let folder = scratch::folder(&format!("offload-pack-{test}"));
    scratch::write(folder.join("g.o"), corpus_file("image/saxpy.gfx90a.hsaco"));
    scratch::write(folder.join("c.cubin"), corpus_file("image/saxpy.sm_90.cubin"));
    scratch::write(folder.join("p.s"), corpus_file("image/saxpy.compute_80.ptx"));
    let bundle = corpus_file("bundle/hip_dev.hipfb");
    let entry =
        Bundle::parse(&bundle).unwrap().entries().find(|entry| entry.id_str.ends_with("gfx1100"));
    scratch::write(folder.join("h.o"), entry.unwrap().code_object);
    folder
}

/// Runs a command line that writes `ours`, and returns this file.
#[track_caller]
fn ours(folder: &Path, line: &str) -> Vec<u8> {
    let ran = offload(folder, &format!("{line} -o ours"));
    assert_ends(&ran, 0, "");
    assert_eq!(ran.stdout, "", "{line}");
    read(folder.join("ours"))
}

#[test(LLVM)]
fn packs_have_llvms_bytes() {
    let folder = folder("packs");
    for (line, images) in [
        ("gfx90a=g.o", &["file=g.o,triple=amdgcn-amd-amdhsa,arch=gfx90a,kind=hip"][..]),
        (
            "gfx90a:xnack-:sramecc+=g.o gfx1100=h.o sm_90=c.cubin compute_80=p.s",
            &[
                "file=g.o,triple=amdgcn-amd-amdhsa,arch=gfx90a:sramecc+:xnack-,kind=hip",
                "file=h.o,triple=amdgcn-amd-amdhsa,arch=gfx1100,kind=hip",
                "file=c.cubin,triple=nvptx64-nvidia-cuda,arch=sm_90,kind=cuda",
                "file=p.s,triple=nvptx64-nvidia-cuda,arch=compute_80,kind=cuda",
            ],
        ),
        (
            "openmp-amdgcn-amd-amdhsa--gfx90a=g.o --module saxpy",
            &["file=g.o,triple=amdgcn-amd-amdhsa,arch=gfx90a,module=saxpy,kind=openmp"],
        ),
        (
            "amdgcn-amd-amdhsa--gfx90a=g.o nvptx64-nvidia-cuda--sm_90a=c.cubin",
            &[
                "file=g.o,triple=amdgcn-amd-amdhsa,arch=gfx90a,kind=hip",
                "file=c.cubin,triple=nvptx64-nvidia-cuda,arch=sm_90a,kind=cuda",
            ],
        ),
    ] {
        let ours = ours(&folder, &format!("pack {line}"));
        let images: String = images.iter().map(|image| format!(" --image={image}")).collect();
        run(llvm("llvm-offload-binary"), &folder, &format!("-o theirs {images}"));
        assert_same_bytes(&ours, &read(folder.join("theirs")), line);
    }
}

#[test(LLVM)]
fn bundles_have_llvms_bytes() {
    let folder = folder("bundles");
    const HOST: &str = "host-x86_64-unknown-linux-gnu";
    scratch::write(folder.join("host"), "host code");
    for (line, targets, inputs, align) in [
        ("gfx90a=g.o", "HOST,hipv4-amdgcn-amd-amdhsa--gfx90a", "/dev/null g.o", 4096),
        (
            "gfx1100=h.o gfx90a:xnack-:sramecc+=g.o",
            "HOST,hipv4-amdgcn-amd-amdhsa--gfx1100,hipv4-amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-",
            "/dev/null h.o g.o",
            4096,
        ),
        (
            "hip-amdgcn-amd-amdhsa--gfx90a=g.o host-x86_64-unknown-linux-gnu-=host --align=16",
            "hip-amdgcn-amd-amdhsa--gfx90a,HOST",
            "g.o host",
            16,
        ),
        (
            "openmp-nvptx64-nvidia-cuda--sm_90=c.cubin",
            "HOST,openmp-nvptx64-nvidia-cuda--sm_90",
            "/dev/null c.cubin",
            4096,
        ),
    ] {
        let ours = ours(&folder, &format!("bundle {line}"));
        let options = format!("-type=bc -output=theirs -bundle-align={align}");
        let (targets, inputs) = (targets.replace("HOST", HOST), inputs.replace(' ', " -input="));
        let line = format!("{options} -targets={targets} -input={inputs}");
        run(llvm("clang-offload-bundler"), &folder, &line);
        assert_same_bytes(&ours, &read(folder.join("theirs")), &line);
    }
}

#[track_caller]
fn assert_extracts(folder: &Path, originals: &[&str]) {
    let out = folder.join("extracted");
    let _ = fs::remove_dir_all(&out);
    assert_eq!(offload(folder, "extract ours -o extracted -q").code, 0);
    let mut files: Vec<Vec<u8>> = scratch::contents(&out).into_values().collect();
    let mut expected: Vec<Vec<u8>> = originals.iter().map(|name| read(folder.join(name))).collect();
    files.sort_unstable();
    expected.sort_unstable();
    assert!(files == expected, "other images come out");
}

#[test]
fn all_versions_and_back() {
    let folder = folder("versions");
    let images = "gfx90a=g.o gfx1100=h.o sm_90=c.cubin";
    for (options, version, compressed) in [
        ("", Version::V1, false),
        ("--version=1", Version::V1, false),
        ("--version=2", Version::V2, false),
        ("--version=3", Version::V3, false),
        ("--compress", Version::V3, true),
        ("--compress --version=3", Version::V3, true),
    ] {
        let pack = ours(&folder, &format!("pack {images} {options}"));
        for (_, binary) in OffloadBinary::in_a_row(&pack).map(Result::unwrap) {
            assert_eq!(binary.version, version, "{options}");
            assert_eq!(binary.compressed.is_some(), compressed, "{options}");
        }
        assert!(pack.len().is_multiple_of(8), "{options}: {} bytes", pack.len());
        assert_extracts(&folder, &["g.o", "h.o", "c.cubin"]);
        assert_eq!(offload(&folder, "verify ours").code, 0);
        // With the output `-`, the same bytes must go to standard output.
        let line = format!("pack -o - {images} {options}");
        let mut to_stdout = own::offload(&[]);
        let output = succeed(to_stdout.current_dir(&folder).args(line.split_whitespace()));
        assert!(output.stdout == pack, "{options}: another pack goes to standard output");
    }
    for option in ["--align=1", "--compress", "--align=8192"] {
        let bundle = ours(&folder, &format!("bundle gfx90a=g.o gfx1100=h.o {option}"));
        assert_eq!(CompressedBundle::parse(&bundle).is_ok(), option == "--compress");
        assert_extracts(&folder, &["g.o", "h.o"]);
        // HIP's runtime needs images at multiples of 4096, so `verify` reports bundles with a lower
        // alignment.
        let ran = offload(&folder, "verify ours");
        assert_eq!(ran.code == 0, option != "--align=1", "{ran:?}");
    }
}

#[test]
fn a_nul_follows_ptx() {
    let folder = folder("ptx");
    let text = read(folder.join("p.s"));
    for size in 0..8 {
        scratch::write(folder.join("p.s"), [&text[..], &vec![b'\n'; size]].concat());
        for version in ["1", "2", "3"] {
            for images in ["compute_80=p.s sm_90=c.cubin", "sm_90=c.cubin compute_80=p.s"] {
                let what = format!("{size} {version} {images}");
                ours(&folder, &format!("pack {images} --version {version}"));
                let notes = offload(&folder, "verify -n ours");
                assert_eq!(notes.code, 0, "{what}: {notes:?}");
                assert!(!notes.stdout.contains("[ptx-end]"), "{what}: {notes:?}");
            }
        }
    }
}

/// The files that `llvm-offload-binary` extracts have the packs' triples in their names. For code
/// objects before version 4, clang calls the kind `hip` instead of `hipv4`.
#[test]
fn names_of_targets() {
    let folder = folder("names");
    scratch::write(folder.join("junk"), "junk");
    scratch::write(folder.join("old"), corpus_file("image/v3.hsaco"));
    let mut lines = String::new();
    let targets = "fiji gfx906:xnack+:sramecc- gfx11-generic amdgcnspirv sm_100f \
        x86_64-unknown-linux-gnu sycl-spir64-unknown-unknown- cuda-nvptx64-nvidia-cuda--sm_80 \
        aarch64-unknown-linux-android";
    for target in targets.split(' ') {
        lines += &format!(
            "cargo-offload pack -o ours {target}=junk && llvm-offload-binary ours\n\
             cargo-offload ls ours\n"
        );
    }
    let images = "fiji=junk gfx906:xnack+:sramecc-=junk amdgcnspirv=junk \
        openmp-nvptx64-nvidia-cuda--sm_80=junk gfx906=old";
    for image in images.split(' ') {
        lines += &format!(
            "cargo-offload bundle -o ours {image} && \
             clang-offload-bundler -type=bc -list -input=ours\n"
        );
    }
    assert_session(&folder, "pack_names", &lines);
}

#[test]
fn refusals() {
    let folder = folder("refusals");
    scratch::write(folder.join("junk"), "junk");
    let lines = "
        pack g.o
        pack c.cubin
        pack gfx90a=none.o
        pack gfx90a=.
        pack gfx908=g.o
        pack sm_80=c.cubin
        pack sm_90=g.o
        pack cpu=c.cubin
        pack compute_75=p.s
        pack GFX90A=g.o
        pack sm80=c.cubin
        pack gfx90a:xnak-=g.o
        pack amdgcn-amd-amdhsa=g.o
        pack gfx90a=g.o gfx90a=junk
        pack gfx90a:xnack-=g.o gfx90a=g.o
        pack --compress --version=1 gfx90a=g.o
        bundle gfx908=g.o
        bundle sm_90=c.cubin
        bundle cpu=junk
        bundle amdgcn-amd-amdhsa--gfx90a=g.o
        bundle cuda-nvptx64-nvidia-cuda--sm_90=c.cubin
        bundle gfx90a:xnack-=g.o gfx90a=g.o
        bundle gfx90a=g.o hipv4-amdgcn-amd-amdhsa-gfx90a=g.o"
        .replace("pack", "pack -o none")
        .replace("bundle", "bundle -o none");
    assert_transcript(&folder, "pack", &lines);
    assert!(!folder.join("none").exists());
    // HIP's runtime would not read such a large entry table to its end, so the command must refuse
    // the bundle.
    let many: String = (0..80).map(|number| format!(" gfx{}=junk", 7000 + number)).collect();
    let ran = offload(&folder, &format!("bundle -o none {many}"));
    assert_fails(&ran, &["the entry table for 80 images has "]);
    assert!(!folder.join("none").exists());
    for option in ["--force", "--compress"] {
        let ran = offload(&folder, &format!("bundle -o ours {option} {many}"));
        assert_eq!(ran.code, 0, "{ran:?}");
    }
    // `--force` writes what the command otherwise refuses. An unknown processor may be new, so the
    // command writes its pack, with a warning that suggests known processors.
    let lines = "
        pack gfx908=g.o --force -o ours
        verify -q ours
        bundle gfx908=g.o --force -o ours
        verify -q ours
        pack -o ours gfx90b=junk";
    assert_transcript(&folder, "pack_forced", lines);
}

#[test]
fn an_output_may_replace_an_input() {
    let folder = folder("stays");
    let before = read(folder.join("g.o"));
    assert_eq!(offload(&folder, "bundle -o g.o gfx90a=g.o").code, 0);
    let bundle = read(folder.join("g.o"));
    assert_eq!(Bundle::parse(&bundle).unwrap().entries().nth(1).unwrap().code_object, before);
}
