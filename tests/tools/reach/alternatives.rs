//! Tests of packages with files that consist only of device code. A program loads the files for its
//! GPU. The files are named as in the packages of AITER and rocBLAS.

use crate::containers::code_object;
use crate::inside::made::{Entry, zip};
use crate::{assert_fails, json, list, offload};
use offload_format::target::amdgpu;
use offload_tests::prelude::*;

/// Writes a wheel with a code object for each of these targets.
fn write(folder: &Path, files: &[(&str, &str)]) {
    let entry = |(path, target): &(&str, &str)| Entry::new(path.as_bytes(), &code_object(target));
    let entries: Vec<Entry> = files.iter().map(entry).collect();
    scratch::write(folder.join("t.whl"), zip(&entries));
}

/// AITER has a folder per GPU, and rocBLAS has the GPU in file names. Other packages have neither.
#[test]
fn files_that_differ_by_their_gpu() {
    let folder = scratch::folder("offload-reach-alternatives");
    let aiter =
        [("hsa/gfx942/a.co", "gfx942"), ("hsa/gfx950/b.co", "gfx950"), ("aot/c.hsaco", "gfx950")];
    let rocblas = [
        ("library/Kernels.so-000-gfx1100.hsaco", "gfx1100"),
        ("library/Kernels.so-000-gfx90a-xnack+.hsaco", "gfx90a:xnack+"),
        ("library/Kernels.so-000-gfx90a-xnack-.hsaco", "gfx90a:xnack-"),
        ("library/TensileLibrary_gfx90a.co", "gfx90a"),
    ];
    let content = [("1.co", "gfx1100"), ("2.co", "gfx1100"), ("3.co", "gfx942")];
    // gfx942 can run both files, but a program loads only the one for its GPU.
    let family = [("k-gfx9-4-generic.co", "gfx9-4-generic"), ("k-gfx942.co", "gfx942")];
    for (files, versions, unserved) in [
        (&aiter[..], "==9.4.2|==9.5.0", "gfx90a"),
        (&rocblas, "==9.0.10|==11.0.0", "gfx942"),
        (&content, "==9.4.2|==11.0.0", "gfx90a"),
        (&family, "==9.4.0|==9.4.1|==9.4.2|==9.5.0", "gfx90a"),
    ] {
        write(&folder, files);
        let ran = offload(&folder, "reach t.whl --for conda");
        let line = ran.stdout.lines().find_map(|line| line.strip_prefix("- __amdgpu_arch "));
        assert_eq!(line, Some(versions), "{ran:?}");
        let first = files[0].0;
        let name = match files.len() - 1 {
            1 => format!("t.whl: {first} and 1 more file"),
            more => format!("t.whl: {first} and {more} more files"),
        };
        let note = format!(
            "note: {name}: its modules are assumed to be alternatives: a program loads only those \
             for its GPU ("
        );
        assert!(ran.stderr.starts_with(&note), "{ran:?}");
        let ran = offload(&folder, &format!("reach t.whl --require {unserved}"));
        assert_fails(&ran, &[&format!("error: {name}: no image for {unserved}\n")]);
        assert!(ran.stdout.starts_with(&format!("{name}, alternatives\n")), "{ran:?}");
        for (_, target) in files.iter().filter(|(_, target)| !amdgpu::is_generic(target)) {
            assert_eq!(
                offload(&folder, &format!("reach t.whl --require {target}")).code,
                0,
                "{target}"
            );
        }
    }
    // The file for one mode is missing, as in a ROCm wheel of July 2026.
    write(&folder, &rocblas[..2]);
    let ran = offload(&folder, "reach t.whl --require gfx90a");
    assert_fails(&ran, &["no image for gfx90a:xnack-\n"]);
    write(&folder, &[rocblas[0], rocblas[1], rocblas[3]]);
    let ran = offload(&folder, "reach t.whl --for conda");
    assert!(ran.stdout.ends_with("- __amdgpu_arch ==11.0.0\n"), "{ran:?}");
    assert!(
        ran.stderr.contains("leaving out gfx90a, because no image runs on machines with xnack-; "),
        "{ran:?}"
    );
}

/// Tests files that are not alternatives, because every GPU needs all of them: programs that
/// contain images, files for different vendors, and sets of files in which one GPU has an image in
/// every file.
#[test]
fn files_that_every_gpu_needs() {
    let folder = scratch::folder("offload-reach-no-alternatives");
    let missing = |files: &[(&str, Vec<u8>)], gpu: &str| {
        let entries: Vec<Entry> =
            files.iter().map(|(path, bytes)| Entry::new(path.as_bytes(), bytes)).collect();
        scratch::write(folder.join("t.whl"), zip(&entries));
        let ran = offload(&folder, &format!("reach t.whl --for conda --require {gpu}"));
        assert!(!ran.stderr.contains("note: "), "{ran:?}");
        ran.stderr.lines().filter(|line| line.contains("no image for")).count()
    };
    let cubin = corpus_file("image/saxpy.sm_90.cubin");
    let [generic, gfx942, gfx1100] = ["gfx9-4-generic", "gfx942", "gfx1100"].map(code_object);
    assert_eq!(missing(&[("a.co", generic.clone()), ("b.co", gfx942.clone())], "gfx942"), 0);
    assert_eq!(missing(&[("a.co", generic), ("b.co", gfx942.clone())], "gfx950"), 1);
    assert_eq!(missing(&[("a.co", gfx942.clone()), ("b.co", gfx942.clone())], "gfx950"), 2);
    assert_eq!(missing(&[("a.co", gfx942), ("sm_90.cubin", cubin)], "gfx942,sm_90"), 0);
    let program = corpus_file("fat_file/hip_nordc.o");
    assert_eq!(missing(&[("a.so", program), ("b.co", gfx1100)], "gfx1100"), 1);
}

