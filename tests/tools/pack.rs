//! Tests of `cargo offload pack` and `cargo offload bundle`: LLVM's bytes where its tools can write
//! the same, otherwise the results of its readers.

use crate::{assert_fails, corpus_bytes, corpus_path};
use offload_format::bundle::Bundle;
use offload_format::compressed::CompressedBundle;
use offload_format::offload_binary::{OffloadBinaries, Version};
use offload_tests::data::{assert_same_bytes, read};
use offload_tests::own::{self, run};
use offload_tests::registry::{LLVM, NOTHING};
use offload_tests::scratch;
use offload_tests::tools::{llvm, stderr, stdout, succeed};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

offload_tests::tests! {
    LLVM => [
        packs_have_llvms_bytes,
        bundles_have_llvms_bytes,
        llvm_reads_bundles,
        llvm_reads_packs_in_objects,
    ],
    NOTHING => [
        all_versions_and_back,
        a_nul_follows_ptx,
        names_of_targets,
        refusals,
        what_was_there_stays,
    ],
}

/// Makes a folder with images: `g.o` for gfx90a, `h.o` for gfx1100, `c.cubin` for sm_90, `p.s` for
/// compute_80.
fn folder(test: &str) -> PathBuf {
    let folder = scratch::folder(&format!("offload-pack-{test}"));
    scratch::write(folder.join("g.o"), corpus_bytes("image/saxpy.gfx90a.hsaco"));
    scratch::write(folder.join("c.cubin"), corpus_bytes("image/saxpy.sm_90.cubin"));
    scratch::write(folder.join("p.s"), corpus_bytes("image/saxpy.compute_80.ptx"));
    let bundle = corpus_bytes("bundle/hip_dev.hipfb");
    let entry =
        Bundle::parse(&bundle).unwrap().entries().find(|entry| entry.id_str().ends_with("gfx1100"));
    scratch::write(folder.join("h.o"), entry.unwrap().code_object());
    folder
}

/// Returns a command line of `cargo offload` in a folder.
fn offload(folder: &Path, arguments: &[&str]) -> Command {
    let mut offload = Command::new(own::cargo_offload());
    offload.current_dir(folder).args(arguments);
    offload
}

/// Runs a command that writes `ours`, and returns that file.
fn ours(folder: &Path, command: &str, arguments: &[&str]) -> Vec<u8> {
    let output = succeed(offload(folder, &[command, "-o", "ours"]).args(arguments));
    assert_eq!((stdout(&output).as_str(), stderr(&output).as_str()), ("", ""), "{arguments:?}");
    read(folder.join("ours"))
}

fn packs_have_llvms_bytes() {
    let folder = folder("packs");
    for (arguments, images) in [
        (vec!["gfx90a=g.o"], vec!["file=g.o,triple=amdgcn-amd-amdhsa,arch=gfx90a,kind=hip"]),
        (
            vec!["gfx90a:xnack-:sramecc+=g.o", "gfx1100=h.o", "sm_90=c.cubin", "compute_80=p.s"],
            vec![
                "file=g.o,triple=amdgcn-amd-amdhsa,arch=gfx90a:sramecc+:xnack-,kind=hip",
                "file=h.o,triple=amdgcn-amd-amdhsa,arch=gfx1100,kind=hip",
                "file=c.cubin,triple=nvptx64-nvidia-cuda,arch=sm_90,kind=cuda",
                "file=p.s,triple=nvptx64-nvidia-cuda,arch=compute_80,kind=cuda",
            ],
        ),
        (
            vec!["openmp-amdgcn-amd-amdhsa--gfx90a=g.o", "--module", "saxpy"],
            vec!["file=g.o,triple=amdgcn-amd-amdhsa,arch=gfx90a,module=saxpy,kind=openmp"],
        ),
        (
            vec!["amdgcn-amd-amdhsa--gfx90a=g.o", "nvptx64-nvidia-cuda--sm_90a=c.cubin"],
            vec![
                "file=g.o,triple=amdgcn-amd-amdhsa,arch=gfx90a,kind=hip",
                "file=c.cubin,triple=nvptx64-nvidia-cuda,arch=sm_90a,kind=cuda",
            ],
        ),
    ] {
        let ours = ours(&folder, "pack", &arguments);
        let mut tool = llvm("llvm-offload-binary");
        tool.current_dir(&folder)
            .args(["-o", "theirs"])
            .args(images.iter().map(|image| format!("--image={image}")));
        succeed(&mut tool);
        assert_same_bytes(&ours, &read(folder.join("theirs")), &format!("{arguments:?}"));
        // LLVM's tool also extracts images from our pack.
        let mut tool = llvm("llvm-offload-binary");
        succeed(
            tool.current_dir(&folder)
                .args(["ours", "--image=file=out,triple=amdgcn-amd-amdhsa,kind=none"]),
        );
    }
}

