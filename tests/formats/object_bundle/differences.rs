//! Host objects that LLVM 22's `clang-offload-bundler` cannot bundle, or in which it loses data
//! that this library keeps.

use super::{CXX, HOST, compile, contents, corpus, from_yaml, our_bundle, their_bundle, unbundled};
use offload_format::ErrorKind;
use offload_format::bundle::BundleBuilder;
use offload_format::object_bundle::{self, ObjectBundle};
use offload_tests::data::{assert_same_bytes, read};
use offload_tests::registry::{CLANG, LLVM};
use offload_tests::scratch;
use offload_tests::tools::{llvm, stdout, succeed};
use std::path::Path;
use std::process::Command;

offload_tests::tests! {
    LLVM => [
        string_tables_of_others_are_kept,
        line_numbers_of_coff_are_kept,
        one_zero_byte_of_device_code,
        a_bundle_without_a_host_entry,
        what_is_no_host,
    ],
    CLANG => [groups_with_a_local_signature_stay_comdat],
}

/// g++ gives the groups of constructors and destructors a local symbol as signature. llvm-objcopy
/// 22 then removes the mark that makes linkers keep only one of the groups.
fn groups_with_a_local_signature_stay_comdat() {
    let folder = scratch::folder("object-bundle-groups");
    for options in ["", "-g", "-ffunction-sections"] {
        let host = compile(&folder, Command::new("g++"), CXX, "c.cpp", options, "host.o");
        let bytes = read(&host);
        let theirs = their_bundle(&folder, &host, 0);
        let mut ours = our_bundle(&bytes, 0);
        scratch::write(folder.join("ours"), &ours);
        assert_eq!(groups(&folder.join("ours")), groups(&host));
        let lost = groups(&folder.join("theirs"))
            .iter()
            .filter(|line| line.starts_with("(unknown) group"))
            .count();
        assert!(lost > 0, "{options}");

        // Apart from these marks, both bundles are equal. Extracting the host from LLVM's bundle
        // does not restore the marks.
        let mut found = 0;
        for (ours, theirs) in
            ours.iter_mut().zip(&theirs).filter(|(ours, theirs)| (**ours, **theirs) == (1, 0))
        {
            *ours = *theirs;
            found += 1;
        }
        assert_eq!(found, lost, "{options}");
        assert_same_bytes(&ours, &theirs, options);
        assert_same_bytes(
            &object_bundle::strip(&theirs).unwrap(),
            &unbundled(&folder, "theirs"),
            options,
        );
        let stripped = object_bundle::strip(&our_bundle(&bytes, 0)).unwrap();
        scratch::write(folder.join("stripped"), &stripped);
        assert_eq!(contents(&folder.join("stripped")), contents(&host));
    }
}

/// Returns the line with which llvm-readelf starts each group.
fn groups(object: &Path) -> Vec<String> {
    let output = succeed(llvm("llvm-readelf").arg("-g").arg(object));
    stdout(&output)
        .lines()
        .filter(|line| line.contains("group section"))
        .map(str::to_owned)
        .collect()
}

/// llvm-objcopy 22 empties string tables whose use it does not know.
fn string_tables_of_others_are_kept() {
    let folder = scratch::folder("object-bundle-stabstr");
    let host = from_yaml(
        &folder,
        "--- !ELF\nFileHeader: {Class: ELFCLASS64, Data: ELFDATA2LSB, Type: ET_REL, Machine: EM_X86_64}\n\
         Sections: [{Name: .stabstr, Type: SHT_STRTAB, Content: '00616263006400'}]\n",
    );
    let dump = |file: &str| {
        let output = folder.join("dump");
        succeed(
            llvm("llvm-objcopy")
                .current_dir(&folder)
                .arg(format!("--dump-section=.stabstr={}", output.display()))
                .args([file, "copy"]),
        );
        read(output)
    };
    their_bundle(&folder, &host, 0);
    scratch::write(folder.join("ours"), our_bundle(&read(&host), 0));
    assert_eq!(
        (dump("host.o").as_slice(), dump("theirs").as_slice()),
        (&b"\0abc\0d\0"[..], &b"\0"[..])
    );
    assert_eq!(dump("ours"), dump("host.o"));
}

/// llvm-objcopy 22 removes the line numbers and their offset in the header.
fn line_numbers_of_coff_are_kept() {
    let folder = scratch::folder("object-bundle-lines");
    let options = "--target=x86_64-pc-windows-msvc";
    let host =
        compile(&folder, llvm("clang"), "int f(void) { return 1; }", "a.c", options, "host.obj");
    let mut bytes = read(&host);
    let lines = *b"\x01\0\0\0\0\0\x02\0\0\0\x05\0";
    let end = bytes.len() as u32;
    bytes.extend_from_slice(&lines);
    // Change fields of the first section's header.
    bytes[20 + 28..20 + 32].copy_from_slice(&end.to_le_bytes());
    bytes[20 + 34] = 2;
    let lines_of = |object: &[u8]| {
        let at = u32::from_le_bytes(object[48..52].try_into().unwrap()) as usize;
        object.get(at..at + 12).map(<[u8]>::to_vec)
    };
    assert_eq!(lines_of(&our_bundle(&bytes, 0)).unwrap(), lines);
    scratch::write(&host, &bytes);
    assert_ne!(lines_of(&their_bundle(&folder, &host, 0)), Some(lines.to_vec()));
}

