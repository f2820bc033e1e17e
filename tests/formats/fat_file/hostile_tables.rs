//! Tables that cause much work, or that refer to places outside the file: the work must be bounded,
//! and errors must be at the right place.

use super::inputs::offload_binaries;
use super::made_by_hand::{
    BODY, DYNSYM, EXECUTABLE, Header, PROGBITS, RELA, archive, elf_file, hip_wrappers, pe_image,
    universal,
};
use super::{assert_is_there, containers, places, text};
use offload_format::fat_file::{Container, wrappers};
use offload_format::{ErrorKind, Result};
use offload_tests::data::{corpus, read};
use offload_tests::registry::NOTHING;
use offload_tests::scratch;

offload_tests::tests! {
    NOTHING => [
        archives_in_archives_end,
        slices_that_are_the_file_itself,
        sections_that_share_their_bytes,
        sections_outside_the_file,
        names_that_share_their_text,
        wrappers_that_share_their_bytes,
        relocations_that_share_their_bytes,
    ],
}

fn archives_in_archives_end() {
    let mut file = offload_binaries();
    for depth in 0..40 {
        let found = places(&file);
        let [(place, container)] = &found[..] else { panic!("{found:?}") };
        match container {
            Ok(Container::OffloadBinaries(bytes)) if depth < 8 => {
                assert_is_there(&file, place, bytes)
            }
            Err(error) if depth >= 8 => {
                assert_eq!(error.kind(), ErrorKind::Malformed);
                assert_eq!(error.offset(), 8 * 68, "of the archive that is too deep");
            }
            other => panic!("depth {depth}: {other:?}"),
        }
        file = archive([&file[..]]);
    }
    // The error of one member is reported for this member, and the next member is searched.
    let broken = read(&corpus("fat_file")[0]);
    let file = archive([
        &offload_binaries()[..],
        &broken[..broken.len() / 2],
        b"!<arch>\nno header",
        &offload_binaries(),
    ]);
    let found = places(&file);
    let good: Vec<bool> = found.iter().map(|(_, container)| container.is_ok()).collect();
    assert_eq!(good, [true, false, false, true]);
    for (place, container) in &found {
        if let Err(error) = container {
            assert!(
                (place.offset..=file.len() as u64).contains(&error.offset()),
                "{place:?}: {error}"
            );
        }
    }
}

fn slices_that_are_the_file_itself() {
    let itself = universal(&[(0, 8 + 29 * 20); 29], &[]);
    let found = places(&itself);
    assert!(found.iter().all(|(_, container)| container.is_err()));
    assert!(found.len() <= 64 * 29, "{}", found.len());

    let itself = universal(
        &[(0, 8 + 29 * 20 + 5); 29],
        &[&archive([&b"BC\xc0\xde"[..]])[..], &[0; 3]].concat(),
    );
    assert!(places(&itself).len() <= 64 * 29);

    // A slice outside the file is an error; later slices are still searched.
    let outside = universal(&[(0, u32::MAX), (48, 200)], &offload_binaries());
    let good: Vec<bool> = places(&outside).iter().map(|(_, container)| container.is_ok()).collect();
    assert_eq!(good, [false, true]);
}

fn sections_that_share_their_bytes() {
    let names = b"\0.hip_fatbin\0__CLANG_OFFLOAD_BUNDLE__x\0";
    for name in [1, 13] {
        let section =
            Header { name, kind: PROGBITS, address: 0, offset: 0, size: 100_000, link: 0 };
        let file = elf_file(EXECUTABLE, &[0; 100_000], names, &[section; 10_000]);
        let found = places(&file);
        assert!(found.len() <= 65 * file.len() / 100_000, "{}", found.len());
        assert_eq!(
            found.last().and_then(|(_, last)| last.as_ref().err()).map(|it| it.kind()),
            Some(ErrorKind::Malformed)
        );
    }
}