fn bundles_have_llvms_bytes() {
    let folder = folder("bundles");
    const HOST: &str = "host-x86_64-unknown-linux-gnu";
    scratch::write(folder.join("host"), "host code");
    for (arguments, targets, inputs) in [
        (
            vec!["gfx90a=g.o"],
            vec![HOST, "hipv4-amdgcn-amd-amdhsa--gfx90a"],
            vec!["/dev/null", "g.o"],
        ),
        (
            vec!["gfx1100=h.o", "gfx90a:xnack-:sramecc+=g.o"],
            vec![
                HOST,
                "hipv4-amdgcn-amd-amdhsa--gfx1100",
                "hipv4-amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-",
            ],
            vec!["/dev/null", "h.o", "g.o"],
        ),
        (
            vec![
                "hip-amdgcn-amd-amdhsa--gfx90a=g.o",
                "host-x86_64-unknown-linux-gnu-=host",
                "--align=16",
            ],
            vec!["hip-amdgcn-amd-amdhsa--gfx90a", HOST],
            vec!["g.o", "host"],
        ),
        (
            vec!["openmp-nvptx64-nvidia-cuda--sm_90=c.cubin"],
            vec![HOST, "openmp-nvptx64-nvidia-cuda--sm_90"],
            vec!["/dev/null", "c.cubin"],
        ),
    ] {
        let ours = ours(&folder, "bundle", &arguments);
        let align = if arguments.contains(&"--align=16") { 16 } else { 4096 };
        let mut tool = llvm("clang-offload-bundler");
        tool.current_dir(&folder).args([
            "-type=bc",
            "-output=theirs",
            &format!("-bundle-align={align}"),
        ]);
        tool.arg(format!("-targets={}", targets.join(",")));
        succeed(tool.args(inputs.iter().map(|input| format!("-input={input}"))));
        assert_same_bytes(&ours, &read(folder.join("theirs")), &format!("{arguments:?}"));
    }
}

fn llvm_reads_bundles() {
    let folder = folder("reads-bundles");
    for compress in [false, true] {
        let mut arguments = vec!["gfx90a:xnack-=g.o", "gfx1100=h.o"];
        if compress {
            arguments.push("--compress");
        }
        let bundle = ours(&folder, "bundle", &arguments);
        assert_eq!(CompressedBundle::parse(&bundle).is_ok(), compress);
        let mut tool = llvm("clang-offload-bundler");
        let listed =
            stdout(&succeed(tool.current_dir(&folder).args(["-type=o", "-list", "-input=ours"])));
        let mut listed: Vec<&str> = listed.lines().collect();
        listed.sort_unstable();
        assert_eq!(
            listed,
            [
                "hipv4-amdgcn-amd-amdhsa--gfx1100",
                "hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-",
                "host-x86_64-unknown-linux-gnu-"
            ]
        );
        let mut tool = llvm("clang-offload-bundler");
        tool.current_dir(&folder).args([
            "-type=o",
            "-unbundle",
            "-input=ours",
            "-output=out-g",
            "-output=out-h",
        ]);
        succeed(tool.arg(
            "-targets=hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-,hipv4-amdgcn-amd-amdhsa--gfx1100",
        ));
        for name in ["g", "h"] {
            let (out, original) =
                (read(folder.join(format!("out-{name}"))), read(folder.join(format!("{name}.o"))));
            assert_same_bytes(&out, &original, name);
        }
    }
}

fn llvm_reads_packs_in_objects() {
    let folder = folder("reads-packs");
    ours(&folder, "pack", &["gfx90a=g.o", "sm_90=c.cubin"]);
    scratch::write(folder.join("e.c"), "int z;\n");
    let mut clang = llvm("clang");
    clang.current_dir(&folder).args([
        "-c",
        "e.c",
        "-o",
        "e.o",
        "-Xclang",
        "-fembed-offload-object=ours",
    ]);
    succeed(&mut clang);
    let listed =
        stdout(&succeed(llvm("llvm-objdump").current_dir(&folder).args(["--offloading", "e.o"])));
    for line in [
        "arch            gfx90a",
        "arch            sm_90",
        "kind            elf",
        "kind            cubin",
    ] {
        assert!(listed.contains(line), "{line}: {listed}");
    }
}