/// LLVM 22 treats a section of one zero byte as the host's, regardless of its ID.
fn one_zero_byte_of_device_code() {
    let folder = scratch::folder("object-bundle-zero");
    let mut entries = BundleBuilder::new();
    entries.entry(HOST, 0).unwrap().entry("hip-amdgcn-amd-amdhsa--gfx906", 1).unwrap();
    let fat = object_bundle::bundle(&corpus("host.o"), &entries).unwrap().to_vec(&[b"", b"\0"]);
    let bundle = ObjectBundle::parse(&fat).unwrap();
    let found: Vec<_> =
        bundle.entries().map(|it| (it.code_object(), it.is_host_placeholder())).collect();
    assert_eq!(found, [(&b"\0"[..], true), (&b"\0"[..], false)]);

    scratch::write(folder.join("fat.o"), &fat);
    let mut tool = llvm("clang-offload-bundler");
    tool.current_dir(&folder).args(["-type=o", "-unbundle", "-input=fat.o", "-output=out"]);
    succeed(tool.arg("-targets=hip-amdgcn-amd-amdhsa--gfx906"));
    assert!(read(folder.join("out")) == object_bundle::strip(&fat).unwrap());
}

/// LLVM 22 crashes if the kinds of all entries are HIP's and the first file is an object. LLVM
/// reads the bundles that we write.
fn a_bundle_without_a_host_entry() {
    let folder = scratch::folder("object-bundle-no-host-entry");
    let id = "hip-amdgcn-amd-amdhsa--gfx906";
    scratch::write(folder.join("host.o"), corpus("host.o"));
    let mut tool = llvm("clang-offload-bundler");
    tool.current_dir(&folder)
        .args(["-type=o", "-input=host.o", "-output=theirs"])
        .arg(format!("-targets={id}"));
    let output = tool.output().unwrap();
    assert!(output.status.code().is_none_or(|code| code > 128), "{output:?}");

    let mut entries = BundleBuilder::new();
    entries.entry(id, 4).unwrap();
    let fat = object_bundle::bundle(&corpus("host.o"), &entries).unwrap().to_vec(&[b"code"]);
    scratch::write(folder.join("ours"), &fat);
    let list = succeed(llvm("clang-offload-bundler").current_dir(&folder).args([
        "-type=o",
        "-list",
        "-input=ours",
    ]));
    assert_eq!(stdout(&list).trim(), id);
    let mut tool = llvm("clang-offload-bundler");
    tool.current_dir(&folder).args(["-type=o", "-unbundle", "-input=ours", "-output=out"]);
    succeed(tool.arg(format!("-targets={id}")));
    assert_eq!(read(folder.join("out")), b"code");
    assert!(object_bundle::strip(&fat).unwrap() == corpus("host.o"));
}

/// Tests files that this library rejects as host objects. LLVM's tools cannot bundle some of them
/// either; the others they can.
fn what_is_no_host() {
    let folder = scratch::folder("object-bundle-no-host");
    let entries = BundleBuilder::new();
    let refused = |bytes: &[u8], what: &str| {
        for error in [
            object_bundle::bundle(bytes, &entries).map(drop),
            object_bundle::strip(bytes).map(drop),
        ] {
            // A call may succeed only for a file with a bundle: without one, there is nothing to
            // remove.
            assert!(error.is_err() || ObjectBundle::parse(bytes).is_ok(), "{what}");
        }
        let error = object_bundle::bundle(bytes, &entries).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BadMagic, "{what}: {error}");
        error.to_string()
    };
    for target in ["arm64-apple-macos", "wasm32-unknown-unknown"] {
        let host = compile(
            &folder,
            llvm("clang"),
            "int f(void) { return 1; }",
            "a.c",
            &format!("--target={target}"),
            "host.o",
        );
        refused(&read(&host), target);
        let mut tool = llvm("clang-offload-bundler");
        tool.current_dir(&folder).args([
            "-type=o",
            "-input=host.o",
            "-input=host.o",
            "-output=theirs",
        ]);
        tool.arg(format!("-targets={HOST},hip-amdgcn-amd-amdhsa--gfx906"));
        assert!(!tool.output().unwrap().status.success(), "{target}");
    }
    let host = compile(
        &folder,
        llvm("clang"),
        "int f(void) { return 1; }",
        "a.c",
        "--target=x86_64-linux-gnu",
        "host.o",
    );
    succeed(llvm("ld.lld").current_dir(&folder).args(["-shared", "host.o", "-o", "shared.so"]));
    let message = refused(&read(folder.join("shared.so")), "a shared object");
    assert_eq!(message, "no relocatable ELF file or COFF object at offset 16");
    for bytes in [&b""[..], b"BC\xc0\xde", b"!<arch>\n", b"__CLANG_OFFLOAD_BUNDLE__", &[0; 100]] {
        assert_eq!(ObjectBundle::parse(bytes).unwrap_err().kind(), ErrorKind::BadMagic);
        refused(bytes, "no object");
    }
    assert!(ObjectBundle::parse(&read(host)).unwrap().entries().next().is_none());
}
