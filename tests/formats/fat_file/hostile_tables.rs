//! Tables that are slow to read, or that refer to bytes outside the file. The work must be bounded,
//! and errors must name the right offsets.

use super::inputs::offload_binaries;
use super::made_by_hand::{
    BODY, DYNSYM, EXECUTABLE, Header, RELA, archive, elf_file, hip_wrappers, pe_image, universal,
};
use super::{assert_is_there, containers, places, text};
use offload_format::fat_file::{ContainerKind, Content, Place, wrappers};
use offload_format::{ErrorKind, Result};
use offload_tests::prelude::*;

type Found<'a> = (Place<'a>, Result<Content<'a>>);

/// Returns, for each place, whether its container is readable.
fn good(found: &[Found<'_>]) -> Vec<bool> {
    found.iter().map(|(_, container)| container.is_ok()).collect()
}

#[test]
fn files_without_device_code() {
    for nothing in [&b""[..], b"text", b"\x7fELF", b"!<arch>", b"MZ", &[0; 100]] {
        assert!(places(nothing).iter().all(|(_, container)| container.is_err()), "{nothing:?}");
        wrappers(nothing, |wrapper| panic!("{wrapper:?}"));
    }
}

#[test]
fn archives_in_archives_end() {
    let mut file = offload_binaries();
    for depth in 0..40 {
        let found = places(&file);
        let [(place, container)] = &found[..] else { panic!("{found:?}") };
        match container {
            Ok(Content::Container(ContainerKind::OffloadBinary, bytes)) if depth < 8 => {
                assert_is_there(&file, place, bytes)
            }
            Err(error) if depth >= 8 => {
                let of_the_inner_archive = (ErrorKind::Malformed, 8 * 68);
                assert_eq!((error.kind(), error.offset()), of_the_inner_archive);
            }
            other => panic!("depth {depth}: {other:?}"),
        }
        file = archive([&file[..]]);
    }
    // An error in a member is reported for that member, and the search continues with the next
    // member.
    let broken = read(&corpus("fat_file")[0]);
    let (binaries, broken) = (offload_binaries(), &broken[..broken.len() / 2]);
    let file = archive([&binaries[..], broken, b"!<arch>\nno header", &binaries]);
    let found = places(&file);
    assert_eq!(good(&found), [true, false, false, true]);
    for (place, container) in &found {
        let Err(error) = container else { continue };
        let inside = place.offset..=file.len() as u64;
        assert!(inside.contains(&error.offset()), "{place:?}: {error}");
    }
}

#[test]
fn slices_that_are_the_file_itself() {
    let itself = universal(&[(0, 8 + 29 * 20); 29], &[]);
    let found = places(&itself);
    assert!(found.iter().all(|(_, container)| container.is_err()));
    assert!(found.len() <= 64 * 29, "{}", found.len());

    let rest = [&archive([&b"BC\xc0\xde"[..]])[..], &[0; 3]].concat();
    let itself = universal(&[(0, 8 + 29 * 20 + 5); 29], &rest);
    assert!(places(&itself).len() <= 64 * 29);

    // A slice outside the file is an error, but later slices are still searched.
    let outside = universal(&[(0, u32::MAX), (48, 200)], &offload_binaries());
    assert_eq!(good(&places(&outside)), [false, true]);
}

#[test]
fn sections_that_share_their_bytes() {
    let names = b"\0.hip_fatbin\0__CLANG_OFFLOAD_BUNDLE__x\0";
    for name in [1, 13] {
        let sections = [Header::new(name, 0, 100_000); 10_000];
        let file = elf_file(EXECUTABLE, &[0; 100_000], names, &sections);
        let found = places(&file);
        assert!(found.len() <= 65 * file.len() / 100_000, "{}", found.len());
        let last = found.last().and_then(|(_, last)| last.as_ref().err());
        assert_eq!(last.map(|error| error.kind()), Some(ErrorKind::Malformed));
    }
}

#[test]
fn sections_outside_the_file() {
    let names = b"\0.hip_fatbin\0.debug\0__CLANG_OFFLOAD_BUNDLE__x\0";
    let bundle = corpus_file("bundle/basic.bc");
    let sections = [
        Header::new(13, u64::MAX, 1),
        Header::new(1, BODY, bundle.len() as u64),
        Header::new(1, BODY, 1 << 40),
        Header::new(20, 1 << 40, 1),
    ];
    let file = elf_file(EXECUTABLE, &bundle, names, &sections);
    let header = |index: u64| file.len() as u64 - (6 - index) * 64;
    let found = places(&file);
    let errors = found.iter().filter_map(|(place, it)| {
        let error = it.as_ref().err()?;
        Some((text(place.section), error.offset()))
    });
    assert!(errors.eq([
        (".debug", header(1)),
        (".hip_fatbin", header(3)),
        ("__CLANG_OFFLOAD_BUNDLE__x", header(4))
    ]));
    assert_eq!(found.iter().filter(|(place, it)| it.is_ok() && place.offset == BODY).count(), 1);
    // Uninitialized data has a size, but no bytes in the file.
    assert_eq!(containers(&pe_image(&bundle)).len(), 1);
    // In an archive's member, offsets count from the start of the archive.
    let in_archive = archive([&file[..]]);
    let offset = |it: &Found<'_>| it.1.as_ref().err().map(|error| error.offset());
    let shifted = found.iter().map(|it| offset(it).map(|offset| offset + 68));
    assert!(shifted.eq(places(&in_archive).iter().map(offset)));
}

#[test]
fn names_that_share_their_text() {
    let names = [&b"\0"[..], &[b'n'; 100_000], b"\0"].concat();
    let headers: Vec<Header> = (0..10_000).map(|number| Header::new(1 + number, 0, 0)).collect();
    let file = elf_file(EXECUTABLE, b"", &names, &headers);
    let found = places(&file);
    let [(_, Err(error))] = &found[..] else { panic!("{found:?}") };
    assert_eq!(error.kind(), ErrorKind::Malformed);
    wrappers(&file, |wrapper| panic!("{wrapper:?}"));
}

const SEGMENT: &[u8] = b"\0.hipFatBinSegment\0";

/// Returns the size of each wrapper's image; `None` for wrappers without an image.
fn wrapped(file: &[u8]) -> Vec<Option<usize>> {
    let mut images = Vec::new();
    wrappers(file, |wrapper| images.push(wrapper.image.map(<[u8]>::len)));
    images
}

#[test]
fn wrappers_that_share_their_bytes() {
    const SECTIONS: usize = 1000;
    let section = Header { address: 0x1000, ..Header::new(1, BODY, 240_000) };
    // No section contains the address in the wrappers, so the search checks every section.
    let file = elf_file(EXECUTABLE, &hip_wrappers(10_000, 1 << 40), SEGMENT, &[section; SECTIONS]);
    let found = wrapped(&file);
    assert!(found.iter().all(Option::is_none));
    assert!((1001..=64 * file.len() / SECTIONS).contains(&found.len()), "{}", found.len());
}

#[test]
fn relocations_that_share_their_bytes() {
    const TABLES: usize = 1000;
    const RELATIVE: u64 = 8;
    let wrapper = Header { address: 0x1000, ..Header::new(1, BODY, 24) };
    let symbols = Header { kind: DYNSYM, ..Header::new(0, BODY, 24) };
    let table = Header { kind: RELA, link: 2, ..Header::new(0, BODY + 24, 240_000) };
    let relocation = [0x1008, RELATIVE, 0x1000].map(u64::to_le_bytes).concat();
    let body = [hip_wrappers(1, 0), relocation.repeat(10_000)].concat();
    let once = [wrapper, symbols, Header { size: 24, ..table }];
    assert_eq!(wrapped(&elf_file(EXECUTABLE, &body, SEGMENT, &once)), [Some(24)]);

    let often = [&[wrapper, symbols][..], &[table; TABLES]].concat();
    let file = elf_file(EXECUTABLE, &body, SEGMENT, &often);
    let visits = wrapped(&file).len();
    assert!((1001..=64 * file.len() / TABLES).contains(&visits), "{visits}");
}