/// Returns the files that `extract` writes to a new folder, by name.
fn extract(folder: &Path, file: &str) -> Vec<(String, Vec<u8>)> {
    let out = folder.join("extracted");
    let _ = fs::remove_dir_all(&out);
    succeed(offload(folder, &["extract", file, "-o", "extracted"]).arg("-q"));
    let mut files: Vec<PathBuf> =
        fs::read_dir(&out).unwrap().flatten().map(|entry| entry.path()).collect();
    files.sort();
    files
        .iter()
        .map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), read(path)))
        .collect()
}

fn all_versions_and_back() {
    let folder = folder("versions");
    let originals = ["g.o", "h.o", "c.cubin"].map(|name| read(folder.join(name)));
    let arguments = ["gfx90a=g.o", "gfx1100=h.o", "sm_90=c.cubin"];
    let same = |files: Vec<(String, Vec<u8>)>, count: usize| {
        let mut files: Vec<Vec<u8>> = files.into_iter().map(|(_, bytes)| bytes).collect();
        let mut expected: Vec<Vec<u8>> = originals[..count].to_vec();
        files.sort_unstable();
        expected.sort_unstable();
        assert!(files == expected, "other images come out");
    };
    for (options, version, compressed) in [
        (&[][..], Version::V1, false),
        (&["--version=1"], Version::V1, false),
        (&["--version=2"], Version::V2, false),
        (&["--version=3"], Version::V3, false),
        (&["--compress"], Version::V3, true),
        (&["--compress", "--version=3"], Version::V3, true),
    ] {
        let pack = ours(&folder, "pack", &[&arguments[..], options].concat());
        for found in OffloadBinaries::new(&pack) {
            let (_, binary) = found.unwrap();
            assert_eq!(
                (binary.version(), binary.compressed().is_some()),
                (version, compressed),
                "{options:?}"
            );
        }
        assert!(pack.len().is_multiple_of(8), "{options:?}: {} bytes", pack.len());
        same(extract(&folder, "ours"), 3);
        succeed(&mut offload(&folder, &["verify", "ours"]));
        // With the output `-`, the same bytes go to standard output.
        let output = succeed(offload(&folder, &["pack", "-o", "-"]).args(arguments).args(options));
        assert!(output.stdout == pack, "{options:?}: another pack goes to standard output");
    }
    for options in [&["--align=1"], &["--compress"], &["--align=8192"]] {
        ours(&folder, "bundle", &[&arguments[..2], options].concat());
        same(extract(&folder, "ours"), 2);
        // HIP's runtime needs images at multiples of 4096, so `verify` reports a bundle with a
        // lower alignment.
        let ran = run(&mut offload(&folder, &["verify", "ours"]));
        assert_eq!(ran.code == 0, options != &["--align=1"], "{ran:?}");
    }
    let ran = run(&mut offload(
        &folder,
        &["pack", "-o", "none", "--compress", "--version=1", "gfx90a=g.o"],
    ));
    assert_ne!(ran.code, 0, "{ran:?}");
    assert!(!folder.join("none").exists(), "a pack was written");
}

fn a_nul_follows_ptx() {
    let folder = folder("ptx");
    let text = read(folder.join("p.s"));
    for size in text.len()..text.len() + 8 {
        let mut text = text.clone();
        text.resize(size, b'\n');
        scratch::write(folder.join("p.s"), &text);
        for version in ["1", "2", "3"] {
            for arguments in
                [["compute_80=p.s", "sm_90=c.cubin"], ["sm_90=c.cubin", "compute_80=p.s"]]
            {
                let pack =
                    ours(&folder, "pack", &[&arguments[..], &["--version", version]].concat());
                let mut found = 0;
                for (at, image) in OffloadBinaries::new(&pack).flat_map(|found| {
                    let (at, binary) = found.unwrap();
                    binary.images().map(move |image| (at, image)).collect::<Vec<_>>()
                }) {
                    if image.arch() == Some("compute_80") {
                        let start = (at + image.offset()) as usize;
                        let nul = start + pack[start..].iter().position(|byte| *byte == 0).unwrap();
                        let packed = &pack[start..nul];
                        assert!(
                            packed == text || packed.strip_suffix(b"\n") == Some(&text),
                            "{size} {version}"
                        );
                        assert!(
                            nul <= start + image.data().len() + 7,
                            "{size} {version}: the NUL is at {nul}"
                        );
                        found += 1;
                    }
                }
                assert_eq!(found, 1);
                let notes = stdout(&succeed(&mut offload(&folder, &["verify", "-n", "ours"])));
                assert!(!notes.contains("[ptx-end]"), "{notes}");
            }
        }
    }
}