/// Tests that `select` and `verify` agree with `reach`.
#[test]
fn commands_agree() {
    let folder = scratch::folder("offload-reach-alternatives-agree");
    let files = [
        ("k_gfx1100.co", "gfx1100"),
        ("k_gfx90a-xnack-.co", "gfx90a:xnack-"),
        ("k_gfx90a-xnack+.co", "gfx90a:xnack+"),
        ("m_gfx90a-xnack+.co", "gfx90a:xnack+"),
    ];
    write(&folder, &files);
    for (gpu, is_served) in
        [("gfx1100", true), ("gfx90a:xnack-", true), ("gfx90a:xnack+", true), ("gfx942", false)]
    {
        let code = i32::from(!is_served);
        for line in [
            format!("reach t.whl --require {gpu}"),
            format!("verify t.whl --for {gpu}"),
            format!("select t.whl --device {gpu}"),
        ] {
            let ran = offload(&folder, &line);
            assert_eq!(ran.code, code, "{ran:?}");
            let notes = usize::from(!line.starts_with("select"));
            assert_eq!(ran.stderr.matches("note: ").count(), notes, "{ran:?}");
        }
    }
    let document = json(&offload(&folder, "reach t.whl --json"));
    assert_eq!(list(&document).len(), 1);
    assert_eq!(document[0]["alternatives"], true);
    // A wheel without device code serves no GPU.
    scratch::write(folder.join("t.whl"), zip(&[Entry::new(b"a.txt", b"text")]));
    for line in ["reach t.whl --require gfx942", "verify t.whl --for gfx942"] {
        assert_eq!(offload(&folder, line).code, 1, "{line}");
    }
}

/// Tests short output for packages with many files, because a package may have thousands of files
/// for the same GPUs.
#[test]
fn lists_are_short() {
    let folder = scratch::folder("offload-reach-many-files");
    let names: Vec<String> = (0..100).map(|number| format!("folder/{number}.co")).collect();
    let one: Vec<_> = names.iter().map(|name| (&**name, "gfx942")).collect();
    write(&folder, &one);
    let ran = offload(&folder, "reach t.whl");
    let heading =
        "t.whl: folder/0.co, t.whl: folder/1.co, t.whl: folder/2.co and 97 more, each\n  gfx942 ";
    assert!(ran.stdout.starts_with(heading) && ran.stdout.lines().count() < 6, "{ran:?}");
    let ran = offload(&folder, "reach t.whl --require gfx950");
    assert_eq!(ran.stderr.lines().count(), 11, "{ran:?}");
    assert!(ran.stderr.ends_with("and 90 more errors\n"), "{ran:?}");
    // Files that are given separately, not in one package, are not alternatives.
    for (number, name) in names.iter().enumerate() {
        let file = if number % 2 == 0 { "gfx942" } else { "gfx950" };
        scratch::write(folder.join(name), code_object(file));
    }
    let ran = offload(&folder, &format!("reach {} --for conda", names.join(" ")));
    let error =
        "in every module of every file: folder/0.co, folder/1.co, folder/2.co and 97 more\n";
    assert_fails(&ran, &[error]);
}

/// Tests `--compile`. ptxas must run before `reach` combines the alternatives, because the archive
/// is closed afterwards.
#[test(needs(&[Tool::Cuda]))]
fn ptx_of_alternatives_is_compiled() {
    let folder = scratch::folder("offload-reach-alternatives-ptx");
    let text = |target: u32, instruction: &str| {
        let text = format!(
            ".version 7.8\n.target sm_{target}\n.address_size 64\n.visible .entry k()\n{{\n{instruction}\nret;\n}}\n"
        );
        Entry::new(format!("k_sm{target}.ptx").as_bytes(), text.as_bytes())
    };
    let ptxas = cuda("ptxas").get_program().to_owned();
    let compile = |entries: &[Entry]| {
        scratch::write(folder.join("t.whl"), zip(entries));
        let mut command = own::offload(&["reach", "--compile", "t.whl", "--require", "sm_80"]);
        offload_tests::own::run(command.current_dir(&folder).env("OFFLOAD_PTXAS", &ptxas))
    };
    let ran = compile(&[text(80, ""), text(90, "")]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stdout.contains("sm_90, sm_89, sm_87, sm_86, sm_80: ptxas compiles it"), "{ran:?}");
    let ran = compile(&[text(80, ""), text(90, "wrong;")]);
    assert_fails(&ran, &["compute_90 does not compile for "]);
}
