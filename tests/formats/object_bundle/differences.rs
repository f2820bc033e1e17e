//! Host objects that LLVM 22's `clang-offload-bundler` cannot bundle, or whose data it loses,
//! unlike this library.

use super::*;
use offload_format::ErrorKind;
use offload_format::bundle::BundleBuilder;
use offload_format::object_bundle::{self, ObjectBundle};
use offload_tests::bundler::{self, bundler};

const FUNCTION: (&str, &str) = ("a.c", "int f(void) { return 1; }");

/// g++ uses a local symbol as the signature of groups with constructors and destructors. For such
/// groups, llvm-objcopy 22 removes the COMDAT flag, which makes linkers keep only one of several
/// equal groups.
#[test(CLANG)]
fn groups_with_a_local_signature_stay_comdat() {
    let folder = scratch::folder("object-bundle-groups");
    for options in ["", "-g", "-ffunction-sections"] {
        let host = compile(&folder, Command::new("g++"), options, ("c.cpp", CXX));
        let bytes = read(&host);
        let theirs = their_bundle(&folder, &host, 0);
        let mut ours = our_bundle(&bytes, 0);
        scratch::write(folder.join("ours"), &ours);
        assert_eq!(groups(&folder, "ours"), groups(&folder, "host.o"));
        let lost = groups(&folder, "theirs");
        let lost = lost.iter().filter(|line| line.starts_with("(unknown) group")).count();
        assert!(lost > 0, "{options}");

        // Apart from these flags, both bundles are equal. Extracting the host from LLVM's bundle
        // does not restore the flags.
        let mut found = 0;
        for (ours, theirs) in ours.iter_mut().zip(&theirs) {
            if (*ours, *theirs) == (1, 0) {
                *ours = 0;
                found += 1;
            }
        }
        assert_eq!(found, lost, "{options}");
        assert_same_bytes(&ours, &theirs, options);
        let stripped = object_bundle::strip(&theirs).unwrap();
        assert_same_bytes(&stripped, &unbundled(&folder, "theirs"), options);
        let stripped = object_bundle::strip(&our_bundle(&bytes, 0)).unwrap();
        scratch::write(folder.join("stripped"), &stripped);
        assert_eq!(contents(&folder, "stripped"), contents(&folder, "host.o"));
    }
}

/// Returns the line that starts each group in llvm-readelf's output.
fn groups(folder: &Path, object: &str) -> Vec<String> {
    let listing = run(llvm("llvm-readelf"), folder, &format!("-g {object}"));
    listing.lines().filter(|line| line.contains("group section")).map(str::to_owned).collect()
}

/// llvm-objcopy 22 empties string tables that it does not recognize.
#[test(LLVM)]
fn string_tables_of_others_are_kept() {
    let folder = scratch::folder("object-bundle-stabstr");
    let host = from_yaml(
        &folder,
        "--- !ELF\nFileHeader: {Class: ELFCLASS64, Data: ELFDATA2LSB, Type: ET_REL, Machine: EM_X86_64}\n\
         Sections: [{Name: .stabstr, Type: SHT_STRTAB, Content: '00616263006400'}]\n",
    );
    let dump = |file: &str| {
        let options = format!("--dump-section=.stabstr=dump {file} copy");
        run(llvm("llvm-objcopy"), &folder, &options);
        read(folder.join("dump"))
    };
    their_bundle(&folder, &host, 0);
    scratch::write(folder.join("ours"), our_bundle(&read(&host), 0));
    assert_eq!([dump("host.o"), dump("theirs")], [&b"\0abc\0d\0"[..], b"\0"]);
    assert_eq!(dump("ours"), dump("host.o"));
}

/// llvm-objcopy 22 removes a section's line numbers, and their offset in the section's header.
#[test(LLVM)]
fn line_numbers_of_coff_are_kept() {
    let folder = scratch::folder("object-bundle-lines");
    let host = clang(&folder, "x86_64-pc-windows-msvc", FUNCTION);
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

/// LLVM 22 treats a section with a single zero byte as the host's entry, whatever its ID.
#[test(LLVM)]
fn one_zero_byte_of_device_code() {
    let folder = scratch::folder("object-bundle-zero");
    let fat = bundle_of(&corpus_file("object_bundle/host.o"), &[(HOST, b""), (GFX906, b"\0")]);
    let found = ObjectBundle::parse(&fat).unwrap().entries();
    let found: Vec<_> = found.map(|it| (it.code_object, it.is_host_placeholder())).collect();
    assert_eq!(found, [(&b"\0"[..], true), (&b"\0"[..], false)]);

    scratch::write(folder.join("fat.o"), &fat);
    let theirs = bundler::unbundled("-type=o", &folder.join("fat.o"), &[GFX906]);
    assert!(theirs == [object_bundle::strip(&fat).unwrap()]);
}

/// LLVM 22's bundler crashes if all entries have HIP's kinds and the first file is an object. It
/// can read such a bundle from our library.
#[test(LLVM)]
fn a_bundle_without_a_host_entry() {
    let folder = scratch::folder("object-bundle-no-host-entry");
    scratch::write(folder.join("host.o"), corpus_file("object_bundle/host.o"));
    let mut tool = bundler(&folder, "-type=o -input=host.o -output=theirs");
    let output = tool.arg(bundler::targets([GFX906])).output().unwrap();
    assert!(output.status.code().is_none_or(|code| code > 128), "{output:?}");

    let fat = bundle_of(&corpus_file("object_bundle/host.o"), &[(GFX906, b"code")]);
    let ours = folder.join("ours");
    scratch::write(&ours, &fat);
    assert_eq!(bundler::listed("-type=o", &ours), [GFX906]);
    assert_eq!(bundler::unbundled("-type=o", &ours, &[GFX906]), [b"code"]);
    assert!(object_bundle::strip(&fat).unwrap() == corpus_file("object_bundle/host.o"));
}

/// Tests files that this library rejects as host objects. LLVM's tools can bundle only some of
/// them.
#[test(LLVM)]
fn what_is_no_host() {
    let folder = scratch::folder("object-bundle-no-host");
    let entries = BundleBuilder::new();
    let refused = |bytes: &[u8], what: &str| {
        // Only a file with a bundle can be stripped.
        let stripped = object_bundle::strip(bytes);
        assert!(stripped.is_err() || ObjectBundle::parse(bytes).is_ok(), "{what}");
        let error = object_bundle::bundle(bytes, &entries).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BadMagic, "{what}: {error}");
        error.to_string()
    };
    for target in ["arm64-apple-macos", "wasm32-unknown-unknown"] {
        refused(&read(clang(&folder, target, FUNCTION)), target);
        let options =
            format!("-type=o -input=host.o -input=host.o -output=theirs -targets={HOST},{GFX906}");
        assert!(!succeeds(llvm("clang-offload-bundler"), &folder, &options), "{target}");
    }
    let host = clang(&folder, "x86_64-linux-gnu", FUNCTION);
    run(llvm("ld.lld"), &folder, "-shared host.o -o shared.so");
    let message = refused(&read(folder.join("shared.so")), "a shared object");
    assert_eq!(message, "no relocatable ELF file or COFF object at offset 16");
    for bytes in [&b""[..], b"BC\xc0\xde", b"!<arch>\n", b"__CLANG_OFFLOAD_BUNDLE__", &[0; 100]] {
        assert_eq!(ObjectBundle::parse(bytes).unwrap_err().kind(), ErrorKind::BadMagic);
        refused(bytes, "no object");
    }
    assert!(ObjectBundle::parse(&read(host)).unwrap().entries().next().is_none());
}