fn names_of_targets() {
    let folder = folder("names");
    scratch::write(folder.join("junk"), "junk");
    let listed = |arguments: &[&str]| {
        succeed(offload(&folder, arguments).args(["-o", "ours"]));
        let json = stdout(&succeed(&mut offload(&folder, &["ls", "--json", "ours"])));
        let fields = ["entry_id", "offload_kind", "triple", "target_id"]
            .map(|name| format!("      \"{name}\": "));
        let fields = json
            .lines()
            .filter_map(|line| fields.iter().find_map(|field| line.strip_prefix(field.as_str())));
        fields
            .map(|value| value.trim_end_matches(',').trim_matches('"'))
            .collect::<Vec<_>>()
            .join(" ")
    };
    for (target, expected) in [
        ("fiji", "null hip amdgcn-amd-amdhsa gfx803"),
        ("gfx906:xnack+:sramecc-", "null hip amdgcn-amd-amdhsa gfx906:sramecc-:xnack+"),
        ("gfx11-generic", "null hip amdgcn-amd-amdhsa gfx11-generic"),
        ("amdgcnspirv", "null hip spirv64-amd-amdhsa amdgcnspirv"),
        ("sm_100f", "null cuda nvptx64-nvidia-cuda sm_100f"),
        ("x86_64-unknown-linux-gnu", "null none x86_64-unknown-linux-gnu null"),
        ("sycl-spir64-unknown-unknown-", "null sycl spir64-unknown-unknown null"),
        ("cuda-nvptx64-nvidia-cuda--sm_80", "null cuda nvptx64-nvidia-cuda sm_80"),
        ("aarch64-unknown-linux-android", "null none aarch64-unknown-linux-android null"),
    ] {
        assert_eq!(listed(&["pack", &format!("{target}=junk")]), expected, "{target}");
    }
    for (target, expected) in [
        ("fiji", "hipv4-amdgcn-amd-amdhsa--gfx803"),
        ("gfx906:xnack+:sramecc-", "hipv4-amdgcn-amd-amdhsa--gfx906:sramecc-:xnack+"),
        ("amdgcnspirv", "hipv4-spirv64-amd-amdhsa--amdgcnspirv"),
        ("openmp-nvptx64-nvidia-cuda--sm_80", "openmp-nvptx64-nvidia-cuda-unknown-sm_80"),
    ] {
        let listed = listed(&["bundle", &format!("{target}=junk")]);
        assert!(listed.contains(expected), "{target}: {listed}");
    }
    // In entries for code objects before version 4, clang names the kind `hip` in place of `hipv4`.
    let listed =
        listed(&["bundle", &format!("gfx906={}", corpus_path("image/v3.hsaco").display())]);
    assert!(listed.contains("hip-amdgcn-amd-amdhsa--gfx906"), "{listed}");
}

