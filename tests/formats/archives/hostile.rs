//! Archives that are truncated, changed, or crafted to be slow to read. No reader may panic.

use super::{NAMES, SORTS, bitcode, members, object};
use offload_format::ErrorKind;
use offload_format::archive::Archive;
use offload_format::device_archive::member_symbols;
use offload_format::image::Bitcode;
use offload_tests::prelude::*;
use offload_tests::visit;

fn one_of_each(folder: &str) -> Vec<Vec<u8>> {
    let folder = scratch::folder(folder);
    members(&folder);
    let variants = [("gnu", "0"), ("bsd", "0"), ("coff", "0"), ("gnu", "1"), ("darwin", "1")];
    let archives = variants.map(|(format, wide)| {
        let options = format!("crD --format={format} {format}{wide}.a");
        let mut tool = in_folder(llvm("llvm-ar"), &folder, &options);
        if wide == "1" {
            tool.env("SYM64_THRESHOLD", wide);
        }
        succeed(tool.args(&NAMES[1..6]).arg(NAMES[8]));
        read(folder.join(format!("{format}{wide}.a")))
    });
    archives.into()
}

/// Calls all functions of an archive. None of them may panic.
fn use_up(bytes: &[u8]) {
    visit::archive(bytes);
    for member in Archive::parse(bytes).iter().flat_map(Archive::members) {
        assert!(member.data.is_none_or(|data| data.len() as u64 == member.size));
    }
}

#[test(LLVM)]
fn every_truncation() {
    for bytes in one_of_each("archives-truncated") {
        let ends: Vec<u64> =
            Archive::parse(&bytes).unwrap().members().map(|member| member.offset).collect();
        for length in 0..bytes.len() {
            use_up(&bytes[..length]);
            match Archive::parse(&bytes[..length]).map_err(|error| error.kind()) {
                Ok(_) => {
                    // A truncated archive is valid only if it ends after a table or a member. The
                    // last member's padding byte may be missing.
                    let at_end = |end: &u64| (*end).abs_diff(length as u64) <= 1;
                    let whole = ends[0] >= length as u64 || length + 1 == bytes.len();
                    assert!(whole || ends.iter().any(at_end), "{length}");
                }
                Err(
                    ErrorKind::Truncated { .. }
                    | ErrorKind::OutOfBounds { .. }
                    | ErrorKind::Malformed,
                ) => {}
                Err(kind) => panic!("{length}: {kind:?}"),
            }
        }
    }
    let folder = scratch::folder("archives-truncated-bitcode");
    let bytes = bitcode(&folder, "x86_64-linux-gnu", SORTS);
    for length in 0..bytes.len() {
        if let Ok(bitcode) = Bitcode::parse(&bytes[..length]) {
            assert!(bitcode.defined_globals().count() <= 8);
        }
    }
}

#[test(LLVM)]
fn every_byte_changed() {
    for bytes in one_of_each("archives-changed") {
        let archive = Archive::parse(&bytes).unwrap();
        // Change only tables and headers, because the archive reader ignores members' contents.
        let starts: Vec<usize> = archive.members().map(|member| member.offset as usize).collect();
        let headers = starts.iter().flat_map(|start| *start..start + 80);
        for at in (0..starts[0]).chain(headers) {
            for value in [0, 1, b' ', b'/', b'#', b'9', b'\n', 0x7f, 0x80, 0xff] {
                use_up(&patched(&bytes, at, &[value]));
            }
        }
    }
    let folder = scratch::folder("archives-changed-bitcode");
    let source = "int f(void) { return 1; } int g;";
    for bytes in [
        bitcode(&folder, "x86_64-linux-gnu", source),
        object(&folder, "x86_64-linux-gnu", source),
        object(&folder, "x86_64-pc-windows-msvc", source),
        object(&folder, "arm64-apple-macosx", source),
    ] {
        for at in 0..bytes.len() {
            for value in [0, 1, 0x7f, 0x80, 0xff] {
                let _ = member_symbols(&patched(&bytes, at, &[value]));
            }
        }
    }
}

/// A header without its load commands, and a load command of no size.
#[test]
fn mach_o_files_with_damaged_load_commands() {
    let mut header: Vec<u8> = [0xfeed_facf_u32, 0x0100_000c, 0, 1, 1, 0x1000, 0, 0]
        .iter()
        .flat_map(|field| field.to_le_bytes())
        .collect();
    assert_eq!(member_symbols(&header).unwrap_err().kind(), ErrorKind::Malformed);
    header.resize(32 + 0x1000, 0);
    assert_eq!(member_symbols(&header).unwrap_err().kind(), ErrorKind::Malformed);
}

#[test]
fn tables_that_ask_for_much_work() {
    let header = |name: &str, size: usize| {
        format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{size:<10}`\n", 0, 0, 0, 644)
    };
    // Thousands of members refer to one name, which is a megabyte long and has no terminator.
    let mut archive = format!("!<arch>\n{}{}", header("//", 1 << 20), "x".repeat(1 << 20));
    for _ in 0..20_000 {
        archive.push_str(&header("/0", 0));
    }
    assert_eq!(Archive::parse(archive.as_bytes()).unwrap_err().kind(), ErrorKind::Malformed);
    // Now the name ends at the maximum length, which is allowed.
    archive.replace_range(68 + 4096..68 + 4098, "/\n");
    assert_eq!(Archive::parse(archive.as_bytes()).unwrap().members().count(), 20_000);
}