fn sections_outside_the_file() {
    let names = b"\0.hip_fatbin\0.debug\0__CLANG_OFFLOAD_BUNDLE__x\0";
    let bundle = read(scratch::workspace().join("tests/corpus/bundle/basic.bc"));
    let good = Header {
        name: 1,
        kind: PROGBITS,
        address: 0,
        offset: BODY,
        size: bundle.len() as u64,
        link: 0,
    };
    let outside = [(13, u64::MAX, 1), (1, BODY, 1 << 40), (20, 1 << 40, 1)];
    let outside = outside.map(|(name, offset, size)| Header { name, offset, size, ..good });
    let [first, second, third] = outside;
    let file = elf_file(EXECUTABLE, &bundle, names, &[first, good, second, third]);
    let table = file.len() as u64 - 6 * 64;
    let found = places(&file);
    let errors: Vec<_> = found
        .iter()
        .filter_map(|(place, it)| Some((text(place.section), it.as_ref().err()?.offset())))
        .collect();
    let header = |index: u64| table + index * 64;
    assert_eq!(
        errors,
        [
            (".debug", header(1)),
            (".hip_fatbin", header(3)),
            ("__CLANG_OFFLOAD_BUNDLE__x", header(4))
        ]
    );
    assert_eq!(found.iter().filter(|(place, it)| it.is_ok() && place.offset == BODY).count(), 1);
    // Uninitialized data has a size, but no bytes in the file.
    assert_eq!(containers(&pe_image(&bundle)).len(), 1);
    // In a member of an archive, offsets count from the start of the archive.
    let in_archive = archive([&file[..]]);
    let shifted = places(&in_archive);
    for ((_, one), (_, other)) in found.iter().zip(&shifted) {
        let offset = |it: &Result<Container<'_>>| it.as_ref().err().map(|error| error.offset());
        assert_eq!(offset(one).map(|offset| offset + 68), offset(other));
    }
}

fn names_that_share_their_text() {
    let names = [&b"\0"[..], &[b'n'; 100_000], b"\0"].concat();
    let headers: Vec<Header> = (0..10_000)
        .map(|number| Header {
            name: 1 + number,
            kind: PROGBITS,
            address: 0,
            offset: 0,
            size: 0,
            link: 0,
        })
        .collect();
    let file = elf_file(EXECUTABLE, b"", &names, &headers);
    let found = places(&file);
    let [(_, Err(error))] = &found[..] else { panic!("{found:?}") };
    assert_eq!(error.kind(), ErrorKind::Malformed);
    wrappers(&file, |wrapper| panic!("{wrapper:?}"));
}

fn wrappers_that_share_their_bytes() {
    const SECTIONS: usize = 1000;
    let section =
        Header { name: 1, kind: PROGBITS, address: 0x1000, offset: BODY, size: 240_000, link: 0 };
    // No section contains the wrappers' address, so the search checks every section.
    let body = hip_wrappers(10_000, 1 << 40);
    let file = elf_file(EXECUTABLE, &body, b"\0.hipFatBinSegment\0", &[section; SECTIONS]);
    let mut visits = 0;
    wrappers(&file, |wrapper| {
        assert!(wrapper.image().is_none());
        visits += 1;
    });
    assert!(visits > 1000, "{visits}");
    assert!(visits <= 64 * file.len() / SECTIONS, "{visits}");
}

fn relocations_that_share_their_bytes() {
    const TABLES: usize = 1000;
    const RELATIVE: u64 = 8;
    let wrapper =
        Header { name: 1, kind: PROGBITS, address: 0x1000, offset: BODY, size: 24, link: 0 };
    let symbols = Header { name: 0, kind: DYNSYM, address: 0, offset: BODY, size: 24, link: 0 };
    let table =
        Header { name: 0, kind: RELA, address: 0, offset: BODY + 24, size: 240_000, link: 2 };
    let relocation = [0x1008, RELATIVE, 0x1000].map(u64::to_le_bytes).concat();
    let body = [hip_wrappers(1, 0), relocation.repeat(10_000)].concat();
    let names = b"\0.hipFatBinSegment\0";
    let once =
        elf_file(EXECUTABLE, &body, names, &[wrapper, symbols, Header { size: 24, ..table }]);
    let mut images = Vec::new();
    wrappers(&once, |wrapper| images.push(wrapper.image().map(<[u8]>::len)));
    assert_eq!(images, [Some(24)]);

    let file =
        elf_file(EXECUTABLE, &body, names, &[&[wrapper, symbols][..], &[table; TABLES]].concat());
    let mut visits = 0;
    wrappers(&file, |_| visits += 1);
    assert!(visits > 1000, "{visits}");
    assert!(visits <= 64 * file.len() / TABLES, "{visits}");
}