fn refusals() {
    let folder = folder("refusals");
    scratch::write(folder.join("junk"), "junk");
    for (command, arguments, expected) in [
        ("pack", &["g.o"][..], "'g.o' does not say what it is for\n  write gfx90a=g.o\n"),
        ("pack", &["c.cubin"], "'c.cubin' does not say what it is for\n  write sm_90=c.cubin\n"),
        ("pack", &["gfx90a=none.o"], "cannot read none.o: No such file or directory\n"),
        ("pack", &["gfx90a=."], "cannot read .: "),
        (
            "pack",
            &["gfx908=g.o"],
            "g.o is not for gfx908: its header says gfx90a\n  write gfx90a=g.o, or say --force",
        ),
        ("pack", &["sm_80=c.cubin"], "c.cubin is not for sm_80: its header says sm_90\n"),
        ("pack", &["sm_90=g.o"], "g.o is not for sm_90: its header says gfx90a\n"),
        ("pack", &["cpu=c.cubin"], "c.cubin is not for cpu: its header says sm_90\n"),
        ("pack", &["compute_75=p.s"], "p.s is not for compute_75: its header says compute_80\n"),
        ("pack", &["GFX90A=g.o"], "did you mean gfx90a?\n"),
        ("pack", &["sm80=c.cubin"], "did you mean sm_80?\n"),
        (
            "pack",
            &["gfx90a:xnak-=g.o"],
            "gfx90a:xnak-: gfx90a has no feature 'xnak' in its target ID; it has sramecc and xnack\n",
        ),
        (
            "pack",
            &["amdgcn-amd-amdhsa=g.o"],
            "which GPU?\n  write it behind the triple, as in amdgcn-amd-amdhsa--gfx90a\n",
        ),
        ("pack", &["gfx90a=g.o", "gfx90a=junk"], "g.o and junk are both for gfx90a\n"),
        (
            "pack",
            &["gfx90a:xnack-=g.o", "gfx90a=g.o"],
            "gfx90a:xnack- and gfx90a may not stand together",
        ),
        ("bundle", &["gfx908=g.o"], "g.o is not for gfx908: its header says gfx90a\n"),
        (
            "bundle",
            &["sm_90=c.cubin"],
            "use 'cargo offload pack', or, for OpenMP, write openmp-nvptx64-nvidia-cuda--sm_90",
        ),
        ("bundle", &["cpu=junk"], "use 'cargo offload pack'"),
        ("bundle", &["amdgcn-amd-amdhsa--gfx90a=g.o"], "write hip-amdgcn-amd-amdhsa--gfx90a"),
        (
            "bundle",
            &["cuda-nvptx64-nvidia-cuda--sm_90=c.cubin"],
            "it takes host, openmp, hip and hipv4\n",
        ),
        ("bundle", &["gfx90a:xnack-=g.o", "gfx90a=g.o"], "conflicting targets"),
        ("bundle", &["gfx90a=g.o", "hipv4-amdgcn-amd-amdhsa-gfx90a=g.o"], "has an entry"),
    ] {
        let ran = run(offload(&folder, &[command, "-o", "none"]).args(arguments));
        assert_fails(&ran, &[expected]);
        assert!(ran.stderr.starts_with("error: "), "{arguments:?}: {}", ran.stderr);
        assert!(!folder.join("none").exists(), "{arguments:?}");
    }
    // --force writes a pack that is otherwise refused.
    ours(&folder, "pack", &["gfx908=g.o", "--force"]);
    ours(&folder, "bundle", &["gfx908=g.o", "--force"]);
    assert_eq!(run(&mut offload(&folder, &["verify", "-q", "ours"])).code, 1);
    // An unknown processor may be a new one, so the pack is written, with a message that suggests
    // known processors.
    let output = succeed(&mut offload(&folder, &["pack", "-o", "ours", "gfx90b=junk"]));
    assert!(stderr(&output).contains("did you mean gfx90a or gfx90c?"), "{}", stderr(&output));

    // HIP's runtime would not read an entry table of this size to the end, so the bundle is
    // refused.
    let many: Vec<String> = (0..80).map(|number| format!("gfx{}=junk", 7000 + number)).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert_fails(
        &run(offload(&folder, &["bundle", "-o", "none"]).args(&many)),
        &["80 images make an entry table of"],
    );
    succeed(offload(&folder, &["bundle", "-o", "ours", "--force"]).args(&many));
    succeed(offload(&folder, &["bundle", "-o", "ours", "--compress"]).args(&many));
}

fn what_was_there_stays() {
    let folder = folder("stays");
    scratch::write(folder.join("out"), "before");
    for arguments in [
        &["pack", "-o", "out", "gfx90a=g.o", "gfx908=none"],
        &["bundle", "-o", "out", "gfx90a=g.o", "sm_90=c.cubin"],
    ] {
        assert_ne!(run(&mut offload(&folder, arguments)).code, 0, "{arguments:?}");
        assert_eq!(read(folder.join("out")), b"before");
    }
    // The output may replace an input, which is read first.
    let before = read(folder.join("g.o"));
    succeed(&mut offload(&folder, &["bundle", "-o", "g.o", "gfx90a=g.o"]));
    let bundle = read(folder.join("g.o"));
    assert_eq!(Bundle::parse(&bundle).unwrap().entries().nth(1).unwrap().code_object(), before);
    let hidden = fs::read_dir(&folder)
        .unwrap()
        .flatten()
        .filter(|it| it.file_name().to_string_lossy().starts_with('.'));
    assert_eq!(hidden.count(), 0);
    for output in ["missing/folder", "."] {
        let ran = run(&mut offload(&folder, &["pack", "-o", output, "gfx1100=h.o"]));
        assert!(ran.stderr.starts_with("error: cannot write "), "{}", ran.stderr);
    }
}
